//! Checks the folders for which the user has no watches left, a few at a time. Writes to their files change
//! no folder; [`crate::fs`] notices them when a program opens or stats the file.

use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::archive_file::COARSEST_TICK;
use crate::fs::polling_interval;
use crate::system::asleep;
use crate::system::covered::uncovered;
use crate::watch::{FolderPath, Watcher};

/// Pause between two steps. In each, a part of the folders is checked.
const STEP: Duration = Duration::from_secs(1);

/// The check of folders without a watch.
#[derive(Debug, Default)]
pub(super) struct Polling {
    /// How many there are.
    folders: usize,
    /// The folder that was checked last, if it was not the last one.
    last: Option<FolderPath>,
    due: Option<Instant>,
    /// A hash of the attributes of each folder that was checked, as of the last check.
    seen: HashMap<FolderPath, u64>,
    /// Folders in which a check found a change.
    changed: Vec<FolderPath>,
    /// A folder that was not checked yet has changed if it was modified after this time.
    began: Option<SystemTime>,
}

impl Polling {
    /// Checks the folders that have no watch now. `opening_began` is the time at which the opening of their
    /// view began. Returns the folders that have watches now and in which something changed since they were
    /// checked last.
    pub(super) fn begin(&mut self, watcher: &Watcher, opening_began: SystemTime) -> Vec<FolderPath> {
        self.began = self.began.or(opening_began.checked_sub(COARSEST_TICK));
        let watched: Vec<_> = self.seen.keys().filter(|folder| watcher.is_watched(folder)).cloned().collect();
        let changed = self.changed_before(watcher, &watched, watcher.counts().2);
        self.seen.retain(|folder, _| watcher.is_unwatched(folder));
        changed
    }

    /// Records how many folders have no watch. Their set may change without postponing any check.
    fn set_count(&mut self, folders: usize) {
        self.folders = folders;
        self.due = (folders > 0).then(|| self.due.unwrap_or_else(|| Instant::now() + STEP));
    }

    /// Records the state of folders that will lose their watches. Changes from now on are found by a check.
    pub(super) fn remember(&mut self, states: Vec<(FolderPath, u64)>) {
        self.seen.extend(states);
    }

    /// The folders in which something changed since the last check, and which are no longer checked because
    /// they have watches now. `unwatched` others have none.
    pub(super) fn changed_before(
        &mut self,
        watcher: &Watcher,
        watched: &[FolderPath],
        unwatched: usize,
    ) -> Vec<FolderPath> {
        self.set_count(unwatched);
        let (seen, began) = (&mut self.seen, self.began);
        let is_changed = |folder: &&FolderPath| is_changed(watcher, folder, seen.remove(*folder), began).0;
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
    pub(super) fn step(&mut self, watcher: &Watcher) -> Vec<FolderPath> {
        if self.due.is_none_or(|due| Instant::now() < due) {
            return Vec::new();
        }
        let most = self.folders.div_ceil(polling_interval(self.folders) as usize);
        let folders = watcher.unwatched_after(self.last.as_ref(), most);
        let (seen, began) = (&mut self.seen, self.began);
        let is_changed = |folder: &&FolderPath| {
            let (is_changed, state) = is_changed(watcher, folder, seen.get(*folder).copied(), began);
            seen.insert((*folder).clone(), state);
            is_changed
        };
        let changed: Vec<FolderPath> = folders.iter().filter(is_changed).cloned().collect();
        self.changed.extend(changed.iter().cloned());
        self.last = folders.last().filter(|_| folders.len() == most).cloned();
        self.due = Some(Instant::now() + STEP);
        changed
    }
}

/// Whether something changed in a folder since a state, or since the opening `began`, and its state now.
fn is_changed(
    watcher: &Watcher,
    folder: &FolderPath,
    before: Option<u64>,
    began: Option<SystemTime>,
) -> (bool, u64) {
    let (at, files) = (PathBuf::from(&**folder), watcher.files_that_count(folder));
    let stat = move || {
        // A write to a file changes no attribute of its folder.
        let files = files.iter().map(|name| at.join(name)).collect::<Vec<_>>();
        let paths = std::iter::once(&at).chain(&files);
        paths.map(|path| std::fs::metadata(uncovered(path)).ok()).collect::<Vec<_>>()
    };
    // While a disk is asleep, the state from before stays.
    let Some(now) = asleep::at(Path::new(&**folder), stat) else { return (false, before.unwrap_or(0)) };
    let state = signature(&now);
    let is_changed = match before {
        Some(before) => before != state,
        None => {
            let is_new = |found: &Metadata| found.modified().ok() >= began;
            now[0].is_none() || now.iter().flatten().any(is_new)
        }
    };
    (is_changed, state)
}

/// The state of a folder for [`Polling::remember`].
pub(super) fn state_of(watcher: &Watcher, folder: &FolderPath) -> u64 {
    is_changed(watcher, folder, Some(0), None).1
}

/// A hash of the attributes of a folder and of files in it. Those of a folder change if a name is added or
/// removed.
fn signature(folder: &[Option<Metadata>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for found in folder {
        let times = |it: &Metadata| (it.ino(), it.mtime(), it.mtime_nsec(), it.ctime(), it.ctime_nsec());
        found.as_ref().map(times).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::{Interests, WatchChanges};
    use std::fs::File;

    #[test]
    fn a_list_that_is_saved_in_place_is_found_without_a_watch() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("modlist.txt");
        std::fs::write(&list, "+a").unwrap();
        let (watcher, mut interests) = (Watcher::with_share(0), Interests::default());
        interests.add_plan_file(&list);
        watcher.watch(WatchChanges { interests: Some(interests), ..WatchChanges::default() });
        let mut polling = Polling::default();
        let _ = polling.begin(&watcher, SystemTime::now() + Duration::from_secs(3600));
        let mut check = || {
            // All are checked once.
            let steps = 0..polling_interval(polling.folders) as usize;
            let changed = steps.map(|_| {
                polling.due = Some(Instant::now());
                polling.step(&watcher)
            });
            // Other tests change the folders above.
            let changed = changed.flatten().map(|folder| PathBuf::from(&*folder));
            changed.filter(|folder| folder.starts_with(dir.path())).collect::<Vec<_>>()
        };
        assert_eq!((check(), check()), (vec![], vec![]));
        std::fs::write(&list, "-a").unwrap();
        let at = SystemTime::now() + Duration::from_secs(5);
        File::open(&list).unwrap().set_modified(at).unwrap();
        assert_eq!(check(), [dir.path()]);
        assert_eq!(check(), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_change_between_the_last_check_of_a_folder_and_its_watch_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
        for folder in [&a, &b] {
            std::fs::create_dir(folder).unwrap();
        }
        let watcher = Watcher::with_share(1);
        let watch = |added: &[&PathBuf], removed: &[&PathBuf]| {
            let of = |folders: &[&PathBuf]| folders.iter().map(|it| it.to_path_buf()).collect();
            watcher.watch(WatchChanges { added: of(added), removed: of(removed), ..WatchChanges::default() });
        };
        watch(&[&a, &b], &[]);
        let (mut polling, began) = (Polling::default(), SystemTime::now());
        assert!(polling.begin(&watcher, began).is_empty());
        polling.due = Some(Instant::now());
        polling.step(&watcher);
        std::fs::write(b.join("new"), "").unwrap();
        // A new layer lists the folder, too, when there is room.
        watch(&[], &[&a]);
        watch(&[&b], &[]);
        assert_eq!(polling.begin(&watcher, began), [FolderPath::from(b.as_os_str())]);
        assert!(polling.begin(&watcher, began).is_empty());
    }
}
