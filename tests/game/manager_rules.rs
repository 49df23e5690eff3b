//! Rules of Mod Organizer 2 and OpenMW, each in a small home folder: what `bsafs order` prints, and what a
//! mount shows.

use super::small_world::{ENDERALSE, MORROWIND, REMASTERED, SKYRIMSE, SmallWorld};

#[test]
fn a_mod_named_ini_backup_is_mounted_and_a_backup_of_a_mod_is_not() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let source = world.instance(
        &["Foo_backup2", "INI Backup", "Foo"],
        &[
            ("home/mo2/mods/Foo/textures/a.dds", "Foo"),
            ("home/mo2/mods/Foo_backup2/textures/a.dds", "Foo_backup2"),
            ("home/mo2/mods/INI Backup/textures/b.dds", "INI Backup"),
        ],
    );
    assert_eq!(world.order(&source).layers(), ["Data", "Foo", "INI Backup"]);
    let mount = world.mount(&source);
    assert_eq!(mount.read("textures/a.dds"), b"Foo");
    assert_eq!(mount.read("textures/b.dds"), b"INI Backup");
    mount.umount(&world.dir);
}

#[test]
fn a_tweak_that_mod_organizer_only_stores_does_not_hide_the_textures_of_skyrim() {
    let lists = "[Archive]\nsResourceArchiveList=A.bsa\nsResourceArchiveList2=B.bsa\n";
    let world =
        SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", lists), ("Data/A.bsa", ""), ("Data/B.bsa", "")]);
    let tweaks = "home/mo2/profiles/Default/initweaks.ini";
    let source = world.instance(
        &[],
        &[
            LOCAL_SETTINGS,
            ("home/mo2/profiles/Default/skyrim.ini", lists),
            (tweaks, "[Archive]\nsResourceArchiveList2=\nbInvalidateOlderFiles=1\n"),
        ],
    );
    let order = world.order(&source);
    assert_eq!(order.layers(), ["A.bsa", "B.bsa", "Data"]);
    assert_eq!(order.notes("settings-ignored"), ["initweaks.ini"]);
    let mount = world.mount(&source);
    assert_eq!(mount.read("misc/shared.txt"), b"B.bsa");
    mount.umount(&world.dir);
    world.write(&[(tweaks, "[Archive]\nbInvalidateOlderFiles=1\n")]);
    assert_eq!(world.order(&source).notes("settings-ignored"), [""; 0]);
}

#[test]
fn only_the_data_folder_of_a_mod_is_shown_in_oblivion_remastered() {
    let world = SmallWorld::new(&REMASTERED, &[]);
    let source = world.instance(
        &["Textures", "Paks only", "Misplaced"],
        &[
            ("home/mo2/mods/Textures/data/textures/a.dds", "Textures"),
            ("home/mo2/mods/Textures/data/readme.txt", "in the data folder"),
            ("home/mo2/mods/Textures/meta.ini", ""),
            ("home/mo2/mods/Paks only/Paks/~mods/a.pak", ""),
            ("home/mo2/mods/Misplaced/Misplaced.esp", ""),
            ("home/mo2/overwrite/Data/textures/a.dds", "overwrite"),
            ("home/mo2/overwrite/UE4SS/mods.txt", ""),
        ],
    );
    let order = world.order(&source);
    assert_eq!(order.layers(), ["Data", "data", "Data"]);
    assert_eq!(order.notes("loose-disabled"), ["Misplaced.esp"]);
    let mount = world.mount(&source);
    assert_eq!(mount.read("textures/a.dds"), b"overwrite");
    assert_eq!(mount.read("readme.txt"), b"in the data folder");
    assert!(["data", "Paks", "UE4SS", "meta.ini", "Misplaced.esp"].iter().all(|it| !mount.join(it).exists()));
    mount.umount(&world.dir);
}

/// Settings of a profile that make Mod Organizer use the profile's INI files.
const LOCAL_SETTINGS: (&str, &str) =
    ("home/mo2/profiles/Default/settings.ini", "[General]\nLocalSettings=true\n");

