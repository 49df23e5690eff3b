//! Watches folders with inotify. Two threads use a watcher: one waits for events, the other changes what is
//! watched.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::mem::MaybeUninit;
use std::ops::Bound;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::limits::WATCHED_LINKS_MAX;
use crate::system::asleep;
use crate::system::covered::uncovered;
use crate::system::process;
use crate::system::sync::Mutex;
use crate::system::walk::LinkWalk;

/// Size in bytes of the buffer for events.
const EVENTS: usize = 1 << 14;

/// Watches folders. Paths are compared as bytes, which is much faster than comparing their components.
#[derive(Debug)]
pub struct Watcher {
    /// Fails if the user has too many inotify instances.
    inotify: Result<Arc<OwnedFd>, Errno>,
    tables: Mutex<WatchTables>,
}

#[derive(Debug, Default)]
struct WatchTables {
    folders: HashMap<FolderPath, WatchedFolder>,
    /// The watches with their folders. Links may give a folder several paths.
    paths: BTreeSet<(i32, FolderPath)>,
    /// Folders whose watches the kernel has ended.
    ended: Vec<FolderPath>,
    /// Folders without a watch, although they should have one, and why.
    unwatched: BTreeMap<FolderPath, Shortage>,
    /// Made when watches are to be moved for the first time; `None` while no folder lacks one.
    order: Option<MoveOrder>,
    /// How many folders with a watch programs used.
    used: usize,
    share: Share,
    /// Watches of single files, with what they were requested for.
    files: HashMap<i32, Vec<WatchedFile>>,
    /// Their watches, the oldest first.
    files_in_order: VecDeque<i32>,
    /// How many entries of `paths` are kept only until the kernel has reported all events.
    ending: usize,
    /// Counts events, to compare their times.
    clock: u64,
}

/// A folder to watch, with its watch if there is one.
#[derive(Debug, Default)]
struct WatchedFolder {
    /// How many layers list the entries of the folder.
    layers: u32,
    interest: Interest,
    watch: Option<i32>,
    /// Whether the watch includes writes to files.
    has_content: bool,
    /// Whether the folder comes before those that are merely used.
    is_first: bool,
    last: LastUse,
}

/// What happened last in a folder. The folder for which this is higher keeps its watch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct LastUse {
    /// Whether programs read files in it, and not only listed it.
    is_read: bool,
    /// When a program used the folder; 0 if none did.
    used: u64,
    /// When something changed in it.
    changed: u64,
}

/// Which of two folders keeps a watch: the one that is more important ([`WatchedFolder::importance`]), or
/// else the one that programs used last.
type Rank = (u8, LastUse);

/// In which order folders get watches, and lose them.
#[derive(Debug, Default)]
struct MoveOrder {
    /// Folders that may lose their watches, the first one first.
    surplus: BTreeSet<(Rank, FolderPath)>,
    /// How many of them programs read files in.
    read: usize,
    /// Folders without a watch that should have one, the first one last.
    wanted: BTreeSet<(Rank, FolderPath)>,
}

/// A folder that programs used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedFolder {
    pub folder: PathBuf,
    /// Whether they read files in it, and not only listed it.
    pub is_read: bool,
    /// Higher for later uses.
    pub at: u64,
}

/// A file with a watch of its own. Its events are reported as those of its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedFile {
    /// What the caller calls the file.
    pub number: u64,
    pub folder: PathBuf,
    pub name: OsString,
}

/// Why a folder has no watch, the cause that concerns most folders last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shortage {
    /// The system refuses it, with this error number.
    Refused(i32),
    /// The user has no watches left, or this mount has its share of them.
    Watches,
    /// The user has no inotify instance left, so that no folder has a watch.
    Instances,
    /// The process has too many open files for an inotify instance.
    Descriptors,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(errno) => write!(f, "{}", io::Error::from_raw_os_error(*errno)),
            Self::Watches => f.write_str(
                "fs.inotify.max_user_watches is too low (raise it; bsafs uses at most half of it)",
            ),
            Self::Instances => f.write_str(
                "fs.inotify.max_user_instances is too low for the programs of this user (raise it, and mount \
                 again)",
            ),
            Self::Descriptors => f.write_str("the limit of open files is too low (`ulimit -n`)"),
        }
    }
}

/// What [`Watcher::move_watches`] changed.
#[derive(Debug, Default)]
pub struct MovedWatches {
    /// Folders that got a watch.
    pub added: Vec<FolderPath>,
    /// Folders that lost theirs.
    pub removed: Vec<FolderPath>,
}

#[derive(Debug, Default)]
pub struct WatchChanges {
    /// Folders whose entries count from now on, once for each layer that lists them.
    pub added: Vec<PathBuf>,
    /// Folders whose entries no longer count, once for each layer.
    pub removed: Vec<PathBuf>,
    /// Everything else that counts; `None` if it is unchanged.
    pub interests: Option<Interests>,
    /// Paths that may lead elsewhere: their watches, and those below them, are requested again.
    pub moved: Vec<PathBuf>,
    /// Folders that keep their watches before those that programs use, unless they are more than a quarter of
    /// all.
    pub first: Vec<PathBuf>,
}

