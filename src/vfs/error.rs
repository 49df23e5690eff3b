//! Why sources could not be opened.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::format::{ParseError, ParseErrorKind};
use crate::shown::Shown;
use crate::system::text::reason;

/// Why a source could not be opened: its path, and what is wrong.
#[derive(Debug)]
pub struct OpenError {
    path: Option<PathBuf>,
    kind: OpenErrorKind,
}

/// What is wrong with a source.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenErrorKind {
    /// A source, or a file that says what to open, cannot be read.
    Unreadable(io::Error),
    /// There is no such file, folder or game, or the file cannot be opened. The text says what is
    /// wrong, and what to do.
    NotFound(String),
    /// The archive is damaged or of an unknown kind.
    Archive(ParseError),
    /// Sources have more or longer names than fit into the tree, or another limit is exceeded.
    TooLarge(Box<dyn Error + Send + Sync>),
    /// A profile is invalid; the text says what to correct.
    Profile(String),
    /// An option has an invalid value; the text says which values are valid.
    Option(String),
    /// The folder is in a mount of bsafs, which shows the merged files of its own sources.
    IsMount,
    /// Another user can decide what this leads to, which root opens for others to read. The text says why,
    /// and what to do.
    OfOtherUser(String),
}

impl OpenError {
    pub(crate) fn new(path: &Path, kind: OpenErrorKind) -> Self {
        Self { path: Some(path.to_owned()), kind }
    }

    /// The source cannot be read.
    pub(crate) fn unreadable(path: &Path, cause: io::Error) -> Self {
        Self::new(path, OpenErrorKind::Unreadable(cause))
    }

    /// The source is missing, or is not what it should be.
    pub(crate) fn not_found(path: &Path, what: impl Into<String>) -> Self {
        Self::new(path, OpenErrorKind::NotFound(what.into()))
    }

    /// A game cannot be planned; the text names it.
    pub(crate) fn game(what: impl Into<String>) -> Self {
        Self { path: None, kind: OpenErrorKind::NotFound(what.into()) }
    }

    /// A profile is invalid.
    pub(crate) fn profile(path: &Path, what: impl Into<String>) -> Self {
        Self::new(path, OpenErrorKind::Profile(what.into()))
    }

    /// An option has an invalid value.
    pub(crate) fn option(what: String) -> Self {
        Self { path: None, kind: OpenErrorKind::Option(what) }
    }

    /// The source exceeds a limit.
    pub(crate) fn too_large(path: &Path, cause: impl Error + Send + Sync + 'static) -> Self {
        Self::new(path, OpenErrorKind::TooLarge(Box::new(cause)))
    }

    /// All sources together exceed a limit.
    pub(crate) fn all_too_large(cause: impl Error + Send + Sync + 'static) -> Self {
        Self { path: None, kind: OpenErrorKind::TooLarge(Box::new(cause)) }
    }

    /// The sources together need more memory than there is.
    pub(crate) fn no_memory() -> Self {
        Self { path: None, kind: OpenErrorKind::Unreadable(io::ErrorKind::OutOfMemory.into()) }
    }

    /// The path of the source, or of the file that says what to open; `None` if the error is about neither.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// What is wrong with the source.
    pub fn kind(&self) -> &OpenErrorKind {
        &self.kind
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.shown())?;
        }
        self.kind.fmt(f)
    }
}

/// Writes what is wrong, without the path.
impl fmt::Display for OpenErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(cause) => f.write_str(&reason(cause)),
            Self::NotFound(what) | Self::Profile(what) | Self::Option(what) | Self::OfOtherUser(what) => {
                f.write_str(what)
            }
            // Bytes that match no format are refused at offset 0. `--force` does not help then.
            Self::Archive(cause) => match cause.kind {
                ParseErrorKind::Unsupported(_) if cause.at > 0 => {
                    write!(f, "{cause}; --force reads it by the nearest known layout")
                }
                _ => cause.fmt(f),
            },
            Self::TooLarge(cause) => cause.fmt(f),
            Self::IsMount => f.write_str(
                "a mount of bsafs covers this folder and hides its files; run `bsafs umount` on the mount, \
                 or give the sources of the mount instead",
            ),
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            OpenErrorKind::Unreadable(cause) => Some(cause),
            OpenErrorKind::Archive(cause) => Some(cause),
            OpenErrorKind::TooLarge(cause) => Some(&**cause),
            OpenErrorKind::NotFound(_)
            | OpenErrorKind::Profile(_)
            | OpenErrorKind::Option(_)
            | OpenErrorKind::IsMount
            | OpenErrorKind::OfOtherUser(_) => None,
        }
    }
}
