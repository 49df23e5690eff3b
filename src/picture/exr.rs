//! Writes pictures of light as OpenEXR files, which keep what PNG files cannot: values above 1 and below 0,
//! and all bits of floats.
//!
//! The rows are not compressed. So their places are known from the start, and they are written as they come.
//! The crate `exr` also reads, compresses and builds on 20 others, of which these files need nothing.

use std::io::{self, Write};

use super::png::PictureChannels;

/// An OpenEXR file to which rows are added.
pub(super) struct Exr<W: Write> {
    /// The channels of a pixel to write, in the order of their names.
    channels: &'static [usize],
    is_half: bool,
    out: W,
    line: Vec<u8>,
    /// Number of the next row.
    y: u32,
}

impl<W: Write> Exr<W> {
    /// Writes what precedes the rows. The values are stored as floats of 16 or of 32 bits.
    pub(super) fn new(
        (width, height): (u32, u32),
        channels: PictureChannels,
        is_half: bool,
        mut out: W,
    ) -> io::Result<Self> {
        // The standard demands the order of the names. A lone channel is called Y.
        let (names, channels): (&[u8], &'static [usize]) = match channels {
            PictureChannels::All => (b"ABGR", &[3, 2, 1, 0]),
            PictureChannels::Colours => (b"BGR", &[2, 1, 0]),
            PictureChannels::Alpha => (b"Y", &[3]),
        };
        let mut head = vec![0x76, 0x2F, 0x31, 0x01, 2, 0, 0, 0];
        let mut list = Vec::new();
        for name in names {
            // The name, the type (1: 16 bits, 2: 32 bits), whether it is linear, and the sampling.
            list.extend([*name, 0]);
            list.extend([if is_half { 1 } else { 2 }, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
        }
        list.push(0);
        let window: Vec<u8> =
            [0, 0, width - 1, height - 1].iter().flat_map(|it: &u32| it.to_le_bytes()).collect();
        let one = 1f32.to_le_bytes();
        let attributes: [(&str, &str, &[u8]); 8] = [
            ("channels", "chlist", &list),
            ("compression", "compression", &[0]),
            ("dataWindow", "box2i", &window),
            ("displayWindow", "box2i", &window),
            ("lineOrder", "lineOrder", &[0]),
            ("pixelAspectRatio", "float", &one),
            ("screenWindowCenter", "v2f", &[0; 8]),
            ("screenWindowWidth", "float", &one),
        ];
        for (name, kind, value) in attributes {
            let len = (value.len() as u32).to_le_bytes();
            head.extend([name.as_bytes(), b"\0", kind.as_bytes(), b"\0", &len, value].concat());
        }
        head.push(0);
        let row_len = Self::row_len(width, channels, is_half);
        let first = head.len() as u64 + u64::from(height) * 8;
        head.extend((0..u64::from(height)).flat_map(|y| (first + y * (row_len + 8)).to_le_bytes()));
        out.write_all(&head)?;
        Ok(Self { channels, is_half, out, line: Vec::new(), y: 0 })
    }

    /// Length of a row in bytes, without its number and its length.
    fn row_len(width: u32, channels: &[usize], is_half: bool) -> u64 {
        u64::from(width) * channels.len() as u64 * if is_half { 2 } else { 4 }
    }

    /// Adds the next row: red, green, blue and alpha of each pixel.
    pub(super) fn add(&mut self, row: &[[f32; 4]]) -> io::Result<()> {
        let len = Self::row_len(row.len() as u32, self.channels, self.is_half) as u32;
        self.line.clear();
        self.line.extend([self.y.to_le_bytes(), len.to_le_bytes()].concat());
        for &channel in self.channels {
            let values = row.iter().map(|pixel| pixel[channel]);
            if self.is_half {
                self.line.extend(values.flat_map(|it| half(it).to_le_bytes()));
            } else {
                self.line.extend(values.flat_map(f32::to_le_bytes));
            }
        }
        self.y += 1;
        self.out.write_all(&self.line)
    }
}

/// The nearest float of 16 bits, as IEEE 754 rounds it.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let (sign, size) = ((bits >> 16) as u16 & 0x8000, bits & 0x7FFF_FFFF);
    let size = match size {
        0x7F80_0001.. => 0x7E00,
        // 65,536 and more.
        0x4780_0000.. => 0x7C00,
        // Less than the smallest normal number: a multiple of 2 to the power of -24.
        ..0x3880_0000 => (f32::from_bits(size) * 16_777_216.0).round_ties_even() as u16,
        _ => ((size - 0x3800_0000 + 0xFFF + (size >> 13 & 1)) >> 13) as u16,
    };
    sign | size
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::channels::Channels;

    #[test]
    fn every_float_of_16_bits_is_written_as_it_was() {
        let stored = Channels::named("R16_FLOAT").unwrap();
        for bits in 0..=u16::MAX {
            let value = stored.pixel(&bits.to_le_bytes())[0];
            if value.is_nan() {
                assert!(half(value) & 0x7C00 == 0x7C00 && half(value) & 0x3FF != 0);
            } else {
                assert_eq!(half(value), bits);
            }
        }
        // Half way between two, to the even one; beyond the largest, to infinity.
        assert_eq!([half(1.0 + 1.0 / 2048.0), half(1.0 + 3.0 / 2048.0)], [0x3C00, 0x3C02]);
        assert_eq!([half(65_519.9), half(65_520.0), half(-1e9)], [0x7BFF, 0x7C00, 0xFC00]);
    }
}
