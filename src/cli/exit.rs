//! Exit codes, and the message of a failure.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::format::{ParseError, ParseErrorKind};

/// Exit codes; those of `sysexits.h` where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Ok = 0,
    /// The answer is no: `verify` found a bad file, `which` found no file, `extract` skipped a bad file, `diff` found a
    /// difference.
    No = 1,
    /// The command line is invalid. The number is clap's.
    Usage = 2,
    /// An archive is damaged or of an unknown kind.
    Data = 65,
    /// An archive or path does not exist, or may not be read.
    NoInput = 66,
    /// FUSE is missing (no `/dev/fuse`, no fusermount3), a daemon has ended, or there is no desktop to open a window on.
    Unavailable = 69,
    /// The mountpoint or output cannot be used.
    CannotCreate = 73,
    /// The system failed to read or write.
    Io = 74,
    /// Permission denied: `allow_other`, AppArmor, `/dev/fuse`.
    NoPermission = 77,
}

impl Exit {
    /// All codes with their meaning, for the manual.
    pub const ALL: [(Self, &str); 9] = [
        (Self::Ok, "success"),
        (
            Self::No,
            "the answer is no: verify found a bad file, which found no file, extract skipped a bad file, diff found a \
             difference",
        ),
        (Self::Usage, "the command line is invalid"),
        (Self::Data, "an archive is damaged or of an unknown kind"),
        (Self::NoInput, "an archive or path does not exist or cannot be read"),
        (Self::Unavailable, "FUSE is missing, the daemon of a mount has ended, or there is no desktop"),
        (Self::CannotCreate, "the mountpoint or output cannot be used"),
        (Self::Io, "reading or writing failed"),
        (Self::NoPermission, "permission denied"),
    ];

    /// The exit code where mount(8) is the caller: 1 (usage or permission), 2 (system) or 32 (the mount failed).
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
    /// The exit code.
    pub exit: Exit,
    /// The message, one sentence; empty where there is nothing to print.
    pub what: String,
}

impl Failure {
    /// A failure with its message.
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self { exit, what: what.into() }
    }

    /// A path that could not be opened, read or written.
    pub fn io(exit: Exit, path: &Path, error: &io::Error) -> Self {
        let what = match error.kind() {
            _ if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
                "too many open files: every archive stays open; raise the limit with `ulimit -n`".to_owned()
            }
            io::ErrorKind::NotFound => "no such file or folder".to_owned(),
            io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
            io::ErrorKind::IsADirectory => "it is a folder; name the archives in it".to_owned(),
            _ => error.to_string(),
        };
        Self::new(exit, format!("{}: {what}", path.display()))
    }

    /// Something that was to be made and could not be.
    pub fn not_made(what: &str, path: &Path, error: &io::Error) -> Self {
        let why = match (Self::missing_parent(path), error.kind()) {
            (Some(missing), io::ErrorKind::NotFound) => missing,
            (_, io::ErrorKind::PermissionDenied) => "permission denied".to_owned(),
            (_, io::ErrorKind::AlreadyExists) => "something else has its name".to_owned(),
            _ => error.to_string(),
        };
        Self::new(Exit::CannotCreate, format!("cannot make {what} {}: {why}", path.display()))
    }

    /// The first folder on the way to a path that is missing, as a message; `None` where its parent exists.
    pub fn missing_parent(path: &Path) -> Option<String> {
        let absolute = std::path::absolute(path).ok()?;
        let missing = absolute.ancestors().skip(1).take_while(|folder| !folder.exists()).last()?;
        Some(format!("there is no folder {}", missing.display()))
    }

    /// An archive whose tables cannot be read.
    pub fn unreadable(path: &Path, error: &ParseError) -> Self {
        // Bytes that match no format are refused at offset 0; --force does not help there.
        let advice = match error.kind {
            ParseErrorKind::Unsupported(_) if error.at > 0 => {
                "; --force reads it by the nearest layout that is known"
            }
            _ => "",
        };
        Self::new(Exit::Data, format!("{}: {error}{advice}", path.display()))
    }

    /// Output that failed. A closed pipe is success, as in `bsafs list X.bsa | head`.
    pub fn output(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Exit::Ok, ""),
            _ => Self::new(Exit::Io, format!("cannot write the output: {error}")),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::output(&error)
    }
}
