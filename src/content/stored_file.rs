//! A file of the store: in a folder of loose files, or in an archive in the form in which it is shown.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::SystemTime;

use rustix::io::Errno;

use super::cache::Buffer;
use super::codec::Quirk;
use super::error::{CopyError, EntryError, FaultLog, ReadFault, Reason};
use super::read::{ArchiveContent, Examined, FileBytes, FileExtent, PlainFile, Resources};
use super::textures::TextureFile;
use crate::folder::{FileChange, FileFault, FileStat, LooseFile, LooseFolder, WholeRead};
use crate::format::{Codec, EntryId, Extent, Head};
use crate::system::disk_id::DiskId;

#[derive(Clone, Copy, Debug)]
pub struct StoredFile<'s> {
    pub(super) id: EntryId,
    pub(super) resources: &'s Resources,
    pub(super) origin: Origin<'s>,
}

/// Where a file's bytes are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin<'s> {
    Loose(&'s LooseFiles),
    Archived(&'s ArchiveLayer, Form<'s>),
}

/// What a file of an archive is shown as.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form<'s> {
    /// As it is stored.
    Plain(PlainFile<'s>),
    /// In another form.
    Texture(TextureFile<'s>),
}

/// How a file is packed, as listings show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// The codec of the file's extents. If there are several, this is the first one that is not `Stored`.
    pub codec: Codec,
    /// Total size of the extents in the archive, in bytes.
    pub packed: u64,
}

impl<'s> StoredFile<'s> {
    /// Finds a file in its layer, and decides what it is shown as.
    pub(super) fn new(id: EntryId, resources: &'s Resources, layer: &'s LayerContent) -> Self {
        let origin = match layer {
            LayerContent::Folder(files) => Origin::Loose(files),
            LayerContent::Archive(archive) => {
                Origin::Archived(archive, Form::new(PlainFile::new(&archive.content, id.entry)))
            }
        };
        Self { id, resources, origin }
    }

