//! A file that is moved to its place only when it is complete. It is made beneath the descriptor of its
//! folder, and follows no link.
//!
//! On most disks such a file has no name until it is complete. On others (NTFS, exFAT, NFS) it has a
//! temporary name. A signal that ends the process removes these names first ([`remove_temporary`]). What
//! a killed process leaves is removed by the next one that writes there ([`remove_stale`]), because its
//! lock is free.

use std::collections::HashSet;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat, flock};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::disk_id::DiskId;
use super::sync::{Mutex, RwLock};

/// The temporary names that this process has made, with their folders.
static TEMPORARY: Mutex<Vec<(OwnedFd, String)>> = Mutex::new(Vec::new());
/// Held while files are placed, so that a signal does not end the process between two of them.
static PLACING: RwLock<()> = RwLock::new(());

/// Removes all temporary names of this process, and lets it place no further files.
pub(crate) fn remove_temporary() {
    let placing = PLACING.write();
    let names = TEMPORARY.lock();
    for (folder, name) in names.iter() {
        let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
    }
    // The process ends now, so that neither lock is needed again.
    std::mem::forget((placing, names));
}

/// Remembers a temporary name until it is gone.
fn register(folder: &OwnedFd, name: &str) {
    // Without another descriptor, a signal leaves the name behind.
    if let Ok(folder) = folder.try_clone() {
        TEMPORARY.lock().push((folder, name.to_owned()));
    }
}

fn unregister(name: &str) {
    TEMPORARY.lock().retain(|(_, known)| known != name);
}

/// Removes the temporary files of this user in a folder that no process holds any more. They were left by a
/// process that was killed.
pub(crate) fn remove_stale(folder: &OwnedFd) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(listed) = rustix::fs::openat(folder, ".", flags, Mode::empty()) else { return };
    let Ok(entries) = Dir::read_from(&listed) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !is_part_name(name.to_bytes()) {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let Ok(file) = rustix::fs::openat(folder, name, flags, Mode::empty()) else { continue };
        let Ok(stat) = rustix::fs::fstat(&file) else { continue };
        let is_own = stat.st_uid == geteuid().as_raw();
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || !is_own {
            continue;
        }
        let is_free = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        let is_it = || {
            let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
            found.is_ok_and(|found| DiskId::from(&found) == DiskId::from(&stat))
        };
        if is_free && is_it() {
            log::info!("removed {}, which a killed process left", name.to_string_lossy().escape_debug());
            let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
        }
    }
}

/// Whether a name is one that [`part_name`] makes.
fn is_part_name(name: &[u8]) -> bool {
    let digits = name.strip_prefix(b".bsafs-").unwrap_or_default();
    digits.len() == 16 && digits.iter().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
}

/// A file that is being written. It is removed when this is dropped, unless it was placed.
#[derive(Debug)]
pub(crate) struct NewFile<'f> {
    folder: &'f OwnedFd,
    /// The open file, to be written to.
    pub(crate) file: File,
    /// The temporary name. A file without a name gets it only for the moment before the rename.
    name: String,
    has_name: bool,
}

/// Whether files get a temporary name at once, because the file system cannot make files without a name.
#[derive(Debug)]
pub(crate) struct NeedsNames {
    is_needed: AtomicBool,
    /// Folders in which names that a killed process left were removed.
    cleaned: Mutex<HashSet<DiskId>>,
}

impl NeedsNames {
    /// Finds out whether a file without a name could get one later. Without `/proc`, it could not.
    pub(crate) fn of(folder: &OwnedFd) -> Self {
        let is_reachable = Path::new(&format!("/proc/self/fd/{}", folder.as_raw_fd())).exists();
        Self { is_needed: AtomicBool::new(!is_reachable), cleaned: Mutex::default() }
    }

    /// Removes what killed processes left in a folder, once.
    fn clean(&self, folder: &OwnedFd) {
        let Ok(stat) = rustix::fs::fstat(folder) else { return };
        if self.cleaned.lock().insert(DiskId::from(&stat)) {
            remove_stale(folder);
        }
    }
}

