//! Folders that a file system in user space shows, and not the disk: a mod manager's, or an earlier mount of ours.

use std::path::Path;

use crate::system::covered::is_mountpoint;
use crate::system::mountinfo;

/// Whether a file system in user space is mounted on a folder, other than that of this process, below which plans look.
pub(super) fn is_fuse(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    !is_mountpoint(&folder) && mountinfo::mounts().iter().any(|it| it.mountpoint == folder && it.is_fuse())
}
