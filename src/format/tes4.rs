//! The archives of Oblivion, Fallout 3, New Vegas and Skyrim (TES4 family, versions 103 to 105; FORMATS.md section 1).
//!
//! Tables are read in the order in which they stand. The offsets that folder records store are wrong in archives of
//! several tools, and nothing is lost by not believing them.

use super::hash::{Family, Hash};
use super::{
    About, Archive, Codec, Entry, Extent, Format, Heads, Lead, Limits, Name, Notes, Options, ParseError,
};
use crate::read::Reader;

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
    let mut tables = Tables { archive, header: &header, entries: Vec::new(), extents: Vec::new() };
    let names = tables.read_folders(&options.limits, &mut notes)?;
    tables.name_files(names, &mut notes);
    let (entries, extents) = (tables.entries, tables.extents);
    notes.add_beyond(&extents, header.len, "files");
    Ok(Archive {
        about: header.about(&entries),
        hashes: header.family(),
        entries,
        extents,
        heads: Heads::None,
        sniffed: Vec::new(),
        notes: notes.kept,
    })
}

/// The header, and the length of the file that it stands in.
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

    fn about(&self, entries: &[Entry<'_>]) -> About {
        // In version 103 the upper three flags are set by habit and mean nothing.
        let meaningless = match self.layout {
            103 => flag::EMBEDDED_NAMES | flag::XMEM,
            105 => flag::XMEM,
            _ => 0,
        };
        About {
            format: FORMAT.name,
            version: self.version,
            kind: "",
            games: match self.version {
                103 => "Oblivion",
                104 => "Fallout 3, Fallout: New Vegas, Skyrim",
                105 => "Skyrim Special Edition",
                _ => "no known game",
            },
            platform: self.platform(entries),
            flags: self.flags,
            flag_names: FLAG_NAMES
                .iter()
                .filter(|(bit, _)| self.flags & !meaningless & bit != 0)
                .map(|(_, name)| *name)
                .collect(),
        }
    }

    /// The platforms that the archive may be made for. Consoles differ in flags and in hashes, and only there: where
    /// neither tells, nothing does.
    fn platform(&self, entries: &[Entry<'_>]) -> &'static str {
        match self.layout {
            _ if self.layout != self.version => "unknown",
            105 => "PC, Xbox One or PlayStation 4",
            104 if self.has(flag::XMEM) => "Xbox 360",
            _ if self.has(flag::XBOX_360) => "Xbox 360",
            layout => match hashed_by(entries) {
                Some(Family::Tes4Xbox) => "Xbox 360",
                Some(Family::Tes4Ps3) => "PlayStation 3",
                // The PlayStation's own hashes are known from Oblivion alone.
                Some(_) if layout == 103 => "PC",
                _ => "PC or PlayStation 3",
            },
        }
    }

    /// What a file record means.
    fn extent(&self, size: u32, offset: u32) -> Extent {
        let packed = size & SIZE_MASK;
        let fits = |offset: u32| u64::from(offset).saturating_add(u64::from(packed)) <= self.len;
        let offset = if fits(offset) || !fits(offset & !SECONDARY) { offset } else { offset & !SECONDARY };
        let compressed = self.has(flag::COMPRESSED) != (size & INVERTED != 0);
        let lead = Lead { name: self.has_embedded_names() && packed > 0, size: compressed && packed > 0 };
        Extent {
            offset: u64::from(offset),
            packed,
            size: if lead.is_none() { Some(packed) } else { None },
            codec: if compressed && packed > 0 { self.codec() } else { Codec::Stored },
            lead,
        }
    }
}

/// The tables as they grow.
struct Tables<'a, 'h> {
    archive: &'a [u8],
    header: &'h Header,
    entries: Vec<Entry<'a>>,
    extents: Vec<Extent>,
}

impl<'a> Tables<'a, '_> {
    /// Reads folder records and folder blocks; answers where the file names should begin.
    fn read_folders(&mut self, limits: &Limits, notes: &mut Notes) -> Result<u64, ParseError> {
        let header = self.header;
        if header.folder_records != HEADER_LEN {
            notes.add(8, || {
                format!("folder records at {}, where all known tools put {HEADER_LEN}", header.folder_records)
            });
        }
        let mut blocks = Reader::at(self.archive, header.folder_records, "the folder records")?;
        let mut records = blocks.records(header.folders, header.folder_record_len(), "the folder records")?;
        // Every file takes a record of its own, so the file's length bounds the sum whatever the header says.
        let most =
            header.len.checked_div(u64::from(FILE_RECORD_LEN)).unwrap_or(0).min(u64::from(header.files));
        self.entries.reserve(usize::try_from(most).unwrap_or(0));
        self.extents.reserve(usize::try_from(most).unwrap_or(0));
        for _ in 0..header.folders {
            let folder = records.u64("a folder's hash")?;
            let at = records.position();
            let count = records.u32("a folder's count of files")?;
            records.skip(u64::from(header.folder_record_len().saturating_sub(12)), "a folder's offset")?;
            let name = match header.has(flag::FOLDER_NAMES) {
                true => Some(blocks.bzstring("a folder's name")?),
                false => None,
            };
            let files = blocks.records(count, FILE_RECORD_LEN, "a folder's file records")?;
            let found = u64::try_from(self.entries.len()).unwrap_or(u64::MAX);
            limits.admit(at, found.saturating_add(u64::from(count)), "files")?;
            self.read_files(folder, name, files)?;
        }
        let found = self.entries.len();
        if usize::try_from(header.files).is_ok_and(|declared| declared != found) {
            notes.add(20, || format!("the header counts {} files, the folders hold {found}", header.files));
        }
        Ok(blocks.position())
    }

    fn read_files(
        &mut self,
        folder: u64,
        name: Option<&'a [u8]>,
        mut files: Reader<'a>,
    ) -> Result<(), ParseError> {
        while files.left() > 0 {
            let hash = Hash { folder, file: files.u64("a file's hash")? };
            let size = files.u32("a file's size")?;
            let offset = files.u32("a file's offset")?;
            self.entries.push(Entry { name: Name::Split { folder: name, file: None }, hash, extents: 1 });
            self.extents.push(self.header.extent(size, offset));
        }
        Ok(())
    }

    /// Gives the entries their file names: from the table at `start`, or else from the data itself.
    fn name_files(&mut self, start: u64, notes: &mut Notes) {
        if self.header.has(flag::FILE_NAMES) {
            let mut names = self.file_names(start, notes);
            let mut named = 0_usize;
            for entry in &mut self.entries {
                // The first that is missing is the last that is asked for: each would search all bytes that are left.
                let Ok(name) = names.zstring("a file's name") else { break };
                if let Name::Split { file, .. } = &mut entry.name {
                    *file = Some(name);
                }
                named = named.saturating_add(1);
            }
            let unnamed = self.entries.len().saturating_sub(named);
            if unnamed > 0 {
                notes.add(start, || {
                    format!("the table of file names ends early: {unnamed} files are listed by hash")
                });
            }
        }
        if self.header.has_embedded_names() {
            for (entry, extent) in self.entries.iter_mut().zip(&self.extents) {
                if !matches!(entry.name, Name::Split { folder: Some(_), file: Some(_) }) {
                    entry.name = embedded_name(self.archive, extent, entry.hash).unwrap_or(entry.name);
                }
            }
        }
    }

    /// The table of file names. It stands behind the last folder block, unless leftovers stand between (OpenMW), in
    /// which case the header's sums say where; it may be longer than the names (Wabbajack).
    fn file_names(&self, sequential: u64, notes: &mut Notes) -> Reader<'a> {
        let header = self.header;
        let block_at = |start: u64| {
            let mut reader = Reader::at(self.archive, start, "the file names").ok()?;
            let block = reader.take(u64::from(header.file_names_len), "the file names").ok()?;
            let ends = block.iter().filter(|&&byte| byte == 0).count();
            (ends >= self.entries.len() && block.last().is_none_or(|&byte| byte == 0))
                .then(|| Reader::new(block))
        };
        if let Some(names) = block_at(sequential) {
            return names;
        }
        let folder_names = match header.has(flag::FOLDER_NAMES) {
            true => u64::from(header.folders).saturating_add(u64::from(header.folder_names_len)),
            false => 0,
        };
        let computed = header
            .folder_records
            .saturating_add(u64::from(header.folders).saturating_mul(u64::from(header.folder_record_len())))
            .saturating_add(folder_names)
            .saturating_add(u64::try_from(self.extents.len()).unwrap_or(u64::MAX).saturating_mul(16));
        if let Some(names) = block_at(computed) {
            notes.add(sequential, || {
                format!("the file names stand at {computed}, not behind the last folder")
            });
            return names;
        }
        notes.add(28, || "the length of the file names is wrong; they are read as far as they go".into());
        Reader::at(self.archive, sequential, "the file names").unwrap_or_else(|_| Reader::new(&[]))
    }
}

/// Which function made the hashes of an archive without the Xbox 360's flag, judged by the first of its files that has a
/// name which the functions hash differently. Files other than textures do not tell PC and PlayStation 3 apart.
fn hashed_by(entries: &[Entry<'_>]) -> Option<Family> {
    const ENOUGH: usize = 4096;
    entries.iter().take(ENOUGH).find_map(|entry| {
        let (folder, file) = entry.name.parts()?;
        let [pc, ps3, xbox] =
            [Family::Tes4, Family::Tes4Ps3, Family::Tes4Xbox].map(|it| (it, it.of(folder, file)));
        let mut made = [pc, ps3, xbox].into_iter().filter(|(_, hash)| *hash == entry.hash).map(|(it, _)| it);
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
