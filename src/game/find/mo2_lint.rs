//! Instances of Mod Organizer 2 that mo2-lint installed, and their games.

use std::path::Path;

use super::candidate::{self, Candidate, Report, text};
use super::prefix;
use crate::game::environment::Environment;
use crate::limits::LAUNCHER_LIST_MAX;

/// The folders of the games in the list, which is in `folder`. Adds its instances to the report.
pub(super) fn of_mo2_lint(
    folder: &Path,
    environment: &Environment,
    report: &mut Report<'_>,
) -> Vec<Candidate> {
    let list = report.read_json(&folder.join("state.json"), LAUNCHER_LIST_MAX);
    let mut candidates = Vec::new();
    for instance in candidate::array(list.as_deref().and_then(|list| list.get("instances"))) {
        let path = |key| candidate::absolute(text(instance, key)?, &environment.home);
        report.instances.extend(path("instance_path").map(|it| (it, 0)));
        candidates.extend(path("game_path").map(|it| {
            let around = prefix::around(&it);
            Candidate::unlisted(it, around, report.launcher)
        }));
    }
    candidates
}
