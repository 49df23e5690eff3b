//! A mounted file system: the current view, and how a later view replaces it.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use super::attr::{Presentation, Validity};
use super::callback::Callback;
use super::prefetch::Prefetch;
use super::remembered::inode_numbers::CIOPFS_INO;
use super::remembered::kept_listings::LISTINGS;
use super::remembered::pending::NameIn;
use super::reported::change_log::{ChangedFile, FileEvent, KEPT_MAX, TouchedFiles};
use super::reported::daemon_status::{LastReload, MountedSources, WatchCounts};
use super::shared::{Host, Invalidation, Shared, everywhere};
use super::view::{Child, DiskFolders, FolderChange, View};
use crate::content::Store;
use crate::folder::FileChange;
use crate::format::EntryId;
use crate::limits::SPELLINGS_MAX;
use crate::note::Note;
use crate::system::sync::{Mutex, RwLock};
use crate::tree::{Changes, CompareFiles, Ino, Kind, NodeChange, NodeId, Spellings, Tree, compare};
use crate::vfs::{Opened, Vfs};

/// A mounted file system.
#[derive(Debug)]
pub struct FileSystem {
    view: RwLock<Arc<View>>,
    pub(crate) shared: Arc<Shared>,
    /// Held while the view is replaced.
    replacing: Mutex<()>,
}

/// A reload that is under way. Until it ends, however it ends, a LOOKUP of a changed name waits, and a file
/// that was cut off keeps its new size.
#[derive(Debug)]
#[must_use]
pub struct ReloadAttempt(Arc<Shared>);

impl Drop for ReloadAttempt {
    fn drop(&mut self) {
        self.0.remembered.written.end_reload();
        self.0.remembered.pending.end_reload();
    }
}

/// A folder on the disk that programs used through the mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderUse {
    pub folder: PathBuf,
    /// Whether they read files in it.
    pub is_read: bool,
    /// Higher for later uses.
    pub at: u64,
}

/// No inode numbers are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfInodeNumbers;

impl FileSystem {
    /// Creates a file system that serves a tree.
    pub fn new(vfs: Vfs, presentation: Presentation) -> Self {
        let store = vfs.store();
        let spellings = Spellings::new(vfs.tree(), SPELLINGS_MAX, CIOPFS_INO);
        let layers = u16::try_from(store.layers()).unwrap_or(u16::MAX);
        let modified = (0..layers).map(|layer| store.modified(layer)).max().unwrap_or(SystemTime::UNIX_EPOCH);
        let shared = Shared::new(spellings, presentation, modified, Prefetch::new(store));
        Self::of(&vfs, 0, Arc::new(shared))
    }

    /// Like [`FileSystem::new`], with the numbers that a mount has after `reloads` reloads with changes,
    /// each of which allocated `numbers` inode numbers.
    #[doc(hidden)]
    pub fn after_reloads(vfs: Vfs, presentation: Presentation, reloads: u32, numbers: u64) -> Self {
        let Self { shared, .. } = Self::new(vfs.clone(), presentation);
        let Ok(mut shared) = Arc::try_unwrap(shared) else { unreachable!("no view has it") };
        shared.remembered.first_listing = u8::try_from(reloads % u32::from(LISTINGS)).unwrap_or(0);
        shared.remembered.spellings.skip(u64::from(reloads) * numbers);
        Self::of(&vfs, reloads, Arc::new(shared))
    }

    fn of(vfs: &Vfs, number: u32, shared: Arc<Shared>) -> Self {
        shared.start_at(number);
        let view = View {
            number,
            opened: vfs.opened().clone(),
            changes: HashMap::new(),
            shared: shared.clone(),
            disk_folders: DiskFolders::default(),
        };
        Self { view: RwLock::new(Arc::new(view)), shared, replacing: Mutex::default() }
    }

    /// Records the sources that the file system was made from.
    #[must_use]
    pub fn with_sources(self, sources: MountedSources) -> Self {
        // A second call changes nothing.
        let _ = self.shared.reported.sources.set(sources);
        self
    }

    /// The current view.
    pub fn view(&self) -> Arc<View> {
        self.view.read().clone()
    }

