//! What an overlay has stored in its upper folder. Another user may have made what is in it, so no link is
//! followed, no other file system is entered, and the walk ends at a limit.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{Dir, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use super::file_state::kind_of;
use super::whiteouts::Mark;
use crate::limits::CHANGES_COUNTED_MAX;

/// What is in the upper folder of an overlay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredChanges {
    /// Number of files, links among them.
    pub files: usize,
    /// Number of marks of deleted files and folders.
    pub deletions: usize,
    /// Whether all was counted.
    pub is_complete: bool,
}

/// A regular file in the upper folder of an overlay.
#[derive(Debug)]
pub struct EditedFile<'a> {
    /// The open folder of the file, as a place.
    pub folder: &'a OwnedFd,
    pub name: &'a [u8],
    /// The path of the file's folder, relative to the upper folder.
    pub within: PathBuf,
}

/// Maximum depth. Each folder above the one that is read stays open.
const DEPTH_MAX: usize = 64;

/// A folder that is being read.
struct OpenFolder {
    name: Vec<u8>,
    folder: OwnedFd,
    listing: Dir,
    /// Names with a mark, because a name may have two kinds of marks.
    deleted: HashSet<Vec<u8>>,
}

impl OpenFolder {
    fn new(name: &[u8], folder: OwnedFd) -> Result<Self, Errno> {
        // The folder may be open only as a place, which cannot be listed.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listing = Dir::new(openat(&folder, ".", flags, Mode::empty())?)?;
        Ok(Self { name: name.to_owned(), folder, listing, deleted: HashSet::new() })
    }
}

impl StoredChanges {
    /// Counts the changes in a folder. A subfolder that cannot be read, or that is very deep, makes the count
    /// incomplete.
    ///
    /// # Errors
    /// The folder itself cannot be read.
    pub fn count(folder: OwnedFd) -> Result<Self, Errno> {
        Self::visit(folder, |_| {})
    }

    /// As [`StoredChanges::count`], and calls `of_file` for each regular file.
    pub fn visit(folder: OwnedFd, mut of_file: impl FnMut(EditedFile<'_>)) -> Result<Self, Errno> {
        let device = fstat(&folder)?.st_dev;
        let mut changes = Self { is_complete: true, ..Self::default() };
        let (mut counted, mut open) = (0, vec![OpenFolder::new(b"", folder)?]);
        while let Some(OpenFolder { folder, listing, deleted, .. }) = open.last_mut() {
            let entry = match listing.next() {
                Some(Ok(entry)) => entry,
                ended => {
                    changes.is_complete &= ended.is_none();
                    open.pop();
                    continue;
                }
            };
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            counted += 1;
            if counted > CHANGES_COUNTED_MAX {
                return Ok(Self { is_complete: false, ..changes });
            }
            let kind = match entry.file_type() {
                FileType::Unknown => kind_of(folder, name).unwrap_or(FileType::Unknown),
                kind => kind,
            };
            match (Mark::of(&*folder, name, kind), kind) {
                (Some(Mark::Deleted(name)), _) => {
                    changes.deletions += usize::from(deleted.insert(name.to_owned()));
                }
                (Some(Mark::Opaque | Mark::Internal), _) => {}
                (None, FileType::Directory) => {
                    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    let subfolder = openat(&*folder, name, flags, Mode::empty());
                    let is_here = |it: &OwnedFd| fstat(it).is_ok_and(|stat| stat.st_dev == device);
                    match subfolder {
                        // Another file system is mounted there, which holds no changes.
                        Ok(subfolder) if !is_here(&subfolder) => {}
                        Ok(subfolder) if open.len() < DEPTH_MAX => match OpenFolder::new(name, subfolder) {
                            Ok(subfolder) => open.push(subfolder),
                            Err(_) => changes.is_complete = false,
                        },
                        Ok(_) | Err(_) => changes.is_complete = false,
                    }
                }
                (None, FileType::RegularFile) => {
                    changes.files += 1;
                    if let Some(OpenFolder { folder, .. }) = open.last() {
                        let within = open.iter().map(|it| OsStr::from_bytes(&it.name)).collect();
                        of_file(EditedFile { folder, name, within });
                    }
                }
                (None, FileType::Symlink) => changes.files += 1,
                (None, _) => {}
            }
        }
        Ok(changes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_and_deep_folders_are_not_entered() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path("elsewhere/many")).unwrap();
        fs::create_dir_all(path("edit/a/b")).unwrap();
        for name in ["elsewhere/many/1", "elsewhere/many/2", "edit/1", "edit/a/2", "edit/a/b/.wh.gone"] {
            fs::write(path(name), "").unwrap();
        }
        for (number, to) in ["/usr", "..", "../elsewhere", "/proc/self/root"].into_iter().enumerate() {
            symlink(to, path(&format!("edit/link{number}"))).unwrap();
        }
        let count = || StoredChanges::count(fs::File::open(path("edit")).unwrap().into()).unwrap();
        assert_eq!(count(), StoredChanges { files: 6, deletions: 1, is_complete: true });
        fs::create_dir_all(path("edit").join("d/".repeat(70))).unwrap();
        assert!(!count().is_complete);
    }
}
