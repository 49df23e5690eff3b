//! The layers to be opened, before any is: what a user names, and what a folder brings along.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use crate::folder::{self, Filter, LooseFolder, LooseNames, OpenFiles};
use crate::format::is_archive_name;
use crate::game::{LayerKind, LoadOrder, LooseRule, Shown};
use crate::system::covered::uncovered;
use crate::vfs::error::OpenError;
use crate::vfs::options::FolderArchives;
use crate::vfs::reuse::Reuse;

/// What the rules of a game do to one of its layers; nothing to what a user names.
#[derive(Clone, Debug, Default)]
pub(crate) struct LayerRules {
    /// The number among sources of the game among whose layers dates decide.
    pub(crate) by_date: Option<u16>,
    /// Paths that are left out if it is an archive; in small letters, `/` between names.
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

/// A layer, lowest first in a list of them.
#[derive(Clone, Debug)]
pub(crate) enum PlannedLayer {
    /// An archive.
    Archive {
        /// Its path.
        path: PathBuf,
        /// Whether it is an error where it cannot be opened; else that is a warning, and it is left out.
        is_needed: bool,
        /// Why a game loads it; empty where a user named it.
        why: String,
        rules: LayerRules,
    },
    /// A folder of loose files.
    Folder(PlannedFolder),
}

/// A folder of loose files.
#[derive(Clone, Debug)]
pub(crate) struct PlannedFolder {
    pub(crate) path: PathBuf,
    pub(crate) filter: Filter,
    /// Whether archives that lie directly in it are layers below it, in the order of their names.
    pub(crate) opens_archives: bool,
    /// Whether archives that lie directly in it and are layers are listed as files too.
    pub(crate) lists_archives: bool,
    /// Whether its folders that archives have too are left out.
    pub(crate) hides_served: bool,
    /// Why a game loads it; empty where a user named it.
    pub(crate) why: String,
    pub(crate) rules: LayerRules,
}

/// A layer whose names are known, if it is a folder.
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
    /// A folder that is walked once it is known what is in the archives.
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
    /// What a user names: an archive or a folder.
    pub(crate) fn named(path: &Path, archives: FolderArchives) -> Self {
        // What cannot be looked at is an error when it is opened.
        if uncovered(path).is_dir() {
            return Self::Folder(PlannedFolder::named(path, archives));
        }
        let rules = LayerRules::default();
        Self::Archive { path: path.to_owned(), is_needed: true, why: String::new(), rules }
    }
}

/// The layers of a game's plan, which has a number among sources. A folder of which the game looks at some folders alone becomes two: these above all, and
/// where it was planned what no archive has.
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

/// What of a folder is walked, but for [`Shown::only`], which [`of_order`] makes layers of.
pub(crate) fn filter_of(shown: &Shown) -> Filter {
    Filter {
        not_at_root: shown.without_names.clone(),
        not_folders: shown.without_folders.clone(),
        not_suffixes: shown.without_suffixes.clone(),
        ..Filter::default()
    }
}

impl PlannedFolder {
    /// A folder that a user names.
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

    /// Walks it.
    pub(crate) fn scan(&self, files: &Arc<OpenFiles>) -> Result<LooseFolder, OpenError> {
        folder::scan(&self.path, &self.filter, files).map_err(|error| match error {
            folder::ScanError::Io(error) if error.raw_os_error() != Some(Errno::NOSYS.raw_os_error()) => {
                OpenError::unreadable(&self.path, error)
            }
            error => OpenError::too_large(&self.path, error),
        })
    }

    /// Walks it. One that a game's plan has and that cannot be walked is a warning; the rest of the game is opened.
    /// That of a mounted view is kept.
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
                    log::warn!("{error}; it is no layer");
                    Ok(None)
                }
            },
        }
    }

    /// Walks it: it, and below it its archives.
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
            // Their names were taken out of its own.
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

/// The files directly in a folder that are called like archives, in the order of their names without case.
pub(crate) fn archives_in(folder: &Path, names: &LooseNames) -> Vec<PathBuf> {
    let mut found: Vec<&[u8]> =
        names.direct_files().map(|(_, name)| name).filter(|name| is_archive_name(name)).collect();
    found.sort_by_cached_key(|name| (name.to_ascii_lowercase(), name.to_vec()));
    let path = |name: &[u8]| folder.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(name));
    found.into_iter().map(path).collect()
}

/// Warnings that are printed of one folder.
const WARNINGS: usize = 20;

/// What a walk left out, for the user: what is perhaps missed as warnings, the rest with `-v`.
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
        log::warn!("{}: {dropped} more are left out", folder.path().display());
    }
}
