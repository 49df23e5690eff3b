//! An archive file: its identity, positioned reads that detect a change of the file, and its tables.
//!
//! The file counts as unchanged while its device, inode, size and mtime stay equal. If only its
//! ctime moves, a digest of the parsed bytes decides. If its mtime moves, too, inotify must have
//! reported that its attributes were changed, and no write.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Instant, SystemTime};

use rustix::fs::OFlags;
use twox_hash::XxHash3_64;

use super::pieces::{FirstBlocks, Pieces, request};
use super::reported::Reported;
use super::stat::{ArchiveReadError, COARSEST_TICK, Stat, Unchanged, compare};
use super::tables::Tables;
use crate::read::Bytes;
use crate::shown::Shown;
use crate::system::covered::uncovered;
use crate::system::disk_id::DiskId;
use crate::system::paths;
use crate::system::sync::Mutex;
use crate::system::transient::has_effects;

/// Value of [`ArchiveFile::compare_at`]: compare again only after the ctime moves.
const NEVER: u64 = u64::MAX;

/// An archive file. On most disks it stays open, and no path is resolved after that: the archive's folder
/// may be below a mount of bsafs. The mount's lookups would then wait for the thread that resolves the path.
#[derive(Debug)]
pub struct ArchiveFile {
    path: PathBuf,
    file: OpenFile,
    opened: Stat,
    opened_at: Instant,
    modified: SystemTime,
    tables: Option<Tables>,
    /// The mtime and the ctime at which the tables are known to equal those that were parsed.
    mtime: AtomicI64,
    ctime: AtomicI64,
    /// When to compare the tables again even if the ctime did not move, in milliseconds after `opened_at`.
    compare_at: AtomicU64,
    /// Locked while the tables are compared. Other reads that need the result wait.
    comparing: Mutex<()>,
    stale: AtomicBool,
    reported: Reported,
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
            reported: Reported::default(),
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

    /// Records that from now on [`ArchiveFile::note_event`] is called for each event of the file.
    pub fn note_watched(&self) {
        if self.reported.is_watched() {
            return;
        }
        // Otherwise a reload would wait in vain for the event of a change that was made before.
        let mtime = self.mtime.load(Ordering::Relaxed);
        let changed = self.stat().ok().filter(|now| now.mtime != mtime);
        self.reported.note_watched(changed.map(|now| now.ctime));
    }

    /// Records an event that inotify reported. `is_written` says whether the content was written to;
    /// otherwise the attributes were changed.
    pub fn note_event(&self, is_written: bool) {
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
            (parsed, Tables::parsed(pieces, ranges))
        })?;
        self.note_compared(&self.opened, began);
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
        let file = self.file.get(self.identity()).map_err(|error| self.note_error(error))?;
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
        self.compare().map_err(|error| self.note_error(error))
    }

    /// Records that the file was changed if an error says so, and logs that once.
    fn note_error(&self, error: ArchiveReadError) -> ArchiveReadError {
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
            Unchanged::Same(stat) => self.note_compared(&stat, began),
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
    fn note_compared(&self, stat: &Stat, began: SystemTime) {
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

/// An archive's file, which stays open if that has no effect for others (`system/transient.rs`).
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
        // Locked until the file is open. Many daemons have the kernel drop the pages of a file that is
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

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

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

    /// An opened archive of which inotify reports events, and its file.
    fn watched(folder: &Path) -> (ArchiveFile, File) {
        let (source, file) = opened(folder);
        source.note_watched();
        (source, file)
    }

    #[test]
    fn a_touched_archive_stays_readable_and_each_touch_needs_an_event() {
        let folder = tempfile::TempDir::new().unwrap();
        let (source, file) = watched(folder.path());
        for seconds in [5, 6] {
            file.set_modified(UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
            source.note_event(false);
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
            source.note_event(is_written);
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
        source.note_event(true);
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
}
