//! The hash of Oblivion, Fallout 3, New Vegas and Skyrim: a name's ends, its length, and a sum over what is
//! between.
//!
//! Where readers differ, this follows bsa-rs, which took its rules from Bethesda's own packer and the game's
//! executable: `.adp` counts among the marked extensions, extensions are compared by four bytes, marks are
//! added rather than or-ed, and lengths are cut to a byte before they are looked at.

use super::{Folder, fold, stem_and_extension};

/// Paths and names of this length, in bytes, and longer ones are too long for the packer.
const TOO_LONG: usize = 260;
/// Extensions of this length, dot included, and longer ones are too.
const EXTENSION_TOO_LONG: usize = 16;

/// What the marked extensions add to the first, the last but one and the last byte.
const MARKS: [([u8; 4], [u8; 3]); 5] = [
    (*b".nif", [0x00, 0x80, 0x00]),
    (*b".kf\0", [0x00, 0x00, 0x80]),
    (*b".dds", [0x00, 0x80, 0x80]),
    (*b".wav", [0x80, 0x00, 0x00]),
    (*b".adp", [0x80, 0x80, 0x00]),
];

/// The hash of a folder's full path; the root's and that of a path which is too long is that of `.`.
pub(super) fn folder(path: Folder<'_>) -> u64 {
    match path.len() {
        0 | TOO_LONG.. => Digest::of([b'.'].into_iter()).value(),
        _ => Digest::of(path.bytes()).value(),
    }
}

/// The hash of a file's name; 0 where it has no stem or is too long.
pub(super) fn file(name: &[u8]) -> u64 {
    let Some((stem, extension)) = split(name) else { return 0 };
    let mut digest = Digest::of(folded(stem));
    digest.crc = digest.crc.wrapping_add(crc(folded(extension)));
    let mark = four(extension);
    if let Some((_, [first, last2, last])) = MARKS.iter().find(|(marked, _)| *marked == mark) {
        digest.first = digest.first.wrapping_add(*first);
        digest.last2 = digest.last2.wrapping_add(*last2);
        digest.last = digest.last.wrapping_add(*last);
    }
    digest.value()
}

/// The hash of a file's name on the PlayStation 3, where textures drop a suffix such as `_n` and all else is
/// as ever.
///
/// Transcribed from SockNastre's `OblivionBSAHash.GetPS3`; no archive from a retail disc was at hand.
pub(super) fn file_ps3(name: &[u8]) -> u64 {
    let Some((stem, extension)) = split(name) else { return 0 };
    if !extension.eq_ignore_ascii_case(b".dds") {
        return file(name);
    }
    let (stem, suffix) = match stem {
        [base @ .., b'_', suffix] if !base.is_empty() => (base, fold(*suffix)),
        _ => (stem, 0),
    };
    let digest = Digest::of(folded(stem));
    // Unlike on the PC, the sum takes in the last byte but one.
    let middle =
        stem.split_first().and_then(|(_, rest)| rest.split_last()).map_or(&[][..], |(_, middle)| middle);
    Digest {
        last2: digest.last ^ 0x80,
        last: suffix ^ 0x80,
        crc: crc(folded(middle)).wrapping_add(crc(folded(extension))),
        ..digest
    }
    .value()
}

/// Stem and extension of a name that can be hashed.
fn split(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let (stem, extension) = stem_and_extension(name);
    let fits = !stem.is_empty() && name.len() < TOO_LONG && extension.len() < EXTENSION_TOO_LONG;
    fits.then_some((stem, extension))
}

fn folded(bytes: &[u8]) -> impl Iterator<Item = u8> {
    bytes.iter().map(|&byte| fold(byte))
}

/// The first four bytes, folded, with NULs for those that are missing.
fn four(bytes: &[u8]) -> [u8; 4] {
    let mut four = [0; 4];
    four.iter_mut().zip(bytes).for_each(|(slot, &byte)| *slot = fold(byte));
    four
}

fn crc(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0, add)
}

/// The game's "CRC" is a polynomial in this factor.
fn add(crc: u32, byte: u8) -> u32 {
    crc.wrapping_mul(0x1003F).wrapping_add(u32::from(byte))
}

/// The parts of a hash.
#[derive(Default)]
struct Digest {
    first: u8,
    last2: u8,
    last: u8,
    length: u8,
    crc: u32,
}

