//! Moves files from one folder to another on the same disk, with the folders above them. Everything happens
//! beneath the descriptors of both; no link is followed, nothing is replaced, and only empty folders are
//! removed.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, fstat, mkdirat, openat};
use rustix::io::Errno;

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Maximum depth of folders, as in a walk.
const DEPTH_MAX: usize = 128;

/// Moves a file, whose path has `/` between names. Folders that the target lacks are made.
///
/// # Errors
/// A system call fails, or something has the file's name in the target; the file then stays where it is.
pub(crate) fn move_file(from: &OwnedFd, to: &OwnedFd, path: &[u8]) -> io::Result<()> {
    let mut names: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
    let is_name = |name: &&[u8]| !matches!(*name, b"" | b"." | b"..");
    let name = names.pop().filter(is_name).ok_or(io::ErrorKind::InvalidInput)?;
    if !names.iter().all(is_name) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
    for folder in names {
        from = openat(&from, folder, FOLDER, Mode::empty())?;
        let mode = Mode::from_raw_mode(fstat(&from)?.st_mode & 0o777);
        match mkdirat(&to, folder, mode) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        to = openat(&to, folder, FOLDER, Mode::empty())?;
    }
    match rustix::fs::renameat_with(&from, name, &to, name, RenameFlags::NOREPLACE) {
        // The disk does not know the flag.
        Err(Errno::INVAL | Errno::NOSYS) => match rustix::fs::statat(&to, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(rustix::fs::renameat(&from, name, &to, name)?),
            Err(errno) => Err(errno.into()),
            Ok(_) => Err(Errno::EXIST.into()),
        },
        moved => Ok(moved?),
    }
}

/// Removes the folders that are empty now that these files were moved out of them, but not the root.
pub(crate) fn remove_emptied(root: &OwnedFd, files: &[Vec<u8>]) {
    let mut folders: BTreeSet<&[u8]> = BTreeSet::new();
    for path in files {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        folders.extend(ends.map(|(at, _)| &path[..at]));
    }
    // Whatever is below a folder comes after it.
    for folder in folders.into_iter().rev() {
        // A folder with anything else in it stays.
        let _ = parent_of(root, folder).and_then(|(parent, name)| {
            rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR).map_err(io::Error::from)
        });
    }
}

/// The folder that has a path below a root, and the last name of the path.
fn parent_of<'p>(root: &OwnedFd, path: &'p [u8]) -> io::Result<(OwnedFd, &'p [u8])> {
    let mut at = root.try_clone()?;
    let mut names = path.split(|&byte| byte == b'/').peekable();
    while let Some(name) = names.next() {
        if matches!(name, b"" | b"." | b"..") {
            break;
        }
        if names.peek().is_none() {
            return Ok((at, name));
        }
        at = openat(&at, name, FOLDER, Mode::empty())?;
    }
    Err(io::ErrorKind::InvalidInput.into())
}

/// Whether anything has the name of a file below a root, or stands where a folder above it should be.
///
/// # Errors
/// A folder cannot be entered.
pub(crate) fn is_taken(root: &OwnedFd, path: &[u8]) -> io::Result<bool> {
    match parent_of(root, path) {
        Ok((parent, name)) => match rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(errno.into()),
        },
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::NOENT) => Ok(false),
            // A file or a link.
            Some(Errno::NOTDIR | Errno::LOOP) => Ok(true),
            _ => Err(error),
        },
    }
}

/// The paths of all files below a folder, with `/` between names. Whatever is not a folder counts.
///
/// # Errors
/// A folder cannot be read, or is too deep.
pub(crate) fn files_below(folder: impl AsFd) -> io::Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    let root = openat(folder, ".", FOLDER, Mode::empty())?;
    let mut left = vec![(root, Vec::new(), 0)];
    while let Some((folder, path, depth)) = left.pop() {
        if depth > DEPTH_MAX {
            return Err(Errno::NAMETOOLONG.into());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed = openat(&folder, ".", flags, Mode::empty())?;
        for entry in Dir::read_from(&listed)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let path = if path.is_empty() { name.to_vec() } else { [&path[..], b"/", name].concat() };
            let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                left.push((openat(&folder, name, FOLDER, Mode::empty())?, path, depth + 1));
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
