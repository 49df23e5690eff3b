//! Arena's `GLOBAL.BSA`: a count, the files, and a directory of names (FORMATS.md section 9.1).

use super::layout::{DirectoryLayout, LegacyFile, NAMED_LEN, NamedRecord, about};
use crate::format::archive::{Archive, Codec};
use crate::format::detect::Format;
use crate::format::error::ParseError;
use crate::format::limits::Options;
use crate::kinds::BSA;
use crate::read::{Bytes, Reader, UnexpectedEnd};

/// This format's row in [`super::super::FORMATS`].
pub const FORMAT: Format =
    Format { name: "Arena", extensions: &[BSA], shared_extensions: &[], recognises, parse };

static LAYOUT: DirectoryLayout = DirectoryLayout { header_len: 2, record_len: NAMED_LEN, read: named };

fn recognises(archive: Bytes<'_>) -> bool {
    LAYOUT.fits(archive)
}

fn parse<'a>(archive: Bytes<'a>, options: &Options) -> Result<Archive<'a>, ParseError> {
    LAYOUT.parse(archive, about(FORMAT.name, "", "The Elder Scrolls: Arena"), options)
}

/// The flag is 0 in the game's archive (UESP), so that no method is known for others.
fn named<'a>(directory: &mut Reader<'a>) -> Result<LegacyFile<'a>, UnexpectedEnd> {
    let record = NamedRecord::read(directory)?;
    Ok(record.file(if record.flag() == 0 { Codec::Stored } else { Codec::Unsupported }))
}
