//! A texture as a DDS file of uncompressed pixels, 32 bits each, that every program opens.
//!
//! The pixels are decoded in bands: some rows of one mip. So a reader of a part of the file decodes little
//! else, and several readers decode side by side.

use std::ops::Range;

use super::blocks::SIDE;
use super::error::PictureError;
use super::texels::{Depth, Texels};
use crate::texture::dds::Texture;
use crate::texture::file_header::FileHeader;

/// Maximum length of all pixels of a texture in bytes: enough for 16,384 by 16,384 pixels with all mips.
pub const PIXELS_MAX: u64 = 2 << 30;

/// The format of the pixels, in `DXGI_FORMAT`: B8G8R8A8_UNORM. Headers without the DX10 extension have it.
const BGRA8: u8 = 87;
/// Offset of `dwCaps2` in a header, whose bits from 10 on are the faces of a cube.
const CAPS2_AT: usize = 112;
const CAPS2_CUBE: u32 = 0x200;
/// Length of a pixel in bytes: blue, green, red, alpha.
const PIXEL: u64 = 4;
/// Length of a band in bytes, unless a single row of blocks is longer. A row of blocks has at most 256 KiB.
const BAND: u64 = 256 << 10;

/// A texture file, and the uncompressed one that is made of it. Formats are mapped as in thumbnails: signed
/// values from -1..1 to 0..1, amounts of light to what a screen shows; the third axis of a direction is
/// computed, and colours are divided by alpha if they were multiplied by it. Bytes of sRGB stay the same, and
/// so does alpha.
///
/// Mips and faces that the file lacks are left out. An array has only its first texture, because the
/// header that every program reads cannot state more.
#[derive(Clone, Debug, PartialEq)]
pub struct RgbaTexture {
    /// The header of what the file has.
    header: FileHeader,
    /// Number of mips that are shown.
    mips: u32,
    texels: Texels,
}

/// Some rows of a mip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// The band's bytes, counted from the first pixel of the uncompressed file.
    pub pixels: Range<u64>,
    /// The bytes that it is decoded from, counted from the beginning of the texture file.
    pub texels: Range<u64>,
    /// Length of a row of texels in bytes.
    pub(super) row_len: usize,
    /// Pixels in a row.
    width: usize,
}

impl RgbaTexture {
    /// The uncompressed form of a texture file of `len` bytes.
    ///
    /// # Errors
    /// [`PictureError`] if the file is cut off, if its format cannot be decoded, if it is a volume or tiled
    /// for a console, or if it had more than [`PIXELS_MAX`] bytes of pixels.
    pub fn new(header: FileHeader, len: u64) -> Result<Self, PictureError> {
        let (complete, texels) = complete(&header, len)?;
        let is_one_face = complete.face_bits.count_ones() < 2;
        let cube = complete.cube && !is_one_face;
        Self { mips: complete.mips, header: FileHeader { array: 1, cube, ..complete }, texels }.limited()
    }

    /// Each face and layer of a texture file of `len` bytes, as a texture with one surface. They are numbered
    /// as Direct3D numbers them: six faces for each cube, of which some may be missing.
    ///
    /// # Errors
    /// Those of [`RgbaTexture::new`].
    pub fn surfaces(header: &FileHeader, len: u64) -> Result<Vec<(u32, Self)>, PictureError> {
        let (complete, texels) = complete(header, len)?;
        let surface_len = complete.mip_offset(complete.mips).unwrap_or(0);
        let faces: Vec<u32> = if complete.cube {
            (0..6).filter(|face| complete.face_bits >> face & 1 == 1).collect()
        } else {
            vec![0]
        };
        let numbers = (0..complete.array).flat_map(|layer| {
            let first = if complete.cube { layer * 6 } else { layer };
            faces.iter().map(move |face| first + face)
        });
        let surface = |(nth, number)| {
            let len = complete.len + nth * surface_len;
            let header = FileHeader { len, array: 1, cube: false, face_bits: 0, ..complete.clone() };
            Ok((number, Self { mips: header.mips, header, texels: texels.clone() }.limited()?))
        };
        (0..).zip(numbers).map(surface).collect()
    }

    fn limited(self) -> Result<Self, PictureError> {
        match self.pixels_len() {
            pixels if pixels > PIXELS_MAX => Err(PictureError::TooLarge(pixels)),
            _ => Ok(self),
        }
    }

    /// This texture with only the largest mip.
    #[must_use]
    pub fn without_mips(self) -> Self {
        Self { mips: 1, ..self }
    }

    /// Width and height of the largest mip in pixels.
    pub fn sides(&self) -> (u32, u32) {
        (self.header.width, self.header.height)
    }

    /// Whether pixels may differ in alpha.
    pub fn has_alpha(&self) -> bool {
        self.texels.has_alpha()
    }

    /// Length of the uncompressed file in bytes.
    pub fn file_len(&self) -> u64 {
        self.head_len() + self.pixels_len()
    }

    /// The header of the uncompressed file.
    pub fn head(&self) -> Vec<u8> {
        let mut head = self.texture().header();
        if self.header.cube
            && let Some(caps2) = head.get_mut(CAPS2_AT..CAPS2_AT + 4)
        {
            caps2.copy_from_slice(&(CAPS2_CUBE | u32::from(self.header.face_bits) << 10).to_le_bytes());
        }
        head
    }

    /// The length of [`RgbaTexture::head`] in bytes.
    pub fn head_len(&self) -> u64 {
        self.texture().header_len()
    }