/// An event of a watched folder.
#[derive(Debug)]
pub struct DiskEvent<'a> {
    /// The path under which the folder is watched.
    pub folder: &'a Path,
    /// The name that the event is about; `None` for the folder itself.
    pub name: Option<&'a OsStr>,
    pub meaning: Meaning,
    /// Whether the content of a file was written to.
    pub is_write: bool,
    /// Whether a file was closed that a program may have written to, perhaps through a memory map.
    pub is_close: bool,
    /// Whether the attributes of a file were changed.
    pub is_of_attributes: bool,
    /// Whether a folder was created or moved here.
    pub is_new_folder: bool,
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakeup {
    pub has_events: bool,
    /// Whether the other descriptor can be read.
    pub is_readable: bool,
    /// Whether the mount table changed.
    pub are_mounts: bool,
}

impl Default for Watcher {
    fn default() -> Self {
        Self::new()
    }
}

impl Watcher {
    /// A watcher without folders.
    pub fn new() -> Self {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map(Arc::new);
        Self { inotify, tables: Mutex::default() }
    }

    /// A watcher that may have this many watches.
    #[doc(hidden)]
    pub fn with_share(watches: usize) -> Self {
        let it = Self::new();
        it.tables.lock().share = Share::fixed(watches);
        it
    }

    /// Changes what is watched. Folders that decide what is opened get their watches before all others.
    /// Returns the folders that were not watched before, in order, including those for which the system or
    /// [`Share`] allows no watch.
    pub fn watch(&self, changes: WatchChanges) -> Vec<FolderPath> {
        let mut tables = self.tables.lock();
        let mut changed: BTreeSet<FolderPath> = std::mem::take(&mut tables.ended).into_iter().collect();
        for moved in changes.moved {
            let is_below = |folder: &&FolderPath| Path::new(folder).starts_with(&moved);
            changed.extend(tables.folders.keys().filter(is_below).cloned());
        }
        for path in changes.added {
            let folder = tables.entry(path.as_os_str());
            tables.folders.entry(folder.clone()).or_default();
            tables.change(&folder, |it| it.layers += 1);
            changed.insert(folder);
        }
        for path in changes.removed {
            if tables.change(path.as_os_str(), |it| it.layers = it.layers.saturating_sub(1)).is_some() {
                changed.insert(tables.entry(path.as_os_str()));
            }
        }
        if let Some(interests) = changes.interests {
            tables.set_interests(interests, &mut changed);
        }
        tables.share.make_room(changed.len());
        tables.set_first(changes.first);
        let is_first = |folder: &FolderPath| tables.folders.get(folder).is_some_and(|it| it.importance() > 0);
        let (mut first, others): (Vec<FolderPath>, Vec<FolderPath>) = changed.into_iter().partition(is_first);
        first.sort_by_key(|folder| Reverse(tables.folders.get(folder).map_or(0, WatchedFolder::importance)));
        let mut added: Vec<FolderPath> = first.into_iter().chain(others).collect();
        added.retain(|folder| tables.update(self.inotify(), folder));
        added.sort_unstable();
        if tables.unwatched.is_empty() {
            tables.order = None;
        }
        added
    }

    /// Requests a watch for a file, which may be written to through a name in another folder. The file that
    /// was requested longest ago loses its watch if there are too many.
    pub fn watch_file(&self, file: WatchedFile) {
        let Ok(inotify) = &self.inotify else { return };
        let mut tables = self.tables.lock();
        if tables.files.len() >= WATCHED_LINKS_MAX || !tables.has_room() {
            tables.end_oldest_file(inotify);
        }
        let path = file.folder.join(&file.name);
        let events = WatchFlags::MASK_ADD | WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE | WatchFlags::ATTRIB;
        if !tables.has_room() {
            return;
        }
        let Ok(watch) = add_watch(inotify, &path, events) else { return };
        let of_watch = tables.files.entry(watch).or_default();
        if !of_watch.contains(&file) {
            of_watch.push(file);
        }
        tables.files_in_order.retain(|it| *it != watch);
        tables.files_in_order.push_back(watch);
    }

    /// The numbers of the files that have watches of their own.
    pub fn watched_files(&self) -> HashSet<u64> {
        self.tables.lock().files.values().flatten().map(|file| file.number).collect()
    }

    /// Whether a folder has a watch.
    pub fn is_watched(&self, folder: &FolderPath) -> bool {
        self.holds(Path::new(folder), |it| it.watch.is_some())
    }

    /// Whether the system reports each change of a file in a folder.
    pub fn is_reported(&self, folder: &Path) -> bool {
        self.holds(folder, |it| it.watch.is_some() && it.has_content)
    }

    /// Whether the load order may depend on what a folder contains.
    pub fn is_of_plan(&self, folder: &Path) -> bool {
        self.holds(folder, |it| it.interest.is_of_plan())
    }

    /// Whether links in other folders lead through a folder.
    pub fn is_of_links(&self, folder: &Path) -> bool {
        self.holds(folder, |it| it.interest.is_of_links())
    }

    /// Records that programs used folders, and that something changed in others that have no watch.
    pub fn record_used(&self, used: &[UsedFolder], changed: &[FolderPath]) {
        let mut tables = self.tables.lock();
        for folder in changed {
            tables.clock += 1;
            let clock = tables.clock;
            tables.change(folder, |it| it.last.changed = clock);
        }
        for UsedFolder { folder, is_read, at } in used {
            tables.change(folder.as_os_str(), |it| {
                it.last.used = it.last.used.max(*at);
                it.last.is_read |= is_read;
            });
        }
        tables.leave_room_for_listed();
    }

