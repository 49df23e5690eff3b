//! The thread that reloads. It opens the sources again while the old view is served, and then makes the file
//! system serve the new view. Another thread watches the disk (`watching.rs`), and both share what changed.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use sd_notify::NotifyState;
use signal_hook::consts::SIGUSR1;

use super::disks::{DiskNews, Disks};
use super::logging;
use super::polling::{Polling, state_of};
use crate::archive_file::COARSEST_TICK;
use crate::failure::{Exit, Failure};
use crate::folder::LooseFolder;
use crate::fs::{FileSystem, FolderUse, Ino, LastReload, POLLING_INTERVAL, ReloadAttempt, Replaced, View};
use crate::game::ReadSet;
use crate::shown::Shown;
use crate::system::asleep;
use crate::system::clock::unix_seconds;
use crate::system::covered::uncovered;
use crate::system::sync::{Condvar, Mutex};
use crate::system::text::count;
use crate::vfs::opening::reopening::{DiskChanges, Reopening, Reuse, SETTLED};
use crate::vfs::trouble::{Handling, Trouble};
use crate::watch::{FolderPath, Interests, MovedWatches, UsedFolder, WatchChanges, WatchedFile, Watcher};

/// Interval between checks whether kept listings are old enough to be dropped.
const TIDY_INTERVAL: Duration = Duration::from_secs(2);

/// Number of watches that are moved at once. A program may have walked the whole mount: then the pause after
/// a move must be short, because what is used next comes first.
const MOVED_AT_ONCE: usize = 256;

/// If the folder of loose files that wins over all others has no more folders than this, they get watches
/// before those that programs use. For example, it is the `overwrite` of Mod Organizer 2.
const FIRST_FOLDERS_MAX: usize = 1000;

/// Interval between questions to disks that may stop answering and that sources are on.
const ASKING_INTERVAL: Duration = Duration::from_secs(5);

/// How often a reload opens the sources, if disks stop answering meanwhile.
const OPENINGS: usize = 4;

/// The byte that wakes the thread that watches, because there are folders to check, or because a disk fell
/// asleep or answers again. The signal handler sends another one.
pub(super) const WAKE: u8 = b'w';

/// Receives SIGUSR1, which requests a reload. The handler is installed before the mount, because without it
/// the signal would end the process.
#[derive(Debug)]
pub(crate) struct ReloadSignal {
    pub(super) received: UnixStream,
    /// Wakes the thread that watches.
    pub(super) wake: UnixStream,
}

impl ReloadSignal {
    /// Installs the signal handler.
    pub(crate) fn handle() -> Result<Self, Failure> {
        let cannot =
            |error: std::io::Error| Failure::new(Exit::Io, format!("cannot handle signals: {error}"));
        let (received, sender) = UnixStream::pair().map_err(cannot)?;
        received.set_nonblocking(true).map_err(cannot)?;
        sender.set_nonblocking(true).map_err(cannot)?;
        signal_hook::low_level::pipe::register(SIGUSR1, sender.try_clone().map_err(cannot)?)
            .map_err(cannot)?;
        Ok(Self { received, wake: sender })
    }
}

/// The state of the thread.
#[derive(Debug)]
pub(crate) struct Follower {
    pub(super) fs: Weak<FileSystem>,
    reopening: Reopening,
    pub(super) signal: ReloadSignal,
    pub(super) trigger: Arc<Trigger>,
    pub(super) watcher: Arc<Watcher>,
    pub(super) polling: Arc<Mutex<Polling>>,
    pub(super) is_watching: bool,
    watched: WatchedSources,
    pub(super) disks: Disks,
    last: LastReload,
    /// The sources that could not be opened again at the last reload.
    troubles: Vec<Trouble>,
}

/// The sources for which the watches were requested.
#[derive(Clone, Debug, Default)]
struct WatchedSources {
    folders: Vec<Arc<LooseFolder>>,
    archives: Vec<PathBuf>,
    read_set: ReadSet,
    /// The files that say what to open, and the sources that they and the user name.
    named: Vec<PathBuf>,
}

