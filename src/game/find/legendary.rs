//! Games from Epic that Legendary installed, by itself or for Rare.

use std::path::Path;

use super::candidate::{self, Candidate, Report};
use super::{heroic, prefix};
use crate::game::environment::Environment;
use crate::game::settings::ini::Ini;
use crate::limits::SETTINGS_MAX;

/// The folders of all games that Legendary lists in its settings `folder`.
pub(super) fn of_legendary(
    folder: &Path,
    environment: &Environment,
    report: &mut Report<'_>,
) -> Vec<Candidate> {
    let settings =
        report.read(&folder.join("config.ini"), SETTINGS_MAX).map(|text| Ini::parse(text.as_bytes()));
    let prefix = |id: &str, _: Option<&str>, report: &mut Report<'_>| {
        let settings = settings.as_ref()?;
        let path = settings.get(id, "wine_prefix").or_else(|| settings.get("default", "wine_prefix"))?;
        prefix::with_drive_c(report.disk, &candidate::absolute(path, &environment.home)?)
    };
    heroic::of_epic(&folder.join("installed.json"), environment, report, &prefix)
}
