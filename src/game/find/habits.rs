//! Where users and Windows programs keep games: folders with a subfolder for each game, also in prefixes.

use std::path::{Path, PathBuf};

use super::candidate::{GameCandidate, Report};
use super::prefix::{self, KnownPrefix};
use crate::game::disk::Disk;
use crate::game::installation::Environment;

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

/// The folders of games on drive C of a prefix. Adds the prefix to the known ones. `folder` is the one that
/// contains `drive_c`, or the one that contains it in `pfx`.
pub(super) fn in_prefix(folder: &Path, report: &mut Report<'_>) -> Vec<GameCandidate> {
    let Some(prefix) = prefix::with_drive_c(report.disk, folder) else { return Vec::new() };
    report.prefixes.push(KnownPrefix::new(prefix.clone(), report.launcher));
    let drive = prefix.join("drive_c");
    let parents = ON_DRIVE_C.iter().filter_map(|it| report.disk.find_folder(&drive, it));
    let games = parents.flat_map(|it| folders_in(report.disk, &it));
    games.map(|it| GameCandidate::unlisted(it, Some(prefix.clone()), report.launcher)).collect()
}

/// The folder at the root of a disk for repairs, which only root reads.
pub(crate) const LOST: &str = "lost+found";

/// The folders in a folder, including links to folders.
pub(super) fn folders_in(disk: &Disk, folder: &Path) -> Vec<PathBuf> {
    let names = disk.names(folder).unwrap_or_default();
    let names = names.iter().filter(|name| *name != LOST).take(FOLDERS_MAX);
    names.map(|name| folder.join(name)).filter(|path| disk.is_named_dir(path)).collect()
}

/// The subfolders of a folder, each of which may be a game.
pub(super) fn games_in(
    folder: &Path,
    environment: &Environment,
    report: &mut Report<'_>,
) -> Vec<GameCandidate> {
    let folders = folders_in(report.disk, folder);
    folders.into_iter().map(|it| game(it, environment, report)).collect()
}

/// A folder that may be a game, with its prefix: a folder in it, or the one that Heroic makes by default for
/// a game of this name.
pub(super) fn game(folder: PathBuf, environment: &Environment, report: &Report<'_>) -> GameCandidate {
    let made_by_heroic = || {
        let made = prefix::by_heroic(environment).join("default");
        prefix::with_drive_c(report.disk, &made.join(folder.file_name()?))
    };
    let prefix = prefix::with_drive_c(report.disk, &folder).or_else(made_by_heroic);
    GameCandidate::unlisted(folder, prefix, report.launcher)
}
