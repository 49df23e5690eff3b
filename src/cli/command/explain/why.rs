//! `bsafs why`: prints why a file, plugin, archive, mod or settings file is not in a game.

use std::cell::OnceCell;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use clap::Args;
use log::{Level, LevelFilter};
use serde::Serialize;

use crate::answers::fate::{Fate, FateReason};
use crate::answers::needs::near;
use crate::answers::question::{Question, real_path};
use crate::answers::unseen::unseen_about;
use crate::answers::why::{Explanation, NOT_FOUND, SAME_NAME, ThingKind, why};
use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::options::mount_as_source::beneath;
use crate::cli::options::named_sources::source_set;
use crate::cli::options::option_table::OpenArgs;
use crate::cli::terminal::output::{ASIDE, StyledWrite, WINNER, stdout_for, write_json};
use crate::cli::terminal::report::instance;
use crate::cli::terminal::shown_layers::ShownLayers;
use crate::cli::ui::Ui;
use crate::game::find::{Installations, find, recognise_among};
use crate::game::{
    Deployments, Disk, Environment, FoundInstance, LayerKind, MO2_INI, OrderLayer, find_instances,
};
use crate::shown::{Shown, quoted};
use crate::system::mountinfo::{self, MountEntry};
use crate::system::text::count;
use crate::vfs::Vfs;
use crate::vfs::sources::profile::{SourceSet, is_game};

/// Print why a file, plugin, archive, mod or INI file is not in a game, or what hides it
///
/// The first line names the game and the profile, and answers for exactly what was asked. A path on the
/// disk means that copy of the file, even in a mod that is off. Other paths mean files in the game, in
/// upper or lower case and with either slash, and as logs and programs in Wine print them. A name means a
/// plugin, an archive, an INI file, a mod of a mod manager, or a file. The most probable reason comes
/// first. With -v, paths are printed in full.
///
/// Without a source, bsafs asks all games and instances that you may mean. The exit status is 1 if
/// something is not in the game.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct AskWhy {
    /// Paths of files, or names of plugins, archives, mods or INI files
    ///
    /// In front of these, a game, a mount, or an instance or profile of Mod Organizer 2 is the source, as
    /// with --in.
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

/// Maximum number of things that could not be looked at, and may decide about what was asked.
const UNSEEN_MAX: usize = 4;

/// Maximum number of games and instances that are asked if the question does not say which is meant.
const ASKED_MAX: usize = 6;

