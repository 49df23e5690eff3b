//! `bsafs why`: the reasons why something is not in a game, and `bsafs which --in` for files that are not.

use std::fs;

use serde_json::Value;

use super::small_world::{FALLOUT4, MORROWIND, SKYRIMSE, STARFIELD, SmallWorld};
use crate::mounted::run;
use crate::support::home::plugin;

/// The answer about a thing: whether it is in the game, and the codes and subjects of the reasons.
fn answer(world: &SmallWorld, source: &str, thing: &str) -> (bool, Vec<(String, String, String)>) {
    let mut command = world.dir.bsafs(["why", "--json", "--in", source, thing]);
    for variable in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"] {
        command.env_remove(variable);
    }
    let finished = run(command.env("HOME", &world.installed.home));
    let answer: Value =
        serde_json::from_str(&finished.out).unwrap_or_else(|_| panic!("{thing}: {finished:?}"));
    let is_there = answer["is_there"].as_bool().unwrap();
    assert_eq!(finished.code, i32::from(!is_there), "{thing}: {finished:?}");
    let text = |reason: &Value, key: &str| reason[key].as_str().unwrap().to_owned();
    let name = |path: String| path.rsplit('/').next().unwrap().to_owned();
    let reasons = answer["reasons"].as_array().unwrap().iter();
    (is_there, reasons.map(|it| (text(it, "code"), name(text(it, "subject")), text(it, "text"))).collect())
}

/// Checks the first reason: its code, the name of its subject, and a part of its text.
fn check(world: &SmallWorld, source: &str, thing: &str, is_there: bool, expected: (&str, &str, &str)) {
    let (found, reasons) = answer(world, source, thing);
    let (code, subject, text) = &reasons[0];
    assert_eq!((found, &**code, &**subject), (is_there, expected.0, expected.1), "{thing}: {reasons:?}");
    assert!(text.contains(expected.2), "{thing}: {reasons:?}");
}

#[test]
fn a_missing_master_of_another_plugin_is_no_reason() {
    let world = SmallWorld::new(&SKYRIMSE, &[("local/Plugins.txt", "*MyA.esp\n"), ("Data/A.esp", "")]);
    world.installed.write("Data/MyA.esp", &plugin(4, 0, &["None.esm"]), 0);
    let (_, reasons) = answer(&world, "skyrimse", "MyA.esp");
    assert!(reasons.iter().any(|it| it.0 == "master-missing"), "{reasons:?}");
    let (_, reasons) = answer(&world, "skyrimse", "A.esp");
    assert!(reasons.iter().all(|it| it.0 != "master-missing"), "{reasons:?}");
}

