//! The places where launchers and mod managers keep games, prefixes and instances, and the user's own list.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bsafs::game::find::prefixes;
use bsafs::game::{Disk, find_instances};

use super::find::{Home, STEAM};

/// Ids and folders of the games that are found, ordered by folder.
fn games(home: &Home) -> Vec<(&'static str, PathBuf)> {
    let found = home.find();
    let mut games: Vec<_> = found.installations.iter().map(|it| (it.title.id, it.folder.clone())).collect();
    games.sort_by(|a, b| a.1.cmp(&b.1));
    games
}

/// Writes the files that identify New Vegas, and returns their folder.
fn new_vegas(home: &Home, folder: &str) -> PathBuf {
    for it in ["FalloutNV.exe", "Data/FalloutNV.esm"].iter() {
        home.write(&format!("{folder}/{it}"), "");
    }
    home.path(folder)
}

/// Writes a file in a prefix whose time says when a program last started.
fn start(home: &Home, lock: &str, day: u64) {
    home.write(lock, "");
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + day * 86_400);
    File::options()
        .write(true)
        .open(home.path(lock))
        .unwrap()
        .set_times(FileTimes::new().set_modified(time))
        .unwrap();
}

/// Writes an instance of Mod Organizer 2 whose game is not known.
fn instance(home: &Home, folder: &str) -> PathBuf {
    home.write(&format!("{folder}/ModOrganizer.ini"), "[General]\nselected_profile=B\n");
    for profile in ["A", "B"] {
        home.write(&format!("{folder}/profiles/{profile}/modlist.txt"), "+Mod\n");
    }
    home.path(folder)
}

/// The folders of the instances that are found.
fn instances(home: &Home) -> Vec<PathBuf> {
    let found = home.find();
    let found = find_instances(&Disk::default(), &home.environment(), &found, None);
    found.into_iter().map(|it| it.folder).filter(|it| it.starts_with(home.dir.path())).collect()
}

