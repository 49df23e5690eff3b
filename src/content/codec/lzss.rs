//! LZSS, as Battlespire packs files (FORMATS.md 9.3): a flag byte for eight items, each of which is a literal
//! byte or a copy from a ring of 4,096 bytes. A stream has neither size nor checksum.

use super::error::{DecodeError, Quirk, damaged, ends_early};
use super::method::Method;

/// A copy takes two bytes and a flag, and yields 18 bytes at most.
pub(super) static METHOD: Method = Method { decode, decode_prefix: Some(decode_prefix), max_ratio: 9 };

/// The name of a stream in errors.
const STREAM: &str = "LZSS stream";

/// Number of bytes of the ring.
const RING: usize = 4096;
/// Where the first byte of a file goes in the ring. The cells before it are spaces, the others 0.
const START: usize = 4078;
/// Number of bytes of the shortest copy.
const COPY_MIN: usize = 3;

/// What one flag stands for.
enum Item {
    /// This byte.
    Literal(u8),
    /// A copy of so many bytes from a cell of the ring on.
    Copy { cell: usize, len: usize },
    /// The second byte of a copy is missing.
    Cut,
}

impl Item {
    /// Number of bytes that the item yields.
    fn len(&self) -> usize {
        match self {
            Self::Literal(_) => 1,
            Self::Copy { len, .. } => *len,
            Self::Cut => 0,
        }
    }
}

/// The items of a stream. The flags that the last flag byte has too many of are unused.
fn items(mut packed: &[u8]) -> impl Iterator<Item = Item> {
    let mut flags = 1_u32;
    std::iter::from_fn(move || {
        if flags == 1 {
            let (&byte, rest) = packed.split_first()?;
            // The bit above the flags shows when they are used up.
            (packed, flags) = (rest, u32::from(byte) | 0x100);
        }
        let is_literal = flags & 1 == 1;
        flags >>= 1;
        let (&first, rest) = packed.split_first()?;
        if is_literal {
            packed = rest;
            return Some(Item::Literal(first));
        }
        let Some((&second, rest)) = rest.split_first() else {
            packed = &[];
            return Some(Item::Cut);
        };
        packed = rest;
        let cell = usize::from(first) | usize::from(second & 0xF0) << 4;
        Some(Item::Copy { cell, len: usize::from(second & 0x0F) + COPY_MIN })
    })
}

/// Number of bytes that a stream unpacks to.
pub(super) fn unpacked_size(packed: &[u8]) -> u64 {
    items(packed).map(|item| item.len() as u64).sum()
}

/// Half a copy at the end is no damage, because other decoders stop there, too.
fn decode(packed: &[u8], out: &mut [u8]) -> Result<Option<Quirk>, DecodeError> {
    let len = decode_prefix(packed, out)?;
    match unpacked_size(packed) {
        size if size == out.len() as u64 => {
            Ok(items(packed).any(|item| matches!(item, Item::Cut)).then_some(Quirk::Trailing))
        }
        _ if len < out.len() => Err(ends_early(STREAM, len, out)),
        size => Err(damaged(STREAM, len, out, format_args!("it holds {size} bytes"))),
    }
}

/// The ring holds the last bytes of the file, so copies are made from `out`, and from the ring's first
/// content where they reach back before the file.
fn decode_prefix(packed: &[u8], out: &mut [u8]) -> Result<usize, DecodeError> {
    let mut at = 0;
    for item in items(packed) {
        match item {
            Item::Literal(byte) => {
                let Some(slot) = out.get_mut(at) else { break };
                *slot = byte;
                at += 1;
            }
            Item::Copy { cell, len } => {
                // The cell that is written next still has its byte of one turn before.
                let back = match (START + at + RING - cell) % RING {
                    0 => RING,
                    back => back,
                };
                let end = out.len().min(at + len);
                for to in at..end {
                    out[to] = match to.checked_sub(back) {
                        Some(from) => out[from],
                        None if (START + to + RING - back) % RING < START => b' ',
                        None => 0,
                    };
                }
                at = end;
            }
            Item::Cut => break,
        }
        if at == out.len() {
            break;
        }
    }
    Ok(at)
}
