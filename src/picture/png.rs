//! Writes pictures and textures as PNG files with 8 or 16 bits for each channel. Rows are compressed and
//! written as they come, so that memory does not depend on the size of the picture.

use std::io::{self, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

use super::shrinker::Image;

/// The filter of all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowFilter {
    /// The bytes themselves.
    None = 0,
    /// Each byte minus the byte of the pixel to its left.
    Sub = 1,
}

/// Length of the data of a chunk in bytes.
const CHUNK_LEN: usize = 64 << 10;

/// Writes a picture as a PNG file.
pub fn write_png(image: &Image, out: &mut impl Write) -> io::Result<()> {
    let mut png = Png::new((image.width, image.height), PictureChannels::All, 8, out)?;
    let add = |row: &[[u8; 4]]| png.add(row.iter().map(|pixel| pixel.map(|it| [it])));
    image.rgba.chunks(image.width.max(1) as usize).try_for_each(add)?;
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
    let png = Png::new((image.width, image.height), PictureChannels::All, 8, out)?;
    let mut png = Png { filter: RowFilter::None, ..png };
    let add = |row: &[[u8; 4]]| png.add(row.iter().map(|pixel| reduced(pixel).map(|it| [it])));
    image.rgba.chunks(image.width.max(1) as usize).try_for_each(add)?;
    png.finish()
}

/// Which channels of a picture a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureChannels {
    /// Red, green, blue and alpha.
    All,
    /// Red, green and blue.
    Colours,
    /// Alpha, as a grey picture.
    Alpha,
}

impl PictureChannels {
    /// The channels, and their number in the words of the standard.
    fn channels(self) -> (&'static [usize], u8) {
        match self {
            Self::All => (&[0, 1, 2, 3], 6),
            Self::Colours => (&[0, 1, 2], 2),
            Self::Alpha => (&[3], 0),
        }
    }
}

/// A PNG file to which rows are added.
pub(super) struct Png<W: Write> {
    channels: PictureChannels,
    filter: RowFilter,
    data: ZlibEncoder<DataChunks<W>>,
    row: Vec<u8>,
}

impl<W: Write> Png<W> {
    pub(super) fn new(
        (width, height): (u32, u32),
        channels: PictureChannels,
        depth: u8,
        mut out: W,
    ) -> io::Result<Self> {
        let mut head = [width.to_be_bytes(), height.to_be_bytes()].concat();
        // Depth, colour type, the only compression and filter method, no interlacing.
        head.extend([depth, channels.channels().1, 0, 0, 0]);
        out.write_all(b"\x89PNG\r\n\x1a\n")?;
        write_chunk(&mut out, b"IHDR", &head)?;
        let chunks = DataChunks { out, bytes: Vec::with_capacity(CHUNK_LEN) };
        let data = ZlibEncoder::new(chunks, Compression::default());
        Ok(Self { channels, filter: RowFilter::Sub, data, row: Vec::new() })
    }

    /// Adds the next row: red, green, blue and alpha of each pixel, each in `N` bytes, the highest first.
    pub(super) fn add<const N: usize>(&mut self, row: impl Iterator<Item = [[u8; N]; 4]>) -> io::Result<()> {
        let (channels, _) = self.channels.channels();
        self.row.clear();
        self.row.push(self.filter as u8);
        let mut left = [[0; N]; 4];
        for pixel in row {
            for &channel in channels {
                let bytes = pixel[channel].iter().zip(&left[channel]);
                self.row.extend(bytes.map(|(byte, left)| byte.wrapping_sub(*left)));
            }
            if self.filter == RowFilter::Sub {
                left = pixel;
            }
        }
        self.data.write_all(&self.row)
    }

    pub(super) fn finish(self) -> io::Result<()> {
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
