//! What of a folder counts as a change.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::covered::without_links;
use rustix::fs::inotify::ReadFlags;

/// What of a folder counts as a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// Whether a name that comes or goes does.
    pub names: bool,
    /// Whether a change of any file in it does, too.
    pub content: bool,
    /// Files of which everything does.
    pub files: BTreeSet<OsString>,
    /// Folders and links of which it does that they come and go.
    pub folders: BTreeSet<OsString>,
}

/// Folders, by their paths, and what of them counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interests(pub(super) BTreeMap<PathBuf, Interest>);

impl Interests {
    /// Everything in a folder counts, but for what is below its folders.
    pub fn add_folder(&mut self, folder: impl Into<PathBuf>) {
        let interest = self.0.entry(folder.into()).or_default();
        (interest.names, interest.content) = (true, true);
    }

    /// Names in a folder count.
    pub fn add_names(&mut self, folder: impl Into<PathBuf>) {
        self.0.entry(folder.into()).or_default().names = true;
    }

    /// A file counts, or its absence; where links lead to it, these and what they lead to as well.
    pub fn add_file(&mut self, path: &Path) {
        self.add_name(path);
        let target = without_links(path, |folder, name| self.add_entry(folder, name));
        if target != path {
            self.add_name(&target);
        }
    }

    /// Adds what counts of a folder.
    pub(super) fn merge(&mut self, folder: PathBuf, more: Interest) {
        let interest = self.0.entry(folder).or_default();
        interest.names |= more.names;
        interest.content |= more.content;
        interest.files.extend(more.files);
        interest.folders.extend(more.folders);
    }

    /// That a name in a folder comes and goes counts.
    pub(super) fn add_entry(&mut self, folder: &Path, name: &OsStr) {
        self.0.entry(folder.to_owned()).or_default().folders.insert(name.to_owned());
    }

    fn add_name(&mut self, path: &Path) {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
        self.0.entry(folder.to_owned()).or_default().files.insert(name.to_owned());
    }
}

impl Interest {
    /// Whether writes to files count, and not only that names come and go.
    pub(super) fn is_of_content(&self) -> bool {
        self.content || !self.files.is_empty()
    }

    /// Whether an event counts, by the name that it is about.
    pub(super) fn includes(&self, event: ReadFlags, name: Option<&OsStr>) -> bool {
        // The folder itself is gone, or events were lost.
        let Some(name) = name else { return true };
        let is_of_names = event
            .intersects(ReadFlags::CREATE | ReadFlags::DELETE | ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO);
        let is_named = self.names || self.folders.contains(name);
        self.content || (is_named && is_of_names) || self.files.contains(name)
    }
}
