//! The fates of copies: what `bsafs why` says about one file on the disk, a mod, an archive or a plugin,
//! about which game, and whether the other commands say the same.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::small_world::{
    FALLOUT4, FALLOUTNV, MORROWIND, OBLIVION, REMASTERED, SKYRIMSE, SKYRIMVR, STARFIELD, SmallWorld,
};
use super::worlds;
use crate::mounted::{Finished, TestDir, run};
use crate::support::home::{SteamGame, plugin};

/// What `why` says: the fate, the code and the text of the first reason, and the first line of the text.
struct Said {
    fate: String,
    code: String,
    text: String,
    line: String,
}

/// Asks about one thing, and checks that the exit status agrees with the fate.
fn ask(world: &SmallWorld, arguments: &[&str]) -> Said {
    let finished = world.run(&[&["why", "--json"], arguments].concat());
    let answer: Value =
        serde_json::from_str(&finished.out).unwrap_or_else(|_| panic!("{arguments:?}: {finished:?}"));
    let fate = answer["fate"].as_str().unwrap().to_owned();
    assert_eq!(finished.code, i32::from(fate != "wins"), "{arguments:?}: {finished:?}");
    assert_eq!(answer["is_there"], fate == "wins", "{arguments:?}: {finished:?}");
    let text = |key: &str| answer["reasons"][0][key].as_str().unwrap().to_owned();
    let printed = world.run(&[&["why"], arguments].concat());
    let line = printed.out.lines().next().unwrap().to_owned();
    Said { fate, code: text("code"), text: text("text"), line }
}

fn check(world: &SmallWorld, source: &str, thing: &str, expected: (&str, &str, &str)) {
    let said = ask(world, &["--in", source, thing]);
    assert_eq!((&*said.fate, &*said.code), (expected.0, expected.1), "{thing}: {}", said.text);
    assert!(said.text.contains(expected.2), "{thing}: {}", said.text);
}

fn path(world: &SmallWorld, name: &str) -> String {
    world.installed.path(name).to_str().unwrap().to_owned()
}

#[test]
fn a_path_on_the_disk_is_about_that_copy_and_no_other() {
    let mods = "home/mo2/mods";
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", "[Archive]\nsResourceArchiveList=Base.bsa\nsResourceArchiveList2=\n"),
            ("Data/Base.bsa", ""),
            ("Data/Nobody.bsa", ""),
            ("Data/textures/a.dds", "game"),
            ("home/staging/7/textures/linked.dds", ""),
            ("home/staging/7/textures/other.dds", ""),
        ],
    );
    let source = world.instance(
        &["High", "Low"],
        &[
            (&format!("{mods}/High/textures/a.dds"), "high"),
            (&format!("{mods}/High/Nobody.bsa"), ""),
            (&format!("{mods}/Low/Textures/A.dds"), "low"),
            (&format!("{mods}/Low/textures/b.dds.mohidden"), ""),
            (&format!("{mods}/Low/Mod.esp"), ""),
            (&format!("{mods}/High/Mod.esp"), ""),
            (&format!("{mods}/Off/textures/a.dds"), "off"),
            ("home/mo2/profiles/Default/plugins.txt", "*Mod.esp\r\n"),
        ],
    );
    fs::create_dir_all(world.installed.path("Data/textures")).unwrap();
    let (staged, deployed) = (path(&world, "home/staging/7/textures/linked.dds"), "Data/textures/linked.dds");
    fs::hard_link(&staged, world.installed.path(deployed)).unwrap();
    let check = |thing: &str, expected| check(&world, &source, &path(&world, thing), expected);
    check(&format!("{mods}/High/textures/a.dds"), ("wins", "there", "textures/a.dds is from here"));
    check(&format!("{mods}/Low/Textures/A.dds"), ("loses", "hidden", "lower priority than High"));
    check("Data/textures/a.dds", ("loses", "hidden", "lower priority than High"));
    check(&format!("{mods}/Off/textures/a.dds"), ("off", "mo2-mod-off", "turn it on"));
    check(&format!("{mods}/Low/textures/b.dds.mohidden"), ("off", "mo2-hidden", "unhide"));
    check(&format!("{mods}/Low/textures/b.dds"), ("off", "mo2-hidden", "unhide"));
    check(&format!("{mods}/Low/textures/none.dds"), ("not-here", "not-found", "no such file"));
    check("Data/misc/base.bsa.txt", ("not-here", "not-found", "no such file"));
    check("Data/Base.bsa/misc/base.bsa.txt", ("wins", "there", "is from here"));
    check("Data/Base.bsa/misc/none.txt", ("not-here", "not-found", "no file with this path"));
    check(&format!("{mods}/High/Nobody.bsa/misc/nobody.bsa.txt"), ("not-loaded", "archive-unlisted", ""));
    check("Data/Nobody.bsa", ("not-loaded", "archive-shadowed", "in a higher folder"));
    check(&format!("{mods}/High/Nobody.bsa"), ("not-loaded", "archive-unlisted", "no INI file"));
    check(&format!("{mods}/High/Mod.esp"), ("wins", "active", "is active"));
    check(&format!("{mods}/Low/Mod.esp"), ("loses", "hidden", "lower priority than High"));
    check(&format!("{mods}/Off"), ("off", "mo2-mod-off", "turn it on"));
    check("home/staging/7/textures/linked.dds", ("wins", "there", "textures/linked.dds is from here"));
    check("home/staging/7/textures/other.dds", ("not-deployed", "in-no-folder", ""));
    // A path of another machine is one in the game. One in a folder of this game is not.
    check("home/none/Data/textures/a.dds", ("wins", "there", "textures/a.dds is from here"));
    for missing in ["/nowhere/at/all.dds", "./textures/a.dds", "../textures/a.dds", "~/textures/a.dds"] {
        let said = ask(&world, &["--in", &source, missing]);
        assert_eq!(
            (&*said.fate, &*said.text),
            ("not-here", "there is no such file on the disk"),
            "{missing}"
        );
    }
}

#[test]
fn a_file_that_was_deleted_in_a_writable_mount_has_that_fate() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[("my/Skyrim.ini", "[Archive]\nsResourceArchiveList=Base.bsa\n"), ("Data/Base.bsa", "")],
    );
    let mods = "home/mo2/mods";
    let mo2 = world.instance(
        &["My Edits", "Plate"],
        &[
            (&format!("{mods}/Plate/textures/a.dds"), "a"),
            (&format!("{mods}/Off/textures/a.dds"), "a"),
            (&format!("{mods}/My Edits/textures/.wh.a.dds"), ""),
            (&format!("{mods}/My Edits/misc/.wh.base.bsa.txt"), ""),
            (&format!("{mods}/My Edits/textures/new.dds"), "new"),
        ],
    );
    let said = "deleted in My Edits; the copy of ";
    check(&world, &mo2, "textures/a.dds", ("deleted", "deleted", &format!("{said}Plate is hidden")));
    check(&world, &mo2, "misc/base.bsa.txt", ("deleted", "deleted", &format!("{said}Base.bsa is hidden")));
    let at = |name: &str| path(&world, &format!("{mods}/{name}"));
    check(&world, &mo2, &at("Plate/textures/a.dds"), ("deleted", "deleted", said));
    check(&world, &mo2, &at("My Edits/textures/a.dds"), ("deleted", "deleted", said));
    let mark = at("My Edits/textures/.wh.a.dds");
    check(&world, &mo2, &mark, ("deleted", "deletion-mark", "this marks that a.dds was deleted"));
    // The mod is odd, because a game knows no such marks.
    let order = world.order(&mo2);
    assert_eq!(order.notes("deletion-marks"), ["My Edits"]);
    let text = order.texts("deletion-marks")[0].to_owned();
    let command = format!("`bsafs extract '{}' --archives files -C FOLDER`", at("My Edits"));
    assert!(text.starts_with("2 marks of files or folders") && text.contains(&command), "{text}");
    let mounted = world.bsafs(&["mount", &mo2, "mnt"]);
    assert!(
        mounted.contains("1 mod with marks of deleted files, which no game knows (My Edits)"),
        "{mounted}"
    );
    world.bsafs(&["umount", "mnt"]);
    // What one of two games lacks has the reason, too.
    world.write(&[
        ("home/mo2/profiles/Plain/modlist.txt", "-My Edits\r\n+Plate\r\n"),
        ("home/mo2/profiles/Plain/plugins.txt", ""),
    ]);
    let plain = format!("{mo2}/profiles/Plain");
    let diff = world.run(&["diff", &plain, &mo2, "--json"]);
    assert!(diff.out.contains("deleted in My Edits; the copy of Plate"), "{diff:?}");
}

#[test]
fn the_game_is_taken_from_the_path_or_all_games_are_asked() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[("my/Skyrim.ini", ""), ("local/Plugins.txt", "*Both.esp\n"), ("Data/Both.esp", "")],
    );
    let names = ["Fallout4", "Fallout4"];
    let other = SteamGame::install(&world.installed.home, 377_160, "Fallout 4", "english", names);
    for name in ["Data/Fallout4.esm", "Data/DeskHD.esp", "Data/Both.esp"] {
        other.write(name, &plugin(4, 0, &[]), 0);
    }
    other.write("Fallout4.exe", b"", 0);
    other.write("my/Fallout4.ini", b"", 0);
    other.write("local/Plugins.txt", b"*DeskHD.esp\r\n", 0);
    other.write("Data/textures/x.dds", b"", 0);
    let said = ask(&world, &["DeskHD.esp"]);
    assert_eq!((&*said.fate, &*said.line), ("wins", "fallout4: DeskHD.esp is in the game"));
    let file = other.path("Data/textures/x.dds");
    let said = ask(&world, &[file.to_str().unwrap()]);
    assert!(said.line.starts_with("fallout4: "), "{}", said.line);
    let said = ask(&world, &[&path(&world, "Data/Both.esp")]);
    assert!(said.line.starts_with("skyrimse: "), "{}", said.line);
    // Both games have it, with different fates.
    let both = world.run(&["why", "Both.esp"]);
    let lines: Vec<&str> = both.out.lines().filter(|line| !line.starts_with(' ')).collect();
    let mut sorted = lines.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["fallout4: Both.esp is not in the game", "skyrimse: Both.esp is in the game"]);
    assert_eq!(both.code, 1);
    // Neither has it.
    let none = world.run(&["why", "None.esp"]);
    assert_eq!((none.code, none.out.matches("None.esp is not in the game").count()), (1, 2), "{none:?}");
}

#[test]
fn a_question_is_understood_as_people_have_it() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", ""),
            ("local/Plugins.txt", "*My Mod.esp\n"),
            ("Data/My Mod.esp", ""),
            ("Data/Textures/Armor/Iron.dds", ""),
            ("Data/Textures/Armor/Two.dds", ""),
            ("Data/Textures/Two.dds", ""),
            ("Data/Meshes/Armor/Iron.nif", ""),
            ("Data/Scripts/MyQuest.pex", ""),
            ("Data/Sound/fx/my/boom.wav", ""),
        ],
    );
    let real = path(&world, "Data/Textures/Armor/Iron.dds");
    let mount = world.mount("skyrimse");
    let mounted = world.dir.path("mnt/textures/armor/iron.dds").to_str().unwrap().to_owned();
    let wine = |path: &str| format!("Z:{}", path.replace('/', "\\"));
    for thing in [
        r#""textures\armor\iron.dds""#,
        " 'Textures/Armor/Iron.dds' ",
        &format!("file://{}", real.replace(' ', "%20")),
        &wine(&real),
        &mounted,
        &wine(&mounted),
        &format!("file://{mounted}"),
        r"D:\Games\Skyrim\Data\Textures\Armor\Iron.dds",
        r"C:\Projects\Skyrim\Build\PC\Textures\Armor\Iron.dds",
        r"Armor\Iron.dds",
        "armor/iron.nif",
        "Data/Meshes/armor/IRON.NIF",
        "iron.dds",
        "MyQuest",
        "myquest.psc",
        "fx/my/boom.wav",
        "my mod.esp",
    ] {
        let said = ask(&world, &[thing]);
        assert_eq!(said.fate, "wins", "{thing}: {}", said.line);
        assert!(said.line.starts_with("skyrimse: "), "{}", said.line);
    }
    mount.umount(&world.dir);
    // A shell without quotes makes several words of a name.
    let words = world.run(&["why", "My", "Mod.esp"]);
    assert_eq!((words.code, words.out.lines().count()), (0, 2), "{words:?}");
    let near = world.run(&["why", "--json", "My Mob.esp"]);
    assert!(near.code == 1 && near.out.contains("\"similar-name\",\"subject\":\"My Mod.esp\""), "{near:?}");
    // Tools write the paths of textures below their folder, so it is the one directly in it.
    let two = ask(&world, &["two.dds"]);
    assert!(two.fate == "wins" && two.line.contains("(Textures/Two.dds)"), "{}", two.line);
    let which = world.run(&["which", "--in", "skyrimse", r"C:\x\Data\Textures\Armor\Iron.dds"]);
    assert_eq!(which.code, 0, "{which:?}");
}

#[test]
fn a_mod_is_in_the_game_only_if_the_game_uses_one_of_its_files() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", ""), ("Data/textures/armor/a.dds", "")]);
    let mods = "home/mo2/mods";
    let file = |name: &str| format!("{mods}/{name}");
    let source = world.instance(
        &["Top", "Plugin", "Archive", "Loser", "Typo", "Missing", "Head_separator", "Rooted", "Empty"],
        &[
            (&file("Top/textures/armor/a.dds"), "top"),
            (&file("Plugin/Plugin.esp"), ""),
            (&file("Plugin/Plugin.bsa"), ""),
            (&file("Archive/Stray.bsa"), ""),
            (&file("Loser/textures/armor/a.dds"), "loser"),
            (&file("Typo/texture/armor/a.dds"), ""),
            (&file("Missing/armor/a.dds"), ""),
            (&file("Head_separator/meta.ini"), ""),
            (&file("Rooted/Root/enb.dll"), ""),
            (&file("Empty/readme.txt"), ""),
        ],
    );
    for (name, expected) in [
        ("Top", ("wins", "there", "1 of its files win")),
        ("Plugin", ("not-loaded", "plugin-inactive", "not in ")),
        ("Archive", ("not-loaded", "archive-unlisted", "no INI file lists it")),
        ("Loser", ("loses", "hidden", "its only file, textures/armor/a.dds, loses to ")),
        ("Typo", ("ignored", "replaces-nothing", "is textures meant?")),
        ("Missing", ("ignored", "replaces-nothing", "the game reads textures/armor, not armor")),
        ("Head_separator", ("off", "mo2-mod-off", "separator")),
        ("Rooted", ("ignored", "mo2-mod-nested", "Root Builder")),
        ("Empty", ("ignored", "nothing-for-game", "no files that the game sees")),
    ] {
        check(&world, &source, name, expected);
        check(&world, &source, &path(&world, &file(name)), expected);
    }
    let line = ask(&world, &[&source, "Loser"]).line;
    assert_eq!(line, "skyrimse, profile Default: Loser is not in the game");
}

