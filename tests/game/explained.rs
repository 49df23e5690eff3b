//! Notes that explain why something of a game is not shown, and sources that mean a game without naming it.

use std::fs;
use std::os::unix::fs::symlink;

use super::small_world::{FALLOUT4, MORROWIND, OBLIVION, SKYRIMSE, STARFIELD, SmallWorld};
use crate::mounted::Mounted;
use crate::support::{Tes4, Tes4File};

const PREFIXES: &str = "home/.local/share/Steam/steamapps/compatdata";

#[test]
fn a_ghosted_plugin_is_named_as_the_reason() {
    let world = SmallWorld::new(
        &FALLOUT4,
        &[
            ("my/Fallout4.ini", ""),
            ("local/Plugins.txt", "*Listed.esp\r\n*Gone.esp\r\nUnlisted.esp.ghost\r\n*Named.esp.GHOST\r\n"),
            ("Data/Listed.esp.ghost", ""),
            ("Data/Listed - Main.ba2", ""),
            ("Data/Unlisted.esp.ghost", ""),
            ("Data/Unlisted - Textures.ba2", ""),
            ("Data/Named.esp.ghost", ""),
            ("Data/Own - Main.ba2", ""),
        ],
    );
    let order = world.order("fallout4");
    assert_eq!(order.notes("archive-inactive"), ["Listed - Main.ba2", "Unlisted - Textures.ba2"]);
    assert!(
        order.texts("archive-inactive")[0].contains("ghosted (Listed.esp.ghost)"),
        "{:?}",
        order.texts("archive-inactive")
    );
    assert_eq!(order.notes("archive-unlisted"), ["Own - Main.ba2"]);
    assert_eq!(order.notes("plugin-missing"), ["Listed.esp", "Gone.esp", "Named.esp.GHOST"]);
    let texts = order.texts("plugin-missing");
    let are_ghosts: Vec<bool> =
        texts.iter().map(|it| it.contains("ghosted") && it.contains(".esp.ghost")).collect();
    assert_eq!(are_ghosts, [true, false, true], "{texts:?}");
}

#[test]
fn a_mod_whose_files_are_all_in_a_subfolder_is_noted() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let source = world.instance(
        &["Nested", "Fomod", "Deep", "Good", "Plugin", "Framework", "Docs"],
        &[
            ("home/mo2/mods/Nested/Data/Nested.esp", ""),
            ("home/mo2/mods/Nested/readme.txt", ""),
            ("home/mo2/mods/Fomod/00 Core/Meshes/a.nif", ""),
            ("home/mo2/mods/Fomod/fomod/info.xml", ""),
            ("home/mo2/mods/Deep/Skyrim/Data/textures/a.dds", ""),
            ("home/mo2/mods/Good/TEXTURES/a.dds", ""),
            ("home/mo2/mods/Good/Data/textures/a.dds", ""),
            ("home/mo2/mods/Plugin/Plugin.esp", ""),
            ("home/mo2/mods/Plugin/Optional/Other.esp", ""),
            ("home/mo2/mods/Framework/NetScriptFramework/Plugins/a.dll", ""),
            ("home/mo2/mods/Docs/Docs/a.txt", ""),
        ],
    );
    let mut noted = world.order(&source).notes("mo2-mod-nested").join(" ");
    assert_eq!(noted.split_off(0), "Deep Fomod Nested");
    assert!(world.order(&source).texts("mo2-mod-nested")[1].contains("\"00 Core\""));
}

#[test]
fn an_empty_data_folder_in_my_games_is_not_noted() {
    let world = SmallWorld::new(&STARFIELD, &[("my/StarfieldPrefs.ini", "")]);
    let data = world.installed.path("my/Data");
    fs::create_dir_all(&data).unwrap();
    assert_eq!(world.order("starfield").notes("data-two-places"), [""; 0]);
    world.write(&[("my/Data/textures/a.dds", "")]);
    assert_eq!(world.order("starfield").notes("data-two-places"), ["Data"]);
}

