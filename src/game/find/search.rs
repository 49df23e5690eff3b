//! Searches all games of a user, in launchers' lists and common folders, and merges duplicates.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::candidate::{GameCandidate, Report};
use super::chosen_prefix::{self, user_folders};
use super::prefix::{self, KnownPrefix};
use super::recognise::{self, Recognised};
use super::{openmw, places, steam};
use crate::game::disk::Disk;
use crate::game::installation::{Environment, Installation, WinePrefix};
use crate::game::storefront::Storefront;
use crate::game::titles::is_data_folder;
use crate::game::titles::title::Title;
use crate::shown::Shown;
use crate::system::paths;
use crate::system::text::reason;

/// The result of a search for games.
#[derive(Debug, Default)]
pub struct Installations {
    /// Games that can be used. A folder that several launchers list counts once.
    pub installations: Vec<Installation>,
    /// Paths that look like a game or a list of games, and why they cannot be used.
    pub unusable: Vec<(PathBuf, String)>,
    /// Paths where the search looked for games, including those that do not exist.
    pub searched: Vec<PathBuf>,
    pub(super) prefixes: Vec<KnownPrefix>,
    /// Folders that may be instances of Mod Organizer 2, or have them this many levels below.
    pub(crate) instances: Vec<(PathBuf, u8)>,
}

impl Installations {
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = &Path> {
        self.prefixes.iter().map(|it| it.folder.as_path())
    }
}

/// Maximum number of names in a folder that are looked at for a game below it.
const BELOW_MAX: usize = 1_000;

/// Finds the games of a user.
pub fn find(disk: &Disk, environment: &Environment) -> Installations {
    let mut report = Report::new(disk);
    let candidates = places::candidates(environment, &mut report);
    for prefix in &mut report.prefixes {
        let of_prefix = report.shortcuts.iter().filter(|it| Some(it.app) == prefix.app);
        prefix.starts.extend(of_prefix.flat_map(|it| it.starts.clone()));
    }
    let mut installations: Vec<Installation> = Vec::new();
    for candidate in candidates {
        match report.recognise(&candidate.folder, candidate.title) {
            Recognised::Game { title, folder, language } => {
                let language = candidate.language.clone().or(language);
                let candidate = GameCandidate { folder, language, ..candidate };
                join(
                    disk,
                    &mut installations,
                    installation(disk, title, candidate, &report.prefixes, environment),
                );
            }
            Recognised::Incomplete(what) => report.unusable.push((candidate.folder, what)),
            Recognised::No => {}
        }
    }
    report.launcher = "OpenMW";
    installations.extend(openmw::installations(environment, &installations, &mut report));
    report.unusable.sort();
    report.unusable.dedup();
    let Report { unusable, searched, prefixes, instances, .. } = report;
    let mut found = Installations { installations, unusable, searched, prefixes, instances };
    for installation in found.installations.iter_mut().filter(|it| !is_used(it)) {
        installation.prefixes = elsewhere(disk, installation, &found.prefixes, environment);
    }
    found
}

/// Whether an installation has settings in a prefix of its own.
fn is_used(installation: &Installation) -> bool {
    installation.prefixes.first().is_some_and(|it| Some(&it.folder) == installation.prefix.as_ref())
}

/// All prefixes that have the settings of a game that has none in its own.
fn elsewhere(
    disk: &Disk,
    installation: &Installation,
    known: &[KnownPrefix],
    environment: &Environment,
) -> Vec<WinePrefix> {
    let title = installation.title;
    if title.my_games.plain.is_empty() && title.local.plain.is_empty() {
        return Vec::new();
    }
    chosen_prefix::used(disk, title, installation.store, known, environment)
}

/// All prefixes that have the settings of an installed game, the one that is used first.
pub fn prefixes(
    disk: &Disk,
    installation: &Installation,
    found: &Installations,
    environment: &Environment,
) -> Vec<WinePrefix> {
    let mut prefixes = installation.prefixes.clone();
    for other in elsewhere(disk, installation, &found.prefixes, environment) {
        let identity = disk.identity(&other.folder);
        if !prefixes.iter().any(|it| disk.identity(&it.folder) == identity) {
            prefixes.push(other);
        }
    }
    prefixes
}

