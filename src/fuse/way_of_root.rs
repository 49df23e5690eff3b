//! Whether a path leads where it leads until root changes it: what root does by a path that others can redirect, it does to
//! whatever they choose.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether root alone can replace a folder on the way to an absolute path without links.
pub fn is_way_of_root(path: &Path) -> bool {
    let ancestors: Vec<&Path> = path.ancestors().skip(1).collect();
    // From the root on: behind the first folder of somebody else nothing is looked at.
    ancestors.iter().rev().all(|folder| {
        folder.symlink_metadata().is_ok_and(|it| it.is_dir() && it.uid() == 0 && is_kept(it.mode()))
    })
}

/// Whether nobody else can rename what root has in a folder of root's with this mode.
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
        assert!(is_way_of_root(Path::new("/tmp")) && is_way_of_root(Path::new("/")));
        assert!(!is_way_of_root(Path::new("/missing/folder")));
    }
}
