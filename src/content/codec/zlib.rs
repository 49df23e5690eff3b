//! zlib streams (RFC 1950), and raw deflate (RFC 1951) where the header is missing.
//!
//! libdeflate decodes whole streams at once, in two thirds of the time that zlib-rs takes, and refuses any stream with a
//! flaw. zlib-rs decodes what libdeflate refuses, because real archives hold such streams and their games read them, and
//! it decodes prefixes, which libdeflate cannot.

use std::cell::RefCell;

use flate2::{Decompress, FlushDecompress, Status};
use libdeflater::{Decompressor, adler32};

use super::error::{DecodeError, Quirk, Start, contradiction, damaged, ends_early, unproven};
use super::method::{EXCESS_MAX, Method};

/// A match of 258 bytes costs two bits at least.
pub(super) static METHOD: Method = Method { decode, prefix: Some(prefix), max_ratio: 1032 };

/// Method and flags in front of the deflate stream.
const HEADER_LEN: usize = 2;

/// The checksum is searched for in so many bytes from the end, in case something follows it.
const TAIL: usize = 64;

/// Bytes of the checksum behind the deflate stream.
const CHECKSUM_LEN: usize = 4;

/// Bytes of the buffer for what a stream holds beyond its declared size.
const EXCESS_LEN: usize = 16 << 10;

/// How errors call it.
const STREAM: &str = "zlib stream";

thread_local! {
    // Tens of KiB of tables, not to be allocated for each of many small files.
    static WHOLE: RefCell<Decompressor> = RefCell::new(Decompressor::new());
    static PIECES: RefCell<Decompress> = RefCell::new(Decompress::new(true));
}

/// Whether a payload begins as a zlib stream does that needs no preset dictionary.
///
/// Raw deflate never does: a low nibble of 8 is a stored block that is not the last, with padding bits that encoders
/// leave zero.
pub(super) fn has_header(packed: &[u8]) -> bool {
    is_header(packed) && packed.get(1).is_some_and(|flags| flags & 0x20 == 0)
}

/// Whether the first two bytes are a zlib header: deflate, a window of at most 32 KiB, and a multiple of 31.
fn is_header(packed: &[u8]) -> bool {
    matches!(packed, [method, flags, ..] if method & 0x0f == 8
        && method >> 4 <= 7
        && u16::from_be_bytes([*method, *flags]) % 31 == 0)
}

/// Decodes a whole zlib stream, or raw deflate that has no zlib header.
pub(super) fn decode(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    if packed.len() < 2 {
        return Err(ends_early(STREAM, 0, out));
    }
    if !has_header(packed) {
        return decode_raw(packed, out);
    }
    // libdeflate does not report where a stream ended. The checksum does, where it stands at the end: it is verified here,
    // and not by libdeflate too, which would pass over all bytes once more.
    let decoded = WHOLE.with_borrow_mut(|whole| whole.deflate_decompress(&packed[HEADER_LEN..], out));
    if decoded.is_ok_and(|len| len == out.len()) {
        let checksum = adler32(out).to_be_bytes();
        if packed.ends_with(&checksum) {
            return Ok(None);
        }
        let tail = &packed[packed.len().saturating_sub(TAIL)..];
        // Zeros of the stream and a part of a wrong checksum can look like the checksum of an empty file.
        if !out.is_empty() && tail.windows(checksum.len()).any(|bytes| bytes == checksum) {
            return Ok(Some(Quirk::Trailing));
        }
    }
    decode_leniently(packed, out)
}

/// Decodes raw deflate. It has no signature, so that only the exact size proves that it is one.
pub(super) fn decode_raw(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    match WHOLE.with_borrow_mut(|whole| whole.deflate_decompress(packed, out)) {
        Ok(len) if len == out.len() => Ok(Some(Quirk::RawDeflate)),
        _ if is_header(packed) => {
            Err(DecodeError::Unsupported("the zlib stream needs a preset dictionary".into()))
        }
        _ => Err(DecodeError::Corrupt(format!("not a zlib stream ({})", Start(packed)))),
    }
}

