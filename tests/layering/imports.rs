//! Finds the imports of a source file: every path that begins with `crate`, `super` or `self`, in
//! `use`, expressions, attributes and macros. Groups are taken apart.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A path that a file names, from the crate's root on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// Modules, and perhaps an item.
    pub(super) path: Vec<String>,
    /// Whether the path is under `#[cfg(test)]`.
    pub(super) is_test: bool,
}

/// The imports of a module's file, in order. Names of other crates and of the module's own children
/// are left out, because they begin without `crate`, `super` or `self`.
pub(super) fn imports(module: &[String], text: &str) -> Vec<Import> {
    let mut found = Vec::new();
    find(text.parse().unwrap(), &mut module.to_vec(), false, &mut found);
    found
}

/// Finds the imports among the tokens of the module `scope`.
fn find(tokens: TokenStream, scope: &mut Vec<String>, is_test: bool, found: &mut Vec<Import>) {
    let tokens = Vec::from_iter(tokens);
    let mut rest = &tokens[..];
    // True from `#[cfg(test)]` to the end of its item.
    let mut is_test_item = is_test;
    while let [first, after @ ..] = rest {
        match (first, &*word(first), after) {
            (_, "#", [TokenTree::Group(group), ..])
                if group.to_string().replace(' ', "") == "[cfg(test)]" =>
            {
                is_test_item = true;
            }
            (_, "mod", [name, TokenTree::Group(body), after @ ..]) => {
                scope.push(word(name));
                find(body.stream(), scope, is_test_item, found);
                scope.pop();
                is_test_item = is_test;
                rest = after;
                continue;
            }
            // `pub(in path)` is no import.
            (_, "pub", [TokenTree::Group(path), after @ ..]) if path.to_string().starts_with("(in ") => {
                rest = after;
                continue;
            }
            (_, "crate" | "super" | "self", [a, b, ..]) if word(a) == ":" && word(b) == ":" => {
                let mut paths = Vec::new();
                rest = read_paths(rest, scope.clone(), &mut paths);
                found.extend(paths.into_iter().map(|path| Import { path, is_test: is_test_item }));
                continue;
            }
            (_, ";", _) => is_test_item = is_test,
            (TokenTree::Group(group), ..) => {
                find(group.stream(), scope, is_test_item, found);
                is_test_item &= is_test || group.delimiter() != Delimiter::Brace;
            }
            _ => {}
        }
        rest = after;
    }
}

/// Reads the path at the beginning of the tokens, or all paths of the group at its end. Returns the
/// tokens after it. `prefix` is what `self` means: the module, or the path before the group.
fn read_paths<'a>(
    mut tokens: &'a [TokenTree],
    mut prefix: Vec<String>,
    found: &mut Vec<Vec<String>>,
) -> &'a [TokenTree] {
    while let [first, after @ ..] = tokens {
        match (first, &*word(first)) {
            (TokenTree::Group(group), _) => {
                let group = Vec::from_iter(group.stream());
                for path in group.split(|it| word(it) == ",").filter(|path| !path.is_empty()) {
                    read_paths(path, prefix.clone(), found);
                }
                return after;
            }
            (_, "crate") => prefix.clear(),
            (_, "super") => drop(prefix.pop()),
            (_, "self" | "*") => {}
            (TokenTree::Ident(_), name) => prefix.push(name.to_owned()),
            // Arguments of a generic item end the path.
            _ => break,
        }
        tokens = after;
        match tokens {
            [a, b, after @ ..] if word(a) == ":" && word(b) == ":" => tokens = after,
            _ => break,
        }
    }
    found.push(prefix);
    tokens
}

/// Names in a file that `::` follows, and the first names of its `use` items: other crates are among
/// them.
pub(super) fn roots(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    find_roots(text.parse().unwrap(), &mut found);
    found
}

fn find_roots(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let tokens = Vec::from_iter(tokens);
    for (at, token) in tokens.iter().enumerate() {
        let after = |n| tokens.get(at + n).map(word).unwrap_or_default();
        let is_imported = at > 0 && word(&tokens[at - 1]) == "use";
        match token {
            TokenTree::Group(group) => find_roots(group.stream(), found),
            TokenTree::Ident(name) if is_imported || after(1) == ":" && after(2) == ":" => {
                found.insert(name.to_string());
            }
            _ => {}
        }
    }
}

/// Names of the types that a file defines with `pub` or `pub(crate)`.
pub(super) fn public_types(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    find_types(text.parse().unwrap(), &mut found);
    found
}

fn find_types(tokens: TokenStream, found: &mut Vec<String>) {
    let mut is_public = false;
    let mut kind = String::new();
    for token in tokens {
        match (&token, &*word(&token)) {
            (_, "pub") => is_public = true,
            (TokenTree::Group(group), _) if is_public && group.to_string() == "(crate)" => {}
            (TokenTree::Group(group), _) => {
                find_types(group.stream(), found);
                is_public = false;
            }
            (_, name) if is_public && ["struct", "enum", "union", "trait", "type"].contains(&&*kind) => {
                found.push(name.to_owned());
                is_public = false;
            }
            (TokenTree::Ident(_), _) => {}
            _ => is_public = false,
        }
        kind = word(&token);
    }
}

/// A token as text, or an empty text for a group or a literal.
fn word(token: &TokenTree) -> String {
    match token {
        TokenTree::Ident(_) | TokenTree::Punct(_) => token.to_string(),
        TokenTree::Group(_) | TokenTree::Literal(_) => String::new(),
    }
}

/// The imports of a file `src/a/b.rs` in one line. A `?` marks those of tests.
fn listed(text: &str) -> String {
    let module = ["a".to_owned(), "b".to_owned()];
    let name = |it: Import| it.path.join("::") + if it.is_test { "?" } else { "" };
    imports(&module, text).into_iter().map(name).collect::<Vec<_>>().join(" ")
}

#[test]
fn imports_are_found_in_groups_and_expressions() {
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
fn imports_in_comments_and_literals_are_ignored() {
    assert_eq!(listed("// super::a\n/* super::b */ /// [`super::c`]\nuse super::d;"), "a::d");
    assert_eq!(
        listed(r##"f("super::a \\\" super::b", r#"super::c "d" super::e"#, b"super::f"); use super::g;"##),
        "a::g"
    );
    assert_eq!(listed(r"f('{', '\'', '\u{1F}', 'é'); fn g<'a>(x: &'a super::X) {}"), "a::X");
}

#[test]
fn imports_in_inline_modules_and_tests_are_resolved_and_marked() {
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

#[test]
fn names_before_colons_and_after_use_are_roots() {
    let roots = |text| roots(text).into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(roots("use a::{b, c::D}; use e; fn f(g: h::I) { #[j::k] m!(l::<n::O>()); }"), "a c e h j l n");
    assert_eq!(roots("// a::b\nfn c(d: E) { \"f::g\"; ::h::I }"), "h");
}

#[test]
fn only_public_types_are_found_also_in_modules_and_macros() {
    let source = "pub struct A<T>(T); struct B; pub(crate) enum C {} pub(super) type F = B; \
                  mod inner { pub unsafe trait D {} } m! { pub type E = u8; }";
    assert_eq!(public_types(source), ["A", "C", "D", "E"]);
}
