//! What was learnt of a file when somebody first looked at it, and stays so: 24 bytes a file.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::Stat;
use twox_hash::XxHash3_64;

/// A file's size and time, and which file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// In bytes.
    pub size: u64,
    /// When its content was last changed (mtime), in nanoseconds since 1970; years that do not fit are the nearest that do.
    pub modified: i64,
    /// A hash of device and inode number; never 0.
    pub(super) identity: u64,
}

impl FileStat {
    /// When its content was last changed, as the mount shows it.
    pub fn modified(&self) -> SystemTime {
        system_time(self.modified)
    }

    pub(super) fn of(stat: &Stat) -> Self {
        let identity = identity(stat.st_dev, stat.st_ino);
        Self { size: u64::try_from(stat.st_size).unwrap_or(0), modified: modified(stat), identity }
    }
}

/// A file system object by device and inode number.
fn identity(device: u64, inode: u64) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&device.to_le_bytes());
    bytes[8..].copy_from_slice(&inode.to_le_bytes());
    XxHash3_64::oneshot(&bytes).max(1)
}

/// The mtime in nanoseconds since 1970.
pub(super) fn modified(stat: &Stat) -> i64 {
    let nanoseconds = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    stat.st_mtime.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

/// A time in nanoseconds since 1970 as the mount shows it: one that is earlier is that of 1970, as of archives.
pub fn system_time(nanoseconds: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0))
}

/// What is known of a file. It is learnt once, under the lock of its folder.
#[derive(Debug, Default)]
pub(super) struct FileState {
    /// 0 while nothing is known; stored last.
    identity: AtomicU64,
    size: AtomicU64,
    modified: AtomicI64,
}

impl FileState {
    pub(super) fn get(&self) -> Option<FileStat> {
        let identity = self.identity.load(Ordering::Acquire);
        (identity != 0).then(|| FileStat {
            size: self.size.load(Ordering::Relaxed),
            modified: self.modified.load(Ordering::Relaxed),
            identity,
        })
    }

    /// Must not be called by two threads at once.
    pub(super) fn set(&self, stat: FileStat) {
        self.size.store(stat.size, Ordering::Relaxed);
        self.modified.store(stat.modified, Ordering::Relaxed);
        self.identity.store(stat.identity, Ordering::Release);
    }
}