#[test]
fn loose_files_that_the_game_ignores_are_named_with_the_file_to_edit() {
    let world = SmallWorld::new(
        &FALLOUT4,
        &[
            ("my/Fallout4.ini", "[Archive]\nSResourceArchiveList=A.ba2\n"),
            (
                "my/Fallout4Custom.ini",
                "[Archive]\nbInvalidateOlderFiles=1\nsResourceDataDirsFinal=STRINGS\\\n",
            ),
            ("Data/A.ba2", ""),
            ("Data/misc/shared.txt", "loose"),
            ("Data/misc/new.txt", "loose"),
            ("Data/other/own.txt", "loose"),
        ],
    );
    let custom = path(&world, "my/Fallout4Custom.ini");
    let said = ask(&world, &["fallout4", &path(&world, "Data/misc/shared.txt")]);
    assert_eq!((&*said.fate, &*said.code), ("ignored", "loose-disabled"));
    assert!(
        said.text.contains(&custom) && said.text.contains("sResourceDataDirsFinal=STRINGS"),
        "{}",
        said.text
    );
    assert!(!said.text.contains("bInvalidateOlderFiles is not set"), "that one is right: {}", said.text);
    let json = |arguments: &[&str]| -> Vec<Value> {
        let out = world.run(arguments).out;
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let which = &json(&["which", "--json", "fallout4", "misc/shared.txt"])[0];
    let setting = &which["ignored"][0]["because"]["settings"][0];
    assert_eq!(
        (&setting["file"], &setting["value"]),
        (&custom.clone().into(), &"STRINGS\\".into()),
        "{which}"
    );
    let conflict = &json(&["conflicts", "--json", "fallout4", "misc/shared.txt"])[0];
    assert_eq!(conflict["ignored"][0]["layer"], which["ignored"][0]["folder"], "{conflict}");
    let order = &json(&["order", "--json", "--counts", "fallout4"])[0];
    let notes: Vec<&Value> = order["notes"].as_array().unwrap().iter().collect();
    let ignored: Vec<_> = notes.iter().filter(|note| note["code"] == "loose-disabled").collect();
    assert_eq!(ignored.len(), 1, "{order}");
    assert_eq!(
        (&ignored[0]["count"], &ignored[0]["because"]["edit"]),
        (&2.into(), &custom.into()),
        "{order}"
    );
    let mount = world.mount("fallout4");
    let odd =
        "\nodd: 3 things (loose file \"misc/new.txt\", no AppData/Local/Fallout4/Plugins.txt, and 1 more): ";
    assert!(mount.report.contains(odd), "{}", mount.report);
    mount.umount(&world.dir);
    world
        .write(&[("my/Fallout4Custom.ini", "[Archive]\nbInvalidateOlderFiles=1\nsResourceDataDirsFinal=\n")]);
    check(&world, "fallout4", &path(&world, "Data/misc/shared.txt"), ("wins", "there", ""));
    let order = world.order("fallout4");
    assert!(!order.codes().contains(&"loose-disabled"));
}

#[test]
fn a_file_that_a_manager_deployed_has_the_mod_from_its_list_or_its_link() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", ""),
            ("Data/textures/copied.dds", ""),
            ("home/Vortex/mods/Armor-12/textures/copied.dds", ""),
            ("home/Vortex/mods/Armor-12/textures/left.dds", ""),
            ("home/Vortex/mods/Other-3/textures/copied.dds", ""),
            ("Data/Größe.esp", ""),
            ("home/Amethyst/mods/Linked Mod/textures/linked.dds", ""),
            ("Data/meshes/limo.nif", ""),
            ("Data/.lmmfiles", r#"{"files":[{"mod_id":7,"path":"meshes/limo.nif"}]}"#),
            (
                "Data/vortex.deployment.json",
                r#"{"files":[{"relPath":"Textures\\Copied.dds","source":"Armor-12","time":1},
                    {"relPath":"textures\\gone.dds","source":"Gone-1","time":1},
                    {"relPath":"größe.ESP","source":"Gr-4","time":1}]}"#,
            ),
        ],
    );
    world.installed.write("local/Plugins.txt", b"*Gr\xf6\xdfe.esp\r\n", 0);
    let staged = "home/Amethyst/mods/Linked Mod/textures/linked.dds";
    symlink(world.installed.path(staged), world.installed.path("Data/textures/linked.dds")).unwrap();
    let deployed_from = |path: &str| {
        let finished = world.run(&["which", "--json", "--in", "skyrimse", path]);
        lines(&finished)[0]["from"]["deployed_from"].as_str().map(str::to_owned)
    };
    for (path, name) in
        [("textures/copied.dds", "Armor-12"), ("textures/linked.dds", "Linked Mod"), ("meshes/limo.nif", "7")]
    {
        assert_eq!(deployed_from(path).as_deref(), Some(name), "{path}");
        let why = world.run(&["why", "--in", "skyrimse", path]).success();
        assert!(
            why.contains(&format!("{name}  ")) && why.contains("deployed the file from this mod"),
            "{why}"
        );
    }
    let check = |thing: &str, expected| check(&world, "skyrimse", thing, expected);
    let mods = |name: &str| path(&world, &format!("home/Vortex/mods/{name}"));
    check("armor-12", ("wins", "there", "Vortex deployed 1 file; the game uses 1"));
    check("Gone-1", ("not-deployed", "not-deployed", "all replaced or deleted since"));
    check("Gr-4", ("wins", "there", "Vortex deployed 1 file; the game uses 1"));
    check(&mods("Armor-12"), ("wins", "there", "Vortex deployed 1 file; the game uses 1"));
    check(&mods("Armor-12/textures"), ("wins", "there", "Vortex deployed 1 file; the game uses 1"));
    check(&mods("Armor-12/textures/copied.dds"), ("wins", "there", "is from here"));
    check(&mods("Armor-12/textures/left.dds"), ("not-deployed", "not-deployed", "has not deployed"));
    check(&path(&world, staged), ("wins", "there", "is from here"));
}

#[test]
fn an_archive_whose_list_another_file_replaces_has_that_reason() {
    let world = SmallWorld::new(
        &STARFIELD,
        &[
            ("Starfield.ini", "[Archive]\nsResourceIndexFileList=One.ba2, Two.ba2\n"),
            ("my/StarfieldPrefs.ini", ""),
            ("my/StarfieldCustom.ini", "[Archive]\nsResourceIndexFileList=One.ba2\n"),
            ("Data/One.ba2", ""),
            ("Data/Two.ba2", ""),
        ],
    );
    check(&world, "starfield", "Two.ba2", ("not-loaded", "archive-unlisted", "StarfieldCustom.ini replaces"));
    let text = world.order("starfield").texts("archive-unlisted").concat();
    assert!(text.contains("Starfield.ini lists it"), "{text}");
}

#[test]
fn a_plugin_that_is_off_has_the_reason_that_is_true() {
    let world = SmallWorld::new(
        &STARFIELD,
        &[
            ("Starfield.ini", "[General]\nsTestFile1=Test.esm\n"),
            ("my/StarfieldPrefs.ini", ""),
            ("local/Plugins.txt", "*Mod.esm\n"),
            ("Data/Mod.esm", ""),
            ("Data/Test.esm", ""),
        ],
    );
    let expected = ("not-loaded", "plugin-inactive", "Starfield.ini: sTestFile1=Test.esm");
    check(&world, "starfield", "Mod.esm", expected);
    let texts = world.order("starfield");
    assert!(texts.texts("settings-ignored").concat().contains("test files replace it"));
    let world =
        SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", ""), ("Data/Ähre.esp", ""), ("Data/B.esp", "")]);
    let list = world.installed.path("local/Plugins.txt");
    fs::create_dir_all(list.parent().unwrap()).unwrap();
    fs::write(&list, b"\xc4hre.esp\r\n").unwrap();
    check(&world, "skyrimse", "Ähre.esp", ("not-loaded", "plugin-inactive", "is off in"));
    fs::write(&list, "*Ähre.esp\r\n").unwrap();
    check(&world, "skyrimse", "Ähre.esp", ("not-loaded", "plugin-inactive", "is in UTF-8"));
    fs::write(&list, "\u{feff}*B.esp\r\n").unwrap();
    check(&world, "skyrimse", "B.esp", ("not-loaded", "plugin-inactive", "byte order mark"));
    assert_eq!(world.order("skyrimse").notes("plugins-file-encoding"), ["Plugins.txt"]);
}

#[test]
fn a_path_of_wine_that_is_not_on_the_disk_is_the_path_in_the_game() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", "[Archive]\nsResourceArchiveList=Base.bsa\nsResourceArchiveList2=\n"),
            ("Data/Base.bsa", ""),
            ("Data/textures/own.dds", ""),
        ],
    );
    let mods = "home/mo2/mods";
    world.instance(
        &["On"],
        &[
            (&format!("{mods}/On/textures/mod.dds"), ""),
            (&format!("{mods}/On/On.esp"), ""),
            (&format!("{mods}/Off/textures/off.dds"), ""),
            ("home/mo2/profiles/Default/plugins.txt", "*On.esp\r\n"),
        ],
    );
    let linked = world.installed.path("home/linked game");
    symlink(world.installed.folder.as_path(), &linked).unwrap();
    for (name, fate, code) in [
        ("Misc/Base.bsa.txt", "wins", "there"),
        ("textures/mod.dds", "wins", "there"),
        ("TEXTURES/Own.dds", "wins", "there"),
        ("On.esp", "wins", "active"),
        ("textures/off.dds", "off", "mo2-mod-off"),
        ("textures/none.dds", "not-here", "not-found"),
    ] {
        for data in [path(&world, "Data"), linked.join("Data").to_str().unwrap().to_owned()] {
            let copy = format!("{data}/{name}");
            let said = ask(&world, &[&format!("Z:{}", copy.replace('/', "\\"))]);
            assert_eq!((&*said.fate, &*said.code), (fate, code), "{copy}: {}", said.line);
            assert!(said.line.starts_with("skyrimse, profile Default: "), "{}", said.line);
            if name.contains("Own") {
                continue;
            }
            // The same path of Linux is a copy, which does not exist.
            let said = ask(&world, &[&copy]);
            assert_eq!((&*said.fate, &*said.code), ("not-here", "not-found"), "{copy}");
            assert!(said.line.ends_with(&format!("{name} does not exist")), "{}", said.line);
            let printed = world.run(&["why", &copy]).out;
            // Notes are no copies.
            let is_copy = |line: &&str| {
                line.starts_with("  ") && !line.starts_with("  note") && line.as_bytes()[2] != b' '
            };
            let copies = printed.lines().filter(is_copy).count();
            assert_eq!(copies > 1, code != "not-found", "{printed}");
        }
    }
    let off = world.run(&["why", &path(&world, "Data/textures/off.dds")]).out;
    assert!(off.contains("Off/textures/off.dds"), "{off}");
    // A path of Wine in a mod is that copy.
    let of_mod = format!("Z:{}", path(&world, &format!("{mods}/On/textures/own.dds")));
    assert_eq!(ask(&world, &[&of_mod]).fate, "not-here");
}

#[test]
fn plugins_archives_and_mods_that_are_too_deep_are_not_in_the_game() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", ""), ("Data/sub/Own.esm", "")]);
    let mods = "home/mo2/mods";
    let file = |name: &str| format!("{mods}/{name}");
    let source = world.instance(
        &["Good", "Deep", "Nested"],
        &[
            (&file("Good/textures/a.dds"), ""),
            (&file("Good/optional/Choice.esp"), ""),
            (&file("Deep/00 Core/textures.bsa"), ""),
            (&file("Deep/00 Core/Deep.esp"), ""),
            (&file("Deep/textures/a.dds"), ""),
            (&file("Nested/Data/textures/n.dds"), ""),
            (&file("Nested/Data/Nested.esp"), ""),
        ],
    );
    let not_at_top = |what: &'static str| ("not-loaded", "not-at-top", what);
    let of_disk = |name: &str, expected| check(&world, &source, &path(&world, name), expected);
    of_disk(&file("Good/optional/Choice.esp"), not_at_top("plugins only from the top"));
    of_disk("Data/sub/Own.esm", ("ignored", "mod-nested", "does not look in the folder"));
    of_disk(&file("Deep/00 Core/textures.bsa"), not_at_top("archives only from the top"));
    for name in ["optional/choice.esp", "choice.esp"] {
        check(&world, &source, name, not_at_top("plugins only from the top"));
    }
    check(&world, &source, "Good", ("wins", "there", "of its files win"));
    check(&world, &source, "Deep", ("ignored", "replaces-nothing", "only from the top"));
    let nested = ("ignored", "mo2-mod-nested", "subfolder \"Data\"");
    for name in
        ["Nested/Data/textures/n.dds", "Nested/Data/Nested.esp", "Nested/Data/textures", "Nested/Data"]
    {
        of_disk(&file(name), nested);
    }
    for name in ["Nested", "n.dds", "textures/n.dds", "Data/textures/n.dds"] {
        check(&world, &source, name, nested);
    }
}

