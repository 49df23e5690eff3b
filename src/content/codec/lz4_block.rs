//! A single LZ4 block without a frame (`lz4_Block_format.md` of the LZ4 project), the decoder of parts of
//! blocks, and one that decodes a block piece by piece.

use std::io::{self, BufRead, Read};

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
        Err(reason) => {
            let len = decode_part(packed, out, 0, 0).unwrap_or_else(|damage| damage.at);
            Err(damaged(STREAM, len, out, reason))
        }
    }
}

fn decode_prefix(packed: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    decode_part(packed, out, 0, 0).map_err(|damage| damaged(STREAM, damage.at, out, damage))
}

/// Matches reach back by at most this many bytes, because an offset has 16 bits.
const WINDOW: usize = 1 << 16;

/// Decodes a block piece by piece. It keeps only the last 64 KiB, to which matches refer.
pub(crate) struct BlockDecoder<R> {
    packed: R,
    /// The last bytes that were decoded, as a ring.
    window: Box<[u8; WINDOW]>,
    /// Number of bytes decoded.
    decoded: usize,
    /// The second half of the token, until its match begins.
    token: Option<u8>,
    /// Number of literals that follow in `packed`.
    literals: usize,
    /// Number of bytes of the current match that are left, and how far it reaches back.
    matched: usize,
    offset: usize,
}

impl<R: BufRead> BlockDecoder<R> {
    pub(crate) fn new(packed: R) -> Self {
        let window = Box::new([0; WINDOW]);
        Self { packed, window, decoded: 0, token: None, literals: 0, matched: 0, offset: 0 }
    }

    /// Reads the next token, or the match that follows literals. Returns false at the end of the block, which
    /// has only literals in its last sequence.
    fn advance(&mut self) -> io::Result<bool> {
        if self.packed.fill_buf()?.is_empty() {
            return Ok(false);
        }
        if let Some(low) = self.token.take() {
            let mut offset = [0; 2];
            self.packed.read_exact(&mut offset)?;
            self.offset = usize::from(u16::from_le_bytes(offset));
            if self.offset == 0 || self.offset > self.decoded {
                return Err(io::Error::other(Unreachable { at: self.decoded }.to_string()));
            }
            self.matched = self.length(low)?.saturating_add(4);
        } else {
            let token = self.byte()?;
            self.literals = self.length(token >> 4)?;
            self.token = Some(token & 15);
        }
        Ok(true)
    }

    fn length(&mut self, nibble: u8) -> io::Result<usize> {
        let mut len = usize::from(nibble);
        let mut last = if nibble == 15 { 255 } else { 0 };
        while last == 255 {
            last = self.byte()?;
            len = len.saturating_add(usize::from(last));
        }
        Ok(len)
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.packed.read_exact(&mut byte)?;
        Ok(byte[0])
    }
}

impl<R: BufRead> Read for BlockDecoder<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.literals == 0 && self.matched == 0 {
            if out.is_empty() || !self.advance()? {
                return Ok(0);
            }
        }
        let len = if self.literals > 0 {
            let limit = out.len().min(self.literals).min(WINDOW);
            let len = self.packed.read(&mut out[..limit])?;
            if len == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            for (at, &byte) in out[..len].iter().enumerate() {
                self.window[(self.decoded + at) % WINDOW] = byte;
            }
            self.literals -= len;
            len
        } else {
            let len = out.len().min(self.matched).min(WINDOW);
            for (at, byte) in (self.decoded..).zip(&mut out[..len]) {
                *byte = self.window[(at - self.offset) % WINDOW];
                self.window[at % WINDOW] = *byte;
            }
            self.matched -= len;
            len
        };
        self.decoded += len;
        Ok(len)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_is_decoded_piece_by_piece_has_the_same_bytes() {
        // Long literals and matches, overlapping matches, and matches at the greatest distance.
        let noise = |len: usize, seed: u32| {
            let next = |state: &mut u32| {
                *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                Some((*state >> 24) as u8)
            };
            (0..len).scan(seed, move |state, _| next(state)).collect::<Vec<_>>()
        };
        let first = noise(65_535, 1);
        let bytes = [&first[..], &first, &[7; 300_000], &noise(1_000, 2), b"abababababab", &first].concat();
        for len in [0, 1, 12, 13, 65_535, 65_536, bytes.len()] {
            let packed = lz4_flex::block::compress(&bytes[..len]);
            for step in [1, 7, 65_536, 1 << 20] {
                let mut decoder = BlockDecoder::new(&packed[..]);
                let (mut decoded, mut buffer) = (Vec::new(), vec![0; step]);
                loop {
                    match decoder.read(&mut buffer).unwrap() {
                        0 => break,
                        read => decoded.extend_from_slice(&buffer[..read]),
                    }
                }
                assert!(decoded == bytes[..len], "{len} bytes in steps of {step}");
            }
        }
    }

    #[test]
    fn a_damaged_block_that_is_decoded_piece_by_piece_is_an_error_and_no_panic() {
        let bytes = [&[1; 1_000][..], b"abcdefgh", &[2; 1_000]].concat();
        let packed = lz4_flex::block::compress(&bytes);
        let decode = |packed: &[u8]| {
            let mut decoded = Vec::new();
            BlockDecoder::new(packed).take(1 << 20).read_to_end(&mut decoded).map(|_| decoded)
        };
        for len in 0..packed.len() {
            if let Ok(part) = decode(&packed[..len]) {
                assert!(bytes.starts_with(&part), "{len} bytes");
            }
        }
        for (at, bit) in (0..packed.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut damaged = packed.clone();
            damaged[at] ^= 1 << bit;
            let mut whole = vec![0; 1 << 20];
            // Both decoders agree on what they can decode.
            match (decode(&damaged), decode_prefix(&damaged, &mut whole)) {
                (Ok(decoded), Ok(len)) => assert!(whole[..len].starts_with(&decoded)),
                (Ok(_), Err(error)) => panic!("byte {at}, bit {bit}: {error}"),
                (Err(_), _) => {}
            }
        }
        // The offset 0, and an offset before the first byte.
        for packed in [&[0x10, b'a', 0, 0][..], &[0x10, b'a', 2, 0]] {
            assert!(decode(packed).is_err());
        }
    }
}