    /// Reads `len` bytes from `offset` on, or fewer at the end of the file.
    ///
    /// # Errors
    /// The error of the first extent that cannot be read.
    pub fn read_at(&self, offset: u64, len: u32) -> Result<FileBytes<'s>, EntryError> {
        let range = offset..offset.saturating_add(u64::from(len));
        match self.origin {
            Origin::Loose(files) => {
                files.read(self.id, offset, len).inspect_err(|_| self.resources.count_fault())
            }
            Origin::Archived(archive, form) => form.read(&range).map_err(|fault| self.error(archive, fault)),
        }
    }

    /// Writes the whole file, piece by piece. Returns its size in bytes.
    ///
    /// # Errors
    /// The error of the first extent that cannot be read, as the source of an [`io::Error`]; or the
    /// writer's error.
    pub fn copy_to(&self, to: &mut impl Write) -> io::Result<u64> {
        match self.origin {
            Origin::Loose(files) => files.each_piece(self.id, |bytes| to.write_all(bytes)),
            Origin::Archived(archive, form) => form.copy(to).map_err(|error| match error {
                CopyError::Reader(fault) => io::Error::other(self.error(archive, fault)),
                CopyError::Writer(error) => error,
            }),
        }
    }

    /// Decodes the whole file. Returns the quirks of its extents, all of which were decoded in full.
    ///
    /// # Errors
    /// The error of the first extent that cannot be read.
    pub fn check(&self) -> Result<Vec<Quirk>, EntryError> {
        self.examine().map(|examined| examined.quirks)
    }

    /// Decodes the whole file, as [`StoredFile::check`] does, and finds out what no checksum covers.
    pub(crate) fn examine(&self) -> Result<Examined, EntryError> {
        match self.origin {
            Origin::Loose(files) => {
                let mut examined = Examined::default();
                files.each_piece(self.id, |bytes| {
                    examined.add(bytes);
                    Ok::<_, EntryError>(())
                })?;
                Ok(Examined { unchecked: Some(Codec::Stored), ..examined })
            }
            Origin::Archived(archive, form) => {
                // Only the extents are left to check: the lengths of texels were compared at opening.
                let checked = if let Form::Texture(file) = form { file.check_sizes() } else { Ok(()) };
                checked.and_then(|()| form.plain().examine()).map_err(|fault| self.error(archive, fault))
            }
        }
    }

    /// Begins to read a whole loose file. `None` if the file is in an archive, whose reads detect changes.
    pub(crate) fn begin_whole(&self) -> Result<Option<WholeRead>, EntryError> {
        match self.origin {
            Origin::Loose(files) => files.begin(self.id).map(Some),
            Origin::Archived(..) => Ok(None),
        }
    }

    /// Ends the read of a whole file, after `len` bytes.
    ///
    /// # Errors
    /// [`Reason::FileWritten`](super::error::Reason::FileWritten) if they are not those of one state of it.
    pub(crate) fn end_whole(&self, begun: Option<&WholeRead>, len: u64) -> Result<(), EntryError> {
        match (self.origin, begun) {
            (Origin::Loose(files), Some(begun)) => files.end(self.id, begun, len),
            _ => Ok(()),
        }
    }

    /// The size in bytes; an estimate if the size cannot be read.
    pub fn size_or_estimate(&self) -> u64 {
        let size = match self.origin {
            Origin::Loose(files) => files.stat(self.id).map(|stat| stat.size).ok(),
            Origin::Archived(_, form) => form.size().ok(),
        };
        size.unwrap_or_else(|| self.estimated_size())
    }

    /// The size in bytes, if it is known without reading data.
    pub fn size_if_known(&self) -> Option<u64> {
        match self.origin {
            Origin::Loose(files) => files.size_if_known(self.id.entry),
            Origin::Archived(_, Form::Plain(file)) => file.size_if_known(),
            Origin::Archived(_, Form::Texture(file)) => file.size_if_known(),
        }
    }

    /// Whether the size can never be learnt, because the data contradicts itself or the archive was changed.
    pub fn is_size_lost(&self) -> bool {
        self.plain().is_some_and(PlainFile::is_size_lost)
    }

    /// The size to show if the [size is lost](Self::is_size_lost), and all reads fail: the length of the
    /// packed data in bytes, but at least one. A program would take an empty file for a sound one and never
    /// see the error.
    pub fn estimated_size(&self) -> u64 {
        self.plain().map_or(1, PlainFile::estimated_size)
    }

    /// The mtime: the archive's for an entry of an archive, and the folder's for a loose file that was not
    /// statted.
    pub fn modified(&self) -> SystemTime {
        match self.origin {
            Origin::Archived(archive, _) => archive.content.file.modified(),
            Origin::Loose(files) => match files.folder.known(self.id.entry) {
                Some(stat) => stat.modified(),
                None => files.folder.modified().system_time(),
            },
        }
    }

    /// How the file is packed. A loose file that was not statted counts as 0 bytes.
    pub fn packing(&self) -> Packing {
        let Some(file) = self.plain() else {
            return Packing { codec: Codec::Stored, packed: self.size_if_known().unwrap_or(0) };
        };
        let extents = file.extents().map(FileExtent::record);
        let codec = extents.clone().map(|extent| extent.codec).find(|&codec| codec != Codec::Stored);
        Packing {
            codec: codec.unwrap_or(Codec::Stored),
            packed: extents.map(|extent| u64::from(extent.packed)).sum(),
        }
    }

    /// The header that is added in front of the data.
    pub fn head(&self) -> Head {
        self.plain().map_or(Head::None, |file| file.archive.tables.head(file.entry))
    }

    /// How many bytes of texels a texture of an archive has and how many it needs, if its first mip is not
    /// whole. Reads no data.
    pub(crate) fn missing_texels(&self) -> Option<(u64, u64)> {
        self.plain().and_then(|file| file.archive.tables.missing_texels(file.entry))
    }

    /// Whether a read since the last call found that the stream of the file is longer than declared.
    pub(crate) fn take_longer(&self) -> bool {
        let file = self.plain().map(|file| (file.archive.number, self.id.entry));
        file.is_some_and(|file| self.resources.longer.lock().remove(&file))
    }

    /// The tile mode of a texture as it is shown; `None` if its texels are linear. Reads no data.
    pub fn tile_mode(&self) -> Option<u8> {
        self.plain().and_then(|file| file.archive.tables.tile_mode(file.entry))
    }

    /// The fault of a file whose suspect bytes were served. It is returned once, for the log.
    pub fn take_salvaged(&self) -> Option<EntryError> {
        // Loose files are never suspect.
        let archive = self.plain()?.archive;
        if !self.resources.salvages() {
            return None;
        }
        let ReadFault { at, reason } = self.resources.salvaged.take((archive.number, self.id.entry))?;
        Some(EntryError { entry: self.id, at, reason, is_new: true })
    }

    /// Why a texture is shown as it is stored, although another form was asked for; `None` if it is not, or
    /// if its header was not read yet.
    pub fn kept_reason(&self) -> Option<&'static str> {
        match self.origin {
            Origin::Archived(_, Form::Texture(file)) => file.kept_reason(),
            _ => None,
        }
    }

    /// Like [`Self::kept_reason`], but only for the first such texture of an archive, for the log.
    pub fn take_kept(&self) -> Option<&'static str> {
        let reason = self.kept_reason()?;
        self.plain()?.archive.tables.converted().is_first_kept().then_some(reason)
    }

    /// The packed extents that begin at or after `offset` bytes and are worth decoding ahead, with their
    /// sizes in bytes. A size that is not known yet is estimated. A file whose texels are put into rows has
    /// none.
    pub(crate) fn extents_ahead(&self, offset: u64) -> impl Iterator<Item = (FileExtent<'s>, u32)> + use<'s> {
        let file = match self.origin {
            Origin::Archived(_, Form::Plain(file)) => Some(file),
            Origin::Archived(_, Form::Texture(file)) => file.as_plain(),
            Origin::Loose(_) => None,
        };
        file.into_iter().flat_map(move |file| file.extents_ahead(offset))
    }

    /// Decodes one of [`Self::extents_ahead`] into the cache. `index` is its index.
    pub(crate) fn decode_ahead(&self, index: u32) {
        if let Some(file) = self.plain() {
            file.extent(index).decode_ahead();
        }
    }

    /// Where the packed bytes lie, in bytes from the start of the archive; `None` for a loose file, and if
    /// there are none.
    pub(crate) fn packed_range(&self) -> Option<Range<u64>> {
        let extents = self.plain()?.extents().map(FileExtent::record);
        let ranges = extents.map(|it| it.offset..it.offset.saturating_add(u64::from(it.packed)));
        ranges.reduce(|all, it| all.start.min(it.start)..all.end.max(it.end)).filter(|it| !it.is_empty())
    }

    pub(crate) fn has_several_extents(&self) -> bool {
        self.plain().is_some_and(|file| file.extents().len() > 1)
    }

    /// Learns how the file is shown, if its header decides that.
    pub(super) fn learn_header(&self) -> Result<(), EntryError> {
        match self.origin {
            Origin::Archived(archive, Form::Texture(file)) => {
                file.learn_header().map_err(|fault| self.error(archive, fault))
            }
            _ => Ok(()),
        }
    }

    /// Whether the header must be read to know how the file is shown.
    pub(super) fn needs_header(&self) -> bool {
        matches!(self.origin, Origin::Archived(_, Form::Texture(file)) if file.needs_header())
    }

    /// The file as its archive stores it, if it is shown like that as far as is known.
    pub(super) fn shown_plain(&self) -> Option<PlainFile<'s>> {
        match self.origin {
            Origin::Archived(_, Form::Plain(file)) => Some(file),
            Origin::Archived(_, Form::Texture(file)) if file.converted_len().is_none() => file.as_plain(),
            _ => None,
        }
    }

    /// The file as its archive stores it; `None` if it is loose.
    pub(super) fn plain(&self) -> Option<PlainFile<'s>> {
        match self.origin {
            Origin::Archived(_, form) => Some(form.plain()),
            Origin::Loose(_) => None,
        }
    }

    /// Makes the error of a failed read, and counts it.
    pub(super) fn error(&self, archive: &ArchiveLayer, ReadFault { at, reason }: ReadFault) -> EntryError {
        let is_new = archive.faults.is_new(self.id.entry, &reason);
        self.resources.count_fault();
        EntryError { entry: self.id, at, reason, is_new }
    }
}

