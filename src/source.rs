//! An archive file: its identity, positioned reads that detect a change of the file, and the map of its tables.
//!
//! Only this file may contain `unsafe`, and the map is its only use. Payload is never read through a map: where a file
//! is truncated, access to the map ends the process with SIGBUS, and a positioned read returns an error.

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
    /// The change time (ctime) up to which the content is known to be unchanged, in nanoseconds since 1970, and the
    /// metadata at that time.
    ctime: AtomicI64,
    links: Mutex<Links>,
    stale: AtomicBool,
    bytes_read: AtomicU64,
}

/// Why a read failed.
#[derive(Debug)]
pub enum Fault {
    /// The file was changed since its tables were read.
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
    /// The system's; [`io::ErrorKind::IsADirectory`] for folders and [`io::ErrorKind::InvalidInput`] for other files that
    /// are not regular, found before the open: that of a pipe would block.
    pub fn open(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let file = File::open(path)?;
        let opened = file.metadata()?;
        // The daemon leaves the folder that a relative path starts from.
        let path = std::path::absolute(path)?;
        Ok(Self {
            links: Mutex::new(Links::of(&opened, &path)),
            path,
            file,
            ctime: AtomicI64::new(ctime(&opened)),
            opened,
            stale: AtomicBool::new(false),
            bytes_read: AtomicU64::new(0),
        })
    }

    /// The path of the archive; absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// In bytes, when it was opened.
    pub fn len(&self) -> u64 {
        self.opened.len()
    }

    /// Whether it had no bytes when it was opened.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When its content was last changed (mtime), as of when it was opened.
    pub fn modified(&self) -> SystemTime {
        let nanoseconds = u32::try_from(self.opened.mtime_nsec()).unwrap_or(0);
        match u64::try_from(self.opened.mtime()) {
            Ok(seconds) => UNIX_EPOCH + Duration::new(seconds, nanoseconds),
            Err(_) => UNIX_EPOCH,
        }
    }

    /// Bytes read from it so far, without the mapped tables.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Maps the whole archive for one call of `parse`. Only the pages that it accesses are read: those of the tables.
    ///
    /// # Errors
    /// The system's, where it cannot be mapped.
    #[allow(unsafe_code)]
    pub fn with_map<T>(&self, parse: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        if self.is_empty() {
            return Ok(parse(&[]));
        }
        // SAFETY: the map is private to this call and read-only. Another process may write to the file meanwhile:
        // parsers trust no byte and read none twice for a decision that memory safety depends on. Where the file is
        // truncated meanwhile, SIGBUS ends the process before anything is mounted.
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
    /// [`Fault::Changed`] where the file was changed since it was opened, even if the read succeeded; logged the first
    /// time. Checked after the read: a check before it would miss a write between the two.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), Fault> {
        let read = self.file.read_exact_at(buffer, offset);
        self.bytes_read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        if self.is_stale() {
            return Err(Fault::Changed);
        }
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Fault::Beyond,
            // Offsets beyond i64 are EINVAL.
            io::ErrorKind::InvalidInput if offset.saturating_add(buffer.len() as u64) > i64::MAX as u64 => {
                Fault::Beyond
            }
            _ => Fault::Io(error),
        })
    }

    /// Whether the file was changed since it was opened. That is final: the tables are those of the old content.
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

    /// Compares size, mtime and ctime. The ctime alone also changes when a file is renamed, linked, removed or given
    /// other permissions, none of which changes its content. So a new ctime counts as a change of content only where
    /// none of these happened since the last check: that detects a writer who sets the mtime back.
    fn is_same(&self, now: &Metadata) -> bool {
        let then = &self.opened;
        if (now.len(), now.mtime(), now.mtime_nsec()) != (then.len(), then.mtime(), then.mtime_nsec()) {
            return false;
        }
        // The common case takes no lock.
        if ctime(now) == self.ctime.load(Ordering::Relaxed) {
            return true;
        }
        let mut known = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if ctime(now) == self.ctime.load(Ordering::Relaxed) {
            return true;
        }
        let links = Links::of(now, &self.path);
        let is_explained = links != *known;
        if is_explained {
            *known = links;
            self.ctime.store(ctime(now), Ordering::Relaxed);
        }
        is_explained
    }
}

/// Metadata that can change without the content, and whose change explains a new ctime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Links {
    hard_links: u64,
    mode: u32,
    owner: (u32, u32),
    /// Whether its path still leads to it.
    is_at_path: bool,
}

impl Links {
    fn of(file: &Metadata, path: &Path) -> Self {
        let at_path = std::fs::metadata(path);
        Self {
            hard_links: file.nlink(),
            mode: file.mode(),
            owner: (file.uid(), file.gid()),
            is_at_path: at_path.is_ok_and(|other| (other.dev(), other.ino()) == (file.dev(), file.ino())),
        }
    }
}

/// The change time in nanoseconds since 1970; saturates in the year 2262.
fn ctime(metadata: &Metadata) -> i64 {
    metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec())
}