    /// Total length of the pixels in bytes.
    fn pixels_len(&self) -> u64 {
        self.mip_pixels(0..self.mips) * self.faces()
    }

    /// The band with the byte at `offset` of the pixels; `None` beyond their end.
    pub fn band(&self, offset: u64) -> Option<Band> {
        let header = &self.header;
        let face_len = self.mip_pixels(0..self.mips);
        let (face, within) = (offset / face_len, offset % face_len);
        if face >= self.faces() {
            return None;
        }
        let mip = (0..self.mips).find(|mip| within < self.mip_pixels(0..mip + 1))?;
        let (width, height) = header.mip_sides(mip);
        let (row_len, rows) = header.mip_rows(mip)?;
        // A row of texels decodes to one row of pixels, or to four.
        let row_pixels = u64::from(width) * PIXEL;
        let group_rows = self.texels.rows() as u64;
        let group = row_pixels * group_rows;
        let at_once = (BAND / group).max(1);
        let mip_start = self.mip_pixels(0..mip);
        let first = (within - mip_start) / group / at_once * at_once;
        let end = (first + at_once).min(rows.into());
        let start = face * face_len + mip_start;
        let pixels = |row: u64| start + (row * group_rows).min(height.into()) * row_pixels;
        let texels_start = header.len + face * self.mip_texels(0..header.mips)? + self.mip_texels(0..mip)?;
        let texels = |row: u64| texels_start + row * row_len;
        Some(Band {
            pixels: pixels(first)..pixels(end),
            texels: texels(first)..texels(end),
            row_len: usize::try_from(row_len).ok()?,
            width: width as usize,
        })
    }

    /// Decodes a band. `texels` and `pixels` must have the lengths of its ranges.
    pub fn decode(&self, band: &Band, texels: &[u8], pixels: &mut [u8]) {
        let group = band.width * PIXEL as usize * self.texels.rows();
        let rows = texels.chunks_exact(band.row_len.max(1)).zip(pixels.chunks_mut(group.max(1)));
        match self.texels.blocks() {
            Some(blocks) => rows.for_each(|(texels, pixels)| {
                for (column, block) in texels.chunks_exact(blocks.bytes()).enumerate() {
                    let block = self.texels.decode_block(blocks, block);
                    let lines =
                        pixels.chunks_mut(band.width * PIXEL as usize).zip(block.as_chunks::<SIDE>().0);
                    for (line, four) in lines {
                        let to = line.as_chunks_mut().0.iter_mut().skip(column * SIDE);
                        to.zip(four).for_each(|(to, from)| *to = bgra(*from));
                    }
                }
            }),
            None => {
                let transfer = self.texels.transfer();
                let mut row = vec![vec![[0.0; 4]; band.width]];
                rows.for_each(|(texels, pixels)| {
                    self.texels.decode(texels, &mut row);
                    let to = pixels.as_chunks_mut().0.iter_mut();
                    to.zip(&row[0]).for_each(|(to, from)| *to = bgra(transfer.bytes(*from)));
                });
            }
        }
    }

    /// Decodes a row of texels of a band to rows of red, green, blue and alpha. Light has its own values;
    /// others are between 0 and 1.
    pub(super) fn decode_row(&self, texels: &[u8], rows: &mut [Vec<[f32; 4]>]) {
        self.texels.decode(texels, rows);
    }

    /// Rows of pixels per row of texels.
    pub(super) fn rows(&self) -> usize {
        self.texels.rows()
    }

    pub(super) fn depth(&self) -> Depth {
        self.texels.depth()
    }

    /// Number of surfaces that each have all mips.
    fn faces(&self) -> u64 {
        self.header.surfaces()
    }

    /// Length in bytes of the texels of some mips of one face.
    fn mip_texels(&self, mips: Range<u32>) -> Option<u64> {
        mips.map(|mip| self.header.mip_rows(mip).map(|(row, rows)| row * u64::from(rows))).sum()
    }

    /// Length in bytes of the pixels of some mips of one face.
    fn mip_pixels(&self, mips: Range<u32>) -> u64 {
        let len = |mip| {
            let (width, height) = self.header.mip_sides(mip);
            u64::from(width) * u64::from(height) * PIXEL
        };
        mips.map(len).sum()
    }

    /// The uncompressed texture. Sides and mips were bounded by the parser of headers.
    fn texture(&self) -> Texture {
        let FileHeader { width, height, cube, .. } = &self.header;
        let (width, height, cube) = (*width, *height, *cube);
        Texture { width: width as u16, height: height as u16, mips: self.mips as u8, format: BGRA8, cube }
    }
}

/// The header of what a file of `len` bytes has of a texture, and how it is decoded.
fn complete(header: &FileHeader, len: u64) -> Result<(FileHeader, Texels), PictureError> {
    let unsupported = || PictureError::Format(header.format_name());
    let texels = Texels::of(header).ok_or_else(unsupported)?;
    match header.tile_mode {
        Some(mode) => return Err(PictureError::Tiled(mode)),
        None if header.depth > 1 => return Err(PictureError::Volume),
        None => {}
    }
    let needed = header.len + header.mip_offset(1).ok_or_else(unsupported)?;
    let complete = header.complete(len).ok_or(PictureError::CutOff { len, needed })?;
    Ok((complete, texels))
}

fn bgra([r, g, b, a]: [u8; 4]) -> [u8; 4] {
    [b, g, r, a]
}
