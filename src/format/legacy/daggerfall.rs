//! Daggerfall's BSA files and `DAGGER.SND`: a count, the directory's kind, the files, and a directory of names or of
//! numbers (FORMATS.md section 9.2). Battlespire's are said to be alike \[unverified\].

use super::super::{About, Archive, Format, Name, Options, ParseError};
use super::{Layout, Record, about, named};
use crate::read::{Missing, Reader};

/// This format's row in [`super::super::FORMATS`].
pub const FORMAT: Format = Format { name: "Daggerfall", claims, parse };

static NAMES: Layout = Layout { header: 4, record: 18, read: named };
static NUMBERS: Layout = Layout { header: 4, record: 8, read: numbered };

fn claims(archive: &[u8]) -> bool {
    kind(archive).is_ok_and(|(layout, _)| layout.fits(archive))
}

fn parse<'a>(archive: &'a [u8], options: &Options) -> Result<Archive<'a>, ParseError> {
    let (layout, about) = kind(archive)?;
    layout.parse(archive, about, options)
}

/// The layout that the header names.
fn kind(archive: &[u8]) -> Result<(&'static Layout, About), ParseError> {
    const GAMES: &str = "The Elder Scrolls II: Daggerfall";
    let mut header = Reader::new(archive);
    header.skip(2, "the count of files")?;
    match header.u16("the kind of the directory")? {
        0x0100 => Ok((&NAMES, about(FORMAT.name, "names", GAMES))),
        0x0200 => Ok((&NUMBERS, about(FORMAT.name, "numbers", GAMES))),
        kind => Err(ParseError::unsupported(2, format!("a directory of kind {kind:#06X}"))),
    }
}

/// A number and a size. Some describe the number's upper half as a flag for packed files, but the game's own
/// numbers pass 65,535 and DaggerfallUnity reads all four bytes as the number, so that is done here \[unverified\].
fn numbered<'a>(directory: &mut Reader<'a>) -> Result<Record<'a>, Missing> {
    let name = Name::Number(directory.u32("a file's number")?);
    let size = directory.u32("a file's size")?;
    Ok(Record { name, is_packed: false, size })
}
