//! `bsafs pack`: folders of `mount --edit`, several sources, and what packing changes in a game.

use std::fs;
use std::path::PathBuf;

use crate::mounted::{TestDir, run};
use crate::support::content::text;
use crate::support::{Ba2, Tes4, dds, hash};

fn write(path: PathBuf, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn texture(seed: u64) -> Vec<u8> {
    [dds::header(dds::BC1, 64, 64, 1, false), text(seed, 2048)].concat()
}

#[test]
fn an_edit_folder_is_packed_with_its_deletions() {
    let dir = TestDir::new();
    let archive = Tes4::new(105).file("meshes", "a.nif", text(1, 500)).file("meshes", "b.nif", text(2, 500));
    dir.archive("Base.bsa", &archive.build());
    write(dir.path("edit/meshes/.wh.a.nif"), b"");
    write(dir.path("edit/meshes/b.nif"), b"edited");
    write(dir.path("edit/meshes/new.nif"), b"new");
    let finished = dir.run(["pack", "Base.bsa", "edit", "--game", "skyrimse", "--name", "M", "-o", "out"]);
    assert_eq!(finished.code, 0, "{finished:?}");
    assert_eq!(dir.run(["list", "out/M.bsa"]).success(), "meshes/b.nif\nmeshes/new.nif\n");
    assert_eq!(dir.run(["cat", "out/M.bsa", "meshes/b.nif"]).success(), "edited");
}

/// What a modder does: edits a texture through the mount, packs the folder, and mounts the archive instead.
#[test]
fn an_archive_in_place_of_its_folder_shows_the_same_game() {
    let dir = TestDir::new();
    let base = Tes4::new(105)
        .file("textures\\rocks", "rock.dds", texture(1))
        .file("textures\\rocks", "other.dds", texture(2))
        .file("meshes", "rock.nif", text(3, 900));
    dir.archive("Base.bsa", &base.build());
    let mount = dir.mount(["--edit", "MyEdit", "Base.bsa"]);
    fs::write(mount.join("textures/rocks/rock.dds"), texture(9)).unwrap();
    fs::write(mount.join("textures/rocks/new.dds"), texture(10)).unwrap();
    mount.umount(&dir);
    for (game, archive) in
        [("skyrimse", "out/MyEdit - Textures.bsa"), ("fallout4", "out/MyEdit - Textures.ba2")]
    {
        let finished = dir.run(["pack", "MyEdit", "--game", game, "--name", "MyEdit", "-o", "out", "--json"]);
        assert_eq!(finished.code, 0, "{finished:?}");
        fs::write(dir.path("loose.toml"), "archives = ['Base.bsa', 'MyEdit']").unwrap();
        fs::write(dir.path("packed.toml"), format!("archives = ['Base.bsa', '{archive}']")).unwrap();
        let equal = dir.run(["diff", "--compare", "loose.toml", "packed.toml"]).success();
        assert_eq!(equal, "0 added, 0 removed, 0 changed, 4 equal\n", "{game}");
        let mounted = dir.mount(["packed.toml"]);
        assert_eq!(mounted.read("textures/rocks/rock.dds"), texture(9));
        mounted.umount(&dir);
    }
}

/// Skyrim SE in a home, with two mods: `Early` before `MyMod`, and `Late` after it.
fn game() -> (TestDir, PathBuf) {
    let dir = TestDir::new();
    let game = dir.path("home/Games/Skyrim");
    write(game.join("SkyrimSE.exe"), b"");
    for plugin in ["Skyrim.esm", "Early.esp", "MyMod.esp", "Late.esp"] {
        write(game.join("Data").join(plugin), b"TES4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    }
    let plugins = "*Early.esp\n*MyMod.esp\n*Late.esp\n";
    write(dir.path("plugins.txt"), plugins.as_bytes());
    let archive = |files: &[&str]| {
        files.iter().fold(Tes4::new(105), |archive, name| archive.file("meshes", *name, text(1, 50))).build()
    };
    fs::write(game.join("Data/Early.bsa"), archive(&["early.nif", "both.nif"])).unwrap();
    fs::write(game.join("Data/Late.bsa"), archive(&["late.nif", "both.nif"])).unwrap();
    // Called as a plugin, but loaded by a list, so before all plugins.
    fs::write(game.join("Data/Late - More.bsa"), archive(&["listed.nif"])).unwrap();
    write(game.join("Skyrim_Default.ini"), b"[Archive]\nsResourceArchiveList=Late - More.bsa\n");
    (dir, game)
}

#[test]
fn files_that_win_or_lose_otherwise_in_a_game_are_listed() {
    let (dir, game) = game();
    for name in ["early", "late", "both", "own", "loose", "listed"] {
        write(dir.path(format!("MyMod/meshes/{name}.nif")), name.as_bytes());
    }
    write(dir.path("MyMod/MyMod.esp"), b"");
    // Another mod's loose file, which any archive loses to.
    write(game.join("Data/meshes/loose.nif"), b"other");
    let plugins = dir.path("plugins.txt");
    let arguments = ["pack", "MyMod", "--game", "skyrimse", "-n", "--json", "--in"];
    let changes = |dir: &TestDir| {
        let mut command = dir.bsafs(arguments);
        command.arg(&game).arg("--plugins").arg(&plugins).env("HOME", dir.path("home"));
        let finished = run(&mut command);
        assert_eq!(finished.code, 0, "{finished:?}");
        let mut changes: Vec<String> = finished
            .out
            .lines()
            .filter_map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                Some(format!("{} {}", line["effect"].as_str()?, line["path"].as_str()?))
            })
            .collect();
        changes.sort();
        changes
    };
    assert_eq!(
        changes(&dir),
        [
            "loses meshes/both.nif",
            "loses meshes/late.nif",
            "loses meshes/loose.nif",
            "wins meshes/early.nif",
            "wins meshes/listed.nif"
        ],
        "a loose file beats every archive, a packed one has the place of its plugin"
    );
    fs::write(dir.path("plugins.txt"), "*Early.esp\n*Late.esp\n").unwrap();
    assert_eq!(changes(&dir).iter().filter(|line| line.starts_with("unloaded")).count(), 6);
}

#[test]
fn the_rightmost_source_wins_and_archives_in_a_folder_stay_loose() {
    let dir = TestDir::new();
    let archive = Tes4::new(104).file("meshes", "a.nif", "low").build();
    dir.archive("Low.bsa", &archive);
    write(dir.path("High/meshes/a.nif"), b"high");
    dir.archive("High/Old.bsa", &archive);
    let finished = dir.run(["pack", "Low.bsa", "High", "--game", "skyrimse", "--name", "M", "-o", "out"]);
    assert!(finished.out.contains("Old.bsa"), "{finished:?}");
    assert_eq!(dir.run(["cat", "out/M.bsa", "meshes/a.nif"]).success(), "high");
}

/// Managers deploy the files of a mod by links or copies. The mod does not lose to itself.
#[test]
fn a_deployed_mod_does_not_lose_to_itself() {
    for how in ["hard link", "link", "copy"] {
        let (dir, game) = game();
        for name in ["own", "both"] {
            let (file, deployed) =
                (dir.path(format!("MyMod/meshes/{name}.nif")), game.join(format!("Data/meshes/{name}.nif")));
            write(file.clone(), name.as_bytes());
            fs::create_dir_all(deployed.parent().unwrap()).unwrap();
            match how {
                "hard link" => fs::hard_link(&file, &deployed).unwrap(),
                "link" => std::os::unix::fs::symlink(&file, &deployed).unwrap(),
                _ => drop(fs::copy(&file, &deployed).unwrap()),
            }
        }
        write(dir.path("MyMod/MyMod.esp"), b"");
        let mut command = dir.bsafs(["pack", "MyMod", "--game", "skyrimse", "-n", "--in"]);
        command.arg(&game).arg("--plugins").arg(dir.path("plugins.txt")).env("HOME", dir.path("home"));
        let finished = run(&mut command);
        assert_eq!(finished.code, 0, "{how}: {finished:?}");
        assert!(!finished.out.contains("own.nif loses"), "{how}: {}", finished.out);
        let loses = finished.out.lines().find(|line| line.starts_with("meshes/both.nif loses"));
        match how {
            // A copy stays there, and is shown as before.
            "copy" => assert!(loses.is_none(), "{}", finished.out),
            _ => assert!(loses.is_some_and(|it| it.ends_with("/Late.bsa")), "{how}: {}", finished.out),
        }
    }
}

#[test]
fn files_of_a_plugin_that_is_not_active_are_named_in_one_line() {
    let (dir, game) = game();
    fs::write(dir.path("plugins.txt"), "*Late.esp\n").unwrap();
    named_archive(game.join("Data/Late.bsa"), &["both.nif"]);
    for name in ["a.nif", "both.nif", "c.nif"] {
        write(dir.path("MyMod/meshes").join(name), name.as_bytes());
    }
    write(dir.path("MyMod/MyMod.esp"), b"");
    let mut command = dir.bsafs(["pack", "MyMod", "--game", "skyrimse", "-n", "-v", "--in"]);
    command.arg(&game).arg("--plugins").arg(dir.path("plugins.txt")).env("HOME", dir.path("home"));
    let finished = run(&mut command);
    let lines: Vec<&str> = finished.out.lines().filter(|line| line.contains("show")).collect();
    let line = "3 files will not show: MyMod.esp is not active in skyrimse; the game shows other files at 1 \
                of the paths";
    assert_eq!(lines, [line], "{finished:?}");
    assert!(finished.err.contains("meshes/both.nif: the game then shows the one from "), "{finished:?}");
}

/// Writes an archive whose files have its name and their path as bytes.
fn named_archive(path: PathBuf, files: &[&str]) {
    let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
    let add = |archive: Tes4, file: &&str| archive.file("meshes", *file, format!("{name} {file}"));
    let bytes = files.iter().fold(Tes4::new(105), add).build();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// What `pack --in` says of a game: lines of what changes, and the notes on sources.
fn predicted(dir: &TestDir, arguments: &[&str], game: &str) -> (Vec<String>, Vec<String>) {
    let plugins = dir.path("plugins.txt");
    let mut command = dir.bsafs([&["pack"], arguments, &["--game", "skyrimse", "-n", "--json"]].concat());
    command.arg("--in").arg(game).env("HOME", dir.path("home"));
    if plugins.exists() {
        command.arg("--plugins").arg(plugins);
    }
    let finished = run(&mut command);
    assert_eq!(finished.code, 0, "{finished:?}");
    let lines: Vec<serde_json::Value> =
        finished.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let name = |path: &serde_json::Value| {
        let path = path.as_str().unwrap();
        path.rsplit('/').next().unwrap().to_owned()
    };
    let change = |line: &serde_json::Value| {
        let (effect, now) = (line["effect"].as_str()?, line["now"].as_str().unwrap());
        Some(format!("{effect} {} {} {now}", name(&line["path"]), name(&line["other"])))
    };
    let note = |line: &serde_json::Value| {
        let note = &line["note"];
        let is_it = matches!(note["code"].as_str(), Some("pack-not-shown" | "pack-hash"));
        is_it.then(|| format!("{}: {}", name(&note["subject"]), note["text"].as_str().unwrap()))
    };
    (lines.iter().filter_map(change).collect(), lines.iter().filter_map(note).collect())
}

/// Archives of installed mods are sources: they are gone, and the new one has the place of its plugin.
#[test]
fn archives_of_the_game_as_sources_are_gone_once_the_new_one_is_there() {
    let (dir, game) = game();
    let data = game.join("Data");
    for (archive, files) in [
        ("Early.bsa", &["early.nif", "both.nif", "all.nif"][..]),
        ("Late.bsa", &["late.nif", "both.nif", "all.nif"]),
        ("Late - Textures.bsa", &["extra.nif"]),
        ("Off.bsa", &["off.nif", "early.nif"]),
    ] {
        named_archive(data.join(archive), files);
    }
    fs::write(data.join("Off.esp"), "").unwrap();
    let path = |name: &str| data.join(name).to_str().unwrap().to_owned();
    let (early, late, off) = (path("Early.bsa"), path("Late.bsa"), path("Off.bsa"));
    let at = |sources: &[&str], name: &str| {
        predicted(&dir, &[sources, &["--name", name]].concat(), game.to_str().unwrap())
    };
    let nothing = (Vec::new(), Vec::new());
    // A merge in the order of the game changes nothing, wherever it is: all copies are in it.
    for name in ["Early", "MyMod", "Late", "early"] {
        assert_eq!(at(&[&early, &late], name), nothing, "{name}");
    }
    // In the other order, the other bytes win.
    let changes = ["wins all.nif Late.bsa loses", "wins both.nif Late.bsa loses"];
    assert_eq!(at(&[&late, &early], "MyMod").0, changes);
    // One of them, before or behind the other.
    assert_eq!(at(&[&early], "MyMod"), nothing);
    assert_eq!(at(&[&late], "MyMod"), nothing);
    fs::write(data.join("First.esp"), "").unwrap();
    fs::write(dir.path("plugins.txt"), "*First.esp\n*Early.esp\n*MyMod.esp\n*Late.esp\n").unwrap();
    let changes = ["loses all.nif Early.bsa wins", "loses both.nif Early.bsa wins"];
    assert_eq!(at(&[&late], "First").0, changes);
    // Its plugin is not active: what only it has is gone.
    let changes =
        ["unloaded all.nif Early.bsa wins", "unloaded both.nif Early.bsa wins", "unloaded late.nif  wins"];
    assert_eq!(at(&[&late], "Off").0, changes);
    // A source that the game does not load, because its plugin is not active.
    let (changes, notes) = at(&[&off], "MyMod");
    assert_eq!(changes, ["wins early.nif Early.bsa not-loaded"]);
    assert!(
        notes[0].starts_with("Off.bsa: not loaded in the game (") && notes[0].contains("1 of the paths"),
        "{notes:?}"
    );
    // The new one has the name of an archive that is no source, which it replaces.
    let (changes, _) = at(&[&early], "Late");
    let expected = ["wins all.nif Late.bsa loses", "wins both.nif Late.bsa loses", "gone late.nif  wins"];
    assert_eq!(changes, expected);
    // A part of an archive: the rest stays, and so does the archive.
    assert_eq!(at(&[&late, "-g", "**/both.nif"], "First").0, Vec::<String>::new());
}

#[test]
fn nothing_is_predicted_for_another_game_or_for_what_is_no_game() {
    let (dir, game) = game();
    write(dir.path("MyMod/meshes/a.nif"), b"1");
    for (id, within, why) in [
        ("fallout4", game.to_str().unwrap(), "it is skyrimse, but the archives are for fallout4"),
        ("skyrimse", "MyMod", "it is not a game"),
    ] {
        let mut command =
            dir.bsafs(["pack", "MyMod", "--game", id, "--name", "M", "-o", "out", "--in", within]);
        let finished = run(command.env("HOME", dir.path("home")));
        assert!(finished.code == 2 && finished.err.contains(why), "{finished:?}");
        assert!(!dir.path("out").exists());
    }
}

/// Oblivion attaches every archive whose name begins as that of a plugin.
#[test]
fn an_archive_whose_name_only_begins_as_a_plugin_is_loaded_by_it_in_oblivion() {
    let dir = TestDir::new();
    let game = dir.path("home/Games/Oblivion");
    write(game.join("Oblivion.exe"), b"");
    for (nth, plugin) in ["Oblivion.esm", "A.esp", "B.esp"].into_iter().enumerate() {
        write(game.join("Data").join(plugin), b"TES4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000 + nth as u64);
        fs::File::options()
            .write(true)
            .open(game.join("Data").join(plugin))
            .unwrap()
            .set_modified(time)
            .unwrap();
    }
    fs::write(dir.path("plugins.txt"), "Oblivion.esm\nA.esp\nB.esp\n").unwrap();
    fs::write(game.join("Data/B.bsa"), Tes4::new(103).file("meshes", "a.nif", "B").build()).unwrap();
    write(dir.path("MyMod/meshes/a.nif"), b"mine");
    // The plan says the same of a plugin of the source.
    write(dir.path("WithA/A.esp"), b"");
    write(dir.path("WithA/meshes/a.nif"), b"mine");
    let planned = dir.run(["pack", "WithA", "--game", "oblivion", "--name", "A - 3", "-n"]);
    assert!(planned.out.contains("loaded by A.esp") && planned.err.is_empty(), "{planned:?}");
    for (name, effect) in [("A - 3", "wins"), ("A", "wins"), ("Other", "unloaded")] {
        let mut command =
            dir.bsafs(["pack", "MyMod", "--game", "oblivion", "--name", name, "-n", "--json", "--in"]);
        command.arg(&game).arg("--plugins").arg(dir.path("plugins.txt")).env("HOME", dir.path("home"));
        let finished = run(&mut command);
        assert!(finished.out.contains(&format!(r#"{{"effect":"{effect}""#)), "{name}: {finished:?}");
    }
}

#[test]
fn names_with_the_hash_of_another_name_in_the_game_are_noted() {
    let (dir, game) = game();
    let [one, two] = hash::TES4_COLLISION.map(|name| std::str::from_utf8(name).unwrap());
    named_archive(game.join("Data/Early.bsa"), &[one]);
    write(dir.path(format!("MyMod/meshes/{two}")), b"1");
    write(dir.path(format!("MyMod/scripts/{one}")), b"in another folder");
    write(dir.path("MyMod/MyMod.esp"), b"");
    let notes = predicted(&dir, &["MyMod"], game.to_str().unwrap()).1;
    let expected = format!("MyMod.bsa: meshes/{two} has the hash of meshes/{one} in ");
    assert!(notes.len() == 2 && notes.iter().any(|it| it.starts_with(&expected)), "{notes:?}");
    // BA2, and two names of archives with one hash.
    let game = dir.path("home/Games/Fallout");
    write(game.join("Fallout4.exe"), b"");
    let plugin = b"TES4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    write(game.join("Data/Fallout4.esm"), plugin);
    write(game.join("Data/Modbubanxn.esp"), plugin);
    fs::write(dir.path("plugins.txt"), "*Modbubanxn.esp\n").unwrap();
    let [one, two] = hash::FO4_COLLISION.map(|name| std::str::from_utf8(name).unwrap());
    let other = Ba2::general(1).file(format!("interface/{one}"), "1").build();
    write(game.join("Data/Modbubanxn - Main.ba2"), &other);
    write(dir.path(format!("New/interface/{two}")), b"1");
    let mut command =
        dir.bsafs(["pack", "New", "--game", "fallout4", "--name", "Modnidmovh", "-n", "--json", "--in"]);
    command.arg(&game).arg("--plugins").arg(dir.path("plugins.txt")).env("HOME", dir.path("home"));
    let finished = run(&mut command);
    assert!(
        finished.out.contains(&format!("interface/{two} has the hash of interface/{one}")),
        "{finished:?}"
    );
    assert!(finished.out.contains("its name has the hash of Modbubanxn - Main.ba2"), "{finished:?}");
}

/// Mods of an instance: on, off, with an archive of the same name, and none of the instance.
#[test]
fn mods_that_are_on_or_off_or_not_there_are_told_apart() {
    let (dir, game) = game();
    fs::remove_file(dir.path("plugins.txt")).unwrap();
    let mods = dir.path("home/MO2/mods");
    let settings = format!(
        "[General]\ngameName=Skyrim Special Edition\ngamePath={}\nselected_profile=Default\n",
        game.display()
    );
    write(dir.path("home/MO2/ModOrganizer.ini"), settings.as_bytes());
    write(dir.path("home/MO2/profiles/Default/modlist.txt"), b"+Top\n+On\n-Off\n+Below\n");
    let plugins = b"*Early.esp\n*On.esp\n*Late.esp\n";
    write(dir.path("home/MO2/profiles/Default/plugins.txt"), plugins);
    for (name, files) in [
        ("Below", &["below.nif"][..]),
        ("On", &["own.nif", "early.nif", "late.nif", "below.nif", "top.nif"]),
        ("Off", &["own.nif", "early.nif", "late.nif", "new.nif"]),
        ("Top", &["top.nif"]),
    ] {
        for file in files {
            write(mods.join(name).join("meshes").join(file), format!("{name} {file}").as_bytes());
        }
    }
    write(mods.join("On/On.esp"), b"TES4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    write(mods.join("Off/Off.esp"), b"");
    let instance = dir.path("home/MO2").to_str().unwrap().to_owned();
    let (on, off) = (mods.join("On"), mods.join("Off"));
    let (on, off) = (on.to_str().unwrap(), off.to_str().unwrap());
    // On: below a loose file of another mod it loses, and so it does to an archive that is loaded later.
    let changes = ["loses below.nif Below wins", "loses late.nif Late.bsa wins"];
    assert_eq!(predicted(&dir, &[on], &instance), (changes.map(str::to_owned).to_vec(), Vec::new()));
    // Its own archive of an earlier run is replaced.
    named_archive(mods.join("On/On.bsa"), &["own.nif", "gone.nif"]);
    let changes = ["loses below.nif Below wins", "loses late.nif Late.bsa wins", "gone gone.nif  wins"];
    assert_eq!(predicted(&dir, &[on], &instance).0, changes);
    fs::remove_file(mods.join("On/On.bsa")).unwrap();
    // Off: its plugin is not active, so that nothing of it will be shown.
    let (changes, notes) = predicted(&dir, &[off], &instance);
    let expected = [
        "unloaded early.nif On off",
        "unloaded late.nif On off",
        "unloaded new.nif  off",
        "unloaded own.nif On off",
    ];
    assert_eq!(changes, expected);
    assert!(
        notes[0].starts_with("Off: off in the game (") && notes[0].contains("1 of the paths"),
        "{notes:?}"
    );
    // The same for a plugin that is active.
    let (changes, _) = predicted(&dir, &[off, "--name", "On"], &instance);
    let expected = ["loses early.nif On off", "loses late.nif On off", "loses own.nif On off"];
    assert_eq!(changes, expected);
    // A folder that is no mod of the instance.
    write(dir.path("Else/meshes/early.nif"), b"else");
    write(dir.path("Else/meshes/new.nif"), b"else");
    let (changes, notes) = predicted(&dir, &["Else", "--name", "On"], &instance);
    assert_eq!(changes, ["loses early.nif On not-deployed"]);
    let says = "Else: not deployed in the game (the game and its mods use no folder that has this file)";
    assert!(notes[0].starts_with(says), "{notes:?}");
    // The plugin of the mod is not active.
    write(dir.path("home/MO2/profiles/Default/plugins.txt"), b"*Early.esp\n*Late.esp\n");
    let (changes, _) = predicted(&dir, &[on], &instance);
    let expected = [
        "unloaded below.nif Below wins",
        "unloaded early.nif Early.bsa wins",
        "unloaded late.nif Late.bsa wins",
        "unloaded own.nif  wins",
    ];
    assert_eq!(changes, expected);
}