#[test]
fn a_folder_near_a_game_gets_a_note_that_names_the_source() {
    let world = SmallWorld::new(&OBLIVION, &[("my/Oblivion.ini", "")]);
    let path = |name: &str| world.installed.path(name).to_str().unwrap().to_owned();
    let data = world.order(&path("Data"));
    assert_eq!((data.codes(), data.notes("game-nearby")), (vec!["game-nearby"], vec!["Data"]));
    assert!(
        data.texts("game-nearby")[0].ends_with("with the source oblivion has that"),
        "{:?}",
        data.texts("game-nearby")
    );
    let above = world.order(&path("home/.local/share/Steam/steamapps/common"));
    let expected = format!("with the source {} has that", path("").trim_end_matches('/'));
    assert!(above.texts("game-nearby")[0].contains(&expected), "{:?}", above.texts("game-nearby"));
    let other = world.order(&path("home/.local/share/Steam/config"));
    assert_eq!(other.codes(), [""; 0]);
    let mounted = world.bsafs(&["mount", &path("Data"), "mnt"]);
    assert!(
        mounted.contains("odd: 1 folder of a game without its load order: Oblivion (Data): bsafs order "),
        "{mounted}"
    );
    world.bsafs(&["umount", "mnt"]);
}

#[test]
fn a_folder_with_openmw_cfg_is_openmw_as_a_source() {
    let world = SmallWorld::new(&MORROWIND, &[("Data Files/textures/rock.dds", "Morrowind")]);
    let data_files = world.installed.path("Data Files");
    let user = format!("data={}\ncontent=Morrowind.esm\n", data_files.display());
    world.write(&[
        ("home/own/openmw.cfg", &user),
        ("home/.config/openmw/openmw.cfg", &user),
        ("home/tes3mp/openmw.cfg", "resources=./resources\n"),
        ("home/tes3mp/tes3mp.x86_64", ""),
        ("home/tes3mp/resources/vfs/a.txt", ""),
        ("home/portable/openmw.cfg", "resources=./resources\n"),
        ("home/portable/resources/vfs/a.txt", ""),
    ]);
    let layers = |source: &str| {
        let order = world.order(world.installed.path(source).to_str().unwrap());
        order.layers().iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()
    };
    assert!(layers("home/own").contains(&"Data Files".to_owned()));
    assert!(layers("home/.config/openmw").contains(&"Data Files".to_owned()));
    assert_eq!(layers("home/tes3mp"), ["vfs", "Data Files"], "TES3MP also reads the user's settings");
    assert_eq!(layers("home/portable"), ["vfs"]);
}

#[test]
fn several_prefixes_with_settings_are_noted_with_the_reason() {
    let world =
        SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", ""), ("Data/Mod.esp", ""), ("Data/Mod.bsa", "")]);
    let other = world.installed.path("prefix/drive_c/users/anna/AppData/Local/Skyrim Special Edition");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("Plugins.txt"), "*Mod.esp\r\n").unwrap();
    let order = world.order("skyrimse");
    assert_eq!(order.notes("prefixes-differ"), ["pfx"]);
    let text = order.texts("prefixes-differ")[0].to_owned();
    let other = world.installed.path("prefix");
    assert!(text.contains("--prefix") && text.contains(other.to_str().unwrap()), "{text}");
    let order = world.order_with(&["--prefix", other.to_str().unwrap(), "skyrimse"]);
    assert_eq!((order.notes("prefixes-differ"), order.layers()), (vec![], vec!["Mod.bsa", "Data"]));
}

#[test]
fn a_game_without_settings_is_offered_the_prefixes_of_other_programs() {
    let world = SmallWorld::new(&SKYRIMSE, &[]);
    let user = format!("{PREFIXES}/42/pfx/drive_c/users/steamuser/Documents/My Games/Skyrim Special Edition");
    let text = |world: &SmallWorld| world.order("skyrimse").texts("never-started")[0].to_owned();
    assert!(!text(&world).contains("--prefix"), "{}", text(&world));
    world.write(&[(&format!("{user}/Skyrim.ini"), "")]);
    let offered = world.installed.path(&format!("{PREFIXES}/42/pfx"));
    assert!(text(&world).contains(&format!("runs in {}", offered.display())), "{}", text(&world));
}

