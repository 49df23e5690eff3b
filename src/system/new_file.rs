//! A file that is moved to its place only when it is complete. It is made beneath the descriptor of its
//! folder, and follows no link.

use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use rustix::process::geteuid;

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
pub(crate) struct NeedsNames(AtomicBool);

impl NeedsNames {
    /// Finds out whether a file without a name could get one later. Without `/proc`, it could not.
    pub(crate) fn of(folder: &OwnedFd) -> Self {
        Self(AtomicBool::new(!Path::new(&format!("/proc/self/fd/{}", folder.as_raw_fd())).exists()))
    }
}

impl<'f> NewFile<'f> {
    /// Makes a temporary file in a folder. If the file system supports it, the file has no name, so that a
    /// killed process leaves nothing behind.
    pub(crate) fn make(folder: &'f OwnedFd, mode: u32, needs_names: &NeedsNames) -> io::Result<Self> {
        let mut name = part_name();
        let (flags, mode) = (OFlags::WRONLY | OFlags::CLOEXEC, Mode::from_raw_mode(mode));
        if !needs_names.0.load(Ordering::Relaxed) {
            match rustix::fs::openat(folder, c".", flags | OFlags::TMPFILE, mode) {
                Ok(file) => return Ok(Self { folder, file: file.into(), name, has_name: false }),
                Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                    needs_names.0.store(true, Ordering::Relaxed);
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        loop {
            let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            match rustix::fs::openat(folder, &name, flags, mode) {
                Ok(file) => return Ok(Self { folder, file: file.into(), name, has_name: true }),
                // A killed process left a file of this name behind.
                Err(Errno::EXIST) => name = part_name(),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Puts the file in its place. It replaces a file only if one was found there before, and takes
    /// over its permissions.
    ///
    /// # Errors
    /// A system call fails; [`io::ErrorKind::AlreadyExists`] if the name is taken.
    pub(crate) fn place(mut self, name: &[u8], replaced: Option<&Stat>) -> io::Result<()> {
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
        Ok(())
    }
}

/// A file, and the name that it will have.
#[cfg(feature = "pack")]
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
#[cfg(feature = "pack")]
pub(crate) fn place_all(all: Vec<Placement<'_>>) -> io::Result<()> {
    let mut done: Vec<Undo<'_>> = Vec::with_capacity(all.len());
    let mut failed = None;
    for Placement { file, name, replaced } in all {
        let folder = file.folder;
        let placed = Undo::new(folder, &name, replaced.is_some())
            .and_then(|undo| file.place(&name, replaced.as_ref()).map(|()| undo));
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
#[cfg(feature = "pack")]
struct Undo<'f> {
    folder: &'f OwnedFd,
    name: Vec<u8>,
    /// The second name of the replaced file.
    kept: Option<String>,
    is_new: bool,
    is_needed: bool,
}

#[cfg(feature = "pack")]
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
        Ok(Self { folder, name: name.to_vec(), kept, is_new: !is_replaced, is_needed: false })
    }
}

#[cfg(feature = "pack")]
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
