//! Writes a picture as a PNG file with 8 bits each of red, green, blue and alpha.

use std::io::{self, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

use super::image::Image;

/// The filter `Sub`: each byte minus the byte of the pixel to its left.
const SUB: u8 = 1;

/// Writes a picture as a PNG file.
///
/// # Errors
/// The error of `out`.
pub fn write_png(image: &Image, out: &mut impl Write) -> io::Result<()> {
    let mut head = [image.width.to_be_bytes(), image.height.to_be_bytes()].concat();
    // Depth 8, colour type 6 (RGBA), the only compression and filter method, no interlacing.
    head.extend([8, 6, 0, 0, 0]);
    let mut data = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in image.rgba.chunks(image.width.max(1) as usize) {
        data.write_all(&[SUB])?;
        let mut left = [0; 4];
        for pixel in row {
            let less = |channel: usize| pixel[channel].wrapping_sub(left[channel]);
            data.write_all(&[less(0), less(1), less(2), less(3)])?;
            left = *pixel;
        }
    }
    out.write_all(b"\x89PNG\r\n\x1a\n")?;
    write_chunk(out, b"IHDR", &head)?;
    write_chunk(out, b"IDAT", &data.finish()?)?;
    write_chunk(out, b"IEND", &[])
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
