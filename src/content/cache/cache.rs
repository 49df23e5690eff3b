//! A cache of decoded extents that may be requested again. It is bounded by bytes, and decodes each
//! extent once, however many threads ask for it.
//!
//! The cache only has to keep an extent between the reads of one pass over a file; the kernel's page cache
//! keeps the rest. So a plain LRU under one mutex is enough: a lock costs 0.1 us, a request to the daemon 10.
//!
//! Extents that were served to their end are evicted first, even while there is room. The next
//! extent is then decoded into memory that is mapped already. A cache that filled its budget would
//! take a page fault for each page.
//!
//! Extents whose readers will come back may exceed the budget for a while. If they were evicted,
//! each remaining read would decode them again.

use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use lru::LruCache;

use super::buffer::Buffer;
use crate::limits::CACHE_BEYOND;
use crate::system::sync::Mutex;

/// Identifies decoded bytes. They have `size` bytes, and come from the archive with this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey {
    pub(crate) archive: u32,
    pub(crate) content: CachedContent,
    pub(crate) size: u32,
}

/// What decoded bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CachedContent {
    /// The extent at this offset in the archive, in bytes. Files that share an extent share the key.
    Extent(u64),
    /// All texels of an entry, put into rows. Entries that share extents do not share the key, because their
    /// textures may have other shapes.
    Rows { entry: u32 },
    /// A band of an entry's pixels, from this byte of the pixels on.
    Band { entry: u32, start: u64 },
}

/// Decoded bytes. The first thread that asks for them decodes them, and the others wait.
type DecodeCell<E> = OnceLock<Result<Buffer, E>>;

/// Decoded bytes, shared with the cache. They are freed when the last handle is dropped, even after eviction.
#[derive(Debug)]
pub(crate) struct Decoded<'c, E> {
    cache: &'c Cache<E>,
    cell: Arc<DecodeCell<E>>,
    key: CacheKey,
}

/// A range of decoded bytes. When this is dropped, the cache records that they were served.
#[derive(Debug)]
pub(crate) struct DecodedRange<'c, E> {
    decoded: Decoded<'c, E>,
    range: Range<usize>,
}

impl<'c, E> Decoded<'c, E> {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.cell.get().and_then(|result| result.as_deref().ok()).unwrap_or(&[])
    }

    /// A range of the bytes, to be served.
    pub(crate) fn range(self, range: Range<usize>) -> DecodedRange<'c, E> {
        DecodedRange { decoded: self, range }
    }
}

impl<E> Deref for DecodedRange<'_, E> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.decoded.bytes()[self.range.clone()]
    }
}

impl<E> Drop for DecodedRange<'_, E> {
    fn drop(&mut self) {
        let Decoded { cache, key, .. } = &self.decoded;
        cache.note_served(key, self.range.len() as u64);
    }
}

/// A reader of an extent is expected to come back within this time.
const RETURN: Duration = Duration::from_secs(1);
/// How long an extent beyond the budget stays after its last read, and one that was decoded ahead without a
/// read, if nothing else needs the room.
const IDLE: Duration = Duration::from_secs(5);

/// The budget is this many times as large as what may be decoded ahead.
const AHEAD_SHARE: u64 = 2;

/// Extents by key. The least recently used one is evicted first.
#[derive(Debug)]
pub(crate) struct Cache<E> {
    budget: u64,
    is_over: AtomicBool,
    hits: AtomicU64,
    state: Mutex<State<E>>,
}

#[derive(Debug)]
struct State<E> {
    entries: LruCache<CacheKey, CacheEntry<E>>,
    /// Total size of all entries, including those that are being decoded.
    bytes: u64,
    /// Total size of the entries that were decoded ahead and not requested since.
    ahead: u64,
    /// Extents whose packed bytes are being read to decode them ahead. There are few.
    coming: Vec<CacheKey>,
}

/// A decoded extent, and how much of it was served.
#[derive(Debug)]
struct CacheEntry<E> {
    cell: Arc<DecodeCell<E>>,
    /// Its size minus what was served, in bytes. Bytes that are served twice count twice; the
    /// kernel seldom asks twice.
    unserved: u64,
    /// When it was last requested.
    used: Instant,
    /// Whether it was decoded ahead, and not requested since.
    is_ahead: bool,
}