impl AskWhy {
    pub(crate) fn run(&self, _: &Ui) -> Result<Exit, Failure> {
        let mut out = stdout_for(self.json);
        let mut exit = Exit::Ok;
        let (sources, things) = match &self.things[..] {
            [source, things @ ..] if self.sources.is_empty() && !things.is_empty() && is_asked(source) => {
                (std::slice::from_ref(source), things)
            }
            things => (&self.sources[..], things),
        };
        if let Some(blank) = things.iter().find(|it| it.to_string_lossy().trim().is_empty()) {
            let what = format!("\"{}\": give a path or name", blank.shown());
            return Err(Failure::new(Exit::Usage, what));
        }
        let games = Games::default();
        // The things of one source are asked together.
        let mut opened: Vec<(Vec<PathBuf>, Asked)> = Vec::new();
        let mut answers = Vec::new();
        let is_known =
            |found: &Vec<(usize, Explanation)>| found.iter().any(|(_, it)| it.fate != Fate::NotHere);
        // In a shell, a name with spaces becomes several. It may begin as the id of a game does.
        let begins_as_game = self.sources.is_empty() && sources.first().is_some_and(|it| is_game(it));
        let whole = |opened: &mut Vec<_>| {
            let found = self.answers(&self.sources, &joined(&self.things), &games, (opened, false)).ok();
            found.filter(is_known)
        };
        let is_name = begins_as_game && is_rather_a_name(&self.things);
        if let Some(found) = is_name.then(|| whole(&mut opened)).flatten() {
            answers.push(found);
        } else {
            for thing in things {
                match self.answers(
                    sources,
                    &thing.to_string_lossy(),
                    &games,
                    (&mut opened, things.len() == 1),
                ) {
                    Ok(found) => answers.push(found),
                    Err(error) => {
                        let found = (begins_as_game && !is_name).then(|| whole(&mut opened)).flatten();
                        answers = vec![found.ok_or(error)?];
                        break;
                    }
                }
            }
            let is_denied = |found: &Vec<(usize, Explanation)>| found.iter().all(|(_, it)| !it.is_there);
            let begins = |it: &PathBuf| it.is_absolute() || Question::plain(it) != *it;
            let is_one = things.len() > 1 && !things[1..].iter().any(begins);
            if is_one && answers.len() > 1 && answers.iter().any(is_denied) {
                let found = self.answers(sources, &joined(things), &games, (&mut opened, false))?;
                if is_known(&found) {
                    answers = vec![found];
                }
            }
        }
        let answers: Vec<_> = answers.into_iter().flatten().collect();
        let game_dir = self.open.options().game_dir;
        for (at, answer) in &answers {
            let Some((of, asked)) = opened.get(*at) else { continue };
            let source = of.first().or(game_dir.as_ref());
            let is_alike = |other: &(usize, Explanation)| {
                other.0 != *at && (other.1.game, &other.1.profile) == (answer.game, &answer.profile)
            };
            let is_vague = answers.iter().any(is_alike) || games.has_several(answer.game);
            if !answer.is_there {
                exit = Exit::No;
            }
            if self.json {
                write_json(&mut out, &Line { source, answer }).map_err(OutputError)?
            } else {
                let source = source.filter(|_| is_vague);
                write(&mut out, answer, source, &asked.places()).map_err(OutputError)?;
                let mut fates = answer.reasons.iter().filter(|it| it.fate.is_some());
                if let (Some(FateReason { code: NOT_FOUND, .. }), None) = (fates.next(), fates.next()) {
                    out.write_all(instance(asked.vfs.order()).as_bytes())?;
                }
            }
        }
        out.flush()?;
        Ok(exit)
    }

    /// The answers about a thing, and for each the number of the sources in `opened` that gave it. Nothing
    /// else is asked of the sources if the thing `is_alone`.
    fn answers(
        &self,
        sources: &[PathBuf],
        thing: &str,
        games: &Games,
        (opened, is_alone): (&mut Vec<(Vec<PathBuf>, Asked)>, bool),
    ) -> Result<Vec<(usize, Explanation)>, Failure> {
        let question = Question::new(thing, &games.disk, &|| games.prefixes());
        let (candidates, question) = self.sources_of(sources, question, games)?;
        let mut answers = Vec::new();
        for sources in candidates {
            let at = match opened.iter().position(|(known, _)| *known == sources) {
                Some(at) => at,
                None => {
                    // A name may be that of any file.
                    let path = Some(question.in_tree()).filter(|path| is_alone && path.contains('/'));
                    let path = path.filter(|_| question.disk.is_none()).map(PathBuf::from);
                    let asked = without_warnings(|| Asked::about(&sources, &self.open, path.as_slice()))?;
                    opened.push((sources, asked));
                    opened.len() - 1
                }
            };
            answers.push((at, opened[at].1.why(&question)));
        }
        // Games that do not know the thing say nothing about it if another one does.
        if answers.iter().any(|(_, answer)| answer.is_known()) {
            answers.retain(|(_, answer)| answer.is_known());
        }
        for (at, answer) in &mut answers {
            if !answer.is_there && answer.kind == ThingKind::File {
                answer.reasons.extend(opened[*at].1.named_by(answer));
            }
            let unseen =
                unseen_about(&opened[*at].1.vfs, Path::new(&question.text)).into_iter().map(FateReason::of);
            let is_new = |it: &FateReason| answer.reasons.iter().all(|known| known.subject != it.subject);
            let unseen: Vec<FateReason> = unseen.filter(is_new).take(UNSEEN_MAX).collect();
            let first = answer.reasons.len().min(1);
            answer.reasons.splice(first..first, unseen);
        }
        Ok(answers)
    }

