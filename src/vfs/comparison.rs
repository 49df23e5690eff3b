//! Whether files have the same bytes: by their sizes where these differ, else by digests of both, read in pieces.

use std::io::{self, Write};

use sha2::{Digest, Sha256};

use crate::content::Store;
use crate::format::EntryId;

/// A file of a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredFile<'a> {
    pub(crate) store: &'a Store,
    pub(crate) entry: EntryId,
}

/// What two files' bytes turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    Equal,
    Different,
    /// One of them cannot be read, for this reason.
    Unreadable(String),
}

impl Compared {
    /// `None` where one cannot be read.
    pub(crate) fn is_equal(&self) -> Option<bool> {
        match self {
            Self::Equal => Some(true),
            Self::Different => Some(false),
            Self::Unreadable(_) => None,
        }
    }

    /// Why one cannot be read.
    pub(crate) fn unreadable(&self) -> Option<&str> {
        match self {
            Self::Unreadable(what) => Some(what),
            Self::Equal | Self::Different => None,
        }
    }
}

/// The SHA-256 of a file's bytes.
type FileDigest = [u8; 32];

impl StoredFile<'_> {
    /// In bytes; `None` where it cannot be read.
    pub(crate) fn size(&self) -> Option<u64> {
        self.store.size(self.entry);
        self.store.known_size(self.entry)
    }

    /// Whether both are one file.
    pub(crate) fn is(&self, other: &StoredFile<'_>) -> bool {
        self.store.is_same_file(self.entry, other.store, other.entry)
    }

    /// Decodes the file once, extent by extent.
    fn digest(&self) -> Result<FileDigest, String> {
        let mut digest = Hashing(Sha256::new());
        match self.store.copy(self.entry, &mut digest) {
            Ok(_) => Ok(digest.0.finalize().into()),
            Err(error) => Err(format!("{}: {error}", self.store.path(self.entry.layer).display())),
        }
    }
}

/// Compares a file with each of others. Each is read once at most, and none that has a size of its own. Two files are never
/// open side by side: whoever waits for the memory of one decoded extent would hold that of another.
pub(crate) fn compare(file: StoredFile<'_>, others: &[StoredFile<'_>]) -> Vec<Compared> {
    let size = file.size();
    let mut digest = None;
    let compare_one = |other: &StoredFile<'_>| {
        let other_size = other.size();
        match (size, other_size) {
            _ if file.is(other) => return Compared::Equal,
            (Some(one), Some(two)) if one != two => return Compared::Different,
            _ => {}
        }
        let of_file: &Result<FileDigest, String> = digest.get_or_insert_with(|| file.digest());
        match (of_file, of_file.is_ok().then(|| other.digest())) {
            (Err(what), _) => Compared::Unreadable(what.clone()),
            (_, Some(Err(what))) => Compared::Unreadable(what),
            (Ok(one), Some(Ok(two))) if *one == two => Compared::Equal,
            _ => Compared::Different,
        }
    };
    others.iter().map(compare_one).collect()
}

/// Bytes that are hashed as they are written.
struct Hashing(Sha256);

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
