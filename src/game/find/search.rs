//! Searches all games of a user, in launchers' lists and common folders, and merges duplicates.

use std::path::{Path, PathBuf};

use super::candidate::{Candidate, Report};
use super::prefix::{self, UserFolders};
use super::recognise::{self, Recognised};
use super::{bottles, heroic, lutris, openmw, steam};
use crate::game::caseless::same;
use crate::game::disk::Disk;
use crate::game::environment::Environment;
use crate::game::installation::Installation;
use crate::game::storefront::Storefront;
use crate::game::titles::TITLES;
use crate::game::titles::title::Title;

/// The result of a search for games.
#[derive(Debug, Default)]
pub struct Found {
    /// Games that can be used. A folder that several launchers list counts once.
    pub installations: Vec<Installation>,
    /// Paths that look like a game or a list of games, and why they cannot be used.
    pub unusable: Vec<(PathBuf, String)>,
    /// Paths where the search looked for games, including those that do not exist.
    pub searched: Vec<PathBuf>,
}

/// Finds the games of a user.
pub fn find(disk: &Disk, environment: &Environment) -> Found {
    let mut report = Report::new(disk);
    // The launcher that installed a game knows most about it, so its candidates come first.
    let mut candidates = steam::candidates(environment, &mut report);
    candidates.extend(heroic::candidates(environment, &mut report));
    candidates.extend(lutris::candidates(environment, &mut report));
    candidates.extend(bottles::in_bottles(environment, &mut report));
    candidates.extend(bottles::elsewhere(environment, &mut report));
    let mut installations: Vec<Installation> = Vec::new();
    for candidate in candidates {
        match recognise::recognise(disk, &candidate.folder, candidate.title) {
            Recognised::Game { title, folder, language } => {
                let language = candidate.language.clone().or(language);
                let installation = installation(disk, title, folder, language, &candidate, environment);
                join(disk, &mut installations, installation);
            }
            Recognised::Incomplete(what) => report.unusable.push((candidate.folder, what)),
            Recognised::No => {}
        }
    }
    installations.extend(openmw::installations(environment, &installations, &mut report));
    report.unusable.sort();
    report.unusable.dedup();
    Found { installations, unusable: report.unusable, searched: report.searched }
}

/// Recognises the game in a folder that the user names, and adds what launchers know about it. The
/// error says why the folder is not a game.
pub fn recognise(disk: &Disk, folder: &Path, environment: &Environment) -> Result<Installation, String> {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let mut recognised = recognise::recognise(disk, &folder, None);
    // The user may have named the data folder. Parents of other folders are not checked, because
    // they may contain a thousand mods.
    if let (Recognised::No, Some(parent)) = (&recognised, folder.parent())
        && is_called_data(&folder)
    {
        let above = recognise::recognise(disk, parent, None);
        if matches!(&above, Recognised::Game { title, folder: game, .. }
            if disk.identity(&game.join(title.data)).is_some_and(|it| Some(it) == disk.identity(&folder)))
        {
            recognised = above;
        }
    }
    let (title, folder, language) = match recognised {
        Recognised::Game { title, folder, language } => (title, folder, language),
        Recognised::Incomplete(what) => return Err(format!("{}: {what}", folder.display())),
        Recognised::No if !disk.is_dir(&folder) => {
            return Err(format!("{}: no such folder", folder.display()));
        }
        Recognised::No => {
            let advice = "give the folder that contains the game's executable";
            return Err(format!("{}: no game found in this folder; {advice}", folder.display()));
        }
    };
    let listed = find(disk, environment).installations.into_iter();
    if let Some(installation) =
        listed.into_iter().find(|it| disk.identity(&it.folder) == disk.identity(&folder))
    {
        return Ok(Installation { folder, ..installation });
    }
    let candidate = steam::around(disk, &folder, title)
        .unwrap_or_else(|| Candidate::unlisted(folder.clone(), prefix::around(&folder)));
    let language = candidate.language.clone().or(language);
    Ok(installation(disk, title, folder, language, &candidate, environment))
}

