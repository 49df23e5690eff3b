//! Rearranges texels in the tiling of consoles' GPUs into the rows of a DDS file.
//!
//! The Xbox One and the PlayStation 4 have GPUs of one family (GCN, "Sea Islands") and number its
//! tile modes alike. Only *1D thin* is supported. Its tiles are 8 by 8 elements and stored row by
//! row. Within a tile, the bits of an element's index are x0 y0 x1 y1 x2 y2, lowest first. An
//! element is a pixel, or a block of 4 by 4 pixels.
//!
//! Mips follow each other, largest first. Each is padded to whole tiles and to a multiple of 256
//! bytes. The faces of a cube are stored within each mip, but a DDS file stores the mips within
//! each face. (FORMATS.md sections 6.3 and 7.)
//!
//! No archive of a console was at hand. The tiling follows the public address libraries for these
//! GPUs (Mesa's, and freegnm's for the PlayStation 4). It is checked only against a second
//! implementation in the tests \[unverified\]. Two sources disagree on how to pad smaller mips if a
//! side is not a power of two. The length of the data decides between them, see [`Padding`].

use super::dds;
use super::pixel_format::{TexelLayout, pixel_format};

/// Tile mode of PC textures: plain rows.
pub const LINEAR: u8 = 8;
/// Tile modes of compressed depth buffers. A texture of colours cannot be tiled in them, and packers that
/// know no tile modes write 0, such as `dream_archive`.
pub const DEPTH: std::ops::RangeInclusive<u8> = 0..=4;
/// Tile mode that [`to_rows`] reads.
pub const THIN_1D: u8 = 13;

/// Side of a tile, in elements.
const TILE: u64 = 8;
/// The length of each face of each mip is a multiple of this, in bytes.
const ALIGNMENT: u64 = 256;

/// How mips below the largest are padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// To whole tiles, as FORMATS.md describes it.
    Tiles,
    /// Sides to a power of two, then to whole tiles, as the address libraries for this GPU pad them.
    PowersOfTwo,
}

/// A tiled texture: its elements, mips and faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surface {
    width: u32,
    height: u32,
    mips: u8,
    faces: u8,
    /// Side of an element in pixels: 1 or 4.
    side: u32,
    element: ElementSize,
    padding: Padding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ElementSize {
    One,
    Two,
    Four,
    Eight,
    Sixteen,
}

/// The data is not as long as its surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongLength;

impl std::fmt::Display for WrongLength {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the length of a texture's data does not match its size and format")
    }
}

impl std::error::Error for WrongLength {}

impl Surface {
    /// Describes a texture whose smaller mips have `padding`. `None` if an element's length is not
    /// a power of two, for video, and for textures without pixels.
    pub fn new(texture: &dds::Texture, padding: Padding) -> Option<Self> {
        let (side, bytes) = match pixel_format(texture.format)?.layout {
            TexelLayout::Rows(1, bytes) => (1, bytes),
            TexelLayout::Blocks(bytes) => (4, bytes),
            TexelLayout::Rows(..) | TexelLayout::Planes(..) => return None,
        };
        let element = match bytes {
            1 => ElementSize::One,
            2 => ElementSize::Two,
            4 => ElementSize::Four,
            8 => ElementSize::Eight,
            16 => ElementSize::Sixteen,
            _ => return None,
        };
        if texture.width == 0 || texture.height == 0 {
            return None;
        }
        Some(Self {
            width: texture.width.into(),
            height: texture.height.into(),
            mips: texture.mips.max(1),
            faces: if texture.cube { 6 } else { 1 },
            side,
            element,
            padding,
        })
    }

    /// Describes a texture whose tiled data is `len` bytes long; the length decides the padding. If
    /// both paddings have this length, they are identical, except for a mip of 3 by 2 tiles of
    /// one-byte elements. Then the hardware's padding (powers of two) wins.
    pub fn with_tiled_len(texture: &dds::Texture, len: u64) -> Option<Self> {
        [Padding::PowersOfTwo, Padding::Tiles]
            .into_iter()
            .filter_map(|padding| Self::new(texture, padding))
            .find(|surface| surface.tiled_len() == len)
    }

    /// Length of all faces and mips in bytes, tiled.
    pub fn tiled_len(&self) -> u64 {
        self.levels().map(|level| level.tiled_len(self.element.bytes())).sum::<u64>() * u64::from(self.faces)
    }

