//! Finding games: small homes with the lists that launchers write.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use bsafs::game::find::{Installations, find, recognise, with_prefix};
use bsafs::game::{Disk, Environment, Installation, Storefront};
use tempfile::TempDir;

/// A temporary home folder.
pub(super) struct Home {
    pub(super) dir: TempDir,
}

pub(super) const STEAM: &str = ".local/share/Steam";
pub(super) const SKYRIM: [&str; 2] = ["SkyrimSE.exe", "Data/Skyrim.esm"];
const MY_GAMES: &str = "Documents/My Games";

impl Home {
    pub(super) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn folder(&self, path: &str) -> PathBuf {
        fs::create_dir_all(self.path(path)).unwrap();
        self.path(path)
    }

    /// Writes the files that identify Skyrim Special Edition, and returns their folder.
    pub(super) fn skyrim(&self, folder: &str) -> PathBuf {
        for file in SKYRIM.iter() {
            self.write(&format!("{folder}/{file}"), "");
        }
        self.path(folder)
    }

    /// Creates the game's folder in My Games of a prefix, as the game does when it first runs.
    pub(super) fn create_my_games(&self, prefix: &str, user: &str, name: &str) -> PathBuf {
        self.folder(&format!("{prefix}/drive_c/users/{user}/{MY_GAMES}/{name}"))
    }

    /// Writes Steam's list of libraries.
    pub(super) fn libraries(&self, root: &str, libraries: &[&Path]) {
        let mut text = "\"libraryfolders\"\n{\n".to_owned();
        for (number, library) in libraries.iter().enumerate() {
            let apps = "\"apps\" { \"489830\" \"1000\" }";
            text += &format!("\"{number}\"\n{{ \"path\" \"{}\" {apps} }}\n", library.display());
        }
        self.write(&format!("{root}/config/libraryfolders.vdf"), &(text + "}\n"));
    }

    /// Writes Steam's manifest of an app into a library.
    pub(super) fn manifest(&self, library: &str, id: u32, installdir: &str) {
        let text = format!(
            "\"AppState\" {{ \"appid\" \"{id}\" \"installdir\" \"{installdir}\" \
             \"UserConfig\" {{ \"language\" \"german\" }} }}"
        );
        self.write(&format!("{library}/steamapps/appmanifest_{id}.acf"), &text);
    }

    pub(super) fn environment(&self) -> Environment {
        Environment { system: self.path("system"), ..Environment::of_home(self.dir.path(), "anna") }
    }

    pub(super) fn find(&self) -> Installations {
        let mut found = find(&Disk::default(), &self.environment());
        // Ignore games that are installed on the machine that runs the test.
        found.installations.retain(|it| it.folder.starts_with(self.dir.path()));
        found
    }

    /// The only game in the home.
    pub(super) fn only(&self) -> Installation {
        let found = self.find();
        assert_eq!(found.unusable, []);
        let [installation] = &found.installations[..] else { panic!("{found:?}") };
        installation.clone()
    }

    /// The only candidate, which must be unusable, and the reason.
    pub(super) fn unusable(&self) -> (PathBuf, String) {
        let found = self.find();
        assert!(found.installations.is_empty(), "{found:?}");
        let [unusable] = &found.unusable[..] else { panic!("{found:?}") };
        unusable.clone()
    }
}

#[test]
fn a_game_in_a_second_library_is_found_with_its_prefix() {
    let home = Home::new();
    let second = home.folder("disk/Steam Library");
    home.libraries(STEAM, &[&home.path(STEAM), &second]);
    home.manifest("disk/Steam Library", 489830, "Skyrim Special Edition");
    let game = home.skyrim("disk/Steam Library/steamapps/common/Skyrim Special Edition");
    let prefix = "disk/Steam Library/steamapps/compatdata/489830/pfx";
    let my_games = home.create_my_games(prefix, "steamuser", "Skyrim Special Edition");
    // Decoys: the prefix of another game, and one in the library that does not hold the game.
    home.create_my_games(
        "disk/Steam Library/steamapps/compatdata/377160/pfx",
        "steamuser",
        "Skyrim Special Edition",
    );
    home.create_my_games(
        &format!("{STEAM}/steamapps/compatdata/489830/pfx"),
        "steamuser",
        "Skyrim Special Edition",
    );
    let found = home.only();
    assert_eq!((found.title.id, found.store, &found.folder), ("skyrimse", Storefront::Steam, &game));
    assert_eq!(found.prefix, Some(home.path(prefix)));
    assert_eq!((found.my_games, found.local), (Some(my_games), None));
    assert_eq!(found.language.as_deref(), Some("german"));
}

