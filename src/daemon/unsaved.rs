//! What was written to a writable mount and is not complete in the folder of edits: the last check before the
//! overlay is unmounted.
//!
//! A program that writes is told at once that the disk is full or broken (`overlay.rs`). Two kinds of bytes
//! are written later, when nobody may be there to be told: those that a program changed in a file that it
//! mapped into memory, and those that the disk itself has not written yet.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use rustix::fs::{
    FallocateFlags, Mode, OFlags, ResolveFlags, fallocate, fstat, fsync, openat, openat2, syncfs,
};
use rustix::io::Errno;

use crate::folder::{EditedFile, StoredChanges};
use crate::shown::Shown;
use crate::system::sync::Mutex;
use crate::system::text::{count, reason};
use crate::system::walk::{LastLink, Missing, open_folder};

/// How long a disk may take to write what it has. A disk that hangs must not keep the mount.
const LIMIT: Duration = Duration::from_secs(30);
/// A disk without room for so many bytes counts as full.
const ROOM: u64 = 1 << 20;
/// How many files are named. Each is work that somebody has to do again.
const NAMED_MAX: usize = 100;
/// Size of a block in which `stat` counts the bytes of a file.
const BLOCK: i64 = 512;
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Reports what is lost to the log, each loss once.
#[derive(Debug)]
pub(crate) struct LossReport {
    overlay: PathBuf,
    edit: PathBuf,
    reported: Mutex<Option<String>>,
}

impl LossReport {
    pub(crate) fn of(overlay: &Path, edit: &Path) -> Arc<Self> {
        let reported = Mutex::new(None);
        Arc::new(Self { overlay: overlay.to_owned(), edit: edit.to_owned(), reported })
    }

    pub(crate) fn report(&self) {
        let losses = losses(&self.overlay, &self.edit);
        let mut reported = self.reported.lock();
        if let Some(losses) = losses.filter(|it| reported.as_ref() != Some(it)) {
            log::error!("{losses}");
            *reported = Some(losses);
        }
    }
}

/// Has the kernel and the disk write what they keep, and says what is lost, in one line. `None` if all is
/// there. `overlay` is where the overlay is mounted, and `edit` its upper folder.
///
/// Both must belong to the caller, because they are opened. Once an error was returned, the kernel counts it
/// as known, so a second call does not return it.
pub(crate) fn losses(overlay: &Path, edit: &Path) -> Option<String> {
    let (sender, found) = sync_channel(1);
    let (overlay, shown, edit) = (overlay.to_owned(), edit.shown().to_string(), edit.to_owned());
    let search = thread::Builder::new().name("unsaved".into());
    // Left behind if a disk hangs.
    let search = search.spawn(move || _ = sender.send(search_losses(&overlay, &edit)));
    match search.map(|_| found.recv_timeout(LIMIT)) {
        Ok(Ok(Ok(losses))) => losses.in_words(&shown),
        Ok(Ok(Err(error))) => Some(format!("cannot check what is in {shown}: {}", reason(&error))),
        Ok(Err(_)) => {
            let limit = LIMIT.as_secs();
            Some(format!("the disk of {shown} has not written everything within {limit} seconds"))
        }
        Err(error) => Some(format!("cannot check what is in {shown}: {error}")),
    }
}

/// What is not complete in a folder of edits.
#[derive(Debug, Default)]
struct Losses {
    /// Why the kernel or the disk could not write.
    error: Option<io::Error>,
    /// Files that cannot be written.
    failed: Vec<PathBuf>,
    /// Files with gaps, if the disk is full. The kernel reports no error if only a part of a write of mapped
    /// memory fits.
    gaps: Vec<PathBuf>,
}

impl Losses {
    fn in_words(&self, edit: &str) -> Option<String> {
        let named = |files: &[PathBuf]| {
            let names: Vec<String> = files.iter().take(NAMED_MAX).map(|it| it.shown().to_string()).collect();
            let more = files.len().saturating_sub(names.len());
            let more = if more > 0 { format!(" and {}", count(more, "more file")) } else { String::new() };
            format!("{}{more}", names.join(", "))
        };
        let error = self.error.as_ref().map(reason);
        let because = error.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
        match (&self.failed[..], &self.gaps[..]) {
            ([], []) => error.map(|error| {
                format!("a write to {edit} failed ({error}); the program that wrote was told which file")
            }),
            ([], gaps) => {
                let gaps = named(gaps);
                Some(format!("the disk of {edit} is full, and these files have gaps: {gaps}; check them"))
            }
            (failed, gaps) => {
                let files = named(&[failed, gaps].concat());
                Some(format!("not complete in {edit}{because}; write them again: {files}"))
            }
        }
    }
}

fn search_losses(overlay: &Path, edit: &Path) -> io::Result<Losses> {
    let edit = open_folder(edit, Missing::Fail, LastLink::Refuse)?;
    // A place cannot be synchronized.
    let edit = openat(&edit, ".", FOLDER, Mode::empty())?;
    // If the overlay's program was killed, what programs had mapped is lost, and they are told.
    let overlay = open_folder(overlay, Missing::Fail, LastLink::Refuse).ok();
    let overlay = overlay.and_then(|it| openat(&it, ".", FOLDER, Mode::empty()).ok());
    let error = overlay.iter().chain([&edit]).find_map(|folder| syncfs(folder).err());
    let mut losses = Losses { error: error.map(Into::into), ..Losses::default() };
    let is_full = is_full(&edit);
    if error.is_some() || is_full {
        StoredChanges::visit(edit, |file| {
            let path = file.within.join(OsStr::from_bytes(file.name));
            if error.is_some() && is_failed(&file, &path, overlay.as_ref()) {
                losses.failed.push(path);
            } else if is_full && has_gaps(&file) {
                losses.gaps.push(path);
            }
        })?;
    }
    Ok(losses)
}

/// Whether the kernel or the disk has an error for a file that nobody has been told.
fn is_failed(file: &EditedFile<'_>, path: &Path, overlay: Option<&OwnedFd>) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let shown = overlay.and_then(|overlay| {
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        openat2(overlay, path, flags, Mode::empty(), beneath).ok()
    });
    let stored = openat(file.folder, file.name, flags, Mode::empty()).ok();
    // Both are asked.
    [shown, stored].iter().flatten().filter(|file| fsync(file).is_err()).count() > 0
}

/// Whether parts of a file are not on the disk. A file system that compresses has gaps in all files, but
/// only a full disk is asked.
fn has_gaps(file: &EditedFile<'_>) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let stat = openat(file.folder, file.name, flags, Mode::empty()).and_then(fstat);
    stat.is_ok_and(|stat| stat.st_blocks.saturating_mul(BLOCK) < stat.st_size)
}

/// Whether the disk, or the user's share of it, is full. A file system that cannot make a nameless file, such
/// as FAT, makes no files with gaps.
fn is_full(folder: &OwnedFd) -> bool {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let Ok(file) = openat(folder, ".", flags, Mode::RUSR | Mode::WUSR) else { return false };
    let room = fallocate(File::from(file), FallocateFlags::empty(), 0, ROOM);
    matches!(room, Err(Errno::NOSPC | Errno::DQUOT))
}
