//! The archives of Oblivion, Fallout 3, New Vegas and Skyrim (TES4 family, versions 103 to 105;
//! FORMATS.md section 1).
//!
//! Tables are read in stored order. The offsets in folder records are ignored: they are not needed,
//! and several tools write wrong ones.

use std::sync::Arc;

use super::archive::{About, Archive};
use super::detect::Format;
use super::entry::{Entry, Name};
use super::error::ParseError;
use super::extent::{Codec, Extent, ExtentPrefix};
use super::files::Files;
use super::hash::{Family, Hash};
use super::limits::{Limits, Options};
use super::past_end::PastEnd;
use super::tes4_flag as flag;
use crate::note::{NoteCode, Notes};
use crate::read::{Bytes, Reader, Record, UnexpectedEnd};

/// This format's row in [`super::FORMATS`].
pub const FORMAT: Format =
    Format { name: "TES4", extensions: &["bsa"], shared_extensions: &[], recognises, parse };

const MAGIC: &[u8] = b"BSA\0";
const HEADER_LEN: u64 = 36;
/// Length of the common beginning of folder records of all versions, in bytes.
const FOLDER_RECORD_START: usize = 12;
/// Length of a file record in bytes.
const FILE_RECORD_LEN: usize = 16;

/// Bit in a file record's size: inverts the archive's default of compression for this file.
const INVERTED: u32 = 1 << 30;
/// Bit in a file record's offset: a mark of the running game, or the highest bit of an offset past 2 GiB.
const SECONDARY: u32 = 1 << 31;
/// The bits of a file record's size that are the size. The highest bit is a mark of the running game.
const SIZE_MASK: u32 = INVERTED.wrapping_sub(1);

fn recognises(archive: Bytes<'_>) -> bool {
    archive.starts_with(MAGIC)
}

fn parse<'a>(archive: Bytes<'a>, options: &Options) -> Result<Archive<'a>, ParseError> {
    let header = Header::read(archive, options)?;
    let mut notes = Notes::new(options.limits.notes);
    if header.layout != header.version {
        let Header { version, layout, .. } = header;
        notes.add_at(NoteCode::VersionUnknown, 4, || {
            format!("BSA version {version} is not known; --force reads it as version {layout}")
        });
    }
    let folders = Folders::new(archive, &header, &mut notes)?;
    let mut past_end = PastEnd::new(header.len);
    let (count, end) = check_folders(&header, folders.clone(), &options.limits, &mut past_end, &mut notes)?;
    let (names, named) = match header.has(flag::FILE_NAMES) {
        true => header.file_names(archive, count, end, &mut notes),
        false => (Reader::empty(), 0),
    };
    let unnamed = count.saturating_sub(named);
    if header.has(flag::FILE_NAMES) && unnamed > 0 {
        notes.add_at(NoteCode::NamesEndEarly, end, || {
            format!(
                "the table of file names ends early: {unnamed} files are listed by hash unless --names \
                 supplies their paths"
            )
        });
    }
    past_end.add_note(&mut notes, "files");
    let is_named = unnamed == 0 && header.has(flag::FOLDER_NAMES);
    let tables = Tables { archive, header, folders, names, count, is_named };
    Ok(Archive {
        about: tables.about(),
        hashes: tables.header.family(),
        tables: vec![0..end, tables.names.range()],
        files: Arc::new(tables),
        heads: Arc::default(),
        sniffed: Vec::new(),
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

    /// The table of file names, and how many of the `count` files have a name in it. The table follows the
    /// last folder block, unless unused bytes lie between them (OpenMW). In that case, the totals in the
    /// header determine where the table begins. The table may be longer than its names (Wabbajack).
    fn file_names<'a>(
        &self,
        archive: Bytes<'a>,
        count: u32,
        sequential: u64,
        notes: &mut Notes,
    ) -> (Reader<'a>, u32) {
        let block_at = |start: u64| {
            let mut reader = Reader::at(archive, start, "the file names").ok()?;
            let names = reader.records(self.file_names_len, 1, "the file names").ok()?;
            let ends = names.bytes().iter().filter(|&&byte| byte == 0).count();
            let is_whole = names.bytes().last().is_none_or(|&byte| byte == 0);
            (is_whole && u32::try_from(ends).is_ok_and(|ends| ends >= count)).then_some(names)
        };
        if let Some(names) = block_at(sequential) {
            return (names, count);
        }
        let folder_names = match self.has(flag::FOLDER_NAMES) {
            true => u64::from(self.folders).saturating_add(u64::from(self.folder_names_len)),
            false => 0,
        };
        let computed = self
            .folder_records
            .saturating_add(len_of(self.folders, self.folder_record_len()))
            .saturating_add(folder_names)
            .saturating_add(len_of(count, FILE_RECORD_LEN));
        if let Some(names) = block_at(computed) {
            notes.add_at(NoteCode::TablesOdd, sequential, || {
                format!("the file names begin at offset {computed}, not after the last folder")
            });
            return (names, count);
        }
        notes.add_at(NoteCode::TablesOdd, 28, || {
            "the stated length of the file names is wrong; as many names as possible are read".into()
        });
        let names = Reader::at(archive, sequential, "the file names").unwrap_or_else(|_| Reader::empty());
        split_names(&names, count)
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
    records: Reader<'a>,
    /// Length of a folder record in bytes.
    record_len: usize,
    blocks: Reader<'a>,
    has_names: bool,
}

/// A folder, and a reader of its file records.
struct Folder<'a> {
    hash: u64,
    name: Option<&'a [u8]>,
    /// The offset of the count of files.
    count_at: u64,
    count: u32,
    files: Reader<'a>,
}

