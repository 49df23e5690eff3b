//! Parses the headers of texture files: DDS as any program writes it, its XBOX variant, and GNF.
//!
//! Nothing in a header is trusted before it is checked. Sides, counts and masks are bounded here.
//! The code that reads texels checks the length of the file.
//!
//! Writers differ in what they state about pixels: flags, a FourCC, bits per pixel and masks. If these
//! contradict each other, the length of the file decides, because it shows how many bytes a pixel has.

use std::sync::Arc;

use super::pixel_format::{
    D3D_FORMATS, D3D_P8, D3dFormat, D3dPixels, Legacy, R32_FLOAT, TexelLayout, pixel_format,
};
use super::{dds, gnf, other_file, xbox};

/// Maximum length of a header that is read, in bytes: that of a DDS file with a palette. The first bytes of a
/// file are enough.
pub const HEADER_MAX: usize = LEGACY_LEN + PALETTE_LEN;
/// Maximum side that Direct3D allows, in pixels.
pub const SIDE_MAX: u32 = 16_384;
/// Maximum number of textures of an array that Direct3D allows.
pub const ARRAY_MAX: u32 = 2048;

const LEGACY_LEN: usize = 128;
const DX10_LEN: usize = 148;
/// Length of a palette in bytes. It follows the header.
const PALETTE_LEN: usize = 256 * 4;

// Bits of words of a DDS header (`ddspf.dwFlags`, `dwCaps2`) and values of its extension.
const PIXELS_ALPHA: u32 = 0x1;
const PIXELS_ALPHA_ONLY: u32 = 0x2;
const PIXELS_FOURCC: u32 = 0x4;
const PIXELS_PALETTE: u32 = 0x20;
/// Palettes of 16, 2 and 4 colours.
const PIXELS_SMALL_PALETTE: u32 = 0x8 | 0x800 | 0x1000;
const PIXELS_RGB: u32 = 0x40;
const PIXELS_VIDEO: u32 = 0x200;
const PIXELS_DEPTH: u32 = 0x400;
const PIXELS_LUMINANCE: u32 = 0x2_0000;
/// A direction with a brightness.
const PIXELS_BUMP_LUMINANCE: u32 = 0x4_0000;
const PIXELS_SIGNED: u32 = 0x8_0000;
/// Set by NVIDIA's tools, which store x of a DXT5 normal map in alpha, where it has more bits.
const PIXELS_NORMAL: u32 = 0x8000_0000;
const CAPS2_CUBE: u32 = 0x200;
/// The bit of the first face in `dwCaps2`. Those of the other faces follow it.
const CAPS2_FACE_SHIFT: u32 = 10;
const CAPS2_VOLUME: u32 = 0x20_0000;
const DIMENSION_3D: u32 = 4;
const MISC_CUBE: u32 = 4;

/// Red, green, blue and alpha of the 256 colours of a palette.
pub type Palette = [[u8; 4]; 256];

/// What the header of a texture file states. Every value is within its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// The colours of [`TexelFormat::Palette`].
    pub palette: Option<Arc<Palette>>,
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
    /// Indices into a palette, each followed by a byte of alpha or not.
    Palette { has_alpha: bool },
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

impl Masks {
    /// The name of the format in Direct3D 9. Only a format that has none is described by its masks.
    fn name(&self) -> String {
        let is_it = |format: &&D3dFormat| {
            let D3dPixels::Masks(flags, bits, masks) = format.pixels else { return false };
            let is_of_kind = |flag: u32, is_set: bool| (flags & flag != 0) == is_set;
            let is_alike =
                is_of_kind(PIXELS_LUMINANCE, self.is_luminance) && is_of_kind(PIXELS_SIGNED, self.is_signed);
            is_alike && bits == self.bytes * 8 && masks == self.masks
        };
        let [r, g, b, a] = self.masks;
        let masks = || format!("{} bits ({r:x}, {g:x}, {b:x}, {a:x})", self.bytes * 8);
        D3D_FORMATS.iter().find(is_it).map_or_else(masks, |format| format.name.to_owned())
    }
}

