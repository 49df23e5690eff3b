//! YAML: values with the keys that lead to them, and documents that would never end.

use bsafs::game::visit_yaml;

fn values(text: &str) -> (Vec<(String, String)>, Result<(), String>) {
    let mut values = Vec::new();
    let result = visit_yaml(text, |keys, value| values.push((keys.join("/"), value.to_owned())));
    (values, result)
}

#[test]
fn each_value_is_visited_with_its_path_of_keys() {
    let text = "game:\n  exe: '/a b/Game.exe'\n  args: [x, y]\n  other: &a {k: v}\n  again: *a\n  \
                prefix: /p\nsystem: {}\nlist:\n- name: n\n- name: m\n";
    let (found, result) = values(text);
    let found: Vec<_> = found.iter().map(|(keys, value)| (keys.as_str(), value.as_str())).collect();
    let expected = [
        ("game/exe", "/a b/Game.exe"),
        ("game/args", "x"),
        ("game/args", "y"),
        ("game/other/k", "v"),
        ("game/prefix", "/p"),
        ("list/name", "n"),
        ("list/name", "m"),
    ];
    assert_eq!(found, expected);
    assert_eq!(result, Ok(()));
}

#[test]
fn deep_circular_and_damaged_documents_are_handled() {
    assert!(values(&"[".repeat(200)).1.unwrap_err().contains("levels"));
    assert!(values(&"- ".repeat(1 << 16)).1.is_err());
    assert!(values(&"{a: ".repeat(1 << 16)).1.is_err());
    assert!(values("? [a]\n: b").1.unwrap_err().contains("not text"));
    assert_eq!(values("a: &a [*a, b]").0, [("a".to_owned(), "b".to_owned())]);
    assert!(values("a: b\nc: \"").1.is_err());
    assert_eq!(values("plain").0, [(String::new(), "plain".to_owned())]);
    assert_eq!(values("").0, []);
}

#[test]
fn nested_aliases_are_not_expanded() {
    let mut text = "a: &a [x, x, x, x]\n".to_owned();
    for level in 'b'..='z' {
        let below = char::from_u32(level as u32 - 1).unwrap();
        text += &format!("{level}: &{level} [*{below}, *{below}, *{below}, *{below}]\n");
    }
    assert_eq!(values(&text).0.len(), 4);
}