    /// The sources that may be meant, each to be asked on its own, and the question for them.
    fn sources_of(
        &self,
        sources: &[PathBuf],
        question: Question,
        games: &Games,
    ) -> Result<(Vec<Vec<PathBuf>>, Question), Failure> {
        {
            let named = || question.disk.clone().unwrap_or_else(|| PathBuf::from(&question.text));
            let is_path = question.disk.is_some() || question.text.contains('/') || question.text == "..";
            if let Some((mountpoint, within)) = is_path.then(|| in_mount(&named())).flatten() {
                let sources = if self.has_source(sources) { sources.to_owned() } else { vec![mountpoint] };
                let text = within;
                return Ok((vec![sources], Question { text, disk: None, ..question }));
            }
        }
        if self.has_source(sources) {
            return Ok((vec![sources.to_owned()], question));
        }
        let candidates = match &question.disk {
            Some(path) => games.around(path),
            None => Vec::new(),
        };
        let candidates = if candidates.is_empty() { games.all()? } else { candidates };
        Ok((candidates.into_iter().map(|source| vec![source]).collect(), question))
    }

    fn has_source(&self, sources: &[PathBuf]) -> bool {
        !sources.is_empty() || self.open.options().game_dir.is_some()
    }
}

/// An answer, as JSON.
#[derive(Serialize)]
struct Line<'a> {
    /// The source that was asked: a game's id or folder, or the folder of an instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a PathBuf>,
    #[serde(flatten)]
    answer: &'a Explanation,
}

/// The games and instances of Mod Organizer 2 on this computer, searched once they are needed.
#[derive(Default)]
struct Games {
    disk: Disk,
    found: OnceCell<(Rc<Installations>, Vec<FoundInstance>)>,
}

impl Games {
    fn found(&self) -> &(Rc<Installations>, Vec<FoundInstance>) {
        self.found.get_or_init(|| {
            let environment = Environment::of_process();
            let found = find(&self.disk, &environment);
            let instances = find_instances(&self.disk, &environment, &found, None);
            (found.into(), instances)
        })
    }

    /// Whether a game is known to be installed more than once, or to have several instances. Nothing is
    /// searched for that.
    fn has_several(&self, game: Option<&str>) -> bool {
        let Some((found, instances)) = self.found.get() else { return false };
        let installed = found.installations.iter().filter(|it| Some(it.title.id) == game).count();
        let managed = instances.iter().filter(|it| it.title.is_some_and(|it| Some(it.id) == game)).count();
        installed > 1 || managed > 1
    }

    fn prefixes(&self) -> Vec<PathBuf> {
        self.found().0.prefixes().map(Path::to_owned).collect()
    }

    /// The instances and games that a path on the disk may belong to.
    fn around(&self, path: &Path) -> Vec<PathBuf> {
        if let Some(profile) = path.ancestors().take(2).find(|folder| is_profile(&self.disk, folder)) {
            return vec![profile.to_owned()];
        }
        let is_instance = |folder: &&Path| self.disk.is_file(&folder.join(MO2_INI));
        if let Some(instance) = path.ancestors().skip(1).find(is_instance) {
            return vec![instance.to_owned()];
        }
        let (found, instances) = self.found();
        let is_in = |folder: &Path| path.starts_with(folder) || self.is_below(path, folder);
        let of_instances = instances.iter().filter(|it| it.folders.iter().any(|folder| is_in(folder)));
        let around: Vec<PathBuf> = of_instances.map(|it| it.folder.clone()).collect();
        if !around.is_empty() {
            return around;
        }
        let games = found.installations.iter().filter(|game| {
            let folders = [Some(&game.folder), game.my_games.as_ref(), game.local.as_ref()];
            folders.into_iter().flatten().any(|folder| is_in(folder))
        });
        let games: Vec<_> = games.flat_map(|game| self.managed(&game.folder)).collect();
        if !games.is_empty() {
            return games;
        }
        let recognised = path.ancestors().skip(1).take(DEPTH_MAX).find_map(|folder| {
            recognise_among(&self.disk, folder, &Environment::of_process(), &|| found.clone()).ok()
        });
        recognised.map(|game| game.folder).into_iter().collect()
    }

