//! Mounts of bsafs as sources. What a mount shows is the result of merging its layers, so a mount, or a
//! folder in one, stands for the sources that were mounted, with their options.

use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::option_table::MountOptions;
use crate::cli::exit::{Exit, Failure};
use crate::daemon::overlay;
use crate::fs::MountedSource;
use crate::mounts::mount_status::{self, Answer, MountStatus};
use crate::mounts::serving::process_of;
use crate::note::{Note, NoteCode};
use crate::shown::Shown;
use crate::system::mountinfo::{self, MountEntry};
use crate::system::walk::first_on_the_way;
use crate::system::{edit_mount, paths};
use crate::vfs::Layout;
use crate::vfs::open_options::Within;
use crate::vfs::sources::profile::{Profile, SourceSet, is_game};

/// Sources in which mounts are replaced by the sources that were mounted.
#[derive(Debug, Default)]
pub(crate) struct UnderlyingSources {
    /// The sources in load order. Profiles are among them.
    pub(crate) paths: Vec<PathBuf>,
    /// The options of opening that the mounts have.
    pub(crate) options: MountOptions,
    /// The folders to which sources are limited, as [`OpenOptions`](crate::OpenOptions) has them.
    pub(crate) within: Vec<Option<Within>>,
    /// For each path, whether it is a source of a mount, as [`OpenOptions`](crate::OpenOptions) have it.
    pub(crate) are_mounted: Vec<bool>,
    /// The folders inside mounts that were named, with the layouts of these mounts.
    limited: Vec<(PathBuf, Layout)>,
}

impl UnderlyingSources {
    /// Replaces each mount, and each folder in a mount, by the sources of the mount, and the name of each
    /// saved profile by its file. The options of a later mount outrank those of an earlier one.
    pub(crate) fn new(sources: &[PathBuf]) -> Result<Self, Failure> {
        let mounts = mountinfo::mounts();
        let mut all = Self::default();
        for source in sources {
            let mounted = if mounts.iter().any(MountEntry::is_bsafs) && !is_game(source) {
                SourceInMount::find(source, &mounts)?
            } else {
                None
            };
            match mounted {
                Some(mounted) => all.add(&mounted)?,
                None => all.paths.push(Profile::saved(source).unwrap_or_else(|| source.clone())),
            }
            all.within.resize(all.paths.len(), None);
            all.are_mounted.resize(all.paths.len(), false);
        }
        Ok(all)
    }

    /// Takes out the sources of mounts that fail a check, and returns a note for each. Another source fails.
    pub(crate) fn leave_out(
        &mut self,
        check: impl Fn(&PathBuf) -> Result<(), Failure>,
    ) -> Result<Vec<Note>, Failure> {
        let mut left_out = Vec::new();
        for (index, path) in self.paths.iter().enumerate() {
            match check(path) {
                Err(failure) if self.are_mounted[index] => {
                    let what = failure.what.trim_start_matches(&format!("{}: ", path.shown())).to_owned();
                    let note = Note::new(NoteCode::SourceUnreadable, path.to_string_lossy(), what);
                    left_out.push((index, note));
                }
                checked => checked?,
            }
        }
        for (index, _) in left_out.iter().rev() {
            self.paths.remove(*index);
            self.within.remove(*index);
            self.are_mounted.remove(*index);
        }
        Ok(left_out.into_iter().map(|(_, note)| note).collect())
    }

    /// Fails if a source is a folder inside a mount, which cannot be mounted separately.
    pub(crate) fn check_whole(&self) -> Result<(), Failure> {
        let Some((folder, _)) = self.limited.first() else { return Ok(()) };
        let what = "a folder inside a mount of bsafs cannot be mounted separately; give the mount itself, or \
                    its sources";
        Err(Failure::new(Exit::Usage, format!("{}: {what}", folder.shown())))
    }

    /// Fails if a source is a folder inside a mount with another layout, because it exists only there.
    pub(crate) fn check_layout(&self, layout: Layout) -> Result<(), Failure> {
        let Some((folder, _)) = self.limited.iter().find(|(_, own)| *own != layout) else { return Ok(()) };
        let what = "this folder exists only in the layout of its mount, which differs; give the mount \
                    itself, or its sources";
        Err(Failure::new(Exit::Usage, format!("{}: {what}", folder.shown())))
    }

