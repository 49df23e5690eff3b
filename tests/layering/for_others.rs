//! Whether the list in `vfs/sources/for_others.rs` has every command with which root shows others what it
//! reads, and whether these commands ask.

use std::collections::BTreeSet;

use super::sources;

/// What asks, in the file of a command.
const ASKS: [&str; 2] = ["advice_to_root(", "for_others::check_file("];

/// What writes, in the file of a command.
const WRITES: [&str; 5] = ["OutputPlace::", "OutputFolder::", "PageArgs", "write_with(", ".write_files("];

/// The commands that write nothing but the program's own texts.
const OF_THE_PROGRAM: [&str; 1] = ["man"];

#[test]
fn each_command_with_which_root_writes_for_others_is_listed_and_asks() {
    let sources = sources();
    let listed = sources["vfs/sources/for_others.rs"].lines().filter_map(|line| line.strip_prefix("//! | `"));
    let listed: BTreeSet<&str> = listed.filter_map(|line| line.split('`').next()).collect();
    let with = |calls: &[&str]| -> BTreeSet<&str> {
        let commands = sources.iter().filter_map(|(path, text)| {
            let (_, file) = path.strip_prefix("cli/command/")?.split_once('/')?;
            let command = file.strip_suffix(".rs").filter(|it| !OF_THE_PROGRAM.contains(it))?;
            calls.iter().any(|call| text.contains(call)).then_some(command)
        });
        commands.collect()
    };
    let mounts = BTreeSet::from(["mount"]);
    assert_eq!(listed, with(&ASKS), "the list, and the commands that ask");
    assert_eq!(listed, &with(&WRITES) | &mounts, "the list, and the commands that write");
}
