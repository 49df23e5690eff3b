//! Names of files for which the archive stores only hashes.

use bsafs::format::hash::{Family, Hash, placeholder_name};
use proptest::prelude::*;

#[test]
fn nameless_files_get_names_from_their_hashes() {
    let hash = Hash { folder: 0xAB, file: 0x1234_5678_0066_696E };
    let split = |family| placeholder_name(family, &hash, *b"nif\0");
    let whole = "123456780066696E".to_owned();
    assert_eq!(split(Family::Tes3), (None, whole.clone()));
    for family in [Family::Tes4, Family::Tes4Xbox, Family::Tes4Ps3] {
        assert_eq!(split(family), (Some("00000000000000AB".to_owned()), whole.clone()));
    }
    assert_eq!(split(Family::Fo4), (None, "000000AB_12345678.nif".to_owned()));
    assert_eq!(split(Family::None), (None, "nameless".to_owned()));
    let named = |extension| placeholder_name(Family::Fo4, &hash, extension).1;
    assert_eq!(named(*b"BGSM"), "000000AB_12345678.bgsm");
    assert_eq!(named([0; 4]), "000000AB_12345678");
    assert_eq!(named(*b"/\0.\xff"), "000000AB_12345678.%2F%00%2E%FF");
}

proptest! {
    #[test]
    fn placeholder_names_are_safe(
        folder in any::<u64>(),
        file in any::<u64>(),
        extension in any::<[u8; 4]>(),
    ) {
        for family in [Family::Tes3, Family::Tes4, Family::Fo4] {
            let (folder, file) = placeholder_name(family, &Hash { folder, file }, extension);
            for name in folder.iter().chain([&file]) {
                let is_safe = |byte: u8| byte.is_ascii_graphic() && !b"/\\".contains(&byte);
                prop_assert!(name.bytes().all(is_safe), "{name}");
                prop_assert!(!matches!(&name[..], "" | "." | "..") && name.len() < 64, "{name}");
            }
        }
    }
}
