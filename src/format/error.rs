//! Errors of parsing: why an archive's tables could not be read, and at which offset.

use std::fmt;

use crate::read::UnexpectedEnd;

/// An error that makes a whole archive unreadable, as opposed to one bad entry in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Where the problem is, in bytes from the start of the archive.
    pub at: u64,
    /// What the problem is.
    pub kind: ParseErrorKind,
}

/// Kinds of errors that callers handle differently.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The bytes contradict themselves or end too early.
    Corrupt(String),
    /// The layout is not known to this program.
    Unsupported(String),
    /// The archive is well-formed, but exceeds a limit.
    Limit(String),
}

impl ParseError {
    /// The bytes at `at` contradict themselves.
    #[doc(hidden)]
    pub fn corrupt(at: u64, what: impl Into<String>) -> Self {
        Self { at, kind: ParseErrorKind::Corrupt(what.into()) }
    }

    /// The bytes at `at` indicate an unknown layout.
    #[doc(hidden)]
    pub fn unsupported(at: u64, what: impl Into<String>) -> Self {
        Self { at, kind: ParseErrorKind::Unsupported(what.into()) }
    }

    /// The count at `at` exceeds a limit.
    #[doc(hidden)]
    pub fn limit(at: u64, what: impl Into<String>) -> Self {
        Self { at, kind: ParseErrorKind::Limit(what.into()) }
    }
}

impl From<UnexpectedEnd> for ParseError {
    fn from(end: UnexpectedEnd) -> Self {
        Self::corrupt(end.at, format!("the file ends before {}", end.what))
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (class, what) = match &self.kind {
            ParseErrorKind::Corrupt(what) => ("damaged archive", what),
            ParseErrorKind::Unsupported(what) => ("unsupported archive", what),
            ParseErrorKind::Limit(what) => ("archive too large", what),
        };
        write!(f, "{class}: {what} (at offset {})", self.at)
    }
}

impl std::error::Error for ParseError {}
