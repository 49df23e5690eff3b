//! Which part of the crate may import which, and in which direction the files of a room may import.
//!
//! The parts are the rooms of src/ (its top-level modules, drawn in src/ARCHITECTURE.md) and single files
//! such as src/read.rs.
//!
//! In a room, `mod.rs` is the door: it defines or re-exports what other rooms use. A file of the
//! room imports an item from the sibling that defines it, and siblings form no circle. A module in
//! a room (`content/codec`) counts as one sibling, and the rules hold inside it, too.
//!
//! Inside a room, code under `#[cfg(test)]` and files `tests.rs` are exempt: a unit test may use
//! whatever makes its input.

mod dependencies; // whether each crate that Cargo.toml names is in use
mod for_others; // which commands write for others if root runs them
mod imports; // what a file imports
mod inquiries; // commands that ask go through one skeleton
mod map; // the map of the code names only what exists
mod names; // names of files and types
mod writes; // where the crate writes to the disk

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use imports::imports;

/// The parts that every other part may import: the table of kinds of files, constants, enums that are tables,
/// the one type of notes, and how names are printed.
const FOR_ALL: [&str; 5] = ["kinds", "limits", "named", "note", "shown"];

/// The parts that each part may import, in addition to [`FOR_ALL`].
const ALLOWED: [(&str, &[&str]); 26] = [
    ("kinds", &[]),
    ("limits", &[]),
    ("named", &[]),
    ("note", &[]),
    ("shown", &[]),
    ("read", &[]),
    ("mesh", &[]),
    ("texture", &[]),
    ("system", &[]),
    ("failure", &["system"]),
    ("picture", &["texture"]),
    ("format", &["read", "texture"]),
    ("archive_file", &["read", "system"]),
    ("folder", &["system"]),
    ("watch", &["system"]),
    ("tree", &["format", "folder", "system"]),
    ("content", &["format", "archive_file", "folder", "picture", "texture", "system"]),
    ("game", &["read", "format", "folder", "system"]),
    ("vfs", &["game", "tree", "content", "format", "archive_file", "folder", "system"]),
    ("answers", &["vfs", "game", "tree", "content", "format", "mesh", "folder", "read", "system"]),
    ("pack", &["answers", "vfs", "tree", "content", "format", "texture", "game", "system"]),
    ("fs", &["answers", "vfs", "tree", "content", "format", "folder", "system"]),
    ("fuse", &["fs", "failure", "system"]),
    ("daemon", &["fuse", "fs", "vfs", "watch", "folder", "archive_file", "game", "failure", "system"]),
    ("mounts", &["daemon", "fuse", "fs", "failure", "system"]),
    (
        "cli",
        &[
            "read",
            "texture",
            "system",
            "picture",
            "format",
            "mesh",
            "archive_file",
            "folder",
            "watch",
            "tree",
            "content",
            "game",
            "vfs",
            "answers",
            "pack",
            "fs",
            "fuse",
            "daemon",
            "mounts",
            "failure",
        ],
    ),
];

/// Files that belong to no part: the crate's documentation and the program.
const OUTSIDE: [&str; 2] = ["lib.rs", "main.rs"];

/// The text of each source file, by its path from `src/` on.
pub(crate) type Sources = BTreeMap<String, String>;

/// A module's path from the crate's root on. The path of `tree/mod.rs` is `tree`, that of
/// `tree/merge.rs` is `tree::merge`.
type Module = Vec<String>;

#[test]
fn each_part_imports_only_its_allowed_parts() {
    assert_none(&wrong_between_parts(&sources()));
}

#[test]
fn files_of_a_room_import_neither_from_mod_rs_nor_in_a_circle() {
    assert_none(&wrong_within_rooms(&sources()));
}