#[test]
fn an_ini_file_that_mod_organizer_does_not_know_stays_in_my_games() {
    let lists = "[Archive]\nsResourceArchiveList=A.bsa\nsResourceArchiveList2=\n";
    let archives = ["A.bsa", "Main.bsa", "Custom.bsa", "Profile.bsa"].map(|name| format!("Data/{name}"));
    let world = SmallWorld::new(&ENDERALSE, &archives.each_ref().map(|path| (path.as_str(), "")));
    let custom = |name: &str| format!("[Archive]\nsResourceArchiveList2={name}\n");
    world.write(&[("my/Enderal.ini", &custom("Main.bsa")), ("my/EnderalCustom.ini", &custom("Custom.bsa"))]);
    let profile = "home/mo2/profiles/Default";
    let files = [
        LOCAL_SETTINGS,
        (&format!("{profile}/enderal.ini"), lists),
        (&format!("{profile}/enderalcustom.ini"), &custom("Profile.bsa")),
    ];
    let source = world.instance(&[], &files);
    assert_eq!(world.order(&source).layers(), ["A.bsa", "Custom.bsa", "Data"]);
}

#[test]
fn a_profile_of_oblivion_remastered_has_its_own_oblivion_ini() {
    let data = "OblivionRemastered/Content/Dev/ObvData";
    let list = |name: &str| format!("[Archive]\nsArchiveList={name}\n");
    let world = SmallWorld::new(&REMASTERED, &[]);
    world.write(&[
        (&format!("{data}/Oblivion.ini"), &list("Game.bsa")),
        (&format!("{data}/Data/Game.bsa"), ""),
        (&format!("{data}/Data/Profile.bsa"), ""),
    ]);
    let own = "home/mo2/profiles/Default/oblivion.ini";
    let source = world.instance(&[], &[LOCAL_SETTINGS, (own, &list("Profile.bsa"))]);
    assert_eq!(world.order(&source).layers(), ["Data", "Profile.bsa"]);
    std::fs::remove_file(world.installed.path(own)).unwrap();
    let order = world.order(&source);
    assert_eq!(order.layers(), ["Data", "Game.bsa"], "Mod Organizer copies a file that the profile lacks");
}

#[test]
fn a_profile_whose_settings_do_not_say_so_has_its_own_ini_files() {
    let list = |name: &str| format!("[Archive]\nsResourceArchiveList={name}\nsResourceArchiveList2=\n");
    let world = SmallWorld::new(&SKYRIMSE, &[("Data/Own.bsa", ""), ("Data/Game.bsa", "")]);
    let own = ("home/mo2/profiles/Default/skyrim.ini", &*list("Own.bsa"));
    let source = world.instance(&[], &[own, ("my/Skyrim.ini", &list("Game.bsa"))]);
    assert_eq!(world.order(&source).layers(), ["Own.bsa", "Data"]);
    for (value, loaded) in [("", "Own.bsa"), ("LocalSettings=false", "Game.bsa")] {
        let text = format!("[General]\nLocalSaves=false\n{value}\n");
        world.write(&[("home/mo2/profiles/Default/settings.ini", &text)]);
        assert_eq!(world.order(&source).layers(), [loaded, "Data"], "{value}");
    }
}

/// Writes the settings of an instance. `lines` are those of its section `[Settings]`.
fn moved(world: &SmallWorld, game: &str, lines: &str) {
    let ini = format!(
        "[General]\nselected_profile=Default\ngameName=Skyrim Special Edition\ngamePath=@ByteArray({game})\n\
         [Settings]\n{lines}\n"
    );
    world.write(&[("home/mo2/ModOrganizer.ini", &ini)]);
}

/// What bsafs prints if it cannot plan.
fn refused(world: &SmallWorld, arguments: &[&str]) -> String {
    let finished = world.run(arguments);
    assert_eq!((finished.code, &*finished.out), (66, ""), "{}", finished.err);
    finished.err
}

