//! `bsafs order` in each world: layers, plugins, notes and rules. Also what it says if there is no
//! game, or more than one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::worlds::{self, World};
use crate::mounted::{Finished, TestDir};
use crate::support::Tes3;

/// Codes and subjects of notes. Subjects that are paths are relative to the world.
fn notes(values: &Value, root: &Path) -> BTreeSet<(String, String)> {
    let note = |value: &Value| {
        let (subject, code) = (value["subject"].as_str().unwrap(), value["code"].as_str().unwrap());
        // One note is about all loose files of a code, of which it names the first.
        let subject = value["example"].as_str().filter(|_| code.starts_with("loose-")).unwrap_or(subject);
        let relative = Path::new(subject).strip_prefix(root).ok().and_then(Path::to_str);
        (value["code"].as_str().unwrap().to_owned(), relative.unwrap_or(subject).to_owned())
    };
    values.as_array().unwrap().iter().map(note).collect()
}

/// What `bsafs order` printed. Its status may be 1: these worlds have empty files as archives.
fn printed_order(finished: Finished) -> String {
    assert!(matches!(finished.code, 0 | 1), "{finished:?}");
    finished.out
}

#[test]
fn order_prints_the_expected_layers_and_notes_of_every_world() {
    let dir = TestDir::new();
    for world in worlds::write(&dir) {
        let printed = printed_order(world.run(&dir, &["order", "--json", &world.source()]));
        let order: Value = serde_json::from_str(&printed).unwrap();
        let layers = |value: &Value| -> Vec<(String, PathBuf)> {
            let layers = value["layers"].as_array().unwrap().iter();
            let text = |layer: &Value, key: &str| layer[key].as_str().unwrap().to_owned();
            layers.map(|it| (text(it, "kind"), world.root.join(text(it, "path")))).collect()
        };
        assert_eq!(layers(&order), layers(&world.expected), "{}", world.name);
        let is_explained = |layer: &Value| !layer["why"].as_str().unwrap().is_empty();
        assert!(order["layers"].as_array().unwrap().iter().all(is_explained), "{printed}");
        let mut expected = notes(&world.expected["lint_subjects"], &world.root);
        for code in ["loose-older", "loose-disabled"] {
            let of_code: Vec<_> = expected.iter().filter(|it| it.0 == code).cloned().collect();
            let note = order["notes"].as_array().unwrap().iter().find(|note| note["code"] == code);
            let count = note.map_or(0, |note| note["count"].as_u64().unwrap_or(1));
            assert_eq!(count, of_code.len() as u64, "{}: {code}", world.name);
            of_code.iter().skip(1).for_each(|it| assert!(expected.remove(it)));
        }
        assert_eq!(notes(&order["notes"], &world.root), expected, "{}", world.name);
        for key in ["game", "plugins", "confidence"] {
            assert_eq!(order[key], world.expected[key], "{}: {key}", world.name);
        }
        for key in ["archives", "loose"] {
            assert_eq!(order["precedence"][key], world.expected["precedence"][key], "{}: {key}", world.name);
        }
        let has_notes = !expected.is_empty();
        let checked = world.run(&dir, &["order", "--check", &world.source()]);
        assert_eq!(checked.code, i32::from(has_notes), "{}: {}", world.name, checked.err);
        assert!(checked.out.contains("confidence  "), "{}", checked.out);
    }
}

#[test]
fn the_order_does_not_depend_on_how_the_game_is_named() {
    let dir = TestDir::new();
    for world in worlds::write(&dir) {
        let names = world.sources();
        let order =
            |name: &PathBuf| printed_order(world.run(&dir, &["order", "--json", name.to_str().unwrap()]));
        let orders: BTreeSet<String> = names.iter().map(order).collect();
        assert_eq!(orders.len(), 1, "{}: {orders:#?}", world.name);
    }
}

