//! Folders beneath which files are opened: scanned folders, which are held open while few descriptors are in
//! use, and the tops of the mounts that links lead to.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use rustix::fs::{AtFlags, CWD, FileType, FsWord, Mode, OFlags, ResolveFlags, Statx, StatxFlags};
use rustix::io::Errno;

use crate::system::covered::uncovered;
use crate::system::disk_id::DiskId;
use crate::system::memory;
use crate::system::owners;
use crate::system::paths::path_of_open;
use crate::system::sync::Mutex;

/// Keeps a path beneath its starting descriptor. The scan has already resolved all links.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_XDEV)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_SYMLINKS);

/// Mounts that are not entered, by the names that the mount table has for their file systems. A direct
/// autofs mount may be the one that is just being mounted.
const REFUSED: [&str; 3] = ["proc", "sysfs", "autofs"];

/// File systems that are not walked even if the user names a folder on them. Their links lead from one
/// folder to another, so that a walk of sysfs finds millions of paths.
const PROC: (FsWord, &str) = (0x9fa0, "proc");
const SYSFS: (FsWord, &str) = (0x6265_6572, "sysfs");

/// File systems that may give a folder another inode number when nothing has it open: vfat, exFAT, FUSE, CIFS
/// and SMB.
const WITHOUT_LASTING_NUMBERS: [FsWord; 5] =
    [0x4d44, 0x2011_bab0, 0x6573_5546, 0xff53_4d42_u32 as FsWord, 0xfe53_4d42_u32 as FsWord];

/// A folder beneath which files are opened: the scanned folder, or the top of another mount. Everything else
/// is opened relative to a root.
#[derive(Debug)]
pub(super) struct Root {
    access: Access,
    /// Absolute path without links, as of the opening.
    pub(super) path: PathBuf,
    pub(super) mount: u64,
    /// `st_dev` and the inode number.
    pub(super) identity: DiskId,
}

/// How a root is reached.
#[derive(Debug)]
enum Access {
    /// It is held open.
    Held(OwnedFd),
    /// It is opened at its path for each access, because many descriptors are in use.
    AtPath { has_lasting_number: bool },
    /// It is the top of another mount than the source's. It is opened for each access, because the mount
    /// cannot be unmounted while it is open.
    TopOfMount,
}

impl Root {
    pub(super) fn open(path: &Path, flags: OFlags) -> Result<Self, Errno> {
        let fd = rustix::fs::open(&*uncovered(path), flags | OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let (found, path) = (Referent::of(&fd)?, path_of_open(&fd)?);
        let access = if memory::is_among_first(&fd) {
            Access::Held(fd)
        } else {
            let kind = rustix::fs::fstatfs(&fd)?.f_type;
            Access::AtPath { has_lasting_number: !WITHOUT_LASTING_NUMBERS.contains(&kind) }
        };
        Ok(Self { path, mount: found.mount, identity: found.identity, access })
    }

    /// Opens the root if it is still at its path. The inode number is not compared if it does not last. That
    /// of the top of a FUSE mount is another one before its daemon was asked for it.
    fn reopened(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::NOFOLLOW | OFlags::PATH | OFlags::CLOEXEC;
        let fd = rustix::fs::open(&*uncovered(&self.path), flags, Mode::empty())?;
        let found = Referent::of(&fd)?;
        let is_same = match self.access {
            Access::TopOfMount | Access::AtPath { has_lasting_number: false } => {
                found.identity.device == self.identity.device
            }
            Access::Held(_) | Access::AtPath { .. } => found.identity == self.identity,
        };
        if is_same && found.mount == self.mount { Ok(fd) } else { Err(Errno::NOENT) }
    }

    /// Calls `with` with a descriptor of the folder.
    fn with_fd<T>(&self, with: impl FnOnce(&OwnedFd) -> Result<T, Errno>) -> Result<T, Errno> {
        match &self.access {
            Access::Held(fd) => with(fd),
            Access::AtPath { .. } | Access::TopOfMount => with(&self.reopened()?),
        }
    }

    /// Whether files beneath the folder may stay open.
    pub(super) fn keeps_files(&self) -> bool {
        !matches!(self.access, Access::TopOfMount)
    }

    /// Whether both are the same folder, on the same mount.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.mount, self.identity) == (other.mount, other.identity)
    }