/// A type belongs in the file that tells its story. A `mod.rs` has docs, `mod`, `pub use`, at most a table.
/// That of the commands is the enum that clap reads.
#[test]
fn no_mod_rs_defines_a_type() {
    let mut wrong = Vec::new();
    let is_mod = |path: &str| path.ends_with("/mod.rs") && path != "cli/command/mod.rs";
    for (path, text) in sources().into_iter().filter(|(path, _)| is_mod(path)) {
        for line in text.lines() {
            let item =
                if line.starts_with("pub") { line.split_once(' ').map_or("", |it| it.1) } else { line };
            if ["struct ", "enum ", "trait ", "impl ", "impl<"].iter().any(|word| item.starts_with(word)) {
                wrong.push(format!("src/{path}: {line}"));
            }
        }
    }
    assert_none(&wrong);
}

/// One file decides what a program that bsafs starts may see of the process. Unit tests may start others.
#[test]
fn programs_are_started_only_in_system_subprocess() {
    const PLACE: &str = "system/subprocess.rs";
    let sources = sources();
    let starting = |text: &str| {
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let code: String =
            code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<String>();
        // The first is the name of a plugin of Fallout 3.
        let code = code.replace([' ', '\n'], "").replace("CommandExtender", "");
        // Lists of imports are taken as a whole: `use std::process::{Child, Command}`.
        let lists = code.split("process::{").skip(1).map(|list| list.split('}').next().unwrap());
        let is_in_list =
            lists.into_iter().any(|list| list.split(',').any(|name| name.starts_with("Command")));
        let names = ["process::Command", "process::*", "CommandExt", "posix_spawn", "fork("];
        is_in_list || names.iter().any(|name| code.contains(name))
    };
    let places = sources.iter().filter(|(_, text)| starting(text)).map(|(path, _)| path.as_str());
    assert_eq!(places.collect::<Vec<_>>(), [PLACE]);
    let text = &sources[PLACE];
    assert_eq!(
        text.matches("Command::new(").count(),
        5,
        "say in the table of {PLACE} what this start passes"
    );
}

#[test]
fn every_file_begins_with_a_comment() {
    let mut wrong = Vec::new();
    for path in ["src", "tests"].into_iter().flat_map(|folder| rust_files(&root().join(folder))) {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(root()).unwrap().display();
        if !text.starts_with("//!") {
            wrong.push(format!("{name} does not begin with a //! comment"));
        }
    }
    assert_none(&wrong);
}

/// `Path::display` prints line ends and control characters of a name as they are.
#[test]
fn names_are_printed_with_shown_and_not_with_display() {
    // JSON escapes names itself, and unit tests print their own.
    let allowed = "serializer.collect_str(&path.as_ref().display())";
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        for line in code.lines().map(str::trim).filter(|line| !line.starts_with("//") && *line != allowed) {
            if line.contains(".display()") {
                wrong.push(format!("src/{path}: use `shown()` of src/shown.rs: {line}"));
            }
        }
    }
    assert_none(&wrong);
}

fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} violations:\n{}", wrong.len(), wrong.join("\n"));
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn sources() -> Sources {
    let folder = root().join("src");
    let read = |path: PathBuf| {
        let name = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    let sources: Sources = rust_files(&folder).into_iter().map(read).collect();
    assert!(sources.len() > 20, "the source files were not found");
    sources
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = files_below(folder, &|path| !path.ends_with("target"));
    files.retain(|path| path.extension().is_some_and(|it| it == "rs"));
    files
}

/// The files in a folder and its subfolders, without paths that `is_wanted` excludes.
pub(crate) fn files_below(folder: &Path, is_wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|it| is_wanted(it)) {
        if path.is_dir() { files.extend(files_below(&path, is_wanted)) } else { files.push(path) }
    }
    files
}

/// Imports, also by tests, of parts that [`ALLOWED`] does not list and of items from `lib.rs`.
fn wrong_between_parts(sources: &Sources) -> Vec<String> {
    let mut wrong = BTreeSet::new();
    for (path, text) in sources.iter().filter(|(path, _)| !OUTSIDE.contains(&path.as_str())) {
        let module = module_of(path);
        let Some((_, allowed)) = ALLOWED.iter().find(|(part, _)| *part == module[0]) else {
            wrong.insert(format!("src/{path} belongs to no known part"));
            continue;
        };
        for import in imports(&module, text) {
            let part = import.path.first().map_or("", String::as_str);
            if part != module[0] && !FOR_ALL.contains(&part) && !allowed.contains(&part) {
                wrong.insert(format!("src/{path} imports crate::{part}"));
            }
        }
    }
    wrong.into_iter().collect()
}