impl<E> Cache<E> {
    /// A cache of `budget` bytes.
    pub(crate) fn new(budget: u64) -> Self {
        let state = State { entries: LruCache::unbounded(), bytes: 0, ahead: 0, coming: Vec::new() };
        Self { budget, is_over: AtomicBool::new(false), hits: AtomicU64::new(0), state: Mutex::new(state) }
    }

    /// Whether an extent is cached or will soon be.
    pub(crate) fn contains(&self, key: &CacheKey) -> bool {
        self.state.lock().contains(key)
    }

    /// The bytes of an extent, if they are cached and decoded.
    pub(crate) fn get(&self, key: CacheKey) -> Option<Decoded<'_, E>> {
        let mut state = self.state.lock();
        let cell = state.request(&key, Instant::now()).filter(|cell| matches!(cell.get(), Some(Ok(_))))?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(Decoded { cache: self, cell, key })
    }

    /// The bytes of an extent, from the cache or decoded into it. If another thread decodes them, waits for
    /// it. So `decode` must not wait for a device: the caller reads the packed bytes first.
    pub(crate) fn decode_once(
        &self,
        key: CacheKey,
        decode: impl FnOnce() -> Result<Buffer, E>,
    ) -> Result<Decoded<'_, E>, E>
    where
        E: Clone,
    {
        let cell = self.cell(key, Instant::now());
        let mut is_hit = true;
        let result = cell.get_or_init(|| {
            is_hit = false;
            decode()
        });
        self.hits.fetch_add(u64::from(is_hit), Ordering::Relaxed);
        match result {
            Ok(_) => Ok(Decoded { cache: self, cell, key }),
            Err(error) => {
                // An error is not cached: the disk may have been away for a moment.
                self.state.lock().evict(&key);
                Err(error.clone())
            }
        }
    }

    /// Decodes an extent into the cache before a reader asks for it, unless it is cached or will soon be.
    /// `read` reads the packed bytes. A reader that asks meanwhile does not wait for it, but reads them too.
    pub(crate) fn decode_ahead<P>(
        &self,
        key: CacheKey,
        read: impl FnOnce() -> Result<P, E>,
        decode: impl FnOnce(P) -> Result<Buffer, E>,
    ) {
        let has_room = |state: &State<E>| u64::from(key.size) <= self.ahead_max().saturating_sub(state.ahead);
        let mut state = self.state.lock();
        if state.contains(&key) || !has_room(&state) {
            return;
        }
        state.coming.push(key);
        drop(state);
        let packed = read();
        let mut state = self.state.lock();
        state.coming.retain(|other| *other != key);
        let Ok(packed) = packed else { return };
        if state.entries.contains(&key) || !has_room(&state) {
            return;
        }
        let cell = self.new_cell(state, key, Instant::now(), true);
        if cell.get_or_init(|| decode(packed)).is_err() {
            self.state.lock().evict(&key);
        }
    }

    /// Maximum total size of the extents that are decoded ahead.
    pub(crate) fn ahead_max(&self) -> u64 {
        self.budget / AHEAD_SHARE
    }

    /// Total size of the extents that were decoded ahead and not requested since.
    pub(crate) fn ahead(&self) -> u64 {
        self.state.lock().ahead
    }

    /// The cell of an extent; a new, empty one if the extent was not cached. Evicts others to make
    /// room. The bytes count before they exist, so that threads that decode at the same time stay
    /// within the limits together.
    fn cell(&self, key: CacheKey, now: Instant) -> Arc<DecodeCell<E>> {
        let mut state = self.state.lock();
        match state.request(&key, now) {
            Some(cell) => cell,
            None => self.new_cell(state, key, now, false),
        }
    }

    fn new_cell(
        &self,
        mut state: MutexGuard<'_, State<E>>,
        key: CacheKey,
        now: Instant,
        is_ahead: bool,
    ) -> Arc<DecodeCell<E>> {
        let mut evicted = Vec::new();
        let size = u64::from(key.size);
        while let Some(next) = state.next_evicted(self.budget, size, now, RETURN) {
            evicted.extend(state.evict(&next));
        }
        let cell = Arc::new(OnceLock::new());
        state.bytes += size;
        state.ahead += if is_ahead { size } else { 0 };
        state.entries.put(key, CacheEntry { cell: cell.clone(), unserved: size, used: now, is_ahead });
        self.is_over.store(state.has_surplus(self.budget), Ordering::Relaxed);
        // The evicted memory is freed after the lock is released.
        drop(state);
        drop(evicted);
        cell
    }

    /// Records that `len` bytes of an extent were served.
    fn note_served(&self, key: &CacheKey, len: u64) {
        let mut state = self.state.lock();
        let Some(entry) = state.entries.peek_mut(key) else { return };
        entry.unserved = entry.unserved.saturating_sub(len);
        if entry.unserved == 0 {
            state.entries.demote(key);
        }
    }

    /// Evicts the least recently used extent that has a share of the limited memory, because
    /// another thread needs it. Returns whether there was one.
    pub(crate) fn evict_shared(&self) -> bool {
        let mut state = self.state.lock();
        let has_reservation =
            |entry: &CacheEntry<E>| matches!(entry.cell.get(), Some(Ok(buffer)) if buffer.has_reservation());
        let oldest = state.entries.iter().rev().find(|(_, entry)| has_reservation(entry));
        let oldest = oldest.map(|(key, _)| *key);
        let evicted = oldest.and_then(|key| state.evict(&key));
        drop(state);
        evicted.is_some()
    }

    /// Evicts extents beyond the budget whose readers did not come back, and those that were decoded ahead
    /// and not requested. Returns whether there will be nothing more to evict.
    pub(crate) fn trim(&self, now: Instant) -> bool {
        let mut evicted = Vec::new();
        let mut state = self.state.lock();
        for key in state.unrequested(now) {
            evicted.extend(state.evict(&key));
        }
        while state.bytes > self.budget
            && let Some(next) = state.next_evicted(self.budget, 0, now, IDLE)
        {
            evicted.extend(state.evict(&next));
        }
        let is_over = state.has_surplus(self.budget);
        self.is_over.store(is_over, Ordering::Relaxed);
        drop(state);
        !is_over
    }

    /// Whether [`Cache::trim`] has something to do.
    pub(crate) fn is_over_budget(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Number of requests whose bytes were in the cache.
    pub(crate) fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Total size of cached extents, including those that are being decoded.
    pub(crate) fn bytes(&self) -> u64 {
        self.state.lock().bytes
    }

    /// Maximum size of the cache in bytes, which it may exceed only for a moment.
    pub(crate) fn budget(&self) -> u64 {
        self.budget
    }
}

