//! Folders that are looked at every few seconds, because the system gives no watches for them.

use crate::system::covered::uncovered;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks at least.
const INTERVAL: Duration = Duration::from_secs(3);
/// A look takes at most this part of the time.
const PART: u32 = 20;

/// The folders, and what was seen.
#[derive(Debug, Default)]
pub(super) struct Polled {
    folders: BTreeMap<Arc<Path>, u64>,
    next: Option<Instant>,
}

impl Polled {
    /// Looks at these folders and no others from now on; returns those that it did not before.
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

    /// When they are to be looked at next.
    pub(super) fn due(&self) -> Option<Instant> {
        self.next
    }

    /// Looks at them if that is due; returns those that differ.
    pub(super) fn look(&mut self, now: Instant) -> Vec<Arc<Path>> {
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
        self.next = Some(Instant::now() + INTERVAL.max(took.saturating_mul(PART)));
        changed
    }
}

/// A number that differs where names, sizes or times in a folder do.
fn signature(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(uncovered(folder)) else { return 0 };
    // A sum, because the order of names is the file system's.
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
