//! Compares the order of active plugins with libloadorder, which LOOT and Wrye Bash use.
//!
//! Installations are random and small. They are in temporary folders, because libloadorder renames
//! plugin files. If the two differ for a known reason, random installations avoid that case, and a
//! row of [`ROWS`] shows the difference. A test fails when such a difference is gone.

use std::collections::HashSet;
use std::fmt::Write;

use ::loadorder::GameSettings;
use bsafs::game::{Disk, Installation, Overrides, Storefront, caseless, plan_game, title};

use crate::games::GAMES;
use crate::installations::{Folders, World};
use crate::loadorder_exempt::{ROWS, Row};
use crate::random_installation::Random;
use crate::support::content::Xorshift;

/// Number of random installations per game.
const WORLDS: u64 = 60;

/// Active plugins in load order, as bsafs and libloadorder see them.
#[derive(Debug, PartialEq, Eq)]
struct Orders {
    ours: Vec<String>,
    theirs: Vec<String>,
}

#[test]
fn active_plugins_of_random_installations_load_in_the_order_of_libloadorder() {
    let mut failed = String::new();
    for game in &GAMES {
        let mut active = 0;
        for seed in 0..WORLDS {
            let world = Random(Xorshift::new(seed)).world(game);
            let orders = orders(&world);
            active += orders.ours.len();
            if orders.ours != orders.theirs {
                let smallest = smallest(world);
                let orders = self::orders(&smallest);
                writeln!(failed, "{}, seed {seed}: {smallest:?}\n{orders:?}\n", game.id).unwrap();
                break;
            }
        }
        // A test that compares nothing must fail.
        if failed.is_empty() && active < WORLDS as usize {
            writeln!(failed, "{}: only {active} plugins are active", game.id).unwrap();
        }
    }
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn every_known_difference_from_libloadorder_still_exists() {
    for Row { ours, theirs, reason, world } in ROWS {
        let world = world();
        let own = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        let expected = Orders { ours: own(ours), theirs: own(theirs) };
        assert_eq!(orders(&world), expected, "{}: {reason}", world.game.id);
        assert_ne!(ours, theirs, "{}: {reason}", world.game.id);
    }
}

/// Removes parts of an installation for as long as its two orders differ.
fn smallest(mut world: World) -> World {
    let differs = |world: &World| {
        let orders = orders(world);
        orders.ours != orders.theirs
    };
    while let Some(smaller) = world.smaller().into_iter().find(differs) {
        world = smaller;
    }
    world
}

fn orders(world: &World) -> Orders {
    let folder = tempfile::TempDir::new().unwrap();
    let folders = world.write(folder.path());
    // libloadorder runs second, because it may rename files.
    let ours = ours(world, &folders);
    Orders { ours, theirs: theirs(world, &folders) }
}

fn ours(world: &World, folders: &Folders) -> Vec<String> {
    let installation = Installation {
        title: title(world.game.id).unwrap(),
        store: Storefront::Steam,
        folder: folders.game.clone(),
        prefix: None,
        my_games: Some(folders.my_games.clone()),
        local: Some(folders.local.clone()),
        language: None,
    };
    plan_game(&Disk::default(), &installation, &Overrides::default()).unwrap().plugins
}

fn theirs(world: &World, folders: &Folders) -> Vec<String> {
    let settings = GameSettings::with_local_path(world.game.theirs, &folders.game, &folders.local).unwrap();
    let mut order = settings.into_load_order();
    order.load().unwrap_or_else(|error| panic!("{error}: {world:#?}"));
    let mut active: Vec<String> = order.active_plugin_names().into_iter().map(str::to_owned).collect();
    if world.game.id == "falloutnv" {
        add_needed(world, &mut active);
    }
    let active: HashSet<String> = active.iter().map(|name| caseless::fold(name)).collect();
    let names = order.plugin_names().into_iter();
    names.filter(|name| active.contains(&caseless::fold(name))).map(str::to_owned).collect()
}

/// Activates the masters of active plugins, as New Vegas does. libloadorder does not model that.
fn add_needed(world: &World, active: &mut Vec<String>) {
    let mut at = 0;
    while at < active.len() {
        let plugin = world.plugins.iter().find(|it| it.name == active[at]).unwrap();
        let exists = |name: &&String| world.plugins.iter().any(|it| it.name == **name);
        let needed = plugin.masters.iter().filter(exists).filter(|name| !active.contains(name));
        let needed: Vec<String> = needed.cloned().collect();
        active.extend(needed);
        at += 1;
    }
}
