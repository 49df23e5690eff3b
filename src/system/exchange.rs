//! Who can exchange what is in a folder: the rule of all walks along a path. The walks differ in what they
//! follow and open (`place.rs`, `output_place.rs`, `root_only.rs`). Whether owners are true: `liar.rs`.

use rustix::fs::Stat;
use rustix::process::Uid;

/// The sticky bit of a folder: users may rename only what they own.
const STICKY: u32 = 0o1000;

/// Whether `user` trusts an owner: root, or the user himself.
pub(super) fn is_ours(owner: u32, user: Uid) -> bool {
    owner == 0 || owner == user.as_raw()
}

/// The permissions to write that others have. The group counts only for root: many systems give each user a
/// group.
pub(crate) fn written_by_others(stat: &Stat, user: Uid) -> u32 {
    stat.st_mode & if user.is_root() { 0o022 } else { 0o002 }
}

/// Whether others than `user` and root can rename or replace names of these two in a folder, or write to a
/// file.
pub(super) fn may_others_exchange(stat: &Stat, user: Uid) -> bool {
    let is_folder = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir();
    let is_sticky = is_folder && stat.st_mode & STICKY != 0;
    !is_ours(stat.st_uid, user) || may_others_add(stat, user) && !is_sticky
}

/// Whether others than `user` and root can add names to a folder. The sticky bit keeps them from exchanging
/// names, but not from adding some.
pub(crate) fn may_others_add(stat: &Stat, user: Uid) -> bool {
    !is_ours(stat.st_uid, user) || written_by_others(stat, user) != 0
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
