//! Size, time and identity of a file. They are learnt by the first stat and then fixed; each file
//! takes 24 bytes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::{Statx, StatxFlags, StatxTimestamp};
use twox_hash::XxHash3_64;

use super::file_time::FileTime;
use super::mounts::device_of;

/// What happened to a file since an earlier view had it at the same path. Archives and loose files share this
/// type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// It is the same file with the same bytes.
    None,
    /// It is the same file. Its attributes are the same, but it may have been written to.
    Unknown,
    /// It is the same file. It was written to, or its attributes changed.
    Written,
    /// Another file is at the path.
    Replaced,
}

/// A file's size and mtime, and which file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileStat {
    /// In bytes.
    pub size: u64,
    /// The mtime.
    pub modified: FileTime,
    /// Upper half: a hash of device, inode number and birth time, never 0. Lower half: a hash of the ctime,
    /// whose lowest bits are [`SETTLED_BIT`] and [`LINKED_BIT`].
    pub(super) identity: u64,
}

/// Minimum age of the mtime that proves anything. The mtime is set at the beginning of a write and
/// is coarse (2 s on FAT). A file that was just modified can change again and keep its mtime.
const SETTLED: Duration = Duration::from_secs(2);
/// Marks a [`FileStat::identity`] whose mtime was old enough at the stat.
const SETTLED_BIT: u64 = 1;
/// Marks the identity of a [`FileState`] that was taken over from an earlier scan. [`FileStat`] never has it.
const CARRIED_BIT: u64 = 2;
/// Marks the identity of a [`FileState`] after a read that found other attributes, or a first stat that found
/// no file. [`FileStat`] never has it.
const OUTDATED_BIT: u64 = 4;

/// Marks the identity of a file that has several names on its disk (hard links).
const LINKED_BIT: u64 = 8;

/// Length of one hash, in bits.
const HASH_BITS: u32 = 32;

impl FileStat {
    /// The mtime as the mount shows it.
    pub fn modified(&self) -> SystemTime {
        self.modified.system_time()
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

    /// Whether the file has several names (hard links). It may be written to through one in another folder,
    /// whose events do not concern this one.
    pub fn has_links(&self) -> bool {
        self.identity & LINKED_BIT != 0
    }

    /// Whether both are states of one file, even if it was written to in between. The birth time
    /// distinguishes a file from one that got its inode number later.
    pub fn is_same_file(&self, other: &Self) -> bool {
        self.object() == other.object()
    }

    /// A hash of the file's identity, which stays when the file is written to.
    pub fn object(&self) -> u64 {
        self.identity >> HASH_BITS
    }

    pub(super) fn of(stat: &Statx) -> Self {
        let time = |at: &StatxTimestamp| [at.tv_sec.cast_unsigned(), u64::from(at.tv_nsec)];
        let has_birth = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::BTIME);
        let birth = if has_birth { time(&stat.stx_btime) } else { [0, 0] };
        let object = hash(&[&[device_of(stat), stat.stx_ino], &birth[..]].concat()).max(1);
        let changed = hash(&time(&stat.stx_ctime));
        let modified = FileTime::of(&stat.stx_mtime);
        let settled = if is_settled(modified) { SETTLED_BIT } else { 0 };
        let linked = if stat.stx_nlink > 1 { LINKED_BIT } else { 0 };
        let flags = SETTLED_BIT | CARRIED_BIT | OUTDATED_BIT | LINKED_BIT;
        let state = (changed & !flags) | settled | linked;
        Self { size: stat.stx_size, modified, identity: object << HASH_BITS | state }
    }
}

/// Whether an mtime is far enough from now, in either direction: a server's clock may be ahead.
fn is_settled(modified: FileTime) -> bool {
    let age = SystemTime::now().duration_since(modified.system_time());
    age.unwrap_or_else(|ahead| ahead.duration()) >= SETTLED
}

/// A 32-bit hash of some numbers.
fn hash(numbers: &[u64]) -> u64 {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    XxHash3_64::oneshot(&bytes) >> HASH_BITS
}

/// What is known about a file. Set only once, under the lock of the folder.
#[derive(Debug, Default)]
pub(super) struct FileState {
    /// The upper half is 0 while nothing is known. Stored last.
    identity: AtomicU64,
    size: AtomicU64,
    /// [`FileTime::to_bits`].
    modified: AtomicU64,
}

impl FileState {
    pub(super) fn get(&self) -> Option<FileStat> {
        let identity = self.identity.load(Ordering::Acquire);
        (identity >> HASH_BITS != 0).then(|| FileStat {
            size: self.size.load(Ordering::Relaxed),
            modified: FileTime::from_bits(self.modified.load(Ordering::Relaxed)),
            identity: identity & !(CARRIED_BIT | OUTDATED_BIT),
        })
    }

    /// Whether the state was taken over from an earlier scan.
    pub(super) fn is_carried(&self) -> bool {
        self.identity.load(Ordering::Acquire) & CARRIED_BIT != 0
    }

    /// Whether the first stat found no file.
    pub(super) fn is_gone(&self) -> bool {
        self.identity.load(Ordering::Acquire) == OUTDATED_BIT
    }

    /// Records that a read found other attributes than these, or that the first stat found no file.
    pub(super) fn set_outdated(&self) {
        self.identity.fetch_or(OUTDATED_BIT, Ordering::Relaxed);
    }

    /// Whether a read found other attributes since the last call.
    pub(super) fn take_outdated(&self) -> bool {
        // Nearly always the bit is not set, and then nothing is written.
        self.identity.load(Ordering::Relaxed) & OUTDATED_BIT != 0
            && self.identity.fetch_and(!OUTDATED_BIT, Ordering::Relaxed) & OUTDATED_BIT != 0
    }

    /// Sets what an earlier scan learnt. Must not be called by two threads at once.
    pub(super) fn carry(&self, stat: FileStat) {
        self.set(FileStat { identity: stat.identity | CARRIED_BIT, ..stat });
    }

    /// Must not be called by two threads at once.
    pub(super) fn set(&self, stat: FileStat) {
        self.size.store(stat.size, Ordering::Relaxed);
        self.modified.store(stat.modified.to_bits(), Ordering::Relaxed);
        self.identity.store(stat.identity, Ordering::Release);
    }
}
