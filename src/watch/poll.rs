//! Folders that are polled every few seconds, because the system allows no watches for them.

use crate::system::covered::uncovered;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Minimum time between two polls.
const INTERVAL: Duration = Duration::from_secs(3);
/// The time between two polls is at least this many times the duration of a poll.
const POLL_PAUSE_FACTOR: u32 = 20;

/// The polled folders, each with its last signature.
#[derive(Debug, Default)]
pub(super) struct Polled {
    folders: BTreeMap<Arc<Path>, u64>,
    next: Option<Instant>,
}

impl Polled {
    /// Polls only these folders from now on. Returns those that were not polled before.
    pub(super) fn set(&mut self, folders: Vec<Arc<Path>>) -> Vec<Arc<Path>> {
        let mut kept = BTreeMap::new();
        let mut added = Vec::new();
        for folder in folders {
            let seen = self.folders.remove(&folder).unwrap_or_else(|| {
                added.push(folder.clone());
                signature(&folder)
            });
            kept.insert(folder, seen);
        }
        self.folders = kept;
        self.next = (!self.folders.is_empty()).then(|| Instant::now() + INTERVAL);
        added
    }

    pub(super) fn len(&self) -> usize {
        self.folders.len()
    }

    /// When the next poll is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.next
    }

    /// Polls the folders if that is due. Returns those that changed.
    pub(super) fn poll(&mut self, now: Instant) -> Vec<Arc<Path>> {
        let mut changed = Vec::new();
        if self.next.is_none_or(|next| now < next) {
            return changed;
        }
        for (folder, seen) in &mut self.folders {
            let signature = signature(folder);
            if std::mem::replace(seen, signature) != signature {
                changed.push(folder.clone());
            }
        }
        let took = now.elapsed();
        self.next = Some(Instant::now() + INTERVAL.max(took.saturating_mul(POLL_PAUSE_FACTOR)));
        changed
    }
}

/// A hash of the names, sizes and times in a folder.
fn signature(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(uncovered(folder)) else { return 0 };
    // A sum, because a file system may list names in any order.
    entries.flatten().fold(1, |sum: u64, entry| {
        let mut hasher = DefaultHasher::new();
        entry.file_name().hash(&mut hasher);
        // Follows links.
        if let Ok(found) = std::fs::metadata(entry.path()) {
            let times = (found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec());
            (found.ino(), found.len(), times).hash(&mut hasher);
        }
        sum.wrapping_add(hasher.finish())
    })
}
