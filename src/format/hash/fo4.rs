//! The hash of BA2 archives: CRC-32 without the inversions at either end, of folder and stem apart.

use super::{Folder, fold, stem_and_extension};

/// The hash of a folder's full path; 0 for the root.
pub(super) fn folder(path: Folder<'_>) -> u64 {
    u64::from(crc(path.bytes()))
}

/// The hash of a file's stem in the high word, and the first four bytes of its extension in the low one.
///
/// bsa-rs looks for the extension's dot in the whole path, and so finds one in a folder's name; the game's
/// tool does not.
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
    use super::super::{Family::Fo4, Hash};

    /// Path, hash of the stem, extension, hash of the folder.
    const VECTORS: [(&[u8], u64, u64, u64); 15] = [
        (b"Sound\\Voice\\Fallout4.esm\\RobotMrHandy\\Mar\xeda_M.fuz", 0xC9FB_26F9, 0x007A_7566, 0x8A9C_014E),
        (b"Interface\\Pipboy_StatsPage.swf", 0x2F26_E4D0, 0x0066_7773, 0xD2FD_F873),
        (b"Meshes\\PreCombined\\0000E069_7831AAC9_OC.NIF", 0x5F0B_19DF, 0x0066_696E, 0xE659_D075),
        (
            b"Textures\\Terrain\\Commonwealth\\Commonwealth.4.-8.12_msn.DDS",
            0x55E3_7BD8,
            0x0073_6464,
            0x4409_E1A9,
        ),
        (b"Strings\\ccBGSFO4001-PipBoy(Black)_en.DLSTRINGS", 0x1985_075C, 0x7473_6C64, 0x29F6_B58B),
        (b"scripts\\MinRadiantOwnedBuildResourceScript.pex", 0xA2DA_D4FD, 0x0078_6570, 0x4072_4840),
        (b"misc/example.txt", 0xF380_44E1, 0x0074_7874, 0x5EE3_C5A6),
        (b"License.txt", 0xCA04_2B67, 0x0074_7874, 0x0000_0000),
        (b"test.dds", 0xF93B_A110, 0x0073_6464, 0x0000_0000),
        (b"blacksky_e.dds", 0xA2E7_C2B7, 0x0073_6464, 0x0000_0000),
        (b"Fence006_1K_Roughness.dds", 0x9DDC_F6BF, 0x0073_6464, 0x0000_0000),
        (b"noext", 0xBBD5_6169, 0x0000_0000, 0x0000_0000),
        // The vector file has bsa-rs's slip here: stem 0, extension "dots".
        (b"dir.with.dots/noext", 0xBBD5_6169, 0x0000_0000, 0x20EC_B3DB),
        (b"a/b.tar.gz", 0x320A_765A, 0x0000_7A67, 0x3AB5_51CE),
        (b"Materials\\Landscape\\Grass\\BeachGrass01.BGSM", 0xB023_CE22, 0x6D73_6762, 0x941D_851F),
    ];

    #[test]
    fn paths_hash_as_in_the_vectors() {
        for (path, stem, extension, folder) in VECTORS {
            let hash = Hash { folder, file: stem << 32 | extension };
            assert_eq!(Fo4.of(b"", path), hash, "{}", path.escape_ascii());
            if let Some(at) = path.iter().rposition(|byte| b"/\\".contains(byte)) {
                let (folder, file) = path.split_at(at);
                assert_eq!(Fo4.of(folder, file), hash, "{} in two pieces", path.escape_ascii());
                assert_eq!(Fo4.folder(folder), Some(hash.folder));
            }
        }
    }

    #[test]
    fn a_name_that_is_all_extension_has_no_stem() {
        assert_eq!(
            Fo4.of(b"", b".gitignore"),
            Hash { folder: 0, file: u64::from(u32::from_le_bytes(*b"giti")) }
        );
        assert_eq!(Fo4.of(b"", b""), Hash { folder: 0, file: 0 });
    }

    #[test]
    fn the_table_is_that_of_crc_32() {
        for (at, row) in [(0, 0), (1, 0x7707_3096), (128, 0xEDB8_8320), (255, 0x2D02_EF8D)] {
            assert_eq!(super::TABLE.get(at), Some(&row));
        }
    }
}
