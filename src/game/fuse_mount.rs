//! Folders that a file system in user space shows, and not the disk: a mod manager's, or an earlier mount of ours.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::covered::is_mountpoint;

/// Whether a file system in user space is mounted on a folder, other than that of this process, below which plans look.
pub(super) fn is_fuse(folder: &Path) -> bool {
    // Bytes: anybody may mount on a name that is not UTF-8.
    let Ok(mounts) = std::fs::read("/proc/self/mountinfo") else { return false };
    let Ok(folder) = folder.canonicalize() else { return false };
    !is_mountpoint(&folder) && is_in(&mounts, &folder)
}

/// Whether the mount table has a file system of type `fuse` or `fuse.NAME` on a folder (`proc_pid_mountinfo(5)`).
fn is_in(mounts: &[u8], folder: &Path) -> bool {
    let folder = escaped(folder.as_os_str().as_bytes());
    mounts.split(|&byte| byte == b'\n').any(|line| {
        let mut fields = line.split(|&byte| byte == b' ');
        let is_there = fields.nth(4) == Some(&folder[..]);
        let kind = fields.skip_while(|field| *field != b"-").nth(1).unwrap_or_default();
        is_there && (kind == b"fuse" || kind.starts_with(b"fuse."))
    })
}

/// A path as the table has it.
fn escaped(path: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(path.len());
    for &byte in path {
        match byte {
            b' ' | b'\t' | b'\n' | b'\\' => escaped.extend(format!("\\{byte:03o}").bytes()),
            _ => escaped.push(byte),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn a_mount_is_found_whatever_bytes_are_in_its_path_and_in_those_of_others() {
        let table = b"29 1 0:1 / /x\xff rw shared:7 - fuse.sshfs a:/ rw\n\
            30 1 0:2 / /a\\040b\\134\\012c\xfe rw - fuse.bsafs x rw\n\
            31 1 0:3 / /disk rw - ext4 /dev/sda rw\n32 1 0:4 / /blk rw - fuseblk /dev/sdb rw\n";
        for (path, expected) in [
            (&b"/x\xff"[..], true),
            (b"/a b\\\nc\xfe", true),
            (b"/disk", false),
            (b"/blk", false),
            (b"/x", false),
        ] {
            assert_eq!(is_in(table, Path::new(OsStr::from_bytes(path))), expected, "{path:?}");
        }
    }
}
