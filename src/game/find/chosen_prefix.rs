//! Chooses the prefix in which a game runs, among all that may be it.

use std::collections::HashSet;
use std::path::Path;

use super::candidate::GameCandidate;
use super::prefix::{self, KnownPrefix, UserFolders};
use crate::game::disk::Disk;
use crate::game::installation::{Environment, Installation, WinePrefix};
use crate::game::storefront::Storefront;
use crate::game::titles::title::Title;

/// The prefixes that may be that of a game in a folder, without repetition. The first is that of the
/// launcher. The others are those of Steam's app in any library, of a shortcut to a program in the game's
/// folder or to Mod Organizer with an instance of the game, and `prefix` in the game's folder.
pub(super) fn possible(
    disk: &Disk,
    title: &Title,
    store: Storefront,
    candidate: &GameCandidate,
    known: &[KnownPrefix],
) -> Vec<KnownPrefix> {
    let own = candidate.prefix.clone().or_else(|| prefix::around(&candidate.folder));
    let mut possible: Vec<KnownPrefix> =
        own.into_iter().map(|it| KnownPrefix::new(it, candidate.launcher)).collect();
    // Another store's copy does not run in the prefix of Steam's.
    let is_steam = matches!(store, Storefront::Steam | Storefront::Unknown);
    let is_of_app = |it: &&KnownPrefix| it.app.is_some_and(|app| title.identity.steam.contains(&app));
    possible.extend(known.iter().filter(|it| is_steam && is_of_app(it)).cloned());
    let is_started = |it: &&KnownPrefix| {
        it.starts_in(disk, &candidate.folder) || it.starts_instance_of(disk, &candidate.folder)
    };
    possible.extend(known.iter().filter(is_started).cloned());
    let inside = prefix::with_drive_c(disk, &candidate.folder.join("prefix"));
    possible.extend(inside.map(|it| KnownPrefix::new(it, "the game's folder")));
    possible.extend(known.iter().filter(|it| it.is_named).cloned());
    let mut identities = HashSet::new();
    possible.retain(|it| identities.insert(disk.identity(&it.folder)));
    possible
}

/// Those of several prefixes that have a game's settings, in the order in which they are chosen.
pub(super) fn used(
    disk: &Disk,
    title: &Title,
    store: Storefront,
    prefixes: &[KnownPrefix],
    environment: &Environment,
) -> Vec<WinePrefix> {
    let used = |known: &KnownPrefix| {
        let found = user_folders(disk, title, store, &known.folder, environment);
        let UserFolders { my_games, local, .. } = found.into_iter().next()?;
        Some(WinePrefix {
            folder: known.folder.clone(),
            launcher: known.launcher,
            last_start: prefix::last_start(disk, &known.folder),
            is_named: known.is_named,
            my_games,
            local,
        })
    };
    let mut used: Vec<WinePrefix> = prefixes.iter().filter_map(used).collect();
    sort(&mut used);
    used
}

/// Puts the prefixes that the user named first, then those in which a program started last.
pub(super) fn sort(prefixes: &mut [WinePrefix]) {
    prefixes.sort_by_key(|it| std::cmp::Reverse((it.is_named, it.my_games.is_some(), it.last_start)));
}

/// Makes an installation use the first of its prefixes.
pub(super) fn take_first(installation: &mut Installation) {
    if let Some(first) = installation.prefixes.first() {
        installation.prefix = Some(first.folder.clone());
        installation.my_games.clone_from(&first.my_games);
        if first.local.is_some() || !installation.title.plugins.list_in_data {
            installation.local.clone_from(&first.local);
        }
    }
}

/// The folders of a game in its prefix, for each user who has any; the first ones are used. If the store is
/// unknown, tries the names of all stores.
pub(crate) fn user_folders(
    disk: &Disk,
    title: &Title,
    store: Storefront,
    prefix: &Path,
    environment: &Environment,
) -> Vec<UserFolders> {
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