#[test]
fn names_and_labels_mean_what_they_were_printed_for() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", "[Archive]\nsResourceArchiveList=Skyrim - Base.bsa\nsResourceArchiveList2=\n"),
            ("Data/Skyrim - Base.bsa", ""),
        ],
    );
    let mods = "home/mo2/mods";
    let file = |name: &str| format!("{mods}/{name}");
    let source = world.instance(
        &["High", "SkyUI"],
        &[
            (&file("High/textures/a.dds"), ""),
            (&file("SkyUI/textures/a.dds"), ""),
            (&file("SkyUI/SkyUI_SE.esp"), ""),
            (&file("SkyUI/SkyUI_SE.bsa"), ""),
            (&file("SkyUI/SKSE/Plugins/foo.ini"), ""),
            (&file("Off Mod/textures/off.dds"), ""),
            (&file("Off Mod/Off.bsa"), ""),
            ("home/mo2/profiles/Default/plugins.txt", "*SkyUI_SE.esp\r\n"),
            ("home/mo2/profiles/Other/modlist.txt", "-SkyUI\r\n"),
        ],
    );
    let list = "+High\r\n+SkyUI\r\n*DLC: Dawnguard\r\n*Unmanaged: Extra\r\n";
    world.write(&[("home/mo2/profiles/Default/modlist.txt", list), ("Data/Extra.esp", "")]);
    for (label, fate, code) in [
        ("foo.ini", "wins", "there"),
        ("none.ini", "not-here", "not-found"),
        ("SkyUI/SkyUI_SE.bsa", "wins", "there"),
        ("SkyUI/SkyUI_SE.bsa/misc/skyui_se.bsa.txt", "wins", "there"),
        (r"SkyUI_SE.bsa\misc\skyui_se.bsa.txt", "wins", "there"),
        (r"Skyrim - Base.bsa\misc\none.txt", "not-here", "not-found"),
        ("SkyUI/textures/a.dds", "loses", "hidden"),
        ("mods/skyui/Textures/A.dds", "loses", "hidden"),
        ("mods/Off Mod/textures/off.dds", "off", "mo2-mod-off"),
        ("Off Mod/textures/off.dds", "off", "mo2-mod-off"),
        ("Off Mod/Off.bsa", "off", "mo2-mod-off"),
        ("mods/Off Mod", "off", "mo2-mod-off"),
        ("profiles/Default", "wins", "there"),
        ("DLC: Dawnguard", "not-here", "mo2-unmanaged"),
        ("Unmanaged: Extra", "not-loaded", "plugin-inactive"),
    ] {
        let said = ask(&world, &["--in", &source, label]);
        assert_eq!((&*said.fate, &*said.code), (fate, code), "{label}: {} {}", said.line, said.text);
        assert!(!label.starts_with("DLC") || !said.text.contains("turn it on"), "{}", said.text);
    }
    for words in [&["Skyrim", "-", "Base.bsa"][..], &["skyrim", "-", "base.bsa"], &["Off", "Mod"]] {
        let found = world.run(&[&["why"], words].concat());
        let line = found.out.lines().next().unwrap_or_else(|| panic!("{found:?}"));
        assert!(line.contains(&format!(": {} is ", words.join(" "))), "{line}");
    }
    let profile = |name: &str| path(&world, &format!("home/mo2/profiles/{name}"));
    let said = ask(&world, &[&profile("Default")]);
    assert_eq!((&*said.fate, &*said.code), ("wins", "there"), "{}", said.line);
    assert!(said.text.contains("2 mods on"), "{}", said.text);
    assert_eq!(ask(&world, &[&profile("Default/modlist.txt")]).fate, "wins");
    let said = ask(&world, &[&profile("Other")]);
    assert_eq!((&*said.fate, &*said.code), ("off", "mo2-profile-off"), "{}", said.text);
    assert!(said.line.starts_with("skyrimse, profile Other: "), "{}", said.line);
    let said = ask(&world, &[&profile("Other"), "SkyUI"]);
    assert!(said.fate == "off" && said.text.contains("profile \"Other\""), "{}", said.text);
}

#[test]
fn a_plugin_that_is_not_ticked_in_morrowind_has_the_section_of_its_ini_file() {
    let world = SmallWorld::new(
        &MORROWIND,
        &[
            ("Morrowind.exe", ""),
            ("Morrowind.ini", "[Game Files]\nGameFile0=Morrowind.esm\n"),
            ("Data Files/Off.esp", ""),
        ],
    );
    let expected = ("not-loaded", "plugin-inactive", "Morrowind.ini does not name it");
    check(&world, "morrowind", "Off.esp", expected);
    check(&world, "morrowind", &path(&world, "Data Files/Off.esp"), expected);
}

/// What the commands say about the copies of each path.
type Fates = BTreeMap<String, Copies>;

/// The layer that wins and its fate, the layers that lose, and those of which the game ignores the copy.
type Copies = ((String, String), Vec<String>, Vec<String>);

fn lines(finished: &Finished) -> Vec<Value> {
    let line = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{finished:?}"));
    finished.out.lines().map(line).collect()
}

fn texts(values: &Value, key: &str) -> Vec<String> {
    let values = values.as_array().map_or(&[][..], Vec::as_slice);
    values.iter().map(|it| it[key].as_str().unwrap().to_owned()).collect()
}

/// The fates that `which` has.
fn by_which(run: Run<'_>, source: &str, paths: &[&str]) -> Fates {
    let answers = lines(&run(&[&["which", "--json", "--in", source], paths].concat()));
    let fates = answers.iter().map(|it| {
        let copies = (texts(&it["hides"], "archive"), texts(&it["ignored"], "folder"));
        let fate = it["unused"]["fate"].as_str().unwrap_or("wins").to_owned();
        let winner = (it["from"]["archive"].as_str().unwrap().to_owned(), fate);
        (it["path"].as_str().unwrap().to_owned(), (winner, copies.0, copies.1))
    });
    fates.collect()
}

/// The path of the layer that has the subject of a reason.
fn layer_of(layers: &[String], subject: &str) -> String {
    let around = layers.iter().filter(|layer| Path::new(subject).starts_with(layer));
    around.max_by_key(|layer| layer.len()).cloned().unwrap_or_else(|| subject.to_owned())
}

/// Maximum number of paths in a source that are asked about.
const PATHS_MAX: usize = 100;

/// Runs bsafs with these arguments and the home of a world.
type Run<'r> = &'r dyn Fn(&[&str]) -> Finished;

#[test]
fn why_which_conflicts_and_order_agree_on_every_copy_of_every_world() {
    let dir = TestDir::new();
    for world in worlds::write(&dir) {
        check_agreement(&world.name, &world.source(), &|arguments| world.run(&dir, arguments));
    }
}

/// Asks `why`, `which`, `order` and `conflicts` about each copy in a source.
fn check_agreement(world: &str, source: &str, run: Run<'_>) {
    let listed = lines(&run(&["list", "--json", source]));
    let paths = listed.iter().map(|it| it["path"].as_str().unwrap());
    // One world has a thousand files of one kind.
    let paths: Vec<&str> = paths.step_by(listed.len().div_ceil(PATHS_MAX).max(1)).collect();
    let order = &lines(&run(&["order", "--json", source]))[0];
    let layers = texts(&order["layers"], "path");
    let which = by_which(run, source, &paths);
    assert_eq!(which.len(), paths.len(), "{}", world);

    // `why` about each path.
    let why = lines(&run(&[&["why", "--json", "--in", source], &paths[..]].concat()));
    for (path, answer) in paths.iter().zip(&why) {
        if answer["kind"] != "file" {
            continue;
        }
        let of_fate = |fate: &str, code: &str| -> Vec<String> {
            let reasons = answer["reasons"].as_array().unwrap().iter();
            let reasons = reasons.filter(|it| it["fate"] == fate && it["code"] == code);
            reasons.map(|it| layer_of(&layers, it["subject"].as_str().unwrap())).collect()
        };
        let ((winner, fate), hides, ignored) = &which[*path];
        let label = format!("{}: {path}: {answer}", world);
        assert_eq!(answer["fate"], **fate, "{label}");
        if fate != "wins" {
            continue;
        }
        assert_eq!(of_fate("wins", "there"), std::slice::from_ref(winner), "{label}");
        assert_eq!(&of_fate("loses", "hidden"), hides, "{label}");
        assert_eq!(&of_fate("ignored", "loose-disabled"), ignored, "{label}");
    }

    // `conflicts` has the same copies.
    let conflicts = lines(&run(&["conflicts", "--json", source]));
    let is_asked = |it: &&Value| it["path"].as_str().is_some_and(|path| which.contains_key(path));
    let conflicts: Vec<&Value> = conflicts.iter().filter(is_asked).collect();
    let several = which.iter().filter(|(_, (_, hides, ignored))| hides.len() + ignored.len() > 0);
    assert_eq!(conflicts.len(), several.count(), "{}", world);
    for conflict in conflicts {
        let ((winner, fate), hides, ignored) = &which[conflict["path"].as_str().unwrap()];
        assert_eq!(conflict["winner"]["fate"], **fate, "{}: {conflict}", world);
        assert_eq!(conflict["winner"]["layer"], **winner, "{}: {conflict}", world);
        assert_eq!(&texts(&conflict["hidden"], "layer"), hides, "{}: {conflict}", world);
        assert_eq!(&texts(&conflict["ignored"], "layer"), ignored, "{}: {conflict}", world);
    }

    // Each loose file on the disk, and each archive.
    let (archives, folders): (Vec<_>, Vec<_>) =
        order["layers"].as_array().unwrap().iter().partition(|layer| layer["kind"] == "archive");
    let path = |layer: &&'_ Value| layer["path"].as_str().unwrap().to_owned();
    let mut asked = vec!["why".to_owned(), "--json".into(), "--in".into(), source.into()];
    asked.extend(archives.iter().map(path));
    if !archives.is_empty() {
        let asked = run(&asked.iter().map(String::as_str).collect::<Vec<_>>());
        let answers = lines(&asked);
        assert!(
            answers.iter().all(|it| it["fate"] == "wins") && answers.len() == archives.len(),
            "{world}: {asked:?}"
        );
    }
    for folder in folders.iter().map(path) {
        let folder = &folder;
        let files: Vec<PathBuf> = which.keys().map(|path| Path::new(folder).join(path)).collect();
        let files: Vec<(&String, &str)> = which
            .keys()
            .zip(&files)
            .filter(|(path, file)| file.is_file() && path.contains('/'))
            .map(|(path, file)| (path, file.to_str().unwrap()))
            .collect();
        if files.is_empty() {
            continue;
        }
        let asked: Vec<&str> = files.iter().map(|(_, file)| *file).collect();
        let answers = lines(&run(&[&["why", "--json", "--in", source], &asked[..]].concat()));
        for ((path, file), answer) in files.iter().zip(&answers) {
            let ((winner, fate), hides, ignored) = &which[*path];
            let is_in = |copies: &[String]| copies.iter().any(|it| it == folder);
            let expected = match () {
                () if winner == folder => fate,
                () if is_in(hides) => "loses",
                () if is_in(ignored) => "ignored",
                () => panic!("{}: {file} is in no copy: {answer}", world),
            };
            assert_eq!(answer["fate"], expected, "{}: {answer}", world);
        }
    }
    // What the plan leaves out is in no answer of the others.
    for note in order["notes"].as_array().unwrap() {
        let subject = note["subject"].as_str().unwrap();
        let is_unloaded = ["archive-unlisted", "archive-inactive", "archive-language", "archive-shadowed"]
            .contains(&note["code"].as_str().unwrap());
        if is_unloaded {
            assert!(!layers.iter().any(|layer| layer == subject), "{}: {note}", world);
            let asked = run(&["why", "--json", "--in", source, subject]);
            assert_eq!(lines(&asked)[0]["fate"], "not-loaded", "{}: {asked:?}", world);
        }
    }
}

#[test]
fn the_order_of_a_plain_folder_claims_no_game() {
    let dir = TestDir::new();
    fs::create_dir_all(dir.path("mod/textures")).unwrap();
    fs::write(dir.path("mod/textures/a.dds"), "").unwrap();
    symlink("mod", dir.path("linked")).unwrap();
    let order = dir.run(["order", "mod"]).success();
    assert!(!order.contains("game") && !order.contains("confidence"), "{order}");
    let why = dir.run(["why", "--in", "mod", "textures/a.dds"]);
    assert_eq!(why.success(), "textures/a.dds is in the sources, from mod\n");
    let linked = dir.path("linked/textures/a.dds");
    let why = dir.run(["why", "--in", "mod", linked.to_str().unwrap()]).success();
    assert!(why.ends_with(" is in the sources, from mod\n"), "{why}");
}

/// An instance with a file that wins, and a copy of it that loses.
fn two_copies() -> (SmallWorld, String) {
    let mods = "home/mo2/mods";
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[("my/Skyrim.ini", ""), ("Data/textures/armor/a.dds", "game"), ("Data/meshes/only.nif", "only")],
    );
    let source = world.instance(
        &["High", "Low"],
        &[
            (&format!("{mods}/High/textures/armor/a.dds"), "high"),
            (&format!("{mods}/Low/textures/armor/a.dds"), "low"),
        ],
    );
    (world, source)
}

#[test]
fn all_commands_understand_a_path_as_people_have_it() {
    let (world, source) = two_copies();
    let high = path(&world, "home/mo2/mods/High/textures/armor/a.dds");
    let low = path(&world, "home/mo2/mods/Low/textures/armor/a.dds");
    let wine = format!("Z:{}", high.replace('/', "\\"));
    for asked in [
        "textures/armor/a.dds",
        r#""Textures\Armor\A.dds""#,
        &high,
        &wine,
        &format!("file://{high}"),
        r"D:\Games\Skyrim\Data\Textures\Armor\a.dds",
        r"C:\Projects\Skyrim\Build\PC\Textures\Armor\a.dds",
        "armor/a.dds",
        "a.dds",
        "High/textures/armor/a.dds",
        "mods/high/Textures/armor/a.dds",
    ] {
        for command in ["which", "conflicts"] {
            let asked = world.run(&[command, &source, asked]);
            assert!(asked.out.contains("from    High") || asked.out.contains("from   High"), "{asked:?}");
            assert!(asked.code == 0 && asked.out.contains("Low"), "{asked:?}");
        }
        assert_eq!(world.run(&["cat", &source, asked]).success(), "high", "{asked}");
        let into = world.dir.path("out");
        let extracted = world.run(&["extract", &source, asked, "-C", into.to_str().unwrap()]);
        assert_eq!(extracted.code, 0, "{extracted:?}");
        assert_eq!(fs::read_to_string(into.join("textures/armor/a.dds")).unwrap(), "high", "{asked}");
        fs::remove_dir_all(into).unwrap();
    }
    // The path of a hidden copy means that copy, or the file that hides it for questions about both.
    for asked in [&*low, "Low/textures/armor/a.dds"] {
        for command in ["which", "conflicts"] {
            let asked = world.run(&[command, &source, asked]);
            assert!(asked.code == 0 && asked.out.contains("hides") && asked.out.contains("Low"), "{asked:?}");
        }
        assert_eq!(world.run(&["cat", &source, asked]).success(), "low", "{asked}");
        let listed = world.run(&["list", &source, asked]);
        assert!(listed.code != 0 && listed.err.contains("hides this copy"), "{listed:?}");
    }
    // What is not there is not taken for another file.
    for asked in ["/nowhere/at/textures/armor/a.dds", "Off/textures/armor/a.dds", "textures/armor/b.dds"] {
        for command in ["which", "conflicts", "cat", "extract"] {
            let asked = world.run(&[command, &source, asked]);
            assert!(asked.code != 0 && asked.out.is_empty(), "{asked:?}");
        }
    }
}

