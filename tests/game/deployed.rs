//! Games whose files limo or the Nexus Mods App put into the game's folder: what `bsafs order` prints, and
//! what a mount shows.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::small_world::{MORROWIND, OBLIVION, SKYRIMSE, SmallWorld};
use crate::support::Tes3;
use crate::support::home::plugin;

/// Settings of Skyrim SE that list one archive.
const LISTS: (&str, &str) =
    ("my/Skyrim.ini", "[Archive]\nsResourceArchiveList=Listed.bsa\nsResourceArchiveList2=\n");

/// Puts a file of the staging folder into the game's folder.
type Put = fn(&Path, &Path);

/// Deploys these files of a mod as limo does: it renames a file that is in the way.
fn deploy(world: &SmallWorld, put: Put, files: &[&str]) {
    for file in files {
        let (staged, deployed) =
            (format!("home/limo/0/{file}"), world.installed.path(&format!("Data/{file}")));
        world.write(&[(&staged, "the mod")]);
        fs::create_dir_all(deployed.parent().unwrap()).unwrap();
        if deployed.exists() {
            fs::rename(&deployed, format!("{}.lmmbak", deployed.display())).unwrap();
        }
        put(&world.installed.path(&staged), &deployed);
    }
    world.write(&[("Data/.lmmfiles", "{\"files\":[]}")]);
}

#[test]
fn files_that_limo_deploys_are_shown_and_its_backups_are_not_loaded() {
    let ways: [(&str, Put); 3] = [
        ("hard links", |staged, deployed| fs::hard_link(staged, deployed).unwrap()),
        ("symbolic links", |staged, deployed| symlink(staged, deployed).unwrap()),
        ("copies", |staged, deployed| assert!(fs::copy(staged, deployed).is_ok())),
    ];
    for (way, put) in ways {
        let world = SmallWorld::new(&SKYRIMSE, &[LISTS, ("Data/Listed.bsa", "")]);
        world.write(&[
            ("Data/textures/rock.dds", "the game"),
            // The list has the game's own plugins, too, in the order of the folder.
            ("local/Plugins.txt", "*Mod.esp\n*Skyrim.esm\nOff.esp\n"),
            ("local/loadorder.txt", "Mod.esp\nSkyrim.esm\n"),
            ("local/.Plugins.txt.lmmprof1", "*Off.esp\n"),
            ("local/.Plugins.txt.undeplbak", "*Off.esp\n"),
            ("Data/Off.esp", ""),
            ("Data/Off.bsa", ""),
        ]);
        deploy(&world, put, &["Mod.esp", "Mod.bsa", "Listed.bsa", "textures/rock.dds", "Textures/Ore.dds"]);
        let order = world.order(SKYRIMSE.id);
        assert_eq!(order.layers(), ["Listed.bsa", "Mod.bsa", "Data"], "{way}");
        assert_eq!(order.plugins(), ["Skyrim.esm", "Mod.esp"], "{way}");
        assert_eq!(order.codes(), ["folder-case", "archive-inactive"], "{way}");
        let mount = world.mount(SKYRIMSE.id);
        assert_eq!(mount.read("textures/rock.dds"), b"the mod", "{way}");
        assert_eq!(mount.read("textures/ore.dds"), b"the mod", "{way}");
        assert_eq!(mount.read("misc/shared.txt"), b"Mod.bsa", "{way}");
        mount.umount(&world.dir);
    }
}

#[test]
fn plugins_of_oblivion_that_limo_links_load_in_the_order_of_their_targets_times() {
    let world = SmallWorld::new(&OBLIVION, &[("my/Oblivion.ini", "[Archive]\nsArchiveList=\n")]);
    world.write(&[
        ("local/Plugins.txt", "Oblivion.esm\nC.esp\nB.esp\nA.esp\n"),
        ("local/loadorder.txt", "*Oblivion.esm\n*C.esp\n*B.esp\n*A.esp\nOff.esp\n"),
        ("Data/Off.esp", ""),
    ]);
    deploy(&world, |staged, deployed| symlink(staged, deployed).unwrap(), &["A.esp", "B.esp", "C.esp"]);
    // Neither the order of the links' own times nor that of the names.
    for (name, day) in [("B.esp", 1), ("A.esp", 2), ("C.esp", 3)] {
        world.installed.write(&format!("home/limo/0/{name}"), &plugin(0, 0, &[]), day);
    }
    assert_eq!(world.order(OBLIVION.id).plugins(), ["Oblivion.esm", "B.esp", "A.esp", "C.esp"]);
    // Old versions of limo write stars, which Oblivion takes as part of the names.
    world.write(&[("local/Plugins.txt", "*Oblivion.esm\n*A.esp\nOff.esp\n")]);
    let order = world.order(OBLIVION.id);
    assert_eq!(order.plugins(), ["Off.esp"]);
    assert_eq!(order.notes("plugin-missing"), ["*Oblivion.esm", "*A.esp"]);
}

