//! A mod with thousands of links to one archive, lists with thousands of names of one thing, and paths with
//! thousands of parts: what they cost in time.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use super::small_world::{SKYRIMSE, SmallWorld};
use crate::support::Ba2;
use crate::mounted::{Finished, run};

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
