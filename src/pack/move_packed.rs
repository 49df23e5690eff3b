//! Moves the loose files that were packed out of a mod, and back again. Nothing is deleted or replaced.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::fstat;

use super::error::{PackError, PackErrorKind};
use super::plan::{Plan, real_path};
use super::planned::PlannedFile;
use crate::shown::Shown;
use crate::system::move_files::{files_below, move_file};
use crate::system::output_place::{LastLink, Missing, open_folder};
use crate::system::text::{count, reason};
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

    /// Checks that the packed loose files can be moved to a folder, before anything is written. Returns how
    /// many there are.
    ///
    /// # Errors
    /// The sources are not one folder, or the target is in it, is not empty, or is on another disk.
    pub fn check_move(&self, to: &Path) -> Result<usize, PackError> {
        let (from, files) = self.movable()?;
        let wrong =
            |why: &str| PackError::new(PackErrorKind::Option, format!("--move-packed {}: {why}", to.shown()));
        if self.options.follows_links {
            return Err(wrong("a link would be moved instead of its file; pack without --follow-links"));
        }
        let absolute = std::path::absolute(to).unwrap_or_else(|_| to.to_owned());
        let there = absolute.ancestors().find(|it| it.exists()).unwrap_or(Path::new("/"));
        let rest = absolute.strip_prefix(there).unwrap_or(Path::new(""));
        if real_path(there).join(rest).starts_with(from) {
            return Err(wrong("it is in the folder that is packed; name one outside of it"));
        }
        let is_empty = std::fs::read_dir(&absolute).map_or(true, |mut entries| entries.next().is_none());
        if !is_empty || absolute.exists() && !absolute.is_dir() {
            return Err(wrong("it is not an empty folder; name a new one"));
        }
        let device =
            |path: &Path| std::fs::metadata(path).ok().map(|it| std::os::unix::fs::MetadataExt::dev(&it));
        if device(there) != device(from) {
            return Err(wrong("it is on another disk than the source, so files could only be copied"));
        }
        Ok(files.len())
    }

    /// Moves the loose files that were packed to a folder, which is made if it is missing. Returns how many.
    ///
    /// # Errors
    /// A file changed since it was packed, or cannot be moved. Those before it were moved.
    pub fn move_packed(&self, to: &Path) -> Result<usize, PackError> {
        self.check_move(to)?;
        let (folder, files) = self.movable()?;
        let (from, target) = (open(folder, Missing::Fail)?, open(to, Missing::Make)?);
        for (moved, file) in files.iter().enumerate() {
            let path = file.file.stored_name();
            let done = is_unchanged(&file.file, &folder.join(name(&path)))
                .and_then(|()| move_file(&from, &target, &path).map_err(|error| reason(&error)));
            done.map_err(|why| stopped(&file.path, &why, moved))?;
        }
        Ok(files.len())
    }
}

/// Moves all files of a folder back into another one. Returns how many.
///
/// # Errors
/// A file of the same path is there, or a file cannot be moved. Those before it were moved.
pub fn move_back(from: &Path, to: &Path) -> Result<usize, PackError> {
    let (source, target) = (open(from, Missing::Fail)?, open(to, Missing::Fail)?);
    let files = files_below(&source).map_err(|error| PackError::io(from, &error))?;
    for (moved, path) in files.iter().enumerate() {
        let done = move_file(&source, &target, path);
        done.map_err(|error| stopped(&String::from_utf8_lossy(path), &reason(&error), moved))?;
    }
    Ok(files.len())
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
    if size == file.shown_size() && modified == file.modified() {
        Ok(())
    } else {
        Err("it changed since it was packed".to_owned())
    }
}

fn stopped(path: &str, why: &str, moved: usize) -> PackError {
    let what = format!("{}: {why}; {} moved before it", path.shown(), count(moved, "file"));
    PackError::new(PackErrorKind::Io, what)
}
