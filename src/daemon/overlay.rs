//! A writable mount: an overlay that shows a mount and a folder of the user as one. The mount itself never
//! changes: everything that is written, changed or deleted goes to that folder. Root gets an overlay of the
//! kernel, other users get one of fuse-overlayfs.
//!
//! The mount itself is next to that folder, and not below the overlay on the same path, because fusermount3
//! may not access a FUSE mount, not even to mount over it.

use std::ffi::{CString, OsString};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, chmod, fstat, lstat, mkdirat, open, openat, unlinkat};
use rustix::io::Errno;
use rustix::mount::MountFlags;

use crate::failure::{Exit, Failure};
use crate::folder::{StoredChanges, record_edited};
use crate::fuse::{MountError, MountRequest, unmount};
use crate::shown::{Shown, quoted};
use crate::system::disk_id::DiskId;
use crate::system::edit_mount::{
    self, LOWER, edit_folder, is_overlay, made_folder, overlay_among, overlay_of, overlay_path,
};
use crate::system::folder_lock;
use crate::system::memory::raise_file_size_limit;
use crate::system::mountinfo::{self, MountEntry};
use crate::system::output_place::OutputPlace;
use crate::system::place::Place;
use crate::system::root_only::{OtherUser, first_other_user};
use crate::system::subprocess::Program;
use crate::system::text::{count, reason, size};
use crate::system::walk::{LastLink, Missing, open_folder};

/// The folders of an overlay, ready to be mounted.
#[derive(Debug)]
pub(crate) struct Overlay {
    /// Next to `upper`, because its work folder must be on the same file system.
    made: OverlayWork,
    upper: EditFolder,
}

/// The folder that is made for an overlay. Dropping this removes the folder with what is in it.
#[derive(Debug)]
struct OverlayWork {
    path: PathBuf,
    /// The folder, locked, because a second overlay with the same folders would break the first.
    lock: OwnedFd,
}

