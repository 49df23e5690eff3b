//! The archives of Oblivion, Fallout 3, New Vegas and Skyrim (TES4 family, versions 103 to 105;
//! FORMATS.md section 1).
//!
//! Tables are read in stored order. Several tools write wrong offsets into folder records. So an offset is
//! used only if the block at the next place does not have the folder's name, and the block at the offset has.

use std::sync::Arc;

use super::archive::{About, Archive, Codec, Entry, Extent, ExtentPrefix, Files, Name};
use super::detect::Format;
use super::error::ParseError;
use super::hash::{Family, Hash};
use super::limits::{Limits, Options};
use super::naming::{Names, unpadded};
use super::structure::PastEnd;
use super::tes4_flag as flag;
use super::tes4_names::{FoundNames, Table};
use crate::kinds::{BSA, is_dds};
use crate::note::{NoteCode, Notes};
use crate::read::{Bytes, Reader, Record, UnexpectedEnd};

/// This format's row in [`super::FORMATS`].
pub const FORMAT: Format =
    Format { name: "TES4", extensions: &[BSA], shared_extensions: &[], recognises, parse };

pub(super) const MAGIC: &[u8] = b"BSA\0";
pub(super) const HEADER_LEN: u64 = 36;
/// Length of the common beginning of folder records of all versions, in bytes.
const FOLDER_RECORD_START: usize = 12;
/// Length of a file record in bytes.
pub(super) const FILE_RECORD_LEN: usize = 16;

/// Bit in a file record's size: inverts the archive's default of compression for this file.
pub(super) const INVERTED: u32 = 1 << 30;
/// Bit in a file record's offset: a mark of the running game, or the highest bit of an offset past 2 GiB.
const SECONDARY: u32 = 1 << 31;
/// The bits of a file record's size that are the size. The highest bit is a mark of the running game.
pub(super) const SIZE_MASK: u32 = INVERTED.wrapping_sub(1);

fn recognises(archive: Bytes<'_>) -> bool {
    archive.starts_with(MAGIC)
}

fn parse<'a>(archive: Bytes<'a>, options: &Options) -> Result<Archive<'a>, ParseError> {
    let mut header = Header::read(archive, options)?;
    let mut notes = Notes::new(options.limits.notes);
    if header.layout != header.version {
        let Header { version, layout, .. } = header;
        notes.add_at(NoteCode::VersionUnknown, 4, || {
            format!("BSA version {version} is not known; --force reads it as version {layout}")
        });
    }
    header.find_folder_records(archive, &mut notes);
    let mut folders = Folders::new(archive, &header)?;
    let mut past_end = PastEnd::new(header.len);
    let checked = check_folders(&header, folders.clone(), &options.limits, &mut past_end, &mut notes)?;
    folders.uses_offsets = checked.moved_folders > 0;
    let mut tables = Tables {
        archive,
        header,
        folders,
        names: Names::Table(Reader::empty()),
        count: checked.files,
        is_named: false,
        unstated_names: Arc::default(),
    };
    // Names that only the data stores may be anything.
    let (mut names_range, mut has_ascii_names) = (0..0, false);
    if tables.header.has(flag::FILE_NAMES) {
        let chosen = tables.choose_names(&checked);
        chosen.note(checked.end, &mut notes);
        tables.is_named = chosen.unnamed == 0 && tables.header.has(flag::FOLDER_NAMES);
        has_ascii_names = tables.is_named && checked.has_ascii_folders && chosen.is_ascii;
        (tables.names, names_range) = (chosen.names, chosen.range);
    }
    past_end.add_note(&mut notes, "file");
    tables.unstated_names = tables.find_unstated_names(checked.first_data.as_ref(), names_range.end);
    if let count @ 1.. = tables.unstated_names.len() {
        notes.add_at(NoteCode::NameFlagWrong, 12, || {
            format!(
                "files whose data begins with their own path, which no flag states and which is left out: \
                 {count}"
            )
        });
    }
    Ok(Archive {
        about: tables.about(),
        hashes: tables.header.family(),
        tables: vec![0..checked.end, names_range],
        files: Arc::new(tables),
        heads: Arc::default(),
        sniffed: Vec::new(),
        has_ascii_names,
        notes: notes.into_vec(),
    })
}