    /// The folders that should lose their watches to others without a watch, at most so many: those that were
    /// used first, or changed first if none was used. Call [`Watcher::move_watches`] with them.
    pub fn surplus(&self, most: usize) -> Vec<FolderPath> {
        let mut tables = self.tables.lock();
        if tables.unwatched.is_empty() {
            return Vec::new();
        }
        let room = tables.share.room(tables.taken());
        tables.order();
        let Some(order) = &tables.order else { return Vec::new() };
        // Two paths may lead to one folder, which keeps its watch.
        let has_one_path = |(_, folder): &&(Rank, FolderPath)| {
            let watch = tables.folders.get(folder).and_then(|it| it.watch);
            watch.is_some_and(|watch| tables.paths_of(watch).nth(1).is_none())
        };
        let surplus = order.surplus.iter().filter(has_one_path);
        // The one that was used last replaces the one that was used first.
        let pairs = order.wanted.iter().rev().skip(room).zip(surplus).take(most);
        pairs.take_while(|(wanted, lost)| wanted.0 > lost.0).map(|(_, (_, folder))| folder.clone()).collect()
    }

    /// Ends watches, and gives them to the folders that were used last. Events until now are still reported.
    /// A folder that got its watch back is among those that lost theirs and among those that got one.
    pub fn move_watches(&self, from: &[FolderPath]) -> MovedWatches {
        let mut tables = self.tables.lock();
        let mut moved = MovedWatches::default();
        let Ok(inotify) = self.inotify() else { return moved };
        for folder in from {
            let Some(watch) = tables.change(folder, |it| it.watch.take()).flatten() else { continue };
            // The kernel sends IGNORED after all events of the watch. Until then, they need the path.
            let _ = inotify::remove_watch(inotify, watch);
            tables.ending += 1;
            tables.unrank(folder);
            tables.unwatched.insert(folder.clone(), Shortage::Watches);
            tables.rank(folder);
            moved.removed.push(folder.clone());
        }
        let is_watched = |tables: &WatchTables, folder: &FolderPath| {
            tables.folders.get(folder).is_some_and(|it| it.watch.is_some())
        };
        let mut give = |tables: &mut WatchTables, folder: &FolderPath| {
            tables.update(self.inotify(), folder);
            moved.added.extend(is_watched(tables, folder).then(|| folder.clone()));
        };
        // A folder that gets none is no longer wanted, or there is no room.
        while tables.has_room() {
            let wanted = tables.order.as_ref().and_then(|order| order.wanted.last());
            let Some((_, folder)) = wanted.cloned() else { break };
            give(&mut tables, &folder);
        }
        // The wanted folders may be gone. Then those that lost their watches get them again.
        for folder in from.iter().rev() {
            if tables.has_room() && tables.folders.contains_key(folder) && !is_watched(&tables, folder) {
                give(&mut tables, folder);
            }
        }
        moved
    }

    /// The folders without a watch, in order.
    pub fn unwatched(&self) -> Vec<FolderPath> {
        self.tables.lock().unwatched.keys().cloned().collect()
    }

    /// At most so many of the folders without a watch, in order, those after one.
    pub fn unwatched_after(&self, folder: Option<&FolderPath>, most: usize) -> Vec<FolderPath> {
        let after = folder.map_or(Bound::Unbounded, Bound::Excluded);
        let tables = self.tables.lock();
        let folders = tables.unwatched.range::<FolderPath, _>((after, Bound::Unbounded));
        folders.map(|(folder, _)| folder.clone()).take(most).collect()
    }

    /// Whether a folder should have a watch, and has none.
    pub fn is_unwatched(&self, folder: &FolderPath) -> bool {
        self.tables.lock().unwatched.contains_key(folder)
    }

    /// The files in a folder that count by their names.
    pub fn files_that_count(&self, folder: &FolderPath) -> Vec<OsString> {
        let tables = self.tables.lock();
        tables.folders.get(folder).into_iter().flat_map(|it| it.interest.files()).cloned().collect()
    }

    /// Why folders have no watch. If there are several causes, the one that concerns most folders.
    pub fn shortage(&self) -> Option<Shortage> {
        let of_instance = self.inotify().err();
        of_instance.or_else(|| self.tables.lock().unwatched.values().max().copied())
    }

