//! Games from GOG, Epic and elsewhere that Heroic installed.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::candidate::{self, Candidate, Report, array, text};
use super::prefix;
use crate::game::disk::Disk;
use crate::game::environment::Environment;
use crate::game::storefront::Storefront;
use crate::game::titles::TITLES;
use crate::game::titles::title::Title;
use crate::limits::LAUNCHER_LIST_MAX;

/// The folders of all games that Heroic lists in its settings `folder`.
pub(super) fn of_heroic(folder: &Path, environment: &Environment, report: &mut Report<'_>) -> Vec<Candidate> {
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
) -> Vec<Candidate> {
    let list = report.read_json(list, LAUNCHER_LIST_MAX);
    let mut candidates = Vec::new();
    for (key, game) in list.as_deref().and_then(Value::as_object).into_iter().flatten() {
        let folder = text(game, "install_path").and_then(|it| candidate::absolute(it, &environment.home));
        let Some(folder) = folder else { continue };
        let id = text(game, "app_name").unwrap_or(key);
        candidates.push(Candidate {
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
    fn gog(&self, report: &mut Report<'_>, candidates: &mut Vec<Candidate>) {
        let list = report.read_json(&self.folder.join("gog_store/installed.json"), LAUNCHER_LIST_MAX);
        for game in array(list.as_deref().and_then(|list| list.get("installed"))) {
            let (Some(id), Some(path)) = (text(game, "appName"), self.path(game, "install_path")) else {
                continue;
            };
            // Heroic names the game's folder after its title.
            let prefix = self.prefix(id, path.file_name().and_then(|name| name.to_str()), report);
            candidates.push(Candidate {
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
    fn amazon(&self, report: &mut Report<'_>, candidates: &mut Vec<Candidate>) {
        let list = report.read_json(&self.folder.join("nile_config/nile/installed.json"), LAUNCHER_LIST_MAX);
        for game in array(list.as_deref()) {
            let (Some(id), Some(path)) = (text(game, "id"), self.path(game, "path")) else { continue };
            let prefix = self.prefix(id, path.file_name().and_then(|name| name.to_str()), report);
            candidates.push(Candidate::unlisted(path, prefix, report.launcher));
        }
    }

    fn sideloaded(&self, report: &mut Report<'_>, candidates: &mut Vec<Candidate>) {
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
                folders.into_iter().map(|it| Candidate::unlisted(it, prefix.clone(), report.launcher)),
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
