//! Decodes rows of texels into rows of pixels.

use std::sync::Arc;

use super::blocks::{Blocks, SIDE, with_z};
use super::channels::{Channels, Field};
use super::shrinker::{AlphaUse, Shrinker};
use super::transfer::Transfer;
use crate::texture::file_header::{ChannelUse, FileHeader, Palette, TexelFormat};
use crate::texture::pixel_format::pixel_format;

/// A decoder for texels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Texels {
    layout: RowLayout,
    channels: ChannelUse,
}

/// The bits with which a channel keeps all of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    Eight,
    Sixteen,
    /// Light in floats of 16 bits, or in formats with a smaller exponent or mantissa.
    Half,
    /// Light in floats of 32 bits.
    Float,
}

/// How the texels of a row become pixels.
#[derive(Clone, Debug, PartialEq)]
enum RowLayout {
    Blocks(Blocks),
    Channels(Channels),
    /// Two pixels that share red and blue. The numbers are the byte positions of red, green, blue
    /// and the second green.
    Pairs([usize; 4]),
    /// Nine bits for each colour, and one exponent for all.
    SharedExponent,
    /// Indices into a palette, each followed by a byte of alpha or not.
    Palette {
        colours: Arc<Palette>,
        has_alpha: bool,
    },
}

impl Texels {
    /// The decoder for a header's format. `None` if it cannot be decoded, such as video.
    pub(super) fn of(header: &FileHeader) -> Option<Self> {
        let name = match header.pixels {
            TexelFormat::Masks(_) | TexelFormat::Palette { .. } => "",
            TexelFormat::Format(value) => pixel_format(value)?.name,
        };
        let layout = match (header.pixels, name) {
            (TexelFormat::Masks(masks), _) => RowLayout::Channels(Channels::masked(&masks)),
            (TexelFormat::Palette { has_alpha }, _) => {
                RowLayout::Palette { colours: header.palette.clone()?, has_alpha }
            }
            (_, "R8G8_B8G8_UNORM") => RowLayout::Pairs([0, 1, 2, 3]),
            (_, "G8R8_G8B8_UNORM") => RowLayout::Pairs([1, 0, 3, 2]),
            (_, "R9G9B9E5_SHAREDEXP") => RowLayout::SharedExponent,
            _ => {
                let blocks = Blocks::named(name).map(RowLayout::Blocks);
                blocks.or_else(|| Channels::named(name).map(RowLayout::Channels))?
            }
        };
        Some(Self { layout, channels: header.channels })
    }

    /// The blocks, if the texels are blocks.
    pub(super) fn blocks(&self) -> Option<Blocks> {
        if let RowLayout::Blocks(blocks) = &self.layout { Some(*blocks) } else { None }
    }

    /// Rows of pixels per row of texels.
    pub(super) fn rows(&self) -> usize {
        if self.blocks().is_some() { SIDE } else { 1 }
    }

    pub(super) fn transfer(&self) -> Transfer {
        match &self.layout {
            _ if self.channels == ChannelUse::NormalInAlpha => Transfer::Plain,
            RowLayout::Blocks(blocks) => blocks.transfer(),
            RowLayout::Channels(channels) => channels.transfer(),
            RowLayout::Pairs(_) | RowLayout::Palette { .. } => Transfer::Encoded,
            RowLayout::SharedExponent => Transfer::Unbounded,
        }
    }

    /// Whether pixels may differ in alpha.
    pub(super) fn has_alpha(&self) -> bool {
        let has_alpha = match &self.layout {
            RowLayout::Blocks(blocks) => blocks.has_alpha(),
            RowLayout::Channels(channels) => channels.has_alpha(),
            RowLayout::Pairs(_) | RowLayout::SharedExponent => false,
            RowLayout::Palette { colours, has_alpha } => {
                *has_alpha || colours.iter().any(|it| it[3] < u8::MAX)
            }
        };
        has_alpha && matches!(self.channels, ChannelUse::Plain | ChannelUse::Premultiplied)
    }

