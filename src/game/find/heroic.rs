//! Games from GOG, Epic and elsewhere that Heroic installed.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::candidate::{self, Candidate, Report, VisitedFolders};
use super::{prefix, recognise};
use crate::game::disk::Disk;
use crate::game::environment::Environment;
use crate::game::storefront::Storefront;
use crate::game::titles::TITLES;
use crate::game::titles::title::Title;

/// Maximum size of a list in bytes.
const LIST_MAX: usize = 16 << 20;

/// The folders of all games that Heroic lists.
pub(super) fn candidates(environment: &Environment, report: &mut Report<'_>) -> Vec<Candidate> {
    let mut visited = VisitedFolders::default();
    let mut candidates = Vec::new();
    for folder in settings_folders(environment) {
        report.searched.push(folder.clone());
        if visited.is_new_folder(report.disk, &folder) {
            let heroic = Heroic { folder: &folder, home: &environment.home };
            heroic.gog(report, &mut candidates);
            heroic.epic(report, &mut candidates);
            heroic.sideloaded(report, &mut candidates);
        }
    }
    candidates
}

fn settings_folders(environment: &Environment) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for name in ["heroic", "heroic-games-launcher"] {
        folders.push(environment.xdg_config_home.join(name));
        let app = environment.home.join(".var/app/com.heroicgameslauncher.hgl/config");
        folders.push(app.join(name));
    }
    folders.push(environment.home.join("snap/heroic/current/.config/heroic"));
    folders
}

/// A settings folder of Heroic.
struct Heroic<'a> {
    folder: &'a Path,
    home: &'a Path,
}

impl Heroic<'_> {
    fn gog(&self, report: &mut Report<'_>, candidates: &mut Vec<Candidate>) {
        let list = report.read_json(&self.folder.join("gog_store/installed.json"), LIST_MAX);
        for game in array(list.as_ref().and_then(|list| list.get("installed"))) {
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
            });
        }
    }

    fn epic(&self, report: &mut Report<'_>, candidates: &mut Vec<Candidate>) {
        let list = report.read_json(&self.folder.join("legendaryConfig/legendary/installed.json"), LIST_MAX);
        for (key, game) in list.as_ref().and_then(Value::as_object).into_iter().flatten() {
            let Some(path) = self.path(game, "install_path") else { continue };
            let id = text(game, "app_name").unwrap_or(key);
            candidates.push(Candidate {
                folder: path,
                title: title(id, |title| title.identity.epic),
                store: Storefront::Epic,
                prefix: self.prefix(id, text(game, "title"), report),
                language: None,
            });
        }
    }

    fn sideloaded(&self, report: &mut Report<'_>, candidates: &mut Vec<Candidate>) {
        let list = report.read_json(&self.folder.join("sideload_apps/library.json"), LIST_MAX);
        for game in array(list.as_ref().and_then(|list| list.get("games"))) {
            let executable = game.get("install").and_then(|install| self.path(install, "executable"));
            let folder = self.path(game, "folder_name");
            let folders =
                executable.iter().filter_map(|it| recognise::game_folder(report.disk, it)).chain(folder);
            let folders: Vec<PathBuf> = folders.collect();
            if folders.is_empty() {
                continue;
            }
            let prefix = text(game, "app_name").and_then(|id| self.prefix(id, text(game, "title"), report));
            candidates.extend(folders.into_iter().map(|it| Candidate::unlisted(it, prefix.clone())));
        }
    }

    /// The prefix in the game's own settings. Without one, tries the default prefix for the title,
    /// the prefix in the global settings, and the shared prefix.
    fn prefix(&self, id: &str, title: Option<&str>, report: &mut Report<'_>) -> Option<PathBuf> {
        // The id becomes a file name; a slash would lead to another folder.
        if id.contains('/') {
            return None;
        }
        let own = report.read_json(&self.folder.join(format!("GamesConfig/{id}.json")), LIST_MAX);
        let own = own.as_ref().and_then(|it| it.get(id));
        if let Some(path) = own.and_then(|own| self.path(own, "winePrefix")) {
            let is_proton = own.and_then(|own| own.get("wineVersion")).and_then(|it| text(it, "type"));
            return holding_drive_c(report.disk, &path, is_proton == Some("proton"));
        }
        let all = report.read_json(&self.folder.join("config.json"), LIST_MAX);
        let all = all.as_ref().and_then(|it| it.get("defaultSettings"));
        let made = self.home.join("Games/Heroic/Prefixes");
        let mut folders: Vec<PathBuf> = Vec::new();
        let in_default = title.filter(|title| !title.contains('/'));
        folders.extend(in_default.map(|title| made.join("default").join(title)));
        folders.extend(all.and_then(|all| self.path(all, "winePrefix")));
        folders.push(made.join("shared"));
        folders.iter().find_map(|it| prefix::with_drive_c(report.disk, it))
    }

    /// A path in a list, in which `~` may stand for the home.
    fn path(&self, object: &Value, key: &str) -> Option<PathBuf> {
        candidate::absolute(text(object, key)?, self.home)
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

fn text<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn array(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