    /// Whether a path is below a folder when links are followed.
    fn is_below(&self, path: &Path, folder: &Path) -> bool {
        let real = real_path(&self.disk, path);
        real.zip(self.disk.canonical(folder).ok()).is_some_and(|(path, folder)| path.starts_with(folder))
    }

    /// The instances that manage a game; the game itself if there are none.
    fn managed(&self, game: &Path) -> Vec<PathBuf> {
        let (_, instances) = self.found();
        let identity = self.disk.identity(game);
        let is_its =
            |it: &&FoundInstance| it.game.as_ref().is_some_and(|it| self.disk.identity(it) == identity);
        let of_game: Vec<PathBuf> = instances.iter().filter(is_its).map(|it| it.folder.clone()).collect();
        if of_game.is_empty() { vec![game.to_owned()] } else { of_game }
    }

    /// All instances, and the games that no instance manages.
    fn all(&self) -> Result<Vec<PathBuf>, Failure> {
        let (found, instances) = self.found();
        let mut all: Vec<PathBuf> = instances.iter().map(|it| it.folder.clone()).collect();
        for source in found.installations.iter().flat_map(|game| self.managed(&game.folder)) {
            if !all.contains(&source) {
                all.push(source);
            }
        }
        match all.len() {
            0 => {
                let what =
                    "no game was found; `bsafs games` prints where it searched. Name a source with --in";
                Err(Failure::new(Exit::NoInput, what))
            }
            1..=ASKED_MAX => Ok(all),
            _ => {
                let lines: String = all.iter().map(|it| format!("\n  {}", it.shown())).collect();
                let what = format!("name the game or instance with --in; these were found:{lines}");
                Err(Failure::new(Exit::Usage, what))
            }
        }
    }
}

/// Maximum number of folders around a path that are examined for a game.
const DEPTH_MAX: usize = 16;

/// Sources that were opened for questions.
pub(crate) struct Asked {
    vfs: Vfs,
    set: SourceSet,
    deployments: Deployments,
}

impl Asked {
    pub(crate) fn new(sources: &[PathBuf], open: &OpenArgs) -> Result<Self, Failure> {
        Self::about(sources, open, &[])
    }

    /// Opens sources for some paths in their tree, as [`Vfs::open_for`] does; without paths, opens all.
    pub(crate) fn about(sources: &[PathBuf], open: &OpenArgs, paths: &[PathBuf]) -> Result<Self, Failure> {
        let set = source_set(sources, open.options())?;
        let vfs = Vfs::open_for(&set, paths.iter().map(|it| it.as_os_str().as_bytes()))?;
        let installation = vfs.order().installation.iter();
        let deployments = Deployments::new(installation.flat_map(|it| it.prefix_folders()).collect());
        Ok(Self { vfs, set, deployments })
    }

    /// The mod from which a manager deployed a file into a folder of a game.
    pub(crate) fn deployed_from(&self, folder: &Path, path: &str) -> Option<String> {
        let order = self.vfs.order();
        let is_its = |layer: &&OrderLayer| layer.path == folder && layer.what == LayerKind::Folder;
        let layer = order.layers.iter().find(is_its)?;
        if layer.is_managed || order.game.is_empty() {
            return None;
        }
        self.deployments.mod_of(folder, path)
    }

    pub(crate) fn vfs(&self) -> &Vfs {
        &self.vfs
    }

    pub(crate) fn is_folder(&self, path: &Path) -> bool {
        self.vfs.folder(path.as_os_str().as_encoded_bytes()).is_some()
    }

    /// The reasons why a file is not there, to end an error.
    pub(crate) fn reasons(&self, path: &Path) -> String {
        let prefixes = || self.vfs.order().installation.iter().flat_map(|it| it.prefix_folders()).collect();
        let answer = self.why(&Question::new(&path.to_string_lossy(), &Disk::default(), &prefixes));
        // The error names files of the same name anyway.
        let is_other = |it: &&FateReason| !matches!(it.code, SAME_NAME | NOT_FOUND);
        let reasons = answer.reasons.iter().filter(is_other).take(SHOWN);
        reasons
            .map(|it| format!("\n  {}  {}\n      {}", it.code, it.subject.shown(), it.text.shown()))
            .collect()
    }

