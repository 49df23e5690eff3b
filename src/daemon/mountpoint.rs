//! The folder to mount on. It is checked or made, cleared of a dead mount, and removed if bsafs made it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::Dir;
use rustix::io::Errno;

use super::mounts_folder::{LastMount, MadeFolder, make_around};
use crate::failure::{Exit, Failure};
use crate::fuse::unmount;
use crate::shown::Shown;
use crate::system::folder_lock;
use crate::system::mountinfo::{self, MountEntry};
use crate::system::owners::open_mount;
use crate::system::place::Place;
use crate::system::subprocess::Program;
use crate::vfs::sources::folder_name;

/// A folder that is ready to be mounted on. Dropping this removes the folder if it was made here.
#[derive(Debug)]
pub(crate) struct Mountpoint {
    /// The path, absolute and without links.
    pub(crate) path: PathBuf,
    /// The folder that was examined, until something is mounted on it.
    place: Option<Arc<Place>>,
    made: Option<MadeFolder>,
    lock: Option<File>,
    /// Dropped after `made`, which is in this folder.
    _around: Option<LastMount>,
}

impl Mountpoint {
    /// Prepares a folder that the user named. A missing folder is made if its parent exists. The daemon of a
    /// mount that ends now may remove the folder meanwhile; then it is made again.
    pub(crate) fn named(path: &Path, nonempty: bool) -> Result<Self, Failure> {
        match Self::examined(path, nonempty) {
            Err(failure) if failure.cause == Some(io::ErrorKind::NotFound) => Self::examined(path, nonempty),
            done => done,
        }
    }

