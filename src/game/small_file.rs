//! Reading of small files that other programs write: lists, settings, INI files. Regular files only, up to a limit.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use super::looked;
use crate::system::covered::uncovered;

/// The content of a regular file of at most `limit` bytes; a larger one is an error.
pub fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let (content, is_whole) = read_start(path, limit)?;
    if !is_whole {
        return Err(io::Error::other(format!("it is larger than {limit} bytes")));
    }
    Ok(content)
}

/// The first `limit` bytes of a regular file, and whether they are all of it.
pub fn read_start(path: &Path, limit: usize) -> io::Result<(Vec<u8>, bool)> {
    looked::note_file(path);
    // Without NONBLOCK a FIFO would wait for a writer.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(uncovered(path))?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut content = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut content)?;
    let is_whole = content.len() <= limit;
    content.truncate(limit);
    Ok((content, is_whole))
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::{read, read_start};

    #[test]
    fn a_fifo_a_folder_and_a_large_file_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        mkfifoat(CWD, &fifo, Mode::RWXU).unwrap();
        assert!(read(&fifo, 10).is_err());
        assert!(read(dir.path(), 10).is_err());
        let file = dir.path().join("file");
        std::fs::write(&file, "0123456789").unwrap();
        assert_eq!(read(&file, 10).unwrap(), b"0123456789");
        assert!(read(&file, 9).unwrap_err().to_string().contains("larger than 9 bytes"));
        assert_eq!(read_start(&file, 4).unwrap(), (b"0123".to_vec(), false));
    }
}
