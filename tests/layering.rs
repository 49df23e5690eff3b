//! The house's plan, enforced: which part of the crate may name which (DESIGN.md section 2).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Each part with the parts that it may name.
const ALLOWED: [(&str, &[&str]); 8] = [
    ("read", &[]),
    ("source", &[]),
    ("texture", &[]),
    ("format", &["read", "texture"]),
    ("tree", &["format"]),
    ("content", &["format", "source"]),
    ("fs", &["tree", "content", "format"]),
    ("cli", &["read", "source", "texture", "format", "tree", "content", "fs"]),
];

/// Files of the source that belong to no part: the map and the program.
const OUTSIDE: [&str; 2] = ["lib.rs", "main.rs"];

#[test]
fn no_part_names_another_that_it_may_not() {
    let mut wrong = Vec::new();
    for file in sources() {
        let part = part_of(&file);
        if OUTSIDE.contains(&part.as_str()) {
            continue;
        }
        let allowed = ALLOWED
            .iter()
            .find(|(name, _)| *name == part)
            .unwrap_or_else(|| panic!("{part} is not in the plan"))
            .1;
        for named in parts_named(&fs::read_to_string(&file).unwrap()) {
            if named != part && !allowed.contains(&named.as_str()) {
                wrong.push(format!("{} names crate::{named}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn imports_in_groups_are_seen() {
    let source = "use crate::{\n  fs::Fs,\n  tree::{Tree, NodeId},\n};\nfn f() { crate::cli::main() }\n// crate::read is prose\n";
    assert_eq!(parts_named(source), BTreeSet::from(["cli".into(), "fs".into(), "tree".into()]));
}

#[test]
fn unsafe_stands_in_one_file() {
    for file in sources() {
        let text = fs::read_to_string(&file).unwrap();
        let lines =
            text.lines().filter(|line| line.contains("unsafe ") && !line.trim_start().starts_with("//"));
        let found = lines.filter(|line| line.contains("unsafe {") || line.contains("unsafe fn")).count();
        assert!(found == 0 || part_of(&file) == "source", "{} has unsafe code", file.display());
    }
}

#[test]
fn every_file_says_what_it_is_and_is_short_enough_to_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in sources().into_iter().chain(rust_files(&root.join("tests"))) {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("//!"), "{} does not open with what it is", file.display());
        let lines = text.lines().count();
        assert!(lines <= 600, "{} has {lines} lines: which two things live there?", file.display());
    }
}

fn sources() -> Vec<PathBuf> {
    let files = rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(files.len() > 20, "the source was not found");
    files
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The part of the crate that a file belongs to.
fn part_of(file: &Path) -> String {
    let within = file.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
    let first = within.components().next().unwrap().as_os_str().to_str().unwrap();
    if OUTSIDE.contains(&first) { first.to_owned() } else { first.trim_end_matches(".rs").to_owned() }
}

/// Every part that a source text names as `crate::part` or `crate::{part::...}`, comments left out.
fn parts_named(text: &str) -> BTreeSet<String> {
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut named = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => named.extend(first_name(rest)),
            Some(group) => {
                let mut depth = 0;
                let mut is_start = true;
                for (at, character) in group.char_indices() {
                    match character {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => is_start = true,
                        _ if is_start && character.is_alphabetic() => {
                            named.extend(first_name(&group[at..]));
                            is_start = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    named
}

fn first_name(text: &str) -> Option<String> {
    let name: String = text.chars().take_while(|it| it.is_ascii_lowercase() || *it == '_').collect();
    (!name.is_empty()).then_some(name)
}
