//! Folders that a file system in user space shows, and not the disk: a mod manager's, or an earlier mount of ours.

use std::path::Path;

use crate::covered::is_mountpoint;

/// Whether a file system in user space is mounted on a folder, other than that of this process, below which plans look.
pub(super) fn is_fuse(folder: &Path) -> bool {
    let Ok(mounts) = std::fs::read_to_string("/proc/self/mountinfo") else { return false };
    let Ok(folder) = folder.canonicalize() else { return false };
    if is_mountpoint(&folder) {
        return false;
    }
    mounts.lines().any(|line| {
        let (before, after) = line.split_once(" - ").unwrap_or((line, ""));
        let point = before.split(' ').nth(4).unwrap_or_default().replace("\\040", " ");
        after.starts_with("fuse") && Path::new(&point) == folder
    })
}
