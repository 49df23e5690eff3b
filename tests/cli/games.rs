//! `bsafs games`: output for people and as JSON, and the message if no game is found.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::Value;

use crate::mounted::{Finished, TestDir, run, until};

fn games(dir: &TestDir, arguments: &[&str]) -> Finished {
    let mut command = dir.bsafs([&["games"], arguments].concat());
    command.env("HOME", dir.path("home")).env("USER", "nobody");
    run(command.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME"))
}

fn write(dir: &TestDir, file: &str) {
    let path = dir.path("home/Games").join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "").unwrap();
}

#[test]
fn games_are_printed_with_counts_and_unusable_ones_with_the_reason() {
    let dir = TestDir::new();
    for file in ["SkyrimSE.exe", "Data/Skyrim.esm", "data/Mod.esp", "Data/A.BSA", "Data/b.bsa", "Data/x.txt"]
    {
        write(&dir, &format!("Skyrim/{file}"));
    }
    write(&dir, "Fallout/Fallout4.exe");
    let printed = games(&dir, &["-v"]).success();
    let home = dir.path("home/Games");
    for line in [
        "skyrimse  Skyrim Special Edition (unknown store)".to_owned(),
        format!("  folder    {}", home.join("Skyrim").display()),
        "  data      Data: 2 archives, 1 plugin".to_owned(),
        format!("not usable  {}", home.join("Fallout").display()),
        "            it looks like Fallout 4, but Data/Fallout4.esm is missing".to_owned(),
    ] {
        assert!(printed.lines().any(|it| it == line), "{line}\n{printed}");
    }
    let printed = games(&dir, &["--json"]).success();
    let lines: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let game = lines.iter().find(|line| line["game"] == "skyrimse").unwrap();
    assert_eq!((&game["archives"], &game["plugins"], &game["prefix"]), (&2.into(), &1.into(), &Value::Null));
    let fallout = lines.iter().find(|line| !line["unusable"].is_null()).unwrap();
    assert_eq!(fallout["unusable"], home.join("Fallout").to_str().unwrap());
    assert_eq!(fallout["why"], "it looks like Fallout 4, but Data/Fallout4.esm is missing");
}

/// Writes an instance of Mod Organizer 2 whose profile enables these mods.
fn write_instance(dir: &TestDir, folder: &str, game: &str, mods: &[&str]) {
    let path = dir.path("home").join(folder);
    fs::create_dir_all(path.join("profiles/My profile")).unwrap();
    let list: String = mods.iter().map(|name| format!("+{name}\n")).collect();
    fs::write(path.join("profiles/My profile/modlist.txt"), list + "-Off\n").unwrap();
    let game = format!("Z:{}", game.replace('/', "\\\\"));
    let ini = format!("[General]\ngamePath=@ByteArray({game})\nselected_profile=@ByteArray(My profile)\n");
    fs::write(path.join("ModOrganizer.ini"), ini).unwrap();
}

#[test]
fn instances_of_mod_organizer_are_listed_wherever_they_usually_are() {
    let dir = TestDir::new();
    write(&dir, "Skyrim/SkyrimSE.exe");
    write(&dir, "Skyrim/Data/Skyrim.esm");
    let game = dir.path("home/Games/Skyrim");
    let game = game.to_str().unwrap();
    let places = [
        "MO2",
        "Games/mod-organizer-2-skyrimse/modorganizer2",
        "Games/Skyrim/MO2 beside the game",
        ".wine/drive_c/users/me/AppData/Local/ModOrganizer/Global",
        ".wine/drive_c/Modding/MO2",
        ".local/share/fluorine/instances/One",
        ".local/share/Steam/steamapps/common/ModOrganizer",
        ".local/share/Steam/steamapps/compatdata/7/pfx/drive_c/users/steamuser/AppData/Local/ModOrganizer/SE",
        "far/away/modorganizer2",
    ];
    for place in places {
        write_instance(&dir, place, game, &["One", "Two"]);
    }
    // The installer for Linux leaves this file in the folder of the game.
    let far = dir.path("home/far/away/modorganizer2/ModOrganizer.exe");
    fs::create_dir_all(dir.path("home/Games/Skyrim/modorganizer2")).unwrap();
    let pointer = format!("Z:{}\n", far.to_str().unwrap().replace('/', "\\"));
    fs::write(dir.path("home/Games/Skyrim/modorganizer2/instance_path.txt"), pointer).unwrap();
    let printed = games(&dir, &["--json"]).success();
    let lines: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut found: Vec<&str> = lines.iter().filter_map(|line| line["instance"].as_str()).collect();
    let mut expected: Vec<String> =
        places.iter().map(|place| dir.path("home").join(place).to_str().unwrap().to_owned()).collect();
    found.sort_unstable();
    expected.sort();
    assert_eq!(found, expected);
    for line in lines.iter().filter(|line| line["instance"].is_string()) {
        let (about, mods) = ([&line["game"], &line["game_dir"], &line["profile"]], &line["mods"]);
        assert_eq!((about, mods), ([&"skyrimse".into(), &game.into(), &"My profile".into()], &2.into()));
    }
    let printed = games(&dir, &["-v"]).success();
    let there = dir.path("home/MO2");
    let lines = format!(
        "{0}  Mod Organizer 2 (profile \"My profile\", 2 mods)\n  instance  {0}\n  folder    {game}\n",
        there.display()
    );
    assert!(printed.contains(&lines), "{printed}");
    // The folder that no other instance has in its path names an instance.
    let printed = games(&dir, &[]).success();
    for name in ["skyrimse:mod-organizer-2-skyrimse", "'skyrimse:MO2 beside the game'", "skyrimse:Modding"] {
        assert!(printed.contains(&format!("\n{name}  Mod Organizer 2 (")), "{name}: {printed}");
    }
}

