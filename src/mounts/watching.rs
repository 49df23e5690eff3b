//! Follows the changes of a mount. Its daemon is asked again and again, so that no request waits in it and
//! nothing keeps the mount busy.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::answering::Answering;
use super::error::{StatusError, StatusErrorKind};
use super::status::{mount_at, read_in};
use crate::daemon::mountpoint::resolve_mountpoint;
use crate::daemon::overlay;
use crate::fs::{CHANGES_LINK, ChangedFile, FileChanges, STATUS_LINK};
use crate::shown::Shown;
use crate::system::mountinfo::MountEntry;

/// Time between questions whether the daemon watches the disk.
const STEP: Duration = Duration::from_millis(20);
/// How long the daemon may take to watch the disk after it has mounted or reloaded.
const LONGEST: Duration = Duration::from_secs(60);

/// A mount whose changes are followed.
#[derive(Debug)]
pub(crate) struct Watching {
    /// The path as the user named it.
    path: PathBuf,
    mountpoint: PathBuf,
    mounted: MountEntry,
    /// Process ID of the daemon. Another mount may get the same place and device number.
    pid: u32,
    /// Number of the next change.
    next: u64,
}

impl Watching {
    /// Begins to follow a mount, as soon as its daemon watches the disk.
    pub(crate) fn start(path: &Path) -> Result<Self, StatusError> {
        let mountpoint = resolve_mountpoint(path);
        let mounted = mount_at(path, &mountpoint)?;
        Answering::default().check(path)?;
        let mut watching = Self { path: path.to_owned(), mountpoint, mounted, pid: 0, next: 0 };
        let began = Instant::now();
        let answer = loop {
            let ended = || watching.error(StatusErrorKind::NotMounted);
            let answer = watching.ask(CHANGES_LINK)?.ok_or_else(ended)?;
            if answer.is_watching {
                break answer;
            }
            if began.elapsed() > LONGEST {
                log::warn!(
                    "{}: the daemon does not watch all folders yet, so changes may be missed",
                    path.shown()
                );
                break answer;
            }
            sleep(STEP);
        };
        (watching.pid, watching.next) = (answer.pid, answer.next);
        Ok(watching)
    }

    /// The user whose daemon only claims the changes; `None` if it is trusted.
    pub(crate) fn claimant(&self) -> Option<u32> {
        self.mounted.claimant()
    }

    /// The changes since the last call, or some of them. `None` if the mount has ended.
    pub(crate) fn read(&mut self) -> Result<Option<Vec<ChangedFile>>, StatusError> {
        let answer = self.ask(&format!("{CHANGES_LINK}:{}", self.next))?;
        let Some(answer) = answer.filter(|answer| answer.pid == self.pid) else { return Ok(None) };
        self.next = answer.next;
        Ok(Some(answer.changes))
    }

    /// Reads a link of the mount. `None` if the mount has ended.
    fn ask(&self, link: &str) -> Result<Option<FileChanges>, StatusError> {
        let kind = match read_in(&self.mounted, link).map(|text| serde_json::from_slice(&text)) {
            Ok(Ok(answer)) => return Ok(Some(answer)),
            Ok(Err(cause)) => StatusErrorKind::Unreadable(cause),
            Err(_) if self.has_ended() => return Ok(None),
            // Another mount may cover a folder in the path.
            Err(Errno::NOENT) if read_in(&self.mounted, STATUS_LINK).is_ok() => StatusErrorKind::TooOld,
            Err(errno) => StatusErrorKind::of(errno),
        };
        Err(self.error(kind))
    }

    fn error(&self, kind: StatusErrorKind) -> StatusError {
        StatusError { path: self.path.clone(), kind }
    }

    /// Whether the mount is no longer at its place.
    fn has_ended(&self) -> bool {
        overlay::bsafs_mount_at(&self.mountpoint).is_none_or(|now| now.device != self.mounted.device)
    }
}
