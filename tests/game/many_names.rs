//! A mod with thousands of links to one archive, lists with thousands of names of one thing, and paths with
//! thousands of parts: what they cost in time.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use super::small_world::{SKYRIMSE, SmallWorld};
use crate::mounted::{Finished, run};
use crate::support::Ba2;

/// Runs bsafs in a world, and says how long that took.
fn timed(world: &SmallWorld, arguments: &[&str]) -> (Finished, Duration) {
    let mut command = world.dir.bsafs(arguments);
    for variable in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"] {
        command.env_remove(variable);
    }
    let began = Instant::now();
    (run(command.env("HOME", &world.installed.home)), began.elapsed())
}

#[test]
fn why_looks_once_into_an_archive_that_many_links_lead_to() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let source = world.instance(&["Mod"], &[]);
    let folder = world.installed.path("home/mo2/mods/Mod");
    fs::create_dir_all(&folder).unwrap();
    let archive = (0..5_000).fold(Ba2::general(1), |it, number| it.file(format!("a/{number}.txt"), "x"));
    fs::write(folder.join("1.bsa"), archive.build()).unwrap();
    (2..1_500).for_each(|number| symlink("1.bsa", folder.join(format!("{number}.bsa"))).unwrap());
    let (finished, took) = timed(&world, &["why", "--json", "--in", &source, "a/4999.txt"]);
    assert_eq!(finished.out.matches("archive-unlisted").count(), 1_499, "{:.3000}", finished.out);
    assert!(took < Duration::from_secs(40), "{took:?}");
}

#[test]
fn a_folder_that_10_000_mods_are_links_to_is_walked_once() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let mods: Vec<String> = (0..10_000).map(|number| format!("Mod{number}")).collect();
    let source = world.instance(&mods.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
    let folder = world.installed.path("home/mo2/mods");
    fs::create_dir_all(folder.join("one/textures")).unwrap();
    // So many that the count of all files ends the opening.
    (0..2_000).for_each(|number| fs::write(folder.join(format!("one/textures/{number}.dds")), "").unwrap());
    for name in &mods {
        symlink("one", folder.join(name)).unwrap();
    }
    let (finished, took) = timed(&world, &["list", &source]);
    assert!(finished.err.contains("all sources together have more than 16777216 files"), "{finished:?}");
    assert!(took < Duration::from_secs(15), "{took:?}");
}

#[test]
fn why_looks_up_10_000_endings_of_hidden_names_at_once() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let mods: Vec<String> = (0..20).map(|number| format!("Mod{number}")).collect();
    let mods: Vec<&str> = mods.iter().map(String::as_str).collect();
    let source = world.instance(&mods, &[]);
    for name in &mods {
        let files: Vec<String> =
            (0..200).map(|number| format!("home/mo2/mods/{name}/textures/{number}.dds")).collect();
        world.write(&files.iter().map(|file| (file.as_str(), "x")).collect::<Vec<_>>());
    }
    world.write(&[("home/mo2/mods/Mod19/textures/b.dds.~270E", "x")]);
    let endings: String = (0..9_999).map(|number| format!(".~{number:x},")).collect();
    let ini = world.installed.path("home/mo2/ModOrganizer.ini");
    let text = fs::read_to_string(&ini).unwrap() + "[Settings]\nskip_file_suffixes=" + &endings + "\n";
    fs::write(&ini, text).unwrap();
    for (thing, found) in [("textures/B.dds", true), ("b.dds", true), ("Mod0", false), ("a/b/c.esp", false)] {
        let (finished, took) = timed(&world, &["why", "--json", "--in", &source, thing]);
        let is_found = finished.out.contains("mo2-hidden") && finished.out.contains("b.dds.~270E");
        assert_eq!(is_found, found, "{thing}: {finished:?}");
        assert!(took < Duration::from_secs(20), "{thing}: {took:?}");
    }
}

#[test]
fn paths_of_openmw_with_thousands_of_parts_are_planned_in_linear_time() {
    let world = SmallWorld::new(&SKYRIMSE, &[]);
    for (key, parts, lines) in [("data", 1_000, 1_300), ("config", 1_000, 250), ("data", 1_300_000, 1)] {
        let lines: String =
            (0..lines).map(|number| format!("{key}=a{number}/{}b\n", "../".repeat(parts))).collect();
        assert!(lines.len() < 4 << 20);
        world.write(&[("home/cfg/openmw.cfg", &lines)]);
        let source = world.installed.path("home/cfg/openmw.cfg").to_str().unwrap().to_owned();
        let (finished, took) = timed(&world, &["order", "--json", &source]);
        assert!([0, 66].contains(&finished.code), "{}", finished.code);
        assert!(took < Duration::from_secs(20), "{key} with {parts} parts: {took:?}");
    }
}

#[test]
fn many_spellings_of_one_folder_are_searched_once() {
    let world = SmallWorld::new(&SKYRIMSE, &[]);
    let games = world.installed.path("home/games");
    (0..1_000).for_each(|number| fs::create_dir_all(games.join(number.to_string())).unwrap());
    let spelling = |number: usize| format!("{:?}", games.join("./".repeat(number)).join("0/.."));
    let spellings: Vec<String> = (0..300).map(spelling).collect();
    let list = format!("games = [{0}]\nprefixes = [{0}]\ninstances = [{0}]\n", spellings.join(","));
    world.write(&[("home/.config/bsafs/places.toml", &list)]);
    let (finished, took) = timed(&world, &["games"]);
    assert!(finished.out.contains("skyrimse"), "{finished:?}");
    assert!(took < Duration::from_secs(15), "{took:?}");
    let data = world.installed.folder.join("Data");
    let spelling = |number: usize| format!("{:?}", data.join("./".repeat(number)));
    let spellings: Vec<String> = (0..300).map(spelling).collect();
    fs::write(world.dir.path("p.toml"), format!("archives = [{}]\n", spellings.join(","))).unwrap();
    let (finished, took) = timed(&world, &["list", "p.toml"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert!(took < Duration::from_secs(15), "{took:?}");
}
