//! Buffers that are reused while there is work, and returned to the system when there is none.
//!
//! A heap never returns the memory of its peak. A fresh map for each extent costs a page fault for each page:
//! 1.6 x the processor time of LZ4 textures. The buffer that was used last is reused first, because its bytes
//! are in the processor's cache, whichever thread used it.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use memmap2::MmapMut;

use super::memory_limit::{LARGE, Reservation};
use crate::content::error::Reason;
use crate::limits::FREE_BUFFERS_MAX;
use crate::system::memory;
use crate::system::sync::Mutex;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
