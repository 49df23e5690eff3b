//! Parses the headers of texture files: DDS as any program writes it, its XBOX variant, and GNF.
//!
//! Nothing in a header is trusted before it is checked. Sides, counts and masks are bounded here.
//! The code that reads texels checks the length of the file.

use super::pixel_format::{Legacy, TexelLayout, pixel_format};
use super::{dds, gnf, xbox};

/// Maximum length of a header that is read, in bytes. The first bytes of a file are enough.
pub const HEADER_MAX: usize = 256;
/// Maximum side that Direct3D allows, in pixels.
pub const SIDE_MAX: u32 = 16_384;
/// Maximum number of textures of an array that Direct3D allows.
pub const ARRAY_MAX: u32 = 2048;

const LEGACY_LEN: usize = 128;
const DX10_LEN: usize = 148;

// Bits of words of a DDS header (`ddspf.dwFlags`, `dwCaps2`) and values of its extension.
const PIXELS_ALPHA: u32 = 0x1;
const PIXELS_ALPHA_ONLY: u32 = 0x2;
const PIXELS_FOURCC: u32 = 0x4;
const PIXELS_PALETTE: u32 = 0x20;
const PIXELS_RGB: u32 = 0x40;
const PIXELS_LUMINANCE: u32 = 0x2_0000;
const PIXELS_SIGNED: u32 = 0x8_0000;
/// Set by NVIDIA's tools, which store x of a DXT5 normal map in alpha, where it has more bits.
const PIXELS_NORMAL: u32 = 0x8000_0000;
const CAPS2_CUBE: u32 = 0x200;
/// The bit of the first face in `dwCaps2`. Those of the other faces follow it.
const CAPS2_FACE_SHIFT: u32 = 10;
const CAPS2_VOLUME: u32 = 0x20_0000;
const DIMENSION_3D: u32 = 4;
const MISC_CUBE: u32 = 4;

/// What the header of a texture file states. Every value is within its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// Offset of the texels in bytes.
    pub len: u64,
    /// Width of the largest mip, in pixels: 1 to [`SIDE_MAX`].
    pub width: u32,
    /// Height of the largest mip, in pixels: 1 to [`SIDE_MAX`].
    pub height: u32,
    /// Slices of the largest mip: 1 to [`SIDE_MAX`] for volumes, otherwise 1.
    pub depth: u32,
    /// Number of mips, at least 1. At the maximum, the smallest mip is one pixel.
    pub mips: u32,
    /// Whether the header states how many mips there are. Some programs write 0, which usually means 1.
    pub states_mips: bool,
    pub cube: bool,
    /// The faces of a cube, from the lowest bit on: +X, -X, +Y, -Y, +Z and -Z. 0 if it is no cube.
    pub face_bits: u8,
    /// Number of textures, or of cubes, in the file: 1 to [`ARRAY_MAX`].
    pub array: u32,
    pub pixels: TexelFormat,
    pub channels: ChannelUse,
    /// What alpha means, as the DX10 extension states it: 0 unknown, 1 straight, 2 premultiplied, 3 opaque,
    /// 4 custom. 2 for `DXT2` and `DXT4`.
    pub alpha_mode: u8,
    /// Arrangement of a console's texels, see [`super::tiling`]; `None` for those of a PC.
    pub tile_mode: Option<u8>,
}

/// What the channels of a texture mean, if the header says more than the format does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelUse {
    /// What the format says.
    Plain,
    /// A direction: x is in alpha, y in green, and z is not stored.
    NormalInAlpha,
    /// Red is in alpha (`RXGB`).
    RedInAlpha,
    /// Colours are multiplied by alpha.
    Premultiplied,
}

/// All faces of a cube.
pub const ALL_FACES: u8 = 0x3F;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TexelFormat {
    /// A value of `DXGI_FORMAT` from the table of formats.
    Format(u8),
    /// Pixels of one to four bytes, described by bit masks.
    Masks(Masks),
}

/// Bit positions of the channels in a pixel, for headers without the DX10 extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Masks {
    /// Bytes per pixel: 1 to 4.
    pub bytes: u32,
    /// Masks of red, green, blue and alpha. Each is 0 or one run of bits within the pixel.
    pub masks: [u32; 4],
    /// Whether the red mask is the brightness of all three colours.
    pub is_luminance: bool,
    pub is_signed: bool,
}

