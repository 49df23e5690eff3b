//! How two trees differ: files that one of them lacks, and files whose bytes differ.

use std::collections::HashSet;
use std::sync::Arc;

use super::comparison::{Compared, Digests, compare};
use super::file::VfsFile;
use super::opened::Opened;
use super::parallel::in_parallel;
use super::patterns::Patterns;

/// A path in one or both of two trees, with what became of its file.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The path, in the spelling of the first tree that contains it.
    pub path: String,
    /// The file in the first tree.
    pub before: Option<VfsFile>,
    /// The file in the second tree.
    pub after: Option<VfsFile>,
    /// What became of the file.
    pub change: Change,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only the second tree contains it.
    Added,
    /// Only the first tree contains it.
    Removed,
    /// The bytes differ.
    Changed,
    /// The bytes are equal.
    Equal,
    /// The sizes are equal; the bytes were not read.
    SameSize,
    /// One of the two files cannot be read, for this reason.
    Unreadable(String),
}

/// How files of two trees are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparing {
    /// By size; no data is read.
    Sizes,
    /// By size, and by bytes if the sizes are equal.
    Bytes,
}

impl Difference {
    /// Whether both trees contain the file with the same bytes.
    pub fn is_equal(&self) -> bool {
        self.change == Change::Equal
    }
}

/// Compares the selected files of two trees, by path in any case. Equal files are included.
pub(crate) fn differences(
    a: &Arc<Opened>,
    b: &Arc<Opened>,
    patterns: &Patterns,
    how: Comparing,
    steps: &dyn Fn(usize) -> Box<dyn Fn() + Sync>,
) -> Vec<Difference> {
    let pairs = pairs(a, b, patterns);
    // Errors are ignored here: the comparison below finds them again.
    let _ = a.store.learn_sizes(pairs.iter().filter_map(|pair| Some(pair.before.as_ref()?.entry())));
    let _ = b.store.learn_sizes(pairs.iter().filter_map(|pair| Some(pair.after.as_ref()?.entry())));
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    // In the order of the first tree's data, so that at least its disk is read in one pass.
    order.sort_by_cached_key(|&index| pairs[index].before.as_ref().map(VfsFile::place));
    let digests = Digests::default();
    let found = in_parallel(order.len(), &steps(order.len()), |index| {
        let Difference { before, after, .. } = &pairs[order[index]];
        match (before, after) {
            (None, _) => Change::Added,
            (_, None) => Change::Removed,
            (Some(before), Some(after)) if how == Comparing::Bytes => by_bytes(before, after, &digests),
            (Some(before), Some(after)) => by_size(before, after),
        }
    });
    let mut differences = pairs;
    order.into_iter().zip(found).for_each(|(index, change)| differences[index].change = change);
    differences
}

/// Pairs the files of two trees by their paths. They are not compared yet.
fn pairs(a: &Arc<Opened>, b: &Arc<Opened>, patterns: &Patterns) -> Vec<Difference> {
    let (files_a, files_b) = (patterns.of(a), patterns.of(b));
    let (mut paired_a, mut paired_b) = (HashSet::new(), HashSet::new());
    let mut pairs = Vec::with_capacity(files_a.len().max(files_b.len()));
    let pair = |path: String, before: Option<VfsFile>, after: Option<VfsFile>| Difference {
        path,
        before,
        after,
        change: Change::Equal,
    };
    for file in &files_a {
        if let Some(other) = file_at(b, file)
            && paired_b.insert(other.node())
        {
            paired_a.insert(file.node());
            pairs.push(pair(file.path(), Some(file.clone()), Some(other)));
        }
    }
    // A file without a name in A is found by its path in B.
    for file in files_b.into_iter().filter(|file| !paired_b.contains(&file.node())) {
        let in_a = file_at(a, &file).filter(|other| paired_a.insert(other.node()));
        pairs.push(pair(file.path(), in_a, Some(file)));
    }
    for file in files_a.into_iter().filter(|file| !paired_a.contains(&file.node())) {
        pairs.push(pair(file.path(), Some(file), None));
    }
    pairs.sort_by_cached_key(|pair| pair.path.to_ascii_lowercase());
    pairs
}

/// The file of a tree with the path of another tree's file.
fn file_at(opened: &Arc<Opened>, file: &VfsFile) -> Option<VfsFile> {
    opened.file(&file.path_bytes())
}

fn by_size(before: &VfsFile, after: &VfsFile) -> Change {
    match (before.size(), after.size()) {
        _ if before.is_same(after) => Change::Equal,
        (Ok(one), Ok(two)) if one == two => Change::SameSize,
        (Ok(_), Ok(_)) => Change::Changed,
        _ => Change::Unreadable("its size cannot be read".into()),
    }
}

fn by_bytes(before: &VfsFile, after: &VfsFile, digests: &Digests) -> Change {
    match compare(before, std::slice::from_ref(after), digests).pop() {
        Some(Compared::Equal) => Change::Equal,
        Some(Compared::Unreadable(what)) => Change::Unreadable(what),
        Some(Compared::Different) | None => Change::Changed,
    }
}
