//! An archive file: its identity, positioned reads that detect a change of the file, and its tables.
//!
//! The file counts as unchanged while its device, inode, size and mtime stay equal. If only its
//! ctime moves, a digest of the parsed bytes decides. If its mtime moves, too, inotify must have
//! reported that its attributes were changed, and no write.

use std::fs::{File, Metadata};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{io, iter};

use rustix::fs::OFlags;
use twox_hash::XxHash3_64;

use super::pieces::{BLOCK, FirstBlocks, Pieces, request};
use crate::read::{Bytes, Fetch};
use crate::shown::Shown;
use crate::system::covered::uncovered;
use crate::system::disk_id::{DiskId, has_effects};
use crate::system::paths;
use crate::system::sync::{Condvar, Mutex};

/// Value of [`ArchiveFile::compare_at`]: compare again only after the ctime moves.
const NEVER: u64 = u64::MAX;

/// Number of bytes that are requested at once. Few disks take more in one request.
const PIECE: u64 = 1 << 20;

/// An archive file. On most disks it stays open, and no path is resolved after that: the archive's folder
/// may be below a mount of bsafs. The mount's lookups would then wait for the thread that resolves the path.
#[derive(Debug)]
pub struct ArchiveFile {
    path: PathBuf,
    file: OpenFile,
    opened: Stat,
    opened_at: Instant,
    modified: SystemTime,
    tables: Option<ParsedRanges>,
    /// The mtime and the ctime at which the tables are known to equal those that were parsed.
    mtime: AtomicI64,
    ctime: AtomicI64,
    /// When to compare the tables again even if the ctime did not move, in milliseconds after `opened_at`.
    compare_at: AtomicU64,
    /// Locked while the tables are compared. Other reads that need the result wait.
    comparing: Mutex<()>,
    stale: AtomicBool,
    reported: ArchiveEvents,
    bytes_read: AtomicU64,
}

impl ArchiveFile {
    /// Opens an archive for reading.
    ///
    /// # Errors
    /// The system's error. [`io::ErrorKind::IsADirectory`] for folders and
    /// [`io::ErrorKind::InvalidInput`] for other files that are not regular. The file type is checked before
    /// the open, because opening a pipe would block.
    pub fn open(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(uncovered(path))?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let file = open(&uncovered(path))?;
        let metadata = file.metadata()?;
        let opened = Stat::of(&metadata);
        Ok(Self {
            // The daemon leaves its working directory, so a relative path would become invalid.
            path: paths::absolute(path)?,
            file: OpenFile::new(file),
            opened,
            opened_at: Instant::now(),
            modified: metadata.modified()?,
            tables: None,
            mtime: AtomicI64::new(opened.mtime),
            ctime: AtomicI64::new(opened.ctime),
            compare_at: AtomicU64::new(NEVER),
            comparing: Mutex::new(()),
            stale: AtomicBool::new(false),
            reported: ArchiveEvents::default(),
            bytes_read: AtomicU64::new(0),
        })
    }

    /// The open file. While the caller has it, it stays open.
    ///
    /// # Errors
    /// [`ArchiveReadError::Changed`] if it was closed meanwhile, and its path leads to another file now.
    pub(crate) fn open_file(&self) -> Result<Arc<File>, ArchiveReadError> {
        self.file.get(self.identity())
    }

    /// The file, if it is open only while it is read, and can be opened now.
    pub fn lend(&self) -> Option<Arc<File>> {
        matches!(self.file, OpenFile::Transient(..)).then(|| self.open_file().ok()).flatten()
    }

