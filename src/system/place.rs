//! A place in the tree of folders, opened once. What was examined there is then mounted on, unmounted or
//! removed through its descriptors, whatever other users rename meanwhile.
//!
//! Root follows no link that another user could have set: [`Place::open`] walks the path name by name. Below
//! a folder that another user can change, any link is refused. Other users have only their own rights, and
//! the kernel resolves their links as usual.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::{fmt, io};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, StatxAttributes, StatxFlags, fstat, fstatfs, open, openat, readlinkat,
    statx,
};
use rustix::io::Errno;
use rustix::process::{Uid, geteuid};

use super::covered::LINKS_MAX;
use super::mountinfo::{self, MountEntry, mount_id};
use super::root_only::{Liars, may_others_exchange, written_by_others};
use crate::shown::Shown;

/// `PROC_SUPER_MAGIC` of linux/magic.h.
const PROC_MAGIC: rustix::fs::FsWord = 0x9fa0;
/// Flags for a folder on the way.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Flags for the end of the way. Without `O_DIRECTORY`, which would make autofs mount and so wait for this
/// process.
const LAST: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A name in an open folder, and what had that name when it was opened.
#[derive(Debug)]
pub struct Place {
    parent: OwnedFd,
    name: OsString,
    /// The folder or file. If something is mounted on it, this is the root of the topmost mount.
    found: Option<OwnedFd>,
    is_fixed: bool,
}

impl Place {
    /// Opens what is at a path. The last name may be missing. Links are followed, the last name included.
    ///
    /// # Errors
    /// A system call fails, or root would follow a link that another user could have set. The kind of the
    /// error is [`io::ErrorKind::NotFound`] only if a folder on the way is missing, or the last link dangles.
    pub fn open(path: &Path) -> io::Result<Self> {
        Walk::new(path, true)?.run()
    }

    /// As [`Place::open`], but a link at the end of the path is not followed.
    pub fn open_without_last_link(path: &Path) -> io::Result<Self> {
        Walk::new(path, false)?.run()
    }

    /// Opens the same name in the same folder again.
    pub fn reopen(&self) -> io::Result<Self> {
        let parent = self.parent.try_clone()?;
        let found = found(openat(&parent, &self.name, LAST, Mode::empty()))?;
        Ok(Self { parent, name: self.name.clone(), found, is_fixed: self.is_fixed })
    }

    /// The folder that has the name.
    pub fn parent(&self) -> BorrowedFd<'_> {
        self.parent.as_fd()
    }

    /// The last name of the path, after links.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// What was there when it was opened; `None` if nothing had the name.
    pub fn found(&self) -> Option<BorrowedFd<'_>> {
        self.found.as_ref().map(AsFd::as_fd)
    }

    /// Whether only root can put another folder at this name, even while something is mounted on it. False
    /// in a folder with a sticky bit, whose users may rename their own folders.
    pub fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// The path of what is there, absolute and without links, at this moment.
    ///
    /// # Errors
    /// `/proc` is not mounted.
    pub fn path(&self) -> io::Result<PathBuf> {
        match &self.found {
            Some(found) => current_path(found.as_fd()),
            None => Ok(current_path(self.parent())?.join(&self.name)),
        }
    }

    /// A path that leads to exactly what is there.
    pub fn exact_path(&self) -> Option<PathBuf> {
        self.found.as_ref().map(|found| descriptor_path(found.as_fd()))
    }

    /// A path that leads to the name in the open folder.
    pub fn path_of_name(&self) -> PathBuf {
        descriptor_path(self.parent()).join(&self.name)
    }

    /// Whether a folder is there. The daemon of a mount that is there may hang, so it is not asked: the
    /// root of a FUSE mount is a folder.
    pub fn is_folder(&self) -> io::Result<bool> {
        let Some(found) = self.found() else { return Ok(false) };
        if self.mounted()?.is_some_and(|mounted| mounted.is_fuse()) {
            return Ok(true);
        }
        Ok(FileType::from_raw_mode(fstat(found)?.st_mode).is_dir())
    }

    /// The mount whose root is there. The trigger of an automount does not count, because it is meant to be
    /// mounted over.
    ///
    /// # Errors
    /// `/proc` is not mounted.
    pub fn mounted(&self) -> io::Result<Option<MountEntry>> {
        let Some(found) = self.found() else { return Ok(None) };
        let id = mount_id(found)?;
        let mounted = mountinfo::mounts().into_iter().find(|mounted| mounted.id == id);
        let Some(mounted) = mounted.filter(|mounted| mounted.kind != "autofs") else { return Ok(None) };
        Ok((is_mount_root(found) || mounted.mountpoint == self.path()?).then_some(mounted))
    }

    /// Whether the root of this mount is there.
    pub fn holds(&self, mount: &MountEntry) -> bool {
        let found = self.mounted().ok().flatten();
        found.is_some_and(|found| found.id == mount.id && found.device == mount.device)
    }

    /// Closes what was found. The name in the parent folder stays.
    #[must_use]
    pub fn into_name(self) -> Self {
        Self { found: None, ..self }
    }

    /// The folder, opened for reading. What is mounted on it since it was opened is not entered.
    ///
    /// # Errors
    /// The user may not read the folder, or it is a file.
    pub fn read(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let found = self.found().ok_or(io::ErrorKind::NotFound)?;
        Ok(openat(found, ".", flags, Mode::empty())?.into())
    }
}

