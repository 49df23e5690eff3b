//! Waits for changes with inotify.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::changed::ChangedFolders;
use super::interest::{Interest, Interests, Meaning};
use super::poll::Polled;
use crate::system::covered::uncovered;

/// Size in bytes of the buffer for events.
const EVENTS: usize = 1 << 14;

/// Pause after events that do not count. Other files in a folder may be written to all the time.
const PAUSE: Duration = Duration::from_millis(20);

/// Watches folders.
#[derive(Debug)]
pub struct Watcher {
    /// `None` if the user has too many inotify instances.
    inotify: Option<OwnedFd>,
    folders: BTreeMap<Arc<Path>, Watched>,
    /// The paths of each watch, ordered by the number of the watch. Links may give a folder several paths.
    paths: Vec<(i32, Arc<Path>)>,
    /// Folders for which the system allows no watch.
    polled: Polled,
    changed: ChangedFolders,
}

/// A folder to watch, with its watch if there is one.
#[derive(Debug)]
struct Watched {
    interest: Interest,
    watch: Option<i32>,
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// Whether something changed that counts.
    pub is_changed: bool,
    /// Whether the other descriptor can be read.
    pub is_readable: bool,
}

impl Default for Watcher {
    fn default() -> Self {
        Self::new()
    }
}

impl Watcher {
    /// A watcher without folders. If the system allows no more watchers, it polls.
    pub fn new() -> Self {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        let (folders, paths, polled, changed) = Default::default();
        Self { inotify, folders, paths, polled, changed }
    }

    /// A watcher without folders that polls all folders it is given.
    #[doc(hidden)]
    pub fn polling() -> Self {
        Self { inotify: None, ..Self::new() }
    }

    /// Watches only these folders and their parents from now on. Returns the folders that were not watched
    /// before, in order.
    pub fn watch(&mut self, wanted: Interests) -> Vec<Arc<Path>> {
        let before = std::mem::take(&mut self.folders);
        let mut paths = Vec::with_capacity(wanted.folders.len());
        let (mut added, mut unwatched) = (Vec::new(), Vec::new());
        for (folder, interest) in with_parents(wanted).folders {
            let watch = self
                .inotify
                .as_ref()
                .map(|inotify| inotify::add_watch(inotify, &*uncovered(&folder), events(&interest)));
            match watch {
                // Every watch is requested again, because a link in the path may lead to another folder now.
                Some(Ok(watch)) => {
                    paths.push((watch, folder.clone()));
                    let is_known = before.get(&folder).is_some_and(|it| {
                        it.watch == Some(watch) && it.interest.is_of_content() == interest.is_of_content()
                    });
                    if !is_known {
                        added.push(folder.clone());
                    }
                }
                // `max_user_watches` is reached, or only root may read the folder.
                None | Some(Err(Errno::NOSPC | Errno::NOMEM | Errno::ACCESS)) => {
                    unwatched.push(folder.clone())
                }
                Some(Err(_)) => {}
            }
            let watch = watch.and_then(Result::ok);
            self.folders.insert(folder, Watched { interest, watch });
        }
        paths.sort_unstable();
        let old = std::mem::replace(&mut self.paths, paths);
        old.into_iter().for_each(|(watch, _)| self.end_if_unused(watch));
        added.extend(self.polled.set(unwatched));
        added.sort_unstable();
        added
    }

    /// Whether the system reports each change of a file in a folder.
    pub fn is_reported(&self, folder: &Path) -> bool {
        self.folders.get(folder).is_some_and(|it| it.watch.is_some() && it.interest.is_of_content())
    }

    /// Takes the folders in which something changed since the last call.
    pub fn take_changed(&mut self) -> ChangedFolders {
        std::mem::take(&mut self.changed)
    }

    /// Number of folders that are polled because the system allows no more watches.
    pub fn polled(&self) -> usize {
        self.polled.len()
    }

