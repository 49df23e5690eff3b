//! What the sources of a command are, and the layers that they stand for: archives, folders, games, instances of Mod
//! Organizer 2, and settings of OpenMW.

use std::path::{Path, PathBuf};

use super::exit::{Exit, Failure};
use super::profile::Profile;
use super::source_args::SourceArgs;
use crate::game::caseless::{FolderNames, find_file, same};
use crate::game::find::{Found, find, recognise, with_prefix};
use crate::game::{
    Environment, Installation, LoadOrder, MO2_INI, OPENMW_CFG, Overrides, PlanError, PlannedLayer, TITLES,
    Title, plan_game, plan_mo2, plan_openmw, title,
};

/// Plans the layers of sources, lowest first; those of a later source are above.
pub(super) fn plan(sources: &[PathBuf], args: &SourceArgs) -> Result<LoadOrder, Failure> {
    let planner = Planner { args, overrides: args.overrides(), environment: Environment::of_process() };
    let mut orders = Vec::with_capacity(sources.len());
    if let ([], Some(folder)) = (sources, &args.game_dir) {
        orders.push(planner.installation(&planner.recognised(folder)?)?);
    }
    for source in sources {
        orders.push(planner.source(source)?);
    }
    Ok(joined(orders))
}

/// Orders as one: that of a single source, or a mix, in which the rules of a game stay those of its own layers.
fn joined(mut orders: Vec<LoadOrder>) -> LoadOrder {
    if orders.len() == 1 {
        return orders.remove(0);
    }
    let mut games = orders.iter().filter(|order| !order.game.is_empty());
    let (game, other) = (games.next(), games.next());
    // Two games in one tree follow no game's rule.
    let precedence = game.filter(|_| other.is_none()).map(|game| game.precedence.clone());
    let mut mix = LoadOrder { precedence: precedence.unwrap_or_default(), ..LoadOrder::default() };
    for mut order in orders {
        mix.layers.append(&mut order.layers);
        mix.notes.append(&mut order.notes);
        mix.plugins.append(&mut order.plugins);
        mix.inis.append(&mut order.inis);
        mix.confidence = mix.confidence.min(order.confidence);
    }
    mix
}

struct Planner<'a> {
    args: &'a SourceArgs,
    overrides: Overrides,
    environment: Environment,
}

impl Planner<'_> {
    fn source(&self, source: &Path) -> Result<LoadOrder, Failure> {
        if Profile::is_one(source) {
            let profile = Profile::read(source)?;
            let orders = profile.archives.iter().map(|path| self.path(path)).collect::<Result<_, _>>()?;
            return Ok(joined(orders));
        }
        // A name without a slash that is a game's id is the game; `./skyrim` is a folder of that name.
        if let Some(title) = source.to_str().and_then(title) {
            return self.game(title);
        }
        self.path(source)
    }

    /// What a path leads to.
    fn path(&self, source: &Path) -> Result<LoadOrder, Failure> {
        let metadata = match std::fs::metadata(source) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(no_source(source)),
            Err(error) => return Err(Failure::io(Exit::NoInput, source, &error)),
        };
        let path = std::path::absolute(source).map_err(|error| Failure::io(Exit::NoInput, source, &error))?;
        if metadata.is_dir() {
            return self.folder(&path);
        }
        let is_named =
            |name: &str| path.file_name().and_then(|it| it.to_str()).is_some_and(|it| same(it, name));
        if is_named(MO2_INI) {
            return self.mo2(path.parent().unwrap_or(&path));
        }
        if is_named(OPENMW_CFG) {
            return self.openmw(&path);
        }
        let layers = vec![PlannedLayer::archive(path, "named as a source")];
        Ok(LoadOrder { layers, ..LoadOrder::default() })
    }

    /// A game by its id.
    fn game(&self, title: &'static Title) -> Result<LoadOrder, Failure> {
        if let Some(folder) = &self.args.game_dir {
            let installation = self.recognised(folder)?;
            if installation.title.id != title.id {
                let (folder, found) = (folder.display(), installation.title.id);
                let what = format!("{folder}: this is {found}, and not {}", title.id);
                return Err(Failure::new(Exit::NoInput, what));
            }
            return self.installation(&installation);
        }
        let mut found = find(&self.environment);
        found.installations.retain(|it| it.title.id == title.id);
        match &found.installations[..] {
            [installation] => self.installation(installation),
            [] => Err(not_found(title, &found)),
            several => Err(found_twice(title, several)),
        }
    }

    fn folder(&self, folder: &Path) -> Result<LoadOrder, Failure> {
        if find_file(folder, MO2_INI).is_some() {
            return self.mo2(folder);
        }
        match recognise(folder, &self.environment) {
            // The data folder of a game, named for itself, is a folder like any other.
            Ok(installation)
                if installation.folder == *folder || !folder.starts_with(&installation.folder) =>
            {
                self.installation(&installation)
            }
            _ => loose_folder(folder),
        }
    }

    fn recognised(&self, folder: &Path) -> Result<Installation, Failure> {
        recognise(folder, &self.environment).map_err(|what| Failure::new(Exit::NoInput, what))
    }

    fn installation(&self, installation: &Installation) -> Result<LoadOrder, Failure> {
        if installation.title.id == "openmw" {
            let cfg = installation.folder.join(OPENMW_CFG);
            return planned(plan_openmw(&cfg, &self.environment, &self.overrides));
        }
        let with_prefix =
            self.with_prefix(installation.clone()).map_err(|it| Failure::new(Exit::NoInput, it))?;
        planned(plan_game(&with_prefix, &self.overrides))
    }

    fn with_prefix(&self, installation: Installation) -> Result<Installation, String> {
        match &self.overrides.prefix {
            Some(prefix) => with_prefix(&installation, prefix, &self.environment),
            None => Ok(installation),
        }
    }

    fn mo2(&self, instance: &Path) -> Result<LoadOrder, Failure> {
        let find = |folder: Option<&Path>| {
            let folder = self.args.game_dir.as_deref().or(folder).ok_or("the game's folder is not known")?;
            recognise(folder, &self.environment).and_then(|it| self.with_prefix(it))
        };
        planned(plan_mo2(instance, &find, &self.overrides))
    }

    /// The chain of a settings file. The user's own are part of the chain of the OpenMW that is installed.
    fn openmw(&self, cfg: &Path) -> Result<LoadOrder, Failure> {
        let users = self.environment.xdg_config_home.join("openmw");
        let mut first = cfg.to_owned();
        if cfg.parent() == Some(users.as_path()) {
            let installed = find(&self.environment).installations.into_iter();
            let mut global = installed.filter(|it| it.title.id == "openmw" && it.folder != users);
            first = global.next().map_or(first, |it| it.folder.join(OPENMW_CFG));
        }
        planned(plan_openmw(&first, &self.environment, &self.overrides))
    }
}

