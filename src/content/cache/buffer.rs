//! Buffers that are reused while there is work, and returned to the system when there is none.
//!
//! A heap never returns the memory of its peak. A fresh map for each extent costs a page fault for each page:
//! 1.6 x the processor time of LZ4 textures. The buffer that was used last is reused first, because its bytes
//! are in the processor's cache, whichever thread used it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use memmap2::MmapMut;

use crate::content::error::Reason;
use crate::limits::{FREE_BUFFERS_MAX, UNCOUNTED_BUFFER_MAX};
use crate::system::memory;
use crate::system::sync::{Condvar, Mutex};

/// Length of the shortest map, in bytes. Pages that are not touched take no memory.
const SHORTEST: usize = 128 << 10;

/// Length in bytes from which a buffer on the heap must leave memory for small allocations.
const CHECKED: usize = 64 << 10;

/// Free maps of the whole process. The one that was used last is at the end.
static FREE: Mutex<Vec<MmapMut>> = Mutex::new(Vec::new());
/// Whether a map was taken since the last [`release`].
static IS_USED: AtomicBool = AtomicBool::new(false);

/// A buffer of fixed length.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Bytes,
    len: usize,
    /// Released with the buffer.
    reservation: Option<Reservation>,
}

#[derive(Debug)]
enum Bytes {
    Heap(Box<[u8]>),
    /// At least as long as the buffer; taken out when the buffer is dropped.
    Map(Option<MmapMut>),
}

impl Buffer {
    /// A buffer of `len` bytes for one read. Its content is unspecified.
    pub(crate) fn new(len: usize, reservation: Option<Reservation>) -> Result<Self, Reason> {
        let bytes = match take(len) {
            Some(map) => Bytes::Map(Some(map)),
            // The system may have no more maps, but memory.
            None => Bytes::Heap(zeros(len)?),
        };
        Ok(Self { bytes, len, reservation })
    }

    /// A buffer for the cache, which may have many. Small ones are on the heap, because the number
    /// of maps of a process is limited.
    pub(crate) fn for_cache(len: usize, reservation: Option<Reservation>) -> Result<Self, Reason> {
        if len < LARGE {
            return Ok(Self { bytes: Bytes::Heap(zeros(len)?), len, reservation });
        }
        Self::new(len, reservation)
    }

    /// Whether the buffer counts against the limited memory, so that another thread may wait for it.
    pub(crate) fn has_reservation(&self) -> bool {
        self.reservation.is_some()
    }
}

/// Unmaps all free maps, unless one was taken since the last call. Returns whether none is left.
pub(crate) fn release() -> bool {
    if IS_USED.swap(false, Ordering::Relaxed) {
        return false;
    }
    let maps = std::mem::take(&mut *FREE.lock());
    drop(maps);
    true
}

/// Whether [`release`] may have something to do.
pub(crate) fn is_used() -> bool {
    IS_USED.load(Ordering::Relaxed)
}

/// `len` zeros on the heap.
pub(crate) fn zeros(len: usize) -> Result<Box<[u8]>, Reason> {
    if len >= CHECKED && !memory::has_room(len) {
        return Err(Reason::NoMemory(len as u64));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|_| Reason::NoMemory(len as u64))?;
    bytes.resize(len, 0);
    Ok(bytes.into_boxed_slice())
}

/// A map of at least `len` bytes: a free one, or else a new one. `None` if the system has no memory.
fn take(len: usize) -> Option<MmapMut> {
    IS_USED.store(true, Ordering::Relaxed);
    if len > FREE_BUFFERS_MAX {
        return map(len);
    }
    // Rounded up to one of few lengths, so that the map fits the next use.
    let len = len.next_power_of_two().max(SHORTEST);
    let mut free = FREE.lock();
    match free.iter().rposition(|map| map.len() == len) {
        Some(found) => Some(free.remove(found)),
        None => {
            drop(free);
            map(len)
        }
    }
}

/// A new map. `None` if the system has no memory, or if none would be left for small allocations.
fn map(len: usize) -> Option<MmapMut> {
    MmapMut::map_anon(len).ok().filter(|_| memory::has_room(0))
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Bytes::Map(map) = &mut self.bytes else { return };
        let Some(map) = map.take() else { return };
        let mut free = FREE.lock();
        let waiting: usize = free.iter().map(|map| map.len()).sum();
        if waiting.saturating_add(map.len()) <= FREE_BUFFERS_MAX {
            free.push(map);
        }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Heap(bytes) => bytes,
            Bytes::Map(map) => map.as_ref().and_then(|map| map.get(..self.len)).unwrap_or_default(),
        }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        let len = self.len;
        match &mut self.bytes {
            Bytes::Heap(bytes) => bytes,
            Bytes::Map(map) => map.as_mut().and_then(|map| map.get_mut(..len)).unwrap_or_default(),
        }
    }
}

// Limits on the memory of large buffers, for all threads together.
//
// Packed and decoded bytes have separate limits. A thread reserves packed bytes first, and decoded
// bytes once the packed ones are read. So no thread that holds decoded bytes waits for a device.
// Packed bytes are counted by device, so a thread waits only for other readers of its own device.

/// Smaller buffers are not counted.
pub(crate) const LARGE: usize = UNCOUNTED_BUFFER_MAX;
/// Interval between attempts to make room. Extents that other threads cache in the meantime can be
/// evicted, but wake no thread.
const RETRY: Duration = Duration::from_millis(10);

