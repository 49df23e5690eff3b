//! The one walk along a path, name by name, to what bsafs mounts on, writes to or unmounts. Another user may
//! own a folder on the way, and exchange what is in it meanwhile. So each folder is held by its descriptor.
//!
//! A link counts only if no other user can have put it there: root follows only its own links in folders that
//! only root can change, other users follow their own and those of root. What only root decides, root mounts
//! on and writes to. `Walk::theirs` is where that ends. A [`Place`] is what a walk reached.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, PROC_SUPER_MAGIC, StatxAttributes, StatxFlags, fstat, fstatfs, mkdirat,
    open, openat, readlinkat, statx,
};
use rustix::io::Errno;
use rustix::process::{Uid, geteuid};

use super::covered::LINKS_MAX;
use super::mountinfo::{self, MountEntry, mount_id};
use super::new_file::{in_the_way, stat_in};
use super::process::is_in_user_namespace;
use super::root_only::{Liar, Liars, is_ours, may_others_exchange, written_by_others};
use crate::shown::Shown;

/// Flags that open a folder only to reach what is beneath it.
pub(super) const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// What to do with folders of a path that do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Fail,
    Make,
}

/// What to do with a link at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastLink {
    /// Follow it like those before it.
    Follow,
    /// It takes the name.
    Refuse,
}

/// Why a path is not followed, or root does not act where it leads.
#[derive(Debug)]
enum OfOthers {
    /// A link that another user could have set, or can exchange.
    Link(PathBuf),
    /// A `..` below a folder that another user can move.
    Parent(PathBuf),
    /// A place that another user can change.
    Place(PathBuf),
}

impl fmt::Display for OfOthers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(link) => {
                write!(f, "another user can change the link {}; give the folder it leads to", link.shown())
            }
            Self::Parent(folder) => {
                write!(f, "another user can move the folder {}; give a path without `..`", folder.shown())
            }
            Self::Place(place) => write!(
                f,
                "another user can change {}, so root neither mounts nor writes there; run the command \
                 without sudo, or mount with -o setuid=USER",
                place.shown()
            ),
        }
    }
}

impl std::error::Error for OfOthers {}

/// Whether a path was not followed because another user could redirect it.
pub(crate) fn is_redirected(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|cause| cause.is::<OfOthers>())
}

/// Root's answer at a place that another user can change.
pub(crate) fn refusal(theirs: PathBuf) -> io::Error {
    io::Error::other(OfOthers::Place(theirs))
}

/// Opens a folder, without following a link that another user can have made.
///
/// # Errors
/// There is such a link, or a system call fails.
pub(crate) fn open_folder(path: &Path, missing: Missing, last: LastLink) -> io::Result<OwnedFd> {
    let mut walk = Walk::new(path)?;
    while let Some((name, is_last)) = walk.next() {
        enter(&mut walk, &name, missing, if is_last { last } else { LastLink::Follow })?;
    }
    Ok(walk.at)
}

/// One more step to a place where something is written. Root writes nothing where another user decides.
pub(super) fn enter(walk: &mut Walk, name: &OsStr, missing: Missing, link: LastLink) -> io::Result<()> {
    walk.enter(name, missing, link)?;
    walk.theirs.take().map_or(Ok(()), |theirs| Err(refusal(theirs)))
}

/// A path that is being walked.
pub(super) struct Walk {
    /// The folder that was reached.
    pub(super) at: OwnedFd,
    /// The first place on the way that a user other than root can change. Only known for root.
    pub(super) theirs: Option<PathBuf>,
    /// Whether it is unknown where the folder is, or who can move it. Then root follows no link from it.
    pub(super) is_adrift: bool,
    /// The names that are left, the next one last.
    left: Vec<OsString>,
    links: u32,
    user: Uid,
    /// The mounts on the way.
    liars: Liars,
}