impl Digest {
    /// Takes in a name of fewer than [`TOO_LONG`] bytes in one pass.
    fn of(bytes: impl Iterator<Item = u8>) -> Self {
        let (count, mut digest) = bytes.fold((0u16, Self::default()), |(count, mut digest), byte| {
            match count {
                0 => digest.first = byte,
                1 | 2 => {}
                // Two bytes behind, so that the last two never enter the sum; the first does not either.
                _ => digest.crc = add(digest.crc, digest.last2),
            }
            digest.last2 = digest.last;
            digest.last = byte;
            (count.wrapping_add(1), digest)
        });
        let [length, _] = count.to_le_bytes();
        digest.length = length;
        if count < 3 {
            digest.last2 = 0;
        }
        // The packer cuts the length to a byte first, and so forgets the sum of 256 to 259 bytes.
        if length <= 3 {
            digest.crc = 0;
        }
        digest
    }

    fn value(&self) -> u64 {
        let [a, b, c, d] = self.crc.to_le_bytes();
        u64::from_le_bytes([self.last, self.last2, self.length, self.first, a, b, c, d])
    }
}

#[cfg(test)]
mod tests {
    use super::super::Family::{Tes4, Tes4Ps3, Tes4Xbox};

    /// Folder, hash, the bytes of the hash on an Xbox 360's disc.
    const FOLDERS: [(&[u8], u64, &str); 19] = [
        (b"textures/armor/amuletsandrings/elder council", 0x04BC_422C_742C_696C, "6c692c7404bc422c"),
        (b"sound/voice/skyrim.esm/maleuniquedbguardian", 0x5940_85AC_732B_616E, "6e612b73594085ac"),
        (b"textures/architecture/windhelm", 0xC1D9_7EBE_741E_6C6D, "6d6c1e74c1d97ebe"),
        (b"misc", 0x0000_0069_6D04_7363, "6373046d00000069"),
        (b".", 0x0000_0000_2E01_002E, "2e00012e00000000"),
        (b"", 0x0000_0000_2E01_002E, "2e00012e00000000"),
        (b"share", 0x0068_19F9_7305_7265, "65720573006819f9"),
        (b"tiles", 0x0069_1A43_7405_6573, "7365057400691a43"),
        (b"background", 0x0E09_AFBA_620A_6E64, "646e0a620e09afba"),
        (b"tilemap", 0x4ADF_420B_7407_6170, "706107744adf420b"),
        (b"construct 3", 0x6A32_6CD4_630B_2033, "33200b636a326cd4"),
        (b"characters", 0x79CD_3FEC_630A_7273, "73720a6379cd3fec"),
        (b"a", 0x0000_0000_6101_0061, "6100016100000000"),
        (b"ab", 0x0000_0000_6102_0062, "6200026100000000"),
        (b"abc", 0x0000_0000_6103_6263, "6362036100000000"),
        (b"abcd", 0x0000_0062_6104_6364, "6463046100000062"),
        (b"Meshes\\Clutter\\", 0x8948_BE78_6D0E_6572, "72650e6d8948be78"),
        (b"misc1", 0x0069_1A4A_6D05_6331, "3163056d00691a4a"),
        (b"misc2", 0x0069_1A4A_6D05_6332, "3263056d00691a4a"),
    ];

    /// File, hash, the bytes of the hash on a PC's disc and on an Xbox 360's.
    const FILES: [(&[u8], u64, &str, &str); 26] = [
        (b"darkbrotherhood__0007469a_1.fuz", 0x011F_11B0_641B_5F31, "315f1b64b0111f01", "315f1b64011f11b0"),
        (b"elder_council_amulet_n.dds", 0xDC53_1E2F_6516_DFEE, "eedf16652f1e53dc", "eedf1665dc531e2f"),
        (
            b"testtoddquest_testtoddhappy_00027fa2_1.mp3",
            0xDE03_01EE_7426_5F31,
            "315f2674ee0103de",
            "315f2674de0301ee",
        ),
        (b"Mar\xeda_F.fuz", 0x690E_0782_6D07_5F66, "665f076d82070e69", "665f076d690e0782"),
        (b"example.txt", 0x9533_7B6E_6507_6C65, "656c07656e7b3395", "656c076595337b6e"),
        (b"license.txt", 0xDC41_5D45_6C07_7365, "6573076c455d41dc", "6573076cdc415d45"),
        (b"tile_0000.png", 0xDDE2_85B8_7409_3030, "30300974b885e2dd", "30300974dde285b8"),
        (b"background_bottom.png", 0xC41A_9477_6211_6F6D, "6d6f116277941ac4", "6d6f1162c41a9477"),
        (b"race_sex_menu.xml", 0xFD13_78D6_720D_6E75, "756e0d72d67813fd", "756e0d72fd1378d6"),
        (b"cuirass.nif", 0x0A91_25A0_6307_F373, "73f30763a025910a", "73f307630a9125a0"),
        (b"cuirass.dds", 0x059F_8968_6307_F3F3, "f3f3076368899f05", "f3f30763059f8968"),
        (b"idle.kf", 0x1711_E44D_6904_6CE5, "e56c04694de41117", "e56c04691711e44d"),
        (b"amb_01.wav", 0xCD42_8208_E106_3031, "313006e1088242cd", "313006e1cd428208"),
        (b"music.adp", 0x8CD6_987D_ED05_E963, "63e905ed7d98d68c", "63e905ed8cd6987d"),
        (b"noext", 0x006F_1BB6_6E05_7874, "7478056eb61b6f00", "7478056e006f1bb6"),
        (b"a.nif", 0x92CD_45FD_6101_8061, "61800161fd45cd92", "6180016192cd45fd"),
        (b"ab.dds", 0x8DDB_A9C5_6102_80E2, "e2800261c5a9db8d", "e28002618ddba9c5"),
        (b"abc.kf", 0x1711_E3E9_6103_62E3, "e3620361e9e31117", "e36203611711e3e9"),
        (b".gitignore", 0x0000_0000_0000_0000, "0000000000000000", "0000000000000000"),
        (b"foo.bar.nif", 0xF618_8D71_6607_E172, "72e10766718d18f6", "72e10766f6188d71"),
        (b"FOO.NIF", 0x92CD_45FD_6603_EF6F, "6fef0366fd45cd92", "6fef036692cd45fd"),
        (b"caf\xe9.dds", 0x8DDB_AA26_6304_E669, "69e6046326aadb8d", "69e604638ddbaa26"),
        (b"\xc9t\xe9.nif", 0x92CD_45FD_C903_F4E9, "e9f403c9fd45cd92", "e9f403c992cd45fd"),
        (b"character_0000.png", 0xD0E4_FC14_630E_3030, "30300e6314fce4d0", "30300e63d0e4fc14"),
        (b"samplea.png", 0x6B00_3483_7307_6561, "616507738334006b", "616507736b003483"),
        (b"preview.png", 0x7E09_96A1_7007_6577, "77650770a196097e", "776507707e0996a1"),
    ];