    /// The absolute path of the archive.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn identity(&self) -> DiskId {
        DiskId { device: self.opened.device, inode: self.opened.inode }
    }

    /// Whether an earlier opening of this file is still right: it has the same tables, and the file was not
    /// written to since.
    pub fn is_same(&self, earlier: &Self) -> bool {
        self.opened.is_same_object(&earlier.opened)
            && self.tables == earlier.tables
            && !self.is_changed()
            && !earlier.is_changed()
            && !earlier.reported.is_written()
            && earlier.compare().is_ok()
            && earlier.mtime.load(Ordering::Relaxed) == self.opened.mtime
    }

    /// Whether a path still leads to this file, with the size and times that it is known to have, and the
    /// open file can still be statted: a server may have forgotten it. No data is read.
    pub fn is_untouched(&self, path: &Path) -> bool {
        !self.is_changed()
            && !self.reported.is_written()
            && self.stat().is_ok()
            && std::fs::metadata(uncovered(path)).is_ok_and(|it| self.is_known(&Stat::of(&it)))
    }

    /// Records that from now on [`ArchiveFile::record_event`] is called for each event of the file.
    pub fn record_watched(&self) {
        if self.reported.is_watched() {
            return;
        }
        // Otherwise a reload would wait in vain for the event of a change that was made before.
        let mtime = self.mtime.load(Ordering::Relaxed);
        let changed = self.stat().ok().filter(|now| now.mtime != mtime);
        self.reported.record_watched(changed.map(|now| now.ctime));
    }

    /// Records an event that inotify reported. `is_written` says whether the content was written to;
    /// otherwise the attributes were changed.
    pub fn record_event(&self, is_written: bool) {
        self.reported.note(is_written);
    }

    /// A hash of the file's identity, size and first mtime.
    pub fn state_hash(&self) -> u64 {
        let Stat { device, inode, len, mtime, .. } = self.opened;
        let parts = [device, inode, len, mtime.cast_unsigned()];
        XxHash3_64::oneshot(parts.map(u64::to_le_bytes).as_flattened())
    }

    /// Length in bytes when the file was opened.
    #[expect(clippy::len_without_is_empty, reason = "an archive, not a collection")]
    pub fn len(&self) -> u64 {
        self.opened.len
    }

    /// The mtime when the file was opened.
    pub fn modified(&self) -> SystemTime {
        self.modified
    }

    /// Whether a read found that the file was changed.
    pub fn is_changed(&self) -> bool {
        self.stale.load(Ordering::Relaxed)
    }

    /// Number of bytes read so far, without the tables.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Calls `parse` with the bytes of the archive, which are read when they are needed.
    ///
    /// # Errors
    /// The system's error if bytes that `parse` needed could not be read, whatever `parse` returned.
    pub fn with_bytes<T>(&self, parse: impl FnOnce(Bytes<'_>) -> T) -> io::Result<T> {
        self.with_pieces(|pieces| parse(pieces.bytes()))
    }

    /// Like [`ArchiveFile::with_bytes`], but `parse` also returns the ranges of bytes that its result
    /// depends on. While these bytes stay equal, a moved ctime (from a link, a rename or other permissions)
    /// is not a change of the archive. Without this call it is one.
    ///
    /// # Errors
    /// The system's error if these bytes or others that `parse` needed could not be read.
    pub fn parse_tables<T>(
        &mut self,
        parse: impl FnOnce(Bytes<'_>) -> (T, Vec<Range<u64>>),
    ) -> io::Result<T> {
        let began = SystemTime::now();
        let (parsed, tables) = self.with_pieces(|pieces| {
            let (parsed, mut ranges) = parse(pieces.bytes());
            for range in &mut ranges {
                range.end = range.end.min(self.len());
            }
            (parsed, ParsedRanges::parsed(pieces, ranges))
        })?;
        self.record_compared(&self.opened, began);
        self.tables = Some(tables);
        Ok(parsed)
    }

    /// Fills `buffer` with the bytes at `offset`.
    ///
    /// # Errors
    /// [`ArchiveReadError::Changed`] if the file was changed since it was opened, even if the read succeeded.
    /// It is final, and logged the first time. The check follows the read, because a check before
    /// it would miss a write between the two. A check that fails is an error of this read only.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), ArchiveReadError> {
        let file = self.file.get(self.identity()).map_err(|error| self.record_error(error))?;
        let read = file.read_exact_at(buffer, offset);
        self.bytes_read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        self.check_unchanged()?;
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ArchiveReadError::Beyond,
            // Offsets beyond i64 are EINVAL.
            io::ErrorKind::InvalidInput if offset.saturating_add(buffer.len() as u64) > i64::MAX as u64 => {
                ArchiveReadError::Beyond
            }
            _ => ArchiveReadError::Io(error),
        })
    }

    /// Has the kernel read bytes that will be needed soon, and does not wait for them.
    pub fn request(&self, range: &Range<u64>) {
        // A file that stays open only for a read would be closed again at once.
        if let OpenFile::Kept(file) = &self.file {
            request(file, range);
        }
    }

    /// Whether the file stays open, so that bytes can be requested before they are read.
    pub fn stays_open(&self) -> bool {
        matches!(self.file, OpenFile::Kept(_))
    }

    /// Has the kernel read bytes, and waits until it has them.
    pub fn fetch(&self, range: &Range<u64>) -> Result<(), ArchiveReadError> {
        let file = self.open_file()?;
        let pieces = || range.clone().step_by(PIECE as usize).map(|at| at..range.end.min(at + PIECE));
        pieces().for_each(|piece| self.request(&piece));
        for piece in pieces() {
            file.read_exact_at(&mut [0], piece.end - 1).map_err(ArchiveReadError::Io)?;
        }
        Ok(())
    }

    /// Calls `use_pieces` with the pieces of the file. Fails if one of them could not be read.
    fn with_pieces<T>(&self, use_pieces: impl FnOnce(&Pieces<'_>) -> T) -> io::Result<T> {
        let mut first_blocks = FirstBlocks::default();
        let file = self.open_file().map_err(ArchiveReadError::into_io)?;
        let pieces = Pieces::new(&file, self.len(), &mut first_blocks);
        let result = use_pieces(&pieces);
        pieces.check().map(|()| result)
    }

    /// Checks that the file is the one that was opened. A change is final, because the tables
    /// describe the old content.
    fn check_unchanged(&self) -> Result<(), ArchiveReadError> {
        if self.stale.load(Ordering::Relaxed) {
            return Err(ArchiveReadError::Changed);
        }
        self.compare().map_err(|error| self.record_error(error))
    }

    /// Records that the file was changed if an error says so, and logs that once.
    fn record_error(&self, error: ArchiveReadError) -> ArchiveReadError {
        if matches!(error, ArchiveReadError::Changed) && !self.stale.swap(true, Ordering::Relaxed) {
            log::error!(
                "{}: the archive was changed while mounted; reads of its old files fail with EIO",
                self.path.shown()
            );
        }
        error
    }

    fn compare(&self) -> Result<(), ArchiveReadError> {
        let file = self.open_file()?;
        let now = stat(&file).map_err(ArchiveReadError::Io)?;
        // The common case takes no lock. A write moves the mtime, except on a coarse clock.
        if self.is_known(&now) {
            return Ok(());
        }
        let _comparing = self.comparing.lock();
        let began = SystemTime::now();
        let is_same = || match &self.tables {
            Some(tables) => tables.are_in(&file),
            None => Ok(false),
        };
        let (expected, known) = self.expected(&file)?;
        match compare(&expected, known, || stat(&file), is_same)? {
            Unchanged::Same(stat) => self.record_compared(&stat, began),
            Unchanged::Known | Unchanged::Moving => {}
        }
        Ok(())
    }

    /// What the next `fstat` must report except for the ctime, and the ctime for which no digest is needed.
    fn expected(&self, file: &File) -> Result<(Stat, Option<i64>), ArchiveReadError> {
        let mtime = self.mtime.load(Ordering::Relaxed);
        let now = stat(file).map_err(ArchiveReadError::Io)?;
        // A write moves the ctime. If it did not move, the file was written to before it was opened, and the
        // event came late.
        let is_written = self.reported.is_written() && now.ctime != self.ctime.load(Ordering::Relaxed);
        match now.mtime == mtime && !is_written {
            true => Ok((Stat { mtime, ..self.opened }, self.compared_ctime())),
            false if self.reported.accept_touch(now.ctime) => {
                Ok((Stat { mtime: now.mtime, ..self.opened }, None))
            }
            false => Err(ArchiveReadError::Changed),
        }
    }

    /// Whether `now` shows the file that was opened, so that no digest is needed.
    fn is_known(&self, now: &Stat) -> bool {
        let mtime = self.mtime.load(Ordering::Relaxed);
        !self.is_changed()
            && now.is_same_file(&Stat { mtime, ..self.opened })
            && self.compared_ctime() == Some(now.ctime)
    }

    fn stat(&self) -> io::Result<Stat> {
        stat(&*self.open_file().map_err(ArchiveReadError::into_io)?)
    }

    /// The ctime for which no digest is needed; `None` if a digest is due.
    fn compared_ctime(&self) -> Option<i64> {
        let compare_at = self.compare_at.load(Ordering::Relaxed);
        let is_due = compare_at != NEVER && self.elapsed() >= compare_at;
        (!is_due).then(|| self.ctime.load(Ordering::Relaxed))
    }

    /// Records that the tables were unchanged when `fstat` returned `stat`, at `began` or later.
    fn record_compared(&self, stat: &Stat, began: SystemTime) {
        let tick = u64::try_from(COARSEST_TICK.as_millis()).unwrap_or(NEVER);
        let again = if stat.is_recent(began) { self.elapsed().saturating_add(tick) } else { NEVER };
        self.compare_at.store(again, Ordering::Relaxed);
        self.mtime.store(stat.mtime, Ordering::Relaxed);
        self.ctime.store(stat.ctime, Ordering::Relaxed);
    }

    /// Milliseconds since the file was opened.
    fn elapsed(&self) -> u64 {
        u64::try_from(self.opened_at.elapsed().as_millis()).unwrap_or(NEVER)
    }
}

