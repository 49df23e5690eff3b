//! Morrowind's archives (TES3): full paths, no compression, no folder records (FORMATS.md section 2).

use std::sync::Arc;

use super::archive::{About, Archive, Codec, Entry, Extent, ExtentPrefix, FileList, Name};
use super::detect::Format;
use super::error::ParseError;
use super::hash::{Family, Hash};
use super::limits::Options;
use super::naming::{TRIALS, proved_beginning, proves};
use super::structure::PastEnd;
use crate::kinds::BSA;
use crate::note::{NoteCode, Notes};
use crate::read::{Bytes, Reader, Record, UnexpectedEnd};

/// This format's row in [`super::FORMATS`].
pub const FORMAT: Format =
    Format { name: "TES3", extensions: &[BSA], shared_extensions: &[], recognises, parse };

pub(super) const MAGIC: [u8; 4] = [0x00, 0x01, 0x00, 0x00];
/// Length of the header in bytes: magic number, offset of the hashes (from the end of the header),
/// count of files.
pub(super) const HEADER_LEN: u64 = 12;
/// Length of a file record in bytes.
pub(super) const RECORD_LEN: usize = 8;
/// Length of a hash in bytes.
pub(super) const HASH_LEN: usize = 8;
/// Length of an offset into the names, in bytes.
pub(super) const NAME_OFFSET_LEN: usize = 4;
/// Minimum number of bytes of a file between header and hashes: its record. With names, also an
/// offset and a NUL.
const MIN_LEN: u64 = 8;
const MIN_NAMED_LEN: u64 = 13;

/// Formats without a magic number are tried before this one, because its magic number is a likely
/// count of files.
fn recognises(archive: Bytes<'_>) -> bool {
    archive.starts_with(&MAGIC)
}

fn parse<'a>(archive: Bytes<'a>, options: &Options) -> Result<Archive<'a>, ParseError> {
    let limits = &options.limits;
    let header = header(archive)?;
    limits.check_count(8, u64::from(header.count), "files")?;
    let mut notes = Notes::new(limits.notes);
    let mut reader = Reader::at(archive, HEADER_LEN, "the file records")?;
    let mut records = reader.records(header.count, RECORD_LEN, "the file records")?;
    let mut names = if header.names()? { Some(Names::read(&mut reader, &header)?) } else { None };
    let mut reader = Reader::at(archive, header.hashes, "the hashes")?;
    let mut hashes = reader.records(header.count, HASH_LEN, "the hashes")?;
    let data = reader.position();

    // Records, names and hashes lie in the file, so its length bounds their count.
    let count = hashes.records_left(HASH_LEN);
    let mut files = FileList { entries: Vec::with_capacity(count), extents: Vec::with_capacity(count) };
    let mut past_end = PastEnd::new(Reader::new(archive).left());
    let mut unnamed = 0_u32;
    while hashes.left() > 0 {
        let record = FileRecord::read(&mut records)?;
        let hash = Hash { folder: 0, file: hashes.u64("a file's hash")? };
        let name = names.as_mut().and_then(|names| names.next(&hash, &mut notes));
        unnamed = unnamed.saturating_add(u32::from(name.is_none()));
        let name = name.map_or(Name::Unknown { extension: [0; 4] }, Name::Path);
        let extent = Extent {
            offset: data.saturating_add(record.offset()),
            packed: record.size(),
            size: Some(record.size()),
            codec: Codec::Stored,
            prefix: ExtentPrefix::NONE,
        };
        past_end.check(&extent);
        files.entries.push(Entry { name, hash, extents: 1 });
        files.extents.push(extent);
    }
    if names.is_none() && !files.entries.is_empty() {
        notes.add_at(NoteCode::ArchiveNameless, HEADER_LEN, || {
            "the archive stores no names, like Morrowind's archives for the Xbox: its files are listed by \
             hash unless --names supplies their paths"
                .into()
        });
    } else if unnamed > 0 {
        notes.add_at(NoteCode::NamesEndEarly, HEADER_LEN, || {
            format!(
                "the table of names ends early or is damaged; files listed by hash \
                 unless --names supplies their paths: {unnamed}"
            )
        });
    }
    past_end.add_note(&mut notes, "file");
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
    let (files, tables) = (files.into(), vec![0..HEADER_LEN, HEADER_LEN..data]);
    Ok(Archive {
        about,
        hashes,
        files,
        heads,
        sniffed: Vec::new(),
        has_ascii_names: false,
        tables,
        notes: notes.into_vec(),
    })
}

/// The header without its magic number.
struct Header {
    /// Offset of the hashes, in bytes from the start of the archive.
    hashes: u64,
    /// Length of everything between the header and the hashes, in bytes: `H` of FORMATS.md.
    before_hashes: u64,
    count: u32,
}