impl Follower {
    /// A follower for a file system that serves what `reopening` opens.
    pub(crate) fn new(fs: &Arc<FileSystem>, reopening: Reopening, signal: ReloadSignal) -> Self {
        let fs = Arc::downgrade(fs);
        Self {
            fs,
            reopening,
            signal,
            trigger: Default::default(),
            watcher: Default::default(),
            polling: Default::default(),
            is_watching: true,
            watched: Default::default(),
            disks: Default::default(),
            last: Default::default(),
            troubles: Default::default(),
        }
    }

    /// Makes the follower wait only for the signal, without watching the disk.
    #[must_use]
    pub(crate) fn without_watching(self) -> Self {
        Self { is_watching: false, ..self }
    }

    pub(super) fn run(mut self, opening_began: SystemTime) {
        // Everything is requested for the first time.
        self.watch(opening_began, vec!["/".into()]);
        while let Some(fs) = self.fs.upgrade().filter(|_| !self.trigger.is_over()) {
            let idle = (!fs.drop_old_listings()).then_some(TIDY_INTERVAL);
            let idle = idle.or_else(|| (!asleep::used().is_empty()).then_some(ASKING_INTERVAL));
            // The file system must not be kept while nothing happens.
            let of_begin = self.fs.clone();
            drop(fs);
            let begin = || of_begin.upgrade().map(|fs| fs.begin_reload());
            if let Some((due, Some(attempt))) = self.trigger.wait(idle, begin) {
                self.reload(due, attempt);
            } else {
                asleep::ask();
            }
            if self.trigger.take_mounts() {
                let changes = self.compare_mounts();
                if !changes.is_empty() {
                    self.trigger.note(|all| {
                        all.extend(changes);
                        true
                    });
                }
            }
            self.move_watches();
        }
    }

    /// What changed because something was mounted or unmounted where sources are.
    fn compare_mounts(&mut self) -> DiskChanges {
        let Some(fs) = self.fs.upgrade() else { return DiskChanges::default() };
        let (mut disks, view, named) = (self.disks.clone(), fs.view(), self.watched.named.clone());
        let compare = move || {
            let news = disks.news(&view, &named);
            (disks, news)
        };
        // If a disk falls asleep meanwhile, they are compared again.
        let Some((disks, DiskNews { changes, gone, back })) = asleep::run(compare) else {
            return DiskChanges::default();
        };
        self.disks = disks;
        for line in &gone {
            log::warn!("{line}");
        }
        for line in &back {
            log::info!(target: logging::NEWS, "{line}");
        }
        fs.record_gone_disks(self.disks.notes());
        changes
    }

