//! A single LZ4 block without a frame (`lz4_Block_format.md` of the LZ4 project), and the decoder
//! of parts of blocks.

use lz4_flex::block::{DecompressError, decompress_into};

use super::error::{DecodeError, Quirk, damaged, ends_early};
use super::method::Method;

/// One length byte adds at most 255 bytes.
pub(super) static METHOD: Method = Method { decode, decode_prefix: Some(decode_prefix), max_ratio: 255 };

/// The name of a block in errors.
const STREAM: &str = "LZ4 block";

/// Decodes one block, which must yield exactly `out`. A block has neither length nor checksum, so
/// only the exact size shows that the payload is one.
fn decode(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    match decompress_into(packed, out) {
        Ok(len) if len == out.len() => Ok(None),
        Ok(len) => Err(ends_early(STREAM, len, out)),
        Err(DecompressError::OutputTooSmall { .. }) => Err(DecodeError::Corrupt(format!(
            "the LZ4 block unpacks to more than the declared {} bytes",
            out.len()
        ))),
        Err(why) => {
            let len = decode_part(packed, out, 0, 0).unwrap_or_else(|damage| damage.at);
            Err(damaged(STREAM, len, out, why))
        }
    }
}

fn decode_prefix(packed: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    decode_part(packed, out, 0, 0).map_err(|damage| damaged(STREAM, damage.at, out, damage))
}

/// A match that reaches back before the first byte, or has the offset 0.
pub(super) struct Unreachable {
    /// Number of bytes decoded before the match.
    pub(super) at: usize,
}

impl std::fmt::Display for Unreachable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the data refers to bytes before its start")
    }
}

/// Decodes a block, or the first part of one, into `out` from index `at` on, until `out` is full.
/// Matches may reach back to `history`. Returns how many bytes of `out` are decoded now.
///
/// `lz4_flex` only decodes whole blocks, and needs room for all of their bytes.
pub(super) fn decode_part(
    mut packed: &[u8],
    out: &mut [u8],
    history: usize,
    mut at: usize,
) -> Result<usize, Unreachable> {
    while let Some((&token, rest)) = packed.split_first() {
        packed = rest;
        let Some(literals) = length(&mut packed, token >> 4) else { break };
        let len = literals.min(packed.len()).min(out.len() - at);
        out[at..at + len].copy_from_slice(&packed[..len]);
        at += len;
        packed = &packed[len..];
        let Some((&offset, rest)) = packed.split_first_chunk().filter(|_| len == literals && at < out.len())
        else {
            break;
        };
        packed = rest;
        let Some(len) = length(&mut packed, token & 15) else { break };
        let offset = usize::from(u16::from_le_bytes(offset));
        let from =
            at.checked_sub(offset).filter(|&from| from >= history && offset > 0).ok_or(Unreachable { at })?;
        // A copy may read bytes that it wrote itself, so each step can copy all bytes since `from`.
        let end = out.len().min(at.saturating_add(len).saturating_add(4));
        while at < end {
            let step = (end - at).min(at - from);
            out.copy_within(from..from + step, at);
            at += step;
        }
    }
    Ok(at)
}

/// Reads a length that begins in half of a token. If that is full, it continues in the next bytes.
fn length(packed: &mut &[u8], nibble: u8) -> Option<usize> {
    let mut len = usize::from(nibble);
    if nibble == 15 {
        loop {
            let (&byte, rest) = packed.split_first()?;
            *packed = rest;
            len = len.saturating_add(usize::from(byte));
            if byte < 255 {
                break;
            }
        }
    }
    Some(len)
}
