//! Opening the sources of a mount anew, as they are named and as they are on the disk now.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::earlier_view::EarlierView;
use super::open::OpenedArchives;
use super::profile::Profile;
use super::source_set::{Expanded, SourceSet};
use super::sources::is_game;
use crate::cli::exit::Failure;
use crate::cli::options::mount_state::{Flags, MountOptions};
use crate::cli::options::open_args::OpenArgs;
use crate::cli::options::source_args::SourceArgs;
use crate::system::covered::{uncovered, without_links};

/// What a mount was told to open. All paths are absolute: the daemon leaves the folder that it was started in.
#[derive(Debug)]
pub(crate) struct Reopening {
    sources: Vec<PathBuf>,
    /// Values of `-o`, and the folder that paths in them are relative to.
    option_lists: Vec<String>,
    folder: PathBuf,
    flags: Flags,
    /// The sources that profiles among these name, as they were last read; those that are gone, too.
    expanded: Vec<PathBuf>,
}

impl Reopening {
    /// From the arguments of the mount, in the folder that they are relative to.
    pub(crate) fn new(sources: &[PathBuf], option_lists: &[String], flags: &Flags) -> Self {
        let folder = std::env::current_dir().unwrap_or_default();
        let is_name = |source: &Path| is_game(source) && !source.exists();
        let sources = sources
            .iter()
            .map(|source| if is_name(source) { source.clone() } else { folder.join(source) })
            .collect();
        let open = in_folder(&flags.open, &folder);
        let flags = Flags { open, ..flags.clone() };
        Self { sources, option_lists: option_lists.to_owned(), folder, flags, expanded: Vec::new() }
    }

    /// What is opened now: without named archives and folders that are gone.
    fn source_set(&mut self) -> Result<SourceSet, Failure> {
        let mut expanded = Expanded::new(&self.sources, MountOptions::new())?;
        expanded.options.outrank_by(&self.flags);
        self.option_lists.iter().try_for_each(|list| expanded.options.add(list, &self.folder))?;
        let mut paths: Vec<PathBuf> = expanded.paths.iter().map(|path| past_mount(path)).collect();
        self.expanded.clone_from(&paths);
        paths.retain(|path| !is_gone(path));
        Ok(SourceSet::of_options(paths, &expanded.options))
    }

    /// Opens them beside a view that is served.
    pub(crate) fn open(&mut self, earlier: &EarlierView<'_>) -> Result<OpenedArchives, Failure> {
        let set = self.source_set()?;
        OpenedArchives::open_into(earlier.view.store().emptied(), &set, Some(earlier))
    }

    /// The files that say what is opened: profiles, and lists of names.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let profiles = self.sources.iter().filter(|source| Profile::is_one(source));
        profiles.chain(&self.flags.open.names).cloned().collect()
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

fn in_folder(open: &OpenArgs, folder: &Path) -> OpenArgs {
    let one = |path: &Option<PathBuf>| path.as_ref().map(|path| folder.join(path));
    let all = |paths: &[PathBuf]| paths.iter().map(|path| folder.join(path)).collect();
    let source = SourceArgs {
        game_dir: one(&open.source.game_dir),
        prefix: one(&open.source.prefix),
        inis: all(&open.source.inis),
        plugins: one(&open.source.plugins),
        ..open.source.clone()
    };
    OpenArgs { source, names: all(&open.names), ..open.clone() }
}
