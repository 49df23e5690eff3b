//! zlib streams (RFC 1950), and raw deflate (RFC 1951) if the header is missing.
//!
//! libdeflate decodes whole streams, in two thirds of the time that zlib-rs takes. It refuses any
//! stream with a flaw, and cannot decode prefixes. Real archives have flawed streams, and their
//! games read them. So zlib-rs decodes prefixes, and what libdeflate refuses.

use std::cell::RefCell;

use flate2::{Decompress, FlushDecompress, Status};
use libdeflater::{Decompressor, adler32};

use super::error::{DecodeError, Quirk, Start, contradiction, damaged, ends_early, unproven};
use super::method::{EXCESS_MAX, Method};

/// A match of 258 bytes takes at least two bits.
pub(super) static METHOD: Method = Method { decode, decode_prefix: Some(decode_prefix), max_ratio: 1032 };

/// Length of method and flags in front of the deflate stream, in bytes.
const HEADER_LEN: usize = 2;

/// The checksum is searched for in this many bytes at the end, because other bytes may follow it.
const TAIL: usize = 64;

/// Length of the checksum after the deflate stream, in bytes.
const CHECKSUM_LEN: usize = 4;

/// Length of the buffer for bytes beyond the declared size of a stream.
const EXCESS_LEN: usize = 16 << 10;

/// The name of the stream in errors.
const STREAM: &str = "zlib stream";

thread_local! {
    // Each has tens of KiB of tables, too many to allocate for every small file.
    static WHOLE: RefCell<Decompressor> = RefCell::new(Decompressor::new());
    static PIECES: RefCell<Decompress> = RefCell::new(Decompress::new(true));
}

/// Whether a payload begins like a zlib stream that needs no preset dictionary.
///
/// Raw deflate never begins like that: with a low nibble of 8, it begins with a stored block that is not the
/// last one, and encoders leave the padding bits of that block zero.
pub(super) fn has_header(packed: &[u8]) -> bool {
    is_header(packed) && packed.get(1).is_some_and(|flags| flags & 0x20 == 0)
}

/// Whether the first two bytes are a zlib header: deflate, a window of at most 32 KiB, and a multiple of 31.
fn is_header(packed: &[u8]) -> bool {
    matches!(packed, [method, flags, ..] if method & 0x0f == 8
        && method >> 4 <= 7
        && u16::from_be_bytes([*method, *flags]) % 31 == 0)
}

/// Decodes a whole zlib stream, or raw deflate if there is no zlib header.
pub(super) fn decode(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    if packed.len() < 2 {
        return Err(ends_early(STREAM, 0, out));
    }
    if !has_header(packed) {
        return decode_raw(packed, out);
    }
    // libdeflate does not report where a stream ended, but the checksum at its end shows that. It
    // is compared here only: if libdeflate did it too, it would read all bytes once more.
    let decoded = WHOLE.with_borrow_mut(|whole| whole.deflate_decompress(&packed[HEADER_LEN..], out));
    if decoded.is_ok_and(|len| len == out.len()) {
        let checksum = adler32(out).to_be_bytes();
        if packed.ends_with(&checksum) {
            return Ok(None);
        }
        let tail = &packed[packed.len().saturating_sub(TAIL)..];
        // For an empty file, zeros of the stream and part of a wrong checksum can look like the checksum.
        if !out.is_empty() && tail.windows(checksum.len()).any(|bytes| bytes == checksum) {
            return Ok(Some(Quirk::Trailing));
        }
    }
    decode_leniently(packed, out)
}

/// Decodes raw deflate. It has no signature, so only the exact size proves that the payload is one.
pub(super) fn decode_raw(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    match WHOLE.with_borrow_mut(|whole| whole.deflate_decompress(packed, out)) {
        Ok(len) if len == out.len() => Ok(Some(Quirk::RawDeflate)),
        _ if is_header(packed) => {
            Err(DecodeError::Unsupported("the zlib stream needs a preset dictionary".into()))
        }
        _ => Err(DecodeError::Corrupt(format!("not a zlib stream ({})", Start(packed)))),
    }
}

/// Decodes the first bytes of a zlib stream. Decodes no raw deflate, because only its full size
/// proves that it is one.
fn decode_prefix(packed: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    if packed.len() < 2 || !has_header(packed) {
        return Ok(0);
    }
    PIECES.with_borrow_mut(|pieces| {
        pieces.reset(true);
        match inflate(pieces, packed, out) {
            StreamEnd::Damaged { len, reason } if len < out.len() => Err(damaged(STREAM, len, out, reason)),
            StreamEnd::Damaged { len, .. } | StreamEnd::End { len } | StreamEnd::Open { len } => Ok(len),
        }
    })
}