#[test]
fn a_base_directory_that_is_gone_is_named_and_the_advice_leads_on() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let instance = world.instance(&["Mod"], &[("home/mo2/mods/Mod/textures/a.dds", "")]);
    let game = format!("Z:{}", world.installed.folder.display()).replace('/', "\\\\");
    // The profiles came with the instance, whether or not the drive is known.
    for base in ["Z:/run/media/OLD/Modding", "D:/Modding/MO2", "/run/media/OLD/mo2"] {
        moved(&world, &game, &format!("base_directory={base}"));
        let err = refused(&world, &["order", &instance]);
        assert!(err.contains(&format!("(base_directory={base} in ")), "{err}");
        assert!(err.contains("home/mo2/profiles has the profile, so remove this line"), "{err}");
        moved(&world, &game, "");
        assert_eq!(world.order(&instance).layers(), ["Data", "Mod"]);
    }
    // They are in a folder whose path ends alike.
    for profiles in ["profiles_directory", "base_directory"] {
        let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
        let instance = world.instance(&[], &[("home/Lists/profiles/Default/modlist.txt", "")]);
        std::fs::remove_dir_all(world.installed.path("home/mo2/profiles")).unwrap();
        if profiles == "profiles_directory" {
            moved(&world, &game, "profiles_directory=/gone/profiles");
            let err = refused(&world, &["order", &instance]);
            assert!(err.contains("/gone/profiles, does not exist (profiles_directory="), "{err}");
            assert!(err.contains("correct this line, or mount the disk"), "{err}");
            continue;
        }
        moved(&world, &game, "base_directory=E:\\\\Old\\\\Lists");
        let err = refused(&world, &["order", &instance]);
        let advice = err.trim_end().rsplit("so write ").next().unwrap();
        assert!(advice.starts_with("base_directory=Z:/") && advice.ends_with("/home/Lists"), "{err}");
        moved(&world, &game, advice);
        assert_eq!(world.order(&instance).layers(), ["Data"]);
    }
}

#[test]
fn a_list_of_no_profiles_is_never_printed() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let instance = world.instance(&[], &[]);
    let default = world.installed.path("home/mo2/profiles/Default");
    std::fs::remove_dir_all(&default).unwrap();
    world.write(&[("home/mo2/profiles/a file", "")]);
    let err = refused(&world, &["order", &instance]);
    assert!(err.contains("home/mo2/profiles, has none"), "{err}");
    world.write(&[("home/mo2/profiles/Other/modlist.txt", "")]);
    let err = refused(&world, &["order", &instance]);
    assert!(
        err.trim_end().ends_with("no profile \"Default\"; give another one with --mo2-profile: \"Other\""),
        "{err}"
    );
    assert_eq!(world.order_with(&["--mo2-profile", "Other", &instance]).layers(), ["Data"]);
}

#[test]
fn the_game_of_an_instance_from_windows_is_proposed_and_the_proposal_leads_on() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let instance = world.instance(&["Mod"], &[("home/mo2/mods/Mod/textures/a.dds", "")]);
    let game = world.installed.folder.display().to_string();
    for path in [
        r"D:\\SteamLibrary\\steamapps\\common\\Skyrim Special Edition",
        r"E:\\games\\skyrim special edition",
        r"D:\\Games\\Skyrim",
        r"Z:\\home\\old\\Skyrim Special Edition",
    ] {
        moved(&world, path, "");
        let err = refused(&world, &["order", &instance]);
        let advice = format!("--game-dir '{game}' (Skyrim Special Edition)");
        assert!(err.trim_end().ends_with(&advice), "{path}: {err}");
        assert_eq!(world.order_with(&["--game-dir", &game, &instance]).layers(), ["Data", "Mod"]);
    }
    // A wrong option is the user's own, and no other game is proposed.
    let err = refused(&world, &["order", "--game-dir", "/nonexistent", &instance]);
    assert!(!err.contains("it may be"), "{err}");
}

