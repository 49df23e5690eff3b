//! XMem, the LZX of the Xbox 360.
//!
//! A payload is a run of blocks, each with a length in front, that share one LZX state with a window of 128 KiB:
//! ```text
//! FF, u16 BE unpacked length, u16 BE packed length   or   u16 BE packed length, 0x8000 bytes unpacked
//! ```
//! Five zero bytes follow the last block. There is no header; XMem *files*, which have one, do not occur in archives.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lzxd::{Lzxd, WindowSize};

use super::error::{DecodeError, Quirk, damaged, ends_early};
use super::method::Method;

/// Two bytes are the least that a block of 32 KiB takes.
pub(super) static METHOD: Method = Method { decode, prefix: Some(prefix), max_ratio: BLOCK as u64 / 2 };

/// The most bytes that a block becomes.
const BLOCK: usize = 0x8000;

/// How errors call it.
const STREAM: &str = "XMem stream";

fn decode(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    let end = fill(packed, out)?;
    if end.len < out.len() {
        return Err(ends_early(STREAM, end.len, out));
    }
    // Other codecs cut such a stream. XMem has no checksum: a wrong length is the only sign of a wrong window size or
    // partition.
    if end.is_longer || next_block(end.rest).is_some() {
        return Err(damaged(STREAM, end.len, out, "its blocks hold more bytes than declared"));
    }
    Ok(end.rest.iter().any(|&byte| byte != 0).then_some(Quirk::Trailing))
}

fn prefix(packed: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    fill(packed, out).map(|end| end.len)
}

/// Where decoding stopped.
struct Filled<'a> {
    /// How many bytes were decoded.
    len: usize,
    /// Whether a block held more than there was room for.
    is_longer: bool,
    /// What of the payload was not needed.
    rest: &'a [u8],
}

/// Decodes blocks until the room, the payload or the stream ends.
fn fill<'a>(packed: &'a [u8], out: &mut [u8]) -> Result<Filled<'a>, DecodeError> {
    let mut state = Lzxd::new(WindowSize::KB128);
    let mut end = Filled { len: 0, is_longer: false, rest: packed };
    while end.len < out.len() {
        let Some((block, size, rest)) = next_block(end.rest) else { break };
        if size > BLOCK {
            return Err(damaged(STREAM, end.len, out, "a block is larger than 32 KiB"));
        }
        let bytes = unpack(&mut state, block, size).map_err(|why| damaged(STREAM, end.len, out, why))?;
        let len = bytes.len().min(out.len() - end.len);
        out[end.len..end.len + len].copy_from_slice(&bytes[..len]);
        end = Filled { len: end.len + len, is_longer: len < bytes.len(), rest };
    }
    Ok(end)
}

/// Decodes one block.
///
/// A block of stored bytes sets the offsets of later matches to any number, and lzxd 0.2.7 subtracts them unchecked:
/// with overflow checks, which this program is built with, that is a panic.
fn unpack<'a>(state: &'a mut Lzxd, block: &[u8], size: usize) -> Result<&'a [u8], String> {
    let decode = AssertUnwindSafe(move || {
        let state = state;
        state.decompress_next(block, size)
    });
    match catch_unwind(decode) {
        Ok(result) => result.map_err(|why| why.to_string()),
        Err(_) => Err("a match reaches back too far".into()),
    }
}

/// Splits off the next block: its packed bytes, its unpacked size, and what follows. None at the stream's end mark,
/// and where the payload ends first.
fn next_block(packed: &[u8]) -> Option<(&[u8], usize, &[u8])> {
    let (size, len, rest) = match packed {
        [0xff, s1, s0, l1, l0, rest @ ..] => {
            (u16::from_be_bytes([*s1, *s0]).into(), u16::from_be_bytes([*l1, *l0]), rest)
        }
        [0xff, ..] => return None,
        [l1, l0, rest @ ..] => (BLOCK, u16::from_be_bytes([*l1, *l0]), rest),
        _ => return None,
    };
    let (block, rest) = rest.split_at_checked(len.into())?;
    (len > 0).then_some((block, size, rest))
}
