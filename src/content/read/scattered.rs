//! Reads archives ahead in the order of their data, for programs that read files in another order.
//!
//! Many archives have their data in the order of hashes. A program that walks such a tree needs a seek for
//! each file, however listings are sorted. On a hard disk, one seek takes as long as a read of 1 MiB.
//!
//! **The rule.** A read that waits for the disk is a seek, unless it follows the one before in its archive;
//! so is a request of bytes that threads which decode ahead will read. After [`SEEKS_MIN`] seeks on a disk,
//! the archive of the latest one is read ahead from its start on: 1 MiB for each seek, those before
//! included. So a walk over a whole archive takes little more than one pass. If the program stops, reading
//! ahead has taken about as long as its seeks. On a slow card without seeks, reads take long because of
//! their length; once that is known of the disk, they count no more. All archives of a disk share this
//! budget. An archive is left alone if it was read ahead as far as memory allows, or if programs use these
//! bytes much less than chance would. When no read seeks for a while, all of this is forgotten.
//!
//! One thread for each disk reads ahead, and waits for a step before it requests the next one. So a program
//! waits for one step at most. Disks that do not seek are never read ahead, nor are archives that do not stay
//! open. The state of a disk is [`DiskReaders`], which reads nothing itself.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::archive_file::ArchiveFile;
use crate::system::memory;
use crate::system::sync::{Condvar, Mutex};
use crate::system::whole_file;

/// A read that takes this long waited for a disk that seeks. SSDs and the page cache are faster.
const SEEK_TIME: Duration = Duration::from_millis(2);
/// Nanoseconds that a disk needs for a byte, if nothing is known of it: 100 MB/s.
const BYTE_TIME: u64 = 10;
/// Maximum time that reading ahead takes, for each second that reads waited for seeks.
const TIME_PER_WAIT: u32 = 4;
/// Number of seeks before anything is read ahead: a program may want only a few files.
const SEEKS_MIN: u64 = 32;
/// Number of bytes that are read ahead for each seek. A hard disk takes about as long for them.
const BYTES_PER_SEEK: u64 = 1 << 20;
/// Maximum number of bytes that are requested together, and for which a reader may have to wait.
const STEP_MAX: u64 = 4 << 20;
/// A read this near to the end of the one before is in the order of the data: threads that decode ahead, and
/// leave out small files, read twice what is requested together. In small archives, less is near.
const NEAR: u64 = 2 << 20;
const NEAR_PART: u64 = 16;
/// A request this long is of files side by side, so the archive has an order.
const LONG: u64 = 256 << 10;
/// The program has stopped if there was no seek for this long.
const PAUSE: Duration = Duration::from_secs(10);
/// An archive is judged when chance alone would have led this many reads to bytes that were read ahead.
const JUDGED: f64 = 16.0;

/// An archive that is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchedArchive<'a> {
    /// Unique among all archives of the mount.
    pub(super) number: u32,
    pub(super) file: &'a Arc<ArchiveFile>,
    /// The end of the last read.
    pub(super) position: &'a AtomicU64,
}

/// What is read ahead on all disks. Nothing is until [`Scattered::start`].
#[derive(Debug, Default)]
pub(crate) struct Scattered {
    is_on: AtomicBool,
    /// Whether a thread reads ahead on a disk.
    is_active: AtomicBool,
    /// By device number.
    disks: Mutex<HashMap<u64, DiskReaders>>,
    wake: Condvar,
}

