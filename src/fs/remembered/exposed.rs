//! Names and inode numbers that the kernel was sent and may have cached, if answers or invalidation depend
//! on them.

use std::collections::{HashMap, HashSet};

use super::invalidation::NameIn;
use crate::limits::{EXPOSED_BYTES_MAX, EXPOSED_NAMES_MAX};
use crate::system::sync::Mutex;
use crate::tree::Ino;

/// Bounded set of names that the kernel may have cached.
#[derive(Debug, Default)]
pub(crate) struct ExposedNames {
    /// By the inode number of their folder.
    folders: HashMap<Ino, HashSet<Box<[u8]>>>,
    count: usize,
    bytes: usize,
    /// Whether a name was refused for lack of room.
    is_full: bool,
}

impl ExposedNames {
    /// Records a name. Returns false if there is no room for it.
    pub(crate) fn insert(&mut self, name: NameIn) -> bool {
        if self.folders.get(&name.0).is_some_and(|names| names.contains(&name.1)) {
            return true;
        }
        let bytes = self.bytes + bytes(&name);
        self.is_full |= self.count >= EXPOSED_NAMES_MAX || bytes > EXPOSED_BYTES_MAX;
        if self.is_full {
            return false;
        }
        (self.bytes, self.count) = (bytes, self.count + 1);
        let (folder, name) = name;
        self.folders.entry(folder).or_default().insert(name)
    }

    /// Removes and returns a quarter of the names if the set is full. The kernel must drop them.
    pub(crate) fn take_surplus(&mut self) -> Vec<NameIn> {
        if !self.is_full {
            return Vec::new();
        }
        self.is_full = false;
        let taken: Vec<NameIn> = self.names().take(self.count / 4).collect();
        for name in taken.iter() {
            self.remove(name);
        }
        taken
    }

    /// The names in a folder that differ from `name` only in case, or not at all.
    pub(crate) fn like(&self, folder: Ino, name: &[u8]) -> impl Iterator<Item = &[u8]> {
        let names = self.folders.get(&folder).into_iter().flatten();
        names.map(|it| &**it).filter(move |it| it.eq_ignore_ascii_case(name))
    }

    /// Returns all names.
    pub(crate) fn into_names(self) -> HashSet<NameIn> {
        self.names().collect()
    }

    fn names(&self) -> impl Iterator<Item = NameIn> {
        self.folders.iter().flat_map(|(folder, names)| names.iter().map(|name| (*folder, name.clone())))
    }

    fn remove(&mut self, name: &NameIn) {
        let Some(names) = self.folders.get_mut(&name.0) else { return };
        if names.remove(&name.1) {
            (self.bytes, self.count) = (self.bytes - bytes(name), self.count - 1);
        }
        if names.is_empty() {
            self.folders.remove(&name.0);
        }
    }
}

/// Memory that a name takes in bytes, without the table.
fn bytes(name: &NameIn) -> usize {
    size_of::<NameIn>() + name.1.len()
}

/// Inode numbers of loose files that reached the kernel before the files could be statted, when only their
/// paths were known. There is at most one number per loose file.
#[derive(Debug, Default)]
pub(crate) struct EarlyNumbers(Mutex<HashSet<Ino>>);

impl EarlyNumbers {
    /// The identity of a file, as `look` returns it. Once reported as unknown (0), an identity stays unknown.
    pub(crate) fn identity(&self, ino: Ino, look: impl FnOnce() -> u64) -> u64 {
        // `look` runs under the lock, because another thread may learn the identity at any moment.
        let mut early = self.0.lock();
        match look() {
            0 => {
                early.insert(ino);
                0
            }
            _ if early.contains(&ino) => 0,
            identity => identity,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_has_room_again_after_a_name_is_removed() {
        let mut exposed = ExposedNames::default();
        let name = |n| (Ino(n), Box::from(vec![b'x'; 1 << 20]));
        let fit = (0..).take_while(|&n| exposed.insert(name(n))).count();
        assert!(exposed.bytes <= EXPOSED_BYTES_MAX && fit == 31, "{fit}");
        assert!(
            exposed.insert(name(0)) && !exposed.insert(name(99)),
            "a full table must accept only names that it has already"
        );
        exposed.is_full = false;
        exposed.remove(&name(0));
        assert!(exposed.insert(name(99)) && !exposed.insert(name(100)));
    }
}
