//! What was decoded and may be asked for again: bounded by bytes, and decoded once however many ask.
//!
//! It only has to keep extents between the reads of one pass over a file; the kernel's page cache keeps the rest. That
//! is why a plain LRU under one mutex is enough: a lock costs 0.1 us, a request to the daemon 10.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use lru::LruCache;

/// Which extent: its archive's place in load order, and its offset there. Extents that share data share the slot. Files
/// whose texels were put into rows have keys of their own, see [`super::untiled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) layer: u16,
    pub(super) offset: u64,
    pub(super) size: u32,
}

/// A place for decoded bytes, which whoever comes first fills while the others wait.
pub(super) type Slot<E> = OnceLock<Result<Box<[u8]>, E>>;

/// Slots by extent, the least recently used of which goes first.
#[derive(Debug)]
pub(super) struct Cache<E> {
    budget: u64,
    held: Mutex<Held<E>>,
}

#[derive(Debug)]
struct Held<E> {
    slots: LruCache<Key, Arc<Slot<E>>>,
    bytes: u64,
}

impl<E> Cache<E> {
    /// A cache that holds `budget` bytes, or one extent where that is larger.
    pub(super) fn new(budget: u64) -> Self {
        Self { budget, held: Mutex::new(Held { slots: LruCache::unbounded(), bytes: 0 }) }
    }

    /// The slot of an extent, if it is held.
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Slot<E>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).slots.get(key).cloned()
    }

    /// The slot of an extent, empty if it was not held; others make room for it. Its bytes count from now on, before
    /// they exist, so that readers who decode at the same time keep the budget between them.
    pub(super) fn slot(&self, key: Key) -> Arc<Slot<E>> {
        let mut gone = Vec::new();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = held.slots.get(&key) {
            return slot.clone();
        }
        let size = u64::from(key.size);
        while held.bytes.saturating_add(size) > self.budget
            && let Some((key, slot)) = held.slots.pop_lru()
        {
            held.bytes -= u64::from(key.size);
            gone.push(slot);
        }
        held.bytes += size;
        let slot = Arc::new(OnceLock::new());
        held.slots.put(key, slot.clone());
        // What goes is freed when nobody waits for the lock.
        drop(held);
        drop(gone);
        slot
    }

    /// Takes an extent out.
    pub(super) fn remove(&self, key: &Key) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.slots.pop(key).is_some() {
            held.bytes -= u64::from(key.size);
        }
    }

    /// Bytes held, those about to be decoded included.
    pub(super) fn bytes(&self) -> u64 {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    /// Bytes that may be held.
    pub(super) fn budget(&self) -> u64 {
        self.budget
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(offset: u64, size: u32) -> Key {
        Key { layer: 0, offset, size }
    }

    #[test]
    fn the_budget_holds_and_the_oldest_goes_first() {
        let cache = Cache::<()>::new(100);
        for offset in 0..10 {
            cache.slot(key(offset, 30));
            assert!(cache.bytes() <= 100);
        }
        assert!(cache.get(&key(9, 30)).is_some() && cache.get(&key(7, 30)).is_some());
        assert!(cache.get(&key(6, 30)).is_none());
    }

    #[test]
    fn an_extent_larger_than_the_budget_is_held_alone() {
        let cache = Cache::<()>::new(100);
        cache.slot(key(1, 60));
        cache.slot(key(2, 1000));
        assert_eq!(cache.bytes(), 1000);
        assert!(cache.get(&key(1, 60)).is_none() && cache.get(&key(2, 1000)).is_some());
        cache.remove(&key(2, 1000));
        assert_eq!(cache.bytes(), 0);
    }
}
