//! Encodings are found by the labels that users type.

use bsafs::format::encoding::Encoding;

#[test]
fn encodings_are_found_by_common_labels() {
    for (label, name) in [
        ("1250", "windows-1250"),
        ("cp1251", "windows-1251"),
        (" Windows-1252 ", "windows-1252"),
        ("CP932", "Shift_JIS"),
        ("936", "GBK"),
        ("949", "EUC-KR"),
        ("950", "Big5"),
        ("874", "windows-874"),
        ("cp866", "IBM866"),
        ("65001", "UTF-8"),
        ("utf8", "UTF-8"),
    ] {
        let encoding = Encoding::from_label(label);
        assert_eq!(encoding.map(Encoding::name), Some(name), "{label}");
        assert_eq!(Encoding::from_label(name), encoding);
    }
    for label in ["", "cp", "1337", "klingon", "utf-16", "utf-16be", "iso-2022-jp", "replacement"] {
        assert_eq!(Encoding::from_label(label), None, "{label}");
    }
    assert_eq!(Encoding::default().name(), "windows-1252");
}
