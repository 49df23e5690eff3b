//! A picture as a PNG file: 8 bits, red, green, blue and alpha.

use std::io::{self, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

use super::image::Image;

/// The filter `Sub`: each byte less that of the pixel to its left.
const SUB: u8 = 1;

/// Writes a picture.
///
/// # Errors
/// The writer's.
pub fn write_png(image: &Image, out: &mut impl Write) -> io::Result<()> {
    let mut head = [image.width.to_be_bytes(), image.height.to_be_bytes()].concat();
    // Depth 8, colour type 6 (RGBA), and the only compression, filter method and no interlacing.
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

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn chunks_rows_and_checksums_are_those_of_the_standard() {
        let rgba = vec![[1, 2, 3, 255], [2, 2, 1, 0], [9, 9, 9, 9], [9, 9, 9, 9]];
        let mut png = Vec::new();
        write_png(&Image { width: 2, height: 2, rgba }, &mut png).unwrap();
        assert_eq!(png[..29], *b"\x89PNG\r\n\x1a\n\0\0\0\x0DIHDR\0\0\0\x02\0\0\0\x02\x08\x06\0\0\0");
        let data = usize::from(png[36]);
        assert_eq!(png[37..41], *b"IDAT");
        let mut rows = Vec::new();
        flate2::read::ZlibDecoder::new(&png[41..41 + data]).read_to_end(&mut rows).unwrap();
        assert_eq!(rows, [1, 1, 2, 3, 255, 1, 0, 254, 1, 1, 9, 9, 9, 9, 0, 0, 0, 0]);
        // The checksum of an empty IEND is in every PNG file.
        assert_eq!(png[45 + data..], *b"\0\0\0\0IEND\xAE\x42\x60\x82");
    }
}