/// The header, and the length of the archive.
#[derive(Clone, Debug)]
struct Header {
    version: u32,
    /// The known version whose layout is used to read the archive. Differs from `version` only if
    /// the user forced it.
    layout: u32,
    folder_records: u64,
    flags: u32,
    folders: u32,
    files: u32,
    /// Length of the names with their NULs but without their length bytes, in bytes.
    folder_names_len: u32,
    file_names_len: u32,
    /// Length of the archive in bytes.
    len: u64,
}

impl Header {
    fn read(archive: Bytes<'_>, options: &Options) -> Result<Self, ParseError> {
        let mut reader = Reader::new(archive);
        reader.skip(4, "the magic number")?;
        let version = reader.u32("the version")?;
        let header = Self {
            version,
            layout: version.clamp(103, 105),
            folder_records: u64::from(reader.u32("the offset of the folder records")?),
            flags: reader.u32("the archive flags")?,
            folders: reader.u32("the count of folders")?,
            files: reader.u32("the count of files")?,
            folder_names_len: reader.u32("the length of the folder names")?,
            file_names_len: reader.u32("the length of the file names")?,
            len: Reader::new(archive).left(),
        };
        // The types of the content (u16), and padding with arbitrary content.
        reader.skip(4, "the content flags")?;
        if header.layout != version && !options.force {
            return Err(ParseError::unsupported(
                4,
                format!("BSA version {version}; the known versions are 103, 104 and 105"),
            ));
        }
        options.limits.check_count(16, u64::from(header.folders), "folders")?;
        Ok(header)
    }

    fn has(&self, bit: u32) -> bool {
        self.flags & bit != 0
    }

    fn has_embedded_names(&self) -> bool {
        self.layout >= 104 && self.has(flag::EMBEDDED_NAMES)
    }

    fn folder_record_len(&self) -> usize {
        if self.layout == 105 { 24 } else { 16 }
    }

    fn family(&self) -> Family {
        if self.has(flag::XBOX_360) { Family::Tes4Xbox } else { Family::Tes4 }
    }

    fn codec(&self) -> Codec {
        match self.layout {
            105 => Codec::Lz4Frame,
            104 if self.has(flag::XMEM) => Codec::Xmem,
            _ => Codec::Zlib,
        }
    }

    /// The extent that a file record describes (FORMATS.md 1.4 and 1.6).
    fn extent(&self, file: &FileRecord<'_>) -> Extent {
        let (size, offset) = (file.size_and_flags(), file.offset_and_flag());
        let packed = size & SIZE_MASK;
        let fits = |offset: u32| u64::from(offset).saturating_add(u64::from(packed)) <= self.len;
        let offset = if fits(offset) || !fits(offset & !SECONDARY) { offset } else { offset & !SECONDARY };
        let compressed = self.has(flag::COMPRESSED) != (size & INVERTED != 0);
        let prefix =
            ExtentPrefix { name: self.has_embedded_names() && packed > 0, size: compressed && packed > 0 };
        Extent {
            offset: u64::from(offset),
            packed,
            size: if prefix.is_none() { Some(packed) } else { None },
            codec: if compressed && packed > 0 { self.codec() } else { Codec::Stored },
            prefix,
        }
    }

    /// Corrects the offset of the folder records if no folder is there, but one is at the usual offset.
    fn find_folder_records(&mut self, archive: Bytes<'_>, notes: &mut Notes) {
        let stated = self.folder_records;
        if stated == HEADER_LEN {
            return;
        }
        let usual = Self { folder_records: HEADER_LEN, ..self.clone() };
        let has_folder = |header: &Self| {
            let folder = Folders::new(archive, header).and_then(|mut folders| folders.next());
            folder
                .is_ok_and(|folder| folder.is_some_and(|it| it.is_proved || !header.has(flag::FOLDER_NAMES)))
        };
        if !has_folder(self) && has_folder(&usual) {
            *self = usual;
            notes.add_at(NoteCode::TablesOdd, 8, || {
                format!("the folder records begin at {HEADER_LEN}, not at the stated offset {stated}")
            });
        } else {
            notes.add_at(NoteCode::TablesOdd, 8, || {
                format!(
                    "the folder records begin at offset {stated}; all known tools put them at {HEADER_LEN}"
                )
            });
        }
    }

