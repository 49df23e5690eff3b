//! Who may have made up the owners that an open file or folder shows. The daemon of a FUSE mount says of its
//! files what it wants, and so does whoever wrote a disk.
//!
//! The mount table is read after the file was opened: before, its mount may not have been there yet. A mount
//! that is not in the table was detached. Its daemon can do that while it answers, and goes on to answer. So
//! such a mount is nobody's, and is not believed.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::mountinfo::{self, MountEntry, mount_id};

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
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

    use super::*;

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
