//! Which events in a folder count as changes, and what they mean.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::inotify::ReadFlags;

use crate::system::covered::LinkWalk;

/// The path of a watched folder, as bytes.
pub type FolderPath = Arc<OsStr>;

/// What an event means. Several may be true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meaning {
    /// Something changed in a folder whose entries all count.
    pub is_content: bool,
    /// A file changed that was added by its name.
    pub is_file: bool,
    /// Something changed that decides which sources are opened.
    pub is_plan: bool,
    /// A component of the path to a watched folder was added or removed.
    pub is_way: bool,
    /// A link was added or removed through which others lead, so paths may lead elsewhere now.
    pub is_link: bool,
    /// A name was added or removed.
    pub is_of_names: bool,
}

/// What counts in one folder besides its entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Interest {
    /// Whether it counts as a change of the plan if any name is added or removed.
    plan_names: bool,
    /// For each name that counts, how.
    names: BTreeMap<OsString, u8>,
}

/// Every event of the file counts.
const FILE: u8 = 1;
/// Every event of the file counts, and changes the plan.
const PLAN: u8 = 2;
/// The name is a component of the path to a watched folder.
const WAY: u8 = 4;
/// The name is a component of the path from a link to its target.
const LINK: u8 = 8;

/// What to watch besides the entries of folders.
#[derive(Debug, Default)]
pub struct Interests {
    pub(super) folders: BTreeMap<FolderPath, Interest>,
    /// The paths that were followed, because most of them have much in common.
    ways: LinkWalk,
    links: LinkWalk,
}

impl Interests {
    /// Makes a file count, even if it does not exist. If links lead to it, the links and their
    /// target count too.
    pub fn add_file(&mut self, path: &Path) {
        self.add(path, FILE);
    }

    /// Like [`Interests::add_file`], for a file that decides which sources are opened.
    pub fn add_plan_file(&mut self, path: &Path) {
        self.add(path, PLAN);
    }

    /// Makes added and removed names in a folder count as changes of the plan.
    pub fn add_plan_names(&mut self, folder: &Path) {
        self.interest(folder).plan_names = true;
        self.add_way_to(folder);
    }

    /// Makes the components of the path from a link to its target count, except the link itself, which counts
    /// if its folder counts.
    pub fn add_link(&mut self, link: &Path) {
        let mut links = std::mem::take(&mut self.links);
        links.follow(link, &mut |folder, name| self.add_component(folder, name, link, LINK));
        self.links = links;
    }

    /// Makes the components of the path to a folder count, because they decide which folder it is.
    pub fn add_way_to(&mut self, folder: &Path) {
        self.follow(folder);
        self.add_name(folder, WAY);
    }

    fn add(&mut self, path: &Path, how: u8) {
        self.add_name(path, how);
        let target = self.follow(path);
        if target != path {
            self.add_name(&target, how);
        }
    }

    /// Adds the components of a path, except the last one, and the components of links in it. Returns where
    /// the path leads.
    fn follow(&mut self, path: &Path) -> PathBuf {
        let mut ways = std::mem::take(&mut self.ways);
        let target = ways.follow(path, &mut |folder, name| self.add_component(folder, name, path, WAY));
        self.ways = ways;
        target
    }

    fn add_component(&mut self, folder: &Path, name: &OsStr, of: &Path, how: u8) {
        if of.parent() != Some(folder) || of.file_name() != Some(name) {
            *self.interest(folder).names.entry(name.to_owned()).or_default() |= how;
        }
    }

    fn add_name(&mut self, path: &Path, how: u8) {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
        if folder.as_os_str().is_empty() {
            return;
        }
        *self.interest(folder).names.entry(name.to_owned()).or_default() |= how;
    }

    fn interest(&mut self, folder: &Path) -> &mut Interest {
        self.folders.entry(folder.as_os_str().into()).or_default()
    }
}

impl Interest {
    pub(super) fn is_empty(&self) -> bool {
        !self.plan_names && self.names.is_empty()
    }

    /// Whether writes to files count, and not only added and removed names.
    pub(super) fn is_of_content(&self) -> bool {
        self.names.values().any(|how| how & (FILE | PLAN) != 0)
    }

    /// Whether the load order may depend on names or files in the folder.
    pub(super) fn is_of_plan(&self) -> bool {
        self.plan_names || self.names.values().any(|how| how & (PLAN | WAY | LINK) != 0)
    }

    /// Whether links in other folders lead through the folder.
    pub(super) fn is_of_links(&self) -> bool {
        self.names.values().any(|how| how & LINK != 0)
    }

    /// What an event means. `name` is the name that the event is about; without one, it is about the folder
    /// itself. `is_content` says whether all entries of the folder count.
    pub(super) fn meaning(&self, event: ReadFlags, name: Option<&OsStr>, is_content: bool) -> Meaning {
        let is_of_names = event
            .intersects(ReadFlags::CREATE | ReadFlags::DELETE | ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO);
        let how = name.and_then(|name| self.names.get(name)).copied().unwrap_or(0);
        Meaning {
            is_content,
            is_file: how & (FILE | PLAN) != 0 || name.is_none(),
            is_plan: how & PLAN != 0 || self.plan_names && (is_of_names || name.is_none()),
            is_way: how & WAY != 0 && is_of_names,
            is_link: how & LINK != 0 && is_of_names,
            is_of_names,
        }
    }
}

impl Meaning {
    pub(super) fn counts(self) -> bool {
        self.is_content || self.is_file || self.is_plan || self.is_way || self.is_link
    }
}
