//! Checks the folders for which the user has no watches left, a few at a time. Writes to their files change
//! no folder; [`crate::fs`] notices them when a program opens or stats the file.

use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::archive_file::COARSEST_TICK;
use crate::fs::polling_interval;
use crate::system::covered::uncovered;
use crate::watch::FolderPath;

/// Pause between two steps. In each, a part of the folders is checked.
const STEP: Duration = Duration::from_secs(1);

/// The folders to check.
#[derive(Debug, Default)]
pub(super) struct Polling {
    folders: Arc<[FolderPath]>,
    /// The folder that is checked next.
    next: usize,
    due: Option<Instant>,
    /// A hash of the attributes of each folder that was checked, as of the last check.
    seen: HashMap<FolderPath, u64>,
    /// Folders in which a check found a change.
    changed: Vec<FolderPath>,
    /// A folder that was not checked yet has changed if it was modified after this time.
    began: Option<SystemTime>,
}

impl Polling {
    /// Checks only these folders from now on. `opening_began` is the time at which the opening of their view
    /// began.
    pub(super) fn set(&mut self, folders: Arc<[FolderPath]>, opening_began: SystemTime) {
        if folders == self.folders {
            return;
        }
        self.began = self.began.or(opening_began.checked_sub(COARSEST_TICK));
        let mut before = std::mem::take(&mut self.seen);
        self.seen = folders.iter().filter_map(|folder| before.remove_entry(folder)).collect();
        // A change of the folders must not postpone the check of others.
        let next = self.folders.get(self.next);
        self.next = next.map_or(0, |next| folders.partition_point(|folder| folder < next));
        if self.next >= folders.len() {
            self.next = 0;
        }
        self.due = (!folders.is_empty()).then(|| self.due.unwrap_or_else(|| Instant::now() + STEP));
        self.folders = folders;
    }

    /// Records the state of folders that will lose their watches. Changes from now on are found by a check.
    pub(super) fn remember(&mut self, states: Vec<(FolderPath, u64)>) {
        self.seen.extend(states);
    }

    /// The folders in which something changed since the last check, and which are no longer checked because
    /// they have watches now.
    pub(super) fn changed_before(&mut self, watched: &[FolderPath]) -> Vec<FolderPath> {
        let (seen, began) = (&mut self.seen, self.began);
        let is_changed = |folder: &&FolderPath| is_changed(folder, seen.remove(*folder), began).0;
        watched.iter().filter(is_changed).cloned().collect()
    }

    /// The folders in which a check found a change, since the last call.
    pub(super) fn take_changed(&mut self) -> Vec<FolderPath> {
        std::mem::take(&mut self.changed)
    }

    /// When the next step is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Checks a part of the folders if that is due. Returns those in which something changed since the view
    /// was opened or since the last check.
    pub(super) fn step(&mut self) -> Vec<FolderPath> {
        if self.due.is_none_or(|due| Instant::now() < due) {
            return Vec::new();
        }
        let steps = polling_interval(self.folders.len()) as usize;
        let end = self.folders.len().min(self.next + self.folders.len().div_ceil(steps));
        let (seen, began) = (&mut self.seen, self.began);
        let is_changed = |folder: &&FolderPath| {
            let (is_changed, state) = is_changed(folder, seen.get(*folder).copied(), began);
            seen.insert((*folder).clone(), state);
            is_changed
        };
        let changed: Vec<FolderPath> =
            self.folders[self.next..end].iter().filter(is_changed).cloned().collect();
        self.changed.extend(changed.iter().cloned());
        self.next = if end == self.folders.len() { 0 } else { end };
        self.due = Some(Instant::now() + STEP);
        changed
    }
}

/// Whether something changed in a folder since a state, or since the opening `began`, and its state now.
fn is_changed(folder: &FolderPath, before: Option<u64>, began: Option<SystemTime>) -> (bool, u64) {
    let now = std::fs::metadata(uncovered(Path::new(&**folder))).ok();
    let state = signature(now.as_ref());
    let is_changed = match before {
        Some(before) => before != state,
        None => now.is_none_or(|now| now.modified().ok() >= began),
    };
    (is_changed, state)
}

/// The state of a folder for [`Polling::remember`].
pub(super) fn state_of(folder: &FolderPath) -> u64 {
    is_changed(folder, Some(0), None).1
}

/// A hash of the attributes of a folder. They change if a name is added or removed.
fn signature(folder: Option<&Metadata>) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Some(found) = folder {
        (found.ino(), found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()).hash(&mut hasher);
    }
    hasher.finish()
}