#[test]
fn a_mount_of_a_game_that_mod_organizer_manages_names_the_instance() {
    let dir = TestDir::new();
    write(&dir, "Skyrim/SkyrimSE.exe");
    write(&dir, "Skyrim/Data/Skyrim.esm");
    let mount = |source: &str| {
        let mut command = dir.bsafs(["mount", source, "mnt"]);
        command.env("HOME", dir.path("home")).env("USER", "nobody");
        let report = run(command.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME")).success();
        dir.run(["umount", "mnt"]).success();
        report
    };
    assert!(!mount("skyrimse").contains("Mod Organizer"));
    let game = dir.path("home/Games/Skyrim");
    write_instance(&dir, "MO2", game.to_str().unwrap(), &["One"]);
    let instance = dir.path("home/MO2").display().to_string();
    let line = "\nMod Organizer 2 manages this game; to mount it with 1 mod: bsafs mount skyrimse:mo2\n";
    for source in ["skyrimse", game.to_str().unwrap()] {
        let report = mount(source);
        assert!(report.contains(line), "{report}");
    }
    // A file of a mod is not in the game without the instance.
    let why = |source: &str| {
        let mut command = dir.bsafs(["why", "--in", source, "textures/of-a-mod.dds"]);
        command.env("HOME", dir.path("home")).env("USER", "nobody");
        run(command.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME")).out
    };
    let (of_game, of_instance) = (why("skyrimse"), why(&instance));
    assert!(of_game.ends_with(line) && !of_instance.contains("manages"), "{of_game}{of_instance}");
    // The instance itself has the mods, and another game has no instance.
    assert!(!mount(&instance).contains("manages this game"));
    write(&dir, "Other/SkyrimSE.exe");
    write(&dir, "Other/Data/Skyrim.esm");
    assert!(!mount(dir.path("home/Games/Other").to_str().unwrap()).contains("manages this game"));
}

#[test]
fn an_instance_and_its_profiles_are_sources_by_a_short_name() {
    let dir = TestDir::new();
    write(&dir, "Skyrim/SkyrimSE.exe");
    write(&dir, "Skyrim/Data/Skyrim.esm");
    let game = dir.path("home/Games/Skyrim");
    write_instance(&dir, "MO2", game.to_str().unwrap(), &["One"]);
    let put = |path: &str, content: &str| {
        let path = dir.path("home/MO2").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    put("mods/One/textures/one.dds", "");
    put("mods/Two/textures/two.dds", "");
    put("profiles/Test/modlist.txt", "+Two\n");
    let bsafs = |arguments: &[&str]| {
        let mut command = dir.bsafs(arguments);
        command.env("HOME", dir.path("home")).env("USER", "nobody");
        run(command.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME"))
    };
    let printed = bsafs(&["games"]).success();
    let lines = format!(
        "skyrimse:mo2  Mod Organizer 2 (profile \"My profile\", 1 mod)\n  instance  {}\n  \
         profiles  skyrimse:mo2/Test\n",
        dir.path("home/MO2").display()
    );
    assert!(printed.ends_with(&lines), "{printed}");
    let json = bsafs(&["games", "--json"]).success();
    assert!(json.contains(r#"{"source":"skyrimse:mo2","#), "{json}");
    let list = |source: &str| bsafs(&["list", source, "-g", "*.dds"]).success();
    assert_eq!(
        (&*list("skyrimse:mo2"), &*list("SkyrimSE:MO2/test")),
        ("textures/one.dds\n", "textures/two.dds\n")
    );
    assert_eq!(bsafs(&["list", "skyrimse:mo2", "textures/one.dds"]).success(), "textures/one.dds\n");
    let difference = bsafs(&["diff", "skyrimse:mo2", "skyrimse:mo2/Test"]);
    let expected = "Mods\n- One\n+ Two\n\nOne, removed: 1 file\n- textures/one.dds\n\n\
                    Two, added: 1 file\n+ textures/two.dds\n\n";
    assert!(difference.out.starts_with(expected), "{difference:?}");
    for (source, text) in [
        ("skyrimse:other", "no instance has this name; there are: skyrimse:mo2\n"),
        ("skyrimse:mo2/No", "no such profile; there are: 'skyrimse:mo2/My profile', skyrimse:mo2/Test\n"),
        ("fallout4:mo2", "no instance of Mod Organizer 2 for fallout4 was found; give its folder\n"),
    ] {
        let finished = bsafs(&["list", source]);
        assert!(finished.code == 66 && finished.err.ends_with(text), "{source}: {finished:?}");
    }
    let complete = |line: &str| bsafs(&["complete", "fish", line]).out;
    assert_eq!(complete("bsafs mount skyrimse:"), "skyrimse:mo2\tMod Organizer 2\0");
    assert!(complete("bsafs list skyrimse:mo2/T").starts_with("skyrimse:mo2/Test\t"));
    assert!(complete("bsafs mount skyr").contains("skyrimse:mo2\t"));
    // A mount has the name, follows the instance, and ends by it; a saved profile has it, too.
    bsafs(&["mount", "skyrimse:mo2/Test"]).success();
    put("mods/Two/textures/three.dds", "");
    until("a new file of the mod is shown", || dir.path("skyrimse-mo2-Test/textures/three.dds").exists());
    assert!(bsafs(&["mounts"]).success().contains("\n  sources    skyrimse:mo2/Test\n"));
    bsafs(&["umount", "skyrimse:mo2/Test"]).success();
    bsafs(&["mount", "--save-profile", "evening", "skyrimse:mo2"]).success();
    assert_eq!(list("evening"), "textures/one.dds\n");
}

#[test]
fn without_games_the_exit_code_is_1_and_the_searched_places_are_named() {
    let dir = TestDir::new();
    fs::create_dir(dir.path("home")).unwrap();
    let finished = games(&dir, &["--json"]);
    assert_eq!((finished.code, finished.out.as_str()), (1, ""));
    let steam = dir.path("home/.local/share/Steam");
    assert!(finished.err.contains(&format!("  {}  (does not exist)\n", steam.display())), "{}", finished.err);
}

#[test]
fn a_folder_with_a_non_utf_8_name_keeps_the_json_valid() {
    let dir = TestDir::new();
    let mut command = dir.bsafs(["games", "--json"]);
    let home = dir.path("").join(OsStr::from_bytes(b"h\xffome"));
    let game = home.join("Games/Mine");
    fs::create_dir_all(game.join("Data")).unwrap();
    fs::write(game.join("SkyrimSE.exe"), "").unwrap();
    fs::write(game.join("Data/Skyrim.esm"), "").unwrap();
    command.env("HOME", &home).env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
    let printed = run(&mut command).success();
    let lines: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_shown =
        |line: &Value| line["game_dir"].as_str().is_some_and(|it| it.ends_with("h\u{fffd}ome/Games/Mine"));
    assert!(lines.iter().any(is_shown), "{printed}");
}

#[test]
fn without_a_home_games_are_not_searched_in_the_current_folder() {
    let dir = TestDir::new();
    write(&dir, "Skyrim/SkyrimSE.exe");
    write(&dir, "Skyrim/Data/Skyrim.esm");
    for home in [None, Some("."), Some("")] {
        let mut command = dir.bsafs(["games"]);
        command.current_dir(dir.path("home")).env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
        match home {
            Some(home) => command.env("HOME", home),
            None => command.env_remove("HOME"),
        };
        let finished = run(&mut command);
        assert!(!finished.out.contains("  folder    Games"), "{}", finished.out);
        assert!(!finished.err.contains("\n  Games"), "{}", finished.err);
    }
}

#[test]
fn what_games_could_not_look_at_is_named_and_decides_the_exit_status() {
    let game = "Skyrim/SkyrimSE.exe";
    for (locked, subject) in [
        ("MO2/ModOrganizer.ini", "home/MO2/ModOrganizer.ini"),
        ("MO2", "home/MO2"),
        ("MO2/profiles", "home/MO2/profiles"),
        ("MO2/profiles/My profile/modlist.txt", "profile/modlist.txt"),
        (".local/share/Steam/config/libraryfolders.vdf", "Steam/config/libraryfolders.vdf"),
        (".local/share/Steam/steamapps", "Steam/steamapps"),
        (".wine/drive_c", "home/.wine/drive_c"),
        (".config/heroic/gog_store/installed.json", "gog_store/installed.json"),
        ("Games/Skyrim/Data", "Skyrim/Data"),
        ("Games/Other", "Games/Other"),
        ("lost+found", ""),
    ] {
        let dir = TestDir::new();
        for file in [game, "Skyrim/Data/Skyrim.esm", "Other/x"] {
            write(&dir, file);
        }
        write_instance(&dir, "MO2", dir.path("home/Games/Skyrim").to_str().unwrap(), &["A"]);
        for (file, text) in [
            (".local/share/Steam/config/libraryfolders.vdf", "\"libraryfolders\"\n{\n}\n"),
            (".local/share/Steam/steamapps/x", ""),
            (".wine/drive_c/Games/x", ""),
            (".config/heroic/gog_store/installed.json", "{\"installed\": []}"),
            ("lost+found/x", ""),
        ] {
            let path = dir.path("home").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir.give_to_user();
        let as_user = |arguments: &[&str]| {
            let home = format!("HOME={}", dir.path("home").display());
            let program = dir.path("bsafs").display().to_string();
            let mut command = dir.as_user("env", [&[&*home, &*program, "games"], arguments].concat());
            run(command.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME"))
        };
        as_user(&[]).success();
        let path = dir.path("home").join(locked);
        fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
        for arguments in [&[][..], &["-q"], &["--prefixes"]] {
            let finished = as_user(arguments);
            let is_said = finished.err.contains(subject) && finished.err.contains("not looked at: ");
            assert_eq!(
                (finished.code == 1, is_said),
                (!subject.is_empty(), !subject.is_empty()),
                "{finished:?}"
            );
        }
        let finished = as_user(&["--json"]);
        let is_said = finished.out.lines().any(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["not_looked_at"].as_str().is_some_and(|it| it.ends_with(subject))
        });
        assert_eq!(is_said, !subject.is_empty(), "{locked}: {finished:?}");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn links_that_lead_nowhere_among_instances_and_profiles_are_named() {
    let dir = TestDir::new();
    for file in ["Skyrim/SkyrimSE.exe", "Skyrim/Data/Skyrim.esm"] {
        write(&dir, file);
    }
    write_instance(&dir, "MO2", dir.path("home/Games/Skyrim").to_str().unwrap(), &["A"]);
    games(&dir, &["-q"]).success();
    for link in ["home/MO2/profiles/X", "home/Two"] {
        for target in ["nowhere", link] {
            symlink(dir.path(target), dir.path(link)).unwrap();
            let subject = dir.path(link).display().to_string();
            let finished = games(&dir, &["-q"]);
            let line = format!("bsafs: {subject}: not looked at: ");
            assert!(finished.code == 1 && finished.err.starts_with(&line), "{link}: {finished:?}");
            let finished = games(&dir, &["-q", "--json"]);
            let line = format!("{{\"not_looked_at\":\"{subject}\"");
            assert!(finished.code == 1 && finished.out.contains(&line), "{link}: {finished:?}");
            fs::remove_file(dir.path(link)).unwrap();
        }
    }
}

#[test]
fn a_list_that_games_cannot_parse_or_that_leads_nowhere_decides_the_exit_status() {
    let dir = TestDir::new();
    for file in ["Skyrim/SkyrimSE.exe", "Skyrim/Data/Skyrim.esm"] {
        write(&dir, file);
    }
    let steam = dir.path("home/.local/share/Steam");
    fs::create_dir_all(steam.join("config")).unwrap();
    let list = steam.join("config/libraryfolders.vdf");
    // A library that is gone is only data.
    fs::write(
        &list,
        "\"libraryfolders\"\n{\n\"1\"\n{\n\"path\" \"/none\"\n\"apps\" { \"489830\" \"1\" }\n}\n}\n",
    )
    .unwrap();
    assert!(games(&dir, &[]).success().contains("not usable  /none"));
    fs::write(&list, "\"libraryfolders\"\n{\n\"1\"\n").unwrap();
    let finished = games(&dir, &["-q"]);
    assert!(
        finished.code == 1 && finished.err.contains("libraryfolders.vdf: not looked at: "),
        "{finished:?}"
    );
    fs::remove_file(&list).unwrap();
    symlink("nowhere", &list).unwrap();
    let finished = games(&dir, &["-q"]);
    assert!(
        finished.code == 1 && finished.err.contains("libraryfolders.vdf: not looked at: "),
        "{finished:?}"
    );
    fs::remove_file(&list).unwrap();
    // Steam leaves such links behind when it is removed.
    fs::create_dir_all(dir.path("home/.steam")).unwrap();
    symlink("nowhere", dir.path("home/.steam/steam")).unwrap();
    games(&dir, &[]).success();
}
