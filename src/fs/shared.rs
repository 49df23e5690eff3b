//! State that all views of a mount share.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use super::attr::Presentation;
use super::callback::OnChange;
use super::prefetch::Prefetch;
use super::remembered::inode_numbers::{
    CHANGES_INO, CHANGES_LINK, EarlyNumbers, ExposedNames, SOURCES_LINK, STATUS_INO, STATUS_LINK,
    sources_page,
};
use super::remembered::kept_listings::KeptListings;
use super::remembered::pending::{NameIn, PendingNames};
use super::remembered::retired::Retired;
use super::remembered::written::{HeldAttr, WrittenFiles};
use super::reported::change_log::{ChangeLog, TouchedFiles};
use super::reported::daemon_status::{LastReload, MountedSources, WatchCounts};
use super::used_folders::{LinkedFiles, UsedFolders};
use crate::content::Store;
use crate::note::Note;
use crate::system::sync::{Mutex, RwLock};
use crate::tree::{Changes, Ino, Spellings};

/// Archives on disks where open files have effects for others. They stay open for a moment after a read: the
/// next read is often near, and many FUSE daemons drop the pages of a file that is opened again (2.8 times
/// the time of `tar`).
#[derive(Debug, Default)]
pub(crate) struct LentArchives(Mutex<Vec<(Instant, Arc<File>)>>);

/// How long such an archive stays open at least.
const LENT: Duration = Duration::from_millis(200);

impl LentArchives {
    /// Records a read of an archive.
    pub(crate) fn record_used(&self, archive: Arc<File>) {
        let mut lent = self.0.lock();
        lent.retain(|(_, other)| !Arc::ptr_eq(other, &archive));
        lent.push((Instant::now(), archive));
    }

    /// Closes what was not read for a moment. Returns whether nothing is left.
    pub(crate) fn close_idle(&self) -> bool {
        let mut lent = self.0.lock();
        let (idle, used) = std::mem::take(&mut *lent).into_iter().partition(|(at, _)| at.elapsed() >= LENT);
        *lent = used;
        let is_done = lent.is_empty();
        drop(lent);
        // Closed after the lock is released, because a daemon may take its time.
        drop::<Vec<_>>(idle);
        is_done
    }
}

/// Pause between reloads that failing disks start.
const FAULT_PAUSE: Duration = Duration::from_secs(2);

// What the kernel must drop after a change: names that now mean another node, folders whose listings differ,
// and files whose bytes may differ.
//
// Names are dropped one by one. Dropping a folder instead of its children would not do: a program
// that holds a child open would get old bytes. Dropping everything (FUSE_NOTIFY_INC_EPOCH) would
// do too much: the names of unchanged files would go, and with them their cached pages.

/// What the kernel must drop.
#[derive(Debug, Default)]
pub(crate) struct Invalidation {
    pub(crate) names: Vec<NameIn>,
    /// Folders whose listings differ.
    pub(crate) folders: Vec<Ino>,
    /// Files that were written to, or may have been although nothing says so, with the attributes to show
    /// until their pages are dropped.
    pub(crate) written: Vec<HeldAttr>,
    /// Files whose attributes no event reports any more.
    pub(crate) attributes: Vec<Ino>,
}

impl Invalidation {
    /// Collects the differences between two views, for all numbers of each folder, without written files.
    pub(crate) fn of(spellings: &Spellings, changes: &Changes) -> Self {
        let others = spellings.other_numbers(&changes.folders.iter().copied().collect());
        let mut folders = changes.folders.clone();
        folders.extend(others.into_values().flatten());
        let names = everywhere(spellings, &changes.names);
        Self { names, folders, ..Self::default() }
    }
}

/// Repeats names for all numbers of their folders.
pub(crate) fn everywhere(spellings: &Spellings, names: &[NameIn]) -> Vec<NameIn> {
    let folders: HashSet<Ino> = names.iter().map(|(folder, _)| *folder).collect();
    let others = spellings.other_numbers(&folders);
    let mut all = names.to_vec();
    for (folder, name) in names {
        let numbers = others.get(folder).into_iter().flatten();
        all.extend(numbers.map(|&number| (number, name.clone())));
    }
    all
}

/// What serves a mounted file system: the connection to the kernel, and threads for background work.
pub(crate) trait Host: fmt::Debug + Send + Sync {
    /// Makes the kernel drop what changed, soon. Does not block.
    fn invalidate(&self, invalidation: Invalidation);