#[test]
fn a_steam_folder_with_several_links_is_searched_once() {
    let home = Home::new();
    home.libraries(STEAM, &[&home.path(".steam/root"), &home.path(STEAM), &home.path(".steam/loop")]);
    fs::create_dir(home.path(".steam")).unwrap();
    symlink(home.path(STEAM), home.path(".steam/root")).unwrap();
    symlink("root", home.path(".steam/steam")).unwrap();
    symlink("loop", home.path(".steam/loop")).unwrap();
    home.manifest(STEAM, 489830, "SSE");
    home.skyrim(&format!("{STEAM}/steamapps/common/SSE"));
    let found = home.find();
    assert_eq!(found.installations.len(), 1);
    let why =
        "Steam lists Skyrim Special Edition in this library, which does not exist; is its disk mounted?";
    assert_eq!(found.unusable, [(home.path(".steam/loop"), why.to_owned())]);
}

#[test]
fn steam_from_debian_flatpak_and_snap_is_found() {
    for root in [
        ".steam/debian-installation",
        ".var/app/com.valvesoftware.Steam/.local/share/Steam",
        ".var/app/com.valvesoftware.Steam/data/Steam",
        "snap/steam/common/.local/share/Steam",
    ] {
        let home = Home::new();
        let library = home.folder("library");
        let text = format!("LibraryFolders {{ TimeNextStatsReport 1 1 \"{}\" }}", library.display());
        home.write(&format!("{root}/steamapps/libraryfolders.vdf"), &text);
        home.manifest("library", 489830, "SSE");
        let game = home.skyrim("library/steamapps/common/sse");
        assert_eq!(home.only().folder, game, "{root}");
    }
}

#[test]
fn damaged_manifests_and_missing_folders_are_reported() {
    let home = Home::new();
    home.manifest(STEAM, 489830, "SSE");
    let common = home.path(STEAM).join("steamapps/common");
    assert_eq!(home.unusable().0, common.join("SSE"));
    home.folder(&format!("{STEAM}/steamapps/common/SSE"));
    assert!(home.unusable().1.contains("Data/Skyrim.esm, SkyrimSE.exe"));
    home.write(&format!("{STEAM}/steamapps/common/SSE/SkyrimSE.exe"), "");
    let (path, what) = home.unusable();
    assert_eq!(path, common.join("SSE"));
    assert!(what.contains("Data/Skyrim.esm is missing"), "{what}");
    let manifest = home.path(STEAM).join("steamapps/appmanifest_489830.acf");
    for installdir in ["../../outside", "..", "", "/etc"] {
        home.manifest(STEAM, 489830, installdir);
        let (path, what) = home.unusable();
        assert_eq!(path, manifest);
        assert!(what.contains("does not name the folder"), "{what}");
    }
    fs::write(&manifest, "{".repeat(1 << 20)).unwrap();
    assert!(
        home.find().unusable.iter().any(|(path, what)| *path == manifest && what.contains("without a key"))
    );
    fs::write(&manifest, vec![b' '; (8 << 20) + 1]).unwrap();
    assert!(home.unusable().1.contains("larger than"));
}

#[test]
fn nehrim_is_found_in_its_own_folder() {
    let home = Home::new();
    home.manifest(STEAM, 1014940, "Nehrim");
    let folder = format!("{STEAM}/steamapps/common/Nehrim/NehrimFiles");
    for file in ["Oblivion.exe", "NehrimLauncher.exe", "Data/Nehrim.esm"] {
        home.write(&format!("{folder}/{file}"), "");
    }
    let found = home.only();
    assert_eq!((found.title.id, found.folder), ("nehrim", home.path(&folder)));
}

