//! The one way to read a whole file. Each caller names the limit in `limits.rs` that bounds its memory.
//!
//! A file may be hostile: a pipe without a writer, a device without an end, or a sparse file of many
//! gigabytes. `tests/limits.rs` fails if other code reads to the end of a file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use super::text::size;

/// Reads a regular file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let too_large = || {
        let what = format!("it is larger than {}, the limit of such a file", size(limit as u64));
        io::Error::new(io::ErrorKind::FileTooLarge, what)
    };
    // A sparse file would cost the time to read zeros up to the limit.
    if file.metadata()?.len() > limit as u64 {
        return Err(too_large());
    }
    let (content, is_whole) = read_stream(file, limit)?;
    if is_whole { Ok(content) } else { Err(too_large()) }
}

/// Reads the first `limit` bytes of a regular file. Also returns whether they are the whole file.
pub(crate) fn read_start(path: &Path, limit: usize) -> io::Result<(Vec<u8>, bool)> {
    read_stream(open(path)?, limit)
}

/// Reads the first `limit` bytes of a pipe or an open file. Also returns whether they are all.
///
/// # Errors
/// It cannot be read, or there is no memory for the bytes.
pub(crate) fn read_stream(stream: impl Read, limit: usize) -> io::Result<(Vec<u8>, bool)> {
    let mut content = Vec::new();
    content.try_reserve((limit + 1).min(FIRST))?;
    stream.take(limit as u64 + 1).read_to_end(&mut content)?;
    let is_whole = content.len() <= limit;
    content.truncate(limit);
    Ok((content, is_whole))
}

/// Number of bytes to make room for before the first read. Files in /proc have no size, so the standard
/// library would begin with 32 bytes.
const FIRST: usize = 8 << 10;

fn open(path: &Path) -> io::Result<File> {
    // Without NONBLOCK, opening a FIFO would wait for a writer.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let kind = file.metadata()?.file_type();
    match kind.is_file() {
        true => Ok(file),
        false if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        false => Err(io::Error::other("not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn a_fifo_a_device_a_folder_and_a_large_file_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        mkfifoat(CWD, &fifo, Mode::RWXU).unwrap();
        for path in [&fifo, Path::new("/dev/zero"), dir.path()] {
            assert!(read(path, 10).is_err() && read_start(path, 10).is_err(), "{}", path.display());
        }
        let file = dir.path().join("file");
        fs::write(&file, "0123456789").unwrap();
        assert_eq!(read(&file, 10).unwrap(), b"0123456789");
        let error = read(&file, 9).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 9 bytes, the limit of such a file");
        assert_eq!(read_start(&file, 4).unwrap(), (b"0123".to_vec(), false));
        assert_eq!(read_start(&file, 10).unwrap(), (b"0123456789".to_vec(), true));
    }

    #[test]
    fn a_sparse_file_is_refused_before_it_is_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 40).unwrap();
        assert_eq!(read(file.path(), 1 << 20).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_file_in_proc_is_read_although_it_has_no_size() {
        assert!(read(Path::new("/proc/self/mountinfo"), 1 << 24).unwrap().ends_with(b"\n"));
        assert_eq!(
            read(Path::new("/proc/self/mountinfo"), 3).unwrap_err().kind(),
            io::ErrorKind::FileTooLarge
        );
        assert_eq!(read_start(Path::new("/proc/self/comm"), 3).unwrap().0.len(), 3);
    }
}