/// Decodes a stream that libdeflate refused for any reason. All bytes must be there. What follows them may be
/// missing, and then there is no checksum to compare, but it must not be damaged. A stream that is longer
/// than declared must have a right checksum, because a flipped bit can make any stream longer.
fn decode_leniently(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    PIECES.with_borrow_mut(|pieces| {
        pieces.reset(true);
        let mut ending = inflate(pieces, packed, out);
        match ending {
            StreamEnd::End { len } | StreamEnd::Open { len } if len < out.len() => {
                return Err(ends_early(STREAM, len, out));
            }
            StreamEnd::Open { .. } => {
                let rest = &packed[taken(pieces, packed)..];
                ending = inflate_excess(pieces, rest);
            }
            StreamEnd::Damaged { .. } | StreamEnd::End { .. } => {}
        }
        let taken = taken(pieces, packed);
        let decoded = usize::try_from(pieces.total_out()).unwrap_or(usize::MAX);
        match ending {
            StreamEnd::End { .. } if decoded > out.len() => Ok(Some(Quirk::Longer)),
            StreamEnd::End { .. } if taken < packed.len() => Ok(Some(Quirk::Trailing)),
            StreamEnd::End { .. } => Ok(None),
            StreamEnd::Open { .. } if decoded > out.len() => Err(DecodeError::Suspect(unproven(STREAM, out))),
            StreamEnd::Open { .. } => Ok(Some(Quirk::Unended)),
            StreamEnd::Damaged { reason, .. } => Err(match packed[..taken].last_chunk::<CHECKSUM_LEN>() {
                Some(stored) if reason.contains("data check") && decoded == out.len() => {
                    let (stored, computed) = (u32::from_be_bytes(*stored), adler32(out));
                    DecodeError::Suspect(contradiction(STREAM, "Adler-32", 8, stored, computed))
                }
                _ => damaged(STREAM, decoded, out, reason),
            }),
        }
    })
}

/// Number of bytes of the payload that were used.
fn taken(pieces: &Decompress, packed: &[u8]) -> usize {
    usize::try_from(pieces.total_in()).map_or(packed.len(), |taken| taken.min(packed.len()))
}

/// Decodes what follows the last declared byte, including the checksum, and drops it.
fn inflate_excess(pieces: &mut Decompress, mut packed: &[u8]) -> StreamEnd {
    let most = pieces.total_out().saturating_add(EXCESS_MAX);
    loop {
        let before = pieces.total_in();
        let ending = inflate(pieces, packed, &mut [0; EXCESS_LEN]);
        if pieces.total_out() >= most || !matches!(ending, StreamEnd::Open { len: EXCESS_LEN }) {
            return ending;
        }
        packed = &packed[(pieces.total_in() - before) as usize..];
    }
}

/// Where decoding stopped, and how many bytes were decoded.
enum StreamEnd {
    /// Decoding stopped at the end of the stream, after the checksum.
    End { len: usize },
    /// Decoding stopped at the end of the input or of the buffer.
    Open { len: usize },
    /// Decoding stopped at invalid data.
    Damaged { len: usize, reason: String },
}

/// Decodes until the stream ends or makes no progress.
fn inflate(pieces: &mut Decompress, packed: &[u8], out: &mut [u8]) -> StreamEnd {
    let (mut taken, mut len) = (0, 0);
    loop {
        let (before_in, before_out) = (pieces.total_in(), pieces.total_out());
        let status = pieces.decompress(&packed[taken..], &mut out[len..], FlushDecompress::None);
        let (more_in, more_out) = (pieces.total_in() - before_in, pieces.total_out() - before_out);
        // Neither can exceed the length of the slice that was passed.
        taken += more_in as usize;
        len += more_out as usize;
        match status {
            Ok(Status::StreamEnd) => return StreamEnd::End { len },
            Ok(_) if more_in == 0 && more_out == 0 => return StreamEnd::Open { len },
            Ok(_) => {}
            Err(error) => {
                let reason = error.message().unwrap_or("it cannot be decoded").to_owned();
                return StreamEnd::Damaged { len, reason };
            }
        }
    }
}
