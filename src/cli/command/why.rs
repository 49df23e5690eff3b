//! `bsafs why`: prints why a file, plugin, archive, mod or settings file is not in a game.

use std::path::{Path, PathBuf};

use clap::Args;
use log::{Level, LevelFilter};

use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::options::named_sources::source_set;
use crate::cli::options::open_args::OpenArgs;
use crate::cli::terminal::output::{ASIDE, StyledWrite, WINNER, stdout_for, write_json};
#[cfg(feature = "mount")]
use crate::cli::terminal::report::instance;
use crate::cli::ui::Ui;
use crate::game::find::find;
use crate::game::{Disk, Environment, MO2_INI, find_instances};
use crate::shown::Shown;
#[cfg(feature = "mount")]
use crate::system::mountinfo;
use crate::vfs::Vfs;
use crate::vfs::sources::resolve::is_game;
use crate::vfs::sources::source_set::SourceSet;
use crate::vfs::why::{Cause, Explanation, NOT_FOUND, SAME_NAME, why};

/// Print why a file, plugin, archive, mod or INI file is not in a game, or what hides it
///
/// The most probable reason comes first. A path is that of a file in the game, in any case and with either
/// slash, or in a mount or on the disk. A name is that of a plugin, an archive, an INI file, or a mod of Mod
/// Organizer 2.
///
/// The exit status is 1 if something is not in the game.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct AskWhy {
    /// Paths of files, or names of plugins, archives, mods or INI files
    ///
    /// In front of these, a game, a mount or an instance of Mod Organizer 2 is the source, as with --in.
    #[arg(required = true, value_name = "FILE|PLUGIN|MOD")]
    things: Vec<PathBuf>,
    /// Game, instance of Mod Organizer 2, or other source to ask about [default: the only one installed]
    #[arg(long = "in", value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    open: OpenArgs,
}

const EXAMPLES: &str = "\
Examples:
  bsafs why textures/armor/iron.dds
  bsafs why skyrimse MyMod.esp
  bsafs why --in ~/MO2 SkyUI
  bsafs why ~/mnt/meshes/a.nif";

/// Maximum number of reasons printed for one thing, without `--json`.
const SHOWN: usize = 8;

impl AskWhy {
    pub(crate) fn run(&self, _: &Ui) -> Result<Exit, Failure> {
        let mut out = stdout_for(self.json);
        let mut exit = Exit::Ok;
        // The things of one mount or of the named sources are asked together.
        let mut opened: Option<(Vec<PathBuf>, Asked)> = None;
        let (sources, things) = match &self.things[..] {
            [source, things @ ..] if self.sources.is_empty() && !things.is_empty() && is_asked(source) => {
                (std::slice::from_ref(source), things)
            }
            things => (&self.sources[..], things),
        };
        for thing in things {
            let (sources, name) = self.sources_of(sources, thing)?;
            if opened.as_ref().is_none_or(|(known, _)| *known != sources) {
                opened = Some((sources.clone(), without_warnings(|| Asked::new(&sources, &self.open))?));
            }
            let Some((_, asked)) = &opened else { continue };
            let answer = asked.why(&name);
            if !answer.is_there {
                exit = Exit::No;
            }
            if self.json {
                write_json(&mut out, &answer).map_err(OutputError)?
            } else {
                write(&mut out, &answer).map_err(OutputError)?;
                #[cfg(feature = "mount")]
                if let [Cause { code: NOT_FOUND, .. }] = &answer.reasons[..] {
                    out.write_all(instance(asked.vfs.order()).as_bytes())?;
                }
            }
        }
        out.flush()?;
        Ok(exit)
    }

    /// The sources to ask about a thing, and its name in them.
    fn sources_of(&self, sources: &[PathBuf], thing: &Path) -> Result<(Vec<PathBuf>, String), Failure> {
        let name = thing.to_string_lossy().into_owned();
        if !sources.is_empty() || self.open.game_dir().is_some() {
            return Ok((sources.to_owned(), name));
        }
        #[cfg(feature = "mount")]
        if let Some((mountpoint, within)) = in_mount(thing).filter(|(_, within)| !within.is_empty()) {
            return Ok((vec![mountpoint], within));
        }
        only_source().map(|source| (vec![source], name))
    }
}

/// Sources that were opened for questions.
pub(crate) struct Asked {
    vfs: Vfs,
    set: SourceSet,
}

