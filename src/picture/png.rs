//! Writes pictures and textures as PNG files with 8 bits for each channel. Rows are compressed and written as
//! they come, so that memory does not depend on the size of the picture.

use std::io::{self, Read, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

use super::error::PictureError;
use super::rgba_texture::RgbaTexture;
use super::shrinker::Image;
use super::thumbnail::next_header;

/// The filter of all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filter {
    /// The bytes themselves.
    None = 0,
    /// Each byte minus the byte of the pixel to its left.
    Sub = 1,
}

/// Length of the data of a chunk in bytes.
const CHUNK_LEN: usize = 64 << 10;

/// Writes a picture as a PNG file.
pub fn write_png(image: &Image, out: &mut impl Write) -> io::Result<()> {
    let mut png = Png::new((image.width, image.height), PngChannels::All, out)?;
    image.rgba.chunks(image.width.max(1) as usize).try_for_each(|row| png.add(row.iter().copied()))?;
    png.finish()
}

/// Writes a picture as a PNG file of about half the size, with fewer colours: as many as BC1 has, which most
/// textures have anyway, and 16 steps of alpha.
pub fn write_reduced_png(image: &Image, out: &mut impl Write) -> io::Result<()> {
    let few = |value: u8, bits: u32| value & !(u8::MAX >> bits) | value >> bits;
    let reduced = |&[r, g, b, a]: &[u8; 4]| match a {
        // The colour of such a pixel is invisible.
        0 => [0; 4],
        _ => [few(r, 5), few(g, 6), few(b, 5), few(a, 4)],
    };
    // Differences of few colours are no fewer.
    let png = Png::new((image.width, image.height), PngChannels::All, out)?;
    let mut png = Png { filter: Filter::None, ..png };
    image.rgba.chunks(image.width.max(1) as usize).try_for_each(|row| png.add(row.iter().map(reduced)))?;
    png.finish()
}

/// Which channels of a picture a PNG file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PngChannels {
    /// Red, green, blue and alpha.
    All,
    /// Red, green and blue.
    Colours,
    /// Alpha, as a grey picture.
    Alpha,
}

impl PngChannels {
    /// The channels, and their number in the words of the standard.
    fn channels(self) -> (&'static [usize], u8) {
        match self {
            Self::All => (&[0, 1, 2, 3], 6),
            Self::Colours => (&[0, 1, 2], 2),
            Self::Alpha => (&[3], 0),
        }
    }
}

/// The largest mip of a texture in full size: the first face of a cube, the first texture of an array. Alpha
/// stays as it is stored.
#[derive(Clone, Debug)]
pub struct FullPicture {
    texture: RgbaTexture,
}

impl FullPicture {
    /// Finds the picture in a texture file of `len` bytes by its header.
    pub fn new(file: &mut impl Read, len: u64) -> Result<Self, PictureError> {
        Ok(Self { texture: RgbaTexture::new(next_header(file, len)?, len)? })
    }

    pub fn has_alpha(&self) -> bool {
        self.texture.has_alpha()
    }

    /// Writes the picture as a PNG file. `file` reads the texture file from its beginning, in order.
    pub fn write(&self, file: &mut impl Read, channels: PngChannels, out: impl Write) -> io::Result<()> {
        let mut png = Png::new(self.sides(), channels, out)?;
        self.each_row(file, |row| png.add(row.iter().map(|&[b, g, r, a]| [r, g, b, a])))?;
        png.finish()
    }

    /// Width and height in pixels.
    pub(super) fn sides(&self) -> (u32, u32) {
        self.texture.sides()
    }

    /// Decodes the picture. `file` reads the texture file from its beginning, in order. Calls `add` with each
    /// row: blue, green, red and alpha of each pixel.
    pub(super) fn each_row(
        &self,
        file: &mut impl Read,
        mut add: impl FnMut(&[[u8; 4]]) -> io::Result<()>,
    ) -> io::Result<()> {
        let (width, height) = self.texture.sides();
        let (mut at, end) = (0, u64::from(width) * u64::from(height) * 4);
        let (mut texels, mut pixels) = (Vec::new(), Vec::new());
        let mut position = 0;
        while let Some(band) = self.texture.band(at).filter(|_| at < end) {
            // Only the header is skipped. The texels of the bands follow each other.
            let skipped = band.texels.start.saturating_sub(position);
            io::copy(&mut file.take(skipped), &mut io::sink())?;
            texels.resize((band.texels.end - band.texels.start) as usize, 0);
            pixels.resize((band.pixels.end - band.pixels.start) as usize, 0);
            file.read_exact(&mut texels)?;
            position = band.texels.end;
            self.texture.decode(&band, &texels, &mut pixels);
            pixels.as_chunks().0.chunks(width.max(1) as usize).try_for_each(&mut add)?;
            at = band.pixels.end;
        }
        Ok(())
    }
}

/// A PNG file to which rows are added.
struct Png<W: Write> {
    channels: PngChannels,
    filter: Filter,
    data: ZlibEncoder<DataChunks<W>>,
    row: Vec<u8>,
}

impl<W: Write> Png<W> {
    fn new((width, height): (u32, u32), channels: PngChannels, mut out: W) -> io::Result<Self> {
        let mut head = [width.to_be_bytes(), height.to_be_bytes()].concat();
        // Depth 8, colour type, the only compression and filter method, no interlacing.
        head.extend([8, channels.channels().1, 0, 0, 0]);
        out.write_all(b"\x89PNG\r\n\x1a\n")?;
        write_chunk(&mut out, b"IHDR", &head)?;
        let chunks = DataChunks { out, bytes: Vec::with_capacity(CHUNK_LEN) };
        let data = ZlibEncoder::new(chunks, Compression::default());
        Ok(Self { channels, filter: Filter::Sub, data, row: Vec::new() })
    }

    /// Adds the next row: red, green, blue and alpha of each pixel.
    fn add(&mut self, row: impl Iterator<Item = [u8; 4]>) -> io::Result<()> {
        let (channels, _) = self.channels.channels();
        self.row.clear();
        self.row.push(self.filter as u8);
        let mut left = [0; 4];
        for pixel in row {
            self.row.extend(channels.iter().map(|&channel| pixel[channel].wrapping_sub(left[channel])));
            if self.filter == Filter::Sub {
                left = pixel;
            }
        }
        self.data.write_all(&self.row)
    }

    fn finish(self) -> io::Result<()> {
        let DataChunks { mut out, bytes } = self.data.finish()?;
        if !bytes.is_empty() {
            write_chunk(&mut out, b"IDAT", &bytes)?;
        }
        write_chunk(&mut out, b"IEND", &[])
    }
}

/// Writes compressed data as chunks.
struct DataChunks<W> {
    out: W,
    /// Bytes of the next chunk, fewer than [`CHUNK_LEN`].
    bytes: Vec<u8>,
}

impl<W: Write> Write for DataChunks<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let taken = data.len().min(CHUNK_LEN - self.bytes.len());
        self.bytes.extend_from_slice(&data[..taken]);
        if self.bytes.len() == CHUNK_LEN {
            write_chunk(&mut self.out, b"IDAT", &self.bytes)?;
            self.bytes.clear();
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
