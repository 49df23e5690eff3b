//! The DDS header of a texture in a BA2, which the archive leaves out. It is rebuilt byte for byte
//! as DirectXTex writes it (FORMATS.md section 5).
//!
//! The maintained libraries use DirectXTex, so the rebuilt file equals theirs. The archive does not
//! keep the header of the packed file, so its reserved words and alpha mode are lost.

use super::pixel_format::{Legacy, PIXEL_FORMATS, PixelFormat, PlaneHeight, TexelLayout, pixel_format};

/// What an archive stores about a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texture {
    /// Width of the largest mip, in pixels.
    pub width: u16,
    /// Height of the largest mip, in pixels.
    pub height: u16,
    /// Number of mips per face.
    pub mips: u8,
    /// A value of `DXGI_FORMAT`.
    pub format: u8,
    /// Whether the texture is a cube, with six faces instead of one.
    pub cube: bool,
}

/// Length of a header without the DX10 extension, in bytes.
const LEGACY_LEN: u64 = 128;
/// Length of a header with the DX10 extension, in bytes.
const DX10_LEN: u64 = 148;

// Names and values are those of the DDS specification (`dwFlags`, `ddspf.dwFlags`, `dwCaps`,
// `dwCaps2`, `miscFlag`).
/// CAPS, HEIGHT, WIDTH and PIXELFORMAT.
const FLAGS_ALWAYS: u32 = 0x1007;
const FLAG_MIPMAP_COUNT: u32 = 0x2_0000;
/// The pitch field is the length of a row in bytes.
const FLAG_PITCH: u32 = 0x8;
/// The pitch field is the length of the largest mip of one face in bytes.
const FLAG_LINEAR_SIZE: u32 = 0x8_0000;
const PIXELS_FOURCC: u32 = 0x4;
const CAPS_TEXTURE: u32 = 0x1000;
/// COMPLEX and MIPMAP.
const CAPS_MIPS: u32 = 0x40_0008;
const CAPS_COMPLEX: u32 = 0x8;
/// CUBEMAP and all six faces.
const CAPS2_CUBE: u32 = 0xfe00;
const DIMENSION_2D: u32 = 3;
const MISC_CUBE: u32 = 4;

impl Texture {
    /// Length of [`Texture::header`] in bytes, without building it.
    pub fn header_len(&self) -> u64 {
        match self.pixels().legacy {
            Legacy::Dx10 => DX10_LEN,
            Legacy::Code(_) | Legacy::Masks(..) => LEGACY_LEN,
        }
    }

    /// Builds the header: 128 bytes, or 148 if the format needs the DX10 extension.
    ///
    /// A texture that DirectXTex refuses to write gets the long header with its format number and a
    /// pitch of 0, so that its data can be read.
    pub fn header(&self) -> Vec<u8> {
        let pixels = self.pixels();
        match pixels.legacy {
            Legacy::Dx10 => self.extended(&pixels, *b"DX10"),
            Legacy::Code(code) => self.base(&pixels, (PIXELS_FOURCC, code, 0, [0; 4])),
            Legacy::Masks(flags, bits, masks) => self.base(&pixels, (flags, [0; 4], bits, masks)),
        }
    }

    /// Builds the header that most programs read, including older ones. Block formats of one and two channels
    /// get the codes `ATI1` and `ATI2` of their inventor. sRGB formats and typeless block formats are
    /// declared as plain ones. The texels stay the same. Other formats get [`Texture::header`].
    pub fn compatible_header(&self) -> Vec<u8> {
        let plain = self.plain();
        match (plain.format, plain.pixels()) {
            (80, pixels) => plain.base(&pixels, (PIXELS_FOURCC, *b"ATI1", 0, [0; 4])),
            (83, pixels) => plain.base(&pixels, (PIXELS_FOURCC, *b"ATI2", 0, [0; 4])),
            _ => plain.header(),
        }
    }

    /// Length of [`Texture::compatible_header`] in bytes, without building it.
    pub fn compatible_header_len(&self) -> u64 {
        self.plain().header_len()
    }

    /// This texture with a plain format: not sRGB and, for block formats, not `_TYPELESS`.
    fn plain(&self) -> Self {
        Self { format: without_kind(self.format), ..*self }
    }

    /// Builds the 148-byte header for any format, with `code` in place of the FourCC `DX10`.
    pub(super) fn header_for(&self, code: [u8; 4]) -> Vec<u8> {
        self.extended(&self.pixels(), code)
    }

