//! Opens the sources of a mount again, as they are on the disk now.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::error::OpenError;
use super::open_options::OpenOptions;
use super::opened::Opened;
use super::reuse::Reuse;
use super::sources::profile::Profile;
use super::sources::resolve::is_game;
use super::sources::source_set::SourceSet;
use crate::system::covered::{resolve_links, uncovered};
use crate::system::paths;

/// The sources and options of a mount. All paths are absolute, because the daemon leaves the folder
/// that it was started in.
#[derive(Debug)]
pub(crate) struct Reopening {
    pub(crate) sources: Vec<PathBuf>,
    pub(crate) options: OpenOptions,
    /// The sources that the user and profiles gave when profiles were last read, including sources that do
    /// not exist any more.
    expanded: Vec<PathBuf>,
    /// The options, merged with the options of profiles when those were last read.
    expanded_options: Option<OpenOptions>,
}

impl Reopening {
    /// Takes the sources and options of the mount. These options outrank those of profiles.
    /// Relative paths begin in the current folder.
    pub(crate) fn new(sources: &[PathBuf], options: &OpenOptions) -> Self {
        let folder = std::env::current_dir().unwrap_or_default();
        let is_name = |source: &Path| is_game(source) && !source.exists();
        let sources = sources
            .iter()
            .map(|source| {
                if is_name(source) {
                    source.clone()
                } else {
                    paths::absolute(source).unwrap_or_else(|_| folder.join(source))
                }
            })
            .collect();
        Self {
            sources,
            options: options.clone().in_folder(&folder),
            expanded: Vec::new(),
            expanded_options: None,
        }
    }

    /// Takes sources and options whose paths were made absolute before.
    pub(crate) fn again(opened: &Opened) -> Self {
        let (sources, options) = (opened.sources.clone(), opened.options.clone());
        Self { sources, options, expanded: Vec::new(), expanded_options: None }
    }

    /// The sources to open now. Profiles are read again. Archives and folders that are gone are left out.
    fn source_set(&mut self) -> Result<SourceSet, OpenError> {
        let mut set = SourceSet::new(&self.sources, self.options.clone())?;
        set.paths = set.paths.iter().map(|path| past_mount(path)).collect();
        self.expanded.clone_from(&set.paths);
        set.paths.retain(|path| !is_gone(path));
        Ok(set)
    }

    /// Opens the sources while the earlier view is served.
    pub(crate) fn open(&mut self, earlier: &Reuse<'_>) -> Result<Opened, OpenError> {
        let store = earlier.store().emptied();
        if let (Some(plan), Some(options)) = (earlier.plan(), &self.expanded_options) {
            return Opened::open_plan(plan, options, store, Some(earlier));
        }
        let SourceSet { paths, options } = self.source_set()?;
        let options = self.expanded_options.insert(options);
        Opened::open_into(store, &paths, options, Some(earlier))
    }

    /// The files that say what to open: profiles and lists of names.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let profiles = self.sources.iter().filter(|source| Profile::is_one(source));
        profiles.chain(&self.options.names).cloned().collect()
    }

    /// The sources that the user and profiles name.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Path> {
        let named = self.sources.iter().chain(&self.expanded).map(PathBuf::as_path);
        // The id of a game is not a path.
        named.filter(|path| path.is_absolute())
    }
}

/// Resolves the links of a path that lead into the mount, so that [`uncovered`] recognises the path.
fn past_mount(path: &Path) -> PathBuf {
    let found = resolve_links(path, |_, _| {});
    if matches!(uncovered(&found), Cow::Owned(_)) { found } else { path.to_owned() }
}

/// Whether a file or folder was removed. If its parent is missing too, its disk may merely be unmounted.
fn is_gone(path: &Path) -> bool {
    path.is_absolute()
        && uncovered(path).symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        && path.parent().is_some_and(|parent| uncovered(parent).is_dir())
}
