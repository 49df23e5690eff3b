//! Why archives were not packed.

use std::io;
use std::path::Path;

use crate::shown::Shown;
use crate::system::text::reason;

/// Why archives were not packed. Nothing was placed.
#[derive(Debug)]
pub struct PackError {
    kind: PackErrorKind,
    what: String,
}

/// The kind of a [`PackError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackErrorKind {
    /// An option or a name is wrong or missing.
    Option,
    /// Files cannot be packed as they are.
    Source,
    /// A file of the source cannot be read, or changed.
    Unreadable,
    /// An archive exists already, or cannot be made.
    Output,
    /// The disk is full, or writing failed.
    Io,
    /// What was written is not what was read.
    Differs,
}

/// How many files a message names.
const NAMED_MAX: usize = 20;

impl PackError {
    pub(super) fn new(kind: PackErrorKind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into() }
    }

    /// An error about several files: what is wrong, and a line for each.
    pub(super) fn list(kind: PackErrorKind, what: &str, lines: &[String]) -> Self {
        let shown = lines.iter().take(NAMED_MAX).map(|line| format!("\n  {line}"));
        let more = match lines.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!("\n  and {more} more"),
        };
        Self::new(kind, format!("{what}{}{more}", shown.collect::<String>()))
    }

    /// An error of the system about a path.
    pub(super) fn io(path: &Path, error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
                PackErrorKind::Output
            }
            _ => PackErrorKind::Io,
        };
        Self::new(kind, format!("{}: {}", path.shown(), reason(error)))
    }

    /// The kind.
    pub fn kind(&self) -> PackErrorKind {
        self.kind
    }
}

impl std::fmt::Display for PackError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for PackError {}
