//! Names of files and folders that a mod manager hides, compiled once for all folders of an instance.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};

/// Names that scans leave out. Comparisons ignore the case of ASCII letters. A lookup takes about the same
/// time however many names there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HiddenNames {
    /// Names of files and folders directly in the folder that is scanned.
    at_root: HashSet<Vec<u8>>,
    /// Names of folders at any depth.
    folders: HashSet<Vec<u8>>,
    /// Endings of names of files at any depth, reversed and sorted. None begins with another one.
    endings: Vec<Vec<u8>>,
}

impl HiddenNames {
    /// Compiles lists of names and endings.
    pub fn new<'a>(
        at_root: impl IntoIterator<Item = &'a str>,
        folders: impl IntoIterator<Item = &'a str>,
        endings: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut endings: Vec<_> = endings.into_iter().map(|it| reversed(it.as_bytes())).collect();
        endings.sort_unstable();
        endings.dedup_by(|longer, kept| longer.starts_with(kept));
        let names = |names: &mut dyn Iterator<Item = &'a str>| {
            names.map(|name| name.as_bytes().to_ascii_lowercase()).collect()
        };
        Self { at_root: names(&mut at_root.into_iter()), folders: names(&mut folders.into_iter()), endings }
    }

    /// Whether a name directly in the folder that is scanned is hidden.
    pub fn hides_at_root(&self, name: &[u8]) -> bool {
        !self.at_root.is_empty() && self.at_root.contains(&name.to_ascii_lowercase())
    }

    pub fn hides_folder(&self, name: &[u8]) -> bool {
        !self.folders.is_empty() && self.folders.contains(&name.to_ascii_lowercase())
    }

    /// Whether a file is hidden by the ending of its name.
    pub fn hides_file(&self, name: &[u8]) -> bool {
        if self.endings.is_empty() {
            return false;
        }
        let name = reversed(name);
        // An ending of the name sorts directly before it: all between the two would begin with that ending.
        let after = self.endings.partition_point(|ending| *ending <= name);
        after.checked_sub(1).is_some_and(|at| name.starts_with(&self.endings[at]))
    }
}

/// Hashes only how many names there are. Lists that differ are rare, and each folder's list is hashed.
impl Hash for HiddenNames {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.at_root.len(), self.folders.len(), self.endings.len()).hash(state);
    }
}

/// A name from its last byte to its first, in lower case.
fn reversed(name: &[u8]) -> Vec<u8> {
    name.iter().rev().map(u8::to_ascii_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_hidden_by_any_ending_in_any_case() {
        let endings = [".mohidden", "b.txt", ".TXT", "ab.txt", "c.dds", ".esp.bak", "ö"];
        let hidden = HiddenNames::new([], [], endings);
        for (name, is_hidden) in [
            ("x.dds.MOhidden", true),
            (".mohidden", true),
            ("mohidden", false),
            ("a.txt", true),
            ("ab.txt", true),
            ("txt", false),
            ("c.dds", true),
            ("d.dds", false),
            ("dds", false),
            ("", false),
            ("Mod.esp.bak", true),
            ("Mod.bak", false),
            ("ö", true),
        ] {
            let expected = endings.iter().any(|it| name.to_lowercase().ends_with(&it.to_lowercase()));
            assert_eq!((hidden.hides_file(name.as_bytes()), expected), (is_hidden, is_hidden), "{name}");
        }
        assert!(HiddenNames::new([], [], [""]).hides_file(b"x"), "every name ends in nothing");
    }

    #[test]
    fn many_endings_find_the_same_as_a_comparison_with_each() {
        let letters = [b'a', b'b', b'.'];
        let word = |mut number: usize| {
            let mut word = String::new();
            while number > 0 {
                word.push(char::from(letters[number % 3]));
                number /= 3;
            }
            word
        };
        let endings: Vec<String> = (5..400).step_by(7).map(word).collect();
        let hidden = HiddenNames::new([], [], endings.iter().map(String::as_str));
        let names: Vec<String> = (0..2000).map(word).collect();
        let of_each = |name: &&String| endings.iter().any(|it| name.ends_with(it.as_str()));
        for name in &names {
            assert_eq!(hidden.hides_file(name.as_bytes()), of_each(&name), "{name}");
        }
        let count = names.iter().filter(of_each).count();
        assert!(count > 10 && count < names.len(), "{count}");
    }
}
