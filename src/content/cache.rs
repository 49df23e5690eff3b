//! Decoded extents that may be asked for again: bounded by bytes, and each decoded once however many ask.
//!
//! The cache only has to keep extents between the reads of one pass over a file; the kernel's page cache keeps the rest.
//! So a plain LRU under one mutex is enough: a lock costs 0.1 us, a request to the daemon 10. Extents that were served to
//! their ends are evicted first, even while there is room: the next extent is then decoded into memory that is mapped
//! already, where a cache that fills its budget takes a page fault for every page of it. Extents whose readers will come
//! back stay beyond the budget for a while: evicted, they would be decoded once for each of the remaining reads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;

use super::buffer::Buffer;
use crate::limits::CACHE_BEYOND;

/// Which extent: the number of its archive, its offset in the archive and its unpacked size, both in bytes. Extents that share data share
/// the key. Files whose texels were put into rows have keys of their own, see `linear.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CacheKey {
    pub(super) source: u32,
    pub(super) offset: u64,
    pub(super) size: u32,
}

/// Decoded bytes: the first thread that asks decodes them, the others wait.
type DecodeCell<E> = OnceLock<Result<Buffer, E>>;

/// Decoded bytes, shared with the cache. They stay in memory while this does, evicted or not.
#[derive(Debug)]
pub(super) struct Decoded<E> {
    cell: Arc<DecodeCell<E>>,
    key: CacheKey,
}

impl<E> Decoded<E> {
    /// The bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        self.cell.get().and_then(|result| result.as_deref().ok()).unwrap_or(&[])
    }
}

/// The reader of an extent is taken to come back within this time.
const RETURN: Duration = Duration::from_secs(1);
/// Where nothing else needs the room it stays for longer.
const IDLE: Duration = Duration::from_secs(5);

/// Extents by key, the least recently used of which is evicted first.
#[derive(Debug)]
pub(super) struct Cache<E> {
    budget: u64,
    is_over: AtomicBool,
    hits: AtomicU64,
    state: Mutex<State<E>>,
}

#[derive(Debug)]
struct State<E> {
    entries: LruCache<CacheKey, CacheEntry<E>>,
    /// Of all entries, those that are being decoded included.
    bytes: u64,
}

/// A decoded extent, and how much of it was served.
#[derive(Debug)]
struct CacheEntry<E> {
    cell: Arc<DecodeCell<E>>,
    /// Its size less what was served of it, in bytes. What is served twice counts twice: the kernel seldom asks twice.
    unserved: u64,
    /// When it was last asked for.
    used: Instant,
}

impl<E> Cache<E> {
    /// A cache of `budget` bytes.
    pub(super) fn new(budget: u64) -> Self {
        let state = State { entries: LruCache::unbounded(), bytes: 0 };
        Self { budget, is_over: AtomicBool::new(false), hits: AtomicU64::new(0), state: Mutex::new(state) }
    }

    /// Whether an extent is cached.
    pub(super) fn contains(&self, key: &CacheKey) -> bool {
        self.state().entries.contains(key)
    }

    /// The bytes of an extent, if they are cached and decoded.
    pub(super) fn get(&self, key: CacheKey, now: Instant) -> Option<Decoded<E>> {
        let mut state = self.state();
        let entry = state.entries.get_mut(&key).filter(|entry| matches!(entry.cell.get(), Some(Ok(_))))?;
        entry.used = now;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(Decoded { cell: entry.cell.clone(), key })
    }

    /// The bytes of an extent: from the cache, or decoded into it by `decode` while other threads that ask for them wait.
    pub(super) fn get_or_decode(
        &self,
        key: CacheKey,
        now: Instant,
        decode: impl FnOnce() -> Result<Buffer, E>,
    ) -> Result<Decoded<E>, E>
    where
        E: Clone,
    {
        let cell = self.cell(key, now);
        let mut is_hit = true;
        let result = cell.get_or_init(|| {
            is_hit = false;
            decode()
        });
        self.hits.fetch_add(u64::from(is_hit), Ordering::Relaxed);
        match result {
            Ok(_) => Ok(Decoded { cell, key }),
            Err(error) => {
                // An error is not kept: the disk may have been away for a moment.
                self.state().evict(&key);
                Err(error.clone())
            }
        }
    }

