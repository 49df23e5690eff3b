//! The waist of the hourglass: every archive format is parsed into an [`Archive`], and nothing below knows formats.
//!
//! Parsing is pure: an archive's bytes in, tables or a [`ParseError`] out. It never panics, and uses memory in
//! proportion to the size of the tables, whatever the bytes. A format is one file of this folder (its `mod` line here)
//! and one row of [`FORMATS`].
//!
#![doc = include_str!("FORMATS.md")]
#![deny(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions
)]

mod archive;
pub mod ba2;
mod detect;
pub mod encoding;
mod entry;
mod error;
mod extent;
mod files;
pub mod hash;
mod head;
pub mod legacy;
mod limits;
pub mod name;
mod notes;
mod sniff;
pub mod tes3;
pub mod tes4;

pub use archive::{About, Archive};
pub use detect::Format;
pub use entry::{Entry, EntryId, Name};
pub use error::{ParseError, ParseErrorKind};
pub use extent::{Codec, Extent, ExtentPrefix};
pub use files::{Entries, FileList, Files};
pub use head::{Head, Heads, LinearTexture};
pub use limits::{Limits, Options};
pub use notes::FormatNote;

use crate::read::Bytes;

/// Every format that can be read, in the order in which they are tried.
///
/// Those without a magic number precede Morrowind's, whose magic number is a likely count of files.
#[rustfmt::skip] // a row a line
pub static FORMATS: &[Format] = &[
    tes4::FORMAT,
    ba2::FORMAT,
    legacy::ARENA,
    legacy::DAGGERFALL,
    tes3::FORMAT,
];

/// Whether a file in a folder is an archive by its name. Its content may still have no known format.
pub fn is_archive_name(name: &[u8]) -> bool {
    let extension = name.iter().rposition(|&byte| byte == b'.').and_then(|dot| name.get(dot..)?.get(1..));
    let is_one = |known: &&str| extension.is_some_and(|it| it.eq_ignore_ascii_case(known.as_bytes()));
    FORMATS.iter().flat_map(|format| format.extensions).any(is_one)
}

/// Whether a user who names a file of this extension may mean an archive.
pub fn is_archive_extension(extension: &[u8]) -> bool {
    let all = FORMATS.iter().flat_map(|format| [format.extensions, format.shared_extensions]);
    all.flatten().any(|known| extension.eq_ignore_ascii_case(known.as_bytes()))
}

/// Parses an archive's tables, as [`parse_with`] does, of known versions and kinds.
///
/// # Errors
/// Those of [`parse_with`].
pub fn parse<'a>(archive: impl Into<Bytes<'a>>, limits: &Limits) -> Result<Archive<'a>, ParseError> {
    parse_with(archive, &Options { limits: *limits, force: false })
}

/// Parses an archive's tables by the first of [`FORMATS`] that recognises it.
///
/// # Errors
/// [`ParseErrorKind::Unsupported`] where none does, with what the bytes look like; otherwise what the format found.
pub fn parse_with<'a>(archive: impl Into<Bytes<'a>>, options: &Options) -> Result<Archive<'a>, ParseError> {
    detect::parse_by(FORMATS, archive.into(), options)
}
