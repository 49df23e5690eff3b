//! Folders of the mount that programs used, while some folders on the disk have no watch. What lies on the
//! disk below a used folder gets watches before the others. Also files with several names (hard links) that
//! programs read, which get watches of their own.

use std::collections::HashSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use lru::LruCache;

use super::callback::OnWait;
use crate::limits::{LISTED_FOLDERS_MAX, USED_FOLDERS_MAX, WATCHED_LINKS_MAX};
use crate::system::sync::{Mutex, RwLock};
use crate::tree::Ino;

/// The folders that were used since they were last taken.
#[derive(Debug, Default)]
pub(crate) struct UsedFolders {
    /// Whether some folders have no watch.
    is_needed: AtomicBool,
    used: Mutex<UseTimes>,
    /// Called for the first folder; set once.
    pub(crate) on_use: OnceLock<OnWait>,
}

/// Inode numbers of folders with the times of their last uses, in this order. What is used last counts, so
/// the folders that were used first are dropped if there are too many.
#[derive(Debug)]
struct UseTimes {
    /// Folders in which programs read files. They come first.
    read: LruCache<Ino, u64>,
    /// Folders that programs listed or looked up names in. A program may list the whole mount.
    listed: LruCache<Ino, u64>,
    /// Counts uses.
    clock: u64,
}

impl Default for UseTimes {
    fn default() -> Self {
        Self { read: LruCache::unbounded(), listed: LruCache::unbounded(), clock: 0 }
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

    /// Records a use of a folder: whether a file in it was read.
    pub(crate) fn note(&self, folder: Ino, is_read: bool) {
        let mut used = self.used.lock();
        used.clock += 1;
        let (is_first, clock) = (used.read.is_empty() && used.listed.is_empty(), used.clock);
        let (folders, most) =
            if is_read { (&mut used.read, USED_FOLDERS_MAX) } else { (&mut used.listed, LISTED_FOLDERS_MAX) };
        folders.push(folder, clock);
        if folders.len() > most {
            folders.pop_lru();
        }
        drop(used);
        if let Some(on_use) = self.on_use.get().filter(|_| is_first) {
            (on_use.0)();
        }
    }

    /// Takes the folder in which a file was read last, or else the one that was listed last: with whether a
    /// file was read, and with the time of the use.
    pub(crate) fn take_last(&self) -> Option<(Ino, bool, u64)> {
        let mut used = self.used.lock();
        let take = |folders: &mut LruCache<Ino, u64>| {
            let last = *folders.iter().next()?.0;
            folders.pop_entry(&last)
        };
        if let Some((folder, at)) = take(&mut used.read) {
            return Some((folder, true, at));
        }
        take(&mut used.listed).map(|(folder, at)| (folder, false, at))
    }

    /// Whether some were not taken yet.
    pub(crate) fn are_any(&self) -> bool {
        let used = self.used.lock();
        !used.read.is_empty() || !used.listed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_comes_first_and_is_never_dropped() {
        let used = UsedFolders::default();
        for (is_read, most) in [(true, USED_FOLDERS_MAX), (false, LISTED_FOLDERS_MAX)] {
            (0..most as u64 + 5).for_each(|folder| used.note(Ino(folder), is_read));
            used.note(Ino(7), is_read);
            let taken: Vec<(Ino, bool, u64)> = std::iter::from_fn(|| used.take_last()).collect();
            let numbers: Vec<u64> = taken.iter().map(|(folder, ..)| folder.0).collect();
            assert_eq!((numbers[..2].to_vec(), numbers.last()), (vec![7, most as u64 + 4], Some(&5)));
            assert!(numbers.len() == most && taken.is_sorted_by(|a, b| a.2 > b.2) && !used.are_any());
        }
    }

    #[test]
    fn a_folder_whose_file_was_read_comes_before_those_that_a_walk_lists_later() {
        let used = UsedFolders::default();
        used.note(Ino(3), true);
        (10..10_000).for_each(|folder| used.note(Ino(folder), false));
        assert_eq!(used.take_last().map(|(folder, is_read, _)| (folder, is_read)), Some((Ino(3), true)));
        assert_eq!(used.take_last().map(|(folder, is_read, _)| (folder, is_read)), Some((Ino(9_999), false)));
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
