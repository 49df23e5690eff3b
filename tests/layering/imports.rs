//! The imports of a source file, read from its text: every path that begins with `crate`, `super` or `self`, in `use`
//! and in expressions, groups taken apart. Comments and literals are skipped.

/// A path from the crate's root that a file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// Modules, then perhaps an item.
    pub(super) path: Vec<String>,
    /// Whether it stands under `#[cfg(test)]`.
    pub(super) is_test: bool,
}

/// The imports of a module's file in their order. Names of other crates and of the module's own children, which stand
/// without `crate`, `super` or `self`, are left out.
pub(super) fn imports(module: &[String], text: &str) -> Vec<Import> {
    let code = code_of(text);
    let tokens = tokens(&code);
    let mut found = Vec::new();
    let mut scope = module.to_vec();
    // Braces that are open, and how many were when each inline module began.
    let (mut depth, mut inline) = (0, Vec::new());
    let (mut at, mut test_end) = (0, 0);
    while at < tokens.len() {
        match &tokens[at..] {
            ["#", "[", "cfg", "(", "test", ")", "]", ..] => {
                at += 7;
                test_end = test_end.max(item_end(&tokens, at));
                continue;
            }
            ["mod", name, "{", ..] => {
                inline.push(depth);
                scope.push((*name).to_owned());
                depth += 1;
                at += 3;
                continue;
            }
            ["{", ..] => depth += 1,
            ["}", ..] => {
                depth -= 1;
                if inline.last() == Some(&depth) {
                    inline.pop();
                    scope.pop();
                }
            }
            // `pub(in path)` is no import.
            ["pub", "(", "in", ..] => at += 3,
            ["crate" | "super" | "self", "::", ..] => {
                let mut paths = Vec::new();
                let is_test = at < test_end;
                at = read_paths(&tokens, at, scope.clone(), &mut paths);
                found.extend(paths.into_iter().map(|path| Import { path, is_test }));
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Reads the path at `at` and, where it ends with a group, all paths of the group; returns where they end. `prefix` is
/// what `self` means there: the module, or what stands before the group.
fn read_paths(
    tokens: &[&str],
    mut at: usize,
    mut prefix: Vec<String>,
    found: &mut Vec<Vec<String>>,
) -> usize {
    loop {
        match tokens.get(at).copied() {
            Some("crate") => prefix.clear(),
            Some("super") => drop(prefix.pop()),
            Some("self" | "*") => {}
            Some("{") => {
                at += 1;
                while let Some(&token) = tokens.get(at).filter(|token| **token != "}") {
                    at = match token {
                        // The new name is no path.
                        "as" => at + 2,
                        _ if is_name(token) || token == "*" => read_paths(tokens, at, prefix.clone(), found),
                        _ => at + 1,
                    };
                }
                return at + 1;
            }
            Some(word) if is_name(word) => prefix.push(word.to_owned()),
            _ => break,
        }
        at += 1;
        if tokens.get(at) != Some(&"::") {
            break;
        }
        at += 1;
    }
    found.push(prefix);
    at
}

/// Where the item that begins at `at` ends: behind its braces or its semicolon.
fn item_end(tokens: &[&str], at: usize) -> usize {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match *token {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth < 0 || (depth == 0 && matches!(*token, "}" | ";")) {
            return index + 1;
        }
    }
    tokens.len()
}

/// Words, `::`, and all other characters one by one.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let len = match first {
            _ if is_word(first) => rest.find(|it| !is_word(it)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(len);
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// The text with each comment and each literal replaced by a space.
fn code_of(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = comment_or_literal(rest);
        code.push(if skipped == 0 { first } else { ' ' });
        rest = &rest[skipped.max(first.len_utf8())..];
    }
    code
}

/// How many bytes the comment, string or character takes that the text begins with; 0 if it begins with none.
fn comment_or_literal(text: &str) -> usize {
    let to = |end: Option<usize>| end.unwrap_or(text.len());
    if text.starts_with("//") {
        return to(text.find('\n'));
    }
    if text.starts_with("/*") {
        return to(text.find("*/").map(|at| at + 2));
    }
    if let Some(raw) = text.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let closing = format!("\"{}", "#".repeat(hashes));
            let from = 2 + hashes;
            return to(text[from..].find(&closing).map(|at| from + at + closing.len()));
        }
    }
    let mut characters = text.char_indices();
    match characters.next() {
        Some((_, '"')) => {
            let mut is_escaped = false;
            let end = characters.find(|(_, it)| {
                let is_end = *it == '"' && !is_escaped;
                is_escaped = *it == '\\' && !is_escaped;
                is_end
            });
            to(end.map(|(at, _)| at + 1))
        }
        Some((_, '\'')) => match (characters.next(), characters.next()) {
            (Some((_, '\\')), Some(_)) => to(characters.find(|(_, it)| *it == '\'').map(|(at, _)| at + 1)),
            (Some(_), Some((at, '\''))) => at + 1,
            // A lifetime.
            _ => 0,
        },
        _ => 0,
    }
}

/// The imports of a file `src/a/b.rs`, in one line; those of tests have a `?`.
fn listed(text: &str) -> String {
    let module = ["a".to_owned(), "b".to_owned()];
    let name = |it: Import| it.path.join("::") + if it.is_test { "?" } else { "" };
    imports(&module, text).into_iter().map(name).collect::<Vec<_>>().join(" ")
}

#[test]
fn imports_are_read_in_groups_over_many_lines_and_in_expressions() {
    assert_eq!(
        listed("use super::x;\nuse super::{self, y::{Y, Z as W},\n  z::*};"),
        "a::x a a::y::Y a::y::Z a::z"
    );
    assert_eq!(listed("use super::super::c::{self, D};\nuse crate::{e::E, f};"), "c c::D e::E f");
    assert_eq!(listed("use self::inner::I; use {super::x, std::fs};"), "a::b::inner::I a::x");
    assert_eq!(listed("fn f(g: super::G<crate::H>) { super::x::f::<u8>(self.at); }"), "a::G H a::x::f");
    assert_eq!(listed("pub(super) fn f() {} pub(in crate::a) fn g() {} use std::fs; use inner::J;"), "");
}

#[test]
fn imports_in_comments_and_literals_are_none() {
    assert_eq!(listed("// super::a\n/* super::b */ /// [`super::c`]\nuse super::d;"), "a::d");
    assert_eq!(
        listed(r##"f("super::a \\\" super::b", r#"super::c "d" super::e"#, b"super::f"); use super::g;"##),
        "a::g"
    );
    assert_eq!(listed(r"f('{', '\'', '\u{1F}', 'é'); fn g<'a>(x: &'a super::X) {}"), "a::X");
}

#[test]
fn imports_of_inline_modules_are_seen_from_there_and_those_of_tests_are_marked() {
    let source = "
        mod inner { use super::super::x; }
        use super::y;
        #[cfg(test)]
        mod tests { use super::*; use super::super::z; fn f(a: [u8; 3]) {} }
        #[cfg(test)]
        use super::{u, v};
        use super::w;
    ";
    assert_eq!(listed(source), "a::x a::y a::b? a::z? a::u? a::v? a::w");
}
