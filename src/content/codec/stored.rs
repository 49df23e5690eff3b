//! Bytes that are not packed, and bytes that are packed in an unknown way.

use super::error::{DecodeError, Quirk};
use super::method::Method;

/// Bytes as they are.
pub(super) static STORED: Method = Method { decode, decode_prefix: Some(decode_prefix), max_ratio: 1 };

/// Packed in an unknown way. No size is refused, so that the error names the true reason.
pub(super) static UNSUPPORTED: Method =
    Method { decode: unsupported, decode_prefix: None, max_ratio: u64::MAX };

fn decode(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    if packed.len() != out.len() {
        let what = format!("{} bytes are stored, but {} are declared", packed.len(), out.len());
        return Err(DecodeError::Corrupt(what));
    }
    out.copy_from_slice(packed);
    Ok(None)
}

fn decode_prefix(packed: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    let len = packed.len().min(out.len());
    out[..len].copy_from_slice(&packed[..len]);
    Ok(len)
}

fn unsupported(_: &[u8], _: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    Err(DecodeError::Unsupported("its compression method is not known".into()))
}