impl<'f> NewFile<'f> {
    /// Makes a temporary file in a folder. If the file system supports it, the file has no name, so that a
    /// killed process leaves nothing behind.
    pub(crate) fn make(folder: &'f OwnedFd, mode: u32, needs_names: &NeedsNames) -> io::Result<Self> {
        let mut name = part_name();
        let (flags, mode) = (OFlags::RDWR | OFlags::CLOEXEC, Mode::from_raw_mode(mode));
        if !needs_names.is_needed.load(Ordering::Relaxed) {
            match rustix::fs::openat(folder, c".", flags | OFlags::TMPFILE, mode) {
                Ok(file) => return Ok(Self { folder, file: file.into(), name, has_name: false }),
                Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                    needs_names.is_needed.store(true, Ordering::Relaxed);
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        needs_names.clean(folder);
        loop {
            let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            register(folder, &name);
            match rustix::fs::openat(folder, &name, flags, mode) {
                Ok(file) => {
                    // On a disk without locks, another process of this user could take it for a stale one.
                    let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
                    return Ok(Self { folder, file: file.into(), name, has_name: true });
                }
                Err(errno) => {
                    unregister(&name);
                    match errno {
                        // A killed process left a file of this name behind.
                        Errno::EXIST => name = part_name(),
                        errno => return Err(errno.into()),
                    }
                }
            }
        }
    }

    /// Puts the file in its place. It replaces a file only if one was found there before, and takes
    /// over its permissions.
    ///
    /// # Errors
    /// A system call fails; [`io::ErrorKind::AlreadyExists`] if the name is taken.
    pub(crate) fn place(self, name: &[u8], replaced: Option<&Stat>) -> io::Result<()> {
        let _placing = PLACING.read();
        self.place_while_held(name, replaced)
    }

    fn place_while_held(mut self, name: &[u8], replaced: Option<&Stat>) -> io::Result<()> {
        // Only permissions of this user's own file are taken over, and no setuid bit. Otherwise
        // another user could turn the new file into a setuid program of this user.
        if let Some(stat) = replaced.filter(|stat| stat.st_uid == geteuid().as_raw()) {
            // File systems without permissions refuse this. Nothing is lost there.
            let _ = rustix::fs::fchmod(&self.file, Mode::from_raw_mode(stat.st_mode & 0o777));
        }
        if !self.has_name {
            // `linkat` never replaces a file.
            let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            let link = |name: &[u8]| {
                rustix::fs::linkat(rustix::fs::CWD, &own, self.folder, name, AtFlags::SYMLINK_FOLLOW)
            };
            if replaced.is_none() {
                return Ok(link(name)?);
            }
            while let Err(errno) = link(self.name.as_bytes()) {
                match errno {
                    Errno::EXIST => self.name = part_name(),
                    errno => return Err(errno.into()),
                }
            }
            self.has_name = true;
            register(self.folder, &self.name);
        }
        let (folder, part) = (self.folder, self.name.as_bytes());
        let plainly = || rustix::fs::renameat(folder, part, folder, name);
        match replaced {
            Some(_) => plainly(),
            None => match rustix::fs::renameat_with(folder, part, folder, name, RenameFlags::NOREPLACE) {
                // The file system does not know the flag. A hard link replaces nothing either.
                Err(Errno::INVAL | Errno::NOSYS) => {
                    match rustix::fs::linkat(folder, part, folder, name, AtFlags::empty()) {
                        // Then the temporary name is removed below.
                        Ok(()) => return Ok(()),
                        // It has no hard links either. Nothing was there a moment ago.
                        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS) => plainly(),
                        Err(errno) => Err(errno),
                    }
                }
                placed => placed,
            },
        }?;
        self.has_name = false;
        unregister(&self.name);
        Ok(())
    }
}

/// A file, and the name that it will have.
#[derive(Debug)]
pub(crate) struct Placement<'f> {
    pub(crate) file: NewFile<'f>,
    pub(crate) name: Vec<u8>,
    /// The regular file that it replaces.
    pub(crate) replaced: Option<Stat>,
}

