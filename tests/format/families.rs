//! Hashes of every family: they ignore case and the kind of separator. A folder alone hashes like
//! the folder of a file.

use bsafs::format::hash::{Family, xbox};
use proptest::prelude::*;

const FAMILIES: [Family; 5] = [Family::Tes3, Family::Tes4, Family::Tes4Xbox, Family::Tes4Ps3, Family::Fo4];

#[test]
fn the_xbox_byte_order_applied_twice_changes_nothing() {
    assert_eq!(xbox(0x059F_8968_6307_F3F3), 0x6889_9F05_6307_F3F3);
    assert_eq!(xbox(xbox(0x0123_4567_89AB_CDEF)), 0x0123_4567_89AB_CDEF);
}

#[test]
fn the_split_into_folder_and_file_does_not_change_the_hash() {
    for family in FAMILIES {
        let whole = family.of(b"textures\\armor", b"iron.dds");
        assert_eq!(family.of(b"", b"Textures/Armor/Iron.DDS"), whole, "{family:?}");
        assert_eq!(family.of(b"/Textures/", b"\\armor\\iron.dds/"), whole, "{family:?}");
        assert_ne!(family.of(b"textures", b"iron.dds"), whole, "{family:?}");
    }
}

#[test]
fn a_folder_alone_hashes_like_the_folder_of_a_file() {
    for family in FAMILIES {
        for folder in [&b""[..], b".", b"a", b"Meshes/Clutter\\"] {
            let of_file = (family != Family::Tes3).then(|| family.of(folder, b"x.nif").folder);
            assert_eq!(family.folder(folder), of_file, "{family:?}");
        }
    }
}

proptest! {
    #[test]
    fn hashes_ignore_case_and_the_kind_of_separator(
        folder in proptest::collection::vec(any::<u8>(), 0..300),
        file in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let swap = |bytes: &[u8]| -> Vec<u8> {
            bytes.iter().map(|&byte| match byte {
                b'/' => b'\\',
                b'\\' => b'/',
                _ if byte.is_ascii_lowercase() => byte.to_ascii_uppercase(),
                _ => byte.to_ascii_lowercase(),
            }).collect()
        };
        for family in FAMILIES {
            prop_assert_eq!(family.of(&folder, &file), family.of(&swap(&folder), &swap(&file)));
            prop_assert_eq!(family.folder(&folder), family.folder(&swap(&folder)));
        }
    }
}