/// An archive's file, which stays open if that has no effect for others (`system/disk_id.rs`).
#[derive(Debug)]
enum OpenFile {
    Kept(Arc<File>),
    /// It is open only while it is read, and is opened at its path without links.
    Transient(PathBuf, Mutex<Weak<File>>),
}

impl OpenFile {
    fn new(file: File) -> Self {
        // Without its path, the file could not be opened again.
        match has_effects(&file).then(|| paths::path_of_open(&file).ok()).flatten() {
            Some(path) => Self::Transient(path, Mutex::default()),
            None => Self::Kept(Arc::new(file)),
        }
    }

    fn get(&self, identity: DiskId) -> Result<Arc<File>, ArchiveReadError> {
        let (path, lent) = match self {
            Self::Kept(file) => return Ok(file.clone()),
            Self::Transient(path, lent) => (path, lent),
        };
        // Locked until the file is open. Many daemons make the kernel drop the pages of a file that is
        // opened again, and that waits for reads that hang.
        let mut lent = lent.lock();
        if let Some(file) = lent.upgrade() {
            return Ok(file);
        }
        let file = open(&uncovered(path)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ArchiveReadError::Changed,
            _ => ArchiveReadError::Io(error),
        })?;
        if DiskId::from(&file.metadata().map_err(ArchiveReadError::Io)?) != identity {
            return Err(ArchiveReadError::Changed);
        }
        let file = Arc::new(file);
        *lent = Arc::downgrade(&file);
        Ok(file)
    }
}

