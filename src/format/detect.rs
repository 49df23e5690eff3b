//! Detects the format of an archive by its bytes, and guesses what unknown bytes are.

use super::archive::{Archive, Codec, Extent, Name};
use super::error::ParseError;
use super::hash::Family;
use super::limits::Options;
use crate::kinds;
use crate::read::{Bytes, Reader};

/// A format: one row of [`super::FORMATS`].
#[derive(Debug)]
pub struct Format {
    /// The name that is shown to users.
    pub name: &'static str,
    /// Extensions of its archives, in lower case. Two formats may share an extension.
    pub extensions: &'static [&'static str],
    /// Extensions that its archives share with other kinds of files. Such a file in a folder does
    /// not count as an archive, but a user may name it as one.
    pub shared_extensions: &'static [&'static str],
    /// Whether an archive with these bytes has this format, in whatever version.
    pub recognises: fn(Bytes<'_>) -> bool,
    /// Parses the tables of a recognised archive.
    pub parse: for<'a> fn(Bytes<'a>, &Options) -> Result<Archive<'a>, ParseError>,
}

/// Parses an archive with the first of `formats` that recognises it.
pub(super) fn parse_by<'a>(
    formats: &[Format],
    archive: Bytes<'a>,
    options: &Options,
) -> Result<Archive<'a>, ParseError> {
    let format = formats.iter().find(|format| (format.recognises)(archive)).ok_or_else(|| {
        ParseError::unsupported(
            0,
            format!("not a BSA or BA2; it looks like {}", looks_like(archive.first(512), archive)),
        )
    })?;
    let mut parsed = (format.parse)(archive, options)?;
    parsed.sniffed = unnamed(archive, &parsed);
    Ok(parsed)
}

/// What the files in the folder `Paks` of Oblivion Remastered are.
const UNREAL: &str = "a Pak of Unreal Engine, where Oblivion Remastered has its meshes and textures: \
                      use a tool for these, such as repak or retoc";

/// Whether a file ends as a Pak of Unreal Engine, whose footer has this magic number.
fn is_pak(archive: Bytes<'_>) -> bool {
    const MAGIC: [u8; 4] = 0x5a6f_12e1_u32.to_le_bytes();
    const FOOTER_MAX: u64 = 512;
    let len = Reader::new(archive).left();
    let footer = Reader::at(archive, len.saturating_sub(FOOTER_MAX), "a footer");
    let footer = footer.and_then(|mut footer| footer.take(len.min(FOOTER_MAX), "a footer"));
    footer.is_ok_and(|footer| footer.windows(MAGIC.len()).any(|bytes| bytes == MAGIC))
}

/// Guesses what bytes of no known format are, in words that complete "it looks like".
fn looks_like(bytes: &[u8], archive: Bytes<'_>) -> &'static str {
    /// Magic numbers of files that users mistake for archives, or download in place of one.
    const KNOWN: [(&[u8], &str); 14] = [
        (b"PK\x03\x04", "a zip file: unpack it first"),
        (b"7z\xbc\xaf\x27\x1c", "a 7-Zip file: unpack it first"),
        (b"Rar!", "a RAR file: unpack it first"),
        (b"\x1f\x8b", "a gzip file: unpack it first"),
        (b"DDS ", "a loose DDS texture"),
        (b"TES4", "a plugin (ESP, ESM or ESL)"),
        (b"TES3", "a Morrowind plugin"),
        (b"NetImmerse", "a loose NIF mesh"),
        (b"Gamebryo", "a loose NIF mesh"),
        (b"<!DOCTYPE", "a web page that was saved instead of the archive"),
        (b"<html", "a web page that was saved instead of the archive"),
        (b"BSArc", "a file of BSArc, an unrelated compressor"),
        (b"\x7fELF", "a program"),
        (b"-==--==--==--==-", UNREAL),
    ];
    if bytes.is_empty() {
        return "an empty file: was the download cut off?";
    }
    if let Some((_, what)) = KNOWN.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return what;
    }
    if is_pak(archive) {
        UNREAL
    } else if bytes.iter().all(|&byte| byte == 0) {
        "a file of zeros: was the download cut off?"
    } else if bytes
        .iter()
        .all(|&byte| byte == b'\t' || byte == b'\n' || byte == b'\r' || (0x20..0x7f).contains(&byte))
    {
        "a text file"
    } else {
        "data of an unknown kind"
    }
}

// Guesses the type of a file without a name by its first bytes.
//
// Only uncompressed files are examined. Each costs one page of the archive; otherwise only tables are read.

/// Maximum number of files that are examined in an archive, because each may cost a read from the
/// disk. The largest known archive without names has about 14,000.
const MAX_EXAMINED: usize = 1 << 16;

/// Number of bytes examined in a file: enough for an embedded name of any length and a magic number.
const FIRST: u64 = 512;

/// Extensions for files that have neither a name nor a stored extension, if their first bytes reveal one.
pub(super) fn unnamed(archive: Bytes<'_>, parsed: &Archive<'_>) -> Vec<(u32, &'static str)> {
    if matches!(parsed.hashes, Family::Fo4 | Family::None) || parsed.files.has_all_names() {
        return Vec::new();
    }
    let mut extents = parsed.extents();
    let mut sniffed = Vec::new();
    let mut examined = 0_usize;
    for (index, entry) in (0_u32..).zip(parsed.entries()) {
        let first = match usize::from(entry.extents).checked_sub(1) {
            Some(more) => extents.by_ref().next().inspect(|_| extents.by_ref().take(more).for_each(drop)),
            None => None,
        };
        let is_unnamed = matches!(entry.name, Name::Unknown { .. } | Name::Split { file: None, .. });
        if let Some(extent) = first.filter(|_| is_unnamed) {
            examined = examined.saturating_add(1);
            if examined > MAX_EXAMINED {
                break;
            }
            sniffed.extend(extension(archive, &extent).map(|extension| (index, extension)));
        }
    }
    sniffed
}

/// The extension that the first bytes of an extent reveal; `None` if they are packed or not known.
fn extension(archive: Bytes<'_>, extent: &Extent) -> Option<&'static str> {
    if extent.codec != Codec::Stored {
        return None;
    }
    let mut reader = Reader::at(archive, extent.offset, "a file").ok()?;
    let mut bytes = reader.take(u64::from(extent.packed).min(reader.left()).min(FIRST), "a file").ok()?;
    if extent.prefix.name {
        let (len, rest) = bytes.split_first()?;
        bytes = rest.get(usize::from(*len)..)?;
    }
    kinds::ending_by_content(bytes)
}
