//! Which events in a folder count as changes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::system::covered::LinkWalk;
use rustix::fs::inotify::ReadFlags;

/// Which events in one folder count as changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Interest {
    /// Whether it counts when any name is added or removed.
    names: bool,
    /// Whether a change of any file in the folder counts too.
    content: bool,
    /// Boxed to save memory: for very many folders everything counts, and this is `None`.
    named: Option<Box<Named>>,
}

/// Names for which more events count than for the rest of the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Named {
    /// Files for which every event counts.
    files: BTreeSet<OsString>,
    /// Folders and links that are components of other watched paths. Adding or removing one counts.
    folders: BTreeSet<OsString>,
}

/// What an event means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The event does not count.
    None,
    /// Something changed in the folder.
    Changed,
    /// Paths that lead through the folder may lead elsewhere now.
    Moved,
}

/// The folders to watch, by path, with what counts in each.
#[derive(Debug, Default)]
pub struct Interests {
    pub(super) folders: BTreeMap<Arc<Path>, Interest>,
    /// Shared by all links, because most of them have much of their paths in common.
    links: LinkWalk,
}

impl Interests {
    /// Makes everything in a folder count, except what is in its subfolders.
    pub fn add_folder(&mut self, folder: impl Into<Arc<Path>>) {
        let interest = self.folders.entry(folder.into()).or_default();
        (interest.names, interest.content) = (true, true);
    }

    /// Makes added and removed names in a folder count.
    pub fn add_names(&mut self, folder: impl Into<Arc<Path>>) {
        self.folders.entry(folder.into()).or_default().names = true;
    }

    /// Makes a file count, even if it does not exist. If links lead to it, the links and their
    /// target count too.
    pub fn add_file(&mut self, path: &Path) {
        self.add_name(path);
        let target = self.follow(path, |_, _| true);
        if target != path {
            self.add_name(&target);
        }
    }

    /// Makes the components of the path from a link to its target count, except the link itself, which counts
    /// if its folder counts.
    pub fn add_way(&mut self, link: &Path) {
        self.follow(link, |folder, name| link.parent() != Some(folder) || link.file_name() != Some(name));
    }

    /// Makes the components of the path to a folder count, because they decide which folder it is.
    pub(super) fn add_way_to(&mut self, folder: &Path) {
        self.follow(folder, |_, _| true);
    }

    /// Adds each component of a path for which `counts` is true, and the components of links in it. Returns
    /// where the path leads.
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

    /// Adds what counts in a folder.
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

    /// Makes one name in a folder count when it is added or removed.
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
    /// Whether writes to files count, and not only added and removed names.
    pub(super) fn is_of_content(&self) -> bool {
        self.content || self.named.as_ref().is_some_and(|named| !named.files.is_empty())
    }

    /// Whether every added or removed name counts.
    pub(super) fn is_of_names(&self) -> bool {
        self.names || self.content
    }

    /// What an event means. `name` is the name that the event is about.
    pub(super) fn meaning(&self, event: ReadFlags, name: Option<&OsStr>) -> Meaning {
        // Without a name, the event is about the folder itself, which is gone.
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