    /// Opens the sources again and serves them. If that fails, the old view stays. A reload that the
    /// user requested also opens archives that seem half written.
    fn reload(&mut self, mut due: DueReload, attempt: ReloadAttempt) {
        let Some(fs) = self.fs.upgrade() else { return };
        let opening_began = SystemTime::now();
        self.last.began = unix_seconds(opening_began);
        fs.record_reload_begin(LastReload { is_running: true, ..self.last.clone() });
        let usec = NotifyState::monotonic_usec_now().ok();
        let _ = sd_notify::notify(&[&[NotifyState::Reloading], usec.as_slice()].concat());
        // A disk that is gone or asleep is named before the sources that were on it.
        asleep::ask();
        if self.is_watching {
            due.changes.extend(self.compare_mounts());
        }
        let mut began = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| self.replace(&fs, &due, &mut began)));
        let bug = "bug in bsafs; please report it with the daemon's log";
        let outcome = outcome.unwrap_or_else(|_| ReloadOutcome::Failed(bug.into()));
        // Answers that waited for the view are given before the rest is recorded.
        drop(attempt);
        let is_failed = matches!(outcome, ReloadOutcome::Failed(_));
        let moved = due.changes.moved().to_vec();
        if due.is_requested {
            self.disks.accept(&self.watched.named);
            fs.record_gone_disks(self.disks.notes());
        }
        self.note(&fs, outcome);
        let _ = sd_notify::notify(&[NotifyState::Ready]);
        // What was not applied is applied by the next reload. A kept folder was not listed again.
        let has = |handling| self.troubles.iter().any(|trouble| trouble.handling == handling);
        if has(Handling::Kept) {
            // A list or profile may be readable again without an event.
            self.trigger.note(|changes| {
                changes.add_plan();
                false
            });
        }
        if is_failed || has(Handling::KeptFolder) {
            self.trigger.note(|changes| {
                changes.extend(due.changes);
                false
            });
        }
        if has(Handling::Unfinished) {
            self.trigger.retry_unfinished();
        }
        self.watch(opening_began, moved);
        self.trigger.pause_after(began.elapsed());
    }

    /// Opens the sources and serves them. Sets `began` to when it did so for the last time.
    fn replace(&mut self, fs: &FileSystem, due: &DueReload, began: &mut Instant) -> ReloadOutcome {
        let mut open = || {
            *began = Instant::now();
            let (view, changes, is_requested) = (fs.view(), due.changes.clone(), due.is_requested);
            let mut reopening = self.reopening.clone();
            asleep::run(move || {
                let earlier = Reuse::new(&view.opened, &changes, is_requested);
                let opened = reopening.open(&earlier);
                (reopening, opened, earlier.troubles())
            })
        };
        // A disk may fall asleep while it is read. Then what is on it stays as it is, and the rest is opened
        // without it.
        let opened = (0..OPENINGS).find_map(|_| logging::while_opening(&mut open));
        let Some((reopening, opened, of_opening)) = opened else {
            return ReloadOutcome::Failed("disks stop answering again and again".into());
        };
        self.reopening = reopening;
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) => return ReloadOutcome::Failed(error.to_string()),
        };
        let troubles = [&opened.plan.troubles[..], &of_opening].concat();
        let Ok(replaced) = fs.replace(opened) else {
            return ReloadOutcome::Failed("all inode numbers are used up; unmount, and mount again".into());
        };
        ReloadOutcome::Replaced {
            changes: reload_line(&replaced),
            is_only_writes: replaced.changes.is_only_writes(),
            troubles,
        }
    }

    /// Records and logs the outcome of a reload. A source that cannot be opened is logged only
    /// once, and a reload without changes is not logged.
    fn note(&mut self, fs: &FileSystem, outcome: ReloadOutcome) {
        let (summary, is_failed) = match outcome {
            ReloadOutcome::Replaced { changes, is_only_writes, troubles } => {
                // A growing log file would fill the daemon's log.
                let news = changes.iter().filter(|_| !is_only_writes);
                news.for_each(|line| log::info!(target: logging::NEWS, "reloaded: {line}"));
                let is_new = |trouble: &&Trouble| {
                    !self.troubles.contains(trouble) && !self.disks.explain(trouble.path())
                };
                let new = Trouble::first_of_each(troubles.iter()).filter(is_new);
                new.for_each(|trouble| log::warn!("{}; {}", trouble.what(), trouble.advice()));
                // What is gone is shown as it is on the disk.
                let is_failure = |trouble: &&Trouble| trouble.handling != Handling::Gone;
                let failures = Trouble::first_of_each(troubles.iter()).filter(is_failure);
                let lines = changes.into_iter().chain(failures.map(Trouble::what));
                let summary = lines.collect::<Vec<_>>().join("; ");
                self.troubles = troubles;
                let is_failed = self.troubles.iter().any(|trouble| is_failure(&trouble));
                (if summary.is_empty() { "nothing changed".into() } else { summary }, is_failed)
            }
            ReloadOutcome::Failed(what) => {
                if self.last.what != what {
                    log::warn!("{what}; {SERVED}");
                }
                (what, true)
            }
        };
        let LastReload { count, began, .. } = self.last;
        let at = unix_seconds(SystemTime::now());
        self.last = LastReload { count: count + 1, at, what: summary, is_failed, is_running: false, began };
        fs.record_reload_end(self.last.clone());
    }

    /// Watches what the view depends on. Folders that were not watched while the sources were opened may
    /// have changed since then, so they are checked.
    fn watch(&mut self, opening_began: SystemTime, moved: Vec<PathBuf>) {
        let Some(fs) = self.fs.upgrade() else { return };
        if !self.is_watching {
            return fs.record_watches((0, 0), HashSet::new(), String::new());
        }
        let view = fs.view();
        let (.., had_unwatched) = self.watcher.counts();
        let changes = self.watch_changes(&view, moved);
        let added = self.watcher.watch(changes);
        let unwatched = self.record_watches(&fs, opening_began);
        if had_unwatched == 0 && unwatched > 0 {
            log::warn!(
                "cannot watch {}: {}; checking every {POLLING_INTERVAL} seconds instead",
                count(unwatched, "folder"),
                self.unwatched_reason()
            );
        }
        if unwatched > 0 {
            // What decides the load order may have to get a watch of another folder.
            self.trigger.record_use();
        }
        view.store().record_watched(|folder| self.watcher.is_reported(folder));
        if !added.is_empty() {
            let since = || {
                let (watcher, view, added) = (self.watcher.clone(), view.clone(), added.clone());
                asleep::run(move || changes_since(&watcher, &view, opening_began, &added))
            };
            let changes = (0..2).find_map(|_| since()).unwrap_or_default();
            if !changes.is_empty() {
                self.trigger.record_found(|all| all.extend(changes));
            }
        }
    }

    /// Why folders have no watch; empty if all have one.
    fn unwatched_reason(&self) -> String {
        self.watcher.shortage().map_or_else(String::new, |shortage| shortage.to_string())
    }

    /// Why no folder can have a watch; `None` if that is not so. It is known before the mount.
    pub(crate) fn no_watches_reason(&self) -> Option<String> {
        let shortage = self.watcher.shortage().filter(|_| self.is_watching)?;
        Some(format!(
            "changes show up within {POLLING_INTERVAL} seconds, because no folder can be watched: {shortage}"
        ))
    }

    /// Records which folders are watched, and requests checks of the others. Returns how many others
    /// there are. What changed in a folder between its last check and its watch is read.
    fn record_watches(&self, fs: &Arc<FileSystem>, opening_began: SystemTime) -> usize {
        let ((watched, used, unwatched), folders) = (self.watcher.counts(), self.watcher.unwatched());
        fs.record_watches((watched, used), folders.into_iter().collect(), self.unwatched_reason());
        self.record_watched_links(fs);
        let changed = self.polling.lock().begin(&self.watcher, opening_began);
        if !changed.is_empty() {
            self.trigger.record_found(|changes| {
                for folder in &changed {
                    add_checked(changes, &self.watcher, Path::new(folder));
                }
            });
        }
        if unwatched > 0 {
            // The thread may be waiting without a time limit. If the socket is full, it wakes anyway.
            let _ = (&self.signal.wake).write(&[WAKE]);
        }
        unwatched
    }

    /// Records which files have watches of their own. They are checked, which a disk may keep from ending.
    fn record_watched_links(&self, fs: &Arc<FileSystem>) {
        let (fs, files) = (fs.clone(), self.watcher.watched_files().into_iter().map(Ino).collect());
        asleep::run(move || fs.record_watched_links(files));
    }

    /// Gives watches to the folders that programs used, and takes them from those that were not used for the
    /// longest time.
    fn move_watches(&self) {
        let Some(fs) = self.fs.upgrade().filter(|_| self.is_watching) else { return };
        let began = Instant::now();
        let links = fs.take_read_links();
        if !links.is_empty() {
            for (ino, folder, name) in links {
                self.watcher.watch_file(WatchedFile {
                    number: ino.0,
                    folder,
                    name: OsString::from_vec(name),
                });
            }
            self.record_watched_links(&fs);
            self.trigger.pause_moves(began.elapsed());
        }
        let ((used, are_more), changed) =
            (fs.take_used_folders(MOVED_AT_ONCE), self.polling.lock().take_changed());
        let of_watcher = |FolderUse { folder, is_read, at }| UsedFolder { folder, is_read, at };
        let used: Vec<UsedFolder> = used.into_iter().map(of_watcher).collect();
        self.watcher.record_used(&used, &changed);
        let surplus = self.watcher.surplus(MOVED_AT_ONCE);
        // Changes before this are reported, because the watches end later. Changes after it are found by a
        // check.
        let states = surplus.iter().map(|it| (it.clone(), state_of(&self.watcher, it))).collect();
        self.polling.lock().remember(states);
        let MovedWatches { added, removed } = self.watcher.move_watches(&surplus);
        if !added.is_empty() || !removed.is_empty() {
            self.record_moved(&fs, &added, &removed);
            self.trigger.pause_moves(began.elapsed());
        }
        if are_more || surplus.len() == MOVED_AT_ONCE {
            self.trigger.record_use();
        }
    }

    /// Records that folders got watches which others lost. What changed before the watches began is read.
    fn record_moved(&self, fs: &Arc<FileSystem>, added: &[FolderPath], removed: &[FolderPath]) {
        let counts @ (.., unwatched) = self.watcher.counts();
        let changed = self.polling.lock().changed_before(&self.watcher, added, unwatched);
        fs.record_moved_watches(added, removed, counts);
        self.record_watched_links(fs);
        fs.view().store().record_watched(|folder| self.watcher.is_reported(folder));
        let mut changes = DiskChanges::default();
        for folder in &changed {
            add_checked(&mut changes, &self.watcher, Path::new(folder));
        }
        // If a disk falls asleep meanwhile, the others are asked again.
        let stale = (0..2).find_map(|_| {
            let (of_added, asked) = (fs.clone(), added.to_vec());
            asleep::run(move || of_added.stale_folders(&asked, |folder| !asleep::is_at(folder)))
        });
        stale.into_iter().flatten().for_each(|folder| changes.add(folder.into()));
        if !changes.is_empty() {
            self.trigger.record_found(|noted| noted.extend(changes));
        }
    }

    /// What to watch for a view, compared with what is watched.
    fn watch_changes(&mut self, view: &Arc<View>, moved: Vec<PathBuf>) -> WatchChanges {
        let (archives, folders) = view.store().paths();
        let archives: Vec<PathBuf> = archives.into_iter().map(Path::to_owned).collect();
        let read_set = view.opened.plan.read_set.clone();
        let mut named = self.reopening.files();
        named.extend(self.reopening.named().map(Path::to_owned));
        let now = WatchedSources { folders, archives, read_set, named };
        let then = std::mem::replace(&mut self.watched, now);
        let now = &self.watched;
        let mut gone = missing_in(&then.folders, &now.folders);
        let new = missing_in(&now.folders, &then.folders);
        let has_links = new.iter().chain(&gone).any(|folder| folder.has_links());
        let (mut added, mut removed) = (Vec::new(), Vec::new());
        for folder in new {
            let is_it =
                |then: &&Arc<LooseFolder>| then.path() == folder.path() && then.filter() == folder.filter();
            match gone.iter().position(is_it) {
                Some(at) => {
                    let (more, fewer) = folder.folder_differences(gone.swap_remove(at));
                    added.extend(more);
                    removed.extend(fewer);
                }
                None => added.extend(folder.folder_paths()),
            }
        }
        removed.extend(gone.into_iter().flat_map(|folder| folder.folder_paths()));
        let is_same = then.read_set == now.read_set
            && then.named == now.named
            && then.archives == now.archives
            && !has_links;
        let follow = || {
            let (mut disks, view, watched) = (self.disks.clone(), view.clone(), self.watched.clone());
            asleep::run(move || {
                disks.learn_of(&view, &watched.named);
                (disks, watched.interests())
            })
        };
        // If a disk falls asleep meanwhile, links on it are not followed at the second time.
        let followed = (!is_same || !moved.is_empty()).then(|| (0..2).find_map(|_| follow())).flatten();
        let interests = followed.map(|(disks, interests)| {
            self.disks = disks;
            interests
        });
        let first = self.watched.folders.last().filter(|it| it.names().folders().len() <= FIRST_FOLDERS_MAX);
        let first = first.into_iter().flat_map(|it| it.folder_paths()).collect();
        WatchChanges { added, removed, interests, moved, first }
    }
}