    fn inotify(&self) -> Result<&Arc<OwnedFd>, Shortage> {
        self.inotify.as_ref().map_err(|errno| {
            let has_descriptors = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 0).is_ok();
            match *errno {
                Errno::MFILE if has_descriptors => Shortage::Instances,
                Errno::MFILE | Errno::NFILE => Shortage::Descriptors,
                errno => Shortage::Refused(errno.raw_os_error()),
            }
        })
    }

    /// How many folders are watched, how many of them because they were used, and how many have no watch.
    pub fn counts(&self) -> (usize, usize, usize) {
        let tables = self.tables.lock();
        (tables.watches(), tables.used, tables.unwatched.len())
    }

    /// Waits until there are events, `other` can be read, the mount table has changed, or `until` is
    /// reached. inotify reports nothing if something is mounted on a watched folder.
    pub fn wait(
        &self,
        other: BorrowedFd<'_>,
        mount_table: Option<BorrowedFd<'_>>,
        until: Option<Instant>,
    ) -> io::Result<Wakeup> {
        loop {
            let timeout = until.map(|until| timespec(until.saturating_duration_since(Instant::now())));
            let inotify = self.inotify.as_ref().ok().map(AsFd::as_fd);
            let mut events = vec![PollFd::from_borrowed_fd(other, PollFlags::IN)];
            events.extend(mount_table.map(|table| PollFd::from_borrowed_fd(table, PollFlags::PRI)));
            events.extend(inotify.map(|inotify| PollFd::from_borrowed_fd(inotify, PollFlags::IN)));
            match poll(&mut events, timeout.as_ref()) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
            }
            let is_ready = |index: usize| !events[index].revents().is_empty();
            let (has_table, last) = (mount_table.is_some(), events.len() - 1);
            return Ok(Wakeup {
                has_events: inotify.is_some() && is_ready(last),
                is_readable: is_ready(0),
                are_mounts: has_table && is_ready(1),
            });
        }
    }

    /// Reads the events that fit into one buffer, because another process may write all the time. Calls
    /// `handle` with each event that counts. Returns whether events were lost.
    pub fn read_events(&self, mut handle: impl FnMut(&DiskEvent<'_>)) -> io::Result<bool> {
        let Ok(inotify) = &self.inotify else { return Ok(false) };
        let mut buffer = [MaybeUninit::uninit(); EVENTS];
        let mut reader = Reader::new(inotify, &mut buffer);
        let (mut is_first, mut is_lost) = (true, false);
        while std::mem::take(&mut is_first) || !reader.is_buffer_empty() {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::WOULDBLOCK | Errno::INTR) => break,
                Err(errno) => return Err(errno.into()),
            };
            let (flags, watch) = (event.events(), event.wd());
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                is_lost = true;
                self.tables.lock().forget_ending();
            }
            let (meanings, files) = {
                let mut tables = self.tables.lock();
                let files = tables.files.get(&watch).cloned().unwrap_or_default();
                (tables.record_event(watch, flags, name), files)
            };
            for file in files.iter().filter(|_| !flags.contains(ReadFlags::IGNORED)) {
                handle(&DiskEvent {
                    folder: &file.folder,
                    name: Some(&file.name),
                    meaning: Meaning { is_content: true, ..Meaning::default() },
                    is_write: flags.contains(ReadFlags::MODIFY),
                    is_close: flags.contains(ReadFlags::CLOSE_WRITE),
                    is_of_attributes: flags.contains(ReadFlags::ATTRIB),
                    is_new_folder: false,
                });
            }
            for (folder, meaning) in meanings {
                handle(&DiskEvent {
                    folder: Path::new(&*folder),
                    name,
                    meaning,
                    is_write: flags.contains(ReadFlags::MODIFY),
                    is_close: flags.contains(ReadFlags::CLOSE_WRITE),
                    is_of_attributes: flags.contains(ReadFlags::ATTRIB),
                    is_new_folder: flags.contains(ReadFlags::ISDIR)
                        && flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO),
                });
            }
            // The watch would follow a moved folder.
            if flags.intersects(ReadFlags::IGNORED | ReadFlags::MOVE_SELF) {
                self.tables.lock().end(inotify, watch);
            }
        }
        Ok(is_lost)
    }

    /// Whether a folder should be watched, and this holds for it.
    fn holds(&self, folder: &Path, holds: impl FnOnce(&WatchedFolder) -> bool) -> bool {
        self.tables.lock().folders.get(folder.as_os_str()).is_some_and(holds)
    }
}

impl WatchTables {
    /// The path of a folder as the tables share it.
    fn entry(&self, path: &OsStr) -> FolderPath {
        self.folders.get_key_value(path).map_or_else(|| path.into(), |(folder, _)| folder.clone())
    }

    /// Changes what is known of a folder, if it is known.
    fn change<T>(&mut self, path: &OsStr, change: impl FnOnce(&mut WatchedFolder) -> T) -> Option<T> {
        let folder = self.folders.get_key_value(path)?.0.clone();
        self.unrank(&folder);
        let changed = self.folders.get_mut(&folder).map(change);
        self.rank(&folder);
        changed
    }

    /// Makes the order in which watches move.
    fn order(&mut self) {
        if self.order.is_none() && !self.unwatched.is_empty() {
            self.order = Some(MoveOrder::default());
            self.used = 0;
            let folders: Vec<FolderPath> = self.folders.keys().cloned().collect();
            for folder in &folders {
                self.rank(folder);
            }
        }
    }

    /// Adds a folder to the order in which watches move. Call [`WatchTables::unrank`] before anything changes
    /// on which that depends.
    fn rank(&mut self, folder: &FolderPath) {
        let Some(it) = self.folders.get(folder) else { return };
        self.used += usize::from(it.watch.is_some() && it.last.used > 0);
        let Some(order) = &mut self.order else { return };
        let rank = it.rank();
        if it.watch.is_none() {
            // A folder that the system refuses to watch is only checked.
            let lacks = self.unwatched.get(folder) == Some(&Shortage::Watches);
            if lacks && rank != Rank::default() {
                order.wanted.insert((rank, folder.clone()));
            }
        } else if it.layers > 0 && it.interest.is_empty() {
            // Only folders with nothing else to watch, because the load order must not depend on the checks.
            order.surplus.insert((rank, folder.clone()));
            order.read += usize::from(it.last.is_read);
        }
    }

