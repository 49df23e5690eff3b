//! The thread that watches the disk. It notes what changed, and has the kernel drop changed names at once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::archive_file::COARSEST_TICK;
use crate::fs::{FileSystem, polling_interval};
use crate::system::asleep;
use crate::system::covered::uncovered;
use crate::system::disk_id::DiskId;
use crate::system::sync::{Condvar, Mutex};
use crate::vfs::reopening::{DiskChanges, SETTLED};
use crate::watch::{DiskEvent, FolderPath, Watcher};

/// What the thread needs. The thread that reloads changes the watches.
#[derive(Debug)]
pub(super) struct Watching {
    pub(super) fs: Weak<FileSystem>,
    pub(super) trigger: Arc<Trigger>,
    pub(super) watcher: Arc<Watcher>,
    pub(super) polling: Arc<Mutex<Polling>>,
    /// Can be read after SIGUSR1.
    pub(super) signal: UnixStream,
    /// `None` without `/proc`.
    pub(super) mount_table: Option<File>,
}

impl Watching {
    /// Runs until the file system is dropped or watching fails.
    pub(super) fn run(mut self) {
        while !self.trigger.is_over() {
            if let Err(error) = self.step() {
                self.trigger.end();
                return log::error!(
                    "changes on the disk are no longer followed: {error}; to see changes, unmount and \
                     mount again"
                );
            }
        }
    }

    /// Takes all bytes that were sent. Returns whether a signal requested a reload.
    fn take_signals(&mut self) -> bool {
        let (mut bytes, mut is_requested) = ([0; 64], false);
        while let Ok(len) = self.signal.read(&mut bytes)
            && len > 0
        {
            is_requested |= bytes[..len].iter().any(|&byte| byte != WAKE);
        }
        is_requested
    }

    /// Waits for events, a signal, or the next check of folders without a watch.
    fn step(&mut self) -> io::Result<()> {
        let due = self.polling.lock().due();
        let table = self.mount_table.as_ref().map(AsFd::as_fd);
        let woken = self.watcher.wait(self.signal.as_fd(), table, due)?;
        let Some(fs) = self.fs.upgrade() else {
            self.trigger.end();
            return Ok(());
        };
        if woken.is_readable && self.take_signals() {
            self.trigger.request();
        }
        if self.trigger.take_nap() {
            self.trigger.note_mounts();
        }
        if woken.are_mounts {
            self.trigger.note_mounts();
            // Other programs may mount all the time.
            thread::sleep(UNCOUNTED_PAUSE);
        }
        if woken.has_events {
            let (mut counts, mut is_lost) = (false, Ok(false));
            let mut files = BTreeMap::new();
            let mut touched: BTreeMap<PathBuf, BTreeSet<OsString>> = BTreeMap::new();
            self.trigger.note(|changes| {
                is_lost = self.watcher.read_events(|event| {
                    counts = true;
                    note_event(&fs, changes, event);
                    let Some(name) = event.name else { return };
                    if event.is_write || event.is_close {
                        touched.entry(event.folder.to_owned()).or_default().insert(name.to_owned());
                    }
                    if event.is_write || event.is_of_attributes {
                        let file = (event.folder.to_owned(), name.to_owned());
                        *files.entry(file).or_default() |= event.is_write;
                    }
                });
                // The reload that follows takes these, so they are noted before it can begin.
                for (folder, names) in &touched {
                    fs.note_touched_files(folder, names.iter().map(|name| name.as_bytes()));
                }
                counts
            });
            if is_lost? {
                fs.note_lost_events();
                self.trigger.note_found(DiskChanges::add_anywhere);
            }
            // Requests may need the lock of the trigger, so nothing that may hang is done under it.
            for ((folder, name), is_write) in files {
                let (fs, at) = (fs.clone(), folder.clone());
                // If the disk is asleep, its folders are listed again later.
                asleep::at(&folder, move || {
                    if is_write {
                        fs.note_written_file(&at, name.as_bytes());
                    }
                    if let Ok(found) = std::fs::metadata(uncovered(&at.join(&name))) {
                        fs.note_archive_event(DiskId::from(&found), is_write);
                    }
                });
            }
            if !counts {
                thread::sleep(UNCOUNTED_PAUSE);
            }
        }
        let changed = self.polling.lock().step(&self.watcher);
        if !changed.is_empty() {
            self.trigger.note(|changes| {
                changes.add_plan();
                for folder in changed {
                    changes.add(Path::new(&*folder).into());
                }
                true
            });
        }
        Ok(())
    }
}

/// The byte that wakes the thread because there are folders to check, or because a disk fell asleep or answers
/// again. The signal handler sends another one.
pub(super) const WAKE: u8 = b'w';

