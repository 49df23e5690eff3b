//! The prefix of an extent, in front of its payload: an embedded name, an unpacked size, both or neither.
//! Some sizes are stated only there, and some nowhere.
//!
//! Flags say what the prefix has, but some packers set them wrongly. So the bytes decide where they prove
//! something: a name must look like a path, a size must be possible, and a stream may have a signature.

use crate::content::codec::{self, Quirk};
use crate::content::error::Reason;
use crate::format::Extent;

/// Number of bytes at the beginning of an extent that show its prefix and the size that a stream behind it
/// states: a length byte, 255 bytes of name, a u32, and the beginning of the stream.
pub(super) const PREFIX_MAX: usize = 260 + codec::CONTENT_SIZE_MAX;
/// Length of an unpacked size in bytes.
const SIZE_LEN: u32 = 4;

/// What a prefix states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ParsedPrefix {
    /// Offset of the payload in the extent, in bytes.
    pub(super) payload: u32,
    /// Unpacked size of the payload, in bytes.
    pub(super) size: u32,
    /// What contradicts the flags.
    pub(super) quirk: Option<Quirk>,
}

/// Parses the prefix of an extent from its `first` bytes.
///
/// An extent that ends where its size should begin is an empty file. Some packers write those
/// (FORMATS.md 1.6, 4).
pub(super) fn parse(extent: &Extent, first: &[u8]) -> Result<ParsedPrefix, Reason> {
    let (prefix, packed) = (extent.prefix, extent.packed);
    if packed == 0 {
        return Ok(ParsedPrefix { payload: 0, size: 0, quirk: None });
    }
    let byte = *first.first().ok_or(Reason::BeyondEnd)?;
    // The length of a name, with the byte that states it.
    let stated = u32::from(byte) + 1;
    let is_name = is_path(first, packed);
    let name = if prefix.name && is_name { stated } else { 0 };
    let unnamed = (prefix.name && !is_name).then_some(Quirk::Unnamed);
    if !prefix.size {
        return Ok(ParsedPrefix { payload: name, size: packed - name, quirk: unnamed });
    }
    let readings = match (prefix.name, is_name) {
        (true, _) => [Some(stated), Some(0)],
        (false, true) => [Some(0), Some(stated)],
        (false, false) => [Some(0), None],
    };
    let sizes =
        readings.into_iter().flatten().filter_map(|start| Some((start, size_at(extent, first, start)?)));
    let has_stream = |start: u32| first.get((start + SIZE_LEN) as usize..).is_some_and(codec::has_signature);
    let chosen = sizes.clone().find(|&(start, _)| has_stream(start)).or_else(|| sizes.clone().next());
    if let Some((start, size)) = chosen {
        let quirk = match (prefix.name, start > 0) {
            (true, false) => Some(Quirk::Unnamed),
            (false, true) => Some(Quirk::Named),
            _ => None,
        };
        let payload = if packed == start { start } else { start + SIZE_LEN };
        if let Some(own) = size_without_name(first, (start, size), payload) {
            return Ok(ParsedPrefix { payload, size: own, quirk: Some(Quirk::SizeWithName) });
        }
        return Ok(ParsedPrefix { payload, size, quirk });
    }
    let left = packed.checked_sub(if prefix.name { stated } else { 0 }).ok_or(Reason::Prefix)?;
    if left < SIZE_LEN {
        return Err(Reason::Prefix);
    }
    let word = first.get(name as usize..).and_then(<[u8]>::first_chunk).ok_or(Reason::BeyondEnd)?;
    if word.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\r' | b'\n')) && !has_stream(name) {
        // What should be a size spells text, so it belongs to a file that is not packed.
        return Ok(ParsedPrefix { payload: name, size: packed - name, quirk: Some(Quirk::Unsized) });
    }
    Err(Reason::UnpackedSize(u32::from_le_bytes(*word)))
}

/// The size that stands at `start`, if the bytes that follow can yield it. Nothing is the size of nothing.
fn size_at(extent: &Extent, first: &[u8], start: u32) -> Option<u32> {
    let left = extent.packed.checked_sub(start)?;
    if left == 0 {
        return Some(0);
    }
    let packed = left.checked_sub(SIZE_LEN)?;
    let word = first.get(start as usize..)?.first_chunk()?;
    let size = u32::from_le_bytes(*word);
    (u64::from(size) <= codec::max_unpacked(extent.codec, packed.into())).then_some(size)
}

/// The size that a stream states, if the size in front of it is larger by exactly the name. The packer
/// sse-bsa writes such sizes. Its two numbers prove each other, and the stream must end at its own size.
fn size_without_name(first: &[u8], (name, size): (u32, u32), payload: u32) -> Option<u32> {
    let own = u32::try_from(codec::content_size(first.get(payload as usize..)?)?).ok()?;
    (name > 0 && size.checked_sub(own) == Some(name)).then_some(own)
}

