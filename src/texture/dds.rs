//! The DDS header that a BA2 leaves out of a texture, rebuilt byte for byte as DirectXTex writes it (FORMATS.md
//! section 5).
//!
//! The maintained libraries use DirectXTex, so the rebuilt file equals theirs. The header of the file that was packed
//! is not in the archive: its reserved words and alpha mode are lost.

use super::pixel_format::{Legacy, PIXEL_FORMATS, PixelFormat, PlaneHeight, TexelLayout, pixel_format};

/// What an archive stores of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texture {
    /// Width of the largest mip, in pixels.
    pub width: u16,
    /// Height of the largest mip, in pixels.
    pub height: u16,
    /// How many mips each face has.
    pub mips: u8,
    /// A value of `DXGI_FORMAT`.
    pub format: u8,
    /// Whether there are six faces instead of one.
    pub cube: bool,
}

/// Bytes of a header without the DX10 extension.
const LEGACY_LEN: u64 = 128;
/// Bytes of a header with the DX10 extension.
const DX10_LEN: u64 = 148;

// Names and values of the DDS specification (`dwFlags`, `ddspf.dwFlags`, `dwCaps`, `dwCaps2`, `miscFlag`).
/// CAPS, HEIGHT, WIDTH and PIXELFORMAT.
const FLAGS_ALWAYS: u32 = 0x1007;
const FLAG_MIPMAP_COUNT: u32 = 0x2_0000;
/// The pitch field counts bytes of a row.
const FLAG_PITCH: u32 = 0x8;
/// The pitch field counts bytes of the largest mip of one face.
const FLAG_LINEAR_SIZE: u32 = 0x8_0000;
const PIXELS_FOURCC: u32 = 0x4;
const CAPS_TEXTURE: u32 = 0x1000;
/// COMPLEX and MIPMAP.
const CAPS_MIPS: u32 = 0x40_0008;
const CAPS_COMPLEX: u32 = 0x8;
/// CUBEMAP and its six faces.
const CAPS2_CUBE: u32 = 0xfe00;
const DIMENSION_2D: u32 = 3;
const MISC_CUBE: u32 = 4;

impl Texture {
    /// The length of [`Texture::header`] in bytes, without making it.
    pub fn header_len(&self) -> u64 {
        match self.pixels().legacy {
            Legacy::Dx10 => DX10_LEN,
            Legacy::Code(_) | Legacy::Masks(..) => LEGACY_LEN,
        }
    }

    /// The header's bytes: 128, or 148 where the format needs the DX10 extension.
    ///
    /// A texture that DirectXTex refuses to write has the long header with its format's value and a pitch of 0, so
    /// that its data can be read.
    pub fn header(&self) -> Vec<u8> {
        let pixels = self.pixels();
        match pixels.legacy {
            Legacy::Dx10 => self.extended(&pixels, *b"DX10"),
            Legacy::Code(code) => self.base(&pixels, (PIXELS_FOURCC, code, 0, [0; 4])),
            Legacy::Masks(flags, bits, masks) => self.base(&pixels, (flags, [0; 4], bits, masks)),
        }
    }

    /// The header that most programs read, older ones among them: block formats of one and two channels have the codes
    /// `ATI1` and `ATI2` that their inventor gave them, sRGB and formats without a type are stated as if they were plain.
    /// Texels are the same. Formats for which there is no other header have that of [`Texture::header`].
    pub fn compatible_header(&self) -> Vec<u8> {
        let plain = self.plain();
        match (plain.format, plain.pixels()) {
            (80, pixels) => plain.base(&pixels, (PIXELS_FOURCC, *b"ATI1", 0, [0; 4])),
            (83, pixels) => plain.base(&pixels, (PIXELS_FOURCC, *b"ATI2", 0, [0; 4])),
            _ => plain.header(),
        }
    }

    /// The length of [`Texture::compatible_header`] in bytes, without making it.
    pub fn compatible_header_len(&self) -> u64 {
        self.plain().header_len()
    }

    /// The same texels in the format that states neither sRGB nor, of blocks, the lack of a type.
    fn plain(&self) -> Self {
        Self { format: without_kind(self.format), ..*self }
    }

    /// The 148 bytes of the long header whatever the format, under another FourCC than `DX10`.
    pub(super) fn header_for(&self, code: [u8; 4]) -> Vec<u8> {
        self.extended(&self.pixels(), code)
    }

    /// The header with the DX10 extension, which states the format's number.
    fn extended(&self, pixels: &Pixels, code: [u8; 4]) -> Vec<u8> {
        let mut header = self.base(pixels, (PIXELS_FOURCC, code, 0, [0; 4]));
        let misc = if self.cube { MISC_CUBE } else { 0 };
        // The array size of a cube is 1, not 6; an alpha mode of 0 is "unknown".
        words(&mut header, &[u32::from(self.format), DIMENSION_2D, misc, 1, 0]);
        header
    }

