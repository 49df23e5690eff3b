//! The user's own list of places: `~/.config/bsafs/places.toml`.
//!
//! ```toml
//! games = ["/data/games"]               # folders of games, or folders of such folders
//! prefixes = ["~/prefixes/skyrim"]      # Wine prefixes, or folders of them
//! instances = ["/data/MO2"]             # instances of Mod Organizer 2, or folders of them
//! ```

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::candidate::{self, GameCandidate, Report};
use super::habits::{folders_in, game, games_in, in_prefix};
use super::prefix;
use crate::game::installation::Environment;
use crate::limits::SETTINGS_MAX;
use crate::shown::{Shown, excerpt};

/// Maximum number of places of each kind.
const PLACES_MAX: usize = 1_000;

/// The list as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct OwnPlaces {
    games: Vec<String>,
    prefixes: Vec<String>,
    instances: Vec<String>,
}

/// The folders of games in the places of the list, which is in `folder`.
pub(super) fn candidates(
    folder: &Path,
    environment: &Environment,
    report: &mut Report<'_>,
) -> Vec<GameCandidate> {
    let list = folder.join("places.toml");
    let Some(text) = report.read(&list, SETTINGS_MAX) else { return Vec::new() };
    let places: OwnPlaces = match toml::from_str(&text) {
        Ok(places) => places,
        Err(error) => {
            // Not the text of the error, which has a line of the file: the file may be a link to one that the
            // reader of the message should not see.
            report.unreadable(&list, &excerpt(error.message()));
            return Vec::new();
        }
    };
    let mut existing = |purpose: &str, paths: &[String]| -> Vec<PathBuf> {
        let absolute = |path: &String| {
            let path = candidate::absolute(path, &environment.home);
            path.ok_or("a path must begin with / or ~/").map_err(|why| (list.clone(), why.to_owned()))
        };
        let exists = |path: PathBuf| {
            if report.disk.is_named_dir(&path) {
                return Ok(path);
            }
            let is_there = report.disk.metadata(&path).is_ok() || report.disk.is_gone(&path);
            let what = if is_there { "does not exist" } else { "cannot be read" };
            Err((path, format!("{} names this folder, which {what}", list.shown())))
        };
        let (paths, wrong): (Vec<_>, Vec<_>) = paths
            .iter()
            .take(PLACES_MAX)
            .map(|path| absolute(path).and_then(exists))
            .partition(Result::is_ok);
        report.unusable.extend(wrong.into_iter().filter_map(Result::err));
        // A folder may be named again and again, each time in another spelling.
        paths.into_iter().filter_map(Result::ok).filter(|path| report.is_new(purpose, path)).collect()
    };
    let (games, prefixes, instances) = (
        existing("own games", &places.games),
        existing("own prefixes", &places.prefixes),
        existing("own instances", &places.instances),
    );
    let mut candidates = Vec::new();
    let first = report.prefixes.len();
    for folder in prefixes {
        report.searched.push(folder.clone());
        // The folder is a prefix, or has prefixes.
        match prefix::with_drive_c(report.disk, &folder) {
            Some(_) => candidates.extend(in_prefix(&folder, report)),
            None => {
                for below in folders_in(report.disk, &folder) {
                    if !report.is_new("own prefix", &below) {
                        continue;
                    }
                    candidates.extend(in_prefix(&below, report));
                }
            }
        }
    }
    report.prefixes.iter_mut().skip(first).for_each(|prefix| prefix.is_named = true);
    for folder in games {
        candidates.push(game(folder.clone(), environment, report));
        candidates.extend(games_in(&folder, environment, report));
        report.searched.push(folder);
    }
    report.instances.extend(instances.into_iter().map(|it| (it, 1)));
    candidates
}