/// Whether an extent begins with a length and a path of that length. Every character of a path is allowed in
/// Windows, and there is a folder or an extension.
fn is_path(first: &[u8], packed: u32) -> bool {
    let Some((&len, rest)) = first.split_first() else { return false };
    let Some(path) = rest.get(..usize::from(len)).filter(|_| u32::from(len) < packed) else { return false };
    let is_allowed = |byte: &u8| *byte >= b' ' && !br#"<>:"|?*"#.contains(byte) && *byte != 0x7f;
    let is_slash = |byte: u8| matches!(byte, b'\\' | b'/');
    path.iter().all(is_allowed)
        && path.iter().any(|&byte| is_slash(byte) || byte == b'.')
        && !path.windows(2).any(|pair| pair.iter().all(|&byte| is_slash(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Codec, ExtentPrefix};

    const BOTH: ExtentPrefix = ExtentPrefix { name: true, size: true };
    const NAME: ExtentPrefix = ExtentPrefix { name: true, size: false };
    const SIZE: ExtentPrefix = ExtentPrefix { name: false, size: true };

    /// Payload, size and quirk of an extent of these bytes, of which `packed` are stated.
    fn parsed(prefix: ExtentPrefix, bytes: &[u8], packed: u32) -> Result<(u32, u32, Option<Quirk>), Reason> {
        let codec = if prefix.size { Codec::Zlib } else { Codec::Stored };
        let extent = Extent { offset: 0, packed, size: None, codec, prefix };
        parse(&extent, bytes).map(|it| (it.payload, it.size, it.quirk))
    }

    #[test]
    fn the_payload_begins_after_name_and_size() {
        assert_eq!(parsed(BOTH, b"\x03a.b\x09\0\0\0xyz", 11), Ok((8, 9, None)));
        assert_eq!(parsed(NAME, b"\x03a.bxyz", 7), Ok((4, 3, None)));
        assert_eq!(parsed(SIZE, b"\x09\0\0\0xyz", 7), Ok((4, 9, None)));
    }

    #[test]
    fn every_form_of_an_empty_file_is_empty() {
        assert_eq!(parsed(NAME, b"\x03a.b", 4), Ok((4, 0, None)));
        assert_eq!(parsed(SIZE, b"\0\0\0\0", 4), Ok((4, 0, None)));
        assert_eq!(parsed(BOTH, b"\x03a.b", 4), Ok((4, 0, None)));
        assert_eq!(parsed(SIZE, b"", 0), Ok((0, 0, None)));
    }

    #[test]
    fn a_size_longer_than_its_extent_is_refused() {
        assert_eq!(parsed(SIZE, b"\x09\0\0", 3), Err(Reason::Prefix));
        assert_eq!(parsed(BOTH, b"\x03a.b\x09\0", 6), Err(Reason::Prefix));
    }

    #[test]
    fn bytes_that_are_no_path_are_not_cut() {
        for bytes in [&b"DDS \0\x01\x02\x03"[..], b"\x09ab", b"\x03abc", b"\x04// a", b"\x03a:b.", b"\0a.b"] {
            let packed = bytes.len() as u32;
            assert_eq!(parsed(NAME, bytes, packed), Ok((0, packed, Some(Quirk::Unnamed))), "{bytes:?}");
        }
        // The name of another code page.
        assert_eq!(parsed(NAME, b"\x05\xea\xee.\xf2\xf2x", 7), Ok((6, 1, None)));
    }

    #[test]
    fn a_size_that_is_possible_decides_whether_a_name_is_there() {
        let stream = b"\x78\x9c\x03\0\0\0\0\x01";
        let unnamed = [&b"\x00\x01\0\0"[..], stream].concat();
        assert_eq!(parsed(BOTH, &unnamed, unnamed.len() as u32), Ok((4, 256, Some(Quirk::Unnamed))));
        let named = [&b"\x03a.b\x00\x01\0\0"[..], stream].concat();
        assert_eq!(parsed(SIZE, &named, named.len() as u32), Ok((8, 256, Some(Quirk::Named))));
        // A name of no bytes, in front of a stream.
        let empty = [&b"\0\x00\x01\0\0"[..], stream].concat();
        assert_eq!(parsed(BOTH, &empty, empty.len() as u32), Ok((5, 256, None)));
    }

    #[test]
    fn a_size_that_includes_the_name_yields_to_that_of_the_frame() {
        let frame = |size: u64| [&b"\x04\x22\x4d\x18\x68\x40"[..], &size.to_le_bytes(), b"\0data"].concat();
        let empty = b"\x04\x22\x4d\x18\x60\x40\x82\0\0\0\0".to_vec();
        let longest = [&[255_u8][..], &b"x".repeat(251), b".txt"].concat();
        for (name, stated, stream, size, quirk) in [
            (&b"\x05a.txt"[..], 45, frame(39), 39, Some(Quirk::SizeWithName)),
            (b"\x05a.txt", 6, empty.clone(), 0, Some(Quirk::SizeWithName)),
            (&longest, 295, frame(39), 39, Some(Quirk::SizeWithName)),
            (b"\x05a.txt", 39, frame(39), 39, None),
            // What no name explains is not believed.
            (b"\x05a.txt", 46, frame(39), 46, None),
            (b"\x05a.txt", 45, frame(1 << 40), 45, None),
        ] {
            let bytes = [name, &u32::to_le_bytes(stated), &stream].concat();
            let extent = Extent {
                offset: 0,
                packed: bytes.len() as u32,
                size: None,
                codec: Codec::Lz4Frame,
                prefix: BOTH,
            };
            let parsed = parse(&extent, &bytes[..bytes.len().min(PREFIX_MAX)]).unwrap();
            assert_eq!((parsed.payload as usize, parsed.size), (name.len() + 4, size), "{stated}");
            assert_eq!(parsed.quirk, quirk, "{stated}");
        }
    }

    #[test]
    fn a_size_that_spells_text_is_content() {
        assert_eq!(parsed(SIZE, b"text text text", 14), Ok((0, 14, Some(Quirk::Unsized))));
        assert_eq!(parsed(BOTH, b"\x03a.bDDS |..", 11), Ok((4, 7, Some(Quirk::Unsized))));
        assert_eq!(parsed(SIZE, b"\0\0\0\x40\xaa\xbb", 6), Err(Reason::UnpackedSize(1 << 30)));
        assert_eq!(parsed(SIZE, b"text\x78\x9c\x03\0", 8), Err(Reason::UnpackedSize(0x7478_6574)));
    }
}