    /// Removes a folder from the order in which watches move.
    fn unrank(&mut self, folder: &FolderPath) {
        let Some(it) = self.folders.get(folder) else { return };
        self.used -= usize::from(it.watch.is_some() && it.last.used > 0);
        let Some(order) = &mut self.order else { return };
        let key = (it.rank(), folder.clone());
        order.wanted.remove(&key);
        order.read -= usize::from(order.surplus.remove(&key) && it.last.is_read);
    }

    /// Has at most half of all watches kept because of reads. A program may have read everything.
    fn leave_room_for_listed(&mut self) {
        let most = self.watches().div_ceil(2);
        let first = (0, LastUse { is_read: true, ..LastUse::default() });
        let first = (first, FolderPath::from(OsStr::new("")));
        let read = |order: &BTreeSet<(Rank, FolderPath)>| {
            let found = order.range(first.clone()..).find(|((_, last), _)| last.is_read);
            found.map(|((_, last), folder)| (last.used, folder.clone()))
        };
        let mut last = 0;
        while let Some(order) = self.order.as_ref().filter(|order| order.read > most)
            && let Some((used, folder)) = read(&order.surplus)
        {
            last = used;
            self.change(&folder, |it| it.last.is_read = false);
        }
        // What was read before these and has no watch counts for no more.
        while let Some((used, folder)) = self.order.as_ref().and_then(|order| read(&order.wanted))
            && used <= last
        {
            self.change(&folder, |it| it.last.is_read = false);
        }
    }

    /// Marks the folders that come before those that are merely used.
    fn set_first(&mut self, first: Vec<PathBuf>) {
        let most = self.share.most().map_or(usize::MAX, |most| most / 4);
        let first: HashSet<FolderPath> =
            first.iter().take(most).map(|it| self.entry(it.as_os_str())).collect();
        let then = self.folders.iter().filter(|(_, it)| it.is_first).map(|(folder, _)| folder);
        let other: Vec<FolderPath> = then.filter(|folder| !first.contains(*folder)).cloned().collect();
        for (folders, is_first) in [(other, false), (Vec::from_iter(first), true)] {
            for folder in folders {
                self.change(&folder, |it| it.is_first = is_first);
            }
        }
    }

    /// Replaces all interests. Adds the folders that this concerns.
    fn set_interests(&mut self, interests: Interests, changed: &mut BTreeSet<FolderPath>) {
        let then = self.folders.iter().filter(|(_, it)| !it.interest.is_empty());
        let then: Vec<FolderPath> = then.map(|(folder, _)| folder.clone()).collect();
        for folder in then {
            self.change(&folder, |it| it.interest = Interest::default());
            changed.insert(folder);
        }
        for (path, interest) in interests.folders {
            let folder = self.entry(&path);
            self.folders.entry(folder.clone()).or_default();
            self.change(&folder, |it| it.interest = interest);
            changed.insert(folder);
        }
    }

    /// Requests the watch of a folder, or ends it. Returns whether the folder was not watched before. The
    /// watch is requested even if there is one, because the path may lead to another folder now.
    fn update(&mut self, inotify: Result<&Arc<OwnedFd>, Shortage>, folder: &FolderPath) -> bool {
        let is_new = self.folders.get(folder).is_some_and(|it| it.watch.is_none());
        if is_new
            && !self.has_room()
            && let Ok(inotify) = inotify
        {
            self.end_oldest_file(inotify);
        }
        let (has_room, watches) = (self.has_room(), self.taken());
        self.unrank(folder);
        let Some(watched) = self.folders.get_mut(folder) else { return false };
        let (before, had_content) = (watched.watch.take(), watched.has_content);
        let is_wanted = watched.layers > 0 || !watched.interest.is_empty();
        let has_content = watched.layers > 0 || watched.interest.is_of_content();
        let may_watch = before.is_some() || has_room;
        let requested = inotify
            .ok()
            .filter(|_| is_wanted && may_watch)
            .map(|inotify| add_watch(inotify, Path::new(folder), events(has_content)));
        // While a disk is asleep, its watches stay.
        let requested = match (requested, before) {
            (Some(Err(Errno::TIMEDOUT)), Some(before)) => Some(Ok(before)),
            (requested, _) => requested,
        };
        let watch = requested.and_then(Result::ok);
        let shortage = match (inotify, requested) {
            (Err(shortage), _) => shortage,
            (_, Some(Err(errno))) if errno != Errno::NOSPC => Shortage::Refused(errno.raw_os_error()),
            _ => Shortage::Watches,
        };
        if matches!(requested, Some(Err(Errno::NOSPC))) {
            // Other programs of the user have the rest of the watches.
            self.share.shrink(watches);
        }
        (watched.watch, watched.has_content) = (watch, has_content);
        // A folder that does not exist is reported by the folder above it.
        let is_absent = matches!(requested, Some(Err(errno)) if errno != Errno::NOSPC
            && errno != Errno::NOMEM && errno != Errno::ACCESS && errno != Errno::TIMEDOUT);
        let was_unwatched = self.unwatched.remove(folder).is_some();
        let is_unwatched = is_wanted && watch.is_none() && !is_absent;
        if !is_wanted {
            self.folders.remove(folder);
        }
        if is_unwatched {
            self.unwatched.insert(folder.clone(), shortage);
        }
        if let Some(before) = before.filter(|before| watch != Some(*before)) {
            self.paths.remove(&(before, folder.clone()));
            self.end_if_unused(inotify.ok(), before);
        }
        if let Some(watch) = watch {
            _ = self.paths.insert((watch, folder.clone()))
        }
        self.rank(folder);
        match watch {
            Some(_) => watch != before || has_content && !had_content,
            None => is_unwatched && !was_unwatched,
        }
    }