/// Opens a file for reading. `NONBLOCK`, because a pipe may have replaced it.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(path)
}

fn stat(file: &File) -> io::Result<Stat> {
    file.metadata().map(|metadata| Stat::of(&metadata))
}

// What `fstat` reports of an archive file, how to detect that the file changed, and why a read fails.

/// Coarsest resolution of timestamps (FAT's). A file that was changed this recently may change
/// again without its times moving.
pub const COARSEST_TICK: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub enum ArchiveReadError {
    /// The file was changed since its tables were read.
    Changed,
    /// The bytes lie beyond the end of the file.
    Beyond,
    Io(io::Error),
}

impl ArchiveReadError {
    pub(crate) fn into_io(self) -> io::Error {
        match self {
            Self::Changed => rustix::io::Errno::STALE.into(),
            Self::Beyond => io::ErrorKind::UnexpectedEof.into(),
            Self::Io(error) => error,
        }
    }
}

/// What `fstat` reports of a file's content. Times are in nanoseconds since 1970, and saturate in 2262.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) len: u64,
    pub(crate) mtime: i64,
    pub(crate) ctime: i64,
}

impl Stat {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let time = |seconds: i64, nanoseconds: i64| {
            seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
        };
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            len: metadata.len(),
            mtime: time(metadata.mtime(), metadata.mtime_nsec()),
            ctime: time(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether both are states of a file of the same size, with any times.
    pub(crate) fn is_same_object(&self, other: &Self) -> bool {
        *self == Self { mtime: self.mtime, ctime: self.ctime, ..*other }
    }

    /// Whether all fields except the ctime are equal. A ctime also moves with names, links, owners,
    /// permissions and attributes.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        *self == Self { ctime: self.ctime, ..*other }
    }

