//! Checks the folders for which the user has no watches left, a few at a time.

use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use crate::archive_file::COARSEST_TICK;
use crate::fs::{POLLING_INTERVAL, View};
use crate::system::covered::uncovered;
use crate::watch::FolderPath;

/// Pause between two steps. In each, a part of the folders is checked.
const STEP: Duration = Duration::from_secs(1);
/// Maximum number of steps in which all folders are checked.
const STEPS: usize = POLLING_INTERVAL as usize;
/// Minimum number of folders to check in a step, if there are as many.
const PER_STEP: usize = 100;
/// The files of a folder are statted in one of this many of its checks. A write does not change the folder,
/// but a read of the file notices it at once.
const FILES_INTERVAL: usize = 6;

/// The folders to check.
#[derive(Debug, Default)]
pub(super) struct Polling {
    folders: Vec<FolderPath>,
    /// The folder that is checked next.
    next: usize,
    /// Number of times that all folders were checked.
    passes: usize,
    due: Option<Instant>,
    /// A hash of the attributes of each folder that was checked, as of the last check.
    seen: HashMap<FolderPath, u64>,
    /// A folder that was not checked yet has changed if it was modified after this time.
    began: Option<SystemTime>,
}

impl Polling {
    /// Checks only these folders from now on. `opening_began` is the time at which the opening of their view
    /// began.
    pub(super) fn set(&mut self, folders: Vec<FolderPath>, opening_began: SystemTime) {
        if folders == self.folders {
            return;
        }
        self.began = self.began.or(opening_began.checked_sub(COARSEST_TICK));
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
        let end = self.folders.len().min(self.next + self.folders.len().div_ceil(STEPS).max(PER_STEP));
        let layers = view.store().folders_by_path();
        let is_stale = |path: &Path| {
            let found = path.ancestors().filter_map(|above| layers.get(above.as_os_str())).flatten();
            found.into_iter().any(|folder| folder.is_stale(path))
        };
        let (seen, passes, began) = (&mut self.seen, self.passes, self.began);
        let mut is_changed = |index: usize, folder: &FolderPath| {
            let path = Path::new(&**folder);
            let now = std::fs::metadata(uncovered(path)).ok();
            let signature = signature(now.as_ref());
            match seen.insert(folder.clone(), signature) {
                Some(before) if before != signature => true,
                None if now.is_none_or(|now| now.modified().ok() >= began) => true,
                _ => (index + passes).is_multiple_of(FILES_INTERVAL) && is_stale(path),
            }
        };
        let some = (self.next..end).zip(&self.folders[self.next..end]);
        let changed =
            some.filter(|(index, folder)| is_changed(*index, folder)).map(|(_, folder)| folder.clone());
        let changed = changed.collect();
        let is_last = end == self.folders.len();
        (self.next, self.passes) = if is_last { (0, self.passes + 1) } else { (end, self.passes) };
        self.due = Some(Instant::now() + STEP);
        changed
    }
}

/// A hash of the attributes of a folder. They change if a name is added or removed.
fn signature(folder: Option<&Metadata>) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Some(found) = folder {
        (found.ino(), found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()).hash(&mut hasher);
    }
    hasher.finish()
}