#[test]
fn a_file_of_an_archive_that_is_not_loaded_has_the_reason() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", "[Archive]\nsResourceArchiveList=Base.bsa\nsResourceArchiveList2=\n"),
            ("local/Plugins.txt", "*On.esp\nOff.esp\n"),
            ("Data/Base.bsa", ""),
            ("Data/On.esp", ""),
            ("Data/On.bsa", ""),
            ("Data/Off.esp", ""),
            ("Data/Off.bsa", ""),
            ("Data/Ghost.esp.ghost", ""),
            ("Data/Ghost.bsa", ""),
            ("Data/Nobody.bsa", ""),
            ("Data/Broken.bsa", ""),
            ("Data/Broken.esp", ""),
            ("Data/misc/base.bsa.txt", "loose"),
        ],
    );
    let check = |thing: &str, is_there, expected| check(&world, "skyrimse", thing, is_there, expected);
    check("misc/off.bsa.txt", false, ("archive-inactive", "Off.bsa", "Off.esp is not active"));
    check(r"Data\Misc\OFF.bsa.txt", false, ("archive-inactive", "Off.bsa", "Off.esp"));
    check("misc/ghost.bsa.txt", false, ("archive-inactive", "Ghost.bsa", "ghosted"));
    check("misc/nobody.bsa.txt", false, ("archive-unlisted", "Nobody.bsa", "no INI file lists it"));
    check("misc/on.bsa.txt", true, ("there", "On.bsa", "attached to On.esp"));
    let (is_there, reasons) = answer(&world, "skyrimse", "misc/shared.txt");
    assert!(
        is_there && reasons.iter().any(|it| it.1 == "Nobody.bsa"),
        "the user may mean this copy: {reasons:?}"
    );
    check("misc/none.txt", false, ("not-found", "none.txt", "nothing of this name"));
    check("elsewhere/on.bsa.txt", false, ("same-name", "on.bsa.txt", "at another path"));
    let (_, reasons) = answer(&world, "skyrimse", "misc/base.bsa.txt");
    assert_eq!(
        (&*reasons[0].0, &*reasons[1].0, &*reasons[1].1),
        ("there", "hidden", "Base.bsa"),
        "{reasons:?}"
    );
    assert!(reasons[1].2 == "loose files win over archives", "{reasons:?}");
    check("Off.bsa", false, ("archive-inactive", "Off.bsa", "Off.esp is not active"));
    check("on.BSA", true, ("there", "On.bsa", "attached to On.esp"));
    // An archive that the game loads, but that cannot be opened.
    fs::write(world.installed.path("Data/Broken.bsa"), "BSA\0cut").unwrap();
    world.write(&[("local/Plugins.txt", "*On.esp\n*Broken.esp\n")]);
    check("Broken.bsa", false, ("archive-unopened", "Broken.bsa", "cannot be opened"));
    check("misc/unknown.txt", false, ("archive-unopened", "Broken.bsa", "unknown"));
    // The same answer from `which`.
    let which = world
        .dir
        .bsafs(["which", "--in", "skyrimse", "misc/nobody.bsa.txt"])
        .env("HOME", &world.installed.home)
        .output();
    let which = which.unwrap();
    let error = String::from_utf8(which.stderr).unwrap();
    assert_eq!(which.status.code(), Some(1));
    assert!(
        error.contains("no such file\n  archive-unlisted  ") && error.contains("Nobody.bsa\n"),
        "{error}"
    );
}

#[test]
fn a_plugin_that_is_not_active_has_the_reason() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", ""),
            ("local/Plugins.txt", "*On.esp\r\nOff.esp\r\n*Gone.esp\r\n"),
            ("Data/On.esp", ""),
            ("Data/Off.esp", ""),
            ("Data/Unlisted.esp", ""),
            ("Data/Ghost.esp.ghost", ""),
        ],
    );
    let check = |thing: &str, is_there, expected| check(&world, "skyrimse", thing, is_there, expected);
    check("on.esp", true, ("active", "on.esp", "number 2 of 2"));
    check("Off.esp", false, ("plugin-inactive", "Off.esp", "is off in "));
    check("Unlisted.esp", false, ("plugin-inactive", "Unlisted.esp", "but not in "));
    check("Gone.esp", false, ("plugin-missing", "Gone.esp", "does not contain it"));
    check("Ghost.esp", false, ("ghost", "Ghost.esp.ghost", "remove .ghost"));
    check("Ghost.esp.ghost", false, ("ghost", "Ghost.esp.ghost", "remove .ghost"));
    check("None.esp", false, ("not-found", "None.esp", "nothing"));
    // A list in another prefix.
    let other = "prefix/drive_c/users/anna/AppData/Local/Skyrim Special Edition";
    world.write(&[(&format!("{other}/Plugins.txt"), "*Unlisted.esp\n")]);
    let (_, reasons) = answer(&world, "skyrimse", "Unlisted.esp");
    assert_eq!((&*reasons[1].0, &*reasons[1].1), ("other-list", "Plugins.txt"), "{reasons:?}");
}

