//! What was decoded and may be asked for again: bounded by bytes, and decoded once however many ask.
//!
//! It only has to keep extents between the reads of one pass over a file; the kernel's page cache keeps the rest. That
//! is why a plain LRU under one mutex is enough: a lock costs 0.1 us, a request to the daemon 10. It is also why an
//! extent goes as soon as all of it was served and another comes: the next one is then decoded into memory that the
//! processor still has at hand, where a cache that is filled to its budget takes a fault for every page of it.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use lru::LruCache;

use super::PREFIX_LEN;

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

/// Who reads in sequence may be this many bytes ahead of what was served: the kernel asks for the next windows, of up to
/// 1 MiB, before the last one is answered, and the answers overtake each other.
const AHEAD: u64 = 2 << 20;
/// The same of requests for less than [`WINDOW`] bytes, which are no windows: they begin a pass, or look here and there.
const AHEAD_OF_FEW: u64 = 512 << 10;
const WINDOW: u64 = 64 << 10;
/// Extents that take up to one part in so many of the budget are left to their readers' requests.
const CALM_PART: u64 = 2;

/// Of so many of the oldest slots one goes that is not awaited; thousands are not looked through for one.
const LOOKED_AT: usize = 64;

/// Slots by extent, the least recently used of which goes first.
#[derive(Debug)]
pub(super) struct Cache<E> {
    budget: u64,
    held: Mutex<Held<E>>,
}

#[derive(Debug)]
struct Held<E> {
    slots: LruCache<Key, Place<E>>,
    bytes: u64,
    /// How many of them are in slots that readers will come back to.
    awaited: u64,
    /// The slot that was last made for a reader who is only expected.
    expected: Option<Key>,
    /// Slots that went while somebody still held them. Their bytes are in memory all the same, most of them on their
    /// way into the kernel's page cache, and whoever wants them meanwhile need not decode them again.
    fading: HashMap<Key, Weak<Slot<E>>>,
}

/// A slot, and how far its readers came. Counts are in bytes.
#[derive(Debug)]
struct Place<E> {
    slot: Arc<Slot<E>>,
    /// Its size less what was served of it. What is served twice counts twice, for the kernel seldom asks twice: where
    /// it does, the extent is decoded once more for each time that as many bytes as it has were served.
    left: u64,
    /// The end of what was served.
    reached: u64,
    is_awaited: bool,
}

impl<E> Cache<E> {
    /// A cache that holds `budget` bytes, or one extent where that is larger.
    pub(super) fn new(budget: u64) -> Self {
        Self { budget, held: Mutex::new(Held::new()) }
    }

    /// Whether an extent is held.
    pub(super) fn has(&self, key: &Key) -> bool {
        self.held().slots.contains(key)
    }

    /// The slot of an extent, empty if it was not held; others make room for it, those first that are not awaited. Its
    /// bytes count from now on, before they exist, so that readers who decode at the same time keep the budget between
    /// them.
    pub(super) fn slot(&self, key: Key) -> Arc<Slot<E>> {
        let mut gone = Vec::new();
        let mut held = self.held();
        if let Some(place) = held.slots.get(&key) {
            return place.slot.clone();
        }
        if let Some(slot) = held.fading.get(&key).and_then(Weak::upgrade) {
            return slot;
        }
        let size = u64::from(key.size);
        while let Some(next) = held.next_to_go(held.bytes.saturating_add(size) > self.budget) {
            gone.extend(held.let_go(&next));
        }
        let slot = Arc::new(OnceLock::new());
        held.bytes += size;
        held.awaited += size;
        held.slots.put(key, Place { slot: slot.clone(), left: size, reached: 0, is_awaited: true });
        // What goes is freed when nobody waits for the lock.
        drop(held);
        drop(gone);
        slot
    }

