//! Rules of games and mod managers, each in a home folder that the test writes: what `bsafs order`
//! prints, and what a mount shows.

use serde_json::Value;

use crate::mounted::{Mounted, TestDir, run};
use crate::support::home::{SteamGame, archive_named_after_itself, plugin};

/// A game of Steam.
struct Game {
    id: &'static str,
    app: u32,
    installdir: &'static str,
    /// Name of its folders in My Games and in AppData.
    folder: &'static str,
    /// Version of its archives.
    version: u32,
    /// The files that identify it.
    marks: &'static [&'static str],
}

const SKYRIMSE: Game = Game {
    id: "skyrimse",
    app: 489_830,
    installdir: "Skyrim Special Edition",
    folder: "Skyrim Special Edition",
    version: 105,
    marks: &["SkyrimSE.exe", "Data/Skyrim.esm"],
};

const ENDERALSE: Game = Game {
    id: "enderalse",
    app: 976_620,
    installdir: "Enderal Special Edition",
    folder: "Enderal Special Edition",
    version: 105,
    marks: &["SkyrimSE.exe", "Enderal Launcher.exe", "Data/Enderal - Forgotten Stories.esm"],
};

const STARFIELD: Game = Game {
    id: "starfield",
    app: 1_716_740,
    installdir: "Starfield",
    folder: "Starfield",
    version: 2,
    marks: &["Starfield.exe", "Data/Starfield.esm"],
};

const REMASTERED: Game = Game {
    id: "oblivion-remastered",
    app: 2_623_190,
    installdir: "Oblivion Remastered",
    folder: "Oblivion Remastered",
    version: 103,
    marks: &[
        "OblivionRemastered/Binaries/Win64/OblivionRemastered-Win64-Shipping.exe",
        "OblivionRemastered/Content/Dev/ObvData/Data/Oblivion.esm",
    ],
};

/// The original game, whose files OpenMW reads.
const MORROWIND: Game = Game {
    id: "morrowind",
    app: 22_320,
    installdir: "Morrowind",
    folder: "",
    version: 0,
    marks: &["Data Files/Morrowind.esm"],
};

const FALLOUT4: Game = Game {
    id: "fallout4",
    app: 377_160,
    installdir: "Fallout 4",
    folder: "Fallout4",
    version: 1,
    marks: &["Fallout4.exe", "Data/Fallout4.esm"],
};

/// A home with one game and perhaps an instance of Mod Organizer 2.
struct SmallWorld {
    dir: TestDir,
    game: &'static Game,
    installed: SteamGame,
}

impl SmallWorld {
    /// Installs a game and writes these files. A plugin gets a header, and an archive gets files named
    /// after it.
    fn new(game: &'static Game, files: &[(&str, &str)]) -> Self {
        let dir = TestDir::new();
        let names = [game.folder; 2];
        let installed = SteamGame::install(&dir.path("home"), game.app, game.installdir, "english", names);
        let world = Self { dir, game, installed };
        let marks: Vec<_> = game.marks.iter().map(|mark| (*mark, "")).collect();
        world.write(&marks);
        world.write(files);
        world
    }

    fn write(&self, files: &[(&str, &str)]) {
        for (path, text) in files {
            let name = path.rsplit('/').next().unwrap();
            let content = match name.rsplit('.').next().unwrap() {
                "bsa" | "ba2" => archive_named_after_itself(name, self.game.version),
                "esm" => plugin(4, 1, &[]),
                "esp" => plugin(4, 0, &[]),
                _ => text.as_bytes().to_vec(),
            };
            self.installed.write(path, &content, 0);
        }
    }

    /// Writes an instance of Mod Organizer 2 whose profile enables these mods, highest first. Returns its
    /// path.
    fn instance(&self, mods: &[&str], files: &[(&str, &str)]) -> String {
        let folder = self.installed.folder.to_str().unwrap().replace('/', "\\\\");
        let ini = format!("[General]\nselected_profile=Default\ngamePath=@ByteArray(Z:{folder})\n");
        let list: String = mods.iter().map(|name| format!("+{name}\r\n")).collect();
        self.write(&[
            ("home/mo2/ModOrganizer.ini", &ini),
            ("home/mo2/profiles/Default/modlist.txt", &list),
            ("home/mo2/profiles/Default/plugins.txt", ""),
        ]);
        self.write(files);
        self.installed.path("home/mo2").to_str().unwrap().to_owned()
    }

    fn bsafs(&self, arguments: &[&str]) -> String {
        let mut command = self.dir.bsafs(arguments);
        for variable in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"] {
            command.env_remove(variable);
        }
        run(command.env("HOME", &self.installed.home).env("USER", "nobody")).success()
    }

    fn order(&self, source: &str) -> Order {
        Order(serde_json::from_str(&self.bsafs(&["order", "--json", source])).unwrap())
    }

    fn mount(&self, source: &str) -> Mounted {
        let printed = self.bsafs(&["mount", source, "mnt"]);
        Mounted::at(&self.dir.path("mnt"), printed)
    }
}

/// What `bsafs order --json` prints.
struct Order(Value);

impl Order {
    /// File names of the layers, lowest first.
    fn layers(&self) -> Vec<&str> {
        let layers = self.0["layers"].as_array().unwrap().iter();
        layers.map(|it| file_name(it["path"].as_str().unwrap())).collect()
    }

    /// File names of the subjects of the notes with a code.
    fn notes(&self, code: &str) -> Vec<&str> {
        let notes = self.0["notes"].as_array().unwrap().iter().filter(|note| note["code"] == code);
        notes.map(|note| file_name(note["subject"].as_str().unwrap())).collect()
    }

    /// How certain the rules are.
    fn confidence(&self) -> &str {
        self.0["confidence"].as_str().unwrap()
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

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
    assert_eq!(world.order(&source).notes("link-dangling"), ["top.txt", "gone.dds", "mod.nif"]);
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
    world.write(&[("local/plugins.txt", "")]);
    assert_eq!(count(SKYRIMSE.id), [0, 0]);
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