impl Asked {
    pub(crate) fn new(sources: &[PathBuf], open: &OpenArgs) -> Result<Self, Failure> {
        let set = source_set(sources, open.options())?;
        Ok(Self { vfs: Vfs::from(set.open()?), set })
    }

    pub(crate) fn vfs(&self) -> &Vfs {
        &self.vfs
    }

    pub(crate) fn is_folder(&self, path: &Path) -> bool {
        self.vfs.folder(path.as_os_str().as_encoded_bytes()).is_some()
    }

    /// The reasons why a file is not there, to end an error.
    pub(crate) fn reasons(&self, path: &Path) -> String {
        let answer = self.why(&path.to_string_lossy());
        // The error names files of the same name anyway.
        let is_other = |it: &&Cause| !matches!(it.code, SAME_NAME | NOT_FOUND);
        let reasons = answer.reasons.iter().filter(is_other).take(SHOWN);
        reasons
            .map(|it| format!("\n  {}  {}\n      {}", it.code, it.subject.shown(), it.text.shown()))
            .collect()
    }

    fn why(&self, thing: &str) -> Explanation {
        why(&self.vfs, &self.set, thing)
    }
}

/// Calls a function without its warnings, unless the user asked for more: a warning about an archive has
/// nothing to do with most questions, and the reasons name it otherwise.
fn without_warnings<T>(open: impl FnOnce() -> T) -> T {
    let level = log::max_level();
    if !log::log_enabled!(Level::Info) {
        log::set_max_level(level.min(LevelFilter::Error));
    }
    let opened = open();
    log::set_max_level(level);
    opened
}

/// Whether users ask about a path and not for it: a game's id, a mount, or the folder of an instance of Mod
/// Organizer 2. Nothing in a mount is opened, because its daemon may hang.
fn is_asked(source: &Path) -> bool {
    #[cfg(feature = "mount")]
    if let Some((_, within)) = in_mount(source) {
        return within.is_empty();
    }
    is_game(source) || Disk::default().is_file(&source.join(MO2_INI))
}

/// The mount that a path is in, and the path in it, which is empty for the mountpoint.
#[cfg(feature = "mount")]
fn in_mount(path: &Path) -> Option<(PathBuf, String)> {
    let path = std::path::absolute(path).ok()?;
    let mounts = mountinfo::mounts();
    let around = mounts.iter().rev().filter(|it| it.is_bsafs() && it.is_whole());
    let found = around.into_iter().find(|it| path.starts_with(&it.mountpoint))?;
    let within = path.strip_prefix(&found.mountpoint).ok()?.to_string_lossy().into_owned();
    Some((found.mountpoint.clone(), within))
}

/// The only instance, or else the only game.
fn only_source() -> Result<PathBuf, Failure> {
    let (disk, environment) = (Disk::default(), Environment::of_process());
    let found = find(&disk, &environment);
    let instances = find_instances(&disk, &environment, &found, None);
    let folders = instances.iter().map(|it| it.folder.clone());
    match (&instances[..], &found.installations[..]) {
        ([instance], _) => Ok(instance.folder.clone()),
        ([], [game]) => Ok(game.folder.clone()),
        ([], []) => {
            let what = "no game was found; `bsafs games` prints where it searched. Name a source with --in";
            Err(Failure::new(Exit::NoInput, what))
        }
        _ => {
            let all = folders.chain(found.installations.iter().map(|it| it.folder.clone()));
            let lines: String = all.map(|it| format!("\n  {}", it.shown())).collect();
            let what = format!("name the game or instance with --in; these were found:{lines}");
            Err(Failure::new(Exit::Usage, what))
        }
    }
}

/// Writes an answer: whether the thing is there, and the reasons.
fn write(out: &mut impl StyledWrite, answer: &Explanation) -> std::io::Result<()> {
    out.write_styled(WINNER, answer.thing.shown())?;
    writeln!(out, "{}", if answer.is_there { "  is in the game" } else { "  is not in the game" })?;
    for reason in answer.reasons.iter().take(SHOWN) {
        writeln!(out, "  {}  {}", reason.code, reason.subject.shown())?;
        write!(out, "      ")?;
        out.write_styled(ASIDE, reason.text.shown())?;
        writeln!(out)?;
    }
    let more = answer.reasons.len().saturating_sub(SHOWN);
    if more > 0 {
        writeln!(out, "  and {more} more; --json prints them")?;
    }
    Ok(())
}
