//! The table of codecs, and the functions that look a codec up in it.

use super::error::{DecodeError, Quirk};
use super::method::Method;
use super::{detect_codec, lz4_block, lz4_frame, lzss, stored, xmem, zlib};
use crate::format::Codec;

/// Decodes a whole payload into `out`, whose length is the declared size in bytes.
///
/// If the bytes are not what the codec says, they are decoded by the method that they prove.
///
/// In every codec, an empty payload is an empty file, because packers write no stream for those.
///
/// # Errors
/// What is wrong with the payload. `out` has all bytes if the error is [`DecodeError::Suspect`];
/// otherwise its content is unspecified.
pub fn decode(codec: Codec, packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    if packed.is_empty() && out.is_empty() {
        return Ok(None);
    }
    match (method(codec).decode)(packed, out) {
        Err(error @ (DecodeError::Corrupt(_) | DecodeError::Unsupported(_))) => {
            detect_codec::decode_other(codec, packed, out).unwrap_or(Err(error))
        }
        decoded => decoded,
    }
}

/// Decodes the first bytes of a file, as many as fit `out`, from the first bytes of its payload.
///
/// Returns how many bytes were decoded. A `packed` that ends too early yields fewer bytes, which is not an
/// error: the caller calls again with more of the payload. If there is no more, the caller uses [`decode`],
/// which reports what is wrong. [`decode`] also handles payloads that only the declared size identifies
/// ([`Codec::Detect`], raw deflate).
///
/// # Errors
/// What is wrong with the payload. [`decode`] may still find that it is of another method.
pub fn prefix(codec: Codec, packed: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    // A block has no signature. If the bytes look like another stream, only the full size decides.
    if codec == Codec::Lz4Block && has_signature(packed) {
        return Ok(0);
    }
    method(codec).decode_prefix.map_or(Ok(0), |decode| decode(packed, out))
}

/// Whether a checksum covers the bytes of a payload that was decoded with this quirk.
pub fn has_checksum(codec: Codec, packed: &[u8], quirk: Option<Quirk>) -> bool {
    let codec = match quirk {
        Some(Quirk::Unended | Quirk::CutEnd | Quirk::RawDeflate) => return false,
        Some(Quirk::Other(codec)) => codec,
        _ => codec,
    };
    match codec {
        Codec::Zlib => true,
        Codec::Lz4Frame => lz4_frame::has_checksum(packed),
        Codec::Detect => zlib::has_header(packed) || lz4_frame::has_checksum(packed),
        Codec::Stored | Codec::Lz4Block | Codec::Xmem | Codec::Lzss | Codec::Unsupported => false,
    }
}

/// Whether a payload begins like a zlib stream or an LZ4 frame.
pub fn has_signature(packed: &[u8]) -> bool {
    zlib::has_header(packed) || lz4_frame::is_frame(packed)
}

/// Number of bytes of a payload from which [`content_size`] reads.
pub const CONTENT_SIZE_MAX: usize = lz4_frame::DESCRIPTOR_MAX;

/// The unpacked size that a stream itself states, from its first bytes. Only LZ4 frames state one.
pub fn content_size(packed: &[u8]) -> Option<u64> {
    lz4_frame::content_size(packed)
}

/// Whether [`prefix`] can ever decode a byte for this codec.
pub fn has_prefix(codec: Codec) -> bool {
    method(codec).decode_prefix.is_some()
}

/// Maximum number of bytes that `packed` bytes can become, if their archive states this codec. No larger size
/// is possible. What is stated as packed may be packed with zlib, which has the largest bound.
pub fn max_unpacked(codec: Codec, packed: u64) -> u64 {
    let least = if codec == Codec::Stored { 1 } else { zlib::METHOD.max_ratio };
    packed.saturating_mul(method(codec).max_ratio.max(least))
}

/// Maximum number of bytes that `size` bytes may be packed into. For data that does not compress,
/// deflate and LZ4 add at most one byte in 200. The rest is for what may follow a stream.
pub fn max_packed(size: u32) -> u64 {
    const SLACK: u64 = 1 << 20;
    let size = u64::from(size);
    size + size / 64 + SLACK
}

/// The unpacked size in bytes of a payload for which nothing states it; `None` if the archive states the
/// sizes of payloads of this codec.
pub fn unpacked_size(codec: Codec, packed: &[u8]) -> Option<u64> {
    (codec == Codec::Lzss).then(|| lzss::unpacked_size(packed))
}

/// The table of codecs.
fn method(codec: Codec) -> &'static Method {
    match codec {
        Codec::Stored => &stored::STORED,
        Codec::Zlib => &zlib::METHOD,
        Codec::Lz4Frame => &lz4_frame::METHOD,
        Codec::Lz4Block => &lz4_block::METHOD,
        Codec::Xmem => &xmem::METHOD,
        Codec::Lzss => &lzss::METHOD,
        Codec::Detect => &detect_codec::METHOD,
        Codec::Unsupported => &stored::UNSUPPORTED,
    }
}