impl WatchedSources {
    /// What to watch besides the entries of folders.
    fn interests(&self) -> Interests {
        let mut interests = Interests::default();
        self.archives.iter().for_each(|path| interests.add_file(path));
        for folder in &self.folders {
            interests.add_way_to(folder.path());
            folder.link_targets().for_each(|path| interests.add_file(&path));
            // A link may lead through more links to its target.
            folder.link_paths().for_each(|path| interests.add_link(&path));
        }
        let read_set = &self.read_set;
        read_set.files.iter().for_each(|path| interests.add_plan_file(path));
        read_set.folders.iter().for_each(|path| interests.add_plan_names(path));
        self.named.iter().for_each(|path| interests.add_plan_file(path));
        interests
    }
}

/// Adds a folder in which a check found a change. If it is on the way to a source, the way may lead elsewhere
/// now, so that the watches below are requested again.
pub(super) fn add_checked(changes: &mut DiskChanges, watcher: &Watcher, folder: &Path) {
    if watcher.is_of_links(folder) {
        changes.add_anywhere();
    } else if watcher.is_of_plan(folder) {
        changes.add_moved(folder.to_owned());
    } else {
        changes.add(folder.into());
    }
}

/// What may have changed in folders between opening the sources and requesting their watches. If a disk
/// is asleep, everything on it is listed again when it answers.
fn changes_since(
    watcher: &Watcher,
    view: &View,
    opening_began: SystemTime,
    added: &[FolderPath],
) -> DiskChanges {
    let from = opening_began.checked_sub(COARSEST_TICK).unwrap_or(opening_began);
    let is_new = |path: &Path| {
        let found = || uncovered(path).metadata().and_then(|it| it.modified());
        !asleep::is_at(path) && found().is_ok_and(|at| at >= from)
    };
    let added = added.iter().filter(|folder| !asleep::is_at(Path::new(folder)));
    let all: HashSet<&OsStr> = added.map(|folder| &**folder).collect();
    let is_added = |folder: &Path| all.contains(folder.as_os_str());
    let mut changes = DiskChanges::default();
    for folder in all.iter().map(Path::new).filter(|folder| is_new(folder)) {
        add_checked(&mut changes, watcher, folder);
    }
    // Writing to a file does not change the time of its folder.
    view.store().stale_folders(is_added).into_iter().for_each(|folder| changes.add(folder.into()));
    let archives = view.store().paths().0;
    let archives = archives.into_iter().filter(|path| path.parent().is_some_and(is_added));
    archives.filter(|path| is_new(path)).filter_map(Path::parent).for_each(|it| changes.add(it.into()));
    changes
}

