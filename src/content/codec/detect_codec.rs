//! Payloads of an unknown method, which is guessed from their first bytes.

use super::error::{DecodeError, Quirk, Start};
use super::method::Method;
use super::{lz4_block, lz4_frame, zlib};
use crate::format::Codec;

/// The larger of the bounds of zlib and LZ4, because the payload may be either.
pub(super) static METHOD: Method = Method { decode, decode_prefix: None, max_ratio: 1032 };

/// Decodes by another method than the stated one, if the bytes prove that they are of this method. `None` if
/// they prove nothing. An error is that of the stream that the bytes begin like.
///
/// A signature and the right end prove zlib and LZ4 frames. Raw deflate and LZ4 blocks have no signature, so
/// the exact size must prove them, and bytes of the declared length are taken as they are before that.
pub(super) fn decode_other(
    stated: Codec,
    packed: &[u8],
    out: &mut [u8],
) -> Option<Result<Option<Quirk>, DecodeError>> {
    if matches!(stated, Codec::Stored | Codec::Unsupported) {
        return None;
    }
    let (mut error, mut is_stream) = (None, false);
    for (codec, is_like, method) in [
        (Codec::Lz4Frame, lz4_frame::is_frame(packed), &lz4_frame::METHOD),
        (Codec::Zlib, zlib::has_header(packed), &zlib::METHOD),
    ] {
        is_stream |= is_like;
        if !is_like || codec == stated {
            continue;
        }
        match (method.decode)(packed, out) {
            Ok(None | Some(Quirk::Trailing)) => return Some(Ok(Some(Quirk::Other(codec)))),
            Err(suspect @ DecodeError::Suspect(_)) => return Some(Err(suspect)),
            Ok(_) => {}
            Err(reason) => error = Some(Err(reason)),
        }
    }
    // XMem has no end, and no size that is too small: nothing else is proved against it.
    if stated == Codec::Xmem {
        return error;
    }
    if packed.len() == out.len() && !is_stream {
        out.copy_from_slice(packed);
        return Some(Ok(Some(Quirk::Other(Codec::Stored))));
    }
    if matches!(zlib::decode_raw(packed, out), Ok(Some(Quirk::RawDeflate))) {
        return Some(Ok(Some(Quirk::RawDeflate)));
    }
    if stated != Codec::Lz4Block && matches!((lz4_block::METHOD.decode)(packed, out), Ok(None)) {
        return Some(Ok(Some(Quirk::Other(Codec::Lz4Block))));
    }
    error
}

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
