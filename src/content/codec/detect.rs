//! Payloads of an unknown method, which is guessed from their first bytes.

use super::error::{DecodeError, Quirk, Start};
use super::method::Method;
use super::{lz4_frame, zlib};

/// The larger of the bounds of zlib and LZ4, because the payload may be either.
pub(super) static METHOD: Method = Method { decode, decode_prefix: None, max_ratio: 1032 };

/// Decodes by the method that the first bytes suggest. Only the exact size proves the guess, so a
/// longer stream is refused.
///
/// LZ4's magic number is tried first, because it cannot be a zlib header. Raw deflate is tried
/// last, because any bytes can be raw deflate.
fn decode(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    let quirk = if lz4_frame::is_frame(packed) {
        lz4_frame::decode(packed, out)?
    } else if zlib::has_header(packed) {
        zlib::decode(packed, out)?
    } else {
        zlib::decode_raw(packed, out).map_err(|_| {
            let start = Start(packed);
            DecodeError::Unsupported(format!(
                "unknown compression: neither zlib, raw deflate nor an LZ4 frame ({start})"
            ))
        })?
    };
    match quirk {
        Some(Quirk::Longer) => Err(DecodeError::Corrupt(format!(
            "the data unpacks to more than the declared {} bytes",
            out.len()
        ))),
        quirk => Ok(quirk),
    }
}
