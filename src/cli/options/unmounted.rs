//! Mounts of bsafs as sources. What a mount shows is the result of merging its layers, so a mount, or a
//! folder in one, stands for the sources that were mounted, with their options.

use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::mount_state::MountOptions;
use crate::cli::exit::{Exit, Failure};
use crate::daemon::mountpoint::resolve_mountpoint;
use crate::daemon::overlay;
use crate::mounts::status::{self, Answer, MountStatus};
use crate::system::mountinfo::{self, MountEntry};
use crate::vfs::options::Within;
use crate::vfs::sources::resolve::is_game;
use crate::vfs::sources::source_set::SourceSet;
use crate::vfs::{Layout, OpenOptions};

/// Sources in which mounts are replaced by the sources that were mounted.
#[derive(Debug, Default)]
pub(crate) struct Unmounted {
    /// The sources in load order. Profiles are among them.
    pub(crate) paths: Vec<PathBuf>,
    /// The options of the mounts, and the folders to which sources are limited.
    pub(crate) options: OpenOptions,
    /// The folders inside mounts that were named, with the layouts of these mounts.
    limited: Vec<(PathBuf, Layout)>,
}

impl Unmounted {
    /// Replaces each mount, and each folder in a mount, by the sources of the mount. The options of a later
    /// mount outrank those of an earlier one.
    pub(crate) fn new(sources: &[PathBuf]) -> Result<Self, Failure> {
        let mounts = mountinfo::mounts();
        let mut all = Self::default();
        for source in sources {
            let mounted = match mounts.iter().any(MountEntry::is_bsafs) && !is_game(source) {
                true => SourceInMount::find(source, &mounts)?,
                false => None,
            };
            match mounted {
                Some(mounted) => all.add(&mounted)?,
                None => all.paths.push(source.clone()),
            }
            all.options.within.resize(all.paths.len(), None);
        }
        Ok(all)
    }

    /// Fails if a source is a folder inside a mount, which cannot be mounted separately.
    pub(crate) fn check_whole(&self) -> Result<(), Failure> {
        let Some((folder, _)) = self.limited.first() else { return Ok(()) };
        let what = "a folder inside a mount of bsafs cannot be mounted separately; name the mount itself, or \
                    its sources";
        Err(Failure::new(Exit::Usage, format!("{}: {what}", folder.display())))
    }

    /// Fails if a source is a folder inside a mount that has another layout, where it does not exist.
    pub(crate) fn check_layout(&self, layout: Layout) -> Result<(), Failure> {
        let Some((folder, _)) = self.limited.iter().find(|(_, own)| *own != layout) else { return Ok(()) };
        let what = "this folder exists only in the layout of its mount, which differs; name the mount \
                    itself, or its sources";
        Err(Failure::new(Exit::Usage, format!("{}: {what}", folder.display())))
    }

    fn add(&mut self, source: &SourceInMount) -> Result<(), Failure> {
        let status = source.status()?;
        let mut paths: Vec<PathBuf> = Vec::with_capacity(status.sources.len() + 1);
        for mounted in &status.sources {
            let path = mounted.to_open();
            source.check_found(&path)?;
            paths.push(path);
        }
        paths.extend(source.edit.clone());
        let mut options = MountOptions::default();
        options.add(&status.options, Path::new("/"))?;
        if let Some(within) = Within::new(source.within.as_os_str().as_encoded_bytes()) {
            let layout = SourceSet::new(&paths, options.open.clone())?.options.layout;
            self.limited.push((source.named.clone(), layout.unwrap_or_default()));
            self.options.within.resize(self.paths.len() + paths.len(), Some(within));
        }
        self.paths.append(&mut paths);
        let within = std::mem::take(&mut self.options.within);
        self.options = OpenOptions { within, ..options.open.merged_over(std::mem::take(&mut self.options)) };
        Ok(())
    }
}

/// A source that is a mount of bsafs, or a folder in one.
struct SourceInMount {
    /// The source as the user named it.
    named: PathBuf,
    /// The mount, and other mounts of the same file system.
    mounts: Vec<MountEntry>,
    /// The folder within the mount; empty for the whole mount.
    within: PathBuf,
    /// The folder that has the changes of a writable mount.
    edit: Option<PathBuf>,
}