    /// Texture, hash on the PlayStation 3, on the PC, on the Xbox 360.
    const PS3: [(&[u8], u64, u64, u64); 12] = [
        (b"cuirass.dds", 0xE6B2_B355_6307_F380, 0x059F_8968_6307_F3F3, 0x6889_9F05_6307_F3F3),
        (b"cuirass_n.dds", 0xE6B2_B355_6307_F3EE, 0x7457_04A8_6309_DFEE, 0xA804_5774_6309_DFEE),
        (b"cuirass_g.dds", 0xE6B2_B355_6307_F3E7, 0x7457_04A8_6309_DFE7, 0xA804_5774_6309_DFE7),
        (b"a.dds", 0x8DDB_A9C5_6101_E180, 0x8DDB_A9C5_6101_80E1, 0xC5A9_DB8D_6101_80E1),
        (b"ab.dds", 0x8DDB_A9C5_6102_E280, 0x8DDB_A9C5_6102_80E2, 0xC5A9_DB8D_6102_80E2),
        (b"abc.dds", 0x8DDB_AA27_6103_E380, 0x8DDB_A9C5_6103_E2E3, 0xC5A9_DB8D_6103_E2E3),
        (b"abcd.dds", 0x8E3D_C246_6104_E480, 0x8DDB_AA27_6104_E3E4, 0x27AA_DB8D_6104_E3E4),
        (b"elder_council_amulet_n.dds", 0x5579_D84F_6514_F4EE, 0xDC53_1E2F_6516_DFEE, 0x2F1E_53DC_6516_DFEE),
        (b"landscapelod_fn.dds", 0x51AE_855E_6C0F_EE80, 0x431F_D1D2_6C0F_E6EE, 0xD2D1_1F43_6C0F_E6EE),
        (b"x_n.dds", 0x8DDB_A9C5_7801_F8EE, 0x8DDB_A9C5_7803_DFEE, 0xC5A9_DB8D_7803_DFEE),
        (b"blade01.dds", 0x084B_FDFF_6207_B180, 0x5EE3_B33B_6207_B0B1, 0x3BB3_E35E_6207_B0B1),
        (b"blade01_n.dds", 0x084B_FDFF_6207_B1EE, 0x03BA_643C_6209_DFEE, 0x3C64_BA03_6209_DFEE),
    ];

    /// Folder, hash on the PC, on the Xbox 360.
    const XBOX_FOLDERS: [(&[u8], u64, u64); 3] = [
        (b"textures\\armor", 0x542C_B7EC_740E_6F72, 0xECB7_2C54_740E_6F72),
        (b"meshes\\clutter", 0x8948_BE78_6D0E_6572, 0x78BE_4889_6D0E_6572),
        (b"menus\\chargen", 0xBC00_217C_6D0D_656E, 0x7C21_00BC_6D0D_656E),
    ];