/// Pause after events that do not count. Other files in a folder may be written to all the time.
const UNCOUNTED_PAUSE: Duration = Duration::from_millis(20);

fn note_event(fs: &FileSystem, changes: &mut DiskChanges, event: &DiskEvent<'_>) {
    let DiskEvent { folder, name, meaning, .. } = event;
    if meaning.is_link {
        changes.add_anywhere();
    }
    if meaning.is_plan {
        changes.add_plan();
    }
    let Some(name) = name else {
        // The folder itself is gone, so the folder above it must be listed again, too.
        folder.parent().into_iter().for_each(|parent| changes.add(parent.into()));
        return changes.add((*folder).into());
    };
    if meaning.is_way {
        changes.add_moved(folder.join(name));
    }
    if meaning.is_content || meaning.is_file {
        changes.add((*folder).into());
    }
    if meaning.is_content && meaning.is_of_names {
        fs.note_changed_name(folder, name.as_bytes(), event.is_new_folder);
    }
}

// Checks the folders for which the user has no watches left, a few at a time. Writes to their files change
// no folder; [`crate::fs`] notices them when a program opens or stats the file.

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
    /// view began.
    pub(super) fn begin(&mut self, watcher: &Watcher, opening_began: SystemTime) {
        self.began = self.began.or(opening_began.checked_sub(COARSEST_TICK));
        self.seen.retain(|folder, _| watcher.is_unwatched(folder));
        self.set_count(watcher.counts().2);
    }

    /// Records how many folders have no watch. Which ones may change without postponing any check.
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

// Decides when a reload begins: when the disk is quiet, when a LOOKUP waits for it, or on request.

/// Time to wait after the last write, because a program may go on writing.
const QUIET_TIME: Duration = Duration::from_millis(150);
/// Maximum time to wait after the first write, even if more writes follow.
const MAX_DELAY: Duration = Duration::from_millis(500);
/// The pause after a reload is this many times as long as the reload. So if a disk changes all the time,
/// reloads take at most a fifth of the time, unless each takes more than 1.25 s.
const PAUSE_FACTOR: u32 = 4;
/// The pause after watches were moved is this many times as long as the move.
const MOVE_PAUSE_FACTOR: u32 = 10;
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// What changed since the last reload began, shared by the threads that follow the disk.
#[derive(Debug, Default)]
pub(super) struct Trigger {
    state: Mutex<State>,
    changed: Condvar,
    /// Whether a disk fell asleep or answers again.
    has_nap: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    changes: DiskChanges,
    change: Option<Change>,
    /// Whether the user requested a reload.
    is_requested: bool,
    /// Whether a LOOKUP waits for a reload.
    is_waited_for: bool,
    /// Before this time only a request begins a reload.
    not_before: Option<Instant>,
    /// Whether a program used a folder while some have no watch.
    is_used: bool,
    /// Whether the mount table changed.
    are_mounts: bool,
    /// Before this time no watches are moved.
    not_moved_before: Option<Instant>,
    is_over: bool,
}

/// A change that will cause a reload.
#[derive(Clone, Copy, Debug)]
struct Change {
    first: Instant,
    /// When the last write was noticed.
    last: Instant,
    /// Whether a reload found an archive that seems to be half written.
    is_unfinished: bool,
}

/// A reload that is due.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) changes: DiskChanges,
    pub(super) is_requested: bool,
}

impl Change {
    fn now() -> Self {
        let now = Instant::now();
        Self { first: now, last: now, is_unfinished: false }
    }

    fn due(&self) -> Instant {
        if self.is_unfinished {
            self.last + Duration::from_secs(SETTLED)
        } else {
            (self.last + QUIET_TIME).min(self.first + MAX_DELAY)
        }
    }
}

impl State {
    /// When a reload is due; `None` if nothing changed.
    fn due(&self, now: Instant) -> Option<Instant> {
        if self.is_requested || self.is_over {
            return Some(now);
        }
        let due = if self.is_waited_for { now } else { self.change?.due() };
        Some(self.not_before.map_or(due, |not_before| due.max(not_before)))
    }
}

impl Trigger {
    /// Adds changes. `note` adds them, and returns whether one of them counts for the quiet time: a reload
    /// then waits until the disk is quiet. No reload begins meanwhile.
    pub(super) fn note(&self, note: impl FnOnce(&mut DiskChanges) -> bool) {
        let mut state = self.state.lock();
        if note(&mut state.changes) {
            state.change = match state.change {
                Some(change) if !change.is_unfinished => Some(Change { last: Instant::now(), ..change }),
                _ => Some(Change::now()),
            };
            self.changed.notify_one();
        }
    }

