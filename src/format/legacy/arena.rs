//! Arena's `GLOBAL.BSA`: a count, the files, and a directory of names (FORMATS.md section 9.1).

use super::super::{Archive, Format, Options, ParseError};
use super::{Layout, about, named};

/// This format's row in [`super::super::FORMATS`].
pub const FORMAT: Format = Format { name: "Arena", claims, parse };

static LAYOUT: Layout = Layout { header: 2, record: 18, read: named };

fn claims(archive: &[u8]) -> bool {
    LAYOUT.fits(archive)
}

fn parse<'a>(archive: &'a [u8], options: &Options) -> Result<Archive<'a>, ParseError> {
    LAYOUT.parse(archive, about(FORMAT.name, "", "The Elder Scrolls: Arena"), options)
}
