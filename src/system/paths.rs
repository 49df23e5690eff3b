//! Absolute paths.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;

use super::asleep;
use super::covered::uncovered;
use super::mountinfo::ForeignMounts;
use super::walk::{PATH_MAX, first_on_the_way};

/// The absolute form of a path, without `..` where that is certain to lead to the same place: after a folder
/// that is no link. So the path stays valid if the folder of a detour is renamed.
///
/// # Errors
/// The path is empty, or the current folder is unknown.
pub(crate) fn absolute(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    if !absolute.components().any(|part| part == Component::ParentDir) {
        return Ok(absolute);
    }
    let mut direct = PathBuf::new();
    for part in absolute.components() {
        let is_detour = part == Component::ParentDir
            && direct.components().next_back() != Some(Component::ParentDir)
            // A longer path leads nowhere, and each stat would copy it.
            && direct.as_os_str().len() <= PATH_MAX
            && uncovered(&direct).symlink_metadata().is_ok_and(|found| found.is_dir());
        if is_detour {
            direct.pop();
        } else {
            direct.push(part);
        }
    }
    Ok(direct)
}

/// Whether nothing is at a path: no file, a link without a target, or a circle of links. What is on a disk
/// that is asleep is not gone.
pub(crate) fn is_gone(path: &Path) -> bool {
    !asleep::is_at(path) && uncovered(path).metadata().is_err_and(|error| leads_nowhere(&error))
}

/// Whether a path could not be opened because nothing is there.
pub(crate) fn leads_nowhere(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

/// The absolute path of what a descriptor refers to, without links.
pub(crate) fn path_of_open(file: impl AsFd) -> Result<PathBuf, Errno> {
    let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    let path = rustix::fs::readlink(link, Vec::new())?;
    let path = PathBuf::from(OsStr::from_bytes(path.as_bytes()));
    if path.is_absolute() { Ok(path) } else { Err(Errno::NOENT) }
}

/// Whether an absolute path enters a FUSE mount of another user, perhaps through links. No daemon is asked.
pub(crate) fn enters_any(foreign: &ForeignMounts, path: &Path) -> bool {
    !foreign.is_empty() && first_on_the_way(path, |at| foreign.contain(at).then_some(())).is_some()
}

/// Whether an absolute path enters a disk that is asleep, perhaps through links. No disk is asked.
pub(crate) fn enters_asleep(path: &Path) -> bool {
    asleep::is_any() && first_on_the_way(path, |at| asleep::is_at(at).then_some(())).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detour_is_left_out_only_if_it_leads_through_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        std::fs::create_dir_all(at("a/b")).unwrap();
        std::fs::create_dir_all(at("other/place")).unwrap();
        std::os::unix::fs::symlink(at("other/place"), at("a/link")).unwrap();
        std::fs::write(at("a/file"), "x").unwrap();
        for (path, direct) in [
            ("a/b/../file", "a/file"),
            ("a/b/../../a/./b/../file", "a/file"),
            ("a/link/../file", "a/link/../file"),
            ("a/link/../../a/b/../file", "a/link/../../a/file"),
            ("a/none/../file", "a/none/../file"),
            ("a/file/../file", "a/file/../file"),
            ("a/b", "a/b"),
        ] {
            assert_eq!(absolute(&at(path)).unwrap(), at(direct), "{path}");
            let exists = |path: PathBuf| path.exists();
            assert_eq!(exists(absolute(&at(path)).unwrap()), exists(at(path)), "{path}");
        }
        assert_eq!(absolute(Path::new("/../..")).unwrap(), Path::new("/"));
        assert!(absolute(Path::new("")).is_err());
        let here = std::env::current_dir().unwrap();
        assert_eq!(absolute(Path::new("../x")).unwrap(), here.parent().unwrap().join("x"));
    }

    #[test]
    fn a_path_with_thousands_of_detours_takes_linear_time() {
        let path = format!("/{}x", "none/../".repeat(1 << 17));
        let began = std::time::Instant::now();
        assert!(absolute(Path::new(&path)).unwrap().ends_with("x"));
        assert!(began.elapsed() < std::time::Duration::from_secs(2), "{:?}", began.elapsed());
    }
}
