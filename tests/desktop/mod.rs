//! Tests of the desktop and shell integration with real programs: MIME types, installation, completion.

mod completion; // typed into bash, zsh and fish
mod install; // scripts/install, and its --uninstall
mod types; // MIME types of archives

use std::env;
use std::process::{Command, Stdio};

/// Whether a program is installed. On a developer's machine, a test without the program prints a
/// message and passes.
///
/// # Panics
/// In CI, where `scripts/setup` installs the program.
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
