//! Any bytes as a payload: `decode` and `prefix` must agree, for any codec and declared size, and
//! for a payload that is cut short.
//!
//! An input is the codec (u8), the declared size (u32), the part of the payload that `prefix` sees
//! (u16, in 65,536ths), and the payload. Numbers are in little-endian order.

#![allow(unreachable_pub, reason = "`pub` here means: for tests and fuzz targets")]

use std::fmt::Debug;

use bsafs::content::codec::{DecodeError, Quirk, decode, has_prefix, max_unpacked, prefix};
use bsafs::format::Codec;

/// The codecs, in the order of their numbers in an input.
const CODECS: [Codec; 8] = [
    Codec::Stored,
    Codec::Zlib,
    Codec::Lz4Frame,
    Codec::Lz4Block,
    Codec::Xmem,
    Codec::Detect,
    Codec::Unsupported,
    Codec::Lzss,
];

/// The largest declared size, in bytes.
const SIZE_MAX: u32 = 1 << 20;
/// The longest prefix, in bytes. The store decodes no longer one.
const PREFIX_MAX: usize = 64 << 10;

/// Decodes an input. Returns whether the codec gave all bytes, even if they are suspect.
///
/// # Panics
/// If an invariant does not hold.
pub fn run(input: &[u8]) -> bool {
    let Some(([codec, a, b, c, d, e, f], payload)) = input.split_first_chunk() else { return false };
    let codec = CODECS[usize::from(*codec) % CODECS.len()];
    let size = (u32::from_le_bytes([*a, *b, *c, *d]) % (SIZE_MAX + 1)) as usize;
    let share = u64::from(u16::from_le_bytes([*e, *f]));
    let part = &payload[..((payload.len() as u64 * share) >> 16) as usize];

    let is_whole = |decoded: &Result<_, _>| matches!(decoded, Ok(_) | Err(DecodeError::Suspect(_)));
    let valid = |decoded: &_| if is_whole(decoded) { size } else { 0 };
    let (decoded, bytes) = into_buffers(size, |out| decode(codec, payload, out), valid);
    if let Err(error) = &decoded {
        assert!(error.to_string().len() < 200, "{error}");
    }
    let is_whole = is_whole(&decoded);
    assert!(
        !is_whole || size as u64 <= max_unpacked(codec, payload.len() as u64),
        "{size} bytes of {codec:?}"
    );

    for len in [size.min(PREFIX_MAX), size.min(64)] {
        let all = prefix_of(codec, payload, len);
        for (decoded_prefix, what) in [(prefix_of(codec, part, len), "a part"), (all.clone(), "all")] {
            let Some(first) = decoded_prefix else {
                let is_other = matches!(decoded, Ok(Some(Quirk::Other(_) | Quirk::RawDeflate)));
                let is_refused = decoded.is_err() || is_other;
                assert!(is_refused, "{codec:?}: the prefix of {what} of a valid payload is an error");
                continue;
            };
            assert!(!is_whole || bytes.starts_with(&first), "{codec:?}: the prefix of {what} differs");
            let is_first = all.as_ref().is_none_or(|all| all.starts_with(&first));
            assert!(is_first, "{codec:?}: more of the payload gives other bytes");
        }
    }
    is_whole
}

/// Decodes at most the first `len` bytes of a payload. `None` if the codec refuses it.
fn prefix_of(codec: Codec, payload: &[u8], len: usize) -> Option<Vec<u8>> {
    let valid = |decoded: &Result<usize, _>| *decoded.as_ref().unwrap_or(&0);
    let (decoded, bytes) = into_buffers(len, |out| prefix(codec, payload, out), valid);
    assert!(bytes.is_empty() || has_prefix(codec), "{codec:?} has no prefix");
    assert!(
        bytes.len() as u64 <= max_unpacked(codec, payload.len() as u64),
        "{} bytes of {codec:?}",
        bytes.len()
    );
    decoded.is_ok().then_some(bytes)
}

/// Decodes into two buffers with different contents. The results and the `valid` bytes must be equal.
fn into_buffers<T: Debug + PartialEq>(
    len: usize,
    decode: impl Fn(&mut [u8]) -> T,
    valid: impl Fn(&T) -> usize,
) -> (T, Vec<u8>) {
    let (mut bytes, mut others) = (vec![0x55; len], vec![0xAA; len]);
    let decoded = decode(&mut bytes);
    assert_eq!(decoded, decode(&mut others), "the result depends on the previous content of the buffer");
    let valid = valid(&decoded);
    assert!(bytes[..valid] == others[..valid], "not every byte was written");
    bytes.truncate(valid);
    (decoded, bytes)
}
