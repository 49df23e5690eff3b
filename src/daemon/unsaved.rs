//! What was written to a writable mount and is not complete in the folder of edits: the last check before the
//! overlay is unmounted.
//!
//! A program that writes is told at once that the disk is full or broken (`overlay.rs`). Two kinds of
//! bytes are written later, when no program may be left to get an error: those that a program changed in
//! a file that it mapped into memory, and those that the disk itself has not written yet.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{
    FallocateFlags, Mode, OFlags, ResolveFlags, SeekFrom, fallocate, fsync, openat, openat2, seek, syncfs,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::failure::Exit;
use crate::folder::{EditedFile, StoredChanges};
use crate::shown::Shown;
use crate::system::credentials::Credentials;
use crate::system::edit_mount::{is_overlay, made_for};
use crate::system::mountinfo;
use crate::system::owners::open_mount;
use crate::system::subprocess::Program;
use crate::system::text::{count, reason};
use crate::system::walk::{LastLink, Missing, open_folder};

/// How long the disk may take to write what it keeps, when a mount ends.
pub(crate) const SAVING_TIME: Duration = Duration::from_secs(30);
/// A disk without room for so many bytes counts as full.
const ROOM: u64 = 1 << 20;
/// How many files are named. Each is work that somebody has to do again.
const NAMED_MAX: usize = 100;
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// What the last check found. The texts are one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Saved {
    /// All is in the folder of edits.
    Whole,
    /// Files are not complete there.
    Lost(String),
    /// Something went wrong, but no file is known to be incomplete.
    Unsure(String),
    /// The disk has not written everything in time.
    Hangs(String),
}

/// Has the kernel and the disk write what they keep, for at most `limit`, and finds what is lost. `overlay`
/// is where the overlay is mounted, if it still is, and `edit` its upper folder. Root asks as `owner`, whose
/// both are.
///
/// Once an error was returned, the kernel counts it as known, so a second call does not return it.
pub(crate) fn check(
    overlay: Option<&Path>,
    edit: &Path,
    owner: Option<(u32, u32)>,
    limit: Duration,
) -> Saved {
    // A disk that hangs holds back another process, and not this one.
    let program = match owner.filter(|(user, _)| geteuid().is_root() && *user != 0) {
        Some(owner) => Program::itself_as(Credentials::of_owner(owner)),
        None => Program::itself(),
    };
    let program = program.args(["umount", "--losses"]).arg(overlay.unwrap_or(edit)).arg(edit);
    let (shown, limit_shown) = (edit.shown(), limit.as_secs());
    match program.output_within(limit) {
        Ok(Some(output)) => {
            let found = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
            match output.status.code().map(Exit::of_code) {
                Some(Exit::Ok) => Saved::Whole,
                Some(Exit::Io) if !found.is_empty() => Saved::Lost(found),
                Some(Exit::No) => Saved::Unsure(found),
                _ => Saved::Unsure(format!("cannot check what is in {shown}")),
            }
        }
        Ok(None) => {
            Saved::Hangs(format!("the disk of {shown} has not written everything within {limit_shown} s"))
        }
        Err(error) => Saved::Unsure(format!("cannot check what is in {shown}: {error}")),
    }
}

/// What the process of [`check`] does. Returns the text to print.
pub(crate) fn search(overlay: &Path, edit: &Path) -> (Exit, String) {
    let shown = edit.shown().to_string();
    match search_losses(overlay, edit) {
        Ok(losses) => losses.in_words(&shown),
        Err(error) => (Exit::No, format!("cannot check what is in {shown}: {}", reason(&error))),
    }
}

/// What is not complete in a folder of edits.
#[derive(Debug, Default)]
struct Losses {
    /// Why the kernel or the disk could not write.
    error: Option<io::Error>,
    /// Files that cannot be written.
    failed: Vec<PathBuf>,
    /// Files with gaps that were written since the mount. The kernel reports no error if only a part of a
    /// write of mapped memory fits. Some programs leave gaps on purpose.
    gaps: Vec<PathBuf>,
    is_full: bool,
    /// Whether not all files were looked at.
    is_cut: bool,
}