/// Whether a folder has the name of a game's data folder.
fn is_called_data(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| {
        TITLES.iter().any(|title| title.data.rsplit('/').next().is_some_and(|it| same(it, name)))
    })
}

/// Copies an installation with another prefix. `prefix` is the folder that contains `drive_c`, or
/// the one that contains it in `pfx`.
pub fn with_prefix(
    disk: &Disk,
    installation: &Installation,
    prefix: &Path,
    environment: &Environment,
) -> Result<Installation, String> {
    let Some(prefix) = prefix::with_drive_c(disk, prefix) else {
        return Err(format!(
            "{}: not a Wine prefix; give the folder that contains drive_c",
            prefix.display()
        ));
    };
    let folders = user_folders(disk, installation.title, installation.store, Some(&prefix), environment);
    Ok(Installation {
        my_games: folders.my_games,
        local: folders.local.or_else(|| list_in_data(disk, installation.title, &installation.folder)),
        prefix: Some(prefix),
        ..installation.clone()
    })
}

fn installation(
    disk: &Disk,
    title: &'static Title,
    folder: PathBuf,
    language: Option<String>,
    candidate: &Candidate,
    environment: &Environment,
) -> Installation {
    if openmw::is_openmw(title) {
        let settings = Some(openmw::user_settings(environment)).filter(|it| disk.is_dir(it));
        let (store, prefix, local) = (Storefront::Unknown, None, settings.clone());
        return Installation { title, store, prefix, my_games: settings, local, language: None, folder };
    }
    let store = match candidate.store {
        Storefront::Unknown => recognise::store_of(disk, title, &folder),
        store => store,
    };
    let prefix = candidate.prefix.clone().or_else(|| prefix::around(&folder));
    let folders = user_folders(disk, title, store, prefix.as_deref(), environment);
    let local = folders.local.or_else(|| list_in_data(disk, title, &folder));
    Installation { title, store, prefix, my_games: folders.my_games, local, language, folder }
}

/// The data folder, if the game keeps its list of plugins there.
fn list_in_data(disk: &Disk, title: &Title, folder: &Path) -> Option<PathBuf> {
    let data = disk.find_folder(folder, title.data);
    data.filter(|_| title.plugins.list_in_data)
}

/// The folders of a game in its prefix. If the store is unknown, tries the names of all stores.
fn user_folders(
    disk: &Disk,
    title: &Title,
    store: Storefront,
    prefix: Option<&Path>,
    environment: &Environment,
) -> UserFolders {
    let Some(prefix) = prefix else { return UserFolders::default() };
    let (local, my_games) = title.settings_folders(store);
    let (mut local, mut my_games) = (vec![local], vec![my_games]);
    if store == Storefront::Unknown {
        local.extend(title.local.all());
        my_games.extend(title.my_games.all());
    }
    local.retain(|name| !name.is_empty());
    my_games.retain(|name| !name.is_empty());
    prefix::user_folders(disk, prefix, &my_games, &local, environment)
}

/// Adds an installation, or merges it into a known one with the same folder. The prefix in which
/// the game was used wins.
fn join(disk: &Disk, installations: &mut Vec<Installation>, new: Installation) {
    let at = installations.iter().position(|it| disk.identity(&it.folder) == disk.identity(&new.folder));
    let Some(known) = at.map(|at| &mut installations[at]) else {
        installations.push(new);
        return;
    };
    let used = |it: &Installation| (it.my_games.is_some(), it.prefix.is_some());
    if used(&new) > used(known) {
        (known.prefix, known.my_games, known.local) = (new.prefix, new.my_games, new.local);
    }
    known.language = known.language.take().or(new.language);
    if known.store == Storefront::Unknown {
        known.store = new.store;
    }
}