    /// Makes the kernel drop the pages of a file that was written to, soon. Does not block.
    fn drop_pages(&self, written: HeldAttr);

    /// Makes the kernel drop the attributes of a file, before this returns. For a request that reads the
    /// file.
    fn drop_attributes(&self, ino: Ino);

    /// Makes the kernel drop the cached part of a folder's listing, before this returns. For a request
    /// that lists the folder.
    fn drop_listing(&self, ino: Ino);

    /// Runs a job when the kernel has dropped the pages of all files that were written to before. Does not
    /// block. Unlike the next one, it does not wait for names, so a LOOKUP may wait for it.
    fn after_pages(&self, job: Box<dyn FnOnce() + Send>);

    /// Runs a job when the kernel has dropped all that it was asked to drop before. Does not block.
    fn after_notices(&self, job: Box<dyn FnOnce() + Send>);

    /// Makes the kernel drop [`View::surplus_names`](super::view::View::surplus_names) soon. Does not block.
    fn drop_surplus_names(&self);

    /// Shrinks the [cache of decoded extents](crate::content::Store::trim) to its limit soon. Does not
    /// block.
    fn trim_cache(&self);
}

/// The absolute paths of folders without a watch; `None` while it is not known what is watched of the current
/// view.
pub(crate) type UnwatchedFolders = Option<HashSet<Arc<OsStr>>>;

/// State that all views of a mount share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) presentation: Presentation,
    /// The mtime of folders that exist only in archives: that of the newest archive or loose folder
    /// at the time of the mount.
    pub(crate) modified: SystemTime,
    /// Set once the file system is mounted. Tests have none.
    pub(crate) host: OnceLock<Box<dyn Host>>,
    /// Called when a read finds that a source changed; set once.
    pub(crate) on_change: OnceLock<OnChange>,
    last_fault: Mutex<Option<Instant>>,
    pub(crate) prefetch: Arc<Prefetch>,
    pub(crate) lent: LentArchives,
    pub(crate) remembered: Remembered,
    pub(crate) watched: WatchState,
    pub(crate) reported: StatusFacts,
    /// Number of the current view. It is stored while `exposed` is locked.
    current: AtomicU32,
    exposed: Mutex<ExposedNames>,
    /// Files with events on the disk since the last view.
    touched: Mutex<TouchedFiles>,
    /// The last changes that the kernel was notified of.
    changes: Mutex<ChangeLog>,
}

/// What the kernel was sent and may remember, so that views agree with it. `remembered/` has the parts.
#[derive(Debug)]
pub(crate) struct Remembered {
    pub(crate) spellings: Spellings,
    pub(crate) early_numbers: EarlyNumbers,
    pub(crate) retired: Retired,
    pub(crate) pending: PendingNames,
    pub(crate) listings: KeptListings,
    /// The number of the listing of a folder that has not changed since the mount.
    pub(crate) first_listing: u8,
    pub(crate) written: Arc<WrittenFiles>,
    /// Number of the last view whose changes the kernel was notified of.
    pub(crate) announced: AtomicU32,
}

/// Which folders and files programs use, and which have no watch.
#[derive(Debug, Default)]
pub(crate) struct WatchState {
    pub(crate) used: UsedFolders,
    pub(crate) linked: LinkedFiles,
    unwatched: RwLock<UnwatchedFolders>,
}

/// What the status of the mount reports.
#[derive(Debug)]
pub(crate) struct StatusFacts {
    pub(crate) started: Instant,
    /// Time of the mount.
    pub(crate) since: SystemTime,
    /// The user with whose rights the sources are read.
    pub(crate) user: u32,
    /// The mounted sources; set once.
    pub(crate) sources: OnceLock<MountedSources>,
    pub(crate) requests: Requests,
    /// Bytes read from archives and folders that the current view no longer has.
    pub(crate) read_before: AtomicU64,
    pub(crate) last_reload: Mutex<LastReload>,
    pub(crate) watches: Mutex<WatchCounts>,
    pub(crate) gone_disks: Mutex<Vec<Note>>,
}