#[test]
fn a_saved_profile_gives_the_same_order_as_its_source() {
    let dir = TestDir::new();
    for world in worlds::write(&dir) {
        let source = world.source();
        world.run(&dir, &["mount", "--save-profile", "game", &source, "mnt"]).success();
        let profile = world.root.join("home/.config/bsafs/game.toml");
        let order = |source: &str| printed_order(world.run(&dir, &["order", "--json", source]));
        assert_eq!(order(profile.to_str().unwrap()), order(&source), "{}", world.name);
    }
}

/// Writes the files that identify Skyrim Special Edition into a folder.
fn skyrim(folder: &Path) {
    fs::create_dir_all(folder.join("Data")).unwrap();
    fs::write(folder.join("SkyrimSE.exe"), "MZ").unwrap();
    fs::write(folder.join("Data/Skyrim.esm"), "").unwrap();
    fs::write(folder.join("Data/Skyrim - Misc.bsa"), "").unwrap();
}

/// Writes a world that is only a home with an empty folder `Games`.
fn write_world(dir: &TestDir) -> World {
    let root = dir.path("world");
    fs::create_dir_all(root.join("home/Games")).unwrap();
    World { name: "own".into(), root, expected: Value::Null }
}

#[test]
fn vanilla_archives_share_a_line_and_paths_are_below_the_folder_in_the_first_line() {
    let dir = TestDir::new();
    let world = write_world(&dir);
    let game = world.root.join("home/Games/Skyrim");
    skyrim(&game);
    for name in ["Shaders", "Interface", "Animations", "Textures0"] {
        fs::write(game.join(format!("Data/Skyrim - {name}.bsa")), "").unwrap();
    }
    let order = |more: &[&str]| {
        let printed = printed_order(world.run(&dir, &[&["order", game.to_str().unwrap()], more].concat()));
        printed.split("\n\n").next().unwrap().lines().map(|it| it.trim().to_owned()).collect::<Vec<_>>()
    };
    let short = order(&[]);
    assert_eq!(short[0], format!("in {}", game.join("Data").display()));
    assert_eq!(short[1], "1-4  4 archives, Skyrim - Misc.bsa to Skyrim - Animations.bsa");
    assert!(short.contains(&"5  archive  Skyrim - Textures0.bsa".into()), "{short:#?}");
    assert!(short.contains(&"6  folder   Data".into()), "{short:#?}");
    assert_eq!(short.last().unwrap(), "--all prints each archive");
    let all = order(&["--all"]);
    assert_eq!(all[3], "2  archive  Skyrim - Shaders.bsa");
    assert_eq!(all.len(), 1 + 6 * 2, "{all:#?}");
    // So are the subjects of notes.
    fs::write(game.join("Data/Unlisted.bsa"), "").unwrap();
    let printed = printed_order(world.run(&dir, &["order", game.to_str().unwrap()]));
    assert!(printed.contains("\n  archive-unlisted  Unlisted.bsa\n"), "{printed}");
}

