//! Whether only root decides what a path leads to. Root must not act on what another user can exchange.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, open, readlinkat, stat};
use rustix::io::Errno;
use rustix::process::Uid;

use super::covered::uncovered;
use super::owners::{Liar, Liars, may_others_add, may_others_exchange, mount_of};
use super::walk::PathWalk;
use crate::shown::Shown;

/// A user other than root who can decide what a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OtherUser {
    /// The user with this number.
    Known(u32),
    /// A user who is not known: a folder is writable for others, or does not exist.
    Unknown,
    /// The user who wrote the disk that is mounted on this folder. It is mounted with `nosuid`.
    OfDisk(PathBuf),
}

impl OtherUser {
    /// If a disk may be another user's, why, and what to do if it is not.
    pub(crate) fn about_disk(&self) -> Option<String> {
        let Self::OfDisk(disk) = self else { return None };
        let disk = disk.shown();
        Some(format!(
            "the disk on {disk} is mounted with nosuid, so another user may have written it and made root \
             the owner of anything; remount it if you trust it: `mount -o remount,suid {disk}`"
        ))
    }
}

/// The first user other than root who can decide what an absolute path leads to: the owner of a folder, a
/// link, the file itself, or the mount that they are in. `None` if only root can. The search ends at the
/// first such place.
pub(crate) fn first_other_user(path: &Path) -> Option<OtherUser> {
    first_along(path, &mut Liars::default(), Some(&OtherUser::Unknown))
}

/// Whether a user other than root can decide what an absolute path leads to, or add names there, as in /tmp.
pub(crate) fn may_others_add_to(path: &Path) -> bool {
    first_other_user(path).is_some() || stat(path).map_or(true, |it| may_others_add(&it, Uid::ROOT))
}

/// Whether a user other than root can add names to a folder. `false` if there is no such folder.
pub(crate) fn is_open_to_others(folder: &Path) -> bool {
    stat(&*uncovered(folder)).is_ok_and(|it| may_others_add(&it, Uid::ROOT))
}

/// The first of some absolute paths that a user other than root can decide, and that user. A path that does
/// not exist is root's if only root can make it.
pub(crate) fn first_of_others<'a>(
    mut paths: impl Iterator<Item = &'a Path>,
) -> Option<(&'a Path, OtherUser)> {
    let mut liars = Liars::default();
    paths.find_map(|path| Some((path, first_along(path, &mut liars, None)?)))
}

/// Whether only root decides what an absolute path leads to. A path that does not exist is root's if only
/// root can make it.
pub(crate) fn only_root_decides(path: &Path, liars: &mut Liars) -> bool {
    first_along(path, liars, None).is_none()
}

/// As [`first_other_user`]; `missing` is who decides what a path leads to that does not exist.
fn first_along(path: &Path, liars: &mut Liars, missing: Option<&OtherUser>) -> Option<OtherUser> {
    let mut walk = PathWalk::new(path);
    while let Some(next) = walk.next() {
        match decided_by_root(&next, liars) {
            Ok(Decided::Link(target)) if walk.follow(&target).is_ok() => {}
            Ok(Decided::Link(_)) => return Some(OtherUser::Unknown),
            Ok(Decided::Fixed) => walk.pass(next),
            Ok(Decided::Missing) => return missing.cloned(),
            Err(other) => return Some(other),
        }
    }
    None
}

/// What only root can have put at a path.
enum Decided {
    /// A link, with its target.
    Link(PathBuf),
    /// Something else.
    Fixed,
    /// Nothing.
    Missing,
}

