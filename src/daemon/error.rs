//! Why a mount could not be prepared, detached or served.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use crate::fuse::SessionError;
use crate::shown::Shown;
use crate::system::text::{reason, reason_not_made, reason_not_started};

#[derive(Debug)]
pub(crate) enum DaemonError {
    /// The folder cannot be mounted on.
    Mountpoint {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// All names for a new mountpoint are taken.
    NoFreeName(PathBuf),
    /// A folder that the mount needs could not be made.
    NotMade {
        /// What the folder is for.
        what: &'static str,
        path: PathBuf,
        cause: io::Error,
    },
    /// A folder that the mount needs cannot be used.
    Folder { path: PathBuf, cause: io::Error },
    /// Another process has held the lock of the folder for mounts for minutes.
    Locked(PathBuf),
    /// The writable mount cannot be made.
    Overlay(String),
    /// The database of users cannot be queried.
    NoUsers(io::Error),
    /// There is no such user.
    NoUser(String),
    /// The daemon's process cannot be started.
    Start(io::Error),
    /// The daemon ended before it had mounted, without an exit code of its own.
    Ended(ExitStatus),
    /// The daemon did not report that it has mounted. It runs as another user, who may have stopped it.
    Silent,
    /// The daemon failed before it had mounted, has printed why, and ended with this exit code.
    Reported(i32),
    /// The daemon cannot leave the terminal.
    Terminal(io::Error),
    /// Signals cannot be handled.
    Signals(io::Error),
    /// The log file cannot be written.
    LogFile { path: PathBuf, why: String },
    /// The thread that writes the log cannot be started.
    LogThread(io::Error),
    /// The kernel or its helper did not mount, or workers cannot be started.
    Session(SessionError),
    /// The process that started the daemon cannot be notified, so nothing is mounted.
    NotReported(io::Error),
    /// The end of the overlay cannot be awaited.
    OverlayEnd(io::Error),
    /// The connection to the kernel was lost.
    Lost(io::Error),
}

impl DaemonError {
    /// A folder that cannot be mounted on.
    pub(crate) fn mountpoint(path: &Path, why: impl Into<String>) -> Self {
        Self::Mountpoint { path: path.to_owned(), why: why.into() }
    }

    /// A folder that could not be made.
    pub(crate) fn not_made(what: &'static str, path: &Path, cause: io::Error) -> Self {
        Self::NotMade { what, path: path.to_owned(), cause }
    }

    /// A folder that cannot be used.
    pub(crate) fn folder(path: &Path, cause: io::Error) -> Self {
        Self::Folder { path: path.to_owned(), cause }
    }
}

impl fmt::Display for DaemonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mountpoint { path, why } => write!(f, "cannot mount on {}: {why}", path.shown()),
            Self::NoFreeName(source) => {
                write!(f, "all 1000 names of mountpoints for {} are taken; give a mountpoint", source.shown())
            }
            Self::NotMade { what, path, cause } => {
                write!(f, "cannot create {what} {}: {}", path.shown(), reason_not_made(path, cause))
            }
            Self::Folder { path, cause } => write!(f, "{}: {}", path.shown(), reason(cause)),
            Self::Locked(path) => {
                let what = "another `bsafs open` is still mounting there; try again later, or end it";
                write!(f, "{}: {what}", path.shown())
            }
            Self::Overlay(what) => write!(f, "--edit{what}"),
            Self::NoUsers(cause) => {
                write!(f, "cannot ask for users with getent and id: {}", reason_not_started(cause))
            }
            Self::NoUser(name) => write!(f, "-o setuid={name}: no such user"),
            Self::Start(cause) => write!(f, "cannot start the daemon: {}", reason_not_started(cause)),
            Self::Ended(status) => {
                let advice = "run `bsafs mount --foreground` to see why";
                write!(f, "the daemon ended before it mounted ({status}); {advice}")
            }
            Self::Silent => f.write_str(
                "the daemon did not report that it has mounted, so it was ended: its user stopped it, or it \
                 waits for a disk",
            ),
            Self::Reported(_) => Ok(()),
            Self::Terminal(cause) => write!(f, "cannot detach from the terminal: {cause}"),
            Self::Signals(cause) => write!(f, "cannot handle signals: {cause}"),
            Self::LogFile { path, why } => write!(f, "--log-file {}: {why}", path.shown()),
            Self::LogThread(cause) => {
                write!(f, "cannot start the log's thread: {}", reason_not_started(cause))
            }
            Self::Session(error) => error.fmt(f),
            Self::NotReported(cause) => {
                let why = "because the command that started the daemon cannot be notified that it is ready";
                write!(f, "unmounted again, {why}: {cause}")
            }
            Self::OverlayEnd(cause) => write!(f, "cannot wait for the unmount of the overlay: {cause}"),
            Self::Lost(cause) => write!(f, "lost the connection to the kernel: {cause}"),
        }
    }
}

impl std::error::Error for DaemonError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotMade { cause, .. }
            | Self::Folder { cause, .. }
            | Self::NoUsers(cause)
            | Self::Start(cause)
            | Self::Terminal(cause)
            | Self::Signals(cause)
            | Self::LogThread(cause)
            | Self::NotReported(cause)
            | Self::OverlayEnd(cause)
            | Self::Lost(cause) => Some(cause),
            _ => None,
        }
    }
}
