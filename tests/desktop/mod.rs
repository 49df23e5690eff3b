//! What desktops and shells get of us, tried with their own programs: types of archives, the installation, completion.

mod completion; // typed into bash, zsh and fish
mod install; // scripts/install, and its --uninstall
mod types; // types of archives

use std::env;
use std::process::{Command, Stdio};

/// Whether a program is installed. Where none of a developer's machine is, the test says so and passes; in CI it fails.
///
/// # Panics
/// In CI, where `scripts/setup` installs it.
fn has(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let found = command.status().is_ok();
    assert!(found || env::var_os("CI").is_none_or(|it| it != "true"), "no {program}; scripts/setup");
    if !found {
        eprintln!("SKIPPED: no {program}; scripts/setup installs it");
    }
    found
}