    /// Whether another change at the time `now` could leave the times unchanged. Clocks of servers
    /// may be ahead.
    pub(crate) fn is_recent(&self, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        [self.mtime, self.ctime].iter().any(|time| u128::from(time.abs_diff(now)) < COARSEST_TICK.as_nanos())
    }
}

/// Result of comparing a file that did not change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unchanged {
    /// The ctime is already known.
    Known,
    /// The tables are equal, as of this `fstat`.
    Same(Stat),
    /// The tables were equal, but the ctime moved meanwhile. They are compared again with the next read.
    Moving,
}

/// Compares a file with the one that was `opened`. If its ctime is not `known`, `is_same` compares
/// the tables between two calls of `stat`.
pub(crate) fn compare(
    opened: &Stat,
    known: Option<i64>,
    mut stat: impl FnMut() -> io::Result<Stat>,
    is_same: impl FnOnce() -> io::Result<bool>,
) -> Result<Unchanged, ArchiveReadError> {
    let mut stat = || match stat() {
        Ok(now) if now.is_same_file(opened) => Ok(now),
        Ok(_) => Err(ArchiveReadError::Changed),
        Err(error) => Err(ArchiveReadError::Io(error)),
    };
    let before = stat()?;
    if known == Some(before.ctime) {
        return Ok(Unchanged::Known);
    }
    if !is_same().map_err(ArchiveReadError::Io)? {
        return Err(ArchiveReadError::Changed);
    }
    Ok(if stat()? == before { Unchanged::Same(before) } else { Unchanged::Moving })
}

// The bytes of an archive that its parser used, and their digest: it shows whether they are still the same.

/// The ranges of a file that were parsed, and their digest.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ParsedRanges {
    ranges: Vec<Range<u64>>,
    digest: u64,
}

impl ParsedRanges {
    /// Digests the bytes that were parsed. They are still in memory. If one cannot be read,
    /// [`Pieces::check`] fails.
    pub(super) fn parsed(pieces: &Pieces<'_>, ranges: Vec<Range<u64>>) -> Self {
        let bytes = |step: Range<u64>| pieces.fetch(step.clone(), true)?.get(..len(&step));
        let digest = ranges.iter().flat_map(steps).map_while(bytes).fold(0, digest);
        Self { ranges, digest }
    }

    /// Whether a file has the same bytes in these ranges.
    pub(super) fn are_in(&self, file: &File) -> io::Result<bool> {
        let mut buffer = vec![0; BLOCK as usize];
        let found = self.ranges.iter().flat_map(steps).try_fold(0, |before, step| {
            let bytes = &mut buffer[..len(&step)];
            file.read_exact_at(bytes, step.start).map(|()| digest(before, bytes))
        });
        found.map(|found| found == self.digest)
    }
}

/// The parts of a range that lie in one block each, as the pieces do.
fn steps(range: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let Range { mut start, end } = *range;
    iter::from_fn(move || {
        let step = start..end.min((start / BLOCK + 1) * BLOCK);
        start = step.end;
        (!step.is_empty()).then_some(step)
    })
}

/// Length of a step, which is a block at most.
fn len(step: &Range<u64>) -> usize {
    (step.end - step.start) as usize
}

