//! The layers to open: those that the user or a game names, and the archives in folders.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::folder::{Filter, OnlyPaths};
use crate::game::{FolderFilter, LayerKind, LoadOrder, LooseRule, ONLY_BELOW};
use crate::vfs::open_options::{FolderArchives, Within};

/// How the rules of a game affect one of its layers. Layers that the user names have no rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct LayerRules {
    /// The number of the game among the sources, if dates decide among its layers.
    pub(crate) by_date: Option<u16>,
    /// Paths that are left out if the layer is an archive. They are in lower case, with `/` between names.
    pub(crate) invalidated: Arc<HashSet<Vec<u8>>>,
    /// The folder of the tree below which files are listed; `None` for the whole tree.
    pub(crate) within: Option<Within>,
}

impl LayerRules {
    fn of(order: &LoadOrder, number: u16) -> Self {
        let invalidated = order.invalidated.iter().map(|path| path.as_bytes().to_vec());
        Self {
            by_date: (order.precedence.loose == LooseRule::ByDate).then_some(number),
            invalidated: Arc::new(invalidated.collect()),
            within: None,
        }
    }
}

/// A layer to open. Lists of layers begin with the lowest.
#[derive(Clone, Debug)]
pub(crate) enum PlannedLayer {
    Archive {
        path: PathBuf,
        /// Whether it is an error if the archive cannot be opened. Otherwise it is left out with a warning.
        is_needed: bool,
        /// Why a game loads the archive; empty if the user named it.
        why: String,
        rules: LayerRules,
    },
    /// A folder of loose files.
    Folder(PlannedFolder),
}

/// A folder of loose files to walk.
#[derive(Clone, Debug)]
pub(crate) struct PlannedFolder {
    pub(crate) path: PathBuf,
    pub(crate) filter: Filter,
    /// Whether archives directly in the folder become layers below it, ordered by name.
    pub(crate) opens_archives: bool,
    /// Whether archives directly in the folder that are layers are also listed as files.
    pub(crate) lists_archives: bool,
    /// Whether to leave out top folders that archives have too.
    pub(crate) hides_served: bool,
    /// If so, the folders whose loose files the game reads. Another layer has them.
    pub(crate) reads: Vec<String>,
    /// Why a game loads the folder; empty if the user named it.
    pub(crate) why: String,
    pub(crate) rules: LayerRules,
}

impl PlannedLayer {
    /// An archive that the user named.
    pub(crate) fn archive(path: &Path) -> Self {
        let rules = LayerRules::default();
        Self::Archive { path: path.to_owned(), is_needed: true, why: String::new(), rules }
    }

    /// The folder of loose files; `None` for an archive.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Archive { .. } => None,
            Self::Folder(folder) => Some(&folder.path),
        }
    }

    /// The folder of loose files, if a game or a mod manager loads it and the user did not name it.
    pub(crate) fn loaded_folder(&self) -> Option<&Path> {
        match self {
            Self::Folder(folder) if !folder.why.is_empty() => Some(&folder.path),
            _ => None,
        }
    }

    /// Has the walk of a folder leave out links that another user decides.
    pub(crate) fn follow_only_roots_links(&mut self) {
        if let Self::Folder(folder) = self {
            folder.filter.only_roots_links = true;
        }
    }

    /// Has the walk of a folder take only some paths.
    pub(crate) fn limit_paths(&mut self, only: &Arc<OnlyPaths>) {
        if let Self::Folder(folder) = self {
            folder.filter.only = Some(only.clone());
        }
    }

    /// Limits the layer to the files below a folder of the tree.
    pub(crate) fn limit(&mut self, within: Option<&Within>) {
        match self {
            Self::Archive { rules, .. } => rules.within = within.cloned(),
            Self::Folder(folder) => folder.rules.within = within.cloned(),
        }
    }
}

/// What follows the reason for a folder that is two layers, in the lower and in the upper one.
const IN_UNSERVED: &str = ", in a folder that no archive has";
const READ: &str = ", at the top or below the folders in sResourceDataDirsFinal";

/// The layers of a game's load order. `number` is the number of the game among the sources. If the
/// game reads only some subfolders of a folder, the folder becomes two layers. One shows these
/// subfolders, above all other layers. The other shows what else no archive has, at the planned place.
pub(crate) fn of_order(order: &LoadOrder, number: u16, archives: FolderArchives) -> Vec<PlannedLayer> {
    let (mut layers, mut above) = (Vec::with_capacity(order.layers.len()), Vec::new());
    let rules = LayerRules::of(order, number);
    for layer in &order.layers {
        let (path, why) = (layer.path.clone(), layer.why.clone());
        let reason = |which: &str| format!("{}{which}", why.strip_suffix(ONLY_BELOW).unwrap_or(&why));
        if layer.what == LayerKind::Archive {
            layers.push(PlannedLayer::Archive { path, is_needed: false, why, rules: rules.clone() });
            continue;
        }
        let filter = filter_of(&layer.shown);
        let folder = |filter, hides_served| {
            let reads = layer.shown.only.clone().filter(|_| hides_served).unwrap_or_default();
            PlannedLayer::Folder(PlannedFolder {
                reads,
                path: path.clone(),
                filter,
                opens_archives: false,
                lists_archives: archives != FolderArchives::Open,
                hides_served,
                why: match (&layer.shown.only, hides_served) {
                    (None, _) => why.clone(),
                    (Some(_), true) => reason(IN_UNSERVED),
                    (Some(_), false) => reason(READ),
                },
                rules: rules.clone(),
            })
        };
        match &layer.shown.only {
            None => layers.push(folder(filter, false)),
            Some(only) => {
                layers.push(folder(Filter { no_direct_files: true, ..filter.clone() }, true));
                above.push(folder(Filter { only_below: Some(only.clone()), ..filter }, false));
            }
        }
    }
    layers.append(&mut above);
    layers
}

/// The filter for walking a folder. It ignores [`FolderFilter::only`], which [`of_order`] turns into layers.
pub(crate) fn filter_of(shown: &FolderFilter) -> Filter {
    Filter { hidden: shown.hidden.clone(), ..Filter::default() }
}

impl PlannedFolder {
    /// The plan for a folder that the user names.
    pub(crate) fn named(path: &Path, archives: FolderArchives) -> Self {
        let (opens_archives, lists_archives) = match archives {
            FolderArchives::Open => (true, false),
            FolderArchives::Files => (false, true),
            FolderArchives::Both => (true, true),
        };
        Self {
            path: path.to_owned(),
            filter: Filter::default(),
            opens_archives,
            lists_archives,
            hides_served: false,
            reads: Vec::new(),
            why: String::new(),
            rules: LayerRules::default(),
        }
    }
}