    /// Waits until something changes that counts, `other` can be read, or `until` is reached.
    ///
    /// # Errors
    /// A system call fails.
    pub fn wait(&mut self, other: BorrowedFd<'_>, until: Option<Instant>) -> io::Result<Woken> {
        loop {
            let until = [until, self.polled.due()].into_iter().flatten().min();
            let timeout = until.map(|until| timespec(until.saturating_duration_since(Instant::now())));
            let mut events = vec![PollFd::from_borrowed_fd(other, PollFlags::IN)];
            events.extend(
                self.inotify.as_ref().map(|inotify| PollFd::from_borrowed_fd(inotify.as_fd(), PollFlags::IN)),
            );
            match poll(&mut events, timeout.as_ref()) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
            }
            let is_readable = !events[0].revents().is_empty();
            let seen = self.polled.poll(Instant::now());
            let is_changed = self.read_events()? | !seen.is_empty();
            seen.into_iter().for_each(|folder| self.changed.add(folder));
            let is_over = until.is_some_and(|until| Instant::now() >= until);
            if is_changed || is_readable || is_over {
                return Ok(Woken { is_changed, is_readable });
            }
            thread::sleep(PAUSE);
        }
    }

    /// Reads the events that fit into one buffer, because another process may write all the time.
    /// Returns whether one of them counts.
    fn read_events(&mut self) -> io::Result<bool> {
        let Some(inotify) = &self.inotify else { return Ok(false) };
        let mut buffer = [MaybeUninit::uninit(); EVENTS];
        let (mut is_changed, mut ended) = (false, Vec::new());
        let mut reader = Reader::new(inotify, &mut buffer);
        let mut is_first = true;
        while std::mem::take(&mut is_first) || !reader.is_buffer_empty() {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::WOULDBLOCK) => break,
                Err(Errno::INTR) => return Ok(is_changed),
                Err(errno) => return Err(errno.into()),
            };
            let (flags, watch) = (event.events(), event.wd());
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            if flags.intersects(ReadFlags::QUEUE_OVERFLOW) {
                self.changed.add_anywhere();
                is_changed = true;
            }
            for (_, folder) in paths_of(&self.paths, watch) {
                let Some(watched) = self.folders.get(folder) else { continue };
                match watched.interest.meaning(flags, name) {
                    Meaning::None => continue,
                    Meaning::Changed => self.changed.add(folder.clone()),
                    Meaning::Moved => self.changed.add_anywhere(),
                }
                is_changed = true;
            }
            // The watch would follow a moved folder.
            if flags.intersects(ReadFlags::IGNORED | ReadFlags::MOVE_SELF) {
                ended.push(watch);
            }
        }
        for watch in ended {
            for (_, folder) in self.paths.extract_if(.., |(it, _)| *it == watch) {
                if let Some(watched) = self.folders.get_mut(&folder) {
                    watched.watch = None;
                }
            }
            self.end_if_unused(watch);
        }
        Ok(is_changed)
    }

    /// Ends a watch if no path leads to its folder any more.
    fn end_if_unused(&self, watch: i32) {
        if paths_of(&self.paths, watch).is_empty() {
            // Fails if the folder is gone, because its watch is gone too.
            let _ = self.inotify.as_ref().map(|inotify| inotify::remove_watch(inotify, watch));
        }
    }
}

/// The paths of a watch. `paths` is ordered by watch.
fn paths_of(paths: &[(i32, Arc<Path>)], watch: i32) -> &[(i32, Arc<Path>)] {
    let start = paths.partition_point(|(it, _)| *it < watch);
    let len = paths[start..].partition_point(|(it, _)| *it == watch);
    &paths[start..start + len]
}

/// The events to request. Writes are requested only if they count, because they can be very frequent.
fn events(interest: &Interest) -> WatchFlags {
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
    if interest.is_of_content() { names | content } else { names }
}

/// Adds the components of each folder's path, because the folder may be moved, or may be made only later.
fn with_parents(wanted: Interests) -> Interests {
    let mut all = Interests::default();
    for folder in wanted.folders.keys() {
        let parent = folder.parent().and_then(|parent| Some((parent, wanted.folders.get(parent)?)));
        match (parent, folder.file_name()) {
            // The parent watches all names anyway, and the way to the parent is added for it.
            (Some((_, interest)), _) if interest.is_of_names() => {}
            (Some((parent, _)), Some(name)) => all.add_entry(parent, name),
            _ => all.add_way_to(folder),
        }
    }
    wanted.folders.into_iter().for_each(|(folder, interest)| all.merge(folder, interest));
    all
}

fn timespec(duration: Duration) -> Timespec {
    // Rounded up, because a wait that ends too early would be repeated at once.
    let duration = duration.saturating_add(Duration::from_millis(1));
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}