    /// The cell of an extent, empty if it was not cached; others are evicted for it. Its bytes count from now on, before
    /// they exist, so that readers who decode at the same time keep the bounds between them.
    fn cell(&self, key: CacheKey, now: Instant) -> Arc<DecodeCell<E>> {
        let mut evicted = Vec::new();
        let mut state = self.state();
        if let Some(entry) = state.entries.get_mut(&key) {
            entry.used = now;
            return entry.cell.clone();
        }
        let size = u64::from(key.size);
        while let Some(next) = state.next_evicted(self.budget, size, now, RETURN) {
            evicted.extend(state.evict(&next));
        }
        let cell = Arc::new(OnceLock::new());
        state.bytes += size;
        state.entries.put(key, CacheEntry { cell: cell.clone(), unserved: size, used: now });
        self.is_over.store(state.bytes > self.budget, Ordering::Relaxed);
        // MemoryLimit is freed after the lock is.
        drop(state);
        drop(evicted);
        cell
    }

    /// Records that `len` bytes of an extent were served.
    pub(super) fn note_served(&self, decoded: &Decoded<E>, len: u64) {
        let mut state = self.state();
        let Some(entry) = state.entries.peek_mut(&decoded.key) else { return };
        entry.unserved = entry.unserved.saturating_sub(len);
        if entry.unserved == 0 {
            state.entries.demote(&decoded.key);
        }
    }

    /// Evicts the least recently used of the extents that have a share of the memory, which is wanted; returns whether there
    /// was one.
    pub(super) fn evict_shared(&self) -> bool {
        let mut state = self.state();
        let has_reservation =
            |entry: &CacheEntry<E>| matches!(entry.cell.get(), Some(Ok(buffer)) if buffer.has_reservation());
        let oldest =
            state.entries.iter().rev().find(|(_, entry)| has_reservation(entry)).map(|(key, _)| *key);
        let evicted = oldest.and_then(|key| state.evict(&key));
        drop(state);
        evicted.is_some()
    }

    /// Evicts what is beyond the budget and whose readers did not come back; returns whether that was all of it.
    pub(super) fn trim(&self, now: Instant) -> bool {
        let mut evicted = Vec::new();
        let mut state = self.state();
        while state.bytes > self.budget
            && let Some(next) = state.next_evicted(self.budget, 0, now, IDLE)
        {
            evicted.extend(state.evict(&next));
        }
        let is_over = state.bytes > self.budget;
        self.is_over.store(is_over, Ordering::Relaxed);
        drop(state);
        !is_over
    }

