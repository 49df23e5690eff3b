//! Numbers for files whose name is already taken.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use crate::format::name::COMPONENT_MAX;

/// The `n`th name for a file whose own name is taken. For example, `foo.dds` becomes `foo (2).dds`.
/// At most [`COMPONENT_MAX`] bytes.
pub fn numbered(name: &str, n: u32) -> String {
    let dot = name.rfind('.').filter(|&at| at > 0 && name.len() - at <= COMPONENT_MAX / 2);
    let (stem, extension) = name.split_at(dot.unwrap_or(name.len()));
    let suffix = format!(" ({n}){extension}");
    let room = COMPONENT_MAX - suffix.len();
    let stem = (0..=room).rev().find_map(|end| stem.get(..end)).unwrap_or(stem);
    format!("{stem}{suffix}")
}

/// Gives out the numbered names of one folder.
#[derive(Debug)]
pub(super) struct DuplicateNames {
    /// Keyed, so that no archive can store names that collide.
    hasher: RandomState,
    /// Hashes of all folded names of the folder. If two names have the same hash, a number is skipped.
    taken: HashSet<u64>,
    /// The first number that may be free. The key is the hash of the first numbered name with as
    /// many digits, so names that are cut to the same stem share one search.
    next: HashMap<u64, u32>,
    /// How many names were tried.
    #[cfg(test)]
    tried: usize,
}

impl DuplicateNames {
    /// The taken names of a folder that already has these names.
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a [u8]>) -> Self {
        let hasher = RandomState::new();
        let taken = names.map(|name| folded_hash(&hasher, name)).collect();
        Self {
            hasher,
            taken,
            next: HashMap::new(),
            #[cfg(test)]
            tried: 0,
        }
    }

    /// The first free number for a name whose numbers up to `last` are taken (1 if none is). `None`
    /// if numbers run out.
    pub(super) fn next(&mut self, name: &str, last: u32) -> Option<u32> {
        let mut first = 10_u32.pow(last.ilog10()).max(2);
        loop {
            let next = self.next.entry(folded_hash(&self.hasher, numbered(name, first).as_bytes()));
            let next = next.or_insert(first);
            while next.ilog10() == first.ilog10() {
                let number = *next;
                *next = number.checked_add(1)?;
                #[cfg(test)]
                {
                    self.tried += 1;
                }
                if self.taken.insert(folded_hash(&self.hasher, numbered(name, number).as_bytes())) {
                    return Some(number);
                }
            }
            first = 10_u32.checked_pow(first.ilog10() + 1)?;
        }
    }
}

fn folded_hash(hasher: &RandomState, name: &[u8]) -> u64 {
    hasher.hash_one(name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_get_ascending_numbers_that_skip_existing_names() {
        let names = ["x", "x (3)", "y", "y (10)"];
        let mut numbering = DuplicateNames::new(names.iter().map(|name| name.as_bytes()));
        assert_eq!([numbering.next("x", 1), numbering.next("X", 2)], [Some(2), Some(4)]);
        let mut last = 1;
        let given = std::iter::from_fn(|| {
            last = numbering.next("Y", last)?;
            Some(last)
        });
        assert_eq!(given.take(99).collect::<Vec<_>>(), (2..=101).filter(|&n| n != 10).collect::<Vec<_>>());
    }

    #[test]
    fn long_names_that_differ_at_their_ends_are_numbered_quickly() {
        for extension in ["", ".dds"] {
            let names: Vec<String> = (0..20_000)
                .map(|n| format!("{}{n:05}{extension}", "x".repeat(250 - extension.len())))
                .collect();
            let mut numbering = DuplicateNames::new(names.iter().map(|name| name.as_bytes()));
            let numbers = names.iter().map(|name| (name, numbering.next(name, 1).unwrap()));
            let given: HashSet<String> = numbers.map(|(name, number)| numbered(name, number)).collect();
            assert_eq!(given.len(), names.len());
            assert!(numbering.tried < 2 * names.len(), "{} tries", numbering.tried);
        }
    }
}
