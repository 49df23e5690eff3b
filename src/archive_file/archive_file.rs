//! An archive file: its identity, positioned reads that detect a change of the file, and the map of its tables.
//!
//! The file is the same while device, inode, size and mtime are. Where only its ctime moves, a digest of the parsed bytes
//! decides.
//!
//! Only this file may contain `unsafe`, and the map is its only use. Payload is never read through a map: where a file
//! is truncated, access to the map ends the process with SIGBUS, and a positioned read returns an error.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use memmap2::{Advice, Mmap};
use rustix::fs::{MemfdFlags, OFlags};
use rustix::io::{ReadWriteFlags, preadv2};
use twox_hash::XxHash3_64;

use super::fault::Fault;
use super::stat::{COARSEST_TICK, Compared, Stat, compare};
use crate::system::covered::uncovered;

/// Bytes of a map that are fetched at once.
const BLOCK: u64 = 1 << 16;
/// Bytes that are read at once for a digest.
const DIGEST_STEP: usize = 1 << 18;
/// Of [`ArchiveFile::compare_at`]: not again before the ctime moves.
const NEVER: u64 = u64::MAX;

/// Whether tables are copied before they are parsed.
static COPIES: AtomicBool = AtomicBool::new(false);

/// From now on tables are copied before they are parsed: archives are opened while others write to them, and one that is
/// truncated then would end the process with SIGBUS, and its mount with it. Before the mount a map costs less.
pub fn copy_tables() {
    COPIES.store(true, Ordering::Relaxed);
}

/// An open archive file. After the open no path is resolved: its folder may be below a mount of ours, whose lookups wait
/// for the thread that does it.
#[derive(Debug)]
pub struct ArchiveFile {
    path: PathBuf,
    file: File,
    opened: Stat,
    opened_at: Instant,
    modified: SystemTime,
    tables: Option<Tables>,
    /// The ctime as of which the tables are known to be those that were parsed.
    ctime: AtomicI64,
    /// When they are to be compared although the ctime did not move, in milliseconds after `opened_at`.
    compare_at: AtomicU64,
    /// Held while the tables are compared; other reads that need the result wait.
    comparing: Mutex<()>,
    stale: AtomicBool,
    bytes_read: AtomicU64,
}

/// Where the bytes are that were parsed, from the start of the file, and their digest.
#[derive(Debug, PartialEq, Eq)]
struct Tables {
    ranges: Vec<Range<u64>>,
    digest: u64,
}

/// The blocks of a map that may be accessed, by their offsets, and why the first that was refused was.
struct Fetched {
    blocks: HashSet<u64>,
    error: Option<io::Error>,
}

/// How far a read goes for its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// To the page cache alone: nobody waits for a device.
    PageCache,
    /// To the device that the file is on, however long that takes.
    Device,
}

impl ArchiveFile {
    /// Opens an archive for reading.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::IsADirectory`] for folders and [`io::ErrorKind::InvalidInput`] for other files that
    /// are not regular, found before the open: that of a pipe would block.
    pub fn open(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(uncovered(path))?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        // A pipe that came meanwhile must not block the open.
        let file = File::options()
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(uncovered(path))?;
        let metadata = file.metadata()?;
        let opened = Stat::of(&metadata);
        Ok(Self {
            // The daemon leaves the folder that a relative path starts from.
            path: std::path::absolute(path)?,
            file,
            opened,
            opened_at: Instant::now(),
            modified: metadata.modified()?.max(UNIX_EPOCH),
            tables: None,
            ctime: AtomicI64::new(opened.ctime),
            compare_at: AtomicU64::new(NEVER),
            comparing: Mutex::new(()),
            stale: AtomicBool::new(false),
            bytes_read: AtomicU64::new(0),
        })
    }