/// Why bytes are not the header of a readable texture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// The bytes begin neither as DDS nor as GNF.
    NotTexture,
    /// The bytes are those of another kind of file, which this names.
    Other(&'static str),
    /// The bytes end within the header.
    Short,
    /// A field has an impossible value: the field's name, its offset and the value.
    Field(&'static str, u32, u32),
    /// The FourCC is not that of a known format.
    FourCc([u8; 4]),
    /// The value of `DXGI_FORMAT` is unknown.
    Unknown(u32),
    /// The pixels are indices into a palette of fewer than 256 colours.
    Palette,
    /// The pixel format of this name is not supported.
    Format(&'static str),
    /// The format or kind of a GNF texture is unknown.
    Gnf,
}

impl std::fmt::Display for HeaderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotTexture => f.write_str("not a texture: neither a DDS nor a GNF file"),
            Self::Other(kind) => {
                write!(f, "not a texture: {kind}; rename it, or convert it to DDS if a game should show it")
            }
            Self::Short => f.write_str("cut off: it ends within the header"),
            Self::Field(name, at, value) => {
                write!(f, "damaged header: {name} at offset {at} has the invalid value {value:#x}")
            }
            Self::FourCc([number, 0, 0, 0]) => write!(f, "the pixel format D3DFORMAT {number} is unknown"),
            Self::FourCc(code) => write!(f, "the pixel format \"{}\" is not supported", code.escape_ascii()),
            Self::Format(name) => write!(f, "the pixel format {name} is not supported"),
            Self::Unknown(value) => write!(f, "the pixel format {value} is unknown"),
            Self::Palette => f.write_str(
                "its pixels are indices into a palette of fewer than 256 colours, which is not supported",
            ),
            Self::Gnf => f.write_str("the format of this GNF texture is not supported"),
        }
    }
}

impl std::error::Error for HeaderError {}

impl FileHeader {
    /// Parses the header at the beginning of a file of `len` bytes. `bytes` must be the first [`HEADER_MAX`]
    /// bytes, or the whole file.
    pub fn parse(bytes: &[u8], len: u64) -> Result<Self, HeaderError> {
        match bytes.first_chunk::<4>() {
            Some(b"DDS ") => parse_dds(bytes, len),
            Some(b"GNF ") => parse_gnf(bytes),
            _ => Err(other_file::kind(bytes, len).map_or(HeaderError::NotTexture, HeaderError::Other)),
        }
    }