/// The digest of all bytes before `bytes` is the seed of the next one.
fn digest(before: u64, bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(before, bytes)
}

// What inotify has reported about an archive file. A `touch` disturbs no reader, but a write does.

/// How long a read waits for the event of a change that it found. The event is queued within the system call
/// that makes the change, so it is only a matter of waking the thread that watches.
const EVENT_DELAY: Duration = Duration::from_millis(500);

/// The events of an archive file since it was opened.
#[derive(Debug, Default)]
pub(super) struct ArchiveEvents {
    events: Mutex<Events>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Events {
    is_watched: bool,
    /// The ctime of a change before the file was watched. No event reports that change.
    unreported: Option<i64>,
    is_written: bool,
    /// Whether the attributes were changed since a touch was last accepted.
    is_touched: bool,
}

impl Events {
    /// Whether an event of a change is still to come.
    fn is_awaited(&self, ctime: i64) -> bool {
        self.is_watched && self.unreported != Some(ctime) && !self.is_written && !self.is_touched
    }
}

impl ArchiveEvents {
    /// Whether the events of the file are noted.
    pub(super) fn is_watched(&self) -> bool {
        self.events.lock().is_watched
    }

    /// Records that from now on the events of the file are noted. `unreported` is the ctime of the file if it
    /// changed before.
    pub(super) fn record_watched(&self, unreported: Option<i64>) {
        let mut events = self.events.lock();
        (events.is_watched, events.unreported) = (true, unreported);
    }

    /// Records an event. `is_written` says whether the content was written to.
    pub(super) fn note(&self, is_written: bool) {
        let mut events = self.events.lock();
        events.is_written |= is_written;
        events.is_touched |= !is_written;
        drop(events);
        self.changed.notify_all();
    }

    /// Whether only the attributes of the file were changed, as far as events say. Waits a moment for the
    /// first event of a change, given the ctime after it. A second change needs a second event.
    pub(super) fn accept_touch(&self, ctime: i64) -> bool {
        let events = self.events.lock();
        let is_awaited = |events: &mut Events| events.is_awaited(ctime);
        let mut events = self.changed.wait_timeout_while(events, EVENT_DELAY, is_awaited);
        !events.is_written && std::mem::take(&mut events.is_touched)
    }

    /// Whether the content was written to.
    pub(super) fn is_written(&self) -> bool {
        self.events.lock().is_written
    }
}

#[cfg(test)]
mod tests {
    use super::super::pieces::FirstBlocks;
    use super::super::pieces::tests::file_of;
    use super::*;
    use std::time::UNIX_EPOCH;

    /// An opened archive, and its file.
    fn opened(folder: &Path) -> (ArchiveFile, File) {
        let path = folder.join("archive");
        std::fs::write(&path, b"tables and data").unwrap();
        let mut source = ArchiveFile::open(&path).unwrap();
        source.parse_tables(|_| ((), vec![0..3, 3..6])).unwrap();
        (source, File::options().write(true).open(&path).unwrap())
    }

    #[test]
    fn a_rewrite_within_one_clock_tick_is_detected_two_seconds_later() {
        let folder = tempfile::TempDir::new().unwrap();
        let (source, file) = opened(folder.path());
        file.write_all_at(b"T", 0).unwrap();
        file.set_modified(source.modified()).unwrap();
        // Simulates a clock that did not tick meanwhile.
        source.ctime.store(source.stat().unwrap().ctime, Ordering::Relaxed);
        assert!(
            source.read_exact_at(&mut [0; 4], 11).is_ok(),
            "the change was detected too early, so this test checked nothing"
        );
        std::thread::sleep(COARSEST_TICK);
        assert!(matches!(source.read_exact_at(&mut [0; 4], 11), Err(ArchiveReadError::Changed)));
    }

    /// An opened archive whose events inotify reports, and its file.
    fn watched(folder: &Path) -> (ArchiveFile, File) {
        let (source, file) = opened(folder);
        source.record_watched();
        (source, file)
    }