/// A folder of loose files above the archives that lie directly in it, those in the order of their names.
fn loose_folder(folder: &Path) -> Result<LoadOrder, Failure> {
    let names = FolderNames::read(folder).map_err(|error| Failure::io(Exit::NoInput, folder, &error))?;
    let mut archives: Vec<&str> = names.iter().filter(|name| is_archive(name)).collect();
    archives.sort_by_cached_key(|name| name.to_ascii_lowercase());
    let why = format!("lies in {}", folder.display());
    let paths = archives.into_iter().map(|name| folder.join(name)).filter(|path| path.is_file());
    let mut layers: Vec<_> = paths.map(|path| PlannedLayer::archive(path, &*why)).collect();
    layers.push(PlannedLayer::folder(folder, "named as a source"));
    Ok(LoadOrder { layers, ..LoadOrder::default() })
}

fn is_archive(name: &str) -> bool {
    let extension = Path::new(name).extension().unwrap_or_default();
    ["bsa", "ba2"].iter().any(|known| extension.eq_ignore_ascii_case(known))
}

fn planned(order: Result<LoadOrder, PlanError>) -> Result<LoadOrder, Failure> {
    order.map_err(|error| Failure::new(Exit::NoInput, error.to_string()))
}

fn no_source(source: &Path) -> Failure {
    let ids: Vec<&str> = TITLES.iter().map(|title| title.id).collect();
    let what = "no such file, folder or game; games are";
    Failure::new(Exit::NoInput, format!("{}: {what} {}", source.display(), ids.join(", ")))
}

fn found_twice(title: &Title, several: &[Installation]) -> Failure {
    let folders: Vec<String> =
        several.iter().map(|it| format!("\n  {} ({})", it.folder.display(), it.store.as_str())).collect();
    let what =
        format!("{} is installed more than once; name one of these folders:{}", title.id, folders.concat());
    Failure::new(Exit::NoInput, what)
}

fn not_found(title: &Title, found: &Found) -> Failure {
    let identity = &title.identity;
    let mut marks: Vec<String> = vec![identity.executables.join(" or ")];
    marks.extend(identity.also.iter().map(|it| (*it).to_owned()));
    marks.extend(identity.masters.iter().map(|master| format!("{}/{master}", title.data)));
    let mut what = format!("{} was not found: a folder with {}; looked in:", title.id, marks.join(", "));
    for path in &found.looked {
        let missing = if path.is_dir() { "" } else { "  (does not exist)" };
        what += &format!("\n  {}{missing}", path.display());
    }
    for (path, why) in &found.unusable {
        what += &format!("\n  {}: {why}", path.display());
    }
    Failure::new(Exit::NoInput, what + "\nA game elsewhere is named by its folder, or with --game-dir.")
}
