//! Checks the folders for which the user has no watches left, a few at a time.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::fs::{POLLING_INTERVAL, View};
use crate::system::covered::uncovered;
use crate::watch::FolderPath;

/// Pause between two steps. In each, a part of the folders is checked.
const STEP: Duration = Duration::from_secs(1);
/// Number of steps in which all folders are checked.
const STEPS: usize = POLLING_INTERVAL as usize;

/// The folders to check.
#[derive(Debug, Default)]
pub(super) struct Polling {
    folders: Vec<FolderPath>,
    /// The folder that is checked next.
    next: usize,
    due: Option<Instant>,
    /// A hash of the attributes of each folder that was checked, as of the last check.
    seen: HashMap<FolderPath, u64>,
}

impl Polling {
    /// Checks only these folders from now on.
    pub(super) fn set(&mut self, folders: Vec<FolderPath>) {
        if folders == self.folders {
            return;
        }
        let mut before = std::mem::take(&mut self.seen);
        self.seen = folders.iter().filter_map(|folder| before.remove_entry(folder)).collect();
        self.due = (!folders.is_empty()).then(|| Instant::now() + STEP);
        (self.folders, self.next) = (folders, 0);
    }

    /// When the next step is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Checks a part of the folders if that is due. Returns those in which something changed since the view
    /// was opened or since the last check.
    pub(super) fn step(&mut self, view: &View) -> Vec<FolderPath> {
        if self.due.is_none_or(|due| Instant::now() < due) {
            return Vec::new();
        }
        let count = self.folders.len().div_ceil(STEPS);
        let some = self.folders.iter().cycle().skip(self.next).take(count);
        let layers = view.store().folders_by_path();
        let is_stale = |path: &Path| {
            let found = path.ancestors().filter_map(|above| layers.get(above.as_os_str())).flatten();
            found.into_iter().any(|folder| folder.is_stale(path))
        };
        let seen = &mut self.seen;
        let is_changed = |folder: &&FolderPath| {
            let path = Path::new(&***folder);
            let now = signature(path);
            let before = seen.insert((*folder).clone(), now);
            before.is_some_and(|before| before != now) || is_stale(path)
        };
        let changed = some.filter(is_changed).cloned().collect();
        self.next = (self.next + count) % self.folders.len().max(1);
        self.due = Some(Instant::now() + STEP);
        changed
    }
}

/// A hash of the attributes of a folder. They change if a name is added or removed.
fn signature(folder: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Ok(found) = std::fs::metadata(uncovered(folder)) {
        (found.ino(), found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()).hash(&mut hasher);
    }
    hasher.finish()
}