/// The folders that another list does not have.
fn missing_in<'a>(folders: &'a [Arc<LooseFolder>], others: &[Arc<LooseFolder>]) -> Vec<&'a Arc<LooseFolder>> {
    let others: HashSet<*const LooseFolder> = others.iter().map(Arc::as_ptr).collect();
    folders.iter().filter(|folder| !others.contains(&Arc::as_ptr(folder))).collect()
}

/// The end of a warning that no view could be made.
const SERVED: &str = "the previous contents stay mounted until this problem is fixed";

enum ReloadOutcome {
    /// A new view is served. `changes` says what changed in the mount, and `is_only_writes` whether files
    /// were only written to. `troubles` lists the sources that could not be opened.
    Replaced { changes: Option<String>, is_only_writes: bool, troubles: Vec<Trouble> },
    /// The old view is still served, for this reason.
    Failed(String),
}

// One line about what a reload changed.

/// Maximum number of sources that are named. Other sources are only counted.
const NAMED: usize = 3;

/// Returns, for example, `MyMod.bsa: 3 files added, 1 removed, 212 replaced`; `None` if nothing
/// that is listed changed.
pub(crate) fn reload_line(replaced: &Replaced) -> Option<String> {
    let Replaced { then, now, changes } = replaced;
    if changes.is_empty() {
        return None;
    }
    let mut sources: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    let parts =
        [(now, &changes.added), (then, &changes.removed), (now, &changes.replaced), (now, &changes.writes)];
    for (index, (view, counts)) in parts.into_iter().enumerate() {
        for (&layer, &files) in counts {
            sources.entry(name(view, layer)).or_default()[index] += files;
        }
    }
    if sources.is_empty() {
        return Some("folders changed".into());
    }
    let more = sources.len().saturating_sub(NAMED);
    let mut lines: Vec<String> =
        sources.iter().take(NAMED).map(|(name, counts)| line(name, *counts)).collect();
    if more > 0 {
        lines.push(count(more, "more source"));
    }
    Some(lines.join("; "))
}