    /// Takes note that a reader is expected to ask for an extent; answers whether it should be decoded for him: it is not
    /// held yet, and there is room. The one that was expected before goes if nobody came.
    pub(super) fn expect(&self, key: &Key) -> bool {
        let mut held = self.held();
        if held.slots.contains(key) {
            return false;
        }
        if let Some(before) = held.expected.take()
            && held.slots.peek(&before).is_some_and(|place| place.left == u64::from(before.size))
        {
            held.let_go(&before);
        }
        let is_room = held.bytes.saturating_add(u64::from(key.size)) <= self.budget;
        held.expected = is_room.then_some(*key);
        is_room
    }

    /// Notes that a part of an extent was served. Answers whether the kernel had better be given all of the extent, so
    /// that nobody comes back for it: because it is read here and there, or because so many extents are being read
    /// that one may have to go before all of it was served. That is answered once.
    ///
    /// Otherwise its reader is as well off with his requests: bytes that are given unasked are copied once more, and
    /// those that were served already with them.
    pub(super) fn served(&self, key: &Key, within: &Range<u64>) -> bool {
        let mut held = self.held();
        let is_crowded = held.awaited > self.budget / CALM_PART;
        let Some(place) = held.slots.peek_mut(key) else { return false };
        let len = within.end - within.start;
        let ahead = if len < WINDOW { AHEAD_OF_FEW } else { AHEAD };
        let is_jump = within.start > place.reached.saturating_add(ahead);
        // A pass may have begun with first looks, which are answered without a slot.
        let looked = if place.reached == 0 && within.start <= PREFIX_LEN { within.start } else { 0 };
        place.left = place.left.saturating_sub(len.saturating_add(looked));
        place.reached = place.reached.max(within.end);
        let (is_done, was_awaited) = (place.left == 0, place.is_awaited);
        if is_done {
            held.slots.demote(key);
        }
        let is_given = !is_done && was_awaited && (is_jump || is_crowded);
        if is_done || is_given {
            held.await_no_more(key);
        }
        is_given
    }

    /// Takes an extent out.
    pub(super) fn remove(&self, key: &Key) {
        let mut held = self.held();
        held.let_go(key);
        held.fading.remove(key);
    }

    /// Bytes held, those about to be decoded included.
    pub(super) fn bytes(&self) -> u64 {
        self.held().bytes
    }

    /// Bytes that may be held.
    pub(super) fn budget(&self) -> u64 {
        self.budget
    }

    fn held(&self) -> MutexGuard<'_, Held<E>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E> Held<E> {
    fn new() -> Self {
        Self { slots: LruCache::unbounded(), bytes: 0, awaited: 0, expected: None, fading: HashMap::new() }
    }

    /// Which slot goes next: whatever was served to its last byte; where room is needed, the oldest of those that
    /// readers will not come back to, or else of all.
    fn next_to_go(&self, needs_room: bool) -> Option<Key> {
        let (oldest, place) = self.slots.peek_lru()?;
        if place.left == 0 {
            return Some(*oldest);
        }
        let unawaited = || self.slots.iter().rev().take(LOOKED_AT).find(|(_, place)| !place.is_awaited);
        needs_room.then(|| unawaited().map_or(*oldest, |(key, _)| *key))
    }

    /// Takes out a slot.
    fn let_go(&mut self, key: &Key) -> Option<Arc<Slot<E>>> {
        self.await_no_more(key);
        let slot = self.slots.pop(key)?.slot;
        self.bytes -= u64::from(key.size);
        if Arc::strong_count(&slot) > 1 {
            self.fading.retain(|_, slot| slot.strong_count() > 0);
            self.fading.insert(*key, Arc::downgrade(&slot));
        }
        Some(slot)
    }

    /// Notes that readers will not come back to an extent.
    fn await_no_more(&mut self, key: &Key) {
        if let Some(place) = self.slots.peek_mut(key)
            && place.is_awaited
        {
            place.is_awaited = false;
            self.awaited -= u64::from(key.size);
        }
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
        assert!(cache.has(&key(9, 30)) && cache.has(&key(7, 30)));
        assert!(!cache.has(&key(6, 30)));
    }

