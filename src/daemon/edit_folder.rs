//! The folder that receives the changes of a writable mount (`--edit`): it is found or made before the mount,
//! and summed up after it.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::folder::{Filter, OpenFiles, scan};
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
        let (path, is_missing) = match path.canonicalize() {
            Ok(path) => (path, false),
            Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => {
                (new_path(path)?, true)
            }
            Err(error) => return Err(format!("{}: {}", path.display(), reason(&error))),
        };
        let folder = Self { path, is_missing, is_made: false };
        folder.refusal(mountpoint).map_or(Ok(()), |why| Err(format!("{}: {why}", folder.path.display())))?;
        Ok(folder)
    }

    /// Why the folder cannot be used.
    fn refusal(&self, mountpoint: &Path) -> Option<&'static str> {
        let Some(parent) = self.path.parent() else {
            return Some("the root folder cannot be used; give another folder");
        };
        let device = |path: &Path| path.metadata().as_ref().map(Metadata::dev).ok();
        match () {
            () if !self.is_missing && !self.path.is_dir() => Some("not a folder"),
            () if self.path.starts_with(mountpoint) || mountpoint.starts_with(&self.path) => {
                Some("the folder and the mountpoint overlap; give a folder elsewhere")
            }
            () if !self.is_missing && device(parent) != device(&self.path) => {
                Some("a file system is mounted there; give a folder inside it")
            }
            () => None,
        }
    }

    /// Makes the folder if it does not exist.
    pub(super) fn make(&mut self) -> Result<(), String> {
        if self.is_missing {
            let made = std::fs::create_dir(&self.path);
            made.map_err(|error| format!("cannot create {}: {}", self.path.display(), reason(&error)))?;
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
        return Err(format!("{}: give the path of a new folder", path.display()));
    };
    match parent.canonicalize() {
        Ok(parent) => Ok(parent.join(name)),
        Err(error) => Err(format!("{}: cannot make a folder there: {}", path.display(), reason(&error))),
    }
}

/// What is in the folder of a writable mount, as one line. `None` if the folder cannot be read.
pub(crate) fn summary(edit: &Path) -> Option<String> {
    let found = scan(edit, &Filter::default(), &Arc::new(OpenFiles::default())).ok()?;
    let mut deleted: Vec<(u32, &[u8])> =
        found.names().whiteouts().filter(|(_, name)| !name.is_empty()).collect();
    deleted.sort_unstable();
    deleted.dedup();
    let edit = edit.display();
    let files = match found.names().file_count() {
        0 => "no files".to_owned(),
        files => count(files as usize, "file"),
    };
    Some(match deleted.len() {
        0 => format!("{edit} has {files}"),
        deleted => format!(
            "{edit} has {files}, and marks {}. A mod cannot delete files: ship others in their place. \
             `bsafs extract {edit} -C FOLDER` copies the files without the marks",
            count(deleted, "deletion")
        ),
    })
}
