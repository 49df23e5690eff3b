//! Recognises files of other kinds that bear the name of a texture, by their first bytes.

/// How files of other kinds begin, and what each is.
const MAGICS: [(&[u8], &str); 19] = [
    (b"\xFF\xD8\xFF", "a JPEG picture"),
    (b"\x89PNG\r\n\x1A\n", "a PNG picture"),
    (b"GIF8", "a GIF picture"),
    (b"II*\0", "a TIFF picture"),
    (b"MM\0*", "a TIFF picture"),
    (b"8BPS", "a Photoshop picture"),
    (b"gimp xcf", "a GIMP picture"),
    (b"#?RADIANCE", "a Radiance HDR picture"),
    (b"v/1\x01", "an OpenEXR picture"),
    (b"\xABKTX 11\xBB\r\n\x1A\n", "a KTX texture"),
    (b"\xABKTX 20\xBB\r\n\x1A\n", "a KTX2 texture"),
    (b"VTF\0", "a VTF texture"),
    (b"PVR\x03", "a PVR texture"),
    (b"3XDO", "a DDX texture of the Xbox 360"),
    (b"3XDR", "a DDX texture of the Xbox 360"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"7z\xBC\xAF\x27\x1C", "a 7z archive"),
    (b"Rar!\x1A\x07", "a RAR archive"),
    (b"Gamebryo File Format", "a mesh"),
];

/// What a file of `len` bytes is by its first bytes, which are no texture's; `None` if that is unknown.
pub(super) fn kind(bytes: &[u8], len: u64) -> Option<&'static str> {
    let found = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, kind)| *kind);
    let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    found.or_else(|| match bytes {
        _ if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") => Some("a WebP picture"),
        _ if bytes.starts_with(b"BM") && word(2).map(u64::from) == Some(len) => Some("a BMP picture"),
        _ if is_tga(bytes, len) => Some("a TGA picture"),
        _ => None,
    })
}

/// Whether bytes are the header of a TGA file, which has no magic. All of its fields must agree.
fn is_tga(bytes: &[u8], len: u64) -> bool {
    let Some(
        &[id, has_map, kind, _, _, map_low, map_high, map_bits, _, _, _, _, w, wide, h, high, bits, flags],
    ) = bytes.first_chunk::<18>()
    else {
        return false;
    };
    let [width, height, map] = [[w, wide], [h, high], [map_low, map_high]].map(u16::from_le_bytes);
    let is_right_depth = match kind & 7 {
        // Indices into a map of colours, colours, and grey.
        1 => bits == 8 && has_map == 1 && matches!(map_bits, 15 | 16 | 24 | 32),
        2 => matches!(bits, 15 | 16 | 24 | 32) && has_map <= 1,
        3 => matches!(bits, 8 | 16) && has_map == 0,
        _ => false,
    };
    // Runs of equal pixels make the file of kinds 9 to 11 shorter.
    let is_packed = kind & 8 != 0;
    let map_len = u64::from(map) * u64::from(map_bits).div_ceil(8);
    let texels = u64::from(width) * u64::from(height) * u64::from(bits).div_ceil(8);
    let needed = 18 + u64::from(id) + map_len + if is_packed { 1 } else { texels };
    is_right_depth
        && kind < 12
        && (has_map == 1 || map_len == 0)
        && width > 0
        && height > 0
        && flags >> 6 == 0
        && len >= needed
}
