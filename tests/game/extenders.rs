//! What plugins of script extenders add to games, where mods are left so that games do not see them, and
//! games whose unchanged installation is odd.

use super::small_world::{
    FALLOUT3, FALLOUT4_NEXT, FALLOUT4VR, FALLOUTNV, NEHRIM, REMASTERED, SKYRIMSE, SKYRIMVR, SmallWorld,
};

#[test]
fn esl_plugins_are_active_in_vr_only_with_a_plugin_of_the_script_extender() {
    let skyrim = (&SKYRIMVR, "my/SkyrimVR.ini", "Light.bsa", &["SKSE/Plugins/SkyrimVRESL.dll"][..]);
    let plugins = ["f4se/plugins/falloutvresl.dll", "F4SE/Plugins/Daytripper4.dll"];
    let fallout = (&FALLOUT4VR, "my/Fallout4.ini", "Light - Main.ba2", &plugins[..]);
    for (game, ini, archive, plugins) in [skyrim, fallout] {
        let archive_path = format!("Data/{archive}");
        let files = [
            (ini, ""),
            ("local/Plugins.txt", "*Light.esl\n*Full.esp\nOff.esl\n"),
            ("Data/Light.esl", ""),
            ("Data/Off.esl", ""),
            ("Data/Full.esp", ""),
            (&*archive_path, ""),
        ];
        let world = SmallWorld::new(game, &files);
        let order = world.order(game.id);
        assert!(order.plugins().contains(&"Full.esp"), "{}", game.id);
        assert!(!order.plugins().contains(&"Light.esl") && !order.layers().contains(&archive), "{}", game.id);
        assert_eq!(order.notes("plugin-ignored"), ["Light.esl"]);
        assert!(order.texts("plugin-ignored")[0].contains(".dll), which is not there"), "{}", game.id);
        assert_eq!(
            (order.notes("plugin-missing").len(), order.notes("archive-inactive")),
            (0, vec![archive])
        );
        for plugin in plugins {
            let world = SmallWorld::new(game, &files);
            world.write(&[(&format!("Data/{plugin}"), "")]);
            let order = world.order(game.id);
            assert!(order.plugins().contains(&"Light.esl") && order.layers().contains(&archive), "{plugin}");
            assert_eq!(order.notes("plugin-ignored"), [""; 0]);
        }
    }
    // A mod may bring it, and other games need none.
    let files = [("my/SkyrimVR.ini", ""), ("Data/Light.esl", "")];
    let world = SmallWorld::new(&SKYRIMVR, &files);
    let dll = ("home/mo2/mods/ESL/SKSE/Plugins/skyrimvresl.dll", "");
    let instance =
        world.instance(&["ESL"], &[dll, ("home/mo2/profiles/Default/plugins.txt", "*Light.esl\n")]);
    assert!(world.order(&instance).plugins().contains(&"Light.esl"));
    let files = [("my/Skyrim.ini", ""), ("local/Plugins.txt", "*Light.esl\n"), ("Data/Light.esl", "")];
    assert!(SmallWorld::new(&SKYRIMSE, &files).order("skyrimse").plugins().contains(&"Light.esl"));
}

#[test]
fn the_custom_ini_of_the_older_fallouts_is_read_only_with_a_plugin_of_the_script_extender() {
    for (game, plugin) in
        [(&FALLOUT3, "fose/Plugins/commandextender.dll"), (&FALLOUTNV, "NVSE/plugins/JIP_NVSE.dll")]
    {
        let world = SmallWorld::new(
            game,
            &[
                ("my/Fallout.ini", "[Archive]\nSArchiveList=A.bsa\n"),
                ("my/FalloutCustom.ini", "[Archive]\nsArchiveList=B.bsa\n"),
                ("Data/A.bsa", ""),
                ("Data/B.bsa", ""),
            ],
        );
        let order = world.order(game.id);
        assert_eq!(order.layers(), ["A.bsa", "Data"], "{}", game.id);
        assert_eq!(order.notes("settings-ignored"), ["FalloutCustom.ini"]);
        assert!(order.texts("settings-ignored")[0].contains("so sArchiveList has no effect"));
        world.write(&[(&format!("Data/{plugin}"), "")]);
        let order = world.order(game.id);
        assert_eq!((order.layers(), order.notes("settings-ignored").len()), (vec!["B.bsa", "Data"], 0));
        // What changes nothing needs no note.
        let world =
            SmallWorld::new(game, &[("my/Fallout.ini", ""), ("my/FalloutCustom.ini", "[Display]\nx=1\n")]);
        assert_eq!(world.order(game.id).notes("settings-ignored"), [""; 0]);
    }
}

