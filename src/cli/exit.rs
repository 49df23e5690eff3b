//! Exit codes, and the error type of commands.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::content::EntryError;
use crate::daemon::error::DaemonError;
use crate::fuse::{MountError, SessionError};
use crate::mounts::mount_status::{StatusError, StatusErrorKind};
use crate::shown::Shown;
use crate::system::text::{reason, reason_not_made};
use crate::vfs::{OpenError, OpenErrorKind};

/// Exit code of the program. Values come from `sysexits.h` if it defines one for the case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Ok = 0,
    /// The answer is no, or is not about the whole of what was asked: something was not looked at, `verify`
    /// found a bad file, `which` found no file, `extract` skipped a bad file, or `diff` found a difference.
    No = 1,
    /// The command line is invalid. The number is clap's.
    Usage = 2,
    /// An archive is damaged or of an unknown kind.
    Data = 65,
    /// An archive or path does not exist or cannot be read.
    NoInput = 66,
    /// FUSE is missing (no `/dev/fuse`, no fusermount3), a daemon has ended, or there is no desktop.
    Unavailable = 69,
    /// The mountpoint or output cannot be used.
    CannotCreate = 73,
    /// The system failed to read or write.
    Io = 74,
    /// Permission denied: `allow_other`, AppArmor, `/dev/fuse`.
    NoPermission = 77,
}

impl Exit {
    /// The code of a failed read of a file in the sources: its bytes are damaged, or were not looked at.
    pub(crate) fn of_read(error: &io::Error) -> Self {
        let entry = error.get_ref().and_then(|it| it.downcast_ref::<EntryError>());
        if entry.is_some_and(|it| it.reason.is_unseen()) { Self::Io } else { Self::Data }
    }

    /// All codes with their meaning, for the manual.
    pub const ALL: [(Self, &str); 9] = [
        (Self::Ok, "success"),
        (
            Self::No,
            "negative result, or something was not looked at (standard error names it): `verify` or \
             `conflicts --compare` found a bad file, `which` found no file, `extract` skipped a bad file or \
             kept one that differs, `diff` found a difference, `games` found no game, `pack` left out what \
             it should pack or refused it, `--glob` matched no file, or `order --check` found an oddity",
        ),
        (Self::Usage, "the command line is invalid"),
        (Self::Data, "an archive is damaged or of an unknown kind"),
        (Self::NoInput, "an archive or path does not exist or cannot be read"),
        (Self::Unavailable, "FUSE is missing, the daemon of a mount has ended, or no desktop is running"),
        (Self::CannotCreate, "the mountpoint or output cannot be used"),
        (Self::Io, "reading or writing failed"),
        (Self::NoPermission, "permission denied"),
    ];

    /// Exit code if mount(8) is the caller: 1 (usage or permission), 2 (system) or 32 (the mount failed).
    pub fn for_mount(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::No | Self::Usage | Self::NoPermission => 1,
            Self::Unavailable | Self::Io => 2,
            Self::Data | Self::NoInput | Self::CannotCreate => 32,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command failed: the exit code and the message.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    /// The message, one sentence. Empty if there is nothing to print.
    pub what: String,
}

impl Failure {
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self { exit, what: what.into() }
    }

    /// Creates a failure to open, read or write a path.
    pub fn io(exit: Exit, path: &Path, error: &io::Error) -> Self {
        let what = reason(error);
        Self::new(exit, format!("{}: {what}", path.shown()))
    }

    pub fn not_made(what: &str, path: &Path, error: &io::Error) -> Self {
        let why = reason_not_made(path, error);
        Self::new(Exit::CannotCreate, format!("cannot create {what} {}: {why}", path.shown()))
    }
}

/// A failure to write the output of a command. No other error of the system becomes a [`Failure`] by itself,
/// so that an error of a read is never reported as one of the output.
#[derive(Debug)]
pub(crate) struct OutputError(pub(crate) io::Error);

impl From<OutputError> for Failure {
    /// A closed pipe counts as success, as in `bsafs cat X.bsa a.txt | head`.
    fn from(OutputError(error): OutputError) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Exit::Ok, ""),
            _ => Self::new(Exit::Io, format!("cannot write the output: {error}")),
        }
    }
}

impl From<DaemonError> for Failure {
    fn from(error: DaemonError) -> Self {
        let exit = match &error {
            DaemonError::Mountpoint { .. }
            | DaemonError::NoFreeName(_)
            | DaemonError::NotMade { .. }
            | DaemonError::Folder { .. }
            | DaemonError::Locked(_)
            | DaemonError::Overlay(_)
            | DaemonError::Session(SessionError::Mount(MountError::Kernel(..))) => Exit::CannotCreate,
            DaemonError::Session(SessionError::Mount(MountError::Device(error)))
                if error.kind() == io::ErrorKind::PermissionDenied =>
            {
                Exit::NoPermission
            }
            DaemonError::Session(SessionError::Mount(
                MountError::Device(_) | MountError::WrongDevice | MountError::NoHelper(_),
            )) => Exit::Unavailable,
            DaemonError::Session(SessionError::Mount(
                MountError::Helper { .. } | MountError::Hindered(..),
            )) => Exit::NoPermission,
            DaemonError::NoUsers(_) => Exit::Unavailable,
            DaemonError::NoUser(_) => Exit::Usage,
            DaemonError::Reported(code) => {
                let known = Exit::ALL.into_iter().find(|(exit, _)| *exit as i32 == *code);
                known.map_or(Exit::Io, |(exit, _)| exit)
            }
            DaemonError::Start(_)
            | DaemonError::Ended(_)
            | DaemonError::Silent
            | DaemonError::Terminal(_)
            | DaemonError::Signals(_)
            | DaemonError::LogFile { .. }
            | DaemonError::LogThread(_)
            | DaemonError::Session(SessionError::Io(_))
            | DaemonError::NotReported(_)
            | DaemonError::OverlayEnd(_)
            | DaemonError::Lost(_) => Exit::Io,
        };
        Self::new(exit, error.to_string())
    }
}

impl From<StatusError> for Failure {
    fn from(error: StatusError) -> Self {
        let exit = match &error.kind {
            StatusErrorKind::NotMounted | StatusErrorKind::Part => Exit::NoInput,
            StatusErrorKind::Dead | StatusErrorKind::DeadOverlay => Exit::Unavailable,
            StatusErrorKind::Refused => Exit::NoPermission,
            StatusErrorKind::Unanswered(_) | StatusErrorKind::Hangs(_) | StatusErrorKind::Failed(_) => {
                Exit::Io
            }
            StatusErrorKind::Unreadable(_) | StatusErrorKind::TooOld => Exit::Data,
        };
        Self::new(exit, error.to_string())
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let exit = match error.kind() {
            OpenErrorKind::Unreadable(cause) if cause.kind() == io::ErrorKind::OutOfMemory => Exit::Io,
            OpenErrorKind::Unreadable(_) | OpenErrorKind::NotFound(_) | OpenErrorKind::IsMount => {
                Exit::NoInput
            }
            OpenErrorKind::OfOtherUser(_) => Exit::NoPermission,
            OpenErrorKind::Archive(_) | OpenErrorKind::TooLarge(_) => Exit::Data,
            OpenErrorKind::Profile(_) | OpenErrorKind::Option(_) => Exit::Usage,
        };
        Self::new(exit, error.to_string())
    }
}
