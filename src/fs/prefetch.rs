//! Has the next files decoded for a program that reads a tree in order, as `tar`, `cp -r` and `grep -r` do.
//!
//! **The rule.** If a program has read three files to their ends, one after the other as they are listed,
//! then the next files are decoded into the cache, as many as fit into half of it. Each processor on which no
//! thread decodes for a reader may decode them. If a file is begun out of order, the rest is dropped. What
//! decodes faster than a thread wakes is left to its reader.
//!
//! A READ that is longer than a prefix, of a file of several extents as large textures are, has the file's
//! next extents decoded in the same way: a program that reads only the beginning of a file reads less.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use crate::content::{PREFIX_LEN, Store};
use crate::format::EntryId;
use crate::system::memory;
use crate::tree::{Kind, NodeId};
use crate::vfs::{Opened, Vfs};

/// A program reads on after this many files in order.
const IN_ORDER: u32 = 3;
/// Maximum number of programs that are followed at a time.
const READERS_MAX: usize = 8;
/// Maximum number of extents that wait to be decoded.
const JOBS_MAX: usize = 256;
/// Maximum number of files that are decoded ahead for a program. If it reads slowly, more would be evicted
/// before it asks for them.
const FILES_MAX: usize = 64;

/// What is decoded ahead, and for whom.
#[derive(Debug)]
pub(crate) struct Prefetch {
    state: Mutex<State>,
    has_jobs: Condvar,
    /// Number of threads that decode for readers.
    decoding: Arc<AtomicUsize>,
    /// Whether no thread will ever decode ahead, so that no READ need be noted.
    is_off: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// In the order in which they will be read.
    jobs: VecDeque<Job>,
    /// The one that read last is the last.
    readers: Vec<Reader>,
    /// Number of the view that `readers` read.
    view: u32,
    /// Number of threads that decode ahead at the moment.
    active: usize,
    /// Number of threads to start for the first job.
    to_start: usize,
    /// Maximum number of threads that decode, those that decode for readers included.
    processors: usize,
}

/// A view that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FollowedView<'v> {
    pub(crate) number: u32,
    pub(crate) vfs: &'v Vfs,
}

/// An extent to decode.
#[derive(Debug)]
struct Job {
    /// A job must not keep the archives of an old view open.
    opened: Weak<Opened>,
    entry: EntryId,
    extent: u32,
    /// Its size in bytes.
    size: u32,
}

/// A program that reads files in order, as far as READs show it.
#[derive(Debug)]
struct Reader {
    /// The file that it reads, or will read next if it goes on in order.
    file: Option<NodeId>,
    /// Whether it has read the beginning of the file.
    has_begun: bool,
    /// Number of files that it read from the beginning to the end, in order.
    in_order: u32,
    /// Number of files from `file` on whose extents were already added.
    ahead: usize,
}

impl Prefetch {
    /// Decodes from a store, and from those that replace it.
    pub(crate) fn new(store: &Store) -> Arc<Self> {
        let (state, has_jobs, is_off) = Default::default();
        Arc::new(Self { state, has_jobs, decoding: store.decoding(), is_off })
    }

    /// Decodes ahead from now on, in a number of threads, or in fewer if the system has no more. They start
    /// with the first job and run as long as the process. If the number is 0, no READ is noted from now on.
    pub(crate) fn start(&self, threads: usize) {
        self.is_off.store(threads == 0, Ordering::Relaxed);
        self.state().to_start = threads;
    }

    /// Notes that a READ of `range` of a file begins.
    pub(crate) fn note_read(
        self: &Arc<Self>,
        view: &FollowedView<'_>,
        (node, entry): (NodeId, EntryId),
        range: &Range<u64>,
    ) {
        if self.is_off.load(Ordering::Relaxed) {
            return;
        }
        let store = view.vfs.store();
        let is_last = store.known_size(entry).is_some_and(|size| range.end >= size);
        let is_long = range.end - range.start > PREFIX_LEN && store.has_several_extents(entry);
        if range.start > 0 && !is_long && !is_last {
            return;
        }
        let mut state = self.state();
        if range.start == 0 {
            state.begin_file(view, node, entry);
        }
        if is_long {
            let mut room = state.room(view.vfs);
            state.add_extents(view.vfs, entry, range.end, &mut room);
        }
        if is_last {
            state.end_file(view, node);
        }
        if !state.jobs.is_empty() {
            self.start_threads(&mut state);
        }
        self.wake(&state);
    }

    /// Decodes everything that waits, in this thread.
    pub(crate) fn run_once(&self) {
        while let Some(job) = { self.state().jobs.pop_front() } {
            job.run();
        }
    }

    fn start_threads(self: &Arc<Self>, state: &mut State) {
        let threads = mem::take(&mut state.to_start);
        for number in 0..threads {
            if let Err(error) = self.start_thread(number) {
                log::debug!("only {number} of {threads} threads decode ahead: {error}");
                break;
            }
            state.processors = number + 1;
        }
        if threads > 0 && state.processors == 0 {
            state.jobs.clear();
            self.is_off.store(true, Ordering::Relaxed);
        }
    }

    fn start_thread(self: &Arc<Self>, number: usize) -> io::Result<()> {
        if !memory::has_room(memory::THREAD) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let prefetch = self.clone();
        thread::Builder::new().name(format!("prefetch-{number}")).spawn(move || prefetch.run())?;
        Ok(())
    }

