//! Compares the order of active plugins with libloadorder, which LOOT and Wrye Bash use.
//!
//! Installations are random and small. They are in temporary folders, because libloadorder renames
//! plugin files. If the two differ for a known reason, random installations avoid that case, and a
//! row of [`DIFFERENCES`] shows the difference. A test fails when such a difference is gone.

use std::collections::HashSet;
use std::fmt::Write;

use ::loadorder::GameSettings;
use bsafs::game::{Disk, Installation, Overrides, Storefront, caseless, plan_game, title};

use crate::games::GAMES;
use crate::installations::{Folders, TestInstallation};
use crate::libloadorder_differences::{DIFFERENCES, Row};
use crate::random_installation::Random;
use crate::support::content::Xorshift;

/// Number of random installations per game.
const INSTALLATIONS: u64 = 60;

/// Active plugins in load order, as bsafs and libloadorder see them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Orders {
    pub(crate) ours: Vec<String>,
    pub(crate) theirs: Vec<String>,
}

#[test]
fn random_installations_load_plugins_in_the_order_of_libloadorder() {
    let mut failed = String::new();
    for game in &GAMES {
        let mut active = 0;
        for seed in 0..INSTALLATIONS {
            let installation = Random(Xorshift::new(seed)).installation(game);
            let orders = orders(&installation);
            active += orders.ours.len();
            if orders.ours != orders.theirs {
                let smallest = smallest(installation);
                let orders = self::orders(&smallest);
                writeln!(failed, "{}, seed {seed}: {smallest:?}\n{orders:?}\n", game.id).unwrap();
                break;
            }
        }
        // A test that compares nothing must fail.
        if failed.is_empty() && active < INSTALLATIONS as usize {
            writeln!(failed, "{}: only {active} plugins are active", game.id).unwrap();
        }
    }
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn plugins_that_no_list_of_starfield_orders_load_as_in_libloadorder() {
    let installation = TestInstallation::of("starfield").lines(&["*A.esm", "*B.esm"]);
    let masters = ["A.esm", "B.esm"].iter().fold(installation, |it, name| it.plugin(name, 1, &[], 0));
    // Active because of the two above.
    let blueprints = ["BlueprintShips-A.esm", "BlueprintShips-B.esm"].iter();
    let orders = orders(&blueprints.fold(masters, |it, name| it.plugin(name, 0x801, &[], 0)));
    assert_eq!(orders.ours, orders.theirs);
    assert_eq!(orders.ours[2..], ["BlueprintShips-B.esm", "BlueprintShips-A.esm"]);
}

#[test]
fn every_known_difference_from_libloadorder_still_exists() {
    for Row { ours, theirs, reason, installation } in DIFFERENCES {
        let installation = installation();
        let own = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        let expected = Orders { ours: own(ours), theirs: own(theirs) };
        assert_eq!(orders(&installation), expected, "{}: {reason}", installation.game.id);
        assert_ne!(ours, theirs, "{}: {reason}", installation.game.id);
    }
}

/// Removes parts of an installation for as long as its two orders differ.
fn smallest(mut installation: TestInstallation) -> TestInstallation {
    let differs = |installation: &TestInstallation| {
        let orders = orders(installation);
        orders.ours != orders.theirs
    };
    while let Some(smaller) = installation.with_one_part_removed().into_iter().find(differs) {
        installation = smaller;
    }
    installation
}

pub(crate) fn orders(installation: &TestInstallation) -> Orders {
    let folder = tempfile::TempDir::new().unwrap();
    let folders = installation.write(folder.path());
    // libloadorder runs second, because it may rename files.
    let ours = ours(installation, &folders);
    Orders { ours, theirs: theirs(installation, &folders) }
}

fn ours(installation: &TestInstallation, folders: &Folders) -> Vec<String> {
    let installation = Installation {
        title: title(installation.game.id).unwrap(),
        store: Storefront::Steam,
        folder: folders.game.clone(),
        prefix: None,
        my_games: Some(folders.my_games.clone()),
        local: Some(folders.local.clone()),
        language: None,
        prefixes: Vec::new(),
    };
    plan_game(&Disk::default(), &installation, &Overrides::default()).unwrap().plugins
}

fn theirs(installation: &TestInstallation, folders: &Folders) -> Vec<String> {
    let settings =
        GameSettings::with_local_path(installation.game.theirs, &folders.game, &folders.local).unwrap();
    let mut order = settings.into_load_order();
    order.load().unwrap_or_else(|error| panic!("{error}: {installation:#?}"));
    let mut active: Vec<String> = order.active_plugin_names().into_iter().map(str::to_owned).collect();
    if installation.game.id == "falloutnv" {
        add_needed(installation, &mut active);
    }
    let active: HashSet<String> = active.iter().map(|name| caseless::fold(name)).collect();
    let names = order.plugin_names().into_iter();
    names.filter(|name| active.contains(&caseless::fold(name))).map(str::to_owned).collect()
}

/// Activates the masters of active plugins, as New Vegas does. libloadorder does not model that.
fn add_needed(installation: &TestInstallation, active: &mut Vec<String>) {
    let mut at = 0;
    while at < active.len() {
        let plugin = installation.plugins.iter().find(|it| it.name == active[at]).unwrap();
        let exists = |name: &&String| installation.plugins.iter().any(|it| it.name == **name);
        let needed = plugin.masters.iter().filter(exists).filter(|name| !active.contains(name));
        let needed: Vec<String> = needed.cloned().collect();
        active.extend(needed);
        at += 1;
    }
}