#[test]
fn an_instance_outside_a_prefix_finds_its_game_on_the_drives_of_other_prefixes() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let source = world.instance(&["Mod"], &[("home/mo2/mods/Mod/textures/a.dds", "")]);
    let set_path = |path: &str| {
        let ini = format!(
            "[General]\nselected_profile=Default\ngamePath=@ByteArray({})\n",
            path.replace('\\', r"\\")
        );
        world.write(&[("home/mo2/ModOrganizer.ini", &ini)]);
    };
    // Proton's drive S, with and without its link, and a drive of Wine.
    set_path(r"S:\common\Skyrim Special Edition");
    assert_eq!(world.order(&source).layers(), ["Data", "Mod"]);
    let devices = world.installed.path(&format!("{PREFIXES}/489830/pfx/dosdevices"));
    fs::create_dir_all(&devices).unwrap();
    symlink(world.installed.path("home/.local/share/Steam/steamapps"), devices.join("e:")).unwrap();
    set_path(r"E:\common\skyrim special edition");
    assert_eq!(world.order(&source).layers(), ["Data", "Mod"]);
    let prefix = world.installed.path(&format!("{PREFIXES}/489830"));
    for prefix in [prefix.clone(), prefix.join("pfx")] {
        let order = world.order_with(&["--prefix", prefix.to_str().unwrap(), &source]);
        assert_eq!(order.layers(), ["Data", "Mod"], "{}", prefix.display());
    }
    // A copy of the game in the folder of the instance.
    world.write(&[("home/mo2/Stock Game/SkyrimSE.exe", ""), ("home/mo2/Stock Game/Data/Skyrim.esm", "")]);
    set_path(r"D:\Somewhere\mo2\Stock Game");
    let failed = world.dir.bsafs(["order", &source]).env("HOME", &world.installed.home).output().unwrap();
    assert!(!failed.status.success(), "the path of another list must not be taken for this one");
    set_path(r"D:\mo2\Stock Game");
    assert_eq!(world.order(&source).layers(), ["Data", "Mod"]);
}

#[test]
fn mounts_of_one_instance_show_their_profiles_and_options() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", "")]);
    let source = world.instance(&[], &[("home/mo2/profiles/Other/modlist.txt", "")]);
    let first = world.bsafs(&["mount", &source, "one"]);
    assert!(first.contains("mounted"), "{first}");
    world.bsafs(&["mount", "--mo2-profile", "Other", &source, "two"]);
    let mounts = world.bsafs(&["mounts"]);
    let ours: Vec<&str> =
        mounts.lines().filter(|line| line.contains(world.installed.home.to_str().unwrap())).collect();
    assert!(
        ours.iter().any(|line| line.starts_with("  profile") && line.ends_with("/profiles/Default")),
        "{mounts}"
    );
    assert!(
        ours.iter().any(|line| line.starts_with("  profile") && line.ends_with("/profiles/Other")),
        "{mounts}"
    );
    let status = world.bsafs(&["status", "two"]);
    assert!(status.contains("\n  options    mo2_profile=Other\n"), "{status}");
    assert!(world.bsafs(&["games"]).contains("  profiles  skyrimse:mo2/Other\n"));
    let complete = |line: &str| world.bsafs(&["complete", "fish", line]);
    assert_eq!(complete(&format!("bsafs mount {source} --mo2-profile O")), "Other\t\0");
    assert!(complete("bsafs order --mo2-profile D").contains("Default\tthe selected profile\0"));
    assert_eq!(complete(&format!("bsafs conflicts {source} --of Da")), "Data\t\0");
    world.bsafs(&["umount", "one", "two"]);
}