#[test]
fn the_files_of_each_layer_are_counted_on_request() {
    let dir = TestDir::new();
    let one = Tes3::new().file("a.txt", b"1").file("b.txt", b"2").build();
    fs::create_dir(dir.path("mod")).unwrap();
    for name in ["a.bsa", "b.bsa", "c.bsa", "d.bsa"] {
        dir.archive(&format!("mod/{name}"), &one);
    }
    fs::write(dir.path("mod/A.txt"), "loose").unwrap();
    // The folder and its archives are named a second time, which hides all files of the first time.
    let order = |arguments: &[&str]| dir.run([&["order", "mod", "mod"], arguments].concat()).success();
    let counted = order(&["--counts", "--json"]);
    let counted: Value = serde_json::from_str(&counted).unwrap();
    let counts: Vec<_> = (counted["layers"].as_array().unwrap().iter())
        .map(|it| ["files", "winning", "hidden"].map(|key| it[key].as_u64().unwrap()))
        .collect();
    let (hidden, winning) = ([2, 0, 2], [2, 1, 1]);
    assert_eq!(counts[..5], [hidden, hidden, hidden, hidden, [1, 0, 1]]);
    assert_eq!(counts[5..], [hidden, hidden, hidden, winning, [1, 1, 0]]);
    let printed = order(&["--counts"]);
    assert!(printed.contains("; 8 files, 0 winning, 8 hidden\n"), "{printed}");
    assert!(printed.contains("named as a source; 1 file, 1 winning, 0 hidden\n"), "{printed}");
    assert!(!order(&[]).contains("winning") && !order(&["--json"]).contains("winning"));
    // An archive of a game that cannot be opened is left out, and named.
    let world = write_world(&dir);
    let game = world.root.join("home/Games/Skyrim");
    skyrim(&game);
    let printed = world.run(&dir, &["order", "--counts", game.to_str().unwrap()]);
    assert!(printed.err.contains("Skyrim - Misc.bsa: not looked at: unsupported archive"), "{printed:?}");
    assert!(printed.code == 1 && printed.out.contains("; 2 files, 2 winning, 0 hidden"), "{printed:?}");
}

#[test]
fn the_error_says_which_game_files_were_searched_and_where() {
    let dir = TestDir::new();
    let world = write_world(&dir);
    let failed = world.run(&dir, &["order", "starfield"]);
    assert_eq!((failed.code, failed.out.as_str()), (66, ""));
    assert!(
        failed.err.contains("Starfield.exe") && failed.err.contains("/home/.local/share/Steam"),
        "{}",
        failed.err
    );
    let failed = world.run(&dir, &["order", "no-such-thing"]);
    assert!(failed.code == 66 && failed.err.contains("skyrimse"), "{}", failed.err);
}

#[test]
fn the_error_for_a_missing_game_lists_the_installed_games() {
    let dir = TestDir::new();
    let world = write_world(&dir);
    skyrim(&world.root.join("home/Games/one"));
    skyrim(&world.root.join("home/Games/two"));
    let failed = world.run(&dir, &["order", "skyrim"]);
    assert_eq!(failed.code, 66);
    let first = "bsafs: skyrim was not found, but skyrimse is installed.\n";
    assert!(failed.err.starts_with(first), "{}", failed.err);
    // The folders that do not exist are only counted, so that the first line stays on the screen.
    assert!(failed.err.contains("folders that do not exist"), "{}", failed.err);
    assert!(failed.err.lines().count() < 8, "{}", failed.err);
}

#[test]
fn the_error_for_a_game_installed_twice_lists_both_folders() {
    let dir = TestDir::new();
    let world = write_world(&dir);
    let (one, two) = (world.root.join("home/Games/one"), world.root.join("home/Games/two"));
    skyrim(&one);
    skyrim(&two);
    let failed = world.run(&dir, &["order", "skyrimse"]);
    assert_eq!(failed.code, 66);
    assert!(
        failed.err.contains(one.to_str().unwrap()) && failed.err.contains(two.to_str().unwrap()),
        "{failed:?}"
    );
    let by_folder = printed_order(world.run(&dir, &["order", "--json", one.to_str().unwrap()]));
    let by_option =
        printed_order(world.run(&dir, &["order", "--json", "skyrimse", "--game-dir", one.to_str().unwrap()]));
    assert_eq!(by_folder, by_option);
    assert!(by_folder.contains(&format!("{}/Data/Skyrim - Misc.bsa", one.display())), "{by_folder}");
    let other = world.run(&dir, &["order", "fallout4", "--game-dir", one.to_str().unwrap()]);
    assert!(other.code == 66 && other.err.contains("skyrimse"), "{other:?}");
}

