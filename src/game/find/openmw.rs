//! OpenMW, whose folder is the one with the first `openmw.cfg`, which leads to the others.

use std::path::{Path, PathBuf};

use super::candidate::Report;
use crate::game::disk::Disk;
use crate::game::installation::{Environment, Installation};
use crate::game::storefront::Storefront;
use crate::game::titles;
use crate::game::titles::title::OPENMW;
use crate::game::titles::title::Title;

const FLATPAK: &str = "app/org.openmw.OpenMW/current/active/files/etc/openmw";

/// Whether a title is OpenMW, which has no prefix.
pub(super) fn is_openmw(title: &Title) -> bool {
    title.id == OPENMW
}

/// OpenMW as packages install it. If there is none and `found` has none, the user's settings stand
/// for an installation in an unknown place.
pub(super) fn installations(
    environment: &Environment,
    found: &[Installation],
    report: &mut Report<'_>,
) -> Vec<Installation> {
    let user = user_settings(environment);
    let of_flatpak = environment.home.join(".var/app/org.openmw.OpenMW/config/openmw");
    let global = [
        (environment.system.join("etc/openmw"), user.clone()),
        (environment.xdg_data_home.join("flatpak").join(FLATPAK), of_flatpak.clone()),
        (environment.system.join("var/lib/flatpak").join(FLATPAK), of_flatpak.clone()),
    ];
    let mut installations = Vec::new();
    for (folder, settings) in &global {
        report.searched.push(folder.clone());
        installations.extend(installation(report.disk, folder, settings));
    }
    if installations.is_empty() && !found.iter().any(|it| is_openmw(it.title)) {
        for settings in [user, of_flatpak] {
            installations.extend(installation(report.disk, &settings, &settings));
            report.searched.push(settings);
        }
    }
    installations
}

/// The folder of the user's settings for an OpenMW outside flatpak.
pub(super) fn user_settings(environment: &Environment) -> PathBuf {
    environment.xdg_config_home.join("openmw")
}

/// The OpenMW whose first `openmw.cfg` is in a folder.
fn installation(disk: &Disk, folder: &Path, settings: &Path) -> Option<Installation> {
    let settings = disk.is_dir(settings).then(|| settings.to_owned());
    disk.is_file(&folder.join("openmw.cfg")).then_some(())?;
    Some(Installation {
        title: titles::title(OPENMW)?,
        store: Storefront::Unknown,
        folder: folder.to_owned(),
        prefix: None,
        my_games: settings.clone(),
        local: settings,
        language: None,
        prefixes: Vec::new(),
    })
}