    pub fn format_name(&self) -> String {
        match self.pixels {
            TexelFormat::Format(value) => {
                pixel_format(value).map_or("unknown", |format| format.name).to_owned()
            }
            TexelFormat::Masks(masks) => masks.name(),
            TexelFormat::Palette { has_alpha: false } => "a palette".to_owned(),
            TexelFormat::Palette { has_alpha: true } => "a palette, and alpha".to_owned(),
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
            TexelFormat::Palette { has_alpha } => TexelLayout::Rows(1, 1 + u32::from(has_alpha)),
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
            return Some(self.clone());
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
        it.texels().unwrap_or(0).saturating_sub(len.saturating_sub(it.len))
    }

    /// Number of bytes of texels that the header states; `None` for video with several planes.
    fn texels(&self) -> Option<u64> {
        Some(self.mip_offset(self.mips)? * self.surfaces())
    }

    /// Whether a file of `len` bytes has exactly the stated texels.
    fn has_length(&self, len: u64) -> bool {
        let it = self.corrected(len);
        it.texels().is_some_and(|texels| it.len.checked_add(texels) == Some(len))
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
            return Self { mips, ..self.clone() };
        }
        if is_flat
            && !self.cube
            && self.array == 1
            && self.width == self.height
            && let Some(mips) = (self.mips..=most).find(|mips| fits(mips, 6))
        {
            return Self { mips, cube: true, face_bits: ALL_FACES, ..self.clone() };
        }
        let Some(surface) = self.mip_offset(self.mips).filter(|_| self.cube) else { return self.clone() };
        let counts_faces = self.array.is_multiple_of(6) && texels < surface * self.surfaces();
        if counts_faces && texels >= surface * u64::from(self.array) {
            return Self { array: self.array / 6, ..self.clone() };
        }
        let has_all_faces = texels == surface * 6 * u64::from(self.array);
        Self { face_bits: if has_all_faces { ALL_FACES } else { self.face_bits }, ..self.clone() }
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

fn parse_dds(bytes: &[u8], len: u64) -> Result<FileHeader, HeaderError> {
    let word = |at: usize| word(bytes, at);
    if bytes.len() < LEGACY_LEN {
        return Err(HeaderError::Short);
    }
    // Some programs write 24 or 0, and others do not check it.
    require("its length", 4, word(4)?, |it| matches!(it, 124 | 24))?;
    require("the length of the pixel format", 76, word(76)?, |it| matches!(it, 32 | 24 | 0))?;
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
        palette: None,
        channels: ChannelUse::Plain,
        alpha_mode: 0,
        tile_mode: None,
    };
    if header.cube {
        let bits = (word(112)? >> CAPS2_FACE_SHIFT) as u8 & ALL_FACES;
        header.face_bits = if bits == 0 { ALL_FACES } else { bits };
    }
    let is_volume = word(112)? & CAPS2_VOLUME != 0;
    let (flags, code) = (word(80)?, word(84)?.to_le_bytes());
    let coded = || of_code(bytes, &header, (flags, code), is_volume);
    let masked = || {
        let header = header.with_depth(bytes, is_volume)?;
        of_flags(bytes, &header, flags, len)
    };
    if flags & PIXELS_FOURCC != 0 {
        // Some programs set the flag of the FourCC, and then describe the pixels by masks.
        let proved = |it: &FileHeader| code == [0; 4] || it.has_length(len);
        return coded().or_else(|error| match error {
            HeaderError::FourCc(_) => masked().ok().filter(proved).ok_or(error),
            error => Err(error),
        });
    }
    // Others state a FourCC without its flag. It counts if the masks state nothing, or another length.
    match masked() {
        Ok(it) if it.has_length(len) => Ok(it),
        Ok(it) => Ok(coded().ok().filter(|coded| coded.has_length(len)).unwrap_or(it)),
        Err(error) => match coded() {
            Err(HeaderError::FourCc(_)) => Err(error),
            coded => coded,
        },
    }
}

impl FileHeader {
    /// The header with the depth that the file states, if it is a volume. Reduces an impossible number of
    /// mips.
    fn with_depth(&self, bytes: &[u8], is_volume: bool) -> Result<Self, HeaderError> {
        let depth = if is_volume { require("the depth", 24, word(bytes, 24)?.max(1), is_side)? } else { 1 };
        let longest = self.width.max(self.height).max(depth);
        Ok(Self { depth, mips: self.mips.clamp(1, longest.ilog2() + 1), ..self.clone() })
    }

    fn with_masks(&self, masks: Masks) -> Self {
        // No integer format has a single channel of 32 bits: such pixels are floats.
        let is_float = masks.bytes == 4 && masks.masks == [u32::MAX, 0, 0, 0] && !masks.is_signed;
        let pixels = if is_float { TexelFormat::Format(R32_FLOAT) } else { TexelFormat::Masks(masks) };
        Self { pixels, ..self.clone() }
    }