    /// How many folders have a watch.
    fn watches(&self) -> usize {
        self.paths.len().saturating_sub(self.ending)
    }

    fn has_room(&self) -> bool {
        self.share.room(self.taken()) > 0
    }

    /// How many watches there are for folders and files.
    fn taken(&self) -> usize {
        self.watches() + self.files.len()
    }

    /// Ends the watch of the file that was requested longest ago.
    fn end_oldest_file(&mut self, inotify: &Arc<OwnedFd>) {
        if let Some(watch) = self.files_in_order.pop_front() {
            self.files.remove(&watch);
            let _ = inotify::remove_watch(inotify, watch);
        }
    }

    /// Records an event. Returns what it means.
    fn record_event(
        &mut self,
        watch: i32,
        flags: ReadFlags,
        name: Option<&OsStr>,
    ) -> Vec<(FolderPath, Meaning)> {
        let meanings = self.meanings(watch, flags, name);
        self.clock += 1;
        let clock = self.clock;
        for (folder, _) in &meanings {
            self.change(folder, |it| it.last.changed = clock);
        }
        meanings
    }

    /// What an event means for each path of the watch, without those for which it does not count.
    fn meanings(&self, watch: i32, flags: ReadFlags, name: Option<&OsStr>) -> Vec<(FolderPath, Meaning)> {
        let meaning = |folder: &FolderPath| {
            let watched = self.folders.get(folder)?;
            // The watch was given to another folder, which changes nothing.
            if flags.contains(ReadFlags::IGNORED) && watched.watch != Some(watch) {
                return None;
            }
            let meaning = watched.interest.meaning(flags, name, watched.layers > 0);
            meaning.counts().then(|| (folder.clone(), meaning))
        };
        self.paths_of(watch).filter_map(meaning).collect()
    }

    /// Records that a watch ended.
    fn end(&mut self, inotify: &Arc<OwnedFd>, watch: i32) {
        if self.files.remove(&watch).is_some() {
            self.files_in_order.retain(|it| *it != watch);
            return;
        }
        let folders: Vec<_> = self.paths_of(watch).cloned().collect();
        for folder in folders {
            self.paths.remove(&(watch, folder.clone()));
            if self.folders.get(&folder).is_some_and(|it| it.watch == Some(watch)) {
                self.change(&folder, |it| it.watch = None);
                self.ended.push(folder);
            } else {
                // The watch was given to another folder.
                self.ending = self.ending.saturating_sub(1);
            }
        }
        self.end_if_unused(Some(inotify), watch);
    }

    /// Drops what is kept of watches until the kernel has reported all their events, because it may never
    /// report that they ended.
    fn forget_ending(&mut self) {
        let watch_of = |folder: &FolderPath| self.folders.get(folder).and_then(|it| it.watch);
        self.paths.retain(|(watch, folder)| watch_of(folder) == Some(*watch));
        self.ending = 0;
    }

    /// Ends a watch if no path leads to its folder any more.
    fn end_if_unused(&self, inotify: Option<&Arc<OwnedFd>>, watch: i32) {
        if self.paths_of(watch).next().is_none() {
            // Fails if the folder is gone, because its watch is gone too.
            let _ = inotify.map(|inotify| inotify::remove_watch(inotify, watch));
        }
    }

    fn paths_of(&self, watch: i32) -> impl Iterator<Item = &FolderPath> {
        let start = (watch, FolderPath::from(OsStr::new("")));
        self.paths.range(start..).take_while(move |(it, _)| *it == watch).map(|(_, folder)| folder)
    }
}

impl WatchedFolder {
    /// How much depends on the watch of a folder: the load order, archives, the paths to sources, what the
    /// caller put first, or nothing but its entries.
    fn importance(&self) -> u8 {
        match () {
            () if self.interest.names_sources() => 4,
            () if self.interest.is_of_content() => 3,
            () if !self.interest.is_empty() => 2,
            () => self.is_first.into(),
        }
    }

    fn rank(&self) -> Rank {
        (self.importance(), self.last)
    }
}

/// Requests a watch. Fails if the disk is asleep.
fn add_watch(inotify: &Arc<OwnedFd>, path: &Path, events: WatchFlags) -> Result<i32, Errno> {
    let (inotify, at) = (inotify.clone(), path.to_owned());
    let add = move || inotify::add_watch(&*inotify, &*uncovered(&at), events);
    asleep::at(path, add).unwrap_or(Err(Errno::TIMEDOUT))
}

/// The events to request. Writes are requested only if they count, because they can be very frequent.
fn events(has_content: bool) -> WatchFlags {
    // `MASK_ADD`, because two paths may lead to one folder.
    let names = WatchFlags::MASK_ADD
        | WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::ONLYDIR;
    let content = WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE | WatchFlags::ATTRIB;
    if has_content { names | content } else { names }
}

