//! Decodes all pixels of a texture's largest mip, some rows at a time, and writes them as a picture.

use std::io::{self, Read, Seek, SeekFrom, Write};

use super::error::PictureError;
use super::exr::Exr;
use super::png::{PictureChannels, Png};
use super::rgba_texture::{Band, RgbaTexture};
use super::texels::Depth;
use super::thumbnail::{first_bytes, next_header};

/// The largest mip of a texture, or of one of its faces and layers, in full size. Alpha stays as it is
/// stored.
#[derive(Clone, Debug)]
pub struct FullPicture {
    texture: RgbaTexture,
    /// The number of the face or layer, if there are several.
    item: Option<u32>,
}

impl FullPicture {
    /// Finds the picture in a texture file of `len` bytes by its header: the first face of a cube, the first
    /// layer of an array. `file` reads the texture file from its beginning.
    pub fn new(file: &mut impl Read, len: u64) -> Result<Self, PictureError> {
        Ok(Self { texture: RgbaTexture::new(next_header(file, len)?, len)?, item: None })
    }

    /// Finds the pictures of all faces and layers in a texture file of `len` bytes, in the order of the file.
    pub fn all(file: &mut impl Read, len: u64) -> Result<Vec<Self>, PictureError> {
        let surfaces = RgbaTexture::surfaces(&next_header(file, len)?, len)?;
        let is_one = surfaces.len() == 1;
        let picture = |(item, texture)| Self { texture, item: (!is_one).then_some(item) };
        Ok(surfaces.into_iter().map(picture).collect())
    }

    /// Why a texture file of `len` bytes has no picture, if it is damaged. `file` reads it from its start.
    /// A few bytes that do not even state the length of a header are no texture.
    pub fn damage(file: &mut impl Read, len: u64) -> Option<PictureError> {
        let first = first_bytes(file).ok()?;
        let is_dds = first.starts_with(b"DDS ") && matches!(first.get(4..8), Some([124 | 24, 0, 0, 0]));
        let error = Self::all(&mut &first[..], len).err()?;
        ((is_dds || first.starts_with(b"GNF ")) && error.is_damage()).then_some(error)
    }

    /// The number of the face or layer, if the texture has several.
    pub fn item(&self) -> Option<u32> {
        self.item
    }

    pub fn has_alpha(&self) -> bool {
        self.texture.has_alpha()
    }

    /// Whether the pixels are amounts of light, so that [`FullPicture::write`] writes an OpenEXR file.
    pub fn is_light(&self) -> bool {
        matches!(self.texture.depth(), Depth::Half | Depth::Float)
    }

    /// Offset of the picture's texels in the texture file, in bytes.
    pub fn start(&self) -> u64 {
        self.texture.band(0).map_or(0, |band| band.texels.start)
    }

    /// Writes the picture with all bits of its channels: light as an OpenEXR file, others as a PNG file.
    /// `file` reads the texture file from [`FullPicture::start`] on, in order.
    pub fn write(&self, file: &mut impl Read, channels: PictureChannels, out: impl Write) -> io::Result<()> {
        if !self.is_light() {
            return self.write_png(file, channels, out);
        }
        let channels = match channels {
            PictureChannels::All if !self.has_alpha() => PictureChannels::Colours,
            channels => channels,
        };
        let mut exr = Exr::new(self.sides(), channels, self.texture.depth() == Depth::Half, out)?;
        self.each_row_of_values(file, |row| exr.add(row))
    }

    /// Writes the picture as a PNG file, as a screen shows it. `file` reads the texture file from
    /// [`FullPicture::start`] on, in order.
    pub fn write_png(
        &self,
        file: &mut impl Read,
        channels: PictureChannels,
        out: impl Write,
    ) -> io::Result<()> {
        let is_wide = self.texture.depth() == Depth::Sixteen;
        let mut png = Png::new(self.sides(), channels, if is_wide { 16 } else { 8 }, out)?;
        if is_wide {
            let wide = |value: f32| ((value.clamp(0.0, 1.0) * 65_535.0 + 0.5) as u16).to_be_bytes();
            self.each_row_of_values(file, |row| png.add(row.iter().map(|pixel| pixel.map(wide))))?;
        } else {
            self.each_row(file, |row| png.add(row.iter().map(|&[b, g, r, a]| [[r], [g], [b], [a]])))?;
        }
        png.finish()
    }

    /// Width and height in pixels.
    pub(super) fn sides(&self) -> (u32, u32) {
        self.texture.sides()
    }

    /// Decodes the picture. `file` reads the texture file from [`FullPicture::start`] on, in order. Calls
    /// `add` with each row: blue, green, red and alpha of each pixel as a screen shows them.
    pub(super) fn each_row(
        &self,
        file: &mut impl Read,
        mut add: impl FnMut(&[[u8; 4]]) -> io::Result<()>,
    ) -> io::Result<()> {
        let width = self.sides().0 as usize;
        let mut pixels = Vec::new();
        self.each_band(file, |band, texels| {
            pixels.resize((band.pixels.end - band.pixels.start) as usize, 0);
            self.texture.decode(band, texels, &mut pixels);
            pixels.as_chunks().0.chunks(width.max(1)).try_for_each(&mut add)
        })
    }

    /// Decodes the picture as [`FullPicture::each_row`] does, to red, green, blue and alpha with all of their
    /// bits.
    fn each_row_of_values(
        &self,
        file: &mut impl Read,
        mut add: impl FnMut(&[[f32; 4]]) -> io::Result<()>,
    ) -> io::Result<()> {
        let (width, height) = self.sides();
        let mut rows = vec![vec![[0.0; 4]; width as usize]; self.texture.rows()];
        let mut left = height as usize;
        self.each_band(file, |band, texels| {
            for texels in texels.chunks_exact(band.row_len.max(1)) {
                self.texture.decode_row(texels, &mut rows);
                let here = rows.len().min(left);
                rows.iter().take(here).try_for_each(|row| add(row))?;
                left -= here;
            }
            Ok(())
        })
    }

    /// Reads the bands of the largest mip, whose texels follow each other.
    fn each_band(
        &self,
        file: &mut impl Read,
        mut decode: impl FnMut(&Band, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let (width, height) = self.sides();
        let (mut at, end) = (0, u64::from(width) * u64::from(height) * 4);
        let mut texels = Vec::new();
        while let Some(band) = self.texture.band(at).filter(|_| at < end) {
            texels.resize((band.texels.end - band.texels.start) as usize, 0);
            file.read_exact(&mut texels)?;
            decode(&band, &texels)?;
            at = band.pixels.end;
        }
        Ok(())
    }
}

/// Writes the sides of the largest mip of a texture and its pixels: blue, green, red and alpha. Two textures
/// that write the same bytes show the same picture, even if their formats or their smaller mips differ.
///
/// # Errors
/// [`PictureError`] if the file is not a texture or cannot be decoded. Errors of `out` are
/// [`PictureError::Io`].
pub fn write_pixels(file: &mut (impl Read + Seek), out: &mut impl Write) -> Result<(), PictureError> {
    let len = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    let picture = FullPicture::new(file, len)?;
    file.seek(SeekFrom::Start(picture.start()))?;
    let (width, height) = picture.sides();
    out.write_all(&[width.to_le_bytes(), height.to_le_bytes()].concat())?;
    Ok(picture.each_row(file, |row| out.write_all(row.as_flattened()))?)
}
