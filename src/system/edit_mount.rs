//! A writable mount (`--edit`) is two mounts: the one of bsafs, on the folder `lower` of a folder that bsafs
//! made, and the overlay that users see. The mount of bsafs bears the path of the overlay as its source.
//!
//! Whoever mounts chooses where, and the source. So these two prove nothing about another user's mount,
//! and root believes them only for its own mounts, on a folder that only root can have made.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};
use rustix::process::geteuid;

use super::mountinfo::{self, MountEntry, topmost};
use super::owners::Liars;
use super::root_only::only_root_decides;

/// The mount's folder in the made folder.
pub const LOWER: &str = "lower";
/// The suffix of the made folder's name.
const MADE_END: &str = ".bsafs-work";

/// The folder that is made for an overlay, beside the folder that receives the changes.
pub fn made_for(edit_folder: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(edit_folder.file_name().unwrap_or_default());
    name.push(MADE_END);
    edit_folder.parent().unwrap_or(Path::new("/")).join(name)
}

/// Whether a name is that of a folder that is made for an overlay.
pub fn is_made(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b".") && name.as_bytes().ends_with(MADE_END.as_bytes())
}

/// Whether a path is called like the folder of a mount beneath an overlay.
pub fn is_lower(path: &Path) -> bool {
    let made = path.parent().filter(|_| path.ends_with(LOWER));
    made.and_then(Path::file_name).is_some_and(is_made)
}

/// The folder that was made for a mount beneath an overlay. It may be gone with the mount. `None` for other
/// mounts, and for one of root whose folder another user can have made.
pub fn made_folder(mounted: &MountEntry) -> Option<&Path> {
    let made = mounted.mountpoint.parent().filter(|_| mounted.is_bsafs() && is_lower(&mounted.mountpoint))?;
    let needs_proof = geteuid().is_root() && mounted.user() == 0;
    (!needs_proof || only_root_decides(made, &mut Liars::default())).then_some(made)
}

/// The folder that receives the changes of a writable mount.
pub fn edit_folder(mounted: &MountEntry) -> Option<PathBuf> {
    let made = made_folder(mounted)?;
    let name = made.file_name()?.as_bytes().strip_prefix(b".")?.strip_suffix(MADE_END.as_bytes())?;
    Some(made.with_file_name(OsStr::from_bytes(name)))
}

/// The overlay that makes a bsafs mount writable, if it is still mounted. It belongs to the same user.
pub fn overlay_of(mounted: &MountEntry) -> Option<MountEntry> {
    // Most mounts are not beneath an overlay, and the table is long.
    if is_lower(&mounted.mountpoint) { overlay_among(&mountinfo::mounts(), mounted).cloned() } else { None }
}

/// As [`overlay_of`], among mounts in the order of the table.
pub fn overlay_among<'a>(mounts: &'a [MountEntry], mounted: &MountEntry) -> Option<&'a MountEntry> {
    let overlay = topmost(mounts, Path::new(&mounted.source))?;
    (is_overlay(overlay) && overlay.user() == mounted.user() && made_folder(mounted).is_some())
        .then_some(overlay)
}

/// The path of the overlay over a mount, or of the overlay that was there. `None` for other mounts. Only the
/// mounts of root and of the caller say where an overlay was that is gone.
pub fn overlay_path(mounted: &MountEntry) -> Option<PathBuf> {
    match made_folder(mounted) {
        Some(_) if mounted.is_trusted() => Some(PathBuf::from(&mounted.source)),
        _ => Some(overlay_of(mounted)?.mountpoint),
    }
}

/// Whether this is an overlay, of the kernel or of fuse-overlayfs.
pub fn is_overlay(mounted: &MountEntry) -> bool {
    ["overlay", "fuse.fuse-overlayfs"].contains(&mounted.kind.as_str())
}

/// Returns a function that checks whether a device number, as `stat` returns it, belongs to a mount of bsafs
/// or to the overlay that makes such a mount writable. `None` if there is no such mount.
pub fn bsafs_devices() -> Option<impl Fn(u64) -> bool> {
    let mounts = mountinfo::mounts();
    let ours = || mounts.iter().filter(|mounted| mounted.is_bsafs());
    let overlays = ours().filter_map(|mounted| overlay_among(&mounts, mounted));
    let devices: HashSet<String> = ours().chain(overlays).map(|mounted| mounted.device.clone()).collect();
    if devices.is_empty() {
        return None;
    }
    Some(move |device| devices.contains(&format!("{}:{}", major(device), minor(device))))
}
