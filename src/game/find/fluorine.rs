//! The prefix in which Fluorine runs its own instances.

use std::path::Path;

use super::candidate::{self, Report, text};
use super::prefix::{self, KnownPrefix};
use crate::game::environment::Environment;
use crate::limits::SETTINGS_MAX;

/// Where Fluorine keeps its instances, below the home.
pub(super) const INSTANCES: [&str; 2] = [".local/share/fluorine", ".var/app/com.fluorine.manager"];

/// Adds the prefix that Fluorine's settings in `folder` name.
pub(super) fn add_prefix(folder: &Path, environment: &Environment, report: &mut Report<'_>) {
    let Some(settings) = report.read_json(&folder.join("config.json"), SETTINGS_MAX) else { return };
    let path = text(&settings, "prefix_path").and_then(|it| candidate::absolute(it, &environment.home));
    let prefix = path.and_then(|it| prefix::with_drive_c(report.disk, &it));
    report.prefixes.extend(prefix.map(|it| KnownPrefix {
        manages: INSTANCES.map(|it| environment.home.join(it)).to_vec(),
        ..KnownPrefix::new(it, report.launcher)
    }));
}