impl Shared {
    pub(crate) fn new(
        spellings: Spellings,
        presentation: Presentation,
        modified: SystemTime,
        prefetch: Arc<Prefetch>,
    ) -> Self {
        let remembered = Remembered {
            spellings,
            early_numbers: Default::default(),
            retired: Default::default(),
            pending: Default::default(),
            listings: Default::default(),
            first_listing: 0,
            written: Default::default(),
            announced: Default::default(),
        };
        let reported = StatusFacts {
            started: Instant::now(),
            since: SystemTime::now(),
            user: rustix::process::geteuid().as_raw(),
            sources: Default::default(),
            requests: Default::default(),
            read_before: Default::default(),
            last_reload: Default::default(),
            watches: Default::default(),
            gone_disks: Default::default(),
        };
        Self {
            presentation,
            modified,
            host: Default::default(),
            on_change: Default::default(),
            last_fault: Default::default(),
            prefetch,
            lent: LentArchives::default(),
            remembered,
            watched: WatchState::default(),
            reported,
            current: Default::default(),
            exposed: Default::default(),
            touched: Default::default(),
            changes: Default::default(),
        }
    }

    /// Sets the number of the first view.
    pub(crate) fn start_at(&self, view: u32) {
        self.current.store(view, Ordering::SeqCst);
        self.remembered.announced.store(view, Ordering::Relaxed);
    }

    /// Records how the last reload went, or that one begins. The end of a reload may be recorded after the
    /// beginning of the next.
    pub(crate) fn record_reload(&self, reload: LastReload) {
        let mut last = self.reported.last_reload.lock();
        let is_next_running = last.is_running && last.began_after(&reload);
        *last = LastReload { is_running: reload.is_running || is_next_running, ..reload };
    }

    /// Has what a read used freed soon: its archive, if it was lent, and what the cache has beyond its size.
    pub(crate) fn free_after_read(&self, store: &Store, lent: Option<Arc<File>>) {
        let is_lent = lent.is_some();
        if let Some(archive) = lent {
            self.lent.record_used(archive);
        }
        if (is_lent || store.needs_trim())
            && let Some(host) = self.host.get()
        {
            host.trim_cache();
        }
    }

    /// Starts a reload, because a request found that a source has changed: a file in a folder of loose
    /// files, or an archive.
    pub(crate) fn report_change(&self, folder: Option<&Path>) {
        if let Some(on_change) = self.on_change.get() {
            (on_change.0)(folder);
        }
    }

    /// Starts a reload, because the disk of a source failed and may be back at its path. Programs repeat
    /// reads that fail, so this counts at most once in [`FAULT_PAUSE`].
    pub(crate) fn report_fault(&self, folder: Option<&Path>) {
        let mut last = self.last_fault.lock();
        if last.is_none_or(|last| last.elapsed() >= FAULT_PAUSE) {
            *last = Some(Instant::now());
            drop(last);
            self.report_change(folder);
        }
    }

    /// The files with events on the disk since the last view.
    pub(crate) fn touched_files(&self) -> MutexGuard<'_, TouchedFiles> {
        self.touched.lock()
    }

    /// The last changes that the kernel was notified of.
    pub(crate) fn change_log(&self) -> MutexGuard<'_, ChangeLog> {
        self.changes.lock()
    }

    /// Sets the folders without a watch.
    pub(crate) fn set_unwatched(&self, folders: UnwatchedFolders) {
        if let Some(folders) = &folders {
            self.watched.used.set_needed(!folders.is_empty());
        }
        *self.watched.unwatched.write() = folders;
    }

    /// Records that some folders got watches, and that others lost theirs.
    pub(crate) fn change_unwatched(&self, watched: &[Arc<OsStr>], lost: &[Arc<OsStr>]) {
        let mut unwatched = self.watched.unwatched.write();
        let Some(folders) = &mut *unwatched else { return };
        folders.extend(lost.iter().cloned());
        for folder in watched {
            folders.remove(folder);
        }
        self.watched.used.set_needed(!folders.is_empty());
    }

    /// Whether it is known what is watched of the current view.
    pub(crate) fn is_unwatched_known(&self) -> bool {
        self.watched.unwatched.read().is_some()
    }

    /// The number of folders that are known to have no watch, if this one is among them.
    pub(crate) fn find_unwatched(&self, folder: impl FnOnce() -> Option<PathBuf>) -> Option<usize> {
        let unwatched = self.watched.unwatched.read();
        let folders = unwatched.as_ref().filter(|folders| !folders.is_empty())?;
        folders.contains(folder()?.as_os_str()).then_some(folders.len())
    }

    /// The names in a folder that the kernel may have cached and that differ from `name` only in case, or
    /// not at all.
    pub(crate) fn exposed_like(&self, folder: Ino, name: &[u8]) -> HashSet<Box<[u8]>> {
        let exposed = self.exposed.lock();
        exposed.like(folder, name).map(Box::from).collect()
    }

    /// Whether this is the number of the current view.
    pub(crate) fn is_current(&self, view: u32) -> bool {
        self.current.load(Ordering::SeqCst) == view
    }

    /// Records a name before the kernel may cache the answer of a view for it. Returns false if the
    /// kernel must not cache the answer.
    pub(crate) fn record_exposed(&self, view: u32, parent: Ino, name: &[u8]) -> bool {
        let mut exposed = self.exposed.lock();
        // If the view is no longer current, its successor has already taken the recorded names, and
        // would never invalidate this one.
        let is_lasting = self.is_current(view) && exposed.insert((parent, Box::from(name)));
        drop(exposed);
        if !is_lasting && let Some(host) = self.host.get() {
            host.drop_surplus_names();
        }
        is_lasting
    }

    /// Removes and returns some names if the set is full. The kernel must drop them.
    pub(crate) fn take_surplus(&self) -> Vec<NameIn> {
        self.exposed.lock().take_surplus()
    }

    /// Makes a view the current one by calling `swap`. Returns the names that were recorded for
    /// earlier views.
    pub(crate) fn swap_view(&self, view: u32, swap: impl FnOnce()) -> HashSet<NameIn> {
        let mut exposed = self.exposed.lock();
        self.current.store(view, Ordering::SeqCst);
        swap();
        std::mem::take(&mut *exposed).into_names()
    }

    /// Records names again whose answers did not change. Returns those for which there is no room.
    pub(crate) fn record_exposed_again(&self, names: impl IntoIterator<Item = NameIn>) -> Vec<NameIn> {
        let mut exposed = self.exposed.lock();
        names.into_iter().filter(|name| !exposed.insert(name.clone())).collect()
    }
}

