//! Numbers for files whose name is taken.

use std::collections::{HashMap, HashSet};

use crate::format::name::COMPONENT_MAX;

/// The `n`th name for a file whose own name is taken: `foo.dds` becomes `foo (2).dds`. At most [`COMPONENT_MAX`] bytes.
pub fn numbered(name: &str, n: u32) -> String {
    let dot = name.rfind('.').filter(|&at| at > 0 && name.len() - at <= COMPONENT_MAX / 2);
    let (stem, extension) = name.split_at(dot.unwrap_or(name.len()));
    let suffix = format!(" ({n}){extension}");
    let room = COMPONENT_MAX - suffix.len();
    let stem = (0..=room).rev().find_map(|end| stem.get(..end)).unwrap_or(stem);
    format!("{stem}{suffix}")
}

/// The numbered names of one folder.
#[derive(Debug)]
pub(super) struct Numbering {
    /// All names of the folder, folded.
    taken: HashSet<Vec<u8>>,
    /// The numbers given to each folded name. The second file of a name has the same number in every layer, so that of
    /// these, too, the last layer wins; and a million files of one name do not each count from 2.
    given: HashMap<Vec<u8>, Vec<u32>>,
    /// How many files of a folded name in a layer have a number.
    numbered: HashMap<(Vec<u8>, u16), usize>,
}

impl Numbering {
    /// For a folder whose folded names are `taken`.
    pub(super) fn new(taken: HashSet<Vec<u8>>) -> Self {
        Self { taken, given: HashMap::new(), numbered: HashMap::new() }
    }

    /// The name of the next file of `layer` whose name is taken; `None` where numbers run out.
    pub(super) fn next(&mut self, name: &str, layer: u16) -> Option<String> {
        let folded = name.as_bytes().to_ascii_lowercase();
        let index = self.numbered.entry((folded.clone(), layer)).or_insert(0);
        let given = self.given.entry(folded).or_default();
        if *index == given.len() {
            let mut number = given.last().map_or(Some(2), |last| last.checked_add(1))?;
            while !self.taken.insert(numbered(name, number).as_bytes().to_ascii_lowercase()) {
                number = number.checked_add(1)?;
            }
            given.push(number);
        }
        let number = given[*index];
        *index += 1;
        Some(numbered(name, number))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::encoding::Encoding;
    use crate::format::name;

    #[test]
    fn numbered_names_keep_their_extension_and_fit() {
        assert_eq!(numbered("foo.dds", 2), "foo (2).dds");
        assert_eq!(numbered("a.tar.gz", 10), "a.tar (10).gz");
        assert_eq!(numbered("noext", 3), "noext (3)");
        assert_eq!(numbered(".gitignore", 2), ".gitignore (2)");
        let long = format!("{}.dds", "\u{e9}".repeat(125));
        assert_eq!(numbered(&long, u32::MAX), format!("{} (4294967295).dds", "\u{e9}".repeat(119)));
        let all_extension = format!("a.{}", "x".repeat(253));
        assert_eq!(numbered(&all_extension, 2), format!("a.{} (2)", "x".repeat(249)));
    }

    #[test]
    fn the_nth_file_of_a_name_has_one_number_in_every_layer() {
        let mut numbering = Numbering::new([b"x".to_vec(), b"x (3)".to_vec()].into());
        let mut next = |name, layer| numbering.next(name, layer).unwrap();
        assert_eq!([next("x", 0), next("X", 0)], ["x (2)", "X (4)"]);
        assert_eq!([next("X", 1), next("x", 1), next("x", 1)], ["X (2)", "x (4)", "x (5)"]);
    }

    proptest! {
        #[test]
        fn whatever_the_name_its_numbered_names_are_safe_and_differ(
            stored in proptest::collection::vec(any::<u8>(), 0..1500),
            n in any::<u32>(),
        ) {
            for name in name::components(&stored, Encoding::default()) {
                let found = numbered(&name, n);
                prop_assert!(!matches!(&found[..], "" | "." | "..") && found.len() <= COMPONENT_MAX);
                prop_assert!(!found.contains(|c: char| c == '/' || c == '\\' || c.is_ascii_control()));
                prop_assert_ne!(found, numbered(&name, n ^ 1));
            }
        }
    }
}
