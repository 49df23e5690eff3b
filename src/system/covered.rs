//! Access to what the mount of this process covers. A game's `Data` may be mounted over itself, and
//! the daemon must read the original files, not its own mount. Before opening a path that may be
//! part of a source, call [`uncovered`].

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

use super::asleep;
use super::mountinfo::ForeignMounts;
use crate::limits::LINK_PATHS_MAX;

/// Maximum length of a path that the system accepts, without the NUL.
pub(crate) const PATH_MAX: usize = 4095;
/// Maximum number of links that the system follows in one path.
pub(crate) const LINKS_MAX: u32 = 40;
/// Maximum number of parts of a path that are followed, those of links in it included. A settings file may
/// have thousands of paths with thousands of parts.
const PARTS_MAX: u32 = 128;

/// The folder that the mount of this process covers; empty until it is about to be mounted. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Covered(Arc<OnceLock<CoveredFolder>>);

/// The value of this process. Deliberately static: a mount changes what paths mean for the whole process, so
/// every source that is opened here must read below it. Only a daemon sets it, once, before it mounts. So no
/// [`Vfs`](crate::Vfs) changes what another one returns.
static OF_PROCESS: LazyLock<Covered> = LazyLock::new(Covered::default);

/// The folder that this process mounts on.
#[derive(Debug)]
struct CoveredFolder {
    path: PathBuf,
    /// Opened before the mount, so that paths that begin here do not enter the mount. `None` for an
    /// automount: its folder is empty, and if it is open, systemd never unmounts it when it is
    /// idle. Paths that begin there lead nowhere.
    folder: Option<OwnedFd>,
}

/// A path where nothing exists.
const NOWHERE: &str = "/proc/self/covered";
/// `AUTOFS_SUPER_MAGIC` of linux/magic.h.
const AUTOFS_MAGIC: rustix::fs::FsWord = 0x0187;

impl Covered {
    /// The value that the whole daemon shares.
    pub fn of_process() -> Self {
        OF_PROCESS.clone()
    }

    /// Keeps the folder that is about to be mounted on. The path must not contain links.
    pub fn cover(&self, mountpoint: &Path, folder: BorrowedFd<'_>) -> io::Result<()> {
        let folder = folder.try_clone_to_owned()?;
        let is_automount = rustix::fs::fstatfs(&folder)?.f_type == AUTOFS_MAGIC;
        let folder = (!is_automount).then_some(folder);
        // A second call changes nothing.
        let _ = self.0.set(CoveredFolder { path: mountpoint.to_owned(), folder });
        Ok(())
    }

    /// Whether a path without links is the mountpoint.
    pub fn is_mountpoint(&self, path: &Path) -> bool {
        self.0.get().is_some_and(|covered| covered.path == path)
    }

    /// A path that opens what is at `path` on the disk, although the mount covers it. A path that
    /// enters the mountpoint through a link is not recognised; call [`resolve_links`] first.
    pub fn uncovered<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        self.0.get().and_then(|covered| covered.beneath(path)).map_or(Cow::Borrowed(path), Cow::Owned)
    }
}

/// Calls [`Covered::cover`] on the process's value.
pub fn cover(mountpoint: &Path, folder: BorrowedFd<'_>) -> io::Result<()> {
    OF_PROCESS.cover(mountpoint, folder)
}

/// Calls [`Covered::is_mountpoint`] on the process's value.
pub fn is_mountpoint(path: &Path) -> bool {
    OF_PROCESS.is_mountpoint(path)
}

/// Calls [`Covered::uncovered`] on the process's value.
pub fn uncovered(path: &Path) -> Cow<'_, Path> {
    OF_PROCESS.uncovered(path)
}

/// A path that opens the target of a link, if that is an absolute path below the mountpoint. `link`
/// is the content of the link.
pub fn uncovered_target(link: &Path) -> Option<PathBuf> {
    let covered = OF_PROCESS.0.get().filter(|covered| link.starts_with(&covered.path))?;
    covered.beneath(&resolve_links(link, |_, _| {}))
}

/// Follows the links in an absolute path, but enters neither the mount nor a FUSE mount of
/// another user, which may never answer, nor a disk that is asleep. Calls `visit` with each folder that
/// is passed and the name that is looked up in it, even if the name does not exist. What follows after
/// 128 parts stays as it is, `..` included.
pub fn resolve_links(path: &Path, mut visit: impl FnMut(&Path, &OsStr)) -> PathBuf {
    LinkWalk::default().follow(path, &mut visit)
}

/// Follows links like [`resolve_links`], for many paths. Components that several paths have in common are
/// read and visited once.
#[derive(Debug, Default)]
pub struct LinkWalk {
    /// Folders that were passed, with the path that each leads to.
    folders: HashMap<PathBuf, PathBuf>,
    /// The number of bytes of these paths.
    bytes: usize,
    /// What the walk does not enter. Known as soon as a link may be followed.
    foreign: Option<ForeignMounts>,
}

/// What was passed on the way of one path.
#[derive(Debug, Default)]
struct Passed {
    links: u32,
    parts: u32,
}

impl LinkWalk {
    /// Follows the links in an absolute path.
    pub fn follow(&mut self, path: &Path, visit: &mut dyn FnMut(&Path, &OsStr)) -> PathBuf {
        self.follow_on(path, &mut Passed::default(), visit)
    }

