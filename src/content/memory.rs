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
    state: Mutex<State>,
    given_back: Condvar,
}

#[derive(Debug, Default)]
struct State {
    taken: u64,
    /// Who waits is served in turn, so that many who want little do not keep out one who wants much: the numbers of the next
    /// to come and of the next to be served.
    next: u64,
    served: u64,
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
        Arc::new(Self { most, state: Mutex::default(), given_back: Condvar::new() })
    }

    /// Takes `len` bytes where they are free and nobody waits. More than there are in all may be taken alone.
    pub(super) fn try_take(self: &Arc<Self>, len: u64) -> Option<Share> {
        let mut state = self.state();
        let is_free = state.next == state.served && self.has_room(&state, len);
        is_free.then(|| self.give(&mut state, len))
    }

    /// Takes `len` bytes; waits for its turn and until they are free, which `make_room` may hasten: it reports whether it
    /// freed any.
    pub(super) fn take(self: &Arc<Self>, len: u64, mut make_room: impl FnMut() -> bool) -> Share {
        let mut state = self.state();
        let turn = state.next;
        state.next += 1;
        loop {
            let is_next = state.served == turn;
            if is_next && self.has_room(&state, len) {
                state.served += 1;
                let share = self.give(&mut state, len);
                drop(state);
                self.given_back.notify_all();
                return share;
            }
            drop(state);
            let has_made_room = is_next && make_room();
            state = self.state();
            // What was given back meanwhile is not waited for.
            if !(has_made_room || state.served == turn && self.has_room(&state, len)) {
                let waited = self.given_back.wait_timeout(state, RETRY);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    fn has_room(&self, state: &State, len: u64) -> bool {
        state.taken == 0 || state.taken.saturating_add(len) <= self.most
    }

    fn give(self: &Arc<Self>, state: &mut State, len: u64) -> Share {
        state.taken = state.taken.saturating_add(len);
        Share { of: self.clone(), len }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.of.state().taken -= self.len;
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

    #[test]
    fn many_who_want_little_do_not_keep_out_one_who_wants_much() {
        let memory = Memory::new(100);
        let taken = memory.try_take(60).expect("it is free");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| drop(memory.take(100, || false)));
            while memory.state().next == 0 {
                std::thread::yield_now();
            }
            assert!(memory.try_take(10).is_none(), "it passed the one who waits");
            let little = scope.spawn(|| drop(memory.take(10, || false)));
            drop(taken);
            waiting.join().expect("it ends");
            little.join().expect("it ends");
        });
    }
}