impl Walk {
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        if path.as_os_str().is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let user = geteuid();
        // For root, `..` at the beginning leads out of the path that the current folder has now.
        let path = if user.is_root() { absolute(path)? } else { path.to_owned() };
        let start = if path.is_absolute() { "/" } else { "." };
        let at = open(start, FOLDER, Mode::empty())?;
        let mut walk = Self {
            at,
            theirs: None,
            is_adrift: false,
            left: Vec::new(),
            links: 0,
            user,
            liars: Liars::default(),
        };
        walk.push(&path);
        Ok(walk)
    }

    /// The next name, and whether it is the last.
    pub(super) fn next(&mut self) -> Option<(OsString, bool)> {
        self.left.pop().map(|name| (name, self.left.is_empty()))
    }

    /// Enters the folder of this name, or the one that a link of this name leads to.
    pub(super) fn enter(&mut self, name: &OsStr, missing: Missing, link: LastLink) -> io::Result<()> {
        if name == ".." && (self.is_adrift || self.theirs.is_some()) {
            return Err(io::Error::other(OfOthers::Parent(current_path(&self.at)?)));
        }
        let opened = || openat(&self.at, name, FOLDER | OFlags::NOFOLLOW, Mode::empty());
        let entered = match opened() {
            Err(Errno::NOENT) if missing == Missing::Make => {
                match mkdirat(&self.at, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => opened(),
                    Err(errno) => Err(errno),
                }
            }
            entered => entered,
        };
        match entered {
            Ok(folder) => self.reach(folder),
            // The folder may have been exchanged for a link since its path was given.
            Err(Errno::NOTDIR | Errno::LOOP) if link == LastLink::Refuse && is_link(&self.at, name)? => {
                Err(in_the_way(FileType::Symlink))
            }
            Err(Errno::NOTDIR | Errno::LOOP) => self.follow(name),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Follows the link of this name.
    pub(super) fn follow(&mut self, name: &OsStr) -> io::Result<()> {
        let link = self.check(name)?;
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(Errno::LOOP.into());
        }
        // Of the link that was examined: another user may have put his own under this name since.
        let target = PathBuf::from(OsString::from_vec(readlinkat(&link, "", Vec::new())?.into_bytes()));
        // Links of processes, such as `/proc/1/root`, do not lead where their text says.
        if is_proc(&self.at) && name != "self" && name != "thread-self" {
            self.is_adrift = self.user.is_root();
            return self.reach(openat(&self.at, name, FOLDER, Mode::empty())?);
        }
        if target.is_absolute() {
            self.at = open("/", FOLDER, Mode::empty())?;
            self.is_adrift = false;
        }
        self.push(&target);
        Ok(())
    }

    /// Opens the link of this name. Fails if another user can have made it, or moved it here.
    pub(super) fn check(&mut self, name: &OsStr) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&self.at, name, flags, Mode::empty())?;
        let link = fstat(&opened)?;
        if FileType::from_raw_mode(link.st_mode) != FileType::Symlink {
            return Err(Errno::NOTDIR.into());
        }
        let is_known = is_ours(link.st_uid, self.user) && self.theirs.is_none() && !self.is_adrift;
        let may_lie = self.liars.about(self.at.as_fd()).is_some_and(Liar::is_other);
        if is_known && !may_lie && !may_others_exchange(&fstat(&self.at)?, self.user) {
            return Ok(opened);
        }
        Err(io::Error::other(OfOthers::Link(current_path(&self.at)?.join(name))))
    }

    /// Whether users other than root can put something else at this name, and what has the name if something
    /// does. No daemon of another user is asked.
    pub(super) fn may_others_replace(&mut self, found: Option<&OwnedFd>) -> io::Result<bool> {
        if !self.user.is_root() || self.theirs.is_some() {
            return Ok(self.theirs.is_some());
        }
        let is_open = written_by_others(&fstat(&self.at)?, Uid::ROOT) != 0;
        let Some(found) = found.filter(|_| is_open) else { return Ok(false) };
        Ok(self.is_of_others(found) || fstat(found)?.st_uid != 0)
    }

    /// Puts the names of a path before those that are left.
    fn push(&mut self, path: &Path) {
        let named = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
        let names = path.components().rev().filter(named);
        self.left.extend(names.map(|part| part.as_os_str().to_owned()));
    }

    fn reach(&mut self, folder: OwnedFd) -> io::Result<()> {
        let is_changed = self.user.is_root()
            && self.theirs.is_none()
            && (self.is_of_others(&folder) || may_others_exchange(&fstat(&folder)?, Uid::ROOT));
        self.at = folder;
        if is_changed && is_in_user_namespace() {
            // There, the owners of most folders have no number, and root has only the rights of a user.
            self.is_adrift = true;
        } else if is_changed {
            self.theirs = Some(current_path(&self.at)?);
        }
        Ok(())
    }

    /// Whether a file is in a mount whose daemon is another user's. On a disk, the kernel goes by the owners.
    fn is_of_others(&mut self, file: &OwnedFd) -> bool {
        match self.liars.about(file.as_fd()) {
            Some(Liar::User(_)) => true,
            Some(Liar::Unknown) => {
                // Without /proc, no mount is known. Then neither links nor `..` are followed.
                let has_mount = mount_id(file.as_fd()).is_ok();
                self.is_adrift |= !has_mount;
                has_mount
            }
            Some(Liar::Writer) | None => false,
        }
    }
}

