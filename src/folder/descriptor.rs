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

/// Reads until the buffer is full or the file ends. Returns the number of bytes. No file has bytes from
/// offset 2^63 - 1 on, which the system refuses.
pub(super) fn read_full(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let most = usize::try_from((i64::MAX as u64).saturating_sub(offset)).unwrap_or(usize::MAX);
    let len = buffer.len().min(most);
    let buffer = &mut buffer[..len];
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
