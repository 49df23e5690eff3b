//! The layers to open: those that the user or a game names, and the archives in folders.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use crate::folder::{self, Filter, LooseFolder, LooseNames, OpenFiles};
use crate::format::is_archive_name;
use crate::game::{FolderFilter, LayerKind, LoadOrder, LooseRule};
use crate::system::covered::uncovered;
use crate::vfs::error::OpenError;
use crate::vfs::options::FolderArchives;
use crate::vfs::reuse::Reuse;

/// How the rules of a game affect one of its layers. Layers that the user names have no rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct LayerRules {
    /// The number of the game among the sources, if dates decide among its layers.
    pub(crate) by_date: Option<u16>,
    /// Paths that are left out if the layer is an archive. They are in lower case, with `/` between names.
    pub(crate) invalidated: Arc<HashSet<Vec<u8>>>,
}

impl LayerRules {
    fn of(order: &LoadOrder, number: u16) -> Self {
        let invalidated = order.invalidated.iter().map(|path| path.as_bytes().to_vec());
        Self {
            by_date: (order.precedence.loose == LooseRule::ByDate).then_some(number),
            invalidated: Arc::new(invalidated.collect()),
        }
    }
}

/// A layer to open. Lists of layers begin with the lowest.
#[derive(Clone, Debug)]
pub(crate) enum PlannedLayer {
    /// An archive.
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
    /// Why a game loads the folder; empty if the user named it.
    pub(crate) why: String,
    pub(crate) rules: LayerRules,
}

/// A layer to open. A folder was walked by now, unless it is [`FoundLayer::Later`].
#[derive(Debug)]
pub(crate) enum FoundLayer {
    Archive {
        path: PathBuf,
        is_needed: bool,
        why: String,
        rules: LayerRules,
    },
    Folder {
        folder: Arc<LooseFolder>,
        lists_archives: bool,
        why: String,
        rules: LayerRules,
    },
    /// A folder that is walked only when the contents of the archives are known.
    Later(PlannedFolder),
}

impl FoundLayer {
    /// The path of the archive or folder.
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::Archive { path, .. } => path.clone(),
            Self::Folder { folder, .. } => folder.path().to_owned(),
            Self::Later(folder) => folder.path.clone(),
        }
    }
}

impl PlannedLayer {
    /// The layer of an archive or folder that the user names.
    pub(crate) fn named(path: &Path, archives: FolderArchives) -> Self {
        // If the path cannot be statted, opening it will fail with the reason.
        if uncovered(path).is_dir() {
            return Self::Folder(PlannedFolder::named(path, archives));
        }
        let rules = LayerRules::default();
        Self::Archive { path: path.to_owned(), is_needed: true, why: String::new(), rules }
    }
}

