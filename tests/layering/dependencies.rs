//! Whether the project uses each crate that Cargo.toml names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::imports::roots;
use super::{assert_none, files_below, root, sources};

#[test]
fn the_library_and_the_program_use_each_of_their_dependencies() {
    let used = sources().values().flat_map(|text| roots(text)).collect();
    assert_none(&unused("dependencies", &used));
}

#[test]
fn the_tests_use_each_of_their_dependencies() {
    let is_own = |path: &Path| {
        // These are crates with manifests of their own.
        !["tests/fuzz", "tests/oracles"].iter().any(|folder| path == root().join(folder))
    };
    let paths = ["src", "tests"].into_iter().flat_map(|folder| files_below(&root().join(folder), &is_own));
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|it| it == "rs");
    let used = paths.filter(is_rust).flat_map(|path| roots(&fs::read_to_string(path).unwrap())).collect();
    assert_none(&unused("dev-dependencies", &used));
}

#[test]
fn a_dependency_that_nothing_uses_is_found() {
    let used = ["sd_notify", "log"].map(str::to_owned).into();
    let unused = unused("dependencies", &used);
    assert!(unused.contains(&"dependencies: nothing uses clap".to_owned()), "{unused:?}");
    assert!(!unused.iter().any(|it| it.ends_with(" sd-notify") || it.ends_with(" log")), "{unused:?}");
}

/// Crates in a table of Cargo.toml that are not among the used names.
fn unused(table: &str, used: &BTreeSet<String>) -> Vec<String> {
    let manifest: toml::Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let crates = manifest[table].as_table().unwrap();
    let is_unused = |name: &&String| !used.contains(&name.replace('-', "_"));
    crates.keys().filter(is_unused).map(|name| format!("{table}: nothing uses {name}")).collect()
}
