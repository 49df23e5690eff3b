//! The door of this room: what a game, an instance of Mod Organizer 2, or OpenMW loads. [`LoadOrders`] finds
//! the game, its Wine prefix and its settings, and plans its layers. Callers need no other file of the room.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::caseless::same;
use super::disk::Disk;
use super::find::{Installations, below, drives, find, for_instance, recognise_among, with_prefix};
use super::installation::{Environment, Installation, Overrides};
use super::managers::{
    InstanceName, MO2_INI, find_instances, game_of_settings, instance_of_profile, plan_mo2, plan_openmw,
};
use super::plan::{LoadOrder, PlanError, plan_game};
use super::settings::OPENMW_CFG;
use super::titles::title::Title;
use crate::game::titles::title::OPENMW;
use crate::note::{Note, NoteCode};
use crate::shown::{Shown, quoted};
use crate::system::covered::{Covered, uncovered};
use crate::system::disk_id::DiskId;
use crate::system::text::count;

/// Load orders of what the user names. A load order has the layers, lowest first, each with the reason why it
/// is loaded; the rule by which one of them wins; the active plugins; the settings that were read; and notes
/// on what is odd or missing. For that, names in folders, settings, lists, headers of plugins and versions of
/// archives are read. Nothing is kept: each value of this type searches and plans anew.
///
/// | asked | which game |
/// |---|---|
/// | [of a game](Self::of_game) | its only installation, in lists of launchers and common folders (`find`) |
/// | [at the folder of a game](Self::at) | the game whose files are in it, with what `find` knows of it |
/// | at an instance of Mod Organizer 2, its settings or its profile | its game (`managers`) |
/// | at `openmw.cfg`, or its folder | OpenMW with these settings (`managers`) |
///
/// If the user says where the game is, no other place counts. Its settings are those of the Wine prefix in
/// which a program started last, unless the user names one. From them, `plan` knows the plugins and archives.
///
/// Each method fails if the game is not found, or is installed twice, or if its settings or those of the
/// instance cannot be used. The text says where the search looked, or what to name instead. The search for
/// installed games runs at most once, when it is needed.
pub(crate) struct LoadOrders<'a> {
    /// Through which all is read: it records each file and folder that the plans depend on, so that a mount
    /// can watch them, and what could not be looked at.
    disk: &'a Disk,
    /// The folder of the game, if the user says where it is.
    game_dir: Option<&'a Path>,
    overrides: &'a Overrides,
    environment: Environment,
    /// The result of the search for games, once it was needed, and what it could not look at.
    found: OnceCell<(Rc<Installations>, Vec<Note>)>,
    /// As `found`, for notes only.
    found_nearby: OnceCell<Rc<Installations>>,
    /// Folders near which a game was looked for. A profile may name a folder many times.
    looked_nearby: RefCell<HashSet<DiskId>>,
}

impl<'a> LoadOrders<'a> {
    pub(crate) fn new(disk: &'a Disk, game_dir: Option<&'a Path>, overrides: &'a Overrides) -> Self {
        Self {
            disk,
            game_dir,
            overrides,
            environment: Environment::of_process(),
            found: OnceCell::new(),
            found_nearby: OnceCell::new(),
            looked_nearby: RefCell::default(),
        }
    }

    /// The load order of what is at a path, which is absolute and leads to a file or folder. `None` for an
    /// archive or a folder of loose files.
    pub(crate) fn at(&self, path: &Path) -> Result<Option<LoadOrder>, PlanError> {
        // Not through the disk: what the source itself is, its caller records.
        if uncovered(path).is_dir() {
            return self.of_folder(path);
        }
        let is_named =
            |name: &str| path.file_name().and_then(|it| it.to_str()).is_some_and(|it| same(it, name));
        match () {
            () if is_named(MO2_INI) => {
                self.of_instance(path.parent().unwrap_or(path), self.overrides).map(Some)
            }
            () if is_named(OPENMW_CFG) => self.of_settings(path).map(Some),
            () => Ok(None),
        }
    }