#[test]
fn two_installations_of_one_game_are_told_apart_in_the_first_line() {
    let world =
        SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", ""), ("Data/One.esp", ""), ("Data/Both.esp", "")]);
    let other = world.installed.path("home/Games/Heroic/Skyrim Special Edition");
    for name in ["SkyrimSE.exe", "Data/Skyrim.esm", "Data/Both.esp", "Data/Two.esp"] {
        world.installed.write(
            &format!("home/Games/Heroic/Skyrim Special Edition/{name}"),
            &plugin(4, 0, &[]),
            0,
        );
    }
    let first_lines = |thing: &str| -> Vec<String> {
        let out = world.run(&["why", thing]).out;
        let lines = out.lines().filter(|line| !line.starts_with(' ')).map(str::to_owned);
        lines.collect()
    };
    let (steam, heroic) = (world.installed.folder.display().to_string(), other.display().to_string());
    let both = first_lines("Both.esp");
    assert_eq!(both.len(), 2, "{both:?}");
    for folder in [&steam, &heroic] {
        let line = format!("skyrimse in {folder}: Both.esp is not in the game");
        assert!(both.contains(&line), "{both:?}");
    }
    // Only one of them has it, and the line says which.
    assert_eq!(first_lines("Two.esp"), [format!("skyrimse in {heroic}: Two.esp is not in the game")]);
    let on_disk = world.installed.path("Data/One.esp");
    let line = format!("skyrimse in {steam}: {} is not in the game", on_disk.display());
    assert_eq!(first_lines(on_disk.to_str().unwrap()), [line]);
    let json = world.run(&["why", "--json", "Both.esp"]);
    let sources: Vec<Value> = lines(&json).into_iter().map(|it| it["source"].clone()).collect();
    assert!(sources.contains(&steam.into()) && sources.contains(&heroic.into()), "{json:?}");
}

/// The files of a Vortex world: what is deployed is a hard link.
fn vortex_world() -> SmallWorld {
    let staging = "home/pfx/drive_c/Vortex/mods";
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", "[Archive]\nsResourceArchiveList=Base.bsa\nsResourceArchiveList2=\n"),
            ("Data/Base.bsa", ""),
            ("Data/textures/own.dds", ""),
            (&format!("{staging}/Armor-12/misc/base.bsa.txt"), "armor"),
            (&format!("{staging}/Armor-12/textures/shared.dds"), "armor"),
            (&format!("{staging}/Loser-3/textures/shared.dds"), "loser"),
            (&format!("{staging}/Unused Mod-4/textures/new.dds"), ""),
            (
                "Data/vortex.deployment.json",
                r#"{"stagingPath":"Z:STAGING","files":[
                    {"relPath":"textures\\shared.dds","source":"Armor-12","time":1},
                    {"relPath":"misc\\base.bsa.txt","source":"Armor-12","time":1}]}"#,
            ),
        ],
    );
    let list = world.installed.path("Data/vortex.deployment.json");
    let text = fs::read_to_string(&list).unwrap();
    let folder = path(&world, staging).replace('/', r"\\");
    fs::write(list, text.replace("STAGING", &folder)).unwrap();
    for file in ["textures/shared.dds", "misc/base.bsa.txt"] {
        let deployed = world.installed.path(&format!("Data/{file}"));
        fs::create_dir_all(deployed.parent().unwrap()).unwrap();
        fs::hard_link(world.installed.path(&format!("{staging}/Armor-12/{file}")), deployed).unwrap();
    }
    world
}

#[test]
fn a_mod_that_a_manager_has_not_deployed_is_said_to_be_so() {
    let world = vortex_world();
    let staging = "home/pfx/drive_c/Vortex/mods";
    let check = |thing: &str, expected| check(&world, "skyrimse", thing, expected);
    check("Armor-12", ("wins", "there", "Vortex deployed 2 files; the game uses 2"));
    let unused = ("not-deployed", "not-deployed", "Vortex has this mod, but deployed nothing of it");
    check("unused mod-4", unused);
    check(&path(&world, &format!("{staging}/Unused Mod-4")), unused);
    check(&path(&world, &format!("{staging}/Unused Mod-4/textures")), unused);
    check(
        &path(&world, &format!("{staging}/Unused Mod-4/textures/new.dds")),
        ("not-deployed", "not-deployed", ""),
    );
    check("Unused Mod-4/textures/new.dds", ("not-deployed", "not-deployed", ""));
    check("Loser-3", ("loses", "hidden", "from other mods, such as Armor-12"));
    check(
        &path(&world, &format!("{staging}/Loser-3/textures/shared.dds")),
        ("loses", "hidden", "from the mod Armor-12"),
    );
    let said = ask(&world, &["--in", "skyrimse", "Unused Mod-4"]);
    assert_eq!(said.line, "skyrimse: Unused Mod-4 is not in the game");
    let near = world.run(&["why", "--json", "--in", "skyrimse", "Unusd Mod-4"]);
    assert!(near.out.contains("\"similar-name\",\"subject\":\"Unused Mod-4\""), "{near:?}");
    // A manager without a list, which makes links.
    let linked = "home/mods/Linked Mod/textures/linked.dds";
    world.write(&[(linked, ""), ("home/mods/Other Mod/textures/other.dds", "")]);
    symlink(world.installed.path(linked), world.installed.path("Data/textures/linked.dds")).unwrap();
    check("Linked Mod", ("wins", "there", "a mod manager deployed 1 file; the game uses 1"));
    check("Other Mod", ("not-deployed", "not-deployed", "the mod manager has this mod"));
    check("No Mod", ("not-here", "not-found", ""));
}

#[test]
fn which_names_the_mod_in_a_mount_too() {
    let world = vortex_world();
    let mount = world.mount("skyrimse");
    let file = world.dir.path("mnt/textures/shared.dds").to_str().unwrap().to_owned();
    for asked in [
        file.clone(),
        format!("'{file}'"),
        format!("file://{file}"),
        format!("Z:{}", file.replace('/', "\\")),
    ] {
        let which = world.run(&["which", "--json", &asked]);
        assert_eq!(lines(&which)[0]["from"]["deployed_from"], "Armor-12", "{which:?}");
    }
    let which = world.run(&["which", &file]).success();
    assert!(which.contains("a mod manager deployed it from Armor-12"), "{which}");
    mount.umount(&world.dir);
}

#[test]
fn conflicts_of_a_folder_into_which_a_manager_deploys_are_those_of_mods() {
    let world = vortex_world();
    let all = world.run(&["conflicts", "skyrimse"]).success();
    assert!(all.contains("misc/base.bsa.txt\n  from    Armor-12\n  hides   Base.bsa\n"), "{all}");
    assert!(
        all.contains("textures/shared.dds\n  from    Armor-12\n  hides   Loser-3  not deployed\n"),
        "{all}"
    );
    let rows: Vec<(&str, Vec<&str>)> = all
        .lines()
        .filter(|line| line.starts_with("      ") && !line.contains("layer"))
        .map(|line| {
            let parts: Vec<&str> = line.split_whitespace().collect();
            (parts[3], parts[..3].to_vec())
        })
        .collect();
    assert!(rows.contains(&("Armor-12", vec!["2", "2", "0"])), "{all}");
    assert!(rows.contains(&("Loser-3", vec!["1", "0", "1"])), "{all}");
    assert!(rows.iter().all(|(name, _)| *name != "Unused"), "{all}");
    let of = |name: &str| world.run(&["conflicts", "skyrimse", "--of", name, "--json"]);
    let paths = |name: &str| -> Vec<String> {
        lines(&of(name)).iter().filter_map(|it| Some(it["path"].as_str()?.to_owned())).collect()
    };
    assert_eq!(paths("armor-12"), ["misc/base.bsa.txt", "textures/shared.dds"]);
    assert_eq!(paths("Loser-3"), ["textures/shared.dds"]);
    assert_eq!(paths("Data"), ["misc/base.bsa.txt", "textures/shared.dds"]);
    let line = &lines(&of("Loser-3"))[0];
    assert_eq!(
        (&line["winner"]["deployed_from"], &line["hidden"]),
        (&"Armor-12".into(), &Value::Array(vec![])),
        "{line}"
    );
    assert_eq!(line["not_deployed"][0]["deployed_from"], "Loser-3", "{line}");
    // A manager without a list, which makes links.
    let linked = "home/mods/Linked Mod/misc/base.bsa.txt";
    world.write(&[(linked, "")]);
    let deployed = world.installed.path("Data/misc/base.bsa.txt");
    fs::remove_file(&deployed).unwrap();
    fs::remove_file(world.installed.path("Data/vortex.deployment.json")).unwrap();
    symlink(world.installed.path(linked), &deployed).unwrap();
    let one = world.run(&["conflicts", "skyrimse", "misc/base.bsa.txt"]).success();
    assert!(one.contains("  from    Linked Mod\n  hides   Base.bsa\n"), "{one}");
}

/// Mods that hide files of each other and of the game, of which one has no file that wins.
fn world_of_mods() -> (SmallWorld, String) {
    let game = "Skyrim - Textures0.bsa";
    let lists = format!("[Archive]\nsResourceArchiveList={game}\nsResourceArchiveList2=Other.bsa\n");
    let archive = format!("Data/{game}");
    let world =
        SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", &*lists), (&*archive, ""), ("Data/Other.bsa", "")]);
    let mods = "home/mo2/mods";
    let of_game = "misc/skyrim - textures0.bsa.txt";
    let source = world.instance(
        &["High", "Low", "Hidden", "Quiet"],
        &[
            (&format!("{mods}/High/{of_game}"), "high"),
            (&format!("{mods}/High/misc/a.txt"), "high"),
            (&format!("{mods}/High/misc/b.txt"), "high"),
            (&format!("{mods}/Low/misc/a.txt"), "low"),
            (&format!("{mods}/Low/misc/b.txt"), "low"),
            (&format!("{mods}/Low/misc/c.txt"), "low"),
            (&format!("{mods}/Low/misc/other.bsa.txt"), "low"),
            (&format!("{mods}/Hidden/misc/c.txt"), "low"),
            (&format!("{mods}/Quiet/misc/quiet.txt"), ""),
        ],
    );
    (world, source)
}

#[test]
fn conflicts_begin_with_mods_and_leave_the_archives_of_the_game_to_the_end() {
    let (world, source) = world_of_mods();
    let run = |more: &[&str]| world.run(&[&["conflicts", &source], more].concat()).success();
    let printed = run(&["--compare"]);
    for line in [
        "  Mods fully hidden    1: Hidden",
        "  Mods against mods    4 hidden files in 3 pairs",
        "  Equal copies         1 of 6 hidden files",
        "  The game's archives  2 hidden files in 2 pairs",
    ] {
        assert!(printed.lines().any(|it| it == line), "{line}: {printed}");
    }
    let pairs = |printed: &str| -> Vec<String> {
        let pairs = printed.lines().filter(|line| line.contains(" hides ") && line.starts_with("    "));
        pairs.map(|line| line.trim_start_matches(|it: char| !it.is_alphabetic()).to_owned()).collect()
    };
    // An archive that no list of the unchanged game has may be one of a mod.
    let of_mods = ["High hides Low", "Low hides Other.bsa", "Low hides Hidden"];
    assert_eq!(pairs(&printed), of_mods, "{printed}");
    assert!(!printed.contains("misc/skyrim - textures0.bsa.txt\n"), "{printed}");
    assert!(!printed.contains("Quiet"), "a layer without conflicts: {printed}");
    let of_game = ["Other.bsa", "High"].map(|by| format!("{by} hides Skyrim - Textures0.bsa"));
    let all: Vec<&str> = of_mods.into_iter().chain(of_game.iter().map(String::as_str)).collect();
    for more in [&["--with-game"][..], &["misc"]] {
        let printed = run(more);
        assert_eq!(pairs(&printed), all, "{printed}");
        assert!(printed.contains("misc/skyrim - textures0.bsa.txt\n  from    High\n"), "{printed}");
    }
    assert_eq!(pairs(&run(&["--of", "High"])), [all[0], all[4]]);
    assert!(run(&["--json"]).contains("misc/skyrim - textures0.bsa.txt"));

    let file = path(&world, "home/page.html");
    run(&["--html", &file]);
    let page = fs::read_to_string(file).unwrap();
    let game = "<details class=\"part\" id=\"game\">";
    let order =
        ["Mods fully hidden", "id=\"pair-1\"", "id=\"pair-3\"", game, "id=\"pair-4\"", "id=\"order\""];
    let places: Vec<usize> = order.iter().map(|part| page.find(part).expect(part)).collect();
    assert!(places.is_sorted(), "{places:?}: {page}");
    assert!(!page.contains("<bdi>Quiet</bdi>"), "{page}");
    let title = "<title>Conflicts: Skyrim Special Edition, Default</title>";
    assert!(page.contains(title) && page.contains("profile Default"), "{page}");
}

/// The state of a world: the time and size of each file.
fn state(folder: &Path) -> Vec<(PathBuf, u64, std::time::SystemTime)> {
    let (mut found, mut next) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = next.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let metadata = entry.metadata().unwrap();
            // The mount is not entered.
            if metadata.is_dir() && entry.file_name() != "mnt" {
                next.push(entry.path());
            }
            found.push((entry.path(), metadata.len(), metadata.modified().unwrap()));
        }
    }
    found.sort();
    found
}

/// Asks about each copy of each game and instance that a home has.
fn check_home(dir: &TestDir, name: &str, home: &Path) {
    let command = |arguments: &[&str]| {
        let mut command = dir.bsafs(arguments);
        for variable in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"] {
            command.env_remove(variable);
        }
        run(command.env("HOME", home).env("USER", "alice"))
    };
    let games = command(&["games", "--json"]);
    let sources = lines(&games).into_iter().filter_map(|line| {
        let folder = line["instance"].as_str().or_else(|| line["game_dir"].as_str())?;
        Some(folder.to_owned()).filter(|_| line["game"].is_string())
    });
    for source in sources.collect::<Vec<_>>() {
        let label = format!("{name}: {source}");
        let order = command(&["order", "--json", &source]);
        if matches!(order.code, 0 | 1) {
            check_agreement(&label, &source, &command);
            continue;
        }
        // What cannot be opened is denied by all.
        for question in [
            &["why", "--in", &source, "a.esp"][..],
            &["which", "--in", &source, "a.esp"],
            &["conflicts", &source],
        ] {
            let asked = command(question);
            assert!(asked.code > 1 && asked.out.is_empty(), "{label}: {asked:?}");
        }
    }
}