#[test]
fn a_fallout_4_before_the_update_does_not_load_its_archives_without_a_plugin() {
    let files = [
        ("my/Fallout4.ini", "[Archive]\nsResourceArchiveList=New.ba2\n"),
        ("local/Plugins.txt", ""),
        ("Data/New.ba2", ""),
    ];
    for (more, is_noted) in [
        (&["f4se_1_10_163.dll"][..], true),
        (&["F4SE_1_10_130.dll", "f4se_1_10_163.dll", "f4se_loader.exe"], true),
        (&["f4se_1_10_163.dll", "f4se_1_11_191.dll"], false),
        (&["f4se_1_10_984.dll"], false),
        (&["f4se_1_10_163.dll", "Data/F4SE/Plugins/BackportedBA2Support.dll"], false),
        (&["f4se_loader.exe"], false),
    ] {
        let world = SmallWorld::new(&FALLOUT4_NEXT, &files);
        world.write(&more.iter().map(|path| (*path, "")).collect::<Vec<_>>());
        let order = world.order("fallout4");
        assert_eq!(order.notes("archive-version").len(), usize::from(is_noted), "{more:?}");
        assert!(order.layers().contains(&"New.ba2"));
    }
}

#[test]
fn the_folder_of_a_mod_in_the_data_folder_is_noted_with_advice_that_breaks_nothing() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", ""),
            ("Data/My Mod/My Mod.esp", ""),
            ("Data/Packed/Data/meshes/a.nif", ""),
            ("Data/Archive/My.bsa", ""),
            ("Data/Retexture/Textures/a.dds", ""),
            ("Data/skse64_2_02_06/skse64_loader.exe", ""),
            ("Data/skse64_2_02_06/Data/Scripts/a.pex", ""),
            ("Data/Root/skse64_loader.exe", ""),
            // None of these is for the data folder itself.
            ("Data/SKSE/Plugins/a.dll", ""),
            ("Data/Source/Scripts/a.psc", ""),
            ("Data/Docs/readme.txt", ""),
            ("Data/Tools/tool.exe", ""),
            ("Data/textures/textures/a.dds", ""),
        ],
    );
    let order = world.order("skyrimse");
    let expected = ["Archive", "My Mod", "Packed", "Retexture", "Root", "skse64_2_02_06"];
    assert_eq!(order.notes("mod-nested"), expected);
    let game = world.installed.folder.display().to_string();
    for (name, text) in expected.iter().zip(order.texts("mod-nested")) {
        assert!(text.contains(&format!("in the folder Data/{name}; ")), "{text}");
        let advice = match *name {
            "Root" => format!("into {game}, beside the game's program"),
            "skse64_2_02_06" => format!("skse64_loader.exe, so put its contents into {game}, and not"),
            _ => format!("move its contents up, into {game}/Data"),
        };
        assert!(text.contains(&advice), "{text}");
    }
    // Followed, the advice leads on.
    std::fs::rename(world.installed.path("Data/Packed/Data/meshes"), world.installed.path("Data/meshes"))
        .unwrap();
    assert!(!world.order("skyrimse").notes("mod-nested").contains(&"Packed"));
}

#[test]
fn what_root_builder_puts_into_the_data_folder_is_shown_below_all_mods() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let skse = "home/mo2/mods/SKSE/Root";
    let instance = world.instance(
        &["SKSE", "Other"],
        &[
            (&format!("{skse}/skse64_loader.exe"), ""),
            (&format!("{skse}/Data/Scripts/a.pex"), "SKSE"),
            (&format!("{skse}/Data/Scripts/b.pex"), "SKSE"),
            ("home/mo2/mods/Other/Scripts/a.pex", "Other"),
        ],
    );
    // Without Root Builder, the advice must not move programs into the data folder.
    let order = world.order(&instance);
    assert_eq!(order.notes("mo2-mod-nested"), ["SKSE"]);
    let text = order.texts("mo2-mod-nested")[0];
    assert!(text.contains("Root Builder is not installed") && !text.contains("move them up"), "{text}");
    std::fs::create_dir_all(world.installed.path("home/mo2/plugins/rootbuilder")).unwrap();
    let order = world.order(&instance);
    assert_eq!(order.layers(), ["Data", "Data", "Other", "SKSE"]);
    assert_eq!((order.notes("mo2-mod-nested").len(), order.notes("mo2-root-folder")), (0, vec!["Root"]));
    let mount = world.mount(&instance);
    assert_eq!(
        (mount.read("scripts/a.pex"), mount.read("scripts/b.pex")),
        (b"Other".to_vec(), b"SKSE".to_vec())
    );
    assert!(!mount.join("Root").exists());
    mount.umount(&world.dir);
}