fn line(name: &str, counts: [usize; 4]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (files, what) in counts.into_iter().zip(["added", "removed", "replaced", "written"]) {
        match (files, parts.is_empty()) {
            (0, _) => {}
            (_, true) => parts.push(format!("{} {what}", count(files, "file"))),
            (_, false) => parts.push(format!("{files} {what}")),
        }
    }
    format!("{name}: {}", parts.join(", "))
}

fn name(view: &View, layer: u16) -> String {
    let path: &Path = view.store().path(layer);
    path.file_name().unwrap_or(path.as_os_str()).shown().to_string()
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
    state: Mutex<TriggerState>,
    changed: Condvar,
    /// Whether a disk fell asleep or answers again.
    has_nap: AtomicBool,
}

#[derive(Debug, Default)]
struct TriggerState {
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
pub(super) struct DueReload {
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

impl TriggerState {
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
    pub(super) fn record_found(&self, note: impl FnOnce(&mut DiskChanges)) {
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
    pub(super) fn record_use(&self) {
        self.state.lock().is_used = true;
        self.changed.notify_one();
    }

    /// Has the mount table compared, because it changed.
    pub(super) fn record_mounts(&self) {
        self.state.lock().are_mounts = true;
        self.changed.notify_one();
    }

    /// Records that a disk fell asleep or answers again. Does not wait: the thread that finds this may have
    /// locked the state.
    pub(super) fn record_nap(&self) {
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
    pub(super) fn wait<T>(
        &self,
        idle: Option<Duration>,
        begin: impl FnOnce() -> T,
    ) -> Option<(DueReload, T)> {
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
                let due = DueReload { changes, is_requested: std::mem::take(&mut state.is_requested) };
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

    #[test]
    fn a_check_of_what_leads_to_a_source_renews_the_watches_below() {
        let dir = tempfile::tempdir().unwrap();
        let [source, target] = ["way/source", "elsewhere/target"].map(|path| dir.path().join(path));
        let other = dir.path().join("other");
        for folder in [&source, &target, &other] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let link = other.join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let (watcher, mut interests) = (Watcher::with_share(0), Interests::default());
        interests.add_way_to(&source);
        interests.add_link(&link);
        watcher.watch(WatchChanges { interests: Some(interests), ..WatchChanges::default() });
        let moved = |folder: &str| {
            let mut changes = DiskChanges::default();
            add_checked(&mut changes, &watcher, &dir.path().join(folder));
            assert!(changes.includes(&dir.path().join(folder)));
            changes.moved().to_vec()
        };
        assert_eq!(moved("way"), [dir.path().join("way")]);
        assert_eq!(moved("elsewhere"), [PathBuf::from("/")], "a link may lead elsewhere");
        assert!(moved("way/source").is_empty());
    }
}