/// The scripts of `../shared/games/places` build a world, call bsafs, and may change the world. The test asks
/// about the world before each call.
#[test]
fn why_which_conflicts_and_order_agree_in_the_worlds_of_all_places() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/games/places");
    let Ok(entries) = fs::read_dir(&folder) else {
        // Not `eprintln!`: the test harness shows its output only if the test fails.
        let line = format!("worlds of places: SKIPPED, there is no {}\n", folder.display());
        return std::io::stderr().write_all(line.as_bytes()).unwrap();
    };
    let is_script = |path: &PathBuf| path.file_name().unwrap().as_encoded_bytes()[0].is_ascii_digit();
    let mut scripts: Vec<PathBuf> = entries.map(|it| it.unwrap().path()).filter(is_script).collect();
    scripts.sort();
    assert!(scripts.len() >= 17, "{scripts:?}");
    let dir = TestDir::new();
    let pipe = |name: &str| {
        run(Command::new("mkfifo").arg(dir.path(name))).success();
        File::options().read(true).write(true).open(dir.path(name)).unwrap()
    };
    let (asked, mut answered) = (pipe("asked"), pipe("answered"));
    let wrapper = dir.path("bsafs");
    let text = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$HOME\" >'{0}/asked'\nread -r _ <'{0}/answered'\nexec '{1}' \"$@\"\n",
        dir.path("").display(),
        env!("CARGO_BIN_EXE_bsafs")
    );
    fs::write(&wrapper, text).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    for script in scripts {
        let name = script.file_name().unwrap().to_str().unwrap().to_owned();
        let mut end = asked.try_clone().unwrap();
        let mut command = Command::new("python3");
        command.arg("-B").arg(&script).env("BSAFS", &wrapper);
        let ended = std::thread::spawn(move || {
            // It waits for the answers of this test, so it has no time limit of its own.
            let output = command.output();
            end.write_all(b"\n").unwrap();
            output.unwrap()
        });
        let mut known = Vec::new();
        for home in BufReader::new(&asked).lines().map(Result::unwrap).take_while(|line| !line.is_empty()) {
            let home = Path::new(&home);
            let now = state(home.parent().unwrap());
            if now != known {
                check_home(&dir, &name, home);
                known = now;
            }
            answered.write_all(b"\n").unwrap();
        }
        let output = ended.join().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(out.contains("RIGHT") && !out.contains("WRONG"), "{name}: {out}{err}");
    }
}

#[test]
fn pages_json_and_differences_carry_the_reason_that_why_gives() {
    let world = SmallWorld::new(
        &FALLOUT4,
        &[
            ("my/Fallout4.ini", "[Archive]\nSResourceArchiveList=A.ba2\n"),
            ("Data/A.ba2", ""),
            ("Data/misc/a.ba2.txt", "loose"),
            ("Data/misc/new.txt", "loose"),
            ("Data/Nobody.ba2", ""),
            ("home/before/misc/new.txt", "loose"),
            ("home/before/misc/nobody.ba2.txt", "loose"),
            ("Data/textures/Deep.ba2", ""),
            ("home/before/misc/deep.ba2.txt", "loose"),
            ("home/before/misc/other.txt", "loose"),
        ],
    );
    let reason = |source: &str, path: &str| {
        let why = &lines(&world.run(&["why", "--json", "--in", source, path]))[0];
        why["reasons"][0].clone()
    };
    let conflict = &lines(&world.run(&["conflicts", "--json", "fallout4"]))[0];
    let ignored = &conflict["ignored"][0];
    assert_eq!(
        (&ignored["fate"], &ignored["code"]),
        (&"ignored".into(), &"loose-disabled".into()),
        "{conflict}"
    );
    assert_eq!(conflict["winner"]["fate"], "wins", "{conflict}");
    let text = reason("fallout4", &path(&world, "Data/misc/a.ba2.txt"))["text"].clone();
    assert_eq!(ignored["why"], text, "{conflict}");
    let page = |arguments: &[&str]| {
        let file = path(&world, "home/page.html");
        world.run(&[arguments, &["--html", &file]].concat());
        fs::read_to_string(file).unwrap()
    };
    let html = page(&["conflicts", "fallout4"]);
    for part in ["loose-disabled: ", "<bdi>Data: ignored</bdi>", "<mark>ignored</mark>"] {
        assert!(html.contains(part), "{part}: {html}");
    }

    let before = path(&world, "home/before");
    let differences = lines(&world.run(&["diff", "--json", &before, "fallout4"]));
    let of = |path: &str| differences.iter().find(|it| it["path"] == path).unwrap();
    for (file, fate, code) in [
        ("misc/new.txt", "ignored", "loose-disabled"),
        ("misc/nobody.ba2.txt", "not-loaded", "archive-unlisted"),
        ("misc/deep.ba2.txt", "not-loaded", "not-at-top"),
    ] {
        let missing = &of(file)["missing"];
        assert_eq!((&missing["fate"], &missing["code"]), (&fate.into(), &code.into()), "{missing}");
        assert_eq!(*missing, reason("fallout4", file), "{missing}");
    }
    assert!(of("misc/other.txt")["missing"].is_null());
    let printed = world.run(&["diff", &before, "fallout4"]).out;
    assert!(printed.contains("in B, 1 file ignored, such as misc/new.txt: loose-disabled: "), "{printed}");
    let html = page(&["diff", &before, "fallout4"]);
    for part in ["loose-disabled: ", "<mark>ignored</mark>", "<mark>not loaded</mark>", "archive-unlisted: "]
    {
        assert!(html.contains(part), "{part}: {html}");
    }

    let mods = "home/mo2/mods";
    let source = world.instance(
        &["On"],
        &[
            (&format!("{mods}/Off/misc/other.txt"), ""),
            (&format!("{mods}/On/misc/new.txt.mohidden"), ""),
            ("my/Fallout4Custom.ini", "[Archive]\nbInvalidateOlderFiles=1\nsResourceDataDirsFinal=\n"),
        ],
    );
    fs::remove_file(world.installed.path("Data/misc/new.txt")).unwrap();
    let differences = lines(&world.run(&["diff", "--json", &before, &source]));
    let of = |path: &str| differences.iter().find(|it| it["path"] == path).unwrap();
    for (file, code) in [("misc/other.txt", "mo2-mod-off"), ("misc/new.txt", "mo2-hidden")] {
        assert_eq!(of(file)["missing"]["code"], code, "{differences:?}");
        assert_eq!(of(file)["missing"], reason(&source, file), "{differences:?}");
    }
}

/// What a command prints about a path, and that it does not take it for another file.
fn denied_by_all(world: &SmallWorld, source: &str, asked: &str) {
    for command in ["which", "cat", "extract", "conflicts"] {
        let finished = world.run(&[command, source, asked]);
        assert!(finished.code != 0 && finished.out.is_empty(), "{command} {asked}: {finished:?}");
    }
}

#[test]
fn a_longer_path_that_ends_in_the_one_asked_is_not_that_file() {
    let mods = "home/mo2/mods";
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", ""), ("Data/textures/menus/m.dds", "")]);
    let files = [
        "Weather/optional/textures/sky/opt.dds",
        "Weather/optional/meshes/sky/dome.nif",
        "Weather/textures/sky/clouds.dds",
        "Weather/textures/textures/twice.dds",
        "Weather/optional/bare.dds/textures/only.dds",
    ];
    let files = files.map(|it| format!("{mods}/{it}"));
    let files: Vec<_> = files.iter().map(|it| (it.as_str(), "bytes")).collect();
    let source = world.instance(&["Weather"], &files);
    let check = |thing: &str, expected| check(&world, &source, thing, expected);
    let ignored = ("ignored", "not-at-top", "the game does not look in the folder optional");
    for asked in [
        "textures/sky/opt.dds",
        r"Textures\Sky\OPT.dds",
        r"C:\x\Data\textures\sky\opt.dds",
        r"C:\x\textures\sky\opt.dds",
        "/x/Data/textures/sky/opt.dds",
        "meshes/sky/dome.nif",
    ] {
        check(asked, ignored);
        denied_by_all(&world, &source, asked);
    }
    check("textures/twice.dds", ("not-here", "same-name", "at another path"));
    denied_by_all(&world, &source, "textures/twice.dds");
    // The file itself, by each of its paths.
    check(&path(&world, &format!("{mods}/Weather/optional/textures/sky/opt.dds")), ignored);
    check("optional/textures/sky/opt.dds", ignored);
    let which = world.run(&["which", "--json", &source, "optional/textures/sky/opt.dds"]);
    assert_eq!(lines(&which)[0]["unused"]["fate"], "ignored", "{which:?}");
    // What is completed by a folder that the game reads is that file.
    for asked in ["sky/clouds.dds", "clouds.dds", r"C:\x\textures\sky\clouds.dds", "menus/m.dds"] {
        check(asked, ("wins", "there", ""));
    }
}

/// OpenMW with folders of mods in its list, and the path of its settings.
fn openmw_world() -> (SmallWorld, String) {
    let world = SmallWorld::new(&MORROWIND, &[]);
    let folder = |name: &str| world.installed.path(&format!("home/omw/{name}")).display().to_string();
    let data = ["Rocks A", "Rocks B", "Fomod", "Plug"].map(|it| format!("data=\"{}\"\n", folder(it)));
    let cfg = format!(
        "data=\"{}\"\n{}content=Morrowind.esm\ncontent=On.omwaddon\ncontent=On.omwscripts\n",
        world.installed.path("Data Files").display(),
        data.concat()
    );
    world.write(&[
        ("home/.config/openmw/openmw.cfg", &cfg),
        ("home/omw/Rocks A/Textures/tx_rock.dds", "a"),
        ("home/omw/Rocks B/textures/TX_Rock.dds", "b"),
        ("home/omw/Fomod/00 Core/meshes/core.nif", ""),
        ("home/omw/Plug/Unused.esp", ""),
        ("home/omw/Plug/Unused.esm", ""),
    ]);
    for name in ["On.omwaddon", "Off.omwaddon", "On.omwscripts", "Off.omwscripts", "Off.omwgame"] {
        world.installed.write(&format!("home/omw/Plug/{name}"), &plugin(3, 0, &[]), 0);
    }
    let source = path(&world, "home/.config/openmw/openmw.cfg");
    (world, source)
}

#[test]
fn a_plugin_of_openmw_is_in_the_game_only_if_its_settings_name_it() {
    let (world, source) = openmw_world();
    for name in ["Off.omwaddon", "Off.omwscripts", "Off.omwgame", "Unused.esp", "Unused.esm"] {
        let text = format!("openmw.cfg has no content={name}");
        check(&world, &source, name, ("not-loaded", "plugin-inactive", &text));
        let on_disk = path(&world, &format!("home/omw/Plug/{name}"));
        check(&world, &source, &on_disk, ("not-loaded", "plugin-inactive", &text));
    }
    for name in ["On.omwaddon", "on.omwscripts"] {
        check(&world, &source, name, ("wins", "active", "the plugin is active"));
    }
}

#[test]
fn settings_and_data_folders_of_openmw_are_known_by_their_names() {
    let (world, source) = openmw_world();
    for thing in ["openmw.cfg", &*source] {
        check(&world, &source, thing, ("wins", "there", "the game reads this file"));
    }
    for thing in ["Rocks B", "rocks b", &path(&world, "home/omw/Rocks B")] {
        check(&world, &source, thing, ("wins", "there", "1 of its files win"));
    }
    for thing in ["Rocks A", &path(&world, "home/omw/Rocks A")] {
        check(&world, &source, thing, ("loses", "hidden", "its only file, "));
    }
    check(
        &world,
        &source,
        "meshes/core.nif",
        ("ignored", "not-at-top", "the game does not look in the folder 00 Core"),
    );
    denied_by_all(&world, &source, "meshes/core.nif");
}

#[test]
fn a_folder_that_is_hidden_in_mod_organizer_hides_what_it_has_and_nothing_else() {
    let mods = "home/mo2/mods";
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let files = ["Hider/meshes.mohidden/armor/x.nif", "Hider/meshes/y.nif", "All/textures.mohidden/z.dds"];
    let files = files.map(|it| format!("{mods}/{it}"));
    let files: Vec<_> = files.iter().map(|it| (it.as_str(), "")).collect();
    let source = world.instance(&["Hider", "All"], &files);
    let check = |thing: &str, expected| check(&world, &source, thing, expected);
    let hidden = ("off", "mo2-hidden", "hidden in Mod Organizer");
    let within = "meshes.mohidden/armor/x.nif";
    for thing in [
        within,
        "meshes/armor/x.nif",
        "meshes.mohidden",
        "Hider/meshes.mohidden/armor/x.nif",
        &path(&world, &format!("{mods}/Hider/{within}")),
        &path(&world, &format!("{mods}/Hider/meshes.mohidden/armor")),
        "All",
    ] {
        check(thing, hidden);
    }
    let which = world.run(&["which", "--json", &source, within]);
    assert_eq!(lines(&which)[0]["unused"]["fate"], "off", "{which:?}");
    for thing in ["meshes/nope.nif", "meshes/armor/nope.nif", "textures/y.dds"] {
        check(thing, ("not-here", "not-found", ""));
    }
    check("Hider", ("wins", "there", "the mod is on; 1 of its files win"));
}

#[test]
fn a_name_that_several_files_have_is_in_the_game_with_each_of_them() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[("my/Skyrim.ini", ""), ("Data/textures/a/sign.dds", ""), ("Data/textures/b/sign.dds", "")],
    );
    let source = world.instance(&[], &[("home/mo2/overwrite/textures/o.dds", "")]);
    let why = world.run(&["why", "--in", &source, "sign.dds"]);
    assert!(why.code == 0 && why.out.contains("sign.dds is in the game\n"), "{why:?}");
    assert!(
        why.out.contains("Data/textures/a/sign.dds") && why.out.contains("textures/b/sign.dds"),
        "{why:?}"
    );
    // What Mod Organizer collects is a folder of the game.
    check(&world, &source, "overwrite", ("wins", "there", "1 of its files win"));
    check(&world, &source, &path(&world, "home/mo2/overwrite"), ("wins", "there", "1 of its files win"));
}

