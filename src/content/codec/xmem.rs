//! XMem, the LZX of the Xbox 360.
//!
//! A payload is a run of blocks that share one LZX state with a window of 128 KiB. A length
//! precedes each block:
//! ```text
//! FF, u16 BE unpacked length, u16 BE packed length   or   u16 BE packed length, 0x8000 bytes unpacked
//! ```
//! Five zero bytes follow the last block. There is no header. XMem *files* have one, but do not
//! occur in archives.

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use lzxd::{Lzxd, WindowSize};

use super::error::{DecodeError, Quirk, damaged, ends_early};
use super::method::Method;

/// A block of 32 KiB takes at least two bytes.
pub(super) static METHOD: Method =
    Method { decode, decode_prefix: Some(decode_prefix), max_ratio: BLOCK as u64 / 2 };

/// Maximum unpacked size of a block in bytes.
const BLOCK: usize = 0x8000;

/// The name of the stream in errors.
const STREAM: &str = "XMem stream";

fn decode(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    let end = fill(packed, out)?;
    if end.len < out.len() {
        return Err(ends_early(STREAM, end.len, out));
    }
    // Other codecs cut a longer stream. XMem has no checksum, so a wrong length is the only sign of
    // a wrong window size or partition.
    if end.is_longer || next_block(end.rest).is_some() {
        return Err(damaged(STREAM, end.len, out, "its blocks hold more bytes than declared"));
    }
    Ok(end.rest.iter().any(|&byte| byte != 0).then_some(Quirk::Trailing))
}

fn decode_prefix(packed: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    fill(packed, out).map(|end| end.len)
}

/// Decodes a stream block by block.
pub(crate) struct XmemDecoder<R> {
    packed: R,
    state: Lzxd,
    /// The bytes of the last block, and the number of them that were read.
    block: Vec<u8>,
    at: usize,
}

impl<R: Read> XmemDecoder<R> {
    pub(crate) fn new(packed: R) -> Self {
        Self { packed, state: Lzxd::new(WindowSize::KB128), block: Vec::new(), at: 0 }
    }

    /// Decodes the next block. Returns false at the end of the stream.
    fn advance(&mut self) -> io::Result<bool> {
        let mut header = [0; 5];
        // The shorter form of the header has two bytes.
        match self.packed.read_exact(&mut header[..2]) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        let mut packed = header[..2].to_vec();
        if header[0] == 0xff {
            self.packed.read_exact(&mut header[2..])?;
            packed.extend_from_slice(&header[2..]);
        }
        let len: [u8; 2] = [packed[packed.len() - 2], packed[packed.len() - 1]];
        let header_len = packed.len();
        packed.resize(header_len + usize::from(u16::from_be_bytes(len)), 0);
        self.packed.read_exact(&mut packed[header_len..])?;
        let Some((block, size, _)) = next_block(&packed) else { return Ok(false) };
        if size > BLOCK {
            return Err(io::Error::other("a block is larger than 32 KiB"));
        }
        self.block = unpack(&mut self.state, block, size).map_err(io::Error::other)?.to_vec();
        self.at = 0;
        Ok(true)
    }
}

impl<R: Read> Read for XmemDecoder<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.block.len() {
            if out.is_empty() || !self.advance()? {
                return Ok(0);
            }
        }
        let len = (&self.block[self.at..]).read(out)?;
        self.at += len;
        Ok(len)
    }
}

/// Where decoding stopped.
struct Filled<'a> {
    /// Number of bytes decoded.
    len: usize,
    /// Whether a block held more bytes than there was room for.
    is_longer: bool,
    /// The part of the payload that was not needed.
    rest: &'a [u8],
}

/// Decodes blocks until the buffer is full, or the payload or the stream ends.
fn fill<'a>(packed: &'a [u8], out: &mut [u8]) -> Result<Filled<'a>, DecodeError> {
    let mut state = Lzxd::new(WindowSize::KB128);
    let mut end = Filled { len: 0, is_longer: false, rest: packed };
    while end.len < out.len() {
        let Some((block, size, rest)) = next_block(end.rest) else { break };
        if size > BLOCK {
            return Err(damaged(STREAM, end.len, out, "a block is larger than 32 KiB"));
        }
        let bytes =
            unpack(&mut state, block, size).map_err(|reason| damaged(STREAM, end.len, out, reason))?;
        let len = bytes.len().min(out.len() - end.len);
        out[end.len..end.len + len].copy_from_slice(&bytes[..len]);
        end = Filled { len: end.len + len, is_longer: len < bytes.len(), rest };
    }
    Ok(end)
}

/// Decodes one block.
///
/// A stored block sets the offsets of later matches to any number, and lzxd 0.2.7 subtracts them
/// unchecked. bsafs is built with overflow checks, so that panics.
fn unpack<'a>(state: &'a mut Lzxd, block: &[u8], size: usize) -> Result<&'a [u8], String> {
    let decode = AssertUnwindSafe(move || {
        let state = state;
        state.decompress_next(block, size)
    });
    match catch_unwind(decode) {
        Ok(result) => result.map_err(|reason| reason.to_string()),
        Err(_) => Err("the data refers to bytes before its start".into()),
    }
}

/// Splits off the next block: its packed bytes, its unpacked size, and what follows. `None` at the
/// end mark of the stream, and if the payload ends before the block does.
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
