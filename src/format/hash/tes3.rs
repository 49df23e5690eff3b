//! Morrowind's hash: the two halves of a whole path, each folded into a word.

use super::{Path, fold};

/// The hash of a whole path, the word of its first half in the low word, as stored. The empty path is `.`.
pub(super) fn path(path: Path<'_>) -> u64 {
    let separator: &[u8] = if path.parent.len() == 0 || path.name.is_empty() { b"" } else { b"\\" };
    let len = path.parent.len().saturating_add(separator.len()).saturating_add(path.name.len());
    let tail = separator.iter().chain(path.name).map(|&byte| fold(byte));
    if len == 0 { halves(std::iter::once(b'.'), 1) } else { halves(path.parent.bytes().chain(tail), len) }
}

/// Hashes `len` bytes: the first half, rounded down, into the low word and the others into the high one.
fn halves(mut bytes: impl Iterator<Item = u8>, len: usize) -> u64 {
    let low = lanes(bytes.by_ref().take(len / 2)).fold(0, |low, byte| low ^ byte);
    let high = lanes(bytes).fold(0u32, |high, byte| (high ^ byte).rotate_right(byte & 31));
    u64::from(low) | (u64::from(high) << 32)
}

/// Bytes moved into the four lanes of a word by turns.
fn lanes(bytes: impl Iterator<Item = u8>) -> impl Iterator<Item = u32> {
    bytes.zip([0, 8, 16, 24].into_iter().cycle()).map(|(byte, lane)| u32::from(byte).wrapping_shl(lane))
}

#[cfg(test)]
mod tests {
    use super::super::Family::Tes3;

    /// Path, low word, high word.
    const VECTORS: [(&[u8], u64, u64); 17] = [
        (b"meshes/c/artifact_bloodring_01.nif", 0x1C3C_1149, 0x920D_5F0C),
        (b"meshes/x/ex_stronghold_pylon00.nif", 0x2025_0749, 0xACCC_D202),
        (b"meshes/r/xsteam_centurions.kf", 0x6E5C_0F31, 0x2507_2EA6),
        (b"textures/tx_rock_cave_mu_01.dds", 0x5806_0C2F, 0xA3D8_F759),
        (b"meshes/f/furn_ashl_chime_02.nif", 0x7C3B_2F3A, 0xBFFC_8611),
        (b"textures/tx_rope_woven.dds", 0x5865_632F, 0x0C05_2C64),
        (b"icons/a/tx_templar_skirt.dds", 0x4651_2A0B, 0x60ED_A673),
        (b"icons/m/misc_prongs00.dds", 0x5171_5677, 0xBBA8_37D3),
        (b"meshes/i/in_c_stair_plain_tall_02.nif", 0x2A32_4956, 0xBF89_B1C9),
        (b"meshes/r/xkwama worker.nif", 0x6D44_6E35, 0x2C3F_5A1E),
        (b"misc\\example.txt", 0x020B_0C31, 0xB4C1_EC11),
        (b"share/license.txt", 0x1B0D_3416, 0xF5D5_F30E),
        (b"characters/character_0000.png", 0x7449_1918, 0x2BEB_CD0B),
        (b"a", 0x0000_0000, 0x8000_0030),
        (b"ab", 0x0000_0061, 0x8000_0018),
        (b"", 0x0000_0000, 0x00B8_0000),
        (b"meshes\\m\\probe_journeyman_01.nif", 0x0002_0336, 0xBB50_0695),
    ];

    #[test]
    fn paths_hash_as_in_the_vectors() {
        for (path, low, high) in VECTORS {
            let name = path.escape_ascii();
            assert_eq!(Tes3.of(b"", path).file, low | high << 32, "{name}");
            if let Some(at) = path.iter().rposition(|byte| b"/\\".contains(byte)) {
                let (folder, file) = path.split_at(at);
                assert_eq!(Tes3.of(folder, file).file, low | high << 32, "{name} in two pieces");
            }
        }
    }
}