    /// Decodes a row of texels into [`Texels::rows`] rows of pixels of equal length. Pixels beyond
    /// the texture's right edge are dropped.
    pub(super) fn decode(&self, texels: &[u8], rows: &mut [Vec<[f32; 4]>]) {
        let width = rows.first().map_or(0, Vec::len);
        let set = |rows: &mut [Vec<[f32; 4]>], x: usize, y: usize, pixel| {
            if let Some(to) = rows.get_mut(y).and_then(|row| row.get_mut(x)) {
                *to = used_as(self.channels, pixel);
            }
        };
        match &self.layout {
            RowLayout::Blocks(blocks) => {
                for (column, block) in texels.chunks_exact(blocks.bytes()).enumerate() {
                    for (index, pixel) in blocks.decode(block).into_iter().enumerate() {
                        set(rows, column * SIDE + index % SIDE, index / SIDE, pixel);
                    }
                }
            }
            RowLayout::Channels(channels) => {
                for (x, bytes) in texels.chunks_exact(channels.bytes).take(width).enumerate() {
                    let pixel = channels.pixel(bytes);
                    set(rows, x, 0, if channels.is_direction() { with_z(pixel) } else { pixel });
                }
            }
            &RowLayout::Pairs([r, g, b, second]) => {
                for (index, bytes) in texels.chunks_exact(4).enumerate() {
                    let value = |at: usize| f32::from(bytes[at]) / 255.0;
                    set(rows, index * 2, 0, [value(r), value(g), value(b), 1.0]);
                    set(rows, index * 2 + 1, 0, [value(r), value(second), value(b), 1.0]);
                }
            }
            RowLayout::Palette { colours, has_alpha } => {
                for (x, bytes) in texels.chunks_exact(1 + usize::from(*has_alpha)).enumerate() {
                    let mut colour = colours[usize::from(bytes[0])];
                    colour[3] = bytes.get(1).copied().unwrap_or(colour[3]);
                    set(rows, x, 0, colour.map(|it| f32::from(it) / 255.0));
                }
            }
            RowLayout::SharedExponent => {
                for (x, bytes) in texels.as_chunks().0.iter().enumerate() {
                    set(rows, x, 0, shared_exponent(u32::from_le_bytes(*bytes)));
                }
            }
        }
    }

    /// What a channel needs to keep all of its values.
    pub(super) fn depth(&self) -> Depth {
        let bits = match &self.layout {
            RowLayout::Channels(channels) => channels.most_bits(),
            // 16 bits for each colour of BC6H; no other block has more than 8.
            RowLayout::Blocks(_)
            | RowLayout::Pairs(_)
            | RowLayout::SharedExponent
            | RowLayout::Palette { .. } => 8,
        };
        match (self.transfer(), bits) {
            (Transfer::Unbounded, 32) => Depth::Float,
            (Transfer::Unbounded, _) => Depth::Half,
            (_, ..=8) => Depth::Eight,
            _ => Depth::Sixteen,
        }
    }

    /// What alpha is in a picture of the texels.
    pub(super) fn alpha(&self) -> AlphaUse {
        // In BC1, alpha is a single bit, so it can only be opacity. If colours are multiplied by alpha, alpha
        // is opacity, too.
        if self.layout == RowLayout::Blocks(Blocks::Bc1) || self.channels == ChannelUse::Premultiplied {
            AlphaUse::Opacity
        } else if self.has_alpha() {
            AlphaUse::Unknown
        } else {
            AlphaUse::None
        }
    }

    /// Decodes a block to the bytes of red, green, blue and alpha that a screen shows, rows from the top.
    pub(super) fn decode_block(&self, blocks: Blocks, block: &[u8]) -> [[u8; 4]; SIDE * SIDE] {
        match self.channels {
            ChannelUse::Plain => blocks.decode_bytes(block),
            _ => {
                let transfer = self.transfer();
                blocks.decode(block).map(|pixel| transfer.bytes(used_as(self.channels, pixel)))
            }
        }
    }
}

/// Decodes rows of texels for a [`Shrinker`], which takes amounts that can be averaged. Numbers of at most 8
/// bits, which most textures have, become such amounts through tables.
#[derive(Debug)]
pub(super) struct RowsToShrink<'t> {
    texels: &'t Texels,
    decoder: RowDecoder,
}

/// The amounts that each number of red, green, blue and alpha stands for.
type Tables = Box<[[f32; 256]; 4]>;

#[derive(Debug)]
enum RowDecoder {
    /// Blocks that decode to bytes, with buffers for their rows.
    Bytes(Blocks, [Vec<[u8; 4]>; SIDE], Tables),
    /// Channels of at most 8 bits in pixels of at most 4 bytes.
    Fields([Field; 4], usize, Tables),
    /// All others, with buffers for rows of pixels.
    Pixels(Vec<Vec<[f32; 4]>>),
}