/// Why bytes are not the header of a readable texture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// The bytes begin neither as DDS nor as GNF.
    NotTexture,
    /// The bytes end within the header.
    Short,
    /// A field has an impossible value: the field's name, its offset and the value.
    Field(&'static str, u32, u32),
    /// The FourCC is not that of a known format.
    FourCc([u8; 4]),
    /// The value of `DXGI_FORMAT` is unknown.
    Unknown(u32),
    /// The pixels are indices into a palette.
    Palette,
    /// The format or kind of a GNF texture is unknown.
    Gnf,
}

impl std::fmt::Display for HeaderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotTexture => f.write_str("not a texture: neither a DDS nor a GNF file"),
            Self::Short => f.write_str("cut off: it ends within the header"),
            Self::Field(name, at, value) => {
                write!(f, "damaged header: {name} at offset {at} has the invalid value {value:#x}")
            }
            Self::FourCc(code) => write!(f, "the pixel format \"{}\" is not supported", code.escape_ascii()),
            Self::Unknown(value) => write!(f, "the pixel format {value} is unknown"),
            Self::Palette => f.write_str("its pixels are indices into a palette, which is not supported"),
            Self::Gnf => f.write_str("the format of this GNF texture is not supported"),
        }
    }
}

impl std::error::Error for HeaderError {}