/// The program that makes overlays for ordinary users.
const PROGRAM: &str = "fuse-overlayfs";
/// How long that program may take to mount.
const MOUNT_TIME: Duration = Duration::from_secs(60);
/// The folder beside the mount's in which the overlay prepares files before it renames them.
const WORK: &str = "work";
/// How deep folders in [`WORK`] are removed. Each folder above the one that is read stays open.
const DEPTH_MAX: usize = 256;
/// Longer paths are passed by descriptor, because the kernel takes no more than a page of options.
const LONG: usize = 1000;
/// Flags that do not follow a link, because another user may be allowed to write to the parent folder.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Overlay {
    /// Makes the folders that an overlay with this upper folder needs.
    pub(crate) fn prepare(upper: &Path, mountpoint: &Path) -> Result<Self, Failure> {
        let cannot = |what: String| Failure::new(Exit::CannotCreate, format!("--edit {what}"));
        let upper = EditFolder::check(upper, mountpoint).map_err(cannot)?;
        let shown = upper.path.shown();
        let made = edit_mount::made_for(&upper.path);
        if rustix::process::geteuid().is_root() {
            // Who wrote the disk may have made root the owner of anything.
            if let Some(other) = upper.path.parent().and_then(first_other_user) {
                return Err(cannot(format!("{shown}: {}", refusal(&other))));
            }
        }
        if mountpoint.to_str().is_none() {
            return Err(cannot(format!("{shown}: the path of the mountpoint is not UTF-8; mount elsewhere")));
        }
        let made = OverlayWork::lock(made).map_err(|what| cannot(format!("{shown}: {what}")))?;
        let mut overlay = Self { made, upper };
        overlay.upper.make().map_err(cannot)?;
        // A killed daemon left this mount, because a live one would have the folder locked. The
        // overlay may still be there.
        if let Some(left) = mountinfo::mounted_at(&overlay.lower()).filter(MountEntry::is_bsafs) {
            if let Some(used) = overlay_of(&left) {
                let used = used.mountpoint.shown();
                let what = format!(
                    "still in use by a mount whose daemon was killed; run `bsafs umount {used}` first"
                );
                return Err(cannot(format!("{}: {what}", overlay.upper.path.shown())));
            }
            unmount(&left, true).map_err(|error| cannot(error.to_string()))?;
        }
        overlay.made.empty();
        for name in [LOWER, WORK] {
            match mkdirat(&overlay.made.lock, name, Mode::RWXU) {
                // A folder may be left from a crash of the system. The overlay empties it.
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => {
                    let (folder, error) = (overlay.made.path.join(name), io::Error::from(errno));
                    return Err(cannot(format!("cannot create {}: {error}", folder.shown())));
                }
            }
        }
        Ok(overlay)
    }

    /// The folder that receives changes.
    pub(crate) fn edit_folder(&self) -> &Path {
        &self.upper.path
    }

    /// The folder to mount on, beneath the overlay.
    pub(crate) fn lower(&self) -> PathBuf {
        self.made.path.join(LOWER)
    }

    /// Mounts the overlay on a folder. The mount that `request` made must already answer, on other
    /// threads than this one. The overlay gets the mount's restrictions. Returns the entry of the overlay in
    /// the mount table.
    pub(crate) fn mount(
        &self,
        (mountpoint, place): (&Path, &Place),
        request: &MountRequest,
    ) -> Result<MountEntry, Failure> {
        if let Some(folder) = &self.upper.folder {
            record_edited(folder);
        }
        let failed = |what: String| Failure::new(Exit::CannotCreate, format!("--edit: {what}"));
        let gone = || failed("it is no longer mounted".to_owned());
        let entry = || place.reopen().and_then(|place| place.mounted()).ok().flatten().filter(is_overlay);
        let mut reason = String::new();
        if rustix::process::geteuid().is_root() {
            match self.mount_by_kernel(place, request.restrictions()) {
                Ok(()) => return entry().ok_or_else(gone),
                Err(error) => reason = format!("the kernel cannot mount an overlay ({error}), and "),
            }
            // The program gets a path.
            if !place.is_fixed() {
                let what = format!("{reason}another user can exchange a folder in {}", mountpoint.shown());
                return Err(failed(what));
            }
        }
        self.mount_by_program(mountpoint, request).map_err(|error| failed(format!("{reason}{error}")))?;
        entry().ok_or_else(gone)
    }

    fn mount_by_kernel(&self, place: &Place, flags: MountFlags) -> io::Result<()> {
        let (mut options, _open) = self.options()?;
        // Otherwise a kernel may be set up to store a renamed folder as a reference, and a file without its
        // bytes if only its attributes changed. A layer could not show these.
        options.push(",redirect_dir=off,metacopy=off");
        let options = CString::new(options.as_bytes())?;
        let folder = place.exact_path().ok_or(ErrorKind::NotFound)?;
        Ok(rustix::mount::mount("bsafs", folder, "overlay", flags, options.as_c_str())?)
    }

    fn mount_by_program(&self, mountpoint: &Path, request: &MountRequest) -> Result<(), String> {
        if let Some(path) = self.folders().iter().find(|path| has_separator(path)) {
            let why = "accepts no path with a comma, a colon or a backslash";
            return Err(format!("{PROGRAM} {why}: {}", path.shown()));
        }
        if let Some(limit) = raise_file_size_limit() {
            let limit = size(limit);
            return Err(format!(
                "the limit of file sizes is {limit}, and a larger file would end {PROGRAM}; raise it \
                 (`ulimit -f unlimited`)"
            ));
        }
        let (mut options, _open) = self.options().map_err(|error| error.to_string())?;
        // Otherwise it caches writes, and a program that has closed its file is not told that the disk was
        // full.
        options.push(",nosuid,nodev,writeback=0");
        for (is_set, option) in [(request.noexec, ",noexec"), (request.allow_other, ",allow_other")] {
            options.push(if is_set { option } else { "" });
        }
        // The program goes to the background once it has mounted, and then closes its output.
        let program = Program::installed(PROGRAM).arg("-o").arg(options).arg(mountpoint);
        let run = program.output_within(MOUNT_TIME).map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!("{PROGRAM} is missing; install it"),
            _ => format!("{PROGRAM}: {error}"),
        })?;
        match run {
            Some(run) if run.status.success() => Ok(()),
            Some(run) => Err(format!("{PROGRAM}: {}", String::from_utf8_lossy(&run.stderr).trim().shown())),
            None => Err(format!("{PROGRAM} did not mount within {} seconds", MOUNT_TIME.as_secs())),
        }
    }

    /// The options for both kinds of overlay, and the files that must stay open while mounting.
    fn options(&self) -> io::Result<(OsString, Vec<File>)> {
        let (mut options, mut open) = (OsString::new(), Vec::new());
        for (name, path) in ["lowerdir=", ",upperdir=", ",workdir="].into_iter().zip(self.folders()) {
            options.push(name);
            // No two kernels agree how separators are escaped.
            if !(has_separator(&path) || path.as_os_str().len() > LONG) {
                options.push(path)
            } else {
                let folder = File::open(path)?;
                options.push(format!("/proc/{}/fd/{}", std::process::id(), folder.as_raw_fd()));
                open.push(folder);
            }
        }
        Ok((options, open))
    }

    fn folders(&self) -> [PathBuf; 3] {
        [self.lower(), self.upper.path.clone(), self.made.path.join(WORK)]
    }
}

