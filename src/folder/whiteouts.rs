//! The marks with which an overlay records in its upper folder what it hides in the layers below: deleted
//! files and folders, and opaque folders, which replaced a deleted folder of the same name.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Statx, StatxFlags, XattrFlags, fgetxattr, flistxattr, fsetxattr,
    open, openat, statat,
};
use rustix::io::Errno;

use super::file_state::kind_of;

/// The start of the names of marks that are files. aufs introduced them, and fuse-overlayfs writes them if it
/// may not make devices.
pub const MARKED: &str = ".wh.";
/// Files or devices that make their folder opaque: of aufs and of fuse-overlayfs.
const OPAQUE_FILES: [&[u8]; 2] = [b".wh..wh..opq", b".wh..opq"];
/// The start of the names of other files that belong to an overlay.
const INTERNAL: &[u8] = b".wh..wh.";
/// Extended attributes that make their folder opaque: of the kernel for root and for other users, and of
/// fuse-overlayfs.
const OPAQUE_ATTRIBUTES: [&str; 3] =
    ["trusted.overlay.opaque", "user.overlay.opaque", "user.fuseoverlayfs.opaque"];

/// An entry of a folder that belongs to an overlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark<'a> {
    /// Hides the file or folder of this name in the layers below.
    Deleted(&'a [u8]),
    /// Hides everything that the layers below have in the folder.
    Opaque,
    /// Hides nothing.
    Internal,
}

impl<'a> Mark<'a> {
    /// The mark that an entry of a folder is; `None` if it is an ordinary entry.
    pub(super) fn of(folder: impl AsFd, name: &'a [u8], kind: FileType) -> Option<Self> {
        match kind {
            FileType::RegularFile => Self::named(name),
            // fuse-overlayfs also makes devices with the names of marks.
            FileType::CharacterDevice if is_zero_device(folder, name) => {
                Self::named(name).or(Some(Self::Deleted(name)))
            }
            _ => None,
        }
    }

    /// The mark that has this name; `None` if the name is not of a mark.
    fn named(name: &'a [u8]) -> Option<Self> {
        match name.strip_prefix(MARKED.as_bytes())? {
            _ if OPAQUE_FILES.contains(&name) => Some(Self::Opaque),
            _ if name.starts_with(INTERNAL) => Some(Self::Internal),
            b"" => Some(Self::Internal),
            deleted => Some(Self::Deleted(deleted)),
        }
    }
}

/// The attribute of a folder that receives the changes of a writable mount.
const EDITED: &str = "user.bsafs.edited";

/// Records in a folder that it receives the changes of a writable mount, if its disk keeps attributes.
pub(crate) fn record_edited(folder: impl AsFd) {
    // The folder may be open only as a place. It can be used without the attribute.
    let opened = openat(folder, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let _ = opened.and_then(|folder| fsetxattr(folder, EDITED, b"y", XattrFlags::empty()));
}

/// Whether there may be marks in a folder: it received the changes of a writable mount, or a mark is directly
/// in it. The folder is not walked.
pub(crate) fn may_have_marks(folder: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = open(folder, flags, Mode::empty()) else { return false };
    let mut value = [0; 1];
    match fgetxattr(&folder, EDITED, &mut value[..]) {
        Err(Errno::NODATA) => {}
        // The disk may keep no attributes.
        Ok(_) | Err(_) => return true,
    }
    let Ok(listing) = Dir::read_from(&folder) else { return false };
    is_opaque(&folder)
        || listing.flatten().any(|entry| {
            let name = entry.file_name().to_bytes();
            let kind = match entry.file_type() {
                FileType::Unknown => kind_of(&folder, name).unwrap_or(FileType::Unknown),
                kind => kind,
            };
            Mark::of(&folder, name, kind).is_some()
        })
}

/// The path that a mark on the disk deletes: another name in its folder, or the folder itself if that
/// replaced a deleted one. `None` if there is no mark at the path.
pub fn deleted_by(mark: &Path) -> Option<PathBuf> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Ok(folder) = open(mark, flags, Mode::empty()) {
        return is_opaque(folder).then(|| mark.to_owned());
    }
    let (above, name) = (mark.parent()?, mark.file_name()?);
    let folder = open(above, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let kind = FileType::from_raw_mode(statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?.st_mode);
    match Mark::of(folder, name.as_bytes(), kind)? {
        Mark::Deleted(name) => Some(above.join(OsStr::from_bytes(name))),
        Mark::Opaque => Some(above.to_owned()),
        Mark::Internal => None,
    }
}

/// Whether an entry is the character device 0/0, which is no device.
fn is_zero_device(folder: impl AsFd, name: &[u8]) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC;
    let is_zero = |it: Statx| (it.stx_rdev_major, it.stx_rdev_minor) == (0, 0);
    rustix::fs::statx(folder, name, flags, StatxFlags::TYPE).is_ok_and(is_zero)
}

/// Whether a folder has an attribute that makes it opaque.
pub(super) fn is_opaque(folder: impl AsFd) -> bool {
    let mut names = [0; 1024];
    let may_have = match flistxattr(&folder, &mut names[..]) {
        Ok(len) => {
            let mut names = names[..len].split(|&byte| byte == 0);
            names.any(|name| OPAQUE_ATTRIBUTES.iter().any(|it| it.as_bytes() == name))
        }
        Err(errno) => errno == Errno::RANGE,
    };
    let is_set = |name: &&str| {
        let mut value = [0; 2];
        // The value `x` only says that files in the folder may be marks.
        fgetxattr(&folder, *name, &mut value[..]).is_ok_and(|len| value[..len] == *b"y")
    };
    may_have && OPAQUE_ATTRIBUTES.iter().any(is_set)
}
