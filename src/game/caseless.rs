//! Names in any case, as Windows and Wine compare them: letter by letter in capitals, those outside ASCII too.

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
    /// Folded and stored names, sorted.
    names: Vec<(String, String)>,
}

impl CaselessNames {
    /// Of stored names.
    pub fn new(names: Vec<String>) -> Self {
        let mut names: Vec<_> = names.into_iter().map(|name| (fold(&name), name)).collect();
        names.sort_unstable();
        Self { names }
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
