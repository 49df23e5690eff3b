//! Where the bytes of a file come from: its archive or its folder, and what changed there since it was
//! opened.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use super::read::{ArchiveContent, FileExtent};
use super::stored_file::{Place, StoredFile};
use crate::folder::{FileChange, FileStat, LooseFile, LooseFolder};
use crate::format::Extent;
use crate::system::disk_id::DiskId;

/// What decides the bytes of a file. Two files with equal keys have equal bytes, if both stores were opened
/// with the same options. Thousands of names of an archive can share one extent, and thousands of links one
/// file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BytesKey(Bytes);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Bytes {
    /// A loose file, which has its own identity.
    Loose(FileStat),
    /// The archive in its state, the added header, and the extents.
    Archived((DiskId, SystemTime, u64), Vec<u8>, Vec<Extent>),
}

impl StoredFile<'_> {
    /// The device of the bytes (`st_dev`).
    pub fn device(&self) -> u64 {
        match self.place {
            Place::Archived(archive, _) => archive.content.file.identity().device,
            Place::Loose(files) => files.folder.device(self.id.entry),
        }
    }

    /// Where the data lies on its disk: in an archive its offset in bytes, and for a loose file the inode
    /// number of its folder. Files of one archive or folder that lie side by side follow each other by
    /// place, and then by entry.
    pub fn place(&self) -> u64 {
        match self.place {
            Place::Archived(..) => self.offset(),
            Place::Loose(files) => files.folder.inode_of_folder(self.id.entry),
        }
    }

    /// Offset of the data in the archive; 0 for a file without data and for a loose file.
    pub fn offset(&self) -> u64 {
        let first = self.plain().and_then(|file| file.extents().next());
        first.map_or(0, |extent| extent.record().offset)
    }

    /// Whether two files certainly have the same bytes; nothing is read. Two entries do if they are
    /// the same entry of one unchanged archive, provided that both stores opened it with the same
    /// options. Two loose files do if they are one file that both stores have statted.
    pub fn is_same(&self, other: &StoredFile<'_>) -> bool {
        match (self.place, other.place) {
            (Place::Archived(one, _), Place::Archived(two, _)) => {
                let state = |archive: &ArchiveContent| {
                    let file = &archive.file;
                    (file.identity(), file.modified(), file.len())
                };
                self.id.entry == other.id.entry && state(&one.content) == state(&two.content)
            }
            (Place::Loose(one), Place::Loose(two)) => {
                let known = one.folder.known(self.id.entry);
                known.is_some() && known == two.folder.known(other.id.entry)
            }
            _ => false,
        }
    }

    /// What decides the bytes. Stats a loose file. `None` if that fails, or if the file is so short that it
    /// costs less to read than to remember.
    pub(crate) fn bytes_key(&self) -> Option<BytesKey> {
        if self.size() < REMEMBERED_MIN {
            return None;
        }
        Some(BytesKey(match self.place {
            Place::Loose(files) => Bytes::Loose(files.stat(self.id).ok()?),
            Place::Archived(archive, form) => {
                let (file, plain) = (&archive.content.file, form.plain());
                let head = plain.archive.tables.head_bytes(plain.entry).into_owned();
                // A size that was learnt from the data is decided by the rest.
                let stated = |it: Extent| Extent { size: it.size.filter(|_| !it.prefix.size), ..it };
                let extents = plain.extents().map(FileExtent::record).map(stated).collect();
                Bytes::Archived((file.identity(), file.modified(), file.len()), head, extents)
            }
        }))
    }

    /// What happened to the file since an earlier view had it at the same path. Stats a loose file if the
    /// earlier view had statted it.
    pub fn change_since(&self, earlier: &StoredFile<'_>) -> FileChange {
        let is_kept = match (self.place, earlier.place) {
            (Place::Archived(now, _), Place::Archived(then, _)) => {
                now.content.number == then.content.number && self.id.entry == earlier.id.entry
            }
            (Place::Loose(now), Place::Loose(then)) => {
                if Arc::ptr_eq(&now.folder, &then.folder) && self.id.entry == earlier.id.entry {
                    return FileChange::None;
                }
                // Comparing bytes is much faster than comparing components.
                if now.folder.path().as_os_str() == then.folder.path().as_os_str() {
                    return loose_change(&now.folder, self.id.entry, &then.folder, earlier.id.entry);
                }
                false
            }
            _ => false,
        };
        if is_kept { FileChange::None } else { FileChange::Replaced }
    }

    /// Takes over what the earlier view has learnt meanwhile about an unchanged loose file, because the
    /// kernel was sent it, and its descriptor. If the file was replaced since, its folder changed, and the
    /// next view detects that.
    pub fn learn_from(&self, earlier: &StoredFile<'_>) {
        if let (Place::Loose(now), Place::Loose(then)) = (self.place, earlier.place)
            && let Some(known) = then.folder.known(earlier.id.entry)
        {
            now.folder.set_known(self.id.entry, known);
            now.folder.share_open(self.id.entry, &then.folder, earlier.id.entry);
        }
    }

    /// The number of the archive, unique in the mount; `None` for a loose file.
    pub fn archive_number(&self) -> Option<u32> {
        self.plain().map(|file| file.archive.number)
    }

    /// A hash of the identity and state of the file's source. It is the same after a restart.
    pub fn identity(&self) -> u64 {
        match self.place {
            Place::Archived(archive, _) => archive.content.file.state_hash(),
            Place::Loose(files) => files.folder.known(self.id.entry).map_or(0, |stat| stat.object()),
        }
    }

    /// Adds to the count of the kernel's references to the file's archive, or subtracts if `more` is
    /// negative. Returns the new count.
    pub fn count_lookups(&self, more: i64) -> i64 {
        match self.place {
            Place::Archived(archive, _) => {
                archive.lookups.fetch_add(more, Ordering::Relaxed).saturating_add(more)
            }
            Place::Loose(_) => 0,
        }
    }

    /// The path on the disk of the folder of a loose file; `None` for an entry of an archive.
    pub fn loose_folder(&self) -> Option<PathBuf> {
        self.folder().map(|folder| folder.folder_of(self.id.entry))
    }

    /// The archive of the file, if it is open only while it is read. While the caller has it, it stays open.
    pub fn lend_archive(&self) -> Option<Arc<File>> {
        match self.place {
            Place::Archived(archive, _) => archive.content.file.lend(),
            Place::Loose(_) => None,
        }
    }

    /// The folder on the disk whose watch reports writes to a loose file; `None` for an entry of an archive.
    pub fn watched_folder(&self) -> Option<PathBuf> {
        self.folder().map(|folder| folder.watched_folder_of(self.id.entry))
    }

    /// Whether a read since the last call found that a loose file was written to after it was statted.
    pub fn take_outdated(&self) -> bool {
        self.folder().is_some_and(|folder| folder.take_outdated(self.id.entry))
    }

    /// Whether a loose file changed since it was statted.
    pub fn is_stale(&self) -> bool {
        self.folder().is_some_and(|folder| folder.is_stale(self.id.entry))
    }

    /// Whether the file is loose, and was found to have several names (hard links).
    pub fn has_links(&self) -> bool {
        self.folder().is_some_and(|folder| folder.known(self.id.entry).is_some_and(|it| it.has_links()))
    }

    /// The state of a loose file as it is now, if it was statted and is still that file.
    pub fn state_now(&self) -> Option<FileStat> {
        self.folder()?.state_now(self.id.entry)
    }

    /// Whether a loose file could not be statted because it is gone, or is no longer a file.
    pub fn is_gone(&self) -> bool {
        self.folder().is_some_and(|folder| folder.is_gone(self.id.entry))
    }

    /// A loose file, if it is open. It stays readable after its folder is gone.
    pub fn open_loose(&self) -> Option<LooseFile> {
        self.folder()?.open_file(self.id.entry)
    }

    fn folder(&self) -> Option<&LooseFolder> {
        match self.place {
            Place::Archived(..) => None,
            Place::Loose(files) => Some(&files.folder),
        }
    }
}

/// Size in bytes from which a result on a file's bytes is remembered.
const REMEMBERED_MIN: u64 = 64 << 10;

/// What happened to a loose file since an earlier scan of its folder.
fn loose_change(now: &LooseFolder, file: u32, then: &LooseFolder, earlier: u32) -> FileChange {
    // The kernel has never seen the attributes of a file that was not statted.
    let Some(known) = then.known(earlier) else { return FileChange::None };
    match now.stat(file) {
        Ok(stat) if !stat.is_same_file(&known) => FileChange::Replaced,
        Ok(stat) if !stat.is_equal(&known) => FileChange::Written,
        // If a file is statted while it is written, its attributes may stay the same afterwards.
        Ok(_) if !known.is_settled() && !now.is_carried(file) => FileChange::Unknown,
        Ok(_) => FileChange::None,
        Err(_) => FileChange::Replaced,
    }
}
