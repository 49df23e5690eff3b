//! Follows the changes of a mount. Its daemon is asked again and again, so that no request waits in it and
//! nothing keeps the mount busy.
//!
//! A daemon may answer some questions and never the next one. A process that waits for it cannot be killed.
//! So [`Following`] has another process ask ([`Watching`]), and is silent for a limited time only.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::geteuid;

use super::mount_status::{
    Answering, REFUSED_CODE, StatusError, StatusErrorKind, mount_at, mount_with_identity, read_in,
};
use super::serving::process_of;
use crate::daemon::mountpoint::{DEAD_CODE, resolve_mountpoint};
use crate::daemon::overlay;
use crate::fs::{CHANGES_LINK, ChangedFile, FileChanges, STATUS_LINK};
use crate::limits::REPORT_MAX;
use crate::shown::Shown;
use crate::system::credentials::Credentials;
use crate::system::mountinfo::MountEntry;
use crate::system::subprocess::{Lines, Program};
use crate::system::whole_file;

/// Time between questions whether the daemon watches the disk.
const STEP: Duration = Duration::from_millis(20);
/// How long the daemon may take to watch the disk after it has mounted or reloaded.
const LONGEST: Duration = Duration::from_secs(60);

/// How long the process that asks may be silent. It writes a line after each answer.
const SILENCE: Duration = Duration::from_secs(5);
/// What that process writes when it knows where to begin. An empty line only says that the daemon answers.
pub(crate) const BEGUN: &str = "watching";

/// A mount whose changes another process asks for.
#[derive(Debug)]
pub(crate) struct Following {
    /// The path as the user named it.
    path: PathBuf,
    mounted: MountEntry,
    asking: Child,
    lines: Lines,
}

impl Following {
    /// Begins to follow a mount, as soon as its daemon watches the disk.
    pub(crate) fn start(path: &Path) -> Result<Self, StatusError> {
        let mounted = mount_at(path, &resolve_mountpoint(path))?;
        Answering::default().check(path)?;
        let failed = |error: io::Error| StatusError {
            path: path.to_owned(),
            kind: StatusErrorKind::Failed(format!("cannot start this program again: {error}")),
        };
        // Without allow_other, only the owner may access the mount.
        let owner = mounted.owner.filter(|(uid, _)| geteuid().is_root() && *uid != 0);
        let program = match owner.filter(|_| !mounted.has_option("allow_other")) {
            Some(owner) => Program::itself_as(Credentials::of_owner(owner)),
            None => Program::itself(),
        };
        let program =
            program.args(["watch", "--json", "--direct", &mounted.identity(), "--"]).arg(&mounted.mountpoint);
        let mut asking = program.env("RUST_LOG", "error").start_with_pipes().map_err(failed)?;
        let pipe = asking.stdout.take().ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
        let lines = Lines::new(pipe.into()).map_err(failed)?;
        let mut following = Self { path: path.to_owned(), mounted, asking, lines };
        while let Some(lines) = following.read_lines()? {
            if lines.iter().any(|line| line == BEGUN.as_bytes()) {
                return Ok(following);
            }
        }
        Err(following.error(StatusErrorKind::NotMounted))
    }

    /// The user whose daemon only claims the changes; `None` if it is trusted.
    pub(crate) fn claimant(&self) -> Option<u32> {
        self.mounted.claimant()
    }

    /// Waits for the next answer. Returns the changes in it. `None` if the mount has ended.
    pub(crate) fn read(&mut self) -> Result<Option<Vec<ChangedFile>>, StatusError> {
        let Some(lines) = self.read_lines()? else { return Ok(None) };
        let changes = lines.iter().filter(|line| !line.is_empty()).map(|line| serde_json::from_slice(line));
        let changes: Result<Vec<ChangedFile>, _> = changes.collect();
        changes.map(Some).map_err(|cause| self.error(StatusErrorKind::Unreadable(cause)))
    }

    fn read_lines(&mut self) -> Result<Option<Vec<Vec<u8>>>, StatusError> {
        match self.lines.read(SILENCE) {
            Ok(lines) if lines.is_empty() => self.ended(),
            Ok(lines) => Ok(Some(lines)),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                let _ = self.asking.kill();
                Err(self.error(StatusErrorKind::Hangs(process_of(&self.mounted))))
            }
            Err(error) => Err(self.error(StatusErrorKind::Failed(error.to_string()))),
        }
    }

    /// Why the process that asked has ended.
    fn ended(&mut self) -> Result<Option<Vec<Vec<u8>>>, StatusError> {
        let failed = |error: &io::Error| StatusErrorKind::Failed(error.to_string());
        let status = self.asking.wait().map_err(|error| self.error(failed(&error)))?;
        let kind = match status.code() {
            Some(0) => return Ok(None),
            Some(DEAD_CODE) => StatusErrorKind::Dead,
            Some(REFUSED_CODE) => StatusErrorKind::Refused,
            _ => {
                let pipe = self.asking.stderr.take();
                let said = pipe.map(|pipe| whole_file::read_stream(pipe, REPORT_MAX));
                let (said, _) = said.and_then(Result::ok).unwrap_or_default();
                let said = String::from_utf8_lossy(&said);
                StatusErrorKind::Failed(said.trim().to_owned())
            }
        };
        Err(self.error(kind))
    }

    fn error(&self, kind: StatusErrorKind) -> StatusError {
        StatusError { path: self.path.clone(), kind }
    }
}

/// A mount whose daemon this process asks for changes. It may wait for ever.
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
    /// Begins to follow the mount with this identity, as soon as its daemon watches the disk. Calls
    /// `record_answer` after each answer. Another user may put his mount in its place.
    pub(crate) fn start(
        path: &Path,
        identity: &str,
        mut record_answer: impl FnMut() -> io::Result<()>,
    ) -> Result<Self, StatusError> {
        let mountpoint = resolve_mountpoint(path);
        let mounted = mount_with_identity(path, identity)?;
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
            record_answer().map_err(|error| watching.error(StatusErrorKind::Failed(error.to_string())))?;
            sleep(STEP);
        };
        (watching.pid, watching.next) = (answer.pid, answer.next);
        Ok(watching)
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
