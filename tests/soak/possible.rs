//! What a reader may find at a path and in an open file, and which errors it may get.
//!
//! A loose file that is written to in place keeps its number in the mount. Until the mount shows the change,
//! a read of it may return old and new bytes, and end anywhere, but has no zeros that no version has.
//! Afterwards it must return the new bytes, even if the file was opened before. A file that was replaced by a
//! rename stays what it was when it was opened.

use std::io;
use std::sync::Arc;

use rustix::io::Errno;

use crate::check::Trouble;
use crate::contents::File;
use crate::view::{Shown, View};

/// An effect that a change may have on a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// EIO or an estimated size, because the bytes of an archive were overwritten.
    Overwritten,
    /// ESTALE, because another file has the path of an open loose file, or it was cut off before what a
    /// reader asks for.
    Replaced,
    /// A file came, went or was replaced between two steps of a reader.
    Moved,
}

/// What may be at a path.
pub(crate) struct Possible {
    pub(crate) files: Vec<Arc<Shown>>,
    /// Whether nothing may be there.
    pub(crate) is_absent: bool,
}

impl Possible {
    pub(crate) fn new(views: &[Arc<View>], path: &str) -> Self {
        let found: Vec<_> = views.iter().map(|view| view.find(path)).collect();
        let is_absent = found.iter().any(Option::is_none);
        let mut files: Vec<Arc<Shown>> = found.into_iter().flatten().cloned().collect();
        files.dedup_by(|one, other| Arc::ptr_eq(&one.file, &other.file));
        Self { files, is_absent }
    }

    /// The versions of a file that a reader may find if this is what may be at the file's path now. Call it
    /// after the read, because another version may have been written meanwhile.
    pub(crate) fn versions(&self, shown: &Shown) -> Versions {
        let mut versions = shown.file.versions();
        let is_here = |file: &Arc<File>| self.files.iter().any(|it| Arc::ptr_eq(&it.file, file));
        // Older versions than the oldest that may be here are no longer shown.
        if let Some(oldest) = versions.iter().position(is_here) {
            versions.drain(..oldest);
        }
        Versions(versions)
    }

    /// Classifies an error of a path: if a change explains it, [`Trouble::OfChange`], otherwise
    /// [`Trouble::Refused`].
    pub(crate) fn refused(&self, error: io::Error, path: &str) -> Trouble {
        match Errno::from_io_error(&error) {
            Some(Errno::NOENT) if self.is_absent => Trouble::OfChange(Effect::Moved),
            Some(Errno::IO) if self.is_overwritten() => Trouble::OfChange(Effect::Overwritten),
            _ => Trouble::Refused { error, path: path.to_owned() },
        }
    }

    /// Classifies an error of an open file.
    pub(crate) fn refused_open(&self, error: io::Error, path: &str) -> Trouble {
        match Errno::from_io_error(&error) {
            Some(Errno::STALE) if self.files.iter().any(|it| it.is_replaced() || it.was_cut()) => {
                Trouble::OfChange(Effect::Replaced)
            }
            Some(Errno::IO) if self.is_overwritten() => Trouble::OfChange(Effect::Overwritten),
            _ => Trouble::Refused { error, path: path.to_owned() },
        }
    }

    /// Whether the file may be one of an archive that was written to in place.
    pub(crate) fn is_overwritten(&self) -> bool {
        self.files.iter().any(|it| it.is_overwritten())
    }
}

/// Versions of one file, of which a reader may find any. If there are several, it may find a mixture.
pub(crate) struct Versions(Vec<Arc<File>>);

impl Versions {
    /// Whether a read of up to `len` bytes at `offset` may return these bytes.
    pub(crate) fn has(&self, offset: usize, read: &[u8], len: usize) -> bool {
        self.is_one(offset, read, len) || self.is_mixture(offset, read)
    }

    /// Whether each byte is that of any version.
    fn is_mixture(&self, offset: usize, read: &[u8]) -> bool {
        let is_any = |(at, byte): (usize, &u8)| self.0.iter().any(|file| file.data.get(at) == Some(byte));
        self.0.len() > 1 && (offset..).zip(read).all(is_any)
    }

    /// Whether the bytes are those of a single version, up to the end of the read or of the file.
    pub(crate) fn is_one(&self, offset: usize, read: &[u8], len: usize) -> bool {
        self.0.iter().any(|file| {
            let rest = file.data.get(offset..).unwrap_or_default();
            rest.starts_with(read) && read.len() == len.min(rest.len())
        })
    }

    /// Whether the file may be this long.
    pub(crate) fn has_length(&self, len: u64) -> bool {
        let lengths = self.lengths();
        lengths.contains(&len) || lengths.len() > 1 && lengths.iter().any(|&it| len < it)
    }

    /// The length of each version in bytes.
    pub(crate) fn lengths(&self) -> Vec<u64> {
        self.0.iter().map(|file| file.data.len() as u64).collect()
    }
}
