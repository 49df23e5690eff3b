//! Compares the bytes of files: first by size, then by digests of both, read in pieces.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};

use sha2::{Digest, Sha256};

use super::file::VfsFile;
use crate::content::BytesKey;
use crate::shown::Shown;
use crate::system::once_per_file::OncePerFile;

/// Maximum number of bytes to compare at once.
const BUFFER: usize = 1 << 16;

/// How the bytes of two files compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    Equal,
    Different,
    /// One of the files cannot be read, for this reason.
    Unreadable(String),
}

impl Compared {
    /// Whether the files are equal; `None` if one cannot be read.
    pub(crate) fn is_equal(&self) -> Option<bool> {
        match self {
            Self::Equal => Some(true),
            Self::Different => Some(false),
            Self::Unreadable(_) => None,
        }
    }

    /// Why one of the files cannot be read.
    pub(crate) fn unreadable(&self) -> Option<&str> {
        match self {
            Self::Unreadable(what) => Some(what),
            Self::Equal | Self::Different => None,
        }
    }
}

/// The SHA-256 of a file's bytes.
type FileDigest = [u8; 32];

/// The digests of files, each made once for all names of the same bytes.
#[derive(Debug, Default)]
pub(crate) struct Digests(OncePerFile<Result<FileDigest, String>, BytesKey>);

impl Digests {
    /// Hashes a file. Each extent is decoded once.
    fn of(&self, file: &VfsFile) -> Result<FileDigest, String> {
        self.0.of(file.bytes_key(), || {
            let mut digest = Hashing(Sha256::new());
            match file.write_to(&mut digest) {
                Ok(_) => Ok(digest.0.finalize().into()),
                Err(error) => Err(format!("{}: {error}", file.layer().path().shown())),
            }
        })
    }
}

/// Compares a file with each of the others. Each file is read at most once, and a file whose size
/// differs is not read. Two files are never open at the same time: a thread would hold the memory
/// of one decoded extent while it waits for that of another.
pub(crate) fn compare(file: &VfsFile, others: &[VfsFile], digests: &Digests) -> Vec<Compared> {
    let size = file.size().ok();
    let mut of_file = None;
    let compare_one = |other: &VfsFile| {
        let other_size = other.size().ok();
        match (size, other_size) {
            (Some(one), Some(two)) if one != two => return Compared::Different,
            _ => {}
        }
        let of_file: &Result<FileDigest, String> = of_file.get_or_insert_with(|| digests.of(file));
        // One file on both sides is read once, because a file that cannot be read is not called equal.
        let of_other = || if file.is_same(other) { of_file.clone() } else { digests.of(other) };
        match (of_file, of_file.is_ok().then(of_other)) {
            (Err(what), _) => Compared::Unreadable(what.clone()),
            (_, Some(Err(what))) => Compared::Unreadable(what),
            (Ok(one), Some(Ok(two))) if *one == two => Compared::Equal,
            _ => Compared::Different,
        }
    };
    others.iter().map(compare_one).collect()
}

/// Whether a file on the disk has the same bytes as a file of the tree. It differs if it cannot be read.
///
/// # Errors
/// The file of the tree cannot be read.
pub(crate) fn equals(file: &VfsFile, on_disk: &File) -> io::Result<bool> {
    match file.size() {
        Ok(size) => equals_written(on_disk, Some(size), |mut to| file.write_to(&mut to).map(drop)),
        Err(_) => Ok(false),
    }
}

/// Whether a file on the disk has the bytes that `write` writes, whose number is `len` if it is known. It
/// differs if it cannot be read.
///
/// # Errors
/// The error of `write`.
pub(crate) fn equals_written(
    on_disk: &File,
    len: Option<u64>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<bool> {
    if len.is_some() && len != on_disk.metadata().map(|found| found.len()).ok() {
        return Ok(false);
    }
    let mut comparing = HalfRead { file: BufReader::with_capacity(BUFFER, on_disk), is_equal: true };
    match write(&mut comparing) {
        _ if !comparing.is_equal => Ok(false),
        Ok(()) => Ok(comparing.file.fill_buf().is_ok_and(<[u8]>::is_empty)),
        Err(error) => Err(error),
    }
}

/// A writer that compares its bytes with those of a file. It fails at the first difference.
struct HalfRead<'f> {
    file: BufReader<&'f File>,
    is_equal: bool,
}

impl Write for HalfRead<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len().min(BUFFER);
        let mut other = vec![0; len];
        self.is_equal = self.file.read_exact(&mut other).is_ok() && other == bytes[..len];
        if self.is_equal { Ok(len) } else { Err(io::Error::other("another file")) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer that hashes its bytes.
pub(crate) struct Hashing(pub(crate) Sha256);

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::vfs::Vfs;

    /// An archive in which all names have the same bytes, its path, and its files.
    pub(crate) fn names_of_one_extent(
        names: &[&str],
        bytes: &[u8],
    ) -> (tempfile::TempDir, PathBuf, Vec<VfsFile>) {
        let number = |number: usize| (number as u32).to_le_bytes();
        let text: Vec<u8> = names.iter().flat_map(|name| [name.as_bytes(), b"\0"].concat()).collect();
        let header = [number(0x100), number(names.len() * 12 + text.len()), number(names.len())].concat();
        let records = [number(bytes.len()), number(0)].concat().repeat(names.len());
        let starts =
            names.iter().scan(0, |at, name| Some(number(std::mem::replace(at, *at + name.len() + 1))));
        let starts: Vec<u8> = starts.flatten().collect();
        let hashes = vec![0; names.len() * 8];
        let dir = tempfile::tempdir().expect("cannot make a folder");
        let path = dir.path().join("a.bsa");
        std::fs::write(&path, [&header[..], &records, &starts, &text, &hashes, bytes].concat())
            .expect("cannot write");
        let vfs = Vfs::open([&path]).expect("cannot open");
        let files = names.iter().map(|name| vfs.file(*name).expect("not there")).collect();
        (dir, path, files)
    }

    #[test]
    fn bytes_that_several_names_share_are_read_once() {
        let (_dir, path, files) = names_of_one_extent(&["a.txt", "b.txt"], &[1; 1 << 17]);
        let (_dir, _, others) = names_of_one_extent(&["a.txt", "b.txt"], &[1; 1 << 17]);
        let (_dir, _, short) = names_of_one_extent(&["a.txt", "b.txt"], &[1; 10]);
        let digests = Digests::default();
        assert_eq!(compare(&files[0], &others, &digests), [Compared::Equal, Compared::Equal]);
        // Nothing is left to read.
        std::fs::write(path, "").expect("cannot write");
        assert_eq!(compare(&files[1], &others, &digests), [Compared::Equal, Compared::Equal]);
        assert!(matches!(compare(&files[1], &others, &Digests::default())[0], Compared::Unreadable(_)));
        assert_eq!(files[0].bytes_key(), files[1].bytes_key());
        assert_ne!(files[0].bytes_key(), others[0].bytes_key());
        assert_eq!(short[0].bytes_key(), None);
    }

    #[test]
    fn a_file_is_equal_to_itself_if_it_can_be_read() {
        let (_dir, path, files) = names_of_one_extent(&["a.txt"], &[1; 10]);
        let itself = [files[0].clone()];
        assert_eq!(compare(&files[0], &itself, &Digests::default()), [Compared::Equal]);
        std::fs::write(path, "").expect("cannot write");
        assert!(matches!(compare(&files[0], &itself, &Digests::default())[0], Compared::Unreadable(_)));
    }
}
