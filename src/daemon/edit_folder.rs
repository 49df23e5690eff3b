//! The folder that receives the changes of a writable mount (`--edit`): it is found or made before the mount,
//! and summed up after it.

use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, fstat, openat};

use crate::folder::StoredChanges;
use crate::shown::Shown;
use crate::system::output_place::{LastLink, Missing, OutputPlace, open_folder};
use crate::system::text::{count, reason};

/// The folder that receives changes. Dropping this removes the folder if it was made here and is empty.
#[derive(Debug)]
pub(super) struct EditFolder {
    /// The path, absolute and without links.
    pub(super) path: PathBuf,
    /// The folder; `None` if it does not exist yet.
    folder: Option<OwnedFd>,
    is_made: bool,
}

impl EditFolder {
    /// Checks the folder of a mount on `mountpoint`. The folder may not exist yet.
    pub(super) fn check(path: &Path, mountpoint: &Path) -> Result<Self, String> {
        let existing = open_folder(path, Missing::Fail, LastLink::Follow);
        let (path, folder) = match existing.and_then(|folder| Ok((path_of(&folder)?, folder))) {
            Ok((path, folder)) => (path, Some(folder)),
            Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => {
                (new_path(path)?, None)
            }
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(format!("{}: not a folder", path.shown()));
            }
            Err(error) => return Err(format!("{}: {}", path.shown(), reason(&error))),
        };
        let folder = Self { path, folder, is_made: false };
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
            () if self.folder.is_some() && device(parent) != device(&self.path) => {
                Some("a file system is mounted there; give a folder inside it")
            }
            () => None,
        }
    }

    /// Whether the folder belongs to another user than root, who can put something else in its place.
    pub(super) fn may_be_replaced(&self) -> bool {
        let Some(folder) = &self.folder else { return false };
        let parent = openat(folder, "..", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        match (parent.and_then(fstat), fstat(folder), path_of(folder)) {
            (Ok(parent), Ok(found), Ok(path)) => {
                found.st_uid != 0 && parent.st_mode & 0o022 != 0 || path != self.path
            }
            _ => true,
        }
    }

    /// Makes the folder if it does not exist.
    pub(super) fn make(&mut self) -> Result<(), String> {
        if self.folder.is_none() {
            let made = OutputPlace::of(&self.path, Missing::Fail).and_then(|place| place.make_folder(0o777));
            let made =
                made.map_err(|error| format!("cannot create {}: {}", self.path.shown(), reason(&error)))?;
            self.folder = Some(made);
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn the_folder_that_was_checked_is_asked_and_not_another_one_at_its_path() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("SKIPPED: needs root");
        }
        let dir = tempfile::TempDir::new().unwrap();
        let path = |name: &str| dir.path().canonicalize().unwrap().join(name);
        let may_be_replaced = |name: &str| {
            EditFolder::check(&path(name), Path::new("/none")).map(|folder| folder.may_be_replaced())
        };
        for name in ["open", "open/theirs", "open/roots"] {
            fs::create_dir(path(name)).unwrap();
        }
        fs::set_permissions(path("open"), fs::Permissions::from_mode(0o1777)).unwrap();
        chown(path("open/theirs"), Some(12345), None).unwrap();
        assert_eq!(may_be_replaced("open/theirs"), Ok(true));
        assert_eq!(may_be_replaced("open/roots"), Ok(false));
        assert_eq!(may_be_replaced("open/missing"), Ok(false));
        let checked = EditFolder::check(&path("open/theirs"), Path::new("/none")).unwrap();
        fs::rename(path("open/theirs"), path("open/moved")).unwrap();
        fs::create_dir(path("open/theirs")).unwrap();
        assert!(checked.may_be_replaced());
        let checked = EditFolder::check(&path("open/roots"), Path::new("/none")).unwrap();
        fs::rename(path("open/roots"), path("roots")).unwrap();
        fs::create_dir(path("open/roots")).unwrap();
        assert!(checked.may_be_replaced(), "it is no longer at its path");
    }
}