impl Scattered {
    /// Reads ahead from now on.
    pub(crate) fn start(&self) {
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// Runs a read of a range of an archive, and records whether it waited for the disk.
    pub(super) fn watch<T>(
        self: &Arc<Self>,
        archive: WatchedArchive<'_>,
        range: Range<u64>,
        read: impl FnOnce() -> T,
    ) -> T {
        if !self.is_on.load(Ordering::Relaxed) {
            return read();
        }
        let begin = Instant::now();
        let before = archive.position.swap(range.end, Ordering::Relaxed);
        let result = read();
        let waited = begin.elapsed();
        if (waited >= SEEK_TIME || self.is_active.load(Ordering::Relaxed)) && archive.file.stays_open() {
            let device = archive.file.identity().device;
            let mut disks = self.disks.lock();
            let disk = disks.entry(device).or_insert_with(DiskReaders::new);
            disk.record_read((archive.number, archive.file), &range, before, waited);
            if disk.step().is_some() {
                self.serve(device, disk);
            }
        }
        result
    }

    /// Whether an archive is read ahead, so that a request of a range would only delay that. If other
    /// archives of its disk had many seeks and there is budget left, its turn has come.
    pub(super) fn replaces(self: &Arc<Self>, archive: WatchedArchive<'_>, range: &Range<u64>) -> bool {
        if !self.is_active.load(Ordering::Relaxed) || !archive.file.stays_open() {
            return false;
        }
        let device = archive.file.identity().device;
        let mut disks = self.disks.lock();
        let Some(disk) = disks.get_mut(&device) else { return false };
        if disk.is_under_way(archive.number) {
            return true;
        }
        if range.end.saturating_sub(range.start) >= LONG {
            return false;
        }
        let before = archive.position.swap(range.end, Ordering::Relaxed);
        let is_next = disk.turn_to((archive.number, archive.file));
        if is_next {
            self.serve(device, disk);
        } else {
            disk.record_request((archive.number, archive.file), range, before);
        }
        is_next
    }

    /// Has the thread of a disk read. Starts it if it does not run.
    fn serve(self: &Arc<Self>, device: u64, disk: &mut DiskReaders) {
        if disk.is_served {
            return self.wake.notify_all();
        }
        if memory::has_room(memory::THREAD) {
            let scattered = self.clone();
            let thread = thread::Builder::new().name("read-ahead".into());
            // Without a thread, nothing is read ahead.
            disk.is_served = thread.spawn(move || scattered.run(device)).is_ok();
            if disk.is_served {
                self.is_active.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Reads ahead on a disk until its readers pause.
    fn run(&self, device: u64) {
        let mut disks = self.disks.lock();
        loop {
            let step = disks.get_mut(&device).and_then(|disk| disk.step());
            let Some(Step { number, range }) = step else {
                if disks.get(&device).is_none_or(DiskReaders::is_paused) {
                    disks.remove(&device);
                    let is_active = disks.values().any(|disk| disk.is_served);
                    return self.is_active.store(is_active, Ordering::Relaxed);
                }
                disks = self.wake.wait_timeout(disks, PAUSE);
                continue;
            };
            let Some(disk) = disks.get_mut(&device) else { return };
            let file = disk.archives.get(&number).and_then(|it| it.file.upgrade());
            let left = available_memory().map(|bytes| bytes / 2).is_none_or(|most| disk.read < most);
            drop(disks);
            let begin = Instant::now();
            let is_read = left && file.is_some_and(|file| file.fetch(&range).is_ok());
            let took = begin.elapsed();
            disks = self.disks.lock();
            if let Some(disk) = disks.get_mut(&device) {
                disk.record_step(&Step { number, range }, is_read.then_some(took));
            }
        }
    }
}

/// Bytes of memory that are free, or that the page cache may reuse; `None` if the system does not say.
fn available_memory() -> Option<u64> {
    let (bytes, _) = whole_file::read_start(Path::new("/proc/meminfo"), 4 << 10).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// The readers of a disk, and what was read ahead for them.
#[derive(Debug)]
struct DiskReaders {
    seeks: u64,
    last_seek: Instant,
    /// How long reads with seeks took.
    waited: Duration,
    /// How long reading ahead took.
    spent: Duration,
    /// Bytes that were read ahead from the disk.
    read: u64,
    /// By number.
    archives: HashMap<u32, ScatteredArchive>,
    /// The archive of the last seek.
    wanted: u32,
    /// Whether a thread reads ahead.
    is_served: bool,
}

/// An archive with seeks.
#[derive(Debug)]
struct ScatteredArchive {
    file: Weak<ArchiveFile>,
    len: u64,
    /// The end of what was read ahead.
    ahead: u64,
    /// Number of reads that would have been of bytes that were read ahead by chance, and that were.
    expected: f64,
    hits: f64,
    is_useless: bool,
}

/// Bytes of an archive to read ahead.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    number: u32,
    range: Range<u64>,
}

/// Whether a read does not follow the one in the same archive that ended at `before`.
fn is_far(range: &Range<u64>, before: u64, file: &ArchiveFile) -> bool {
    range.start.abs_diff(before) > NEAR.min(file.len() / NEAR_PART)
}

impl DiskReaders {
    fn new() -> Self {
        let (archives, last_seek) = (HashMap::new(), Instant::now());
        let (waited, spent) = (Duration::ZERO, Duration::ZERO);
        Self { seeks: 0, last_seek, waited, spent, read: 0, archives, wanted: 0, is_served: false }
    }

    /// Whether the programs that read have stopped.
    fn is_paused(&self) -> bool {
        self.last_seek.elapsed() > PAUSE
    }

    /// Nanoseconds that the disk needs for a byte without a seek, as reading ahead has shown.
    fn byte_time(&self) -> u64 {
        let spent = u64::try_from(self.spent.as_nanos()).unwrap_or(u64::MAX);
        spent.checked_div(self.read).unwrap_or(0).max(BYTE_TIME)
    }

    /// Records a read of an archive. The one before ended at `before`.
    fn record_read(
        &mut self,
        (number, file): (u32, &Arc<ArchiveFile>),
        range: &Range<u64>,
        before: u64,
        waited: Duration,
    ) {
        if self.is_paused() {
            (self.seeks, self.read) = (0, 0);
            (self.waited, self.spent) = (Duration::ZERO, Duration::ZERO);
            self.archives.clear();
        }
        let len = range.end.saturating_sub(range.start);
        let has_waited = waited >= SEEK_TIME + Duration::from_nanos(len.saturating_mul(self.byte_time()));
        let archive = match self.archives.entry(number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(_) if !has_waited => return,
            Entry::Vacant(new) => new.insert(ScatteredArchive::new(file)),
        };
        archive.record_read(range, has_waited);
        if has_waited && is_far(range, before, file) {
            (self.seeks, self.last_seek, self.wanted) = (self.seeks + 1, Instant::now(), number);
            self.waited += waited;
        }
    }

    /// Records a request of bytes that a program needs soon. If they were not read ahead, the disk seeks for
    /// them, although nobody waits.
    fn record_request(&mut self, (number, file): (u32, &Arc<ArchiveFile>), range: &Range<u64>, before: u64) {
        let ahead = self.archives.get(&number).map_or(0, |it| it.ahead);
        self.seeks += u64::from(range.end > ahead && is_far(range, before, file));
    }

    /// Reads an archive ahead next if there is budget and nothing of it was. Returns whether it does.
    fn turn_to(&mut self, (number, file): (u32, &Arc<ArchiveFile>)) -> bool {
        if self.seeks < SEEKS_MIN || self.archives.get(&number).is_some_and(|it| it.ahead > 0) {
            return false;
        }
        self.archives.entry(number).or_insert_with(|| ScatteredArchive::new(file));
        let wanted = mem::replace(&mut self.wanted, number);
        let has_step = self.step().is_some();
        self.wanted = if has_step { number } else { wanted };
        has_step
    }

    /// What to read ahead next.
    fn step(&self) -> Option<Step> {
        if self.seeks < SEEKS_MIN
            || self.spent > self.waited * TIME_PER_WAIT
            || !self.is_unfinished(self.wanted)
        {
            return None;
        }
        let budget = (self.seeks * BYTES_PER_SEEK).checked_sub(self.read)?;
        let archive = self.archives.get(&self.wanted)?;
        let len = STEP_MAX.min(budget / BYTES_PER_SEEK * BYTES_PER_SEEK);
        let range = archive.ahead..archive.len.min(archive.ahead + len);
        (!range.is_empty()).then_some(Step { number: self.wanted, range })
    }

    /// Records that a step took some time, or `None` if it failed.
    fn record_step(&mut self, step: &Step, took: Option<Duration>) {
        let Some(archive) = self.archives.get_mut(&step.number) else { return };
        let len = step.range.end - step.range.start;
        archive.ahead = archive.ahead.max(step.range.end);
        archive.is_useless |= took.is_none();
        // What was in the page cache costs nothing.
        if let Some(took) = took.filter(|took| *took >= SEEK_TIME) {
            self.read += len;
            self.spent += took;
        }
    }

    /// Whether an archive is being read ahead.
    fn is_under_way(&self, archive: u32) -> bool {
        let has_begun = self.archives.get(&archive).is_some_and(|it| it.ahead > 0);
        has_begun && self.wanted == archive && self.step().is_some()
    }

    fn is_unfinished(&self, archive: u32) -> bool {
        self.archives.get(&archive).is_some_and(|it| !it.is_useless && it.ahead < it.len)
    }
}

impl ScatteredArchive {
    fn new(file: &Arc<ArchiveFile>) -> Self {
        Self {
            file: Arc::downgrade(file),
            len: file.len(),
            ahead: 0,
            expected: 0.0,
            hits: 0.0,
            is_useless: false,
        }
    }

    /// Records a read, and judges what was read ahead.
    fn record_read(&mut self, range: &Range<u64>, has_waited: bool) {
        if self.ahead > 0 && !self.is_useless {
            self.expected += self.ahead as f64 / self.len as f64;
            self.hits += f64::from(u8::from(!has_waited && range.end <= self.ahead));
            self.is_useless = self.expected >= JUDGED && self.hits < self.expected / 4.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use twox_hash::XxHash3_64;

    const MIB: u64 = 1 << 20;
    /// How long a read takes that waits for the disk, and one that does not.
    const SEEK: Duration = Duration::from_millis(7);
    const CACHED: Duration = Duration::ZERO;

    fn archive(len: u64) -> Arc<ArchiveFile> {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(len).unwrap();
        Arc::new(ArchiveFile::open(file.path()).unwrap())
    }

    /// A simulated disk.
    struct Simulated {
        disk: DiskReaders,
        archives: Vec<Arc<ArchiveFile>>,
        /// The files that are in the page cache, and the end of what was read ahead into it.
        cached: Vec<(HashSet<u64>, u64)>,
        waits: u64,
        /// How long it takes to read 1 MiB ahead.
        step_time: Duration,
        /// The end of the last read of each archive.
        positions: Vec<u64>,
    }

    impl Simulated {
        fn new(lens: &[u64]) -> Self {
            let archives: Vec<_> = lens.iter().map(|len| archive(*len)).collect();
            Self {
                disk: DiskReaders::new(),
                cached: vec![Default::default(); lens.len()],
                archives,
                waits: 0,
                step_time: SEEK,
                positions: vec![0; lens.len()],
            }
        }

        /// Reads a range, and what may be read ahead after that.
        fn read(&mut self, number: usize, range: Range<u64>) {
            let (files, ahead) = &mut self.cached[number];
            let waits = files.insert(range.start) && range.end > *ahead;
            self.waits += u64::from(waits);
            let waited = if waits { SEEK } else { CACHED };
            let before = mem::replace(&mut self.positions[number], range.end);
            self.disk.record_read((number as u32, &self.archives[number]), &range, before, waited);
            self.read_ahead();
        }

        fn read_ahead(&mut self) {
            while let Some(step) = self.disk.step() {
                let budget = self.disk.seeks * BYTES_PER_SEEK - self.disk.read;
                assert!(step.range.end - step.range.start <= budget.min(STEP_MAX), "{step:?}");
                let len = u32::try_from(step.range.end - step.range.start).unwrap();
                self.disk.record_step(&step, Some(self.step_time * len.div_ceil(1 << 20)));
                self.cached[step.number as usize].1 = step.range.end;
            }
        }
    }

    /// The numbers below `count`, in no order.
    fn shuffled(count: u64) -> impl Iterator<Item = u64> {
        let mut numbers: Vec<u64> = (0..count).collect();
        numbers.sort_by_key(|number| XxHash3_64::oneshot(&number.to_le_bytes()));
        numbers.into_iter()
    }

    #[test]
    fn a_walk_in_no_order_seeks_once_for_each_mebibyte_and_reads_the_archive_once() {
        let mut it = Simulated::new(&[200 * MIB]);
        for file in shuffled(7_000) {
            it.read(0, file * 29_000..file * 29_000 + 29_000);
        }
        assert!((SEEKS_MIN..=210).contains(&it.waits), "{} reads waited", it.waits);
        assert!((190 * MIB..=200 * MIB).contains(&it.disk.read), "{} bytes", it.disk.read);
    }

    #[test]
    fn reads_without_a_seek_are_recorded_only_while_a_thread_reads_ahead() {
        let scattered = Arc::new(Scattered::default());
        scattered.start();
        let (file, position) = (archive(8 * MIB), AtomicU64::new(0));
        let device = file.identity().device;
        let read = |at: u64| {
            let archive = WatchedArchive { number: 0, file: &file, position: &position };
            scattered.watch(archive, at..at + 9, || thread::sleep(SEEK_TIME));
            scattered.is_active.load(Ordering::Relaxed)
        };
        let spent =
            DiskReaders { seeks: SEEKS_MIN, read: 2 * SEEKS_MIN * BYTES_PER_SEEK, ..DiskReaders::new() };
        scattered.disks.lock().insert(device, spent);
        assert!(!read(4 * MIB), "no budget is left");
        scattered.disks.lock().get_mut(&device).unwrap().read = 0;
        assert!(read(2 * MIB));
    }

    #[test]
    fn for_a_few_files_nothing_is_read_ahead() {
        let mut it = Simulated::new(&[200 * MIB]);
        shuffled(200).take(SEEKS_MIN as usize - 1).for_each(|file| it.read(0, file * MIB..file * MIB + 9));
        assert_eq!(it.disk.read, 0);
        // Bytes that need no wait are not counted, however many there are.
        shuffled(200).take(20).for_each(|file| it.read(0, file * MIB..file * MIB + 9));
        assert_eq!(it.disk.read, 0);
        it.read(0, 199 * MIB + 10..199 * MIB + 20);
        assert_eq!(it.disk.seeks, SEEKS_MIN);
        assert!((1..=SEEKS_MIN * BYTES_PER_SEEK).contains(&it.disk.read), "{} bytes", it.disk.read);
    }

    #[test]
    fn on_a_card_without_seeks_little_is_read_ahead() {
        let mut it = Simulated::new(&[4_000 * MIB]);
        // It transfers 1 MiB in 50 ms, so 200 kB in 10 ms.
        it.step_time = Duration::from_millis(50);
        let file = it.archives[0].clone();
        let read = |it: &mut Simulated, file: &Arc<ArchiveFile>, at: u64| {
            it.disk.record_read((0, file), &(at..at + 200_000), 0, Duration::from_millis(10));
            it.read_ahead();
        };
        shuffled(200).for_each(|number| read(&mut it, &file, (number + 1) * 19 * MIB));
        assert!((SEEKS_MIN..SEEKS_MIN + 4).contains(&it.disk.seeks), "{:?}", it.disk);
        assert!(it.disk.spent <= it.disk.waited * TIME_PER_WAIT + it.step_time * 4, "{:?}", it.disk);
    }

    #[test]
    fn programs_that_read_in_the_order_of_the_data_do_not_seek() {
        let mut it = Simulated::new(&[200 * MIB]);
        // A thread decodes files ahead, and leaves out every fourth, which is small.
        let file = |number: u64| match (number / 20 * 20, number % 20) {
            (first, number @ ..15) => first + number * 4 / 3,
            (first, number) => first + (number - 15) * 4 + 3,
        };
        for file in (0..2_000).map(|number| file(number) * 100_000) {
            it.read(0, file..file + 100_000);
        }
        assert_eq!((it.waits, it.disk.seeks, it.disk.read), (2_000, 0, 0));
    }

    #[test]
    fn archives_of_one_disk_share_its_budget() {
        let mut it = Simulated::new(&[5 * MIB; 100]);
        // A walk over a merged tree reads from another archive each time.
        for place in shuffled(10_000) {
            let at = place / 100 * 50_000;
            it.read((place % 100) as usize, at..at + 50_000);
        }
        assert_eq!(it.disk.read, 500 * MIB, "{} waits", it.waits);
        assert!(it.waits < 700, "{} reads waited", it.waits);
    }

    #[test]
    fn another_archive_has_its_turn_once_its_disk_seeks_and_has_budget_left() {
        let mut it = Simulated::new(&[5 * MIB, 100 * MIB]);
        let second = it.archives[1].clone();
        (it.disk.seeks, it.disk.waited) = (SEEKS_MIN - 1, SEEK * 31);
        assert!(!it.disk.turn_to((1, &second)), "a few files");
        it.read(0, 4 * MIB..4 * MIB + 9);
        // The first archive took 5 MiB of the 32.
        assert!(it.disk.turn_to((1, &second)));
        while let Some(step) = it.disk.step() {
            it.disk.record_step(&step, Some(SEEK));
        }
        assert_eq!((it.disk.read, it.disk.archives[&1].ahead), (32 * MIB, 27 * MIB));
        let third = archive(5 * MIB);
        assert!(!it.disk.turn_to((2, &third)), "no budget is left");
        assert_eq!(it.disk.wanted, 1);
    }

    #[test]
    fn requests_for_which_nobody_waits_are_seeks_too_if_their_bytes_were_not_read_ahead() {
        let mut it = Simulated::new(&[5 * MIB, 100 * MIB]);
        let [first, second] = [it.archives[0].clone(), it.archives[1].clone()];
        (it.disk.seeks, it.disk.waited, it.disk.read) = (SEEKS_MIN, SEEK * 32, SEEKS_MIN * BYTES_PER_SEEK);
        assert!(!it.disk.turn_to((0, &first)), "no budget is left");
        it.disk.record_request((0, &first), &(2 * MIB..2 * MIB + 9), 2 * MIB - 9);
        assert!(!it.disk.turn_to((0, &first)), "it follows the one before");
        it.disk.record_request((0, &first), &(2 * MIB..2 * MIB + 9), 0);
        assert!(it.disk.turn_to((0, &first)));
        it.read_ahead();
        assert_eq!(it.disk.archives[&0].ahead, MIB);
        it.disk.record_request((0, &first), &(9..18), 4 * MIB);
        assert!(!it.disk.turn_to((1, &second)), "these bytes were read ahead");
        it.disk.record_request((0, &first), &(4 * MIB..4 * MIB + 9), 0);
        assert_eq!(it.disk.step().unwrap().range, MIB..2 * MIB);
    }

    #[test]
    fn a_request_is_left_out_only_while_its_archive_is_read_ahead() {
        let mut it = Simulated::new(&[100 * MIB, 100 * MIB]);
        (it.disk.seeks, it.disk.waited) = (SEEKS_MIN - 1, SEEK * 31);
        let file = it.archives[0].clone();
        it.disk.record_read((0, &file), &(90 * MIB..90 * MIB + 9), 0, SEEK);
        let step = it.disk.step().unwrap();
        it.disk.record_step(&step, Some(SEEK));
        assert!(it.disk.is_under_way(0));
        let other = it.archives[1].clone();
        it.disk.record_read((1, &other), &(90 * MIB..90 * MIB + 9), 0, SEEK);
        assert!(!it.disk.is_under_way(0), "another archive is read ahead");
        it.read_ahead();
        assert!(it.disk.archives[&1].ahead > 0 && !it.disk.is_under_way(1), "no budget is left");
    }

    #[test]
    fn an_archive_is_left_alone_if_others_than_the_bytes_that_were_read_ahead_are_used() {
        let mut it = Simulated::new(&[4_000 * MIB]);
        // The last eighth of the archive.
        for file in shuffled(2_000) {
            let at = 3_500 * MIB + file * 250_000;
            it.read(0, at..at + 30_000);
        }
        assert!(it.disk.archives[&0].is_useless);
        assert!(it.disk.read < 500 * MIB, "{} MiB", it.disk.read / MIB);
        // So is one whose pages the system drops again.
        let mut it = Simulated::new(&[100 * MIB]);
        for file in shuffled(1_000) {
            it.cached[0] = Default::default();
            it.read(0, file * 100_000..file * 100_000 + 30_000);
        }
        assert!(it.disk.archives[&0].is_useless && it.disk.read <= 100 * MIB);
    }

    #[test]
    fn what_is_in_the_page_cache_costs_nothing_and_what_fails_is_not_tried_again() {
        let mut it = Simulated::new(&[200 * MIB]);
        it.disk.seeks = SEEKS_MIN;
        let file = it.archives[0].clone();
        it.disk.record_read((0, &file), &(100 * MIB..100 * MIB + 9), 0, SEEK);
        let step = it.disk.step().unwrap();
        it.disk.record_step(&step, Some(CACHED));
        assert_eq!((it.disk.read, it.disk.step().unwrap().range.start), (0, step.range.end));
        it.disk.record_step(&step, None);
        assert_eq!(it.disk.step(), None);
    }
}
