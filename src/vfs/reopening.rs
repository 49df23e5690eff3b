//! Opens the sources of a mount again, as they are on the disk now.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::error::OpenError;
use super::open_options::OpenOptions;
use super::opened::Opened;
use super::reuse::Reuse;
use super::sources::for_others;
use super::sources::profile::Profile;
use super::sources::resolve::is_game;
use super::sources::source_set::SourceSet;
use super::trouble::Trouble;
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
    /// The profiles among the sources, as they were last used.
    profiles: HashMap<PathBuf, Profile>,
    /// The profiles that could not be used when they were last read.
    troubles: Vec<Trouble>,
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
        Self::of(sources, options.clone().in_folder(&folder))
    }

    /// Takes sources and options whose paths were made absolute before.
    pub(crate) fn again(opened: &Opened) -> Self {
        Self::of(opened.sources.clone(), opened.options.clone())
    }

    fn of(sources: Vec<PathBuf>, options: OpenOptions) -> Self {
        let profiles = sources.iter().filter(|source| Profile::is_one(source));
        let profiles = profiles.filter_map(|path| Some((path.clone(), Profile::read(path).ok()?))).collect();
        Self {
            sources,
            options,
            expanded: Vec::new(),
            expanded_options: None,
            profiles,
            troubles: Vec::new(),
        }
    }

    /// Opens the sources while the earlier view is served.
    ///
    /// # Errors
    /// The sources together cannot be opened. A single one that fails is left out or stays as it was.
    pub(crate) fn open(&mut self, earlier: &Reuse<'_>) -> Result<Opened, OpenError> {
        let store = earlier.store().emptied();
        if !earlier.is_plan_changed()
            && let Some(options) = &self.expanded_options
            && for_others::check_layers(&earlier.plan().layers, &earlier.plan().read_set, options).is_ok()
        {
            self.troubles.iter().for_each(|trouble| earlier.note(trouble.clone()));
            return Opened::open_plan(earlier.plan().clone(), options, store, Some(earlier));
        }
        self.troubles.clear();
        let (sources, options) = (&self.sources, self.options.clone());
        let set = SourceSet::again(sources, options, &mut self.profiles, &mut self.troubles)?;
        self.troubles.iter().for_each(|trouble| earlier.note(trouble.clone()));
        self.expanded = set.paths.iter().map(|path| past_mount(path)).collect();
        let options = self.expanded_options.insert(set.options);
        Opened::open_into(store, &self.expanded, options, Some(earlier))
    }

    /// The files that say what to open: profiles and lists of names.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let profiles = self.sources.iter().filter(|source| Profile::is_one(source));
        let of_profiles = self.expanded_options.iter().flat_map(|options| &options.names);
        profiles.chain(&self.options.names).chain(of_profiles).cloned().collect()
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
