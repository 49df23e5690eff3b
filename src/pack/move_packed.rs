//! Moves the loose files that were packed out of a mod, and back again. Nothing is replaced, and nothing is
//! removed but folders that become empty.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, fstat};

use super::pack_options::{PackError, PackErrorKind};
use super::plan::{Plan, real_path};
use super::planned::PlannedFile;
use crate::shown::Shown;
use crate::system::move_files::{files_below, is_taken, move_file, remove_emptied};
use crate::system::text::{count, reason};
use crate::system::walk::{LastLink, Missing, open_folder};
use crate::vfs::VfsFile;

impl Plan {
    /// The folder whose files are moved, and the packed files in it.
    fn movable(&self) -> Result<(&Path, Vec<&PlannedFile>), PackError> {
        let [folder] = &self.own_folders[..] else {
            let what = format!(
                "--move-packed takes files out of one folder, but {} among the sources",
                match self.own_folders.len() {
                    0 => "none is".to_owned(),
                    several => format!("{several} are"),
                }
            );
            return Err(PackError::new(PackErrorKind::Option, what));
        };
        let all = self.archives.iter().flat_map(|archive| &archive.files);
        let is_in = |file: &&PlannedFile| {
            let layer = file.file.layer();
            layer.is_folder() && real_path(layer.path()) == *folder
        };
        Ok((folder, all.filter(is_in).collect()))
    }

    /// Checks that the packed loose files can be moved to a folder, before anything is written to `output`.
    /// Returns how many there are.
    ///
    /// # Errors
    /// The sources are not one folder, or the target is in it, is not empty, is that of the archives, cannot
    /// be written, or is on another disk.
    pub fn check_move(&self, to: &Path, output: &Path) -> Result<usize, PackError> {
        if located(to) == located(output) {
            return Err(wrong(to, "the archives go there; name another folder"));
        }
        self.movable_to(to)
    }

    fn movable_to(&self, to: &Path) -> Result<usize, PackError> {
        let (from, files) = self.movable()?;
        if self.options.follows_links {
            return Err(wrong(to, "a link would be moved instead of its file; pack without --follow-links"));
        }
        let place = located(to);
        if place.starts_with(from) {
            return Err(wrong(to, "it is in the folder that is packed; name one outside of it"));
        }
        let failed = |error: &std::io::Error| wrong(to, &format!("{}; name another folder", reason(error)));
        let is_empty = match std::fs::read_dir(&place) {
            Ok(mut entries) => entries.next().is_none(),
            // A link that leads nowhere is there, too.
            Err(error) if error.kind() == ErrorKind::NotFound => place.symlink_metadata().is_err(),
            Err(error) if error.kind() == ErrorKind::NotADirectory => false,
            Err(error) => return Err(failed(&error)),
        };
        if !is_empty {
            return Err(wrong(to, "it is not an empty folder; name a new one"));
        }
        let there = place.ancestors().find(|it| it.exists()).unwrap_or(Path::new("/"));
        for folder in [there, from] {
            rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|errno| {
                let why = reason(&errno.into());
                wrong(to, &format!("{}: {why}, so no files can be moved", folder.shown()))
            })?;
        }
        let device =
            |path: &Path| std::fs::metadata(path).ok().map(|it| std::os::unix::fs::MetadataExt::dev(&it));
        if device(there) != device(from) {
            return Err(wrong(to, "it is on another disk than the source, so files could only be copied"));
        }
        Ok(files.len())
    }

    /// Moves the loose files that were packed to a folder, which is made if it is missing. Folders that
    /// become empty are removed. Returns how many files.
    ///
    /// # Errors
    /// A file changed since it was packed, or cannot be moved. Those before it were moved.
    pub fn move_packed(&self, to: &Path) -> Result<usize, PackError> {
        self.movable_to(to)?;
        let (folder, files) = self.movable()?;
        let (from, target) = (open(folder, Missing::Fail)?, open(to, Missing::Make)?);
        let paths: Vec<Vec<u8>> = files.iter().map(|file| file.file.stored_name()).collect();
        move_all((&from, &target), &paths, |at| is_unchanged(&files[at].file, &folder.join(name(&paths[at]))))
    }
}

