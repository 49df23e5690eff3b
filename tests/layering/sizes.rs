//! Limits for the sizes of folders and modules, and rules for names of files and types.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::imports::public_types;
use super::{assert_none, root, rust_files, sources};
use crate::cli::documents::COMMANDS;

/// Maximum number of files in a folder, without its subfolders.
const FILES_MAX: usize = 25;

/// Folders that still exceed the maximum.
const TOO_FULL: &[&str] = &[];

/// Names that several public types still share.
const SHARED_NAMES: &[&str] = &[];

/// Commands that shells call, and that `bsafs help` does not list.
const HIDDEN_COMMANDS: &[&str] = &["complete"];

#[test]
fn no_folder_has_too_many_files() {
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    for path in ["src", "tests"].into_iter().flat_map(|folder| rust_files(&root().join(folder))) {
        let folder = path.parent().unwrap().strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        *counts.entry(folder).or_default() += 1;
    }
    counts.retain(|folder, files| *files > FILES_MAX && !TOO_FULL.contains(&&**folder));
    let wrong = |(folder, files)| format!("{folder} has {files} files, {FILES_MAX} are allowed");
    assert_none(&counts.into_iter().map(wrong).collect::<Vec<_>>());
}

#[test]
fn the_largest_module_has_at_most_a_fifth_of_the_lines() {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for (path, text) in sources() {
        let module = path.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
        *lines.entry(module).or_default() += text.lines().count();
    }
    let all: usize = lines.values().sum();
    let share =
        |(module, lines): (&String, &usize)| format!("{module} {:.1} %", *lines as f64 * 100.0 / all as f64);
    let shares: Vec<String> = lines.iter().map(share).collect();
    let largest = lines.values().max().unwrap();
    assert!(largest * 5 <= all, "a module has more than a fifth of {all} lines: {}", shares.join(", "));
}

#[test]
fn each_command_has_a_file_of_its_name() {
    let folder = root().join("src/cli/command");
    let mut files: BTreeSet<String> =
        rust_files(&folder).iter().map(|path| name_in(path.strip_prefix(&folder).unwrap())).collect();
    assert!(files.remove("mod"));
    // Its file also exists without the feature.
    files.retain(|name| cfg!(feature = "pictures") || name != "thumbnail");
    let commands = COMMANDS.iter().chain(HIDDEN_COMMANDS).map(|name| (*name).to_owned());
    assert_eq!(files, commands.collect::<BTreeSet<_>>());
}

/// The command of a file: `list` for `list.rs` and for `list/table.rs`.
fn name_in(path: &Path) -> String {
    path.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned()
}

#[test]
fn no_two_public_types_share_a_name() {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in sources() {
        public_types(&text)
            .into_iter()
            .for_each(|name| files.entry(name).or_default().push(format!("src/{path}")));
    }
    files.retain(|name, files| files.len() > 1 && !SHARED_NAMES.contains(&&**name));
    let wrong = |(name, files): (String, Vec<String>)| format!("{name}: {}", files.join(", "));
    assert_none(&files.into_iter().map(wrong).collect::<Vec<_>>());
}
