//! Reuses the mounted view when its sources are opened again. A source that cannot be opened now is
//! kept as it was, so that one damaged archive does not hold back other changes.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::error::OpenError;
use super::opened::Opened;
use super::opened_archive::{Content, OpenedArchive};
use crate::content::Store;
use crate::folder::{Filter, LooseFolder};
use crate::system::clock::unix_seconds;
use crate::system::covered::uncovered;
use crate::tree::LayerNames;

/// The view that is served while its sources are opened again.
pub(crate) struct Reuse<'a> {
    opened: &'a Opened,
    /// Whether nothing changed in a folder since its files were statted.
    is_quiet: &'a (dyn Fn(&Path) -> bool + Sync),
    /// Whether to take archives that seem to be half written.
    takes_unfinished: bool,
    kept: Mutex<Vec<KeptSource>>,
}

/// A source that could not be opened again, and is kept as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptSource {
    /// What is wrong, with the path of the source.
    pub(crate) what: String,
    /// Whether the source may be an archive that is still being written.
    pub(crate) is_unfinished: bool,
    /// Whether the source is a folder that could not be walked.
    pub(crate) is_folder: bool,
}

/// Seconds after the last write during which a truncated archive counts as half written.
pub(crate) const SETTLED: u64 = 3;

impl<'a> Reuse<'a> {
    pub(crate) fn new(
        opened: &'a Opened,
        is_quiet: &'a (dyn Fn(&Path) -> bool + Sync),
        takes_unfinished: bool,
    ) -> Self {
        Self { opened, is_quiet, takes_unfinished, kept: Mutex::default() }
    }

    /// The store that is served.
    pub(crate) fn store(&self) -> &Store {
        &self.opened.store
    }

    /// The sources that could not be opened so far, without duplicates.
    pub(crate) fn kept(self) -> Vec<KeptSource> {
        let mut kept = self.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        kept.sort_unstable_by(|a, b| a.what.cmp(&b.what));
        kept.dedup();
        kept
    }

    /// Returns the opened archive. If it could not be opened or is half written, returns the mounted one, or
    /// `None` if it is not mounted. The files lie in the folder `base`, if that is given.
    pub(crate) fn archive(
        &self,
        path: &Path,
        base: Option<&str>,
        opened: Result<OpenedArchive, OpenError>,
    ) -> Option<OpenedArchive> {
        let (what, is_unfinished) = match opened {
            Ok(archive) if self.is_whole(&archive) => return Some(archive),
            Ok(_) => (format!("{} is still being written", path.display()), true),
            Err(error) => (error.to_string(), false),
        };
        self.note(KeptSource { what, is_unfinished, is_folder: false });
        let store = &self.opened.store;
        let named = store.layers_at(path).filter(|&layer| !store.is_folder(layer));
        // An archive that is named twice has two layers. Takes the one in the same folder,
        // otherwise the last one, whose files are shown.
        let mut named: Vec<(u16, LayerNames)> =
            named.map(|layer| (layer, self.opened.tree.layer(layer))).collect();
        let same = named.iter().position(|(_, names)| base.is_some_and(|base| names.is_in_folder(base)));
        let (layer, names) = named.swap_remove(same.or(named.len().checked_sub(1))?);
        let names = match base {
            Some(base) => names.in_folder(base).ok()?,
            None => names,
        };
        Some(OpenedArchive {
            path: path.to_owned(),
            modified: store.modified(layer),
            content: Content::Mounted(layer),
            layer: names,
            description: None,
        })
    }

    /// Whether a mounted layer has this path.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        self.opened.store.layer_at(path).is_some()
    }

    /// The mounted folder, in place of one that could not be walked. If the folder has two layers,
    /// takes the one that shows the same part.
    pub(crate) fn folder(&self, path: &Path, filter: &Filter, error: &OpenError) -> Option<Arc<LooseFolder>> {
        self.note(KeptSource { what: error.to_string(), is_unfinished: false, is_folder: true });
        let part = |filter: &Filter| (filter.no_direct_files, filter.only_below.clone());
        let store = &self.opened.store;
        let mut folders = store.layers_at(path).filter_map(|layer| store.folder(layer));
        folders.find(|folder| part(folder.filter()) == part(filter)).cloned()
    }

    /// Whether a folder was kept from the mounted view and not walked again.
    pub(crate) fn contains_folder(&self, folder: &Arc<LooseFolder>) -> bool {
        let store = &self.opened.store;
        let mut mounted = store.layers_at(folder.path()).filter_map(|layer| store.folder(layer));
        mounted.any(|mounted| Arc::ptr_eq(mounted, folder))
    }

    /// The mounted archives directly in a folder, lowest first.
    pub(crate) fn archives_in(&self, folder: &Path) -> Vec<PathBuf> {
        let (archives, _) = self.opened.store.paths();
        archives.into_iter().filter(|path| path.parent() == Some(folder)).map(Path::to_owned).collect()
    }

    /// Copies what is known of the files of a folder that was walked again, for subfolders in which
    /// nothing changed.
    pub(crate) fn reuse_folder(&self, folder: &LooseFolder) {
        let (_, folders) = self.opened.store.paths();
        for earlier in folders.into_iter().filter(|earlier| earlier.path() == folder.path()) {
            folder.learn_from(earlier, self.is_quiet);
        }
    }

    fn is_whole(&self, archive: &OpenedArchive) -> bool {
        let Content::Opened(source, tables) = &archive.content else { return true };
        self.takes_unfinished
            || !tables.is_cut_off(source.len())
            || self.opened.store.has_open(source)
            || !is_written(&archive.path)
    }

    fn note(&self, kept: KeptSource) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
    }
}

/// Whether another process may still be writing a file, judging by its times.
fn is_written(path: &Path) -> bool {
    let now = unix_seconds(SystemTime::now());
    uncovered(path).metadata().is_ok_and(|it| {
        let changed = u64::try_from(it.ctime()).unwrap_or(0);
        // A server's clock may be ahead.
        now.abs_diff(changed) < SETTLED
    })
}