/// Puts several files of one folder in their places: all, or none. Until all are there, a file that is
/// replaced keeps a second name.
///
/// # Errors
/// A system call fails; everything is as before, unless taking it back fails, too.
pub(crate) fn place_all(all: Vec<Placement<'_>>) -> io::Result<()> {
    let _placing = PLACING.read();
    let mut done: Vec<Undo<'_>> = Vec::with_capacity(all.len());
    let mut failed = None;
    for Placement { file, name, replaced } in all {
        let folder = file.folder;
        let placed = Undo::new(folder, &name, replaced.is_some())
            .and_then(|undo| file.place_while_held(&name, replaced.as_ref()).map(|()| undo));
        match placed {
            Ok(undo) => done.push(undo),
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    done.iter_mut().rev().for_each(|undo| undo.is_needed = failed.is_some());
    failed.map_or(Ok(()), Err)
}

/// What is at a name before a file is placed there, to take that back.
struct Undo<'f> {
    folder: &'f OwnedFd,
    name: Vec<u8>,
    /// The second name of the replaced file.
    kept: Option<String>,
    /// The replaced file, which is locked, so that no other process takes its second name for one that
    /// was left.
    _locked: Option<OwnedFd>,
    is_new: bool,
    is_needed: bool,
}

impl<'f> Undo<'f> {
    fn new(folder: &'f OwnedFd, name: &[u8], is_replaced: bool) -> io::Result<Self> {
        let mut kept = None;
        while is_replaced && kept.is_none() {
            let second = part_name();
            match rustix::fs::linkat(folder, name, folder, &second, AtFlags::empty()) {
                Ok(()) => kept = Some(second),
                Err(Errno::EXIST) => {}
                // The file system has no hard links, so that a replaced file cannot come back.
                Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let locked = kept.as_ref().and_then(|kept| {
            let file = rustix::fs::openat(folder, kept, flags, Mode::empty()).ok()?;
            flock(&file, FlockOperation::NonBlockingLockExclusive).ok().map(|()| file)
        });
        let (name, is_new) = (name.to_vec(), !is_replaced);
        Ok(Self { folder, name, kept, _locked: locked, is_new, is_needed: false })
    }
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        let _ = match (&self.kept, self.is_needed) {
            (Some(kept), true) => rustix::fs::renameat(self.folder, kept, self.folder, &self.name),
            (Some(kept), false) => rustix::fs::unlinkat(self.folder, kept, AtFlags::empty()),
            (None, true) if self.is_new => {
                rustix::fs::unlinkat(self.folder, &self.name[..], AtFlags::empty())
            }
            (None, _) => Ok(()),
        };
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        if self.has_name {
            let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
            unregister(&self.name);
        }
    }
}

/// Stats a name in a folder without following links; `None` if there is nothing.
///
/// # Errors
/// The system call fails for another reason.
pub(crate) fn stat_in(folder: &OwnedFd, name: &[u8]) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// The names in a folder.
pub(crate) fn names_in(folder: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listed = rustix::fs::openat(folder, ".", flags, Mode::empty())?;
    Dir::read_from(&listed)?.map(|entry| Ok(entry?.file_name().to_bytes().to_owned())).collect()
}

/// The error for a name that is taken by something other than what is written there.
pub(crate) fn in_the_way(kind: FileType) -> io::Error {
    let what = match kind {
        FileType::Directory => "a folder is in the way",
        FileType::Symlink => "a link is in the way",
        FileType::RegularFile => "a file is in the way of a folder",
        _ => "a special file is in the way",
    };
    io::Error::new(io::ErrorKind::AlreadyExists, what)
}

/// A random temporary name. A process id would not do: two processes may have the same one, and an
/// archive may contain such a name.
fn part_name() -> String {
    // The standard library offers random numbers only through its hash maps.
    format!(".bsafs-{:016x}", std::hash::RandomState::new().build_hasher().finish())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_another_holds_stays() {
        let dir = tempfile::TempDir::new().unwrap();
        let folder: OwnedFd = File::open(dir.path()).unwrap().into();
        let needs_names = NeedsNames { is_needed: AtomicBool::new(true), cleaned: Mutex::default() };
        let names = || {
            let names = fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().file_name().into_string());
            let mut names: Vec<String> = names.map(Result::unwrap).collect();
            names.sort();
            names
        };
        for name in [".bsafs-0123456789abcdef", ".bsafs-short", "archive.bsa"] {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        fs::create_dir(dir.path().join(".bsafs-fedcba9876543210")).unwrap();
        let held = NewFile::make(&folder, 0o666, &needs_names).unwrap();
        assert!(held.has_name && names().contains(&held.name));
        assert!(!names().contains(&".bsafs-0123456789abcdef".to_owned()), "{:?}", names());
        // A second process does not take the name that the first one holds.
        remove_stale(&folder);
        assert_eq!(names().len(), 4, "{:?}", names());
        drop(held);
        assert_eq!(names(), [".bsafs-fedcba9876543210", ".bsafs-short", "archive.bsa"]);
    }
}