    /// Has files decoded before a program asks for them, in a number of threads. They decode only while
    /// fewer threads than these decode for readers.
    pub(crate) fn start_prefetch(&self, threads: usize) {
        self.shared.prefetch.start(threads);
        self.view().store().read_scattered_ahead();
    }

    /// Decodes what waits for these threads, for tests without them.
    #[doc(hidden)]
    pub fn prefetch(&self) {
        self.shared.prefetch.run_once();
    }

    /// Drops what is kept for listings that began long ago. Returns whether nothing is left.
    pub fn drop_old_listings(&self) -> bool {
        self.shared.remembered.listings.drop_old()
    }

    /// Registers a function to call whenever a request finds that a source changed: with the folder of a
    /// loose file, or for an archive without one. The function must not block. A second call changes
    /// nothing.
    pub fn on_change(&self, call: impl Fn(Option<&Path>) + Send + Sync + 'static) {
        let _ = self.shared.on_change.set(Callback(Box::new(call)));
    }

    /// Registers a function to call whenever a LOOKUP begins to wait for the next view. The function must
    /// not block. A second call changes nothing.
    pub fn on_wait(&self, call: impl Fn() + Send + Sync + 'static) {
        let _ = self.shared.remembered.pending.on_wait.set(Callback(Box::new(call)));
    }

    /// Records that a reload begins, which will notice all changes until now. What is held back until its end
    /// is released when the guard is dropped.
    pub fn begin_reload(&self) -> ReloadAttempt {
        self.shared.remembered.pending.begin_reload();
        self.shared.remembered.written.begin_reload();
        ReloadAttempt(self.shared.clone())
    }

    /// Records the number of folders that are watched for the current view, how many of them programs used,
    /// the absolute paths of those that have no watch, and why these have none.
    pub fn record_watches(
        &self,
        (watched, used): (usize, usize),
        unwatched: HashSet<Arc<OsStr>>,
        why_polled: String,
    ) {
        let counts = WatchCounts { watched, used, polled: unwatched.len(), why_polled };
        *self.shared.reported.watches.lock() = counts;
        self.shared.set_unwatched(Some(unwatched));
    }

    /// Records that folders got watches (`added`) which others lost (`removed`), and the numbers of folders
    /// with a watch, of those among them that programs used, and of those without one. The kernel drops what
    /// it cached of folders without a watch, so that it asks again.
    pub fn record_moved_watches(
        &self,
        added: &[Arc<OsStr>],
        removed: &[Arc<OsStr>],
        (watched, used, polled): (usize, usize, usize),
    ) {
        let mut counts = self.shared.reported.watches.lock();
        (counts.watched, counts.used, counts.polled) = (watched, used, polled);
        drop(counts);
        self.shared.change_unwatched(added, removed);
        let (view, mut unwatched) = (self.view(), Invalidation::default());
        for folder in removed {
            view.cached_of(Path::new(&**folder), &mut unwatched);
        }
        unwatched.folders.sort_unstable();
        unwatched.folders.dedup();
        if let Some(host) = self.shared.host.get().filter(|_| !removed.is_empty()) {
            host.invalidate(unwatched);
        }
    }

    /// Frees memory and closes archives that readers no longer need. Returns whether nothing is left to do.
    pub(crate) fn trim(&self) -> bool {
        let is_closed = self.shared.lent.close_idle();
        self.view().store().trim() && is_closed
    }

    /// Records notes on disks that sources were on and that are gone.
    pub fn record_gone_disks(&self, notes: Vec<Note>) {
        *self.shared.reported.gone_disks.lock() = notes;
    }

    /// Registers a function to call when a program uses a folder while some have no watch. The function must
    /// not block. A second call changes nothing.
    pub fn on_use(&self, call: impl Fn() + Send + Sync + 'static) {
        let _ = self.shared.watched.used.on_use.set(Callback(Box::new(call)));
    }

    /// The folders on the disk that programs used and that were not taken before: those in which they read
    /// files first, and what they used last. Ends when there are at least `most`. Also returns whether others
    /// are left.
    pub fn take_used_folders(&self, most: usize) -> (Vec<FolderUse>, bool) {
        let (view, mut seen, mut folders) = (self.view(), HashSet::new(), Vec::new());
        while folders.len() < most {
            let Some((ino, is_read, at)) = self.shared.watched.used.take_last() else {
                return (folders, false);
            };
            // A folder that was used twice counts at its later use, which comes first.
            let new = view.disk_folders(ino).into_iter().filter(|folder| seen.insert(folder.clone()));
            folders.extend(new.map(|folder| FolderUse { folder, is_read, at }));
        }
        (folders, self.shared.watched.used.are_any())
    }