impl FileHeader {
    /// Parses the header at the beginning of a file. `bytes` must be the first [`HEADER_MAX`]
    /// bytes, or the whole file.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        match bytes.first_chunk::<4>() {
            Some(b"DDS ") => parse_dds(bytes),
            Some(b"GNF ") => parse_gnf(bytes),
            _ => Err(HeaderError::NotTexture),
        }
    }

    pub fn format_name(&self) -> String {
        match self.pixels {
            TexelFormat::Format(value) => {
                pixel_format(value).map_or("unknown", |format| format.name).to_owned()
            }
            TexelFormat::Masks(Masks { bytes, masks: [r, g, b, a], .. }) => {
                format!("{} bits ({r:x}, {g:x}, {b:x}, {a:x})", bytes * 8)
            }
        }
    }

    /// Width and height of a mip, in pixels.
    pub fn mip_sides(&self, mip: u32) -> (u32, u32) {
        let half = |side: u32| side.checked_shr(mip).unwrap_or(0).max(1);
        (half(self.width), half(self.height))
    }

    /// The length of a row of texels in a mip in bytes, and the number of rows in one slice. A row
    /// of blocks counts as one row. `None` for video with several planes.
    pub fn mip_rows(&self, mip: u32) -> Option<(u64, u32)> {
        let (width, height) = self.mip_sides(mip);
        let layout = match self.pixels {
            TexelFormat::Format(value) => pixel_format(value)?.layout,
            TexelFormat::Masks(masks) => TexelLayout::Rows(1, masks.bytes),
        };
        let row = |pixels, bytes| u64::from(width.div_ceil(pixels)) * u64::from(bytes);
        match layout {
            TexelLayout::Rows(pixels, bytes) => Some((row(pixels, bytes), height)),
            TexelLayout::Blocks(bytes) => Some((row(4, bytes), height.div_ceil(4))),
            TexelLayout::Planes(..) => None,
        }
    }

    /// Offset of a mip in bytes, for texels in rows: where the first slice of its first face
    /// begins, counted from the first texel.
    pub fn mip_offset(&self, mip: u32) -> Option<u64> {
        let mut offset = 0;
        for larger in 0..mip {
            let (row, rows) = self.mip_rows(larger)?;
            offset += row * u64::from(rows) * u64::from((self.depth >> larger).max(1));
        }
        Some(offset)
    }

    /// What alpha means, in a word.
    pub fn alpha_mode_name(&self) -> &'static str {
        match self.alpha_mode {
            1 => "straight",
            2 => "premultiplied",
            3 => "opaque",
            4 => "custom",
            _ => "unknown",
        }
    }

    /// Number of surfaces in the file, each with all mips.
    pub fn surfaces(&self) -> u64 {
        u64::from(self.array) * u64::from(self.face_bits.count_ones().max(1))
    }

    /// The header of what a file of `len` bytes has of the texture: of a cube or an array its complete
    /// surfaces, otherwise the complete mips of the first surface. `None` if the largest mip is not complete.
    ///
    /// The texels of a console are in another order, so their headers are returned as they are.
    pub fn complete(&self, len: u64) -> Option<Self> {
        if self.tile_mode.is_some() {
            return Some(*self);
        }
        let it = self.corrected(len);
        let (texels, surface) = (len.saturating_sub(it.len), it.mip_offset(it.mips)?);
        let stated = it.surfaces();
        let whole = (texels / surface).min(stated);
        if whole == stated {
            return Some(it);
        }
        let fits = |mips: &u32| it.mip_offset(*mips).is_some_and(|len| len <= texels);
        let is_each = |mips: &u32| it.mip_offset(*mips).is_some_and(|len| len * stated == texels);
        if texels % surface != 0
            && let Some(mips) = (1..it.mips).find(is_each)
        {
            return Some(Self { mips, ..it });
        }
        if whole == 0 {
            let mips = (1..it.mips).rev().find(fits)?;
            return Some(Self { mips, array: 1, cube: false, face_bits: 0, ..it });
        }
        // The surfaces are at most six for each of a limited number of cubes.
        let (whole, faces) = (whole as u32, it.face_bits.count_ones());
        Some(match it.cube {
            false => Self { array: whole, ..it },
            true if whole >= faces => Self { array: whole / faces, ..it },
            true => Self { array: 1, face_bits: first_bits(it.face_bits, whole), ..it },
        })
    }

    /// Number of bytes of texels that a file of `len` bytes lacks.
    pub fn missing(&self, len: u64) -> u64 {
        let it = self.corrected(len);
        let needed = it.mip_offset(it.mips).map_or(0, |surface| surface * it.surfaces());
        needed.saturating_sub(len.saturating_sub(it.len))
    }

    /// The header, if its number of faces or mips contradicts the length of the file. Some programs count the
    /// faces of cubes in the array size, some state fewer faces than they write, and some state no mips.
    /// Archive2 writes cubes without their flag.
    pub fn corrected(&self, len: u64) -> Self {
        let texels = len.saturating_sub(self.len);
        let most = if self.states_mips { self.mips } else { self.width.max(self.height).ilog2() + 1 };
        let fits =
            |mips: &u32, surfaces: u64| self.mip_offset(*mips).is_some_and(|it| it * surfaces == texels);
        let is_flat = self.depth == 1 && self.tile_mode.is_none();
        if is_flat
            && !self.states_mips
            && let Some(mips) = (1..=most).find(|mips| fits(mips, self.surfaces()))
        {
            return Self { mips, ..*self };
        }
        if is_flat
            && !self.cube
            && self.array == 1
            && self.width == self.height
            && let Some(mips) = (self.mips..=most).find(|mips| fits(mips, 6))
        {
            return Self { mips, cube: true, face_bits: ALL_FACES, ..*self };
        }
        let Some(surface) = self.mip_offset(self.mips).filter(|_| self.cube) else { return *self };
        let counts_faces = self.array.is_multiple_of(6) && texels < surface * self.surfaces();
        if counts_faces && texels >= surface * u64::from(self.array) {
            return Self { array: self.array / 6, ..*self };
        }
        let has_all_faces = texels == surface * 6 * u64::from(self.array);
        Self { face_bits: if has_all_faces { ALL_FACES } else { self.face_bits }, ..*self }
    }

    /// This texture as an archive would state it, for the tiling of consoles.
    pub fn texture(&self) -> Option<dds::Texture> {
        let TexelFormat::Format(format) = self.pixels else { return None };
        let side = |side| u16::try_from(side).ok();
        let (width, height) = (side(self.width)?, side(self.height)?);
        let mips = u8::try_from(self.mips).ok()?;
        Some(dds::Texture { width, height, mips, format, cube: self.cube })
    }
}

/// Builds the header with which older programs read a DDS file, as for a texture of a BA2, from its first
/// `bytes`. `None` if its own header is as good, or if only the long header can state what it has.
pub fn compatible(bytes: &[u8], header: &FileHeader) -> Option<Vec<u8>> {
    let is_flat = header.depth == 1 && header.array == 1 && header.tile_mode.is_none();
    let is_whole = matches!(header.face_bits, 0 | ALL_FACES);
    let code = bytes.get(84..88).filter(|_| is_flat && is_whole && bytes.starts_with(b"DDS "))?;
    let texture = header.texture().filter(|_| matches!(code, b"DX10" | b"BC4U" | b"BC5U"))?;
    let compatible = texture.compatible_header();
    (texture.header() != compatible || compatible.len() < header.len as usize).then_some(compatible)
}

