//! Rules of games, each in a small home folder: what `bsafs order` prints, and what a mount shows.

use super::small_world::{FALLOUT4, REMASTERED, SKYRIM, SKYRIMSE, STARFIELD, SmallWorld};

#[test]
fn fallout_4_leaves_out_archives_with_other_endings_and_those_that_its_lists_lack() {
    let lists = "[Archive]\nsResourceIndexFileList=Fallout4 - Textures1.ba2\nsResourceStartUpArchiveList=\n\
                 SResourceArchiveList=Fallout4 - Misc.ba2\nSResourceArchiveList2=\n\
                 bInvalidateOlderFiles=1\nsResourceDataDirsFinal=\n";
    let archives = [
        "Data/Fallout4 - Textures1.ba2",
        "Data/Fallout4 - Misc.ba2",
        "Data/Fallout4 - Meshes.ba2",
        "Data/Fallout4 - Nvflex.ba2",
        "Data/Mod - Main.ba2",
        "Data/Mod - Textures.ba2",
        "Data/Mod - Voices_en.ba2",
        "Data/Mod - Extra.ba2",
        "Data/Mod.ba2",
        "Data/Mod.esp",
    ];
    let world = SmallWorld::new(&FALLOUT4, &archives.map(|path| (path, "")));
    world.write(&[("my/Fallout4.ini", lists), ("local/Plugins.txt", "*Mod.esp\n")]);
    let loaded = ["Fallout4 - Textures1.ba2", "Fallout4 - Misc.ba2"];
    let attached = ["Mod - Main.ba2", "Mod - Textures.ba2", "Mod - Voices_en.ba2", "Data"];
    let left_out = ["Fallout4 - Meshes.ba2", "Fallout4 - Nvflex.ba2", "Mod - Extra.ba2", "Mod.ba2"];
    let order = world.order(FALLOUT4.id);
    assert_eq!(order.layers(), [&loaded[..], &attached].concat());
    assert_eq!(order.notes("archive-unlisted"), left_out);
    assert_eq!(order.confidence(), "medium", "some tools attach archives with other endings");
    let mount = world.mount(FALLOUT4.id);
    assert_eq!(mount.read("misc/mod - voices_en.ba2.txt"), b"Mod - Voices_en.ba2");
    assert!(left_out.iter().all(|name| !mount.join(format!("misc/{name}.txt")).exists()));
    mount.umount(&world.dir);
    world.write(&[("my/Fallout4Prefs.ini", "[NVFlex]\nbNVFlexEnable=1\n")]);
    let order = world.order(FALLOUT4.id);
    assert_eq!(order.layers(), [&loaded[..], &["Fallout4 - Nvflex.ba2"], &attached].concat());
}

#[test]
fn an_unmodified_fallout_4_is_certain_although_weapon_debris_is_off() {
    let lists = "[Archive]\nsResourceIndexFileList=\nsResourceStartUpArchiveList=\nSResourceArchiveList2=\n\
                 SResourceArchiveList=Fallout4 - Misc.ba2\n\
                 bInvalidateOlderFiles=1\nsResourceDataDirsFinal=\n";
    let world = SmallWorld::new(
        &FALLOUT4,
        &[
            ("my/Fallout4.ini", lists),
            ("local/Plugins.txt", ""),
            ("Data/Fallout4 - Misc.ba2", ""),
            ("Data/Fallout4 - Nvflex.ba2", ""),
            ("Data/DLCUltraHighResolution.esm", ""),
            ("Data/DLCUltraHighResolution - Textures01.ba2", ""),
        ],
    );
    let order = world.order(FALLOUT4.id);
    let expected = ["Fallout4 - Misc.ba2", "DLCUltraHighResolution - Textures01.ba2", "Data"];
    assert_eq!((order.layers(), order.confidence()), (expected.to_vec(), "high"));
}