    /// Records where the bytes are that were parsed: while they are the same, a moved ctime (of a link, a rename, other
    /// permissions) is no change of the archive. Without this call it is one.
    ///
    /// # Errors
    /// The system's, where they cannot be read.
    pub fn record_tables(&mut self, mut ranges: Vec<Range<u64>>) -> io::Result<()> {
        for range in &mut ranges {
            range.end = range.end.min(self.len());
        }
        self.note_compared(&self.opened, SystemTime::now());
        let digest = self.digest(&ranges)?;
        self.tables = Some(Tables { ranges, digest });
        Ok(())
    }

    /// The path of the archive; absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The device that it is on (`st_dev`), and its inode number there.
    pub fn identity(&self) -> (u64, u64) {
        (self.opened.device, self.opened.inode)
    }

    /// Whether both are one file, with the same tables, and no read of either found a change.
    pub fn is_same(&self, other: &Self) -> bool {
        self.opened.is_same_file(&other.opened)
            && self.tables == other.tables
            && !self.is_changed()
            && !other.is_changed()
    }

    /// A hash of which file it is, its size and its mtime.
    pub fn state_hash(&self) -> u64 {
        let Stat { device, inode, len, mtime, .. } = self.opened;
        let parts = [device, inode, len, mtime.cast_unsigned()];
        XxHash3_64::oneshot(parts.map(u64::to_le_bytes).as_flattened())
    }

    /// In bytes, when it was opened.
    #[expect(clippy::len_without_is_empty, reason = "an archive, not a collection")]
    pub fn len(&self) -> u64 {
        self.opened.len
    }

    /// When its content was last changed (mtime) before it was opened.
    pub fn modified(&self) -> SystemTime {
        self.modified
    }

    /// Whether a read found that the file was changed.
    pub fn is_changed(&self) -> bool {
        self.stale.load(Ordering::Relaxed)
    }

    /// Bytes read from it so far, without the mapped tables.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Maps the whole archive for one call of `parse`, which accesses bytes only once its second argument has fetched them:
    /// it takes a range, in bytes from the start of the archive, and returns how far bytes may be accessed, or `None`
    /// where they cannot be read. Access to a page that the disk refuses would end the process with SIGBUS.
    ///
    /// # Errors
    /// The system's, where it cannot be mapped, or where bytes could not be fetched, whatever `parse` made of that.
    #[allow(unsafe_code)]
    pub fn with_map<T>(
        &self,
        parse: impl FnOnce(&[u8], &(dyn Fn(Range<u64>) -> Option<u64> + Sync)) -> T,
    ) -> io::Result<T> {
        if self.len() == 0 {
            return Ok(parse(&[], &|range| Some(range.end)));
        }
        let copy = if COPIES.load(Ordering::Relaxed) { Some(sparse_file(self.len())?) } else { None };
        // SAFETY: the map is private to this call and read-only. Another process may write to the file meanwhile:
        // parsers trust no byte and read none twice for a decision that memory safety depends on. Where the file is
        // truncated meanwhile, SIGBUS ends the process before anything is mounted; nobody truncates a copy.
        let map = unsafe {
            memmap2::MmapOptions::new()
                .len(usize::try_from(self.len()).unwrap_or(usize::MAX))
                .map(copy.as_ref().unwrap_or(&self.file))?
        };
        let fetched = Mutex::new(Fetched { blocks: HashSet::new(), error: None });
        let parsed = parse(&map, &|range| {
            let mut fetched = fetched.lock().unwrap_or_else(PoisonError::into_inner);
            self.fetch(&map, copy.as_ref(), range, &mut fetched)
        });
        match fetched.into_inner().unwrap_or_else(PoisonError::into_inner).error {
            Some(error) => Err(error),
            None => Ok(parsed),
        }
    }

