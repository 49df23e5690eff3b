//! Has the next files decoded for a program that reads a tree in order, as `tar`, `cp -r` and `grep -r` do.
//!
//! **The rule.** If a program has read three files to their ends, one after the other as they are listed or
//! by name (as `rsync` and file managers do), then the next files are decoded into the cache. They are as
//! many as fit into half of it, and at most 1 MiB of packed bytes and one file, because the program may stop.
//! Each processor on which no thread decodes for a reader may decode them. If a file is begun out of order,
//! the rest is dropped. What decodes faster than a thread wakes is left to its reader.
//!
//! Before, their packed bytes are requested from the disk, those that lie side by side in one request.
//! Otherwise a disk that seeks would get one request for each file, in the order in which threads decode.
//!
//! A READ that is longer than a prefix, of a file of several extents as large textures are, has the file's
//! next extents decoded in the same way: a program that reads only the beginning of a file reads less.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, Weak};
use std::thread;

use crate::content::{PREFIX_LEN, REQUESTED_MAX, Store};
use crate::format::EntryId;
use crate::system::memory;
use crate::system::sync::{Condvar, Mutex};
use crate::tree::{Kind, NodeId};
use crate::vfs::Opened;

/// A program reads on after this many files in order.
const IN_ORDER: u32 = 3;
/// Maximum number of programs that are followed at a time.
const READERS_MAX: usize = 8;
/// Maximum number of extents that wait to be decoded.
const JOBS_MAX: usize = 256;
/// Maximum number of files that are decoded ahead for a program. If it reads slowly, more would be evicted
/// before it asks for them.
const FILES_MAX: usize = 64;

/// Packed bytes that lie no farther apart are requested together, with those between them.
const GAP_MAX: u64 = 4 << 10;

/// What is decoded ahead, and for whom.
#[derive(Debug)]
pub(crate) struct Prefetch {
    state: Mutex<PrefetchState>,
    has_jobs: Condvar,
    /// Number of threads that decode for readers.
    decoding: Arc<AtomicUsize>,
    /// Whether no thread will ever decode ahead.
    is_off: AtomicBool,
}

#[derive(Debug, Default)]
struct PrefetchState {
    /// In the order in which they will be read.
    jobs: VecDeque<Job>,
    /// The one that read last is the last.
    readers: Vec<OrderedReader>,
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
    pub(crate) opened: &'v Arc<Opened>,
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
struct OrderedReader {
    /// The order in which it reads a folder.
    order: ReadOrder,
    /// The file that it read last.
    before: Option<NodeId>,
    /// The file that it reads, or will read next if it goes on in order. `None` at the end of the tree, or of
    /// a folder that it reads by name.
    file: Option<NodeId>,
    /// Whether it has read the beginning of the file.
    has_begun: bool,
    /// Number of files that it read from the beginning to the end, in order.
    in_order: u32,
    /// Number of files from `file` on whose extents were already added.
    ahead: usize,
    /// The files from `file` on whose packed bytes were already requested, and how many of them each has.
    requested: VecDeque<u64>,
}

/// In which order a program reads the files of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadOrder {
    /// As they are listed. After its last file comes the first one of the next folder.
    Listed,
    /// By name, ignoring case. Which folder comes next is unknown.
    Named,
}

impl Prefetch {
    /// Decodes from a store, and from those that replace it.
    pub(crate) fn new(store: &Store) -> Arc<Self> {
        Arc::new(Self {
            state: Default::default(),
            has_jobs: Default::default(),
            decoding: store.decoding(),
            is_off: Default::default(),
        })
    }

    /// Decodes ahead from now on, in a number of threads, or in fewer if the system has no more. They start
    /// with the first job and run as long as the process.
    pub(crate) fn start(&self, threads: usize) {
        self.is_off.store(threads == 0, Ordering::Relaxed);
        self.state().to_start = threads;
    }

