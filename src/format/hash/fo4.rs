//! The hash of BA2 archives: CRC-32 without the inversions at either end, of folder and stem separately.

use super::path::{Folder, fold, stem_and_extension};

/// The hash of a folder's full path; 0 for the root.
pub(super) fn folder(path: Folder<'_>) -> u64 {
    u64::from(crc(path.bytes()))
}

/// The hash of a file's stem in the high word, and the first four bytes of its extension in the low one.
///
/// bsa-rs searches the whole path for the dot of the extension, so it may find one in a folder's
/// name. The game's tool does not.
pub(super) fn file(name: &[u8]) -> u64 {
    let (stem, extension) = stem_and_extension(name);
    let [a, b, c, d] = crc(stem.iter().map(|&byte| fold(byte))).to_le_bytes();
    let mut four = [0; 4];
    four.iter_mut().zip(extension.iter().skip(1)).for_each(|(slot, &byte)| *slot = fold(byte));
    let [e, f, g, h] = four;
    u64::from_le_bytes([e, f, g, h, a, b, c, d])
}

/// CRC-32 with the reflected polynomial 0xEDB88320, an initial value of 0 and no final inversion.
fn crc(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0, |crc, byte| {
        let [low, ..] = (crc ^ u32::from(byte)).to_le_bytes();
        TABLE.get(usize::from(low)).copied().unwrap_or_default() ^ (crc >> 8)
    })
}

static TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut slots: &mut [u32] = &mut table;
    let mut byte = 0u32;
    while let Some((slot, rest)) = slots.split_first_mut() {
        *slot = byte;
        let mut bits = 8u32;
        while bits > 0 {
            *slot = (*slot >> 1) ^ if *slot & 1 == 1 { 0xEDB8_8320 } else { 0 };
            bits = bits.wrapping_sub(1);
        }
        byte = byte.wrapping_add(1);
        slots = rest;
    }
    table
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_matches_crc_32() {
        for (at, row) in [(0, 0), (1, 0x7707_3096), (128, 0xEDB8_8320), (255, 0x2D02_EF8D)] {
            assert_eq!(super::TABLE.get(at), Some(&row));
        }
    }
}