    /// Fetches the blocks of the map that a range touches; returns where the last of them ends.
    fn fetch(
        &self,
        map: &Mmap,
        copy: Option<&File>,
        range: Range<u64>,
        fetched: &mut Fetched,
    ) -> Option<u64> {
        let end = range.end.min(self.len()).next_multiple_of(BLOCK);
        for start in (range.start / BLOCK * BLOCK..end).step_by(BLOCK as usize) {
            if fetched.blocks.contains(&start) {
                continue;
            }
            if let Err(error) = self.fetch_block(map, copy, start) {
                let reason = format!("it cannot be read at offset {start}: {error}");
                fetched.error.get_or_insert_with(|| io::Error::new(error.kind(), reason));
                return None;
            }
            fetched.blocks.insert(start);
        }
        Some(end)
    }

    fn fetch_block(&self, map: &Mmap, copy: Option<&File>, start: u64) -> io::Result<()> {
        let len = BLOCK.min(self.len() - start) as usize;
        if let Some(copy) = copy {
            let mut block = vec![0; len];
            self.file.read_exact_at(&mut block, start)?;
            return copy.write_all_at(&block, start);
        }
        match map.advise_range(Advice::PopulateRead, start as usize, len) {
            Ok(()) => Ok(()),
            // Before Linux 5.14, and for the reason of a failure, which madvise does not tell.
            Err(_) => self.file.read_exact_at(&mut vec![0; len], start),
        }
    }

    /// Fills `buffer` with the bytes at `offset`.
    ///
    /// # Errors
    /// [`Fault::OutOfReach`] where `reach` does not suffice; nothing else is then known. [`Fault::Changed`] where the file was changed since it was opened, even if the read succeeded; logged the first
    /// time, and final. Checked after the read: a check before it would miss a write between the two. A check that fails
    /// is an error of this read alone.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64, reach: Reach) -> Result<(), Fault> {
        if reach == Reach::PageCache {
            return self.read_cached_at(buffer, offset).ok_or(Fault::OutOfReach);
        }
        let read = self.file.read_exact_at(buffer, offset);
        self.bytes_read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        self.check_unchanged()?;
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Fault::Beyond,
            // Offsets beyond i64 are EINVAL.
            io::ErrorKind::InvalidInput if offset.saturating_add(buffer.len() as u64) > i64::MAX as u64 => {
                Fault::Beyond
            }
            _ => Fault::Io(error),
        })
    }

    /// The same where all bytes are in the page cache, and the file is known to be unchanged without a digest.
    fn read_cached_at(&self, buffer: &mut [u8], offset: u64) -> Option<()> {
        let len = buffer.len();
        let read =
            preadv2(&self.file, &mut [IoSliceMut::new(buffer)], offset, ReadWriteFlags::NOWAIT).ok()?;
        if read < len || !self.is_known(&self.stat().ok()?) {
            return None;
        }
        self.bytes_read.fetch_add(len as u64, Ordering::Relaxed);
        Some(())
    }

    /// Whether the file is the one that was opened. That it is not is final: the tables are those of the old content.
    fn check_unchanged(&self) -> Result<(), Fault> {
        if self.stale.load(Ordering::Relaxed) {
            return Err(Fault::Changed);
        }
        let checked = self.compare();
        if matches!(checked, Err(Fault::Changed)) && !self.stale.swap(true, Ordering::Relaxed) {
            log::error!(
                "{}: the archive was changed while mounted; files of the old one give EIO",
                self.path.display()
            );
        }
        checked
    }

    fn compare(&self) -> Result<(), Fault> {
        let now = self.stat().map_err(Fault::Io)?;
        // The common case takes no lock.
        if self.is_known(&now) {
            return Ok(());
        }
        let _comparing = self.comparing.lock().unwrap_or_else(PoisonError::into_inner);
        let began = SystemTime::now();
        let is_same = || match &self.tables {
            Some(tables) => Ok(self.digest(&tables.ranges)? == tables.digest),
            None => Ok(false),
        };
        match compare(&self.opened, self.compared_ctime(), || self.stat(), is_same)? {
            Compared::Same(stat) => self.note_compared(&stat, began),
            Compared::Known | Compared::Moving => {}
        }
        Ok(())
    }

    /// Whether an `fstat` shows the file that was opened and needs no digest.
    fn is_known(&self, now: &Stat) -> bool {
        !self.is_changed() && now.is_same_file(&self.opened) && self.compared_ctime() == Some(now.ctime)
    }

    fn stat(&self) -> io::Result<Stat> {
        self.file.metadata().map(|metadata| Stat::of(&metadata))
    }

    /// The ctime at which no digest is needed; `None` where one is due.
    fn compared_ctime(&self) -> Option<i64> {
        let compare_at = self.compare_at.load(Ordering::Relaxed);
        let is_due = compare_at != NEVER && self.elapsed() >= compare_at;
        (!is_due).then(|| self.ctime.load(Ordering::Relaxed))
    }

    /// Records that the tables were as they were parsed when the file's `fstat` was `stat`, at the time `began` or later.
    fn note_compared(&self, stat: &Stat, began: SystemTime) {
        let tick = u64::try_from(COARSEST_TICK.as_millis()).unwrap_or(NEVER);
        let again = if stat.is_recent(began) { self.elapsed().saturating_add(tick) } else { NEVER };
        self.compare_at.store(again, Ordering::Relaxed);
        self.ctime.store(stat.ctime, Ordering::Relaxed);
    }

    /// Milliseconds since it was opened.
    fn elapsed(&self) -> u64 {
        u64::try_from(self.opened_at.elapsed().as_millis()).unwrap_or(NEVER)
    }

    /// Reads ranges of the file; not counted in [`ArchiveFile::bytes_read`].
    fn digest(&self, ranges: &[Range<u64>]) -> io::Result<u64> {
        let mut buffer = vec![0; DIGEST_STEP];
        let mut digest = 0;
        for range in ranges {
            for at in range.clone().step_by(DIGEST_STEP) {
                let len = buffer.len().min(usize::try_from(range.end - at).unwrap_or(usize::MAX));
                let bytes = &mut buffer[..len];
                self.file.read_exact_at(bytes, at)?;
                // Seeded with the digest of all bytes before these.
                digest = XxHash3_64::oneshot_with_seed(digest, bytes);
            }
        }
        Ok(digest)
    }
}

