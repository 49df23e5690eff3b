//! A folder of loose files: its names, what is known of its files, and reads.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::fs::{FileType, OFlags, Statx};
use rustix::io::Errno;

use super::error::FileFault;
use super::file_state::{FileStat, FileState, FileTime, read_full, stat_of};
use super::filter::Filter;
use super::location::Locations;
use super::loose_names::{LooseNames, joined};
use super::mounts::{Root, device_of};
use super::notes::{ScanNotes, WalkNote};
use super::open_files::OpenFiles;
use crate::system::disk_id::DiskId;
use crate::system::sync::Mutex;

/// How often a part of a file is read that is written to meanwhile.
const READ_ATTEMPTS: u32 = 4;

/// A folder of loose files, as a scan found it. Files are numbered in the order of [`LooseNames::files`].
#[derive(Debug)]
pub struct LooseFolder {
    /// Distinguishes this folder from others that share the open files.
    number: u32,
    path: PathBuf,
    /// What the walk found. Folders that are one on the disk share it.
    pub(super) scanned: Arc<FolderScan>,
    states: Vec<FileState>,
    /// Held while a file's state is set.
    learning: Mutex<()>,
    learnt: AtomicU32,
    known_bytes: AtomicU64,
    bytes_read: AtomicU64,
    files: Arc<OpenFiles>,
}

/// What a walk found. It does not depend on the path by which the folder was reached.
#[derive(Clone, Debug)]
pub(super) struct FolderScan {
    pub(super) filter: Filter,
    pub(super) names: LooseNames,
    pub(super) locations: Locations,
    pub(super) notes: ScanNotes,
}

impl FolderScan {
    /// Whether an earlier scan found the same, and its folders can still be used: a server may have forgotten
    /// them.
    pub(super) fn is_same(&self, earlier: &Self) -> bool {
        self.filter == earlier.filter
            && self.names == earlier.names
            && self.locations.are_same(&earlier.locations)
            && self.notes == earlier.notes
            && !earlier.locations.roots().into_iter().any(|root| root.is_lost())
    }
}

/// A file that is being read from its beginning to its end.
#[derive(Debug)]
pub struct WholeRead {
    file: Arc<File>,
    begun: FileStat,
}

impl WholeRead {
    /// Whether the `len` bytes that were read since are the whole file in one state. The ctime does not
    /// count: a file that is removed or replaced is still whole.
    pub fn is_whole(&self, len: u64) -> bool {
        let state = |stat: &FileStat| (stat.size, stat.modified);
        let is_equal = stat_of(&*self.file).is_ok_and(|now| state(&FileStat::of(&now)) == state(&self.begun));
        is_equal && len >= self.begun.size
    }
}

impl LooseFolder {
    pub(super) fn new(path: PathBuf, scanned: Arc<FolderScan>, files: Arc<OpenFiles>) -> Self {
        let states = (0..scanned.names.file_count()).map(|_| FileState::default()).collect();
        Self {
            number: files.allocate_folder_number(),
            path,
            scanned,
            states,
            learning: Mutex::new(()),
            learnt: AtomicU32::new(0),
            known_bytes: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            files,
        }
    }

