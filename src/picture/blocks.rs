//! Decoder for blocks of 4 by 4 pixels: BC1 to BC7.

use super::transfer::Transfer;

/// Side of a block, in pixels.
pub(super) const SIDE: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocks {
    Bc1,
    Bc2,
    Bc3,
    /// One channel; the flag says whether it is signed.
    Bc4(bool),
    /// Two channels; the flag says whether they are signed.
    Bc5(bool),
    /// Floats; the flag says whether they are signed.
    Bc6(bool),
    Bc7,
}

impl Blocks {
    /// The block format that the name of a DXGI format begins with.
    pub(super) fn named(name: &str) -> Option<Self> {
        let is_signed = name.contains("SNORM") || name.contains("SF16");
        Some(match name.get(..3)? {
            "BC1" => Self::Bc1,
            "BC2" => Self::Bc2,
            "BC3" => Self::Bc3,
            "BC4" => Self::Bc4(is_signed),
            "BC5" => Self::Bc5(is_signed),
            "BC6" => Self::Bc6(is_signed),
            "BC7" => Self::Bc7,
            _ => return None,
        })
    }

    /// Length of a block in bytes.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Bc1 | Self::Bc4(_) => 8,
            Self::Bc2 | Self::Bc3 | Self::Bc5(_) | Self::Bc6(_) | Self::Bc7 => 16,
        }
    }

    /// Whether pixels may differ in alpha.
    pub(super) fn has_alpha(self) -> bool {
        matches!(self, Self::Bc1 | Self::Bc2 | Self::Bc3 | Self::Bc7)
    }

    pub(super) fn transfer(self) -> Transfer {
        match self {
            Self::Bc4(_) | Self::Bc5(_) => Transfer::Plain,
            Self::Bc6(_) => Transfer::Unbounded,
            Self::Bc1 | Self::Bc2 | Self::Bc3 | Self::Bc7 => Transfer::Encoded,
        }
    }

    /// Decodes a block to the bytes of red, green, blue and alpha that a screen shows, rows from the top.
    pub(super) fn decode_bytes(self, block: &[u8]) -> [[u8; 4]; SIDE * SIDE] {
        let mut out = [0; 4 * SIDE * SIDE];
        match self {
            Self::Bc1 => bcdec_rs::bc1(block, &mut out, 16),
            Self::Bc2 => bcdec_rs::bc2(block, &mut out, 16),
            Self::Bc3 => bcdec_rs::bc3(block, &mut out, 16),
            Self::Bc7 => bcdec_rs::bc7(block, &mut out, 16),
            Self::Bc4(_) | Self::Bc5(_) | Self::Bc6(_) => {
                let transfer = self.transfer();
                return self.decode(block).map(|pixel| transfer.bytes(pixel));
            }
        }
        let mut pixels = [[0; 4]; SIDE * SIDE];
        pixels.copy_from_slice(out.as_chunks().0);
        pixels
    }

    /// Decodes a block to red, green, blue and alpha, rows from the top. Signed values are mapped to 0..1.
    pub(super) fn decode(self, block: &[u8]) -> [[f32; 4]; SIDE * SIDE] {
        match self {
            Self::Bc1 | Self::Bc2 | Self::Bc3 | Self::Bc7 => {
                self.decode_bytes(block).map(|pixel| pixel.map(|byte| f32::from(byte) / 255.0))
            }
            Self::Bc4(is_signed) => {
                let mut out = [0.0; SIDE * SIDE];
                bcdec_rs::bc4_float(block, &mut out, 4, is_signed);
                out.map(|grey| unsigned([grey; 3], is_signed))
            }
            Self::Bc5(is_signed) => {
                let mut out = [0.0; 2 * SIDE * SIDE];
                bcdec_rs::bc5_float(block, &mut out, 8, is_signed);
                pixels(&out, |&[x, y]: &[f32; 2]| with_z(unsigned([x, y, 0.0], is_signed)))
            }
            Self::Bc6(is_signed) => {
                let mut out = [0.0; 3 * SIDE * SIDE];
                bcdec_rs::bc6h_float(block, &mut out, 12, is_signed);
                pixels(&out, |&[r, g, b]: &[f32; 3]| [r, g, b, 1.0])
            }
        }
    }
}

/// Computes the third axis of a direction, whose length is 1. All axes are mapped from -1..1 to 0..1.
pub(super) fn with_z([x, y, _, alpha]: [f32; 4]) -> [f32; 4] {
    let (from_x, from_y) = (x * 2.0 - 1.0, y * 2.0 - 1.0);
    let z = (1.0 - from_x * from_x - from_y * from_y).max(0.0).sqrt();
    [x, y, z / 2.0 + 0.5, alpha]
}