impl OverlayWork {
    /// Makes the folder or takes an existing one, and locks it.
    fn lock(path: PathBuf) -> Result<Self, String> {
        let not_made = |error: io::Error| format!("cannot create the folder {}: {error}", path.shown());
        let failed = |errno: Errno| not_made(errno.into());
        match OutputPlace::of(&path, Missing::Fail).and_then(|place| place.make_folder(0o700)) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(not_made(error)),
        }
        let folder = open(&path, FOLDER, Mode::empty()).map_err(failed)?;
        let stat = fstat(&folder).map_err(failed)?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(format!("cannot use the folder {}, which belongs to another user", path.shown()));
        }
        let in_use = || "another mount with --edit uses this folder; unmount that one first".to_owned();
        if !folder_lock::lock(&folder) {
            return Err(in_use());
        }
        // A mount that has just ended may have removed the folder.
        let is_there = lstat(&path).is_ok_and(|now| DiskId::from(&now) == DiskId::from(&stat));
        if is_there { Ok(Self { path, lock: folder }) } else { Err(in_use()) }
    }

    /// Removes the contents of the folder: what the overlay has not finished or not removed, such as folders
    /// that were deleted in the mount, and the mark of deleted files that it keeps for later use.
    fn empty(&self) {
        remove_folder(&self.lock, WORK.as_bytes(), DEPTH_MAX);
        let _ = unlinkat(&self.lock, LOWER, AtFlags::REMOVEDIR);
    }
}

/// Removes a folder with its contents, if it is on the disk of the folder around it. No link is followed.
fn remove_folder(around: &OwnedFd, name: &[u8], depth: usize) {
    let Ok(place) = openat(around, name, FOLDER | OFlags::PATH, Mode::empty()) else { return };
    // The kernel makes a folder that nobody may read.
    let _ = chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::RWXU);
    let Ok(folder) = openat(&place, ".", FOLDER, Mode::empty()) else { return };
    let device = |folder: &OwnedFd| fstat(folder).map(|it| it.st_dev).ok();
    if depth == 0 || device(&folder) != device(around) {
        return;
    }
    for entry in Dir::read_from(&folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") && unlinkat(&folder, name, AtFlags::empty()) == Err(Errno::ISDIR) {
            remove_folder(&folder, name, depth - 1);
        }
    }
    let _ = unlinkat(around, name, AtFlags::REMOVEDIR);
}

impl Drop for OverlayWork {
    fn drop(&mut self) {
        self.empty();
        let _ = std::fs::remove_dir(&self.path);
    }
}

/// Why root cannot use a folder that another user can replace.
fn refusal(other: &OtherUser) -> String {
    match other.about_disk() {
        Some(about) => format!("{about}, or give a folder on another disk"),
        None => {
            "another user can replace a folder in its path; mount as that user, or give another folder".into()
        }
    }
}

