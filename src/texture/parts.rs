//! Cuts a DDS file into what a BA2 stores of it: the record of a texture, and chunks of its mips.
//!
//! This is the inverse of `dds.rs`: the file that an archive shows for the parts has the same texels, and a
//! header of the same meaning. The rule for chunks is that of Bethesda's Archive2 (FORMATS.md section 14.4).

use std::ops::Range;

use super::dds::Texture;
use super::file_header::{ALL_FACES, FileHeader, HeaderError, Masks, TexelFormat};
use super::pixel_format::{Legacy, PIXEL_FORMATS, TexelLayout, pixel_format};

use crate::named::named;

/// Maximum number of bytes after the texels that are left out: what a program may have counted for a longer
/// header. Real files end in tags of such a length.
const TAIL_MAX: u64 = 148;
/// Maximum number of chunks of a texture.
const CHUNKS_MAX: u32 = 4;
/// A mip that is at least this wide and high has a chunk of its own, in pixels.
const OWN_CHUNK: u32 = 512;
/// Formats that packers for these games write: BC1 to BC7, 8 and 16 bits of one and two channels, 16 and 32
/// bits of colours. Others fit into the record, but nobody has seen a game read them.
const PROVED: [u8; 34] = [
    28, 29, 30, 31, 32, 49, 50, 51, 52, 61, 62, 63, 64, 65, 71, 72, 74, 75, 77, 78, 80, 81, 83, 84, 85, 86,
    87, 88, 91, 93, 95, 96, 98, 99,
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextureParts {
    /// What the record states.
    pub texture: Texture,
    /// Length of the file's header in bytes.
    pub header_len: u64,
    /// Number of bytes of texels, without what follows them in the file.
    pub texels: u64,
    /// Whether the header of what the archive shows has other bytes.
    pub rebuilds_header: bool,
    /// Number of bytes after the texels, which are left out.
    pub tail: u64,
    /// The chunks, in the order of their mips.
    pub chunks: Vec<MipChunk>,
    /// What is lost or changes.
    pub remarks: Vec<Remark>,
}

/// A chunk: mips that are read together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MipChunk {
    /// First and last mip.
    pub mips: (u16, u16),
    /// Range of bytes, counted from the first texel.
    pub range: Range<u64>,
}

named! {
    /// What is lost or changes if a texture is stored.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Remark;
    /// The remark in words, about one texture or several.
    fn words;

    /// Brightness becomes the red channel.
    Luminance = "brightness becomes the red channel, because the format has no other";
    /// Brightness and alpha become red and green.
    LuminanceAlpha = "brightness and alpha become red and green, as the format has no other";
    /// Nothing states any more that the colours are multiplied by alpha.
    Premultiplied = "nothing states any more that the colours are multiplied by alpha";
    /// Bytes after the texels are left out.
    Tail = "bytes after the texels are left out";
    /// Nobody has seen a game read the format from such an archive.
    Unproved = "no game is known to read this pixel format from an archive";
}

/// Why an archive of textures cannot store a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoParts {
    /// The header is damaged or of an unknown kind.
    Header(HeaderError),
    /// The texels end too early; this many bytes are missing.
    Short(u64),
    /// This many bytes follow the texels, more than a header's length.
    Long(u64),
    /// The header states more mips than the size allows.
    Mips(u32),
    /// A texture with several slices.
    Volume,
    /// Several textures in one file.
    Array,
    /// A texture with one row.
    Line,
    /// A cube without all six faces.
    PartialCube,
    /// The texels are those of a console.
    Tiled,
    /// The format has no type, or is for depth or video.
    Format(&'static str),
    /// No format of archives has such pixels.
    Masks(String),
}

