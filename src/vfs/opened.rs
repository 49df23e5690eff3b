//! Sources that were opened: the names and bytes of their layers, and what opening found out.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::open_options::{ArchiveOptions, OpenOptions};
use super::opened_archive::Description;
use super::sources::resolve::OpenPlan;
use crate::content::Store;
use crate::folder::{LooseFolder, OpenFiles};
use crate::note::Note;
use crate::tree::{LayerNames, Tree};

/// Opened sources. The tree and the store are made of the same layers in the same order.
pub struct Opened {
    /// A later opening that finds nothing changed shares it.
    pub(crate) tree: Arc<Tree>,
    /// A hash of all that decided the tree, except the layers.
    pub(crate) rules: u64,
    pub(crate) store: Store,
    /// The names of each layer, without what the rules of a game change in them.
    pub(crate) names: Vec<Arc<LayerNames>>,
    /// A description of each layer, lowest first; `None` for a folder.
    pub(crate) descriptions: Vec<Option<Arc<Description>>>,
    /// What walks of folders left out, and archives that could not be opened, without what the plan notes.
    pub(crate) left_out: Vec<Note>,
    /// Loose files that a game ignores because of its settings, lowest folder first.
    pub(crate) ignored: Vec<IgnoredFiles>,
    /// Why a game loads each layer; empty if the user named it.
    pub(crate) reasons: Vec<String>,
    /// The layers that were opened, and the load order of the games among the sources.
    pub(crate) plan: Arc<OpenPlan>,
    /// The open files of all folders.
    pub(crate) files: Arc<OpenFiles>,
    /// The caller's sources and options, with absolute paths, for a reopening.
    pub(crate) sources: Vec<PathBuf>,
    pub(crate) options: OpenOptions,
    /// How archives were opened.
    pub(crate) archive_options: ArchiveOptions,
}

/// The loose files of a folder that a game ignores, although they are where it reads others.
#[derive(Debug)]
pub(crate) struct IgnoredFiles {
    pub(crate) folder: Arc<LooseFolder>,
    /// The folders below which the game reads loose files.
    pub(crate) reads: Vec<String>,
}

impl IgnoredFiles {
    /// Whether the file at a path is among them, ignoring case.
    pub(crate) fn has(&self, path: &str) -> bool {
        !self.reads.iter().any(|it| is_below(path, it)) && self.folder.names().find_file(path).is_some()
    }

    /// The paths below the folder, with `/` between names.
    pub(crate) fn paths(&self) -> impl Iterator<Item = String> {
        let names = self.folder.names();
        let paths = (0..names.file_count()).map(|file| names.file_path(file));
        let paths = paths.map(|path| String::from_utf8_lossy(&path).into_owned());
        paths.filter(|path| !self.reads.iter().any(|it| is_below(path, it)))
    }
}

/// Whether a path is below a folder, ignoring case.
fn is_below(path: &str, folder: &str) -> bool {
    let parts = path.split_at_checked(folder.len());
    parts.is_some_and(|(start, rest)| start.eq_ignore_ascii_case(folder) && rest.starts_with('/'))
}

impl Opened {
    /// The folders with a loose file at a path that a game ignores, highest first.
    pub(crate) fn ignored_at(&self, path: &str) -> impl Iterator<Item = &Path> {
        self.ignored.iter().rev().filter(move |it| it.has(path)).map(|it| it.folder.path())
    }

    /// The descriptions of the archives, lowest first.
    pub(crate) fn archives(&self) -> impl Iterator<Item = &Description> {
        self.descriptions.iter().flatten().map(|description| &**description)
    }
}

impl fmt::Debug for Opened {
    /// Prints only counts, because a tree may have a million files.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (layers, files) = (self.store.layers(), self.tree.files());
        f.debug_struct("Opened").field("layers", &layers).field("files", &files).finish_non_exhaustive()
    }
}