impl Header {
    /// Whether the archive stores names. The space between records and hashes decides. Archives
    /// without names have none. Archives with names have at least an offset and a NUL for each
    /// file. (Other programs check the first name offset, which may be any number.)
    fn names(&self) -> Result<bool, ParseError> {
        let count = u64::from(self.count);
        if self.before_hashes == count.saturating_mul(MIN_LEN) {
            Ok(false)
        } else if self.before_hashes >= count.saturating_mul(MIN_NAMED_LEN) {
            Ok(true)
        } else {
            Err(ParseError::corrupt(
                4,
                format!("{} bytes cannot contain the records and names of {count} files", self.before_hashes),
            ))
        }
    }
}

fn header(archive: Bytes<'_>) -> Result<Header, ParseError> {
    let mut reader = Reader::new(archive);
    reader.skip(4, "the magic number")?;
    let before_hashes = u64::from(reader.u32("the offset of the hashes")?);
    let count = reader.u32("the count of files")?;
    Ok(Header { hashes: before_hashes.saturating_add(HEADER_LEN), before_hashes, count })
}

/// A file record (FORMATS.md section 2).
struct FileRecord<'a>(Record<'a, RECORD_LEN>);

impl<'a> FileRecord<'a> {
    fn read(records: &mut Reader<'a>) -> Result<Self, UnexpectedEnd> {
        records.record("a file's record").map(Self)
    }

    /// Size in bytes.
    fn size(&self) -> u32 {
        self.0.u32_at::<0>()
    }

    /// Offset in bytes from the end of the hashes.
    fn offset(&self) -> u64 {
        u64::from(self.0.u32_at::<4>())
    }
}

/// The name offsets, and the strings that they refer to.
struct Names<'a> {
    offsets: Reader<'a>,
    strings: &'a [u8],
    /// Reads the string after the last one.
    sequential: Reader<'a>,
    /// How many more bytes names may take. This stops a small archive from expanding to any amount
    /// of names because many files share one long name. Twice the bytes of all strings is more than
    /// a few damaged offsets take.
    budget: usize,
    /// How many more bytes of strings are read. If no hash proves a name, two strings are read for each.
    reads: usize,
    /// How many more beginnings of strings are tried.
    trials: usize,
}

impl<'a> Names<'a> {
    fn read(reader: &mut Reader<'a>, header: &Header) -> Result<Self, ParseError> {
        let offsets = reader.records(header.count, NAME_OFFSET_LEN, "the name offsets")?;
        let at = reader.position();
        let strings = reader.take(header.hashes.saturating_sub(at), "the names")?;
        let (budget, reads) = (strings.len().saturating_mul(2), strings.len().saturating_mul(4));
        Ok(Self { offsets, strings, sequential: Reader::new(strings), budget, reads, trials: TRIALS })
    }

    /// The next file's name: the one at its offset, or the one that follows the previous name, if the hash
    /// proves that, or if the offset leads nowhere. `None` if there is none.
    fn next(&mut self, hash: &Hash, notes: &mut Notes) -> Option<&'a [u8]> {
        let at = self.offsets.position();
        let offset = self.offsets.u32("a name offset").ok()?;
        if self.reads == 0 {
            return None;
        }
        let is_proved = |(name, _): &(&[u8], Reader<'_>)| proves(Family::Tes3, hash, name);
        let stored = Reader::at(self.strings, u64::from(offset), "a name").ok().and_then(string);
        self.spend(stored.as_ref());
        let (name, after) = match stored.clone().filter(is_proved) {
            Some(stored) => stored,
            None => {
                let following = string(self.sequential.clone());
                self.spend(following.as_ref());
                let proved = following.clone().filter(is_proved).or_else(|| {
                    let (whole, _) = stored.as_ref()?;
                    let name = proved_beginning(Family::Tes3, hash, whole, &mut self.trials)?;
                    let end = u64::from(offset).saturating_add(u64::try_from(name.len()).ok()?);
                    Some((name, Reader::at(self.strings, end, "a name").ok()?))
                });
                if stored.is_none() {
                    notes.add_at(NoteCode::TablesOdd, at, || {
                        format!("name offset {offset} lies beyond the names; the next name in order is used")
                    });
                } else if proved.is_some() {
                    notes.add_at(NoteCode::TablesOdd, at, || {
                        format!("name offset {offset} is not that of the file's name, which its hash shows")
                    });
                }
                proved.or(stored).or(following)?
            }
        };
        self.sequential = after;
        self.budget = self.budget.checked_sub(name.len().saturating_add(1))?;
        Some(name).filter(|name| !name.is_empty())
    }

    fn spend(&mut self, string: Option<&(&[u8], Reader<'_>)>) {
        let len = string.map_or(0, |(name, _)| name.len().saturating_add(1));
        self.reads = self.reads.saturating_sub(len);
    }
}

/// The string at the position of a reader, and a reader of what follows. The last string may lack its NUL.
fn string(mut strings: Reader<'_>) -> Option<(&[u8], Reader<'_>)> {
    if strings.left() == 0 {
        return None;
    }
    let name = strings.zstring("a name").or_else(|_| strings.take(strings.left(), "a name")).ok()?;
    Some((name, strings))
}
