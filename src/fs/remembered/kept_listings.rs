//! Names of changed folders as they were listed before, for listings that began then.
//!
//! A listing must show each name once that the folder has all the time. So it continues with the names that
//! the folder had when it began, without those that are gone meanwhile.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use crate::limits::KEPT_LISTINGS_MAX;
use crate::system::sync::Mutex;
use crate::tree::Ino;

/// How long names are kept. A program that pauses longer in the middle of a listing gets ESTALE.
const KEPT: Duration = Duration::from_secs(30);

/// Numbers of listings. After this many changes of a folder, its next listing gets a number again. They take
/// the upper bits of cookies.
pub(crate) const LISTINGS: u8 = 1 << 7;

/// The names of changed folders, oldest first.
#[derive(Debug, Default)]
pub(crate) struct KeptListings(Mutex<Listings>);

#[derive(Debug, Default)]
struct Listings {
    all: VecDeque<KeptListing>,
    /// How many of them each folder has.
    counts: HashMap<Ino, usize>,
    /// Total length of all names, in bytes.
    bytes: usize,
}

#[derive(Debug)]
struct KeptListing {
    since: Instant,
    /// Number of the folder.
    folder: Ino,
    /// The number of the listing (`FolderChange::listing`).
    number: u8,
    /// The names in the order of the listing, each followed by a slash.
    names: Arc<[u8]>,
}

impl KeptListings {
    /// Adds the names that a folder has in its listing of this number.
    pub(crate) fn add<'a>(&self, folder: Ino, number: u8, names: impl Iterator<Item = &'a [u8]>) {
        let names: Vec<u8> = names.flat_map(|name| name.iter().copied().chain([b'/'])).collect();
        let mut listings = self.lock();
        listings.bytes += names.len();
        *listings.counts.entry(folder).or_default() += 1;
        listings.all.push_back(KeptListing { since: Instant::now(), folder, number, names: names.into() });
        while listings.bytes > KEPT_LISTINGS_MAX {
            listings.drop_oldest();
        }
    }

    /// The names of a listing, each followed by a slash; `None` if they are no longer kept. If two listings
    /// have the number, the later one counts.
    pub(crate) fn names(&self, folder: Ino, number: u8) -> Option<Arc<[u8]>> {
        let listings = self.lock();
        listings.counts.get(&folder)?;
        let mut found = listings.all.iter().rev().filter(|it| it.folder == folder && it.number == number);
        found.next().map(|it| it.names.clone())
    }

    /// The number of a folder's next listing: the first one after `number` under which no names are kept.
    pub(crate) fn next_number(&self, folder: Ino, number: u8) -> u8 {
        let after = |number: u8| (number + 1) % LISTINGS;
        let listings = self.lock();
        let kept: HashSet<u8> = if listings.counts.contains_key(&folder) {
            listings.all.iter().filter(|it| it.folder == folder).map(|it| it.number).collect()
        } else {
            HashSet::new()
        };
        let mut next = after(number);
        while kept.contains(&next) && next != number {
            next = after(next);
        }
        if next == number { after(number) } else { next }
    }

    /// Whether names of a folder are kept.
    pub(crate) fn contains(&self, folder: Ino) -> bool {
        self.lock().counts.contains_key(&folder)
    }

    /// Drops names that were kept long enough. Returns whether none are left.
    pub(crate) fn drop_old(&self) -> bool {
        let mut listings = self.lock();
        while listings.all.front().is_some_and(|it| it.since.elapsed() >= KEPT) {
            listings.drop_oldest();
        }
        listings.all.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Listings> {
        self.0.lock()
    }
}

impl Listings {
    fn drop_oldest(&mut self) {
        let Some(KeptListing { folder, names, .. }) = self.all.pop_front() else { return };
        self.bytes -= names.len();
        match self.counts.get_mut(&folder) {
            Some(count) if *count > 1 => *count -= 1,
            _ => _ = self.counts.remove(&folder),
        }
        if self.all.is_empty() {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDER: Ino = Ino(7);
    const OTHER: Ino = Ino(8);

    #[test]
    fn names_are_kept_by_listing_and_up_to_a_limit() {
        let listings = KeptListings::default();
        let names = |folder, number| listings.names(folder, number).map(|it| it.len());
        listings.add(FOLDER, 1, [&b"a"[..], b"b"].into_iter());
        listings.add(FOLDER, 2, [&b"a"[..]].into_iter());
        assert_eq!([1, 2, 3].map(|number| names(FOLDER, number)), [Some(4), Some(2), None]);
        assert_eq!(
            (names(OTHER, 1), listings.next_number(FOLDER, 0), listings.next_number(OTHER, 127)),
            (None, 3, 0)
        );
        let long = vec![b'x'; KEPT_LISTINGS_MAX - 1];
        listings.add(OTHER, 0, [&long[..]].into_iter());
        assert_eq!((names(FOLDER, 1), names(FOLDER, 2)), (None, None), "more than the limit was kept");
        assert_eq!(names(OTHER, 0), Some(KEPT_LISTINGS_MAX));
        assert!(listings.contains(OTHER) && !listings.contains(FOLDER));
        assert!(!listings.drop_old());
    }

    #[test]
    fn a_listing_of_long_ago_is_forgotten_when_all_numbers_are_in_use() {
        let listings = KeptListings::default();
        let mut number = 5;
        for change in 0..1000_u32 {
            listings.add(FOLDER, number, [change.to_string().as_bytes()].into_iter());
            let next = listings.next_number(FOLDER, number);
            assert!(next < LISTINGS && next != number);
            number = next;
        }
        assert_eq!(listings.names(FOLDER, number - 1).as_deref(), Some(&b"999/"[..]));
    }
}
