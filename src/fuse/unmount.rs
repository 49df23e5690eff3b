//! Unmounting: by a system call as root, through fusermount3 as an ordinary user.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::mount::{HELPER, HELPER_TIME, MountError};
use crate::system::mountinfo::MountEntry;
use crate::system::subprocess::Program;

/// Unmounts what is mounted on a path. If `lazily`, the mount is detached at once, even if files are open,
/// and ends when the last of them is closed.
///
/// # Errors
/// [`MountError::Kernel`] if the mount is busy, not mounted, or another user's; [`MountError::NoHelper`].
pub fn unmount(mountpoint: &Path, lazily: bool) -> Result<(), MountError> {
    let flags = if lazily { UnmountFlags::DETACH } else { UnmountFlags::empty() };
    match rustix::mount::unmount(mountpoint, flags | UnmountFlags::NOFOLLOW) {
        Ok(()) => return Ok(()),
        // fusermount3 is setuid root, so it may succeed.
        Err(Errno::PERM) => {}
        Err(errno) => return Err(MountError::Kernel(mountpoint.to_owned(), errno.into())),
    }
    unmount_by_helper(mountpoint, lazily, None)
}

/// Unmounts a mount of the mount table. If root unmounts another user's mount, and other users can
/// redirect its path, this happens with the rights of the mount's user.
///
/// # Errors
/// See [`unmount`].
pub fn unmount_entry(mounted: &MountEntry, lazily: bool) -> Result<(), MountError> {
    let owner = mounted.owner.filter(|(user, _)| *user != 0 && rustix::process::geteuid().is_root());
    match owner {
        Some(owner) if !is_root_controlled(&mounted.mountpoint) => {
            unmount_by_helper(&mounted.mountpoint, lazily, Some(owner))
        }
        _ => unmount(&mounted.mountpoint, lazily),
    }
}

/// Unmounts through fusermount3. It resolves the path with the rights of the user who runs it, and
/// does not follow a link at the end of the path.
fn unmount_by_helper(mountpoint: &Path, lazily: bool, user: Option<(u32, u32)>) -> Result<(), MountError> {
    let mountpoint = std::path::absolute(mountpoint).map_err(MountError::NoHelper)?;
    let mountpoint = mountpoint.as_path();
    let helper = Program::installed(HELPER).arg("-u").args(lazily.then_some("-z")).arg("--").arg(mountpoint);
    let helper = match user {
        Some(user) => helper.run_as(user),
        None => helper,
    };
    let refused = |cause| MountError::Kernel(mountpoint.to_owned(), cause);
    let output = helper.output_within(HELPER_TIME).map_err(MountError::NoHelper)?;
    let output = output.ok_or_else(|| refused(io::ErrorKind::TimedOut.into()))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let kind = if stderr.contains("busy") { io::ErrorKind::ResourceBusy } else { io::ErrorKind::Other };
    let reason = stderr.trim().trim_start_matches("fusermount3: ");
    let named = format!("failed to unmount {}: ", mountpoint.display());
    let reason = reason.strip_prefix(&named).unwrap_or(reason);
    Err(refused(io::Error::new(kind, reason)))
}

/// Whether only root can replace the folders above the end of an absolute path without links.
/// Otherwise other users choose what root acts on.
pub fn is_root_controlled(path: &Path) -> bool {
    let ancestors: Vec<&Path> = path.ancestors().skip(1).collect();
    // The check goes from `/` downwards, and reads nothing below a folder that another user controls.
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
    fn a_folder_writable_by_others_is_safe_only_with_the_sticky_bit() {
        assert!(is_kept(0o40755) && is_kept(0o41777));
        assert!(!is_kept(0o40777) && !is_kept(0o40775));
        assert!(is_root_controlled(Path::new("/tmp")) && is_root_controlled(Path::new("/")));
        assert!(!is_root_controlled(Path::new("/missing/folder")));
    }
}