    /// Adds changes that a request or a check found. They do not postpone a reload that is due already,
    /// because a program may repeat a failing read all the time.
    pub(super) fn note_found(&self, note: impl FnOnce(&mut DiskChanges)) {
        let mut state = self.state.lock();
        note(&mut state.changes);
        state.change = state.change.or(Some(Change::now()));
        self.changed.notify_one();
    }

    /// Begins a reload at once, on request of the user.
    pub(super) fn request(&self) {
        let mut state = self.state.lock();
        state.changes.add_anywhere();
        state.is_requested = true;
        self.changed.notify_one();
    }

    /// Begins a reload without waiting until the disk is quiet.
    pub(super) fn hurry(&self) {
        self.state.lock().is_waited_for = true;
        self.changed.notify_one();
    }

    /// Begins another reload when an archive that seems half written has been quiet for long enough, or
    /// changes once more.
    pub(super) fn retry_unfinished(&self) {
        let mut state = self.state.lock();
        state.change = state.change.or(Some(Change { is_unfinished: true, ..Change::now() }));
    }

    /// Records how long a reload took.
    pub(super) fn pause_after(&self, reload: Duration) {
        self.state.lock().not_before = Some(Instant::now() + (reload * PAUSE_FACTOR).min(PAUSE_MAX));
    }

    /// Has watches moved to folders that programs used.
    pub(super) fn note_use(&self) {
        self.state.lock().is_used = true;
        self.changed.notify_one();
    }

    /// Has the mount table compared, because it changed.
    pub(super) fn note_mounts(&self) {
        self.state.lock().are_mounts = true;
        self.changed.notify_one();
    }

    /// Records that a disk fell asleep or answers again. Does not wait: the thread that finds this may have
    /// locked the state.
    pub(super) fn note_nap(&self) {
        self.has_nap.store(true, Ordering::SeqCst);
    }

    /// Whether a disk fell asleep or answered again since the last call.
    pub(super) fn take_nap(&self) -> bool {
        self.has_nap.swap(false, Ordering::SeqCst)
    }

    /// Whether the mount table changed since the last call.
    pub(super) fn take_mounts(&self) -> bool {
        std::mem::take(&mut self.state.lock().are_mounts)
    }

    /// Records how long it took to move watches. Even if a program walks the whole mount, they are moved for
    /// at most a tenth of the time.
    pub(super) fn pause_moves(&self, took: Duration) {
        self.state.lock().not_moved_before =
            Some(Instant::now() + (took * MOVE_PAUSE_FACTOR).max(QUIET_TIME));
    }

    /// Ends all waiting.
    pub(super) fn end(&self) {
        self.state.lock().is_over = true;
        self.changed.notify_all();
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.lock().is_over
    }

    /// Waits until a reload is due, and takes the changes. `begin` is called before other changes can be
    /// noted, and what it returns is returned too. `None` after `idle`, when mounts are to be compared or
    /// watches moved, and at the end.
    pub(super) fn wait<T>(&self, idle: Option<Duration>, begin: impl FnOnce() -> T) -> Option<(Due, T)> {
        let idle = idle.map(|idle| Instant::now() + idle);
        let mut state = self.state.lock();
        loop {
            let now = Instant::now();
            let due = state.due(now);
            let moves = state.is_used.then(|| state.not_moved_before.unwrap_or(now));
            let until = idle.into_iter().chain(moves).min();
            if due.is_none_or(|due| due > now) && moves.is_some_and(|moves| moves <= now) {
                state.is_used = false;
                return None;
            }
            if state.are_mounts {
                return None;
            }
            if state.is_over || until.is_some_and(|until| until <= now) && due.is_none_or(|due| due > now) {
                return None;
            }
            if due.is_some_and(|due| due <= now) {
                let begun = begin();
                (state.change, state.is_waited_for) = (None, false);
                let changes = std::mem::take(&mut state.changes);
                let due = Due { changes, is_requested: std::mem::take(&mut state.is_requested) };
                return Some((due, begun));
            }
            let next = due.into_iter().chain(until).min();
            state = match next {
                Some(next) => self.changed.wait_timeout(state, next.saturating_duration_since(now)),
                None => self.changed.wait(state),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::{Interests, WatchChanges};

    #[test]
    fn a_list_that_is_saved_in_place_is_found_without_a_watch() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("modlist.txt");
        std::fs::write(&list, "+a").unwrap();
        let (watcher, mut interests) = (Watcher::with_share(0), Interests::default());
        interests.add_plan_file(&list);
        watcher.watch(WatchChanges { interests: Some(interests), ..WatchChanges::default() });
        let mut polling = Polling::default();
        polling.begin(&watcher, SystemTime::now() + Duration::from_secs(3600));
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
}
