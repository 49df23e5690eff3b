//! An archive file: its identity, positioned reads that notice when it changed, and the map of its tables.
//!
//! This is the only file that may contain `unsafe`, and the map is the only use of it. Payload is never read through
//! a map: a file that is cut short under a map ends the whole process with SIGBUS, a positioned read ends in an error.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An open archive file.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    file: File,
    opened: Metadata,
    /// The last change time that was found harmless, in nanoseconds since 1970, and what explained it.
    ctime: AtomicI64,
    harmless: Mutex<Links>,
    stale: AtomicBool,
    bytes_read: AtomicU64,
}

/// Why bytes could not be had.
#[derive(Debug)]
pub enum Fault {
    /// The file is no longer the one whose tables were read.
    Changed,
    /// The bytes lie beyond the end of the file.
    Beyond,
    /// The system refused.
    Io(io::Error),
}

impl Source {
    /// Opens an archive for reading.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::IsADirectory`] and [`io::ErrorKind::InvalidInput`] for what is no
    /// regular file, so that a pipe is never waited for.
    pub fn open(path: &Path) -> io::Result<Self> {
        let looked = std::fs::metadata(path)?;
        if looked.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !looked.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let file = File::open(path)?;
        let opened = file.metadata()?;
        // An absolute path still names the archive after the daemon has left the folder it was started in.
        let path = std::path::absolute(path)?;
        Ok(Self {
            harmless: Mutex::new(Links::of(&opened, &path)),
            path,
            file,
            ctime: AtomicI64::new(ctime(&opened)),
            opened,
            stale: AtomicBool::new(false),
            bytes_read: AtomicU64::new(0),
        })
    }

    /// Where the archive was found; absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length in bytes when it was opened.
    pub fn len(&self) -> u64 {
        self.opened.len()
    }

    /// Whether it had no bytes when it was opened.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When its content was last changed before it was opened.
    pub fn modified(&self) -> SystemTime {
        let nanoseconds = u32::try_from(self.opened.mtime_nsec()).unwrap_or(0);
        match u64::try_from(self.opened.mtime()) {
            Ok(seconds) => UNIX_EPOCH + Duration::new(seconds, nanoseconds),
            Err(_) => UNIX_EPOCH,
        }
    }

    /// Bytes read from it so far, the mapped tables not counted.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Lends the whole archive as bytes for the time of a parse.
    ///
    /// Only touched pages are read, so a parser that keeps to the tables costs no more than these.
    ///
    /// # Errors
    /// What the system says of the map.
    #[allow(unsafe_code)]
    pub fn lend<T>(&self, parse: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        if self.is_empty() {
            return Ok(parse(&[]));
        }
        // SAFETY: the map is private to this call and read-only. What it cannot promise is that nobody else writes
        // to the file meanwhile: parsers treat every byte as hostile and read none twice for a decision that memory
        // safety hangs on, and a file that is cut short in this moment, before anything is mounted, ends a program
        // that serves nobody yet.
        let map = unsafe {
            memmap2::MmapOptions::new()
                .len(usize::try_from(self.len()).unwrap_or(usize::MAX))
                .map(&self.file)?
        };
        Ok(parse(&map))
    }

    /// Fills `buffer` with the bytes at `offset`.
    ///
    /// # Errors
    /// [`Fault::Changed`] when the file was touched since it was opened, however the read went; the first time, this
    /// is logged. The question is asked after the read: asked before, it would leave a gap for a writer.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), Fault> {
        let read = self.file.read_exact_at(buffer, offset);
        self.bytes_read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        if self.is_stale() {
            return Err(Fault::Changed);
        }
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Fault::Beyond,
            // Offsets that the system cannot express are refused as invalid.
            io::ErrorKind::InvalidInput if offset.saturating_add(buffer.len() as u64) > i64::MAX as u64 => {
                Fault::Beyond
            }
            _ => Fault::Io(error),
        })
    }

    /// Whether the file changed since it was opened. Once it has, it stays so: old tables do not fit new bytes.
    fn is_stale(&self) -> bool {
        if self.stale.load(Ordering::Relaxed) {
            return true;
        }
        let unchanged = self.file.metadata().is_ok_and(|now| self.is_same(&now));
        if !unchanged && !self.stale.swap(true, Ordering::Relaxed) {
            log::error!(
                "{}: the archive was changed while mounted; its files now give EIO. Unmount and mount again to read it anew",
                self.path.display()
            );
        }
        !unchanged
    }

    /// Compares size and times. The change time alone also moves when a file is renamed, linked, removed or given
    /// other permissions, none of which touches a byte, so it is believed only where none of these happened since the
    /// last look: that catches a writer who puts the modification time back.
    fn is_same(&self, now: &Metadata) -> bool {
        let then = &self.opened;
        if (now.len(), now.mtime(), now.mtime_nsec()) != (then.len(), then.mtime(), then.mtime_nsec()) {
            return false;
        }
        // A reader's common case, and no lock for it.
        if ctime(now) == self.ctime.load(Ordering::Relaxed) {
            return true;
        }
        let mut harmless = self.harmless.lock().unwrap_or_else(PoisonError::into_inner);
        if ctime(now) == self.ctime.load(Ordering::Relaxed) {
            return true;
        }
        let links = Links::of(now, &self.path);
        let is_explained = links != *harmless;
        if is_explained {
            *harmless = links;
            self.ctime.store(ctime(now), Ordering::Relaxed);
        }
        is_explained
    }
}

/// What of a file can change without a byte of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Links {
    names: u64,
    mode: u32,
    owner: (u32, u32),
    /// Whether it is still what its path leads to.
    is_in_place: bool,
}

impl Links {
    fn of(file: &Metadata, path: &Path) -> Self {
        let there = std::fs::metadata(path);
        Self {
            names: file.nlink(),
            mode: file.mode(),
            owner: (file.uid(), file.gid()),
            is_in_place: there.is_ok_and(|there| (there.dev(), there.ino()) == (file.dev(), file.ino())),
        }
    }
}

/// A file's change time in nanoseconds since 1970; enough bits until the year 2262.
fn ctime(metadata: &Metadata) -> i64 {
    metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec())
}
