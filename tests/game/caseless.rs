//! Comparing names in any case, as games do.

use bsafs::game::caseless::{fold, same};

#[test]
fn letters_outside_ascii_match_in_any_case() {
    assert!(same("Größe.ESP", "grÖße.esp"));
    assert!(same("Дом", "дОМ"));
    assert!(!same("straße", "STRASSE"));
    assert!(!same("a", "ab"));
    assert_eq!(fold("Mod - A.bsa"), "MOD - A.BSA");
}