    /// Those of some folders on the disk in which a loose file may have changed since it was statted.
    pub fn stale_folders(&self, folders: &[Arc<OsStr>], is_asked: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        self.view().stale_folders(folders, is_asked)
    }

    /// The files with several names that programs read since the last call: for each its number, its folder
    /// on the disk and its name.
    pub fn take_read_links(&self) -> Vec<(Ino, PathBuf, Vec<u8>)> {
        let view = self.view();
        let place = |ino: Ino| {
            let node = view.tree().node(ino)?;
            let folder = view.store().file(view.entry(node)?).loose_folder()?;
            Some((ino, folder, view.tree().name(node).to_owned()))
        };
        self.shared.watched.linked.take().into_iter().filter_map(place).collect()
    }

    /// Records which files with several names have watches of their own. The kernel drops the attributes of
    /// those that lost theirs.
    pub fn record_watched_links(&self, watched: HashSet<Ino>) {
        let view = self.view();
        let (new, lost) = self.shared.watched.linked.set_watched(watched);
        // They may have been written to before they had watches.
        new.iter().filter_map(|ino| view.tree().node(*ino)).for_each(|node| view.check_unwatched(node));
        // Without attributes, the kernel asks when a program opens such a file. Its pages stay.
        if let Some(host) = self.shared.host.get().filter(|_| !lost.is_empty()) {
            host.invalidate(Invalidation { attributes: lost, ..Invalidation::default() });
        }
    }

    /// Sets the host, before the first request. A second call changes nothing.
    pub(crate) fn connect(&self, host: impl Host + 'static) {
        let _ = self.shared.host.set(Box::new(host));
    }

    /// Records in the status that a reload is running.
    pub fn record_reload_begin(&self, reload: LastReload) {
        self.shared.record_reload(reload);
    }

    /// Records how the last reload went. The status shows the reload when the kernel has dropped what the
    /// reload changed.
    pub fn record_reload_end(&self, reload: LastReload) {
        let shared = self.shared.clone();
        self.after_notices(move || shared.record_reload(reload));
    }

    /// Runs a job when the kernel has dropped the pages of all files that were written to before.
    pub(crate) fn after_pages(&self, job: impl FnOnce() + Send + 'static) {
        match self.shared.host.get() {
            Some(host) => host.after_pages(Box::new(job)),
            None => job(),
        }
    }

    /// Runs a job when the kernel has dropped all that it was asked to drop before.
    pub(crate) fn after_notices(&self, job: impl FnOnce() + Send + 'static) {
        match self.shared.host.get() {
            Some(host) => host.after_notices(Box::new(job)),
            None => job(),
        }
    }

