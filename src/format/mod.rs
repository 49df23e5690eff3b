//! Archive formats. Each is parsed into an [`Archive`], and the rest of the crate works only with that.
//!
//! Parsing is pure: it takes an archive's bytes and returns tables or a [`ParseError`]. It never
//! panics. Whatever the bytes are, it uses memory in proportion to the size of the tables. A format
//! is one file in this folder (with its `mod` line here) and one row in [`FORMATS`].
//!
//! | question | file |
//! |---|---|
//! | how is a format parsed? | `tes3.rs`, `tes4.rs` with `tes4_names.rs`, `ba2.rs`, the folder `legacy` |
//! | what comes out? | `archive.rs` |
//! | which format is it? | `detect.rs` |
//! | which bytes are a file's name? | `naming.rs` |
//! | how do names become safe paths? | `name.rs`, `encoding.rs` |
//! | how are names hashed? | the folder `hash` |
//! | what is in a file without a name? | `detect.rs` |
//! | what of the tables would a game refuse? | `structure.rs` |
//! | what may an archive declare? | `limits.rs` |
//! | how are archives written? | the folder `write` |
//! | what is wrong or odd? | `error.rs`, `../note.rs` |
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
mod error;
pub mod hash;
pub mod legacy;
mod limits;
pub mod name;
mod naming;
pub mod structure;
pub mod tes3;
pub mod tes4;
mod tes4_flag;
mod tes4_names;
pub mod write;

use crate::read::Bytes;
pub use archive::{
    About, Archive, Codec, Entries, Entry, EntryId, Extent, ExtentPrefix, FileList, Files, Head, Heads,
    LinearTexture, Name,
};
pub use detect::Format;
pub use error::{ParseError, ParseErrorKind};
pub use limits::{Limits, Options};

/// Every supported format, in the order in which they are tried.
///
/// Formats without a magic number begin with a count of files. They precede Morrowind's, because its magic
/// number may be such a count.
#[rustfmt::skip] // one row a line
pub static FORMATS: &[Format] = &[
    tes4::FORMAT,
    ba2::FORMAT,
    legacy::ARENA,
    legacy::DAGGERFALL,
    tes3::FORMAT,
];

/// Whether the name of a file in a folder is that of an archive. The content may still be of no known format.
pub fn is_archive_name(name: &[u8]) -> bool {
    let extension = name.iter().rposition(|&byte| byte == b'.').and_then(|dot| name.get(dot..)?.get(1..));
    let is_one = |known: &&str| extension.is_some_and(|it| it.eq_ignore_ascii_case(known.as_bytes()));
    FORMATS.iter().flat_map(|format| format.extensions).any(is_one)
}

/// Whether a file with this extension may be an archive if the user names it.
pub fn is_archive_extension(extension: &[u8]) -> bool {
    let all = FORMATS.iter().flat_map(|format| [format.extensions, format.shared_extensions]);
    all.flatten().any(|known| extension.eq_ignore_ascii_case(known.as_bytes()))
}

/// Parses an archive's tables as [`parse_with`] does, and refuses unknown versions and kinds.
pub fn parse<'a>(archive: impl Into<Bytes<'a>>, limits: &Limits) -> Result<Archive<'a>, ParseError> {
    parse_with(archive, &Options { limits: *limits, force: false })
}

/// Parses an archive's tables with the first of [`FORMATS`] that recognises it.
///
/// # Errors
/// [`ParseErrorKind::Unsupported`] if none recognises it, with a guess at what the bytes are.
/// Otherwise the error of the format.
pub fn parse_with<'a>(archive: impl Into<Bytes<'a>>, options: &Options) -> Result<Archive<'a>, ParseError> {
    detect::parse_by(FORMATS, archive.into(), options)
}
