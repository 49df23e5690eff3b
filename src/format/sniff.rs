//! Guesses the type of a file without a name by its first bytes.
//!
//! Only uncompressed files are examined. Each costs one page of the archive; otherwise only tables are read.

use super::archive::Archive;
use super::entry::Name;
use super::extent::{Codec, Extent};
use super::hash::Family;
use crate::read::{Bytes, Reader};

/// Maximum number of files that are examined in an archive, because each may cost a read from the
/// disk. The largest known archive without names has about 14,000.
const MAX_EXAMINED: usize = 1 << 16;

/// Number of bytes examined in a file: enough for an embedded name of any length and a magic number.
const FIRST: u64 = 512;

/// Magic numbers and the extensions of files that begin with them. Meshes and their animations
/// begin alike, and a plugin may be a master. In such cases the more common extension is taken.
const MAGICS: [(&[u8], &str); 22] = [
    (b"DDS ", "dds"),
    (b"NetImmerse File Format", "nif"),
    (b"Gamebryo File Format", "nif"),
    (b"OggS", "ogg"),
    (b"ID3", "mp3"),
    (b"FUZE", "fuz"),
    (b"\x57\xE0\xE0\x57\x10\xC0\xC0\x10", "hkx"),
    (b"FWS", "swf"),
    (b"CWS", "swf"),
    (b"GFX", "swf"),
    (b"CFX", "swf"),
    (b"TES3", "esp"),
    (b"TES4", "esp"),
    (b"<?xml", "xml"),
    (b"\xEF\xBB\xBF<?xml", "xml"),
    (b"\x89PNG\r\n\x1A\n", "png"),
    (b"\xFA\x57\xC0\xDE", "pex"),
    (b"\xDE\xC0\x57\xFA", "pex"),
    (b"BIKi", "bik"),
    // Textures of the Xbox 360.
    (b"3XDO", "ddx"),
    (b"3XDR", "ddx"),
    (b"BTDX", "ba2"),
];

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
    if let Some((_, extension)) = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(extension);
    }
    // Sounds are RIFF files, whose kind follows their length.
    match (bytes.get(..4)?, bytes.get(8..12)?) {
        (b"RIFF", b"WAVE") => Some("wav"),
        (b"RIFF", b"XWMA") => Some("xwm"),
        _ => None,
    }
}