impl<'a> Folders<'a> {
    fn new(archive: Bytes<'a>, header: &Header, notes: &mut Notes) -> Result<Self, ParseError> {
        if header.folder_records != HEADER_LEN {
            notes.add_at(NoteCode::TablesOdd, 8, || {
                format!(
                    "the folder records begin at offset {}; all known tools put them at {HEADER_LEN}",
                    header.folder_records
                )
            });
        }
        let mut blocks = Reader::at(archive, header.folder_records, "the folder records")?;
        let record_len = header.folder_record_len();
        let records = blocks.records(header.folders, record_len, "the folder records")?;
        let has_names = header.has(flag::FOLDER_NAMES);
        Ok(Self { records, record_len, blocks, has_names })
    }

    /// The next folder; `None` at the end.
    fn next(&mut self) -> Result<Option<Folder<'a>>, ParseError> {
        if self.records.left() == 0 {
            return Ok(None);
        }
        let count_at = self.records.position().saturating_add(8);
        let mut record = self.records.records(1, self.record_len, "a folder's record")?;
        let record = FolderRecord(record.record("a folder's record")?);
        let (hash, count) = (record.hash(), record.count());
        let name = match self.has_names {
            true => Some(self.blocks.bzstring("a folder's name")?),
            false => None,
        };
        let files = self.blocks.records(count, FILE_RECORD_LEN, "a folder's file records")?;
        Ok(Some(Folder { hash, name, count_at, count, files }))
    }
}

/// Walks all folders once to check their tables. Returns the number of files, and the offset after
/// the last folder.
fn check_folders(
    header: &Header,
    mut folders: Folders<'_>,
    limits: &Limits,
    past_end: &mut PastEnd,
    notes: &mut Notes,
) -> Result<(u32, u64), ParseError> {
    let mut found = 0_u32;
    while let Some(mut folder) = folders.next()? {
        found = found.saturating_add(folder.count);
        limits.check_count(folder.count_at, u64::from(found), "files")?;
        while folder.files.left() > 0 {
            let file = FileRecord::read(&mut folder.files)?;
            past_end.check(&header.extent(&file));
        }
    }
    if header.files != found {
        notes.add_at(NoteCode::TablesOdd, 20, || {
            format!("the header states {} files, but the folders contain {found}", header.files)
        });
    }
    Ok((found, folders.blocks.position()))
}

/// Splits off up to `most` names, and counts them. Stops at the first missing name, because each search for
/// another one would read all remaining bytes.
fn split_names<'a>(names: &Reader<'a>, most: u32) -> (Reader<'a>, u32) {
    let mut rest = names.clone();
    let count = (0..most).find(|_| rest.zstring("a file's name").is_err()).unwrap_or(most);
    (names.until(&rest), count)
}

/// The common beginning of folder records of all versions (FORMATS.md 1.3). The folder's offset,
/// which follows, is not read.
struct FolderRecord<'a>(Record<'a, FOLDER_RECORD_START>);

impl FolderRecord<'_> {
    fn hash(&self) -> u64 {
        self.0.u64_at::<0>()
    }

    /// How many files the folder has.
    fn count(&self) -> u32 {
        self.0.u32_at::<8>()
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
    /// File names; empty if the archive stores none.
    names: Reader<'a>,
    /// Number of files.
    count: u32,
    is_named: bool,
}

impl<'a> Tables<'a> {
    /// Walks all file records, each with the hash and the name of its folder.
    fn records(&self) -> impl Iterator<Item = (u64, Option<&'a [u8]>, FileRecord<'a>)> + use<'a> {
        let mut folders = self.folders.clone();
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
        let mut names = self.names.clone();
        let mut embedded_left = self.header.has_embedded_names().then_some(self.header.len);
        Box::new(self.records().map(move |(folder, folder_name, file)| {
            let hash = Hash { folder, file: file.hash() };
            let file_name = names.zstring("a file's name").map_err(|_| names = Reader::empty()).ok();
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
        Box::new(self.records().map(|(_, _, file)| self.header.extent(&file)))
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
        if is_of_either && !file.last_chunk().is_some_and(|end: &[u8; 4]| end.eq_ignore_ascii_case(b".dds")) {
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
