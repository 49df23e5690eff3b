//! A folder that the user names for a command that treats each archive separately: its archives and
//! its loose files.

use std::path::{Path, PathBuf};

use super::open::archives_in;
use crate::content::Store;
use crate::folder::{Filter, Scans};
use crate::note::Note;
use crate::system::once_per_file::OncePerFile;
use crate::vfs::error::OpenError;
use crate::vfs::open_options::{CACHE_SIZE, FolderArchives, OpenOptions};
use crate::vfs::opened::Opened;
use crate::vfs::opened_archive::{is_archive, unreadable};
use crate::vfs::sources::layer_plan::{PlannedFolder, PlannedLayer};
use crate::vfs::sources::resolve::OpenPlan;

pub(crate) struct NamedFolder {
    /// The loose files. Archives are among them if they are listed.
    pub(crate) loose: Opened,
    /// The archives directly in the folder that would be layers, ordered by name.
    pub(crate) archives: Vec<PathBuf>,
    /// What could not be opened or read, and what is odd about loose files.
    pub(crate) notes: Vec<Note>,
}

impl NamedFolder {
    /// Walks a folder, and opens the archives in it.
    pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Self, OpenError> {
        let how = options.archives;
        let planned = PlannedFolder::named(path, how);
        let (mut archives, mut notes) = (Vec::new(), Vec::new());
        let mut not_at_root = Vec::new();
        if planned.opens_archives {
            let scanned = planned.scan(&Scans::default(), None)?;
            archives = archives_in(scanned.path(), scanned.names());
            if how == FolderArchives::Open {
                let names = archives.iter().filter_map(|archive| archive.file_name());
                not_at_root.extend(names.map(|name| name.to_string_lossy().into_owned()));
            }
            let known = OncePerFile::default();
            archives.retain(|archive| match known.at(archive, || is_archive(archive, options)) {
                Ok(()) => true,
                Err(error) => {
                    notes.push(unreadable(archive, &error));
                    false
                }
            });
        }
        // An archive that cannot be opened is no sound loose file either.
        let filter = Filter { not_at_root: not_at_root.into_iter().collect(), ..planned.filter };
        let planned = PlannedFolder { opens_archives: false, filter, ..planned };
        let mut layer = PlannedLayer::Folder(planned);
        layer.limit(options.within.first().and_then(Option::as_ref));
        let plan = OpenPlan::of_layers(vec![layer]);
        let options = options.clone().without(&["layout", "names"]);
        let store = Store::new(CACHE_SIZE, options.parse_options().limits);
        let loose = Opened::open_plan(plan.into(), &options, store, None)?;
        notes.extend(loose.left_out.iter().cloned());
        Ok(Self { loose, archives, notes })
    }
}
