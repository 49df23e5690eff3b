//! What the kernel must drop after a change: names that now mean another node, folders whose listings differ,
//! and files whose bytes may differ.
//!
//! Names are dropped one by one. Dropping a folder instead of its children would not do: a program
//! that holds a child open would get old bytes. Dropping everything (FUSE_NOTIFY_INC_EPOCH) would
//! do too much: the names of unchanged files would go, and with them their cached pages.

use std::collections::HashSet;

use super::written::HeldAttr;
use crate::tree::{Changes, Ino, Spellings};

/// A folder's inode number, and a name in the folder.
pub(crate) type NameIn = (Ino, Box<[u8]>);

/// What the kernel must drop.
#[derive(Debug, Default)]
pub(crate) struct Invalidation {
    pub(crate) names: Vec<NameIn>,
    /// Folders whose listings differ.
    pub(crate) folders: Vec<Ino>,
    /// Files that were written to, or may have been although nothing says so, with the attributes to show
    /// until their pages are dropped.
    pub(crate) written: Vec<HeldAttr>,
    /// Files whose attributes no event reports any more.
    pub(crate) attributes: Vec<Ino>,
}

impl Invalidation {
    /// Collects the differences between two views, for all numbers of each folder, without written files.
    pub(crate) fn of(spellings: &Spellings, changes: &Changes) -> Self {
        let others = spellings.other_numbers(&changes.folders.iter().copied().collect());
        let mut folders = changes.folders.clone();
        folders.extend(others.into_values().flatten());
        let names = everywhere(spellings, &changes.names);
        Self { names, folders, ..Self::default() }
    }
}

/// Repeats names for all numbers of their folders.
pub(crate) fn everywhere(spellings: &Spellings, names: &[NameIn]) -> Vec<NameIn> {
    let folders: HashSet<Ino> = names.iter().map(|(folder, _)| *folder).collect();
    let others = spellings.other_numbers(&folders);
    let mut all = names.to_vec();
    for (folder, name) in names {
        let numbers = others.get(folder).into_iter().flatten();
        all.extend(numbers.map(|&number| (number, name.clone())));
    }
    all
}
