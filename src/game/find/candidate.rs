//! Folders that may hold a game, as launchers list them, and the report of the search.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::game::disk::Disk;
use crate::game::storefront::Storefront;
use crate::game::titles::title::Title;

/// A folder that may hold a game.
#[derive(Debug)]
pub(super) struct Candidate {
    /// The path of the folder.
    pub(super) folder: PathBuf,
    /// The game according to an id in the launcher's list; `None` if the list has no ids.
    pub(super) title: Option<&'static Title>,
    /// The store according to the launcher's list.
    pub(super) store: Storefront,
    /// The Wine prefix: the folder that contains `drive_c`.
    pub(super) prefix: Option<PathBuf>,
    /// The language as the store names it.
    pub(super) language: Option<String>,
}

impl Candidate {
    /// Creates a candidate for a folder that no list describes.
    pub(super) fn unlisted(folder: PathBuf, prefix: Option<PathBuf>) -> Self {
        Self { folder, title: None, store: Storefront::Unknown, prefix, language: None }
    }
}

/// Results of the search besides installations.
#[derive(Debug)]
pub(super) struct Report<'a> {
    /// The disk that is searched.
    pub(super) disk: &'a Disk,
    /// Paths that look like a game or a list of games, and why they cannot be used.
    pub(super) unusable: Vec<(PathBuf, String)>,
    /// Paths where the search looked for games, including those that do not exist.
    pub(super) searched: Vec<PathBuf>,
}

impl<'a> Report<'a> {
    /// Creates an empty report.
    pub(super) fn new(disk: &'a Disk) -> Self {
        Self { disk, unusable: Vec::new(), searched: Vec::new() }
    }

    /// Reads a list of at most `limit` bytes. Reports a list that exists but cannot be read.
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

    /// Reads a list in JSON. Reports a list that exists but cannot be read or parsed.
    pub(super) fn read_json(&mut self, path: &Path, limit: usize) -> Option<serde_json::Value> {
        let text = self.read(path, limit)?;
        serde_json::from_str(&text).map_err(|error| self.unreadable(path, &error.to_string())).ok()
    }

    /// Reports a list that cannot be read.
    pub(super) fn unreadable(&mut self, path: &Path, why: &str) {
        self.unusable.push((path.to_owned(), format!("cannot be read: {why}")));
    }
}

/// Folders that were visited, by device and inode number because one folder may have many paths.
#[derive(Debug, Default)]
pub(super) struct VisitedFolders {
    identities: HashSet<(u64, u64)>,
}

impl VisitedFolders {
    /// Whether a folder exists and was not visited before. Marks it as visited.
    pub(super) fn is_new_folder(&mut self, disk: &Disk, path: &Path) -> bool {
        disk.identity(path).is_some_and(|it| self.identities.insert(it))
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