    #[test]
    fn a_touched_archive_stays_readable_and_each_touch_needs_an_event() {
        let folder = tempfile::TempDir::new().unwrap();
        let (source, file) = watched(folder.path());
        for seconds in [5, 6] {
            file.set_modified(UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
            source.record_event(false);
            assert!(source.read_exact_at(&mut [0; 4], 11).is_ok(), "{seconds}");
            assert!(source.is_untouched(source.path()));
        }
        file.set_modified(UNIX_EPOCH).unwrap();
        assert!(matches!(source.read_exact_at(&mut [0; 4], 11), Err(ArchiveReadError::Changed)));
    }

    /// Whether a watched archive is changed after a write at an offset and these events (true: of a write).
    fn is_changed_after(offset: u64, events: &[bool]) -> bool {
        let folder = tempfile::TempDir::new().unwrap();
        let (source, file) = watched(folder.path());
        file.write_all_at(b"X", offset).unwrap();
        file.set_modified(UNIX_EPOCH).unwrap();
        for &is_written in events.iter() {
            source.record_event(is_written);
        }
        matches!(source.read_exact_at(&mut [0; 4], 11), Err(ArchiveReadError::Changed))
    }

    #[test]
    fn an_archive_that_was_written_to_is_changed_even_with_equal_tables() {
        assert!(is_changed_after(11, &[true, false]) && !is_changed_after(11, &[false]));
    }

    #[test]
    fn a_late_event_of_a_write_before_the_opening_gives_no_error() {
        let folder = tempfile::TempDir::new().unwrap();
        let (source, file) = watched(folder.path());
        source.record_event(true);
        // The times were recent at the opening, so the tables are compared once more.
        source.compare_at.store(0, Ordering::Relaxed);
        assert!(source.read_exact_at(&mut [0; 4], 11).is_ok());
        assert!(
            !source.is_untouched(source.path()),
            "a reload opens it again, because the clock may be coarse"
        );
        file.write_all_at(b"X", 11).unwrap();
        assert!(matches!(source.read_exact_at(&mut [0; 4], 11), Err(ArchiveReadError::Changed)));
    }

    #[test]
    fn a_touched_archive_with_other_tables_is_changed() {
        assert!(is_changed_after(0, &[false]));
    }

    const OPENED: Stat = Stat { device: 1, inode: 2, len: 3, mtime: 4, ctime: 5 };

    fn failed() -> io::Error {
        io::Error::from_raw_os_error(5)
    }

    /// The outcome of one comparison, given the successive results of `fstat` and of the digest.
    fn outcome(known: Option<i64>, stats: [Option<Stat>; 2], is_same: Option<bool>) -> &'static str {
        let mut stats = stats.into_iter();
        let stat = || stats.next().flatten().ok_or_else(failed);
        match compare(&OPENED, known, stat, || is_same.ok_or_else(failed)) {
            Ok(Unchanged::Known) => "known",
            Ok(Unchanged::Same(_)) => "same",
            Ok(Unchanged::Moving) => "moving",
            Err(ArchiveReadError::Changed) => "changed",
            Err(ArchiveReadError::Io(_)) => "this read fails",
            Err(ArchiveReadError::Beyond) => "neither",
        }
    }

    #[test]
    fn a_failed_fstat_or_digest_fails_only_one_read() {
        let moved = Some(Stat { ctime: 6, ..OPENED });
        assert_eq!(outcome(Some(5), [None, None], None), "this read fails");
        assert_eq!(outcome(Some(5), [moved, moved], None), "this read fails");
        assert_eq!(outcome(Some(5), [moved, None], Some(true)), "this read fails");
    }

    #[test]
    fn another_device_inode_size_or_mtime_is_a_change_despite_an_equal_digest() {
        for other in [
            Stat { device: 9, ..OPENED },
            Stat { inode: 9, ..OPENED },
            Stat { len: 9, ..OPENED },
            Stat { mtime: 9, ..OPENED },
        ] {
            assert_eq!(outcome(Some(5), [Some(other), Some(other)], Some(true)), "changed", "{other:?}");
            let moved = Some(Stat { ctime: 6, ..OPENED });
            assert_eq!(outcome(Some(5), [moved, Some(other)], Some(true)), "changed", "{other:?}");
        }
    }

