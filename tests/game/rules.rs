//! Rules that the worlds lack, by the commands: homes with one game each.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::worlds::World;
use crate::mounted::{Mounted, TestDir};
use crate::support::Tes3;

/// A home with a game in `Games/game`, which a command finds by its folder.
fn home(dir: &TestDir, files: &[(&str, &[u8])]) -> World {
    let world = World { name: "own".into(), root: dir.path("world"), expected: Value::Null };
    for (path, bytes) in files {
        let path = world.root.join("home/Games/game").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    world
}

fn game(world: &World) -> PathBuf {
    world.root.join("home/Games/game")
}

/// An archive of files that say which one they are from.
fn archive(name: &str, paths: &[&str]) -> Vec<u8> {
    let content = format!("from {name}");
    paths.iter().fold(Tes3::new(), |archive, path| archive.file(path, content.as_bytes())).build()
}

fn order(world: &World, dir: &TestDir, arguments: &[&str]) -> Value {
    let printed = world.run(dir, &[&["order", "--json"], arguments].concat()).sound();
    serde_json::from_str(&printed).unwrap()
}

/// The subjects of the notes of a code; paths from the game's folder on.
fn subjects(order: &Value, code: &str, game: &Path) -> Vec<String> {
    let notes = order["notes"].as_array().unwrap().iter().filter(|note| note["code"] == code);
    let subject = |note: &Value| {
        let subject = note["subject"].as_str().unwrap();
        let relative = Path::new(subject).strip_prefix(game).ok().and_then(Path::to_str);
        relative.unwrap_or(subject).to_owned()
    };
    notes.map(subject).collect()
}

/// The names of the layers.
fn layers(order: &Value) -> Vec<&str> {
    let layers = order["layers"].as_array().unwrap().iter();
    layers.map(|it| it["path"].as_str().unwrap().rsplit('/').next().unwrap()).collect()
}

#[test]
fn skyrim_has_archives_of_listed_paths_and_notes_on_what_it_may_not_see() {
    let dir = TestDir::new();
    let world = home(
        &dir,
        &[
            ("SkyrimSE.exe", b"MZ"),
            ("Data/Skyrim.esm", b""),
            ("Data/sub/deep.bsa", &archive("deep", &["textures\\a.dds"])),
            ("Out.bsa", &archive("out", &["textures\\out.dds"])),
            ("Data/textures/Armor/a.dds", b"loose"),
            ("Data/textures/armor/b.dds", b"loose"),
        ],
    );
    let (game, ini) = (game(&world), world.root.join("my.ini"));
    fs::write(&ini, "[Archive]\nsResourceArchiveList=Sub\\Deep.bsa, ..\\Out.bsa\nsResourceArchiveList2=\n")
        .unwrap();
    let sources = [game.to_str().unwrap(), "--ini", ini.to_str().unwrap()];
    let found = order(&world, &dir, &sources);
    assert_eq!(layers(&found), ["deep.bsa", "Data"]);
    assert_eq!(subjects(&found, "archive-missing", &game), ["..\\Out.bsa"]);
    assert_eq!(subjects(&found, "archive-version", &game), ["Data/sub/deep.bsa"], "it is Morrowind's");
    assert_eq!(subjects(&found, "folder-case", &game), ["textures/armor, textures/Armor"]);
    let mounted = world.run(&dir, &[&["mount"], &sources[..], &["mnt"]].concat());
    assert_eq!(mounted.code, 0, "{}", mounted.err);
    let mount = Mounted::at(&dir.path("mnt"), mounted.out);
    assert_eq!(mount.read("textures/a.dds"), b"from deep");
    assert!(!mount.join("textures/out.dds").exists());
    mount.umount(&dir);
}