fn unsigned(colours: [f32; 3], is_signed: bool) -> [f32; 4] {
    let [r, g, b] = if is_signed { colours.map(|it| it / 2.0 + 0.5) } else { colours };
    [r, g, b, 1.0]
}

/// Splits a block into pixels of `N` values each.
fn pixels<T, const N: usize>(values: &[T], pixel: impl Fn(&[T; N]) -> [f32; 4]) -> [[f32; 4]; SIDE * SIDE] {
    let mut out = [[0.0; 4]; SIDE * SIDE];
    out.iter_mut().zip(values.as_chunks().0).for_each(|(to, from)| *to = pixel(from));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes a block whose pixels are all equal, and returns their bytes.
    fn colour(blocks: Blocks, block: &[u8]) -> [u8; 4] {
        let pixels = blocks.decode(block);
        assert_eq!(pixels, [pixels[0]; 16], "{blocks:?}");
        let [r, g, b, a] = pixels[0];
        let transfer = blocks.transfer();
        let shown = |it| transfer.shown(transfer.average_of(it));
        [shown(r), shown(g), shown(b), Transfer::Plain.shown(a)]
    }

    /// Builds a block from fields, lowest bit first: value and number of bits.
    fn fields(fields: &[(u128, u32)]) -> [u8; 16] {
        let mut at = 0;
        let mut block = 0;
        for (value, bits) in fields {
            block |= value << at;
            at += bits;
        }
        block.to_le_bytes()
    }

    #[test]
    fn a_block_of_one_colour_decodes_to_that_colour() {
        // Both endpoints are red (five bits), all indices are 0.
        let red = [0x00, 0xF8, 0x00, 0xF8, 0, 0, 0, 0];
        assert_eq!(colour(Blocks::Bc1, &red), [255, 0, 0, 255]);
        assert_eq!(colour(Blocks::Bc2, &[[0x33; 8], red].concat()), [255, 0, 0, 51]);
        let half = [0x80, 0x00, 0, 0, 0, 0, 0, 0];
        assert_eq!(colour(Blocks::Bc3, &[half, red].concat()), [255, 0, 0, 128]);
        assert_eq!(colour(Blocks::Bc4(false), &half), [128, 128, 128, 255]);
        assert_eq!(colour(Blocks::Bc4(true), &[0x7F, 0, 0, 0, 0, 0, 0, 0]), [255; 4]);
        assert_eq!(colour(Blocks::Bc4(true), &[0x80, 0x80, 0, 0, 0, 0, 0, 0]), [0, 0, 0, 255]);
        // Mode 6: seven bits per endpoint and channel, and a shared lowest bit per endpoint.
        let mode_6 = fields(&[(64, 7), (127, 7), (127, 7), (0, 28), (127, 7), (127, 7), (1, 1), (1, 1)]);
        assert_eq!(colour(Blocks::Bc7, &mode_6), [255, 1, 1, 255]);
    }

    #[test]
    fn a_bc1_cutout_has_transparent_pixels() {
        // The first endpoint is not the larger one, so index 3 means transparent.
        assert_eq!(colour(Blocks::Bc1, &[0, 0, 0xFF, 0xFF, 255, 255, 255, 255]), [0; 4]);
    }

    #[test]
    fn the_third_channel_of_a_normal_map_is_computed() {
        let axis = |value: u8| [value, value, 0, 0, 0, 0, 0, 0];
        assert_eq!(colour(Blocks::Bc5(false), &[axis(128), axis(128)].concat()), [128, 128, 255, 255]);
        assert_eq!(colour(Blocks::Bc5(true), &[axis(0), axis(0)].concat()), [128, 128, 255, 255]);
        // A direction along x has z = 0. A direction that is too long gets z = 0, too.
        assert_eq!(colour(Blocks::Bc5(true), &[axis(127), axis(0)].concat()), [255, 128, 128, 255]);
        assert_eq!(colour(Blocks::Bc5(false), &[axis(255), axis(255)].concat()), [255, 255, 128, 255]);
    }

    #[test]
    fn light_brighter_than_white_is_mapped_to_screen_values() {
        // Mode 11: endpoints of ten bits. 495 becomes the half float 0x3C00, which is 1.
        let block = |value| {
            fields(&[(3, 5), (value, 10), (value, 10), (value, 10), (value, 10), (value, 10), (value, 10)])
        };
        assert_eq!(Blocks::Bc6(false).decode(&block(495))[0], [1.0; 4]);
        assert_eq!(colour(Blocks::Bc6(false), &block(495)), [188, 188, 188, 255]);
        assert_eq!(colour(Blocks::Bc6(false), &block(0)), [0, 0, 0, 255]);
        assert_eq!(colour(Blocks::Bc6(false), &block(1023)), [255; 4]);
    }
}