/// A file in memory that takes none until something is written to it.
fn sparse_file(len: u64) -> io::Result<File> {
    let file = File::from(rustix::fs::memfd_create("tables", MemfdFlags::CLOEXEC)?);
    file.set_len(len)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewrite_within_one_tick_of_the_clock_is_noticed_two_seconds_later() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("archive");
        std::fs::write(&path, b"tables and data").unwrap();
        let mut source = ArchiveFile::open(&path).unwrap();
        source.record_tables(vec![0..3, 3..6]).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.write_all_at(b"T", 0).unwrap();
        file.set_modified(source.modified()).unwrap();
        // As if the clock had not ticked meanwhile.
        source.ctime.store(source.stat().unwrap().ctime, Ordering::Relaxed);
        assert!(
            source.read_exact_at(&mut [0; 4], 11, Reach::Device).is_ok(),
            "noticed early: not the case of this test"
        );
        std::thread::sleep(COARSEST_TICK);
        assert!(matches!(source.read_exact_at(&mut [0; 4], 11, Reach::Device), Err(Fault::Changed)));
    }

    #[test]
    fn tables_that_were_copied_outlive_the_archive_that_is_cut_short() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("archive");
        let bytes: Vec<u8> = (0..3 * BLOCK).map(|at| (at % 251) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        copy_tables();
        let source = ArchiveFile::open(&path).unwrap();
        let end = BLOCK as usize;
        let parsed = source.with_map(|map, fetch| {
            assert_eq!(fetch(10..BLOCK - 1), Some(BLOCK));
            File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
            assert!(map[..end] == bytes[..end]);
            fetch(BLOCK..2 * BLOCK)
        });
        let error = parsed.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{error}");
    }
}