/// The layers of a game's load order. `number` is the number of the game among the sources. If the
/// game reads only some subfolders of a folder, the folder becomes two layers. One shows these
/// subfolders, above all other layers. The other shows what no archive has, at the planned place.
pub(crate) fn of_order(order: &LoadOrder, number: u16, archives: FolderArchives) -> Vec<PlannedLayer> {
    let (mut layers, mut above) = (Vec::with_capacity(order.layers.len()), Vec::new());
    let rules = LayerRules::of(order, number);
    for layer in &order.layers {
        let (path, why) = (layer.path.clone(), layer.why.clone());
        if layer.what == LayerKind::Archive {
            layers.push(PlannedLayer::Archive { path, is_needed: false, why, rules: rules.clone() });
            continue;
        }
        let filter = filter_of(&layer.shown);
        let folder = |filter, hides_served| {
            PlannedLayer::Folder(PlannedFolder {
                path: path.clone(),
                filter,
                opens_archives: false,
                lists_archives: archives != FolderArchives::Open,
                hides_served,
                why: why.clone(),
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
    Filter {
        not_at_root: shown.without_names.clone(),
        not_folders: shown.without_folders.clone(),
        not_suffixes: shown.without_suffixes.clone(),
        ..Filter::default()
    }
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
            why: String::new(),
            rules: LayerRules::default(),
        }
    }

    /// Walks the folder.
    pub(crate) fn scan(&self, files: &Arc<OpenFiles>) -> Result<LooseFolder, OpenError> {
        folder::scan(&self.path, &self.filter, files).map_err(|error| match error {
            folder::ScanError::Io(error) if error.raw_os_error() != Some(Errno::NOSYS.raw_os_error()) => {
                OpenError::unreadable(&self.path, error)
            }
            error => OpenError::too_large(&self.path, error),
        })
    }

    /// Walks the folder. If that fails, the folder of the mounted view is kept. If there is none, a folder
    /// from a game's load order is left out with a warning, so that the rest of the game is opened.
    pub(crate) fn scan_or_warn(
        &self,
        files: &Arc<OpenFiles>,
        earlier: Option<&Reuse<'_>>,
    ) -> Result<Option<Arc<LooseFolder>>, OpenError> {
        match self.scan(files) {
            Ok(folder) => {
                report_notes(&folder);
                Ok(Some(Arc::new(folder)))
            }
            Err(error) => match earlier.filter(|it| it.contains(&self.path)) {
                Some(earlier) => Ok(earlier.folder(&self.path, &self.filter, &error)),
                None if self.why.is_empty() => Err(error),
                None => {
                    log::warn!("{error}; the folder is left out");
                    Ok(None)
                }
            },
        }
    }

    /// Walks the folder. Returns its archives, lowest first, and above them the folder.
    pub(crate) fn find(
        &self,
        files: &Arc<OpenFiles>,
        earlier: Option<&Reuse<'_>>,
    ) -> Result<Vec<FoundLayer>, OpenError> {
        if self.hides_served {
            return Ok(vec![FoundLayer::Later(self.clone())]);
        }
        let Some(folder) = self.scan_or_warn(files, earlier)? else { return Ok(Vec::new()) };
        let archives = match (self.opens_archives, earlier.filter(|it| it.contains_folder(&folder))) {
            (false, _) => Vec::new(),
            (true, None) => archives_in(folder.path(), folder.names()),
            // A kept folder does not list its archives any more.
            (true, Some(earlier)) => earlier.archives_in(folder.path()),
        };
        let (why, rules) = (|| self.why.clone(), || self.rules.clone());
        let archive = |path| FoundLayer::Archive { path, is_needed: false, why: why(), rules: rules() };
        let mut layers: Vec<FoundLayer> = archives.into_iter().map(archive).collect();
        let lists_archives = self.lists_archives;
        layers.push(FoundLayer::Folder { folder, lists_archives, why: why(), rules: rules() });
        Ok(layers)
    }
}

/// The files directly in a folder that are named like archives, ordered by name without regard to case.
pub(crate) fn archives_in(folder: &Path, names: &LooseNames) -> Vec<PathBuf> {
    let mut found: Vec<&[u8]> =
        names.direct_files().map(|(_, name)| name).filter(|name| is_archive_name(name)).collect();
    found.sort_by_cached_key(|name| (name.to_ascii_lowercase(), name.to_vec()));
    let path = |name: &[u8]| folder.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(name));
    found.into_iter().map(path).collect()
}

/// Maximum number of warnings that are printed for a folder.
const WARNINGS: usize = 20;

/// Reports what a walk left out: what the user may miss as warnings, the rest with `-v`.
fn report_notes(folder: &LooseFolder) {
    let (notes, mut dropped) = folder.notes();
    let mut warnings = 0;
    for note in notes {
        let path = folder.path().join(String::from_utf8_lossy(&note.path).as_ref());
        if !note.why.is_warning() {
            log::info!("{}: {}", path.display(), note.why);
        } else if warnings < WARNINGS {
            log::warn!("{}: {}", path.display(), note.why);
            warnings += 1;
        } else {
            dropped += 1;
        }
    }
    if dropped > 0 {
        log::warn!("{}: left out {dropped} more files or folders", folder.path().display());
    }
}
