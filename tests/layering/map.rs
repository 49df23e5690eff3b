//! The map of the code, `src/ARCHITECTURE.md`: what it names exists.

use std::fs;

use super::{assert_none, root, sources};

#[test]
fn every_file_and_function_that_the_map_names_exists() {
    let map = fs::read_to_string(root().join("src/ARCHITECTURE.md")).unwrap();
    // Without the drawing and code.
    let prose: String = map.split("```").step_by(2).collect();
    let code: String = sources().into_values().collect();
    let exists = |name: &str| {
        let is_path = name.contains('/') || name.ends_with(".rs") || name.ends_with(".md");
        let is_word = |text: &str| text.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
        match name.rsplit_once("::") {
            _ if name == "mod.rs" || name.starts_with("/dev/") || name.contains(' ') => true,
            _ if is_path => root().join("src").join(name).exists() || root().join(name).exists(),
            Some((_, item)) => {
                !is_word(item) || ["fn", "struct"].iter().any(|it| code.contains(&format!("{it} {item}")))
            }
            None if is_word(name) && name.contains('_') && name.chars().all(|it| !it.is_uppercase()) => {
                code.contains(&format!("fn {name}"))
            }
            None => true,
        }
    };
    let named: Vec<&str> = prose.split('`').skip(1).step_by(2).collect();
    assert!(named.len() > 200, "{}", named.len());
    assert_none(&named.into_iter().filter(|name| !exists(name)).map(str::to_owned).collect::<Vec<_>>());
}
