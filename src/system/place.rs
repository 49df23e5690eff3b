//! A place in the tree of folders: a name in an open folder, and what has that name. The walk of `walk.rs`
//! opens it once. What was examined there is then mounted on, unmounted or removed through its
//! descriptors, whatever other users rename meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, StatxAttributes, StatxFlags, fstat, openat, readlinkat, statx,
};
use rustix::io::Errno;
use rustix::process::{Uid, geteuid};

use super::mountinfo::{self, MountEntry, mount_id};
use super::owners::written_by_others;
use super::walk::{LastLink, Missing, Walk, current_path, refusal};

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

    use super::super::walk::is_redirected;
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
