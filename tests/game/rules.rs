//! Rules that no world covers, tested through commands. Each test writes a home with one game.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::worlds::World;
use crate::mounted::{Mounted, TestDir};
use crate::support::Tes3;

/// Writes a home with a game in `Games/game`, which commands can find by its folder.
fn write_world(dir: &TestDir, files: &[(&str, &[u8])]) -> World {
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

/// An archive whose files contain `from` and its name.
fn archive(name: &str, paths: &[&str]) -> Vec<u8> {
    let content = format!("from {name}");
    paths.iter().fold(Tes3::new(), |archive, path| archive.file(path, content.as_bytes())).build()
}

fn order(world: &World, dir: &TestDir, arguments: &[&str]) -> Value {
    let printed = world.run(dir, &[&["order", "--json"], arguments].concat()).success();
    serde_json::from_str(&printed).unwrap()
}

/// Subjects of the notes with a code. Paths are relative to the game's folder.
fn subjects(order: &Value, code: &str, game: &Path) -> Vec<String> {
    let notes = order["notes"].as_array().unwrap().iter().filter(|note| note["code"] == code);
    let subject = |note: &Value| {
        let subject = note["example"].as_str().or(note["subject"].as_str()).unwrap();
        let relative = Path::new(subject).strip_prefix(game).ok().and_then(Path::to_str);
        relative.unwrap_or(subject).to_owned()
    };
    notes.map(subject).collect()
}

/// File names of the layers, lowest first.
fn layers(order: &Value) -> Vec<&str> {
    let layers = order["layers"].as_array().unwrap().iter();
    layers.map(|it| it["path"].as_str().unwrap().rsplit('/').next().unwrap()).collect()
}

#[test]
fn skyrim_loads_archives_by_path_and_notes_unusable_files() {
    let dir = TestDir::new();
    let world = write_world(
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
    assert_eq!(
        subjects(&found, "archive-version", &game),
        ["Data/sub/deep.bsa"],
        "an archive of Morrowind must be noted"
    );
    assert_eq!(subjects(&found, "folder-case", &game), ["textures/armor, textures/Armor"]);
    let mounted = world.run(&dir, &[&["mount"], &sources[..], &["mnt"]].concat());
    assert_eq!(mounted.code, 0, "{}", mounted.err);
    let mount = Mounted::at(&dir.path("mnt"), mounted.out);
    assert_eq!(mount.read("textures/a.dds"), b"from deep");
    assert!(!mount.join("textures/out.dds").exists());
    assert!(!mount.join("sub/deep.bsa").exists(), "an archive that is a layer must not be listed as a file");
    mount.umount(&dir);
}

/// Writes a copy of Oblivion with one archive and this text at the end of its INI file.
fn oblivion(dir: &TestDir, archive: &[u8], ini: &str) -> World {
    let settings = format!("[General]\nbUseMyGamesDirectory=0\n[Archive]\nSArchiveList=A.bsa\n{ini}");
    write_world(
        dir,
        &[
            ("Oblivion.exe", b"MZ"),
            ("Oblivion.ini", settings.as_bytes()),
            ("Data/Oblivion.esm", b""),
            ("Data/A.bsa", archive),
        ],
    )
}

/// Writes a file with a modification time in seconds since 1970.
fn write_at(path: &Path, content: &[u8], seconds: u64) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
    let times = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    File::options().write(true).open(path).unwrap().set_times(times).unwrap();
}

fn mounted(world: &World, dir: &TestDir, sources: &[&str]) -> Mounted {
    let finished = world.run(dir, &[&["mount"], sources, &["mnt"]].concat());
    assert_eq!(finished.code, 0, "{sources:?}: {}", finished.err);
    Mounted::at(&dir.path("mnt"), finished.out)
}

#[test]
fn dates_decide_only_between_files_of_oblivion_itself() {
    let dir = TestDir::new();
    let world = oblivion(&dir, &archive("A", &["old.dds", "new.dds"]), "");
    let data = game(&world).join("Data");
    write_at(&data.join("A.bsa"), &archive("A", &["old.dds", "new.dds"]), 2_000);
    write_at(&data.join("old.dds"), b"loose", 1_000);
    write_at(&data.join("new.dds"), b"loose", 3_000);
    let other = dir.path("other");
    write_at(&other.join("old.dds"), b"other", 500);
    write_at(&other.join("new.dds"), b"other", 500);
    let (game, other) = (game(&world), other.to_str().unwrap().to_owned());
    let game = game.to_str().unwrap();
    for (sources, old, new) in [
        (&[game][..], "from A", "loose"),
        (&[game, &other], "other", "other"),
        (&[&other, game], "from A", "loose"),
    ] {
        let mount = mounted(&world, &dir, sources);
        let read = |name: &str| String::from_utf8(mount.read(name)).unwrap();
        assert_eq!((read("old.dds").as_str(), read("new.dds").as_str()), (old, new), "{sources:?}");
        mount.umount(&dir);
        let found = order(&world, &dir, sources);
        assert_eq!(subjects(&found, "loose-older", Path::new("")), ["old.dds"], "{sources:?}");
    }
}

#[test]
fn oblivion_hides_the_archived_files_of_an_invalidation_list() {
    let dir = TestDir::new();
    let names = ["textures\\both.dds", "textures\\listed.dds", "textures\\gone.dds"];
    let world = oblivion(&dir, &[], "SInvalidationFile=ArchiveInvalidation.txt\n");
    let game = game(&world);
    write_at(&game.join("Data/A.bsa"), &archive("A", &names), 2_000);
    write_at(&game.join("Data/textures/both.dds"), b"loose", 1_000);
    write_at(&game.join("Data/Textures/Listed.dds"), b"loose", 1_000);
    let folder = game.to_str().unwrap();
    let read = |present: &[(&str, &str)], absent: &[&str]| {
        let mount = mounted(&world, &dir, &[folder]);
        for (path, content) in present {
            assert_eq!(mount.read(path), content.as_bytes(), "{path}");
        }
        assert!(absent.iter().all(|path| !mount.join(path).exists()), "{absent:?}");
        mount.umount(&dir);
    };
    let all = "from A";
    read(&[("textures/both.dds", all), ("textures/listed.dds", all), ("textures/gone.dds", all)], &[]);
    let without = order(&world, &dir, &[folder]);
    assert_eq!(subjects(&without, "archive-invalidation", &game), [""; 0]);
    assert_eq!(subjects(&without, "loose-older", &game), ["Textures/Listed.dds"]);
    assert_eq!(without["notes"].as_array().unwrap().last().unwrap()["count"], 2, "{without}");
    fs::write(game.join("archiveinvalidation.txt"), "textures/LISTED.dds\r\ntextures\\gone.dds\r\n").unwrap();
    read(&[("textures/both.dds", all), ("textures/listed.dds", "loose")], &["textures/gone.dds"]);
    let with = order(&world, &dir, &[folder]);
    assert_eq!(subjects(&with, "archive-invalidation", &game), ["archiveinvalidation.txt"]);
    assert_eq!(subjects(&with, "loose-older", &game), ["textures/both.dds"]);
    let which = world.run(&dir, &["which", "--json", "--in", folder, "textures/listed.dds"]);
    assert!(which.code == 0 && which.out.contains("/Data\""), "{which:?}");
}

#[test]
fn root_folders_of_root_builder_are_not_mounted() {
    let dir = TestDir::new();
    let world = write_world(&dir, &[("SkyrimSE.exe", b"MZ"), ("Data/Skyrim.esm", b"")]);
    let instance = world.root.join("mo2");
    let game = game(&world);
    let ini = format!(
        "[General]\ngamePath=@ByteArray(Z:{})\nselected_profile=Default\n\
         [PluginPersistance]\nRootBuilder\\enabled=true\n",
        game.to_str().unwrap().replace('/', "\\\\")
    );
    for (path, text) in [
        ("ModOrganizer.ini", ini.as_str()),
        ("profiles/Default/modlist.txt", "+SKSE\n"),
        ("mods/SKSE/Root/skse64_loader.exe", "loader"),
        ("mods/SKSE/scripts/root/a.pex", "script"),
    ] {
        let path = instance.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let source = instance.to_str().unwrap();
    let noted = subjects(&order(&world, &dir, &[source]), "mo2-root-folder", &instance);
    assert_eq!(noted, ["mods/SKSE/Root"]);
    let mount = mounted(&world, &dir, &[source]);
    assert_eq!(mount.read("Scripts/Root/a.pex"), b"script");
    assert!(!mount.join("Root").exists());
    mount.umount(&dir);
}

#[test]
fn add_ons_of_the_microsoft_store_are_mounted_with_starfield() {
    let dir = TestDir::new();
    let world = write_world(&dir, &[]);
    let games = world.root.join("home/XboxGames");
    let archive = archive("Mars", &["textures\\mars.dds"]);
    for (path, bytes) in [
        ("Starfield/Content/appxmanifest.xml", &b""[..]),
        ("Starfield/Content/Starfield.exe", b"MZ"),
        ("Starfield/Content/Data/Starfield.esm", b""),
        ("Old Mars/Content/Data/OldMars.esm", b""),
        ("Old Mars/Content/Data/OldMars - Textures.ba2", &archive),
        ("Shattered Space/Content/Data/ShatteredSpace.esm", b""),
    ] {
        write_at(&games.join(path), bytes, 1_000);
    }
    let source = games.join("Starfield/Content");
    let found = order(&world, &dir, &[source.to_str().unwrap()]);
    assert_eq!(found["plugins"], serde_json::json!(["Starfield.esm", "OldMars.esm", "ShatteredSpace.esm"]));
    let expected = ["Data", "Data", "Data", "OldMars - Textures.ba2"];
    assert_eq!(layers(&found), expected, "{found}");
}

#[test]
fn add_ons_of_the_microsoft_store_are_mounted_with_fallout_4() {
    let dir = TestDir::new();
    let world = write_world(&dir, &[]);
    let games = world.root.join("home/XboxGames");
    let archive = archive("Robot", &["textures\\robot.dds"]);
    for (path, bytes) in [
        ("Fallout 4 (PC)/Content/appxmanifest.xml", &b""[..]),
        ("Fallout 4 (PC)/Content/Fallout4.exe", b"MZ"),
        ("Fallout 4 (PC)/Content/Data/Fallout4.esm", b""),
        ("Fallout 4- Automatron (PC)/Content/Data/DLCRobot.esm", b""),
        ("Fallout 4- Automatron (PC)/Content/Data/DLCRobot - Main.ba2", &archive),
    ] {
        write_at(&games.join(path), bytes, 1_000);
    }
    let source = games.join("Fallout 4 (PC)/Content");
    let source = source.to_str().unwrap();
    let found = order(&world, &dir, &[source]);
    assert_eq!(layers(&found), ["Data", "Data", "DLCRobot - Main.ba2"]);
    assert_eq!(found["plugins"], serde_json::json!(["Fallout4.esm", "DLCRobot.esm"]));
    let mount = mounted(&world, &dir, &[source]);
    assert_eq!(mount.read("textures/robot.dds"), b"from Robot");
    assert!(mount.join("dlcrobot.esm").exists());
    mount.umount(&dir);
}