    /// Notes that a READ of `range` of a file begins.
    pub(crate) fn record_read(
        self: &Arc<Self>,
        view: &FollowedView<'_>,
        (node, entry): (NodeId, EntryId),
        range: &Range<u64>,
    ) {
        let (store, file) = (&view.opened.store, view.opened.store.file(entry));
        let is_last = file.size_if_known().is_some_and(|size| range.end >= size);
        let is_long = range.end - range.start > PREFIX_LEN && file.has_several_extents();
        if range.start > 0 && !is_long && !is_last {
            return;
        }
        let mut state = self.state();
        if range.start == 0 {
            state.begin_file(view, node, entry);
        }
        let decodes = !self.is_off.load(Ordering::Relaxed);
        if is_long && decodes {
            let mut room = state.room(view.opened);
            state.add_extents(view.opened, entry, range.end, &mut room);
        }
        if is_last && let Some((next, requests)) = state.end_file(view, (node, entry)) {
            // The disk may not answer.
            drop(state);
            for range in requests.iter() {
                store.request(entry.layer, range);
            }
            // What is decoded ahead comes later. Otherwise each thread would request its own extent.
            state = self.state();
            if decodes {
                state.decode_from(view, next);
            }
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

    fn start_threads(self: &Arc<Self>, state: &mut PrefetchState) {
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
                state = self.has_jobs.wait(state);
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
    fn wake(&self, state: &PrefetchState) {
        if self.can_start(state) {
            self.has_jobs.notify_one();
        }
    }

    /// Whether there is a job and a processor on which no thread decodes.
    fn can_start(&self, state: &PrefetchState) -> bool {
        !state.jobs.is_empty() && state.active + self.decoding.load(Ordering::Relaxed) < state.processors
    }

    fn state(&self) -> MutexGuard<'_, PrefetchState> {
        self.state.lock()
    }
}

impl Job {
    fn run(&self) {
        if let Some(opened) = self.opened.upgrade() {
            opened.store.file(self.entry).decode_ahead(self.extent);
        }
    }
}

impl OrderedReader {
    /// Whether the program goes on with another file than was expected, in another order or, if it reads by
    /// name, in another folder. Notes that.
    fn turns_to(&mut self, opened: &Arc<Opened>, file: NodeId) -> bool {
        let Some(before) = self.before.filter(|_| !self.has_begun) else { return false };
        let is_next = |order| next_file(opened, before, order) == Some(file);
        let is_file = |node: &NodeId| matches!(opened.tree.kind(*node), Kind::File(_));
        let is_first = || opened.tree.children(opened.tree.parent(file)).find(is_file) == Some(file);
        let is_new_folder = self.order == ReadOrder::Named && self.file.is_none() && is_first();
        if !is_new_folder {
            let Some(order) = [ReadOrder::Listed, ReadOrder::Named].into_iter().find(|order| is_next(*order))
            else {
                return false;
            };
            self.order = order;
            self.in_order = 1;
        }
        (self.file, self.has_begun) = (Some(file), true);
        self.requested.clear();
        true
    }
}

impl PrefetchState {
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
        if self.readers.iter_mut().rev().any(|reader| reader.turns_to(view.opened, node)) {
            return;
        }
        if self.readers.len() == READERS_MAX {
            self.readers.remove(0);
        }
        self.readers.push(OrderedReader {
            order: ReadOrder::Listed,
            before: None,
            file: Some(node),
            has_begun: true,
            in_order: Default::default(),
            ahead: Default::default(),
            requested: Default::default(),
        });
    }

    /// Notes that a program has read a file to its end. Once it reads in order, returns the file that it will
    /// read next, and the ranges of this file's archive to request.
    fn end_file(
        &mut self,
        view: &FollowedView<'_>,
        (node, entry): (NodeId, EntryId),
    ) -> Option<(NodeId, Vec<Range<u64>>)> {
        self.follow(view);
        let reads_it = |reader: &OrderedReader| reader.file == Some(node) && reader.has_begun;
        let mut reader = self.readers.remove(self.readers.iter().position(reads_it)?);
        reader.before = Some(node);
        reader.file = next_file(view.opened, node, reader.order);
        reader.has_begun = false;
        reader.in_order += 1;
        reader.ahead = reader.ahead.saturating_sub(1);
        reader.requested.pop_front();
        let next = reader.file.filter(|_| reader.in_order >= IN_ORDER);
        let requests = next.map(|next| {
            (next, request_from(view.opened, entry.layer, next, reader.order, &mut reader.requested))
        });
        self.readers.push(reader);
        requests
    }

    /// Adds a file that a program will read next, and those after it whose bytes were requested, as far as
    /// there is room. Adds none if less than half of the room is empty, so that threads decode several files
    /// each time they wake.
    fn decode_from(&mut self, view: &FollowedView<'_>, file: NodeId) {
        self.follow(view);
        let is_it = |reader: &OrderedReader| reader.file == Some(file) && !reader.has_begun;
        let Some(index) = self.readers.iter().position(is_it) else { return };
        let OrderedReader { ahead, requested, order, .. } = &self.readers[index];
        let (ahead, files, order) = (*ahead, requested.len(), *order);
        let mut room = self.room(view.opened);
        if ahead > files / 2 || room < view.opened.store.room_ahead_max() / 2 {
            return;
        }
        let files =
            std::iter::successors(Some(file), |file| next_file(view.opened, *file, order)).take(files);
        let added = files.take_while(|file| match view.opened.tree.kind(*file) {
            Kind::File(entry) => self.add_extents(view.opened, entry, 0, &mut room),
            Kind::Folder => false,
        });
        self.readers[index].ahead = added.count();
    }

    /// Adds the extents of a file that begin at or after `offset`, as far as there is room. Returns whether
    /// there was room for all.
    fn add_extents(&mut self, opened: &Arc<Opened>, entry: EntryId, offset: u64, room: &mut u64) -> bool {
        for (extent, size) in opened.store.file(entry).extents_ahead(offset) {
            let is_waiting = self.jobs.iter().any(|job| (job.entry, job.extent) == (entry, extent.index));
            if is_waiting || extent.is_cached() {
                continue;
            }
            let Some(left) = room.checked_sub(u64::from(size)).filter(|_| self.jobs.len() < JOBS_MAX) else {
                return false;
            };
            *room = left;
            self.jobs.push_back(Job { opened: Arc::downgrade(opened), entry, extent: extent.index, size });
        }
        true
    }

    /// How many more bytes may be decoded ahead.
    fn room(&self, opened: &Arc<Opened>) -> u64 {
        let waiting: u64 = self.jobs.iter().map(|job| u64::from(job.size)).sum();
        opened.store.room_ahead().saturating_sub(waiting)
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

/// The packed bytes to request of `file` and the files after it, as far as they are in one archive. Adds the
/// files to those that were `requested`. Returns nothing while more than half of the limits is in use, so
/// that requests are large.
fn request_from(
    opened: &Arc<Opened>,
    layer: u16,
    file: NodeId,
    order: ReadOrder,
    requested: &mut VecDeque<u64>,
) -> Vec<Range<u64>> {
    let mut left = REQUESTED_MAX.saturating_sub(requested.iter().sum());
    if requested.len() > FILES_MAX / 2 || left < REQUESTED_MAX / 2 {
        return Vec::new();
    }
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let files = std::iter::successors(Some(file), |file| next_file(opened, *file, order)).take(FILES_MAX);
    for file in files.skip(requested.len()) {
        let Kind::File(entry) = opened.tree.kind(file) else { break };
        let Some(range) = opened.store.file(entry).packed_range().filter(|_| entry.layer == layer) else {
            break;
        };
        if left == 0 {
            break;
        }
        // What is cut off is not requested later, so a file is cut only if it is longer than the limit.
        let len = (range.end - range.start).min(REQUESTED_MAX);
        left = left.saturating_sub(len);
        requested.push_back(len);
        ranges.push(range.start..range.start + len);
    }
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|range, before| {
        let is_near = range.start <= before.end + GAP_MAX;
        before.end = if is_near { before.end.max(range.end) } else { before.end };
        is_near
    });
    ranges
}

/// The file after this one, without empty files: they are never read.
fn next_file(opened: &Arc<Opened>, file: NodeId, order: ReadOrder) -> Option<NodeId> {
    const EMPTY_MAX: usize = 64;
    let next = |file: &NodeId| match order {
        ReadOrder::Listed => opened.tree.next_file(*file),
        ReadOrder::Named => opened.tree.next_named(*file),
    };
    let is_empty = |file| match opened.tree.kind(file) {
        Kind::File(entry) => opened.store.file(entry).size_if_known() == Some(0),
        Kind::Folder => true,
    };
    std::iter::successors(next(&file), next).take(EMPTY_MAX).find(|file| !is_empty(*file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfs::Vfs;

    /// A Morrowind archive of files of zeros with these lengths, whose data lies in the order of `stored`.
    fn archive(lens: &[u32], stored: &[usize]) -> Vec<u8> {
        let numbers = |numbers: &[u32]| numbers.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
        let count = u32::try_from(lens.len()).expect("too many files");
        let mut offsets = vec![0; lens.len()];
        let end = stored.iter().fold(0, |at, &file| {
            offsets[file] = at;
            at + lens[file]
        });
        let records: Vec<u32> = lens.iter().zip(&offsets).flat_map(|(len, at)| [*len, *at]).collect();
        let names: Vec<u8> = (0..lens.len()).flat_map(|file| format!("{file:03}\0").into_bytes()).collect();
        let at_names: Vec<u32> = (0..count).map(|file| 4 * file).collect();
        let header = numbers(&[0x100, 12 * count + 4 * count, count]);
        let tables = [header, numbers(&records), numbers(&at_names), names, vec![0; 8 * lens.len()]];
        [tables.concat(), vec![0; end as usize]].concat()
    }

    fn open(lens: &[u32], stored: &[usize]) -> (tempfile::TempDir, Arc<Opened>) {
        let folder = tempfile::TempDir::new().expect("cannot create the folder");
        let path = folder.path().join("a.bsa");
        std::fs::write(&path, archive(lens, stored)).expect("cannot write");
        let vfs = Vfs::open([&path]).expect("cannot open");
        (folder, vfs.opened().clone())
    }

    fn first(opened: &Opened) -> NodeId {
        opened.tree.listed_children(NodeId::ROOT).next().expect("it has files")
    }

    #[test]
    fn files_that_lie_side_by_side_are_requested_together_up_to_a_megabyte() {
        let lens = [64 << 10; 40];
        let stored: Vec<usize> = (0..40).map(|file| file * 7 % 40).collect();
        let (_folder, opened) = open(&lens, &stored);
        let mut requested = VecDeque::new();
        let ranges = request_from(&opened, 0, first(&opened), ReadOrder::Listed, &mut requested);
        let lengths: Vec<u64> = ranges.iter().map(|range| range.end - range.start).collect();
        assert_eq!((lengths, requested.len()), (vec![REQUESTED_MAX], 16));
        // More is requested when the program has read half of it, and then at once.
        let mut file = first(&opened);
        for read in 1..=16 {
            requested.pop_front();
            file = next_file(&opened, file, ReadOrder::Listed).expect("it has more files");
            let more = request_from(&opened, 0, file, ReadOrder::Listed, &mut requested);
            let expected = if read == 8 || read == 16 { vec![8 * (64 << 10)] } else { Vec::new() };
            assert_eq!(more.iter().map(|it| it.end - it.start).collect::<Vec<_>>(), expected, "{read}");
        }
    }

    #[test]
    fn no_file_is_cut_at_the_limit_because_its_rest_would_need_a_request_of_its_own() {
        let (_folder, opened) = open(&[300 << 10; 8], &[0, 1, 2, 3, 4, 5, 6, 7]);
        let mut requested = VecDeque::new();
        let ranges = request_from(&opened, 0, first(&opened), ReadOrder::Listed, &mut requested);
        assert_eq!(ranges.iter().map(|it| it.end - it.start).collect::<Vec<_>>(), [4 * (300 << 10)]);
    }

    #[test]
    fn what_is_read_by_name_is_requested_in_the_order_of_the_data() {
        let (_folder, opened) = open(&[10_000; 40], &std::array::from_fn::<_, 40, _>(|it| 39 - it));
        let named = opened.tree.children(NodeId::ROOT).next().expect("it has files");
        let ranges = request_from(&opened, 0, named, ReadOrder::Named, &mut VecDeque::new());
        assert_eq!(ranges.iter().map(|it| it.end - it.start).collect::<Vec<_>>(), [400_000]);
    }

    #[test]
    fn what_lies_between_the_files_of_a_folder_is_not_requested() {
        // File 1 is a folder's neighbour on the disk, but larger than all that is requested.
        let (_folder, opened) = open(&[1000, 4 << 20, 1000, 2000], &[0, 2, 3, 1]);
        let mut requested = VecDeque::new();
        let ranges = request_from(&opened, 0, first(&opened), ReadOrder::Listed, &mut requested);
        // Small files are requested whole, and of the large one as much as of all together.
        assert_eq!(ranges.iter().map(|it| it.end - it.start).sum::<u64>(), REQUESTED_MAX + 4000);
        assert_eq!((ranges.len(), requested.len()), (1, 4));
        assert_eq!(
            request_from(&opened, 7, first(&opened), ReadOrder::Listed, &mut VecDeque::new()),
            [],
            "another archive"
        );
    }
}
