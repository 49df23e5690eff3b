//! Names on the disk in any case, as Windows and Wine compare them: letter by letter in capitals, those outside ASCII too.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::looked;
use crate::system::covered::uncovered;

/// Names of one folder that are looked at; the rest of a larger one is not.
const NAMES_MAX: usize = 1 << 20;

/// Whether two names are equal but for case.
pub fn same(a: &str, b: &str) -> bool {
    a == b || fold(a) == fold(b)
}

/// A name in capitals. Letters whose capital is several letters (`ß`) stay as they are, as on NTFS.
pub fn fold(name: &str) -> String {
    name.chars().map(fold_char).collect()
}

fn fold_char(letter: char) -> char {
    let mut capitals = letter.to_uppercase();
    match (capitals.next(), capitals.next()) {
        (Some(capital), None) => capital,
        _ => letter,
    }
}

/// The names in one folder, for many lookups.
#[derive(Debug, Default)]
pub struct CaselessNames {
    /// Folded and stored names, sorted. Names that are not UTF-8 are left out: no game can name them.
    names: Vec<(String, String)>,
}

impl CaselessNames {
    /// Reads the names in a folder.
    pub fn read(folder: &Path) -> io::Result<Self> {
        looked::note_names(folder);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(uncovered(folder))?.take(NAMES_MAX) {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push((fold(&name), name));
            }
        }
        names.sort_unstable();
        Ok(Self { names })
    }

    /// The stored name that a name in any case means: the one in the same spelling, else the first in the order of bytes.
    pub fn get(&self, name: &str) -> Option<&str> {
        let spellings = self.spellings(name);
        let exact = spellings.iter().find(|(_, stored)| stored == name);
        exact.or(spellings.first()).map(|(_, stored)| stored.as_str())
    }

    /// The stored names that a name in any case could mean besides the one that [`Self::get`] returns.
    pub fn others<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let meant = self.get(name);
        self.spellings(name).iter().map(|(_, stored)| stored.as_str()).filter(move |it| Some(*it) != meant)
    }

    /// All names as stored, in the order of their capitals: the order in which Windows and Wine list a folder.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|(_, stored)| stored.as_str())
    }

    fn spellings(&self, name: &str) -> &[(String, String)] {
        let folded = fold(name);
        let start = self.names.partition_point(|(it, _)| *it < folded);
        let rest = &self.names[start..];
        &rest[..rest.partition_point(|(it, _)| *it == folded)]
    }
}

/// A path found on the disk by names in any case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPath {
    /// The path as the disk spells it. Its last name may be a link that leads nowhere.
    pub path: PathBuf,
    /// Other spellings beside one of its names; the game sees none of what is in them.
    pub others: Vec<PathBuf>,
}

/// Looks a relative path up below a folder, in any case and with either slash. Like Wine it takes one spelling of each
/// folder and never returns to try another. A path with `..` is not found.
pub fn find(root: &Path, relative: &str) -> Option<FoundPath> {
    let mut found = FoundPath { path: root.to_owned(), others: Vec::new() };
    for name in relative.split(['/', '\\']).filter(|name| !matches!(*name, "" | ".")) {
        if name == ".." {
            return None;
        }
        let stored = match CaselessNames::read(&found.path) {
            Ok(names) => {
                found.others.extend(names.others(name).map(|other| found.path.join(other)));
                OsString::from(names.get(name)?)
            }
            // A folder that may be entered and not listed.
            Err(_) if uncovered(&found.path.join(name)).symlink_metadata().is_ok() => name.into(),
            Err(_) => return None,
        };
        found.path.push(stored);
    }
    Some(found)
}

/// [`find`] of a regular file, links followed.
pub fn find_file(root: &Path, relative: &str) -> Option<PathBuf> {
    find(root, relative).map(|found| found.path).filter(|path| uncovered(path).is_file())
}

/// [`find`] of a folder, links followed.
pub fn find_folder(root: &Path, relative: &str) -> Option<PathBuf> {
    find(root, relative).map(|found| found.path).filter(|path| uncovered(path).is_dir())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{CaselessNames, find, find_file, find_folder, fold, same};

    #[test]
    fn letters_outside_ascii_match_in_any_case_and_letters_without_one_capital_match_themselves() {
        assert!(same("Größe.ESP", "grÖße.esp"));
        assert!(same("Дом", "дОМ"));
        assert!(!same("straße", "STRASSE"));
        assert!(!same("a", "ab"));
        assert_eq!(fold("Mod - A.bsa"), "MOD - A.BSA");
    }

    #[test]
    fn a_path_is_found_in_any_case_with_either_slash() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("Binaries/Über");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("Game.EXE"), "").unwrap();
        assert_eq!(find_file(dir.path(), "binaries\\über/game.exe"), Some(folder.join("Game.EXE")));
        assert_eq!(find_folder(dir.path(), "BINARIES/"), Some(dir.path().join("Binaries")));
        assert_eq!(find_file(dir.path(), "binaries"), None);
        assert_eq!(find(dir.path(), "binaries/none"), None);
        assert_eq!(find(&folder, "../über"), None, "leads out of the folder");
    }

    #[test]
    fn the_same_spelling_is_preferred_and_the_other_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["DATA", "Data", "data"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let found = find(dir.path(), "Data").unwrap();
        assert_eq!(found.path, dir.path().join("Data"));
        assert_eq!(found.others, [dir.path().join("DATA"), dir.path().join("data")]);
        assert_eq!(find(dir.path(), "dAtA").unwrap().path, dir.path().join("DATA"));
        let names = CaselessNames::read(dir.path()).unwrap();
        assert_eq!(names.iter().collect::<Vec<_>>(), ["DATA", "Data", "data"]);
        assert_eq!(names.get("other"), None);
    }

    #[test]
    fn a_circle_of_links_ends() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("loop", dir.path().join("loop")).unwrap();
        assert_eq!(find_folder(dir.path(), "loop"), None);
        assert_eq!(find(dir.path(), "loop/loop"), None);
    }
}
