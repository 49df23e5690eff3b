//! What is wrong with the surroundings of the process: its current folder, `/proc`, and the limit
//! of memory. They make system calls fail with errors that do not name them.

use std::io;
use std::path::{Path, PathBuf};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::exit::{Exit, Failure};
use crate::system::new_file::remove_temporary;
use crate::system::walk::PATH_MAX;
use crate::system::{memory, process};

const NO_PROC: &str =
    "/proc is not mounted, and bsafs needs it: run `mount -t proc proc /proc` as root, then try again";

/// Has SIGTERM, SIGINT and SIGHUP remove the temporary files of this process before they end it. On disks
/// that make no files without a name, such files would stay. A signal that is ignored stays ignored.
pub(crate) fn remove_files_on_signals() {
    let ignored = process::ignored_signals();
    let signals = [SIGTERM, SIGINT, SIGHUP].into_iter().filter(|signal| !ignored.contains(*signal));
    let handled = Signals::new(signals).and_then(|mut signals| {
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            if let Some(signal) = signals.forever().next() {
                remove_temporary();
                let _ = emulate_default_handler(signal);
            }
        })
    });
    if let Err(error) = handled {
        log::debug!("cannot handle signals: {error}");
    }
}

/// Adds to a failure what is wrong with the surroundings, if that may be its cause.
pub(crate) fn explained(failure: Failure) -> Failure {
    match what_is_wrong() {
        Some(why) if failure.exit != Exit::Usage && !failure.what.is_empty() => {
            Failure::new(failure.exit, format!("{}; {why}", failure.what))
        }
        _ => failure,
    }
}

/// Fails if there is no `/proc`, which has the mount table. Without it, no mount is found.
pub(crate) fn check_mount_table() -> Result<(), Failure> {
    if has_proc() { Ok(()) } else { Err(Failure::new(Exit::Unavailable, NO_PROC)) }
}

/// Fails if there is no memory for `bytes` more under the limit of the address space (`ulimit -v`).
pub(crate) fn check_memory(bytes: usize) -> Result<(), Failure> {
    if memory::has_room(bytes) { Ok(()) } else { Err(Failure::new(Exit::Io, memory::not_enough())) }
}

/// What is wrong, and what the user can do. `None` if nothing is.
pub(crate) fn what_is_wrong() -> Option<&'static str> {
    if has_proc() { wrong_folder(&std::env::current_dir()) } else { Some(NO_PROC) }
}

fn has_proc() -> bool {
    Path::new("/proc/self/exe").is_symlink()
}

/// What is wrong with the current folder, from its path or from the error of finding it.
fn wrong_folder(found: &io::Result<PathBuf>) -> Option<&'static str> {
    const TOO_LONG: &str = "the path of the current folder is longer than 4095 bytes, so relative paths \
                            cannot be used: change to another folder (`cd`), or use absolute paths";
    match found {
        // The C library may find a path that no system call accepts.
        Ok(path) if path.as_os_str().len() > PATH_MAX => Some(TOO_LONG),
        Ok(_) => None,
        Err(error) => Some(match error.kind() {
            io::ErrorKind::InvalidFilename => TOO_LONG,
            io::ErrorKind::NotFound => {
                "the current folder was deleted or unmounted, so relative paths cannot be used: change to \
                 another folder (`cd`), or use absolute paths"
            }
            _ => {
                "the path of the current folder cannot be determined, so relative paths cannot be used: \
                 change to another folder (`cd`), or use absolute paths"
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_current_folder_without_a_usable_path_is_explained() {
        let long = |len| Ok(PathBuf::from("/".repeat(len)));
        for (found, expected) in [
            (long(4095), None),
            (long(4096), Some("longer than 4095 bytes")),
            (Err(Errno::NAMETOOLONG.into()), Some("longer than 4095 bytes")),
            (Err(Errno::NOENT.into()), Some("deleted or unmounted")),
            (Err(Errno::ACCESS.into()), Some("cannot be determined")),
        ] {
            let wrong = wrong_folder(&found);
            assert_eq!(wrong.is_some(), expected.is_some(), "{found:?}");
            assert!(wrong.unwrap_or_default().contains(expected.unwrap_or_default()), "{found:?}: {wrong:?}");
        }
    }
}