impl<E> State<E> {
    fn contains(&self, key: &CacheKey) -> bool {
        self.entries.contains(key) || self.coming.contains(key)
    }

    /// The cell of a cached extent, for a reader.
    fn request(&mut self, key: &CacheKey, now: Instant) -> Option<Arc<DecodeCell<E>>> {
        let entry = self.entries.get_mut(key)?;
        entry.used = now;
        if std::mem::take(&mut entry.is_ahead) {
            self.ahead -= u64::from(key.size);
        }
        Some(entry.cell.clone())
    }

    /// The next extent to evict before another `size` bytes are cached. An extent that was served
    /// to its end always goes. If the budget would be exceeded, the least recently used extent goes
    /// too. It stays if its reader is expected back and there is room beyond the budget.
    fn next_evicted(&self, budget: u64, size: u64, now: Instant, idle: Duration) -> Option<CacheKey> {
        let (oldest, entry) = self.entries.peek_lru()?;
        let wanted = self.bytes.saturating_add(size);
        let is_abandoned = now.saturating_duration_since(entry.used) >= idle;
        let is_beyond = size > 0 && wanted > budget.saturating_add(CACHE_BEYOND);
        let is_full = wanted > budget && (is_abandoned || is_beyond);
        (entry.unserved == 0 || is_full).then_some(*oldest)
    }

