//! Games in the lists of launchers other than Steam.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::candidate::{self, GameCandidate, Report, array, text};
use super::habits::{folders_in, in_prefix};
use super::prefix::{self, KnownPrefix};
use crate::game::disk::Disk;
use crate::game::installation::Environment;
use crate::game::settings::ini::Ini;
use crate::game::settings::yaml;
use crate::game::storefront::Storefront;
use crate::game::titles::TITLES;
use crate::game::titles::title::Title;
use crate::limits::{LAUNCHER_LIST_MAX, SETTINGS_MAX};

// Games from GOG, Epic and elsewhere that Heroic installed.

/// The folders of all games that Heroic lists in its settings `folder`.
pub(super) fn of_heroic(
    folder: &Path,
    environment: &Environment,
    report: &mut Report<'_>,
) -> Vec<GameCandidate> {
    let heroic = Heroic { folder, environment };
    let mut candidates = Vec::new();
    heroic.gog(report, &mut candidates);
    let epic = folder.join("legendaryConfig/legendary/installed.json");
    candidates
        .extend(of_epic(&epic, environment, report, &|id, title, report| heroic.prefix(id, title, report)));
    heroic.amazon(report, &mut candidates);
    heroic.sideloaded(report, &mut candidates);
    candidates
}

/// Finds the prefix of a game by its id and title.
type FindPrefix<'a> = dyn Fn(&str, Option<&str>, &mut Report<'_>) -> Option<PathBuf> + 'a;

/// The folders of all games in a list of Legendary, which Heroic uses for games from Epic.
pub(super) fn of_epic(
    list: &Path,
    environment: &Environment,
    report: &mut Report<'_>,
    prefix: &FindPrefix<'_>,
) -> Vec<GameCandidate> {
    let list = report.read_json(list, LAUNCHER_LIST_MAX);
    let mut candidates = Vec::new();
    for (key, game) in list.as_deref().and_then(Value::as_object).into_iter().flatten() {
        let folder = text(game, "install_path").and_then(|it| candidate::absolute(it, &environment.home));
        let Some(folder) = folder else { continue };
        let id = text(game, "app_name").unwrap_or(key);
        candidates.push(GameCandidate {
            folder,
            title: title(id, |title| title.identity.epic),
            store: Storefront::Epic,
            prefix: prefix(id, text(game, "title"), report),
            language: None,
            launcher: report.launcher,
        });
    }
    candidates
}

/// A settings folder of Heroic.
struct Heroic<'a> {
    folder: &'a Path,
    environment: &'a Environment,
}

impl Heroic<'_> {
    fn gog(&self, report: &mut Report<'_>, candidates: &mut Vec<GameCandidate>) {
        let list = report.read_json(&self.folder.join("gog_store/installed.json"), LAUNCHER_LIST_MAX);
        for game in array(list.as_deref().and_then(|list| list.get("installed"))) {
            let (Some(id), Some(path)) = (text(game, "appName"), self.path(game, "install_path")) else {
                continue;
            };
            // Heroic names the game's folder after its title.
            let prefix = self.prefix(id, path.file_name().and_then(|name| name.to_str()), report);
            candidates.push(GameCandidate {
                folder: path,
                title: title(id, |title| title.identity.gog),
                store: Storefront::Gog,
                prefix,
                language: text(game, "language").map(str::to_owned),
                launcher: report.launcher,
            });
        }
    }

    /// Games from Amazon. Its list names neither the game nor its store id.
    fn amazon(&self, report: &mut Report<'_>, candidates: &mut Vec<GameCandidate>) {
        let list = report.read_json(&self.folder.join("nile_config/nile/installed.json"), LAUNCHER_LIST_MAX);
        for game in array(list.as_deref()) {
            let (Some(id), Some(path)) = (text(game, "id"), self.path(game, "path")) else { continue };
            let prefix = self.prefix(id, path.file_name().and_then(|name| name.to_str()), report);
            candidates.push(GameCandidate::unlisted(path, prefix, report.launcher));
        }
    }

    fn sideloaded(&self, report: &mut Report<'_>, candidates: &mut Vec<GameCandidate>) {
        let list = report.read_json(&self.folder.join("sideload_apps/library.json"), LAUNCHER_LIST_MAX);
        for game in array(list.as_deref().and_then(|list| list.get("games"))) {
            let executable = game.get("install").and_then(|install| self.path(install, "executable"));
            let folder = self.path(game, "folder_name");
            let folders = executable.iter().filter_map(|it| report.game_folder(it)).chain(folder);
            let folders: Vec<PathBuf> = folders.collect();
            if folders.is_empty() {
                continue;
            }
            let prefix = text(game, "app_name").and_then(|id| self.prefix(id, text(game, "title"), report));
            candidates.extend(
                folders.into_iter().map(|it| GameCandidate::unlisted(it, prefix.clone(), report.launcher)),
            );
        }
    }

    /// The prefix in the game's own settings. If there is none, tries the default prefix for the title,
    /// the prefix in the global settings, and the shared prefix.
    fn prefix(&self, id: &str, title: Option<&str>, report: &mut Report<'_>) -> Option<PathBuf> {
        // The id becomes a file name; a slash would lead to another folder.
        if id.contains('/') {
            return None;
        }
        let own = report.read_json(&self.folder.join(format!("GamesConfig/{id}.json")), LAUNCHER_LIST_MAX);
        let own = own.as_deref().and_then(|it| it.get(id));
        if let Some(path) = own.and_then(|own| self.path(own, "winePrefix")) {
            let is_proton = own.and_then(|own| own.get("wineVersion")).and_then(|it| text(it, "type"));
            let named = holding_drive_c(report.disk, &path, is_proton == Some("proton"));
            if named.is_some() {
                return named;
            }
        }
        let all = report.read_json(&self.folder.join("config.json"), LAUNCHER_LIST_MAX);
        let all = all.as_deref().and_then(|it| it.get("defaultSettings"));
        let made = prefix::by_heroic(self.environment);
        let mut folders: Vec<PathBuf> = Vec::new();
        let in_default = title.filter(|title| !title.contains('/'));
        folders.extend(in_default.map(|title| made.join("default").join(title)));
        folders.extend(all.and_then(|all| self.path(all, "winePrefix")));
        folders.push(made.join("shared"));
        folders.iter().find_map(|it| prefix::with_drive_c(report.disk, it))
    }

    /// A path in a list, in which `~` may stand for the home.
    fn path(&self, object: &Value, key: &str) -> Option<PathBuf> {
        candidate::absolute(text(object, key)?, &self.environment.home)
    }
}

