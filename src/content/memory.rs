//! Bounds on what large buffers take at one time, of all threads together.
//!
//! Packed bytes and decoded ones have bounds of their own, and a thread takes of the first before it takes of
//! the second. Packed bytes are counted by the device that they come from: a thread waits for the other
//! readers of its own device only. Decoded bytes are taken once the packed ones are read, so that no thread
//! that has some waits for a device.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::limits::UNCOUNTED_BUFFER_MAX;

/// Buffers of fewer bytes are not counted.
pub(super) const LARGE: usize = UNCOUNTED_BUFFER_MAX;
/// Between attempts to make room: what other threads cache meanwhile can be evicted, and wakes no thread.
const RETRY: Duration = Duration::from_millis(10);

/// Bytes that may be taken at one time.
#[derive(Debug)]
pub(super) struct MemoryLimit {
    most: u64,
    /// Held by the thread that waits for room. The others wait for their turn, so that many that want little
    /// do not keep out one that wants much.
    turn: Mutex<()>,
    taken: Mutex<u64>,
    given_back: Condvar,
}

/// Bytes that are taken until this is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    of: Arc<MemoryLimit>,
    len: u64,
}

impl MemoryLimit {
    /// A bound of `most` bytes.
    pub(super) fn new(most: u64) -> Arc<Self> {
        Arc::new(Self { most, turn: Mutex::default(), taken: Mutex::default(), given_back: Condvar::new() })
    }

    /// Takes `len` bytes; waits until they are free, which `make_room` may hasten: it returns whether it
    /// freed any. A thread that wants more than there are in all takes them alone.
    pub(super) fn reserve(self: &Arc<Self>, len: u64, make_room: impl Fn() -> bool) -> Reservation {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = self.taken();
        while !self.has_room(*taken, len) {
            drop(taken);
            let has_made_room = make_room();
            taken = self.taken();
            if !has_made_room && !self.has_room(*taken, len) {
                let waited = self.given_back.wait_timeout(taken, RETRY);
                taken = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        *taken = taken.saturating_add(len);
        Reservation { of: self.clone(), len }
    }

    fn has_room(&self, taken: u64, len: u64) -> bool {
        taken == 0 || taken.saturating_add(len) <= self.most
    }

    fn taken(&self) -> MutexGuard<'_, u64> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        *self.of.taken() -= self.len;
        self.of.given_back.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn taken(memory: &MemoryLimit) -> u64 {
        *memory.taken()
    }

    #[test]
    fn no_more_is_taken_than_there_is_but_by_one_alone() {
        let memory = MemoryLimit::new(100);
        let never = || panic!("there is room");
        let shares = [60, 40].map(|len| memory.reserve(len, never));
        thread::scope(|scope| {
            let alone = scope.spawn(|| memory.reserve(1000, || false));
            let next = scope.spawn(|| drop(memory.reserve(1, || false)));
            thread::sleep(RETRY * 3);
            assert!(taken(&memory) == 100 && !alone.is_finished() && !next.is_finished());
            let [first, second] = shares;
            drop(first);
            thread::sleep(RETRY * 3);
            assert!(!alone.is_finished(), "it was not alone");
            drop(second);
            drop(alone.join().expect("it ends"));
            next.join().expect("it ends");
        });
        assert_eq!(taken(&memory), 0);
    }

    #[test]
    fn a_thread_that_waits_goes_on_when_room_is_made_or_given_back() {
        let memory = MemoryLimit::new(100);
        let cached = Mutex::new(Some(memory.reserve(80, || false)));
        drop(memory.reserve(50, || cached.lock().expect("sound").take().is_some()));
        let reservation = memory.reserve(100, || false);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| drop(memory.reserve(100, || false)));
            drop(reservation);
            waiting.join().expect("it ends");
        });
    }

    #[test]
    fn many_that_want_little_do_not_keep_out_one_that_wants_much() {
        let memory = MemoryLimit::new(100);
        let reservation = memory.reserve(60, || false);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| memory.reserve(100, || false));
            while memory.turn.try_lock().is_ok() {
                thread::yield_now();
            }
            let little = scope.spawn(|| drop(memory.reserve(10, || false)));
            thread::sleep(RETRY * 3);
            assert!(!little.is_finished(), "it passed the one that waits");
            drop(reservation);
            drop(waiting.join().expect("it ends"));
            little.join().expect("it ends");
        });
    }
}