    /// Whether extents may have to be evicted although no other needs the room.
    fn has_surplus(&self, budget: u64) -> bool {
        self.bytes > budget || self.ahead > 0
    }

    /// The extents that were decoded ahead some time ago and not requested since: the program has stopped.
    fn unrequested(&self, now: Instant) -> Vec<CacheKey> {
        let is_old = |entry: &CacheEntry<E>| now.saturating_duration_since(entry.used) >= IDLE;
        let entries = self.entries.iter().filter(|(_, entry)| entry.is_ahead && is_old(entry));
        entries.map(|(key, _)| *key).collect()
    }

    /// Removes an entry. Readers that use its bytes keep them in memory until they are done.
    fn evict(&mut self, key: &CacheKey) -> Option<Arc<DecodeCell<E>>> {
        let entry = self.entries.pop(key)?;
        self.bytes -= u64::from(key.size);
        self.ahead -= if entry.is_ahead { u64::from(key.size) } else { 0 };
        Some(entry.cell)
    }
}

#[cfg(test)]
mod tests {
    use super::super::buffer::MemoryLimit;
    use super::*;

    const MIB: u32 = 1 << 20;

    fn key(offset: u64, size: u32) -> CacheKey {
        CacheKey { archive: 0, content: CachedContent::Extent(offset), size }
    }

    #[test]
    fn the_cache_keeps_its_budget_and_evicts_the_least_recently_used() {
        let (cache, start) = (Cache::<()>::new(100), Instant::now());
        for offset in 0..10 {
            cache.cell(key(offset, 30), start + RETURN * offset as u32);
            assert!(cache.bytes() <= 100 && !cache.is_over_budget());
        }
        assert!(cache.contains(&key(9, 30)) && cache.contains(&key(7, 30)));
        assert!(!cache.contains(&key(6, 30)));
    }

    #[test]
    fn a_fully_served_extent_is_evicted_first() {
        let (cache, now) = (Cache::<()>::new(1000), Instant::now());
        cache.cell(key(1, 30), now);
        let second = || Decoded { cache: &cache, cell: cache.cell(key(2, 30), now), key: key(2, 30) };
        second().range(0..20);
        second().range(20..30);
        assert!(cache.contains(&key(2, 30)), "the extent was evicted before another one was added");
        cache.cell(key(3, 30), now);
        assert!(!cache.contains(&key(2, 30)) && cache.contains(&key(1, 30)));
        assert_eq!(cache.bytes(), 60);
    }

    #[test]
    fn extents_in_use_exceed_the_budget_up_to_a_limit_until_they_are_idle() {
        let (cache, start) = (Cache::<()>::new(u64::from(64 * MIB)), Instant::now());
        for offset in 0..20 {
            cache.cell(key(offset, 20 * MIB), start);
            assert!(cache.bytes() <= u64::from(64 * MIB) + CACHE_BEYOND);
        }
        assert_eq!((cache.bytes(), cache.is_over_budget()), (u64::from(16 * 20 * MIB), true));
        // An extent that is used again stays longer than those before it.
        cache.cell(key(10, 20 * MIB), start + RETURN);
        assert!(!cache.trim(start + RETURN));
        assert!(cache.trim(start + IDLE));
        assert_eq!((cache.bytes(), cache.is_over_budget()), (u64::from(3 * 20 * MIB), false));
        assert!(cache.contains(&key(10, 20 * MIB)));
    }

    #[test]
    fn an_evicted_extent_stays_valid_for_its_current_users() {
        let (cache, start) = (Cache::<()>::new(100), Instant::now());
        let first = cache.cell(key(1, 60), start);
        first.get_or_init(|| {
            let mut buffer = Buffer::for_cache(60, None).unwrap();
            buffer.fill(7);
            Ok(buffer)
        });
        cache.cell(key(2, 60), start + RETURN);
        assert!(!cache.contains(&key(1, 60)));
        assert_eq!(first.get().and_then(|it| it.as_deref().ok()), Some(&[7; 60][..]));
    }