impl std::fmt::Display for NoParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Header(error) => write!(f, "{error}"),
            Self::Short(missing) => write!(f, "damaged: {missing} bytes of its texels are missing"),
            Self::Long(more) => {
                write!(f, "{more} bytes follow the texels that its header states, and would be lost")
            }
            Self::Mips(mips) => write!(f, "damaged header: {mips} mips are more than its size allows"),
            Self::Volume => f.write_str("a volume, which has several slices"),
            Self::Array => f.write_str("an array of several textures"),
            Self::Line => f.write_str("a texture of one dimension"),
            Self::PartialCube => f.write_str("a cube without all six faces"),
            Self::Tiled => f.write_str("its texels are in the order of a console"),
            Self::Format(name) => write!(f, "its format {name} is none that a game shows"),
            Self::Masks(pixels) => write!(f, "no format of archives has its pixels: {pixels}"),
        }
    }
}

impl std::error::Error for NoParts {}

impl TextureParts {
    /// The parts of a file of `len` bytes, of which `bytes` are the first
    /// [`HEADER_MAX`](super::file_header::HEADER_MAX).
    pub fn of(bytes: &[u8], len: u64) -> Result<Self, NoParts> {
        let header = FileHeader::parse(bytes, len).map_err(NoParts::Header)?;
        if !bytes.starts_with(b"DDS ") {
            return Err(NoParts::Header(HeaderError::NotTexture));
        }
        let word = |at: usize| {
            let word = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
            word.map_or(0, |word| u32::from_le_bytes(*word))
        };
        if header.tile_mode.is_some() {
            return Err(NoParts::Tiled);
        }
        if word(28) > header.width.max(header.height).ilog2() + 1 && header.depth == 1 {
            return Err(NoParts::Mips(word(28)));
        }
        let is_extended = bytes.get(84..88) == Some(b"DX10");
        let header = header.corrected(len);
        match header {
            _ if header.depth > 1 || is_extended && word(132) == 4 => return Err(NoParts::Volume),
            _ if is_extended && word(132) == 2 => return Err(NoParts::Line),
            _ if header.array > 1 => return Err(NoParts::Array),
            _ if header.cube && header.face_bits != ALL_FACES => return Err(NoParts::PartialCube),
            _ => {}
        }
        let mut remarks = Vec::new();
        if header.alpha_mode == 2 {
            remarks.push(Remark::Premultiplied);
        }
        let format = match header.pixels {
            TexelFormat::Format(format) => format,
            TexelFormat::Masks(masks) => {
                of_masks(&masks, &mut remarks).ok_or_else(|| NoParts::Masks(header.format_name()))?
            }
            TexelFormat::Palette { .. } => return Err(NoParts::Masks(header.format_name())),
        };
        let row = pixel_format(format).filter(|row| is_shown(row.name, row.layout));
        let row =
            row.ok_or_else(|| NoParts::Format(pixel_format(format).map_or("unknown", |row| row.name)))?;
        if !PROVED.contains(&row.value) {
            remarks.push(Remark::Unproved);
        }
        let side = |side: u32| u16::try_from(side).map_err(|_| NoParts::Header(HeaderError::NotTexture));
        let texture = Texture {
            width: side(header.width)?,
            height: side(header.height)?,
            // At most 15, because the sides have at most 16,384 pixels.
            mips: header.mips as u8,
            format,
            cube: header.cube,
        };
        let texels = texture.texel_bytes().ok_or(NoParts::Format(row.name))?;
        let (there, needed) = (len.saturating_sub(header.len), texels);
        if there < needed {
            return Err(NoParts::Short(needed - there));
        }
        if there - needed > TAIL_MAX {
            return Err(NoParts::Long(there - needed));
        }
        if there > needed {
            remarks.push(Remark::Tail);
        }
        let (header_len, tail, chunks) = (header.len, there - needed, chunks(&texture));
        let rebuilds_header = !bytes.starts_with(&texture.header()) || header_len != texture.header_len();
        Ok(Self { texture, header_len, texels, rebuilds_header, tail, chunks, remarks })
    }
}

