//! Files and folders that the test keeps open while the disk changes.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Advice, RawDir, fadvise};
use rustix::io::Errno;

use super::changes::Disk;
use super::seen::{Kind, Node, Seen};

const EIO: i32 = Errno::IO.raw_os_error();
const ESTALE: i32 = Errno::STALE.raw_os_error();
/// Maximum number of open files, and of open folders.
const HELD_MAX: usize = 12;

/// Open files with the bytes that they had, and open folders; the oldest first.
#[derive(Debug, Default)]
pub(super) struct Held {
    files: Vec<(String, File, Vec<u8>)>,
    folders: Vec<(String, File)>,
}

impl Held {
    /// Opens every third file and folder that a mount shows, and closes the oldest. `step` decides
    /// which third.
    pub(super) fn open_every_third(&mut self, root: &Path, seen: &Seen, step: usize) {
        for (path, found) in seen.nodes.iter().skip(step % 3).step_by(3) {
            let Ok(Node { kind, .. }) = found else { continue };
            let open = File::open(root.join(path)).unwrap();
            match kind {
                Kind::Folder(_) => self.folders.push((path.clone(), open)),
                Kind::File(_, Ok(bytes)) => self.files.push((path.clone(), open, bytes.clone())),
                Kind::File(_, Err(_)) => {}
            }
        }
        self.files.drain(..self.files.len().saturating_sub(HELD_MAX));
        self.folders.drain(..self.folders.len().saturating_sub(HELD_MAX));
    }

    /// Describes what is wrong with the open files and folders.
    ///
    /// If its path still leads to it, a file must have the bytes that the path shows now. Otherwise it must
    /// have the bytes that it had when it was opened, or what was written to it since. It may also give
    /// ESTALE. EIO is right only if an archive was rewritten in place.
    ///
    /// A folder must list what its path shows now. If its path leads elsewhere by now, the folder
    /// may also be empty or give an error.
    pub(super) fn faults(&self, seen: &Seen, disk: &Disk) -> Vec<String> {
        let mut faults = Vec::new();
        for (path, file, bytes) in &self.files {
            for offset in [0, bytes.len() / 2] {
                let read = read_behind_cache(file, offset, bytes.len() - offset);
                let is_shown = file.metadata().is_ok_and(|it| seen.numbers.get(path) == Some(&it.ino()));
                let shown = match seen.nodes.get(path) {
                    Some(Ok(Node { kind: Kind::File(_, Ok(bytes)), .. })) if is_shown => bytes,
                    _ => bytes,
                };
                match read {
                    Ok(read) if shown.get(offset..).unwrap_or_default().starts_with(&read) => {}
                    Ok(read) if !is_shown && disk.was_written(offset, &read) => {}
                    Err(ESTALE) if !is_shown => {}
                    Err(EIO) if disk.has_rewritten_archives => {}
                    Ok(read) => faults.push(format!(
                        "{path:?}, kept open: wrong bytes at {offset}, {} of {}: {:?}",
                        read.len(),
                        bytes.len() - offset,
                        String::from_utf8_lossy(&read[..read.len().min(20)])
                    )),
                    Err(errno) => faults.push(format!(
                        "{path:?}, kept open and{} shown: errno {errno}",
                        if is_shown { "" } else { " not" }
                    )),
                }
            }
        }
        for (path, folder) in &self.folders {
            let number = folder.metadata().map(|it| it.ino());
            let is_shown = number.is_ok_and(|number| seen.numbers.get(path) == Some(&number));
            let right = match seen.nodes.get(path) {
                Some(Ok(Node { kind: Kind::Folder(names), .. })) => Some(names),
                _ => None,
            };
            match list_again(folder) {
                Ok(names) if Some(&names) == right => {}
                Ok(names) if !is_shown && names.is_empty() => {}
                Err(_) if !is_shown => {}
                listed => faults.push(format!("{path:?}, kept open: lists {listed:?}, expected {right:?}")),
            }
        }
        faults
    }
}

impl Held {
    /// Describes which open files that left the mount do not have the size and the bytes of one of their
    /// states. ESTALE is right for each, and EIO if an archive was rewritten in place.
    pub(super) fn wrong_sizes(&self, disk: &Disk) -> Vec<String> {
        let mut wrong = Vec::new();
        for (path, file, bytes) in &self.files {
            let Ok(size) = file.metadata().map(|it| it.len()) else { continue };
            let Ok(read) = read_behind_cache(file, 0, size as usize) else { continue };
            let is_state = |state: &[u8]| state.len() as u64 == size && state == read;
            if !is_state(bytes) && !disk.in_place().any(is_state) && !disk.has_rewritten_archives {
                wrong.push(format!("{path:?}, kept open: size {size}, {} bytes are read", read.len()));
            }
        }
        wrong
    }
}

fn read_behind_cache(file: &File, offset: usize, len: usize) -> Result<Vec<u8>, i32> {
    let _ = fadvise(file, 0, None, Advice::DontNeed);
    // The extra byte shows whether the file is too long.
    let mut buffer = vec![0; len + 1];
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], (offset + done) as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.raw_os_error().unwrap()),
        }
    }
    buffer.truncate(done);
    Ok(buffer)
}

/// Lists a folder again through the same descriptor.
fn list_again(folder: &File) -> io::Result<Vec<String>> {
    rustix::fs::seek(folder, rustix::fs::SeekFrom::Start(0))?;
    let mut buffer = Vec::with_capacity(4096);
    let mut entries = RawDir::new(folder, buffer.spare_capacity_mut());
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        let name = entry?.file_name().to_str().unwrap().to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
