//! The one walk along a path, name by name, through links.
//!
//! By paths, it finds what is on the way, or where the links lead, and opens nothing: `first_on_the_way`
//! and `LinkWalk`. Whether only root decides what a path leads to is asked in `root_only.rs`.
//!
//! By descriptors, it goes to what bsafs mounts on, writes to or unmounts: `open_folder`, `place.rs` and
//! `output_place.rs`. Another user may own a folder on the way, and exchange what is in it meanwhile. So each
//! folder is held by its descriptor. A link counts only if no other user can have put it there: root follows
//! only its own links in folders that only root can change, other users follow their own and those of root.
//! What only root decides, root mounts on and writes to. `Walk::theirs` is where that ends.

use std::borrow::Cow;
use std::collections::HashMap;
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

use super::asleep;
use super::covered::{is_beneath, uncovered};
use super::mountinfo::{ForeignMounts, mount_id};
use super::new_file::{in_the_way, stat_in};
use super::owners::{Liar, Liars, is_ours, may_others_exchange, written_by_others};
use super::process::is_in_user_namespace;
use crate::limits::LINK_PATHS_MAX;
use crate::shown::Shown;

/// Maximum length of a path that the system accepts, without the NUL.
pub(crate) const PATH_MAX: usize = 4095;
/// Maximum number of links that the system follows in one path.
const LINKS_MAX: u32 = 40;
/// Maximum number of names of a path that [`LinkWalk`] follows, those of links in it included. A settings
/// file may have thousands of paths with thousands of names.
const NAMES_MAX: u32 = 128;

// The names of a path, and of the links in it: what all walks have in common.

/// What is left of a path that is being walked: its names and each `..`.
#[derive(Debug)]
pub(super) struct NamesLeft {
    names: Vec<u8>,
    /// Where the next name begins.
    at: usize,
    /// The number of links that were followed.
    links: u32,
}

impl NamesLeft {
    fn of(path: &Path) -> Self {
        let mut all = Self { names: path.as_os_str().as_bytes().to_owned(), at: 0, links: 0 };
        all.skip();
        all
    }

    fn next(&mut self) -> Option<OsString> {
        let name = OsStr::from_bytes(self.first()?).to_owned();
        self.at += name.len();
        self.skip();
        Some(name)
    }

    /// What precedes the next slash; `None` at the end.
    fn first(&self) -> Option<&[u8]> {
        let left = self.names.get(self.at..).filter(|left| !left.is_empty())?;
        left.split(|&byte| byte == b'/').next()
    }

    /// Skips slashes and each `.`, so that what is left begins with a name.
    fn skip(&mut self) {
        while let Some(skipped @ (b"" | b".")) = self.first() {
            self.at += skipped.len().max(1);
        }
    }

    /// The names that are left, as a path; empty after the last one.
    fn rest(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.names.get(self.at..).unwrap_or_default()))
    }

    /// The number of bytes of [`NamesLeft::rest`].
    fn len(&self) -> usize {
        self.names.len().saturating_sub(self.at)
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts the names of a link's target before those that are left.
    ///
    /// # Errors
    /// [`Errno::LOOP`], as from the system: so many links were followed that they seem to form a circle.
    fn follow(&mut self, target: &Path) -> Result<(), Errno> {
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(Errno::LOOP);
        }
        self.names = [target.as_os_str().as_bytes(), b"/", self.rest().as_os_str().as_bytes()].concat();
        self.at = 0;
        self.skip();
        Ok(())
    }
}

// The walk by paths. It opens nothing, and asks the disk only where a link leads. So whoever walks can keep
// out of a mount or a disk that may never answer.

/// An absolute path that is being walked.
#[derive(Debug)]
pub(super) struct PathWalk {
    /// The folder that was reached: its path has no links. Empty before the root.
    at: PathBuf,
    left: NamesLeft,
}

impl PathWalk {
    pub(super) fn new(path: &Path) -> Self {
        Self { at: PathBuf::new(), left: NamesLeft::of(path) }
    }

    /// The path of the next name, which was not looked up yet. The root comes first.
    pub(super) fn next(&mut self) -> Option<PathBuf> {
        if self.at.as_os_str().is_empty() {
            return Some(PathBuf::from("/"));
        }
        loop {
            match self.left.next()? {
                name if name == ".." => _ = self.at.pop(),
                name => return Some(self.at.join(name)),
            }
        }
    }

