//! What a scan left out, and why.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::io::Errno;

use crate::limits::{LINKED_FOLDER_MAX, WALK_NOTES_MAX};
use crate::note::{Note, NoteCode};
use crate::shown::in_utf8;
use crate::system::text::reason;

/// Something that a scan left out, or that no game finds. It becomes a [`Note`] when somebody asks, because a
/// rescan compares paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkNote {
    /// Path relative to the scanned folder, as stored on disk.
    pub path: Vec<u8>,
    pub why: Why,
}

impl WalkNote {
    /// The note, with the path below `folder`.
    pub fn note(&self, folder: &Path) -> Note {
        let path = in_utf8(&folder.join(OsStr::from_bytes(&self.path)));
        match self.why {
            Why::Dangling => Note::dangling_link(path),
            why => Note::new(why.code(), path, why.to_string()),
        }
    }
}

/// Why something is left out, or is not found by a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A link whose target does not exist.
    Dangling,
    /// A link to a folder that contains it, or a circle of links.
    Circle,
    /// A folder that links show more often than [`LINKED_FOLDER_MAX`] times.
    LinkedOften,
    /// A link that a user other than root decides, where only root's links are followed.
    OfOtherUser,
    /// A file or folder on a mount of this kind, which is not entered.
    Mount(&'static str),
    /// Neither a file, nor a folder, nor a link: a pipe, a socket, a device.
    Special,
    /// Nested too deep, or the path is too long to open.
    Deep,
    /// A folder on which a file system is mounted that the system does not let this process enter.
    Covered,
    /// A name with a backslash. It is not left out.
    Backslash,
    /// A file or folder that the system refused to open, with the error number.
    Refused(i32),
}

impl Why {
    pub fn code(self) -> NoteCode {
        match self {
            Self::Dangling => NoteCode::LinkDangling,
            Self::Circle => NoteCode::LinkCircle,
            Self::LinkedOften => NoteCode::LinkedOften,
            Self::OfOtherUser => NoteCode::LinkOfOtherUser,
            Self::Mount(_) | Self::Covered => NoteCode::OtherMount,
            Self::Special => NoteCode::SpecialFile,
            Self::Deep => NoteCode::PathTooDeep,
            Self::Backslash => NoteCode::NameBackslash,
            Self::Refused(_) => NoteCode::FileUnreadable,
        }
    }

    /// Whether the log of a mount warns of it, because the missing file is perhaps wanted.
    pub fn is_warning(self) -> bool {
        !matches!(self, Self::Dangling | Self::Circle | Self::Mount(_) | Self::Special)
    }
}

impl From<Errno> for Why {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::LOOP => Self::Circle,
            Errno::NAMETOOLONG => Self::Deep,
            Errno::XDEV => Self::Covered,
            errno => Self::Refused(errno.raw_os_error()),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dangling => f.write_str("left out: the target of the link does not exist"),
            Self::Circle => f.write_str("left out: the link leads back to a folder that contains it"),
            Self::LinkedOften => write!(
                f,
                "left out what is in it: links show this folder {LINKED_FOLDER_MAX} times already; remove \
                 links that lead to it or to a folder above it"
            ),
            Self::OfOtherUser => f.write_str(
                "left out: another user can decide where the link leads, and others would read what root can \
                 read; run as that user, or mount with -o setuid=USER",
            ),
            Self::Mount(kind) if *kind != "FUSE" => write!(f, "left out: it is on a {kind} mount"),
            Self::Mount(kind) => write!(
                f,
                "left out: it is on a {kind} mount, whose program could wait for bsafs; copy it to a disk, \
                 or name its folder as a source of its own"
            ),
            Self::Covered => f.write_str(
                "left out: another file system is mounted on it, perhaps by another user, and this user \
                 cannot enter it; run as the user who mounted it, or unmount it",
            ),
            Self::Special => f.write_str("left out: neither a file nor a folder"),
            Self::Backslash => f.write_str(
                "its name has a backslash, as programs make it that unpack a zip file of Windows wrongly; \
                 the game does not see it: unpack the download again, or move it into the folder that its \
                 name begins with",
            ),
            Self::Deep => f.write_str("left out: its path is too deep or too long"),
            Self::Refused(errno) => {
                write!(f, "left out: cannot open it: {}", reason(&io::Error::from_raw_os_error(*errno)))
            }
        }
    }
}

/// The notes of one scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ScanNotes {
    pub(super) kept: Vec<WalkNote>,
    /// How many more notes there were.
    pub(super) dropped: usize,
}

impl ScanNotes {
    pub(super) fn add(&mut self, path: impl FnOnce() -> Vec<u8>, why: Why) {
        if self.kept.len() < WALK_NOTES_MAX {
            self.kept.push(WalkNote { path: path(), why });
        } else {
            self.dropped += 1;
        }
    }
}
