//! Daggerfall's BSA files and `DAGGER.SND`, and Battlespire's BSA files: a count, the directory's kind, the
//! files, and a directory of names or numbers (FORMATS.md sections 9.2 and 9.3).

use super::layout::{DirectoryLayout, LegacyFile, NAMED_LEN, NamedRecord, about};
use crate::format::archive::{About, Archive, Codec, Name};
use crate::format::detect::Format;
use crate::format::error::ParseError;
use crate::format::limits::Options;
use crate::kinds::BSA;
use crate::read::{Bytes, Reader, Record, UnexpectedEnd};

/// This format's row in [`super::super::FORMATS`].
pub const FORMAT: Format =
    Format { name: "Daggerfall", extensions: &[BSA], shared_extensions: &["snd"], recognises, parse };

/// Length of the record of a file with a number, in bytes.
const NUMBERED_LEN: usize = 8;

static NAMES: DirectoryLayout = DirectoryLayout { header_len: 4, record_len: NAMED_LEN, read: named };
static NUMBERS: DirectoryLayout = DirectoryLayout { header_len: 4, record_len: NUMBERED_LEN, read: numbered };

fn recognises(archive: Bytes<'_>) -> bool {
    kind(archive).is_ok_and(|(layout, _)| layout.fits(archive))
}

fn parse<'a>(archive: Bytes<'a>, options: &Options) -> Result<Archive<'a>, ParseError> {
    let (layout, about) = kind(archive)?;
    let mut parsed = layout.parse(archive, about, options)?;
    // Daggerfall packs no files, and its sounds have no headers.
    let has_packed = parsed.extents().any(|extent| extent.codec == Codec::Lzss);
    let first = parsed.extents().next().filter(|_| parsed.about.kind == NUMBERS_KIND);
    let has_header = first.is_some_and(|first| {
        Reader::at(archive, first.offset, "a sound")
            .is_ok_and(|mut sound| sound.take(4, "a sound") == Ok(b"RIFF"))
    });
    if has_packed || has_header {
        parsed.about.games = BATTLESPIRE;
    }
    Ok(parsed)
}

/// The kind of a directory of numbers.
const NUMBERS_KIND: &str = "numbers";
const DAGGERFALL: &str = "The Elder Scrolls II: Daggerfall";
const BATTLESPIRE: &str = "An Elder Scrolls Legend: Battlespire";
/// Games whose archives differ only if files are packed.
const EITHER: &str = "The Elder Scrolls II: Daggerfall, An Elder Scrolls Legend: Battlespire";

/// The layout that the header states.
fn kind(archive: Bytes<'_>) -> Result<(&'static DirectoryLayout, About), ParseError> {
    let mut header = Reader::new(archive);
    header.skip(2, "the count of files")?;
    match header.u16("the kind of the directory")? {
        0x0100 => Ok((&NAMES, about(FORMAT.name, "names", EITHER))),
        0x0200 => Ok((&NUMBERS, about(FORMAT.name, NUMBERS_KIND, DAGGERFALL))),
        kind => Err(ParseError::unsupported(2, format!("unknown kind of directory: {kind:#06X}"))),
    }
}

/// The record of a file with a number. Some sources describe the number's upper half as a flag for
/// packed files. But the game's own numbers pass 65,535, and DaggerfallUnity reads all four bytes
/// as the number. We do the same \[unverified\].
struct NumberedRecord<'a>(Record<'a, NUMBERED_LEN>);

impl NumberedRecord<'_> {
    fn number(&self) -> u32 {
        self.0.u32_at::<0>()
    }

    /// Size in bytes.
    fn size(&self) -> u32 {
        self.0.u32_at::<4>()
    }
}

fn numbered<'a>(directory: &mut Reader<'a>) -> Result<LegacyFile<'a>, UnexpectedEnd> {
    let record = NumberedRecord(directory.record("a file's record")?);
    Ok(LegacyFile { name: Name::Number(record.number()), codec: Codec::Stored, size: record.size() })
}

/// The flag of files that Battlespire packs with LZSS.
const LZSS: u16 = 0x0100;

fn named<'a>(directory: &mut Reader<'a>) -> Result<LegacyFile<'a>, UnexpectedEnd> {
    let record = NamedRecord::read(directory)?;
    Ok(record.file(match record.flag() {
        0 => Codec::Stored,
        LZSS => Codec::Lzss,
        _ => Codec::Unsupported,
    }))
}
