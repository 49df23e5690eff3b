//! Waiting for a change, by inotify.

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

/// Bytes of events that are read at once.
const EVENTS: usize = 1 << 14;

/// After events that do not count: files beside those that do may be written to all the time.
const PAUSE: Duration = Duration::from_millis(20);

/// Watches folders.
#[derive(Debug)]
pub struct Watcher {
    /// None where the user has too many.
    inotify: Option<OwnedFd>,
    folders: BTreeMap<Arc<Path>, Watched>,
    /// The paths of each watch, in the order of their numbers: links give a folder several.
    paths: Vec<(i32, Arc<Path>)>,
    /// Folders that the system gives no watch for.
    polled: Polled,
    changed: ChangedFolders,
}

/// A folder that is watched, or would be if that were possible.
#[derive(Debug)]
struct Watched {
    interest: Interest,
    watch: Option<i32>,
}

/// What ended a wait.
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
    /// Watches nothing yet. Where the system allows no more watchers, folders are polled.
    pub fn new() -> Self {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        let (folders, paths, polled, changed) = Default::default();
        Self { inotify, folders, paths, polled, changed }
    }

    /// Watches nothing yet, and polls every folder.
    #[doc(hidden)]
    pub fn polling() -> Self {
        Self { inotify: None, ..Self::new() }
    }

    /// Watches these folders and no others from now on; returns those that it did not before, in their order. All on the way
    /// to a folder are watched, too.
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
                // Each is asked for anew: a link on the way may lead to another folder now.
                Some(Ok(watch)) => {
                    paths.push((watch, folder.clone()));
                    let is_known = before.get(&folder).is_some_and(|it| {
                        it.watch == Some(watch) && it.interest.is_of_content() == interest.is_of_content()
                    });
                    if !is_known {
                        added.push(folder.clone());
                    }
                }
                // max_user_watches; or only root may read it.
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

    /// Whether the system reports what happens in a folder: each change of a file in it.
    pub fn is_reported(&self, folder: &Path) -> bool {
        self.folders.get(folder).is_some_and(|it| it.watch.is_some() && it.interest.is_of_content())
    }

    /// Where something changed since the last call.
    pub fn take_changed(&mut self) -> ChangedFolders {
        std::mem::take(&mut self.changed)
    }

    /// How many folders are polled, because the system allows no more watches.
    pub fn polled(&self) -> usize {
        self.polled.len()
    }

    /// Waits until something changes that counts, or `other` can be read, or `until` comes.
    ///
    /// # Errors
    /// The system's.
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
            let seen = self.polled.look(Instant::now());
            let is_changed = self.read_events()? | !seen.is_empty();
            seen.into_iter().for_each(|folder| self.changed.add(folder));
            let is_over = until.is_some_and(|until| Instant::now() >= until);
            if is_changed || is_readable || is_over {
                return Ok(Woken { is_changed, is_readable });
            }
            thread::sleep(PAUSE);
        }
    }

    /// Reads events, as many as come at once: somebody may write all the time. Returns whether one counts.
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
            // A moved folder would be watched on elsewhere.
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

    /// Ends the watch of a folder where no path leads to it any more.
    fn end_if_unused(&self, watch: i32) {
        if paths_of(&self.paths, watch).is_empty() {
            // Fails where the folder is gone, and the watch with it.
            let _ = self.inotify.as_ref().map(|inotify| inotify::remove_watch(inotify, watch));
        }
    }
}

/// The paths of a watch among those of all, which are in its order.
fn paths_of(paths: &[(i32, Arc<Path>)], watch: i32) -> &[(i32, Arc<Path>)] {
    let start = paths.partition_point(|(it, _)| *it < watch);
    let len = paths[start..].partition_point(|(it, _)| *it == watch);
    &paths[start..start + len]
}

/// What the system is asked for. Others may write to files that do not count all the time.
fn events(interest: &Interest) -> WatchFlags {
    // Two paths may lead to one folder.
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

/// The same, and of the folders on the way to each those names that lead there: it may be moved, or be there only later.
fn with_parents(wanted: Interests) -> Interests {
    let mut all = Interests::default();
    for folder in wanted.folders.keys() {
        let parent = folder.parent().and_then(|parent| Some((parent, wanted.folders.get(parent)?)));
        match (parent, folder.file_name()) {
            // Of that one this counts in any case, and the way to it leads here.
            (Some((_, interest)), _) if interest.is_of_names() => {}
            (Some((parent, _)), Some(name)) => all.add_entry(parent, name),
            _ => all.add_way_to(folder),
        }
    }
    wanted.folders.into_iter().for_each(|(folder, interest)| all.merge(folder, interest));
    all
}

fn timespec(duration: Duration) -> Timespec {
    // Rounded up: a wait that ends too early would be repeated at once.
    let duration = duration.saturating_add(Duration::from_millis(1));
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}
