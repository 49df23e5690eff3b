//! The log of a mount: a file, the system's log or standard error, written by a separate thread. A
//! reload does not repeat lines that the previous opening logged.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{FileType, OFlags};

use super::error::DaemonError;
use super::log_thread::{LogTarget, LogThread};
use crate::limits::LOG_REMEMBERED_MAX;
use crate::system::output_place::OutputPlace;
use crate::system::sync::Mutex;
use crate::system::text::missing_parent;

/// The log of the mount, set once mounted.
static MOUNT_LOG: OnceLock<LogThread> = OnceLock::new();

/// The lines that were logged since the opening of sources began; `None` if none are being opened.
static OPENING: Mutex<Option<BTreeSet<String>>> = Mutex::new(None);
/// The lines that were logged during the previous opening.
static OPENED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The target of lines that are logged even without `--verbose`, although they are not warnings.
pub(crate) const NEWS: &str = "bsafs::news";

/// Opens sources. Lines that were also logged during the previous opening are left out: a mount
/// opens its sources whenever they change, and most of their oddities stay.
pub(crate) fn while_opening<T>(open: impl FnOnce() -> T) -> T {
    let lock = || OPENING.lock();
    *lock() = Some(BTreeSet::new());
    let opened = open();
    let lines = lock().take().unwrap_or_default();
    *OPENED.lock() = lines;
    opened
}

/// Whether a line was logged during the previous opening too. False if no sources are being opened.
pub(crate) fn is_repeated(text: &str) -> bool {
    let mut opening = OPENING.lock();
    let Some(lines) = opening.as_mut() else { return false };
    if lines.len() < LOG_REMEMBERED_MAX {
        lines.insert(text.to_owned());
    }
    OPENED.lock().contains(text)
}

/// Opens the log of a daemon: `file` if it is given, otherwise the system's log.
///
/// # Errors
/// The file cannot be written or is a pipe, or the system has no more threads.
pub(crate) fn open_for_daemon(file: Option<&Path>) -> Result<LogThread, DaemonError> {
    let target = match file {
        Some(path) => LogTarget::File(open_file(path)?),
        None => {
            let path = PathBuf::from("/dev/log");
            let socket =
                UnixDatagram::unbound().and_then(|socket| socket.connect(&path).map(|()| socket)).ok();
            LogTarget::Syslog(path, socket)
        }
    };
    start_thread(target)
}

/// Opens the log of a mount in the foreground.
pub(crate) fn open_for_foreground() -> Result<LogThread, DaemonError> {
    start_thread(LogTarget::Stderr)
}

/// Sends all lines to a log from now on.
pub(crate) fn set(log: LogThread) {
    // A second call changes nothing: a process mounts once.
    let _ = MOUNT_LOG.set(log);
}

/// Waits until the last lines are written, for a second at most.
pub(crate) fn finish() {
    if let Some(log) = MOUNT_LOG.get() {
        log.finish();
    }
}

/// The log of this process's mount, once it is mounted.
pub(crate) fn of_mount() -> Option<&'static LogThread> {
    MOUNT_LOG.get()
}

fn start_thread(target: LogTarget) -> Result<LogThread, DaemonError> {
    LogThread::start(target).map_err(DaemonError::LogThread)
}

/// Opens a log file. Root follows no link that another user can have made, because a log may contain names of
/// that user's choice.
fn open_file(path: &Path) -> Result<File, DaemonError> {
    let refused = |why: &str| DaemonError::LogFile { path: path.to_owned(), why: why.to_owned() };
    // Writing to a pipe without a reader would end the daemon.
    let pipe = "it is a pipe; give a file, or use --foreground, which logs to standard error";
    let failed = |error: &io::Error| refused(&missing_parent(path).unwrap_or_else(|| error.to_string()));
    let place = OutputPlace::behind_links(path).map_err(|error| failed(&error))?;
    let kind = place.stat().map_err(|error| failed(&error))?.map(|it| FileType::from_raw_mode(it.st_mode));
    if kind == Some(FileType::Fifo) {
        return Err(refused(pipe));
    }
    let file = place.open(OFlags::APPEND).map_err(|error| failed(&error))?;
    if file.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo()) {
        Err(refused(pipe))
    } else {
        Ok(file)
    }
}