/// The path of an open file at this moment.
fn current_path(file: BorrowedFd<'_>) -> io::Result<PathBuf> {
    std::fs::read_link(descriptor_path(file))
}

/// The path in `/proc` of a descriptor of this process.
fn descriptor_path(file: BorrowedFd<'_>) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Whether a descriptor is the root of a mount. Linux 5.8 and later say so. If no attribute is requested, a
/// FUSE mount answers nothing, and refuses no user.
fn is_mount_root(file: BorrowedFd<'_>) -> bool {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    statx(file, "", flags, StatxFlags::empty())
        .is_ok_and(|it| it.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// `None` for a file that does not exist.
fn found(opened: rustix::io::Result<OwnedFd>) -> io::Result<Option<OwnedFd>> {
    match opened {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Why root does not follow a path.
#[derive(Debug)]
enum Redirected {
    /// A link that another user could have set, or can exchange.
    Link(PathBuf),
    /// A `..` below a folder that another user can move.
    Parent(PathBuf),
}

impl fmt::Display for Redirected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(link) => {
                write!(f, "another user can change the link {}; give the folder it leads to", link.shown())
            }
            Self::Parent(folder) => {
                write!(f, "another user can move the folder {}; give a path without `..`", folder.shown())
            }
        }
    }
}

impl std::error::Error for Redirected {}

/// Whether root did not follow a path because another user could redirect it.
pub fn is_redirected(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|cause| cause.is::<Redirected>())
}

/// A walk along a path.
struct Walk {
    /// The folder that was reached.
    at: OwnedFd,
    /// Whether only root can change this folder, and those above it.
    is_kept: bool,
    is_root: bool,
    follows_last: bool,
    /// The names that are still to be walked.
    names: VecDeque<OsString>,
    links: u32,
    /// The mounts on the way, for root.
    liars: Liars,
}

impl Walk {
    fn new(path: &Path, follows_last: bool) -> io::Result<Self> {
        let is_root = geteuid().is_root();
        Ok(Self {
            at: open("/", FOLDER, Mode::empty())?,
            is_kept: true,
            is_root,
            follows_last,
            names: names(&absolute(path)?),
            links: 0,
            liars: Liars::default(),
        })
    }

    fn run(mut self) -> io::Result<Place> {
        while let Some(name) = self.names.pop_front() {
            let is_last = self.names.is_empty();
            if name == ".." {
                self.go_up()?;
                continue;
            }
            if !is_last {
                match openat(&self.at, &name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
                    Ok(next) => {
                        self.enter(next)?;
                        continue;
                    }
                    // Perhaps a link.
                    Err(Errno::NOTDIR | Errno::LOOP) => {}
                    Err(errno) => return Err(errno.into()),
                }
            }
            let opened = found(openat(&self.at, &name, LAST, Mode::empty()))?;
            let link = opened.as_ref().filter(|_| !is_last || self.follows_last);
            // Fails for everything that is no link, without a request to a daemon.
            let target =
                link.and_then(|link| readlinkat(link, "", Vec::new()).ok().map(|target| (link, target)));
            match target {
                Some((link, target)) => self.follow(link, &name, target.into_bytes())?,
                None if is_last => return self.end(name, opened),
                None => return Err(Errno::NOTDIR.into()),
            }
        }
        // The path ends with `..`, or it is `/`.
        let opened = openat(&self.at, ".", LAST, Mode::empty())?;
        self.end(".".into(), Some(opened))
    }

    fn end(self, name: OsString, found: Option<OwnedFd>) -> io::Result<Place> {
        let is_fixed =
            self.is_kept && (!self.is_root || written_by_others(&fstat(&self.at)?, Uid::ROOT) == 0);
        Ok(Place { parent: self.at, name, found, is_fixed })
    }

    fn enter(&mut self, folder: OwnedFd) -> io::Result<()> {
        self.is_kept = self.is_kept && (!self.is_root || self.is_kept_by_root(&folder)?);
        self.at = folder;
        Ok(())
    }

    /// Whether only root can change what is in a folder. A daemon of another user may lie or hang, so it is
    /// not asked.
    fn is_kept_by_root(&mut self, folder: &OwnedFd) -> io::Result<bool> {
        let may_lie = self.liars.about(folder.as_fd()).is_some();
        Ok(!may_lie && !may_others_exchange(&fstat(folder)?, Uid::ROOT))
    }

    fn go_up(&mut self) -> io::Result<()> {
        if !self.is_kept {
            return Err(io::Error::other(Redirected::Parent(current_path(self.at.as_fd())?)));
        }
        self.at = openat(&self.at, "..", FOLDER, Mode::empty())?;
        Ok(())
    }

    fn follow(&mut self, link: &OwnedFd, name: &OsStr, target: Vec<u8>) -> io::Result<()> {
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(Errno::LOOP.into());
        }
        if self.is_root && !(self.is_kept && fstat(link)?.st_uid == 0) {
            let link = current_path(self.at.as_fd())?.join(name);
            return Err(io::Error::other(Redirected::Link(link)));
        }
        let target = PathBuf::from(OsString::from_vec(target));
        // Links of processes, such as `/proc/1/root`, do not lead where their text says.
        if target.is_absolute() && fstatfs(&self.at)?.f_type == PROC_MAGIC {
            self.at = openat(&self.at, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            // Where the folder is, and who can move it, is not known.
            self.is_kept = !self.is_root;
            return Ok(());
        }
        if target.is_absolute() {
            self.at = open("/", FOLDER, Mode::empty())?;
        }
        for name in names(&target).into_iter().rev() {
            self.names.push_front(name);
        }
        Ok(())
    }
}

/// The names in a path, `..` included.
fn names(path: &Path) -> VecDeque<OsString> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(name).collect()
}

