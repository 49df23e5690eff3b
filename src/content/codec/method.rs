//! A codec: its functions and its bound.

use super::error::{DecodeError, Quirk};

pub(super) type Decode = fn(&[u8], &mut [u8]) -> Result<Option<Quirk>, DecodeError>;
pub(super) type DecodePrefix = fn(&[u8], &mut [u8]) -> Result<usize, DecodeError>;

/// Maximum number of bytes that are decoded beyond the declared size to reach a checksum. An extent
/// may have as many by default.
pub(super) const EXCESS_MAX: u64 = 1 << 30;

/// A codec: its functions, and how much it can make of its input.
pub(super) struct Method {
    /// [`super::decode`].
    pub(super) decode: Decode,
    /// [`super::prefix`]; `None` if the codec cannot stop early.
    pub(super) decode_prefix: Option<DecodePrefix>,
    /// Maximum number of bytes that one packed byte can become.
    pub(super) max_ratio: u64,
}