#[test]
fn an_archive_with_missing_data_is_told_by_order_and_mount_and_still_after_a_reload() {
    let list = "Sound.bsa, Cut.bsa, Empty.bsa, Unfinished.bsa, Old.bsa, Damaged.bsa";
    let ini = format!("[Archive]\nsResourceArchiveList={list}\nsResourceArchiveList2=\n");
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", &ini), ("Data/Sound.bsa", "")]);
    let archive =
        |version| Tes4::new(version).file("meshes", "a.nif", "content").file("meshes", "b.nif", "more");
    let whole = archive(105).build();
    let unfilled = Tes4File::new("a.nif", "").record_size(0).record_offset(0);
    for (name, bytes) in [
        ("Cut.bsa", &whole[..whole.len() - 8]),
        ("Empty.bsa", &Tes4::new(105).build()),
        ("Unfinished.bsa", &Tes4::new(105).add("meshes", unfilled).build()),
        ("Old.bsa", &archive(104).build()),
        ("Damaged.bsa", b"BSA\0\x69\0\0\0"),
    ] {
        world.installed.write(&format!("Data/{name}"), bytes, 0);
    }
    let expected = [
        ("archive-cut-off", "Cut.bsa", "1 archive that is cut off (Cut.bsa)"),
        ("archive-empty", "Empty.bsa", "1 archive without files (Empty.bsa)"),
        ("archive-unfinished", "Unfinished.bsa", "1 archive that was never finished (Unfinished.bsa)"),
        ("archive-version", "Old.bsa", "1 archive of a version that the game may not load (Old.bsa)"),
        ("archive-unreadable", "Damaged.bsa", "1 archive that cannot be opened (Damaged.bsa)"),
    ];
    let order = world.order("skyrimse");
    for (code, name, _) in expected {
        assert_eq!(order.notes(code), [name], "{code}");
    }
    let verified = world.run(&["verify", "skyrimse"]);
    assert!(verified.out.contains("Old.bsa: it is a BSA of version 104, but "), "{verified:?}");
    let mounted = world.run(&["mount", "skyrimse", "mnt"]);
    assert!(
        mounted.code == 0 && mounted.err.contains("Damaged.bsa: not looked at: damaged archive"),
        "{mounted:?}"
    );
    let mount = Mounted::at(&world.dir.path("mnt"), mounted.out);
    let odd = mount.report.lines().find(|line| line.starts_with("odd: ")).unwrap_or_default();
    let things = "odd: 6 things (Cut.bsa, Unfinished.bsa, Damaged.bsa, and 3 more): bsafs order ";
    assert!(odd.strip_prefix(things).is_some_and(|path| path.ends_with("/mnt")), "{odd}");
    let ordered = world.run(&["order", "mnt"]).out;
    let before = world.bsafs(&["status", "mnt"]);
    for (code, name, words) in expected {
        let (number, _) = words.split_once(" (").unwrap();
        assert!(before.contains(&format!("  odd        {number} (")), "{words}: {before}");
        assert!(ordered.contains(code) && ordered.contains(name), "{code}: {ordered}");
    }
    world.write(&[("Data/Meshes/new.nif", "new")]);
    let reloaded = world.run(&["reload", "mnt"]);
    assert!(reloaded.code == 1 && reloaded.err.contains("Unfinished.bsa"), "{reloaded:?}");
    let after = world.bsafs(&["status", "mnt"]);
    for (code, name, _) in expected {
        let is_told = |status: &str| status.lines().any(|line| line.contains(name));
        assert!(is_told(&before) && is_told(&after), "{code}: {before}\n{after}");
    }
    assert!(mount.join("meshes/new.nif").exists());
    mount.umount(&world.dir);
}

