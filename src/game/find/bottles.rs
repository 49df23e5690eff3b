//! Games in the prefixes of Bottles, and the programs outside them that these prefixes run.

use std::path::Path;

use super::candidate::{self, Candidate, Report};
use super::habits::{folders_in, in_prefix};
use crate::game::environment::Environment;
use crate::game::settings::yaml;
use crate::limits::SETTINGS_MAX;

/// The folders of games in the bottles below a folder of Bottles.
pub(super) fn of_bottles(
    folder: &Path,
    environment: &Environment,
    report: &mut Report<'_>,
) -> Vec<Candidate> {
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
            let candidate = |it| Candidate::unlisted(it, Some(bottle.clone()), report.launcher);
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
