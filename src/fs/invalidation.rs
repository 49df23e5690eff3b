//! What the kernel must drop after a change: names that stand for something else now, folders whose listings
//! differ, and files whose bytes may differ.
//!
//! Names are dropped one by one, and a folder is never dropped instead of its children: a program that holds
//! a child open would get old bytes. The kernel is not asked to drop everything (FUSE_NOTIFY_INC_EPOCH)
//! either: with the names of unchanged files it would drop their cached pages.

use std::collections::HashSet;

use crate::tree::{Changes, Spellings};

/// A folder's number, and a name in it.
pub(crate) type NameIn = (u64, Box<[u8]>);

/// What the kernel must drop.
#[derive(Debug, Default)]
pub(crate) struct Invalidation {
    pub(crate) names: Vec<NameIn>,
    /// Folders whose listings differ, and files whose bytes may differ.
    pub(crate) inodes: Vec<u64>,
}

impl Invalidation {
    /// The differences of two views, under all numbers of each folder.
    pub(crate) fn of(spellings: &Spellings, changes: &Changes) -> Self {
        let further = spellings.further_numbers(&changes.folders.iter().copied().collect());
        let mut inodes = changes.folders.clone();
        inodes.extend(further.into_values().flatten());
        inodes.extend(&changes.uncertain);
        Self { names: everywhere(spellings, &changes.names), inodes }
    }
}

/// Names in folders, under all numbers of these folders.
pub(crate) fn everywhere(spellings: &Spellings, names: &[NameIn]) -> Vec<NameIn> {
    let folders: HashSet<u64> = names.iter().map(|(folder, _)| *folder).collect();
    let further = spellings.further_numbers(&folders);
    let mut all = names.to_vec();
    for (folder, name) in names {
        let others = further.get(folder).into_iter().flatten();
        all.extend(others.map(|&other| (other, name.clone())));
    }
    all
}