#[test]
fn morrowind_and_oblivion_from_epic_are_found_in_folders_for_languages() {
    let home = Home::new();
    for (folder, exe, master) in [
        ("a/Morrowind GOTY English", "Morrowind.exe", "Data Files/Morrowind.esm"),
        ("b/Oblivion GOTY German", "Oblivion.exe", "Data/Oblivion.esm"),
    ] {
        home.write(&format!("{folder}/{exe}"), "");
        home.write(&format!("{folder}/{master}"), "");
    }
    let entry = |id: &str, path: &str| {
        format!(r#""{id}": {{"app_name": "{id}", "install_path": "{}"}}"#, home.path(path).display())
    };
    let (morrowind, oblivion) = ("2b04b1a83647411e956695342f1d14b6", "0d0c62755e5a45c7a07fd9cc0b61c39c");
    let list = format!("{{{}, {}}}", entry(morrowind, "a"), entry(oblivion, "b"));
    home.write(".config/legendary/installed.json", &list);
    let prefix = home.folder("wine/morrowind/drive_c");
    let settings =
        format!("[Legendary]\nx=1\n[{morrowind}]\nwine_prefix = {0}\n", prefix.parent().unwrap().display());
    home.write(".config/legendary/config.ini", &settings);
    assert_eq!(
        games(&home),
        [
            ("morrowind", home.path("a/Morrowind GOTY English")),
            ("oblivion", home.path("b/Oblivion GOTY German"))
        ]
    );
    let found = home.find();
    let morrowind = found.installations.iter().find(|it| it.title.id == "morrowind").unwrap();
    assert_eq!(morrowind.prefix.as_deref(), prefix.parent());
    let oblivion = found.installations.iter().find(|it| it.title.id == "oblivion").unwrap();
    assert_eq!(oblivion.language.as_deref(), Some("german"));
}

#[test]
fn a_game_from_amazon_is_found_in_the_list_of_heroic() {
    let home = Home::new();
    let game = new_vegas(&home, "amazon/Fallout New Vegas");
    let list = format!(r#"[{{"id": "amzn1.x", "path": "{}"}}, {{"id": 3}}, null]"#, game.display());
    let heroic = ".var/app/com.heroicgameslauncher.hgl/config/heroic";
    home.write(&format!("{heroic}/nile_config/nile/installed.json"), &list);
    let my_games = home.create_my_games("made/pfx", "steamuser", "FalloutNV");
    let settings = r#"{"amzn1.x": {"winePrefix": "~/made", "wineVersion": {"type": "proton"}}}"#;
    home.write(&format!("{heroic}/GamesConfig/amzn1.x.json"), settings);
    let found = home.only();
    assert_eq!((found.title.id, found.folder, found.my_games), ("falloutnv", game, Some(my_games)));
}

#[test]
fn a_game_that_heroic_does_not_list_is_found_with_the_prefix_of_its_title() {
    let home = Home::new();
    let game = new_vegas(&home, "Games/Heroic/New Vegas");
    let my_games =
        home.create_my_games("Games/Heroic/Prefixes/default/New Vegas/pfx", "steamuser", "FalloutNV");
    let found = home.only();
    assert_eq!((found.folder, found.my_games), (game, Some(my_games)));
}

#[test]
fn games_of_faugus_and_umu_are_found() {
    let home = Home::new();
    let listed = new_vegas(&home, "elsewhere/nv");
    let list = format!(
        r#"[{{"title": "x", "path": "{}/FalloutNV.exe", "prefix": "{}"}}]"#,
        listed.display(),
        home.folder("faugus-prefix/drive_c").parent().unwrap().display()
    );
    home.write(".local/share/faugus-launcher/games.json", &list);
    let in_prefix = home.skyrim(".config/faugus-launcher/prefixes/skyrim/drive_c/Games/Skyrim");
    let in_umu = home.skyrim("Games/umu/489830/drive_c/GOG Games/Skyrim");
    let in_faugus = home.skyrim("Faugus/default/drive_c/Program Files (x86)/Skyrim");
    assert_eq!(
        games(&home),
        [("skyrimse", in_prefix), ("skyrimse", in_faugus), ("skyrimse", in_umu), ("falloutnv", listed)]
    );
    let found = home.find();
    let listed = found.installations.iter().find(|it| it.title.id == "falloutnv").unwrap();
    assert_eq!(listed.prefix, Some(home.path("faugus-prefix")));
}

#[test]
fn bottles_in_a_folder_that_the_user_chose_are_searched() {
    for settings in [".local/share/bottles", ".var/app/com.usebottles.bottles/data/bottles"] {
        let home = Home::new();
        let path = home.path("my bottles");
        home.write(&format!("{settings}/data.yml"), &format!("custom_bottles_path: '{}'\n", path.display()));
        let game = home.skyrim("my bottles/Skyrim/drive_c/Games/SSE");
        assert_eq!(games(&home), [("skyrimse", game)], "{settings}");
    }
}

#[test]
fn a_library_in_the_home_of_steams_sandbox_is_found_outside() {
    for sandbox in [".var/app/com.valvesoftware.Steam", "snap/steam/common"] {
        let home = Home::new();
        let root = format!("{sandbox}/.local/share/Steam");
        // Steam sees this folder as ~/Library.
        home.libraries(&root, &[&home.path("Library"), &home.path("Gone")]);
        home.manifest(&format!("{sandbox}/Library"), 489830, "SSE");
        let game = home.skyrim(&format!("{sandbox}/Library/steamapps/common/SSE"));
        let found = home.find();
        assert_eq!(found.installations.len(), 1, "{sandbox}");
        assert_eq!(found.installations[0].folder, game);
        let [(path, why)] = &found.unusable[..] else { panic!("{:?}", found.unusable) };
        assert_eq!(*path, home.path("Gone"));
        assert!(why.contains("sandbox") && !why.contains("disk"), "{why}");
    }
}

#[test]
fn instances_of_other_tools_are_found() {
    let home = Home::new();
    let stl = ".config/steamtinkerlaunch/mo2/compatdata/pfx/drive_c";
    let expected = [
        instance(&home, &format!("{stl}/Modding/Portable")),
        instance(&home, &format!("{stl}/users/steamuser/AppData/Local/ModOrganizer/Global")),
        instance(&home, ".local/share/fluorine/one"),
        instance(&home, "disk/linked"),
        instance(&home, "disk/listed"),
        instance(&home, "disk/named"),
    ];
    home.folder(".config/mo2-lint/instances");
    symlink(&expected[3], home.path(".config/mo2-lint/instances/x")).unwrap();
    let list = format!(r#"{{"instances": [{{"instance_path": "{}"}}, {{}}]}}"#, expected[4].display());
    home.write(".config/mo2-lint/state.json", &list);
    home.write(".config/bsafs/places.toml", "instances = ['~/disk/named', '~/gone']\n");
    let mut wanted: Vec<PathBuf> = expected.to_vec();
    wanted[3] = home.path(".config/mo2-lint/instances/x");
    wanted.sort();
    assert_eq!(instances(&home), wanted);
    let unusable = home.find().unusable;
    assert_eq!(unusable.len(), 1, "{unusable:?}");
    assert!(unusable[0].1.contains("places.toml names this folder"), "{unusable:?}");
    let found = find_instances(&Disk::default(), &home.environment(), &home.find(), None);
    let names: Vec<&str> = found[0].profiles.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, found[0].profile.as_deref()), (vec!["A", "B"], Some("B")));
}

#[test]
fn places_of_the_user_have_games_and_prefixes() {
    let home = Home::new();
    let (one, two) = (home.skyrim("data/one"), new_vegas(&home, "data/many/nv"));
    let used = home.create_my_games("prefixes/p", "anna", "Skyrim Special Edition");
    // The launcher's own prefix was used later, but the user named the other.
    let own = home.create_my_games("data/one/pfx", "anna", "Skyrim Special Edition");
    start(&home, "data/one/pfx.lock", 9);
    home.write(".config/bsafs/places.toml", "games = ['~/data/one', '~/data/many']\n");
    assert_eq!(games(&home), [("falloutnv", two), ("skyrimse", one)]);
    let skyrim = || home.find().installations.into_iter().find(|it| it.title.id == "skyrimse").unwrap();
    assert_eq!(skyrim().my_games, Some(own));
    home.write(".config/bsafs/places.toml", "games = ['~/data/one']\nprefixes = ['~/prefixes']\n");
    assert_eq!(skyrim().my_games, Some(used));
}

#[test]
fn a_damaged_list_of_places_is_reported() {
    for (text, why) in
        [("games = [", "expected"), ("game = ['x']", "unknown field"), ("games = ['x']", "must begin")]
    {
        let home = Home::new();
        home.write(".config/bsafs/places.toml", text);
        let [(path, found)] = &home.find().unusable[..] else { panic!("{text}") };
        assert_eq!(*path, home.path(".config/bsafs/places.toml"));
        assert!(found.contains(why), "{text}: {found}");
    }
    // The list may be a link to a file that the reader of the message should not see.
    let home = Home::new();
    home.write(".config/bsafs/places.toml", "root:secret-hash\n");
    let [(_, found)] = &home.find().unusable[..] else { panic!("it was read") };
    assert!(!found.contains("secret"), "{found}");
    let home = Home::new();
    home.write(".config/bsafs/places.toml", &"#".repeat(bsafs::limits::SETTINGS_MAX + 1));
    assert!(home.find().unusable[0].1.contains("larger than"));
}

/// A Steam game in a second library, whose prefix is in both.
fn two_prefixes() -> (Home, [PathBuf; 2]) {
    let home = Home::new();
    let second = home.folder("disk/Library");
    home.libraries(STEAM, &[&home.path(STEAM), &second]);
    home.manifest("disk/Library", 489830, "SSE");
    home.skyrim("disk/Library/steamapps/common/SSE");
    let prefixes = [STEAM, "disk/Library"].map(|library| {
        let prefix = format!("{library}/steamapps/compatdata/489830/pfx");
        home.create_my_games(&prefix, "steamuser", "Skyrim Special Edition");
        home.path(&prefix)
    });
    (home, prefixes)
}

#[test]
fn of_several_prefixes_the_one_that_started_last_is_used() {
    for used in [0, 1] {
        let (home, prefixes) = two_prefixes();
        start(&home, &format!("{STEAM}/steamapps/compatdata/489830/pfx.lock"), 2 - used);
        start(&home, "disk/Library/steamapps/compatdata/489830/pfx.lock", 1 + used);
        let found = home.only();
        let used = used as usize;
        assert_eq!(found.prefix.as_ref(), Some(&prefixes[used]));
        let all: Vec<_> = found.prefixes.iter().map(|it| it.folder.clone()).collect();
        assert_eq!(all, [prefixes[used].clone(), prefixes[1 - used].clone()]);
    }
}

#[test]
fn a_prefix_that_stayed_in_another_library_is_used() {
    let (home, [old, new]) = two_prefixes();
    fs::remove_dir_all(new.parent().unwrap()).unwrap();
    let found = home.only();
    assert_eq!((found.prefix, found.prefixes.len()), (Some(old), 1));
}

/// Writes a list of shortcuts with one program.
fn shortcut(home: &Home, app: u32, exe: &Path) {
    let exe = format!("\"{}\" --some-flag", exe.display());
    let text = [
        &b"\0shortcuts\0\x000\0\x02appid\0"[..],
        &app.to_le_bytes(),
        b"\x01AppName\0x\0\x01exe\0",
        exe.as_bytes(),
        b"\0\x01StartDir\0\"/\"\0\x08\x08\x08",
    ]
    .concat();
    let path = home.path(&format!("{STEAM}/userdata/123/config/shortcuts.vdf"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn the_prefix_of_a_shortcut_to_a_program_of_the_game_is_used() {
    let home = Home::new();
    let game = home.skyrim("Games/SSE");
    home.folder(&format!("{STEAM}/steamapps"));
    let prefix = format!("{STEAM}/steamapps/compatdata/3000000001/pfx");
    let my_games = home.create_my_games(&prefix, "steamuser", "Skyrim Special Edition");
    assert_eq!(home.only().my_games, None, "nothing leads to this prefix");
    let [known] = &home.only().prefixes[..] else { panic!("{:?}", home.only()) };
    assert_eq!(known.folder, home.path(&prefix), "a note names it");
    shortcut(&home, 3_000_000_001, &game.join("skse64_loader.exe"));
    assert_eq!(home.only().my_games, Some(my_games));
    shortcut(&home, 3_000_000_001, &home.path("other.exe"));
    assert_eq!(home.only().my_games, None);
    // A shortcut to Mod Organizer, whose instance manages this game, and one that manages another.
    shortcut(&home, 3_000_000_001, &home.path("mo2/ModOrganizer.exe"));
    for (path, is_used) in [(r"Z:\\\\x\\games\\sse", false), (r"D:\\games\\sse", true)] {
        home.write("mo2/ModOrganizer.ini", &format!("[General]\ngamePath=@ByteArray({path})\n"));
        assert_eq!(home.only().my_games.is_some(), is_used, "{path}");
    }
}

#[test]
fn a_prefix_in_the_folder_of_the_game_is_used() {
    let home = Home::new();
    let game = home.skyrim("GOG Games/SSE");
    let my_games = home.create_my_games("GOG Games/SSE/prefix", "anna", "Skyrim Special Edition");
    let found = home.only();
    assert_eq!((found.folder, found.my_games), (game, Some(my_games)));
}

#[test]
fn all_prefixes_with_settings_of_a_game_are_listed() {
    let (home, [first, second]) = two_prefixes();
    let other = format!("{STEAM}/steamapps/compatdata/7/pfx");
    home.create_my_games(&other, "steamuser", "Skyrim Special Edition");
    home.create_my_games(".wine", "anna", "Skyrim");
    start(&home, ".wine/user.reg", 1);
    start(&home, "disk/Library/steamapps/compatdata/489830/pfx.lock", 1);
    let found = home.find();
    let listed = prefixes(&Disk::default(), &found.installations[0], &found, &home.environment());
    let listed: Vec<_> = listed.iter().map(|it| (it.folder.clone(), it.last_start.is_some())).collect();
    assert_eq!(listed, [(second, true), (first, false), (home.path(&other), false)]);
}