#[test]
fn a_note_names_the_other_user_of_a_prefix_and_says_why_this_one_is_used() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    assert_eq!(world.order("skyrimse").notes("users-differ"), [""; 0]);
    world.write(&[("my/../../../../nobody/Documents/My Games/Skyrim Special Edition/Skyrim.ini", "")]);
    let order = world.order("skyrimse");
    assert_eq!(order.notes("users-differ"), ["steamuser"]);
    let text = order.texts("users-differ")[0];
    assert!(text.contains("users/nobody (written 2020-09-13)") && text.contains("written last"), "{text}");
    let registry = "[Volatile Environment] 1\n\"USERPROFILE\"=\"C:\\\\users\\\\nobody\"\n";
    world.write(&[("my/../../../../../../user.reg", registry)]);
    let order = world.order("skyrimse");
    assert_eq!(order.notes("users-differ"), ["nobody"]);
    let text = order.texts("users-differ")[0];
    assert!(text.contains("users/steamuser (written") && text.contains("user.reg"), "{text}");
    // An instance with files of its own does not need them.
    let instance = world.instance(&[], &[]);
    assert_eq!(world.order(&instance).notes("users-differ"), [""; 0]);
}

/// The folder of OpenMW's flatpak in the home, and the folder with the user's settings for it.
const FLATPAK: &str = "home/.local/share/flatpak/app/org.openmw.OpenMW/current/active/files";
const OF_FLATPAK: &str = "home/.var/app/org.openmw.OpenMW";

#[test]
fn every_path_in_app_is_found_in_the_flatpak_of_openmw() {
    let world = SmallWorld::new(&MORROWIND, &[("Data Files/textures/rock.dds", "Morrowind")]);
    let data_files = world.installed.path("Data Files");
    let user = format!("data=\"{}\"\ncontent=Morrowind.esm\n", data_files.display());
    world.write(&[
        (
            &format!("{FLATPAK}/etc/openmw/openmw.cfg"),
            "data-local=\"?userdata?data\"\nuser-data=\"?userdata?\"\nconfig=\"?userconfig?\"\n\
             resources=/app/share/games/openmw/resources\ndata=/app/share/games/openmw/resources/vfs-mw\n",
        ),
        (&format!("{FLATPAK}/share/games/openmw/resources/vfs/builtin.omwscripts"), ""),
        (&format!("{FLATPAK}/share/games/openmw/resources/vfs-mw/textures/mw.dds"), "vfs-mw"),
        (&format!("{OF_FLATPAK}/config/openmw/openmw.cfg"), &user),
        (&format!("{OF_FLATPAK}/data/openmw/data/textures/rock.dds"), "local"),
    ]);
    let expected = ["vfs", "vfs-mw", "Data Files", "data"];
    let cfg = world.installed.path(&format!("{OF_FLATPAK}/config/openmw/openmw.cfg"));
    for source in ["openmw", cfg.to_str().unwrap()] {
        let order = world.order(source);
        assert_eq!((order.layers(), order.notes("folder-missing").len()), (expected.to_vec(), 0), "{source}");
    }
    let mount = world.mount("openmw");
    assert_eq!(mount.read("textures/mw.dds"), b"vfs-mw");
    assert_eq!(mount.read("textures/rock.dds"), b"local");
    mount.umount(&world.dir);
}

#[test]
fn settings_for_the_flatpak_of_openmw_suffice_to_find_its_local_data() {
    let world = SmallWorld::new(&MORROWIND, &[]);
    let folder = format!("{OF_FLATPAK}/config/openmw");
    let data_files = world.installed.path("Data Files");
    let text = format!("data={}\n[mods]\ndata=/nonexistent\n", data_files.display());
    world.write(&[
        (&format!("{folder}/openmw.cfg"), &text),
        (&format!("{OF_FLATPAK}/data/openmw/data/a.txt"), ""),
    ]);
    let order = world.order(world.installed.path(&format!("{folder}/openmw.cfg")).to_str().unwrap());
    assert_eq!(order.layers(), ["Data Files", "data"]);
    assert_eq!(order.notes("settings-ignored"), ["openmw.cfg"]);
    assert_eq!(order.notes("folder-missing"), ["openmw.cfg"], "OpenMW's own files are not found");
}