#[test]
fn the_note_on_meshes_is_about_the_path_in_the_game() {
    let (world, source) = two_copies();
    let mods = "home/mo2/mods";
    let note = |thing: &str| -> Vec<String> {
        let answer = lines(&world.run(&["why", "--json", "--in", &source, thing]));
        let reasons = answer[0]["reasons"].as_array().unwrap().clone();
        let notes = reasons.iter().filter(|it| it["code"] == "named-by");
        notes.map(|it| format!("{} {}", it["subject"], it["text"])).collect()
    };
    let missing = note(&path(&world, &format!("{mods}/High/textures/armor/gone.dds")));
    assert!(missing[0].contains("--who textures/armor/gone.dds`"), "{missing:?}");
    // The game has the file, from another mod.
    assert_eq!(note(&path(&world, &format!("{mods}/Low/textures/armor/a.dds"))), [""; 0]);
    assert_eq!(note("/nowhere/at/textures/armor/a.dds"), [""; 0]);
    let mount = world.mount(&source);
    let asked = world.dir.path("mnt/textures/x/lost.dds").to_str().unwrap().to_owned();
    let mounted = note(&asked);
    assert!(mounted[0].contains("--who textures/x/lost.dds`"), "{mounted:?}");
    mount.umount(&world.dir);
    // The only mesh that may name it cannot be read.
    world.write(&[(&format!("{mods}/High/meshes/armor/broken.nif"), "no mesh")]);
    let unread = note("textures/armor/gone.dds");
    assert!(
        unread[0].contains("1 file in this folder cannot be read, such as meshes/armor/broken.nif"),
        "{unread:?}"
    );
}

#[test]
fn conflicts_of_a_mod_are_those_of_its_folder_and_its_archives() {
    let mods = "home/mo2/mods";
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            (
                "my/Skyrim.ini",
                "[Archive]\nsResourceArchiveList=Base.bsa, Quest.bsa, Packed.bsa\nsResourceArchiveList2=\n",
            ),
            ("Data/Base.bsa", ""),
        ],
    );
    let source = world.instance(
        &["Over", "Quest", "Packed", "Questline"],
        &[
            (&format!("{mods}/Over/misc/base.bsa.txt"), ""),
            (&format!("{mods}/Over/misc/own.txt"), ""),
            (&format!("{mods}/Over/misc/packed.bsa.txt"), ""),
            (&format!("{mods}/Over/misc/quest.bsa.txt"), ""),
            (&format!("{mods}/Packed/Packed.bsa"), ""),
            (&format!("{mods}/Quest Off/misc/own.txt"), ""),
            (&format!("{mods}/Quest/Quest.bsa"), ""),
            (&format!("{mods}/Quest/misc/own.txt"), ""),
            (&format!("{mods}/Questline/misc/other.txt"), ""),
        ],
    );
    let of = |name: &str| -> Vec<String> {
        let lines = lines(&world.run(&["conflicts", "--json", &source, "--of", name]));
        lines.iter().filter_map(|it| Some(it["path"].as_str()?.to_lowercase())).collect()
    };
    let all = ["misc/own.txt", "misc/quest.bsa.txt", "misc/shared.txt"];
    assert_eq!(of("Quest"), all);
    assert_eq!(of("mods/quest/"), all);
    assert_eq!(of("Packed"), ["misc/packed.bsa.txt", "misc/shared.txt"]);
    assert_eq!(of("Quest.bsa"), ["misc/quest.bsa.txt", "misc/shared.txt"]);
    assert_eq!(of("Questline"), [""; 0]);
    // The archives of the game are not a mod in its folder.
    assert_eq!(of("Data"), [""; 0]);
    let refused = |command: &str, name: &str| {
        let finished = world.run(&[command, &source, "--of", name]);
        assert_eq!((finished.code, &*finished.out), (66, ""), "{finished:?}");
        finished.err
    };
    for command in ["conflicts", "needs"] {
        let off = refused(command, "quest off");
        assert!(off.contains("--of quest off: the mod is off in the profile "), "{off}");
        for part in ["ques", "Nothing"] {
            let none = refused(command, part);
            assert!(none.contains("no such layer"), "{none}");
        }
    }

    let world = vortex_world();
    let refused = world.run(&["conflicts", "skyrimse", "--of", "unused mod-4"]);
    assert_eq!(refused.code, 66, "{refused:?}");
    assert!(refused.err.contains("--of unused mod-4: the mod is not deployed"), "{refused:?}");
}

#[test]
fn a_folder_of_which_the_game_reads_a_part_is_one_layer_and_hides_nothing_of_itself() {
    let world = SmallWorld::new(
        &FALLOUT4,
        &[
            (
                "my/Fallout4.ini",
                "[Archive]\nSResourceArchiveList=A.ba2\nsResourceDataDirsFinal=STRINGS\\, Text\\New\\\n",
            ),
            ("Data/A.ba2", ""),
            ("Data/F4SE/a.ini", ""),
            ("Data/Strings/Gun_de.STRINGS", ""),
            ("Data/Stringsother/a.txt", ""),
            ("Data/Text/New/read.txt", ""),
            ("Data/Text/Newer/read.txt", ""),
            ("Data/misc/a.ba2.txt", "loose"),
        ],
    );
    let which = |path: &str| lines(&world.run(&["which", "--json", "fallout4", path])).remove(0);
    for path in ["strings/gun_de.strings", "text/new/read.txt"] {
        let found = which(path);
        assert_eq!(found["hides"], Value::Array(vec![]), "{found}");
        let why = "loose files, at the top or below the folders in sResourceDataDirsFinal";
        assert_eq!(found["from"]["why"], why, "{found}");
        let said = world.run(&["why", "--in", "fallout4", path]);
        assert!(said.code == 0 && !said.out.contains("hidden"), "{said:?}");
    }
    for path in ["f4se/a.ini", "stringsother/a.txt", "text/newer/read.txt"] {
        let found = which(path);
        assert_eq!(found["from"]["why"], "loose files, in a folder that no archive has", "{found}");
    }
    let all = lines(&world.run(&["conflicts", "--json", "fallout4"]));
    let data = path(&world, "Data");
    let layers: Vec<&Value> = all.iter().filter(|it| it["layer"] == data).collect();
    assert_eq!(layers.len(), 1, "{all:?}");
    let order = &lines(&world.run(&["order", "--json", "fallout4"]))[0];
    let planned = order["layers"].as_array().unwrap().iter().find(|it| it["path"] == data).unwrap();
    assert_eq!((&layers[0]["why"], &layers[0]["hidden"]), (&planned["why"], &0.into()), "{all:?}");
    let paths: Vec<&Value> = all.iter().filter(|it| it["path"].is_string()).map(|it| &it["path"]).collect();
    assert_eq!(paths, ["misc/a.ba2.txt"], "{all:?}");
    // A summary of some files leaves out layers without one of them.
    let some = lines(&world.run(&["conflicts", "--json", "fallout4", "strings"]));
    assert_eq!((some.len(), &some[0]["layer"], &some[0]["files"]), (1, &data.into(), &1.into()), "{some:?}");
}

#[test]
fn which_ends_with_1_for_a_file_that_the_game_passes_over_as_why_does() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", "[Archive]\nsResourceArchiveList=Base.bsa\nsResourceArchiveList2=\n"),
            ("Data/Base.bsa", ""),
            ("Data/textures/Sub.esp", ""),
            ("Data/backup/textures/a.dds", ""),
            ("Data/backup/meshes/a.nif", ""),
        ],
    );
    for (asked, code) in [("backup/textures/a.dds", 1), ("textures/sub.esp", 1), ("misc/base.bsa.txt", 0)] {
        for arguments in [&["which", "skyrimse", asked][..], &["which", "--json", "skyrimse", asked]] {
            let which = world.run(arguments);
            let why = world.run(&["why", "--in", "skyrimse", asked]);
            assert_eq!((which.code, why.code), (code, code), "{which:?} {why:?}");
            assert!(!which.out.is_empty(), "{which:?}");
        }
    }
}

#[test]
fn a_deployed_file_that_was_replaced_or_deleted_is_not_the_one_of_the_mod() {
    let world = vortex_world();
    let staging = "home/pfx/drive_c/Vortex/mods";
    let staged = path(&world, &format!("{staging}/Armor-12/textures/shared.dds"));
    let other = path(&world, &format!("{staging}/Armor-12/misc/base.bsa.txt"));
    let deployed = path(&world, "Data/textures/shared.dds");
    let check = |thing: &str, expected| check(&world, "skyrimse", thing, expected);
    let from_mod = || {
        let which = world.run(&["which", "--json", "--in", "skyrimse", "textures/shared.dds"]);
        lines(&which)[0]["from"]["deployed_from"].as_str().map(str::to_owned)
    };
    // A copy of the same bytes is what was deployed.
    fs::remove_file(&deployed).unwrap();
    fs::write(&deployed, "armor").unwrap();
    check(&staged, ("wins", "there", ""));
    assert_eq!(from_mod().as_deref(), Some("Armor-12"));
    // Other bytes, of the same length and of another.
    for bytes in ["ARMOR", "another program"] {
        fs::remove_file(&deployed).unwrap();
        fs::write(&deployed, bytes).unwrap();
        check(&staged, ("not-deployed", "not-deployed", "another program replaced it there since"));
        check("textures/shared.dds", ("wins", "there", ""));
        assert_eq!(from_mod(), None);
        check("Armor-12", ("wins", "there", "Vortex deployed 2 files; the game uses 1"));
    }
    let why = world.run(&["why", "--in", "skyrimse", "textures/shared.dds"]).success();
    assert!(why.contains("Armor-12") && why.contains("replaced since"), "{why}");
    fs::remove_file(&deployed).unwrap();
    for thing in [&*staged, "textures/SHARED.dds"] {
        check(thing, ("not-deployed", "not-deployed", "it was deleted"));
    }
    let why = world.run(&["why", "--in", "skyrimse", &staged]);
    assert!(
        why.out.contains("is not in the game\n") && why.out.contains("Data/textures/shared.dds"),
        "{why:?}"
    );
    let why = world.run(&["why", "--in", "skyrimse", "textures/shared.dds"]);
    assert!(why.out.contains("the mod Armor-12"), "{why:?}");
    fs::remove_file(world.installed.path("Data/misc/base.bsa.txt")).unwrap();
    check(&other, ("not-deployed", "not-deployed", "it was deleted"));
    check("Armor-12", ("not-deployed", "not-deployed", "all replaced or deleted since"));
    let why = world.run(&["why", "--in", "skyrimse", "Armor-12"]);
    assert!(why.out.contains("Data/misc/base.bsa.txt"), "{why:?}");
}

#[test]
fn what_a_mod_that_is_not_deployed_has_is_found_by_its_name() {
    let world = vortex_world();
    let mods = |name: &str| format!("home/pfx/drive_c/Vortex/mods/{name}");
    let files = ["Staged-4/Staged.bsa", "Staged-4/Staged.esp", "Staged-4/textures/staged.dds"];
    let files = files.map(mods);
    world.write(&files.each_ref().map(|it| (it.as_str(), "")));
    let (shared, late) = (mods("Staged-4/textures/shared.dds"), mods("Armor-12/textures/late.dds"));
    world.write(&[(&shared, "staged"), (&late, ""), (&mods("__vortex_staging_folder"), "{}")]);
    let check = |thing: &str, expected| check(&world, "skyrimse", thing, expected);
    let off = ("not-deployed", "not-deployed", "Vortex has this mod, but deployed nothing of it");
    for thing in [
        "Staged.bsa",
        "Staged.esp",
        "textures/staged.dds",
        "staged.dds",
        "Staged-4",
        "Staged-4/textures/shared.dds",
        &path(&world, &shared),
    ] {
        check(thing, off);
    }
    check("misc/staged.bsa.txt", ("not-deployed", "not-deployed", "this archive has the file, but Vortex"));
    // The mod is deployed, but not this file, which was added since.
    check("textures/late.dds", ("not-deployed", "not-deployed", "has not deployed this file of the mod"));
    let why = world.run(&["why", "--in", "skyrimse", &path(&world, &shared)]);
    assert!(why.out.contains("from the mod Armor-12"), "{why:?}");
}

#[test]
fn an_archive_that_only_one_game_loads_is_no_missing_loose_file_in_a_comparison() {
    let mods = "home/mo2/mods";
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", "[Archive]\nsResourceArchiveList=Base.bsa\nsResourceArchiveList2=\n"),
            ("Data/Base.bsa", ""),
        ],
    );
    let mo2 = world.instance(
        &["Hider", "On"],
        &[
            ("home/mo2/profiles/Other/modlist.txt", "+On\r\n+Off\r\n"),
            ("home/mo2/profiles/Other/plugins.txt", "*On.esp\r\n*Off.esp\r\n"),
            (&format!("{mods}/Hider/misc.mohidden/x.txt"), ""),
            (&format!("{mods}/Off/Off.bsa"), ""),
            (&format!("{mods}/Off/Off.esp"), ""),
            (&format!("{mods}/Off/textures/off.dds"), ""),
            (&format!("{mods}/On/On.bsa"), ""),
            (&format!("{mods}/On/On.esp"), ""),
        ],
    );
    let sources = ["Default", "Other"].map(|it| format!("{mo2}/profiles/{it}"));
    let reason = |source: &str, path: &str| {
        lines(&world.run(&["why", "--json", "--in", source, path]))[0]["reasons"][0].clone()
    };
    for (from, to, change, loaded_by) in [(0, 1, "added", "loaded-by-b"), (1, 0, "removed", "loaded-by-a")] {
        let (from, to) = (&sources[from], &sources[to]);
        let finished = world.run(&["diff", "--json", from, to]);
        assert_eq!(finished.code, 1, "{finished:?}");
        let differences = lines(&finished);
        for (path, change, code) in [
            ("On.bsa", loaded_by, "archive-inactive"),
            ("misc/on.bsa.txt", change, "archive-inactive"),
            ("misc/off.bsa.txt", change, "mo2-mod-off"),
            ("textures/off.dds", change, "mo2-mod-off"),
            ("Off.esp", change, "mo2-mod-off"),
        ] {
            let found = differences.iter().find(|it| it["path"] == path);
            let found = found.unwrap_or_else(|| panic!("{path}: {finished:?}"));
            assert_eq!(
                (&found["change"], &found["missing"]["code"]),
                (&change.into(), &code.into()),
                "{found}"
            );
            assert_eq!(found["missing"], reason(&sources[0], path), "{found}");
        }
        let counts = differences.iter().find(|it| it["loaded_by_one"].is_number()).unwrap();
        assert_eq!(counts["loaded_by_one"], 1, "{finished:?}");
        let printed = world.run(&["diff", from, to]).out;
        assert!(printed.contains("\n* On.bsa\n") || printed.starts_with("* On.bsa\n"), "{printed}");
        assert!(printed.contains(", 1 archive that only one of the games loads\n"), "{printed}");
        assert!(!printed.contains("loose-disabled") && !printed.contains("mo2-hidden"), "{printed}");
        let page = path(&world, "home/page.html");
        world.run(&["diff", from, to, "--html", &page]);
        let html = fs::read_to_string(page).unwrap();
        assert!(html.contains("archive-inactive: ") && !html.contains("<bdi>On.bsa</bdi>"), "{html}");
    }
}

