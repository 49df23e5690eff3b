//! Games that Lutris starts, from its settings file for each game; its database is not needed.

use std::path::{Path, PathBuf};

use super::candidate::{self, Candidate, Report};
use super::prefix;
use crate::game::environment::Environment;
use crate::game::settings::yaml;
use crate::limits::SETTINGS_MAX;

/// Maximum number of games that are read from one folder.
const GAMES_MAX: usize = 10_000;

/// The folders of all games that have settings in `folder`.
pub(super) fn of_lutris(folder: &Path, environment: &Environment, report: &mut Report<'_>) -> Vec<Candidate> {
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
) -> Option<Candidate> {
    let wine_prefix = wine_prefix.and_then(|it| candidate::absolute(it, &environment.home));
    let exe: PathBuf = candidate::absolute(exe, &environment.home)
        .or_else(|| wine_prefix.as_ref().map(|folder| folder.join(exe)))?;
    let folder = report.game_folder(&exe)?;
    let prefix =
        wine_prefix.and_then(|it| prefix::with_drive_c(report.disk, &it)).or_else(|| prefix::around(&exe));
    Some(Candidate::unlisted(folder, prefix, report.launcher))
}