    /// Where the file names begin according to the totals in the header. Unused bytes may lie between the
    /// last folder block and the names (OpenMW).
    fn computed_names(&self, count: u32) -> u64 {
        let folder_names = if self.has(flag::FOLDER_NAMES) {
            u64::from(self.folders).saturating_add(u64::from(self.folder_names_len))
        } else {
            0
        };
        self.folder_records
            .saturating_add(len_of(self.folders, self.folder_record_len()))
            .saturating_add(folder_names)
            .saturating_add(len_of(count, FILE_RECORD_LEN))
    }
}

/// Length of `count` records of `width` bytes each, in bytes.
fn len_of(count: u32, width: usize) -> u64 {
    u64::try_from(width).unwrap_or(u64::MAX).saturating_mul(u64::from(count))
}

/// Walks the folders. All folder records come first. One block for each folder follows, with its
/// name and file records.
#[derive(Clone, Debug)]
struct Folders<'a> {
    archive: Bytes<'a>,
    family: Family,
    records: Reader<'a>,
    /// Length of a folder record in bytes.
    record_len: usize,
    /// Reads the next block.
    blocks: Reader<'a>,
    has_names: bool,
    /// Whether offsets in folder records are examined.
    uses_offsets: bool,
    /// What the offsets of folders add to the position of their block: the length of all file names.
    added_to_offsets: u64,
}

/// A folder, and a reader of its file records.
struct Folder<'a> {
    hash: u64,
    name: Option<&'a [u8]>,
    /// Whether the hash is that of the name.
    is_proved: bool,
    /// Whether the block is at its offset, and not where the previous one ends.
    is_moved: bool,
    /// The offset of the count of files.
    count_at: u64,
    count: u32,
    files: Reader<'a>,
}

impl<'a> Folders<'a> {
    fn new(archive: Bytes<'a>, header: &Header) -> Result<Self, ParseError> {
        let mut blocks = Reader::at(archive, header.folder_records, "the folder records")?;
        let record_len = header.folder_record_len();
        let records = blocks.records(header.folders, record_len, "the folder records")?;
        Ok(Self {
            archive,
            family: header.family(),
            records,
            record_len,
            blocks,
            has_names: header.has(flag::FOLDER_NAMES),
            uses_offsets: true,
            added_to_offsets: u64::from(header.file_names_len),
        })
    }

    /// The next folder; `None` at the end.
    fn next(&mut self) -> Result<Option<Folder<'a>>, ParseError> {
        if self.records.left() == 0 {
            return Ok(None);
        }
        let mut record = self.records.records(1, self.record_len, "a folder's record")?;
        let record = FolderRecord::read(&mut record)?;
        let mut blocks = self.blocks.clone();
        let mut folder = self.block(&record, &mut blocks);
        if self.uses_offsets && self.has_names && !folder.as_ref().is_ok_and(|folder| folder.is_proved) {
            let offsets = [record.offset.saturating_sub(self.added_to_offsets), record.offset];
            let moved = offsets.into_iter().find_map(|offset| {
                let mut blocks = Reader::at(self.archive, offset, "a folder's name").ok()?;
                let folder = self.block(&record, &mut blocks).ok().filter(|folder| folder.is_proved)?;
                Some((folder, blocks))
            });
            if let Some((found, after)) = moved {
                folder = Ok(Folder { is_moved: true, ..found });
                blocks = after;
            }
        }
        let folder = folder?;
        self.blocks = blocks;
        Ok(Some(folder))
    }

    /// Reads the block of a folder, which `blocks` is positioned at.
    fn block(&self, record: &FolderRecord, blocks: &mut Reader<'a>) -> Result<Folder<'a>, UnexpectedEnd> {
        let FolderRecord { hash, count, count_at, .. } = *record;
        // The root has no name, and some packers write hashes of 0. Both prove nothing.
        let is_hash_of = |name: &[u8]| {
            hash != 0 && !name.is_empty() && self.family.folder_candidates(name).any(|it| it == hash)
        };
        let name = if self.has_names {
            Some(unpadded(blocks.bzstring("a folder's name")?, is_hash_of))
        } else {
            None
        };
        let files = blocks.records(count, FILE_RECORD_LEN, "a folder's file records")?;
        let is_proved = self.uses_offsets && name.is_some_and(is_hash_of);
        Ok(Folder { hash, name, is_proved, is_moved: false, count_at, count, files })
    }
}