#[test]
fn a_comparison_of_two_profiles_begins_with_mods_and_groups_files_by_the_mod_that_causes_them() {
    let mods = "home/mo2/mods";
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", "[Archive]\nsResourceArchiveList=Base.bsa\nsResourceArchiveList2=\n"),
            ("Data/Base.bsa", ""),
            ("Data/textures/stone.dds", "game"),
        ],
    );
    let other = "home/mo2/profiles/Other";
    let mo2 = world.instance(
        &["Bridges", "Noble Skyrim 2K", "Amber", "Own"],
        &[
            (&format!("{other}/modlist.txt"), "+Amber\r\n+Bridges\r\n+Dragon HD\r\n+Own\r\n"),
            (&format!("{other}/plugins.txt"), "*Own.esp\r\n*Dragon.esp\r\n"),
            (&format!("{mods}/Noble Skyrim 2K/textures/stone.dds"), "noble"),
            (&format!("{mods}/Noble Skyrim 2K/textures/wall.dds"), "noble wall"),
            (&format!("{mods}/Noble Skyrim 2K/textures/only.dds"), ""),
            (&format!("{mods}/Dragon HD/textures/wall.dds"), "dragon"),
            (&format!("{mods}/Dragon HD/Dragon.esp"), ""),
            (&format!("{mods}/Dragon HD/Unused.bsa"), ""),
            (&format!("{mods}/Amber/textures/moved.dds"), "amber"),
            (&format!("{mods}/Bridges/textures/moved.dds"), "a bridge"),
            (&format!("{mods}/Own/Own.bsa"), ""),
            (&format!("{mods}/Own/Own.esp"), ""),
        ],
    );
    let sources = ["Default", "Other"].map(|it| format!("{mo2}/profiles/{it}"));
    let printed = world.run(&["diff", &sources[0], &sources[1]]);
    assert_eq!(printed.code, 1, "{printed:?}");
    let beginning = "Mods\n- Noble Skyrim 2K\n+ Dragon HD\n~ Bridges, now after Dragon HD\n\nPlugins\n\
                     + Own.esp\n+ Dragon.esp\n\n\
                     Dragon HD, added: 2 files\n+ Dragon.esp\n! textures/wall.dds\n\n\
                     Noble Skyrim 2K, removed: 2 files\n- textures/only.dds\n! textures/stone.dds\n\n\
                     Own: 2 files\n+ misc/own.bsa.txt\n! misc/shared.txt\n\n\
                     Bridges, moved: 1 file\n! textures/moved.dds\n\n\
                     * Own.bsa\n* Unused.bsa\n";
    assert!(printed.out.starts_with(beginning), "{}", printed.out);
    assert!(printed.out.contains("in B, 1 file not loaded, such as Unused.bsa: "), "{}", printed.out);
    // The list has the mods that are off.
    assert!(!printed.out.contains("mo2-mod-off"), "{}", printed.out);
    let end = "2 added, 1 removed, 4 changed, ";
    assert!(printed.out.lines().last().unwrap().starts_with(end), "{}", printed.out);

    let json = lines(&world.run(&["diff", "--json", &sources[0], &sources[1]]));
    let moved = serde_json::json!({"mod": "Bridges", "change": "moved", "after": "Dragon HD"});
    assert_eq!(json[2], moved);
    assert_eq!(json[4], serde_json::json!({"plugin": "Dragon.esp", "change": "added"}));
    let of = |path: &str| json.iter().find(|it| it["path"] == path).unwrap();
    for (path, change, culprit) in [
        ("textures/wall.dds", "changed", serde_json::json!({"name": "Dragon HD", "change": "added"})),
        ("textures/only.dds", "removed", serde_json::json!({"name": "Noble Skyrim 2K", "change": "removed"})),
        ("misc/own.bsa.txt", "added", serde_json::json!({"name": "Own"})),
        ("Unused.bsa", "not-loaded", serde_json::json!({"name": "Dragon HD", "change": "added"})),
    ] {
        assert_eq!((&of(path)["change"], &of(path)["mod"]), (&change.into(), &culprit), "{path}");
    }
    let counts = json.iter().find(|it| it["loaded_by_one"].is_number()).unwrap();
    assert_eq!((&counts["added"], &counts["not_loaded"]), (&2.into(), &1.into()), "{counts}");

    let page = path(&world, "home/page.html");
    world.run(&["diff", &sources[0], &sources[1], "--html", &page]);
    let html = fs::read_to_string(page).unwrap();
    let order = [
        "<h1>Differences: Skyrim Special Edition, Default and Other</h1>",
        "<dd><bdi>1 added, 1 removed, 1 moved</bdi></dd>",
        "aria-label=\"removed\">-</b> <bdi>Noble Skyrim 2K</bdi></p>",
        "<bdi>Bridges</bdi><small>, now after Dragon HD</small></p>",
        "<bdi>Own.esp</bdi></p>",
        "<h3><bdi>Dragon HD, added</bdi></h3>",
        "<b>before</b> Noble Skyrim 2K, ",
        "<b>before</b> Noble Skyrim 2K, ",
        "<bdi>only.dds</bdi></a> <mark>removed</mark> <mark>off</mark>",
    ];
    let places: Vec<usize> = order.iter().map(|part| html.find(part).unwrap_or(usize::MAX)).collect();
    assert!(places.is_sorted() && places.iter().all(|it| *it < html.len()), "{places:?} {html}");

    // With patterns, only files are compared.
    let printed = world.run(&["diff", &sources[0], &sources[1], "-g", "only.*"]);
    let only = "Noble Skyrim 2K, removed: 1 file\n- textures/only.dds\n";
    assert!(printed.out.starts_with(only), "{printed:?}");
    // Another order is a difference, even if all files are equal.
    let list = "+Bridges\r\n+Noble Skyrim 2K\r\n+Own\r\n+Amber\r\n";
    let moved = "home/mo2/profiles/Moved";
    world.write(&[(&format!("{moved}/modlist.txt"), list), (&format!("{moved}/plugins.txt"), "")]);
    let printed = world.run(&["diff", &sources[0], &format!("{mo2}/profiles/Moved")]);
    assert_eq!(printed.code, 1);
    let moved = "Mods\n~ Amber, now first\n\n0 added, 0 removed, 0 changed, ";
    assert!(printed.out.starts_with(moved), "{printed:?}");
}

#[test]
fn order_and_why_say_in_the_same_words_why_an_archive_named_after_a_plugin_is_not_loaded() {
    for (game, ini, list, archive, expected) in [
        (
            &OBLIVION,
            ("my/Oblivion.ini", "[Archive]\nsArchiveList=Base.bsa\n"),
            "Oblivion.esm\r\nCobl.esm\r\n",
            "Cobl.bsa",
            "the game attaches archives only to .esp plugins, not to Cobl.esm",
        ),
        (
            &SKYRIMSE,
            ("my/Skyrim.ini", "[Archive]\nsResourceArchiveList=Base.bsa\nsResourceArchiveList2=\n"),
            "*Cobl.esm\r\n",
            "Cobl - Meshes.bsa",
            "the game loads no archive of Cobl.esm with this ending",
        ),
        (
            &SKYRIMSE,
            ("my/Skyrim.ini", "[Archive]\nsResourceArchiveList=Base.bsa\nsResourceArchiveList2=\n"),
            "*Cobl.esm\r\n",
            "Cobles.bsa",
            "it belongs to no plugin",
        ),
    ] {
        let data = format!("Data/{archive}");
        let files =
            [ini, ("local/Plugins.txt", list), ("Data/Base.bsa", ""), ("Data/Cobl.esm", ""), (&data, "")];
        let world = SmallWorld::new(game, &files);
        let order = world.order(game.id);
        let expected = format!("not loaded: no INI file lists it, and {expected}");
        assert_eq!(order.texts("archive-unlisted"), [&*expected]);
        assert_eq!(ask(&world, &["--in", game.id, archive]).text, expected);
    }
}

#[test]
fn of_two_archives_of_mods_new_vegas_uses_the_one_loaded_first_and_says_so() {
    let world = SmallWorld::new(
        &FALLOUTNV,
        &[
            ("my/Fallout.ini", "[Archive]\nsArchiveList=Fallout - Meshes.bsa\n"),
            ("local/plugins.txt", "FalloutNV.esm\r\nA.esp\r\nB.esp\r\n"),
            ("Data/Fallout - Meshes.bsa", ""),
            ("Data/A.bsa", ""),
            ("Data/A.esp", ""),
            ("Data/B.bsa", ""),
            ("Data/B.esp", ""),
        ],
    );
    let why = &lines(&world.run(&["why", "--json", "--in", "falloutnv", "misc/shared.txt"]))[0];
    let reasons = why["reasons"].as_array().unwrap();
    let text = |name: &str| {
        let found = reasons.iter().find(|it| it["subject"].as_str().unwrap().ends_with(name));
        found.unwrap_or_else(|| panic!("{name}: {why}"))["text"].as_str().unwrap()
    };
    assert_eq!(text("/A.bsa"), "B.bsa is loaded earlier, and of the archives of mods the first wins");
    assert_eq!(
        text("/Fallout - Meshes.bsa"),
        "B.bsa wins: mods win over add-ons, and add-ons over the base game"
    );
}

/// The first lines of the answers about a thing, for all games of a world.
fn first_lines(world: &SmallWorld, things: &[&str]) -> Vec<String> {
    let out = world.run(&[&["why"], things].concat()).out;
    out.lines().filter(|line| !line.starts_with(' ')).map(str::to_owned).collect()
}

#[test]
fn of_several_games_only_those_that_know_a_file_say_something_of_it() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[("my/Skyrim.ini", ""), ("Data/textures/one.dds", ""), ("Data/meshes/one.nif", "")],
    );
    world.write(&[
        ("home/Games/Heroic/Oblivion/Oblivion.exe", ""),
        ("home/Games/Heroic/Oblivion/Data/Oblivion.esm", ""),
        ("home/Games/Heroic/Oblivion/Data/textures/two.dds", ""),
    ]);
    for (thing, line) in [
        ("textures/one.dds", "skyrimse: textures/one.dds is in the game, from Data"),
        ("one.nif", "skyrimse: one.nif (meshes/one.nif) is in the game, from Data"),
        ("textures/two.dds", "oblivion: textures/two.dds is in the game, from Data"),
    ] {
        assert_eq!(first_lines(&world, &[thing]), [line]);
        assert_eq!(world.run(&["why", thing]).code, 0, "{thing}");
    }
    // What no game knows, all of them are asked about.
    assert_eq!(first_lines(&world, &["textures/none.dds"]).len(), 2);
}

#[test]
fn several_paths_are_not_one_path_with_spaces() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", ""), ("Data/textures/a.dds", "")]);
    let (folder, file) = (path(&world, ""), path(&world, "Data/textures/a.dds"));
    let things = ["Missing.esp", &*folder, &*file];
    let lines = first_lines(&world, &things);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[2].ends_with("is in the game, from Data"), "{lines:?}");
    assert_eq!(world.run(&["why", "--in", "skyrimse", "  "]).code, 2);
    // One path that the shell split is still one.
    let split: Vec<&str> = file.split(' ').collect();
    assert!(split.len() > 1, "{file}");
    assert_eq!(first_lines(&world, &split), [format!("skyrimse: {file} is in the game, from Data")]);
}

#[test]
fn a_path_that_leads_out_of_a_folder_of_a_mount_and_into_another_is_one_of_the_mount() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[("my/Skyrim.ini", ""), ("Data/textures/a.dds", ""), ("Data/meshes/b.nif", "")],
    );
    let mounted = world.mount("skyrimse");
    let mountpoint = mounted.path.display().to_string();
    let whole = mountpoint.trim_end_matches('/');
    for thing in [format!("{whole}/textures/../meshes/b.nif"), format!("{whole}/../mnt/meshes/b.nif")] {
        assert_eq!(first_lines(&world, &[&thing]), [format!("skyrimse: {thing} is in the game, from Data")]);
    }
    assert_eq!(first_lines(&world, &[whole]), [format!("skyrimse: {whole} is in the game")]);
}

#[test]
fn a_source_of_a_script_is_not_the_script() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", ""),
            ("Data/scripts/quest.pex", ""),
            ("Data/scripts/source/quest.psc", ""),
            ("Data/scripts/other.pex", ""),
        ],
    );
    for (thing, meant) in [
        ("quest.psc", "scripts/source/quest.psc"),
        ("Quest", "scripts/quest.pex"),
        ("other.psc", "scripts/other.pex"),
    ] {
        let line = format!("skyrimse: {thing} ({meant}) is in the game, from Data");
        assert_eq!(first_lines(&world, &[thing]), [line]);
    }
}

#[test]
fn the_name_of_an_archive_that_is_not_on_the_disk_is_no_source() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[("my/Skyrim.ini", ""), ("Data/textures/a.dds", ""), ("Data/Nobody.bsa", "")],
    );
    for command in ["which", "list", "conflicts"] {
        let finished = world.run(&[command, "skyrimse", "textures/a.dds", "Nobody.bsa"]);
        assert!(finished.code == 0 && finished.err.is_empty(), "{command}: {finished:?}");
    }
    let which = world.run(&["which", "skyrimse", "None.bsa"]);
    assert!(which.code == 1 && which.err.contains("None.bsa: no such file"), "{which:?}");
}

#[test]
fn commands_take_the_path_of_a_deployed_file_in_the_folder_of_its_mod() {
    let world = vortex_world();
    let staging = "home/pfx/drive_c/Vortex/mods";
    let (staged, deployed) =
        (path(&world, &format!("{staging}/Armor-12/textures/shared.dds")), "textures/shared.dds");
    let loser = path(&world, &format!("{staging}/Loser-3/textures/shared.dds"));
    let check_staged = || {
        let which = world.run(&["which", "--json", "--in", "skyrimse", &staged]);
        assert_eq!(lines(&which)[0]["path"], deployed, "{which:?}");
        assert_eq!(lines(&which)[0]["from"]["deployed_from"], "Armor-12", "{which:?}");
        assert_eq!(world.bsafs(&["cat", "skyrimse", &staged]), "armor");
        assert_eq!(world.bsafs(&["list", "skyrimse", &staged]), format!("{deployed}\n"));
        let conflicts = world.bsafs(&["conflicts", "skyrimse", &staged]);
        assert!(conflicts.contains("  from    Armor-12\n"), "{conflicts}");
    };
    check_staged();
    // A manager may copy instead.
    let in_game = world.installed.path(&format!("Data/{deployed}"));
    fs::remove_file(&in_game).unwrap();
    fs::write(&in_game, "armor").unwrap();
    check_staged();
    let which = world.run(&["which", "--in", "skyrimse", &loser]);
    assert!(which.code == 1 && which.err.contains("deployed this path from the mod Armor-12"), "{which:?}");
    fs::write(&in_game, "other").unwrap();
    let which = world.run(&["which", "--in", "skyrimse", &staged]);
    assert!(which.code == 1 && which.err.contains("replaced it there since"), "{which:?}");
}

