//! The one error of the program: a message with its exit code. Errors of the library have types of their own.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::shown::Shown;
use crate::system::text::{reason, reason_not_made, reason_not_started};

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
    /// The code with which this program, started again, ended.
    pub(crate) fn of_code(code: i32) -> Self {
        Self::ALL.into_iter().find(|(exit, _)| *exit as i32 == code).map_or(Self::Io, |(exit, _)| exit)
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

/// Why the program failed.
#[derive(Debug)]
pub struct Failure {
    /// With which code the program ends.
    pub exit: Exit,
    /// The message, one sentence: what failed, why, and what to do. Empty if there is nothing to print.
    pub what: String,
    /// The error of the system that caused it, if it is known.
    pub(crate) cause: Option<io::ErrorKind>,
}

impl Failure {
    /// Creates a failure that the system did not cause.
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self { exit, what: what.into(), cause: None }
    }

    /// Creates a failure to open, read or write a path.
    pub fn io(exit: Exit, path: &Path, error: &io::Error) -> Self {
        let what = reason(error);
        Self { cause: Some(error.kind()), ..Self::new(exit, format!("{}: {what}", path.shown())) }
    }

    /// Creates a failure to start a program or a thread.
    pub(crate) fn not_started(what: &str, error: &io::Error) -> Self {
        Self::new(Exit::Io, format!("cannot start {what}: {}", reason_not_started(error)))
    }

    /// Creates a failure to make a file or folder.
    pub fn not_made(what: &str, path: &Path, error: &io::Error) -> Self {
        let why = reason_not_made(path, error);
        Self::new(Exit::CannotCreate, format!("cannot create {what} {}: {why}", path.shown()))
    }
}