    #[test]
    fn what_was_decoded_ahead_counts_until_it_is_requested_or_evicted() {
        let (cache, now) = (Cache::<()>::new(160), Instant::now());
        let (read, decode) = (|| Ok(()), |()| Ok(Buffer::for_cache(40, None).unwrap()));
        cache.decode_ahead(key(1, 40), read, decode);
        cache.decode_ahead(key(2, 40), read, decode);
        cache.decode_ahead(key(1, 40), || panic!("a cached extent was read again"), decode);
        assert_eq!(cache.ahead(), 80);
        assert!(cache.get(key(1, 40)).is_some(), "it was not decoded ahead");
        assert_eq!(cache.ahead(), 40);
        cache.cell(key(3, 100), now + 2 * RETURN);
        assert_eq!((cache.contains(&key(2, 40)), cache.ahead()), (false, 0));
        cache.decode_ahead(key(5, 10), read, |()| Err(()));
        cache.decode_ahead(key(5, 10), || Err(()), decode);
        assert_eq!((cache.contains(&key(5, 10)), cache.ahead()), (false, 0));
    }

    #[test]
    fn what_nobody_requests_after_it_was_decoded_ahead_is_evicted() {
        let cache = Cache::<()>::new(100);
        let decode = |()| Ok(Buffer::for_cache(40, None).unwrap());
        cache.decode_ahead(key(1, 40), || Ok(()), decode);
        cache.decode_ahead(key(2, 40), || panic!("more than half of the budget is decoded ahead"), decode);
        assert!(cache.is_over_budget() && !cache.trim(Instant::now()));
        assert!(cache.trim(Instant::now() + IDLE) && cache.ahead() == 0 && !cache.contains(&key(1, 40)));
    }

    #[test]
    fn an_extent_that_a_reader_decodes_meanwhile_is_not_decoded_ahead() {
        let cache = Cache::<()>::new(100);
        let read = || {
            assert!(cache.contains(&key(1, 40)), "the reader would decode it outside the cache");
            cache.decode_once(key(1, 40), || Ok(Buffer::for_cache(40, None).unwrap())).map(drop)
        };
        cache.decode_ahead(key(1, 40), read, |()| panic!("it was decoded twice"));
        assert_eq!((cache.bytes(), cache.ahead()), (40, 0));
    }

    #[test]
    fn a_slow_read_does_not_make_an_extent_old() {
        let cache = Cache::<()>::new(100);
        let read_until = Instant::now();
        cache.decode_once(key(1, 40), || Ok(Buffer::for_cache(40, None).unwrap())).map(drop).unwrap();
        let state = cache.state.lock();
        assert!(state.entries.peek(&key(1, 40)).is_some_and(|entry| entry.used >= read_until));
    }

    #[test]
    fn extents_that_share_memory_are_evicted_when_memory_runs_out() {
        let (cache, memory, now) = (Cache::<()>::new(1000), MemoryLimit::new(100), Instant::now());
        cache.cell(key(1, 10), now).get_or_init(|| Ok(Buffer::for_cache(10, None).unwrap()));
        let reservation = memory.reserve(90, || false);
        cache.cell(key(2, 10), now).get_or_init(|| Ok(Buffer::for_cache(10, Some(reservation)).unwrap()));
        drop(memory.reserve(100, || cache.evict_shared()));
        assert!(cache.contains(&key(1, 10)) && !cache.contains(&key(2, 10)) && !cache.evict_shared());
    }

    #[test]
    fn an_extent_larger_than_all_limits_is_cached_alone_and_briefly() {
        let (cache, start) = (Cache::<()>::new(100), Instant::now());
        cache.cell(key(1, 60), start);
        cache.cell(key(2, 1 << 30), start);
        assert_eq!(cache.bytes(), 1 << 30);
        assert!(!cache.contains(&key(1, 60)) && cache.contains(&key(2, 1 << 30)));
        assert!(!cache.trim(start + RETURN) && cache.trim(start + IDLE));
        assert_eq!(cache.bytes(), 0);
        assert_eq!(cache.decode_once(key(3, 10), || Err(())).map(drop), Err(()));
        assert_eq!(cache.bytes(), 0, "an error was cached");
    }
}
