//! What a codec is: its functions and its bound.

use super::error::{DecodeError, Quirk};

pub(super) type Decode = fn(&[u8], &mut [u8]) -> Result<Option<Quirk>, DecodeError>;
pub(super) type Prefix = fn(&[u8], &mut [u8]) -> Result<usize, DecodeError>;

/// The most bytes beyond the declared ones that are decoded to reach a checksum: as many as an extent may become by
/// default.
pub(super) const EXCESS_MAX: u64 = 1 << 30;

/// A codec: its functions, and a bound of what it makes.
pub(super) struct Method {
    /// [`super::decode`].
    pub(super) decode: Decode,
    /// [`super::prefix`], where the codec can stop early.
    pub(super) prefix: Option<Prefix>,
    /// The most bytes that one packed byte can become.
    pub(super) max_ratio: u64,
}