/// Imports of a file from the `mod.rs` of its own room, and circles between the files of a room.
fn wrong_within_rooms(sources: &Sources) -> Vec<String> {
    let modules: BTreeSet<Module> = sources.keys().map(|path| module_of(path)).collect();
    let mut wrong = Vec::new();
    let mut rooms: BTreeMap<Module, Graph> = BTreeMap::new();
    for (path, text) in sources {
        let from = module_of(path);
        let is_test = from.last().is_some_and(|name| name == "tests");
        let mut from_doors: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for import in imports(&from, text).into_iter().filter(|import| !is_test && !import.is_test) {
            let to = file_of(&modules, &import.path);
            let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
            match (from.get(shared), to.get(shared)) {
                // An import of another part. `wrong_between_parts` checks it.
                _ if shared == 0 => {}
                // An import of the file's own items, or by a `mod.rs` from the files of its room.
                (None, _) => {}
                (Some(_), None) => {
                    let item = import.path.get(shared).map_or("all", String::as_str);
                    from_doors.entry(to.join("::")).or_default().insert(item.to_owned());
                }
                (Some(from), Some(to)) => {
                    let graph = rooms.entry(import.path[..shared].to_vec()).or_default();
                    graph.entry(from.clone()).or_default().insert(to.clone());
                }
            }
        }
        wrong.extend(from_doors.into_iter().map(|(room, items)| {
            let items = items.into_iter().collect::<Vec<_>>().join(", ");
            format!("src/{path} imports from the mod.rs of {room}: {items}")
        }));
    }
    for (room, graph) in &rooms {
        wrong.extend(circles(graph).iter().map(|it| format!("a circle in {}: {it}", room.join("::"))));
    }
    wrong
}

/// Maps each file of a room to the siblings that it imports from.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// A shortest circle through each file that is in one. Each circle is listed once, from its
/// alphabetically first file on.
fn circles(graph: &Graph) -> Vec<String> {
    let circles = graph.keys().filter_map(|start| circle(graph, start));
    circles.filter(|it| it.iter().min() == it.first()).map(|it| it.join(" -> ")).collect()
}

/// A shortest circle through a file, which is its first and its last element.
fn circle<'a>(graph: &'a Graph, start: &'a str) -> Option<Vec<&'a str>> {
    let mut paths = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(path) = paths.pop_front() {
        let imported = path.last().and_then(|last| graph.get(*last)).into_iter().flatten();
        for next in imported.map(String::as_str) {
            let path = [&path[..], &[next]].concat();
            if next == start {
                return Some(path);
            }
            if seen.insert(next) {
                paths.push_back(path);
            }
        }
    }
    None
}

fn module_of(path: &str) -> Module {
    match path.trim_end_matches(".rs") {
        "lib" | "main" => Module::new(),
        path => path.trim_end_matches("/mod").split('/').map(str::to_owned).collect(),
    }
}

/// The longest prefix of an imported path that is a module with a file.
fn file_of<'a>(modules: &BTreeSet<Module>, path: &'a [String]) -> &'a [String] {
    let mut prefixes = (0..=path.len()).rev().map(|len| &path[..len]);
    prefixes.find(|it| modules.contains(*it)).unwrap_or(&[])
}