impl Losses {
    fn in_words(&self, edit: &str) -> (Exit, String) {
        let named = |files: &[PathBuf]| {
            let names: Vec<String> = files.iter().take(NAMED_MAX).map(|it| it.shown().to_string()).collect();
            let more = files.len().saturating_sub(names.len());
            let more = if more > 0 { format!(" and {}", count(more, "more file")) } else { String::new() };
            let cut = if self.is_cut { "; not all files were checked" } else { "" };
            format!("{}{more}{cut}", names.join(", "))
        };
        let error = self.error.as_ref().map(reason);
        let because = error.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
        match (&self.failed[..], &self.gaps[..], error) {
            ([], [], None) if self.is_cut => {
                (Exit::No, format!("not all files in {edit} were checked for gaps"))
            }
            ([], [], None) => (Exit::Ok, String::new()),
            ([], [], Some(error)) => {
                let known = if self.is_cut { "; not all files were checked" } else { "" };
                let what = "reports an error of writing, but of no file in it";
                (Exit::No, format!("the disk of {edit} {what} ({error}){known}"))
            }
            ([], gaps, _) if self.is_full => {
                let gaps = named(gaps);
                let what = format!("the disk of {edit} is full or nearly full, and these files have gaps");
                (Exit::Io, format!("{what}: {gaps}; compare them with what you saved"))
            }
            ([], gaps, _) => {
                let gaps = named(gaps);
                let what = format!("these files in {edit} have gaps: {gaps}");
                (Exit::No, format!("{what}; if the disk was full when they were written, write them again"))
            }
            (failed, gaps, _) => {
                let files = named(&[failed, gaps].concat());
                (Exit::Io, format!("not complete in {edit}{because}; write them again: {files}"))
            }
        }
    }
}

fn search_losses(overlay: &Path, edit: &Path) -> io::Result<Losses> {
    // The work folder is made when the mount begins.
    let since = made_for(edit).symlink_metadata().map(|it| it.mtime());
    let edit = open_folder(edit, Missing::Fail, LastLink::Refuse)?;
    // A place cannot be synchronized.
    let edit = openat(&edit, ".", FOLDER, Mode::empty())?;
    // If the overlay's program was killed, what programs had mapped is lost, and they are told. The mount is
    // found in the table first, because to open the path might mount something else.
    let overlay = mountinfo::mounted_at(overlay).filter(is_overlay);
    let overlay = overlay.and_then(|it| open_mount(&it.mountpoint, &it.identity()).ok().flatten());
    let overlay = overlay.and_then(|it| openat(&it, ".", FOLDER, Mode::empty()).ok());
    let error = overlay.iter().chain([&edit]).find_map(|folder| syncfs(folder).err());
    let mut losses = Losses { error: error.map(Into::into), ..Losses::default() };
    losses.is_full = is_full(&edit);
    let since = since.unwrap_or_default();
    let visited = StoredChanges::visit(edit, |file| {
        let path = file.within.join(OsStr::from_bytes(file.name));
        if error.is_some() && is_failed(&file, &path, overlay.as_ref()) {
            losses.failed.push(path);
        } else if has_gaps(&file, since) {
            losses.gaps.push(path);
        }
    })?;
    losses.is_cut = !visited.is_complete && (losses.is_full || error.is_some());
    Ok(losses)
}

/// Whether the kernel or the disk has an unreported error for a file.
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

/// Whether parts of a file that changed since then, in seconds since 1970, were never written.
fn has_gaps(file: &EditedFile<'_>, since: i64) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = openat(file.folder, file.name, flags, Mode::empty()).map(File::from) else { return false };
    let is_new = |it: &Metadata| it.ctime() >= since;
    let size = file.metadata().ok().filter(is_new).map(|it| it.len());
    size.is_some_and(|size| seek(&file, SeekFrom::Hole(0)).is_ok_and(|hole| hole < size))
}

/// Whether the disk, or the user's share of it, is full. A file system that cannot make a nameless file, such
/// as FAT, makes no files with gaps.
fn is_full(folder: &OwnedFd) -> bool {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let Ok(file) = openat(folder, ".", flags, Mode::RUSR | Mode::WUSR) else { return false };
    let room = fallocate(File::from(file), FallocateFlags::empty(), 0, ROOM);
    matches!(room, Err(Errno::NOSPC | Errno::DQUOT))
}
