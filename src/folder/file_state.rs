//! Size, time and identity of a file. They are learnt by the first stat and then fixed; each file
//! takes 24 bytes.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, StatxTimestamp, statx};
use rustix::io::Errno;
use twox_hash::XxHash3_64;

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

// When a file was changed, in eight bytes.

/// An mtime. It is exact to the nanosecond from 1901 to 2446, the years of ext4, and to the second outside,
/// where only other file systems have times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileTime(u64);

/// The first second that is stored with nanoseconds, counted from 1970.
const EXACT_FROM: i64 = -(1 << 31);
/// The first second after those.
const EXACT_UNTIL: i64 = EXACT_FROM + (1 << 34);
const NANOSECONDS: u64 = 1_000_000_000;
/// Number of codes for exact times. The other codes count seconds.
const EXACT: u64 = (1 << 34) * NANOSECONDS;
/// Seconds before and after 1970 that the other codes can count: 20 billion years.
const FARTHEST: i64 = ((u64::MAX - EXACT) / 2) as i64;

impl FileTime {
    /// A time in seconds and nanoseconds since 1970.
    pub(super) fn new(seconds: i64, nanoseconds: u32) -> Self {
        if (EXACT_FROM..EXACT_UNTIL).contains(&seconds) {
            let since = (seconds - EXACT_FROM).unsigned_abs();
            return Self(since * NANOSECONDS + u64::from(nanoseconds));
        }
        let seconds = seconds.clamp(-FARTHEST, FARTHEST);
        Self(EXACT + (seconds + FARTHEST).unsigned_abs())
    }

    pub(super) fn of(time: &StatxTimestamp) -> Self {
        Self::new(time.tv_sec, time.tv_nsec)
    }

    /// The time that the mount shows.
    pub fn system_time(self) -> SystemTime {
        let (seconds, nanoseconds) = match self.0.checked_sub(EXACT) {
            None => ((self.0 / NANOSECONDS).cast_signed() + EXACT_FROM, self.0 % NANOSECONDS),
            Some(code) => (code.cast_signed() - FARTHEST, 0),
        };
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let epoch = SystemTime::UNIX_EPOCH;
        let second = if seconds < 0 { epoch.checked_sub(whole) } else { epoch.checked_add(whole) };
        second.map_or(epoch, |second| second + Duration::from_nanos(nanoseconds))
    }

    pub(super) fn to_bits(self) -> u64 {
        self.0
    }

    pub(super) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

// System calls on open files.

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

/// The type of an entry, if the listing does not have it.
pub(super) fn kind_of(fd: &OwnedFd, name: &[u8]) -> Result<FileType, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let stat = statx(fd, name, flags, StatxFlags::TYPE)?;
    Ok(FileType::from_raw_mode(stat.stx_mode.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds and nanoseconds since 1970, as `stat` returns them.
    fn shown(time: FileTime) -> (i64, u32) {
        match time.system_time().duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => (after.as_secs().cast_signed(), after.subsec_nanos()),
            Err(before) => {
                let before = before.duration();
                let whole = -before.as_secs().cast_signed();
                match before.subsec_nanos() {
                    0 => (whole, 0),
                    nanoseconds => (whole - 1, 1_000_000_000 - nanoseconds),
                }
            }
        }
    }

    #[test]
    fn times_of_all_file_systems_are_shown_as_they_are() {
        for seconds in [EXACT_FROM, -315_619_200, -1, 0, 1, 1_700_000_000, 9_300_000_000, EXACT_UNTIL - 1] {
            for nanoseconds in [0, 1, 999_999_999] {
                let time = FileTime::new(seconds, nanoseconds);
                assert_eq!(shown(time), (seconds, nanoseconds));
                assert_eq!(FileTime::from_bits(time.to_bits()), time);
            }
        }
        // NTFS begins in 1601, and tmpfs has times until the sun is gone.
        for seconds in [EXACT_FROM - 1, EXACT_UNTIL, -11_644_473_600, 32_503_680_000, FARTHEST, -FARTHEST] {
            assert_eq!(shown(FileTime::new(seconds, 7)), (seconds, 0));
        }
        assert_eq!(shown(FileTime::new(i64::MAX, 0)), (FARTHEST, 0));
        assert_eq!(shown(FileTime::new(i64::MIN, 0)), (-FARTHEST, 0));
    }
}
