//! Decoded bytes in memory: what is cached, the buffers that have it, and the limits on both. This file knows
//! neither archives nor files: its callers say how bytes are read and decoded.
//!
//! A [`Cache`] has decoded extents that may be requested again. It is bounded by bytes, and decodes each
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

use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use lru::LruCache;
use memmap2::MmapMut;

use crate::content::error::Reason;
use crate::limits::{CACHE_BEYOND, FREE_BUFFERS_MAX, UNCOUNTED_BUFFER_MAX};
use crate::system::memory;
use crate::system::sync::{Condvar, Mutex};

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
        cache.record_served(key, self.range.len() as u64);
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
    state: Mutex<CacheState<E>>,
}

#[derive(Debug)]
struct CacheState<E> {
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
        let state = CacheState { entries: LruCache::unbounded(), bytes: 0, ahead: 0, coming: Vec::new() };
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
        let has_room =
            |state: &CacheState<E>| u64::from(key.size) <= self.ahead_max().saturating_sub(state.ahead);
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
        mut state: MutexGuard<'_, CacheState<E>>,
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
    fn record_served(&self, key: &CacheKey, len: u64) {
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

impl<E> CacheState<E> {
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

// Buffers that are reused while there is work, and returned to the system when there is none.
//
// A heap never returns the memory of its peak. A fresh map for each extent costs a page fault for each page:
// 1.6 x the processor time of LZ4 textures. The buffer that was used last is reused first, because its bytes
// are in the processor's cache, whichever thread used it.

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
    bytes: BufferBytes,
    len: usize,
    /// Released with the buffer.
    reservation: Option<Reservation>,
}

#[derive(Debug)]
enum BufferBytes {
    Heap(Box<[u8]>),
    /// At least as long as the buffer; taken out when the buffer is dropped.
    Map(Option<MmapMut>),
}

impl Buffer {
    /// A buffer of `len` bytes for one read. Its content is unspecified.
    pub(crate) fn new(len: usize, reservation: Option<Reservation>) -> Result<Self, Reason> {
        let bytes = match take(len) {
            Some(map) => BufferBytes::Map(Some(map)),
            // The system may have no more maps, but memory.
            None => BufferBytes::Heap(zeros(len)?),
        };
        Ok(Self { bytes, len, reservation })
    }

    /// A buffer for the cache, which may have many. Small ones are on the heap, because the number
    /// of maps of a process is limited.
    pub(crate) fn for_cache(len: usize, reservation: Option<Reservation>) -> Result<Self, Reason> {
        if len < LARGE {
            return Ok(Self { bytes: BufferBytes::Heap(zeros(len)?), len, reservation });
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
        let BufferBytes::Map(map) = &mut self.bytes else { return };
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
            BufferBytes::Heap(bytes) => bytes,
            BufferBytes::Map(map) => map.as_ref().and_then(|map| map.get(..self.len)).unwrap_or_default(),
        }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        let len = self.len;
        match &mut self.bytes {
            BufferBytes::Heap(bytes) => bytes,
            BufferBytes::Map(map) => map.as_mut().and_then(|map| map.get_mut(..len)).unwrap_or_default(),
        }
    }
}

// Limits on the memory of large buffers, for all threads together.
//
// Packed and decoded bytes have separate limits. A thread reserves packed bytes first, and decoded
// bytes once the packed ones are read. So no thread that holds decoded bytes waits for a device.
// Packed bytes are counted by device, so a thread waits only for other readers of its own device.

/// Smaller buffers are not counted.
pub(crate) const LARGE: usize = UNCOUNTED_BUFFER_MAX;
/// Interval between attempts to make room. Extents that other threads cache in the meantime can be
/// evicted, but wake no thread.
const RETRY: Duration = Duration::from_millis(10);

/// Memory with a limit on how many bytes are in use at a time.
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
    use super::MemoryLimit;
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

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