    /// The 128 bytes that every header begins with; a pixel format is flags, FourCC, bits and masks.
    fn base(&self, pixels: &Pixels, format: (u32, [u8; 4], u32, [u32; 4])) -> Vec<u8> {
        let Pixels { pitch, pitch_flag, .. } = *pixels;
        let (pixel_flags, code, bits, masks) = format;
        let mips_flag = if self.mips > 0 { FLAG_MIPMAP_COUNT } else { 0 };
        let caps_mips = if self.mips > 1 { CAPS_MIPS } else { 0 };
        let [caps_cube, caps2] = if self.cube { [CAPS_COMPLEX, CAPS2_CUBE] } else { [0; 2] };

        let mut header = Vec::with_capacity(DX10_LEN as usize);
        header.extend(b"DDS ");
        words(&mut header, &[124, FLAGS_ALWAYS | mips_flag | pitch_flag]);
        words(&mut header, &[u32::from(self.height), u32::from(self.width), pitch]);
        // The depth is 1 although no flag announces it: as DirectXTex writes it.
        words(&mut header, &[1, u32::from(self.mips)]);
        words(&mut header, &[0; 11]);
        words(&mut header, &[32, pixel_flags, u32::from_le_bytes(code), bits]);
        words(&mut header, &masks);
        words(&mut header, &[CAPS_TEXTURE | caps_mips | caps_cube, caps2, 0, 0, 0]);
        header
    }

    /// Whether DirectXTex would write this texture: it knows the format and allows it in this size.
    pub fn is_known(&self) -> bool {
        self.known().is_some()
    }

    /// The length of the texels of all faces and mips in bytes, by the rule of every known packer.
    ///
    /// No mips count as one. `None` for values that DirectXTex refuses and for video with several planes.
    pub fn texel_bytes(&self) -> Option<u64> {
        let layout = pixel_format(self.format)?.layout;
        let mut total = 0u64;
        let (mut width, mut height) = (u32::from(self.width), u32::from(self.height));
        for _ in 0..self.mips.max(1) {
            let (row, rows) = match layout {
                TexelLayout::Rows(pixels, bytes) => (u64::from(groups(width, pixels, bytes)), height),
                TexelLayout::Blocks(bytes) => {
                    (u64::from(groups(width.max(1), 4, bytes)), height.max(1).div_ceil(4))
                }
                TexelLayout::Planes(..) => return None,
            };
            total = total.checked_add(row.checked_mul(u64::from(rows))?)?;
            (width, height) = ((width >> 1).max(1), (height >> 1).max(1));
        }
        total.checked_mul(if self.cube { 6 } else { 1 })
    }

    /// The format's name without its prefix, such as `BC7_UNORM`; `unknown` for values that DirectXTex
    /// refuses.
    pub fn format_name(&self) -> &'static str {
        pixel_format(self.format).map_or("unknown", |format| format.name)
    }

    fn pixels(&self) -> Pixels {
        self.known().unwrap_or(Pixels { pitch: 0, pitch_flag: FLAG_PITCH, legacy: Legacy::Dx10 })
    }

    fn known(&self) -> Option<Pixels> {
        let format = pixel_format(self.format)?;
        let (width, height) = (u32::from(self.width), u32::from(self.height));
        let (pitch, pitch_flag) = match format.layout {
            TexelLayout::Planes(_, _, PlaneHeight::Even) if height % 2 == 1 => return None,
            TexelLayout::Rows(pixels, bytes) | TexelLayout::Planes(pixels, bytes, _) => {
                (groups(width, pixels, bytes), FLAG_PITCH)
            }
            // The largest sizes do not fit into the field.
            TexelLayout::Blocks(bytes) => {
                (groups(width.max(1), 4, bytes).checked_mul(height.max(1).div_ceil(4))?, FLAG_LINEAR_SIZE)
            }
        };
        Some(Pixels { pitch, pitch_flag, legacy: format.legacy })
    }
}

/// The fields of a header that depend on the pixel format.
struct Pixels {
    /// Bytes of a row or of a mip, depending on `pitch_flag`.
    pitch: u32,
    pitch_flag: u32,
    legacy: Legacy,
}

/// The format with `_UNORM` where this one has `_UNORM_SRGB` or, of blocks, `_TYPELESS`; the same if there is none. What
/// pixels without a type hold is not known.
fn without_kind(format: u8) -> u8 {
    let Some(PixelFormat { name, layout, .. }) = pixel_format(format) else { return format };
    let of_blocks = name.strip_suffix("_TYPELESS").filter(|_| matches!(layout, TexelLayout::Blocks(_)));
    let bits = name.strip_suffix("_UNORM_SRGB").or(of_blocks);
    let is_plain = |it: &&PixelFormat| bits.is_some() && it.name.strip_suffix("_UNORM") == bits;
    PIXEL_FORMATS.iter().find(is_plain).map_or(format, |it| it.value)
}

/// Bytes of a row of `width` pixels. The largest is 65,535 times 16, so that it never saturates.
fn groups(width: u32, pixels: u32, bytes: u32) -> u32 {
    width.div_ceil(pixels).saturating_mul(bytes)
}