/// Memory of which only a limited number of bytes may be in use at a time.
#[derive(Debug)]
pub(crate) struct MemoryLimit {
    most: u64,
    /// Held by the thread that waits for room; others wait for their turn. Otherwise many small
    /// requests would keep a large one out.
    turn: Mutex<()>,
    taken: Mutex<u64>,
    given_back: Condvar,
}

/// Bytes in use until this is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    of: Arc<MemoryLimit>,
    len: u64,
}

impl MemoryLimit {
    /// A limit of `most` bytes.
    pub(crate) fn new(most: u64) -> Arc<Self> {
        Arc::new(Self { most, turn: Mutex::default(), taken: Mutex::default(), given_back: Condvar::new() })
    }

    /// Reserves `len` bytes, and waits until they are free. `make_room` may free some, and returns
    /// whether it did. A request above the limit waits until it is the only one.
    pub(crate) fn reserve(self: &Arc<Self>, len: u64, make_room: impl Fn() -> bool) -> Reservation {
        let _turn = self.turn.lock();
        let mut taken = self.taken.lock();
        while !self.has_room(*taken, len) {
            drop(taken);
            let has_made_room = make_room();
            taken = self.taken.lock();
            if !has_made_room && !self.has_room(*taken, len) {
                taken = self.given_back.wait_timeout(taken, RETRY);
            }
        }
        *taken = taken.saturating_add(len);
        Reservation { of: self.clone(), len }
    }

    fn has_room(&self, taken: u64, len: u64) -> bool {
        taken == 0 || taken.saturating_add(len) <= self.most
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        *self.of.taken.lock() -= self.len;
        self.of.given_back.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    #[test]
    fn a_buffer_without_memory_is_an_error() {
        // An address of 32 bits is too short for the shift.
        let len = 1_usize.checked_shl(60).unwrap_or(usize::MAX);
        for new in [Buffer::new, Buffer::for_cache] {
            assert_eq!(new(len, None).err(), Some(Reason::NoMemory(len as u64)));
        }
    }

    #[test]
    fn a_buffer_has_its_own_length_even_if_its_memory_is_reused() {
        for len in [0, 1, LARGE - 1, LARGE, 3 * LARGE, 2 * LARGE + 1, FREE_BUFFERS_MAX + 1, LARGE] {
            for new in [Buffer::new, Buffer::for_cache] {
                let mut buffer = new(len, None).unwrap();
                buffer.fill(7);
                assert!(buffer.len() == len && buffer.iter().all(|&byte| byte == 7), "{len}");
            }
        }
        // Tests on other threads take and free maps at the same time.
        let waiting: usize = FREE.lock().iter().map(|map| map.len()).sum();
        assert!(waiting <= FREE_BUFFERS_MAX, "{waiting} free bytes are kept");
    }

    fn taken(memory: &MemoryLimit) -> u64 {
        *memory.taken.lock()
    }

    /// The attempts of a thread to make room. None succeeds.
    #[derive(Default)]
    struct Attempts(AtomicUsize);

    impl Attempts {
        fn fail(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed);
            false
        }

        /// Waits until the thread was refused memory again.
        fn wait(&self) {
            let before = self.0.load(Ordering::Relaxed);
            // An attempt that has begun may still be the one before.
            while self.0.load(Ordering::Relaxed) < before + 2 {
                thread::yield_now();
            }
        }
    }

    #[test]
    fn only_a_thread_alone_may_exceed_the_limit() {
        let memory = MemoryLimit::new(100);
        let never = || panic!("memory was freed although enough was free");
        let shares = [60, 40].map(|len| memory.reserve(len, never));
        let attempts = Attempts::default();
        thread::scope(|scope| {
            let alone = scope.spawn(|| memory.reserve(1000, || attempts.fail()));
            attempts.wait();
            let next = scope.spawn(|| drop(memory.reserve(1, || false)));
            attempts.wait();
            assert!(taken(&memory) == 100 && !alone.is_finished() && !next.is_finished());
            let [first, second] = shares;
            drop(first);
            attempts.wait();
            assert!(!alone.is_finished(), "the request was granted while another share was taken");
            drop(second);
            drop(alone.join().expect("a thread panicked"));
            next.join().expect("a thread panicked");
        });
        assert_eq!(taken(&memory), 0);
    }

    #[test]
    fn a_waiting_thread_continues_when_memory_is_freed() {
        let memory = MemoryLimit::new(100);
        let cached = Mutex::new(Some(memory.reserve(80, || false)));
        drop(memory.reserve(50, || cached.lock().take().is_some()));
        let reservation = memory.reserve(100, || false);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| drop(memory.reserve(100, || false)));
            drop(reservation);
            waiting.join().expect("a thread panicked");
        });
    }

    #[test]
    fn small_requests_do_not_starve_a_large_one() {
        let memory = MemoryLimit::new(100);
        let reservation = memory.reserve(60, || false);
        let (attempts, began) = (Attempts::default(), Attempts::default());
        thread::scope(|scope| {
            let waiting = scope.spawn(|| drop(memory.reserve(100, || attempts.fail())));
            attempts.wait();
            let little = scope.spawn(|| {
                began.fail();
                drop(memory.reserve(10, || false));
            });
            while began.0.load(Ordering::Relaxed) == 0 {
                thread::yield_now();
            }
            attempts.wait();
            assert!(!little.is_finished(), "the small request overtook the waiting one");
            drop(reservation);
            waiting.join().expect("a thread panicked");
            little.join().expect("a thread panicked");
        });
    }
}
