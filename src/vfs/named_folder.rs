//! A folder that the user names for a command that treats each archive separately: its archives and
//! its loose files.

use std::path::{Path, PathBuf};

use super::error::OpenError;
use super::found_layer::archives_in;
use super::open_options::{CACHE_SIZE, FolderArchives, OpenOptions};
use super::opened::Opened;
use super::opened_archive::is_archive;
use super::sources::layer_plan::{PlannedFolder, PlannedLayer};
use super::sources::resolve::OpenPlan;
use crate::content::Store;
use crate::folder::{Filter, Walks};
use crate::system::once_per_file::OncePerFile;

pub(crate) struct NamedFolder {
    /// The loose files. Archives are among them if they are listed or cannot be opened.
    pub(crate) loose: Opened,
    /// The archives directly in the folder that would be layers, ordered by name.
    pub(crate) archives: Vec<PathBuf>,
}

impl NamedFolder {
    /// Walks a folder. Logs a warning for each archive that cannot be opened.
    pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Self, OpenError> {
        let how = options.folder_archives();
        let mut planned = PlannedFolder::named(path, how);
        let mut archives = Vec::new();
        if planned.opens_archives {
            let scanned = planned.scan(&Walks::default())?;
            archives = archives_in(scanned.path(), scanned.names());
            let known = OncePerFile::default();
            archives.retain(|archive| match known.at(archive, || is_archive(archive, options)) {
                Ok(()) => true,
                Err(error) => {
                    log::warn!("{error}; the archive is not opened");
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
        let mut layer = PlannedLayer::Folder(planned);
        layer.limit(options.within.first().and_then(Option::as_ref));
        let plan = OpenPlan::of_layers(vec![layer]);
        let options = OpenOptions { layout: None, names: Vec::new(), ..options.clone() };
        let store = Store::new(CACHE_SIZE, options.parse_options().limits);
        let loose = Opened::open_plan(plan.into(), &options, store, None)?;
        Ok(Self { loose, archives })
    }
}