/// The mount that users see and use: the overlay if there is one, otherwise the mount itself.
pub(crate) fn shown(mounted: &MountEntry) -> MountEntry {
    overlay_of(mounted).unwrap_or_else(|| mounted.clone())
}

/// The path where users see a mount, or saw it before its overlay was unmounted.
pub(crate) fn mountpoint(mounted: &MountEntry) -> PathBuf {
    overlay_path(mounted).unwrap_or_else(|| mounted.mountpoint.clone())
}

/// The bsafs mount of root or of the caller that is left of a writable mount on a path, after the overlay
/// there was unmounted.
pub(crate) fn leftover_of(path: &Path) -> Option<MountEntry> {
    let is_left =
        |it: &MountEntry| it.is_trusted() && Path::new(&it.source) == path && made_folder(it).is_some();
    mountinfo::mounts().into_iter().find(is_left)
}

/// The bsafs mount on a path, or beneath the overlay there.
pub(crate) fn bsafs_mount_at(mountpoint: &Path) -> Option<MountEntry> {
    bsafs_mount_among(&mountinfo::mounts(), mountpoint).cloned()
}

/// As [`bsafs_mount_at`], among mounts in the order of the table.
pub(crate) fn bsafs_mount_among<'a>(mounts: &'a [MountEntry], mountpoint: &Path) -> Option<&'a MountEntry> {
    let is_mount = mountinfo::topmost(mounts, mountpoint).filter(|top| top.is_bsafs());
    is_mount.or_else(|| beneath_among(mounts, mountpoint))
}

/// The bsafs mount that the overlay on a path makes writable.
pub(crate) fn beneath(mountpoint: &Path) -> Option<MountEntry> {
    beneath_among(&mountinfo::mounts(), mountpoint).cloned()
}

fn beneath_among<'a>(mounts: &'a [MountEntry], mountpoint: &Path) -> Option<&'a MountEntry> {
    mountinfo::topmost(mounts, mountpoint).filter(|top| is_overlay(top))?;
    mounts.iter().find(|it| Path::new(&it.source) == mountpoint && overlay_among(mounts, it).is_some())
}

/// A path in a writable mount.
#[derive(Debug)]
pub(crate) struct Beneath {
    /// The path in the mount beneath the overlay.
    pub(crate) lower: PathBuf,
    /// The path relative to the mount.
    pub(crate) within: PathBuf,
    /// The folder that receives changes, if the file was written there.
    pub(crate) written: Option<PathBuf>,
}

/// Finds where a path in a writable mount leads.
pub(crate) fn beneath_path(path: &Path) -> Option<Beneath> {
    path.ancestors().find_map(|folder| {
        let mounted = beneath(folder)?;
        let within = path.strip_prefix(folder).ok()?.to_owned();
        let is_written = |edit: &PathBuf| edit.join(&within).symlink_metadata().is_ok();
        let written = edit_folder(&mounted).filter(is_written);
        Some(Beneath { lower: mounted.mountpoint.join(&within), within, written })
    })
}

/// Unmounts a mount whose overlay is gone, if its daemon does not, and removes the folders that
/// were made for both. Does nothing for other mounts.
pub(crate) fn take_back(mounted: &MountEntry) -> Result<(), MountError> {
    let Some(made) = made_folder(mounted) else { return Ok(()) };
    // Root must not make or open a folder that another user chose.
    let is_own = mounted.user() == rustix::process::geteuid().as_raw();
    let made = Some(made.to_owned()).filter(|_| is_own);
    // Fails if a daemon that hangs, or the next mount, has locked the folder.
    let made = made.and_then(|made| OverlayWork::lock(made).ok());
    if let Some(mounted) = mounted.now() {
        unmount(&mounted, true)?;
    }
    drop(made);
    Ok(())
}

/// Whether a path contains a character that separates options or layers.
fn has_separator(path: &Path) -> bool {
    path.as_os_str().as_bytes().iter().any(|byte| b",:\\".contains(byte))
}