/// What is at a path in a folder that only root can change. Fails with another user who can exchange it.
fn decided_by_root(at: &Path, liars: &mut Liars) -> Result<Decided, OtherUser> {
    // Opened only as a place, so that no daemon of another user is asked.
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // A walk through the mount of this process would wait for this process.
    let opened = match open(&*uncovered(at), flags, Mode::empty()) {
        Err(Errno::NOENT) if !at.parent().is_none_or(is_open_to_others) => return Ok(Decided::Missing),
        opened => opened.map_err(|_| OtherUser::Unknown)?,
    };
    match liars.about(opened.as_fd()) {
        None => {}
        Some(Liar::User(user)) => return Err(OtherUser::Known(user)),
        Some(Liar::Unknown) => return Err(OtherUser::Unknown),
        Some(Liar::Writer) => {
            let disk = mount_of(opened.as_fd());
            return Err(disk.map_or(OtherUser::Unknown, |disk| OtherUser::OfDisk(disk.mountpoint)));
        }
    }
    let found = fstat(&opened).map_err(|_| OtherUser::Unknown)?;
    if found.st_uid != 0 {
        return Err(OtherUser::Known(found.st_uid));
    }
    if FileType::from_raw_mode(found.st_mode).is_symlink() {
        let target = readlinkat(&opened, "", Vec::new()).map_err(|_| OtherUser::Unknown)?;
        return Ok(Decided::Link(PathBuf::from(OsString::from_vec(target.into_bytes()))));
    }
    if may_others_exchange(&found, Uid::ROOT) { Err(OtherUser::Unknown) } else { Ok(Decided::Fixed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mount::{MountFlags, UnmountFlags};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    #[test]
    fn the_first_user_who_can_exchange_a_part_of_a_path_is_found() {
        let unknown = Some(OtherUser::Unknown);
        for (path, expected) in [("/", &None), ("/usr/../usr/bin/.", &None), ("/no/folder", &unknown)] {
            assert_eq!(&first_other_user(Path::new(path)), expected, "{path}");
        }
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::TempDir::new().unwrap();
        let path = |name: &str| dir.path().canonicalize().unwrap().join(name);
        let mode =
            |name: &str, mode| fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).unwrap();
        for name in ["roots", "roots/below", "theirs", "open"] {
            fs::create_dir(path(name)).unwrap();
        }
        for name in ["roots/file", "open/file", "theirs/file"] {
            fs::write(path(name), "").unwrap();
            mode(name, 0o644);
        }
        mode("open", 0o777);
        lchown(path("theirs"), Some(12345), None).unwrap();
        for (target, name) in
            [("roots", "link"), ("link", "links"), ("roots", "their_link"), ("loop", "loop")]
        {
            symlink(target, path(name)).unwrap();
        }
        lchown(path("their_link"), Some(12346), None).unwrap();
        symlink("/etc/passwd", path("theirs/to_root")).unwrap();
        for (name, expected) in [
            ("roots/file", None),
            ("links/file", None),
            ("links/below/../file", None),
            ("their_link/file", Some(OtherUser::Known(12346))),
            ("theirs/file", Some(OtherUser::Known(12345))),
            ("theirs/to_root", Some(OtherUser::Known(12345))),
            ("open/file", unknown.clone()),
            ("loop", unknown.clone()),
        ] {
            assert_eq!(first_other_user(&path(name)), expected, "{name}");
        }
        // What is missing is root's only if nobody else can make it.
        mode("open", 0o1777);
        for (name, is_of_others) in [("roots/none/x", false), ("open/none/x", true), ("theirs/none", true)] {
            let found = first_of_others(std::iter::once(&*path(name))).is_some();
            assert_eq!(found, is_of_others, "{name}");
        }
        mode("roots/file", 0o664);
        assert_eq!(first_other_user(&path("roots/file")), unknown);
    }

    #[test]
    fn a_file_of_root_on_a_disk_that_a_user_may_have_written_is_that_users() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("SKIPPED: needs root");
        }
        let dir = tempfile::TempDir::new().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        fs::create_dir(dir.join("disk")).unwrap();
        fs::write(dir.join("file"), "").unwrap();
        symlink("disk/file", dir.join("link")).unwrap();
        let users = |flags| {
            rustix::mount::mount_bind(&dir, dir.join("disk")).unwrap();
            rustix::mount::mount_remount(dir.join("disk"), flags | MountFlags::BIND, "").unwrap();
            let users = ["disk/file", "disk", "link", "file"].map(|name| first_other_user(&dir.join(name)));
            rustix::mount::unmount(dir.join("disk"), UnmountFlags::DETACH).unwrap();
            users
        };
        assert_eq!(users(MountFlags::empty()), [const { None }; 4]);
        let of_disk = Some(OtherUser::OfDisk(dir.join("disk")));
        assert_eq!(users(MountFlags::NOSUID), [of_disk.clone(), of_disk.clone(), of_disk, None]);
    }
}
