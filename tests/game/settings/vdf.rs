//! VDF, Steam's text format: values with the keys that lead to them.

use bsafs::game::visit_vdf;

fn values(text: &str) -> (Vec<(String, String)>, Result<(), String>) {
    let mut values = Vec::new();
    let result = visit_vdf(text, |keys, value| values.push((keys.join("/"), value.to_owned())));
    (values, result)
}

#[test]
fn each_value_is_visited_with_its_path_of_keys() {
    let text = "\u{feff}// comment\n\"a\"\r\n{\n\t\"path\"\t\t\"/a \\\"b\\\"\\\\c\"\n\
                \t1 two [$WIN32]\n\"e\" { }\n\"s\"{\"x\"\"\"}}\n\0";
    let (found, result) = values(text);
    let found: Vec<_> = found.iter().map(|(keys, value)| (keys.as_str(), value.as_str())).collect();
    assert_eq!(found, [("a/path", "/a \"b\"\\c"), ("a/1", "two"), ("a/s/x", "")]);
    assert_eq!(result, Ok(()));
}

#[test]
fn damaged_text_is_an_error_after_the_preceding_values() {
    for (text, what) in [
        ("a { b c", "last brace is not closed"),
        ("a b { c d }", "without a key"),
        ("a b }", "no opening brace"),
        ("a { b }", "no opening brace"),
        ("a b \"c", "quote"),
        ("a b \"c\\", "quote"),
        ("a b [$X", "condition"),
    ] {
        let (found, result) = values(text);
        let error = result.unwrap_err();
        assert!(error.contains(what), "{text}: {error}");
        assert!(found.len() == 1 || text == "a { b }", "{text}: {found:?}");
    }
}

#[test]
fn a_million_levels_are_refused() {
    let (found, result) = values(&"a{".repeat(1 << 20));
    assert_eq!(found, []);
    assert!(result.unwrap_err().contains("levels"));
    assert!(values(&"{".repeat(1 << 20)).1.is_err());
    assert!(values(&"\"".repeat((1 << 20) + 1)).1.is_err());
}