// Counts of the kernel's requests, by operation.
//
// Requests for the counts themselves are counted separately, because tests and the benchmark
// compare counts before and after a step.

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Lookup,
    GetAttr,
    ReadLink,
    Open,
    OpenDir,
    Read,
    ReadDir,
    ReadDirPlus,
    StatFs,
    GetXattr,
    ListXattr,
    /// Operations that are not supported: ACCESS, FLUSH, LSEEK, IOCTL, and all that would write.
    Other,
    /// Any operation on the links of the status, of the sources and of changes.
    Status,
}

impl Operation {
    /// All operations, in order of declaration.
    #[rustfmt::skip]
    const ALL: [Self; 13] = [
        Self::Lookup, Self::GetAttr, Self::ReadLink, Self::Open, Self::OpenDir, Self::Read, Self::ReadDir,
        Self::ReadDirPlus, Self::StatFs, Self::GetXattr, Self::ListXattr, Self::Other, Self::Status,
    ];

    /// Name in the counts and in the log, such as `readdirplus`.
    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// The counter for this operation on a name in a folder.
    pub(crate) fn on_name(self, parent: Ino, name: &[u8]) -> Self {
        let is_status = name == STATUS_LINK.as_bytes()
            || [SOURCES_LINK, CHANGES_LINK].iter().any(|link| name.starts_with(link.as_bytes()));
        if is_status && parent == Ino::ROOT { Self::Status } else { self }
    }

    /// The counter for this operation on a node.
    pub(crate) fn on_node(self, ino: Ino) -> Self {
        let is_status = ino == STATUS_INO || ino >= CHANGES_INO || sources_page(ino).is_some();
        if is_status { Self::Status } else { self }
    }
}

/// Number of requests for each operation.
#[derive(Debug, Default)]
pub(crate) struct Requests([AtomicU64; Operation::ALL.len()]);

impl Requests {
    pub(crate) fn count(&self, operation: Operation) {
        self.0[operation as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// All counts, including zeros.
    pub(crate) fn by_operation(&self) -> BTreeMap<String, u64> {
        Operation::ALL.iter().zip(&self.0).map(|(it, n)| (it.name(), n.load(Ordering::Relaxed))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_is_counted_under_its_own_name() {
        assert!(Operation::ALL.iter().enumerate().all(|(index, it)| *it as usize == index));
        let names = [Operation::Lookup, Operation::Read, Operation::ReadDirPlus, Operation::Other]
            .map(Operation::name);
        assert_eq!(names, ["lookup", "read", "readdirplus", "other"]);
        let requests = Requests::default();
        requests.count(Operation::Read);
        requests.count(Operation::Read);
        let counts = requests.by_operation();
        assert_eq!((counts["read"], counts["lookup"], counts.len()), (2, 0, 13));
    }
}