    /// Builds the header with the DX10 extension, which has the format number.
    fn extended(&self, pixels: &HeaderFields, code: [u8; 4]) -> Vec<u8> {
        let mut header = self.base(pixels, (PIXELS_FOURCC, code, 0, [0; 4]));
        let misc = if self.cube { MISC_CUBE } else { 0 };
        // A cube's array size is 1, not 6. Alpha mode 0 means "unknown".
        words(&mut header, &[u32::from(self.format), DIMENSION_2D, misc, 1, 0]);
        header
    }

    /// Builds the 128 bytes that every header begins with. `format` is flags, FourCC, bits and masks.
    fn base(&self, pixels: &HeaderFields, format: (u32, [u8; 4], u32, [u32; 4])) -> Vec<u8> {
        let HeaderFields { pitch, pitch_flag, .. } = *pixels;
        let (pixel_flags, code, bits, masks) = format;
        let mips_flag = if self.mips > 0 { FLAG_MIPMAP_COUNT } else { 0 };
        let caps_mips = if self.mips > 1 { CAPS_MIPS } else { 0 };
        let [caps_cube, caps2] = if self.cube { [CAPS_COMPLEX, CAPS2_CUBE] } else { [0; 2] };

        let mut header = Vec::with_capacity(DX10_LEN as usize);
        header.extend(b"DDS ");
        words(&mut header, &[124, FLAGS_ALWAYS | mips_flag | pitch_flag]);
        words(&mut header, &[u32::from(self.height), u32::from(self.width), pitch]);
        // The depth is 1 although no flag announces it, because DirectXTex writes it so.
        words(&mut header, &[1, u32::from(self.mips)]);
        words(&mut header, &[0; 11]);
        words(&mut header, &[32, pixel_flags, u32::from_le_bytes(code), bits]);
        words(&mut header, &masks);
        words(&mut header, &[CAPS_TEXTURE | caps_mips | caps_cube, caps2, 0, 0, 0]);
        header
    }

    /// Whether DirectXTex would write this texture. It must know the format and allow it in this size.
    pub fn is_known(&self) -> bool {
        self.known().is_some()
    }

    /// Length of the texels of all faces and mips in bytes, as all known packers compute it.
    ///
    /// 0 mips count as 1. `None` for formats that DirectXTex refuses and for video with several planes.
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

    /// The format's name without its prefix, such as `BC7_UNORM`; `unknown` for formats that
    /// DirectXTex refuses.
    pub fn format_name(&self) -> &'static str {
        pixel_format(self.format).map_or("unknown", |format| format.name)
    }

    fn pixels(&self) -> HeaderFields {
        self.known().unwrap_or(HeaderFields { pitch: 0, pitch_flag: FLAG_PITCH, legacy: Legacy::Dx10 })
    }

    fn known(&self) -> Option<HeaderFields> {
        let format = pixel_format(self.format)?;
        let (width, height) = (u32::from(self.width), u32::from(self.height));
        let (pitch, pitch_flag) = match format.layout {
            TexelLayout::Planes(_, _, PlaneHeight::Even) if height % 2 == 1 => return None,
            TexelLayout::Rows(pixels, bytes) | TexelLayout::Planes(pixels, bytes, _) => {
                (groups(width, pixels, bytes), FLAG_PITCH)
            }
            // The length of the largest textures exceeds the field.
            TexelLayout::Blocks(bytes) => {
                (groups(width.max(1), 4, bytes).checked_mul(height.max(1).div_ceil(4))?, FLAG_LINEAR_SIZE)
            }
        };
        Some(HeaderFields { pitch, pitch_flag, legacy: format.legacy })
    }
}

/// The fields of a header that depend on the pixel format.
struct HeaderFields {
    /// Bytes of a row or of the largest mip, depending on `pitch_flag`.
    pitch: u32,
    pitch_flag: u32,
    legacy: Legacy,
}

/// Replaces `_UNORM_SRGB` and, for block formats, `_TYPELESS` by `_UNORM`. Other formats stay as
/// they are, including typeless pixels: nothing says what those hold.
fn without_kind(format: u8) -> u8 {
    let Some(PixelFormat { name, layout, .. }) = pixel_format(format) else { return format };
    let of_blocks = name.strip_suffix("_TYPELESS").filter(|_| matches!(layout, TexelLayout::Blocks(_)));
    let bits = name.strip_suffix("_UNORM_SRGB").or(of_blocks);
    let is_plain = |it: &&PixelFormat| bits.is_some() && it.name.strip_suffix("_UNORM") == bits;
    PIXEL_FORMATS.iter().find(is_plain).map_or(format, |it| it.value)
}

/// Bytes in a row of `width` pixels. The maximum is 65,535 times 16, so this never saturates.
fn groups(width: u32, pixels: u32, bytes: u32) -> u32 {
    width.div_ceil(pixels).saturating_mul(bytes)
}

fn words(header: &mut Vec<u8>, words: &[u32]) {
    header.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}