impl SourceInMount {
    /// Finds the mount of a source. `None` if the source is no folder in a mount of bsafs.
    fn find(source: &Path, mounts: &[MountEntry]) -> Result<Option<Self>, Failure> {
        let is_folder = match std::fs::metadata(source) {
            Ok(metadata) => metadata.is_dir(),
            // A dead mount answers with an error.
            Err(_) => resolve_mountpoint(source).ancestors().any(|path| is_mountpoint(path, mounts)),
        };
        if !is_folder {
            return Ok(None);
        }
        let path = source.canonicalize().unwrap_or_else(|_| resolve_mountpoint(source));
        let Some(top) = mounts
            .iter()
            .filter(|mounted| path.starts_with(&mounted.mountpoint))
            .max_by_key(|mounted| mounted.mountpoint.components().count())
        else {
            return Ok(None);
        };
        let is_shown = |it: &&MountEntry| {
            it.device == top.device || overlay::overlay_of(it).is_some_and(|it| it.device == top.device)
        };
        let mounts = mounts.iter().filter(|it| it.is_bsafs()).filter(is_shown);
        let mut mounts: Vec<MountEntry> = mounts.filter(|it| it.is_whole()).cloned().collect();
        if mounts.is_empty() && !top.is_bsafs() {
            return Ok(None);
        }
        // The mount that the path leads to is asked first.
        mounts.sort_by_key(|it| it.mountpoint != top.mountpoint);
        let beneath = path.strip_prefix(&top.mountpoint).unwrap_or(Path::new(""));
        let within = top.root.join(beneath).strip_prefix("/").map(Path::to_owned).unwrap_or_default();
        let edit = mounts.first().filter(|_| !top.is_bsafs()).and_then(overlay::edit_folder);
        Ok(Some(Self { named: source.to_owned(), mounts, within, edit }))
    }

    /// Asks the daemon for the sources of the mount.
    fn status(&self) -> Result<MountStatus, Failure> {
        let path = self.named.display();
        let fail = |exit, what: String| Err(Failure::new(exit, format!("{path}: {what}")));
        let answers = self.mounts.iter().map(|mounted| (mounted, status::ask(mounted)));
        let Some((mounted, answer)) = answers.into_iter().find(|(_, it)| !matches!(it, Answer::Covered))
        else {
            let what = "only a part of this mount of bsafs is visible, so its sources are not known; name \
                        them instead";
            return fail(Exit::NoInput, what.to_owned());
        };
        let shown = overlay::mountpoint(mounted);
        let shown = shown.display();
        match answer {
            Answer::Status(status) if status.sources.is_empty() => fail(
                Exit::NoPermission,
                "only root and the user who mounted may know the sources of this mount; run as that user"
                    .into(),
            ),
            Answer::Status(status) => self.check_user(mounted, &status).map(|()| *status),
            Answer::Dead => fail(
                Exit::Unavailable,
                format!("the daemon has ended; run `bsafs umount {shown}`, and name the sources instead"),
            ),
            Answer::Hangs => fail(
                Exit::Unavailable,
                "the daemon of this mount does not answer, so its sources are not known; name them instead"
                    .into(),
            ),
            Answer::Refused => {
                fail(Exit::NoPermission, "the mount is another user's; run as that user".into())
            }
            Answer::Covered => fail(Exit::NoInput, "another mount covers it; unmount that one first".into()),
            Answer::Failed(what) => fail(Exit::Io, what.trim_start_matches("bsafs: ").to_owned()),
        }
    }

    /// Fails if a source is a game that another user would find elsewhere.
    fn check_user(&self, mounted: &MountEntry, status: &MountStatus) -> Result<(), Failure> {
        let game = status.sources.iter().find(|source| is_game(&source.to_open()));
        match game.filter(|_| mounted.user() != geteuid().as_raw()) {
            None => Ok(()),
            Some(game) => {
                let (path, game) = (self.named.display(), &game.path);
                let what = format!(
                    "{path}: another user mounted the game {game}, which may be installed elsewhere for you; \
                     run as that user, or name the game's folder instead"
                );
                Err(Failure::new(Exit::NoPermission, what))
            }
        }
    }

    /// Fails if a source of the mount is not found any more.
    fn check_found(&self, source: &Path) -> Result<(), Failure> {
        if is_game(source) || source.symlink_metadata().is_ok() {
            return Ok(());
        }
        let (path, source) = (self.named.display(), source.display());
        let what = format!(
            "{path}: {source}, a source of this mount, is not found: it was moved or removed, or a mount \
             hides it; name other sources instead"
        );
        Err(Failure::new(Exit::NoInput, what))
    }
}

/// Whether a mount of bsafs, or the overlay over one, is on a path.
fn is_mountpoint(path: &Path, mounts: &[MountEntry]) -> bool {
    mounts.iter().any(|mounted| mounted.is_bsafs() && overlay::mountpoint(mounted) == path)
}