#[test]
fn several_sources_keep_the_order_of_the_command_line() {
    let dir = TestDir::new();
    let world = write_world(&dir);
    let game = world.root.join("home/Games/one");
    skyrim(&game);
    let folder = world.root.join("mod");
    fs::create_dir(&folder).unwrap();
    for name in ["b.BSA", "A.ba2", "readme.txt"] {
        fs::write(folder.join(name), "").unwrap();
    }
    let archive = dir.archive("top.bsa", b"");
    let sources = [game.to_str().unwrap(), folder.to_str().unwrap(), archive.to_str().unwrap()];
    let printed = printed_order(world.run(&dir, &[&["order", "--json"], &sources[..]].concat()));
    let order: Value = serde_json::from_str(&printed).unwrap();
    let paths: Vec<&str> =
        order["layers"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
    let below = |folder: &Path, name: &str| folder.join(name).to_str().unwrap().to_owned();
    let expected = [
        below(&game, "Data/Skyrim - Misc.bsa"),
        below(&game, "Data"),
        below(&folder, "A.ba2"),
        below(&folder, "b.BSA"),
        below(&folder, ""),
        below(&archive, ""),
    ];
    assert_eq!(paths, expected.each_ref().map(|path| path.trim_end_matches('/')));
    assert_eq!(order["game"], "");
    let codes: Vec<&str> =
        order["notes"].as_array().unwrap().iter().map(|note| note["code"].as_str().unwrap()).collect();
    let unreadable = "archive-unreadable";
    assert_eq!(codes, ["never-started", unreadable, unreadable, unreadable, unreadable], "{printed}");
    let profile = world.root.join("mix.toml");
    fs::write(&profile, format!("archives = [{:?}, {:?}, {:?}]", sources[0], sources[1], sources[2]))
        .unwrap();
    assert_eq!(printed_order(world.run(&dir, &["order", "--json", profile.to_str().unwrap()])), printed);
    // The data folder of a game, if it is named directly, is an ordinary folder.
    let data = printed_order(world.run(&dir, &["order", "--json", &below(&game, "Data")]));
    assert!(data.contains("\"game\":\"\""), "{data}");
}

#[test]
fn options_replace_the_settings_and_plugin_list_of_the_game() {
    let dir = TestDir::new();
    let world = write_world(&dir);
    let game = world.root.join("home/Games/one");
    skyrim(&game);
    for name in ["Mod.esp", "Mod.bsa", "Listed.bsa"] {
        fs::write(game.join("Data").join(name), "").unwrap();
    }
    let (ini, list) = (world.root.join("mine.ini"), world.root.join("list.txt"));
    fs::write(&ini, "[Archive]\nsResourceArchiveList=Listed.bsa\nsResourceArchiveList2=\n").unwrap();
    fs::write(&list, "*Mod.esp\n").unwrap();
    let arguments = |rule: &'static str| {
        ["order", "--json", "skyrimse", "--ini", ini.to_str().unwrap(), "--plugins", list.to_str().unwrap()]
            .into_iter()
            .chain(["--precedence", rule])
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let names = |rule: &'static str| -> Vec<String> {
        let arguments = arguments(rule);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let order: Value = serde_json::from_str(&printed_order(world.run(&dir, &arguments))).unwrap();
        assert_eq!(order["inis"], serde_json::json!([ini.to_str().unwrap()]));
        let name = |it: &Value| it["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        order["layers"].as_array().unwrap().iter().map(name).collect()
    };
    assert_eq!(names("last"), ["Listed.bsa", "Mod.bsa", "Data"]);
    assert_eq!(names("first"), ["Mod.bsa", "Listed.bsa", "Data"]);
    let arguments = arguments("last");
    let printed = printed_order(world.run(&dir, &arguments.iter().map(String::as_str).collect::<Vec<_>>()));
    assert!(printed.contains("attached to Mod.esp (plugin 2 of 2)"), "{printed}");
    assert_eq!(world.run(&dir, &["order", "skyrimse", "--precedence", "random"]).code, 2);
}