/// The prefix in a folder: its subfolder `pfx` for Proton, itself for Wine. If that one does not
/// exist, tries the other.
fn holding_drive_c(disk: &Disk, folder: &Path, is_proton: bool) -> Option<PathBuf> {
    let own = if is_proton { folder.join("pfx") } else { folder.to_owned() };
    if disk.is_dir(&own.join("drive_c")) { Some(own) } else { prefix::with_drive_c(disk, folder) }
}

fn title(id: &str, ids: fn(&Title) -> &'static [&'static str]) -> Option<&'static Title> {
    TITLES.iter().copied().find(|title| ids(title).contains(&id))
}

// Games in the prefixes of Bottles, and the programs outside them that these prefixes run.

/// The folders of games in the bottles below a folder of Bottles.
pub(super) fn of_bottles(
    folder: &Path,
    environment: &Environment,
    report: &mut Report<'_>,
) -> Vec<GameCandidate> {
    // The user may keep all bottles elsewhere.
    let own = settings(&folder.join("data.yml"), report, |keys| keys == ["custom_bottles_path"]);
    let own = own.first().and_then(|it| candidate::absolute(it, &environment.home));
    let mut candidates = Vec::new();
    for folder in [folder.join("bottles")].into_iter().chain(own) {
        report.searched.push(folder.clone());
        for bottle in folders_in(report.disk, &folder) {
            // Bottles leaves this file if the bottle is elsewhere.
            let elsewhere = settings(&bottle.join("placeholder.yml"), report, |keys| keys == ["Path"]);
            let elsewhere = elsewhere.first().and_then(|it| candidate::absolute(it, &environment.home));
            let bottle = elsewhere.unwrap_or(bottle);
            if !report.disk.is_dir(&bottle.join("drive_c")) {
                continue;
            }
            let programs = settings(&bottle.join("bottle.yml"), report, |keys| {
                keys.first().is_some_and(|it| it == "External_Programs")
                    && keys.last().is_some_and(|it| it == "path")
            });
            let programs = programs.iter().filter_map(|it| candidate::absolute(it, &environment.home));
            let folders = programs.filter_map(|it| report.game_folder(&it));
            let candidate = |it| GameCandidate::unlisted(it, Some(bottle.clone()), report.launcher);
            candidates.extend(folders.map(candidate));
            candidates.extend(in_prefix(&bottle, report));
        }
    }
    candidates
}

/// The values in a settings file whose keys `is_wanted` accepts.
fn settings(path: &Path, report: &mut Report<'_>, is_wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
    let mut values = Vec::new();
    let Some(text) = report.read_once(path, SETTINGS_MAX) else { return values };
    let result = yaml::visit_values(&text, |keys, value| {
        if is_wanted(keys) {
            values.push(value.to_owned());
        }
    });
    if let Err(error) = result {
        report.unreadable(path, &error);
    }
    values
}

// Games that Faugus starts, from its list.

/// The folders of all games in the list, which is in `folder`.
pub(super) fn of_faugus(
    folder: &Path,
    environment: &Environment,
    report: &mut Report<'_>,
) -> Vec<GameCandidate> {
    let list = report.read_json(&folder.join("games.json"), LAUNCHER_LIST_MAX);
    let path = |game, key| candidate::absolute(text(game, key)?, &environment.home);
    let candidate = |game| {
        let folder = report.game_folder(&path(game, "path")?)?;
        let prefix = path(game, "prefix").and_then(|it| prefix::with_drive_c(report.disk, &it));
        Some(GameCandidate::unlisted(folder, prefix, report.launcher))
    };
    candidate::array(list.as_deref()).iter().filter_map(candidate).collect()
}