#[test]
fn a_mod_of_which_the_game_sees_nothing_has_the_reason() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let mods = "home/mo2/mods";
    let source = world.instance(
        &["On", "Nested", "Missing", "Hidden", "Below", "On_backup"],
        &[
            (&format!("{mods}/On/textures/a.dds"), ""),
            (&format!("{mods}/On/textures/b.dds.mohidden"), ""),
            (&format!("{mods}/On/Meshes.mohidden/c.nif"), ""),
            (&format!("{mods}/Below/textures/a.dds"), ""),
            (&format!("{mods}/Nested/Data/textures/nested.dds"), ""),
            (&format!("{mods}/Nested/Data/Nested.esp"), ""),
            (&format!("{mods}/Off/textures/off.dds"), ""),
            (&format!("{mods}/Off/Off.esp"), ""),
            (&format!("{mods}/Off/Off.bsa"), ""),
            (&format!("{mods}/On_backup/textures/backup.dds"), ""),
            (&format!("{mods}/Hidden/meshes/x.nif"), ""),
        ],
    );
    let check = |thing: &str, is_there, expected| check(&world, &source, thing, is_there, expected);
    let of_instance = world.run(&["why", &source, "Off.esp"]);
    assert_eq!(of_instance.out, world.run(&["why", "--in", &source, "Off.esp"]).out);
    check("on", true, ("there", "On", "1 of its files win, and 0 are hidden"));
    check("Below", false, ("hidden", "Below", "its only file, textures/a.dds, loses to "));
    check("Off", false, ("mo2-mod-off", "Off", "off in the profile \"Default\""));
    check("Missing", false, ("mo2-mod-missing", "Missing", "does not contain it"));
    check("On_backup", false, ("mo2-mod-off", "On_backup", "for a backup"));
    check("Nested", false, ("mo2-mod-nested", "Nested", "subfolder \"Data\""));
    check("textures/nested.dds", false, ("mo2-mod-nested", "Nested", "\"Data\""));
    check("Nested.esp", false, ("mo2-mod-nested", "Nested", "\"Data\""));
    check("textures/off.dds", false, ("mo2-mod-off", "off.dds", "turn it on"));
    check("misc/off.bsa.txt", false, ("mo2-mod-off", "Off.bsa", "this archive has the file"));
    check("Off.esp", false, ("mo2-mod-off", "Off.esp", "turn it on"));
    check("textures/B.dds", false, ("mo2-hidden", "b.dds.mohidden", "unhide"));
    check("meshes/c.nif", false, ("mo2-hidden", "Meshes.mohidden", "unhide"));
    check("textures/backup.dds", false, ("mo2-mod-off", "backup.dds", "for a backup"));
}

#[test]
fn needs_of_a_mod_names_what_the_game_does_not_load_of_it() {
    let world = SmallWorld::new(
        &FALLOUT4,
        &[
            ("my/Fallout4.ini", "[Archive]\nSResourceArchiveList=A.ba2\nsResourceDataDirsFinal=STRINGS\\\n"),
            ("Data/A.ba2", ""),
        ],
    );
    let mods = "home/mo2/mods";
    let source = world.instance(&["Packed"], &[(&format!("{mods}/Packed/Other.ba2"), "")]);
    let cases = [(&*source, "Packed", "Other.ba2", "plugin"), (&*source, "Other.ba2", "Other.ba2", "plugin")];
    for (source, of, place, why) in cases {
        for more in [&[][..], &["--json"]] {
            let found = world.run(&[&["needs", source, "--of", of], more].concat());
            let is_said = found.err.contains(&format!("{place}: not looked at: ")) && found.err.contains(why);
            assert_eq!((found.code, is_said), (1, true), "{of}: {found:?}");
            assert_eq!(found.out.contains("not_looked_at"), !more.is_empty(), "{found:?}");
        }
    }
    assert_eq!(world.run(&["needs", "fallout4", "--of", "A.ba2"]).code, 0);
}

#[test]
fn a_file_that_is_left_out_or_ignored_has_the_reason() {
    let world = SmallWorld::new(
        &FALLOUT4,
        &[
            ("my/Fallout4.ini", "[Archive]\nSResourceArchiveList=A.ba2\nsResourceDataDirsFinal=STRINGS\\\n"),
            ("Data/A.ba2", ""),
            ("Data/misc/loose.txt", "loose"),
            ("Data/textures/real.dds", ""),
        ],
    );
    std::os::unix::fs::symlink("nowhere", world.installed.path("Data/strings")).unwrap();
    let check = |thing: &str, expected| check(&world, "fallout4", thing, false, expected);
    check("misc/loose.txt", ("loose-disabled", "loose.txt", "bInvalidateOlderFiles=1"));
    check("Strings/a.strings", ("link-dangling", "strings", "target of the link"));
}