/// The absolute path. The current folder's path has no links, so a `..` at the beginning is its parent.
pub(super) fn absolute(path: &Path) -> io::Result<PathBuf> {
    if path.as_os_str().is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    let mut folder = std::env::current_dir()?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next_if(|part| matches!(part, Component::ParentDir | Component::CurDir)) {
        if part == Component::ParentDir {
            folder.pop();
        }
    }
    folder.extend(parts);
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{chown, symlink};

    use rustix::mount::{MountFlags, UnmountFlags};

    use super::*;

    #[test]
    fn a_place_is_where_the_system_would_lead() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        fs::create_dir_all(dir.join("real/sub")).unwrap();
        fs::write(dir.join("file"), "").unwrap();
        symlink("real/sub", dir.join("link")).unwrap();
        symlink(dir.join("link"), dir.join("absolute")).unwrap();
        symlink("loop", dir.join("loop")).unwrap();
        let open = |name: &str| Place::open(&dir.join(name));
        for name in ["real/sub", "link", "absolute", "link/..", "real/./sub/.", "link/../../absolute", "file"]
        {
            let place = open(name).unwrap();
            assert_eq!(place.path().unwrap(), dir.join(name).canonicalize().unwrap(), "{name}");
            assert_eq!(place.is_folder().unwrap(), name != "file", "{name}");
            assert!(place.mounted().unwrap().is_none(), "{name}");
        }
        assert_eq!(open("real/new").unwrap().path().unwrap(), dir.join("real/new"));
        assert!(open("real/new").unwrap().found().is_none());
        for (name, errno) in [("loop", Errno::LOOP), ("file/x", Errno::NOTDIR), ("none/x", Errno::NOENT)] {
            assert_eq!(open(name).unwrap_err().raw_os_error(), Some(errno.raw_os_error()), "{name}");
        }
        let of_link = Place::open_without_last_link(&dir.join("link")).unwrap();
        assert!(!of_link.is_folder().unwrap() && of_link.path().unwrap() == dir.join("link"));
        assert_eq!(
            Place::open(Path::new("/")).unwrap().mounted().unwrap().unwrap().mountpoint,
            Path::new("/")
        );
        let process = Place::open(Path::new("/proc/self/cwd")).unwrap();
        assert_eq!(process.path().unwrap(), std::env::current_dir().unwrap());
    }

    #[test]
    fn root_follows_only_links_that_root_made_where_only_root_can_rename_them() {
        if !geteuid().is_root() {
            return eprintln!("SKIPPED: needs root");
        }
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        fs::create_dir_all(dir.join("home/sub")).unwrap();
        fs::create_dir(dir.join("target")).unwrap();
        for link in ["home/roots", "theirs", "ours"] {
            symlink(dir.join("target"), dir.join(link)).unwrap();
        }
        symlink("home/sub", dir.join("into")).unwrap();
        chown(dir.join("home"), Some(12345), Some(12345)).unwrap();
        std::os::unix::fs::lchown(dir.join("theirs"), Some(12345), None).unwrap();
        let refusal = |name: &str| Place::open(&dir.join(name)).unwrap_err().to_string();
        for name in ["home/roots", "home/sub/../roots", "home/roots/new", "theirs", "theirs/new"] {
            assert!(refusal(name).starts_with("another user can "), "{name}: {}", refusal(name));
        }
        for (name, is_fixed) in
            [("ours", true), ("ours/new", true), ("home", true), ("home/sub", false), ("into", false)]
        {
            assert_eq!(Place::open(&dir.join(name)).unwrap().is_fixed(), is_fixed, "{name}");
        }
    }

    #[test]
    fn what_was_mounted_since_the_walk_began_is_not_believed() {
        if !geteuid().is_root() {
            return eprintln!("SKIPPED: needs root");
        }
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        fs::create_dir(dir.join("disk")).unwrap();
        symlink("/etc", dir.join("link")).unwrap();
        let walk = Walk::new(&dir.join("disk/link"), true).unwrap();
        rustix::mount::mount_bind(&dir, dir.join("disk")).unwrap();
        let flags = MountFlags::NOSUID | MountFlags::BIND;
        rustix::mount::mount_remount(dir.join("disk"), flags, "").unwrap();
        let opened = walk.run();
        rustix::mount::unmount(dir.join("disk"), UnmountFlags::DETACH).unwrap();
        assert!(is_redirected(&opened.unwrap_err()));
    }

    #[test]
    fn owners_on_a_disk_that_a_user_may_have_written_prove_nothing() {
        if !geteuid().is_root() {
            return eprintln!("SKIPPED: needs root");
        }
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        fs::create_dir(dir.join("disk")).unwrap();
        symlink("/etc", dir.join("link")).unwrap();
        let mount = |flags| {
            rustix::mount::mount_bind(&dir, dir.join("disk")).unwrap();
            rustix::mount::mount_remount(dir.join("disk"), flags | MountFlags::BIND, "").unwrap();
            let opened = Place::open(&dir.join("disk/link"));
            rustix::mount::unmount(dir.join("disk"), UnmountFlags::DETACH).unwrap();
            opened
        };
        assert_eq!(mount(MountFlags::empty()).unwrap().path().unwrap(), Path::new("/etc"));
        assert!(is_redirected(&mount(MountFlags::NOSUID).unwrap_err()));
    }

    #[test]
    fn a_place_stays_where_it_was_opened() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        fs::create_dir_all(dir.join("a/mnt")).unwrap();
        let place = Place::open(&dir.join("a/mnt")).unwrap();
        fs::rename(dir.join("a"), dir.join("b")).unwrap();
        fs::create_dir_all(dir.join("a/mnt")).unwrap();
        fs::write(dir.join("b/mnt/file"), "").unwrap();
        assert_eq!(place.path().unwrap(), dir.join("b/mnt"));
        assert_eq!(fs::read_dir(place.exact_path().unwrap()).unwrap().count(), 1);
        assert_eq!(fs::read_dir(place.path_of_name()).unwrap().count(), 1);
        assert_eq!(place.reopen().unwrap().path().unwrap(), dir.join("b/mnt"));
    }
}
