//! A settings file of OpenMW, and how its values become paths.

use std::path::{Path, PathBuf};

use super::text::decode_utf8;

/// File name of every OpenMW settings file.
pub const OPENMW_CFG: &str = "openmw.cfg";

/// Folders for the tokens with which paths in settings may begin.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// `?local?`: the folder of the first file.
    pub local: PathBuf,
    /// `?userconfig?`.
    pub user_config: PathBuf,
    /// `?userdata?`.
    pub user_data: PathBuf,
    /// `?global?`.
    pub global: PathBuf,
}

/// One settings file.
#[derive(Clone, Debug, Default)]
pub struct Cfg {
    /// The folder that contains the file.
    pub folder: PathBuf,
    /// Keys and values in file order.
    lines: Vec<(String, String)>,
}

impl Cfg {
    /// Parses a file. Lines that are not settings are left out.
    pub fn parse(folder: &Path, bytes: &[u8]) -> Self {
        let mut lines = Vec::new();
        for line in decode_utf8(bytes).lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            if let Some((key, value)) = line.split_once('=') {
                lines.push((key.trim().to_owned(), unquoted(value.trim())));
            }
        }
        Self { folder: folder.to_owned(), lines }
    }

    /// The values of a key, in file order.
    pub fn values<'a>(&'a self, key: &'a str) -> impl DoubleEndedIterator<Item = &'a str> {
        self.lines.iter().filter(move |(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Whether the file discards the values that lower files give a key.
    pub(crate) fn replaces(&self, key: &str) -> bool {
        self.values("replace").any(|value| value == key)
    }

    /// The path that a value means.
    pub fn path(&self, value: &str, places: &Places) -> PathBuf {
        let tokens = [
            ("?local?", &places.local),
            ("?userconfig?", &places.user_config),
            ("?userdata?", &places.user_data),
            ("?global?", &places.global),
        ];
        let of_token = tokens
            .into_iter()
            .find_map(|(token, place)| Some(place.join(value.strip_prefix(token)?.trim_start_matches('/'))));
        normal(&of_token.unwrap_or_else(|| self.folder.join(value)))
    }
}

/// Removes quotes, in which `&` escapes a letter. Text after the closing quote is ignored.
fn unquoted(value: &str) -> String {
    let Some(quoted) = value.strip_prefix('"') else { return value.to_owned() };
    let (mut plain, mut letters) = (String::new(), quoted.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '&' => plain.extend(letters.next()),
            _ => plain.push(letter),
        }
    }
    plain
}

/// Removes `.` and `..` from a path without following links, as OpenMW does.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(normal.pop()),
            _ => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::unquoted;

    #[test]
    fn quotes_escape_and_end_a_value() {
        assert_eq!(unquoted("\"a && &\"b&\"\" ignored"), "a & \"b\"");
        assert_eq!(unquoted("plain \"x\""), "plain \"x\"");
    }
}
