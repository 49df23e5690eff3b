//! Where the crate writes to the disk. There is one way to write below a folder: `system/output_place.rs`
//! and `system/new_file.rs`, which `vfs/output_folder.rs` builds on. They follow no link of another user.

use super::{Sources, assert_none, sources};

/// What makes, replaces or writes a file or folder.
const WRITES: [&str; 23] = [
    "File::create",
    ".write(true)",
    ".append(true)",
    ".create(true)",
    ".create_new(true)",
    "fs::write(",
    "fs::copy(",
    "fs::rename(",
    "hard_link(",
    "symlink(",
    "create_dir",
    "DirBuilder",
    "set_len(",
    "mkdir(",
    "mkdirat(",
    "mknodat(",
    "symlinkat(",
    "linkat(",
    "renameat",
    "OFlags::CREATE",
    "OFlags::WRONLY",
    "OFlags::RDWR",
    "OFlags::TMPFILE",
];

/// The files that may do so, and why.
const ALLOWED: [(&str, &[&str], &str); 13] = [
    ("system/new_file.rs", &["OFlags::", "linkat(", "renameat"], "the one way to write a file"),
    (
        "system/output_place.rs",
        &["OFlags::", "mkdirat(", "set_len("],
        "the one way to find a place, to make a folder there and to fill an empty file",
    ),
    ("system/walk.rs", &["mkdirat("], "makes the folders on the way to a place"),
    (
        "system/move_files.rs",
        &["mkdirat(", "renameat"],
        "moves files beneath two descriptors, and replaces none",
    ),
    ("vfs/output_folder.rs", &["mkdirat("], "makes folders beneath the descriptor of their parent"),
    ("daemon/overlay.rs", &["mkdirat("], "makes its work folders beneath its own locked folder"),
    ("daemon/unsaved.rs", &["OFlags::"], "asks whether the disk has room, by a file without a name"),
    ("daemon/mounts_folder.rs", &["mkdirat("], "makes mountpoints, which are checked before they are used"),
    ("daemon/detach.rs", &[".write(true)"], "opens /dev/null"),
    ("daemon/logging.rs", &["set_len("], "takes half a line back from the log that it was given"),
    ("fuse/adaptor.rs", &["mkdir(", "symlink("], "refuses what the kernel sends"),
    ("fuse/mount.rs", &[".write(true)"], "opens /dev/fuse"),
    ("fuse/session.rs", &["fs::write("], "sets the readahead in /sys"),
];

/// Uses of [`WRITES`] outside of tests that [`ALLOWED`] does not have.
fn wrong(sources: &Sources) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in sources {
        let code = text.split("mod tests {").next().unwrap_or_default();
        let allowed: Vec<&str> =
            ALLOWED.iter().filter(|it| it.0 == path).flat_map(|it| it.1).copied().collect();
        for line in code.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
            let is_wrong =
                |write: &&&str| has(line, write) && !allowed.iter().any(|it| write.starts_with(it));
            if line.starts_with("use ") {
                continue;
            }
            wrong.extend(WRITES.iter().find(is_wrong).map(|write| format!("src/{path}: {write}: {line}")));
        }
    }
    wrong
}

/// Whether a line has a call, and not one whose name only ends like it.
fn has(line: &str, call: &str) -> bool {
    let is_begun = |at: usize| line[..at].ends_with(|it: char| it == '_' || it.is_ascii_alphanumeric());
    line.match_indices(call).any(|(at, _)| call.starts_with('.') || !is_begun(at))
}

#[test]
fn only_one_way_leads_to_the_disk() {
    assert_none(&wrong(&sources()));
    let unused = |(path, writes, _): &&(&str, &[&str], &str)| {
        let text = sources().remove(*path).unwrap_or_default();
        writes.iter().any(|it| !text.contains(it))
    };
    assert!(ALLOWED.iter().find(unused).is_none(), "a file of the list does not write that way any more");
}

#[test]
fn another_way_to_write_is_found() {
    let text = |line: &str| {
        format!("//! A file.\nfn f() {{\n    {line}\n}}\n#[cfg(test)]\nmod tests {{ fs::write(x) }}\n")
    };
    for line in
        ["std::fs::write(path, b\"\")", "File::options().append(true).open(path)", "mkdirat(&folder, name)"]
    {
        let sources: Sources = [("cli/new.rs".to_owned(), text(line))].into();
        assert_eq!(wrong(&sources).len(), 1, "{line}");
    }
    let sources: Sources = [("cli/new.rs".to_owned(), text("// File::create would follow a link."))].into();
    assert!(wrong(&sources).is_empty());
}
