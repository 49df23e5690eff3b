//! Pixels made of bit fields: where each channel is and what its number means, taken from the
//! format's name or from masks.
//!
//! The name of a DXGI format is its definition: the channels from the lowest bit on, each with its
//! width, then their type.

use super::transfer::Transfer;
use crate::texture::file_header::Masks;

/// The channels of a pixel of up to 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Channels {
    /// Length of a pixel.
    pub(super) bytes: usize,
    /// Red, green, blue and alpha.
    channels: [Option<Channel>; 4],
}

/// Bits of a pixel: the lowest, and a mask of their number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) shift: u32,
    pub(super) mask: u32,
}

/// Bits of a pixel and what they mean.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Channel {
    shift: u32,
    bits: u32,
    number: Number,
}

/// How the bits of a channel are read as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    /// From 0 to 1. Integers and typeless bits are shown this way too.
    Unsigned,
    /// Two's complement, from -1 to 1.
    Signed,
    /// A float with this many bits of exponent. It has a sign if it is 16 bits or longer.
    Float(u32),
    /// From -0.75 to 1.25, for displays with a wide gamut.
    Biased,
}

impl Channels {
    /// Parses the name of a DXGI format. `None` for names that do not list channels.
    pub(super) fn named(name: &str) -> Option<Self> {
        let (mut channels, mut pending) = ([None; 4], Vec::new());
        let mut shift = 0;
        for token in name.split('_') {
            let number: fn(u32) -> Number = match token {
                "UNORM" | "UINT" => |_| Number::Unsigned,
                "SNORM" | "SINT" => |_| Number::Signed,
                "FLOAT" => |bits| float(bits),
                // Typeless channels of 32 bits hold floats, or something that is not a picture.
                "TYPELESS" => |bits| if bits == 32 { float(bits) } else { Number::Unsigned },
                "7E3" => |_| Number::Float(3),
                "6E4" => |_| Number::Float(4),
                "BIAS" => |_| Number::Biased,
                "SRGB" | "XR" => continue,
                _ => {
                    pending.extend(parts(token)?);
                    continue;
                }
            };
            for (letter, bits) in pending.drain(..) {
                let index = match letter {
                    'R' | 'D' => Some(0),
                    'G' => Some(1),
                    'B' => Some(2),
                    'A' => Some(3),
                    _ => None,
                };
                if let Some(slot) = index.and_then(|index: usize| channels.get_mut(index)) {
                    // A channel occurs twice: two pixels share channels.
                    if slot.is_some() {
                        return None;
                    }
                    *slot = Some(Channel { shift, bits, number: number(bits) });
                }
                shift += bits;
            }
        }
        let is_whole = pending.is_empty() && shift % 8 == 0 && (8..=128).contains(&shift);
        let is_shown = channels.iter().any(Option::is_some);
        (is_whole && is_shown).then_some(Self { bytes: shift as usize / 8, channels })
    }

    /// The channels of a header's masks.
    pub(super) fn masked(masks: &Masks) -> Self {
        let number = if masks.is_signed { Number::Signed } else { Number::Unsigned };
        let channel = |mask: u32| {
            (mask != 0).then(|| Channel { shift: mask.trailing_zeros(), bits: mask.count_ones(), number })
        };
        let mut channels = masks.masks.map(channel);
        if masks.is_luminance {
            channels = [channels[0], channels[0], channels[0], channels[3]];
        }
        Self { bytes: masks.bytes as usize, channels }
    }

    /// If each channel has at most 8 bits of a pixel of at most 32: where red, green, blue and alpha are, and
    /// the value of each possible number. `None` for others, and for directions, whose z is computed.
    pub(super) fn small_fields(&self) -> Option<[(Field, [f32; 256]); 4]> {
        let is_small = self.bytes <= 4 && self.channels.iter().flatten().all(|it| it.bits <= 8);
        if !is_small || self.is_direction() {
            return None;
        }
        let shown = match self.channels {
            [None, None, None, Some(only)] | [Some(only), None, None, None] => {
                [Some(only), Some(only), Some(only), None]
            }
            channels => channels,
        };
        let field = |channel: Option<Channel>, missing: f32| match channel {
            Some(channel) => {
                let mask = u32::MAX >> (32 - channel.bits);
                let value = |number: u32| channel.value(number & mask);
                (Field { shift: channel.shift, mask }, std::array::from_fn(|number| value(number as u32)))
            }
            None => (Field { shift: 0, mask: 0 }, [missing; 256]),
        };
        let [r, g, b, a] = shown;
        Some([field(r, 0.0), field(g, 0.0), field(b, 0.0), field(a, 1.0)])
    }

    /// Number of bits of the widest channel.
    pub(super) fn most_bits(&self) -> u32 {
        self.channels.iter().flatten().map(|it| it.bits).max().unwrap_or(0)
    }

