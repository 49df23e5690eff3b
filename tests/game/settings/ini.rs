//! INI files as the games read them: sections, keys, comments and quotes.

use bsafs::game::{Ini, IniFiles};

#[test]
fn the_first_of_several_equal_sections_and_keys_counts() {
    let ini = Ini::parse(b"k=0\r\n[A]\r\nk=1\r\nk=2\r\n[b]\nK=3\n[a]\nonly=4\n");
    assert_eq!((ini.get("a", "K"), ini.get("B", "k"), ini.get("A", "only")), (Some("1"), Some("3"), None));
    assert!(ini.is_repeated("A") && !ini.is_repeated("B"));
}

#[test]
fn a_section_name_ends_at_the_last_bracket() {
    let ini = Ini::parse(b" [a]b]  rest of line\nk=1\n[open\nk2=2\n[x=y\n");
    assert_eq!(
        (ini.get("a]b", "k"), ini.get("a]b", "k2"), ini.get("a]b", "[x")),
        (Some("1"), Some("2"), Some("y"))
    );
}

#[test]
fn comments_are_ordinary_keys_and_never_end_a_value() {
    let ini = Ini::parse(b"[s]\n;k=0\n#k=1\nk=2 ; not a comment\nflag\n");
    assert_eq!(ini.get("s", "k"), Some("2 ; not a comment"));
    assert_eq!((ini.get("s", ";k"), ini.get("s", "none")), (Some("0"), None));
}

#[test]
fn a_key_without_an_equals_sign_hides_a_later_one_with_a_value() {
    let ini = Ini::parse(b"[s]\n \r\n  flag \nflag=1\nother=2\nother\n");
    assert_eq!((ini.get("s", "FLAG"), ini.get("s", "other"), ini.get("s", "")), (Some(""), Some("2"), None));
}

#[test]
fn blanks_quotes_and_control_z_are_removed() {
    let ini = Ini::parse(b"[s]\n\t a =\t\"x, 'y' \" \r\nb='\"q\"'\nc=\"open\nd=\ne=\"\n\x1a");
    assert_eq!(
        (ini.get("s", "A"), ini.get("s", "b"), ini.get("s", "c")),
        (Some("x, 'y' "), Some("\"q\""), Some("\"open"))
    );
    assert_eq!((ini.get("s", "d"), ini.get("s", "e")), (Some(""), Some("\"")));
    assert_eq!(Ini::parse(b"[s]\rk=1\rl=2").get("s", "l"), Some("2"), "lines that end in CR were not split");
}

#[test]
fn a_later_file_replaces_a_value_even_with_an_empty_one() {
    let mut files = IniFiles::default();
    files.push("low.ini", Ini::parse(b"[a]\nx=1\ny=2\nn=1\n"));
    files.push("high.ini", Ini::parse(b"[A]\nX=\n"));
    assert_eq!(files.get("a", "x"), Some(("", "high.ini")));
    assert_eq!(files.get("a", "y"), Some(("2", "low.ini")));
    assert!(files.is_set("a", "n", false) && !files.is_set("a", "x", true) && files.is_set("a", "z", true));
}

#[test]
fn many_sections_are_parsed_quickly() {
    let text: String = (0..200_000).map(|n| format!("[{}]\nk={n}\n", n % 100_000)).collect();
    assert_eq!(Ini::parse(text.as_bytes()).get("99999", "k"), Some("99999"));
}

#[test]
fn a_byte_order_mark_selects_the_encoding_of_an_ini_file() {
    let utf16: Vec<u8> = "\u{feff}[A]\nx=ö".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (bytes, expected) in [
        (&b"[A]\nx=gr\xf6\xdfe"[..], "größe"),
        (b"\xef\xbb\xbf[A]\nx=gr\xc3\xb6\xc3\x9fe", "größe"),
        (&utf16, "ö"),
    ] {
        assert_eq!(Ini::parse(bytes).get("A", "x"), Some(expected));
    }
}