fn texts(files: &[(&str, &str)]) -> Sources {
    files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn imports_of_other_parts_are_found_in_groups_and_expressions() {
    let wrong = |path: &str, text: &str| wrong_between_parts(&texts(&[(path, text)]));
    let group = "use crate::{\n  fs::FileSystem,\n  tree::{Tree, NodeId},\n};\n// crate::read is prose\n";
    assert_eq!(wrong("fs/mod.rs", group), [""; 0]);
    assert_eq!(wrong("tree/fold.rs", group), ["src/tree/fold.rs imports crate::fs"]);
    assert_eq!(wrong("content/codec/lz4.rs", "fn f() { crate::cli::main() }").len(), 1);
    assert_eq!(wrong("content/codec/lz4.rs", "use super::super::super::tree::Tree;").len(), 1);
    assert_eq!(wrong("archive_file/archive_file.rs", "use super::super::tree::Tree;").len(), 1);
    assert_eq!(wrong("read.rs", "#[cfg(test)] mod tests { use crate::archive_file::ArchiveFile; }").len(), 1);
    assert_eq!(wrong("read.rs", "use crate::VERSION;"), ["src/read.rs imports crate::VERSION"]);
    assert_eq!(wrong("attic/mod.rs", ""), ["src/attic/mod.rs belongs to no known part"]);
}

#[test]
fn imports_from_the_mod_rs_of_a_room_are_found() {
    let wrong = |path: &str, text: &str| {
        let others = [
            ("lib.rs", ""),
            ("a/mod.rs", "mod b; pub use b::B;"),
            ("a/b.rs", ""),
            ("a/n/mod.rs", ""),
            ("a/n/c.rs", ""),
        ];
        wrong_within_rooms(&texts(&[&others[..], &[(path, text)]].concat()))
    };
    for text in ["use super::b::B;", "use crate::a::{b::B, n::N};", "use super::{b, n::c};", "use std::fmt;"]
    {
        assert_eq!(wrong("a/x.rs", text), [""; 0], "{text}");
    }
    assert_eq!(wrong("a/x.rs", "use super::{b, B};"), ["src/a/x.rs imports from the mod.rs of a: B"]);
    assert_eq!(wrong("a/x.rs", "use super::*;"), ["src/a/x.rs imports from the mod.rs of a: all"]);
    assert_eq!(wrong("a/x.rs", "fn f() { crate::a::f() }"), ["src/a/x.rs imports from the mod.rs of a: f"]);
    assert_eq!(wrong("a/n/x.rs", "use super::super::B;"), ["src/a/n/x.rs imports from the mod.rs of a: B"]);
    assert_eq!(wrong("a/n/x.rs", "use super::N;"), ["src/a/n/x.rs imports from the mod.rs of a::n: N"]);
    assert_eq!(wrong("a/n/mod.rs", "use super::B;"), ["src/a/n/mod.rs imports from the mod.rs of a: B"]);
    assert_eq!(wrong("a/n/mod.rs", "use super::b::B; use c::C;"), [""; 0]);
    assert_eq!(wrong("a/mod.rs", "use b::B; fn f() { self::n::c::f() }"), [""; 0]);
    assert_eq!(
        wrong("a/x.rs", "struct X; #[cfg(test)] mod tests { use super::X; use super::super::B; }"),
        [""; 0]
    );
    assert_eq!(wrong("a/tests.rs", "use super::B;"), [""; 0]);
}

#[test]
fn a_circle_between_files_of_a_room_is_found() {
    let wrong = |files: &[(&str, &str)]| wrong_within_rooms(&texts(files));
    let (b, c) = (("a/b.rs", "use super::c::{\n C,\n};"), ("a/c.rs", "fn f() { super::d::f() }"));
    let door = ("a/mod.rs", "");
    let d = |text| ("a/d.rs", text);
    assert_eq!(wrong(&[door, b, c, d("")]), [""; 0]);
    assert_eq!(wrong(&[door, b, c, d("use super::b::B;")]), ["a circle in a: b -> c -> d -> b"]);
    assert_eq!(wrong(&[door, b, c, d("#[cfg(test)] mod tests { use super::super::b::B; }")]), [""; 0]);
    // A module inside the room is one sibling, whichever of its files imports.
    let nested =
        [("a/n/mod.rs", ""), ("a/n/e.rs", "use super::super::b::B;"), ("a/n/f.rs", "use super::e::E;")];
    let with = |text| wrong(&[&[door, b, c, d(text)], &nested[..]].concat());
    assert_eq!(with(""), [""; 0]);
    assert_eq!(with("use super::n::f::F;"), ["a circle in a: b -> c -> d -> n -> b"]);
}
