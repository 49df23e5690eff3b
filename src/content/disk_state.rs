//! Changes of sources on the disk since they were opened: events of archives, and loose files that were
//! written to, replaced or removed.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::archive_content::ArchiveContent;
use super::store::Store;
use crate::folder::LooseFile;
use crate::format::EntryId;

impl Store {
    /// The path on the disk of the folder of a loose file; `None` for an entry of an archive.
    pub fn loose_folder(&self, id: EntryId) -> Option<PathBuf> {
        self.loose(id).map(|files| files.folder.folder_of(id.entry))
    }

    /// Records an event of the file with this device and inode number, if it is an archive: `is_written` says
    /// whether its content was written to; otherwise its attributes were changed.
    pub fn note_archive_event(&self, identity: (u64, u64), is_written: bool) {
        // Layers may share a file, and one event may excuse only one touch.
        let mut noted = HashSet::new();
        let archives = self.archives().filter(|archive| archive.file.identity() == identity);
        let files = archives.map(|archive| &archive.file).filter(|file| noted.insert(Arc::as_ptr(file)));
        files.for_each(|file| file.note_event(is_written));
    }

    /// Records that events of archives are reported, if that holds for their folders.
    pub fn note_watched(&self, is_reported: impl Fn(&Path) -> bool) {
        let is_reported = |archive: &&ArchiveContent| archive.path.parent().is_some_and(&is_reported);
        self.archives().filter(is_reported).for_each(|archive| archive.file.note_watched());
    }

    /// The folders for which `is_asked` holds and in which a loose file may have changed since it
    /// was statted.
    pub fn stale_folders(&self, is_asked: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let folders = self.layers.iter().filter_map(|layer| layer.folder());
        folders.flat_map(|files| files.folder.stale_folders(&is_asked)).collect()
    }

    /// Whether a read since the last call found that a loose file was written to after it was statted.
    pub fn take_outdated(&self, id: EntryId) -> bool {
        self.loose(id).is_some_and(|files| files.folder.take_outdated(id.entry))
    }

    /// Whether a loose file changed since it was statted.
    pub fn is_stale(&self, id: EntryId) -> bool {
        self.loose(id).is_some_and(|files| files.folder.is_stale(id.entry))
    }

    /// The folder on the disk whose watch reports writes to a loose file; `None` for an entry of an archive.
    pub fn watched_folder_of(&self, id: EntryId) -> Option<PathBuf> {
        self.loose(id).map(|files| files.folder.watched_folder_of(id.entry))
    }

    /// Whether a loose file could not be statted because it is gone, or is no longer a file.
    pub fn is_gone(&self, id: EntryId) -> bool {
        self.loose(id).is_some_and(|files| files.folder.is_gone(id.entry))
    }

    /// A loose file, if it is open. It stays readable after its folder is gone.
    pub fn open_loose(&self, id: EntryId) -> Option<LooseFile> {
        self.loose(id)?.folder.open_file(id.entry)
    }
}