fn timespec(duration: std::time::Duration) -> Timespec {
    // Rounded up, because a wait that ends too early would be repeated at once.
    let duration = duration.saturating_add(std::time::Duration::from_millis(1));
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}

// How many inotify watches a mount may have. All mounts of a user together take at most half of the user's
// watches, because other programs need watches, too.

/// The limit of watches of each user.
const LIMIT: &str = "/proc/sys/fs/inotify/max_user_watches";
/// If no more folders than this are added, the watches of other mounts are not counted again.
const FEW: usize = 1000;

/// The watches that a mount may have.
#[derive(Debug, Default)]
pub(super) struct Share {
    /// `None` until it is needed.
    watches: Option<usize>,
    is_fixed: bool,
}

impl Share {
    /// A share of this many watches.
    pub(super) fn fixed(watches: usize) -> Self {
        Self { watches: Some(watches), is_fixed: true }
    }

    /// Prepares for `more` folders: counts again what the user's other mounts have.
    pub(super) fn make_room(&mut self, more: usize) {
        if !self.is_fixed && (self.watches.is_none() || more > FEW) {
            let text = process::file_in_proc(Path::new(LIMIT)).ok();
            let limit = text.and_then(|text| text.trim().parse::<usize>().ok());
            // Without /proc, the system's own limit decides.
            self.watches = limit.map(|limit| (limit / 2).saturating_sub(watches_of_others()));
        }
    }

    /// How many watches are allowed; `None` without a limit.
    fn most(&self) -> Option<usize> {
        self.watches
    }

    /// How many more watches are allowed if there are `watches` now.
    pub(super) fn room(&self, watches: usize) -> usize {
        self.watches.map_or(usize::MAX, |most| most.saturating_sub(watches))
    }

    /// Records that the system allows no more than these.
    pub(super) fn shrink(&mut self, watches: usize) {
        self.watches = Some(self.watches.map_or(watches, |most| most.min(watches)));
    }
}

/// The number of watches that other bsafs processes of this user have.
fn watches_of_others() -> usize {
    let Ok(own) = fs::metadata("/proc/self") else { return 0 };
    let is_of_user = |folder: &Path| fs::metadata(folder).is_ok_and(|it| it.uid() == own.uid());
    let folders = process::others().into_iter().flatten().map(|(_, folder)| folder);
    folders.filter(|it| is_of_user(it) && process::runs_bsafs(it)).map(|it| watches_of(&it)).sum()
}

fn watches_of(process: &Path) -> usize {
    let descriptors = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let is_inotify =
        |path: &Path| fs::read_link(path).is_ok_and(|target| target.ends_with("anon_inode:inotify"));
    let watchers = descriptors.filter(|entry| is_inotify(&entry.path()));
    let watches = |number| {
        let Ok(file) = File::open(process.join("fdinfo").join(number)) else { return 0 };
        BufReader::new(file)
            .split(b'\n')
            .map_while(Result::ok)
            .filter(|line| line.starts_with(b"inotify "))
            .count()
    };
    watchers.map(|entry| watches(entry.file_name())).sum()
}

// Which events in a folder count as changes, and what they mean.

/// The path of a watched folder, as bytes.
pub type FolderPath = Arc<OsStr>;

/// What an event means. Several may be true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meaning {
    /// Something changed in a folder whose entries all count.
    pub is_content: bool,
    /// A file changed that was added by its name.
    pub is_file: bool,
    /// Something changed that decides which sources are opened.
    pub is_plan: bool,
    /// A component of the path to a watched folder was added or removed.
    pub is_way: bool,
    /// A link was added or removed through which others lead, so paths may lead elsewhere now.
    pub is_link: bool,
    /// A name was added or removed.
    pub is_of_names: bool,
}

/// What counts in one folder besides its entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Interest {
    /// Whether it counts as a change of the plan if any name is added or removed.
    plan_names: bool,
    /// For each name that counts, how.
    names: BTreeMap<OsString, u8>,
}

/// Every event of the file counts.
const FILE: u8 = 1;
/// Every event of the file counts, and changes the plan.
const PLAN: u8 = 2;
/// The name is a component of the path to a watched folder.
const WAY: u8 = 4;
/// The name is a component of the path from a link to its target.
const LINK: u8 = 8;

/// What to watch besides the entries of folders.
#[derive(Debug, Default)]
pub struct Interests {
    pub(super) folders: BTreeMap<FolderPath, Interest>,
    /// The paths that were followed, because most of them have much in common.
    ways: LinkWalk,
    links: LinkWalk,
}

impl Interests {
    /// Makes a file count, even if it does not exist. If links lead to it, the links and their
    /// target count too.
    pub fn add_file(&mut self, path: &Path) {
        self.add(path, FILE);
    }

    /// Like [`Interests::add_file`], for a file that decides which sources are opened.
    pub fn add_plan_file(&mut self, path: &Path) {
        self.add(path, PLAN);
    }

    /// Makes added and removed names in a folder count as changes of the plan.
    pub fn add_plan_names(&mut self, folder: &Path) {
        self.interest(folder).plan_names = true;
        self.add_way_to(folder);
    }

