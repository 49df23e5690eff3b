//! Daggerfall's BSA files and `DAGGER.SND`: a count, the directory's kind, the files, and a directory of
//! names or numbers (FORMATS.md section 9.2). Battlespire's archives are reported to be similar
//! \[unverified\].

use super::super::archive::{About, Archive};
use super::super::detect::Format;
use super::super::entry::Name;
use super::super::error::ParseError;
use super::super::limits::Options;
use super::layout::{File, Layout, NAMED_LEN, about, named};
use crate::read::{Bytes, Reader, Record, UnexpectedEnd};

/// This format's row in [`super::super::FORMATS`].
pub const FORMAT: Format =
    Format { name: "Daggerfall", extensions: &["bsa"], shared_extensions: &["snd"], recognises, parse };

/// Length of the record of a file with a number, in bytes.
const NUMBERED_LEN: usize = 8;

static NAMES: Layout = Layout { header_len: 4, record_len: NAMED_LEN, read: named };
static NUMBERS: Layout = Layout { header_len: 4, record_len: NUMBERED_LEN, read: numbered };

fn recognises(archive: Bytes<'_>) -> bool {
    kind(archive).is_ok_and(|(layout, _)| layout.fits(archive))
}

fn parse<'a>(archive: Bytes<'a>, options: &Options) -> Result<Archive<'a>, ParseError> {
    let (layout, about) = kind(archive)?;
    layout.parse(archive, about, options)
}

/// The layout that the header states.
fn kind(archive: Bytes<'_>) -> Result<(&'static Layout, About), ParseError> {
    const GAMES: &str = "The Elder Scrolls II: Daggerfall";
    let mut header = Reader::new(archive);
    header.skip(2, "the count of files")?;
    match header.u16("the kind of the directory")? {
        0x0100 => Ok((&NAMES, about(FORMAT.name, "names", GAMES))),
        0x0200 => Ok((&NUMBERS, about(FORMAT.name, "numbers", GAMES))),
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

fn numbered<'a>(directory: &mut Reader<'a>) -> Result<File<'a>, UnexpectedEnd> {
    let record = NumberedRecord(directory.record("a file's record")?);
    Ok(File { name: Name::Number(record.number()), is_packed: false, size: record.size() })
}