    /// How to average the colours. Fewer than three channels are not colours.
    pub(super) fn transfer(&self) -> Transfer {
        let colours = || self.channels.iter().take(3).flatten();
        match colours().next().map(|it| it.number) {
            Some(Number::Float(_)) => Transfer::Unbounded,
            Some(Number::Unsigned | Number::Biased) if colours().count() == 3 => Transfer::Encoded,
            _ => Transfer::Plain,
        }
    }

    /// Whether pixels may differ in alpha. Alpha alone is shown as grey.
    pub(super) fn has_alpha(&self) -> bool {
        matches!(self.channels, [colours @ .., Some(_)] if colours.iter().any(Option::is_some))
    }

    /// Whether the channels are the x and y of a direction.
    pub(super) fn is_direction(&self) -> bool {
        matches!(self.channels, [Some(_), Some(_), None, _]) && self.transfer() == Transfer::Plain
    }

    /// Decodes a pixel to red, green, blue and alpha. Signed values are mapped to 0..1. A single
    /// channel becomes grey.
    pub(super) fn pixel(&self, bytes: &[u8]) -> [f32; 4] {
        let mut word = [0; 16];
        word[..self.bytes].copy_from_slice(&bytes[..self.bytes]);
        let word = u128::from_le_bytes(word);
        // A shift of 128 bits is slower than everything else here.
        let low = word as u64;
        let value = |channel: Channel| match channel.shift + channel.bits {
            ..=64 => channel.value((low >> channel.shift) as u32),
            _ => channel.value((word >> channel.shift) as u32),
        };
        match self.channels.map(|it| it.map(value)) {
            [None, None, None, Some(only)] | [Some(only), None, None, None] => [only, only, only, 1.0],
            [r, g, b, a] => [r.unwrap_or(0.0), g.unwrap_or(0.0), b.unwrap_or(0.0), a.unwrap_or(1.0)],
        }
    }
}

impl Channel {
    /// Decodes the channel from the lowest bits of a word.
    fn value(&self, word: u32) -> f32 {
        let max = u32::MAX >> (32 - self.bits);
        let word = word & max;
        match self.number {
            Number::Unsigned => (f64::from(word) / f64::from(max)) as f32,
            Number::Signed => {
                let value = (word << (32 - self.bits)) as i32 >> (32 - self.bits);
                // The lowest value is clamped to -1, the value of the one above it.
                let value = f64::from(value) / f64::from(max >> 1).max(1.0);
                (value.max(-1.0) / 2.0 + 0.5) as f32
            }
            Number::Biased => (f64::from(word) - 384.0) as f32 / 510.0,
            Number::Float(_) if self.bits == 32 => f32::from_bits(word),
            Number::Float(exponent) => small_float(word, self.bits, exponent),
        }
    }
}

/// The type of a `FLOAT` channel with this many bits. No float has fewer than 10; such a channel is unsigned.
fn float(bits: u32) -> Number {
    match bits {
        32 => Number::Float(8),
        10.. => Number::Float(5),
        _ => Number::Unsigned,
    }
}

/// Decodes a float of up to 16 bits as IEEE 754 defines it.
fn small_float(word: u32, bits: u32, exponent_bits: u32) -> f32 {
    let (sign, bits) = if bits == 16 { (word >> 15, 15) } else { (0, bits) };
    let mantissa_bits = bits - exponent_bits;
    let mantissa = (word & ((1 << mantissa_bits) - 1)) as f32 / (1 << mantissa_bits) as f32;
    let exponent = (word >> mantissa_bits) & ((1 << exponent_bits) - 1);
    let bias = (1 << (exponent_bits - 1)) - 1;
    let value = match exponent {
        0 => mantissa * 2f32.powi(1 - bias),
        // The Xbox formats with exponents of three and four bits have no infinity.
        _ if exponent == (1 << exponent_bits) - 1 && exponent_bits == 5 => {
            if mantissa == 0.0 {
                f32::INFINITY
            } else {
                f32::NAN
            }
        }
        _ => (1.0 + mantissa) * 2f32.powi(exponent as i32 - bias),
    };
    if sign == 1 { -value } else { value }
}