    fn add(&mut self, source: &SourceInMount) -> Result<(), Failure> {
        let status = &source.status;
        let mut paths: Vec<PathBuf> = status.sources.iter().map(MountedSource::to_open).collect();
        self.are_mounted.resize(self.paths.len() + paths.len(), true);
        paths.extend(source.edit.clone());
        let mut options = MountOptions::default();
        options.add(&status.options, Path::new("/"))?;
        options.given.retain(|(row, _)| row.is_of_opening());
        if let Some(within) = Within::new(source.within.as_os_str().as_encoded_bytes()) {
            let layout = options.open.layout;
            // Those of a profile that cannot be read are not known.
            let layout = SourceSet::new(&paths, options.open).map_or(layout, |set| set.options.layout);
            self.limited.push((source.named.clone(), layout));
            self.within.resize(self.paths.len() + paths.len(), Some(within));
        }
        self.paths.append(&mut paths);
        self.options.add_given(&options.given);
        Ok(())
    }
}

/// The mount of bsafs that a path is in, and the path below it, which is empty for the mount itself. The path
/// need not exist. Fails if its daemon does not answer.
pub(crate) fn place_in_mount(path: &Path) -> Result<Option<(PathBuf, PathBuf)>, Failure> {
    let mounts = mountinfo::mounts();
    if !mounts.iter().any(MountEntry::is_bsafs) {
        return Ok(None);
    }
    let absolute = paths::absolute(path).unwrap_or_else(|_| path.to_owned());
    let Some(entered) = entered_mount(&absolute, &mounts) else { return Ok(None) };
    let (mounted, _) = answer_of(path, entered, &mounts)?;
    let real = absolute.ancestors().find_map(|it| Some((it, it.canonicalize().ok()?)));
    let real = real.and_then(|(it, real)| Some(real.join(absolute.strip_prefix(it).ok()?)));
    let real = real.unwrap_or(absolute);
    let above = mounts.iter().filter(|it| it.device == entered.device && real.starts_with(&it.mountpoint));
    let top = above.max_by_key(|it| it.mountpoint.components().count());
    let below = top.and_then(|it| Some(it.root.join(real.strip_prefix(&it.mountpoint).ok()?)));
    let below = below.and_then(|it| Some(it.strip_prefix("/").ok()?.components().collect()));
    Ok(below.map(|below| (overlay::mountpoint(&mounted), below)))
}

/// A source that is a mount of bsafs, or a folder in one.
struct SourceInMount {
    /// The source as the user named it.
    named: PathBuf,
    /// The mount that shows all of the tree.
    mounted: MountEntry,
    /// What its daemon reports.
    status: Box<MountStatus>,
    /// The folder within the mount; empty for the whole mount.
    within: PathBuf,
    /// The folder that contains the changes of a writable mount.
    edit: Option<PathBuf>,
}

impl SourceInMount {
    /// Finds the mount of a source. `None` if the source is no folder in a mount of bsafs.
    fn find(source: &Path, mounts: &[MountEntry]) -> Result<Option<Self>, Failure> {
        let absolute = paths::absolute(source).unwrap_or_else(|_| source.to_owned());
        let Some(entered) = entered_mount(&absolute, mounts) else { return Ok(None) };
        // The daemon is asked before anything in the mount is accessed, because it may hang.
        let (mounted, status) = answer_of(source, entered, mounts)?;
        if !std::fs::metadata(source).is_ok_and(|metadata| metadata.is_dir()) {
            return Ok(None);
        }
        let path = source.canonicalize().map_err(|error| Failure::io(Exit::NoInput, source, &error))?;
        let above = mounts.iter().filter(|mounted| path.starts_with(&mounted.mountpoint));
        let top = above.max_by_key(|mounted| mounted.mountpoint.components().count());
        let Some(top) = top.filter(|top| top.device == entered.device) else { return Ok(None) };
        let beneath = path.strip_prefix(&top.mountpoint).unwrap_or(Path::new(""));
        let within = top.root.join(beneath).strip_prefix("/").map(Path::to_owned).unwrap_or_default();
        check_trusted(source, &mounted)?;
        let edit = edit_mount::edit_folder(&mounted).filter(|_| !top.is_bsafs());
        let found = Self { named: source.to_owned(), mounted, status, within, edit };
        found.check_user()?;
        Ok(Some(found))
    }