    /// The header of pixels that are indices into the palette behind the header.
    fn with_palette(&self, bytes: &[u8], has_alpha: bool) -> Result<Self, HeaderError> {
        let colours = bytes.get(LEGACY_LEN..).and_then(|it| it.first_chunk::<PALETTE_LEN>());
        let mut palette: Palette = [[0; 4]; 256];
        palette.copy_from_slice(colours.ok_or(HeaderError::Short)?.as_chunks().0);
        // Many programs leave alpha 0. A picture that is invisible everywhere is not meant.
        if has_alpha || palette.iter().all(|colour| colour[3] == 0) {
            for colour in &mut palette {
                colour[3] = u8::MAX;
            }
        }
        let len = self.len + PALETTE_LEN as u64;
        let pixels = TexelFormat::Palette { has_alpha };
        Ok(Self { len, pixels, palette: Some(Arc::new(palette)), ..self.clone() })
    }
}

/// The header of a file whose pixels a FourCC describes, or a number in its place.
fn of_code(
    bytes: &[u8],
    header: &FileHeader,
    (flags, code): (u32, [u8; 4]),
    mut is_volume: bool,
) -> Result<FileHeader, HeaderError> {
    let word = |at: usize| word(bytes, at);
    let mut header = header.clone();
    if matches!(&code, b"DX10" | b"XBOX") {
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
    } else if let Some(format) = format_of(code) {
        header.pixels = TexelFormat::Format(format);
        header.alpha_mode = if matches!(&code, b"DXT2" | b"DXT4") { 2 } else { 0 };
        header.channels = match &code {
            b"RXGB" => ChannelUse::RedInAlpha,
            b"DXT5" if flags & PIXELS_NORMAL != 0 => ChannelUse::NormalInAlpha,
            _ => ChannelUse::Plain,
        };
    } else {
        let number = if &code == b"P8  " { Some(D3D_P8) } else { d3d_number(code) };
        let format = number.and_then(|number| D3D_FORMATS.iter().find(|it| it.number == number));
        let D3dFormat { name, pixels, .. } = format.ok_or(HeaderError::FourCc(code))?;
        header = match *pixels {
            D3dPixels::Masks(flags, bits, masks) => header.with_masks(checked_masks(flags, bits, masks)?),
            D3dPixels::Palette { has_alpha } => header.with_palette(bytes, has_alpha)?,
            D3dPixels::Unsupported => return Err(HeaderError::Format(name)),
        };
    }
    if header.alpha_mode == 2 {
        header.channels = ChannelUse::Premultiplied;
    }
    header.with_depth(bytes, is_volume)
}

/// The header of a file of `len` bytes whose pixels flags and masks describe.
fn of_flags(bytes: &[u8], header: &FileHeader, flags: u32, len: u64) -> Result<FileHeader, HeaderError> {
    let (bits, masks) = (word(bytes, 88)?, [92, 96, 100, 104].map(|at| word(bytes, at)));
    let [red, green, blue, alpha] = masks;
    let masks = [red?, green?, blue?, alpha?];
    let has_alpha = flags & PIXELS_ALPHA != 0;
    match flags {
        _ if flags & PIXELS_PALETTE != 0 => {
            let is_odd = bits != if has_alpha { 16 } else { 8 };
            let plain = header.with_palette(bytes, false)?;
            let with_alpha = || header.with_palette(bytes, true);
            return if has_alpha && !(is_odd && plain.has_length(len)) { with_alpha() } else { Ok(plain) };
        }
        _ if flags & PIXELS_SMALL_PALETTE != 0 => return Err(HeaderError::Palette),
        _ if flags & PIXELS_BUMP_LUMINANCE != 0 => {
            let is = |it: &&D3dFormat| matches!((it.number, bits), (61, 16) | (62, 32));
            let name = D3D_FORMATS.iter().find(is).map_or("BumpLuminance", |it| it.name);
            return Err(HeaderError::Format(name));
        }
        _ if flags & (PIXELS_RGB | PIXELS_LUMINANCE | PIXELS_SIGNED | PIXELS_ALPHA_ONLY) != 0 => {}
        _ if flags & PIXELS_VIDEO != 0 => return Err(HeaderError::Format("YUV")),
        _ if flags & PIXELS_DEPTH != 0 => return Err(HeaderError::Format("depth buffer")),
        _ => {}
    }
    let stated = checked_masks(flags, bits, masks).map(|masks| header.with_masks(masks));
    let is_grey = flags & PIXELS_LUMINANCE != 0;
    // No format has grey pixels of 24 or 32 bits, but Pillow 9 states them.
    match &stated {
        Ok(it) if !(is_grey && bits > 16) || it.missing(len) == 0 => return stated,
        _ => {}
    }
    // The flags name the channels, and the length of the file shows how many bytes they have.
    let grey = |bytes: u32| {
        let masks = match (bytes, has_alpha) {
            (1, _) => [0xFF, 0, 0, 0],
            (_, true) => [0xFF, 0, 0, 0xFF00],
            (_, false) => [0xFFFF, 0, 0, 0],
        };
        header.with_masks(Masks { bytes, masks, is_luminance: true, is_signed: false })
    };
    let of_other_bits = |bits: u32| Some(header.with_masks(checked_masks(flags, bits, masks).ok()?));
    if is_grey && let Some(it) = [1, 2].into_iter().map(grey).find(|it| it.has_length(len)) {
        return Ok(it);
    }
    // The masks reach beyond the stated bits, but not beyond the pixels.
    let other_bits = [8, 16, 24, 32].into_iter().filter_map(of_other_bits).find(|it| it.has_length(len));
    match (stated, other_bits) {
        (Ok(it), _) | (Err(_), Some(it)) => Ok(it),
        // `A8L8` is written with 8 bits, too.
        (Err(_), None) if is_grey && matches!(bits, 8 | 16) => {
            Ok(of_other_bits(16).filter(|_| has_alpha).unwrap_or_else(|| grey(bits / 8)))
        }
        (Err(error), None) => Err(error),
    }
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
        palette: None,
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
        b"BC7U" | b"BC7L" | b"BC7\0" => Some(98),
        _ => None,
    };
    let is_stated = |value: &u8| {
        let legacy = pixel_format(*value).map(|it| it.legacy);
        matches!(legacy, Some(Legacy::Code(stated)) if stated == code)
    };
    other.or_else(|| (0..=u8::MAX).find(is_stated))
}