    /// The load order of a game.
    pub(crate) fn of_game(&self, title: &'static Title) -> Result<LoadOrder, PlanError> {
        if let Some(folder) = self.game_dir {
            let installation = self.recognised(folder)?;
            if installation.title.id != title.id {
                let (folder, found) = (folder.shown(), installation.title.id);
                return Err(PlanError(format!(
                    "{folder}: the game in this folder is {found}, not {}",
                    title.id
                )));
            }
            return self.of_installation(&installation);
        }
        let found = self.found();
        let these: Vec<&Installation> =
            found.installations.iter().filter(|it| it.title.id == title.id).collect();
        match these[..] {
            [installation] => self.of_installation(installation),
            [] => Err(not_found(title, &found)),
            ref several => Err(found_twice(title, several)),
        }
    }

    /// The load order of the game in a folder that the user named instead of a source.
    pub(crate) fn of_game_in(&self, folder: &Path) -> Result<LoadOrder, PlanError> {
        self.of_installation(&self.recognised(folder)?)
    }

    /// A note if a folder of loose files is the data folder of a game, or has a game in a subfolder.
    pub(crate) fn near(&self, folder: &Path) -> Option<Note> {
        // What is read here changes no plan, so a mount need not watch it.
        let disk = &self.disk.with_own_reads();
        if !self.looked_nearby.borrow_mut().insert(disk.identity(folder)?) {
            return None;
        }
        let found = || self.found_nearby.get_or_init(|| find(disk, &self.environment).into()).clone();
        let (title, text) = match recognise_among(disk, folder, &self.environment, &found) {
            Ok(game) => {
                let source = source_of(&game, &found());
                let text = format!(
                    "this is the data folder of {}, shown without the game's load order; \
                     `bsafs mount` with the source {source} has that",
                    game.title.name
                );
                (game.title, text)
            }
            Err(_) => {
                let (title, below) = below(disk, folder)?;
                let text = format!(
                    "{} is in a folder below, and is shown without its load order; \
                     `bsafs mount` with the source {} has that",
                    title.name,
                    below.shown()
                );
                (title, text)
            }
        };
        Some(Note { reason: title.name, ..Note::new(NoteCode::GameNearby, folder.to_string_lossy(), text) })
    }

