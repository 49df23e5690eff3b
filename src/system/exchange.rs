//! Who can exchange what is in a folder: the rule of all walks along a path. The walks differ in what they
//! follow and open (`place.rs`, `output_place.rs`, `root_only.rs`).

use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::Stat;
use rustix::process::Uid;

use super::mountinfo::{MountEntry, mount_id};

/// The sticky bit of a folder: users may rename only what they own.
const STICKY: u32 = 0o1000;

/// Whether `user` trusts an owner: root, or the user himself.
pub(super) fn is_ours(owner: u32, user: Uid) -> bool {
    owner == 0 || owner == user.as_raw()
}

/// The permissions to write that others have. The group counts only for root: many systems give each user a
/// group.
pub(super) fn written_by_others(stat: &Stat, user: Uid) -> u32 {
    stat.st_mode & if user.is_root() { 0o022 } else { 0o002 }
}

/// Whether others than `user` and root can rename or replace names of these two in a folder, or write to a
/// file.
pub(super) fn may_others_exchange(stat: &Stat, user: Uid) -> bool {
    let is_folder = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir();
    let is_sticky = is_folder && stat.st_mode & STICKY != 0;
    !is_ours(stat.st_uid, user) || written_by_others(stat, user) != 0 && !is_sticky
}

/// The mount that an open file or folder is in, if owners prove nothing there: the FUSE mount of another
/// user, who chooses what it shows, or for root a disk that a user may have written. The file system is not
/// asked, because the daemon of another user may lie or hang.
///
/// # Errors
/// `/proc` is not mounted.
pub(super) fn lying_mount<'a>(
    file: BorrowedFd<'_>,
    mounts: &'a [MountEntry],
    user: Uid,
) -> io::Result<Option<&'a MountEntry>> {
    let may_lie = |mounted: &MountEntry| {
        !is_ours(mounted.user(), user) || user.is_root() && mounted.may_lie_about_owners()
    };
    let id = mount_id(file)?;
    Ok(mounts.iter().find(|mounted| mounted.id == id && may_lie(mounted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_writable_by_others_is_safe_only_with_the_sticky_bit() {
        let mut stat = rustix::fs::stat("/").expect("cannot stat /");
        let (root, user) = (Uid::ROOT, Uid::from_raw(7));
        for (owner, mode, of_root, of_user) in [
            (0, 0o40755, false, false),
            (0, 0o41777, false, false),
            (0, 0o40777, true, true),
            (0, 0o40775, true, false),
            (7, 0o40755, true, false),
            (8, 0o41755, true, true),
            (0, 0o100_644, false, false),
            (0, 0o101_666, true, true),
        ] {
            (stat.st_uid, stat.st_mode) = (owner, mode);
            let found = (may_others_exchange(&stat, root), may_others_exchange(&stat, user));
            assert_eq!(found, (of_root, of_user), "{owner} {mode:o}");
        }
    }
}
