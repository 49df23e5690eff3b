//! The archives of Oblivion, Fallout 3, New Vegas and Skyrim (TES4 family, versions 103 to 105; FORMATS.md section 1).
//!
//! Tables are read in the order in which they stand. The offsets that folder records store are wrong in archives of
//! several tools, and nothing is lost by not believing them.

use std::sync::Arc;

use super::hash::{Family, Hash};
use super::{
    About, Archive, Beyond, Codec, Entry, Extent, ExtentPrefix, Files, Format, Limits, Name, Notes, Options,
    ParseError,
};
use crate::read::{Missing, Reader};

/// This format's row in [`super::FORMATS`].
pub const FORMAT: Format = Format { name: "TES4", claims, parse };

const MAGIC: &[u8] = b"BSA\0";
const HEADER_LEN: u64 = 36;
/// Hash, size, offset.
const FILE_RECORD_LEN: u32 = 16;

/// Archive flags (FORMATS.md 1.2).
mod flag {
    pub(super) const FOLDER_NAMES: u32 = 0x001;
    pub(super) const FILE_NAMES: u32 = 0x002;
    pub(super) const COMPRESSED: u32 = 0x004;
    pub(super) const XBOX_360: u32 = 0x040;
    /// Versions 104 and 105 only: all of Bethesda's v103 archives set it, and embed nothing.
    pub(super) const EMBEDDED_NAMES: u32 = 0x100;
    /// Version 104 only.
    pub(super) const XMEM: u32 = 0x200;
}

/// Flag bits and what they are called, for people.
const FLAG_NAMES: [(u32, &str); 11] = [
    (flag::FOLDER_NAMES, "folder names"),
    (flag::FILE_NAMES, "file names"),
    (flag::COMPRESSED, "compressed by default"),
    (0x008, "retain folder names"),
    (0x010, "retain file names"),
    (0x020, "retain name offsets"),
    (flag::XBOX_360, "Xbox 360"),
    (0x080, "retain strings at start-up"),
    (flag::EMBEDDED_NAMES, "embedded file names"),
    (flag::XMEM, "XMem codec"),
    (0x400, "unknown 0x400"),
];

/// In a file record's size: the archive's default of compression does not hold for this file.
const INVERTED: u32 = 1 << 30;
/// In a file record's offset: a mark of the running game, or simply the 32nd bit of an offset beyond 2 GiB.
const SECONDARY: u32 = 1 << 31;
/// The bits of a file record's size that are a size; the topmost is a mark of the running game.
const SIZE_MASK: u32 = INVERTED.wrapping_sub(1);

fn claims(archive: &[u8]) -> bool {
    archive.starts_with(MAGIC)
}

fn parse<'a>(archive: &'a [u8], options: &Options) -> Result<Archive<'a>, ParseError> {
    let header = Header::read(archive, options)?;
    let mut notes = Notes::new(&options.limits);
    if header.layout != header.version {
        let Header { version, layout, .. } = header;
        notes.add(4, || format!("BSA version {version} is not known; it was forced to be read as {layout}"));
    }
    let folders = Folders::new(archive, &header, &mut notes)?;
    let mut beyond = Beyond::new(header.len);
    let (count, end) = check_folders(&header, folders.clone(), &options.limits, &mut beyond, &mut notes)?;
    let (names, named) = match header.has(flag::FILE_NAMES) {
        true => header.file_names(archive, count, end, &mut notes),
        false => (Reader::new(&[]), 0),
    };
    let unnamed = count.saturating_sub(named);
    if header.has(flag::FILE_NAMES) && unnamed > 0 {
        notes.add(end, || format!("the table of file names ends early: {unnamed} files are listed by hash"));
    }
    notes.add_beyond(&beyond, "files");
    let is_named = unnamed == 0 && header.has(flag::FOLDER_NAMES);
    let hashes = header.family();
    let tables = Tables { archive, header, folders, names, count, is_named };
    Ok(Archive {
        about: tables.about(),
        hashes,
        files: Arc::new(tables),
        heads: Arc::default(),
        sniffed: Vec::new(),
        notes: notes.kept,
    })
}

/// The header, and the length of the file that it stands in.
#[derive(Clone, Debug)]
struct Header {
    version: u32,
    /// The known version by whose layout the archive is read: another one only where that was forced.
    layout: u32,
    folder_records: u64,
    flags: u32,
    folders: u32,
    files: u32,
    /// Names and their NULs, but not their length bytes.
    folder_names_len: u32,
    file_names_len: u32,
    /// Of the whole archive, in bytes.
    len: u64,
}