    /// File, hash on the PC, on the Xbox 360.
    const XBOX_FILES: [(&[u8], u64, u64); 12] = [
        (b"race_sex_menu.xml", 0xFD13_78D6_720D_6E75, 0xD678_13FD_720D_6E75),
        (b"idle.kf", 0x1711_E44D_6904_6CE5, 0x4DE4_1117_6904_6CE5),
        (b"amb_01.wav", 0xCD42_8208_E106_3031, 0x0882_42CD_E106_3031),
        (b"cuirass.nif", 0x0A91_25A0_6307_F373, 0xA025_910A_6307_F373),
        (b"noext", 0x006F_1BB6_6E05_7874, 0xB61B_6F00_6E05_7874),
        (b"darkbrotherhood__0007469a_1.fuz", 0x011F_11B0_641B_5F31, 0xB011_1F01_641B_5F31),
        (b"license.txt", 0xDC41_5D45_6C07_7365, 0x455D_41DC_6C07_7365),
        (b"tile_0000.png", 0xDDE2_85B8_7409_3030, 0xB885_E2DD_7409_3030),
        (b"background_bottom.png", 0xC41A_9477_6211_6F6D, 0x7794_1AC4_6211_6F6D),
        (b"readme.txt", 0xC7ED_DCEA_7206_6D65, 0xEADC_EDC7_7206_6D65),
        (b"character_0000.png", 0xD0E4_FC14_630E_3030, 0x14FC_E4D0_630E_3030),
        (b"tiles.png", 0x9437_807E_7405_6573, 0x7E80_3794_7405_6573),
    ];

    fn hex(hash: u64) -> String {
        hash.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn folders_hash_as_in_the_vectors() {
        for (folder, hash, xbox) in FOLDERS {
            let name = folder.escape_ascii();
            assert_eq!(Tes4.folder(folder), Some(hash), "{name}");
            assert_eq!(Tes4Ps3.folder(folder), Some(hash), "{name} on the PlayStation 3");
            assert_eq!(Tes4Xbox.folder(folder).map(hex).as_deref(), Some(xbox), "{name} on the Xbox 360");
        }
        for (folder, pc, xbox) in XBOX_FOLDERS {
            assert_eq!((Tes4.folder(folder), Tes4Xbox.folder(folder)), (Some(pc), Some(xbox)));
        }
    }

    #[test]
    fn files_hash_as_in_the_vectors() {
        for (file, hash, pc, xbox) in FILES {
            let name = file.escape_ascii();
            assert_eq!(Tes4.of(b"", file).file, hash, "{name}");
            assert_eq!(hex(Tes4.of(b"", file).file), pc, "{name} on disc");
            assert_eq!(hex(Tes4Xbox.of(b"", file).file), xbox, "{name} on the Xbox 360");
        }
        for (file, pc, xbox) in XBOX_FILES {
            assert_eq!((Tes4.of(b"", file).file, Tes4Xbox.of(b"", file).file), (pc, xbox));
            assert_eq!(Tes4Ps3.of(b"", file).file, pc, "only textures differ on the PlayStation 3");
        }
    }

    #[test]
    fn textures_of_the_playstation_drop_their_suffix() {
        for (file, ps3, pc, xbox) in PS3 {
            let hashes = [Tes4Ps3, Tes4, Tes4Xbox].map(|family| family.of(b"textures", file).file);
            assert_eq!(hashes, [ps3, pc, xbox], "{}", file.escape_ascii());
        }
    }

    #[test]
    fn names_too_long_for_the_packer_hash_to_nothing() {
        let hash =
            |stem: usize, extension: &[u8]| Tes4.of(b"", &[&vec![b'x'; stem][..], extension].concat()).file;
        assert_ne!(hash(259, b""), 0);
        assert_eq!(hash(260, b""), 0);
        assert_ne!(hash(4, b".123456789ABCDE"), 0);
        assert_eq!(hash(4, b".123456789ABCDEF"), 0);
        assert_eq!(Tes4.folder(&[b'x'; 260]), Tes4.folder(b"."));
        assert_ne!(Tes4.folder(&[b'x'; 259]), Tes4.folder(b"."));
    }

    #[test]
    fn a_length_that_overflows_its_byte_forgets_the_sum() {
        assert_eq!(Tes4.folder(&[b'x'; 257]), Some(0x7801_7878));
        assert_ne!(Tes4.folder(&[b'x'; 255]).unwrap() >> 32, 0);
    }

    #[test]
    fn an_extension_is_marked_by_its_first_four_bytes() {
        let low = |file: &[u8]| Tes4.of(b"", file).file & 0xFFFF_FFFF;
        assert_eq!(low(b"abcd.ddsx"), low(b"abcd.DDS"));
        assert_eq!(low(b"abcd.kfm"), low(b"abcd.txt"));
    }
}