#[test]
fn folders_outside_of_an_instance_and_the_game_are_noted() {
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", ""), ("home/.ssh/id", "secret")]);
    let files =
        [("home/mo2/mods/Own/a.txt", ""), ("Data/Deployed/b.txt", ""), ("home/mo2/overwrite/c.txt", "")];
    let source = world.instance(&["Own", "Linked", "Deployed"], &files);
    let mods = world.installed.path("home/mo2/mods");
    symlink(world.installed.path("home/.ssh"), mods.join("Linked")).unwrap();
    symlink(world.installed.path("Data/Deployed"), mods.join("Deployed")).unwrap();
    let noted = |source: &str| world.order(source).notes("mo2-folder-outside").join(" ").to_owned();
    assert_eq!(noted(&source), "Linked");
    // What the settings name, with the game's folder of the instance.
    let ini = fs::read_to_string(world.installed.path("home/mo2/ModOrganizer.ini")).unwrap();
    let settings = |settings: &str| {
        world.write(&[("home/mo2/ModOrganizer.ini", &format!("{ini}[Settings]\n{settings}"))])
    };
    let home = world.installed.home.to_str().unwrap();
    settings(&format!("overwrite_directory=Z:{home}/.ssh\n"));
    assert_eq!(noted(&source), "Linked .ssh");
    assert!(
        world.order(&source).texts("mo2-folder-outside")[1]
            .contains("outside of the instance and of the game")
    );
    settings(&format!("mod_directory=Z:{home}/mo2/../Elsewhere\n"));
    world.write(&[("home/Elsewhere/Own/a.txt", "")]);
    assert_eq!(noted(&source), "Elsewhere");
    // Many people keep mods on another disk than the instance, under the usual names.
    settings(&format!("base_directory=Z:{home}/Big disk\n"));
    world.write(&[
        ("home/Big disk/mods/Own/a.txt", ""),
        ("home/Big disk/overwrite/a.txt", ""),
        ("home/Big disk/profiles/Default/modlist.txt", "+Own\r\n"),
        ("home/Big disk/profiles/Default/plugins.txt", ""),
    ]);
    assert_eq!(noted(&source), "");
    settings(&format!("base_directory=Z:{home}/Big disk\noverwrite_directory=%BASE_DIR%/../.ssh\n"));
    assert_eq!(noted(&source), ".ssh");
}

#[test]
fn verify_of_a_game_reads_its_loose_files_also_those_that_others_hide() {
    let ini = "[Archive]\nsResourceArchiveList=One.bsa\nsResourceArchiveList2=\n";
    let world = SmallWorld::new(&SKYRIMSE, &[("my/Skyrim.ini", ini), ("Data/Meshes/a.nif", "loose")]);
    // A DXT1 texture of 16 x 16 texels.
    let mut texture = vec![0; 128 + 128];
    for (at, word) in [(4, 124_u32), (8, 0x1007), (12, 16), (16, 16), (76, 32), (80, 4)] {
        texture[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    texture[..4].copy_from_slice(b"DDS ");
    texture[84..88].copy_from_slice(b"DXT1");
    let archive = Tes4::new(105).file("textures", "loose.dds", texture.clone()).build();
    world.installed.write("Data/One.bsa", &archive, 0);
    let verified = world.run(&["verify", "skyrimse"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(verified.out.contains("/Data: ") && !verified.out.contains("/Data: 0 files"), "{verified:?}");

    world.installed.write("Data/textures/loose.dds", &texture[..200], 0);
    symlink("nowhere", world.installed.path("Data/Meshes/gone.nif")).unwrap();
    for arguments in [&["verify", "-q", "skyrimse"][..], &["verify", "-q", "skyrimse", "textures/loose.dds"]]
    {
        let verified = world.run(arguments);
        assert_eq!(verified.code, 1, "{verified:?}");
        assert!(
            verified.out.starts_with("bad: textures/loose.dds: cut off: it has 200 bytes"),
            "{verified:?}"
        );
    }
    let verified = world.run(&["verify", "-q", "skyrimse"]);
    assert!(verified.err.contains("gone.nif: not looked at: "), "{verified:?}");
    // The archive's copy is sound.
    let lines = world.run(&["verify", "skyrimse", "textures/loose.dds"]).out;
    assert!(lines.contains("One.bsa: 1 file, nothing wrong found"), "{lines}");
}
