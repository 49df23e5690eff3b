//! Whether files have the same bytes: by their sizes where these differ, else by digests of both, read in pieces.

use std::io::{self, Write};

use sha2::{Digest, Sha256};

use super::file::VfsFile;

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

/// Decodes a file once, extent by extent.
fn digest(file: &VfsFile) -> Result<FileDigest, String> {
    let mut digest = Hashing(Sha256::new());
    match file.write_to(&mut digest) {
        Ok(_) => Ok(digest.0.finalize().into()),
        Err(error) => Err(format!("{}: {error}", file.layer().path().display())),
    }
}

/// Compares a file with each of others. Each is read once at most, and none that has a size of its own. Two files are never
/// open side by side: whoever waits for the memory of one decoded extent would hold that of another.
pub(crate) fn compare(file: &VfsFile, others: &[VfsFile]) -> Vec<Compared> {
    let size = file.size().ok();
    let mut of_file = None;
    let compare_one = |other: &VfsFile| {
        let other_size = other.size().ok();
        match (size, other_size) {
            _ if file.is_same(other) => return Compared::Equal,
            (Some(one), Some(two)) if one != two => return Compared::Different,
            _ => {}
        }
        let of_file: &Result<FileDigest, String> = of_file.get_or_insert_with(|| digest(file));
        match (of_file, of_file.is_ok().then(|| digest(other))) {
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
