//! Profiles of games and of Mod Organizer 2: every command opens the same layers for a profile.

use std::fs;

use serde_json::Value;

use crate::mounted::{Finished, Mounted, TestDir, run};
use crate::support::Tes4;
use crate::support::home::{archive_named_after_itself, plugin};

/// Runs bsafs in a home without games, so that it finds only the game of the test.
fn bsafs(dir: &TestDir, arguments: &[&str]) -> Finished {
    run(dir.bsafs(arguments).env("HOME", dir.path("home")).env_remove("XDG_CONFIG_HOME"))
}

fn write(dir: &TestDir, name: &str, content: impl AsRef<[u8]>) {
    let path = dir.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Writes Skyrim Special Edition into `game`, with archives that load only through settings. Its
/// profile has its own settings, plugins, archive rule, code page and list of names.
fn write_game(dir: &TestDir) {
    write(dir, "game/SkyrimSE.exe", "MZ");
    write(dir, "game/Data/Skyrim.esm", plugin(4, 1, &[]));
    write(dir, "game/Data/Mod.esp", plugin(4, 0, &[]));
    write(dir, "game/Data/Mod.bsa", archive_named_after_itself("Mod.bsa", 105));
    // One.bsa stores no names. Two.bsa stores a name in code page 1251.
    let one =
        Tes4::new(105).flags(0).file("misc", "shared.txt", "One.bsa").file("misc", "hidden.txt", "hidden");
    write(dir, "game/Data/One.bsa", one.build());
    let two = Tes4::new(105).file("misc", "shared.txt", "Two.bsa").file("misc", b"\xe8\xec\xff.txt", "two");
    write(dir, "game/Data/Two.bsa", two.build());
    let ini = "[Archive]\nsResourceArchiveList=One.bsa\nsResourceArchiveList2=Two.bsa\n";
    write(dir, "home/.config/bsafs/mine.ini", ini);
    write(dir, "home/.config/bsafs/list.txt", "*Mod.esp\n");
    write(dir, "home/.config/bsafs/names.txt", "misc\\shared.txt\nmisc\\hidden.txt\n");
    let options = "game_dir=~/../game,ini=mine.ini,plugins=list.txt,precedence=first,encoding=1251,\
         names=names.txt,uid=7";
    let profile = format!("archives = ['skyrimse']\nmountpoint = 'mnt'\noptions = '{options}'\n");
    write(dir, "home/.config/bsafs/game.toml", profile);
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn name(path: &Value) -> &str {
    path.as_str().unwrap().rsplit('/').next().unwrap()
}

fn layers(order: &Value) -> Vec<&str> {
    order["layers"].as_array().unwrap().iter().map(|layer| name(&layer["path"])).collect()
}

#[test]
fn every_command_applies_the_options_of_a_profile() {
    let dir = TestDir::new();
    write_game(&dir);
    let profile = "home/.config/bsafs/game.toml";
    for (flags, winner) in [(&[][..], "One.bsa"), (&["--precedence=last"], "Mod.bsa")] {
        let bsafs = |arguments: &[&str]| bsafs(&dir, &[arguments, flags].concat());
        let order = json_lines(&bsafs(&["order", "--json", profile]).success());
        let expected = match winner {
            "One.bsa" => ["Mod.bsa", "Two.bsa", "One.bsa", "Data"],
            _ => ["One.bsa", "Two.bsa", "Mod.bsa", "Data"],
        };
        assert_eq!(layers(&order[0]), expected);
        assert_eq!(json_lines(&bsafs(&["info", "--json", profile]).success()), order);

        let path = "misc/shared.txt";
        let listed = json_lines(&bsafs(&["list", "--json", profile]).success());
        let paths: Vec<&str> = listed.iter().map(|line| line["path"].as_str().unwrap()).collect();
        let all = ["misc/hidden.txt", "misc/mod.bsa.txt", path, "misc/имя.txt", "Mod.esp", "Skyrim.esm"];
        assert_eq!(paths, all);
        assert_eq!(name(&listed[2]["archive"]), winner);
        assert_eq!(bsafs(&["cat", profile, path]).success(), winner);
        bsafs(&["extract", profile, "-C", winner]).success();
        let extracted = dir.path(winner);
        assert_eq!(fs::read_to_string(extracted.join(path)).unwrap(), winner);
        assert_eq!(fs::read_to_string(extracted.join("misc/имя.txt")).unwrap(), "two");
        let found = json_lines(&bsafs(&["which", "--json", "--in", profile, path]).success());
        assert_eq!(name(&found[0]["from"]["archive"]), winner);
        let verified = json_lines(&bsafs(&["verify", "--json", profile]).success());
        let verified: Vec<&str> = verified.iter().map(|line| name(&line["archive"])).collect();
        assert_eq!(verified, expected);
        let conflicts = json_lines(&bsafs(&["conflicts", "--json", profile]).success());
        assert_eq!(
            (name(&conflicts[0]["winner"]["layer"]), &conflicts[0]["path"]),
            (winner, &listed[2]["path"])
        );
        assert_eq!(conflicts[0]["hidden"].as_array().unwrap().len(), 2);
        let different = bsafs(&["diff", "game/Data/Two.bsa", profile, "--compare", "--glob", "shared.txt"]);
        assert_eq!((different.code, different.out.lines().next()), (1, Some("! misc/shared.txt")));

        let mount = Mounted::at(&dir.path("home/.config/bsafs/mnt"), bsafs(&["mount", profile]).success());
        assert_eq!(mount.read(path), winner.as_bytes());
        assert_eq!(mount.read("misc/имя.txt"), b"two");
        assert_eq!(std::os::unix::fs::MetadataExt::uid(&fs::metadata(mount.join(path)).unwrap()), 7);
        mount.umount(&dir);
    }
}

#[test]
fn a_profile_of_folders_and_archives_works_in_every_command() {
    let dir = TestDir::new();
    dir.archive("One.bsa", &archive_named_after_itself("One.bsa", 105));
    write(&dir, "loose/inner.bsa", archive_named_after_itself("inner.bsa", 105));
    write(&dir, "loose/a.txt", "a");
    write(
        &dir,
        "p.toml",
        "archives = ['One.bsa', 'loose']\noptions = 'archives=files,salvage,layout=per-archive'\n",
    );
    let order = json_lines(&dir.run(["order", "--json", "p.toml"]).success());
    assert_eq!(layers(&order[0]), ["One.bsa", "loose"]);
    let described = json_lines(&dir.run(["info", "--json", "p.toml"]).success());
    let described: Vec<_> = described.iter().map(|it| (name(&it["archive"]), it["files"].as_u64())).collect();
    assert_eq!(described, [("One.bsa", Some(2)), ("loose", Some(2))]);
    let verified = dir.run(["verify", "p.toml"]).success();
    assert_eq!(verified.lines().count(), 2, "{verified}");
    assert_eq!(dir.run(["cat", "p.toml", "loose/a.txt"]).success(), "a");
    let which = dir.run(["which", "--in", "p.toml", "one/misc/shared.txt"]);
    assert_eq!(which.code, 0, "{which:?}");
    // The command line outranks the profile, even if it names the default.
    let opened = dir.run(["list", "--archives=open", "--layout=union", "p.toml"]).success();
    assert_eq!(
        opened.lines().collect::<Vec<_>>(),
        ["a.txt", "misc/inner.bsa.txt", "misc/one.bsa.txt", "misc/shared.txt"]
    );
    assert_eq!(
        layers(&json_lines(&dir.run(["order", "--json", "--archives=open", "p.toml"]).success())[0]).len(),
        3
    );
}

/// Writes an instance of Mod Organizer 2 into `mo2`. Its profile `Default` is selected, `Größe` is not.
fn write_instance(dir: &TestDir) {
    write_game(dir);
    let game = dir.path("game");
    let ini = format!("[General]\ngamePath=@ByteArray(Z:{})\nselected_profile=Default\n", game.display());
    write(dir, "mo2/ModOrganizer.ini", ini.replace('/', "\\\\"));
    write(dir, "mo2/mods/One/misc/own.txt", "One");
    write(dir, "mo2/mods/Two/misc/own.txt", "Two");
    write(dir, "mo2/mods/Two/misc/two.txt", "Two");
    for (profile, list) in [("Default", "-Two\n+One\n"), ("Größe", "+Two\n+One\n")] {
        write(dir, &format!("mo2/profiles/{profile}/modlist.txt"), list);
        write(dir, &format!("mo2/profiles/{profile}/plugins.txt"), "");
    }
}

#[test]
fn the_folder_of_an_mo2_profile_works_in_every_command() {
    let dir = TestDir::new();
    write_instance(&dir);
    let folder = "mo2/profiles/Größe";
    let order = |arguments: &[&str]| bsafs(&dir, &[&["order", "--json"], arguments].concat()).success();
    let named = order(&["mo2", "--mo2-profile", "Größe"]);
    assert_eq!(layers(&json_lines(&named)[0]), ["Data", "One", "Two"]);
    // The folder decides, even if `--mo2-profile` names another profile.
    for arguments in [&[folder][..], &["mo2/profiles/Größe/"], &[folder, "--mo2-profile=Default"]] {
        assert_eq!(order(arguments), named, "{arguments:?}");
    }
    assert_eq!(layers(&json_lines(&order(&["mo2/profiles/Default"]))[0]), ["Data", "One"]);
    // Any other folder of the instance is a folder of loose files.
    assert_eq!(layers(&json_lines(&order(&["mo2/mods/Two"]))[0]), ["Two"]);

    let different = bsafs(&dir, &["diff", "mo2/profiles/Default", folder, "--compare"]);
    assert_eq!(different.code, 1, "{different:?}");
    let lines: Vec<&str> = different.out.lines().collect();
    let expected = ["Mods", "+ Two", "", "Two, added: 2 files", "! misc/own.txt", "+ misc/two.txt"];
    assert_eq!(&lines[..6], expected);
    assert_eq!(bsafs(&dir, &["cat", folder, "misc/own.txt"]).success(), "Two");
    assert_eq!(bsafs(&dir, &["info", "--json", folder]).success(), named);
    let mount = Mounted::at(&dir.path("mnt"), bsafs(&dir, &["mount", folder, "mnt"]).success());
    assert_eq!(mount.read("misc/own.txt"), b"Two");
    mount.umount(&dir);
}

#[test]
fn a_folder_outside_the_profiles_directory_is_not_an_mo2_profile() {
    let dir = TestDir::new();
    write_instance(&dir);
    let ini = fs::read_to_string(dir.path("mo2/ModOrganizer.ini")).unwrap();
    let elsewhere = dir.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let setting = format!("[Settings]\nprofiles_directory=Z:{}\n", elsewhere.display());
    write(&dir, "mo2/ModOrganizer.ini", ini + &setting);
    let order = bsafs(&dir, &["order", "--json", "mo2/profiles/Default"]).success();
    assert_eq!(layers(&json_lines(&order)[0]), ["Default"]);
}