/// What one walk of all folders finds.
struct FolderSummary {
    /// How many files the folders contain.
    files: u32,
    /// Where the last folder block ends.
    end: u64,
    /// How many folders have their block at their offset, not after the previous one.
    moved_folders: u32,
    /// The hashes of the first and of the last file.
    first_hash: u64,
    last_hash: u64,
    has_ascii_folders: bool,
    /// Where the first data begins. Data that lies before the end of the folders is left out.
    data: u64,
    /// The file whose data comes first.
    first_data: Option<(Hash, Extent)>,
}

/// Walks all folders once to check their tables.
fn check_folders(
    header: &Header,
    mut folders: Folders<'_>,
    limits: &Limits,
    past_end: &mut PastEnd,
    notes: &mut Notes,
) -> Result<FolderSummary, ParseError> {
    let all = folders.clone();
    let mut checked = FolderSummary {
        files: 0,
        end: folders.blocks.position(),
        moved_folders: 0,
        first_hash: 0,
        last_hash: 0,
        has_ascii_folders: true,
        data: u64::MAX,
        first_data: None,
    };
    while let Some(mut folder) = folders.next()? {
        let first = checked.files;
        checked.files = first.saturating_add(folder.count);
        limits.check_count(folder.count_at, u64::from(checked.files), "files")?;
        // Blocks at offsets may lie over each other, so that a small archive could have any number of files.
        if len_of(checked.files, FILE_RECORD_LEN) > header.len {
            return Err(ParseError::corrupt(folder.count_at, "several folders have the same file records"));
        }
        checked.has_ascii_folders &= folder.name.is_none_or(<[u8]>::is_ascii);
        checked.moved_folders = checked.moved_folders.saturating_add(u32::from(folder.is_moved));
        while folder.files.left() > 0 {
            let file = FileRecord::read(&mut folder.files)?;
            let extent = header.extent(&file);
            past_end.check(&extent);
            if extent.packed > 0 && extent.offset < checked.data {
                checked.data = extent.offset;
                checked.first_data = Some((Hash { folder: folder.hash, file: file.hash() }, extent));
            }
            checked.last_hash = file.hash();
            if checked.first_hash == 0 {
                checked.first_hash = checked.last_hash;
            }
        }
        checked.end = checked.end.max(folders.blocks.position());
    }
    if checked.data < checked.end {
        // Some data lies in the tables. Names end where other data begins.
        let extents = records(all).map(|(_, _, file)| header.extent(&file));
        let after = extents.filter(|extent| extent.packed > 0 && extent.offset >= checked.end);
        checked.data = after.map(|extent| extent.offset).min().unwrap_or(u64::MAX);
    }
    let found = checked.files;
    if header.files != found {
        notes.add_at(NoteCode::TablesOdd, 20, || {
            format!("the header states {} files, but the folders contain {found}", header.files)
        });
    }
    if checked.moved_folders > 0 {
        let moved = checked.moved_folders;
        notes.add_at(NoteCode::TablesOdd, header.folder_records, || {
            format!(
                "folders that are stored in another order than their records, and found by offset: {moved}"
            )
        });
    }
    Ok(checked)
}

/// Walks all file records, each with the hash and the name of its folder.
fn records<'a>(
    mut folders: Folders<'a>,
) -> impl Iterator<Item = (u64, Option<&'a [u8]>, FileRecord<'a>)> + use<'a> {
    let mut folder: Option<Folder<'a>> = None;
    std::iter::from_fn(move || {
        loop {
            match &mut folder {
                Some(folder) if folder.files.left() > 0 => {
                    return Some((folder.hash, folder.name, FileRecord::read(&mut folder.files).ok()?));
                }
                _ => folder = Some(folders.next().ok()??),
            }
        }
    })
}

/// A folder record (FORMATS.md 1.3).
struct FolderRecord {
    hash: u64,
    /// How many files the folder has.
    count: u32,
    count_at: u64,
    /// The offset of the block, plus the length of all file names.
    offset: u64,
}

impl FolderRecord {
    /// Reads a record, which is all that `record` has.
    fn read(record: &mut Reader<'_>) -> Result<Self, UnexpectedEnd> {
        let count_at = record.position().saturating_add(8);
        let start = record.record::<FOLDER_RECORD_START>("a folder's record")?;
        let (hash, count) = (start.u64_at::<0>(), start.u32_at::<8>());
        let offset = match record.left() {
            4 => u64::from(record.u32("a folder's offset")?),
            // An unused word precedes the offset.
            _ => record.skip(4, "a folder's record").and_then(|()| record.u64("a folder's offset"))?,
        };
        Ok(Self { hash, count, count_at, offset })
    }
}