#[test]
fn settings_in_a_file_that_the_game_does_not_read_have_the_reason() {
    let world = SmallWorld::new(
        &STARFIELD,
        &[("Starfield.ini", ""), ("my/StarfieldPrefs.ini", ""), ("my/Starfield.ini", "[Archive]\n")],
    );
    let (is_there, reasons) = answer(&world, "starfield", "starfield.ini");
    assert!(is_there, "{reasons:?}");
    let unread = &reasons[1];
    assert_eq!((&*unread.0, &*unread.1), ("settings-ignored", "Starfield.ini"));
    assert!(
        unread.2.contains("does not read this file") && unread.2.contains("StarfieldPrefs.ini"),
        "{unread:?}"
    );
    check(&world, "starfield", "StarfieldCustom.ini", false, ("not-found", "StarfieldCustom.ini", ""));
}

#[test]
fn a_path_in_a_mount_and_the_only_game_need_no_source() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", ""), ("Data/Nobody.bsa", "")]);
    let why = |thing: &str| {
        let mut command = world.dir.bsafs(["why", thing]);
        command.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
        run(command.env("HOME", &world.installed.home))
    };
    let mount = world.mount("skyrimse");
    for thing in ["mnt/misc/nobody.bsa.txt", "misc/nobody.bsa.txt"] {
        let answer = why(thing);
        assert_eq!(answer.code, 1, "{answer:?}");
        let first = format!("skyrimse: {thing} is not in the game\n  not loaded  Data/Nobody.bsa");
        assert!(answer.out.starts_with(&first), "{answer:?}");
    }
    mount.umount(&world.dir);
}

#[test]
fn a_path_on_the_disk_means_the_file_in_the_tree() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", ""),
            ("local/Plugins.txt", "Off.esp\n"),
            ("Data/Off.esp", ""),
            ("Data/Nobody.bsa", ""),
            ("Data/textures/real.dds", ""),
        ],
    );
    let path = |name: &str| world.installed.path(name).to_str().unwrap().to_owned();
    let game = |thing: &str, is_there, expected| check(&world, "skyrimse", &path(thing), is_there, expected);
    game("Data/textures/real.dds", true, ("there", "Data", "textures/real.dds is from here"));
    game("Data/Off.esp", false, ("plugin-inactive", "Off.esp", "is off in "));
    game("Data/Nobody.bsa", false, ("archive-unlisted", "Nobody.bsa", "no INI file"));
    let mods = "home/mo2/mods";
    let source = world.instance(
        &["On"],
        &[
            (&format!("{mods}/On/textures/a.dds"), ""),
            (&format!("{mods}/Off/textures/off.dds"), ""),
            (&format!("{mods}/Off/Off2.esp"), ""),
        ],
    );
    let check = |thing: &str, is_there, expected| check(&world, &source, &path(thing), is_there, expected);
    check("home/mo2/mods/On/textures/a.dds", true, ("there", "On", "textures/a.dds"));
    check("home/mo2/mods/Off/textures/off.dds", false, ("mo2-mod-off", "off.dds", "turn it on"));
    check("home/mo2/mods/Off/Off2.esp", false, ("mo2-mod-off", "Off2.esp", "turn it on"));
    check(&(mods.to_owned() + "/Off"), false, ("mo2-mod-off", "Off", "turn it on"));
    // A link to the folder of the mods.
    std::os::unix::fs::symlink(path(mods), path("home/linked")).unwrap();
    check("home/linked/Off/textures/off.dds", false, ("mo2-mod-off", "off.dds", "turn it on"));
}

