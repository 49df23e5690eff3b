//! INI files, parsed like Windows' `GetPrivateProfileString`.
//!
//! A section begins with `[` and ends at the last `]` of its line. Sections and keys are case-insensitive. If
//! a section name occurs twice, only the first section is searched, and in it the first key of a name. There
//! are no comments: a line that begins with `;` or `#` is an ordinary key that is never looked up. A line
//! without `=` is a key with an empty value.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::settings_text::decode_ini;
use crate::game::caseless::{fold, same};
use crate::note::Setting;
use crate::shown::excerpt;

#[derive(Clone, Debug, Default)]
pub struct Ini {
    /// In file order; only the first section of each name.
    sections: Vec<Section>,
    /// Folded names of sections that occur more than once.
    repeated: HashSet<String>,
}

#[derive(Clone, Debug)]
struct Section {
    folded: String,
    /// In file order. A line without `=` is a key with an empty value.
    keys: Vec<(String, String)>,
}

impl Ini {
    /// Parses the bytes of a file. Any bytes are valid.
    pub fn parse(bytes: &[u8]) -> Self {
        let text = decode_ini(bytes);
        let mut ini = Self::default();
        let mut seen = HashSet::new();
        // Keys before the first section or in a repeated section belong to no section.
        let mut is_searched = false;
        for line in lines(&text).map(trim) {
            if let Some((name, _)) = line.strip_prefix('[').and_then(|rest| rest.rsplit_once(']')) {
                let folded = fold(name);
                is_searched = seen.insert(folded.clone());
                if is_searched {
                    ini.sections.push(Section { folded, keys: Vec::new() })
                } else {
                    ini.repeated.insert(folded);
                }
            } else if is_searched
                && !line.is_empty()
                && let Some(section) = ini.sections.last_mut()
            {
                let (key, value) = line.split_once('=').unwrap_or((line, ""));
                section.keys.push((trim(key).to_owned(), unquoted(trim(value)).to_owned()));
            }
        }
        ini
    }

    /// The value of a key, which may be empty.
    pub fn get(&self, section: &str, key: &str) -> Option<&str> {
        self.keys(section).find(|(name, _)| same(name, key)).map(|(_, value)| value)
    }

    /// The keys of a section with their values, in file order.
    pub fn keys(&self, section: &str) -> impl Iterator<Item = (&str, &str)> {
        let folded = fold(section);
        let section = self.sections.iter().find(|it| it.folded == folded);
        section.into_iter().flat_map(|it| &it.keys).map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Whether a section name occurs again. The later sections are never searched.
    pub fn is_repeated(&self, section: &str) -> bool {
        self.repeated.contains(&fold(section))
    }
}

/// Several INI files. If more than one has a key, the last file wins.
#[derive(Clone, Debug, Default)]
pub struct IniFiles {
    files: Vec<LoadedIni>,
}

#[derive(Clone, Debug)]
struct LoadedIni {
    label: String,
    /// Empty if it is not known.
    path: PathBuf,
    ini: Ini,
}

impl IniFiles {
    /// Adds a file above the earlier ones. `label` names the file in reasons and notes.
    pub fn push(&mut self, label: impl Into<String>, ini: Ini) {
        self.files.push(LoadedIni { label: label.into(), path: PathBuf::new(), ini });
    }

    /// Adds the file at a path above the earlier ones. Its name is its label.
    pub(crate) fn push_file(&mut self, path: &Path, ini: Ini) {
        let label = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.files.push(LoadedIni { label, path: path.to_owned(), ini });
    }

    /// The value of a key, and the label of the file that has it.
    pub fn get(&self, section: &str, key: &str) -> Option<(&str, &str)> {
        self.of_key(section, key).next().map(|(value, file)| (value, file.label.as_str()))
    }

    /// The values of a key with their files, the one that counts first.
    fn of_key(&self, section: &str, key: &str) -> impl Iterator<Item = (&str, &LoadedIni)> {
        self.files.iter().rev().filter_map(move |file| Some((file.ini.get(section, key)?, file)))
    }

    /// The state of a key, to be the reason of something.
    pub(crate) fn setting(&self, section: &str, key: &str) -> Setting {
        let (value, file) = self.of_key(section, key).next().unzip();
        Setting {
            file: file.map(|it| it.path.to_string_lossy().into_owned()).unwrap_or_default(),
            section: section.to_owned(),
            key: key.to_owned(),
            value: value.map(|it| excerpt(it).into_owned()),
        }
    }

    /// The values of a key that a file above replaces, with the labels of their files.
    pub(crate) fn replaced(&self, section: &str, key: &str) -> impl Iterator<Item = (&str, &str)> {
        self.of_key(section, key).skip(1).map(|(value, file)| (value, file.label.as_str()))
    }

    /// Whether a key has a number other than zero. If no file has the key, returns `default`.
    pub fn is_set(&self, section: &str, key: &str, default: bool) -> bool {
        self.get(section, key).map_or(default, |(value, _)| number(value) != 0)
    }

    /// The files with their labels, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Ini)> {
        self.files.iter().map(|file| (file.label.as_str(), &file.ini))
    }
}

/// The names in a comma-separated list.
pub(crate) fn list(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// Parses a number like `GetPrivateProfileInt`, from the digits that the value begins with.
fn number(value: &str) -> u64 {
    let digits = value.trim_start_matches(['-', '+']);
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    // A number that does not fit is not zero.
    digits[..end].parse().unwrap_or(u64::from(end > 0))
}

/// Splits a text into lines, which end in LF. Lines after the last LF may end in CR.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let (whole, last) = text.rsplit_once('\n').unwrap_or(("", text));
    whole.split('\n').chain(last.split('\r'))
}

fn trim(text: &str) -> &str {
    text.trim_matches(|letter: char| letter.is_ascii_whitespace() || matches!(letter, '\u{b}' | '\u{1a}'))
}

fn unquoted(value: &str) -> &str {
    let inner = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::list;

    #[test]
    fn empty_names_of_a_list_are_dropped() {
        assert_eq!(list("A.bsa, B.bsa ,,  c D.BSA").collect::<Vec<_>>(), ["A.bsa", "B.bsa", "c D.BSA"]);
        assert_eq!(list("").count(), 0);
    }
}
