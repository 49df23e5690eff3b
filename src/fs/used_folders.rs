//! Folders of the mount that programs used, while some folders on the disk have no watch. What lies on the
//! disk below a used folder gets watches before the others.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{MutexGuard, OnceLock};

use super::callback::OnWait;
use crate::limits::USED_FOLDERS_MAX;
use crate::system::sync::Mutex;
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