pub(super) fn is_link(folder: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    let stat = stat_in(folder, name.as_bytes())?;
    Ok(stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink))
}

/// Whether a folder is in `/proc`, whose links lead to open files and folders.
pub(super) fn is_proc(folder: impl AsFd) -> bool {
    fstatfs(folder).is_ok_and(|system| system.f_type == PROC_SUPER_MAGIC)
}

/// The path of an open file at this moment.
pub(super) fn current_path(file: impl AsFd) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))
}

/// The absolute path. The current folder's path has no links, so a `..` at the beginning is its parent.
fn absolute(path: &Path) -> io::Result<PathBuf> {
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

// A place in the tree of folders, opened once by a `Walk`. What was examined there is then mounted on,
// unmounted or removed through its descriptors, whatever other users rename meanwhile.

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
    theirs: Option<PathBuf>,
    is_fixed: bool,
}

impl Place {
    /// Opens what is at a path. The last name may be missing. Links are followed, the last name included.
    ///
    /// # Errors
    /// A system call fails, or root would follow a link that another user could have set. The kind of the
    /// error is [`io::ErrorKind::NotFound`] only if a folder on the way is missing, or the last link dangles.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::find(Walk::new(path)?, true)
    }

    /// As [`Place::open`], but a link at the end of the path is not followed.
    pub fn open_without_last_link(path: &Path) -> io::Result<Self> {
        Self::find(Walk::new(path)?, false)
    }

    fn find(mut walk: Walk, follows_last: bool) -> io::Result<Self> {
        while let Some((name, is_last)) = walk.next() {
            if !is_last || name == ".." {
                walk.enter(&name, Missing::Fail, LastLink::Follow)?;
                continue;
            }
            let opened = found(openat(&walk.at, &name, LAST, Mode::empty()))?;
            // Fails for everything that is no link, without a request to a daemon.
            let is_link = |found: &OwnedFd| readlinkat(found, "", Vec::new()).is_ok();
            if follows_last && opened.as_ref().is_some_and(is_link) {
                walk.follow(&name)?;
                continue;
            }
            return Self::at(walk, name, opened);
        }
        // The path ends with `..`, or it is `/`.
        let opened = openat(&walk.at, ".", LAST, Mode::empty())?;
        Self::at(walk, ".".into(), Some(opened))
    }

    fn at(mut walk: Walk, name: OsString, found: Option<OwnedFd>) -> io::Result<Self> {
        if walk.theirs.is_none() && walk.may_others_replace(found.as_ref())? {
            walk.theirs = Some(current_path(&walk.at)?.join(&name));
        }
        let is_closed = || Ok::<_, io::Error>(written_by_others(&fstat(&walk.at)?, Uid::ROOT) == 0);
        let is_fixed = walk.theirs.is_none() && !walk.is_adrift && (!geteuid().is_root() || is_closed()?);
        Ok(Self { parent: walk.at, name, found, theirs: walk.theirs, is_fixed })
    }

    /// Opens the same name in the same folder again.
    pub fn reopen(&self) -> io::Result<Self> {
        let parent = self.parent.try_clone()?;
        let found = found(openat(&parent, &self.name, LAST, Mode::empty()))?;
        Ok(Self {
            parent,
            name: self.name.clone(),
            found,
            theirs: self.theirs.clone(),
            is_fixed: self.is_fixed,
        })
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

    /// Fails for root if another user can change the place, or the way to it.
    ///
    /// # Errors
    /// One line that says what to do.
    pub fn check_only_root_decides(&self) -> io::Result<()> {
        self.theirs.clone().map_or(Ok(()), |theirs| Err(refusal(theirs)))
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
            let place = Place::open(&dir.join(name)).unwrap();
            assert_eq!(place.is_fixed(), is_fixed, "{name}");
            assert_eq!(place.check_only_root_decides().is_ok(), is_fixed, "{name}");
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
        let walk = Walk::new(&dir.join("disk/link")).unwrap();
        rustix::mount::mount_bind(&dir, dir.join("disk")).unwrap();
        let flags = MountFlags::NOSUID | MountFlags::BIND;
        rustix::mount::mount_remount(dir.join("disk"), flags, "").unwrap();
        let opened = Place::find(walk, true);
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