    fn examined(path: &Path, nonempty: bool) -> Result<Self, Failure> {
        let place = clear_if_dead(path)?.map_err(|mounted| already_mounted(&mounted))?;
        if place.is_folder().map_err(|error| unusable(path, &error))? {
            return match MadeFolder::left_behind(path) {
                Some(left) => Self::claim_made(place, left, nonempty),
                None => Ok(Self::claim(place, nonempty)?),
            };
        }
        if place.found().is_some() {
            return Err(refused(path, "it is not a folder"));
        }
        match MadeFolder::make(path) {
            Ok(made) => Self::claim_made(opened(path)?, made, nonempty),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if path.is_symlink() {
                    Err(refused(path, DANGLING))
                } else {
                    Err(refused(path, AT_ONCE))
                }
            }
            Err(error) => Err(Failure::not_made("the mountpoint", path, &error)),
        }
    }

    /// Prepares the folder that a profile names. The folders above it are made, too, because a profile may be
    /// used on another machine. They are removed with the mountpoint.
    pub(crate) fn of_profile(path: &Path, nonempty: bool) -> Result<Self, Failure> {
        let made = make_around(path).and_then(|()| Self::named(path, nonempty));
        if made.is_err() {
            drop(path.parent().map(|parent| LastMount { around: parent.to_owned() }));
        }
        made
    }

    /// The path that [`Mountpoint::after`] will probably choose. `None` if the current folder does not say.
    pub(crate) fn expected(archive: &Path) -> Option<PathBuf> {
        let is_free = |name: &String| {
            let place = Place::open_without_last_link(Path::new(name)).ok()?;
            let is_free = match place.mounted().ok()? {
                Some(mounted) => mounted.is_bsafs() && is_dead(&mounted),
                None => place.found().is_none() || place.read().and_then(|folder| is_empty(&folder)).ok()?,
            };
            is_free.then_some(())
        };
        let name = folder_name::candidates(archive).take(CANDIDATES).find(|name| is_free(name).is_some())?;
        std::path::absolute(name).ok()
    }

    /// Makes a folder in the current folder, named after an archive or folder. The name gets a
    /// number if it is taken. The name of `expected` is tried first.
    pub(crate) fn after(archive: &Path, expected: Option<&Path>) -> Result<Self, Failure> {
        let expected = expected.and_then(Path::file_name).map(PathBuf::from);
        let candidates = folder_name::candidates(archive).take(CANDIDATES).map(PathBuf::from);
        for path in expected.into_iter().chain(candidates) {
            if clear_if_dead(&path)?.is_err() {
                continue;
            }
            let made = match MadeFolder::make(&path) {
                Ok(made) => Some(made),
                // An empty folder of that name is used: the user made it for this, or a killed
                // daemon left it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => MadeFolder::left_behind(&path),
                Err(error) => return Err(Failure::not_made("the mountpoint", &path, &error)),
            };
            // A link is not followed, because the user did not name it.
            let place = Place::open_without_last_link(&path).map_err(|error| unusable(&path, &error))?;
            if place.is_folder().is_ok_and(|is_folder| is_folder)
                && let Ok(mountpoint) = match made {
                    Some(made) => Self::claim_made(place, made, false),
                    None => Self::claim(place, false).map_err(Failure::from),
                }
            {
                return Ok(mountpoint);
            }
        }
        let what = "all 1000 names of mountpoints for";
        let what = format!("{what} {} are taken; give a mountpoint", archive.shown());
        Err(Failure::new(Exit::CannotCreate, what))
    }

    /// Whether the folder was made here.
    pub(crate) fn is_made(&self) -> bool {
        self.made.is_some()
    }

    /// Whether mounting on the folder will hide a file. The file may not exist yet.
    pub(crate) fn will_hide(&self, file: &Path) -> bool {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let resolved = file.canonicalize().or_else(|_| file.parent().unwrap_or(&file).canonicalize());
        resolved.is_ok_and(|resolved| resolved.starts_with(&self.path))
    }

    /// The folder to mount on. `None` after [`Mountpoint::release`].
    pub(crate) fn place(&self) -> Option<&Arc<Place>> {
        self.place.as_ref()
    }

    /// Claims a folder that was made. If another process has locked it meanwhile, the folder stays,
    /// because that process mounts on it.
    fn claim_made(place: Place, made: MadeFolder, nonempty: bool) -> Result<Self, Failure> {
        if !made.is_at(&place) {
            let path = place.path().unwrap_or_else(|_| place.name().into());
            return Err(refused(&path, AT_ONCE));
        }
        match Self::claim(place, nonempty) {
            Ok(claimed) => {
                let around = claimed.path.parent().map(|parent| LastMount { around: parent.to_owned() });
                Ok(Self { made: Some(made), _around: around, ..claimed })
            }
            Err(refusal) => {
                if matches!(refusal, Refusal::Locked(_)) {
                    made.keep();
                }
                Err(refusal.into())
            }
        }
    }

    /// Checks a folder and locks it until [`Mountpoint::release`]. The kernel would stack two mounts
    /// on one folder; the lock refuses the second. A folder that may not be read is not locked.
    fn claim(place: Place, nonempty: bool) -> Result<Self, Refusal> {
        let path = place.path().map_err(|error| unusable(Path::new("/proc/self/fd"), &error))?;
        let lock = place.read();
        if lock.as_ref().is_ok_and(|folder| !folder_lock::lock(folder)) {
            return Err(Refusal::Locked(refused(&path, AT_ONCE)));
        }
        // Checked again, because another process may have mounted there before this one had the lock.
        if let Some(mounted) = mountinfo::mounted_at(&path) {
            return Err(already_mounted(&mounted).into());
        }
        if !nonempty {
            check_empty(&path, &place)?;
        }
        Ok(Self { path, place: Some(Arc::new(place)), made: None, lock: lock.ok(), _around: None })
    }

    /// Unlocks and closes the folder after mounting, when another process can see the mount. An automount
    /// whose folder is open never ends.
    pub(crate) fn release(&mut self) {
        self.lock = None;
        self.place = None;
    }
}

/// Why a folder could not be claimed.
enum Refusal {
    /// Another process is mounting on it.
    Locked(Failure),
    Other(Failure),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Locked(failure) | Refusal::Other(failure) => failure,
        }
    }
}

/// How long a mount may take to say whether it has a daemon. The kernel says so at once if it has none.
const ANSWER_TIME: Duration = Duration::from_secs(1);
/// The exit code of `bsafs status` if the daemon has ended.
pub(crate) const DEAD_CODE: i32 = 69;
/// How many names for a new mountpoint are tried.
const CANDIDATES: usize = 1000;
const DANGLING: &str = "it is a dangling link";
/// Another process locked the folder, or made it after this process had checked.
const AT_ONCE: &str = "another process is mounting there at the same time";

