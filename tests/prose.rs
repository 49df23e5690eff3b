//! The maximum length of a line in the text files of the repository.

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

#[test]
fn no_line_is_longer_than_110_columns() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let top = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = top.filter(|path| path.is_file() && is_checked(path)).collect();
    files.extend(FOLDERS.iter().flat_map(|folder| files_below(&root.join(folder), &is_checked)));
    assert!(files.len() > 100, "the files were not found");
    let mut long = Vec::new();
    for path in files {
        let name = path.strip_prefix(root).unwrap().display();
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let lines = text.lines().enumerate().filter(|(_, line)| line.chars().count() > COLUMNS);
        long.extend(lines.map(|(index, _)| format!("{name}:{}", index + 1)));
    }
    assert!(long.is_empty(), "{} lines are longer than {COLUMNS} columns:\n{}", long.len(), long.join("\n"));
}

fn is_checked(path: &Path) -> bool {
    let is_text = path.extension().is_none_or(|it| it != "png" && it != "proptest-regressions");
    is_text && !SKIPPED.iter().any(|it| path.ends_with(it))
}
