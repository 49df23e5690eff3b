//! Folders of the mount that programs used, while some folders on the disk have no watch. What lies on the
//! disk below a used folder gets watches before the others. Also files with several names (hard links) that
//! programs read, which get watches of their own.

use std::collections::HashSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use lru::LruCache;

use super::callback::OnWait;
use crate::limits::{USED_FOLDERS_MAX, WATCHED_LINKS_MAX};
use crate::system::sync::{Mutex, RwLock};
use crate::tree::Ino;

/// The folders that were used since they were last taken.
#[derive(Debug, Default)]
pub(crate) struct UsedFolders {
    /// Whether some folders have no watch.
    is_needed: AtomicBool,
    used: Mutex<Used>,
    /// Called for the first folder; set once.
    pub(crate) on_use: OnceLock<OnWait>,
}

/// Inode numbers of folders with the times of their last uses, in this order. What is used last counts, so
/// the folders that were used first are dropped if there are too many.
#[derive(Debug)]
struct Used {
    folders: LruCache<Ino, u64>,
    /// Counts uses.
    clock: u64,
}

impl Default for Used {
    fn default() -> Self {
        Self { folders: LruCache::unbounded(), clock: 0 }
    }
}

impl UsedFolders {
    /// Sets whether some folders have no watch.
    pub(crate) fn set_needed(&self, is_needed: bool) {
        self.is_needed.store(is_needed, Ordering::Relaxed);
    }

    /// Whether some folders have no watch.
    pub(crate) fn is_needed(&self) -> bool {
        self.is_needed.load(Ordering::Relaxed)
    }

    /// Records a use of a folder.
    pub(crate) fn note(&self, folder: Ino) {
        let mut used = self.used.lock();
        used.clock += 1;
        let (is_first, clock) = (used.folders.is_empty(), used.clock);
        used.folders.push(folder, clock);
        if used.folders.len() > USED_FOLDERS_MAX {
            used.folders.pop_lru();
        }
        drop(used);
        if let Some(on_use) = self.on_use.get().filter(|_| is_first) {
            (on_use.0)();
        }
    }

    /// Takes the folders that were used last, at most so many, each with the time of its use. Also returns
    /// whether others are left.
    pub(crate) fn take_last(&self, most: usize) -> (Vec<(Ino, u64)>, bool) {
        let mut used = self.used.lock();
        let mut last = Vec::new();
        while last.len() < most
            && let Some(folder) = used.folders.iter().next().map(|(folder, _)| *folder)
        {
            last.extend(used.folders.pop_entry(&folder));
        }
        (last, !used.folders.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_comes_first_and_is_never_dropped() {
        let (used, numbers) = (UsedFolders::default(), |taken: Vec<(Ino, u64)>| -> Vec<u64> {
            taken.into_iter().map(|(folder, _)| folder.0).collect()
        });
        (0..USED_FOLDERS_MAX as u64 + 5).for_each(|folder| used.note(Ino(folder)));
        used.note(Ino(7));
        let (last, are_more) = used.take_last(2);
        assert!(are_more && last[0].1 > last[1].1);
        assert_eq!(numbers(last), [7, USED_FOLDERS_MAX as u64 + 4]);
        let (others, are_more) = used.take_last(usize::MAX);
        assert!(!are_more && others.len() == USED_FOLDERS_MAX - 2);
        assert_eq!(numbers(others).last(), Some(&5));
    }
}

/// Files with several names that programs read, and those among them that have watches.
#[derive(Debug, Default)]
pub(crate) struct LinkedFiles {
    used: Mutex<HashSet<Ino>>,
    watched: RwLock<HashSet<Ino>>,
}

impl LinkedFiles {
    /// Whether a file has a watch.
    pub(crate) fn is_watched(&self, ino: Ino) -> bool {
        self.watched.read().contains(&ino)
    }

    /// Records that a program read a file. Returns whether it is the first one since they were last taken.
    pub(crate) fn note(&self, ino: Ino) -> bool {
        let mut used = self.used.lock();
        used.len() < WATCHED_LINKS_MAX && used.insert(ino) && used.len() == 1
    }

    /// Takes the files that were read.
    pub(crate) fn take(&self) -> HashSet<Ino> {
        std::mem::take(&mut *self.used.lock())
    }

    /// Sets the files that have watches. Returns those that had none, and those that lost theirs.
    pub(crate) fn set_watched(&self, watched: HashSet<Ino>) -> (Vec<Ino>, Vec<Ino>) {
        let mut now = self.watched.write();
        let then = std::mem::replace(&mut *now, watched);
        (now.difference(&then).copied().collect(), then.difference(&now).copied().collect())
    }
}