#[test]
fn files_of_a_mod_and_of_its_archive_are_counted_together() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let mods = "home/mo2/mods";
    let source = world.instance(
        &["Patch", "Weapons", "Nested"],
        &[
            ("home/mo2/profiles/Default/plugins.txt", "*Weapons.esp\r\n"),
            (&format!("{mods}/Weapons/Weapons.esp"), ""),
            (&format!("{mods}/Weapons/Weapons.bsa"), ""),
            (&format!("{mods}/Weapons/textures/sword.dds"), ""),
            (&format!("{mods}/Patch/misc/weapons.bsa.txt"), ""),
            (&format!("{mods}/Nested/Data/textures/nested.dds"), ""),
        ],
    );
    check(&world, &source, "Weapons", true, ("there", "Weapons", "its files win, and 1 is hidden"));
    let (_, reasons) = answer(&world, &source, "Weapons");
    assert!(reasons[0].2.contains("(misc/weapons.bsa.txt, hidden by "), "{reasons:?}");
    assert!(reasons[0].2.ends_with("/Patch)"), "{reasons:?}");
    // A mod of which the game sees nothing has no files that win.
    let (is_there, reasons) = answer(&world, &source, "Nested");
    let codes: Vec<&str> = reasons.iter().map(|it| &*it.0).collect();
    assert_eq!((is_there, &codes[..]), (false, &["mo2-mod-nested"][..]), "{reasons:?}");
}

#[test]
fn a_name_without_a_folder_or_an_ending_is_found() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", ""),
            ("local/Plugins.txt", ""),
            ("Data/MyQuest.esp", ""),
            ("Data/Nobody.bsa", ""),
            ("Data/textures/real.dds", ""),
        ],
    );
    let mods = "home/mo2/mods";
    let source = world.instance(
        &["On"],
        &[
            (&format!("{mods}/Off/textures/armor/gold.dds"), ""),
            (&format!("{mods}/On/textures/sword.dds.mohidden"), ""),
            (&format!("{mods}/On/meshes.mohidden/sword.nif"), ""),
        ],
    );
    let check = |thing: &str, is_there, expected| check(&world, &source, thing, is_there, expected);
    check("Gold.dds", false, ("mo2-mod-off", "gold.dds", "turn it on"));
    check("sword.dds", false, ("mo2-hidden", "sword.dds.mohidden", "unhide"));
    check("sword.nif", false, ("mo2-hidden", "meshes.mohidden", "unhide"));
    check("nobody.bsa.txt", false, ("archive-unlisted", "Nobody.bsa", "has misc/nobody.bsa.txt"));
    check("myquest", false, ("plugin-inactive", "MyQuest.esp", "turn it on"));
    check("NOBODY", false, ("archive-unlisted", "Nobody.bsa", "no INI file"));
    check("Data/Textures", true, ("folder", "textures", "a folder of the game"));
    check("neither", false, ("not-found", "neither", "nothing of this name"));
}

#[test]
fn hidden_plugins_and_archives_and_dangling_links_have_the_reason() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[("my/Skyrim.ini", ""), ("local/Plugins.txt", "*Dead.esp\n"), ("Data/Dead.esp.txt", "")],
    );
    for name in ["Dead.esp", "Dead.bsa"] {
        std::os::unix::fs::symlink("/nowhere", world.installed.path(&format!("Data/{name}"))).unwrap();
        check(&world, "skyrimse", name, false, ("link-dangling", name, "target of the link"));
    }
    let mods = "home/mo2/mods";
    let source = world.instance(
        &["Armor"],
        &[
            ("home/mo2/profiles/Default/plugins.txt", "*Armor.esp\r\n"),
            (&format!("{mods}/Armor/Armor.esp.mohidden"), ""),
            (&format!("{mods}/Armor/Tex.bsa.mohidden"), ""),
            (&format!("{mods}/Armor/meshes/a.nif"), ""),
        ],
    );
    check(&world, &source, "Armor.esp", false, ("mo2-hidden", "Armor.esp.mohidden", "unhide"));
    check(&world, &source, "Tex.bsa", false, ("mo2-hidden", "Tex.bsa.mohidden", "unhide"));
    let (is_there, reasons) = answer(&world, &source, "Armor");
    assert!(
        is_there && reasons.iter().any(|it| it.0 == "mo2-hidden" && it.2.contains("2 files")),
        "{reasons:?}"
    );
}