/// The chunks of a texture. All faces of a cube are in one, because each face has all mips.
fn chunks(texture: &Texture) -> Vec<MipChunk> {
    let mips = u32::from(texture.mips.max(1));
    let of_mips = |mips: u32| Texture { mips: mips as u8, ..*texture }.texel_bytes().unwrap_or(0);
    let side = |side: u16, mip: u32| (u32::from(side) >> mip).max(1);
    let mut count = 1;
    while !texture.cube
        && count < mips.min(CHUNKS_MAX)
        && side(texture.width, count - 1) >= OWN_CHUNK
        && side(texture.height, count - 1) >= OWN_CHUNK
    {
        count += 1;
    }
    let chunk = |first: u32| {
        let last = if first + 1 == count { mips - 1 } else { first };
        let start = if first == 0 { 0 } else { of_mips(first) };
        MipChunk { mips: (first as u16, last as u16), range: start..of_mips(last + 1) }
    };
    (0..count).map(chunk).collect()
}

/// Whether a game can show a format.
fn is_shown(name: &str, layout: TexelLayout) -> bool {
    const OTHER: [&str; 17] = [
        "D16_",
        "D24_",
        "D32_",
        "R24_",
        "X24_",
        "X32_",
        "R32_FLOAT_X8",
        "AYUV",
        "Y410",
        "Y416",
        "NV1",
        "P01",
        "YUY2",
        "Y21",
        "420_",
        "V208",
        "R1_UNORM",
    ];
    let is_other = name.ends_with("_TYPELESS") || OTHER.iter().any(|other| name.starts_with(other));
    !is_other && !matches!(layout, TexelLayout::Planes(..))
}

