//! Whether only root decides what a path leads to. Root must not act on what another user can exchange.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};

use super::mountinfo;
use super::place::mount_id;

/// Maximum number of links that are followed in a path.
const LINKS_MAX: u32 = 40;
/// Stands for users who are not known: a folder is writable for others, on a disk that a user may have
/// written, or does not exist.
pub(crate) const ANYBODY: u32 = u32::MAX;

/// The first user other than root who can decide what an absolute path leads to: the owner of a folder, a
/// link, the file itself, or the mount that they are in. `None` if only root can. The search ends at the
/// first such place.
pub(crate) fn first_other_user(path: &Path) -> Option<u32> {
    let mounts = mountinfo::mounts();
    let parts = |path: &Path| path.components().map(|it| it.as_os_str().to_owned()).collect::<Vec<_>>();
    let mut left: VecDeque<OsString> = parts(path).into();
    let (mut at, mut links) = (PathBuf::new(), 0);
    while let Some(part) = left.pop_front() {
        let part = Path::new(&part);
        match part.components().next() {
            Some(Component::ParentDir) => {
                at.pop();
                continue;
            }
            Some(Component::CurDir) | None => continue,
            Some(Component::RootDir | Component::Normal(_) | Component::Prefix(_)) => {}
        }
        let next = at.join(part);
        // Opened only as a place, so that no daemon of another user is asked.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(opened) = open(&next, flags, Mode::empty()) else { return Some(ANYBODY) };
        let Ok(mount) = mount_id(opened.as_fd()) else { return Some(ANYBODY) };
        let foreign = mounts.iter().find(|mounted| mounted.id == mount && mounted.may_lie_about_owners());
        if let Some(foreign) = foreign {
            return Some(if foreign.user() == 0 { ANYBODY } else { foreign.user() });
        }
        let Ok(found) = File::from(opened).metadata() else { return Some(ANYBODY) };
        if found.uid() != 0 {
            return Some(found.uid());
        }
        if !found.is_symlink() {
            if !is_kept(&found) {
                return Some(ANYBODY);
            }
            at = next;
            continue;
        }
        links += 1;
        match next.read_link().ok().filter(|_| links <= LINKS_MAX) {
            // A target that begins with `/` replaces the path so far.
            Some(target) => parts(&target).into_iter().rev().for_each(|part| left.push_front(part)),
            None => return Some(ANYBODY),
        }
    }
    None
}

/// Whether other users can neither write to a file of root's, nor exchange root's files in a folder of his.
fn is_kept(found: &std::fs::Metadata) -> bool {
    const STICKY: u32 = 0o1000;
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    found.mode() & WRITABLE_BY_OTHERS == 0 || found.is_dir() && found.mode() & STICKY != 0
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    use rustix::mount::{MountFlags, UnmountFlags};

    use super::*;

    #[test]
    fn the_first_user_who_can_exchange_a_part_of_a_path_is_found() {
        for (path, expected) in [("/", None), ("/usr/../usr/bin/.", None), ("/no/folder", Some(ANYBODY))] {
            assert_eq!(first_other_user(Path::new(path)), expected, "{path}");
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
            ("their_link/file", Some(12346)),
            ("theirs/file", Some(12345)),
            ("theirs/to_root", Some(12345)),
            ("open/file", Some(ANYBODY)),
            ("loop", Some(ANYBODY)),
        ] {
            assert_eq!(first_other_user(&path(name)), expected, "{name}");
        }
        mode("roots/file", 0o664);
        assert_eq!(first_other_user(&path("roots/file")), Some(ANYBODY));
    }

    #[test]
    fn a_file_of_root_on_a_disk_that_a_user_may_have_written_is_anybodys() {
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
        assert_eq!(users(MountFlags::empty()), [None; 4]);
        let anybody = Some(ANYBODY);
        assert_eq!(users(MountFlags::NOSUID), [anybody, anybody, anybody, None]);
    }
}
