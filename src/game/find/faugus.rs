//! Games that Faugus starts, from its list.

use std::path::Path;

use super::candidate::{self, Candidate, Report, text};
use super::prefix;
use crate::game::environment::Environment;
use crate::limits::LAUNCHER_LIST_MAX;

/// The folders of all games in the list, which is in `folder`.
pub(super) fn of_faugus(folder: &Path, environment: &Environment, report: &mut Report<'_>) -> Vec<Candidate> {
    let list = report.read_json(&folder.join("games.json"), LAUNCHER_LIST_MAX);
    let path = |game, key| candidate::absolute(text(game, key)?, &environment.home);
    let candidate = |game| {
        let folder = report.game_folder(&path(game, "path")?)?;
        let prefix = path(game, "prefix").and_then(|it| prefix::with_drive_c(report.disk, &it));
        Some(Candidate::unlisted(folder, prefix, report.launcher))
    };
    candidate::array(list.as_deref()).iter().filter_map(candidate).collect()
}