impl<'s> Form<'s> {
    /// The form that the archive was opened for.
    fn new(file: PlainFile<'s>) -> Self {
        match file.archive.tables.form(file.entry) {
            None => Self::Plain(file),
            Some(form) => Self::Texture(TextureFile::new(file, form)),
        }
    }

    pub(super) fn plain(&self) -> PlainFile<'s> {
        match self {
            Self::Plain(file) => *file,
            Self::Texture(file) => file.plain(),
        }
    }

    fn read(&self, range: &Range<u64>) -> Result<FileBytes<'s>, ReadFault> {
        match self {
            Self::Plain(file) => file.read(range),
            Self::Texture(file) => file.read(range),
        }
    }

    fn copy(&self, to: &mut impl Write) -> Result<u64, CopyError> {
        match self {
            Self::Plain(file) => file.copy(to),
            Self::Texture(file) => file.copy(to),
        }
    }

    fn size(&self) -> Result<u64, ReadFault> {
        match self {
            Self::Plain(file) => file.size(),
            Self::Texture(file) => file.size(),
        }
    }
}

// Where the bytes of a file come from: its archive or its folder, and what changed there since it was
// opened.

/// What decides the bytes of a file. Two files with equal keys have equal bytes, if both stores were opened
/// with the same options. Thousands of names of an archive can share one extent, and thousands of links one
/// file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BytesKey(BytesSource);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum BytesSource {
    /// A loose file, which has its own identity.
    Loose(FileStat),
    /// The archive in its state, the added header, and the extents.
    Archived((DiskId, SystemTime, u64), Vec<u8>, Vec<Extent>),
}