// The folder that receives the changes of a writable mount (`--edit`): it is found or made before the mount,
// and summed up after it.

/// The folder that receives changes. Dropping this removes the folder if it was made here and is empty.
#[derive(Debug)]
pub(super) struct EditFolder {
    /// The path, absolute and without links.
    pub(super) path: PathBuf,
    /// The folder; `None` if it does not exist yet.
    folder: Option<OwnedFd>,
    is_made: bool,
}

impl EditFolder {
    /// Checks the folder of a mount on `mountpoint`. The folder may not exist yet.
    pub(super) fn check(path: &Path, mountpoint: &Path) -> Result<Self, String> {
        let existing = open_folder(path, Missing::Fail, LastLink::Follow);
        let (path, folder) = match existing.and_then(|folder| Ok((path_of(&folder)?, folder))) {
            Ok((path, folder)) => (path, Some(folder)),
            Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => {
                (new_path(path)?, None)
            }
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(format!("{}: not a folder", path.shown()));
            }
            Err(error) => return Err(format!("{}: {}", path.shown(), reason(&error))),
        };
        let folder = Self { path, folder, is_made: false };
        folder.refusal(mountpoint).map_or(Ok(()), |why| Err(format!("{}: {why}", folder.path.shown())))?;
        Ok(folder)
    }

    /// Why the folder cannot be used.
    fn refusal(&self, mountpoint: &Path) -> Option<&'static str> {
        let Some(parent) = self.path.parent() else {
            return Some("the root folder cannot be used; give another folder");
        };
        let device = |path: &Path| path.metadata().as_ref().map(Metadata::dev).ok();
        match () {
            () if self.path.starts_with(mountpoint) || mountpoint.starts_with(&self.path) => {
                Some("the folder and the mountpoint overlap; give a folder elsewhere")
            }
            () if self.folder.is_some() && device(parent) != device(&self.path) => {
                Some("a file system is mounted there; give a folder inside it")
            }
            () => None,
        }
    }

    /// Makes the folder if it does not exist.
    pub(super) fn make(&mut self) -> Result<(), String> {
        if self.folder.is_none() {
            let made = OutputPlace::of(&self.path, Missing::Fail).and_then(|place| place.make_folder(0o777));
            let made =
                made.map_err(|error| format!("cannot create {}: {}", self.path.shown(), reason(&error)))?;
            self.folder = Some(made);
            self.is_made = true;
        }
        Ok(())
    }
}

impl Drop for EditFolder {
    fn drop(&mut self) {
        if self.is_made {
            // Fails if there are changes in the folder.
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

/// The absolute path of a folder to make.
fn new_path(path: &Path) -> Result<PathBuf, String> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(format!("{}: give the path of a new folder", path.shown()));
    };
    match open_folder(parent, Missing::Fail, LastLink::Follow).and_then(|it| path_of(&it)) {
        Ok(parent) => Ok(parent.join(name)),
        Err(error) => Err(format!("{}: cannot make a folder there: {}", path.shown(), reason(&error))),
    }
}

/// The path of an open folder, absolute and without links.
fn path_of(folder: &OwnedFd) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

/// What is in the folder of a writable mount, as one line. `None` if the folder cannot be read. Root reads no
/// folder of another user.
pub(crate) fn summary(edit: &Path) -> Option<String> {
    let folder = open_folder(edit, Missing::Fail, LastLink::Refuse).ok()?;
    let (edit, quoted) = (edit.shown(), quoted(&edit.to_string_lossy()));
    let StoredChanges { files, deletions, is_complete } = StoredChanges::count(folder).ok()?;
    let least = if is_complete { "" } else { "at least " };
    let files = match files {
        0 if is_complete => "no files".to_owned(),
        files => format!("{least}{}", count(files, "file")),
    };
    Some(match deletions {
        0 => format!("{edit} has {files}"),
        deleted => format!(
            "{edit} has {files}, and marks {least}{}. A mod cannot delete files: ship others in their place. \
             `bsafs extract {quoted} --archives files -C FOLDER` copies the files without the marks",
            count(deleted, "deletion")
        ),
    })
}