// The prefix in which Fluorine runs its own instances.

/// Where Fluorine keeps its instances, below the home.
pub(super) const INSTANCES: [&str; 2] = [".local/share/fluorine", ".var/app/com.fluorine.manager"];

/// Adds the prefix that Fluorine's settings in `folder` name.
pub(super) fn add_prefix(folder: &Path, environment: &Environment, report: &mut Report<'_>) {
    let Some(settings) = report.read_json(&folder.join("config.json"), SETTINGS_MAX) else { return };
    let path = text(&settings, "prefix_path").and_then(|it| candidate::absolute(it, &environment.home));
    let prefix = path.and_then(|it| prefix::with_drive_c(report.disk, &it));
    report.prefixes.extend(prefix.map(|it| KnownPrefix {
        manages: INSTANCES.map(|it| environment.home.join(it)).to_vec(),
        ..KnownPrefix::new(it, report.launcher)
    }));
}

// Games from Epic that Legendary installed, by itself or for Rare.

/// The folders of all games that Legendary lists in its settings `folder`.
pub(super) fn of_legendary(
    folder: &Path,
    environment: &Environment,
    report: &mut Report<'_>,
) -> Vec<GameCandidate> {
    let settings =
        report.read(&folder.join("config.ini"), SETTINGS_MAX).map(|text| Ini::parse(text.as_bytes()));
    let prefix = |id: &str, _: Option<&str>, report: &mut Report<'_>| {
        let settings = settings.as_ref()?;
        let path = settings.get(id, "wine_prefix").or_else(|| settings.get("default", "wine_prefix"))?;
        prefix::with_drive_c(report.disk, &candidate::absolute(path, &environment.home)?)
    };
    of_epic(&folder.join("installed.json"), environment, report, &prefix)
}

// Games that Lutris starts, from its settings file for each game; its database is not needed.

/// Maximum number of games that are read from one folder.
const GAMES_MAX: usize = 10_000;

/// The folders of all games that have settings in `folder`.
pub(super) fn of_lutris(
    folder: &Path,
    environment: &Environment,
    report: &mut Report<'_>,
) -> Vec<GameCandidate> {
    let mut candidates = Vec::new();
    let Ok(names) = report.disk.names(folder) else { return candidates };
    for name in names.iter().filter(|name| name.ends_with(".yml")).take(GAMES_MAX) {
        let path = folder.join(name);
        let Some(text) = report.read_once(&path, SETTINGS_MAX) else { continue };
        let (mut exe, mut wine_prefix) = (None, None);
        let result = yaml::visit_values(&text, |keys, value| match keys {
            [part, key] if part == "game" && key == "exe" => exe = Some(value.to_owned()),
            [part, key] if part == "game" && key == "prefix" => wine_prefix = Some(value.to_owned()),
            _ => {}
        });
        if let Err(error) = result {
            report.unreadable(&path, &error);
        }
        candidates.extend(exe.and_then(|exe| candidate(report, &exe, wine_prefix.as_deref(), environment)));
    }
    candidates
}

/// The game that an executable belongs to. A relative path of an executable begins at the prefix.
fn candidate(
    report: &Report<'_>,
    exe: &str,
    wine_prefix: Option<&str>,
    environment: &Environment,
) -> Option<GameCandidate> {
    let wine_prefix = wine_prefix.and_then(|it| candidate::absolute(it, &environment.home));
    let exe: PathBuf = candidate::absolute(exe, &environment.home)
        .or_else(|| wine_prefix.as_ref().map(|folder| folder.join(exe)))?;
    let folder = report.game_folder(&exe)?;
    let prefix =
        wine_prefix.and_then(|it| prefix::with_drive_c(report.disk, &it)).or_else(|| prefix::around(&exe));
    Some(GameCandidate::unlisted(folder, prefix, report.launcher))
}

// Instances of Mod Organizer 2 that mo2-lint installed, and their games.

/// The folders of the games in the list, which is in `folder`. Adds its instances to the report.
pub(super) fn of_mo2_lint(
    folder: &Path,
    environment: &Environment,
    report: &mut Report<'_>,
) -> Vec<GameCandidate> {
    let list = report.read_json(&folder.join("state.json"), LAUNCHER_LIST_MAX);
    let mut candidates = Vec::new();
    for instance in candidate::array(list.as_deref().and_then(|list| list.get("instances"))) {
        let path = |key| candidate::absolute(text(instance, key)?, &environment.home);
        report.instances.extend(path("instance_path").map(|it| (it, 0)));
        candidates.extend(path("game_path").map(|it| {
            let around = prefix::around(&it);
            GameCandidate::unlisted(it, around, report.launcher)
        }));
    }
    candidates
}
