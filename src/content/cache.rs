//! Decoded extents that may be asked for again: bounded by bytes, and each decoded once however many ask.
//!
//! The cache only has to keep extents between the reads of one pass over a file; the kernel's page cache keeps the rest.
//! So a plain LRU under one mutex is enough: a lock costs 0.1 us, a request to the daemon 10. Finished extents are evicted
//! first, those that were pushed and those that were served to their ends. The latter go even while there is room: the
//! next extent is then decoded into memory that is mapped already, where a cache that fills its budget takes a page fault
//! for every page of it.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use lru::LruCache;

/// Which extent: its layer, its offset in the archive and its unpacked size, both in bytes. Extents that share data share
/// the key. Files whose texels were put into rows have keys of their own, see `linear.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CacheKey {
    pub(super) layer: u16,
    pub(super) offset: u64,
    pub(super) size: u32,
}

/// Decoded bytes: the first thread that asks decodes them, the others wait.
pub(super) type DecodeCell<E> = OnceLock<Result<Box<[u8]>, E>>;

/// A sequential reader may be this many bytes ahead of what was served: the kernel asks for the next read-ahead windows,
/// of up to 1 MiB, before the last one is answered, and the answers overtake each other.
const READ_AHEAD: u64 = 2 << 20;
/// Extents that are being read may take one part in so many of the budget before they are pushed.
const CROWDED_PART: u64 = 2;

/// Extents by key, the least recently used of which is evicted first.
#[derive(Debug)]
pub(super) struct Cache<E> {
    budget: u64,
    state: Mutex<State<E>>,
}

#[derive(Debug)]
struct State<E> {
    entries: LruCache<CacheKey, CacheEntry<E>>,
    /// Of all entries, those that are being decoded included.
    bytes: u64,
    /// Of the entries whose readers will come back for more.
    unfinished: u64,
}

/// A decoded extent, and how far it was served. Counts are in bytes.
#[derive(Debug)]
struct CacheEntry<E> {
    cell: Arc<DecodeCell<E>>,
    /// Its size less what was served of it. What is served twice counts twice: the kernel seldom asks twice.
    unserved: u64,
    /// The end of what was served.
    reached: u64,
    is_pushed: bool,
}

impl<E> CacheEntry<E> {
    fn is_unfinished(&self) -> bool {
        self.unserved > 0 && !self.is_pushed
    }
}

impl<E> Cache<E> {
    /// A cache of `budget` bytes, or of one extent where that is larger.
    pub(super) fn new(budget: u64) -> Self {
        Self { budget, state: Mutex::new(State { entries: LruCache::unbounded(), bytes: 0, unfinished: 0 }) }
    }

    /// Whether an extent is cached.
    pub(super) fn contains(&self, key: &CacheKey) -> bool {
        self.state().entries.contains(key)
    }

    /// The cell of an extent, empty if it was not cached; others are evicted for it. Its bytes count from now on, before
    /// they exist, so that readers who decode at the same time keep the budget between them.
    pub(super) fn cell(&self, key: CacheKey) -> Arc<DecodeCell<E>> {
        let mut evicted = Vec::new();
        let mut state = self.state();
        if let Some(entry) = state.entries.get(&key) {
            return entry.cell.clone();
        }
        let size = u64::from(key.size);
        while let Some(next) = state.next_evicted(self.budget, size) {
            evicted.extend(state.evict(&next));
        }
        let cell = Arc::new(OnceLock::new());
        state.bytes += size;
        state.unfinished += size;
        state
            .entries
            .put(key, CacheEntry { cell: cell.clone(), unserved: size, reached: 0, is_pushed: false });
        // Memory is freed after the lock is.
        drop(state);
        drop(evicted);
        cell
    }

    /// Records that a range of an extent was served. Returns whether the whole extent had better be pushed into the
    /// kernel's page cache, so that no request comes back for it: because it is read at random, or because so many
    /// extents are being read that some would be evicted before they are served to their ends. At most once an extent.
    ///
    /// Requests serve a sequential reader as well: a push copies the extent once more, served parts included.
    pub(super) fn note_served(&self, key: &CacheKey, within: &Range<u64>) -> bool {
        let mut state = self.state();
        let is_crowded = state.unfinished > self.budget / CROWDED_PART;
        let Some(entry) = state.entries.peek_mut(key) else { return false };
        let was_unfinished = entry.is_unfinished();
        let is_jump = within.start > entry.reached.saturating_add(READ_AHEAD);
        entry.unserved = entry.unserved.saturating_sub(within.end - within.start);
        entry.reached = entry.reached.max(within.end);
        let is_push = entry.is_unfinished() && (is_jump || is_crowded);
        entry.is_pushed |= is_push;
        let is_unfinished = entry.is_unfinished();
        if !is_unfinished {
            state.entries.demote(key);
        }
        if was_unfinished && !is_unfinished {
            state.unfinished -= u64::from(key.size);
        }
        is_push
    }

