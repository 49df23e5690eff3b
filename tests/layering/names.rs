//! Rules for names of files and types.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::imports::public_types;
use super::{assert_none, root, rust_files, sources};
use crate::cli::documents::COMMANDS;

/// Names that several public types still share.
const SHARED_NAMES: &[&str] = &[];

/// Commands that shells call, and that `bsafs help` does not list.
const HIDDEN_COMMANDS: &[&str] = &["complete"];

#[test]
fn each_command_has_a_file_of_its_name() {
    let folder = root().join("src/cli/command");
    let mut files: BTreeSet<String> =
        rust_files(&folder).iter().map(|path| name_in(path.strip_prefix(&folder).unwrap())).collect();
    assert!(files.remove("mod"));
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
        for name in public_types(&text) {
            files.entry(name).or_default().push(format!("src/{path}"));
        }
    }
    files.retain(|name, files| files.len() > 1 && !SHARED_NAMES.contains(&&**name));
    let wrong = |(name, files): (String, Vec<String>)| format!("{name}: {}", files.join(", "));
    assert_none(&files.into_iter().map(wrong).collect::<Vec<_>>());
}