    /// Makes the components of the path from a link to its target count, except the link itself, which counts
    /// if its folder counts.
    pub fn add_link(&mut self, link: &Path) {
        let mut links = std::mem::take(&mut self.links);
        links.follow(link, &mut |folder, name| self.add_component(folder, name, link, LINK));
        self.links = links;
    }

    /// Makes the components of the path to a folder count, because they decide which folder it is.
    pub fn add_way_to(&mut self, folder: &Path) {
        self.follow(folder);
        self.add_name(folder, WAY);
    }

    fn add(&mut self, path: &Path, how: u8) {
        self.add_name(path, how);
        let target = self.follow(path);
        if target != path {
            self.add_name(&target, how);
        }
    }

    /// Adds the components of a path, except the last one, and the components of links in it. Returns where
    /// the path leads.
    fn follow(&mut self, path: &Path) -> PathBuf {
        let mut ways = std::mem::take(&mut self.ways);
        let target = ways.follow(path, &mut |folder, name| self.add_component(folder, name, path, WAY));
        self.ways = ways;
        target
    }

    fn add_component(&mut self, folder: &Path, name: &OsStr, of: &Path, how: u8) {
        if of.parent() != Some(folder) || of.file_name() != Some(name) {
            *self.interest(folder).names.entry(name.to_owned()).or_default() |= how;
        }
    }

    fn add_name(&mut self, path: &Path, how: u8) {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
        if folder.as_os_str().is_empty() {
            return;
        }
        *self.interest(folder).names.entry(name.to_owned()).or_default() |= how;
    }

    fn interest(&mut self, folder: &Path) -> &mut Interest {
        self.folders.entry(folder.as_os_str().into()).or_default()
    }
}

impl Interest {
    pub(super) fn is_empty(&self) -> bool {
        !self.plan_names && self.names.is_empty()
    }

    /// Whether writes to files count, and not only added and removed names.
    pub(super) fn is_of_content(&self) -> bool {
        self.names.values().any(|how| how & (FILE | PLAN) != 0)
    }

    /// Whether names or files in the folder decide which sources are opened.
    fn names_sources(&self) -> bool {
        self.plan_names || self.names.values().any(|how| how & PLAN != 0)
    }

    /// The files that count by their names.
    fn files(&self) -> impl Iterator<Item = &OsString> {
        self.names.iter().filter(|(_, how)| **how & (FILE | PLAN) != 0).map(|(name, _)| name)
    }

    /// Whether the load order may depend on names or files in the folder.
    pub(super) fn is_of_plan(&self) -> bool {
        self.plan_names || self.names.values().any(|how| how & (PLAN | WAY | LINK) != 0)
    }

    /// Whether links in other folders lead through the folder.
    pub(super) fn is_of_links(&self) -> bool {
        self.names.values().any(|how| how & LINK != 0)
    }

    /// What an event means. `name` is the name that the event is about; without one, it is about the folder
    /// itself. `is_content` says whether all entries of the folder count.
    pub(super) fn meaning(&self, event: ReadFlags, name: Option<&OsStr>, is_content: bool) -> Meaning {
        let is_of_names = event
            .intersects(ReadFlags::CREATE | ReadFlags::DELETE | ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO);
        let how = name.and_then(|name| self.names.get(name)).copied().unwrap_or(0);
        Meaning {
            is_content,
            is_file: how & (FILE | PLAN) != 0 || name.is_none(),
            is_plan: how & PLAN != 0 || self.plan_names && (is_of_names || name.is_none()),
            is_way: how & WAY != 0 && is_of_names,
            is_link: how & LINK != 0 && is_of_names,
            is_of_names,
        }
    }
}

impl Meaning {
    pub(super) fn counts(self) -> bool {
        self.is_content || self.is_file || self.is_plan || self.is_way || self.is_link
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};

    use super::*;

    #[test]
    fn a_watch_whose_end_is_lost_in_an_overflow_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
        for folder in [&a, &b] {
            fs::create_dir(folder).unwrap();
        }
        let watcher = Watcher::with_share(1);
        watcher.watch(WatchChanges { added: vec![a.clone(), b.clone()], ..WatchChanges::default() });
        watcher.record_used(&[UsedFolder { folder: b, is_read: true, at: 1 }], &[]);
        let queued = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        // Each file causes several events.
        for _ in 0..queued.trim().parse::<usize>().unwrap() {
            fs::write(a.join("file"), "").unwrap();
            fs::remove_file(a.join("file")).unwrap();
        }
        assert_eq!(watcher.move_watches(&watcher.surplus(1)).added.len(), 1);
        assert_eq!(watcher.tables.lock().paths.len(), 2);
        while !watcher.read_events(|_| ()).unwrap() {}
        let tables = watcher.tables.lock();
        assert_eq!((tables.paths.len(), tables.watches()), (1, 1));
    }

    #[test]
    fn the_watches_of_a_process_are_counted() {
        let own = Path::new("/proc/self");
        let before = watches_of(own);
        let inotify = init(CreateFlags::CLOEXEC).unwrap();
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for folder in &folders {
            add_watch(&inotify, folder.path(), WatchFlags::CREATE).unwrap();
        }
        // Other tests of this program may watch, too.
        assert!(watches_of(own) >= 2 && before < watches_of(own) + 2);
    }
}