fn words(header: &mut Vec<u8>, words: &[u32]) {
    header.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn texture(format: u8, width: u16, height: u16, mips: u8, cube: bool) -> Texture {
        Texture { width, height, mips, format, cube }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn assert_refused(texture: &Texture) {
        let header = texture.header();
        assert_eq!((header.len(), texture.header_len()), (148, 148), "{texture:?}");
        assert_eq!(header[20..24], [0; 4], "{texture:?}: pitch");
        assert_eq!(header[84..88], *b"DX10", "{texture:?}");
        assert_eq!(header[128..132], u32::from(texture.format).to_le_bytes(), "{texture:?}");
    }

    #[test]
    fn a_refused_format_or_size_is_delivered_with_its_number() {
        for (format, height) in [(0, 64), (114, 64), (255, 64), (103, 5), (131, 5)] {
            let texture = texture(format, 64, height, 1, false);
            assert!(!texture.is_known(), "{format}");
            assert_refused(&texture);
        }
        assert!(texture(103, 64, 6, 1, false).is_known());
    }

    #[test]
    fn a_size_that_overflows_the_linear_size_is_refused_and_does_not_panic() {
        assert_refused(&texture(98, u16::MAX, u16::MAX, 255, true));
        assert!(texture(71, u16::MAX, u16::MAX, 255, true).is_known());
        for format in 0..=255 {
            for (width, height) in [(0, 0), (1, u16::MAX), (u16::MAX, 0), (u16::MAX, u16::MAX)] {
                let texture = texture(format, width, height, 255, true);
                assert_eq!(texture.header().len() as u64, texture.header_len());
                texture.texel_bytes();
            }
        }
    }

    #[test]
    fn without_mips_the_count_is_not_announced() {
        let header = texture(28, 4, 4, 0, false).header();
        assert_eq!(hex(&header[8..12]), "0f100000");
        assert_eq!(hex(&header[28..32]), "00000000");
        assert_eq!(hex(&header[108..112]), "00100000");
    }

    #[test]
    fn compatible_headers_state_every_format_as_older_programs_know_it() {
        let stated = |format| {
            let header = texture(format, 64, 32, 7, false).compatible_header();
            let code = String::from_utf8_lossy(&header[84..88]).into_owned();
            let extension = header.get(128).copied().unwrap_or(0);
            (code.trim_end_matches('\0').to_owned(), extension)
        };
        for (formats, code) in [
            (70..=72, "DXT1"),
            (73..=75, "DXT3"),
            (76..=78, "DXT5"),
            (79..=80, "ATI1"),
            (82..=83, "ATI2"),
            // Masks, and no code.
            (28..=29, ""),
            (91..=91, ""),
            (93..=93, ""),
        ] {
            for format in formats {
                assert_eq!(stated(format), (code.to_owned(), 0), "{format}");
            }
        }
        // There is no older header for these.
        for (format, plain) in [(97, 98), (98, 98), (99, 98), (94, 94), (95, 95), (96, 96), (9, 9), (90, 90)]
        {
            assert_eq!(stated(format), ("DX10".to_owned(), plain), "{format}");
        }
        assert_eq!(stated(81), ("BC4S".to_owned(), 0), "signed");
    }

    #[test]
    fn compatible_headers_differ_in_the_pixel_format_alone() {
        for format in PIXEL_FORMATS {
            for (width, height, mips, cube) in [(64, 32, 7, false), (16, 16, 5, true), (5, 3, 0, false)] {
                let texture = texture(format.value, width, height, mips, cube);
                let (ours, theirs) = (texture.header(), texture.compatible_header());
                assert_eq!(ours[..80], theirs[..80], "{}", format.name);
                assert_eq!(ours[108..128], theirs[108..128], "{}", format.name);
                assert!(theirs.len() <= ours.len(), "{}", format.name);
                assert_eq!(theirs.len() as u64, texture.compatible_header_len(), "{}", format.name);
            }
        }
    }

    #[test]
    fn texels_add_up_to_what_the_packer_stored() {
        assert_eq!(texture(71, 1024, 1024, 11, false).texel_bytes(), Some(524_288 + 131_072 + 43_704));
        assert_eq!(texture(77, 512, 512, 10, true).texel_bytes(), Some(6 * 349_552));
        assert_eq!(texture(87, 6, 5, 3, false).texel_bytes(), Some(4 * (6 * 5 + 3 * 2 + 1)));
        assert_eq!(texture(66, 9, 2, 1, false).texel_bytes(), Some(4));
        assert_eq!(texture(103, 64, 64, 1, false).texel_bytes(), None, "several planes");
        assert_eq!(texture(0, 64, 64, 1, false).texel_bytes(), None, "an unknown format");
    }

    #[test]
    fn formats_have_their_names() {
        assert_eq!(texture(98, 1, 1, 1, false).format_name(), "BC7_UNORM");
        assert_eq!(texture(113, 1, 1, 1, false).format_name(), "unknown");
    }
}