impl Header {
    fn read(archive: &[u8], options: &Options) -> Result<Self, ParseError> {
        let mut reader = Reader::new(archive);
        let len = reader.left();
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
            len,
        };
        // What the content is (u16) and padding that holds garbage.
        reader.skip(4, "the content flags")?;
        if header.layout != version && !options.force {
            return Err(ParseError::unsupported(
                4,
                format!("BSA version {version}; 103, 104 and 105 are known"),
            ));
        }
        options.limits.admit(16, u64::from(header.folders), "folders")?;
        Ok(header)
    }

    fn has(&self, bit: u32) -> bool {
        self.flags & bit != 0
    }

    fn has_embedded_names(&self) -> bool {
        self.layout >= 104 && self.has(flag::EMBEDDED_NAMES)
    }

    fn folder_record_len(&self) -> u32 {
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

    /// What a file record means.
    fn extent(&self, file: &File) -> Extent {
        let File { size, offset, .. } = *file;
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

    /// The table of file names, and of how many of the `count` files it has one. It stands behind the last folder
    /// block, unless leftovers stand between (OpenMW), in which case the header's sums say where; it may be longer than
    /// the names (Wabbajack).
    fn file_names<'a>(
        &self,
        archive: &'a [u8],
        count: u32,
        sequential: u64,
        notes: &mut Notes,
    ) -> (Reader<'a>, u32) {
        let block_at = |start: u64| {
            let mut reader = Reader::at(archive, start, "the file names").ok()?;
            let block = reader.take(u64::from(self.file_names_len), "the file names").ok()?;
            let ends = block.iter().filter(|&&byte| byte == 0).count();
            (u32::try_from(ends).is_ok_and(|ends| ends >= count)
                && block.last().is_none_or(|&byte| byte == 0))
            .then(|| Reader::new(block))
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
            .saturating_add(u64::from(self.folders).saturating_mul(u64::from(self.folder_record_len())))
            .saturating_add(folder_names)
            .saturating_add(u64::from(count).saturating_mul(u64::from(FILE_RECORD_LEN)));
        if let Some(names) = block_at(computed) {
            notes.add(sequential, || {
                format!("the file names stand at {computed}, not behind the last folder")
            });
            return (names, count);
        }
        notes.add(28, || "the length of the file names is wrong; they are read as far as they go".into());
        let names = Reader::at(archive, sequential, "the file names").unwrap_or_else(|_| Reader::new(&[]));
        (names.clone(), count_names(names, count))
    }
}

/// Folders, from first to last: their records, and the blocks of names and file records behind these.
#[derive(Clone, Debug)]
struct Folders<'a> {
    records: Reader<'a>,
    record_len: u64,
    blocks: Reader<'a>,
    has_names: bool,
}

/// A folder, and a reader of its file records.
struct Folder<'a> {
    hash: u64,
    name: Option<&'a [u8]>,
    /// Where the count of its files stands, and that count.
    count_at: u64,
    count: u32,
    files: Reader<'a>,
}

impl<'a> Folders<'a> {
    fn new(archive: &'a [u8], header: &Header, notes: &mut Notes) -> Result<Self, ParseError> {
        if header.folder_records != HEADER_LEN {
            notes.add(8, || {
                format!("folder records at {}, where all known tools put {HEADER_LEN}", header.folder_records)
            });
        }
        let mut blocks = Reader::at(archive, header.folder_records, "the folder records")?;
        let record_len = header.folder_record_len();
        let records = blocks.records(header.folders, record_len, "the folder records")?;
        let has_names = header.has(flag::FOLDER_NAMES);
        Ok(Self { records, record_len: u64::from(record_len), blocks, has_names })
    }

    /// The next one, if there is one.
    fn next(&mut self) -> Result<Option<Folder<'a>>, ParseError> {
        if self.records.left() == 0 {
            return Ok(None);
        }
        let hash = self.records.u64("a folder's hash")?;
        let count_at = self.records.position();
        let count = self.records.u32("a folder's count of files")?;
        self.records.skip(self.record_len.saturating_sub(12), "a folder's offset")?;
        let name = match self.has_names {
            true => Some(self.blocks.bzstring("a folder's name")?),
            false => None,
        };
        let files = self.blocks.records(count, FILE_RECORD_LEN, "a folder's file records")?;
        Ok(Some(Folder { hash, name, count_at, count, files }))
    }
}