#[test]
fn archives_that_limo_lists_for_openmw_are_mounted_in_its_order() {
    let world = SmallWorld::new(&MORROWIND, &[]);
    let folder = "home/.config/openmw";
    let cfg = format!(
        "data=\"{}\"\nfallback-archive=B.bsa\nfallback-archive=A.bsa\n\
         content=Morrowind.esm\ncontent=Mod.esp\n",
        world.installed.path("Data Files").display()
    );
    let hidden = [".archives.txt", ".plugins.txt", ".archives_config", ".plugin_config", ".plugin_tags"];
    let hidden = hidden.map(|name| format!("{folder}/{name}"));
    world.write(&hidden.each_ref().map(|path| (path.as_str(), "*Off.bsa\n*Off.esp\n")));
    world.write(&[(&format!("{folder}/openmw.cfg"), &cfg), ("Data Files/Off.esp", "")]);
    for name in ["A", "B", "Off"] {
        let archive = Tes3::new().file("shared.txt", name).build();
        world.installed.write(&format!("home/limo/1/{name}.bsa"), &archive, 0);
        let deployed = world.installed.path(&format!("Data Files/{name}.bsa"));
        symlink(world.installed.path(&format!("home/limo/1/{name}.bsa")), deployed).unwrap();
    }
    world.installed.write("Data Files/Mod.esp", b"", 0);
    let source = world.installed.path(&format!("{folder}/openmw.cfg"));
    let order = world.order(source.to_str().unwrap());
    assert_eq!(order.layers(), ["B.bsa", "A.bsa", "Data Files"]);
    assert_eq!(order.plugins(), ["Morrowind.esm", "Mod.esp"]);
    let mount = world.mount(source.to_str().unwrap());
    assert_eq!(mount.read("shared.txt"), b"A");
    mount.umount(&world.dir);
}

#[test]
fn the_list_of_the_nexus_mods_app_beats_an_older_list_in_another_spelling() {
    let world = SmallWorld::new(&SKYRIMSE, &[LISTS, ("Data/Listed.bsa", "")]);
    world.write(&[
        // It writes UTF-8, which the game does not read.
        (
            "local/Plugins.txt",
            "# File maintained by the Nexus Mods app\n*Skyrim.esm\n*B.esp\n*Größe.esp\n*A.esp\n",
        ),
        ("local/plugins.txt", "*A.esp\r\n"),
        ("Data/A.esp", ""),
        ("Data/A.bsa", ""),
        ("Data/B.ESP", ""),
        ("Data/B.bsa", ""),
        ("Data/Größe.esp", ""),
        ("Data/meshes/a.nif", "the game"),
        ("Data/Meshes/b.nif", "a mod"),
    ]);
    fs::write(world.installed.path("Data/B.ESP"), plugin(4, 0, &[])).unwrap();
    let order = world.order(SKYRIMSE.id);
    assert_eq!(order.plugins(), ["Skyrim.esm", "B.ESP", "A.esp"]);
    assert_eq!(order.layers(), ["Listed.bsa", "B.bsa", "A.bsa", "Data"]);
    let codes = ["folder-case", "plugins-files-differ", "plugins-file-encoding", "plugin-missing"];
    assert_eq!(order.codes(), codes);
    let mount = world.mount(SKYRIMSE.id);
    assert_eq!(mount.read("meshes/a.nif"), b"the game");
    assert_eq!(mount.read("meshes/b.nif"), b"a mod");
    mount.umount(&world.dir);
}
