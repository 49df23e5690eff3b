//! Who can exchange what is in a folder, by its owner and its permissions, and whether the owner is true.
//! These are the rules of all walks along a path: by descriptors (`walk.rs`), and by paths (`root_only.rs`).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, Stat, open};
use rustix::io::Errno;
use rustix::process::{Uid, geteuid};

use super::mountinfo::{self, MountEntry, mount_id};

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

// Who may have made up the owners that an open file or folder shows. The daemon of a FUSE mount says of its
// files what it wants, and so does whoever wrote a disk.
//
// The mount table is read after the file was opened: before, its mount may not have been there yet. A mount
// that is not in the table was detached. Its daemon can do that while it answers, and goes on to answer. So
// such a mount is nobody's, and is not believed.

/// Who may have made up the owners in a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Liar {
    /// The user who serves a FUSE mount.
    User(u32),
    /// Whoever wrote the disk, which is mounted with `nosuid`.
    Writer,
    /// Anybody: the mount is not in the table.
    Unknown,
}

impl Liar {
    /// Who may lie about the owners in the mount of an open file. `None` if they are true.
    pub(crate) fn about(file: BorrowedFd<'_>) -> Option<Self> {
        match mount_of(file) {
            Some(mounted) if mounted.user() != 0 => Some(Self::User(mounted.user())),
            Some(mounted) => mounted.may_lie_about_owners().then_some(Self::Writer),
            None => (!is_in_mount_of_root(file)).then_some(Self::Unknown),
        }
    }

    /// Whether this process must not believe the owners: it may be another user who lies. Only root has to
    /// fear a disk.
    pub(crate) fn is_other(self) -> bool {
        match self {
            Self::User(user) => user != geteuid().as_raw(),
            Self::Writer => geteuid().is_root(),
            Self::Unknown => true,
        }
    }
}

/// The mount that an open file is in. `None` if it was detached.
pub(crate) fn mount_of(file: BorrowedFd<'_>) -> Option<MountEntry> {
    let id = mount_id(file).ok()?;
    mountinfo::mounts().into_iter().find(|mounted| mounted.id == id)
}

/// Opens the root of a mount, as a place. `None` if its path leads to another mount, which covers a folder in
/// the path or took its place.
pub(crate) fn open_mount(mountpoint: &Path, identity: &str) -> Result<Option<OwnedFd>, Errno> {
    let root = open(mountpoint, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    Ok(mount_of(root.as_fd()).is_some_and(|it| it.identity() == identity).then_some(root))
}

/// Whether an open file is in the mount of `/`. After `chroot`, the table may lack it.
fn is_in_mount_of_root(file: BorrowedFd<'_>) -> bool {
    let root = open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let id = root.ok().and_then(|root| mount_id(root.as_fd()).ok());
    id.is_some() && id == mount_id(file).ok()
}

/// The mounts along a path. The table is read once for each mount that is entered.
#[derive(Debug, Default)]
pub(crate) struct Liars {
    /// The last mount in which owners are true, and a file in it: the number is not given to another mount
    /// while the file is open.
    honest: Option<(u32, OwnedFd)>,
}

impl Liars {
    /// As [`Liar::about`].
    pub(crate) fn about(&mut self, file: BorrowedFd<'_>) -> Option<Liar> {
        let id = mount_id(file).ok();
        if id.is_some() && self.honest.as_ref().map(|(honest, _)| *honest) == id {
            return None;
        }
        let liar = Liar::about(file);
        if liar.is_none() {
            self.honest = id.zip(file.try_clone_to_owned().ok());
        }
        liar
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

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

    #[test]
    fn the_owners_in_a_mount_that_was_detached_while_a_file_was_open_prove_nothing() {
        if !geteuid().is_root() {
            return eprintln!("SKIPPED: needs root");
        }
        let opened = |path: &std::path::Path| open(path, OFlags::PATH, Mode::empty()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut liars = Liars::default();
        assert_eq!(liars.about(opened(std::path::Path::new("/")).as_fd()), None);
        let before = opened(dir.path());
        mount("none", dir.path(), "tmpfs", MountFlags::empty(), None::<&std::ffi::CStr>).unwrap();
        let folder = opened(dir.path());
        assert_eq!(Liar::about(folder.as_fd()), None);
        unmount(dir.path(), UnmountFlags::DETACH).unwrap();
        assert_eq!(Liar::about(folder.as_fd()), Some(Liar::Unknown));
        assert_eq!(liars.about(folder.as_fd()), Some(Liar::Unknown));
        assert_eq!((Liar::about(before.as_fd()), liars.about(before.as_fd())), (None, None));
    }
}
