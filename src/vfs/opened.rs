//! Sources that were opened: the names and bytes of their layers, and what opening found out.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::open_options::OpenOptions;
use super::opened_archive::Description;
use super::sources::resolve::OpenPlan;
use crate::content::{Store, TextureForm};
use crate::folder::OpenFiles;
use crate::note::Note;
use crate::tree::{LayerNames, Tree};

/// Opened sources. The tree and the store are made of the same layers in the same order.
pub struct Opened {
    pub(crate) tree: Tree,
    pub(crate) store: Store,
    /// The names of each layer, without what the rules of a game change in them.
    pub(crate) names: Vec<Arc<LayerNames>>,
    /// A description of each layer, lowest first; `None` for a folder.
    pub(crate) descriptions: Vec<Option<Arc<Description>>>,
    /// What walks of folders left out, and archives that could not be opened, without what the plan notes.
    pub(crate) left_out: Vec<Note>,
    /// Why a game loads each layer; empty if the user named it.
    pub(crate) reasons: Vec<String>,
    /// The layers that were opened, and the load order of the games among the sources.
    pub(crate) plan: Arc<OpenPlan>,
    /// The open files of all folders.
    pub(crate) files: Arc<OpenFiles>,
    /// The caller's sources and options, with absolute paths, for a reopening.
    pub(crate) sources: Vec<PathBuf>,
    pub(crate) options: OpenOptions,
    /// The form in which textures of archives are shown.
    pub(crate) textures: TextureForm,
}

impl Opened {
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