/// A file record (FORMATS.md 1.4).
struct FileRecord<'a>(Record<'a, FILE_RECORD_LEN>);

impl<'a> FileRecord<'a> {
    fn read(records: &mut Reader<'a>) -> Result<Self, UnexpectedEnd> {
        records.record("a file's record").map(Self)
    }

    fn hash(&self) -> u64 {
        self.0.u64_at::<0>()
    }

    /// Size in bytes, with [`INVERTED`].
    fn size_and_flags(&self) -> u32 {
        self.0.u32_at::<8>()
    }

    /// Offset in bytes from the start of the archive, perhaps with [`SECONDARY`].
    fn offset_and_flag(&self) -> u32 {
        self.0.u32_at::<12>()
    }
}

/// The checked tables of an archive.
#[derive(Clone, Debug)]
struct Tables<'a> {
    archive: Bytes<'a>,
    header: Header,
    folders: Folders<'a>,
    /// File names; none if the archive stores none.
    names: Names<'a>,
    /// Number of files.
    count: u32,
    is_named: bool,
    /// The stored files whose data begins with their own path although no flag says so, in ascending order.
    unstated_names: Arc<[u32]>,
}

impl<'a> Tables<'a> {
    /// Walks all file records, each with the hash and the name of its folder.
    fn records(&self) -> impl Iterator<Item = (u64, Option<&'a [u8]>, FileRecord<'a>)> + use<'a> {
        records(self.folders.clone())
    }

    /// Chooses the names of files among the readings of their table.
    fn choose_names(&self, checked: &FolderSummary) -> FoundNames<'a> {
        let (header, count) = (&self.header, self.count);
        let table = Table {
            archive: self.archive,
            family: header.family(),
            count: self.len(),
            len: header.file_names_len,
            data: checked.data,
        };
        let computed = header.computed_names(count);
        let ends = (checked.first_hash, checked.last_hash);
        table.choose(checked.end, computed, ends, || self.records().map(|(_, _, file)| file.hash()))
    }

    /// The stored files whose data begins with their own path, if no flag states that names are embedded:
    /// textures of the Xbox 360. What is packed shows that itself when it is read.
    ///
    /// The first data decides whether others are read. It usually follows the tables, so it is in memory, and
    /// other archives need no read.
    fn find_unstated_names(&self, first: Option<&(Hash, Extent)>, tables_end: u64) -> Arc<[u32]> {
        const NEAR: u64 = 256;
        let has_name = |hash: Hash, extent: &Extent| {
            let mut left = u64::from(extent.packed);
            embedded_name(self.archive, extent, hash, &mut left).is_some()
        };
        let is_likely = self.header.layout > 103
            && !self.header.has_embedded_names()
            && first.is_some_and(|(hash, extent)| {
                extent.offset.saturating_sub(tables_end) <= NEAR && has_name(*hash, extent)
            });
        if !is_likely {
            return Arc::default();
        }
        let named = (0_u32..).zip(self.records()).filter(|(_, (folder, _, file))| {
            let extent = self.header.extent(file);
            extent.codec == Codec::Stored && has_name(Hash { folder: *folder, file: file.hash() }, &extent)
        });
        named.map(|(index, _)| index).collect()
    }

    fn about(&self) -> About {
        let header = &self.header;
        // Bethesda's version 103 archives set the upper three flags, which mean nothing there.
        let meaningless = match header.layout {
            103 => flag::EMBEDDED_NAMES | flag::XMEM,
            105 => flag::XMEM,
            _ => 0,
        };
        About {
            format: FORMAT.name,
            version: header.version,
            kind: "",
            games: match header.version {
                103 => "Oblivion",
                104 => "Fallout 3, Fallout: New Vegas, Skyrim",
                105 => "Skyrim Special Edition",
                _ => "no known game",
            },
            platform: self.platform(),
            flags: header.flags,
            flag_names: flag::NAMES
                .iter()
                .filter(|(bit, _)| header.flags & !meaningless & bit != 0)
                .map(|(_, name)| *name)
                .collect(),
        }
    }

    /// The platforms that the archive may be made for. Console archives differ only in flags and hashes.
    fn platform(&self) -> &'static str {
        let header = &self.header;
        match header.layout {
            _ if header.layout != header.version => "unknown",
            105 => "PC, Xbox One or PlayStation 4",
            104 if header.has(flag::XMEM) => "Xbox 360",
            _ if header.has(flag::XBOX_360) => "Xbox 360",
            layout => match hashed_by(self.entries()) {
                Some(Family::Tes4Xbox) => "Xbox 360",
                Some(Family::Tes4Ps3) => "PlayStation 3",
                // The PlayStation's own hashes are known only from Oblivion.
                Some(_) if layout == 103 => "PC",
                _ => "PC or PlayStation 3",
            },
        }
    }
}