/// The format of pixels that masks describe; `None` if there is none.
fn of_masks(masks: &Masks, remarks: &mut Vec<Remark>) -> Option<u8> {
    let found = PIXEL_FORMATS.iter().find(|row| match row.legacy {
        Legacy::Masks(flags, bits, stated) => {
            let is_signed = flags & 0x8_0000 != 0;
            bits == masks.bytes * 8 && stated == masks.masks && is_signed == masks.is_signed
        }
        _ => false,
    });
    let found = found?.value;
    match (masks.is_luminance, masks.bytes, masks.masks[3]) {
        (true, 1, _) => remarks.push(Remark::Luminance),
        (true, _, 1..) => remarks.push(Remark::LuminanceAlpha),
        _ => {}
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texture(width: u16, height: u16, mips: u8, format: u8) -> Texture {
        Texture { width, height, mips, format, cube: false }
    }

    fn cuts(texture: Texture) -> Vec<(u16, u16)> {
        let chunks = chunks(&texture);
        let ends: Vec<u64> = chunks.iter().map(|it| it.range.end).collect();
        assert_eq!(chunks[0].range.start, 0);
        assert!(chunks.windows(2).all(|two| two[0].range.end == two[1].range.start));
        assert_eq!(ends.last().copied(), texture.texel_bytes(), "the chunks lack texels");
        chunks.iter().map(|it| it.mips).collect()
    }

    /// The table of PACKING.md, check 23.
    #[test]
    fn mips_are_cut_as_archive2_cuts_them() {
        let bc1 = |width, height, mips| cuts(texture(width, height, mips, 71));
        assert_eq!(bc1(1, 1, 1), [(0, 0)]);
        assert_eq!(bc1(4, 4, 3), [(0, 2)]);
        assert_eq!(bc1(512, 512, 10), [(0, 0), (1, 9)]);
        assert_eq!(bc1(512, 511, 10), [(0, 9)]);
        assert_eq!(bc1(511, 512, 10), [(0, 9)]);
        assert_eq!(bc1(1024, 512, 11), [(0, 0), (1, 10)]);
        assert_eq!(bc1(800, 600, 10), [(0, 0), (1, 9)]);
        assert_eq!(bc1(2048, 512, 12), [(0, 0), (1, 11)]);
        assert_eq!(bc1(1024, 1024, 11), [(0, 0), (1, 1), (2, 10)]);
        assert_eq!(bc1(4096, 4096, 13), [(0, 0), (1, 1), (2, 2), (3, 12)]);
        assert_eq!(bc1(4096, 4096, 1), [(0, 0)]);
        assert_eq!(bc1(4096, 4096, 2), [(0, 0), (1, 1)]);
        assert_eq!(cuts(Texture { cube: true, ..texture(1024, 1024, 11, 71) }), [(0, 10)]);
    }

    #[test]
    fn chunks_end_where_mips_of_whole_blocks_end() {
        let chunks = chunks(&texture(1630, 806, 11, 71));
        // 408 by 202 blocks of 8 bytes, not 1630 * 806 / 2.
        assert_eq!(chunks[0].range, 0..408 * 202 * 8);
        assert_eq!(chunks[0].range.end, 659_328);
    }

    fn header(width: u32, height: u32, mips: u32) -> Vec<u8> {
        let mut header = texture(64, 64, 1, 71).header();
        for (at, word) in [(12, height), (16, width), (28, mips)] {
            header[at..][..4].copy_from_slice(&word.to_le_bytes());
        }
        header
    }

    #[test]
    fn what_a_record_cannot_state_is_refused_by_name() {
        let of = |bytes: &[u8], len| TextureParts::of(bytes, len);
        let whole =
            |texture: Texture| of(&texture.header(), texture.header_len() + texture.texel_bytes().unwrap());
        assert_eq!(of(&header(64, 64, 1), 128 + 2047), Err(NoParts::Short(1)));
        assert_eq!(of(&header(64, 64, 1), 128), Err(NoParts::Short(2048)));
        assert_eq!(of(&header(64, 64, 200), 1 << 20), Err(NoParts::Mips(200)));
        assert_eq!(of(&header(64, 64, 0), 128 + 2048).unwrap().texture.mips, 1);
        for (width, height) in [(0, 0), (70_000, 64), (64, 1 << 31)] {
            assert!(matches!(of(&header(width, height, 1), 1 << 40), Err(NoParts::Header(_))));
        }
        assert!(matches!(of(b"DDX ", 4), Err(NoParts::Header(HeaderError::NotTexture))));
        assert!(matches!(of(&header(64, 64, 1)[..100], 100), Err(NoParts::Header(HeaderError::Short))));
        assert_eq!(of(&header(64, 64, 1), 128 + 2148).unwrap().remarks, [Remark::Tail]);
        assert_eq!(of(&header(64, 64, 1), 128 + 2048 + 149), Err(NoParts::Long(149)));
        for typeless in [70, 27, 97] {
            assert!(matches!(whole(texture(64, 64, 1, typeless)), Err(NoParts::Format(_))));
        }
        for (at, word, why) in [(132, 4, NoParts::Volume), (132, 2, NoParts::Line), (140, 3, NoParts::Array)]
        {
            let mut header = texture(64, 64, 1, 98).header();
            header[at..][..4].copy_from_slice(&u32::to_le_bytes(word));
            assert_eq!(of(&header, 1 << 20), Err(why));
        }
        let mut partial = Texture { cube: true, ..texture(64, 64, 1, 71) }.header();
        partial[112..116].copy_from_slice(&0x600u32.to_le_bytes());
        assert_eq!(of(&partial, 128 + 2048), Err(NoParts::PartialCube));
    }

    #[test]
    fn a_texture_is_what_its_bytes_show() {
        let of = |header: &[u8], texels: u64| {
            TextureParts::of(header, header.len() as u64 + texels).map(|it| (it.texture, it.chunks.len()))
        };
        // A mip of 512 by 512 has a chunk of its own; those of a cube share one.
        let face: u64 = (0..10).map(|mip| (128u64 >> mip).max(1).pow(2) * 8).sum();
        let cube = |mips| Texture { cube: true, ..texture(512, 512, mips, 71) };
        assert_eq!(of(&header(512, 512, 10), face), Ok((texture(512, 512, 10, 71), 2)));
        assert_eq!(of(&header(512, 512, 10), face * 6), Ok((cube(10), 1)));
        assert_eq!(of(&header(512, 512, 1), 131_072 * 6), Ok((cube(1), 1)));
        // Without a number of mips, those that there are count.
        assert_eq!(of(&header(512, 512, 0), 131_072), Ok((texture(512, 512, 1, 71), 1)));
        assert_eq!(of(&header(512, 512, 0), face), Ok((texture(512, 512, 10, 71), 2)));
        assert_eq!(of(&header(512, 512, 0), face * 6), Ok((cube(10), 1)));
        assert_eq!(of(&header(512, 256, 0), 65_536 + 16_384), Ok((texture(512, 256, 2, 71), 1)));
        // Six times the texels of an oblong texture are no cube, and neither are five faces.
        assert_eq!(of(&header(512, 256, 1), 65_536 * 6), Err(NoParts::Long(65_536 * 5)));
        assert_eq!(of(&header(512, 512, 1), 131_072 * 5), Err(NoParts::Long(131_072 * 4)));
        assert_eq!(of(&header(512, 512, 1), face), Err(NoParts::Long(face - 131_072)));
    }

    #[test]
    fn every_format_of_the_table_comes_back_from_its_own_header() {
        let mut known = 0;
        for row in PIXEL_FORMATS {
            for cube in [false, true] {
                let texture = Texture { cube, ..texture(64, 32, 6, row.value) };
                let Some(texels) = texture.texel_bytes() else { continue };
                let header = texture.header();
                let parts = TextureParts::of(&header, header.len() as u64 + texels);
                let Ok(parts) = parts else {
                    assert!(!is_shown(row.name, row.layout), "{}: {parts:?}", row.name);
                    continue;
                };
                // sRGB is kept, because it is another number.
                assert_eq!(parts.texture, texture, "{}", row.name);
                assert_eq!((parts.header_len, parts.texels), (header.len() as u64, texels));
                known += 1;
            }
        }
        assert!(known > 100, "{known}");
    }

    #[test]
    fn old_codes_and_masks_become_formats_of_today() {
        let coded = |code: [u8; 4]| {
            let mut header = header(64, 64, 1);
            header[84..88].copy_from_slice(&code);
            // Of 8 or 16 bytes a block.
            let fits = |bytes: u64| TextureParts::of(&header, 128 + 256 * bytes).ok();
            let parts = fits(8).or_else(|| fits(16)).unwrap();
            (parts.texture.format, parts.remarks.contains(&Remark::Premultiplied))
        };
        let codes =
            [(b"DXT1", 71), (b"DXT3", 74), (b"DXT5", 77), (b"ATI1", 80), (b"ATI2", 83), (b"BC4U", 80)];
        for (code, format) in codes {
            assert_eq!(coded(*code), (format, false));
        }
        assert_eq!((coded(*b"DXT2"), coded(*b"DXT4")), ((74, true), (77, true)));
        let masked = |flags: u32, bits: u32, masks: [u32; 4]| {
            let mut header = header(64, 64, 1);
            for (at, word) in
                [(80, flags), (84, 0), (88, bits)].into_iter().chain((92..).step_by(4).zip(masks))
            {
                header[at..][..4].copy_from_slice(&word.to_le_bytes());
            }
            TextureParts::of(&header, 128 + 64 * 64 * u64::from(bits) / 8)
        };
        let bgr = [0xff_0000, 0xff00, 0xff, 0];
        assert!(matches!(masked(0x40, 24, bgr), Err(NoParts::Masks(_))));
        let grey = masked(0x2_0000, 8, [0xff, 0, 0, 0]).unwrap();
        assert_eq!((grey.texture.format, &grey.remarks[..]), (61, &[Remark::Luminance][..]));
        let grey = masked(0x2_0001, 16, [0xff, 0, 0, 0xff00]).unwrap();
        assert_eq!((grey.texture.format, &grey.remarks[..]), (49, &[Remark::LuminanceAlpha][..]));
        let colours = masked(0x41, 32, [0xff_0000, 0xff00, 0xff, 0xff00_0000]).unwrap();
        assert_eq!((colours.texture.format, colours.remarks.len()), (87, 0));
        assert!(matches!(masked(0x40, 32, [0xf0, 0xf00, 0xf000, 0]), Err(NoParts::Masks(_))));
    }
}