/// Reads all folders once, which tells whether they are sound; answers how many files there are, and where the file
/// names should begin.
fn check_folders(
    header: &Header,
    mut folders: Folders<'_>,
    limits: &Limits,
    beyond: &mut Beyond,
    notes: &mut Notes,
) -> Result<(u32, u64), ParseError> {
    let mut found = 0_u32;
    while let Some(mut folder) = folders.next()? {
        limits.admit(folder.count_at, u64::from(found).saturating_add(u64::from(folder.count)), "files")?;
        found = found.saturating_add(folder.count);
        while folder.files.left() > 0 {
            let file = File::read(&mut folder.files)?;
            beyond.look(&header.extent(&file));
        }
    }
    if header.files != found {
        notes.add(20, || format!("the header counts {} files, the folders hold {found}", header.files));
    }
    Ok((found, folders.blocks.position()))
}

/// How many of `most` names there are. The first that is missing is the last that is asked for: each would search all
/// bytes that are left.
fn count_names(mut names: Reader<'_>, most: u32) -> u32 {
    (0..most).find(|_| names.zstring("a file's name").is_err()).unwrap_or(most)
}

/// A file record.
struct File {
    hash: u64,
    /// With its flags.
    size: u32,
    offset: u32,
}

impl File {
    fn read(records: &mut Reader<'_>) -> Result<Self, Missing> {
        let [a, b, c, d, e, f, g, h, p, q, r, s, t, u, v, w] = records.array("a file's record")?;
        Ok(Self {
            hash: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            size: u32::from_le_bytes([p, q, r, s]),
            offset: u32::from_le_bytes([t, u, v, w]),
        })
    }
}

/// Where the tables are, once they were found sound.
#[derive(Clone, Debug)]
struct Tables<'a> {
    archive: &'a [u8],
    header: Header,
    folders: Folders<'a>,
    /// File names; empty where there are none.
    names: Reader<'a>,
    /// Files.
    count: u32,
    is_named: bool,
}

impl<'a> Tables<'a> {
    /// Walks all file records with their folders.
    fn records(&self) -> impl Iterator<Item = (u64, Option<&'a [u8]>, File)> + use<'a> {
        let mut folders = self.folders.clone();
        let mut folder: Option<Folder<'a>> = None;
        std::iter::from_fn(move || {
            loop {
                match &mut folder {
                    Some(folder) if folder.files.left() > 0 => {
                        return Some((folder.hash, folder.name, File::read(&mut folder.files).ok()?));
                    }
                    _ => folder = Some(folders.next().ok()??),
                }
            }
        })
    }

    fn about(&self) -> About {
        let header = &self.header;
        // In version 103 the upper three flags are set by habit and mean nothing.
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
            flag_names: FLAG_NAMES
                .iter()
                .filter(|(bit, _)| header.flags & !meaningless & bit != 0)
                .map(|(_, name)| *name)
                .collect(),
        }
    }

    /// The platforms that the archive may be made for. Consoles differ in flags and in hashes, and only there: where
    /// neither tells, nothing does.
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
                // The PlayStation's own hashes are known from Oblivion alone.
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

    /// Names come from the table, or else from the data itself.
    fn entries(&self) -> Box<dyn Iterator<Item = Entry<'a>> + '_> {
        let mut names = self.names.clone();
        let has_embedded_names = self.header.has_embedded_names();
        Box::new(self.records().map(move |(folder, folder_name, file)| {
            let hash = Hash { folder, file: file.hash };
            let file_name = names.zstring("a file's name").ok();
            if file_name.is_none() {
                names = Reader::new(&[]);
            }
            let name = match (folder_name, file_name) {
                (Some(_), Some(_)) => None,
                _ if has_embedded_names => embedded_name(self.archive, &self.header.extent(&file), hash),
                _ => None,
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

/// Which function made the hashes of an archive without the Xbox 360's flag, judged by the first of its files that has a
/// name which the functions hash differently. Files other than textures do not tell PC and PlayStation 3 apart, so that
/// one of them suffices.
fn hashed_by<'a>(entries: impl Iterator<Item = Entry<'a>>) -> Option<Family> {
    const ENOUGH: usize = 4096;
    let mut is_of_either = false;
    entries.take(ENOUGH).find_map(|entry| {
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

/// The path in front of an entry's data, if it is the name of just this entry: de-duplicated data carries the name
/// of the first of several.
fn embedded_name<'a>(archive: &'a [u8], extent: &Extent, stored: Hash) -> Option<Name<'a>> {
    let mut reader = Reader::at(archive, extent.offset, "an embedded name").ok()?;
    let path = reader.bstring("an embedded name").ok()?;
    Family::Tes4.candidates(b"", path).any(|hash| hash == stored).then_some(Name::Path(path))
}
