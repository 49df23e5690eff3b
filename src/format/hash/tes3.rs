//! Morrowind's hash: each half of the whole path is folded into a word.

use super::path::{Path, fold};

/// The hash of a whole path as stored, with the first half's word in the low word. The empty path is `.`.
pub(super) fn path(path: Path<'_>) -> u64 {
    let separator: &[u8] = if path.parent.len() == 0 || path.name.is_empty() { b"" } else { b"\\" };
    let len = path.parent.len().saturating_add(separator.len()).saturating_add(path.name.len());
    let tail = separator.iter().chain(path.name).map(|&byte| fold(byte));
    if len == 0 { halves(std::iter::once(b'.'), 1) } else { halves(path.parent.bytes().chain(tail), len) }
}

/// Hashes `len` bytes: the first half, rounded down, into the low word, and the rest into the high word.
fn halves(mut bytes: impl Iterator<Item = u8>, len: usize) -> u64 {
    let low = lanes(bytes.by_ref().take(len / 2)).fold(0, |low, byte| low ^ byte);
    let high = lanes(bytes).fold(0u32, |high, byte| (high ^ byte).rotate_right(byte & 31));
    u64::from(low) | (u64::from(high) << 32)
}

/// Moves bytes into the four lanes of a word in turn.
fn lanes(bytes: impl Iterator<Item = u8>) -> impl Iterator<Item = u32> {
    bytes.zip([0, 8, 16, 24].into_iter().cycle()).map(|(byte, lane)| u32::from(byte).wrapping_shl(lane))
}
