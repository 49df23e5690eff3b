//! A file of the store: in a folder of loose files, or in an archive in the form in which it is shown.

use std::io::{self, Write};
use std::ops::Range;
use std::time::SystemTime;

use super::codec::Quirk;
use super::error::{CopyError, EntryError, ReadFault};
use super::layer_content::{ArchiveLayer, LayerContent};
use super::loose::LooseFiles;
use super::read::{Examined, FileBytes, FileExtent, PlainFile, Resources};
use super::textures::{ConvertedFile, LinearFile};
use crate::folder::WholeRead;
use crate::format::{Codec, EntryId, Head};

#[derive(Clone, Copy, Debug)]
pub struct StoredFile<'s> {
    pub(super) id: EntryId,
    pub(super) shared: &'s Resources,
    pub(super) place: Place<'s>,
}

/// Where a file's bytes are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'s> {
    Loose(&'s LooseFiles),
    Archived(&'s ArchiveLayer, Form<'s>),
}

/// What a file of an archive is shown as.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form<'s> {
    /// As it is stored.
    Plain(PlainFile<'s>),
    /// With its texels in rows.
    Linear(LinearFile<'s>),
    /// As its header decides: as pixels, under another header, or in one of the forms above.
    Converted(ConvertedFile<'s>),
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
    pub(super) fn new(id: EntryId, shared: &'s Resources, layer: &'s LayerContent) -> Self {
        let place = match layer {
            LayerContent::Folder(files) => Place::Loose(files),
            LayerContent::Archive(archive) => {
                Place::Archived(archive, Form::new(PlainFile::new(&archive.content, id.entry)))
            }
        };
        Self { id, shared, place }
    }

    /// Reads `len` bytes from `offset` on, or fewer at the end of the file.
    ///
    /// # Errors
    /// The error of the first extent that cannot be read.
    pub fn read_at(&self, offset: u64, len: u32) -> Result<FileBytes<'s>, EntryError> {
        let range = offset..offset.saturating_add(u64::from(len));
        match self.place {
            Place::Loose(files) => {
                files.read(self.id, offset, len).inspect_err(|_| self.shared.count_fault())
            }
            Place::Archived(archive, form) => form.read(&range).map_err(|fault| self.error(archive, fault)),
        }
    }

    /// Writes the whole file, piece by piece. Returns its size in bytes.
    ///
    /// # Errors
    /// The error of the first extent that cannot be read, as the source of an [`io::Error`]; or the
    /// writer's error.
    pub fn copy_to(&self, to: &mut impl Write) -> io::Result<u64> {
        match self.place {
            Place::Loose(files) => files.each_piece(self.id, |bytes| to.write_all(bytes)),
            Place::Archived(archive, form) => form.copy(to).map_err(|error| match error {
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
        match self.place {
            Place::Loose(files) => {
                let mut examined = Examined::default();
                files.each_piece(self.id, |bytes| {
                    examined.add(bytes);
                    Ok::<_, EntryError>(())
                })?;
                Ok(Examined { unchecked: Some(Codec::Stored), ..examined })
            }
            Place::Archived(archive, form) => {
                // Only the extents are left to check: the lengths of texels were compared at opening.
                let checked = form.linear().map_or(Ok(0), |file| file.check_sizes());
                checked.and_then(|_| form.plain().examine()).map_err(|fault| self.error(archive, fault))
            }
        }
    }

    /// Begins to read a whole loose file. `None` if the file is in an archive, whose reads detect changes.
    pub(crate) fn begin_whole(&self) -> Result<Option<WholeRead>, EntryError> {
        match self.place {
            Place::Loose(files) => files.begin(self.id).map(Some),
            Place::Archived(..) => Ok(None),
        }
    }

    /// Ends the read of a whole file, of which `len` bytes were read.
    ///
    /// # Errors
    /// [`Reason::FileWritten`](super::error::Reason::FileWritten) if they are not those of one state of it.
    pub(crate) fn end_whole(&self, begun: Option<&WholeRead>, len: u64) -> Result<(), EntryError> {
        match (self.place, begun) {
            (Place::Loose(files), Some(begun)) => files.end(self.id, begun, len),
            _ => Ok(()),
        }
    }

    /// The size in bytes; an estimate if the size cannot be read.
    pub fn size(&self) -> u64 {
        let size = match self.place {
            Place::Loose(files) => files.stat(self.id).map(|stat| stat.size).ok(),
            Place::Archived(_, form) => form.size().ok(),
        };
        size.unwrap_or_else(|| self.estimated_size())
    }

    /// The size in bytes, if it is known without reading data.
    pub fn known_size(&self) -> Option<u64> {
        match self.place {
            Place::Loose(files) => files.known_size(self.id.entry),
            Place::Archived(_, Form::Plain(file)) => file.known_size(),
            Place::Archived(_, Form::Linear(file)) => Some(file.len()),
            Place::Archived(_, Form::Converted(file)) => file.known_size(),
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

    /// The size in bytes if it is known, otherwise [an estimate](Self::estimated_size).
    pub fn shown_size(&self) -> u64 {
        self.known_size().unwrap_or_else(|| self.estimated_size())
    }

    /// The mtime: the archive's for an entry of an archive, and the folder's for a loose file that was not
    /// statted.
    pub fn modified(&self) -> SystemTime {
        match self.place {
            Place::Archived(archive, _) => archive.content.file.modified(),
            Place::Loose(files) => match files.folder.known(self.id.entry) {
                Some(stat) => stat.modified(),
                None => files.folder.modified().system_time(),
            },
        }
    }

    /// How the file is packed. A loose file that was not statted counts as 0 bytes.
    pub fn packing(&self) -> Packing {
        let Some(file) = self.plain() else {
            return Packing { codec: Codec::Stored, packed: self.known_size().unwrap_or(0) };
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
        file.is_some_and(|file| self.shared.longer.lock().remove(&file))
    }

    /// The tile mode of a texture as it is shown; `None` if its texels are linear. Reads no data.
    pub fn tile_mode(&self) -> Option<u8> {
        self.plain().and_then(|file| file.archive.tables.tile_mode(file.entry))
    }

    /// The fault of a file whose suspect bytes were served. It is returned once, for the log.
    pub fn take_salvaged(&self) -> Option<EntryError> {
        // Loose files are never suspect.
        let archive = self.plain()?.archive;
        if !self.shared.salvages() {
            return None;
        }
        let ReadFault { at, reason } = self.shared.salvaged.take((archive.number, self.id.entry))?;
        Some(EntryError { entry: self.id, at, reason, is_new: true })
    }

    /// Why a texture is shown as it is stored, although another form was asked for; `None` if it is not, or
    /// if its header was not read yet.
    pub fn why_kept(&self) -> Option<&'static str> {
        match self.place {
            Place::Archived(_, Form::Converted(file)) => file.why_kept(),
            _ => None,
        }
    }

    /// Like [`Self::why_kept`], but only for the first such texture of an archive, for the log.
    pub fn take_kept(&self) -> Option<&'static str> {
        let why = self.why_kept()?;
        self.plain()?.archive.tables.converted().is_first_kept().then_some(why)
    }

    /// The packed extents that begin at or after `offset` bytes and are worth decoding ahead, with their
    /// sizes in bytes. A size that is not known yet is estimated. A file whose texels are put into rows has
    /// none.
    pub(crate) fn extents_ahead(&self, offset: u64) -> impl Iterator<Item = (FileExtent<'s>, u32)> + use<'s> {
        let file = match self.place {
            Place::Archived(_, form) if form.linear().is_none() => Some(form.plain()),
            _ => None,
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
        match self.place {
            Place::Archived(archive, Form::Converted(file)) => {
                file.learn_header().map_err(|fault| self.error(archive, fault))
            }
            _ => Ok(()),
        }
    }

    /// Whether the header must be read to know how the file is shown.
    pub(super) fn needs_header(&self) -> bool {
        matches!(self.place, Place::Archived(_, Form::Converted(file)) if file.needs_header())
    }

    /// The file as its archive stores it, if that is what is shown as far as is known.
    pub(super) fn shown_plain(&self) -> Option<PlainFile<'s>> {
        match self.place {
            Place::Archived(_, Form::Plain(file)) => Some(file),
            Place::Archived(_, Form::Converted(file)) if file.converted_len().is_none() => file.as_plain(),
            _ => None,
        }
    }

    /// The file as its archive stores it; `None` if it is loose.
    pub(super) fn plain(&self) -> Option<PlainFile<'s>> {
        match self.place {
            Place::Archived(_, form) => Some(form.plain()),
            Place::Loose(_) => None,
        }
    }

    /// Makes the error of a failed read, and counts it.
    pub(super) fn error(&self, archive: &ArchiveLayer, ReadFault { at, reason }: ReadFault) -> EntryError {
        let is_new = archive.faults.is_new(self.id.entry, &reason);
        self.shared.count_fault();
        EntryError { entry: self.id, at, reason, is_new }
    }
}

impl<'s> Form<'s> {
    /// The form that the archive was opened for.
    fn new(file: PlainFile<'s>) -> Self {
        let linear = LinearFile::new(file);
        match ConvertedFile::new(file, linear) {
            Some(converted) => Self::Converted(converted),
            None => linear.map_or(Self::Plain(file), Self::Linear),
        }
    }

    pub(super) fn plain(&self) -> PlainFile<'s> {
        match self {
            Self::Plain(file) => *file,
            Self::Linear(file) => file.plain(),
            Self::Converted(file) => file.plain(),
        }
    }

    /// The file with its texels in rows, if that is how it is shown, or from what it is converted.
    fn linear(&self) -> Option<LinearFile<'s>> {
        match self {
            Self::Plain(_) => None,
            Self::Linear(file) => Some(*file),
            Self::Converted(file) => file.linear(),
        }
    }

    fn read(&self, range: &Range<u64>) -> Result<FileBytes<'s>, ReadFault> {
        match self {
            Self::Plain(file) => file.read(range),
            Self::Linear(file) => file.read(range),
            Self::Converted(file) => file.read(range),
        }
    }

    fn copy(&self, to: &mut impl Write) -> Result<u64, CopyError> {
        match self {
            Self::Plain(file) => file.copy(to),
            Self::Linear(file) => file.copy(to),
            Self::Converted(file) => file.copy(to),
        }
    }

    fn size(&self) -> Result<u64, ReadFault> {
        match self {
            Self::Plain(file) => file.size(),
            Self::Linear(file) => Ok(file.len()),
            Self::Converted(file) => file.size(),
        }
    }
}