#[test]
fn a_script_extender_that_is_a_mod_as_it_was_packed_is_not_moved_into_the_data_folder() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let folder = "home/mo2/mods/SKSE/skse64_2_02_06";
    let files =
        [(&*format!("{folder}/skse64_1_6_1170.dll"), ""), (&*format!("{folder}/Data/Scripts/a.pex"), "")];
    let instance = world.instance(&["SKSE"], &files);
    let order = world.order(&instance);
    let text = order.texts("mo2-mod-nested")[0];
    assert!(text.contains("skse64_1_6_1170.dll") && text.contains("not into the data folder"), "{text}");
}

#[test]
fn a_portable_nehrim_reads_the_list_in_its_folder_also_under_mod_organizer() {
    let world = SmallWorld::new(
        &NEHRIM,
        &[
            ("Oblivion.ini", "[General]\nbUseMyGamesDirectory=0\n[Archive]\nSArchiveList=\n"),
            ("Plugins.txt", "Nehrim.esm\nOwn.esp\n"),
            ("Data/Own.esp", ""),
            ("Data/Profile.esp", ""),
        ],
    );
    let instance =
        world.instance(&[], &[("home/mo2/profiles/Default/plugins.txt", "Nehrim.esm\nProfile.esp\n")]);
    let order = world.order(&instance);
    assert_eq!(order.plugins(), ["Nehrim.esm", "Own.esp"]);
    assert_eq!(order.notes("settings-ignored"), ["plugins.txt"]);
    // Without that line, the list of the profile counts.
    world.write(&[("Oblivion.ini", "[General]\n")]);
    let order = world.order(&instance);
    assert_eq!(
        (order.plugins(), order.notes("settings-ignored").len()),
        (vec!["Nehrim.esm", "Profile.esp"], 0)
    );
}

#[test]
fn an_unchanged_oblivion_remastered_has_no_note() {
    let data = "OblivionRemastered/Content/Dev/ObvData";
    let world = SmallWorld::new(
        &REMASTERED,
        &[
            (&format!("{data}/Oblivion.ini"), "[Archive]\nSArchiveList=Oblivion - Misc.bsa\n"),
            (
                &format!("{data}/Data/Plugins.txt"),
                "Oblivion.esm\nKnights.esp\nAltarESPMain.esp\nAltarDeluxe.esp\nAltarESPLocal.esp\n",
            ),
            (&format!("{data}/Data/Oblivion - Misc.bsa"), ""),
            (&format!("{data}/Data/Knights.esp"), ""),
            (&format!("{data}/Data/Knights.bsa"), ""),
            (&format!("{data}/Data/AltarESPMain.esp"), ""),
            (&format!("{data}/Data/AltarDeluxe.esp"), ""),
            (&format!("{data}/Data/AltarGymNavigation.esp"), ""),
            ("OblivionRemastered/Content/Paks/OblivionRemastered-Windows.pak", ""),
        ],
    );
    let order = world.order("oblivion-remastered");
    assert_eq!(order.codes(), [""; 0]);
    assert_eq!(order.plugins().len(), 4);
    // A plugin of the user's that is missing is still noted.
    world.write(&[(&format!("{data}/Data/Plugins.txt"), "Oblivion.esm\nAltarESPLocal.esp\nMine.esp\n")]);
    assert_eq!(world.order("oblivion-remastered").notes("plugin-missing"), ["Mine.esp"]);
}

#[test]
fn the_confidence_is_about_what_was_found() {
    let confidence = |world: &SmallWorld, game: &str| {
        let printed = world.bsafs(&["order", game]);
        printed.lines().find_map(|line| line.strip_prefix("confidence  ")).unwrap().to_owned()
    };
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", ""), ("local/Plugins.txt", "")]);
    assert!(confidence(&world, "skyrimse").starts_with("high: no rule"));
    // With one archive, no rule decides between archives.
    let ini = ("my/Fallout.ini", "[Archive]\nSArchiveList=A.bsa, B.bsa\n");
    let world = SmallWorld::new(&FALLOUT3, &[ini, ("Data/A.bsa", "")]);
    assert!(confidence(&world, "fallout3").starts_with("high: "));
    world.write(&[("Data/B.bsa", "")]);
    assert_eq!(
        confidence(&world, "fallout3"),
        "low: sources differ on which of these 2 archives wins, or only one says it"
    );
    world.write(&[("Data/textures/a.dds", "")]);
    assert!(confidence(&world, "fallout3").contains("; when the loose files here win"));
}
