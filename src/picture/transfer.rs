//! Converts between stored values and amounts of light. Stored values are mostly sRGB, but averages must be
//! computed from light.

use std::sync::LazyLock;

/// What the colour values of a pixel mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transfer {
    /// sRGB from 0 to 1. Formats without `_SRGB` hold it too: games convert such textures themselves.
    Encoded,
    /// Linear values from 0 to 1 that are not colours, such as directions and heights. They are
    /// shown unchanged.
    Plain,
    /// Amounts of light without an upper bound.
    Unbounded,
}

/// Steps of [`LINEAR`]. They are fine enough that all 8-bit values survive the round trip.
const STEPS: usize = 4096;

static LINEAR: LazyLock<Vec<f32>> =
    LazyLock::new(|| (0..=STEPS).map(|step| to_linear(step as f32 / STEPS as f32)).collect());

impl Transfer {
    /// Converts a stored value to the value to average.
    pub(super) fn average_of(self, stored: f32) -> f32 {
        match self {
            // NaN becomes 0.
            Self::Encoded => LINEAR[((stored.clamp(0.0, 1.0) * STEPS as f32 + 0.5) as usize).min(STEPS)],
            Self::Plain => stored.clamp(0.0, 1.0),
            Self::Unbounded if stored > 0.0 => stored.min(65_504.0),
            Self::Unbounded => 0.0,
        }
    }

    /// Converts the stored values of a pixel to the bytes to show: red, green, blue and alpha.
    pub(super) fn bytes(self, [r, g, b, a]: [f32; 4]) -> [u8; 4] {
        let byte = |stored| match self {
            Self::Encoded | Self::Plain => Self::Plain.shown(stored),
            Self::Unbounded => self.shown(self.average_of(stored)),
        };
        [byte(r), byte(g), byte(b), Self::Plain.shown(a)]
    }

    /// Converts an average to the byte to show.
    pub(super) fn shown(self, average: f32) -> u8 {
        let value = match self {
            Self::Encoded => to_srgb(average),
            Self::Plain => average,
            // Reinhard's tone mapping: monotonic without an upper bound.
            Self::Unbounded => to_srgb(average / (1.0 + average)),
        };
        (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8
    }
}

/// Decodes sRGB (IEC 61966-2-1).
fn to_linear(encoded: f32) -> f32 {
    if encoded <= 0.040_45 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) }
}

fn to_srgb(linear: f32) -> f32 {
    if linear <= 0.003_130_8 { linear * 12.92 } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_the_conversion_to_light_and_back() {
        for byte in 0..=u8::MAX {
            for transfer in [Transfer::Encoded, Transfer::Plain] {
                let average = transfer.average_of(f32::from(byte) / 255.0);
                assert_eq!(transfer.shown(average), byte, "{transfer:?}");
            }
        }
    }

    #[test]
    fn the_average_of_black_and_white_is_the_grey_with_half_the_light() {
        assert_eq!(Transfer::Encoded.shown(0.5), 188);
        assert_eq!(Transfer::Plain.shown(0.5), 128);
        assert_eq!(Transfer::Unbounded.shown(1.0), 188);
    }

    #[test]
    fn nan_is_shown_as_black_and_infinity_as_white() {
        for transfer in [Transfer::Encoded, Transfer::Plain, Transfer::Unbounded] {
            assert_eq!(transfer.shown(transfer.average_of(f32::NAN)), 0, "{transfer:?}");
            assert_eq!(transfer.shown(transfer.average_of(f32::NEG_INFINITY)), 0, "{transfer:?}");
            assert_eq!(transfer.shown(transfer.average_of(f32::INFINITY)), 255, "{transfer:?}");
        }
    }
}