/// The masks of pixels of this many bits, if they agree with the flags.
fn checked_masks(flags: u32, mut bits: u32, mut masks: [u32; 4]) -> Result<Masks, HeaderError> {
    let is_alpha_only = flags & (PIXELS_ALPHA_ONLY | PIXELS_RGB | PIXELS_LUMINANCE) == PIXELS_ALPHA_ONLY;
    if is_alpha_only && bits == 0 {
        // Some programs describe pixels of alpha alone by the flag alone.
        (bits, masks) = (8, [0, 0, 0, 0xFF]);
    }
    require("the number of bits per pixel", 88, bits, |it| matches!(it, 8 | 16 | 24 | 32))?;
    let is_signed = flags & PIXELS_SIGNED != 0;
    let has_alpha = flags & (PIXELS_ALPHA | PIXELS_ALPHA_ONLY) != 0 || is_signed;
    let has_colours = flags & (PIXELS_RGB | PIXELS_LUMINANCE) != 0 || is_signed;
    // NVTT calls grey with alpha RGB: red and alpha alone mean it.
    let is_red_alone = matches!(masks, [red, 0, 0, alpha] if red > 0 && alpha > 0) && has_alpha && !is_signed;
    let is_luminance = flags & PIXELS_LUMINANCE != 0 || flags & PIXELS_RGB != 0 && is_red_alone;
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

/// The number of `D3DFORMAT` in place of a FourCC.
fn d3d_number(code: [u8; 4]) -> Option<u8> {
    if let [number, 0, 0, 0] = code { Some(number) } else { None }
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
