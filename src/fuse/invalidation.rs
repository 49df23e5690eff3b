//! What the kernel is told of a change: names that stand for something else now, folders whose listings differ, and files whose
//! bytes may.
//!
//! Names one by one, and never a folder for its children: the kernel would serve old bytes to whoever holds a child open. Nor
//! is it asked to drop all that it knows (FUSE_NOTIFY_INC_EPOCH): with the names of unchanged files go their cached pages.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use fuser::{INodeNo, Notifier};

use crate::fs::shared::NameIn;
use crate::fs::view::{Child, View};
use crate::tree::{Changes, Spellings};

/// What the kernel is to drop.
#[derive(Debug, Default)]
pub(crate) struct Invalidation {
    pub(crate) names: Vec<NameIn>,
    /// Folders whose listings are others, and files whose bytes may be.
    inodes: Vec<u64>,
}

impl Invalidation {
    /// What two views differ in, under all numbers of each folder.
    pub(crate) fn of(spellings: &Spellings, changes: &Changes) -> Self {
        let further = spellings.further_numbers(&changes.folders.iter().copied().collect());
        let mut inodes = changes.folders.clone();
        inodes.extend(further.into_values().flatten());
        inodes.extend(&changes.uncertain);
        Self { names: everywhere(spellings, &changes.names), inodes }
    }

    /// Tells the kernel. Waits for whoever reads one of the folders.
    pub(crate) fn send(&self, notifier: &Notifier) {
        // Both fail where the kernel has nothing to drop.
        for (folder, name) in &self.names {
            let _ = notifier.inval_entry(INodeNo(*folder), OsStr::from_bytes(name));
        }
        for &inode in &self.inodes {
            let _ = notifier.inval_inode(INodeNo(inode), 0, 0);
        }
    }
}

/// Names in folders, by all numbers of these.
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

/// Names that were told in a view, by whether a later one answers otherwise: those that do first.
pub(crate) fn changed_answers(then: &View, now: &View, told: HashSet<NameIn>) -> (Vec<NameIn>, Vec<NameIn>) {
    told.into_iter().partition(|(folder, name)| answer(then, *folder, name) != answer(now, *folder, name))
}

/// What a name in a folder stands for.
#[derive(PartialEq, Eq)]
enum Answer {
    /// A number that was given.
    Given(u64),
    /// A folder that would get a number.
    NotGiven,
    Assumed,
    Nothing,
    /// The folder itself is gone.
    NoFolder,
}

fn answer(view: &View, folder: u64, name: &[u8]) -> Answer {
    let Ok(folder) = view.folder(folder) else { return Answer::NoFolder };
    match view.child(folder, name) {
        Child::Node(node) => {
            let given = view.shared.spellings.given(&view.tree, folder, name, node);
            given.map_or(Answer::NotGiven, Answer::Given)
        }
        Child::Assumed => Answer::Assumed,
        Child::None => Answer::Nothing,
    }
}