#[test]
fn an_archive_without_a_plugin_names_the_plugin_that_it_may_belong_to() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", ""),
            ("local/Plugins.txt", "*On.esp\n*Gone.esp\nOff.esp\n"),
            ("Data/On.esp", ""),
            ("Data/On-Textures.bsa", ""),
            ("Data/On - Meshes.bsa", ""),
            ("Data/Gone.bsa", ""),
            ("Data/Off.esp", ""),
            ("Data/Off - Extra.bsa", ""),
            ("Data/Nobody.bsa", ""),
        ],
    );
    let check = |thing: &str, text| {
        check(&world, "skyrimse", thing, false, ("archive-unlisted", thing, text));
    };
    check("On-Textures.bsa", "the game loads no archive of On.esp with this ending");
    check("On - Meshes.bsa", "the game loads no archive of On.esp with this ending");
    check("Gone.bsa", "its plugin Gone.esp is missing");
    check("Off - Extra.bsa", "its plugin Off.esp is not active");
    check("Nobody.bsa", "it belongs to no plugin");
    let source = world.instance(
        &["Armor"],
        &[
            ("home/mo2/profiles/Default/plugins.txt", "*Armor.esp\r\n"),
            ("home/mo2/mods/Armor/Armor.esp.mohidden", ""),
            ("home/mo2/mods/Armor/Armor.bsa", ""),
            ("home/mo2/mods/Off/Nobody.esp", ""),
        ],
    );
    for (thing, text) in
        [("Armor", "hidden in Mod Organizer"), ("Nobody", "Nobody.esp is in a mod that is off")]
    {
        let (_, reasons) = answer(&world, &source, &format!("{thing}.bsa"));
        assert!(reasons[0].2.contains(text), "{reasons:?}");
    }
}

#[test]
fn an_ini_file_that_lists_an_archive_in_vain_is_named() {
    let list = "[Archive]\nsResourceArchiveList2=";
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            (
                "my/Skyrim.ini",
                "[Archive]\nsResourceArchiveList=\nsResourceArchiveList2=\nsList=P5.bsa\n[Archives]\n\
                 sResourceArchiveList2=A.bsa, P1.bsa\n",
            ),
            ("Data/P1.bsa", ""),
            ("Data/P2.bsa", ""),
            ("Data/P3.bsa", ""),
            ("Data/P4.bsa", ""),
            ("Data/P5.bsa", ""),
            ("Data/Other.ini", &format!("{list}P2.bsa\n")),
            (
                "home/.wine/drive_c/users/anna/Documents/My Games/Skyrim Special Edition/Skyrim.ini",
                &format!("{list}P3.bsa\n"),
            ),
        ],
    );
    fs::write(world.installed.folder.join("Skyrim.ini"), format!("{list}P4.bsa\n")).unwrap();
    let check = |thing: &str, text| {
        check(&world, "skyrimse", thing, false, ("archive-unlisted", thing, text));
    };
    check("P1.bsa", "lists it in [Archives], but the game reads [Archive]");
    check("P2.bsa", "Data/Other.ini lists it, but the game does not read that file; it reads ");
    check(
        "P3.bsa",
        "anna/Documents/My Games/Skyrim Special Edition/Skyrim.ini lists it, but the game does not",
    );
    check("P4.bsa", "/Skyrim.ini lists it, but the game does not read that file");
    check("P5.bsa", "lists it as sList, which the game does not read");
    let (_, reasons) = answer(&world, "skyrimse", "misc/p2.bsa.txt");
    assert!(reasons[0].2.starts_with("this archive has the file, but is not loaded: "), "{reasons:?}");

    let world = SmallWorld::new(&MORROWIND, &[]);
    let inis = "[Archives]\nArchive 0=A.bsa\nArchive 2=B.bsa\n";
    fs::write(world.installed.folder.join("Morrowind.exe"), "").unwrap();
    fs::write(world.installed.folder.join("Morrowind.ini"), inis).unwrap();
    for name in ["A.bsa", "B.bsa"] {
        fs::write(world.installed.folder.join("Data Files").join(name), "").unwrap();
    }
    let (_, reasons) = answer(&world, "morrowind", "B.bsa");
    let text = "lists it as Archive 2, but there is no Archive 1, and the game stops there";
    assert!(reasons[0].2.contains(text), "{reasons:?}");
}