    /// Switches to a view of the changed sources, and makes the kernel drop what it cached of them. The
    /// store must have been [emptied](Store::emptied) and filled again.
    ///
    /// # Errors
    /// [`OutOfInodeNumbers`]. The current view then stays.
    pub fn replace(&self, mut opened: Opened) -> Result<Replaced, OutOfInodeNumbers> {
        let _replacing = self.replacing.lock();
        let then = self.view();
        opened.store.take_over(then.store());
        let files = ViewFiles { then: &then, store: &opened.store };
        // If the opening found nothing changed, it shares the tree and the files of the view.
        let (tree, changes) = if Arc::ptr_eq(&opened.tree, &then.opened.tree) {
            (opened.tree, Changes::default())
        } else {
            let tree = Arc::unwrap_or_clone(opened.tree);
            let compared = compare(then.tree(), tree, &self.shared.remembered.spellings, &files);
            compared.map(|(tree, changes)| (tree.into(), changes)).ok_or(OutOfInodeNumbers)?
        };
        let is_changed = !changes.is_empty();
        // If no listing differs, positions stay the same, so cookies of the earlier view stay valid.
        let number = then.number.wrapping_add(is_changed.into());
        // This comes before the swap, because a listing may continue at any time.
        keep_listings(&then, &changes);
        let view = View {
            number,
            changes: folder_changes(&then, &tree, &changes),
            opened: Opened { tree, ..opened }.into(),
            shared: self.shared.clone(),
            disk_folders: DiskFolders::default(),
        };
        let now = Arc::new(view);
        let retired: Vec<Ino> = (changes.retired.iter())
            .filter(|(ino, entry)| {
                let shown = then.attr(*ino).ok().filter(|attr| attr.validity != Validity::None);
                self.shared.remembered.retired.add(*ino, then.store(), *entry, shown)
            })
            .map(|(ino, _)| *ino)
            .collect();
        // This comes before the swap, because the kernel may ask for attributes at any time.
        let hold = |ino: Ino| {
            let attr = then.attr(ino).ok()?;
            Some(self.shared.remembered.written.hold(attr, now.known_attr(ino).unwrap_or(attr)))
        };
        // What the earlier view noticed is no longer shown. It may be older than what this view knows.
        let noticed = self.shared.remembered.written.noticed().into_iter();
        let noticed = noticed.filter(|it| now.known_attr(it.ino).is_some_and(|now| now.size != it.size));
        let written = changes.written.iter().chain(&changes.uncertain).copied();
        let written = written.chain(noticed.map(|it| it.ino)).filter_map(hold).collect();
        // New folders may have no watch.
        self.shared.set_unwatched(None);
        let exposed = self.shared.swap_view(now.number, || {
            *self.view.write() = now.clone();
        });
        // From here on, the kernel caches no more answers of the earlier view.
        learn_kept(&then, &now);
        let (changed, same) = changed_answers(&then, &now, exposed);
        let mut invalidation = Invalidation::of(&self.shared.remembered.spellings, &changes);
        invalidation.names.extend(changed);
        invalidation.written = written;
        // From now on, no event reports a write to these files, so the kernel must ask for their attributes.
        for ino in &retired {
            now.follow_retired(*ino);
        }
        invalidation.attributes.extend(retired);
        // The comparison of views covers stored names only. These names were stored in the earlier view, and
        // no longer are, so they must be recorded.
        let respelled = everywhere(&self.shared.remembered.spellings, &changes.respelled);
        invalidation.names.extend(self.shared.record_exposed_again(same.into_iter().chain(respelled)));
        self.shared.remembered.spellings.retain_existing(now.tree());
        self.shared
            .reported
            .read_before
            .fetch_add(then.store().bytes_read_without(now.store()), Ordering::Relaxed);
        let archives: Vec<u32> = now.store().archive_numbers();
        self.shared
            .remembered
            .retired
            .prune(|ino| now.tree().node(ino).is_some(), |number| archives.contains(&number));
        if let Some(host) = self.shared.host.get() {
            host.invalidate(invalidation);
        }
        let touched = std::mem::take(&mut *self.shared.touched_files());
        let changed = changed_files(&then, &now, &changes, &touched);
        let (shared, number) = (self.shared.clone(), now.number);
        self.after_notices(move || {
            shared.remembered.announced.store(number, Ordering::Relaxed);
            shared.change_log().add(number, changed);
        });
        Ok(Replaced { then, now, changes })
    }
}

/// Two views and their differences.
#[derive(Debug)]
pub struct Replaced {
    /// The earlier view.
    pub then: Arc<View>,
    /// The current one.
    pub now: Arc<View>,
    /// The differences.
    pub changes: Changes,
}

/// Compares files of the current view with those of the next one.
struct ViewFiles<'a> {
    then: &'a View,
    store: &'a Store,
}

impl CompareFiles for ViewFiles<'_> {
    fn change(&self, later: EntryId, earlier: EntryId) -> FileChange {
        self.store.file(later).change_since(&self.then.store().file(earlier))
    }

    fn held(&self, later: EntryId) -> Option<Ino> {
        self.then.shared.remembered.retired.held(self.store.file(later).archive_number()?, later.entry)
    }
}

