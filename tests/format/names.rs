//! Stored names as components of paths: safe for paths and terminals, in any encoding, never too
//! long or too deep.

use std::borrow::Cow;

use bsafs::format::encoding::Encoding;
use bsafs::format::name::{COMPONENT_MAX, DEPTH_MAX, component, components, is_printable};
use proptest::prelude::*;

fn names(stored: &[u8], label: &str) -> Vec<String> {
    components(stored, Encoding::from_label(label).unwrap()).map(Cow::into_owned).collect()
}

fn assert_safe(name: &str) {
    assert!(!matches!(name, "" | "." | ".."), "{name:?}");
    assert!(!name.contains(|c: char| c == '/' || c == '\\' || !is_printable(c)), "{name:?}");
    assert!(name.len() <= COMPONENT_MAX, "{} bytes: {name:?}", name.len());
}

#[test]
fn ordinary_paths_are_split_at_either_separator_without_a_copy() {
    let encoding = Encoding::default();
    let found: Vec<_> = components(b"Textures\\armor/iron (old) 100%.dds", encoding).collect();
    assert_eq!(found, ["Textures", "armor", "iron (old) 100%.dds"]);
    assert!(found.iter().all(|name| matches!(name, Cow::Borrowed(_))), "an ordinary name was copied");
    assert!(matches!(component(b"iron.dds", encoding), Cow::Borrowed("iron.dds")));
}

#[test]
fn control_sequences_in_names_are_escaped() {
    assert_eq!(names(b"a\x1b]0;x\x07\x9b2Jb\x7f", "1252"), ["a%1B]0;x%07›2Jb%7F"]);
    assert_eq!(names(b"a\x9b2J\x81", "iso-8859-5"), ["a%9B2J%81"]);
    let text = "exe\u{202e}txt.nif \u{2067}\u{2028}\u{9b}";
    assert_eq!(names(text.as_bytes(), "utf-8"), ["exe%E2%80%AEtxt.nif %E2%81%A7%E2%80%A8%9B"]);
}

#[test]
fn no_name_leads_out_of_the_mount() {
    assert_eq!(names(b"../../etc\\passwd", "1252"), ["%2E%2E", "%2E%2E", "etc", "passwd"]);
    assert_eq!(names(b"/etc//.\\./passwd\\", "1252"), ["etc", "passwd"]);
    assert_eq!(names(b"...\\..a", "1252"), ["...", "..a"]);
    for nothing in [&b""[..], b"\\", b".", "./.\\".as_bytes()] {
        assert_eq!(names(nothing, "1252"), [""; 0]);
    }
}

#[test]
fn drive_letters_are_escaped() {
    assert_eq!(names(b"C:\\Games\\a:b", "1252"), ["C%3A", "Games", "a:b"]);
    assert_eq!(names(b"\\.\\c:foo", "1252"), ["c%3Afoo"]);
    assert_eq!(names(b"CC:\\x", "1252"), ["CC:", "x"]);
    assert_eq!(names(b"1:\\x", "1252"), ["1:", "x"]);
}

#[test]
fn control_characters_are_escaped() {
    assert_eq!(names(b"a\0b\nc\x1f\x7f.txt", "1252"), ["a%00b%0Ac%1F%7F.txt"]);
    assert_eq!(names(b"\0", "utf-8"), ["%00"]);
}

#[test]
fn separators_in_a_single_component_are_escaped() {
    let encoding = Encoding::default();
    assert_eq!(component(b"a/b\\c", encoding), "a%2Fb%5Cc");
    assert_eq!(component(b"", encoding), "_");
    assert_eq!(component(b".", encoding), "%2E");
    assert_eq!(component(b"..", encoding), "%2E%2E");
}

#[test]
fn names_are_decoded_with_the_given_code_page() {
    assert_eq!(names(b"Mar\xeda_F.fuz", "windows-1252"), ["Mar\u{ed}a_F.fuz"]);
    assert_eq!(names(b"\xc4\xee\xec", "cp1251"), ["\u{414}\u{43e}\u{43c}"]);
    assert_eq!(names(b"\xb3", "1250"), ["\u{142}"]);
    assert_eq!(names("na\u{ef}ve/\u{6771}".as_bytes(), "utf-8"), ["na\u{ef}ve", "\u{6771}"]);
}

#[test]
fn undefined_bytes_of_windows_1252_are_escaped() {
    assert_eq!(names(b"a\x81\x8d\x8f\x90\x9d", "1252"), ["a%81%8D%8F%90%9D"]);
    assert_eq!(names("a\u{81}\u{8d}\u{8f}\u{90}\u{9d}".as_bytes(), "utf-8"), ["a%81%8D%8F%90%9D"]);
}

#[test]
fn a_backslash_byte_inside_a_character_is_not_a_separator() {
    // U+8868 and U+80FD in Shift_JIS, a common example: both end in byte 0x5C, the backslash.
    assert_eq!(names(b"a\\\x95\x5c\x94\x5c\\b", "932"), ["a", "\u{8868}\u{80fd}", "b"]);
    assert_eq!(names(b"\xb1\\b", "shift_jis"), ["\u{ff71}", "b"], "a half-width kana must be one byte");
    assert_eq!(names(b"\xb5\x5cx", "1252"), ["\u{b5}", "x"]);
    assert_eq!(names(b"\x95/b", "932"), ["%95", "b"], "half a character must be escaped");
}

