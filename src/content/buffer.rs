//! Buffers of memory that are used again while there is work, and go back to the system when there is none.
//!
//! A heap keeps for good what it ever needed at once, and a fresh map for each extent costs a page fault for
//! each of its pages: 1.6 x the processor time of textures in LZ4. The buffer that was used last is used
//! first: its bytes are in the processor's cache, whichever thread used it.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use memmap2::MmapMut;

use super::memory::{LARGE, Reservation};
use crate::limits::FREE_BUFFERS_MAX;

/// The shortest map, in bytes. Pages that are not used take no memory.
const SHORTEST: usize = 128 << 10;

/// Maps that wait to be used again, of the whole process, last used last.
static FREE: Mutex<Vec<MmapMut>> = Mutex::new(Vec::new());
/// Whether a map was taken since the last [`release`].
static IS_USED: AtomicBool = AtomicBool::new(false);

/// Some bytes.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Bytes,
    len: usize,
    /// Given back when the buffer is.
    reservation: Option<Reservation>,
}

#[derive(Debug)]
enum Bytes {
    Heap(Box<[u8]>),
    /// As long as the buffer, or longer; taken out when the buffer is dropped.
    Map(Option<MmapMut>),
}

impl Buffer {
    /// `len` bytes of unspecified content for the time of a read.
    pub(super) fn new(len: usize, reservation: Option<Reservation>) -> Self {
        let bytes = match take(len) {
            Some(map) => Bytes::Map(Some(map)),
            None => Bytes::Heap(vec![0; len].into_boxed_slice()),
        };
        Self { bytes, len, reservation }
    }

    /// The same for the cache, which may hold many: small buffers are on the heap, because a process cannot
    /// have a map for each of them.
    pub(super) fn for_cache(len: usize, reservation: Option<Reservation>) -> Self {
        if len < LARGE {
            return Self { bytes: Bytes::Heap(vec![0; len].into_boxed_slice()), len, reservation };
        }
        Self::new(len, reservation)
    }

    /// Whether its memory counts, so that others may wait for it.
    pub(super) fn has_reservation(&self) -> bool {
        self.reservation.is_some()
    }
}

/// Gives the maps that wait back to the system, unless one was taken since the last call; returns whether
/// none is left.
pub(super) fn release() -> bool {
    if IS_USED.swap(false, Ordering::Relaxed) {
        return false;
    }
    let maps = std::mem::take(&mut *lock_free_list());
    drop(maps);
    true
}

/// Whether there may be something for [`release`].
pub(super) fn is_used() -> bool {
    IS_USED.load(Ordering::Relaxed)
}

/// A map of `len` bytes or more: one that waits, or a new one. `None` without memory.
fn take(len: usize) -> Option<MmapMut> {
    IS_USED.store(true, Ordering::Relaxed);
    if len > FREE_BUFFERS_MAX {
        return MmapMut::map_anon(len).ok();
    }
    // One of few lengths, so that it fits the next use.
    let len = len.next_power_of_two().max(SHORTEST);
    let mut free = lock_free_list();
    match free.iter().rposition(|map| map.len() == len) {
        Some(found) => Some(free.remove(found)),
        None => {
            drop(free);
            MmapMut::map_anon(len).ok()
        }
    }
}

fn lock_free_list() -> MutexGuard<'static, Vec<MmapMut>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Bytes::Map(map) = &mut self.bytes else { return };
        let Some(map) = map.take() else { return };
        let mut free = lock_free_list();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_have_their_lengths_whatever_was_used_before() {
        for len in [0, 1, LARGE - 1, LARGE, 3 * LARGE, 2 * LARGE + 1, FREE_BUFFERS_MAX + 1, LARGE] {
            for new in [Buffer::new, Buffer::for_cache] {
                let mut buffer = new(len, None);
                buffer.fill(7);
                assert!(buffer.len() == len && buffer.iter().all(|&byte| byte == 7), "{len}");
            }
        }
        // Tests on other threads take and free maps meanwhile.
        let waiting: usize = lock_free_list().iter().map(|map| map.len()).sum();
        assert!(waiting <= FREE_BUFFERS_MAX, "{waiting} bytes wait");
    }
}