fn parse_dds(bytes: &[u8]) -> Result<FileHeader, HeaderError> {
    let word = |at: usize| word(bytes, at);
    if bytes.len() < LEGACY_LEN {
        return Err(HeaderError::Short);
    }
    // Some programs write 24 or 0, and others do not check it.
    require("its length", 4, word(4)?, |it| matches!(it, 124 | 24))?;
    require("the length of the pixel format", 76, word(76)?, |it| matches!(it, 32 | 24 | 0))?;
    let (flags, code) = (word(80)?, word(84)?.to_le_bytes());
    let mut header = FileHeader {
        len: LEGACY_LEN as u64,
        height: require("the height", 12, word(12)?, is_side)?,
        width: require("the width", 16, word(16)?, is_side)?,
        depth: 1,
        mips: word(28)?,
        states_mips: word(28)? != 0,
        cube: word(112)? & CAPS2_CUBE != 0,
        face_bits: 0,
        array: 1,
        pixels: TexelFormat::Format(0),
        channels: ChannelUse::Plain,
        alpha_mode: 0,
        tile_mode: None,
    };
    if header.cube {
        let bits = (word(112)? >> CAPS2_FACE_SHIFT) as u8 & ALL_FACES;
        header.face_bits = if bits == 0 { ALL_FACES } else { bits };
    }
    let mut is_volume = word(112)? & CAPS2_VOLUME != 0;
    if flags & PIXELS_FOURCC == 0 && flags & PIXELS_PALETTE != 0 {
        return Err(HeaderError::Palette);
    }
    if flags & PIXELS_FOURCC == 0 {
        header.pixels = TexelFormat::Masks(masks(bytes, flags)?);
    } else if matches!(&code, b"DX10" | b"XBOX") {
        let format = word(128)?;
        let known = u8::try_from(format).ok().filter(|&it| pixel_format(it).is_some());
        header.pixels = TexelFormat::Format(known.ok_or(HeaderError::Unknown(format))?);
        header.len = DX10_LEN as u64;
        is_volume |= word(132)? == DIMENSION_3D;
        if word(136)? & MISC_CUBE != 0 {
            (header.cube, header.face_bits) = (true, ALL_FACES);
        }
        // Some programs write 0.
        header.array = require("the array size", 140, word(140)?.max(1), |it| it <= ARRAY_MAX)?;
        if &code == b"XBOX" {
            header.len = xbox::HEADER_LEN;
            header.tile_mode = Some(require("the tile mode", 148, word(148)?, |it| it < 32)? as u8);
        }
        if (bytes.len() as u64) < header.len {
            return Err(HeaderError::Short);
        }
        header.alpha_mode = (word(144)? & 7) as u8;
    } else {
        header.pixels = TexelFormat::Format(format_of(code).ok_or(HeaderError::FourCc(code))?);
        header.alpha_mode = if matches!(&code, b"DXT2" | b"DXT4") { 2 } else { 0 };
        header.channels = match &code {
            b"RXGB" => ChannelUse::RedInAlpha,
            b"DXT5" if flags & PIXELS_NORMAL != 0 => ChannelUse::NormalInAlpha,
            _ => ChannelUse::Plain,
        };
    }
    if header.alpha_mode == 2 {
        header.channels = ChannelUse::Premultiplied;
    }
    if is_volume {
        header.depth = require("the depth", 24, word(24)?.max(1), is_side)?;
    }
    let longest = header.width.max(header.height).max(header.depth);
    header.mips = header.mips.clamp(1, longest.ilog2() + 1);
    Ok(header)
}

