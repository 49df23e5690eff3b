//! Size, time and identity of a file. They are learnt by the first stat and then fixed; each file
//! takes 24 bytes.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::Stat;
use twox_hash::XxHash3_64;

/// A file's size and mtime, and which file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// In bytes.
    pub size: u64,
    /// The mtime in nanoseconds since 1970, clamped to years that fit.
    pub modified: i64,
    /// Upper half: a hash of device and inode number, never 0. Lower half: a hash of the ctime,
    /// whose lowest bit is [`SETTLED_BIT`].
    pub(super) identity: u64,
}

/// Minimum age of the mtime that proves anything. The mtime is set at the beginning of a write and
/// is coarse (2 s on FAT). A file that was just modified can change again and keep its mtime.
const SETTLED: Duration = Duration::from_secs(2);
/// Marks a [`FileStat::identity`] whose mtime was old enough at the stat.
const SETTLED_BIT: u64 = 1;
/// Marks the identity of a [`FileState`] that was taken over from an earlier scan. [`FileStat`] never has it.
const CARRIED_BIT: u64 = 2;

/// Length of one hash, in bits.
const HASH_BITS: u32 = 32;

impl FileStat {
    /// The mtime as the mount shows it.
    pub fn modified(&self) -> SystemTime {
        system_time(self.modified)
    }

    /// Whether two stats are equal in everything except when they were made.
    pub fn is_equal(&self, other: &Self) -> bool {
        let state = |it: &Self| (it.size, it.modified, it.identity | SETTLED_BIT);
        state(self) == state(other)
    }

    /// Whether equal metadata later implies equal content. True if the mtime was at least two seconds away
    /// from the time of the stat.
    pub fn is_settled(&self) -> bool {
        self.identity & SETTLED_BIT != 0
    }

    /// Whether both describe the same file with the same content, as far as reads check. The ctime
    /// is ignored because a new mode or hard link moves it. So this misses a change that puts size
    /// and mtime back; the next view detects it with [`FileStat::is_equal`].
    pub(super) fn is_same_file(&self, other: &Self) -> bool {
        let object = |stat: &Self| (stat.size, stat.modified, stat.identity >> HASH_BITS);
        object(self) == object(other)
    }

    /// A hash of the file's identity, size and mtime.
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

/// Whether the mtime is far enough from now, in either direction: a server's clock may be ahead.
fn is_settled(stat: &Stat) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
    u128::from(now.abs_diff(modified(stat))) >= SETTLED.as_nanos()
}

/// A 32-bit hash of two numbers.
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

/// Converts nanoseconds since 1970 to a time. Times before 1970 are clamped to 1970, as for archives.
pub fn system_time(nanoseconds: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0))
}

/// What is known about a file. Set only once, under the lock of the folder.
#[derive(Debug, Default)]
pub(super) struct FileState {
    /// 0 while nothing is known. Stored last.
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

    /// Whether the state was taken over from an earlier scan.
    pub(super) fn is_carried(&self) -> bool {
        self.identity.load(Ordering::Acquire) & CARRIED_BIT != 0
    }

    /// Sets what an earlier scan learnt. Must not be called by two threads at once.
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