    fn run(&self) {
        let mut state = self.state();
        loop {
            // The job is taken only if a processor is idle.
            let job = if self.can_start(&state) { state.jobs.pop_front() } else { None };
            let Some(job) = job else {
                state = self.has_jobs.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.active += 1;
            self.wake(&state);
            drop(state);
            if catch_unwind(AssertUnwindSafe(|| job.run())).is_err() {
                log::error!(
                    "bug in bsafs: a thread that decodes ahead panicked; please report it with this log"
                );
            }
            state = self.state();
            state.active -= 1;
        }
    }

    /// Wakes a thread if there is a job for it.
    fn wake(&self, state: &State) {
        if self.can_start(state) {
            self.has_jobs.notify_one();
        }
    }

    /// Whether there is a job and a processor on which no thread decodes.
    fn can_start(&self, state: &State) -> bool {
        !state.jobs.is_empty() && state.active + self.decoding.load(Ordering::Relaxed) < state.processors
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    fn run(&self) {
        if let Some(opened) = self.opened.upgrade() {
            opened.store.decode_ahead(self.entry, self.extent);
        }
    }
}

impl State {
    fn begin_file(&mut self, view: &FollowedView<'_>, node: NodeId, entry: EntryId) {
        self.follow(view);
        // The reader decodes these extents itself.
        self.jobs.retain(|job| job.entry != entry);
        if let Some(reader) = self.readers.iter_mut().find(|reader| reader.file == Some(node)) {
            reader.has_begun = true;
            return;
        }
        self.jobs.clear();
        self.readers.iter_mut().for_each(|reader| reader.ahead = 0);
        if self.readers.len() == READERS_MAX {
            self.readers.remove(0);
        }
        self.readers.push(Reader { file: Some(node), has_begun: true, in_order: 0, ahead: 0 });
    }

    fn end_file(&mut self, view: &FollowedView<'_>, node: NodeId) {
        self.follow(view);
        let reads_it = |reader: &Reader| reader.file == Some(node) && reader.has_begun;
        let Some(index) = self.readers.iter().position(reads_it) else { return };
        let Reader { in_order, ahead, .. } = self.readers.remove(index);
        let (file, in_order) = (next_file(view.vfs, node), in_order + 1);
        let mut ahead = ahead.saturating_sub(1);
        if in_order >= IN_ORDER && ahead <= FILES_MAX / 2 {
            ahead = self.add_files(view.vfs, file).unwrap_or(ahead);
        }
        self.readers.push(Reader { file, has_begun: false, in_order, ahead });
    }

    /// Adds a file that will be read next, and those after it, as far as there is room. Returns the number of
    /// files. Adds none and returns `None` if less than half of the room is empty, so that threads decode
    /// several files each time they wake.
    fn add_files(&mut self, vfs: &Vfs, file: Option<NodeId>) -> Option<usize> {
        let mut room = self.room(vfs);
        if room < vfs.store().room_ahead_max() / 2 {
            return None;
        }
        let files = std::iter::successors(file, |file| next_file(vfs, *file)).take(FILES_MAX);
        let added = files.take_while(|file| match vfs.tree().kind(*file) {
            Kind::File(entry) => self.add_extents(vfs, entry, 0, &mut room),
            Kind::Folder => false,
        });
        Some(added.count())
    }

    /// Adds the extents of a file that begin at or after `offset`, as far as there is room. Returns whether
    /// there was room for all.
    fn add_extents(&mut self, vfs: &Vfs, entry: EntryId, offset: u64, room: &mut u64) -> bool {
        for (extent, size) in vfs.store().extents_ahead(entry, offset) {
            let is_waiting = self.jobs.iter().any(|job| (job.entry, job.extent) == (entry, extent));
            if is_waiting || vfs.store().is_cached(entry, extent) {
                continue;
            }
            let Some(left) = room.checked_sub(u64::from(size)).filter(|_| self.jobs.len() < JOBS_MAX) else {
                return false;
            };
            *room = left;
            self.jobs.push_back(Job { opened: vfs.downgrade(), entry, extent, size });
        }
        true
    }

    /// How many more bytes may be decoded ahead.
    fn room(&self, vfs: &Vfs) -> u64 {
        let waiting: u64 = self.jobs.iter().map(|job| u64::from(job.size)).sum();
        vfs.store().room_ahead().saturating_sub(waiting)
    }

    /// Forgets the nodes of an earlier view.
    fn follow(&mut self, view: &FollowedView<'_>) {
        if self.view != view.number {
            self.jobs.clear();
            self.readers.clear();
            self.view = view.number;
        }
    }
}

/// The file after this one, without empty files: they are never read.
fn next_file(vfs: &Vfs, file: NodeId) -> Option<NodeId> {
    const EMPTY_MAX: usize = 64;
    let files = std::iter::successors(vfs.tree().next_file(file), |file| vfs.tree().next_file(*file));
    let is_empty = |file| match vfs.tree().kind(file) {
        Kind::File(entry) => vfs.store().known_size(entry) == Some(0),
        Kind::Folder => true,
    };
    files.take(EMPTY_MAX).find(|file| !is_empty(*file))
}