#[test]
fn a_plugin_of_skyrim_se_lists_archives_in_its_ini_file() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", "[Archive]\nsResourceArchiveList=A.bsa\nsResourceArchiveList2=\n"),
            ("local/Plugins.txt", "*Mod.esp\n"),
            ("Data/A.bsa", ""),
            ("Data/Listed.bsa", ""),
            ("Data/Off.bsa", ""),
            ("Data/Mod.esp", ""),
            ("Data/Mod.bsa", ""),
            ("Data/mod.ini", "[Archive]\nsResourceArchiveList2=Listed.bsa\n"),
            ("Data/Inactive.esp", ""),
            ("Data/Inactive.ini", "[Archive]\nsResourceArchiveList2=Off.bsa\n"),
        ],
    );
    let order = world.order(SKYRIMSE.id);
    assert_eq!(order.layers(), ["A.bsa", "Listed.bsa", "Mod.bsa", "Data"]);
    assert_eq!((order.notes("archive-unlisted"), order.confidence()), (vec!["Off.bsa"], "medium"));
    let mount = world.mount(SKYRIMSE.id);
    assert_eq!(mount.read("misc/listed.bsa.txt"), b"Listed.bsa");
    assert_eq!(mount.read("misc/shared.txt"), b"Mod.bsa");
    mount.umount(&world.dir);
}

#[test]
fn a_list_that_only_tools_read_does_not_order_the_archives_of_skyrim() {
    let lists = "[Archive]\nsResourceArchiveList=\nsResourceArchiveList2=\n";
    let world = SmallWorld::new(
        &SKYRIM,
        &[
            ("my/Skyrim.ini", lists),
            ("local/Plugins.txt", "B.esp\nA.esp\n"),
            ("local/loadorder.txt", "Skyrim.esm\nA.esp\nOff.esp\nB.esp\n"),
            ("Data/A.esp", ""),
            ("Data/A.bsa", ""),
            ("Data/B.esp", ""),
            ("Data/B.bsa", ""),
        ],
    );
    let order = world.order(SKYRIM.id);
    assert_eq!(order.layers(), ["B.bsa", "A.bsa", "Data"]);
    assert_eq!(order.notes("settings-ignored"), ["loadorder.txt"]);
    world.write(&[("local/loadorder.txt", "Skyrim.esm\nB.esp\nOff.esp\nA.esp\n")]);
    let order = world.order(SKYRIM.id);
    assert_eq!((order.plugins(), order.codes()), (vec!["Skyrim.esm", "B.esp", "A.esp"], vec![]));
    let mount = world.mount(SKYRIM.id);
    assert_eq!(mount.read("misc/shared.txt"), b"A.bsa");
    mount.umount(&world.dir);
}

#[test]
fn a_list_that_only_tools_read_does_not_order_the_plugins_of_oblivion_remastered() {
    let data = "OblivionRemastered/Content/Dev/ObvData/Data";
    let world = SmallWorld::new(&REMASTERED, &[]);
    let path = |name: &str| format!("{data}/{name}");
    world.write(&[
        (&path("Plugins.txt"), "Oblivion.esm\nB.esp\nA.esp\n"),
        (&path("loadorder.txt"), "Oblivion.esm\nA.esp\nB.esp\n"),
        (&path("A.esp"), ""),
        (&path("B.esp"), ""),
    ]);
    let order = world.order(REMASTERED.id);
    assert_eq!(order.plugins(), ["Oblivion.esm", "B.esp", "A.esp"]);
    assert_eq!(order.notes("settings-ignored"), ["loadorder.txt"]);
}

#[test]
fn unlisted_plugins_of_starfield_with_equal_times_load_backwards_by_name() {
    let world = SmallWorld::new(
        &STARFIELD,
        &[
            ("Starfield.ini", "[Archive]\nsResourceIndexFileList=\n"),
            ("my/StarfieldPrefs.ini", ""),
            ("my/StarfieldCustom.ini", "[Archive]\nbInvalidateOlderFiles=1\nsResourceDataDirsFinal=\n"),
            ("local/Plugins.txt", "*A.esm\n*B.esm\n"),
            ("Data/A.esm", ""),
            ("Data/B.esm", ""),
            // Active because of the two above, and in no list.
            ("Data/BlueprintShips-A.esm", ""),
            ("Data/BlueprintShips-B.esm", ""),
            ("Data/BlueprintShips-A - Main.ba2", ""),
            ("Data/BlueprintShips-B - Main.ba2", ""),
        ],
    );
    let expected = ["BlueprintShips-B - Main.ba2", "BlueprintShips-A - Main.ba2", "Data"];
    assert_eq!(world.order(STARFIELD.id).layers(), expected);
}

