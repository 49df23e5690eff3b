//! Payloads of an unknown method: their first bytes decide.

use super::error::{DecodeError, Quirk, Start};
use super::method::Method;
use super::{lz4_frame, zlib};

/// Whatever the first bytes look like: the larger of the bounds of zlib and LZ4.
pub(super) static METHOD: Method = Method { decode, prefix: None, max_ratio: 1032 };

/// Decodes by what the first bytes look like. Only the exact size proves the guess, so that a longer stream is refused.
///
/// LZ4's magic number goes first, because it cannot be a zlib header, and raw deflate last, because anything can be one.
fn decode(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    let quirk = if lz4_frame::is_frame(packed) {
        lz4_frame::decode(packed, out)?
    } else if zlib::has_header(packed) {
        zlib::decode(packed, out)?
    } else {
        zlib::decode_raw(packed, out).map_err(|_| {
            let start = Start(packed);
            DecodeError::Unsupported(format!("neither zlib, raw deflate nor an LZ4 frame ({start})"))
        })?
    };
    match quirk {
        Some(Quirk::Longer) => Err(DecodeError::Corrupt(format!(
            "what looks packed becomes more than the declared {} bytes",
            out.len()
        ))),
        quirk => Ok(quirk),
    }
}