impl<'a> Files<'a> for Tables<'a> {
    fn len(&self) -> usize {
        usize::try_from(self.count).unwrap_or(usize::MAX)
    }

    /// Names come from the table, or else from the data that embeds them.
    fn entries(&self) -> Box<dyn Iterator<Item = Entry<'a>> + '_> {
        let mut names = self.names.walk(|names| names.zstring("a file's name").ok());
        let mut embedded_left = self.header.has_embedded_names().then_some(self.header.len);
        Box::new(self.records().map(move |(folder, folder_name, file)| {
            let hash = Hash { folder, file: file.hash() };
            let file_name = names.next().flatten();
            let name = match (folder_name, file_name) {
                (Some(_), Some(_)) => None,
                _ => embedded_left
                    .as_mut()
                    .and_then(|left| embedded_name(self.archive, &self.header.extent(&file), hash, left)),
            };
            let name = name.unwrap_or(Name::Split { folder: folder_name, file: file_name });
            Entry { name, hash, extents: 1 }
        }))
    }

    fn extents(&self) -> Box<dyn Iterator<Item = Extent> + '_> {
        let extents = self.records().map(|(_, _, file)| self.header.extent(&file));
        if self.unstated_names.is_empty() {
            return Box::new(extents);
        }
        let mut named = self.unstated_names.iter().peekable();
        Box::new((0_u32..).zip(extents).map(move |(index, extent)| match named.next_if_eq(&&index) {
            Some(_) => Extent { size: None, prefix: ExtentPrefix { name: true, ..extent.prefix }, ..extent },
            None => extent,
        }))
    }

    fn has_all_names(&self) -> bool {
        self.is_named
    }

    fn has_one_extent_each(&self) -> bool {
        true
    }
}

/// The function that made the hashes of an archive without the Xbox 360's flag. The first file
/// decides whose name the functions hash differently. PC and PlayStation 3 differ only for
/// textures, so one other file suffices to rule out the Xbox 360.
fn hashed_by<'a>(entries: impl Iterator<Item = Entry<'a>>) -> Option<Family> {
    const MAX_EXAMINED: usize = 4096;
    let mut is_of_either = false;
    entries.take(MAX_EXAMINED).find_map(|entry| {
        let (folder, file) = entry.name.parts()?;
        if is_of_either && !is_dds(file) {
            return None;
        }
        let [pc, ps3, xbox] = [Family::Tes4, Family::Tes4Ps3, Family::Tes4Xbox]
            .map(|it| (it, it.of(folder, file) == entry.hash));
        is_of_either |= pc.1 && ps3.1 && !xbox.1;
        let mut made = [pc, ps3, xbox].into_iter().filter(|(_, is_it)| *is_it).map(|(it, _)| it);
        match (made.next(), made.next()) {
            (Some(family), None) => Some(family),
            _ => None,
        }
    })
}

/// The path embedded in an entry's data, if it is the name of this entry. If several entries share
/// data, the data embeds only the name of the first. `left` bounds the total length of these names,
/// so that a small archive whose many entries share one name cannot expand.
fn embedded_name<'a>(archive: Bytes<'a>, extent: &Extent, stored: Hash, left: &mut u64) -> Option<Name<'a>> {
    let mut reader = Reader::at(archive, extent.offset, "an embedded name").ok()?;
    let path = reader.bstring("an embedded name").ok()?;
    let is_it = Family::Tes4.candidates(b"", path).any(|hash| hash == stored);
    *left = left.checked_sub(reader.position().saturating_sub(extent.offset)).filter(|_| is_it)?;
    Some(Name::Path(path))
}
