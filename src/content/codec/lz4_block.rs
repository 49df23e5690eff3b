//! One LZ4 block without a frame (`lz4_Block_format.md` of the LZ4 project), and the decoder of parts of blocks.

use lz4_flex::block::{DecompressError, decompress_into};

use super::error::{DecodeError, Quirk, damaged, ends_early};
use super::method::Method;

/// A length byte of 255 is the most that one byte can state.
pub(super) static METHOD: Method = Method { decode, prefix: Some(prefix), max_ratio: 255 };

/// How errors call a block.
const STREAM: &str = "LZ4 block";

/// Decodes one block, which must become exactly `out`: a block has neither length nor checksum, so that its exact size
/// is the only sign that it is one.
fn decode(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    match decompress_into(packed, out) {
        Ok(len) if len == out.len() => Ok(None),
        Ok(len) => Err(ends_early(STREAM, len, out)),
        Err(DecompressError::OutputTooSmall { .. }) => Err(DecodeError::Corrupt(format!(
            "the LZ4 block becomes more than the declared {} bytes",
            out.len()
        ))),
        Err(why) => {
            let len = decode_part(packed, out, 0, 0).unwrap_or_else(|damage| damage.at);
            Err(damaged(STREAM, len, out, why))
        }
    }
}

fn prefix(packed: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    decode_part(packed, out, 0, 0).map_err(|damage| damaged(STREAM, damage.at, out, damage))
}

/// A match that reaches back to before the first byte, or to nowhere.
pub(super) struct Unreachable {
    /// How many bytes were decoded before it.
    pub(super) at: usize,
}

impl std::fmt::Display for Unreachable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a match reaches back too far")
    }
}

/// Decodes a block, or the part of one that is there, as far as it fits, behind the `at` bytes of `out` that were decoded
/// before it; matches reach back as far as `history`. Returns how many bytes of `out` are decoded now.
///
/// `lz4_flex` decodes only whole blocks into all the room that they need.
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
        // What has been copied may be copied in turn, so that each step can take all there is since `from`.
        let end = out.len().min(at.saturating_add(len).saturating_add(4));
        while at < end {
            let step = (end - at).min(at - from);
            out.copy_within(from..from + step, at);
            at += step;
        }
    }
    Ok(at)
}

/// A length that begins in a half of a token, and continues in the bytes that follow where that half is full.
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
