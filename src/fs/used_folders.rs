//! Folders of the mount that programs used, while some folders on the disk have no watch. What lies on the
//! disk below a used folder gets watches before the others. Also files with several names (hard links) that
//! programs read, which get watches of their own.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{MutexGuard, OnceLock};

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

/// Inode numbers of folders, in the order of their first use.
#[derive(Debug, Default)]
struct Used {
    order: Vec<Ino>,
    all: HashSet<Ino>,
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
        let mut used = self.lock();
        if used.order.len() >= USED_FOLDERS_MAX || !used.all.insert(folder) {
            return;
        }
        used.order.push(folder);
        let is_first = used.order.len() == 1;
        drop(used);
        if let Some(on_use) = self.on_use.get().filter(|_| is_first) {
            (on_use.0)();
        }
    }

    /// Takes the folders that were used, in the order of their first use.
    pub(crate) fn take(&self) -> Vec<Ino> {
        std::mem::take(&mut *self.lock()).order
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock()
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
