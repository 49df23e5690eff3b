//! Games that no launcher lists: in prefixes of Bottles and plain Wine, and in common folders.

use std::path::{Path, PathBuf};

use super::candidate::{self, Candidate, Report, VisitedFolders};
use super::{prefix, recognise};
use crate::game::disk::Disk;
use crate::game::environment::Environment;
use crate::game::settings::yaml;

/// Maximum size of a bottle's settings in bytes.
const SETTINGS_MAX: usize = 4 << 20;
/// Maximum number of folders read from one folder.
const FOLDERS_MAX: usize = 10_000;

/// Folders on drive C that have a subfolder for each game.
const ON_DRIVE_C: [&str; 10] = [
    "",
    "Games",
    "GOG Games",
    "Program Files",
    "Program Files (x86)",
    "Program Files/Epic Games",
    "Program Files (x86)/GOG Galaxy/Games",
    "Program Files (x86)/Steam/steamapps/common",
    "Program Files/Steam/steamapps/common",
    "Program Files (x86)/Bethesda Softworks",
];

/// The folders of games in the prefixes of Bottles.
pub(super) fn in_bottles(environment: &Environment, report: &mut Report<'_>) -> Vec<Candidate> {
    let app = environment.home.join(".var/app/com.usebottles.bottles/data");
    let mut visited = VisitedFolders::default();
    let mut candidates = Vec::new();
    for folder in [environment.xdg_data_home.join("bottles/bottles"), app.join("bottles/bottles")] {
        report.searched.push(folder.clone());
        if !visited.is_new_folder(report.disk, &folder) {
            continue;
        }
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
            let folders = programs.filter_map(|it| recognise::game_folder(report.disk, &it));
            candidates.extend(folders.map(|it| Candidate::unlisted(it, Some(bottle.clone()))));
            candidates.extend(on_drive_c(report.disk, &bottle));
        }
    }
    candidates
}

/// The folders of games in the default Wine prefix, and in common folders of the home.
pub(super) fn elsewhere(environment: &Environment, report: &mut Report<'_>) -> Vec<Candidate> {
    let wine = environment.home.join(".wine");
    let mut candidates =
        if report.disk.is_dir(&wine.join("drive_c")) { on_drive_c(report.disk, &wine) } else { Vec::new() };
    report.searched.push(wine);
    for name in ["Games", "GOG Games", "games"] {
        let folder = environment.home.join(name);
        candidates.extend(folders_in(report.disk, &folder).into_iter().map(|it| {
            let prefix = prefix::with_drive_c(report.disk, &it);
            Candidate::unlisted(it, prefix)
        }));
        report.searched.push(folder);
    }
    candidates
}

fn on_drive_c(disk: &Disk, prefix: &Path) -> Vec<Candidate> {
    let parents = ON_DRIVE_C.iter().filter_map(|it| disk.find_folder(&prefix.join("drive_c"), it));
    let games = parents.flat_map(|it| folders_in(disk, &it));
    games.map(|it| Candidate::unlisted(it, Some(prefix.to_owned()))).collect()
}

/// The folders in a folder, including links to folders.
fn folders_in(disk: &Disk, folder: &Path) -> Vec<PathBuf> {
    let names = disk.names(folder).unwrap_or_default();
    names.iter().take(FOLDERS_MAX).map(|name| folder.join(name)).filter(|path| disk.is_dir(path)).collect()
}

/// The values in a settings file whose keys `is_wanted` accepts.
fn settings(path: &Path, report: &mut Report<'_>, is_wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
    let mut values = Vec::new();
    let Some(text) = report.read(path, SETTINGS_MAX) else { return values };
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