    #[test]
    fn of_what_readers_are_expected_to_ask_for_one_extent_is_held_and_none_goes_for_it() {
        let cache = Cache::<()>::new(100);
        cache.slot(key(1, 30));
        for offset in 2..10 {
            assert!(cache.expect(&key(offset, 60)), "{offset}");
            cache.slot(key(offset, 60));
            assert_eq!(cache.bytes(), 90, "{offset}");
        }
        assert!(!cache.expect(&key(9, 60)), "it is held already");
        cache.served(&key(9, 60), &(0..10));
        assert!(!cache.expect(&key(10, 60)), "its reader came, and will come back");
        assert!(cache.has(&key(9, 60)) && cache.has(&key(1, 30)));
        assert!(!Cache::<()>::new(0).expect(&key(1, 1)));
    }

    #[test]
    fn what_was_served_goes_when_another_comes() {
        let cache = Cache::<()>::new(1000);
        cache.slot(key(1, 30));
        cache.slot(key(2, 30));
        assert!(!cache.served(&key(2, 30), &(0..20)) && !cache.served(&key(2, 30), &(20..30)));
        assert!(cache.has(&key(2, 30)), "it went before another came");
        cache.slot(key(3, 30));
        assert!(!cache.has(&key(2, 30)) && cache.has(&key(1, 30)));
        assert_eq!(cache.bytes(), 60);
    }

    #[test]
    fn extents_are_given_away_once_where_their_readers_would_lose_them() {
        let cache = Cache::<()>::new(100);
        for offset in 0..4 {
            cache.slot(key(offset, 30));
            let is_given = cache.served(&key(offset, 30), &(0..10));
            assert_eq!(is_given, offset > 0, "{offset}");
        }
        assert!(!cache.served(&key(3, 30), &(10..20)), "given away twice");
        // The fourth did not fit; what was given away went for it.
        assert!(cache.has(&key(0, 30)) && !cache.has(&key(1, 30)));
    }

    #[test]
    fn an_extent_that_is_read_here_and_there_is_given_away() {
        let (cache, size) = (Cache::<()>::new(u64::MAX), 4 << 20);
        cache.slot(key(1, size));
        for at in [1, 0, 2, 4, 3] {
            assert!(
                !cache.served(&key(1, size), &(at << 17..(at + 1) << 17)),
                "{at}: the kernel reads ahead"
            );
        }
        assert!(cache.served(&key(1, size), &(2 << 20..(2 << 20) + 4096)));
    }

    #[test]
    fn what_went_is_found_as_long_as_somebody_holds_it() {
        let cache = Cache::<()>::new(100);
        let first = cache.slot(key(1, 60));
        cache.slot(key(2, 60));
        assert!(!cache.has(&key(1, 60)));
        assert!(Arc::ptr_eq(&first, &cache.slot(key(1, 60))), "it would be decoded twice");
        cache.remove(&key(1, 60));
        assert!(!Arc::ptr_eq(&first, &cache.slot(key(1, 60))), "a fault is kept");
    }

    #[test]
    fn an_extent_larger_than_the_budget_is_held_alone() {
        let cache = Cache::<()>::new(100);
        cache.slot(key(1, 60));
        cache.slot(key(2, 1000));
        assert_eq!(cache.bytes(), 1000);
        assert!(!cache.has(&key(1, 60)) && cache.has(&key(2, 1000)));
        cache.remove(&key(2, 1000));
        assert_eq!(cache.bytes(), 0);
    }

    #[test]
    fn windows_of_a_mebibyte_that_overtake_each_other_are_no_jumps() {
        const KIB: u64 = 1 << 10;
        let (cache, size) = (Cache::<()>::new(u64::MAX), 8 << 20);
        cache.slot(key(1, size));
        for (from, to) in [(0, 256), (256, 768), (1792, 2816), (768, 1792)] {
            assert!(!cache.served(&key(1, size), &(from * KIB..to * KIB)), "{from}: the kernel reads ahead");
        }
    }
}
