//! Comparison of names as in Windows and Wine: letter by letter in uppercase, not only ASCII.

use std::collections::HashSet;
use std::sync::Arc;

/// Whether two names differ at most in case.
pub fn same(a: &str, b: &str) -> bool {
    if a.is_ascii() && b.is_ascii() {
        a.eq_ignore_ascii_case(b)
    } else {
        a == b || a.chars().map(fold_char).eq(b.chars().map(fold_char))
    }
}

/// A name in uppercase. A letter whose uppercase has several letters (`ß`) stays, as on NTFS.
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

/// The names in one folder, for many lookups. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct CaselessNames {
    /// Pairs of folded and stored name, sorted.
    names: Arc<Vec<(String, String)>>,
}

impl CaselessNames {
    /// Sorts stored names for lookups.
    pub fn new(names: Vec<String>) -> Self {
        let mut names: Vec<_> = names.into_iter().map(|name| (fold(&name), name)).collect();
        names.sort_unstable();
        Self { names: names.into() }
    }

    /// The stored name for a name, ignoring case: the exact spelling, or else the first in byte order.
    pub fn get(&self, name: &str) -> Option<&str> {
        let spellings = self.spellings(name);
        let exact = spellings.iter().find(|(_, stored)| stored == name);
        exact.or(spellings.first()).map(|(_, stored)| stored.as_str())
    }

    /// Other stored spellings of a name, without the one that [`Self::get`] returns.
    pub fn others<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let meant = self.get(name);
        self.spellings(name).iter().map(|(_, stored)| stored.as_str()).filter(move |it| Some(*it) != meant)
    }

    /// All stored names, sorted by folded name as Windows and Wine list a folder.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|(_, stored)| stored.as_str())
    }

    /// The stored names that begin with a text, each with the rest of its folded name.
    pub fn beginning_with(&self, start: &str) -> impl Iterator<Item = (&str, &str)> {
        let folded = fold(start);
        let first = self.names.partition_point(|(it, _)| *it < folded);
        let rest = move |it: &'_ String| it.strip_prefix(&folded).map(|rest| it.len() - rest.len());
        self.names[first..].iter().map_while(move |(it, stored)| Some((&it[rest(it)?..], stored.as_str())))
    }

    pub fn count(&self) -> usize {
        self.names.len()
    }

    fn spellings(&self, name: &str) -> &[(String, String)] {
        let folded = fold(name);
        let start = self.names.partition_point(|(it, _)| *it < folded);
        let rest = &self.names[start..];
        &rest[..rest.partition_point(|(it, _)| *it == folded)]
    }
}

/// Endings of names, for many names.
#[derive(Clone, Debug, Default)]
pub struct CaselessEndings {
    folded: HashSet<String>,
    /// The last letters, with which a name ends if it has one of the endings.
    last: HashSet<char>,
}

impl CaselessEndings {
    /// Folds endings for lookups. An empty ending counts for nothing.
    pub fn new<'a>(endings: impl IntoIterator<Item = &'a str>) -> Self {
        let folded: HashSet<String> = endings.into_iter().filter(|it| !it.is_empty()).map(fold).collect();
        Self { last: folded.iter().filter_map(|it| it.chars().next_back()).collect(), folded }
    }

    /// Whether a folded text is one of the endings.
    pub fn has_folded(&self, ending: &str) -> bool {
        self.folded.contains(ending)
    }

    /// A name without its longest ending; `None` if it has none.
    pub fn without<'a>(&self, name: &'a str) -> Option<&'a str> {
        if !name.chars().next_back().is_some_and(|last| self.last.contains(&fold_char(last))) {
            return None;
        }
        let mut ends = name.char_indices().map(|(at, _)| name.split_at(at));
        ends.find(|(_, ending)| self.folded.contains(&fold(ending))).map(|(start, _)| start)
    }
}
