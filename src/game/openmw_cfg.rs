//! The settings files of OpenMW, and the order in which one names others.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::disk;
use super::note::{Note, NoteCode};
use super::text::decode_utf8;

/// The name of each of them.
pub const OPENMW_CFG: &str = "openmw.cfg";

/// Files of one chain that are read.
const FILES_MAX: usize = 256;

/// Folders that paths in settings begin with.
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

/// One file.
#[derive(Clone, Debug, Default)]
pub struct Cfg {
    /// Where it is.
    pub folder: PathBuf,
    /// Keys and values in the order of the file.
    lines: Vec<(String, String)>,
}

impl Cfg {
    /// Parses a file; what is no line of it is left out.
    pub fn parse(folder: &Path, bytes: &[u8]) -> Self {
        let mut lines = Vec::new();
        for line in decode_utf8(bytes).lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            if let Some((key, value)) = line.split_once('=') {
                lines.push((key.trim().to_owned(), unquoted(value.trim())));
            }
        }
        Self { folder: folder.to_owned(), lines }
    }

    /// The values of a key, in the order of the file.
    pub fn values<'a>(&'a self, key: &'a str) -> impl DoubleEndedIterator<Item = &'a str> {
        self.lines.iter().filter(move |(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    fn replaces(&self, key: &str) -> bool {
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

/// Files that name each other, lowest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    pub(super) files: Vec<Cfg>,
}

impl Chain {
    /// Reads the chain that begins in a folder.
    pub(super) fn read(places: &Places, notes: &mut Vec<Note>) -> Self {
        let mut chain = Self::default();
        let mut seen = HashSet::new();
        // The next one is the last: a file's own come before those that were named earlier.
        let mut waiting = vec![places.local.clone()];
        while let Some(folder) = waiting.pop() {
            if !seen.insert(folder.clone()) || seen.len() > FILES_MAX {
                continue;
            }
            let path = disk::file_in(&folder, OPENMW_CFG);
            let Some(bytes) = path.and_then(|path| disk::list_file(&path, notes)) else {
                if !folder.is_dir() {
                    let text = "an openmw.cfg names it with config=, and it does not exist";
                    notes.push(Note::new(NoteCode::FolderMissing, folder.to_string_lossy(), text));
                }
                continue;
            };
            let cfg = Cfg::parse(&folder, &bytes);
            if cfg.replaces("config") {
                chain.files.truncate(1);
            }
            waiting.extend(cfg.values("config").rev().map(|value| cfg.path(value, places)));
            chain.files.push(cfg);
        }
        chain
    }

    /// The values of a list, lowest first, each with its file.
    pub(super) fn list(&self, key: &str) -> Vec<(&Cfg, String)> {
        let mut values = Vec::new();
        for cfg in &self.files {
            if cfg.replaces(key) {
                values.clear();
            }
            values.extend(cfg.values(key).map(|value| (cfg, value.to_owned())));
        }
        values
    }

    /// The path of a single value: the highest file has it.
    pub(super) fn path(&self, key: &str, places: &Places) -> Option<PathBuf> {
        let value = |cfg: &Cfg| cfg.values(key).next_back().map(|value| cfg.path(value, places));
        self.files.iter().rev().find_map(value)
    }
}

/// A value without quotes, in which `&` takes the next letter as it is. What follows the closing quote is ignored.
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

/// A path without `.` and `..`. Links in it are not followed, as OpenMW does not either.
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
    use std::fs;
    use std::path::Path;

    use super::{Cfg, Chain, Places, unquoted};

    #[test]
    fn quotes_escape_and_end_a_value() {
        assert_eq!(unquoted("\"a && &\"b&\"\" ignored"), "a & \"b\"");
        assert_eq!(unquoted("plain \"x\""), "plain \"x\"");
    }

    #[test]
    fn paths_begin_at_their_file_or_at_a_token() {
        let cfg = Cfg::parse(Path::new("/cfg"), b" # no=1\n a = x \n");
        let places = Places { user_data: "/data".into(), ..Places::default() };
        assert_eq!(cfg.values("a").collect::<Vec<_>>(), ["x"]);
        assert_eq!(cfg.path("./mods/../x", &places), Path::new("/cfg/x"));
        assert_eq!(cfg.path("?userdata?data", &places), Path::new("/data/data"));
        assert_eq!(cfg.path("/absolute", &places), Path::new("/absolute"));
    }

    /// A chain of folders with these texts, each of which may name others.
    fn chain(files: &[(&str, &str)]) -> (Vec<String>, Chain) {
        let dir = tempfile::tempdir().unwrap();
        for (folder, text) in files {
            fs::create_dir(dir.path().join(folder)).unwrap();
            fs::write(dir.path().join(folder).join("openmw.cfg"), text).unwrap();
        }
        let places = Places { local: dir.path().join(files[0].0), ..Places::default() };
        let mut notes = Vec::new();
        let chain = Chain::read(&places, &mut notes);
        let name = |cfg: &Cfg| cfg.folder.file_name().unwrap().to_string_lossy().into_owned();
        (chain.files.iter().map(name).collect(), chain)
    }

    #[test]
    fn what_a_file_names_is_read_before_what_was_named_earlier_and_once() {
        let files = [
            ("1", "config=../2\nconfig=../3\nl=1\n"),
            ("2", "config=../4\nl=2\n"),
            ("3", "config=../1\nl=3\nreplace=m\nm=3\n"),
            ("4", "l=4\nm=4\n"),
        ];
        let (names, chain) = chain(&files);
        assert_eq!(names, ["1", "2", "4", "3"]);
        let values = |key| chain.list(key).into_iter().map(|(_, value)| value).collect::<Vec<_>>();
        assert_eq!(
            (values("l"), values("m")),
            (vec!["1".into(), "2".into(), "4".into(), "3".into()], vec!["3".to_owned()])
        );
    }

    #[test]
    fn replacing_the_chain_leaves_the_first_file() {
        let files = [("1", "config=../2\nconfig=../3\n"), ("2", ""), ("3", "replace=config\nconfig=../2\n")];
        assert_eq!(chain(&files).0, ["1", "3"]);
    }
}
