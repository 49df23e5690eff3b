//! The plan of a mount: the command line, profiles and `-o` merged.

use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::mount_as_source::Unmounted;
use super::named_sources::NamedSources;
use super::option_table::{GivenOption, MountOption, MountOptions};
use crate::cli::exit::Failure;
use crate::cli::terminal::progress;
use crate::daemon::detach;
use crate::fs::{MountedSource, MountedSources, Presentation};
use crate::fuse::MountRequest;
use crate::game::title;
use crate::system::paths;
use crate::vfs::OpenOptions;
use crate::vfs::sources::profile::{Profile, SourceSet};
use crate::vfs::sources::resolve::is_game;

/// A mount before anything is opened.
#[derive(Debug)]
pub(crate) struct MountPlan {
    /// The sources as the user named them, profiles included.
    pub(crate) sources: Vec<PathBuf>,
    /// The sources in load order, with those of each profile in its place.
    pub(crate) expanded: Vec<PathBuf>,
    /// The folder to mount on. If there is none, a new folder is made.
    pub(crate) mountpoint: Option<PathBuf>,
    /// Whether a profile names the mountpoint.
    pub(crate) is_of_profile: bool,
    pub(crate) options: MountOptions,
    /// How sources are opened according to the command line alone. Profiles, which it outranks, are
    /// read again when they change.
    pub(crate) given: OpenOptions,
    /// The sources as reported to other processes.
    pub(crate) mounted_sources: MountedSources,
}

impl MountPlan {
    /// Plans a mount from the command line's paths, its values of `-o`, and the options that its flags set.
    pub(crate) fn new(
        paths: &[PathBuf],
        option_lists: &[String],
        flags: &[GivenOption],
    ) -> Result<Self, Failure> {
        let (sources, mountpoint) = sources_and_mountpoint(paths);
        let unmounted = Unmounted::new(sources)?;
        unmounted.check_whole()?;
        let sources = &unmounted.paths[..];
        let expanded = NamedSources::new(sources, MountOptions::new())?;
        expanded.check_for_root(mountpoint.is_some())?;
        expanded.check_for_strangers(mountpoint.is_some())?;
        // What the command line says outranks profiles, and `-o` outranks flags.
        let mut given = MountOptions::default();
        given.add_given(unmounted.options.given.iter().chain(flags));
        option_lists.iter().try_for_each(|list| given.add(list, Path::new("")))?;
        let mut options = expanded.options.clone();
        options.add_given(&given.given);
        options.open.unseen.clone_from(&expanded.unseen);
        // The process that starts the daemon says it, unless root has become another user first.
        if !detach::is_daemon() || options.user.is_some() && !geteuid().is_root() {
            expanded.warn_of_strangers(mountpoint.is_some());
        }
        let advice = advice_to_root(&options);
        options.open.advice_to_root = advice;
        expanded.check_for_others(&options.open)?;
        if options.request.fsname.is_empty() {
            options.request.fsname = shown_source(sources, options.request.allow_other);
        }
        let is_of_profile = mountpoint.is_none() && expanded.mountpoint.is_some();
        let mountpoint = mountpoint.or(expanded.mountpoint);
        given.open.advice_to_root = advice;
        let mounted_sources = MountedSources {
            sources: sources.iter().map(|source| mounted_source(source)).collect(),
            options: given.text(MountOption::is_of_opening),
            ..MountedSources::default()
        };
        let (sources, expanded) = (sources.to_owned(), expanded.paths);
        Ok(Self { sources, expanded, mountpoint, is_of_profile, options, given: given.open, mounted_sources })
    }

    /// The sources to open, with their options.
    pub(crate) fn source_set(&self) -> SourceSet {
        let mut options = self.options.open.clone();
        options.progress = Some(progress::steps);
        SourceSet { paths: self.expanded.clone(), options }
    }
}

/// What root does instead of mounting a folder of another user for others to read. `None` if only the caller
/// reads the mount.
fn advice_to_root(options: &MountOptions) -> Option<&'static str> {
    match options.edit {
        Some(_) => Some("mount as that user, or without --edit and with -o setuid=USER"),
        None => options.request.allow_other.then_some("add -o setuid=USER, or mount as that user"),
    }
}

/// A source as reported to other processes: a game by its id, anything else by its path.
pub(crate) fn mounted_source(source: &Path) -> MountedSource {
    match source.to_str().and_then(title) {
        Some(title) => MountedSource::named(title.id),
        None if is_game(source) => MountedSource::named(&source.to_string_lossy()),
        None => MountedSource::file(source),
    }
}

/// The source that `mount`, `df` and file managers show to everybody. A single source is shown as given, so
/// that `mount -a` recognizes the mount. If other users may read the mount, they may not know the folder of
/// its source. Several sources have no common path.
fn shown_source(sources: &[PathBuf], allow_other: bool) -> String {
    match sources {
        [game] if is_game(game) => game.to_string_lossy().into_owned(),
        [source] => {
            let path = paths::absolute(source).unwrap_or_else(|_| source.clone());
            match (allow_other, path.file_name()) {
                (false, _) => path.to_string_lossy().into_owned(),
                (true, Some(name)) => name.to_string_lossy().into_owned(),
                (true, None) => "bsafs".into(),
            }
        }
        _ => "bsafs".into(),
    }
}

/// A [`MountPlan`] in public types, for tests outside the crate.
#[derive(Debug)]
#[doc(hidden)]
pub struct PlannedMount {
    pub expanded: Vec<PathBuf>,
    pub mountpoint: Option<PathBuf>,
    pub presentation: Presentation,
    pub request: MountRequest,
    /// All options as text, so that tests can compare them.
    pub options: String,
}

/// Plans a mount of `paths` with values of `-o` but no flags. The fuzz target of profiles and
/// options calls it.
#[doc(hidden)]
pub fn plan_mount(paths: &[PathBuf], option_lists: &[String]) -> Result<PlannedMount, Failure> {
    let MountPlan { expanded, mountpoint, options, .. } = MountPlan::new(paths, option_lists, &[])?;
    let text = format!("{options:?}");
    let MountOptions { presentation, request, .. } = options;
    Ok(PlannedMount { expanded, mountpoint, presentation, request, options: text })
}

/// Splits the paths into sources and the mountpoint. The last of several paths is the mountpoint if
/// it is a folder, or if it does not exist and lacks the extension of a source.
///
/// A folder that is not empty is a mountpoint too. The mount then fails with advice. Treating the
/// folder as one more source would surprise a user who forgot what is in it.
fn sources_and_mountpoint(paths: &[PathBuf]) -> (&[PathBuf], Option<PathBuf>) {
    let Some((last, sources)) = paths.split_last().filter(|(_, sources)| !sources.is_empty()) else {
        return (paths, None);
    };
    match std::fs::metadata(last) {
        Ok(metadata) if metadata.is_file() => (paths, None),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && Profile::is_called_source(last) => {
            (paths, None)
        }
        _ => (sources, Some(last.clone())),
    }
}
