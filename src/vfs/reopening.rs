//! Opening the sources of a mount anew, as they are named and as they are on the disk now.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::error::OpenError;
use super::opened::Opened;
use super::options::OpenOptions;
use super::reuse::Reuse;
use super::sources::profile::Profile;
use super::sources::resolve::is_game;
use super::sources::source_set::SourceSet;
use crate::system::covered::{uncovered, without_links};

/// What a mount was asked to open. All paths are absolute: the daemon leaves the folder that it was started in.
#[derive(Debug)]
pub(crate) struct Reopening {
    pub(crate) sources: Vec<PathBuf>,
    pub(crate) options: OpenOptions,
    /// The sources that profiles among these name, as they were last read; those that are gone, too.
    expanded: Vec<PathBuf>,
}

impl Reopening {
    /// From the sources and options of the mount, which outrank those of profiles. Paths begin in the current folder.
    pub(crate) fn new(sources: &[PathBuf], options: &OpenOptions) -> Self {
        let folder = std::env::current_dir().unwrap_or_default();
        let is_name = |source: &Path| is_game(source) && !source.exists();
        let sources = sources
            .iter()
            .map(|source| if is_name(source) { source.clone() } else { folder.join(source) })
            .collect();
        Self { sources, options: options.clone().in_folder(&folder), expanded: Vec::new() }
    }

    /// From sources and options that were made absolute before.
    pub(crate) fn again(opened: &Opened) -> Self {
        Self { sources: opened.sources.clone(), options: opened.options.clone(), expanded: Vec::new() }
    }

    /// What is opened now: without named archives and folders that are gone.
    fn source_set(&mut self) -> Result<SourceSet, OpenError> {
        let mut set = SourceSet::new(&self.sources, self.options.clone())?;
        set.paths = set.paths.iter().map(|path| past_mount(path)).collect();
        self.expanded.clone_from(&set.paths);
        set.paths.retain(|path| !is_gone(path));
        Ok(set)
    }

    /// Opens them beside a tree that is served.
    pub(crate) fn open(&mut self, earlier: &Reuse<'_>) -> Result<Opened, OpenError> {
        let SourceSet { paths, options } = self.source_set()?;
        Opened::open_into(earlier.store().emptied(), &paths, &options, Some(earlier))
    }

    /// The files that say what is opened: profiles, and lists of names.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let profiles = self.sources.iter().filter(|source| Profile::is_one(source));
        profiles.chain(&self.options.names).cloned().collect()
    }

    /// The sources that are named, by the user and by profiles.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Path> {
        let named = self.sources.iter().chain(&self.expanded).map(PathBuf::as_path);
        // Games by their ids are no files.
        named.filter(|path| path.is_absolute())
    }
}

/// A path that does not enter the mount where links on the way to it would.
fn past_mount(path: &Path) -> PathBuf {
    let found = without_links(path, |_, _| {});
    if matches!(uncovered(&found), Cow::Owned(_)) { found } else { path.to_owned() }
}

/// Whether a file or folder was removed, and is not merely on a disk that was.
fn is_gone(path: &Path) -> bool {
    path.is_absolute()
        && uncovered(path).symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        && path.parent().is_some_and(|parent| uncovered(parent).is_dir())
}
