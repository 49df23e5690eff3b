//! Folders by parent and folded name, used while a layer or a tree is built.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// Index of folders. It stores hashes instead of names: a hostile archive can make a folder with
/// two bytes, and a name would take fifty.
#[derive(Debug, Default)]
pub(super) struct FolderIndex {
    /// Keyed, so that no archive can store names that collide.
    hasher: RandomState,
    folders: HashMap<u64, u32>,
}

impl FolderIndex {
    /// The folder called `name` in `parent`. `is_it` compares both with a folder of equal hash.
    ///
    /// # Errors
    /// The key for [`FolderIndex::insert`] if there is no such folder.
    pub(super) fn find(&self, parent: u32, name: &[u8], is_it: impl Fn(u32) -> bool) -> Result<u32, u64> {
        let mut key = self.hasher.hash_one((parent, name.to_ascii_lowercase()));
        loop {
            match self.folders.get(&key) {
                None => return Err(key),
                Some(&folder) if is_it(folder) => return Ok(folder),
                Some(_) => key = key.wrapping_add(1),
            }
        }
    }

    /// Adds a folder that was not found.
    pub(super) fn insert(&mut self, key: u64, folder: u32) {
        self.folders.insert(key, folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_with_equal_hashes_are_distinguished() {
        let mut index = FolderIndex::default();
        for folder in 0..3 {
            let key = index.find(7, b"Name", |_| false).unwrap_err();
            index.insert(key, folder);
        }
        for folder in 0..3 {
            assert_eq!(index.find(7, b"nAME", |found| found == folder), Ok(folder));
        }
        assert!(index.find(8, b"name", |_| true).is_err());
    }
}
