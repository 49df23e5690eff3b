//! Folders that may hold a game, as launchers list them, and the report of the search.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::Value;

use super::prefix::KnownPrefix;
use super::recognise::{self, Recognised};
use crate::game::disk::Disk;
use crate::game::storefront::Storefront;
use crate::game::titles::title::Title;
use crate::limits::SEARCH_READ_MAX;
use crate::note::Note;
use crate::shown::excerpt;
use crate::system::disk_id::DiskId;
use crate::system::text::size;

/// A folder that may hold a game.
#[derive(Debug)]
pub(super) struct GameCandidate {
    pub(super) folder: PathBuf,
    /// The game according to an id in the launcher's list; `None` if the list has no ids.
    pub(super) title: Option<&'static Title>,
    /// The store according to the launcher's list.
    pub(super) store: Storefront,
    /// The Wine prefix: the folder that contains `drive_c`.
    pub(super) prefix: Option<PathBuf>,
    /// The language as the store names it.
    pub(super) language: Option<String>,
    /// The launcher that has the prefix; empty if it is not known.
    pub(super) launcher: &'static str,
}

impl GameCandidate {
    /// Creates a candidate for a folder that no list describes.
    pub(super) fn unlisted(folder: PathBuf, prefix: Option<PathBuf>, launcher: &'static str) -> Self {
        Self { folder, title: None, store: Storefront::Unknown, prefix, language: None, launcher }
    }
}

/// A program that Steam starts but did not install.
#[derive(Debug, Default)]
pub(super) struct Shortcut {
    /// The id of the shortcut, which names its prefix.
    pub(super) app: u32,
    /// The program, and the folder that it starts in.
    pub(super) starts: Vec<PathBuf>,
}

/// Results of the search besides installations.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) disk: &'a Disk,
    /// The launcher whose place is searched.
    pub(super) launcher: &'static str,
    /// Paths that look like a game or a list of games, and why they cannot be used.
    pub(super) unusable: Vec<(PathBuf, String)>,
    /// Paths where the search looked for games, including those that do not exist.
    pub(super) searched: Vec<PathBuf>,
    /// All prefixes that were found, whether or not a game is in them.
    pub(super) prefixes: Vec<KnownPrefix>,
    /// Folders that may be instances of Mod Organizer 2, or have them this many levels below.
    pub(super) instances: Vec<(PathBuf, u8)>,
    /// Programs that Steam starts but did not install.
    pub(super) shortcuts: Vec<Shortcut>,
    visited: HashSet<(String, DiskId)>,
    /// Lists that [`Self::read_once`] read.
    read: HashSet<DiskId>,
    /// Lists in JSON that were parsed, `None` if that failed. Many games may need one list.
    parsed: HashMap<DiskId, Option<Rc<Value>>>,
    /// Number of bytes of all lists that were read.
    bytes: usize,
    /// What the folders contain that were recognised, because lists may name a folder many times.
    recognised: RefCell<HashMap<(DiskId, Option<&'static str>), Recognised>>,
}

impl<'a> Report<'a> {
    pub(super) fn new(disk: &'a Disk) -> Self {
        Self {
            disk,
            launcher: "",
            unusable: Vec::new(),
            searched: Vec::new(),
            prefixes: Vec::new(),
            instances: Vec::new(),
            shortcuts: Vec::new(),
            visited: HashSet::new(),
            read: HashSet::new(),
            parsed: HashMap::new(),
            bytes: 0,
            recognised: RefCell::default(),
        }
    }

    /// As [`Self::read`], but returns `None` if the same file was read before, perhaps by another path. A
    /// second link to a list names the same games.
    pub(super) fn read_once(&mut self, path: &Path, limit: usize) -> Option<String> {
        let is_known = self.disk.file_identity(path).is_some_and(|it| !self.read.insert(it));
        if is_known { None } else { self.read(path, limit) }
    }

    /// Whether a folder exists and was not visited before for this purpose. Marks it as visited. One folder
    /// may have many paths, so its device and inode number count.
    pub(super) fn is_new(&mut self, purpose: &str, folder: &Path) -> bool {
        self.disk.identity(folder).is_some_and(|it| self.visited.insert((purpose.to_owned(), it)))
    }

    /// Reads a list of at most `limit` bytes. Reports a list that exists but cannot be read.
    pub(super) fn read(&mut self, path: &Path, limit: usize) -> Option<String> {
        match self.disk.read(path, limit) {
            Ok(content) if self.bytes.saturating_add(content.len()) > SEARCH_READ_MAX => {
                let limit = size(SEARCH_READ_MAX as u64);
                self.unreadable(path, &format!("all lists of launchers together are larger than {limit}"));
                None
            }
            Ok(content) => {
                self.bytes += content.len();
                Some(String::from_utf8_lossy(&content).into_owned())
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                // It may be a link that leads nowhere.
                self.disk.is_named_file(path);
                None
            }
            Err(error) => {
                self.unreadable(path, &error.to_string());
                None
            }
        }
    }

    /// Reads a list in JSON, each list once. Reports a list that exists but cannot be read or parsed.
    pub(super) fn read_json(&mut self, path: &Path, limit: usize) -> Option<Rc<Value>> {
        let identity = self.disk.file_identity(path);
        if let Some(known) = identity.and_then(|it| self.parsed.get(&it)) {
            return known.clone();
        }
        let text = self.read(path, limit);
        let parsed = text.and_then(|text| {
            serde_json::from_str(&text).map_err(|error| self.unreadable(path, &error.to_string())).ok()
        });
        let parsed = parsed.map(Rc::new);
        self.parsed.extend(identity.map(|it| (it, parsed.clone())));
        parsed
    }

    /// Recognises the game in a folder. `expected` is the game that a launcher lists there.
    pub(super) fn recognise(&self, folder: &Path, expected: Option<&'static Title>) -> Recognised {
        let recognise = || recognise::recognise(self.disk, folder, expected);
        let Some(identity) = self.disk.identity(folder) else { return recognise() };
        let key = (identity, expected.map(|title| title.id));
        self.recognised.borrow_mut().entry(key).or_insert_with(recognise).clone()
    }

    /// The game folder of an executable, as [`recognise::game_folder`] finds it.
    pub(super) fn game_folder(&self, executable: &Path) -> Option<PathBuf> {
        recognise::game_folder(executable, |folder| self.recognise(folder, None))
    }

    /// Reports a list that cannot be read.
    pub(super) fn unreadable(&mut self, path: &Path, why: &str) {
        self.disk.add_unseen(Note::not_read(path, &excerpt(why)));
        self.unusable.push((path.to_owned(), format!("cannot be read: {}", excerpt(why))));
    }
}

/// Converts a path from a list, replacing `~` with the home. `None` if the result is relative.
pub(super) fn absolute(text: &str, home: &Path) -> Option<PathBuf> {
    let path = match text.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(text),
    };
    path.is_absolute().then_some(path)
}

/// A text in an object of a list; `None` if it is empty.
pub(super) fn text<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The items of a list, none if it is no list.
pub(super) fn array(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