#[test]
fn a_mod_of_a_manager_has_the_files_that_lost_and_the_reason_of_one_that_is_not_used() {
    let world = SmallWorld::new(
        &FALLOUT4,
        &[
            (
                "my/Fallout4.ini",
                "[Archive]\nbInvalidateOlderFiles=1\nsResourceDataDirsFinal=TEXTURES\\\n\
                 SResourceArchiveList=Base.ba2\n",
            ),
            ("Data/Base.ba2", ""),
            ("Data/misc/base.ba2.txt", ""),
            ("Data/textures/a.dds", ""),
            ("Data/textures/b.dds", ""),
            ("home/limo/1/misc/base.ba2.txt", ""),
            ("home/limo/2/textures/a.dds", ""),
            ("home/limo/2/textures/b.dds", ""),
            ("home/limo/3/textures/a.dds", ""),
            ("home/limo/3/textures/c.dds", ""),
            ("home/limo/4/textures/a.dds", ""),
            ("home/limo/4/textures/d.dds", ""),
            ("Data/textures/c.dds", ""),
            (
                "Data/.lmmfiles",
                r#"{"files":[{"mod_id":1,"path":"misc/base.ba2.txt"},{"mod_id":2,"path":"textures/a.dds"},
                    {"mod_id":2,"path":"textures/b.dds"},{"mod_id":3,"path":"textures/c.dds"}]}"#,
            ),
            (
                "home/limo/lmm_mods.json",
                r#"{"steam_app_id":377160,"installed_mods":[{"id":1,"name":"Mesh"},{"id":2,"name":"High"},
                    {"id":3,"name":"Low"},{"id":4,"name":"Off"}],
                    "deployers":[{"source_path":"LIMO","dest_path":"DATA"}]}"#,
            ),
        ],
    );
    let (limo, list) = (path(&world, "home/limo"), world.installed.path("home/limo/lmm_mods.json"));
    let text =
        fs::read_to_string(&list).unwrap().replace("LIMO", &limo).replace("DATA", &path(&world, "Data"));
    fs::write(&list, text).unwrap();
    world.write(&[("home/.config/Limo.conf", &format!("[staging_directories]\n1\\0={limo}\nsize=1\n"))]);
    let check = |thing: &str, expected| check(&world, "fallout4", thing, expected);
    check("Low", ("wins", "there", "the game uses 1; it deployed textures/a.dds from High instead"));
    check("High", ("wins", "there", "limo deployed 2 files; the game uses 2"));
    let mesh = world.run(&["why", "--in", "fallout4", "Mesh"]);
    assert!(mesh.code == 1 && mesh.out.contains("sResourceDataDirsFinal=TEXTURES"), "{mesh:?}");
    // The path of a file of a mod that is off has the advice of the mod.
    let off = ("not-deployed", "not-deployed", "deployed nothing of it; turn it on there");
    check("Off", off);
    check(&format!("{limo}/4/textures/d.dds"), off);
    // The copy that the game ignores is one of the mod, also for `--of`.
    let conflicts = world.bsafs(&["conflicts", "fallout4", "--of", "Mesh"]);
    assert!(conflicts.contains("  from    Base.ba2\n  ignored Mesh\n"), "{conflicts}");
    let json = world.run(&["conflicts", "--json", "fallout4", "--of", "Mesh"]);
    assert_eq!(lines(&json)[0]["ignored"][0]["deployed_from"], "Mesh", "{json:?}");
}

#[test]
fn a_name_that_several_files_have_selects_each_of_them() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[("my/Skyrim.ini", ""), ("Data/meshes/a/twin.nif", "a"), ("Data/meshes/b/Twin.nif", "b")],
    );
    let both = "meshes/a/twin.nif\nmeshes/b/Twin.nif\n";
    assert_eq!(world.bsafs(&["list", "skyrimse", "twin.nif"]), both);
    let which = world.run(&["which", "--json", "skyrimse", "twin.nif"]);
    assert_eq!(which.code, 0, "{which:?}");
    assert_eq!(texts_of(&lines(&which), "path"), ["meshes/a/twin.nif", "meshes/b/Twin.nif"]);
    let conflicts = world.run(&["conflicts", "--json", "skyrimse", "twin.nif"]);
    assert_eq!(lines(&conflicts)[0]["files"], 2, "{conflicts:?}");
    // One stream has one file.
    let cat = world.run(&["cat", "skyrimse", "twin.nif"]);
    assert!(cat.code == 66 && cat.err.contains("several files are called so"), "{cat:?}");
    assert!(cat.err.contains("meshes/a/twin.nif") && cat.err.contains("meshes/b/Twin.nif"), "{cat:?}");
}

fn texts_of(values: &[Value], key: &str) -> Vec<String> {
    values.iter().map(|it| it[key].as_str().unwrap().to_owned()).collect()
}

#[test]
fn groundcover_and_removed_folders_of_openmw_have_the_setting_that_decides() {
    let (world, source) = openmw_world();
    let folder = |name: &str| path(&world, &format!("home/omw/{name}"));
    let cfg = world.installed.path("home/.config/openmw/openmw.cfg");
    let text = fs::read_to_string(&cfg).unwrap();
    let (grass, gone) = (folder("Grass"), folder("Gone"));
    fs::write(&cfg, format!("{text}data=\"{gone}\"\nconfig=top\n")).unwrap();
    world.write(&[
        (
            "home/.config/openmw/top/openmw.cfg",
            &format!("replace=data\ndata=\"{grass}\"\ngroundcover=Grass.esp\ngroundcover=None.esp\n"),
        ),
        ("home/omw/Grass/Grass.esp", ""),
        ("home/omw/Gone/textures/gone.dds", ""),
    ]);
    let check = |thing: &str, expected| check(&world, &source, thing, expected);
    for thing in ["Grass.esp", "grass.ESP", &folder("Grass/Grass.esp")] {
        check(thing, ("wins", "active", "as groundcover"));
    }
    check("Grass", ("wins", "there", "1 of its files win"));
    let order = world.run(&["order", "--json", &source]);
    assert_eq!(lines(&order)[0]["groundcover"], serde_json::json!(["Grass.esp"]), "{order:?}");
    check("None.esp", ("not-here", "plugin-missing", "groundcover= lists this plugin"));
    let removed = ("off", "folder-removed", "replace=data in");
    for thing in ["textures/gone.dds", "Gone", &gone, &folder("Gone/textures/gone.dds"), "gone.dds"] {
        check(thing, removed);
    }
    denied_by_all(&world, &source, "textures/gone.dds");
}

#[test]
fn lists_and_settings_have_the_reason_that_order_gives() {
    let world = SmallWorld::new(
        &FALLOUTNV,
        &[
            ("my/Fallout.ini", "[Archive]\nSArchiveList=\n"),
            ("my/FalloutCustom.ini", "[Archive]\nSArchiveList=x.bsa\n"),
            ("local/Plugins.txt", "FalloutNV.esm\r\n*Star.esp\r\n"),
            ("Data/Star.esp", ""),
        ],
    );
    let order = world.order("falloutnv");
    let custom = order.texts("settings-ignored")[0].to_owned();
    assert!(custom.contains("JIP LN NVSE"), "{custom}");
    let star = order.texts("plugin-missing")[0].to_owned();
    assert!(star.contains("begins with a star"), "{star}");
    let check = |thing: &str, expected| check(&world, "falloutnv", thing, expected);
    check("FalloutCustom.ini", ("ignored", "settings-ignored", &custom));
    check(&path(&world, "my/FalloutCustom.ini"), ("ignored", "settings-ignored", &custom));
    check("Star.esp", ("not-loaded", "plugin-inactive", "begins with a star"));
    for thing in ["plugins.txt", &path(&world, "local/Plugins.txt")] {
        check(thing, ("wins", "there", "the game reads this list of plugins"));
    }

    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", ""), ("Skyrim.ccc", "x.esl\r\n")]);
    let source = world.instance(&[], &[("home/mo2/profiles/Default/loadorder.txt", "Skyrim.esm\r\n")]);
    for (thing, text) in [
        ("Skyrim.ccc", "the game reads this list of the Creation Club"),
        ("modlist.txt", "Mod Organizer reads this list of mods"),
        ("Plugins.txt", "the game reads this list of plugins"),
    ] {
        super::fates::check(&world, &source, thing, ("wins", "there", text));
    }
    for thing in ["loadorder.txt", &path(&world, "home/mo2/profiles/Default/loadorder.txt")] {
        super::fates::check(
            &world,
            &source,
            thing,
            ("ignored", "settings-ignored", "the game does not read"),
        );
    }
    for thing in [&*source, &path(&world, "home/mo2/mods")] {
        fs::create_dir_all(world.installed.path("home/mo2/mods")).unwrap();
        check_is_there(&world, &source, thing);
    }
}

/// Checks that a folder with folders of the game in it is no file that nothing uses.
fn check_is_there(world: &SmallWorld, source: &str, thing: &str) {
    let finished = world.run(&["why", "--in", source, thing]);
    assert!(finished.code == 0 && finished.out.contains("are below this one"), "{finished:?}");
}

#[test]
fn a_plugin_that_a_rule_of_the_game_keeps_away_has_that_rule() {
    let world = SmallWorld::new(
        &SKYRIMVR,
        &[("my/SkyrimVR.ini", ""), ("local/Plugins.txt", "*Light.esl\r\n"), ("Data/Light.bsa", "")],
    );
    world.installed.write("Data/Light.esl", &plugin(4, 0x201, &[]), 0);
    let note = world.order("skyrimvr").texts("plugin-ignored")[0].to_owned();
    check(&world, "skyrimvr", "Light.esl", ("not-loaded", "plugin-inactive", &note));

    let world = SmallWorld::new(
        &STARFIELD,
        &[("my/StarfieldCustom.ini", ""), ("local/Plugins.txt", "*Mine.esm\r\n"), ("my/Data/Mine.esm", "")],
    );
    let on_disk = path(&world, "my/Data/Mine.esm");
    let why = world.run(&["why", "--in", "starfield", &on_disk]);
    assert!(why.out.contains("only if its own data folder has one of the same name"), "{why:?}");
}

#[test]
fn what_mods_of_oblivion_remastered_have_is_found_in_their_data_folders() {
    let mods = "home/mo2/mods";
    let data = "OblivionRemastered/Content/Dev/ObvData/Data";
    let world = SmallWorld::new(&REMASTERED, &[(&format!("{data}/Plugins.txt"), "Oblivion.esm\r\n")]);
    let source = world.instance(
        &["Flat", "Paks"],
        &[
            (&format!("{mods}/Flat/Flat.bsa"), ""),
            (&format!("{mods}/Flat/Flat.esp"), ""),
            (&format!("{mods}/Paks/Data/Paks.esp"), ""),
            (&format!("{mods}/Paks/Paks/a_P.pak"), ""),
            (&format!("{mods}/Off/Data/meshes/off.nif"), ""),
            (&format!("{mods}/Off/Data/Off.bsa"), ""),
            (&format!("{mods}/Off/Data/Off.esp"), ""),
            ("home/mo2/profiles/Default/plugins.txt", "Oblivion.esm\r\nFlat.esp\r\n"),
        ],
    );
    let check = |thing: &str, expected| check(&world, &source, thing, expected);
    let off = ("off", "mo2-mod-off", "turn it on");
    for thing in ["meshes/off.nif", "misc/off.bsa.txt", "Off.esp", "Off.bsa"] {
        check(thing, off);
    }
    let left_out = ("ignored", "loose-disabled", "shows only the folder Data");
    for thing in ["misc/flat.bsa.txt", "Flat.esp", "Flat.bsa"] {
        check(thing, left_out);
    }
    let pak = path(&world, &format!("{mods}/Paks/Paks/a_P.pak"));
    check(&pak, ("ignored", "not-passed-on", "shows only the folder Data"));
    denied_by_all(&world, &source, "misc/flat.bsa.txt");
}

#[test]
fn an_archive_below_the_top_of_a_mod_has_files_that_the_game_does_not_load() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", ""), ("Data/meshes/Deep.bsa", "")]);
    let source = world.instance(
        &["Mod"],
        &[("home/mo2/mods/Mod/sub/Deeper.bsa", ""), ("home/mo2/mods/Mod/textures/a.dds", "")],
    );
    for thing in ["misc/deep.bsa.txt", "misc/deeper.bsa.txt"] {
        let text = "this archive has the file, but the game loads archives only from the top";
        check(&world, &source, thing, ("not-loaded", "not-at-top", text));
        denied_by_all(&world, &source, thing);
    }
}

#[test]
fn a_name_is_known_with_what_logs_and_managers_add_to_it() {
    let world = vortex_world();
    world.write(&[
        ("Data/Mod.esp", ""),
        ("local/Plugins.txt", "*Mod.esp\r\n"),
        ("Data/textures/deck/own.dds", ""),
        ("Data/[NoDelete] a.txt", ""),
    ]);
    for thing in ["[05] Mod.esp", "[FE:001] mod.esp", "Mod.esp [FE 001]", "Mod.esp:00012EB7"] {
        check(&world, "skyrimse", thing, ("wins", "active", "the plugin is active"));
    }
    for thing in ["<textures/own.dds>", "textures\\own.dds,", "textures/own.dds'"] {
        check(&world, "skyrimse", thing, ("wins", "there", "textures/own.dds is from here"));
        let which = world.run(&["which", "--json", "--in", "skyrimse", thing]);
        assert_eq!(lines(&which)[0]["path"], "textures/own.dds", "{which:?}");
    }
    check(&world, "skyrimse", "[NoDelete] a.txt", ("wins", "there", "is from here"));
    check(&world, "skyrimse", "[05] None.esp", ("not-here", "not-found", ""));
    // The name of a mod without the numbers that Vortex adds.
    check(&world, "skyrimse", "Armor", ("wins", "there", "Vortex deployed 2 files; the game uses 2"));
    // A name may be that of a deeper file, too.
    let why = world.bsafs(&["why", "--in", "skyrimse", "own.dds"]);
    assert!(why.contains("textures/deck/own.dds  there is a file with this name at another path"), "{why}");
    let why = world.run(&["why", "skyrimes", "Mod.esp"]);
    assert!(why.out.contains("skyrimse  this name is similar"), "{why:?}");
}
