//! Bounds on what large buffers take at one time, of all threads together.
//!
//! Packed bytes and decoded ones have bounds of their own, and a thread takes of the first before it takes of the second.
//! Packed bytes are counted by the device that they come from: who waits for one waits with its other readers, and with
//! nobody else. Decoded bytes are taken once the packed ones are read, so that nobody waits for a device there.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Smaller buffers are not counted: each thread has two at most. In bytes.
pub(super) const LARGE: usize = 1 << 20;
/// Between attempts to make room, for what others have cached meanwhile. Whoever gives back wakes the waiting at once.
const RETRY: Duration = Duration::from_millis(10);

/// Bytes that may be taken at one time.
#[derive(Debug)]
pub(super) struct Memory {
    most: u64,
    taken: Mutex<u64>,
    given_back: Condvar,
}

/// Bytes that are taken until this is dropped.
#[derive(Debug)]
pub(super) struct Share {
    of: Arc<Memory>,
    len: u64,
}

impl Memory {
    /// A bound of `most` bytes.
    pub(super) fn new(most: u64) -> Arc<Self> {
        Arc::new(Self { most, taken: Mutex::new(0), given_back: Condvar::new() })
    }

    /// Takes `len` bytes where they are free. More than there are in all may be taken alone.
    pub(super) fn try_take(self: &Arc<Self>, len: u64) -> Option<Share> {
        let mut taken = self.taken();
        if *taken > 0 && taken.saturating_add(len) > self.most {
            return None;
        }
        *taken = taken.saturating_add(len);
        Some(Share { of: self.clone(), len })
    }

    /// Takes `len` bytes; waits until they are free, which `make_room` may hasten: it reports whether it freed any.
    pub(super) fn take(self: &Arc<Self>, len: u64, mut make_room: impl FnMut() -> bool) -> Share {
        loop {
            if let Some(share) = self.try_take(len) {
                return share;
            }
            if !make_room() {
                let taken = self.taken();
                // Given back since the attempt: not waited for.
                if *taken > 0 && taken.saturating_add(len) > self.most {
                    drop(self.given_back.wait_timeout(taken, RETRY));
                }
            }
        }
    }

    fn taken(&self) -> MutexGuard<'_, u64> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// Takes the first `len` bytes out of this.
    pub(super) fn split(&mut self, len: u64) -> Self {
        let len = len.min(self.len);
        self.len -= len;
        Self { of: self.of.clone(), len }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        *self.of.taken() -= self.len;
        self.of.given_back.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_than_there_is_but_by_one_alone() {
        let memory = Memory::new(100);
        let mut first = memory.try_take(60).expect("it is free");
        let second = memory.try_take(40).expect("it is free");
        assert!(memory.try_take(1).is_none());
        let half = first.split(30);
        drop(first);
        assert!(memory.try_take(31).is_none());
        drop(memory.try_take(30).expect("given back"));
        drop((second, half));
        let alone = memory.try_take(1000).expect("alone");
        assert!(memory.try_take(1).is_none());
        drop(alone);
    }

    #[test]
    fn who_waits_goes_on_when_room_is_made_or_given_back() {
        let memory = Memory::new(100);
        let mut cached = Some(memory.try_take(80).expect("it is free"));
        drop(memory.take(50, || cached.take().is_some()));
        let taken = memory.try_take(100).expect("it is free");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| drop(memory.take(100, || false)));
            drop(taken);
            waiting.join().expect("it ends");
        });
    }
}
