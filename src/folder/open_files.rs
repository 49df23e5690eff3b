//! Open files, shared by all folders of a mount.

use std::fs::File;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use lru::LruCache;

use super::mounts::Mounts;
use crate::limits::OPEN_FILES_MAX;
use crate::system::sync::Mutex;

const MOST: NonZero<usize> = NonZero::new(OPEN_FILES_MAX).unwrap();

/// Folder number and file number.
type Key = (u32, u32);

/// A bounded cache of open files, and the tops of mounts that links lead to.
#[derive(Debug)]
pub struct OpenFiles {
    open: Mutex<LruCache<Key, Arc<File>>>,
    folders: AtomicU32,
    pub(super) mounts: Mounts,
}

impl Default for OpenFiles {
    fn default() -> Self {
        Self::with_limit(MOST)
    }
}

impl OpenFiles {
    /// Keeps at most `most` files open, not counting files that are being read.
    pub fn with_limit(most: NonZero<usize>) -> Self {
        Self { open: Mutex::new(LruCache::new(most)), folders: AtomicU32::new(0), mounts: Mounts::default() }
    }

    pub fn count(&self) -> usize {
        self.open.lock().len()
    }

    pub(super) fn allocate_folder_number(&self) -> u32 {
        self.folders.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn get(&self, key: Key) -> Option<Arc<File>> {
        self.open.lock().get(&key).cloned()
    }

    pub(super) fn put(&self, key: Key, file: Arc<File>) {
        // The evicted file is closed after the lock is released.
        let _evicted = self.open.lock().push(key, file);
    }

    pub(super) fn remove(&self, key: Key) {
        let _removed = self.open.lock().pop(&key);
    }

    pub(super) fn remove_folder(&self, folder: u32) {
        let mut open = self.open.lock();
        let keys: Vec<Key> = open.iter().map(|(key, _)| *key).filter(|key| key.0 == folder).collect();
        // The files are closed after the lock is released.
        let _removed: Vec<_> = keys.iter().filter_map(|key| open.pop(key)).collect();
        drop(open);
    }

    /// Empties the cache. A file that is being read is closed after the read.
    pub(super) fn close_all(&self) {
        let all: Vec<_> = {
            let mut open = self.open.lock();
            std::iter::from_fn(|| open.pop_lru()).collect()
        };
        drop(all);
    }
}