    /// The load order of the game or instance in a folder; `None` if it is a folder of loose files.
    fn of_folder(&self, folder: &Path) -> Result<Option<LoadOrder>, PlanError> {
        if self.disk.find_file(folder, MO2_INI).is_some() {
            return self.of_instance(folder, self.overrides).map(Some);
        }
        if let Some((instance, name)) = self.instance_of_profile(folder) {
            let overrides = Overrides { mo2_profile: Some(name), ..self.overrides.clone() };
            return self.of_instance(&instance, &overrides).map(Some);
        }
        // OpenMW's settings stand for it. Programs made of it keep their own in their folder.
        if self.disk.is_file(&folder.join(OPENMW_CFG)) {
            return self.of_settings(&folder.join(OPENMW_CFG)).map(Some);
        }
        match self.recognise(folder) {
            // If the user names a folder inside a game's folder, such as Data, it counts as loose files.
            Ok(installation)
                if installation.folder == *folder || !folder.starts_with(&installation.folder) =>
            {
                self.of_installation(&installation).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// All games of the user. What cannot be looked at of other games does not matter to a source. `bsafs
    /// games` says it.
    fn found(&self) -> Rc<Installations> {
        self.search().0.clone()
    }

    fn search(&self) -> &(Rc<Installations>, Vec<Note>) {
        self.found.get_or_init(|| self.disk.with_notes(|| find(self.disk, &self.environment).into()))
    }

    /// Adds what the search could not look at if the settings of a game were found nowhere: they may be
    /// there. So may OpenMW, if only the user's settings for it were found.
    fn report_settings_unseen(&self, game: &Installation) {
        let has_settings = game.my_games.is_some() || game.local.is_some();
        if !has_settings || game.my_games.as_ref() == Some(&game.folder) {
            self.search().1.iter().for_each(|note| self.disk.add_unseen(note.clone()));
        }
    }

    fn recognised(&self, folder: &Path) -> Result<Installation, PlanError> {
        self.recognise(folder).map_err(PlanError)
    }

    fn recognise(&self, folder: &Path) -> Result<Installation, String> {
        self.disk.without_notes(|| recognise_among(self.disk, folder, &self.environment, &|| self.found()))
    }

    /// The prefixes whose drives the paths of an instance may refer to.
    fn drives(&self, instance: &Path) -> Vec<PathBuf> {
        self.disk.without_notes(|| drives(self.disk, instance, &self.found()))
    }

    fn instance_of_profile(&self, folder: &Path) -> Option<(PathBuf, String)> {
        // The profile is in a folder of the instance, or the user moved the profiles.
        let instance = folder.ancestors().nth(2).unwrap_or(folder);
        let drives = || self.drives(instance);
        instance_of_profile(self.disk, folder, &drives, self.overrides)
    }

    fn of_installation(&self, installation: &Installation) -> Result<LoadOrder, PlanError> {
        if installation.title.id == OPENMW {
            if installation.my_games.is_some() {
                self.report_settings_unseen(installation);
            }
            let cfg = installation.folder.join(OPENMW_CFG);
            return self.planned(plan_openmw(self.disk, &cfg, None, &self.environment, self.overrides));
        }
        let with_prefix = self.with_prefix(installation.clone()).map_err(PlanError)?;
        self.report_settings_unseen(&with_prefix);
        self.planned(plan_game(self.disk, &with_prefix, self.overrides))
    }

    fn with_prefix(&self, installation: Installation) -> Result<Installation, String> {
        match &self.overrides.prefix {
            Some(prefix) => with_prefix(self.disk, &installation, prefix, &self.environment),
            None => Ok(installation),
        }
    }

    fn of_instance(&self, instance: &Path, overrides: &Overrides) -> Result<LoadOrder, PlanError> {
        let has_game = Cell::new(false);
        let find = |folder: Option<&Path>| {
            let named = self.game_dir;
            let folder = named.or(folder).ok_or("the game's folder is not known")?;
            let of_ini = || if named.is_none() { format!(" (gamePath of {MO2_INI})") } else { String::new() };
            let game = self.recognise(folder).map_err(|what| what + &of_ini())?;
            has_game.set(true);
            let game = for_instance(self.disk, game, instance, &self.found(), &self.environment);
            self.with_prefix(game).inspect(|game| self.report_settings_unseen(game))
        };
        let drives = || self.drives(instance);
        let order = plan_mo2(self.disk, instance, &find, &drives, overrides);
        let is_asked = has_game.get() || self.game_dir.is_some();
        let advice = || if is_asked { String::new() } else { self.moved_game(instance) };
        self.planned(order.map_err(|error| PlanError(error.0 + &advice())))
    }

    /// Adds notes on what the plan could not look at.
    fn planned(&self, order: Result<LoadOrder, PlanError>) -> Result<LoadOrder, PlanError> {
        let mut order = order?;
        order.notes.extend(self.disk.take_unseen(&order.notes));
        Ok(order)
    }

    /// If the game of an instance is not where its settings say, names the installed game that they may mean:
    /// its path ends alike, as after a move from Windows, or it is the only one of its name.
    fn moved_game(&self, instance: &Path) -> String {
        let (path, name) = game_of_settings(self.disk, instance);
        let path = path.unwrap_or_default().replace('\\', "/");
        let ends: Vec<&str> = path.rsplit('/').filter(|name| !name.is_empty()).collect();
        let alike = |game: &Installation| {
            let names = game.folder.iter().rev().map(|it| it.to_string_lossy());
            let common = ends.iter().zip(names).take_while(|(end, name)| same(end, name)).count();
            (common, name.as_deref() == Some(game.title.name))
        };
        let found = self.found();
        let games = found.installations.iter().filter(|game| game.title.id != OPENMW);
        let games: Vec<_> =
            games.map(|game| (alike(game), game)).filter(|(it, _)| *it != (0, false)).collect();
        let best = games.iter().map(|(alike, _)| *alike).max();
        let games: Vec<_> = games.into_iter().filter(|(alike, _)| Some(*alike) == best).collect();
        let option = |(_, game): &(_, &Installation)| {
            format!("--game-dir {} ({})", quoted(&game.folder.to_string_lossy()), game.title.name)
        };
        match &games[..] {
            [] => String::new(),
            games => format!("; it may be {}", games.iter().map(option).collect::<Vec<_>>().join(" or ")),
        }
    }

    /// The load order of an OpenMW settings file. If this is the user's own openmw.cfg, the chain starts at
    /// the global one. That one usually leads to it, and otherwise it is read last.
    fn of_settings(&self, cfg: &Path) -> Result<LoadOrder, PlanError> {
        let found = self.found();
        let installed = found.installations.iter();
        let is_user = |it: &Installation| it.my_games.as_deref() == cfg.parent();
        let mut global = installed.filter(|it| it.title.id == OPENMW && is_user(it));
        let global = global.next().inspect(|it| self.report_settings_unseen(it));
        let first = global.map_or_else(|| cfg.to_owned(), |it| it.folder.join(OPENMW_CFG));
        self.planned(plan_openmw(self.disk, &first, cfg.parent(), &self.environment, self.overrides))
    }
}

/// The shortest source that names a game.
fn source_of(game: &Installation, found: &Installations) -> String {
    let id = game.title.id;
    let mut these = found.installations.iter().filter(|it| it.title.id == id);
    match (these.next(), these.next()) {
        (Some(only), None) if only.folder == game.folder => id.to_owned(),
        _ => game.folder.shown().to_string(),
    }
}

fn found_twice(title: &Title, several: &[&Installation]) -> PlanError {
    let folders: Vec<String> =
        several.iter().map(|it| format!("\n  {} ({})", it.folder.shown(), it.store.as_str())).collect();
    let what =
        format!("{} is installed more than once; give one of these folders:{}", title.id, folders.concat());
    PlanError(what)
}

fn not_found(title: &Title, found: &Installations) -> PlanError {
    let identity = &title.identity;
    let mut marks: Vec<String> = vec![identity.executables.join(" or ")];
    marks.extend(identity.also.iter().map(|it| (*it).to_owned()));
    marks.extend(identity.masters.iter().map(|master| format!("{}/{master}", title.data)));
    let mut others: Vec<&str> = found.installations.iter().map(|it| it.title.id).collect();
    others.sort_unstable();
    others.dedup();
    // Named first, because `skyrim` may have been typed for `skyrimse`.
    let others = match &others[..] {
        [] => String::new(),
        [other] => format!(", but {other} is installed"),
        others => format!(", but these games are installed: {}", others.join(", ")),
    };
    let marks = marks.join(", ");
    let mut what = format!("{} was not found{others}.\nThere is no folder with {marks} in:", title.id);
    what += &if others.is_empty() { looked_in(found) } else { existing_folders(found) };
    for (path, why) in &found.unusable {
        what += &format!("\n  {}: {why}", path.shown());
    }
    what += "\nIf the game is elsewhere, give its folder, or use --game-dir.";
    PlanError(what)
}

/// The folders that were searched for games and exist, one per line, and how many others there are.
fn existing_folders(found: &Installations) -> String {
    let (existing, others): (Vec<&PathBuf>, Vec<_>) = found.searched.iter().partition(|path| path.is_dir());
    let lines = existing.iter().map(|path| format!("\n  {}", path.shown()));
    let others = match others.len() {
        0 => String::new(),
        others => format!("\n  and {} that do not exist", count(others, "folder")),
    };
    lines.chain([others]).collect()
}

/// The folders that were searched for games, one per line.
pub(crate) fn looked_in(found: &Installations) -> String {
    let line = |path: &PathBuf| {
        let missing = if path.is_dir() { "" } else { "  (does not exist)" };
        format!("\n  {}{missing}", path.shown())
    };
    found.searched.iter().map(line).collect()
}

/// The folder that the name of an instance, or of its profile, stands for. `None` if the source is no such
/// name.
pub(crate) fn place_of_instance(source: &Path) -> Option<Result<PathBuf, String>> {
    let name = source.to_str().and_then(InstanceName::parse)?;
    // What the search reads changes no plan, so a mount need not watch it.
    let (disk, environment) = (Disk::beneath(Covered::of_process()), Environment::of_process());
    let instances = find_instances(&disk, &environment, &find(&disk, &environment), None);
    Some(name.find(&instances))
}
