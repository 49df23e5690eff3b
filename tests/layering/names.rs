//! Rules for names of files and types.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::imports::public_types;
use super::{assert_none, root, rust_files, sources};

/// Names that several public types still share.
const SHARED_NAMES: &[&str] = &[];

/// Commands that shells call, and that `bsafs help` does not list.
const HIDDEN_COMMANDS: &[&str] = &["complete"];

/// `list` is in `look/list.rs`, because help lists it under "Look:".
#[test]
fn each_command_has_a_file_of_its_name_in_the_folder_of_its_group() {
    let folder = root().join("src/cli/command");
    let files = rust_files(&folder).into_iter().filter(|path| !path.ends_with("mod.rs"));
    let mut files: BTreeSet<String> =
        files.map(|path| path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned()).collect();
    for command in HIDDEN_COMMANDS {
        assert!(files.remove(&format!("help/{command}.rs")), "{command}");
    }
    let help = fs::read_to_string(root().join("tests/data/help.txt")).unwrap();
    let mut group = String::new();
    let mut commands = BTreeSet::new();
    for line in help.lines().skip_while(|line| *line != "Mount:").take_while(|line| *line != "Options:") {
        match line.strip_suffix(':') {
            Some(heading) => group = heading.to_ascii_lowercase(),
            None => commands.extend(line.split_whitespace().next().map(|it| format!("{group}/{it}.rs"))),
        }
    }
    assert_eq!(files, commands);
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
