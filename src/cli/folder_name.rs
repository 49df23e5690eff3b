//! Folders that are named after archives or other folders: new mountpoints, and the folders of `--layout per-archive`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::format::encoding::Encoding;
use crate::format::name;
use crate::tree;

/// Names for the folder of an archive: its stem, then the stem with a number. A stem of dots, as of `...bsa`, is escaped.
/// Those for a folder: its name.
pub(super) fn candidates(source: &Path) -> impl Iterator<Item = String> {
    // What `.` and `..` are called.
    let folder = source.canonicalize().ok().filter(|path| path.is_dir());
    let stem = folder.as_ref().map_or_else(|| source.file_stem(), |folder| folder.file_name());
    let stem = stem.unwrap_or_default().to_string_lossy();
    let stem = name::component(stem.as_bytes(), Encoding::UTF_8).into_owned();
    std::iter::once(stem.clone()).chain((2..).map(move |number| tree::numbered(&stem, number)))
}

/// A folder for each archive and folder, distinct in any case.
pub(super) fn distinct(sources: &[PathBuf]) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut is_free = |name: &String| taken.insert(name.to_ascii_lowercase());
    sources.iter().filter_map(|source| candidates(source).find(&mut is_free)).collect()
}