fn parse_gnf(bytes: &[u8]) -> Result<FileHeader, HeaderError> {
    // The length does not count the first eight bytes. A file with several textures has a
    // descriptor for each; only the first is used.
    let len = require("the length of the header", 4, word(bytes, 4)?, |it| (40..0x1_0000).contains(&it))?;
    let descriptor = bytes.get(16..).and_then(|it| it.first_chunk::<32>()).ok_or(HeaderError::Short)?;
    let descriptor = gnf::Descriptor(*descriptor);
    let texture = descriptor.texture().ok_or(HeaderError::Gnf)?;
    let (width, height) = (u32::from(texture.width), u32::from(texture.height));
    Ok(FileHeader {
        len: u64::from(len) + 8,
        width,
        height,
        depth: 1,
        mips: u32::from(texture.mips).clamp(1, width.max(height).ilog2() + 1),
        states_mips: true,
        cube: texture.cube,
        face_bits: if texture.cube { ALL_FACES } else { 0 },
        array: 1,
        pixels: TexelFormat::Format(texture.format),
        channels: ChannelUse::Plain,
        alpha_mode: 0,
        tile_mode: Some(descriptor.tile_mode()),
    })
}

/// The format of a FourCC: codes of the table, and codes that other and older programs write.
fn format_of(code: [u8; 4]) -> Option<u8> {
    let other = match &code {
        // DXT2 and DXT4 have colours multiplied by alpha; otherwise they equal DXT3 and DXT5.
        b"DXT2" => Some(74),
        // RXGB is DXT5 with red in alpha.
        b"DXT4" | b"RXGB" => Some(77),
        b"ATI1" => Some(80),
        b"ATI2" | b"A2XY" => Some(83),
        b"BC6H" => Some(95),
        b"BC7U" | b"BC7L" => Some(98),
        _ => None,
    };
    let is_stated = |value: &u8| {
        let legacy = pixel_format(*value).map(|it| it.legacy);
        matches!(legacy, Some(Legacy::Code(stated)) if stated == code)
    };
    other.or_else(|| (0..=u8::MAX).find(is_stated))
}

/// Parses the masks of a header without a FourCC.
fn masks(bytes: &[u8], flags: u32) -> Result<Masks, HeaderError> {
    let mut masks = [word(bytes, 92)?, word(bytes, 96)?, word(bytes, 100)?, word(bytes, 104)?];
    let is_alpha_only = flags & (PIXELS_ALPHA_ONLY | PIXELS_RGB | PIXELS_LUMINANCE) == PIXELS_ALPHA_ONLY;
    let mut bits = word(bytes, 88)?;
    if is_alpha_only && bits == 0 {
        // Some programs describe pixels of alpha alone by the flag alone.
        (bits, masks) = (8, [0, 0, 0, 0xFF]);
    }
    require("the number of bits per pixel", 88, bits, |it| matches!(it, 8 | 16 | 24 | 32))?;
    let is_luminance = flags & PIXELS_LUMINANCE != 0;
    let is_signed = flags & PIXELS_SIGNED != 0;
    let has_alpha = flags & (PIXELS_ALPHA | PIXELS_ALPHA_ONLY) != 0 || is_signed;
    let has_colours = is_luminance || is_signed || flags & PIXELS_RGB != 0;
    for (index, mask) in masks.iter_mut().enumerate() {
        let is_used = if index == 3 { has_alpha } else { has_colours && (index == 0 || !is_luminance) };
        if !is_used {
            *mask = 0;
        }
        let run = mask.checked_shr(mask.trailing_zeros()).unwrap_or(0);
        let fits = u64::from(*mask) < 1 << bits && run & run.wrapping_add(1) == 0;
        require("a mask", 92 + 4 * index as u32, *mask, |_| fits)?;
    }
    require("the flags of the pixel format", 80, flags, |_| masks != [0; 4])?;
    Ok(Masks { bytes: bits / 8, masks, is_luminance, is_signed })
}

/// The lowest `count` bits that are set.
fn first_bits(bits: u8, count: u32) -> u8 {
    (0..count)
        .fold((bits, 0), |(left, taken), _| {
            (left & left.wrapping_sub(1), taken | (left & left.wrapping_neg()))
        })
        .1
}

fn is_side(value: u32) -> bool {
    (1..=SIDE_MAX).contains(&value)
}

/// Returns the value if the check accepts it.
fn require(
    name: &'static str,
    at: u32,
    value: u32,
    accepts: impl Fn(u32) -> bool,
) -> Result<u32, HeaderError> {
    if accepts(value) { Ok(value) } else { Err(HeaderError::Field(name, at, value)) }
}

fn word(bytes: &[u8], at: usize) -> Result<u32, HeaderError> {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()).ok_or(HeaderError::Short)?;
    Ok(u32::from_le_bytes(*word))
}