    /// Goes on at a path that is no link, or is taken for none.
    pub(super) fn pass(&mut self, next: PathBuf) {
        self.at = next;
    }

    /// Goes on at the target of a link in the folder that was reached.
    ///
    /// # Errors
    /// As of [`NamesLeft::follow`].
    pub(super) fn follow(&mut self, target: &Path) -> Result<(), Errno> {
        self.left.follow(target)?;
        if target.is_absolute() {
            self.at = PathBuf::from("/");
        }
        Ok(())
    }

    /// Looks up what is at a path. Returns whether it is a link, whose target comes next. One link too many
    /// is taken for a file.
    fn enter(&mut self, next: PathBuf) -> bool {
        let is_link = std::fs::read_link(uncovered(&next)).is_ok_and(|target| self.follow(&target).is_ok());
        if !is_link {
            self.pass(next);
        }
        is_link
    }
}

/// Follows an absolute path and its links from folder to folder, and calls `find` with each. Returns what it
/// first finds. Nothing is looked up in that folder, so `find` can keep the walk out of a mount.
pub(crate) fn first_on_the_way<T>(path: &Path, mut find: impl FnMut(&Path) -> Option<T>) -> Option<T> {
    let mut walk = PathWalk::new(path);
    // A longer path leads nowhere, and each step would copy it.
    while let Some(next) = walk.next().filter(|next| next.as_os_str().len() <= PATH_MAX) {
        if let Some(found) = find(&next) {
            return Some(found);
        }
        walk.enter(next);
    }
    None
}

/// Follows the links in an absolute path, but enters neither the mount nor a FUSE mount of
/// another user, which may never answer, nor a disk that is asleep. Calls `visit` with each folder that
/// is passed and the name that is looked up in it, even if the name does not exist. What follows after
/// 128 names stays as it is, `..` included.
pub fn resolve_links(path: &Path, mut visit: impl FnMut(&Path, &OsStr)) -> PathBuf {
    LinkWalk::default().follow(path, &mut visit)
}

/// A path that opens the target of a link, if that is an absolute path below the mountpoint. `link`
/// is the content of the link.
pub fn uncovered_target(link: &Path) -> Option<PathBuf> {
    if !is_beneath(link) {
        return None;
    }
    match uncovered(&resolve_links(link, |_, _| {})) {
        Cow::Owned(path) => Some(path),
        Cow::Borrowed(_) => None,
    }
}

/// Follows links like [`resolve_links`], for many paths. Folders that several paths have in common are
/// looked up and visited once.
#[derive(Debug, Default)]
pub struct LinkWalk {
    /// Folders that were passed, with the path that each leads to.
    folders: HashMap<PathBuf, PathBuf>,
    /// The number of bytes of these paths.
    bytes: usize,
    /// What the walk does not enter. Known as soon as a link may be followed.
    foreign: Option<ForeignMounts>,
}

impl LinkWalk {
    /// Follows the links in an absolute path.
    pub fn follow(&mut self, path: &Path, visit: &mut dyn FnMut(&Path, &OsStr)) -> PathBuf {
        // Without `.` and superfluous slashes, so that what is left is the end of it. A path of more names
        // has too many folders to look for each.
        let is_short = path.components().nth(NAMES_MAX as usize).is_none();
        let short: Option<PathBuf> = is_short.then(|| path.components().collect());
        let walk = short.as_deref().and_then(|path| self.begin(path));
        let mut walk = walk.unwrap_or_else(|| PathWalk { at: "/".into(), left: NamesLeft::of(path) });
        // How much is left behind a link of the path, while the names of its target are walked.
        let mut behind_link = None;
        for _ in 0..NAMES_MAX {
            let Some(name) = walk.left.next() else { break };
            let behind = walk.left.len();
            if name == ".." {
                walk.at.pop();
            } else if self.step(&mut walk, &name, visit) {
                behind_link.get_or_insert(behind);
            }
            let left = walk.left.len();
            if left == 0 {
                break;
            }
            self.remember(&walk.at, &walk.at);
            if behind_link.is_none_or(|behind| left <= behind) {
                behind_link = None;
                let names = short.as_ref().map_or(&[][..], |path| path.as_os_str().as_bytes());
                if let Some(folder) = names.len().checked_sub(left).and_then(|len| names.get(..len)) {
                    self.remember(Path::new(OsStr::from_bytes(folder)), &walk.at);
                }
            }
        }
        walk.at.extend(walk.left.rest());
        walk.at
    }

