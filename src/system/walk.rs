//! The one walk along a path, name by name, to what bsafs mounts on, writes to or unmounts. Another user may
//! own a folder on the way, and exchange what is in it meanwhile. So each folder is held by its descriptor.
//!
//! A link counts only if no other user can have put it there: root follows only its own links in folders that
//! only root can change, other users follow their own and those of root. What only root decides, root mounts
//! on and writes to. `Walk::theirs` is where that ends. A place (`place.rs`) is what a walk reached.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    FileType, Mode, OFlags, PROC_SUPER_MAGIC, fstat, fstatfs, mkdirat, open, openat, readlinkat,
};
use rustix::io::Errno;
use rustix::process::{Uid, geteuid};

use super::covered::LINKS_MAX;
use super::mountinfo::mount_id;
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