    /// Length of all faces and mips in bytes, in rows.
    pub fn linear_len(&self) -> u64 {
        self.face_len() * u64::from(self.faces)
    }

    fn face_len(&self) -> u64 {
        self.levels().map(|level| level.linear_len(self.element.bytes())).sum()
    }

    fn levels(self) -> impl Iterator<Item = TileLevel> {
        (0..u32::from(self.mips)).map(move |mip| {
            let elements =
                |pixels: u32| u64::from(pixels.checked_shr(mip).unwrap_or(0).max(1).div_ceil(self.side));
            let padded = |pixels: u32| {
                let elements = elements(pixels);
                match self.padding {
                    Padding::PowersOfTwo if mip > 0 => elements.next_power_of_two(),
                    _ => elements,
                }
                .next_multiple_of(TILE)
            };
            TileLevel {
                width: elements(self.width),
                height: elements(self.height),
                pitch: padded(self.width),
                rows: padded(self.height),
            }
        })
    }
}

impl ElementSize {
    fn bytes(self) -> u64 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
            Self::Sixteen => 16,
        }
    }
}

/// One face of one mip, in elements. The maximum is 65,535 by 65,535, so sums of bytes fit into 64
/// bits easily.
#[derive(Clone, Copy, Debug)]
struct TileLevel {
    width: u64,
    height: u64,
    /// Elements per tiled row, with padding.
    pitch: u64,
    /// Tiled rows, with padding.
    rows: u64,
}

impl TileLevel {
    fn tiled_len(&self, element: u64) -> u64 {
        (self.pitch * self.rows * element).next_multiple_of(ALIGNMENT)
    }

    fn linear_len(&self, element: u64) -> u64 {
        self.width * self.height * element
    }
}

/// Rearranges the texels of a 1D thin surface into rows: faces, then mips, then rows.
///
/// # Errors
/// [`WrongLength`] if `tiled` or `linear` is not as long as the surface. Nothing is written then.
pub fn to_rows(surface: &Surface, tiled: &[u8], linear: &mut [u8]) -> Result<(), WrongLength> {
    let is_len = |bytes: &[u8], len: u64| u64::try_from(bytes.len()) == Ok(len);
    if !is_len(tiled, surface.tiled_len()) || !is_len(linear, surface.linear_len()) {
        return Err(WrongLength);
    }
    match surface.element {
        ElementSize::One => to_rows_levels::<1>(surface, tiled, linear),
        ElementSize::Two => to_rows_levels::<2>(surface, tiled, linear),
        ElementSize::Four => to_rows_levels::<4>(surface, tiled, linear),
        ElementSize::Eight => to_rows_levels::<8>(surface, tiled, linear),
        ElementSize::Sixteen => to_rows_levels::<16>(surface, tiled, linear),
    }
    Ok(())
}

/// The caller has compared the lengths, so they fit and every slice is in bounds.
fn to_rows_levels<const BYTES: usize>(surface: &Surface, mut tiled: &[u8], linear: &mut [u8]) {
    let element = BYTES as u64;
    let face_len = surface.face_len() as usize;
    let mut start = 0;
    for level in surface.levels() {
        let len = level.linear_len(element) as usize;
        for face in linear.chunks_exact_mut(face_len) {
            let (from, rest) = tiled.split_at(level.tiled_len(element) as usize);
            to_rows_level::<BYTES>(&level, from, &mut face[start..][..len]);
            tiled = rest;
        }
        start += len;
    }
}

fn to_rows_level<const BYTES: usize>(level: &TileLevel, tiled: &[u8], linear: &mut [u8]) {
    let (tiles, _) = tiled.as_chunks::<BYTES>();
    let (elements, _) = linear.as_chunks_mut::<BYTES>();
    for (y, row) in elements.chunks_exact_mut(level.width as usize).enumerate() {
        let tile_row = &tiles[y / 8 * 8 * level.pitch as usize..];
        for (x, element) in row.iter_mut().enumerate() {
            *element = tile_row[x / 8 * 64 + SPREAD[x % 8] + 2 * SPREAD[y % 8]];
        }
    }
}

/// Spreads three bits, with a gap of one bit after each. This is x; y is twice that.
const SPREAD: [usize; 8] = [0, 1, 4, 5, 16, 17, 20, 21];
