//! Whether only root controls where a path leads. If other users can redirect a path, they choose what root acts on.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether only root can replace a folder above the end of an absolute path without links.
pub fn is_root_controlled(path: &Path) -> bool {
    let ancestors: Vec<&Path> = path.ancestors().skip(1).collect();
    // From the root on: nothing is read below the first folder that another user controls.
    ancestors.iter().rev().all(|folder| {
        folder.symlink_metadata().is_ok_and(|it| it.is_dir() && it.uid() == 0 && is_kept(it.mode()))
    })
}

/// Whether only root can rename root's files in a folder that root owns and that has this mode.
fn is_kept(mode: u32) -> bool {
    const STICKY: u32 = 0o1000;
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    mode & WRITABLE_BY_OTHERS == 0 || mode & STICKY != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_may_write_to_is_kept_by_the_sticky_bit_alone() {
        assert!(is_kept(0o40755) && is_kept(0o41777));
        assert!(!is_kept(0o40777) && !is_kept(0o40775));
        assert!(is_root_controlled(Path::new("/tmp")) && is_root_controlled(Path::new("/")));
        assert!(!is_root_controlled(Path::new("/missing/folder")));
    }
}