#[test]
fn bytes_that_are_invalid_in_the_encoding_are_escaped() {
    assert_eq!(names(b"a\xff\xc3(\xe6\x9d.txt", "utf-8"), ["a%FF%C3(%E6%9D.txt"]);
    assert_eq!(names(b"\xc0\xaf\xc0\xae", "utf-8"), ["%C0%AF%C0%AE"], "overlong separators must be escaped");
    assert_eq!(names(b"\xef\xbb\xbfx", "utf-8"), ["\u{feff}x"], "a byte order mark must stay in the name");
    assert_eq!(
        names(b"\x81\x30\x81 ", "gb18030"),
        ["%810%81 "],
        "the bytes after an incomplete character were lost"
    );
    assert_eq!(names(b"\xd2", "1253"), ["%D2"]);
}

#[test]
fn overlong_names_are_cut_but_stay_distinct_and_keep_their_extension() {
    let just = [&[b'a'; 251][..], b".dds"].concat();
    assert_eq!(names(&just, "1252"), [String::from_utf8(just.clone()).unwrap()]);
    let one = names(&[&[b'a'; 252][..], b".dds"].concat(), "1252").remove(0);
    assert_eq!(one.len(), 255);
    assert!(one.starts_with("aaaa") && one.ends_with(".dds"), "{one}");
    assert_eq!(one.rfind('~'), Some(242));
    let other = names(&[&[b'a'; 252][..], b"b.dds"].concat(), "1252").remove(0);
    assert_ne!(one, other);
    let accents = names(&[b'\xe9'; 200], "1252").remove(0);
    assert_eq!(accents.len(), 255, "a cut name must be filled up to 255 bytes");
    assert!(accents.starts_with("\u{e9}\u{e9}") && accents.contains("\u{e9}~"), "{accents}");
}

#[test]
fn an_overlong_extension_is_not_kept() {
    for (tail, kept) in
        [(".bsa", true), (".dlstrings", true), (".", false), (". an extension no more", false)]
    {
        let name = names(&[&[b'a'; 300][..], tail.as_bytes()].concat(), "1252").remove(0);
        assert_eq!(name.ends_with(tail), kept, "{name}");
    }
    let escaped = names(&[&[b'a'; 300][..], b".\x01\x02\x03\x04\x05\x06"].concat(), "1252").remove(0);
    assert!(!escaped.contains('.'), "{escaped}");
}

#[test]
fn overly_deep_paths_end_in_a_single_component() {
    let path = |depth: usize| (0..depth).map(|n| format!("{n}")).collect::<Vec<_>>().join("\\");
    let last = |path: &str| {
        let found = names(path.as_bytes(), "1252");
        (found.len(), found.last().cloned().unwrap())
    };
    assert_eq!(last(&path(64)), (64, "63".to_owned()));
    assert_eq!(last(&(path(64) + "\\.\\")), (64, "63".to_owned()));
    assert_eq!(last(&(path(66) + "//../a.dds")), (64, "63%2F64%2F65%2F%2E%2E%2Fa.dds".to_owned()));
    let (count, deepest) = last(&(path(30_000) + "/a.dds"));
    assert_eq!((count, deepest.len()), (64, 255));
    assert!(deepest.starts_with("63%2F64%2F") && deepest.ends_with(".dds"), "{deepest}");
    assert_ne!(last(&(path(30_000) + "/b.dds")).1, deepest);
}

const LABELS: [&str; 10] =
    ["1252", "1251", "1253", "utf-8", "932", "936", "gb18030", "949", "950", "x-user-defined"];

proptest! {
    #[test]
    fn names_of_any_bytes_are_safe_and_deterministic(
        stored in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..1500),
            proptest::collection::vec(
                proptest::sample::select(&b"a.\\/:\0\x1f\x7f\x81\x95\xe9\xf0\x9f"[..]),
                0..400,
            ),
        ],
        label in proptest::sample::select(&LABELS[..]),
    ) {
        let encoding = Encoding::from_label(label).unwrap();
        let found: Vec<_> = components(&stored, encoding).collect();
        prop_assert!(found.len() <= DEPTH_MAX);
        prop_assert_eq!(&found, &components(&stored, encoding).collect::<Vec<_>>());
        for name in &found {
            assert_safe(name);
        }
        let whole = component(&stored, encoding);
        assert_safe(&whole);
        prop_assert_eq!(&whole, &component(&stored, encoding));
    }

    #[test]
    fn ordinary_text_does_not_change(name in "[^\\x00-\\x1f\\x7f/\\\\.][^\\x00-\\x1f\\x7f/\\\\]{0,60}") {
        let name = name.replace(|c| !is_printable(c), "_");
        prop_assert_eq!(component(name.as_bytes(), Encoding::UTF_8), &*name);
    }
}
