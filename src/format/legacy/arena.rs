//! Arena's `GLOBAL.BSA`: a count, the files, and a directory of names (FORMATS.md section 9.1).

use super::super::{Archive, Format, Options, ParseError};
use super::{Layout, Record, about, unpadded};
use crate::read::{Missing, Reader};

/// This format's row in [`super::super::FORMATS`].
pub const FORMAT: Format = Format { name: "Arena", claims, parse };

static LAYOUT: Layout = Layout { header: 2, record: 18, read };

fn claims(archive: &[u8]) -> bool {
    LAYOUT.fits(archive)
}

fn parse<'a>(archive: &'a [u8], options: &Options) -> Result<Archive<'a>, ParseError> {
    LAYOUT.parse(archive, about(FORMAT.name, "", "The Elder Scrolls: Arena"), options)
}

/// Twelve bytes of name, a flag, a size. What packing the flag stands for is not known to anyone [unverified].
fn read<'a>(directory: &mut Reader<'a>) -> Result<Record<'a>, Missing> {
    let name = unpadded(directory.take(12, "a file's name")?);
    let is_packed = directory.u16("a file's flag")? != 0;
    let size = directory.u32("a file's size")?;
    Ok(Record { name, is_packed, size })
}
