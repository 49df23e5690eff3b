//! What a launcher's list says of a game, before its folder is looked at; and what is reported on the way.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::game::disk::Disk;
use crate::game::storefront::Storefront;
use crate::game::titles::title::Title;

/// A folder that may hold a game.
#[derive(Debug)]
pub(super) struct Candidate {
    /// The folder.
    pub(super) folder: PathBuf,
    /// The game that is there by an id in the list; `None` where the list has no ids.
    pub(super) title: Option<&'static Title>,
    /// The store by the list.
    pub(super) store: Storefront,
    /// The folder with `drive_c`.
    pub(super) prefix: Option<PathBuf>,
    /// The language as the store names it.
    pub(super) language: Option<String>,
}

impl Candidate {
    /// A folder of which no list says anything.
    pub(super) fn unlisted(folder: PathBuf, prefix: Option<PathBuf>) -> Self {
        Self { folder, title: None, store: Storefront::Unknown, prefix, language: None }
    }
}

/// What finding reports besides installations.
#[derive(Debug)]
pub(super) struct Report<'a> {
    /// The disk that is searched.
    pub(super) disk: &'a Disk,
    /// What looks like a game or a list of games, and why it cannot be used.
    pub(super) unusable: Vec<(PathBuf, String)>,
    /// Where games were looked for, whether it exists or not.
    pub(super) looked: Vec<PathBuf>,
}

impl<'a> Report<'a> {
    /// An empty report.
    pub(super) fn new(disk: &'a Disk) -> Self {
        Self { disk, unusable: Vec::new(), looked: Vec::new() }
    }

    /// The text of a list of at most `limit` bytes; what is wrong with one that exists is reported.
    pub(super) fn read(&mut self, path: &Path, limit: usize) -> Option<String> {
        match self.disk.read(path, limit) {
            Ok(content) => Some(String::from_utf8_lossy(&content).into_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                self.unreadable(path, &error.to_string());
                None
            }
        }
    }

    /// A list whose JSON is read; what is wrong with one that exists is reported.
    pub(super) fn read_json(&mut self, path: &Path, limit: usize) -> Option<serde_json::Value> {
        let text = self.read(path, limit)?;
        serde_json::from_str(&text).map_err(|error| self.unreadable(path, &error.to_string())).ok()
    }

    /// A list that cannot be read.
    pub(super) fn unreadable(&mut self, path: &Path, why: &str) {
        self.unusable.push((path.to_owned(), format!("cannot be read: {why}")));
    }
}

/// Folders that were met, by device and inode: the same folder often has several paths.
#[derive(Debug, Default)]
pub(super) struct Met {
    identities: HashSet<(u64, u64)>,
}

impl Met {
    /// Whether a folder exists and was not met before.
    pub(super) fn is_new_folder(&mut self, disk: &Disk, path: &Path) -> bool {
        disk.identity(path).is_some_and(|it| self.identities.insert(it))
    }
}

/// A path of a list, if it is absolute once `~` is the home.
pub(super) fn absolute(text: &str, home: &Path) -> Option<PathBuf> {
    let path = match text.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(text),
    };
    path.is_absolute().then_some(path)
}