impl StoredFile<'_> {
    /// The device of the bytes (`st_dev`).
    pub fn device(&self) -> u64 {
        match self.origin {
            Origin::Archived(archive, _) => archive.content.file.identity().device,
            Origin::Loose(files) => files.folder.device(self.id.entry),
        }
    }

    /// Where the data lies on its disk: in an archive its offset in bytes, and for a loose file the inode
    /// number of its folder. Files of one archive or folder that lie side by side follow each other by
    /// position, and then by entry.
    pub fn position(&self) -> u64 {
        match self.origin {
            Origin::Archived(..) => self.offset(),
            Origin::Loose(files) => files.folder.inode_of_folder(self.id.entry),
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
        match (self.origin, other.origin) {
            (Origin::Archived(one, _), Origin::Archived(two, _)) => {
                let state = |archive: &ArchiveContent| {
                    let file = &archive.file;
                    (file.identity(), file.modified(), file.len())
                };
                self.id.entry == other.id.entry && state(&one.content) == state(&two.content)
            }
            (Origin::Loose(one), Origin::Loose(two)) => {
                let known = one.folder.known(self.id.entry);
                known.is_some() && known == two.folder.known(other.id.entry)
            }
            _ => false,
        }
    }

    /// What decides the bytes. Stats a loose file. `None` if that fails, or if the file is so short that it
    /// costs less to read than to remember.
    pub(crate) fn bytes_key(&self) -> Option<BytesKey> {
        if self.size_or_estimate() < REMEMBERED_MIN {
            return None;
        }
        Some(BytesKey(match self.origin {
            Origin::Loose(files) => BytesSource::Loose(files.stat(self.id).ok()?),
            Origin::Archived(archive, form) => {
                let (file, plain) = (&archive.content.file, form.plain());
                let head = plain.archive.tables.head_bytes(plain.entry).into_owned();
                // A size that was learnt from the data is decided by the rest.
                let stated = |it: Extent| Extent { size: it.size.filter(|_| !it.prefix.size), ..it };
                let extents = plain.extents().map(FileExtent::record).map(stated).collect();
                BytesSource::Archived((file.identity(), file.modified(), file.len()), head, extents)
            }
        }))
    }

    /// What happened to the file since an earlier view had it at the same path. Stats a loose file if the
    /// earlier view had statted it.
    pub fn change_since(&self, earlier: &StoredFile<'_>) -> FileChange {
        let is_kept = match (self.origin, earlier.origin) {
            (Origin::Archived(now, _), Origin::Archived(then, _)) => {
                now.content.number == then.content.number && self.id.entry == earlier.id.entry
            }
            (Origin::Loose(now), Origin::Loose(then)) => {
                return now.folder.change_since(self.id.entry, &then.folder, earlier.id.entry);
            }
            _ => false,
        };
        if is_kept { FileChange::None } else { FileChange::Replaced }
    }

    /// Takes over what the earlier view has learnt meanwhile about an unchanged loose file, because the
    /// kernel was sent it, and its descriptor. If the file was replaced since, its folder changed, and the
    /// next view detects that.
    pub fn learn_from(&self, earlier: &StoredFile<'_>) {
        if let (Origin::Loose(now), Origin::Loose(then)) = (self.origin, earlier.origin)
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
        match self.origin {
            Origin::Archived(archive, _) => archive.content.file.state_hash(),
            Origin::Loose(files) => files.folder.known(self.id.entry).map_or(0, |stat| stat.object()),
        }
    }

    /// Adds to the count of the kernel's references to the file's archive, or subtracts if `more` is
    /// negative. Returns the new count.
    pub fn count_lookups(&self, more: i64) -> i64 {
        match self.origin {
            Origin::Archived(archive, _) => {
                archive.lookups.fetch_add(more, Ordering::Relaxed).saturating_add(more)
            }
            Origin::Loose(_) => 0,
        }
    }

    /// The path on the disk of the folder of a loose file; `None` for an entry of an archive.
    pub fn loose_folder(&self) -> Option<PathBuf> {
        self.folder().map(|folder| folder.folder_of(self.id.entry))
    }

    /// The path on the disk of a loose file; `None` for an entry of an archive.
    pub(crate) fn loose_path(&self) -> Option<PathBuf> {
        self.folder().map(|folder| folder.path_of(self.id.entry))
    }

    /// The archive of the file, if it is open only while it is read. While the caller has it, it stays open.
    pub fn lend_archive(&self) -> Option<Arc<File>> {
        match self.origin {
            Origin::Archived(archive, _) => archive.content.file.lend(),
            Origin::Loose(_) => None,
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
        match self.origin {
            Origin::Archived(..) => None,
            Origin::Loose(files) => Some(&files.folder),
        }
    }
}

/// Size in bytes from which a result on a file's bytes is remembered.
const REMEMBERED_MIN: u64 = 64 << 10;

// The bytes of one layer: an archive or a folder of loose files.

#[derive(Debug)]
pub(super) enum LayerContent {
    Archive(ArchiveLayer),
    Folder(LooseFiles),
}

#[derive(Debug)]
pub(super) struct ArchiveLayer {
    pub(super) content: ArchiveContent,
    pub(super) faults: FaultLog,
    /// The kernel's references to inode numbers of this archive: answers that gave it one, minus
    /// those that it forgot.
    pub(super) lookups: AtomicI64,
}

impl LayerContent {
    pub(super) fn of_archive(content: ArchiveContent) -> Self {
        Self::Archive(ArchiveLayer { content, faults: FaultLog::default(), lookups: AtomicI64::new(0) })
    }

    pub(super) fn archive(&self) -> Option<&ArchiveContent> {
        match self {
            Self::Archive(archive) => Some(&archive.content),
            Self::Folder(_) => None,
        }
    }

    pub(super) fn folder(&self) -> Option<&LooseFiles> {
        match self {
            Self::Archive(_) => None,
            Self::Folder(files) => Some(files),
        }
    }

    /// Bytes read so far, without the tables of an archive.
    pub(super) fn bytes_read(&self) -> u64 {
        match self {
            Self::Archive(archive) => archive.content.file.bytes_read(),
            Self::Folder(files) => files.folder.bytes_read(),
        }
    }

    /// The address of what counts the bytes.
    pub(super) fn counter(&self) -> *const () {
        match self {
            Self::Archive(archive) => Arc::as_ptr(&archive.content.file).cast(),
            Self::Folder(files) => Arc::as_ptr(&files.folder).cast(),
        }
    }
}

// The content of a folder of loose files. Each file is one stored extent in a file of its own,
// whose size is learnt when it is first needed.

/// Length of the pieces in which a file is copied and checked, in bytes.
const COPY_LEN: u32 = 1 << 20;

/// The content of one folder.
#[derive(Debug)]
pub(super) struct LooseFiles {
    pub(super) folder: Arc<LooseFolder>,
    faults: FaultLog,
}

impl LooseFiles {
    pub(super) fn new(folder: Arc<LooseFolder>) -> Self {
        Self { folder, faults: FaultLog::default() }
    }

    /// A file's size; `None` if it was not statted yet.
    pub(super) fn size_if_known(&self, file: u32) -> Option<u64> {
        self.folder.known(file).map(|stat| stat.size)
    }

    /// A file's size, mtime and identity. Stats the file unless they are known.
    pub(super) fn stat(&self, id: EntryId) -> Result<FileStat, EntryError> {
        self.folder.stat(id.entry).map_err(|fault| self.fault(id, fault))
    }

    /// Reads `len` bytes of a file from `offset` on, or fewer at the end of the file.
    pub(super) fn read(&self, id: EntryId, offset: u64, len: u32) -> Result<FileBytes<'static>, EntryError> {
        let size = self.size_if_known(id.entry);
        let out = Buffer::new(len as usize, None);
        let mut out = out.map_err(|reason| self.error(id, reason))?;
        let read = self.folder.read_at(id.entry, &mut out, offset);
        let read = read.map_err(|fault| self.fault(id, fault))?;
        let end = offset.saturating_add(read as u64);
        let is_cut = read < out.len() && size.is_some_and(|size| end < size);
        Ok(FileBytes::in_buffer(out, read).with_cut(is_cut))
    }

    /// Begins to read a whole file.
    pub(super) fn begin(&self, id: EntryId) -> Result<WholeRead, EntryError> {
        self.folder.begin_whole(id.entry).map_err(|fault| self.fault(id, fault))
    }

    /// Ends the read of a whole file, after `len` bytes. Fails if another program wrote to it meanwhile,
    /// so that they may be parts of two states.
    pub(super) fn end(&self, id: EntryId, begun: &WholeRead, len: u64) -> Result<(), EntryError> {
        if begun.is_whole(len) { Ok(()) } else { Err(self.error(id, Reason::FileWritten)) }
    }

    /// Reads a whole file, piece by piece. Returns the number of bytes.
    pub(super) fn each_piece<E: From<EntryError>>(
        &self,
        id: EntryId,
        mut use_it: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        let begun = self.begin(id)?;
        let mut at = 0;
        loop {
            let bytes = self.read(id, at, COPY_LEN)?;
            use_it(&bytes)?;
            at += bytes.len() as u64;
            if bytes.len() < COPY_LEN as usize {
                self.end(id, &begun, at)?;
                return Ok(at);
            }
        }
    }

    fn fault(&self, entry: EntryId, fault: FileFault) -> EntryError {
        let reason = match fault {
            FileFault::Replaced => Reason::FileReplaced,
            FileFault::Io(error) => reason(&error),
        };
        self.error(entry, reason)
    }

    fn error(&self, entry: EntryId, reason: Reason) -> EntryError {
        let is_new = self.faults.is_new(entry.entry, &reason);
        EntryError { entry, at: 0, reason, is_new }
    }
}

/// Reads `len` bytes of a loose file that has left the view, from `offset` on, or fewer at its end.
///
/// # Errors
/// [`Reason::FileIo`] or [`Reason::NoMemory`].
pub fn read_open(file: &LooseFile, offset: u64, len: u32) -> Result<FileBytes<'static>, Reason> {
    let mut out = Buffer::new(len as usize, None)?;
    let read = file.read_at(&mut out, offset).map_err(|error| reason(&error))?;
    Ok(FileBytes::in_buffer(out, read))
}

fn reason(error: &io::Error) -> Reason {
    Reason::FileIo(error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()))
}
