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
    /// A hash of device and inode number, never 0, and below it one of the ctime, whose lowest bit says that it was settled.
    pub(super) identity: u64,
}

/// The mtime is that of the beginning of a write, and coarse (FAT's: 2 s): a file that was changed this recently when it was looked
/// at may have changed since and have the same times.
const SETTLED: Duration = Duration::from_secs(2);
/// In [`FileStat::identity`].
const SETTLED_BIT: u64 = 1;
/// In the identity of a [`FileState`] alone: it was taken over from an earlier walk.
const CARRIED_BIT: u64 = 2;

/// Bits of a hash.
const HASH_BITS: u32 = 32;

impl FileStat {
    /// When its content was last changed, as the mount shows it.
    pub fn modified(&self) -> SystemTime {
        system_time(self.modified)
    }

    /// Whether it is the same in all, whenever each was looked at.
    pub fn is_equal(&self, other: &Self) -> bool {
        let state = |it: &Self| (it.size, it.modified, it.identity | SETTLED_BIT);
        state(self) == state(other)
    }

    /// Whether what is equal to it later is the same content: it had been changed long enough before it was looked at.
    pub fn is_settled(&self) -> bool {
        self.identity & SETTLED_BIT != 0
    }

    /// Whether it is one file with the same content, as far as reads check. Permissions and links may be others: that moves the
    /// ctime, as does a change that puts size and mtime back, which the next view tells from what is equal in all.
    pub(super) fn is_same_file(&self, other: &Self) -> bool {
        let object = |stat: &Self| (stat.size, stat.modified, stat.identity >> HASH_BITS);
        object(self) == object(other)
    }

    /// A hash of which file it is, its size and its mtime.
    pub fn state_hash(&self) -> u64 {
        let parts = [self.identity >> HASH_BITS, self.size, self.modified.cast_unsigned()];
        XxHash3_64::oneshot(parts.map(u64::to_le_bytes).as_flattened())
    }

    pub(super) fn of(stat: &Stat) -> Self {
        let nanoseconds = i64::try_from(stat.st_ctime_nsec).unwrap_or(0);
        let object = hash([stat.st_dev, stat.st_ino]).max(1);
        let changed = hash([stat.st_ctime.cast_unsigned(), nanoseconds.cast_unsigned()]);
        let settled = if is_settled(stat) { SETTLED_BIT } else { 0 };
        let identity = object << HASH_BITS | (changed & !(SETTLED_BIT | CARRIED_BIT)) | settled;
        Self { size: u64::try_from(stat.st_size).unwrap_or(0), modified: modified(stat), identity }
    }
}

/// Whether a file was changed long enough ago. Clocks of servers may be ahead.
fn is_settled(stat: &Stat) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
    u128::from(now.abs_diff(modified(stat))) >= SETTLED.as_nanos()
}

/// A hash of two numbers, of 32 bits.
fn hash(numbers: [u64; 2]) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&numbers[0].to_le_bytes());
    bytes[8..].copy_from_slice(&numbers[1].to_le_bytes());
    XxHash3_64::oneshot(&bytes) >> HASH_BITS
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
            identity: identity & !CARRIED_BIT,
        })
    }

    /// Whether it was taken over from an earlier walk.
    pub(super) fn is_carried(&self) -> bool {
        self.identity.load(Ordering::Acquire) & CARRIED_BIT != 0
    }

    /// The same as [`FileState::set`] of what an earlier walk learnt.
    pub(super) fn carry(&self, stat: FileStat) {
        self.set(FileStat { identity: stat.identity | CARRIED_BIT, ..stat });
    }

    /// Must not be called by two threads at once.
    pub(super) fn set(&self, stat: FileStat) {
        self.size.store(stat.size, Ordering::Relaxed);
        self.modified.store(stat.modified, Ordering::Relaxed);
        self.identity.store(stat.identity, Ordering::Release);
    }
}