/// The game of an instance of Mod Organizer 2, with the prefix in which the instance runs: that of a shortcut
/// to a program in its folder, or that of its manager.
pub(crate) fn for_instance(
    disk: &Disk,
    mut installation: Installation,
    instance: &Path,
    found: &Installations,
    environment: &Environment,
) -> Installation {
    let own: Vec<KnownPrefix> = of_instance(disk, instance, found).collect();
    let title = installation.title;
    let used = chosen_prefix::used(disk, title, installation.store, &own, environment);
    match used.is_empty() {
        false => add_prefixes(disk, &mut installation, used),
        true if installation.prefix.is_none() => {
            installation.prefix = own.into_iter().next().map(|it| it.folder);
        }
        true => {}
    }
    installation
}

/// The prefixes whose drives the Windows paths of an instance may refer to, the one that started last first.
pub(crate) fn drives(disk: &Disk, instance: &Path, found: &Installations) -> Vec<PathBuf> {
    let mut own: Vec<PathBuf> = of_instance(disk, instance, found).map(|it| it.folder).collect();
    let mut of_games: Vec<PathBuf> = found.installations.iter().filter_map(|it| it.prefix.clone()).collect();
    of_games.sort_by_key(|it| std::cmp::Reverse(prefix::last_start(disk, it)));
    own.append(&mut of_games);
    own
}

/// The prefixes that run programs of an instance.
fn of_instance(disk: &Disk, instance: &Path, found: &Installations) -> impl Iterator<Item = KnownPrefix> {
    let of_manager = |it: &KnownPrefix| it.manages.iter().any(|folder| instance.starts_with(folder));
    found.prefixes.iter().filter_map(move |it| {
        if of_manager(it) {
            Some(KnownPrefix { is_named: true, ..it.clone() })
        } else {
            it.starts_in(disk, instance).then(|| it.clone())
        }
    })
}

/// The game in a subfolder of a folder, and the subfolder.
pub(crate) fn below(disk: &Disk, folder: &Path) -> Option<(&'static Title, PathBuf)> {
    let names = disk.names(folder).ok()?;
    let folders = names.iter().take(BELOW_MAX).map(|name| folder.join(name)).filter(|it| disk.is_dir(it));
    folders.into_iter().find_map(|it| match recognise::recognise(disk, &it, None) {
        Recognised::Game { title, folder, .. } => Some((title, folder)),
        _ => None,
    })
}

/// Recognises the game in a folder that the user names, and adds what launchers know about it. The
/// error says why the folder is not a game.
pub fn recognise(disk: &Disk, folder: &Path, environment: &Environment) -> Result<Installation, String> {
    recognise_among(disk, folder, environment, &|| find(disk, environment).into())
}