/// Decodes the first bytes of a zlib stream; of raw deflate none, because only its full size proves it.
fn prefix(packed: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    if packed.len() < 2 || !has_header(packed) {
        return Ok(0);
    }
    PIECES.with_borrow_mut(|pieces| {
        pieces.reset(true);
        match inflate(pieces, packed, out) {
            Ending::Damaged { len, why } if len < out.len() => Err(damaged(STREAM, len, out, why)),
            Ending::Damaged { len, .. } | Ending::End { len } | Ending::Open { len } => Ok(len),
        }
    })
}

/// Decodes what libdeflate refuses, for whatever reason. All bytes must be there; what follows them may be missing, but
/// not damaged: the checksum can then not be compared. A longer stream must have one, which is right: a flipped bit can
/// make any stream longer.
fn decode_leniently(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    PIECES.with_borrow_mut(|pieces| {
        pieces.reset(true);
        let mut ending = inflate(pieces, packed, out);
        match ending {
            Ending::End { len } | Ending::Open { len } if len < out.len() => {
                return Err(ends_early(STREAM, len, out));
            }
            Ending::Open { .. } => {
                let rest = &packed[taken(pieces, packed)..];
                ending = inflate_excess(pieces, rest);
            }
            Ending::Damaged { .. } | Ending::End { .. } => {}
        }
        let taken = taken(pieces, packed);
        let decoded = usize::try_from(pieces.total_out()).unwrap_or(usize::MAX);
        match ending {
            Ending::End { .. } if decoded > out.len() => Ok(Some(Quirk::Longer)),
            Ending::End { .. } if taken < packed.len() => Ok(Some(Quirk::Trailing)),
            Ending::End { .. } => Ok(None),
            Ending::Open { .. } if decoded > out.len() => Err(DecodeError::Suspect(unproven(STREAM, out))),
            Ending::Open { .. } => Ok(Some(Quirk::Unended)),
            Ending::Damaged { why, .. } => Err(match packed[..taken].last_chunk::<CHECKSUM_LEN>() {
                Some(stored) if why.contains("data check") && decoded == out.len() => {
                    let (stored, computed) = (u32::from_be_bytes(*stored), adler32(out));
                    DecodeError::Suspect(contradiction(STREAM, "Adler-32", 8, stored, computed))
                }
                _ => damaged(STREAM, decoded, out, why),
            }),
        }
    })
}

/// How many bytes of the payload were used.
fn taken(pieces: &Decompress, packed: &[u8]) -> usize {
    usize::try_from(pieces.total_in()).map_or(packed.len(), |taken| taken.min(packed.len()))
}

/// Decodes what follows the last declared byte, up to and with the checksum, and drops it.
fn inflate_excess(pieces: &mut Decompress, mut packed: &[u8]) -> Ending {
    let most = pieces.total_out().saturating_add(EXCESS_MAX);
    loop {
        let before = pieces.total_in();
        let ending = inflate(pieces, packed, &mut [0; EXCESS_LEN]);
        if pieces.total_out() >= most || !matches!(ending, Ending::Open { len: EXCESS_LEN }) {
            return ending;
        }
        packed = &packed[(pieces.total_in() - before) as usize..];
    }
}

/// How far a stream was decoded, in bytes.
enum Ending {
    /// To its end, checksum included.
    End { len: usize },
    /// Until the input or the buffer ended.
    Open { len: usize },
    /// Until it contradicted itself.
    Damaged { len: usize, why: String },
}

/// Decodes until the stream ends or makes no progress.
fn inflate(pieces: &mut Decompress, packed: &[u8], out: &mut [u8]) -> Ending {
    let (mut taken, mut len) = (0, 0);
    loop {
        let (before_in, before_out) = (pieces.total_in(), pieces.total_out());
        let status = pieces.decompress(&packed[taken..], &mut out[len..], FlushDecompress::None);
        let (more_in, more_out) = (pieces.total_in() - before_in, pieces.total_out() - before_out);
        // Neither can exceed the length of a slice that was handed over.
        taken += more_in as usize;
        len += more_out as usize;
        match status {
            Ok(Status::StreamEnd) => return Ending::End { len },
            Ok(_) if more_in == 0 && more_out == 0 => return Ending::Open { len },
            Ok(_) => {}
            Err(error) => {
                let why = error.message().unwrap_or("it cannot be decoded").to_owned();
                return Ending::Damaged { len, why };
            }
        }
    }
}
