//! What of a folder counts as a change.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::system::covered::LinkWalk;
use rustix::fs::inotify::ReadFlags;

/// What of a folder counts as a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Interest {
    /// Whether a name that comes or goes does.
    names: bool,
    /// Whether a change of any file in it does, too.
    content: bool,
    /// Boxed: of very many folders everything counts.
    named: Option<Box<Named>>,
}

/// Names of which more counts than of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Named {
    /// Files of which everything does.
    files: BTreeSet<OsString>,
    /// Folders and links on the way to others, of which it does that they come and go.
    folders: BTreeSet<OsString>,
}

/// What an event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Nothing that counts.
    None,
    /// Something changed in the folder.
    Changed,
    /// Paths that lead through the folder may lead elsewhere now.
    Moved,
}

/// Folders, by their paths, and what of them counts.
#[derive(Debug, Default)]
pub struct Interests {
    pub(super) folders: BTreeMap<Arc<Path>, Interest>,
    /// Of very many links most have the way in common.
    links: LinkWalk,
}

impl Interests {
    /// Everything in a folder counts, but for what is below its folders.
    pub fn add_folder(&mut self, folder: impl Into<Arc<Path>>) {
        let interest = self.folders.entry(folder.into()).or_default();
        (interest.names, interest.content) = (true, true);
    }

    /// Names in a folder count.
    pub fn add_names(&mut self, folder: impl Into<Arc<Path>>) {
        self.folders.entry(folder.into()).or_default().names = true;
    }

    /// A file counts, or its absence; where links lead to it, these and what they lead to as well.
    pub fn add_file(&mut self, path: &Path) {
        self.add_name(path);
        let target = self.follow(path, |_, _| true);
        if target != path {
            self.add_name(&target);
        }
    }

    /// What is on the way from a link to what it leads to counts; the link itself does where its folder does.
    pub fn add_way(&mut self, link: &Path) {
        self.follow(link, |folder, name| link.parent() != Some(folder) || link.file_name() != Some(name));
    }

    /// That a folder is where it is counts, of the names on the way to it.
    pub(super) fn add_way_to(&mut self, folder: &Path) {
        self.follow(folder, |_, _| true);
    }

    /// Adds what is looked up on the way to a path and `counts`; returns where that leads.
    fn follow(&mut self, path: &Path, counts: impl Fn(&Path, &OsStr) -> bool) -> PathBuf {
        let mut links = std::mem::take(&mut self.links);
        let target = links.follow(path, &mut |folder, name| {
            if counts(folder, name) {
                self.add_entry(folder, name);
            }
        });
        self.links = links;
        target
    }

    /// Adds what counts of a folder.
    pub(super) fn merge(&mut self, folder: Arc<Path>, more: Interest) {
        let interest = self.folders.entry(folder).or_default();
        interest.names |= more.names;
        interest.content |= more.content;
        if let Some(named) = more.named {
            let all = interest.named();
            all.files.extend(named.files);
            all.folders.extend(named.folders);
        }
    }

    /// That a name in a folder comes and goes counts.
    pub(super) fn add_entry(&mut self, folder: &Path, name: &OsStr) {
        self.interest(folder).named().folders.insert(name.to_owned());
    }

    fn add_name(&mut self, path: &Path) {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
        self.interest(folder).named().files.insert(name.to_owned());
    }

    fn interest(&mut self, folder: &Path) -> &mut Interest {
        self.folders.entry(folder.into()).or_default()
    }
}

impl Interest {
    /// Whether writes to files count, and not only that names come and go.
    pub(super) fn is_of_content(&self) -> bool {
        self.content || self.named.as_ref().is_some_and(|named| !named.files.is_empty())
    }

    /// Whether it counts that any name comes or goes.
    pub(super) fn is_of_names(&self) -> bool {
        self.names || self.content
    }

    /// What an event says, by the name that it is about.
    pub(super) fn meaning(&self, event: ReadFlags, name: Option<&OsStr>) -> Meaning {
        // The folder itself is gone.
        let Some(name) = name else { return Meaning::Changed };
        let is_of_names = event
            .intersects(ReadFlags::CREATE | ReadFlags::DELETE | ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO);
        let has = |of: fn(&Named) -> &BTreeSet<OsString>| {
            self.named.as_ref().is_some_and(|named| of(named).contains(name))
        };
        if is_of_names && has(|named| &named.folders) {
            return Meaning::Moved;
        }
        let counts = self.content || (self.names && is_of_names) || has(|named| &named.files);
        if counts { Meaning::Changed } else { Meaning::None }
    }

    fn named(&mut self) -> &mut Named {
        self.named.get_or_insert_default()
    }
}