    fn why(&self, question: &Question) -> Explanation {
        why(&self.vfs, &self.set, question)
    }

    /// Which meshes name a file that is missing, or the command that searches all of them.
    fn named_by(&self, answer: &Explanation) -> Option<FateReason> {
        let near = near(&self.vfs, answer.path.as_ref()?.as_bytes())?;
        let sources = self.set.paths.iter().map(|it| quoted(&it.to_string_lossy()));
        let sources: Vec<String> = sources.collect();
        let all = format!("`bsafs needs {} --who {}`", sources.join(" "), quoted(&near.path));
        let (subject, text) = match (&near.naming[..], near.folder) {
            ([], None) => (near.path.into_string(), format!("{all} prints which meshes name it")),
            ([], Some(folder)) => {
                let unread = near.unread.as_ref().map(|(first, number)| {
                    let number = count(*number, "file");
                    format!("{number} in this folder cannot be read, such as {}; ", first.path().shown())
                });
                let others = if unread.is_some() { "no other mesh" } else { "no mesh in this folder" };
                let unread = unread.unwrap_or_default();
                (folder, format!("{unread}{others} names it; {all} reads all"))
            }
            ([mesh], _) => (mesh.path(), format!("names it; {all} finds others")),
            ([mesh, more @ ..], _) => {
                let more = count(more.len(), "other");
                (mesh.path(), format!("names it, and {more} near it; {all} prints all"))
            }
        };
        Some(FateReason::remark("named-by", Path::new(&subject), text))
    }

    fn places(&self) -> NamedLayers {
        let layers: Vec<(PathBuf, bool)> =
            self.vfs.layers().map(|layer| (layer.path().to_owned(), layer.is_folder())).collect();
        let names = ShownLayers::of(layers.iter().map(|(path, is_folder)| (&**path, *is_folder)));
        NamedLayers { names, layers }
    }
}

/// The names of places, as `which` and `order` print them.
struct NamedLayers {
    names: ShownLayers,
    layers: Vec<(PathBuf, bool)>,
}

impl NamedLayers {
    /// The name of a layer, or that of the layer that has a file, and the path in it.
    fn place(&self, path: &Path) -> String {
        let around = self.layers.iter().map(|(layer, _)| layer).filter(|layer| path.starts_with(layer));
        let around = around.max_by_key(|layer| layer.as_os_str().len());
        let Some((layer, within)) = around.and_then(|it| Some((it, path.strip_prefix(it).ok()?))) else {
            return self.names.subject(path).to_string();
        };
        let name = self.names.shown(layer);
        if within.as_os_str().is_empty() { name.to_string() } else { format!("{name}/{}", within.shown()) }
    }
}

/// Calls a function without its warnings, unless the user asked for more: a warning about an archive has
/// nothing to do with most questions, and the reasons name it otherwise.
pub(crate) fn without_warnings<T>(open: impl FnOnce() -> T) -> T {
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
    if let Some((_, within)) = in_mount(source) {
        return within.is_empty();
    }
    let disk = Disk::default();
    is_game(source) || disk.is_file(&source.join(MO2_INI)) || is_profile(&disk, source)
}

/// Whether a folder is a profile of the instance of Mod Organizer 2 that it is in.
fn is_profile(disk: &Disk, folder: &Path) -> bool {
    let Ok(folder) = std::path::absolute(folder) else { return false };
    let instance = || folder.ancestors().nth(2).is_some_and(|it| disk.is_file(&it.join(MO2_INI)));
    disk.is_file(&folder.join("modlist.txt")) && instance()
}

/// Whether words that begin with the id of a game are rather one name: `Skyrim - Textures0.bsa`. People type
/// an id in small letters.
fn is_rather_a_name(words: &[PathBuf]) -> bool {
    let has_capitals = words.first().is_some_and(|it| it.to_string_lossy().contains(char::is_uppercase));
    has_capitals || words.get(1).is_some_and(|it| it.as_os_str() == "-")
}