/// Moves all files of a folder back into another one, and removes the folders that become empty. Returns how
/// many files.
///
/// # Errors
/// A file of the same path is there, and then nothing is moved, or a file cannot be moved.
pub fn move_back(from: &Path, to: &Path) -> Result<usize, PackError> {
    let (source, target) = (open(from, Missing::Fail)?, open(to, Missing::Fail)?);
    let files = files_below(&source).map_err(|error| PackError::io(from, &error))?;
    let mut taken = Vec::new();
    for path in &files {
        let path_there = to.join(name(path));
        if is_taken(&target, path).map_err(|error| PackError::io(&path_there, &error))? {
            taken.push(path_there.shown().to_string());
        }
    }
    if !taken.is_empty() {
        let what = "nothing was moved back, because these exist already; move them away, or remove those of \
                    the same paths in the folder after --move-back, and run the command again:";
        return Err(PackError::list(PackErrorKind::Output, what, &taken));
    }
    let moved = move_all((&source, &target), &files, |_| Ok(()))?;
    // It was made for these files. With anything else in it, it stays.
    let _ = std::fs::remove_dir(from);
    Ok(moved)
}

/// Moves files, and removes the folders that become empty.
fn move_all(
    (from, to): (&OwnedFd, &OwnedFd),
    paths: &[Vec<u8>],
    check: impl Fn(usize) -> Result<(), String>,
) -> Result<usize, PackError> {
    for (moved, path) in paths.iter().enumerate() {
        let done =
            check(moved).and_then(|()| move_file(from, to, path).map_err(|error| why_not_moved(&error)));
        done.map_err(|why| {
            remove_emptied(from, &paths[..moved]);
            let path = String::from_utf8_lossy(path);
            let what = format!("{}: {why}; {} moved before it", path.shown(), count(moved, "file"));
            PackError::new(PackErrorKind::Io, what)
        })?;
    }
    remove_emptied(from, paths);
    Ok(paths.len())
}

/// Why a file was not moved, and what to do.
fn why_not_moved(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::AlreadyExists => {
            "it was not moved, because a file with its path appeared in the target; move that one away"
                .to_owned()
        }
        ErrorKind::NotADirectory => {
            "it was not moved, because a file or link stands where a folder should be; move that one away"
                .to_owned()
        }
        _ => format!("it was not moved: {}", reason(error)),
    }
}

fn wrong(to: &Path, why: &str) -> PackError {
    PackError::new(PackErrorKind::Option, format!("--move-packed {}: {why}", to.shown()))
}

/// A path without links. Only its first folders need to exist.
fn located(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = absolute.ancestors().find(|it| it.symlink_metadata().is_ok()).unwrap_or(Path::new("/"));
    let rest = absolute.strip_prefix(there).unwrap_or(Path::new(""));
    let there = real_path(there);
    if rest == Path::new("") { there } else { there.join(rest) }
}

fn open(folder: &Path, missing: Missing) -> Result<OwnedFd, PackError> {
    open_folder(folder, missing, LastLink::Follow).map_err(|error| PackError::io(folder, &error))
}

fn name(path: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(path)
}

/// Fails if a file on the disk is not the one that was packed.
fn is_unchanged(file: &VfsFile, path: &Path) -> Result<(), String> {
    let found = std::fs::File::open(path).map_err(|error| reason(&error))?;
    let stat = fstat(&found).map_err(|errno| reason(&errno.into()))?;
    let modified = found.metadata().and_then(|it| it.modified()).map_err(|error| reason(&error))?;
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if size == file.size_or_estimate() && modified == file.modified() {
        Ok(())
    } else {
        Err("it changed since it was packed".to_owned())
    }
}
