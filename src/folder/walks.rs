//! Walks of folders, each folder once, whatever paths and links lead to it. An instance of a mod manager may
//! have thousands of links to one mod.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use super::error::ScanError;
use super::loose_folder::LooseFolder;
use super::mounts::Root;
use super::open_files::OpenFiles;
use super::rescan::{Rescan, ScanChanges, walk_again};
use super::scan::{Filter, Walk, walk};
use crate::system::disk_id::DiskId;
use crate::system::once_per_file::OncePerFile;
use crate::system::paths;

/// Walks a folder. Links in `path` itself are followed, since the user named it. Whatever cannot be
/// read is left out with a note.
///
/// # Errors
/// The folder itself cannot be opened, is on proc or sysfs, or has more than 4,194,304 files and folders.
pub fn scan(path: &Path, filter: &Filter, files: &Arc<OpenFiles>) -> Result<LooseFolder, ScanError> {
    Walks::new(files.clone()).scan(path, filter)
}

/// Scans a folder again. The folder itself is always listed.
pub fn scan_again(earlier: &LooseFolder, changes: &ScanChanges<'_>) -> Result<LooseFolder, ScanError> {
    Walks::new(earlier.files().clone()).scan_again(earlier, changes)
}

/// All that a walk depends on, except what is on the disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Walked {
    mount: u64,
    /// Device and inode number.
    identity: DiskId,
    /// The path of the folder without links. Before Linux 5.8, `mount` does not distinguish bind mounts.
    path: PathBuf,
    filter: Filter,
}

/// All that a later walk depends on, except what is on the disk: the address of the earlier walk, and the
/// numbers of the folders to list again.
type WalkedAgain = (usize, BTreeSet<u32>);

/// What the walks of one opening found. Each path gets a [`LooseFolder`] of its own, because paths may lead
/// elsewhere later; those of one folder share the names.
#[derive(Debug, Default)]
pub struct Walks {
    files: Arc<OpenFiles>,
    /// The names, or the number of files and folders that are too many.
    found: OncePerFile<Result<Arc<Walk>, u32>, Walked>,
    found_again: OncePerFile<Arc<Rescan>, WalkedAgain>,
}

impl Walks {
    pub fn new(files: Arc<OpenFiles>) -> Self {
        Self { files, found: OncePerFile::default(), found_again: OncePerFile::default() }
    }

    /// As [`scan`], but a folder that was walked with an equal filter is not walked again.
    pub fn scan(&self, path: &Path, filter: &Filter) -> Result<LooseFolder, ScanError> {
        let root = Root::open(path, OFlags::DIRECTORY)?;
        if let Some(kind) = root.without_files()? {
            return Err(ScanError::NoFiles(kind));
        }
        let walked = Walked {
            mount: root.mount,
            identity: root.identity,
            path: root.path.clone(),
            filter: filter.clone(),
        };
        let found = self.found.get(walked, || match walk(root.into(), filter, &self.files) {
            Ok(walk) => Ok(Ok(Arc::new(walk))),
            Err(ScanError::TooMany(most)) => Ok(Err(most)),
            Err(error) => Err(error),
        })?;
        // A relative path must become absolute because the daemon changes its working directory.
        let path = paths::absolute(path).map_err(ScanError::Io)?;
        Ok(LooseFolder::new(path, found.map_err(ScanError::TooMany)?, self.files.clone()))
    }

    /// As [`scan_again`], but folders that shared their names share the new ones, too, if
    /// the same changed in them.
    pub fn scan_again(
        &self,
        earlier: &LooseFolder,
        changes: &ScanChanges<'_>,
    ) -> Result<LooseFolder, ScanError> {
        if earlier.is_moved() {
            return self.scan(earlier.path(), earlier.filter());
        }
        // The caller has the earlier walk until the end of this opening, so no other one gets its address.
        let walked = (Arc::as_ptr(&earlier.walk).addr(), changes.folders.clone());
        let found = self.found_again.get(walked, || walk_again(earlier, changes).map(Arc::new))?;
        Ok(found.folder(earlier, changes))
    }
}