    /// Takes an extent out.
    pub(super) fn remove(&self, key: &CacheKey) {
        self.state().evict(key);
    }

    /// Bytes cached, those that are being decoded included.
    pub(super) fn bytes(&self) -> u64 {
        self.state().bytes
    }

    /// The most bytes that may be cached.
    pub(super) fn budget(&self) -> u64 {
        self.budget
    }

    fn state(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E> State<E> {
    /// What is evicted before `size` bytes more are cached: whatever was served to its end; and the least recently used
    /// while the budget would be exceeded.
    fn next_evicted(&self, budget: u64, size: u64) -> Option<CacheKey> {
        let (oldest, entry) = self.entries.peek_lru()?;
        let is_full = self.bytes.saturating_add(size) > budget;
        (entry.unserved == 0 || is_full).then_some(*oldest)
    }

    /// Takes out an entry. Readers and pushes that use its bytes keep them in memory until they are done.
    fn evict(&mut self, key: &CacheKey) -> Option<Arc<DecodeCell<E>>> {
        let entry = self.entries.pop(key)?;
        let size = u64::from(key.size);
        self.bytes -= size;
        if entry.is_unfinished() {
            self.unfinished -= size;
        }
        Some(entry.cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(offset: u64, size: u32) -> CacheKey {
        CacheKey { layer: 0, offset, size }
    }

    #[test]
    fn the_budget_holds_and_the_least_recently_used_is_evicted() {
        let cache = Cache::<()>::new(100);
        for offset in 0..10 {
            cache.cell(key(offset, 30));
            assert!(cache.bytes() <= 100);
        }
        assert!(cache.contains(&key(9, 30)) && cache.contains(&key(7, 30)));
        assert!(!cache.contains(&key(6, 30)));
    }

    #[test]
    fn an_extent_served_to_its_end_is_evicted_for_the_next() {
        let cache = Cache::<()>::new(1000);
        cache.cell(key(1, 30));
        cache.cell(key(2, 30));
        assert!(!cache.note_served(&key(2, 30), &(0..20)) && !cache.note_served(&key(2, 30), &(20..30)));
        assert!(cache.contains(&key(2, 30)), "it was evicted before another came");
        cache.cell(key(3, 30));
        assert!(!cache.contains(&key(2, 30)) && cache.contains(&key(1, 30)));
        assert_eq!(cache.bytes(), 60);
    }

    #[test]
    fn an_extent_is_pushed_once_when_unfinished_ones_take_half_the_budget() {
        let cache = Cache::<()>::new(100);
        for offset in 0..4 {
            cache.cell(key(offset, 30));
            let is_push = cache.note_served(&key(offset, 30), &(0..10));
            assert_eq!(is_push, offset > 0, "{offset}");
        }
        assert!(!cache.note_served(&key(3, 30), &(10..20)), "pushed twice");
        cache.note_served(&key(0, 30), &(10..30));
        assert_eq!(cache.state().unfinished, 0);
    }

    #[test]
    fn an_extent_read_at_random_is_pushed() {
        let (cache, size) = (Cache::<()>::new(u64::MAX), 8 << 20);
        cache.cell(key(1, size));
        for at in [1, 0, 2, 4, 3] {
            let within = at << 17..(at + 1) << 17;
            assert!(!cache.note_served(&key(1, size), &within), "{at}: the kernel's read-ahead");
        }
        assert!(cache.note_served(&key(1, size), &(4 << 20..(4 << 20) + 4096)));
    }

    #[test]
    fn read_ahead_windows_of_a_mebibyte_that_overtake_each_other_are_no_random_reads() {
        const KIB: u64 = 1 << 10;
        let (cache, size) = (Cache::<()>::new(u64::MAX), 8 << 20);
        cache.cell(key(1, size));
        for (from, to) in [(0, 256), (256, 768), (1792, 2816), (768, 1792)] {
            assert!(!cache.note_served(&key(1, size), &(from * KIB..to * KIB)), "{from}");
        }
    }

    #[test]
    fn an_extent_evicted_in_use_stays_in_memory_until_its_users_are_done() {
        let cache = Cache::<()>::new(100);
        let first = cache.cell(key(1, 60));
        first.get_or_init(|| Ok(Box::from([7; 60])));
        cache.cell(key(2, 60));
        assert!(!cache.contains(&key(1, 60)));
        assert_eq!(first.get().and_then(|it| it.as_deref().ok()), Some(&[7; 60][..]));
    }

    #[test]
    fn an_extent_larger_than_the_budget_is_cached_alone() {
        let cache = Cache::<()>::new(100);
        cache.cell(key(1, 60));
        cache.cell(key(2, 1000));
        assert_eq!(cache.bytes(), 1000);
        assert!(!cache.contains(&key(1, 60)) && cache.contains(&key(2, 1000)));
        cache.remove(&key(2, 1000));
        assert_eq!((cache.bytes(), cache.state().unfinished), (0, 0));
    }
}
