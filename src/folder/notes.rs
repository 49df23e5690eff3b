//! What a scan left out, and why.

use std::fmt;
use std::io;

use rustix::io::Errno;

use crate::limits::WALK_NOTES_MAX;

/// Something that a scan left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkNote {
    /// Its path from the folder on, as the disk has it.
    pub path: Vec<u8>,
    /// Why it is left out.
    pub why: Why,
}

/// Why something is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A link to nothing.
    Dangling,
    /// A link to a folder that it is in, or to links in a circle.
    Circle,
    /// It lies on a mount of this kind, which is not entered.
    Mount(&'static str),
    /// Neither a file, nor a folder, nor a link: a pipe, a socket, a device.
    Special,
    /// Too many folders deep, or its path is too long to be opened.
    Deep,
    /// The system refused to open it, with this error number.
    Refused(i32),
}

impl Why {
    /// Whether the user should know: what is missing is perhaps wanted.
    pub fn is_warning(self) -> bool {
        matches!(self, Self::Refused(_) | Self::Deep)
    }
}

impl From<Errno> for Why {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::LOOP => Self::Circle,
            Errno::NAMETOOLONG => Self::Deep,
            errno => Self::Refused(errno.raw_os_error()),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dangling => f.write_str("a link to nothing, left out"),
            Self::Circle => f.write_str("a link back to a folder that it is in, left out"),
            Self::Mount(kind) => write!(f, "it is on a mount of {kind}, which is not entered; left out"),
            Self::Special => f.write_str("neither file nor folder, left out"),
            Self::Deep => f.write_str("its path is too deep or too long, left out"),
            Self::Refused(errno) => {
                write!(f, "it cannot be opened and is left out: {}", io::Error::from_raw_os_error(*errno))
            }
        }
    }
}

/// The notes of one scan.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) kept: Vec<WalkNote>,
    /// How many more there were.
    pub(super) dropped: usize,
}

impl Notes {
    pub(super) fn add(&mut self, path: impl FnOnce() -> Vec<u8>, why: Why) {
        if self.kept.len() < WALK_NOTES_MAX {
            self.kept.push(WalkNote { path: path(), why });
        } else {
            self.dropped += 1;
        }
    }
}