/// Like `recognise`; `found` returns the result of a search for games.
pub fn recognise_among(
    disk: &Disk,
    folder: &Path,
    environment: &Environment,
    found: &dyn Fn() -> Rc<Installations>,
) -> Result<Installation, String> {
    let folder = paths::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let mut recognised = recognise::recognise(disk, &folder, None);
    // The user may have named the data folder. Parents of other folders are not checked, because
    // they may contain a thousand mods.
    if let (Recognised::No, Some(parent)) = (&recognised, folder.parent())
        && is_data_folder(&folder)
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
        Recognised::Incomplete(what) => return Err(format!("{}: {what}", folder.shown())),
        Recognised::No if disk.is_gone(&folder) => {
            return Err(format!("{}: no such folder", folder.shown()));
        }
        Recognised::No => {
            let unread = disk.metadata(&folder).err().or_else(|| disk.names(&folder).err());
            if let Some(error) = unread {
                return Err(format!("{}: {}", folder.shown(), reason(&error)));
            }
            let advice = "give the folder that contains the game's executable";
            return Err(format!("{}: no game found in this folder; {advice}", folder.shown()));
        }
    };
    let found = found();
    let identity = disk.identity(&folder);
    if let Some(installation) = found.installations.iter().find(|it| disk.identity(&it.folder) == identity) {
        return Ok(Installation { folder, ..installation.clone() });
    }
    let candidate = steam::around(disk, &folder, title)
        .unwrap_or_else(|| GameCandidate::unlisted(folder.clone(), prefix::around(&folder), ""));
    let language = candidate.language.clone().or(language);
    let candidate = GameCandidate { folder, language, ..candidate };
    let mut new = installation(disk, title, candidate, &found.prefixes, environment);
    if !is_used(&new) {
        new.prefixes = elsewhere(disk, &new, &found.prefixes, environment);
    }
    Ok(new)
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
        return Err(format!("{}: not a Wine prefix; give the folder that contains drive_c", prefix.shown()));
    };
    let (title, store) = (installation.title, installation.store);
    let folders = user_folders(disk, title, store, &prefix, environment);
    let folders = folders.into_iter().next().unwrap_or_default();
    Ok(Installation {
        my_games: folders.my_games,
        local: folders.local.or_else(|| list_in_data(disk, title, &installation.folder)),
        prefix: Some(prefix),
        prefixes: Vec::new(),
        ..installation.clone()
    })
}

fn installation(
    disk: &Disk,
    title: &'static Title,
    candidate: GameCandidate,
    known: &[KnownPrefix],
    environment: &Environment,
) -> Installation {
    let new = Installation {
        title,
        store: Storefront::Unknown,
        folder: candidate.folder.clone(),
        prefix: None,
        my_games: None,
        local: None,
        language: None,
        prefixes: Vec::new(),
    };
    if openmw::is_openmw(title) {
        let settings = Some(openmw::user_settings(environment)).filter(|it| disk.is_dir(it));
        return Installation { my_games: settings.clone(), local: settings, ..new };
    }
    let store = match candidate.store {
        Storefront::Unknown => recognise::store_of(disk, title, &new.folder),
        store => store,
    };
    let possible = chosen_prefix::possible(disk, title, store, &candidate, known);
    let mut new = Installation {
        store,
        language: candidate.language,
        prefix: possible.first().map(|it| it.folder.clone()),
        local: list_in_data(disk, title, &new.folder),
        ..new
    };
    add_prefixes(disk, &mut new, chosen_prefix::used(disk, title, store, &possible, environment));
    new
}

/// Adds prefixes that have the settings of an installation, and makes it use the one that is chosen.
fn add_prefixes(disk: &Disk, installation: &mut Installation, used: Vec<WinePrefix>) {
    let mut prefixes =
        if is_used(installation) { std::mem::take(&mut installation.prefixes) } else { Vec::new() };
    for new in used {
        let identity = disk.identity(&new.folder);
        match prefixes.iter_mut().find(|it| disk.identity(&it.folder) == identity) {
            Some(known) => known.is_named |= new.is_named,
            None => prefixes.push(new),
        }
    }
    if prefixes.is_empty() {
        return;
    }
    chosen_prefix::sort(&mut prefixes);
    installation.prefixes = prefixes;
    chosen_prefix::take_first(installation);
}

/// The data folder, if the game keeps its list of plugins there.
fn list_in_data(disk: &Disk, title: &Title, folder: &Path) -> Option<PathBuf> {
    let data = disk.find_folder(folder, title.data);
    data.filter(|_| title.plugins.list_in_data)
}

/// Adds an installation, or merges it into a known one with the same folder.
fn join(disk: &Disk, installations: &mut Vec<Installation>, new: Installation) {
    let at = installations.iter().position(|it| disk.identity(&it.folder) == disk.identity(&new.folder));
    let Some(known) = at.map(|at| &mut installations[at]) else {
        installations.push(new);
        return;
    };
    if is_used(&new) {
        add_prefixes(disk, known, new.prefixes);
    } else {
        known.prefix = known.prefix.take().or(new.prefix);
    }
    known.language = known.language.take().or(new.language);
    if known.store == Storefront::Unknown {
        known.store = new.store;
    }
}