#[test]
fn an_ini_key_without_a_value_hides_the_later_list_of_archives() {
    let ini = "[Archive]\nsResourceArchiveList=A.bsa\nsResourceArchiveList2\nsResourceArchiveList2=B.bsa\n";
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", ini), ("Data/A.bsa", ""), ("Data/B.bsa", "")]);
    let order = world.order(SKYRIMSE.id);
    assert_eq!((order.layers(), order.notes("archive-unlisted")), (vec!["A.bsa", "Data"], vec!["B.bsa"]));
}

#[test]
fn a_link_to_a_vanished_staging_folder_is_noted_in_any_subfolder() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[("my/Skyrim.ini", ""), ("local/Plugins.txt", ""), ("Data/textures/armor/here.dds", "")],
    );
    let link = |path: &str| std::os::unix::fs::symlink("/nonexistent/staging", world.installed.path(path));
    link("Data/textures/armor/gone.dds").unwrap();
    link("Data/top.txt").unwrap();
    assert_eq!(world.order(SKYRIMSE.id).notes("link-dangling"), ["top.txt", "gone.dds"]);
    let source = world.instance(&["Mod"], &[("home/mo2/mods/Mod/meshes/a.nif", "")]);
    link("home/mo2/mods/Mod/meshes/mod.nif").unwrap();
    // Walking the mods of a large instance would take seconds, and no manager makes links in them.
    assert_eq!(world.order(&source).notes("link-dangling"), ["top.txt", "gone.dds"]);
}

#[test]
fn a_game_that_was_started_and_has_no_list_of_plugins_is_noted() {
    let world = SmallWorld::new(&SKYRIMSE, &[("Data/Mod.esp", "")]);
    let codes = ["never-started", "plugins-file-missing"];
    let count = |source: &str| codes.map(|code| world.order(source).notes(code).len());
    assert_eq!(count(SKYRIMSE.id), [1, 0]);
    world.write(&[("my/Skyrim.ini", "")]);
    assert_eq!(world.order(SKYRIMSE.id).notes("plugins-file-missing"), ["Plugins.txt"]);
    let source = world.instance(&[], &[]);
    assert_eq!(count(&source), [0, 0]);
    std::fs::remove_file(world.installed.path("home/mo2/profiles/Default/plugins.txt")).unwrap();
    assert_eq!(count(&source), [0, 1]);
    // Amethyst links the list in the prefix to the one of its profile.
    world.write(&[("local/here", "")]);
    std::os::unix::fs::symlink("/nonexistent/profile", world.installed.path("local/plugins.txt")).unwrap();
    assert_eq!(count(SKYRIMSE.id), [0, 1]);
    std::fs::remove_file(world.installed.path("local/plugins.txt")).unwrap();
    world.write(&[("local/plugins.txt", "")]);
    assert_eq!(count(SKYRIMSE.id), [0, 0]);
}

#[test]
fn a_plugin_with_a_cyrillic_name_is_active_if_the_list_is_in_the_russian_code_page() {
    let world = SmallWorld::new(
        &SKYRIMSE,
        &[
            ("my/Skyrim.ini", "[Archive]\nsResourceArchiveList=\nsResourceArchiveList2=\n"),
            ("Data/Мод.esp", ""),
            ("Data/Мод.bsa", ""),
            ("Data/Other.esp", ""),
        ],
    );
    world.installed.write("local/Plugins.txt", b"*Other.esp\r\n*\xcc\xee\xe4.esp\r\n", 0);
    let order = world.order(SKYRIMSE.id);
    assert_eq!(order.layers(), ["Мод.bsa", "Data"]);
    assert_eq!(order.notes("plugin-missing"), [""; 0]);
    let mount = world.mount(SKYRIMSE.id);
    assert_eq!(mount.read("misc/shared.txt"), "Мод.bsa".as_bytes());
    mount.umount(&world.dir);
}
