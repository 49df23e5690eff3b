//! Steam's list of shortcuts, well-formed and damaged.

use bsafs::game::{BinaryValue, visit_binary_vdf};

/// A list with one shortcut, as Steam writes it.
const SHORTCUT: &[u8] = b"\0shortcuts\0\x000\0\x02appid\0\xef\xbe\xad\xde\x01AppName\0Mod Organizer\0\
    \x01Exe\0\"/mo2/ModOrganizer.exe\"\0\x07LastPlay\0\x01\0\0\0\0\0\0\0\x00tags\0\x08\x08\x08\x08";

/// All texts and numbers of a list, and the error.
fn visited(bytes: &[u8]) -> (Vec<String>, Result<(), String>) {
    let mut values = Vec::new();
    let result = visit_binary_vdf(bytes, |keys, value| {
        let keys: Vec<_> = keys.iter().map(|key| String::from_utf8_lossy(key)).collect();
        values.push(match value {
            BinaryValue::Text(text) => format!("{}={}", keys.join("/"), String::from_utf8_lossy(text)),
            BinaryValue::Number(number) => format!("{}={number:#x}", keys.join("/")),
        });
    });
    (values, result)
}

#[test]
fn texts_and_numbers_of_a_shortcut_are_visited_with_their_keys() {
    let (values, result) = visited(SHORTCUT);
    let expected = [
        "shortcuts/0/appid=0xdeadbeef",
        "shortcuts/0/AppName=Mod Organizer",
        "shortcuts/0/Exe=\"/mo2/ModOrganizer.exe\"",
    ];
    assert_eq!((values.iter().map(String::as_str).collect::<Vec<_>>(), result), (expected.to_vec(), Ok(())));
}

#[test]
fn a_list_that_is_cut_off_anywhere_is_an_error_and_keeps_what_came_before() {
    let whole = visited(SHORTCUT).0;
    // The last byte ends the list itself, and some versions of Steam leave it out.
    for end in 1..SHORTCUT.len() - 1 {
        let (values, result) = visited(&SHORTCUT[..end]);
        assert!(result.is_err(), "{end}");
        assert!(whole.starts_with(&values), "{end}: {values:?}");
    }
    assert_eq!(visited(b""), (vec![], Ok(())));
    assert!(visited(b"\x09key\0").1.unwrap_err().contains("unknown kind 9"));
    assert!(visited(&b"\0a\0".repeat(100)).1.unwrap_err().contains("more than 32 levels"));
}
