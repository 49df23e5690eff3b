//! Decodes rows of texels into rows of pixels.

use super::blocks::{Blocks, SIDE, with_z};
use super::channels::Channels;
use super::transfer::Transfer;
use crate::texture::file_header::{FileHeader, TexelFormat};
use crate::texture::pixel_format::pixel_format;

/// A decoder for texels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Texels {
    Blocks(Blocks),
    Channels(Channels),
    /// Two pixels that share red and blue. The numbers are the byte positions of red, green, blue
    /// and the second green.
    Pairs([usize; 4]),
    /// Nine bits for each colour, and one exponent for all.
    SharedExponent,
}

impl Texels {
    /// The decoder for a header's format. `None` if it cannot be decoded, such as video.
    pub(super) fn of(header: &FileHeader) -> Option<Self> {
        let format = match header.pixels {
            TexelFormat::Masks(masks) => return Some(Self::Channels(Channels::masked(&masks))),
            TexelFormat::Format(value) => pixel_format(value)?,
        };
        match format.name {
            "R8G8_B8G8_UNORM" => Some(Self::Pairs([0, 1, 2, 3])),
            "G8R8_G8B8_UNORM" => Some(Self::Pairs([1, 0, 3, 2])),
            "R9G9B9E5_SHAREDEXP" => Some(Self::SharedExponent),
            name => {
                Blocks::named(name).map(Self::Blocks).or_else(|| Channels::named(name).map(Self::Channels))
            }
        }
    }

    /// Rows of pixels per row of texels.
    pub(super) fn rows(&self) -> usize {
        if matches!(self, Self::Blocks(_)) { SIDE } else { 1 }
    }

    pub(super) fn transfer(&self) -> Transfer {
        match self {
            Self::Blocks(blocks) => blocks.transfer(),
            Self::Channels(channels) => channels.transfer(),
            Self::Pairs(_) => Transfer::Encoded,
            Self::SharedExponent => Transfer::Unbounded,
        }
    }

    /// Whether transparent pixels have no colour. In BC1, alpha is a single bit, so it can only be opacity.
    pub(super) fn has_cutouts(&self) -> bool {
        *self == Self::Blocks(Blocks::Bc1)
    }

    /// Decodes a row of texels into [`Texels::rows`] rows of pixels of equal length. Pixels beyond
    /// the texture's right edge are dropped.
    pub(super) fn decode(&self, texels: &[u8], rows: &mut [Vec<[f32; 4]>]) {
        let width = rows.first().map_or(0, Vec::len);
        let set = |rows: &mut [Vec<[f32; 4]>], x: usize, y: usize, pixel| {
            if let Some(to) = rows.get_mut(y).and_then(|row| row.get_mut(x)) {
                *to = pixel;
            }
        };
        match *self {
            Self::Blocks(blocks) => {
                for (column, block) in texels.chunks_exact(blocks.bytes()).enumerate() {
                    for (index, pixel) in blocks.decode(block).into_iter().enumerate() {
                        set(rows, column * SIDE + index % SIDE, index / SIDE, pixel);
                    }
                }
            }
            Self::Channels(channels) => {
                for (x, bytes) in texels.chunks_exact(channels.bytes).take(width).enumerate() {
                    let pixel = channels.pixel(bytes);
                    set(rows, x, 0, if channels.is_direction() { with_z(pixel) } else { pixel });
                }
            }
            Self::Pairs([r, g, b, second]) => {
                for (index, bytes) in texels.chunks_exact(4).enumerate() {
                    let value = |at: usize| f32::from(bytes[at]) / 255.0;
                    set(rows, index * 2, 0, [value(r), value(g), value(b), 1.0]);
                    set(rows, index * 2 + 1, 0, [value(r), value(second), value(b), 1.0]);
                }
            }
            Self::SharedExponent => {
                for (x, bytes) in texels.as_chunks().0.iter().enumerate() {
                    set(rows, x, 0, shared_exponent(u32::from_le_bytes(*bytes)));
                }
            }
        }
    }
}

/// Decodes R9G9B9E5: the bias is 15, and the mantissas have no hidden bit.
fn shared_exponent(word: u32) -> [f32; 4] {
    let scale = 2f32.powi((word >> 27) as i32 - 15 - 9);
    let value = |shift: u32| ((word >> shift) & 0x1FF) as f32 * scale;
    [value(0), value(9), value(18), 1.0]
}