    fn follow_on(
        &mut self,
        path: &Path,
        passed: &mut Passed,
        visit: &mut dyn FnMut(&Path, &OsStr),
    ) -> PathBuf {
        // `components` drops `.` and trailing slashes.
        let parts: Vec<Component<'_>> = path.components().collect();
        let mut at = PathBuf::from("/");
        // The number of parts of the longest folder that is known.
        let mut known = 0;
        let ends = if parts.len() > PARTS_MAX as usize { 1..1 } else { 1..parts.len() };
        for end in ends.rev() {
            if let Some(found) = self.folders.get(&parts[..end].iter().collect::<PathBuf>()) {
                (at, known) = (found.clone(), end);
                break;
            }
        }
        for (index, part) in parts.iter().enumerate().skip(known) {
            if passed.parts == PARTS_MAX {
                at.extend(&parts[index..]);
                break;
            }
            passed.parts += 1;
            match part {
                Component::ParentDir => _ = at.pop(),
                Component::Normal(name) => at = self.step(&at, name, passed, visit),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
            if index + 1 < parts.len() {
                self.remember(parts[..=index].iter().collect(), &at);
                self.remember(at.clone(), &at);
            }
        }
        at
    }

    /// Remembers where a folder leads, while there is room.
    fn remember(&mut self, folder: PathBuf, at: &Path) {
        let bytes = folder.as_os_str().len() + at.as_os_str().len();
        if self.bytes + bytes <= LINK_PATHS_MAX && !self.folders.contains_key(&folder) {
            self.bytes += bytes;
            self.folders.insert(folder, at.to_owned());
        }
    }

    /// Where a name in a folder leads.
    fn step(
        &mut self,
        at: &Path,
        name: &OsStr,
        passed: &mut Passed,
        visit: &mut dyn FnMut(&Path, &OsStr),
    ) -> PathBuf {
        visit(at, name);
        let next = at.join(name);
        if self.foreign.get_or_insert_with(ForeignMounts::now).contain(&next) || asleep::is_at(&next) {
            return next;
        }
        match std::fs::read_link(uncovered(&next)) {
            // More links than that form a circle.
            Ok(target) if passed.links < LINKS_MAX => {
                passed.links += 1;
                self.follow_on(&at.join(target), passed, visit)
            }
            _ => next,
        }
    }
}

impl CoveredFolder {
    /// A path that opens what is at a path below the mountpoint.
    fn beneath(&self, path: &Path) -> Option<PathBuf> {
        let within = path.strip_prefix(&self.path).ok()?;
        let mut reached = match &self.folder {
            Some(folder) => OsString::from(format!("/proc/self/fd/{}", folder.as_raw_fd())),
            None => OsString::from(NOWHERE),
        };
        // With the slash, the path is the folder and not the link in `/proc`.
        reached.push("/");
        reached.push(within);
        Some(reached.into())
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{Mode, OFlags};

    use super::*;

    #[test]
    fn paths_below_a_covered_folder_are_opened_through_its_descriptor() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::write(dir.path().join("sub/x"), "x").unwrap();
        let folder = rustix::fs::open(dir.path(), OFlags::PATH, Mode::empty()).unwrap();
        let covered = CoveredFolder { path: dir.path().to_owned(), folder: Some(folder) };
        let moved = dir.path().with_extension("moved");
        std::fs::rename(dir.path(), &moved).unwrap();
        assert_eq!(std::fs::read(covered.beneath(&dir.path().join("sub/x")).unwrap()).unwrap(), b"x");
        assert!(covered.beneath(dir.path()).unwrap().is_dir());
        assert!(covered.beneath(&moved).is_none());
        std::fs::rename(&moved, dir.path()).unwrap();
    }

    #[test]
    fn links_are_followed_one_by_one_and_a_loop_ends() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(dir.join("real/sub")).unwrap();
        for (target, link) in
            [("real", "a"), ("../mid", "real/sub/up"), ("real/sub/x", "mid"), ("circle", "circle")]
        {
            std::os::unix::fs::symlink(target, dir.join(link)).unwrap();
        }
        let mut seen = Vec::new();
        let found = resolve_links(&dir.join("a/./sub/up/y"), |folder, name| seen.push(folder.join(name)));
        assert_eq!(found, dir.join("real/mid/y"));
        seen.retain(|path| path.starts_with(&dir) && *path != dir);
        let all = ["a", "real", "real/sub", "real/sub/up", "real/mid", "real/mid/y"];
        assert_eq!(seen, all.map(|path| dir.join(path)));
        assert_eq!(resolve_links(&dir.join("a/sub/../../mid"), |_, _| {}), dir.join("real/sub/x"));
        assert_eq!(resolve_links(&dir.join("circle"), |_, _| {}), dir.join("circle"));
    }

    #[test]
    fn a_path_with_a_million_parts_takes_no_time_and_keeps_its_end() {
        let path = PathBuf::from(format!("/usr/none{}/x", "/..".repeat(1 << 20)));
        let mut seen = 0;
        let began = std::time::Instant::now();
        let found = resolve_links(&path, |_, _| seen += 1);
        assert!(began.elapsed() < std::time::Duration::from_secs(2), "{:?}", began.elapsed());
        assert_eq!((seen, found.parent().unwrap().ends_with(".."), found.ends_with("x")), (2, true, true));
        let mut walk = LinkWalk::default();
        for number in 0..3_000 {
            walk.follow(Path::new(&format!("/none/{number}{}", "/a".repeat(100))), &mut |_, _| {});
        }
        assert!(walk.bytes <= LINK_PATHS_MAX);
    }
}
