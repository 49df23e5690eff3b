//! Assumed folders: folders that may contain a file which only its hash can find. They have no node.
//!
//! Any program can create an unlimited number of them by looking up names. So an assumed folder is
//! kept only while the kernel references its inode number: lookups are counted, as FUSE requires. A
//! number is never used again.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound::{Excluded, Unbounded};

use super::numbers::Ino;

/// The assumed folders that the kernel references.
#[derive(Debug, Default)]
pub(super) struct AssumedFolders {
    numbers: HashMap<(Ino, Box<[u8]>), Ino>,
    /// By inode number, so that the oldest folder comes first.
    folders: BTreeMap<Ino, AssumedFolder>,
    /// The last inode number that [`AssumedFolders::next_surplus`] returned.
    returned: Option<Ino>,
}

#[derive(Debug)]
pub(super) struct AssumedFolder {
    pub(super) parent: Ino,
    pub(super) name: Box<[u8]>,
    /// How many lookups returned the inode number, minus those that the kernel forgot.
    lookups: u64,
}

impl AssumedFolders {
    /// The inode number of `name` in the folder with the number `parent`. This counts as one
    /// lookup. A new folder gets its number from `allocate`; `None` if that returns none.
    pub(super) fn look_up(
        &mut self,
        parent: Ino,
        name: &[u8],
        allocate: impl FnOnce() -> Option<Ino>,
    ) -> Option<Ino> {
        let key = (parent, Box::from(name));
        if let Some((&ino, folder)) =
            self.numbers.get(&key).and_then(|ino| Some((ino, self.folders.get_mut(ino)?)))
        {
            folder.lookups = folder.lookups.saturating_add(1);
            return Some(ino);
        }
        let ino = allocate()?;
        self.folders.insert(ino, AssumedFolder { parent, name: key.1.clone(), lookups: 1 });
        self.numbers.insert(key, ino);
        Some(ino)
    }

    /// Records that the kernel forgot `lookups` lookups of an inode number.
    pub(super) fn forget(&mut self, ino: Ino, lookups: u64) {
        let Some(folder) = self.folders.get_mut(&ino) else { return };
        folder.lookups = folder.lookups.saturating_sub(lookups);
        if folder.lookups == 0
            && let Some(folder) = self.folders.remove(&ino)
        {
            self.numbers.remove(&(folder.parent, folder.name));
        }
    }

    /// The folder with an inode number.
    pub(super) fn get(&self, ino: Ino) -> Option<&AssumedFolder> {
        self.folders.get(&ino)
    }

    /// The number of assumed folders.
    pub(super) fn len(&self) -> usize {
        self.folders.len()
    }

    /// Returns the parents and names of the oldest folders beyond `max`, at most `step` of them. A folder is
    /// returned again only after all others.
    pub(super) fn next_surplus(&mut self, max: usize, step: usize) -> Vec<(Ino, Box<[u8]>)> {
        let count = self.len().saturating_sub(max).min(step);
        let next = |returned: Option<Ino>| {
            self.folders.range((returned.map_or(Unbounded, Excluded), Unbounded)).take(count)
        };
        let mut found: Vec<_> = next(self.returned).collect();
        if found.is_empty() {
            found = next(None).collect();
        }
        let returned = found.last().map(|(ino, _)| **ino);
        let names = found.into_iter().map(|(_, folder)| (folder.parent, folder.name.clone())).collect();
        self.returned = returned.or(self.returned);
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assumed_folder_is_kept_until_the_kernel_forgets_its_number() {
        let mut folders = AssumedFolders::default();
        let mut numbers = (10..12).map(Ino);
        let mut look_up =
            |folders: &mut AssumedFolders, name| folders.look_up(Ino::ROOT, name, || numbers.next());
        let first = look_up(&mut folders, b"a").expect("no number was assigned");
        assert_eq!((first, look_up(&mut folders, b"a")), (Ino(10), Some(Ino(10))));
        folders.forget(first, 1);
        assert_eq!(folders.get(first).map(|it| &*it.name), Some(&b"a"[..]));
        folders.forget(first, 1);
        assert!(folders.get(first).is_none() && folders.len() == 0);
        assert_eq!(look_up(&mut folders, b"a"), Some(Ino(11)));
        folders.forget(Ino(99), 1);
        assert_eq!((look_up(&mut folders, b"b"), folders.len()), (None, 1));
    }

    #[test]
    fn surplus_folders_are_returned_oldest_first() {
        let mut folders = AssumedFolders::default();
        for n in 0..9 {
            folders.look_up(Ino::ROOT, &[n], || Some(Ino(u64::from(n) + 10)));
        }
        let mut names = || folders.next_surplus(4, 3).iter().map(|(_, name)| name[0]).collect::<Vec<_>>();
        assert_eq!(
            (names(), names(), names(), names()),
            (vec![0, 1, 2], vec![3, 4, 5], vec![6, 7, 8], vec![0, 1, 2])
        );
        assert!(folders.next_surplus(9, 3).is_empty());
    }
}