    /// The absolute path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn filter(&self) -> &Filter {
        &self.scanned.filter
    }

    /// The open files that this folder shares with others.
    pub fn files(&self) -> &Arc<OpenFiles> {
        &self.files
    }

    pub fn names(&self) -> &LooseNames {
        &self.scanned.names
    }

    /// What the scan left out: at most 1,000 notes, and how many more there were.
    pub fn notes(&self) -> (&[WalkNote], usize) {
        (&self.scanned.notes.kept, self.scanned.notes.dropped)
    }

    /// The paths of the folder and of all folders in it, its own path first.
    pub fn folder_paths(&self) -> impl Iterator<Item = PathBuf> {
        let folders = 0..u32::try_from(self.scanned.names.folders().len()).unwrap_or(u32::MAX);
        folders.map(|folder| self.folder_path(folder))
    }

    /// The folders that the scan entered, each with its path without links and the path under which it is
    /// shown: the folder itself first, then those that a link leads to or that are mounts.
    pub fn entered(&self) -> impl Iterator<Item = (PathBuf, PathBuf)> {
        let folders = std::iter::once(0).chain(self.scanned.locations.linked_folders());
        folders.filter_map(|folder| {
            let base = self.scanned.locations.base_of(folder)?;
            let within = OsStr::from_bytes(&base.path);
            // Joining an empty path would add a slash.
            let real = if within.is_empty() { base.root.path.clone() } else { base.root.path.join(within) };
            Some((real, if folder == 0 { self.path.clone() } else { self.folder_path(folder) }))
        })
    }

    pub fn has_links(&self) -> bool {
        self.scanned.locations.linked_folders().next().is_some()
            || self.scanned.locations.files_of_links().next().is_some()
    }

    /// The inode number of the folder that contains a file, on the disk.
    pub fn inode_of_folder(&self, file: u32) -> u64 {
        let folder = self.scanned.names.folder_of(file) as usize;
        self.scanned.names.records().get(folder).map_or(0, |folder| folder.identity.inode)
    }

    pub fn folder_of(&self, file: u32) -> PathBuf {
        self.folder_path(self.scanned.names.folder_of(file))
    }

    /// The path of a file.
    pub(crate) fn path_of(&self, file: u32) -> PathBuf {
        self.folder_of(file).join(OsStr::from_bytes(self.scanned.names.file_name(file)))
    }

    /// The path of a folder, given its number.
    pub fn folder_path(&self, folder: u32) -> PathBuf {
        self.path.join(OsStr::from_bytes(&self.scanned.names.folder_path(folder)))
    }

    /// The folder at a path relative to the scanned one.
    ///
    /// # Errors
    /// The nearest folder above the path, if no folder is known there.
    pub fn find_folder(&self, path: &Path) -> Result<u32, u32> {
        let mut names = path.components().map(|it| it.as_os_str().as_bytes());
        names.try_fold(0, |folder, name| self.scanned.names.subfolder(folder, name).ok_or(folder))
    }

    /// The targets of all links to files.
    pub fn link_targets(&self) -> impl Iterator<Item = PathBuf> {
        let targets = self.scanned.locations.linked_files(self.scanned.names.bytes());
        targets.map(|(root, path)| root.path.join(OsStr::from_bytes(&path)))
    }

    /// The paths in this folder of all links to files and folders.
    pub fn link_paths(&self) -> impl Iterator<Item = PathBuf> {
        let folders =
            self.scanned.locations.linked_folders().map(|folder| self.scanned.names.folder_path(folder));
        let files = self.scanned.locations.files_of_links().map(|file| self.scanned.names.file_path(file));
        folders.chain(files).map(|path| self.path.join(OsStr::from_bytes(&path)))
    }

    pub fn identity(&self) -> DiskId {
        self.scanned.locations.root().identity
    }

    /// The mtime of the folder: when an entry was last added or removed.
    pub fn modified(&self) -> FileTime {
        self.scanned.names.modified()
    }

    /// Removes the direct files for which `is_out` holds, given a file's number and name. Files get
    /// new numbers, so call this before a direct file is statted.
    pub fn leave_out(&mut self, is_out: impl Fn(u32, &[u8]) -> bool) {
        let direct = u32::try_from(self.scanned.names.direct_files().count()).unwrap_or(u32::MAX);
        if !self.scanned.names.direct_files().any(|(file, name)| is_out(file, name)) {
            return;
        }
        let scanned = Arc::make_mut(&mut self.scanned);
        let kept = scanned.names.remove_direct(is_out);
        scanned.locations.renumber(direct, &kept);
        // Nothing is known of the direct files, so any of them may be removed.
        self.states.drain(..direct as usize - kept.len());
        self.states.shrink_to_fit();
    }

    /// Shares what an earlier scan found if this one found the same.
    pub(super) fn share_scanned(&mut self, earlier: &Self) {
        if !Arc::ptr_eq(&self.scanned, &earlier.scanned) && self.scanned.is_same(&earlier.scanned) {
            self.scanned = earlier.scanned.clone();
        }
    }

    /// Whether nothing changed since an earlier scan with the same path: it found the same, and each file
    /// that was statted is as it was. If that cannot be said of a file, it counts as changed.
    pub(super) fn is_unchanged(&self, earlier: &Self) -> bool {
        let is_same = |file: u32| match earlier.known(file) {
            Some(known) => known.is_settled() && self.stat(file).is_ok_and(|now| now.is_equal(&known)),
            None => !earlier.is_gone(file),
        };
        Arc::ptr_eq(&self.scanned, &earlier.scanned) && (0..self.scanned.names.file_count()).all(is_same)
    }

    /// The device of a file's location (`st_dev`).
    pub fn device(&self, file: u32) -> u64 {
        let of_link = self.scanned.locations.link(self.scanned.names.bytes(), file).map(|(base, _)| base);
        let base = of_link.unwrap_or_else(|| {
            self.scanned
                .locations
                .base_above(self.scanned.names.records(), self.scanned.names.folder_of(file))
                .1
        });
        base.root.identity.device
    }

    /// What is known of a file; `None` before it was first statted.
    pub fn known(&self, file: u32) -> Option<FileStat> {
        self.states[file as usize].get()
    }

    /// Whether every file was statted.
    pub fn is_all_known(&self) -> bool {
        self.unknown_files() == 0
    }

    /// How many files were not statted.
    pub fn unknown_files(&self) -> u32 {
        self.scanned.names.file_count().saturating_sub(self.learnt.load(Ordering::Relaxed))
    }

    /// Total size of all files that were statted, in bytes.
    pub fn known_bytes(&self) -> u64 {
        self.known_bytes.load(Ordering::Relaxed)
    }

    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Stats a file, unless it is known. The first stat fixes which file it is, its size and its mtime.
    pub fn stat(&self, file: u32) -> Result<FileStat, FileFault> {
        if let Some(known) = self.known(file) {
            return Ok(known);
        }
        let (root, path) = self.locate(file);
        let stat = root.open_beneath(&path, OFlags::PATH).and_then(stat_of).map_err(FileFault::from);
        let checked = stat.and_then(|stat| self.check_or_set(file, &stat));
        if matches!(checked, Err(FileFault::Replaced)) {
            self.states[file as usize].set_outdated();
        }
        checked
    }

    /// Reads a file from `offset` on, as it is now. Returns the number of bytes: fewer than the buffer has
    /// only at the end of the file. If the file was written to since it was statted, the next
    /// [`LooseFolder::take_outdated`] says so.
    ///
    /// # Errors
    /// [`FileFault::Replaced`] if the file is not open and its path leads to another file now.
    pub fn read_at(&self, file: u32, buffer: &mut [u8], offset: u64) -> Result<usize, FileFault> {
        let key = (self.number, file);
        let open = self.files.get(key, || self.open(file))?;
        let (mut before, mut attempts) = (self.known(file), 0);
        loop {
            let read = read_full(&open, buffer, offset);
            // The next read opens the file again: the error may be that of a disk that was mounted anew.
            let read = read.inspect_err(|_| self.files.remove(key)).map_err(FileFault::Io)?;
            self.bytes_read.fetch_add(read as u64, Ordering::Relaxed);
            // This follows the read, so that it sees a write in between.
            let now = stat_of(&open).ok().map(|stat| FileStat::of(&stat));
            attempts += 1;
            if before.zip(now).is_some_and(|(before, now)| before.is_equal(&now)) {
                return Ok(read);
            }
            self.states[file as usize].set_outdated();
            // While a file is cut off, a read of the disk may give zeros for what is gone.
            if attempts == READ_ATTEMPTS || now.is_none() {
                return Ok(read);
            }
            before = now;
        }
    }

    /// Opens a file to read all of it, and keeps it open meanwhile.
    ///
    /// # Errors
    /// As [`LooseFolder::read_at`].
    pub fn begin_whole(&self, file: u32) -> Result<WholeRead, FileFault> {
        let file = self.files.get((self.number, file), || self.open(file))?;
        let begun = FileStat::of(&stat_of(&file)?);
        Ok(WholeRead { file, begun })
    }

    /// Whether a read since the last call found that a file was written to after it was statted.
    pub fn take_outdated(&self, file: u32) -> bool {
        self.states[file as usize].take_outdated()
    }

    /// Whether a file could not be statted because it is gone, or is no longer a file.
    pub fn is_gone(&self, file: u32) -> bool {
        self.states[file as usize].is_gone()
    }

    /// The file with its state, if it stays open.
    pub fn open_file(&self, file: u32) -> Option<LooseFile> {
        let (file, known, device) =
            (self.files.kept((self.number, file))?, self.known(file)?, self.device(file));
        Some(LooseFile { file, known, device })
    }

    /// Shares the descriptor of a file that an earlier scan has open.
    pub fn share_open(&self, file: u32, earlier: &Self, then: u32) {
        if let Some(open) = earlier.files.kept((earlier.number, then)) {
            self.files.keep((self.number, file), open);
        }
    }

    /// Opens a file. Also returns whether it may stay open, because that has no effect for others.
    fn open(&self, file: u32) -> Result<(File, bool), FileFault> {
        let (root, path) = self.locate(file);
        // Without O_NONBLOCK, a pipe that has replaced the file would block the open.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let open = || root.open_beneath(&path, flags);
        let fd = match open() {
            Err(Errno::MFILE | Errno::NFILE) => {
                self.files.close_all();
                open()?
            }
            opened => opened?,
        };
        let stat = stat_of(&fd)?;
        self.check_or_set(file, &stat)?;
        let open = File::from(fd);
        let stays_open = root.keeps_files() && !self.files.has_effects(device_of(&stat), &open);
        Ok((open, stays_open))
    }

    /// Checks that a file is the known one. The first call sets which file that is.
    fn check_or_set(&self, file: u32, stat: &Statx) -> Result<FileStat, FileFault> {
        if FileType::from_raw_mode(stat.stx_mode.into()) != FileType::RegularFile {
            return Err(FileFault::Replaced);
        }
        let now = FileStat::of(stat);
        let known = self.set_known(file, now);
        if now.is_same_file(&known) { Ok(known) } else { Err(FileFault::Replaced) }
    }

    /// Sets the state of a file unless it is already known. Returns the known state.
    pub fn set_known(&self, file: u32, stat: FileStat) -> FileStat {
        self.set_known_with(file, stat, FileState::set)
    }

    /// Like [`LooseFolder::set_known`], for a state from an earlier scan.
    pub(super) fn carry(&self, file: u32, stat: FileStat) {
        self.set_known_with(file, stat, FileState::carry);
    }

    /// Whether the state of a file is from an earlier scan.
    pub fn is_carried(&self, file: u32) -> bool {
        self.states[file as usize].is_carried()
    }

    fn set_known_with(&self, file: u32, stat: FileStat, set: fn(&FileState, FileStat)) -> FileStat {
        let state = &self.states[file as usize];
        state.get().unwrap_or_else(|| {
            let _learning = self.learning.lock();
            state.get().unwrap_or_else(|| {
                set(state, stat);
                self.learnt.fetch_add(1, Ordering::Relaxed);
                self.known_bytes.fetch_add(stat.size, Ordering::Relaxed);
                stat
            })
        })
    }

    /// The descriptor beneath which a file is, and the path from there.
    pub(super) fn locate(&self, file: u32) -> (&Arc<Root>, Vec<u8>) {
        let bytes = self.scanned.names.bytes();
        self.scanned.locations.of_link(bytes, file).unwrap_or_else(|| {
            let folder = self.scanned.names.folder_of(file);
            let (root, path) = self.scanned.locations.of_folder(bytes, self.scanned.names.records(), folder);
            (root, joined(&path, self.scanned.names.file_name(file)))
        })
    }
}

impl Drop for LooseFolder {
    fn drop(&mut self) {
        self.files.remove_folder(self.number);
    }
}

// A loose file that was open when a reload replaced it, so that its readers can read on.

/// An open file with the state that it had.
#[derive(Debug)]
pub struct LooseFile {
    pub(super) file: Arc<File>,
    pub(super) known: FileStat,
    /// `st_dev`.
    pub(super) device: u64,
}

impl LooseFile {
    /// The state that the file had when it was first statted.
    pub fn stat(&self) -> FileStat {
        self.known
    }

    /// The state of the file as it is now.
    pub fn stat_now(&self) -> Option<FileStat> {
        stat_of(&self.file).ok().map(|stat| FileStat::of(&stat))
    }

    /// The device of the file (`st_dev`).
    pub fn device(&self) -> u64 {
        self.device
    }

    /// Reads from `offset` on, as the file is now. Returns the number of bytes: fewer than the buffer has
    /// only at the end of the file.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        read_full(&self.file, buffer, offset)
    }
}
