//! A folder that a user names where each archive is looked at by itself: its archives, and its loose files.

use std::path::{Path, PathBuf};

use super::layer_plan::{PlannedFolder, PlannedLayer, archives_in};
use super::open::OpenedArchives;
use super::opened_archive::is_archive;
use crate::cli::exit::Failure;
use crate::cli::options::cache_size;
use crate::cli::options::open_args::{Layout, OpenArgs};
use crate::cli::options::source_args::FolderArchives;
use crate::content::Store;
use crate::folder::{Filter, OpenFiles};
use crate::tree::Rule;

/// What is in a folder.
pub(crate) struct NamedFolder {
    /// Its loose files; archives are among them where they are listed, or cannot be opened.
    pub(crate) loose: OpenedArchives,
    /// The archives that lie directly in it and would be layers, in the order of their names.
    pub(crate) archives: Vec<PathBuf>,
}

impl NamedFolder {
    /// Walks a folder. An archive in it that cannot be opened is a warning.
    pub(crate) fn open(path: &Path, args: &OpenArgs) -> Result<Self, Failure> {
        let how = args.source.folder_archives();
        let mut planned = PlannedFolder::named(path, how);
        let mut archives = Vec::new();
        if planned.opens_archives {
            let scanned = planned.scan(&OpenFiles::default().into())?;
            archives = archives_in(scanned.path(), scanned.names());
            archives.retain(|archive| match is_archive(archive, args) {
                Ok(()) => true,
                Err(failure) => {
                    log::warn!("{}; it is no layer", failure.what);
                    false
                }
            });
        }
        if how == FolderArchives::Open {
            let names = archives.iter().filter_map(|archive| archive.file_name());
            let not_at_root = names.map(|name| name.to_string_lossy().into_owned()).collect();
            planned.filter = Filter { not_at_root, ..planned.filter };
        }
        let planned = PlannedFolder { opens_archives: false, ..planned };
        let layers = [PlannedLayer::Folder(planned)];
        let store = Store::new(cache_size::DEFAULT, args.parse.options().limits);
        let loose = OpenedArchives::open_layers(&layers, Rule::LastWins, args, Layout::Union, store, None)?;
        Ok(Self { loose, archives })
    }
}