/// Opens a path, and unmounts the dead mount of a killed bsafs daemon there. Mounts of other programs may
/// recover, and stay. Returns the place, or what is mounted there.
fn clear_if_dead(path: &Path) -> Result<Result<Place, MountEntry>, Failure> {
    let place = opened(path)?;
    let folder = |error: io::Error| unusable(path, &error);
    let Some(mounted) = place.mounted().map_err(folder)? else { return Ok(Ok(place)) };
    if !(mounted.is_bsafs() && is_dead(&mounted)) {
        return Ok(Err(mounted));
    }
    log::warn!("{}: removing the dead mount of a daemon that was killed", path.shown());
    unmount(&mounted, true)
        .map_err(|error| refused(path, &format!("cannot remove the dead mount there: {error}")))?;
    let place = place.reopen().map_err(folder)?;
    Ok(match place.mounted().map_err(folder)? {
        None => Ok(place),
        Some(mounted) => Err(mounted),
    })
}

/// Opens a path. Root mounts only where no other user decides.
fn opened(path: &Path) -> Result<Place, Failure> {
    let place = Place::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if path.is_symlink() => refused(path, DANGLING),
        io::ErrorKind::NotFound => Failure::not_made("the mountpoint", path, &error),
        _ => unusable(path, &error),
    })?;
    place.check_only_root_decides().map_err(|error| refused(path, &error.to_string()))?;
    Ok(place)
}

/// Whether a mount has no daemon any more. Attributes prove nothing, because they are cached for ever. The
/// kernel passes statfs on to the daemon only if the mount is the caller's or has `allow_other`. Otherwise it
/// answers with zeros itself, so that the mount stays. Another process asks: nothing can end one that waits.
/// If it sleeps for a second, a daemon is alive, because the kernel sends no one to sleep for a dead one.
/// Until the process asks, and while it has no processor, a busy machine may delay it.
fn is_dead(mounted: &MountEntry) -> bool {
    let asking =
        Program::itself().args(["status", "--is-dead", &mounted.identity(), "--"]).arg(&mounted.mountpoint);
    asking.code_unless_asleep(ANSWER_TIME).is_ok_and(|code| code == Some(DEAD_CODE))
}

/// Whether the kernel says that a mount, which belongs to this user, has no daemon. Another user may put his
/// mount in the place of the one with this identity.
pub(crate) fn has_no_daemon(mountpoint: &Path, identity: &str) -> bool {
    let Ok(Some(opened)) = open_mount(mountpoint, identity) else { return false };
    // ECONNABORTED: the daemon died during the request.
    matches!(rustix::fs::fstatfs(&opened), Err(Errno::NOTCONN | Errno::CONNABORTED))
}

/// The absolute path of a mountpoint, without links. The mountpoint itself is resolved only if it
/// is a link, because resolving fails on a dead mount. Root follows no link that another user could have set.
pub(crate) fn resolve_mountpoint(path: &Path) -> PathBuf {
    let resolved = Place::open(path).and_then(|place| place.path());
    resolved.unwrap_or_else(|_| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}

fn already_mounted(mounted: &MountEntry) -> Failure {
    let kind = &mounted.kind;
    refused(
        &mounted.mountpoint,
        &format!(
            "a file system ({kind}) is already mounted there; mount elsewhere, or unmount it first \
             (`bsafs umount` if it is a bsafs mount)"
        ),
    )
}

fn check_empty(path: &Path, place: &Place) -> Result<(), Failure> {
    let advice =
        "add -o nonempty to mount over it, or add a mountpoint after it to use this folder as a source";
    match place.read().and_then(|folder| is_empty(&folder)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(refused(path, &format!("the folder is not empty; {advice}"))),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(refused(path, &format!("the folder cannot be read, so it may not be empty; {advice}")))
        }
        Err(error) => Err(unusable(path, &error)),
    }
}

fn is_empty(folder: &File) -> io::Result<bool> {
    for entry in Dir::read_from(folder)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

fn refused(path: &Path, reason: &str) -> Failure {
    Failure::new(Exit::CannotCreate, format!("cannot mount on {}: {reason}", path.shown()))
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::io(Exit::CannotCreate, path, error)
}