/// Copies to the later view what the earlier one has learnt about loose files since they were compared.
fn learn_kept(then: &View, now: &View) {
    let is_rescanned = now.store().rescanned(then.store());
    if !is_rescanned.contains(&true) {
        return;
    }
    for node in now.tree().nodes() {
        let Kind::File(later) = now.tree().kind(node) else { continue };
        if !is_rescanned[usize::from(later.layer)] {
            continue;
        }
        let earlier = then.tree().node(now.tree().ino(node)).map(|node| then.tree().kind(node));
        if let Some(Kind::File(earlier)) = earlier {
            now.store().file(later).learn_from(&then.store().file(earlier));
        }
    }
}

/// Keeps the names of changed folders for listings that began in an earlier view.
fn keep_listings(then: &View, changes: &Changes) {
    for &ino in &changes.folders {
        let Some(node) = then.tree().node(ino) else { continue };
        let names = then.tree().listed_children(node).map(|child| then.tree().name(child));
        then.shared.remembered.listings.add(ino, listing_before(then, ino), names);
    }
}

/// The last change of each folder since the mount, for the next view. Folders that are gone are left out.
fn folder_changes(then: &View, tree: &Tree, changes: &Changes) -> HashMap<Ino, FolderChange> {
    let at = SystemTime::now();
    let change = |ino: Ino| {
        let listing = then.shared.remembered.listings.next_number(ino, listing_before(then, ino));
        (ino, FolderChange { listing, at })
    };
    let before = then.changes.iter().map(|(&ino, &change)| (ino, change));
    before
        .chain(changes.folders.iter().map(|&ino| change(ino)))
        .filter(|(ino, _)| tree.node(*ino).is_some())
        .collect()
}

/// The number of a folder's listing in the earlier view.
fn listing_before(then: &View, ino: Ino) -> u8 {
    then.changes.get(&ino).map_or(then.shared.remembered.first_listing, |change| change.listing)
}

/// Splits names that the kernel may have cached into those that the later view answers differently,
/// and the others.
fn changed_answers(then: &View, now: &View, exposed: HashSet<NameIn>) -> (Vec<NameIn>, Vec<NameIn>) {
    exposed.into_iter().partition(|(folder, name)| answer(then, *folder, name) != answer(now, *folder, name))
}

/// What a lookup of a name in a folder finds.
#[derive(PartialEq, Eq)]
enum LookupAnswer {
    /// A node whose number the kernel may have.
    Given(Ino),
    /// A folder that has no number yet.
    NotGiven,
    Assumed,
    Nothing,
    /// The folder itself is gone.
    NoFolder,
}

fn answer(view: &View, folder: Ino, name: &[u8]) -> LookupAnswer {
    let Ok(folder) = view.folder(folder) else { return LookupAnswer::NoFolder };
    match view.child(folder, name) {
        Child::Node(node) => {
            let ino = view.shared.remembered.spellings.existing_child_ino(view.tree(), folder, name, node);
            ino.map_or(LookupAnswer::NotGiven, LookupAnswer::Given)
        }
        Child::Assumed => LookupAnswer::Assumed,
        Child::None => LookupAnswer::Nothing,
    }
}

// Which files of a mount differ between two views, for `bsafs watch`.

/// The files that differ between two views, ordered by path; `None` if there are too many, or if it is not
/// known which ones differ.
fn changed_files(
    then: &View,
    now: &View,
    changes: &Changes,
    touched: &TouchedFiles,
) -> Option<Vec<ChangedFile>> {
    if !touched.is_complete() || changes.files.len() > KEPT_MAX {
        return None;
    }
    let changed = |tree: &Tree, node: NodeId, change: FileEvent| {
        let path = String::from_utf8_lossy(&tree.path(node)).into_owned();
        ChangedFile { path, change, view: now.number }
    };
    let mut files: Vec<ChangedFile> = (changes.files.iter())
        .map(|&file| match file {
            NodeChange::Added(node) => changed(now.tree(), node, FileEvent::Added),
            NodeChange::Removed(node) => changed(then.tree(), node, FileEvent::Removed),
            NodeChange::Modified(node) => changed(now.tree(), node, FileEvent::Modified),
        })
        .collect();
    // A file that was removed or replaced lost its number.
    let kept = touched.files().filter_map(|ino| now.tree().node(ino));
    files.extend(kept.map(|node| changed(now.tree(), node, FileEvent::Modified)));
    files.sort_unstable();
    files.dedup();
    Some(files)
}
