//! Open files, shared by all folders of a mount. Some stay open for later reads, on disks where that has no
//! effect for others (`system/disk_id.rs`).

use std::collections::HashMap;
use std::fs::File;
use std::num::NonZero;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use lru::LruCache;

use super::mounts::MountTops;
use crate::limits::OPEN_FILES_MAX;
use crate::system::disk_id::has_effects;
use crate::system::sync::Mutex;

const MOST: NonZero<usize> = NonZero::new(OPEN_FILES_MAX).unwrap();

/// Folder number and file number.
type Key = (u32, u32);

/// A bounded cache of open files, and the tops of mounts that links lead to.
#[derive(Debug)]
pub struct OpenFiles {
    open: Arc<Mutex<LruCache<Key, Arc<File>>>>,
    /// Files that are open only while they are read, and files that are being opened.
    transient: Mutex<HashMap<Key, Arc<Mutex<Weak<File>>>>>,
    /// By device, whether open files have effects.
    effects: Mutex<HashMap<u64, bool>>,
    folders: Arc<AtomicU32>,
    pub(super) mounts: MountTops,
}

impl Default for OpenFiles {
    fn default() -> Self {
        Self::with_limit(MOST)
    }
}

impl OpenFiles {
    /// Keeps at most `most` files open, not counting files that are being read.
    pub fn with_limit(most: NonZero<usize>) -> Self {
        Self {
            open: Arc::new(Mutex::new(LruCache::new(most))),
            transient: Mutex::default(),
            effects: Mutex::default(),
            folders: Arc::default(),
            mounts: MountTops::default(),
        }
    }

    /// The same open files, for folders that are walked when any disk may be another one: nothing is known of
    /// disks and mounts.
    #[must_use]
    pub fn on_any_disk(&self) -> Self {
        Self {
            open: self.open.clone(),
            transient: Mutex::default(),
            effects: Mutex::default(),
            folders: self.folders.clone(),
            mounts: MountTops::default(),
        }
    }

    pub fn count(&self) -> usize {
        self.open.lock().len()
    }

    pub(super) fn allocate_folder_number(&self) -> u32 {
        self.folders.fetch_add(1, Ordering::Relaxed)
    }

    /// A file that is open, or that `open` opens and says whether it may stay open. A file is opened once
    /// for all reads at the same time: many FUSE daemons make the kernel drop the pages of a file that is
    /// opened again, and that waits for reads that hang.
    pub(super) fn get<E>(
        &self,
        key: Key,
        open: impl FnOnce() -> Result<(File, bool), E>,
    ) -> Result<Arc<File>, E> {
        if let Some(kept) = self.kept(key) {
            return Ok(kept);
        }
        let slot = self.transient.lock().entry(key).or_default().clone();
        let mut lent = slot.lock();
        if let Some(file) = self.kept(key).or_else(|| lent.upgrade()) {
            return Ok(file);
        }
        let (file, stays_open) = open().inspect_err(|_| self.forget_closed())?;
        let file = Arc::new(file);
        if stays_open {
            self.keep(key, file.clone());
        } else {
            *lent = Arc::downgrade(&file);
        }
        drop(lent);
        drop(slot);
        self.forget_closed();
        Ok(file)
    }

    /// Drops the slots of files that are neither open nor being opened.
    fn forget_closed(&self) {
        let is_used = |slot: &Arc<Mutex<Weak<File>>>| {
            // A slot that another thread has may be locked for long.
            Arc::strong_count(slot) > 1 || slot.lock().strong_count() > 0
        };
        self.transient.lock().retain(|_, slot| is_used(slot));
    }

    /// A file that stays open.
    pub(super) fn kept(&self, key: Key) -> Option<Arc<File>> {
        self.open.lock().get(&key).cloned()
    }

    pub(super) fn keep(&self, key: Key, file: Arc<File>) {
        // The evicted file is closed after the lock is released.
        let _evicted = self.open.lock().push(key, file);
    }

    /// Whether an open file has effects on its disk. Each disk is asked once.
    pub(super) fn has_effects(&self, device: u64, file: &File) -> bool {
        let known = self.effects.lock().get(&device).copied();
        known.unwrap_or_else(|| {
            let has_effects = has_effects(file);
            self.effects.lock().insert(device, has_effects);
            has_effects
        })
    }

    pub(super) fn remove(&self, key: Key) {
        let _removed = self.open.lock().pop(&key);
        let _lent = self.transient.lock().remove(&key);
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
