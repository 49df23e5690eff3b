//! Why a mount's daemon gave no status.

use std::fmt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::shown::{Shown, excerpt};

#[derive(Debug)]
pub(crate) struct StatusError {
    /// The folder whose status was asked for.
    pub(crate) path: PathBuf,
    pub(crate) kind: StatusErrorKind,
}

/// What went wrong when asking the daemon.
#[derive(Debug)]
pub(crate) enum StatusErrorKind {
    /// No mount of bsafs is there.
    NotMounted,
    /// Only a folder of the mount is there, by a bind mount.
    Part,
    /// The daemon has ended; the dead mount remains.
    Dead,
    /// The program of the overlay that makes the mount writable has ended.
    DeadOverlay,
    /// The mount is another user's.
    Refused,
    /// The daemon does not answer in time. The number of its process, if it is known.
    Hangs(Option<u32>),
    /// A separate process asked the daemon, and reported this.
    Failed(String),
    /// The daemon does not answer.
    Unanswered(Errno),
    /// The daemon does not report changes.
    TooOld,
    /// The daemon's answer cannot be read.
    Unreadable(serde_json::Error),
}

impl StatusErrorKind {
    /// The kind for an error of a system call in the mount.
    pub(crate) fn of(errno: Errno) -> Self {
        match errno {
            Errno::NOTCONN | Errno::CONNABORTED => Self::Dead,
            Errno::ACCESS | Errno::PERM => Self::Refused,
            _ => Self::Unanswered(errno),
        }
    }
}

/// What happened to a writable mount without the program of its overlay, and what to do. The program may have
/// been killed for its memory.
pub(crate) fn dead_overlay(path: &Path) -> String {
    let path = path.shown();
    format!(
        "fuse-overlayfs, which made the mount writable, has ended; run `bsafs umount {path}`, mount again, \
         and check what was written last (`bsafs help writing`)"
    )
}

impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.shown();
        match &self.kind {
            StatusErrorKind::NotMounted => {
                write!(f, "{path}: not a bsafs mount; `bsafs mounts` lists all mounts")
            }
            StatusErrorKind::Part => {
                write!(f, "{path}: only a part of a mount is visible here; name the mountpoint of the whole")
            }
            StatusErrorKind::Dead => {
                write!(f, "{path}: the daemon has ended; run `bsafs umount {path}` to remove the dead mount")
            }
            StatusErrorKind::DeadOverlay => write!(f, "{path}: {}", dead_overlay(&self.path)),
            StatusErrorKind::Refused => write!(f, "{path}: owned by another user; run as that user"),
            StatusErrorKind::Hangs(Some(pid)) => write!(
                f,
                "{path}: the daemon (process {pid}) does not answer; if it was stopped, `kill -CONT {pid}` \
                 lets it go on; otherwise `bsafs umount` ends the mount"
            ),
            StatusErrorKind::Hangs(None) => {
                write!(f, "{path}: the daemon does not answer; `bsafs umount` ends the mount")
            }
            StatusErrorKind::Failed(what) => f.write_str(what.strip_prefix("bsafs: ").unwrap_or(what)),
            StatusErrorKind::Unanswered(errno) => {
                write!(f, "{path}: the daemon does not answer: {}", std::io::Error::from(*errno))
            }
            StatusErrorKind::TooOld => {
                write!(f, "{path}: the daemon is of an older version; unmount, and mount again")
            }
            StatusErrorKind::Unreadable(cause) => {
                write!(f, "{path}: cannot read the daemon's answer: {}", excerpt(&cause.to_string()))
            }
        }
    }
}

impl std::error::Error for StatusError {}