    /// Whether there is something for [`Cache::trim`].
    pub(super) fn is_over_budget(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// How often bytes were in the cache.
    pub(super) fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Bytes cached, those that are being decoded included.
    pub(super) fn bytes(&self) -> u64 {
        self.state().bytes
    }

    /// The most bytes that are cached for longer than a moment.
    pub(super) fn budget(&self) -> u64 {
        self.budget
    }

    fn state(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E> State<E> {
    /// What is evicted before `size` bytes more are cached: whatever was served to its end; and the least recently used
    /// while the budget would be exceeded, unless its reader is to come back and there is room beyond the budget.
    fn next_evicted(&self, budget: u64, size: u64, now: Instant, idle: Duration) -> Option<CacheKey> {
        let (oldest, entry) = self.entries.peek_lru()?;
        let wanted = self.bytes.saturating_add(size);
        let is_abandoned = now.saturating_duration_since(entry.used) >= idle;
        let is_beyond = size > 0 && wanted > budget.saturating_add(CACHE_BEYOND);
        let is_full = wanted > budget && (is_abandoned || is_beyond);
        (entry.unserved == 0 || is_full).then_some(*oldest)
    }

    /// Takes out an entry. Readers that use its bytes keep them in memory until they are done.
    fn evict(&mut self, key: &CacheKey) -> Option<Arc<DecodeCell<E>>> {
        let entry = self.entries.pop(key)?;
        self.bytes -= u64::from(key.size);
        Some(entry.cell)
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::MemoryLimit;
    use super::*;

    const MIB: u32 = 1 << 20;

    fn key(offset: u64, size: u32) -> CacheKey {
        CacheKey { source: 0, offset, size }
    }

    #[test]
    fn the_budget_holds_and_the_least_recently_used_is_evicted() {
        let (cache, start) = (Cache::<()>::new(100), Instant::now());
        for offset in 0..10 {
            cache.cell(key(offset, 30), start + RETURN * offset as u32);
            assert!(cache.bytes() <= 100 && !cache.is_over_budget());
        }
        assert!(cache.contains(&key(9, 30)) && cache.contains(&key(7, 30)));
        assert!(!cache.contains(&key(6, 30)));
    }

    #[test]
    fn an_extent_served_to_its_end_is_evicted_for_the_next() {
        let (cache, now) = (Cache::<()>::new(1000), Instant::now());
        cache.cell(key(1, 30), now);
        let second = Decoded { cell: cache.cell(key(2, 30), now), key: key(2, 30) };
        cache.note_served(&second, 20);
        cache.note_served(&second, 10);
        assert!(cache.contains(&key(2, 30)), "it was evicted before another came");
        cache.cell(key(3, 30), now);
        assert!(!cache.contains(&key(2, 30)) && cache.contains(&key(1, 30)));
        assert_eq!(cache.bytes(), 60);
    }

    #[test]
    fn extents_whose_readers_come_back_stay_beyond_the_budget_up_to_a_bound_and_then_go() {
        let (cache, start) = (Cache::<()>::new(u64::from(64 * MIB)), Instant::now());
        for offset in 0..20 {
            cache.cell(key(offset, 20 * MIB), start);
            assert!(cache.bytes() <= u64::from(64 * MIB) + CACHE_BEYOND);
        }
        assert_eq!((cache.bytes(), cache.is_over_budget()), (u64::from(16 * 20 * MIB), true));
        // Used once more, an extent stays longer than those before it.
        cache.cell(key(10, 20 * MIB), start + RETURN);
        assert!(!cache.trim(start + RETURN));
        assert!(cache.trim(start + IDLE));
        assert_eq!((cache.bytes(), cache.is_over_budget()), (u64::from(3 * 20 * MIB), false));
        assert!(cache.contains(&key(10, 20 * MIB)));
    }

    #[test]
    fn an_extent_evicted_in_use_stays_in_memory_until_its_users_are_done() {
        let (cache, start) = (Cache::<()>::new(100), Instant::now());
        let first = cache.cell(key(1, 60), start);
        first.get_or_init(|| {
            let mut buffer = Buffer::for_cache(60, None);
            buffer.fill(7);
            Ok(buffer)
        });
        cache.cell(key(2, 60), start + RETURN);
        assert!(!cache.contains(&key(1, 60)));
        assert_eq!(first.get().and_then(|it| it.as_deref().ok()), Some(&[7; 60][..]));
    }

    #[test]
    fn whatever_has_a_share_of_the_memory_gives_way_however_small_it_is() {
        let (cache, memory, now) = (Cache::<()>::new(1000), MemoryLimit::new(100), Instant::now());
        cache.cell(key(1, 10), now).get_or_init(|| Ok(Buffer::for_cache(10, None)));
        let reservation = memory.reserve(90, || false);
        cache.cell(key(2, 10), now).get_or_init(|| Ok(Buffer::for_cache(10, Some(reservation))));
        drop(memory.reserve(100, || cache.evict_shared()));
        assert!(cache.contains(&key(1, 10)) && !cache.contains(&key(2, 10)) && !cache.evict_shared());
    }

    #[test]
    fn an_extent_larger_than_all_bounds_is_cached_alone_and_not_for_long() {
        let (cache, start) = (Cache::<()>::new(100), Instant::now());
        cache.cell(key(1, 60), start);
        cache.cell(key(2, 1 << 30), start);
        assert_eq!(cache.bytes(), 1 << 30);
        assert!(!cache.contains(&key(1, 60)) && cache.contains(&key(2, 1 << 30)));
        assert!(!cache.trim(start + RETURN) && cache.trim(start + IDLE));
        assert_eq!(cache.bytes(), 0);
        let decode = || Err(());
        assert_eq!(cache.get_or_decode(key(3, 10), start, decode).map(drop), Err(()));
        assert_eq!(cache.bytes(), 0, "an error is kept");
    }
}