/// Writes Heroic's list of GOG games, and the settings of the game.
fn heroic(home: &Home, folder: &str, game: &Path, settings: &str) {
    let list =
        format!(r#"{{"installed": [{{"appName": "1711230643", "install_path": "{}"}}]}}"#, game.display());
    home.write(&format!("{folder}/gog_store/installed.json"), &list);
    let settings = format!(r#"{{"1711230643": {{{settings}}}, "version": "v0"}}"#);
    home.write(&format!("{folder}/GamesConfig/1711230643.json"), &settings);
}

#[test]
fn the_prefix_of_heroic_depends_on_wine_or_proton() {
    for (kind, prefix) in [("wine", "Prefixes/Skyrim"), ("proton", "Prefixes/Skyrim/pfx")] {
        let home = Home::new();
        let game = home.skyrim("gog/Skyrim");
        // Both exist, so only the settings decide which one is used.
        home.create_my_games("Prefixes/Skyrim", "anna", "Skyrim Special Edition GOG");
        home.create_my_games("Prefixes/Skyrim/pfx", "steamuser", "Skyrim Special Edition GOG");
        // A copy from another store has used the same prefix.
        home.create_my_games(prefix, "steamuser", "Skyrim Special Edition");
        let settings = format!(r#""winePrefix": "~/Prefixes/Skyrim", "wineVersion": {{"type": "{kind}"}}"#);
        heroic(&home, ".var/app/com.heroicgameslauncher.hgl/config/heroic", &game, &settings);
        let found = home.only();
        assert_eq!((found.title.id, found.store), ("skyrimse", Storefront::Gog));
        assert_eq!(found.prefix, Some(home.path(prefix)));
        assert!(found.my_games.unwrap().ends_with("Skyrim Special Edition GOG"));
    }
}

#[test]
fn without_settings_the_default_prefix_of_heroic_is_used() {
    let home = Home::new();
    let game = home.skyrim("gog/Skyrim AE");
    heroic(&home, ".config/heroic", &game, "");
    assert_eq!(home.only().prefix, None);
    home.folder("Games/Heroic/Prefixes/shared/drive_c");
    assert_eq!(home.only().prefix, Some(home.path("Games/Heroic/Prefixes/shared")));
    home.folder("Games/Heroic/Prefixes/default/Skyrim AE/pfx/drive_c");
    assert_eq!(home.only().prefix, Some(home.path("Games/Heroic/Prefixes/default/Skyrim AE/pfx")));
}

#[test]
fn language_folders_of_epic_and_sideloaded_games_are_found() {
    let home = Home::new();
    for file in ["FalloutNV.exe", "Data/FalloutNV.esm"] {
        home.write(&format!("epic/Fallout New Vegas German/{file}"), "");
    }
    let id = "5daeb974a22a435988892319b3a4f476";
    let list =
        format!(r#"{{"{id}": {{"app_name": "{id}", "install_path": "{}"}}}}"#, home.path("epic").display());
    home.write(".config/heroic/legendaryConfig/legendary/installed.json", &list);
    let game = home.skyrim("side/Skyrim");
    let executable = game.join("skse64_loader.exe");
    let install = format!(r#"{{"executable": "{}"}}"#, executable.display());
    let list = format!(r#"{{"games": [{{"app_name": "abc", "install": {install}}}]}}"#);
    home.write(".config/heroic/sideload_apps/library.json", &list);
    let found = home.find();
    let games: Vec<_> = found.installations.iter().map(|it| (it.title.id, it.store, &it.folder)).collect();
    let epic = home.path("epic/Fallout New Vegas German");
    assert_eq!(games, [("falloutnv", Storefront::Epic, &epic), ("skyrimse", Storefront::Unknown, &game)]);
    assert_eq!(found.installations[0].language.as_deref(), Some("german"));
}

#[test]
fn damaged_lists_of_launchers_are_reported_and_other_games_found() {
    let home = Home::new();
    home.write(".config/heroic/gog_store/installed.json", &"[".repeat(1 << 20));
    home.write(
        ".config/heroic/sideload_apps/library.json",
        r#"{"games": [1, null, {"install": []}, {"folder_name": 3}]}"#,
    );
    home.write(".config/lutris/games/deep.yml", &"{a: ".repeat(1 << 16));
    home.write(".config/lutris/games/other.yml", "game:\n  exe: /usr/bin/true\n");
    home.write(".config/lutris/games/relative.yml", "game: {exe: ../../../SkyrimSE.exe}");
    home.folder(".config/lutris/games/folder.yml");
    let list = r#"{"ac82db5035584c7f8a2c548d98c86b2c": {"install_path": "/none"}}"#;
    home.write(".config/heroic/legendaryConfig/legendary/installed.json", list);
    home.skyrim("Games/Skyrim");
    let found = home.find();
    assert_eq!(found.installations.len(), 1);
    let reported: Vec<_> = found.unusable.iter().map(|(path, _)| path.file_name().unwrap()).collect();
    assert_eq!(reported, ["none", "installed.json", "deep.yml", "folder.yml"]);
    assert_eq!(found.unusable[0].1, "the folder of Skyrim Special Edition cannot be read");
}

#[test]
fn a_lutris_game_is_found_by_its_executable_and_prefix() {
    let home = Home::new();
    let folder = "prefix/drive_c/GOG Games/Skyrim";
    let game = home.skyrim(folder);
    home.write(&format!("{folder}/Galaxy64.dll"), "");
    let my_games = home.create_my_games("prefix", "anna", "Skyrim Special Edition GOG");
    let settings = |exe: &str, prefix: &str| format!("game:\n  exe: {exe}\n{prefix}script: {{a: [b]}}\n");
    let exe = game.join("skse64_loader.exe");
    let file = ".local/share/lutris/games/skyrim-1.yml";
    home.write(file, &settings(exe.to_str().unwrap(), ""));
    let found = home.only();
    assert_eq!((found.store, found.folder, found.my_games), (Storefront::Gog, game.clone(), Some(my_games)));
    let prefix = format!("  prefix: {}\n", home.path("prefix").display());
    home.write(file, &settings("drive_c/GOG Games/Skyrim/SkyrimSE.exe", &prefix));
    assert_eq!(home.only().prefix, Some(home.path("prefix")));
    fs::remove_file(game.join("Data/Skyrim.esm")).unwrap();
    assert_eq!(home.unusable().0, game);
}

#[test]
fn oblivion_remastered_is_found_by_its_nested_executable() {
    let home = Home::new();
    let exe = "OblivionRemastered/Binaries/Win64/OblivionRemastered-Win64-Shipping.exe";
    let data = "OblivionRemastered/Content/Dev/ObvData/Data";
    home.write(&format!("game/{exe}"), "");
    home.write(&format!("game/{data}/Oblivion.esm"), "");
    home.write(
        ".config/lutris/games/x.yml",
        &format!("game: {{exe: \"{}\"}}", home.path("game").join(exe).display()),
    );
    let found = home.only();
    assert_eq!((found.title.id, found.local), ("oblivion-remastered", Some(home.path("game").join(data))));
}

#[test]
fn bottles_and_their_external_programs_are_searched() {
    let home = Home::new();
    let bottles = ".var/app/com.usebottles.bottles/data/bottles/bottles";
    let on_c =
        home.skyrim(&format!("{bottles}/One/drive_c/Program Files (x86)/Steam/steamapps/common/Skyrim"));
    let mine = home.create_my_games(&format!("{bottles}/One"), "anna", "Skyrim Special Edition");
    home.write(&format!("{bottles}/Two/placeholder.yml"), &format!("Path: {}\n", home.path("far").display()));
    let outside = home.skyrim("outside/Skyrim");
    home.folder("far/drive_c");
    let program = format!("External_Programs:\n  x:\n    path: {}/SkyrimSE.exe\n", outside.display());
    home.write("far/bottle.yml", &program);
    let found = home.find();
    let games: Vec<_> =
        found.installations.iter().map(|it| (&it.folder, it.prefix.clone().unwrap())).collect();
    assert_eq!(games, [(&on_c, home.path(bottles).join("One")), (&outside, home.path("far"))]);
    assert_eq!(found.installations[0].my_games, Some(mine));
}

#[test]
fn a_game_in_two_launchers_is_one_installation_with_the_used_prefix() {
    let home = Home::new();
    home.manifest(STEAM, 489830, "SSE");
    let game = home.skyrim(&format!("{STEAM}/steamapps/common/SSE"));
    symlink(&game, home.path("link")).unwrap();
    home.create_my_games("prefix", "anna", "Skyrim Special Edition");
    let settings =
        format!("game: {{exe: {0}/link/SkyrimSE.exe, prefix: {0}/prefix}}", home.dir.path().display());
    home.write(".config/lutris/games/skyrim.yml", &settings);
    let found = home.only();
    assert_eq!(
        (found.store, found.folder, found.prefix),
        (Storefront::Steam, game, Some(home.path("prefix")))
    );
    assert!(found.my_games.is_some());
}

#[test]
fn a_game_folder_named_by_the_user_has_the_prefix_of_its_library() {
    let home = Home::new();
    // Steam does not list this library.
    home.manifest("disk", 489830, "SSE");
    let game = home.skyrim("disk/steamapps/common/SSE");
    let my_games =
        home.create_my_games("disk/steamapps/compatdata/489830/pfx", "steamuser", "Skyrim Special Edition");
    let environment = home.environment();
    for folder in [&game, &game.join("Data")] {
        let found = recognise(&Disk::default(), folder, &environment).unwrap();
        assert_eq!(
            (found.store, &found.folder, &found.my_games),
            (Storefront::Steam, &game, &Some(my_games.clone()))
        );
        assert_eq!(found.language.as_deref(), Some("german"));
    }
    // Now Steam lists the library.
    home.libraries(STEAM, &[&home.path("disk")]);
    assert_eq!(recognise(&Disk::default(), &game, &environment).unwrap().my_games, Some(my_games));
    // The user names another prefix.
    let other = home.create_my_games("other/pfx", "anna", "Skyrim Special Edition");
    let found = recognise(&Disk::default(), &game, &environment).unwrap();
    let with = with_prefix(&Disk::default(), &found, &home.path("other"), &environment).unwrap();
    assert_eq!((with.my_games, with.prefix), (Some(other), Some(home.path("other/pfx"))));
    assert!(with_prefix(&Disk::default(), &found, &game, &environment).unwrap_err().contains("drive_c"));
}

#[test]
fn the_error_says_why_a_folder_is_not_a_game() {
    let home = Home::new();
    let environment = home.environment();
    let why = |path: &str| recognise(&Disk::default(), &home.path(path), &environment).unwrap_err();
    assert!(why("none").contains("no such folder"));
    home.folder("empty");
    assert!(why("empty").contains("no game found in this folder"));
    home.write("half/Fallout4.exe", "");
    assert!(why("half").contains("Fallout 4, but Data/Fallout4.esm is missing"));
    home.write("other/Data/Starfield.esm", "");
    assert!(why("other").contains("but Starfield.exe is missing"));
}

#[test]
fn openmw_is_found_by_its_folder_or_its_settings() {
    let home = Home::new();
    assert!(home.find().installations.is_empty());
    home.write(".config/openmw/openmw.cfg", "");
    let settings = home.path(".config/openmw");
    let found = home.only();
    assert_eq!(
        (found.title.id, &found.folder, found.my_games.as_ref()),
        ("openmw", &settings, Some(&settings))
    );
    for file in ["openmw", "openmw.cfg", "resources/vfs/builtin.omwscripts"] {
        home.write(&format!("Games/openmw-0.49/{file}"), "");
    }
    let found = home.only();
    assert_eq!((found.title.id, &found.folder), ("openmw", &home.path("Games/openmw-0.49")));
    assert_eq!(found.local, Some(settings));
}

#[test]
fn all_searched_places_are_listed() {
    let home = Home::new();
    let found = home.find();
    for place in
        [STEAM, ".config/heroic", ".config/lutris/games", ".local/share/bottles", ".wine", "Games", "Faugus"]
    {
        assert!(found.searched.contains(&home.path(place)), "{place}");
    }
    assert_eq!(found.unusable, []);
}

/// Writes empty files below a new folder, and recognises the game in it.
fn recognised(files: &[&str]) -> (Home, Installation) {
    let home = Home::new();
    for file in files.iter() {
        home.write(&format!("game/{file}"), "");
    }
    let found = recognise(&Disk::default(), &home.path("game"), &home.environment()).unwrap();
    (home, found)
}

#[test]
fn games_that_share_files_are_distinguished_in_any_case() {
    let enderal = "Data/Enderal - Forgotten Stories.esm";
    for (id, files) in [
        ("skyrim", &["tesv.EXE", "data/SKYRIM.esm"][..]),
        ("skyrimse", &["SkyrimSE.exe", "Data/Skyrim.esm"]),
        ("skyrimvr", &["SkyrimVR.exe", "Data/Skyrim.esm", "Data/SkyrimVR.esm"]),
        ("enderal", &["TESV.exe", "Enderal Launcher.exe", "Data/Skyrim.esm", enderal]),
        ("enderalse", &["SkyrimSE.exe", "enderal launcher.exe", "Data/Skyrim.esm", enderal]),
        ("fallout4", &["Fallout4.exe", "Data/Fallout4.esm"]),
        ("fallout4vr", &["Fallout4VR.exe", "Data/Fallout4.esm", "Data/Fallout4_VR.esm"]),
        ("oblivion", &["Oblivion.exe", "Data/Oblivion.esm"]),
        ("nehrim", &["Oblivion.exe", "NehrimLauncher.exe", "Data/Nehrim.esm"]),
        ("morrowind", &["Morrowind.exe", "Data Files/Morrowind.esm"]),
        ("starfield", &["Starfield.exe", "Data/Starfield.esm"]),
    ] {
        let (home, found) = recognised(files);
        assert_eq!((found.title.id, found.folder, found.language), (id, home.path("game"), None));
    }
}

#[test]
fn subfolders_for_languages_and_for_nehrim_are_found() {
    let mut files = Vec::new();
    for language in ["French", "german", "English"] {
        let folder = format!("Fallout New Vegas {language}");
        files.extend([format!("{folder}/FalloutNV.exe"), format!("{folder}/Data/FalloutNV.esm")]);
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let (home, found) = recognised(&files);
    let folder = |language: &str| home.path(&format!("game/Fallout New Vegas {language}"));
    assert_eq!((found.title.id, found.folder), ("falloutnv", folder("English")));
    assert_eq!(found.language.as_deref(), Some("english"));
    fs::remove_dir_all(folder("English").join("Data")).unwrap();
    let found = recognise(&Disk::default(), &home.path("game"), &home.environment()).unwrap();
    assert_eq!((found.folder, found.language.as_deref()), (folder("French"), Some("french")));

    let files =
        ["Oblivion.exe", "NehrimLauncher.exe", "Data/Nehrim.esm"].map(|it| format!("NehrimFiles/{it}"));
    let (home, found) = recognised(&files.each_ref().map(String::as_str));
    assert_eq!((found.title.id, found.folder), ("nehrim", home.path("game/NehrimFiles")));
    assert_eq!(found.language, None);
}

#[test]
fn the_store_is_recognised_by_its_files() {
    for (file, store) in [
        ("goggame-1711230643.ico", Storefront::Gog),
        ("galaxy64.DLL", Storefront::Gog),
        ("EOSSDK-Win64-Shipping.dll", Storefront::Epic),
        ("appxmanifest.xml", Storefront::Microsoft),
        ("installscript.vdf", Storefront::Steam),
        ("steam_api64.dll", Storefront::Steam),
        ("readme.txt", Storefront::Unknown),
    ] {
        assert_eq!(recognised(&[&SKYRIM[..], &[file]].concat()).1.store, store, "{file}");
        // If each language has a folder, the manifest of the Microsoft Store is in their parent.
        let english = ["Fallout3.exe", "Data/Fallout3.esm"].map(|it| format!("Fallout 3 GOTY English/{it}"));
        let beside = recognised(&[&english[0], &english[1], file]).1.store;
        assert_eq!(beside == Storefront::Microsoft, store == Storefront::Microsoft, "{file}");
    }
}
