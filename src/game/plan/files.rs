//! What a plan reads from the disk: data folders, lists, INI files, headers of plugins. A file that exists and cannot be
//! read becomes a note.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::data::{DataFile, DataFolder};
use super::plugin::{HEADER_FIRST, Header};
use crate::game::archive_version::{ArchiveVersion, HEAD};
use crate::game::caseless::fold;
use crate::game::disk::Disk;
use crate::game::note::{NoteCode, PlanNote};
use crate::game::settings::ini::{INI_MAX, Ini};

/// Bytes of a list of plugins or mods that are read.
const LIST_MAX: usize = 4 << 20;

/// Reads the names in a data folder. Folders that differ in case alone are noted where `note_case` asks for it.
pub(crate) fn data_folder(
    disk: &Disk,
    path: &Path,
    note_case: bool,
    notes: &mut Vec<PlanNote>,
) -> DataFolder {
    let mut folder = DataFolder { path: path.to_owned(), files: Vec::new() };
    let entries = match disk.entries(path) {
        Ok(entries) => entries,
        Err(error) => {
            notes.push(unreadable(path, &error));
            return folder;
        }
    };
    let mut folders: HashMap<String, Vec<String>> = HashMap::new();
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        // Follows links.
        match std::fs::metadata(entry.path()) {
            Ok(found) if found.is_dir() => folders.entry(fold(&name)).or_default().push(name),
            Ok(found) if found.is_file() => {
                let nanoseconds = u32::try_from(found.mtime_nsec()).unwrap_or(0);
                folder.files.push(DataFile { name, changed: (found.mtime(), nanoseconds) });
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let text = "the link leads nowhere; a mod manager may have moved or removed what it deployed";
                notes.push(PlanNote::new(NoteCode::LinkDangling, path.join(name).to_string_lossy(), text));
            }
            Err(error) => notes.push(unreadable(&path.join(name), &error)),
        }
    }
    if note_case {
        let mut twice: Vec<_> =
            folders.into_values().filter(|names| names.len() > 1).map(PlanNote::folder_case).collect();
        twice.sort_by(|a, b| a.subject.cmp(&b.subject));
        notes.append(&mut twice);
    }
    folder
}

/// A list or settings file; `None` where there is none.
pub(crate) fn list(disk: &Disk, path: &Path, notes: &mut Vec<PlanNote>) -> Option<Vec<u8>> {
    read(disk, path, LIST_MAX, notes)
}

/// An INI file; `None` where there is none.
pub(crate) fn ini(disk: &Disk, path: &Path, notes: &mut Vec<PlanNote>) -> Option<Ini> {
    read(disk, path, INI_MAX, notes).map(|bytes| Ini::parse(&bytes))
}

/// The header of a plugin; `None` where it cannot be read.
pub(crate) fn header(disk: &Disk, path: &Path) -> Option<Header> {
    let (mut bytes, _) = disk.read_start(path, HEADER_FIRST).ok()?;
    let len = Header::len(&bytes);
    if len > bytes.len() && bytes.len() == HEADER_FIRST {
        bytes = disk.read_start(path, len).ok()?.0;
    }
    Header::parse(&bytes)
}

/// The version of an archive; `None` where it cannot be read or is no archive.
pub(crate) fn archive_version(disk: &Disk, path: &Path) -> Option<ArchiveVersion> {
    ArchiveVersion::of(&disk.read_start(path, HEAD).ok()?.0)
}

fn read(disk: &Disk, path: &Path, limit: usize, notes: &mut Vec<PlanNote>) -> Option<Vec<u8>> {
    match disk.read(path, limit) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            notes.push(unreadable(path, &error));
            None
        }
    }
}

fn unreadable(path: &Path, error: &io::Error) -> PlanNote {
    PlanNote::new(NoteCode::FileUnreadable, path.to_string_lossy(), format!("{error}; it is left out"))
}