#[test]
fn a_file_in_one_of_two_folders_that_differ_in_case_has_the_reason() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", ""),
            ("Data/textures/armor/gold.dds", ""),
            ("Data/textures/Armor/silver.dds", ""),
            ("Data/textures/one/a.dds", ""),
        ],
    );
    for (thing, folder) in [("gold", "armor"), ("silver", "Armor")] {
        let (is_there, reasons) = answer(&world, "skyrimse", &format!("textures/armor/{thing}.dds"));
        assert!(is_there, "{reasons:?}");
        assert_eq!((&*reasons[1].0, &*reasons[1].1), ("folder-case", folder), "{reasons:?}");
    }
    assert_eq!(answer(&world, "skyrimse", "textures/one/a.dds").1.len(), 1);
    // Another folder beside the data folder itself.
    let beside = world.installed.folder.join("data");
    fs::create_dir_all(beside.join("textures")).unwrap();
    fs::write(beside.join("textures/x.dds"), "").unwrap();
    for name in ["Lower.esp", "Lower.bsa"] {
        fs::write(beside.join(name), "").unwrap();
    }
    for (thing, subject) in
        [("textures/x.dds", "x.dds"), ("Lower.esp", "Lower.esp"), ("Lower.bsa", "Lower.bsa")]
    {
        check(&world, "skyrimse", thing, false, ("folder-case", subject, "and not this folder"));
    }
}

#[test]
fn a_cut_off_archive_is_told_for_the_files_that_it_concerns() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", ""),
            ("local/Plugins.txt", "*On.esp\n*Broken.esp\n"),
            ("Data/On.esp", ""),
            ("Data/Broken.esp", ""),
            ("Data/On.bsa", ""),
        ],
    );
    fs::write(world.installed.path("Data/Broken.bsa"), "BSA\0cut").unwrap();
    let archive = world.installed.path("Data/On.bsa");
    let bytes = fs::read(&archive).unwrap();
    fs::write(&archive, &bytes[..bytes.len() - 1]).unwrap();
    let finished = world.run(&["why", "--in", "skyrimse", "misc/on.bsa.txt", "misc/shared.txt"]);
    assert_eq!(finished.err, "", "warnings about other archives: {finished:?}");
    // It may have the file, too, and would win.
    assert_eq!(finished.out.matches("not loaded  Data/Broken.bsa").count(), 2, "{finished:?}");
    let texts: Vec<String> = ["misc/on.bsa.txt", "misc/shared.txt"]
        .map(|it| {
            answer(&world, "skyrimse", it).1.into_iter().find(|it| it.0 == "archive-cut-off").unwrap().2
        })
        .to_vec();
    let before = world.run(&["why", "skyrimse", "misc/on.bsa.txt", "misc/shared.txt"]);
    assert_eq!(before.out, finished.out, "a game in front of the names is the source");
    let is_cut: Vec<bool> = texts.iter().map(|it| it.contains("of this file lies beyond the end")).collect();
    assert_eq!(is_cut.iter().filter(|it| **it).count(), 1, "{texts:?}");
}

#[test]
fn names_whose_spellings_differ_in_length_have_a_reason_and_cause_no_panic() {
    let dir = crate::mounted::TestDir::new();
    for folder in ["meshes/über", "meſheſ", "aſ", "as"] {
        std::fs::create_dir_all(dir.path("mod").join(folder)).unwrap();
    }
    for path in ["meshes/über", "aſ", "meſheſ/x.nif"] {
        let answer = dir.run(["why", "--in", "mod", path]);
        assert!(!answer.err.contains("panicked"), "{path}: {answer:?}");
        assert!(answer.code == 0 || answer.code == 1, "{path}: {answer:?}");
    }
}
