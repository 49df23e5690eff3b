//! Names of changed folders as they were listed before, for listings that began then.
//!
//! A listing must show each name once that the folder has all the time. So it continues with the names that
//! the folder had when it began, without those that are gone meanwhile.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::limits::KEPT_LISTINGS_MAX;

/// How long names are kept. A program that pauses longer in the middle of a listing gets ESTALE.
const KEPT: Duration = Duration::from_secs(30);

/// The names of changed folders, oldest first.
#[derive(Debug, Default)]
pub(crate) struct KeptListings(Mutex<Listings>);

#[derive(Debug, Default)]
struct Listings {
    all: VecDeque<KeptListing>,
    /// How many of them each folder has.
    counts: HashMap<u64, usize>,
    /// Total length of all names, in bytes.
    bytes: usize,
}

#[derive(Debug)]
struct KeptListing {
    since: Instant,
    /// Number of the folder.
    folder: u64,
    /// Numbers of the views that have these names.
    views: Range<u32>,
    /// The names in the order of the listing, each followed by a slash.
    names: Arc<[u8]>,
}

impl KeptListings {
    /// Adds the names that a folder has in some views.
    pub(crate) fn add<'a>(&self, folder: u64, views: Range<u32>, names: impl Iterator<Item = &'a [u8]>) {
        let names: Vec<u8> = names.flat_map(|name| name.iter().copied().chain([b'/'])).collect();
        let mut listings = self.lock();
        listings.bytes += names.len();
        *listings.counts.entry(folder).or_default() += 1;
        listings.all.push_back(KeptListing { since: Instant::now(), folder, views, names: names.into() });
        while listings.bytes > KEPT_LISTINGS_MAX {
            listings.drop_oldest();
        }
    }

    /// The names that a folder has in a view, each followed by a slash; `None` if they are no longer kept.
    pub(crate) fn names(&self, folder: u64, view: u32) -> Option<Arc<[u8]>> {
        let listings = self.lock();
        listings.counts.get(&folder)?;
        let mut found = listings.all.iter().filter(|it| it.folder == folder && it.views.contains(&view));
        found.next().map(|it| it.names.clone())
    }

    /// Whether names of a folder are kept.
    pub(crate) fn contains(&self, folder: u64) -> bool {
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[test]
    fn names_are_kept_by_view_and_up_to_a_limit() {
        let listings = KeptListings::default();
        let names = |folder, view| listings.names(folder, view).map(|it| it.len());
        listings.add(7, 0..2, [&b"a"[..], b"b"].into_iter());
        listings.add(7, 2..3, [&b"a"[..]].into_iter());
        assert_eq!([0, 1, 2, 3].map(|view| names(7, view)), [Some(4), Some(4), Some(2), None]);
        assert_eq!(names(8, 0), None);
        let long = vec![b'x'; KEPT_LISTINGS_MAX - 1];
        listings.add(8, 0..1, [&long[..]].into_iter());
        assert_eq!((names(7, 1), names(7, 2)), (None, None), "more than the limit was kept");
        assert_eq!(names(8, 0), Some(KEPT_LISTINGS_MAX));
        assert!(listings.contains(8) && !listings.contains(7));
        assert!(!listings.drop_old());
    }
}