/// Splits a part of a name, such as `R10G10B10A2`, into letters and bits.
fn parts(token: &str) -> Option<Vec<(char, u32)>> {
    let mut parts: Vec<(char, u32)> = Vec::new();
    for c in token.chars() {
        match (c, parts.last_mut()) {
            ('R' | 'G' | 'B' | 'A' | 'X' | 'D' | 'S', _) => parts.push((c, 0)),
            (digit, Some((_, bits))) => *bits = *bits * 10 + digit.to_digit(10)?,
            (_, None) => return None,
        }
    }
    parts.iter().all(|(_, bits)| (1..=32).contains(bits)).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixel(name: &str, bytes: &[u8]) -> [f32; 4] {
        Channels::named(name).unwrap().pixel(bytes)
    }

    #[test]
    fn the_byte_count_in_each_format_name_matches_the_table() {
        use crate::texture::pixel_format::{TexelLayout, pixel_format};

        let mut named = 0;
        for format in (0..=u8::MAX).filter_map(pixel_format) {
            let TexelLayout::Rows(1, bytes) = format.layout else { continue };
            let Some(channels) = Channels::named(format.name) else { continue };
            assert_eq!(channels.bytes, bytes as usize, "{}", format.name);
            named += 1;
        }
        // All except a shared exponent and video.
        assert_eq!(named, 79);
    }

    #[test]
    fn channels_follow_the_format_name_from_the_lowest_bit() {
        assert_eq!(pixel("R8G8B8A8_UNORM_SRGB", &[255, 0, 51, 102]), [1.0, 0.0, 0.2, 0.4]);
        assert_eq!(pixel("B8G8R8A8_UNORM", &[255, 0, 51, 102]), [0.2, 0.0, 1.0, 0.4]);
        assert_eq!(pixel("B8G8R8X8_UNORM", &[255, 0, 51, 102]), [0.2, 0.0, 1.0, 1.0]);
        assert_eq!(pixel("B5G6R5_UNORM", &0xF800_u16.to_le_bytes()), [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(pixel("B5G5R5A1_UNORM", &0x83E0_u16.to_le_bytes()), [0.0, 1.0, 0.0, 1.0]);
        assert_eq!(pixel("R10G10B10A2_UNORM", &0xC000_03FF_u32.to_le_bytes()), [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(pixel("D24_UNORM_S8_UINT", &[255, 255, 255, 9]), [1.0; 4]);
        assert_eq!(
            pixel("A8_UNORM", &[51]),
            [0.2, 0.2, 0.2, 1.0],
            "a lone alpha channel must be shown as grey"
        );
        assert_eq!(pixel("R16_UNORM", &[255, 255]), [1.0; 4], "a single channel must be shown as grey");
        assert_eq!(pixel("R8G8_UNORM", &[255, 51]), [1.0, 0.2, 0.0, 1.0]);
    }

    #[test]
    fn signed_values_are_mapped_to_zero_to_one() {
        assert_eq!(pixel("R8G8B8A8_SNORM", &[127, 0, 0x81, 0x80]), [1.0, 0.5, 0.0, 0.0]);
        assert_eq!(pixel("R16G16_SNORM", &[0xFF, 0x7F, 0, 0x80]), [1.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn floats_of_all_widths_decode_to_their_values() {
        assert_eq!(pixel("R32_FLOAT", &0.5_f32.to_le_bytes())[0], 0.5);
        let half = |bits: u16| pixel("R16_FLOAT", &bits.to_le_bytes())[0];
        assert_eq!(
            [half(0x3C00), half(0xC000), half(0x7BFF), half(1)],
            [1.0, -2.0, 65_504.0, 2f32.powi(-24)]
        );
        assert!(half(0x7C00) == f32::INFINITY && half(0x7E00).is_nan());
        // 1.0 has exponent 15 in each: red at bit 0, green at 11, blue at 22.
        let word = 15_u32 << 6 | 15 << 17 | 15 << 27;
        assert_eq!(pixel("R11G11B10_FLOAT", &word.to_le_bytes()), [1.0; 4]);
        // Three bits of exponent have bias 3, four have bias 7. The largest exponent is an ordinary number.
        assert_eq!(pixel("R10G10B10_7E3_A2_FLOAT", &(7_u32 << 7).to_le_bytes()), [16.0, 0.0, 0.0, 0.0]);
        assert_eq!(pixel("R10G10B10_6E4_A2_FLOAT", &(15_u32 << 6).to_le_bytes())[0], 256.0);
        let biased = 384_u32 | 894 << 10 | 0xC000_0000;
        assert_eq!(
            pixel("R10G10B10_XR_BIAS_A2_UNORM", &biased.to_le_bytes()),
            [0.0, 1.0, -384.0 / 510.0, 1.0]
        );
    }

    #[test]
    fn channel_masks_are_applied_and_luminance_is_grey() {
        let masks = |masks, is_luminance| Masks { bytes: 3, masks, is_luminance, is_signed: false };
        let rgb = Channels::masked(&masks([0xFF, 0xFF00, 0xFF_0000, 0], false));
        assert_eq!((rgb.pixel(&[255, 51, 0]), rgb.transfer()), ([1.0, 0.2, 0.0, 1.0], Transfer::Encoded));
        let grey = Channels::masked(&masks([0xFF, 0, 0, 0xFF00], true));
        assert_eq!((grey.pixel(&[51, 102, 0]), grey.transfer()), ([0.2, 0.2, 0.2, 0.4], Transfer::Encoded));
    }

    #[test]
    fn unsupported_format_names_have_no_channels() {
        for name in [
            "",
            "NV12",
            "420_OPAQUE",
            "P010",
            "Y410",
            "AYUV",
            "YUY2",
            "R1_UNORM",
            "R8G8_B8G8_UNORM",
            "BC1_UNORM",
        ] {
            assert_eq!(Channels::named(name), None, "{name}");
        }
    }
}
