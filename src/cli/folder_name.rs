//! Folders that are named after archives: new mountpoints, and the folders of `--layout per-archive`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::format::encoding::Encoding;
use crate::format::name;
use crate::tree;

/// Names for the folder of an archive: its stem, then the stem with a number. A stem of dots, as of `...bsa`, is escaped.
pub(super) fn candidates(archive: &Path) -> impl Iterator<Item = String> {
    let stem = archive.file_stem().unwrap_or_default().to_string_lossy();
    let stem = name::component(stem.as_bytes(), Encoding::UTF_8).into_owned();
    std::iter::once(stem.clone()).chain((2..).map(move |number| tree::numbered(&stem, number)))
}

/// A folder for each archive, distinct in any case.
pub(super) fn distinct(archives: &[PathBuf]) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut is_free = |name: &String| taken.insert(name.to_ascii_lowercase());
    archives.iter().filter_map(|archive| candidates(archive).find(&mut is_free)).collect()
}