    /// Begins at the longest folder of a path that was passed already.
    fn begin(&self, path: &Path) -> Option<PathWalk> {
        path.ancestors().skip(1).find_map(|folder| {
            let at = self.folders.get(folder)?.clone();
            Some(PathWalk { at, left: NamesLeft::of(path.strip_prefix(folder).ok()?) })
        })
    }

    /// Goes to the next name. Returns whether that is a link, whose target comes next.
    fn step(&mut self, walk: &mut PathWalk, name: &OsStr, visit: &mut dyn FnMut(&Path, &OsStr)) -> bool {
        let next = walk.at.join(name);
        // The last name of each path is visited, even if another path passed it.
        if let Some(at) = self.folders.get(&next).filter(|_| !walk.left.is_empty()) {
            walk.pass(at.clone());
            return false;
        }
        visit(&walk.at, name);
        if self.foreign.get_or_insert_with(ForeignMounts::now).contain(&next) || asleep::is_at(&next) {
            walk.pass(next);
            return false;
        }
        walk.enter(next)
    }

    /// Remembers where a folder leads, while there is room.
    fn remember(&mut self, folder: &Path, at: &Path) {
        let bytes = folder.as_os_str().len() + at.as_os_str().len();
        if self.bytes + bytes <= LINK_PATHS_MAX && !self.folders.contains_key(folder) {
            self.bytes += bytes;
            self.folders.insert(folder.to_owned(), at.to_owned());
        }
    }
}

// The walk by descriptors.

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
    error.get_ref().is_some_and(|reason| reason.is::<OfOthers>())
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
    left: NamesLeft,
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
        let left = NamesLeft::of(&path);
        Ok(Self { at, theirs: None, is_adrift: false, left, user, liars: Liars::default() })
    }

    /// The next name, and whether it is the last.
    pub(super) fn next(&mut self) -> Option<(OsString, bool)> {
        self.left.next().map(|name| (name, self.left.is_empty()))
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
        // Of the link that was examined: another user may have put his own under this name since.
        let target = PathBuf::from(OsString::from_vec(readlinkat(&link, "", Vec::new())?.into_bytes()));
        // Links of processes, such as `/proc/1/root`, do not lead where their text says.
        if is_proc(&self.at) && name != "self" && name != "thread-self" {
            self.is_adrift = self.user.is_root();
            return self.reach(openat(&self.at, name, FOLDER, Mode::empty())?);
        }
        self.left.follow(&target)?;
        if target.is_absolute() {
            self.at = open("/", FOLDER, Mode::empty())?;
            self.is_adrift = false;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_folder_is_looked_up_once_for_all_paths_and_the_last_name_of_each() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(dir.join("real/sub")).unwrap();
        std::os::unix::fs::symlink("./real/", dir.join("link")).unwrap();
        let (mut walk, mut seen) = (LinkWalk::default(), Vec::new());
        for (path, leads_to, visits) in [
            ("link/sub/x", "real/sub/x", &["link", "real", "real/sub", "real/sub/x"][..]),
            ("link/./sub//y/.", "real/sub/y", &["real/sub/y"]),
            ("link/../link/sub/x", "real/sub/x", &["real/sub/x"]),
            ("link", "real", &["link", "real"]),
            ("real/sub", "real/sub", &["real/sub"]),
        ] {
            seen.clear();
            let found = walk.follow(&dir.join(path), &mut |folder, name| seen.push(folder.join(name)));
            seen.retain(|path| path.starts_with(&dir) && *path != dir);
            assert_eq!(found, dir.join(leads_to), "{path}");
            assert_eq!(seen, visits.iter().map(|path| dir.join(path)).collect::<Vec<_>>(), "{path}");
        }
    }

    #[test]
    fn a_walk_ends_where_the_system_follows_no_path() {
        let path = PathBuf::from(format!("/{}", "none/".repeat(1 << 17)));
        let mut steps = 0;
        assert_eq!(
            first_on_the_way(&path, |_| {
                steps += 1;
                None::<()>
            }),
            None
        );
        assert!(steps <= PATH_MAX, "{steps}");
        let mut seen = Vec::new();
        let found = first_on_the_way(Path::new("/a/./../b/c"), |at| {
            seen.push(at.to_owned());
            (at == Path::new("/b")).then_some(())
        });
        assert_eq!((found, seen), (Some(()), ["/", "/a", "/b"].map(PathBuf::from).to_vec()));
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
