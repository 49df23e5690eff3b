//! Morrowind's archives (TES3): full paths, nothing packed, no folders (FORMATS.md section 2).

use std::sync::Arc;

use super::hash::{Family, Hash};
use super::{
    About, Archive, Beyond, Codec, Entry, Extent, ExtentPrefix, FileList, Format, Name, Notes, Options,
    ParseError,
};
use crate::read::Reader;

/// This format's row in [`super::FORMATS`].
pub const FORMAT: Format = Format { name: "TES3", claims, parse };

const MAGIC: [u8; 4] = [0x00, 0x01, 0x00, 0x00];
/// Magic, offset of the hashes counted from here, count of files.
const HEADER_LEN: u64 = 12;
/// Size and offset of a file's data.
const RECORD_LEN: u32 = 8;
const HASH_LEN: u32 = 8;
/// An offset into the names.
const NAME_OFFSET_LEN: u32 = 4;

/// Four likely bytes: formats that are known by their arithmetic must be asked before this one.
fn claims(archive: &[u8]) -> bool {
    archive.starts_with(&MAGIC)
}

fn parse<'a>(archive: &'a [u8], options: &Options) -> Result<Archive<'a>, ParseError> {
    let limits = &options.limits;
    let header = header(archive)?;
    limits.admit(8, u64::from(header.count), "files")?;
    let mut notes = Notes::new(limits);
    let mut reader = Reader::at(archive, HEADER_LEN, "the file records")?;
    let mut records = reader.records(header.count, RECORD_LEN, "the file records")?;
    let mut names = match header.names()? {
        true => Some(Names::read(&mut reader, &header)?),
        false => None,
    };
    let mut reader = Reader::at(archive, header.hashes, "the hashes")?;
    let mut hashes = reader.records(header.count, HASH_LEN, "the hashes")?;
    let data = reader.position();

    // Records, names and hashes lie in the file, so their count is bounded by its length.
    let room = hashes_count(&hashes);
    let mut files = FileList { entries: Vec::with_capacity(room), extents: Vec::with_capacity(room) };
    let mut beyond = Beyond::new(Reader::new(archive).left());
    while hashes.left() > 0 {
        let size = records.u32("a file's size")?;
        let offset = data.saturating_add(u64::from(records.u32("a file's offset")?));
        let name = match &mut names {
            Some(names) => Name::Path(names.next(&mut notes)?),
            None => Name::Unknown { extension: [0; 4] },
        };
        let hash = Hash { folder: 0, file: hashes.u64("a file's hash")? };
        let extent = Extent {
            offset,
            packed: size,
            size: Some(size),
            codec: Codec::Stored,
            prefix: ExtentPrefix::NONE,
        };
        beyond.look(&extent);
        files.entries.push(Entry { name, hash, extents: 1 });
        files.extents.push(extent);
    }
    if names.is_none() && !files.entries.is_empty() {
        notes.add(HEADER_LEN, || "it stores no names, as Morrowind's archives for Xbox do".into());
    }
    notes.add_beyond(&beyond, "files");
    let about = About {
        format: FORMAT.name,
        version: 0x100,
        kind: "",
        games: "Morrowind",
        platform: if names.is_none() && !files.entries.is_empty() { "Xbox" } else { "PC" },
        flags: 0,
        flag_names: Vec::new(),
    };
    let (hashes, heads) = (Family::Tes3, Arc::default());
    Ok(Archive { about, hashes, files: files.into(), heads, sniffed: Vec::new(), notes: notes.kept })
}

/// The header's two numbers.
struct Header {
    /// Offset of the hashes, in bytes from the start of the archive.
    hashes: u64,
    /// Length of everything between the header and the hashes, in bytes: `H` of FORMATS.md.
    before_hashes: u64,
    count: u32,
}

impl Header {
    /// Whether the archive stores names. The space between records and hashes tells: none without names, and at
    /// least an offset and a NUL for each file with them. (Looking at the first name offset, as others do, misfires.)
    fn names(&self) -> Result<bool, ParseError> {
        let count = u64::from(self.count);
        let records = count.saturating_mul(u64::from(RECORD_LEN));
        if self.before_hashes == records {
            Ok(false)
        } else if self.before_hashes >= count.saturating_mul(13) {
            Ok(true)
        } else {
            Err(ParseError::corrupt(
                4,
                format!("{} bytes hold no records and names of {count} files", self.before_hashes),
            ))
        }
    }
}

fn header(archive: &[u8]) -> Result<Header, ParseError> {
    let mut reader = Reader::new(archive);
    reader.skip(4, "the magic number")?;
    let before_hashes = u64::from(reader.u32("the offset of the hashes")?);
    let count = reader.u32("the count of files")?;
    Ok(Header { hashes: before_hashes.saturating_add(HEADER_LEN), before_hashes, count })
}

/// How many hashes a reader holds.
fn hashes_count(hashes: &Reader<'_>) -> usize {
    usize::try_from(hashes.left().checked_div(u64::from(HASH_LEN)).unwrap_or(0)).unwrap_or(0)
}

/// The name offsets and the strings that they point into.
struct Names<'a> {
    offsets: Reader<'a>,
    strings: &'a [u8],
    /// Where the strings begin, in bytes from the start of the archive.
    at: u64,
    /// The string after the one that was read last: where a damaged offset is mended from.
    sequential: Reader<'a>,
    /// How many more bytes names may take. Offsets that lead many files to one long name would make of a small
    /// archive any amount of names; twice the strings is more than a few damaged offsets take.
    budget: u64,
}

impl<'a> Names<'a> {
    fn read(reader: &mut Reader<'a>, header: &Header) -> Result<Self, ParseError> {
        let offsets = reader.records(header.count, NAME_OFFSET_LEN, "the name offsets")?;
        let at = reader.position();
        let strings = reader.take(header.hashes.saturating_sub(at), "the names")?;
        if strings.last().is_some_and(|&byte| byte != 0) {
            return Err(ParseError::corrupt(header.hashes.saturating_sub(1), "the last name has no end"));
        }
        let sequential = Reader::new(strings);
        let budget = sequential.left().saturating_mul(2);
        Ok(Self { offsets, strings, at, sequential, budget })
    }

    /// The next file's name: where its offset says, or else after the name before it.
    fn next(&mut self, notes: &mut Notes) -> Result<&'a [u8], ParseError> {
        let at = self.offsets.position();
        let offset = self.offsets.u32("a name offset")?;
        let mut reader = match Reader::at(self.strings, u64::from(offset), "a name") {
            Ok(reader) if reader.left() > 0 => reader,
            _ => {
                notes.add(at, || {
                    format!("name offset {offset} lies beyond the names; the next name in order is taken")
                });
                self.sequential.clone()
            }
        };
        let name = reader.zstring("a name").map_err(|missing| {
            ParseError::corrupt(self.at.saturating_add(missing.at), "there are fewer names than files")
        })?;
        self.sequential = reader;
        let taken = u64::try_from(name.len()).unwrap_or(u64::MAX).saturating_add(1);
        self.budget = self
            .budget
            .checked_sub(taken)
            .ok_or_else(|| ParseError::corrupt(at, "many files share one name"))?;
        Ok(name)
    }
}
