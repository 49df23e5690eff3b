//! System calls on open files.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{AtFlags, Statx, StatxFlags};
use rustix::io::Errno;

/// The attributes of an open file, with its birth time if the file system has one.
pub(super) fn stat_of(file: impl AsFd) -> Result<Statx, Errno> {
    rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | StatxFlags::BTIME)
}

/// Reads until the buffer is full or the file ends. Returns the number of bytes.
pub(super) fn read_to_end(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], offset.saturating_add(read as u64)) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
