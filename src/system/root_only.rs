//! Whether only root decides what a path leads to. Root must not act on what another user can exchange.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Maximum number of links that are followed in a path.
const LINKS_MAX: u32 = 40;
/// Stands for users who are not known: a folder is writable for others, or does not exist.
pub(crate) const ANYBODY: u32 = u32::MAX;

/// The first user other than root who can decide what an absolute path leads to: the owner of a folder, a
/// link or the file itself. `None` if only root can. Nothing below the first such place is looked at.
pub(crate) fn first_other_user(path: &Path) -> Option<u32> {
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
        let Ok(found) = next.symlink_metadata() else { return Some(ANYBODY) };
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
}