    /// Fails if this user may not know the sources, or if a source is a game that another user would find
    /// elsewhere.
    fn check_user(&self) -> Result<(), Failure> {
        if self.status.sources.is_empty() {
            let what =
                "only root and the user who mounted may know the sources of this mount; run as that user";
            return Err(Failure::new(Exit::NoPermission, format!("{}: {what}", self.named.shown())));
        }
        let game = self.status.sources.iter().find(|source| is_game(&source.to_open()));
        match game.filter(|_| self.mounted.user() != geteuid().as_raw()) {
            None => Ok(()),
            Some(game) => {
                let (path, game) = (self.named.shown(), &game.path);
                let what = format!(
                    "{path}: another user mounted the game {game}, which may be installed elsewhere for you; \
                     run as that user, or give the game's folder instead"
                );
                Err(Failure::new(Exit::NoPermission, what))
            }
        }
    }
}

/// Fails if the daemon of the mount is another user's. Its word would choose what this process opens, and
/// with which options.
fn check_trusted(source: &Path, mounted: &MountEntry) -> Result<(), Failure> {
    let Some(user) = mounted.claimant() else { return Ok(()) };
    let what = "only mounts of root and your own stand for their sources, and this one belongs to user";
    let what = format!("{}: {what} {user}; give its sources instead, or run as that user", source.shown());
    Err(Failure::new(Exit::NoPermission, what))
}

/// The first mount of bsafs, or overlay over one, that a path enters. Nothing in it is accessed.
fn entered_mount<'a>(path: &Path, mounts: &'a [MountEntry]) -> Option<&'a MountEntry> {
    first_on_the_way(path, |at| {
        let top = mounts.iter().rev().find(|mounted| mounted.mountpoint == at);
        top.filter(|top| top.is_bsafs() || beneath(top, mounts).next().is_some())
    })
}

/// The mounts of bsafs beneath an overlay.
pub(crate) fn beneath<'a>(
    top: &'a MountEntry,
    mounts: &'a [MountEntry],
) -> impl Iterator<Item = &'a MountEntry> {
    let is_beneath = |it: &&MountEntry| {
        edit_mount::overlay_among(mounts, it).is_some_and(|overlay| overlay.device == top.device)
    };
    mounts.iter().filter(|_| edit_mount::is_overlay(top)).filter(is_beneath)
}

/// Asks the daemon of a mount that a source enters. Returns the mount that shows all of the tree.
fn answer_of(
    source: &Path,
    entered: &MountEntry,
    mounts: &[MountEntry],
) -> Result<(MountEntry, Box<MountStatus>), Failure> {
    let is_same = |it: &&MountEntry| it.is_bsafs() && it.device == entered.device;
    let mut whole: Vec<&MountEntry> = mounts.iter().filter(is_same).chain(beneath(entered, mounts)).collect();
    whole.retain(|mounted| mounted.is_whole());
    // The mount that the path enters is asked first.
    whole.sort_by_key(|mounted| mounted.mountpoint != entered.mountpoint);
    let answers = whole.into_iter().map(|mounted| (mounted, mount_status::ask(mounted)));
    let answer = answers.into_iter().find(|(_, answer)| !matches!(answer, Answer::Covered));
    let mountpoint = overlay::mountpoint(answer.as_ref().map_or(entered, |(mounted, _)| mounted));
    let (exit, what) = match answer {
        Some((mounted, Answer::Status(status))) => return Ok((mounted.clone(), status)),
        Some((_, Answer::Dead)) => (
            Exit::Unavailable,
            format!("the daemon has ended; run `bsafs umount {}`, and give the sources", mountpoint.shown()),
        ),
        Some((mounted, Answer::Hangs)) => {
            let process = process_of(mounted).map_or_else(String::new, |pid| format!(" (process {pid})"));
            let why = "does not answer, so the sources of the mount are not known; give them instead";
            (Exit::Unavailable, format!("the daemon{process} {why}"))
        }
        Some((_, Answer::Refused)) => {
            (Exit::NoPermission, "the mount is another user's; run as that user".into())
        }
        Some((_, Answer::Failed(what))) => (Exit::Io, what.trim_start_matches("bsafs: ").to_owned()),
        None | Some((_, Answer::Covered)) => (
            Exit::NoInput,
            "only a part of this mount of bsafs is visible, so its sources are not known; give them instead"
                .into(),
        ),
    };
    Err(Failure::new(exit, format!("{}: {what}", source.shown())))
}
