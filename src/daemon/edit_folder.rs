//! The folder that receives the changes of a writable mount (`--edit`): it is found or made before the mount,
//! and summed up after it.

use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::folder::StoredChanges;
use crate::shown::Shown;
use crate::system::output_place::{LastLink, Missing, OutputPlace, open_folder};
use crate::system::text::{count, reason};

/// The folder that receives changes. Dropping this removes the folder if it was made here and is empty.
#[derive(Debug)]
pub(super) struct EditFolder {
    /// The path, absolute and without links.
    pub(super) path: PathBuf,
    is_missing: bool,
    is_made: bool,
}

impl EditFolder {
    /// Checks the folder of a mount on `mountpoint`. The folder may not exist yet.
    pub(super) fn check(path: &Path, mountpoint: &Path) -> Result<Self, String> {
        let existing = open_folder(path, Missing::Fail, LastLink::Follow).and_then(|it| path_of(&it));
        let (path, is_missing) = match existing {
            Ok(path) => (path, false),
            Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => {
                (new_path(path)?, true)
            }
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(format!("{}: not a folder", path.shown()));
            }
            Err(error) => return Err(format!("{}: {}", path.shown(), reason(&error))),
        };
        let folder = Self { path, is_missing, is_made: false };
        folder.refusal(mountpoint).map_or(Ok(()), |why| Err(format!("{}: {why}", folder.path.shown())))?;
        Ok(folder)
    }

    /// Why the folder cannot be used.
    fn refusal(&self, mountpoint: &Path) -> Option<&'static str> {
        let Some(parent) = self.path.parent() else {
            return Some("the root folder cannot be used; give another folder");
        };
        let device = |path: &Path| path.metadata().as_ref().map(Metadata::dev).ok();
        match () {
            () if self.path.starts_with(mountpoint) || mountpoint.starts_with(&self.path) => {
                Some("the folder and the mountpoint overlap; give a folder elsewhere")
            }
            () if !self.is_missing && device(parent) != device(&self.path) => {
                Some("a file system is mounted there; give a folder inside it")
            }
            () => None,
        }
    }

    /// Whether the folder belongs to another user than root, who can put something else in its place.
    pub(super) fn may_be_replaced(&self) -> bool {
        let Some(parent) = self.path.parent().filter(|_| !self.is_missing) else { return false };
        let stat = |path: &Path| path.symlink_metadata();
        match (stat(parent), stat(&self.path)) {
            (Ok(parent), Ok(folder)) => folder.uid() != 0 && parent.mode() & 0o022 != 0 || !folder.is_dir(),
            _ => true,
        }
    }

    /// Makes the folder if it does not exist.
    pub(super) fn make(&mut self) -> Result<(), String> {
        if self.is_missing {
            let made = OutputPlace::of(&self.path, Missing::Fail).and_then(|place| place.make_folder(0o777));
            made.map_err(|error| format!("cannot create {}: {}", self.path.shown(), reason(&error)))?;
            self.is_made = true;
        }
        Ok(())
    }
}

impl Drop for EditFolder {
    fn drop(&mut self) {
        if self.is_made {
            // Fails if there are changes in the folder.
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

/// The absolute path of a folder to make.
fn new_path(path: &Path) -> Result<PathBuf, String> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(format!("{}: give the path of a new folder", path.shown()));
    };
    match open_folder(parent, Missing::Fail, LastLink::Follow).and_then(|it| path_of(&it)) {
        Ok(parent) => Ok(parent.join(name)),
        Err(error) => Err(format!("{}: cannot make a folder there: {}", path.shown(), reason(&error))),
    }
}

/// The path of an open folder, absolute and without links.
fn path_of(folder: &OwnedFd) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

/// What is in the folder of a writable mount, as one line. `None` if the folder cannot be read. Root reads no
/// folder of another user.
pub(crate) fn summary(edit: &Path) -> Option<String> {
    let folder = open_folder(edit, Missing::Fail, LastLink::Refuse).ok()?;
    let owner = rustix::fs::fstat(&folder).ok()?.st_uid;
    let edit = edit.shown();
    if owner != 0 && rustix::process::geteuid().is_root() {
        return Some(format!("{edit} belongs to user {owner}, so root does not count the files in it"));
    }
    let StoredChanges { files, deletions, is_complete } = StoredChanges::count(folder).ok()?;
    let least = if is_complete { "" } else { "at least " };
    let files = match files {
        0 if is_complete => "no files".to_owned(),
        files => format!("{least}{}", count(files, "file")),
    };
    Some(match deletions {
        0 => format!("{edit} has {files}"),
        deleted => format!(
            "{edit} has {files}, and marks {least}{}. A mod cannot delete files: ship others in their place. \
             `bsafs extract {edit} -C FOLDER` copies the files without the marks",
            count(deleted, "deletion")
        ),
    })
}