    #[test]
    fn another_ctime_is_a_change_only_if_the_digest_differs() {
        let [opened, moved, later] = [5, 6, 7].map(|ctime| Some(Stat { ctime, ..OPENED }));
        assert_eq!(outcome(Some(5), [opened, None], None), "known");
        assert_eq!(outcome(Some(5), [moved, moved], Some(true)), "same");
        assert_eq!(outcome(Some(5), [moved, moved], Some(false)), "changed");
        assert_eq!(outcome(Some(5), [moved, later], Some(true)), "moving");
        assert_eq!(
            outcome(None, [opened, opened], Some(true)),
            "same",
            "the digest must be compared even with an equal ctime"
        );
        assert_eq!(outcome(None, [opened, opened], Some(false)), "changed");
    }

    #[test]
    fn a_file_is_recent_for_two_seconds_after_its_latest_time() {
        let second = 1_000_000_000;
        let at = |mtime: i64, ctime: i64, now: u64| {
            let stat = Stat { mtime: mtime * second, ctime: ctime * second, ..OPENED };
            stat.is_recent(UNIX_EPOCH + Duration::from_secs(now))
        };
        assert!(at(0, 100, 101) && at(100, 0, 101) && at(101, 0, 100) && at(100, 100, 100));
        assert!(
            !at(0, 100, 102) && !at(100, 100, 102) && !at(-100, -100, 102) && !at(0, i64::MAX / second, 5)
        );
    }

    /// A file of three blocks and a bit, and ranges of it that begin and end anywhere.
    fn file_and_ranges() -> (File, Vec<Range<u64>>) {
        let (file, _) = file_of(3 * BLOCK + 100);
        (file, vec![0..0, 12..BLOCK + 3, 2 * BLOCK..3 * BLOCK + 100])
    }

    #[test]
    fn tables_are_in_the_file_until_a_byte_of_them_changes() {
        let (file, ranges) = file_and_ranges();
        let mut first_blocks = FirstBlocks::default();
        let pieces = Pieces::new(&file, 3 * BLOCK + 100, &mut first_blocks);
        let tables = ParsedRanges::parsed(&pieces, ranges);
        pieces.check().unwrap();
        assert!(tables.are_in(&file).unwrap());
        for (at, is_in_tables) in [(11, false), (BLOCK + 3, false), (BLOCK + 2, true), (3 * BLOCK + 99, true)]
        {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[!byte[0]], at).unwrap();
            assert_eq!(tables.are_in(&file).unwrap(), !is_in_tables, "byte {at}");
            file.write_all_at(&byte, at).unwrap();
        }
        file.set_len(3 * BLOCK).unwrap();
        assert_eq!(tables.are_in(&file).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_change_after_the_parser_read_the_tables_is_noticed() {
        let (file, ranges) = file_and_ranges();
        let mut first_blocks = FirstBlocks::default();
        let pieces = Pieces::new(&file, 3 * BLOCK + 100, &mut first_blocks);
        for start in [0, BLOCK, 2 * BLOCK, 3 * BLOCK] {
            pieces.fetch(start..start + 1, true).unwrap();
        }
        // The parser has the old bytes.
        file.write_all_at(b"new", BLOCK).unwrap();
        let tables = ParsedRanges::parsed(&pieces, ranges);
        assert!(!tables.are_in(&file).unwrap());
    }

    #[test]
    fn no_event_is_awaited_of_a_change_before_the_file_was_watched() {
        let reported = ArchiveEvents::default();
        let is_awaited = |ctime| reported.events.lock().is_awaited(ctime);
        assert!(!is_awaited(7), "a file that is not watched has no events");
        reported.record_watched(Some(7));
        assert_eq!((is_awaited(7), is_awaited(8)), (false, true));
        reported.note(false);
        assert!(!is_awaited(8) && reported.accept_touch(8) && is_awaited(8));
        assert!(!reported.accept_touch(7));
    }
}