/// Writes OpenMW as Debian installs it, and the user's settings. Returns the path of these.
fn debian(world: &SmallWorld, global: &str, version: Option<&str>) -> String {
    world.write(&[
        ("home/../system/etc/openmw/openmw.cfg", global),
        ("home/../system/usr/games/openmw", ""),
        ("home/../system/usr/share/games/openmw/resources/vfs/builtin.omwscripts", ""),
        ("home/../system/usr/share/games/openmw/data/a.txt", ""),
        ("home/.config/openmw/openmw.cfg", "data=../../../Mine\ncontent=Mine.esm\n"),
        ("home/../Mine/Mine.esm", ""),
    ]);
    if let Some(version) = version {
        world.write(&[("home/../system/etc/openmw/version", version)]);
    }
    world.installed.path("home/.config/openmw/openmw.cfg").to_str().unwrap().to_owned()
}

/// The global settings of Debian's package of 0.47.
const OF_0_47: &str = "data=\"?global?data\"\ndata=?mw?Data Files\ndata-local=\"?userdata?data\"\n\
                       resources=../../usr/share/games/openmw/resources\n";

#[test]
fn the_users_settings_are_read_by_an_openmw_that_knows_no_chain() {
    for (version, confidence, notes) in [(Some("0.47.0\n"), "high", 0), (None, "medium", 1)] {
        let world = SmallWorld::new(&MORROWIND, &[]);
        let cfg = debian(&world, OF_0_47, version);
        let folder = world.installed.path("home/.config/openmw");
        for source in ["openmw", &cfg, folder.to_str().unwrap()] {
            let order = world.order(source);
            assert_eq!(order.layers(), ["vfs", "data", "Mine"], "{version:?}: {source}");
            assert_eq!(order.plugins(), ["builtin.omwscripts", "Mine.esm"]);
            assert_eq!((order.confidence(), order.notes("settings-unreached").len()), (confidence, notes));
            assert_eq!(order.notes("folder-missing"), [""; 0], "?mw? is no folder");
        }
    }
    // It does not know `config=`.
    let world = SmallWorld::new(&MORROWIND, &[("home/../Other/openmw.cfg", "data=.\n")]);
    debian(&world, &format!("{OF_0_47}config=../../../Other\n"), Some("0.47.0"));
    assert_eq!(world.order("openmw").layers(), ["vfs", "data", "Mine"]);
}

#[test]
fn settings_that_a_newer_openmw_does_not_reach_are_read_only_if_the_user_names_them() {
    for (global, version) in [
        (OF_0_47.to_owned(), Some("0.48.0\n")),
        (OF_0_47.to_owned(), Some("1.0.0")),
        (format!("{OF_0_47}config=../../../Other\n"), None),
    ] {
        let world = SmallWorld::new(&MORROWIND, &[("home/../Other/openmw.cfg", "data=.\n")]);
        let cfg = debian(&world, &global, version);
        let order = world.order("openmw");
        assert!(!order.layers().contains(&"Mine"), "{version:?}");
        assert_eq!(order.notes("settings-unreached"), ["openmw.cfg"]);
        assert!(order.texts("settings-unreached")[0].contains("does not read it"));
        let order = world.order(&cfg);
        assert_eq!(order.layers().last(), Some(&"Mine"), "{version:?}");
        assert!(order.texts("settings-unreached")[0].contains("because you named it"));
        assert_eq!(order.confidence(), "medium");
    }
    // With a line that leads there, nothing is odd.
    let world = SmallWorld::new(&MORROWIND, &[]);
    let cfg = debian(&world, &format!("{OF_0_47}config=\"?userconfig?\"\n"), None);
    for source in ["openmw", &cfg] {
        let order = world.order(source);
        assert_eq!((order.layers(), order.confidence()), (vec!["vfs", "data", "Mine"], "high"));
        assert_eq!(order.notes("settings-unreached"), [""; 0]);
    }
}

#[test]
fn a_path_in_the_global_settings_of_openmw_begins_in_the_folder_of_the_program() {
    let world = SmallWorld::new(&MORROWIND, &[]);
    world.write(&[
        ("home/root/etc/openmw/openmw.cfg", "data=?local?own\n"),
        ("home/root/usr/games/openmw", ""),
        ("home/root/usr/games/own/a.txt", ""),
    ]);
    let cfg = world.installed.path("home/root/etc/openmw/openmw.cfg");
    assert_eq!(world.order(cfg.to_str().unwrap()).layers(), ["own"]);
}
