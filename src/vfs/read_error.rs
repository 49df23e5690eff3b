//! Why a file of the tree could not be read.

use std::fmt;
use std::path::PathBuf;

use crate::content::{self, Reason};
use crate::shown::Shown;

/// Why a file of the tree could not be read.
#[derive(Clone, Debug)]
pub struct ReadError {
    layer: PathBuf,
    path: String,
    kind: ReadErrorKind,
}

/// What is wrong with a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The file is larger than the read limit. Both numbers are in bytes.
    TooLarge {
        /// The file's size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// There is not enough memory for this number of bytes.
    NoMemory(u64),
    /// The file is damaged; the text says how.
    Unreadable(String),
    /// Nothing is known of the file's bytes: it was changed or removed meanwhile, or the system refused to
    /// read it. The text says which.
    NotRead(String),
}

impl ReadError {
    pub(crate) fn new(layer: PathBuf, path: String, kind: ReadErrorKind) -> Self {
        Self { layer, path, kind }
    }

    /// The archive or folder that contains the file.
    pub fn layer(&self) -> &std::path::Path {
        &self.layer
    }

    /// The file's path in the tree.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong.
    pub fn kind(&self) -> &ReadErrorKind {
        &self.kind
    }
}

impl ReadErrorKind {
    /// Whether the file was not looked at, so that it is not known to be damaged.
    pub(crate) fn is_unseen(&self) -> bool {
        matches!(self, Self::NoMemory(_) | Self::NotRead(_))
    }
}

impl From<content::EntryError> for ReadErrorKind {
    fn from(error: content::EntryError) -> Self {
        match error.reason {
            Reason::NoMemory(len) => Self::NoMemory(len),
            _ if error.reason.is_unseen() => Self::NotRead(error.to_string()),
            _ => Self::Unreadable(error.to_string()),
        }
    }
}

impl fmt::Display for ReadErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { size, limit } => {
                write!(
                    f,
                    "it has {size} bytes, more than the limit of {limit}; read it in pieces, or raise \
                     the limit"
                )
            }
            Self::NoMemory(size) => write!(f, "not enough memory for its {size} bytes; read it in pieces"),
            Self::Unreadable(what) | Self::NotRead(what) => f.write_str(what),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.layer.shown(), self.path.shown(), self.kind)
    }
}

impl std::error::Error for ReadError {}

impl From<ReadError> for std::io::Error {
    fn from(error: ReadError) -> Self {
        let kind = match error.kind {
            ReadErrorKind::TooLarge { .. } => std::io::ErrorKind::FileTooLarge,
            ReadErrorKind::NoMemory(_) => std::io::ErrorKind::OutOfMemory,
            ReadErrorKind::Unreadable(_) | ReadErrorKind::NotRead(_) => std::io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}
