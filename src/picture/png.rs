//! Writes pictures and textures as PNG files with 8 bits each of red, green, blue and alpha.

use std::io::{self, Read, Seek, SeekFrom, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

use super::error::PictureError;
use super::image::Image;
use super::rgba_texture::RgbaTexture;
use super::thumbnail::read_header;

/// The filter `Sub`: each byte minus the byte of the pixel to its left.
const SUB: u8 = 1;

/// Writes a picture as a PNG file.
///
/// # Errors
/// The error of `out`.
pub fn write_png(image: &Image, out: &mut impl Write) -> io::Result<()> {
    let mut png = Png::new(image.width, image.height);
    image.rgba.chunks(image.width.max(1) as usize).try_for_each(|row| png.add(row.iter().copied()))?;
    png.finish(out)
}

/// Whether [`write_full_png`] can write a file, as far as its header and its length say.
pub fn has_full_png(file: &mut (impl Read + Seek)) -> bool {
    read_header(file).and_then(|(header, len)| RgbaTexture::new(header, len)).is_ok()
}

/// Writes the largest mip of a texture as a PNG file in full size: the first face of a cube, the first
/// texture of an array. Alpha stays as it is stored.
///
/// # Errors
/// [`PictureError`] if the file is not a texture or cannot be decoded. Errors of `out` are
/// [`PictureError::Io`].
pub fn write_full_png(file: &mut (impl Read + Seek), out: &mut impl Write) -> Result<(), PictureError> {
    let (header, len) = read_header(file)?;
    let texture = RgbaTexture::new(header, len)?;
    let (width, height) = texture.sides();
    let mut png = Png::new(width, height);
    let (mut at, end) = (0, u64::from(width) * u64::from(height) * 4);
    let (mut texels, mut pixels) = (Vec::new(), Vec::new());
    while let Some(band) = texture.band(at).filter(|_| at < end) {
        texels.resize((band.texels.end - band.texels.start) as usize, 0);
        pixels.resize((band.pixels.end - band.pixels.start) as usize, 0);
        file.seek(SeekFrom::Start(band.texels.start))?;
        file.read_exact(&mut texels)?;
        texture.decode(&band, &texels, &mut pixels);
        for row in pixels.as_chunks().0.chunks(width.max(1) as usize) {
            png.add(row.iter().map(|&[b, g, r, a]| [r, g, b, a]))?;
        }
        at = band.pixels.end;
    }
    Ok(png.finish(out)?)
}

/// A PNG file to which rows are added. Only its compressed bytes are kept.
struct Png {
    width: u32,
    height: u32,
    data: ZlibEncoder<Vec<u8>>,
}

impl Png {
    fn new(width: u32, height: u32) -> Self {
        Self { width, height, data: ZlibEncoder::new(Vec::new(), Compression::default()) }
    }

    /// Adds the next row: red, green, blue and alpha of each pixel.
    fn add(&mut self, row: impl Iterator<Item = [u8; 4]>) -> io::Result<()> {
        let mut bytes = vec![SUB];
        let mut left = [0; 4];
        for pixel in row {
            bytes.extend((0..4).map(|channel: usize| pixel[channel].wrapping_sub(left[channel])));
            left = pixel;
        }
        self.data.write_all(&bytes)
    }

    fn finish(self, out: &mut impl Write) -> io::Result<()> {
        let mut head = [self.width.to_be_bytes(), self.height.to_be_bytes()].concat();
        // Depth 8, colour type 6 (RGBA), the only compression and filter method, no interlacing.
        head.extend([8, 6, 0, 0, 0]);
        out.write_all(b"\x89PNG\r\n\x1a\n")?;
        write_chunk(out, b"IHDR", &head)?;
        write_chunk(out, b"IDAT", &self.data.finish()?)?;
        write_chunk(out, b"IEND", &[])
    }
}

fn write_chunk(out: &mut impl Write, kind: &[u8; 4], data: &[u8]) -> io::Result<()> {
    let len = u32::try_from(data.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut crc = Crc::new();
    crc.update(kind);
    crc.update(data);
    out.write_all(&len.to_be_bytes())?;
    out.write_all(kind)?;
    out.write_all(data)?;
    out.write_all(&crc.sum().to_be_bytes())
}
