//! Opens a folder or a page with the program that the desktop has for it.

use std::io;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::geteuid;

use crate::system::root_only::first_other_user;
use crate::system::subprocess::Program;

/// The program that finds the others (xdg-utils).
const OPENER: &str = "xdg-open";
/// An opener that runs for longer than this has found the program, and may have become it.
const OPENER_TIME: Duration = Duration::from_secs(2);

/// Opens an absolute path without links. `program` says which kind of program is wanted. Returns why that
/// failed. Root opens nothing that another user can exchange.
pub(crate) fn open(path: &Path, program: &str) -> Result<(), String> {
    // What is mounted on the path, or was just written there, is the caller's own.
    if geteuid().is_root() && path.parent().is_some_and(|parent| first_other_user(parent).is_some()) {
        return Err(format!("root starts no {program} on what another user can exchange"));
    }
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !["WAYLAND_DISPLAY", "DISPLAY"].iter().any(is_set) {
        return Err("there is no display to open it on; set $WAYLAND_DISPLAY or $DISPLAY".into());
    }
    // The opener may become the program. Neither Ctrl-C here nor a closed pipe may end that.
    let child = Program::of_desktop(OPENER).arg(path).start().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("{OPENER} is missing; install xdg-utils"),
        _ => format!("{OPENER}: {error}"),
    })?;
    match failure_of(child) {
        None => Ok(()),
        // Exit codes of xdg-open(1).
        Some(3) => Err(format!("{OPENER} found no {program}")),
        Some(code) => Err(format!("{OPENER} failed with code {code}")),
    }
}

/// The exit code of an opener that failed. `None` if it succeeded, or still runs after [`OPENER_TIME`].
fn failure_of(mut opener: Child) -> Option<i32> {
    let began = Instant::now();
    while began.elapsed() < OPENER_TIME {
        match opener.try_wait() {
            Ok(Some(status)) if status.success() => return None,
            Ok(Some(status)) => return Some(status.code().unwrap_or(-1)),
            Ok(None) => sleep(Duration::from_millis(10)),
            Err(_) => return None,
        }
    }
    None
}