    /// The kind of the file system that the folder is on, if it shows the state of the system and no files.
    pub(super) fn without_files(&self) -> Result<Option<&'static str>, Errno> {
        let magic = self.with_fd(|fd| rustix::fs::fstatfs(fd))?.f_type;
        Ok([PROC, SYSFS].into_iter().find(|(refused, _)| *refused == magic).map(|(_, kind)| kind))
    }

    /// Whether the file system of the root was lost: its disk was unplugged, its daemon ended, or its server
    /// forgot the folder. Then no access beneath it succeeds any more, whatever comes back at its path.
    pub(super) fn is_lost(&self) -> bool {
        let opened = self.open_beneath(b"", OFlags::RDONLY | OFlags::DIRECTORY);
        opened.is_err_and(|errno| [Errno::IO, Errno::NOTCONN, Errno::STALE, Errno::NODEV].contains(&errno))
    }

    /// Opens a path beneath the root. An empty path is the root itself.
    pub(super) fn open_beneath(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() { b"." } else { path };
        let flags = flags | OFlags::CLOEXEC;
        self.with_fd(|fd| rustix::fs::openat2(fd, path, flags, Mode::empty(), BENEATH))
    }
}

/// What a descriptor refers to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Referent {
    pub(super) kind: FileType,
    /// The mount number; the device number before Linux 5.8.
    pub(super) mount: u64,
    pub(super) identity: DiskId,
}

impl Referent {
    pub(super) fn of(fd: impl AsFd) -> Result<Self, Errno> {
        let flags = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::MNT_ID;
        // A FUSE mount that is just being made answers no other statx.
        let at = AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
        let stat = rustix::fs::statx(fd, "", at, flags)?;
        let kind = FileType::from_raw_mode(stat.stx_mode.into());
        Ok(Self {
            kind,
            mount: mount_of(&stat),
            identity: DiskId { device: device_of(&stat), inode: stat.stx_ino },
        })
    }
}

/// The tops of mounts, by mount number. None is held open.
#[derive(Debug, Default)]
pub(super) struct MountTops(Mutex<HashMap<u64, Weak<Root>>>);

/// The kind of the mount that a descriptor is on, if it must not be entered. A FUSE daemon may be this
/// process or wait for it, and it may never answer, so the file system is not asked. (A disk that FUSE
/// reads, of the type `fuseblk`, waits for nobody else.) The caller must then drop the descriptor: while it
/// is open, the mount cannot be unmounted.
pub(super) fn refused(fd: &OwnedFd, device: u64) -> Option<&'static str> {
    match owners::mount_of(fd.as_fd()) {
        Some(mounted) if mounted.is_fuse() => Some("FUSE"),
        Some(mounted) => REFUSED.into_iter().find(|refused| *refused == mounted.kind),
        // Detached meanwhile, or beyond the folder that is `/` for this process. Only disks have a major
        // number.
        None => (rustix::fs::major(device) == 0).then_some("detached"),
    }
}

impl MountTops {
    /// The top of the mount with this number, which `path` is on.
    pub(super) fn top(&self, mount: u64, path: &Path) -> Result<Arc<Root>, Errno> {
        let mut tops = self.0.lock();
        // Another mount may have the number by now.
        let known = tops.get(&mount).and_then(Weak::upgrade);
        if let Some(top) = known.filter(|top| path.starts_with(&top.path) && top.reopened().is_ok()) {
            return Ok(top);
        }
        let is_on = |path: &&Path| {
            let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
            let stat = rustix::fs::statx(CWD, *path, flags, StatxFlags::MNT_ID);
            stat.is_ok_and(|stat| mount_of(&stat) == mount)
        };
        let top = path.ancestors().take_while(is_on).last().ok_or(Errno::NOENT)?;
        let root = Root::open(top, OFlags::NOFOLLOW)?;
        if root.mount != mount {
            return Err(Errno::XDEV);
        }
        let top = Arc::new(Root { access: Access::TopOfMount, ..root });
        tops.retain(|_, top| top.strong_count() > 0);
        tops.insert(mount, Arc::downgrade(&top));
        Ok(top)
    }
}

fn mount_of(stat: &Statx) -> u64 {
    let has_mount = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::MNT_ID);
    if has_mount { stat.stx_mnt_id } else { device_of(stat) }
}

/// `st_dev`.
pub(super) fn device_of(stat: &Statx) -> u64 {
    rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor)
}
