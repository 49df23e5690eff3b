//! Rules for the text files of the repository: the length of lines, and words to avoid in prose.

use std::fs;
use std::path::{Path, PathBuf};

use crate::layering::files_below;

/// Maximum number of characters in a line.
const COLUMNS: usize = 110;

/// Folders whose files are checked. The files next to these folders are checked, too.
const FOLDERS: [&str; 6] = [".ci", ".github", "scripts", "src", "systemd", "tests"];

/// Files and folders that tools wrote, that have licence texts, or that are samples for tests.
const SKIPPED: [&str; 9] = [
    ".git",
    "Cargo.lock",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "target",
    "tests/data",
    "tests/fuzz/artifacts",
    "tests/fuzz/corpus",
    "tests/fuzz/inputs",
];

/// Phrases of inverted or vague sentences. Rewrite the sentence: name who acts, and say *if*,
/// *unless*, *must* or *so that*.
const PHRASES: &str = "whoever|told|of ours|looked at|looks at|but for|is to be|are to be|nobody|somebody|\
                       heed|heeds|lest|for want of|who has it";

/// Texts that may contain a phrase, each with the reason.
const ALLOWED: [(&str, &str); 5] = [
    ("\"nobody\"", "the Unix user, as an argument of a program"),
    ("`nobody`", "the Unix user, in a comment"),
    ("-u nobody", "the Unix user, in a shell command"),
    ("setuid=nobody", "the Unix user, in a mount option"),
    ("user=nobody", "the Unix user, in a shell script"),
];

/// A line of a file, with its place for messages.
struct Line {
    place: String,
    text: String,
}

#[test]
fn no_line_is_longer_than_110_columns() {
    let long: Vec<String> = lines()
        .into_iter()
        .filter(|line| line.text.chars().count() > COLUMNS)
        .map(|line| line.place)
        .collect();
    assert!(long.is_empty(), "{} lines are longer than {COLUMNS} columns:\n{}", long.len(), long.join("\n"));
}

#[test]
fn phrases_that_plain_english_avoids_do_not_return() {
    let mut found = Vec::new();
    // This file lists the phrases.
    for line in lines().into_iter().filter(|line| !line.place.starts_with(file!())) {
        let lower = line.text.to_lowercase();
        let text = ALLOWED.iter().fold(lower, |text, (allowed, _)| text.replace(allowed, ""));
        let phrases = PHRASES.split('|').filter(|phrase| contains(&text, phrase));
        found.extend(phrases.map(|phrase| format!("{}: \"{phrase}\" in: {}", line.place, line.text.trim())));
    }
    assert!(found.is_empty(), "{} phrases to rewrite:\n{}", found.len(), found.join("\n"));
}

/// Whether a text contains a phrase as whole words.
fn contains(text: &str, phrase: &str) -> bool {
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    text.match_indices(phrase).any(|(start, _)| {
        let (before, after) = (&text[..start], &text[start + phrase.len()..]);
        !before.ends_with(is_word) && !after.starts_with(is_word)
    })
}

/// The lines of all files.
fn lines() -> Vec<Line> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let top = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = top.filter(|path| path.is_file() && is_checked(path)).collect();
    files.extend(FOLDERS.iter().flat_map(|folder| files_below(&root.join(folder), &is_checked)));
    let mut lines = Vec::new();
    for path in files {
        let name = path.strip_prefix(root).unwrap().display();
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let place = |index: usize| format!("{name}:{}", index + 1);
        lines.extend(
            text.lines().enumerate().map(|(n, text)| Line { place: place(n), text: text.to_owned() }),
        );
    }
    assert!(lines.len() > 10_000, "the files were not found");
    lines
}

fn is_checked(path: &Path) -> bool {
    let is_text = path.extension().is_none_or(|it| it != "png" && it != "proptest-regressions");
    is_text && !SKIPPED.iter().any(|it| path.ends_with(it))
}
