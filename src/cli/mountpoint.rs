//! The folder to mount on: found, checked, made, cleared of a dead mount, and removed again if we made it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;

use super::exit::{Exit, Failure};
use super::folder_name;
use crate::fs::{mountinfo, unmount};

/// A folder that is ready to be mounted on. One that was made here is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Mountpoint {
    /// Absolute and without links.
    pub(super) path: PathBuf,
    is_ours: bool,
}

impl Mountpoint {
    /// Prepares a folder that the user named. It is made if it is missing and its parent exists.
    pub(super) fn named(path: &Path, nonempty: bool) -> Result<Self, Failure> {
        clear_if_dead(path)?;
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                let mountpoint = Self { path: canonical(path)?, is_ours: false };
                mountpoint.check_free(nonempty)?;
                Ok(mountpoint)
            }
            Ok(_) => Err(refused(path, "it is not a folder")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::make(path),
            Err(error) if is_disconnected(&error) => {
                Err(refused(path, "a dead mount of another program is there; `umount` it first"))
            }
            Err(error) => Err(Failure::io(Exit::CannotCreate, path, &error)),
        }
    }

    /// Makes a folder named after an archive, in the current folder; numbered if that name is taken.
    pub(super) fn after(archive: &Path) -> Result<Self, Failure> {
        for name in folder_name::candidates(archive).take(1000) {
            let path = PathBuf::from(name);
            clear_if_dead(&path)?;
            match std::fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::make(&path),
                // An empty folder of that name is meant for this, or was left by a killed daemon.
                Ok(metadata) if metadata.is_dir() && is_free(&path) => {
                    return Ok(Self { path: canonical(&path)?, is_ours: false });
                }
                _ => {}
            }
        }
        Err(Failure::new(
            Exit::CannotCreate,
            format!("there are 1000 folders named after {}; name a mountpoint", archive.display()),
        ))
    }

    /// Whether the folder was made here.
    pub(super) fn is_ours(&self) -> bool {
        self.is_ours
    }

    /// Whether a file, which perhaps does not exist yet, is below the folder.
    pub(super) fn will_hide(&self, file: &Path) -> bool {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let resolved = file.canonicalize().or_else(|_| file.parent().unwrap_or(&file).canonicalize());
        resolved.is_ok_and(|resolved| resolved.starts_with(&self.path))
    }

    fn make(path: &Path) -> Result<Self, Failure> {
        std::fs::create_dir(path).map_err(|error| Failure::io(Exit::CannotCreate, path, &error))?;
        Ok(Self { path: canonical(path)?, is_ours: true })
    }

    fn check_free(&self, nonempty: bool) -> Result<(), Failure> {
        if let Some(mounted) = mountinfo::mounted_at(&self.path) {
            let advice = format!(
                "something ({}) is mounted there already; `bsafs umount` ends a mount of ours",
                mounted.kind
            );
            return Err(refused(&self.path, &advice));
        }
        if !nonempty && !is_free(&self.path) {
            return Err(refused(
                &self.path,
                "it is not empty; what is in it would be hidden (-o nonempty mounts all the same)",
            ));
        }
        Ok(())
    }
}

impl Drop for Mountpoint {
    fn drop(&mut self) {
        if self.is_ours {
            // Fails where it is in use again, and then it stays.
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

/// The error of every access to a mount whose daemon was killed.
fn is_disconnected(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NOTCONN.raw_os_error())
}

/// Unmounts the dead mount of a killed daemon of ours. Mounts of other programs may recover, and stay.
fn clear_if_dead(path: &Path) -> Result<(), Failure> {
    let mountpoint = resolve_mountpoint(path);
    let is_ours = mountinfo::mounted_at(&mountpoint).is_some_and(|mounted| mounted.is_ours());
    if !is_ours || !is_dead(&mountpoint) {
        return Ok(());
    }
    log::warn!("{}: a daemon that was killed left its mount behind; it is taken away", path.display());
    unmount(&mountpoint, true)
        .map_err(|error| refused(path, &format!("a dead mount is there and stays: {error}")))
}

/// Whether a mount has no daemon any more. Attributes are cached for ever and prove nothing: the kernel asks the daemon
/// itself for statfs, if the mount is the caller's or has `allow_other`, and else answers with zeros. A daemon that does
/// not answer within a second is alive: a dead one fails at once.
fn is_dead(mountpoint: &Path) -> bool {
    let (sender, answer) = mpsc::channel();
    let path = mountpoint.to_owned();
    // Nobody receives the answer where it comes too late.
    let asked = thread::Builder::new().spawn(move || sender.send(rustix::fs::statfs(&path).map(drop)));
    // ECONNABORTED: it died while it was asked.
    asked.is_ok()
        && matches!(answer.recv_timeout(Duration::from_secs(1)), Ok(Err(Errno::NOTCONN | Errno::CONNABORTED)))
}

/// The absolute path of a mountpoint, without links. The mountpoint itself is not resolved unless it is a link: that fails
/// on a dead mount.
pub(super) fn resolve_mountpoint(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let absolute: PathBuf = absolute.components().collect();
    match (absolute.parent().map(Path::canonicalize), absolute.file_name()) {
        (Some(Ok(parent)), Some(name)) if !absolute.is_symlink() => parent.join(name),
        _ => absolute.canonicalize().unwrap_or(absolute),
    }
}

/// Whether a folder is empty and nothing is mounted on it.
fn is_free(path: &Path) -> bool {
    let is_mounted = canonical(path).is_ok_and(|path| mountinfo::mounted_at(&path).is_some());
    !is_mounted && std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn canonical(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(|error| Failure::io(Exit::CannotCreate, path, &error))
}

fn refused(path: &Path, why: &str) -> Failure {
    Failure::new(Exit::CannotCreate, format!("cannot mount on {}: {why}", path.display()))
}