fn joined(words: &[PathBuf]) -> String {
    let words: Vec<_> = words.iter().map(|it| it.to_string_lossy()).collect();
    words.join(" ")
}

/// The mount, perhaps a writable one, that a path is in, and the path in it; that of the mountpoint is empty.
fn in_mount(path: &Path) -> Option<(PathBuf, String)> {
    // Nothing in a mount is opened, and its folders are no links.
    let mut plain = PathBuf::new();
    for part in std::path::absolute(path).ok()?.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            part => plain.push(part),
        }
    }
    let path = plain;
    let mounts = mountinfo::mounts();
    let is_ours =
        |it: &&MountEntry| if it.is_bsafs() { it.is_whole() } else { beneath(it, &mounts).next().is_some() };
    let around = mounts.iter().rev().filter(is_ours);
    let found = around.into_iter().find(|it| path.starts_with(&it.mountpoint))?;
    let within = path.strip_prefix(&found.mountpoint).ok()?.to_string_lossy().into_owned();
    Some((found.mountpoint.clone(), within))
}

/// Writes an answer: the game, whether the thing is in it, and the reasons. `source` is that of the game if
/// there is another one of the same id.
fn write(
    out: &mut impl StyledWrite,
    answer: &Explanation,
    source: Option<&PathBuf>,
    names: &NamedLayers,
) -> std::io::Result<()> {
    let is_verbose = log::log_enabled!(Level::Info);
    let name = |subject: &str| {
        let path = Path::new(subject);
        if is_verbose { subject.shown().to_string() } else { names.place(path) }
    };
    let game = answer.game.unwrap_or_default();
    if !game.is_empty() || answer.profile.is_some() {
        write!(out, "{game}")?;
        if let Some(profile) = &answer.profile {
            write!(out, ", profile {}", profile.shown())?;
        }
        if let Some(source) = source {
            let comma = if answer.profile.is_some() { "," } else { "" };
            write!(out, "{comma} in {}", source.shown())?;
        }
        write!(out, ": ")?;
    }
    let whole = if answer.game.is_some() { "the game" } else { "the sources" };
    out.write_styled(WINNER, answer.thing.shown())?;
    if let Some(meant) = &answer.meant {
        write!(out, " ({})", meant.shown())?;
    }
    let mut reasons = &answer.reasons[..];
    match reasons {
        [FateReason { code: "there", subject, .. }, rest @ ..]
            if answer.is_there && answer.kind == ThingKind::File =>
        {
            write!(out, " is in {whole}, from ")?;
            out.write_styled(WINNER, name(subject))?;
            writeln!(out)?;
            reasons = if is_verbose { reasons } else { rest };
        }
        _ if answer.is_there => writeln!(out, " is in {whole}")?,
        [FateReason { code: NOT_FOUND, subject, .. }, ..] if Path::new(subject).is_absolute() => {
            writeln!(out, " does not exist")?
        }
        _ => writeln!(out, " is not in {whole}")?,
    }
    let shown: Vec<(&str, String, &FateReason)> = reasons
        .iter()
        .take(SHOWN)
        .map(|it| (it.fate.map_or("note", Fate::in_words), name(&it.subject), it))
        .collect();
    let fates = shown.iter().map(|it| it.0.len()).max().unwrap_or(0);
    let width = shown.iter().map(|it| it.1.chars().count()).filter(|it| *it <= NAME_MAX).max().unwrap_or(0);
    for (fate, name, reason) in &shown {
        let text = reason.text.shown().to_string();
        write!(out, "  {fate:<fates$}  ")?;
        if 6 + fates + width.max(name.chars().count()) + text.chars().count() <= COLUMNS {
            write!(out, "{name:<width$}  ")?;
        } else {
            write!(out, "{name}\n      ")?;
        }
        out.write_styled(ASIDE, text)?;
        writeln!(out)?;
    }
    let more = reasons.len().saturating_sub(SHOWN);
    if more > 0 {
        writeln!(out, "  and {more} more; --json prints them")?;
    }
    Ok(())
}

/// Longest name beside which reasons are aligned.
const NAME_MAX: usize = 40;
/// Longest line that has both a name and a reason.
const COLUMNS: usize = 110;