impl<'t> RowsToShrink<'t> {
    /// A decoder for rows of `width` pixels.
    pub(super) fn new(texels: &'t Texels, width: usize) -> Self {
        let transfer = texels.transfer();
        let tables = |values: [[f32; 256]; 4]| -> Tables {
            let [r, g, b, a] = values;
            let average = |values: [f32; 256]| values.map(|it| transfer.average_of(it));
            Box::new([average(r), average(g), average(b), a])
        };
        let fields = match &texels.layout {
            RowLayout::Channels(channels) => channels.small_fields().map(|fields| (fields, channels.bytes)),
            _ => None,
        };
        let is_plain = texels.channels == ChannelUse::Plain;
        let decoder = match (texels.blocks(), fields) {
            (Some(blocks), _) if is_plain && blocks.transfer() == Transfer::Encoded => {
                let values = std::array::from_fn(|byte| byte as f32 / 255.0);
                let row = || vec![[0; 4]; width];
                RowDecoder::Bytes(blocks, [row(), row(), row(), row()], tables([values; 4]))
            }
            (None, Some((fields, bytes))) if is_plain => {
                let values = fields.map(|(_, values)| values);
                RowDecoder::Fields(fields.map(|(field, _)| field), bytes, tables(values))
            }
            _ => RowDecoder::Pixels(vec![vec![[0.0; 4]; width]; texels.rows()]),
        };
        Self { texels, decoder }
    }

    /// Decodes a row of texels, and adds its pixels to a smaller picture.
    pub(super) fn shrink(&mut self, row: &[u8], area: &mut Shrinker) {
        match &mut self.decoder {
            RowDecoder::Bytes(blocks, rows, tables) => {
                for (column, block) in row.chunks_exact(blocks.bytes()).enumerate() {
                    let pixels = blocks.decode_bytes(block);
                    for (row, four) in rows.iter_mut().zip(pixels.as_chunks::<SIDE>().0) {
                        let to = row.iter_mut().skip(column * SIDE);
                        to.zip(four).for_each(|(to, from)| *to = *from);
                    }
                }
                for row in rows {
                    area.take(row.iter().map(|&[r, g, b, a]| amounts(tables, [r, g, b, a].map(usize::from))));
                }
            }
            RowDecoder::Fields(fields, bytes, tables) => {
                let pixel = |word: u32| {
                    amounts(tables, fields.map(|Field { shift, mask }| (word >> shift & mask) as usize))
                };
                match *bytes {
                    1 => area.take(row.iter().map(|&byte| pixel(byte.into()))),
                    2 => area.take(row.as_chunks().0.iter().map(|it| pixel(u16::from_le_bytes(*it).into()))),
                    3 => {
                        let word = |&[a, b, c]: &[u8; 3]| u32::from_le_bytes([a, b, c, 0]);
                        area.take(row.as_chunks().0.iter().map(|it| pixel(word(it))));
                    }
                    _ => area.take(row.as_chunks().0.iter().map(|it| pixel(u32::from_le_bytes(*it)))),
                }
            }
            RowDecoder::Pixels(rows) => {
                self.texels.decode(row, rows);
                let transfer = self.texels.transfer();
                for row in rows {
                    area.take(row.iter().map(|&[r, g, b, alpha]| {
                        let [r, g, b] = [r, g, b].map(|it| transfer.average_of(it));
                        [r, g, b, if alpha > 0.0 { alpha.min(1.0) } else { 0.0 }]
                    }));
                }
            }
        }
    }
}

fn amounts(tables: &[[f32; 256]; 4], numbers: [usize; 4]) -> [f32; 4] {
    std::array::from_fn(|channel| tables[channel][numbers[channel] & 0xFF])
}

/// Arranges the channels of a pixel as a screen shows them. All values are between 0 and 1, except light.
fn used_as(channels: ChannelUse, pixel @ [r, g, b, alpha]: [f32; 4]) -> [f32; 4] {
    match channels {
        ChannelUse::Plain => pixel,
        ChannelUse::NormalInAlpha => with_z([alpha, g, 0.0, 1.0]),
        ChannelUse::RedInAlpha => [alpha, g, b, 1.0],
        // A transparent pixel has no colour.
        ChannelUse::Premultiplied if alpha > 0.0 => [r / alpha, g / alpha, b / alpha, alpha],
        ChannelUse::Premultiplied => [0.0, 0.0, 0.0, alpha],
    }
}

/// Decodes R9G9B9E5: the bias is 15, and the mantissas have no hidden bit.
fn shared_exponent(word: u32) -> [f32; 4] {
    let scale = 2f32.powi((word >> 27) as i32 - 15 - 9);
    let value = |shift: u32| ((word >> shift) & 0x1FF) as f32 * scale;
    [value(0), value(9), value(18), 1.0]
}
