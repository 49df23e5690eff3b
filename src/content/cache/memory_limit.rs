//! Limits on the memory of large buffers, for all threads together.
//!
//! Packed and decoded bytes have separate limits. A thread reserves packed bytes first, and decoded
//! bytes once the packed ones are read. So no thread that holds decoded bytes waits for a device.
//! Packed bytes are counted by device, so a thread waits only for other readers of its own device.

use std::sync::Arc;
use std::time::Duration;

use crate::limits::UNCOUNTED_BUFFER_MAX;
use crate::system::sync::{Condvar, Mutex};

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
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

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
