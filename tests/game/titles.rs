//! Games that no world covers: how bsafs recognises them, what they load, and which layer wins.

use serde_json::Value;

use crate::mounted::{Mounted, TestDir, run};
use crate::support::home::{SteamGame, archive_named_after_itself, plugin};

/// A Steam game and the files in its folders.
struct Game {
    id: &'static str,
    app: u32,
    installdir: &'static str,
    /// Names of its folders in My Games and in AppData.
    names: [&'static str; 2],
    /// Version of its archives.
    version: u32,
    /// The files that identify the game, and its settings.
    files: &'static [(&'static str, &'static str)],
    /// Names, flags, and the days of modification.
    plugins: &'static [(&'static str, u32, u64)],
    /// Names of archives. All were modified on day 10.
    archives: &'static [&'static str],
    /// Files of the data folder, whose content is "loose", and their days.
    loose: &'static [(&'static str, u64)],
    expected: Expected,
}

/// What bsafs should do, according to GAMES.md.
struct Expected {
    plugins: &'static [&'static str],
    /// The layers, lowest first.
    layers: &'static [&'static str],
    /// Rule for archives, rule for loose files, confidence.
    rules: [&'static str; 3],
    /// Codes and subjects of notes.
    notes: &'static [(&'static str, &'static str)],
    /// Paths and their contents.
    winners: &'static [(&'static str, &'static str)],
    /// Paths that must not exist.
    absent: &'static [&'static str],
}

const MASTER: u32 = 1;
const BLUEPRINT: u32 = 0x801;

/// In Nehrim the first archive in load order wins that has a path and is not older than the loose
/// file. Only .esp plugins load archives.
const NEHRIM: Game = Game {
    id: "nehrim",
    app: 1014940,
    installdir: "Nehrim/NehrimFiles",
    names: ["Oblivion", "Oblivion"],
    version: 103,
    files: &[
        ("Oblivion.exe", ""),
        ("NehrimLauncher.exe", ""),
        (
            "my/Oblivion.ini",
            "[Archive]\r\nbInvalidateOlderFiles=1\r\nSInvalidationFile=\r\n\
             sArchiveList=N - Meshes.bsa, N - Misc.bsa, L - Voices.bsa\r\n",
        ),
        ("local/Plugins.txt", "Extra.esp\r\nNehrim.esm\r\n"),
    ],
    plugins: &[("Nehrim.esm", MASTER, 5), ("Extra.esp", 0, 1), ("Off.esp", 0, 2)],
    archives: &[
        "N - Meshes.bsa",
        "N - Misc.bsa",
        "L - Voices.bsa",
        "Extra.bsa",
        "Extra - More.bsa",
        "Nehrim.bsa",
        "Off.bsa",
    ],
    loose: &[("misc/shared.txt", 9), ("misc/extra.bsa.txt", 11)],
    expected: Expected {
        plugins: &["Nehrim.esm", "Extra.esp"],
        layers: &[
            "Data",
            "Extra.bsa",
            "Extra - More.bsa",
            "L - Voices.bsa",
            "N - Misc.bsa",
            "N - Meshes.bsa",
        ],
        rules: ["first", "newer", "medium"],
        notes: &[("archive-inactive", "Off.bsa"), ("archive-unlisted", "Nehrim.bsa"), ("loose-older", "")],
        winners: &[
            ("misc/shared.txt", "N - Meshes.bsa"),
            ("MISC/Extra.bsa.txt", "loose"),
            ("misc/extra - more.bsa.txt", "Extra - More.bsa"),
        ],
        absent: &["misc/off.bsa.txt", "misc/nehrim.bsa.txt"],
    },
};

/// In Fallout 3 a flag makes a plugin a master, whatever its extension. Masters load by date,
/// oldest first. The first archive wins.
const FALLOUT3: Game = Game {
    id: "fallout3",
    app: 22370,
    installdir: "Fallout 3 goty",
    names: ["Fallout3", "Fallout3"],
    version: 104,
    files: &[
        ("Fallout3.exe", ""),
        ("my/Fallout.ini", "[Archive]\nbInvalidateOlderFiles=1\nSArchiveList=Fallout - Meshes.bsa\n"),
        ("my/FalloutPrefs.ini", "[Archive]\nSArchiveList=Fallout - Textures.bsa, Fallout - Misc.bsa\n"),
        ("local/plugins.txt", "# comment\nMod.esp\nZeta.esp\nFallout3.esm\nAnchorage.esm\n"),
    ],
    plugins: &[
        ("Fallout3.esm", MASTER, 1),
        ("Zeta.esp", MASTER, 2),
        ("Anchorage.esm", MASTER, 3),
        ("Mod.esp", 0, 0),
    ],
    archives: &[
        "Fallout - Meshes.bsa",
        "Fallout - Misc.bsa",
        "Fallout - Textures.bsa",
        "Anchorage - Main.bsa",
        "ModExtra.bsa",
    ],
    loose: &[("misc/modextra.bsa.txt", 11)],
    expected: Expected {
        plugins: &["Fallout3.esm", "Zeta.esp", "Anchorage.esm", "Mod.esp"],
        layers: &[
            "ModExtra.bsa",
            "Anchorage - Main.bsa",
            "Fallout - Misc.bsa",
            "Fallout - Textures.bsa",
            "Data",
        ],
        rules: ["first", "always", "low"],
        notes: &[("archive-unlisted", "Fallout - Meshes.bsa")],
        winners: &[
            ("misc/shared.txt", "Fallout - Textures.bsa"),
            ("misc/modextra.bsa.txt", "loose"),
            ("misc/anchorage - main.bsa.txt", "Anchorage - Main.bsa"),
        ],
        absent: &["misc/fallout - meshes.bsa.txt"],
    },
};

/// Enderal reads its own INI files instead of Skyrim's, then those of active plugins. A plugin `P`
/// attaches only `P.bsa`.
const ENDERAL: Game = Game {
    id: "enderal",
    app: 933480,
    installdir: "Enderal",
    names: ["Enderal", "enderal"],
    version: 104,
    files: &[
        ("TESV.exe", ""),
        ("Enderal Launcher.exe", ""),
        (
            "my/Enderal.ini",
            "[Archive]\nsResourceArchiveList=Skyrim - Misc.bsa\nsResourceArchiveList2=E - Meshes.bsa\n",
        ),
        ("my/Skyrim.ini", "[Archive]\nsResourceArchiveList=Wrong.bsa\n"),
        ("Data/Mod.ini", "[Archive]\nsResourceArchiveList2=E - Meshes.bsa, Extra.bsa\n"),
        ("local/plugins.txt", "Enderal - Forgotten Stories.esm\nMod.esp\n"),
    ],
    plugins: &[
        ("Skyrim.esm", MASTER, 3),
        ("Update.esm", MASTER, 2),
        ("Enderal - Forgotten Stories.esm", MASTER, 1),
        ("Mod.esp", 0, 0),
    ],
    archives: &[
        "Skyrim - Misc.bsa",
        "E - Meshes.bsa",
        "Extra.bsa",
        "Wrong.bsa",
        "Mod.bsa",
        "Mod - Textures.bsa",
    ],
    loose: &[("misc/extra.bsa.txt", 1)],
    expected: Expected {
        plugins: &["Skyrim.esm", "Enderal - Forgotten Stories.esm", "Update.esm", "Mod.esp"],
        layers: &["Skyrim - Misc.bsa", "E - Meshes.bsa", "Extra.bsa", "Mod.bsa", "Data"],
        rules: ["last", "always", "high"],
        notes: &[("archive-unlisted", "Mod - Textures.bsa"), ("archive-unlisted", "Wrong.bsa")],
        winners: &[
            ("misc/shared.txt", "Mod.bsa"),
            ("misc/extra.bsa.txt", "loose"),
            ("misc/e - meshes.bsa.txt", "E - Meshes.bsa"),
        ],
        absent: &["misc/wrong.bsa.txt", "misc/mod - textures.bsa.txt"],
    },
};

/// Like Skyrim Special Edition, but with INI files named after Enderal.
const ENDERALSE: Game = Game {
    id: "enderalse",
    app: 976620,
    installdir: "Enderal Special Edition",
    names: ["Enderal Special Edition"; 2],
    version: 105,
    files: &[
        ("SkyrimSE.exe", ""),
        ("Enderal Launcher.exe", ""),
        (
            "my/Enderal.ini",
            "[Archive]\nsResourceArchiveList=Skyrim - Misc.bsa\nsResourceArchiveList2=E - Meshes.bsa\n",
        ),
        ("my/EnderalCustom.ini", "[Archive]\nsResourceArchiveList2=E - Meshes.bsa, L - Voices.bsa\n"),
        ("my/Skyrim.ini", "[Archive]\nsResourceArchiveList=Wrong.bsa\n"),
        ("local/Plugins.txt", "*Mod.esp\nOff.esp\n*Enderal - Forgotten Stories.esm\n*Light.esl\n"),
    ],
    plugins: &[
        ("Skyrim.esm", MASTER, 1),
        ("Update.esm", MASTER, 1),
        ("Enderal - Forgotten Stories.esm", MASTER, 1),
        ("Mod.esp", 0, 1),
        ("Light.esl", 0, 1),
        ("Off.esp", 0, 1),
    ],
    archives: &[
        "Skyrim - Misc.bsa",
        "E - Meshes.bsa",
        "L - Voices.bsa",
        "Wrong.bsa",
        "Mod - Textures.bsa",
        "Mod.bsa",
        "Light.bsa",
        "Off.bsa",
    ],
    loose: &[("misc/mod.bsa.txt", 1)],
    expected: Expected {
        plugins: &["Skyrim.esm", "Update.esm", "Enderal - Forgotten Stories.esm", "Light.esl", "Mod.esp"],
        layers: &[
            "Skyrim - Misc.bsa",
            "E - Meshes.bsa",
            "L - Voices.bsa",
            "Light.bsa",
            "Mod.bsa",
            "Mod - Textures.bsa",
            "Data",
        ],
        rules: ["last", "always", "high"],
        notes: &[("archive-inactive", "Off.bsa"), ("archive-unlisted", "Wrong.bsa")],
        winners: &[
            ("misc/shared.txt", "Mod - Textures.bsa"),
            ("misc/mod.bsa.txt", "loose"),
            ("misc/light.bsa.txt", "Light.bsa"),
        ],
        absent: &["misc/off.bsa.txt", "misc/wrong.bsa.txt"],
    },
};

/// Skyrim VR reads `Skyrim.ini` from the game's folder and ignores .ccc files. The archives of its
/// own list rank above those of plugins.
const SKYRIMVR: Game = Game {
    id: "skyrimvr",
    app: 611670,
    installdir: "SkyrimVR",
    names: ["Skyrim VR"; 2],
    version: 105,
    files: &[
        ("SkyrimVR.exe", ""),
        ("Skyrim.ini", "[Archive]\nsResourceArchiveList=Skyrim - Misc.bsa\n"),
        (
            "my/SkyrimVR.ini",
            "[Archive]\nsResourceArchiveList2=Skyrim - Voices_en0.bsa\n\
             sVrResourceArchiveList=Skyrim_VR - Main.bsa\n",
        ),
        ("Skyrim.ccc", "ccClub.esl\n"),
        ("local/Plugins.txt", "*Mod.esp\n"),
    ],
    plugins: &[
        ("Skyrim.esm", MASTER, 1),
        ("SkyrimVR.esm", MASTER, 1),
        ("Mod.esp", 0, 1),
        ("ccClub.esl", MASTER, 1),
    ],
    archives: &[
        "Skyrim - Misc.bsa",
        "Skyrim - Voices_en0.bsa",
        "Skyrim_VR - Main.bsa",
        "Mod.bsa",
        "Mod - Textures.bsa",
        "ccClub.bsa",
    ],
    loose: &[("misc/mod.bsa.txt", 1)],
    expected: Expected {
        plugins: &["Skyrim.esm", "SkyrimVR.esm", "Mod.esp"],
        layers: &[
            "Skyrim - Misc.bsa",
            "Skyrim - Voices_en0.bsa",
            "Mod.bsa",
            "Mod - Textures.bsa",
            "Skyrim_VR - Main.bsa",
            "Data",
        ],
        rules: ["last", "always", "high"],
        notes: &[("archive-inactive", "ccClub.bsa")],
        winners: &[
            ("misc/shared.txt", "Skyrim_VR - Main.bsa"),
            ("misc/mod.bsa.txt", "loose"),
            ("misc/mod - textures.bsa.txt", "Mod - Textures.bsa"),
        ],
        absent: &["misc/ccclub.bsa.txt"],
    },
};

/// Starfield has settings in the game's folder and for each language. A blueprint plugin is active
/// if the plugin that it belongs to is active, and loads last. A plugin attaches archives with four
/// endings. Loose files load only if the settings allow it.
const STARFIELD: Game = Game {
    id: "starfield",
    app: 1716740,
    installdir: "Starfield",
    names: ["Starfield"; 2],
    version: 2,
    files: &[
        ("Starfield.exe", ""),
        (
            "Starfield.ini",
            "[Archive]\nsResourceIndexFileList=Starfield - Textures01.ba2\n\
             sResourceStartUpArchiveList=Starfield - Interface.ba2\n\
             SResourceArchiveList=Starfield - Misc.ba2\n\
             sResourceEnglishVoiceList=Starfield - Voices01.ba2\nsResourceDataDirsFinal=STRINGS\\\n",
        ),
        ("my/Starfield_de.INI", "[Archive]\nsResourceEnglishVoiceList=Starfield - Voices_de.ba2\n"),
        ("my/StarfieldPrefs.ini", ""),
        ("my/StarfieldCustom.ini", "[Archive]\nbInvalidateOlderFiles=1\nsResourceDataDirsFinal=\n"),
        ("local/Plugins.txt", "*Mod.esm\n"),
    ],
    plugins: &[
        ("Starfield.esm", MASTER, 1),
        ("BlueprintShips-Starfield.esm", BLUEPRINT, 1),
        ("Mod.esm", MASTER, 1),
    ],
    archives: &[
        "Starfield - Textures01.ba2",
        "Starfield - Interface.ba2",
        "Starfield - Misc.ba2",
        "Starfield - Voices_de.ba2",
        "BlueprintShips-Starfield - Main.ba2",
        "Mod - Extra.ba2",
        "Mod - Localization.ba2",
        "Mod - Main.ba2",
        "Mod - Voices_de.ba2",
    ],
    loose: &[("misc/mod - main.ba2.txt", 1)],
    expected: Expected {
        plugins: &["Starfield.esm", "Mod.esm", "BlueprintShips-Starfield.esm"],
        layers: &[
            "Starfield - Textures01.ba2",
            "Starfield - Interface.ba2",
            "Starfield - Misc.ba2",
            "Starfield - Voices_de.ba2",
            "Mod - Main.ba2",
            "Mod - Localization.ba2",
            "Mod - Voices_de.ba2",
            "BlueprintShips-Starfield - Main.ba2",
            "Data",
        ],
        rules: ["last", "always", "high"],
        notes: &[("archive-unlisted", "Mod - Extra.ba2")],
        winners: &[
            ("misc/shared.txt", "BlueprintShips-Starfield - Main.ba2"),
            ("misc/mod - main.ba2.txt", "loose"),
            ("misc/starfield - voices_de.ba2.txt", "Starfield - Voices_de.ba2"),
        ],
        absent: &["misc/mod - extra.ba2.txt"],
    },
};

fn install(game: &Game, dir: &TestDir) -> SteamGame {
    let installed = SteamGame::install(&dir.path(game.id), game.app, game.installdir, "german", game.names);
    for (name, text) in game.files {
        installed.write(name, text.as_bytes(), 0);
    }
    let extra = if game.id == "nehrim" { 0 } else { 4 };
    for (name, flags, day) in game.plugins {
        installed.write(&format!("Data/{name}"), &plugin(extra, *flags, &[]), *day);
    }
    for name in game.archives {
        installed.write(&format!("Data/{name}"), &archive_named_after_itself(name, game.version), 10);
    }
    for (path, day) in game.loose {
        installed.write(&format!("Data/{path}"), b"loose", *day);
    }
    installed
}

/// The texts under a key, without the folders of paths.
fn names(values: &Value, key: &str) -> Vec<String> {
    let name = |value: &Value| value[key].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    values.as_array().unwrap().iter().map(name).collect()
}

fn check(game: &Game) {
    let dir = TestDir::new();
    let installed = install(game, &dir);
    let bsafs = |arguments: &[&str]| {
        let mut command = dir.bsafs(arguments);
        for variable in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"] {
            command.env_remove(variable);
        }
        let finished = run(command.env("HOME", &installed.home).env("USER", "nobody"));
        assert_eq!((finished.code, finished.err.as_str()), (0, ""), "{arguments:?}");
        finished.out
    };
    let Expected { plugins, layers, rules, notes, winners, absent } = &game.expected;
    let printed = bsafs(&["order", "--json", game.id]);
    let order: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(order["game"], game.id);
    assert_eq!(order["plugins"], serde_json::json!(plugins), "{}", game.id);
    assert_eq!(names(&order["layers"], "path"), *layers, "{}", game.id);
    let precedence = &order["precedence"];
    assert_eq!([&precedence["archives"], &precedence["loose"], &order["confidence"]], *rules, "{}", game.id);
    let codes = order["notes"].as_array().unwrap().iter().map(|note| note["code"].as_str().unwrap());
    let subjects = order["notes"].as_array().unwrap().iter().map(|note| note["subject"].as_str().unwrap());
    let subjects = subjects.map(|subject| {
        let data = installed.folder.join("Data");
        subject.strip_prefix(data.to_str().unwrap()).map_or(subject, |it| it.trim_start_matches('/'))
    });
    let mut found: Vec<_> = codes.zip(subjects).collect();
    found.sort_unstable();
    assert_eq!(found, *notes, "{}", game.id);
    // Naming the game by its folder gives the same order.
    assert_eq!(bsafs(&["order", "--json", installed.folder.to_str().unwrap()]), printed, "{}", game.id);

    let mount = Mounted::at(&dir.path("mnt"), bsafs(&["mount", game.id, "mnt"]));
    for (path, content) in *winners {
        assert_eq!(String::from_utf8(mount.read(path)).unwrap(), *content, "{}: {path}", game.id);
    }
    for path in *absent {
        assert!(!mount.join(path).exists(), "{}: {path}", game.id);
    }
    mount.umount(&dir);
}

#[test]
fn games_without_a_world_follow_their_rules() {
    for game in [NEHRIM, FALLOUT3, ENDERAL, ENDERALSE, SKYRIMVR, STARFIELD] {
        check(&game);
    }
}

#[test]
fn starfield_without_its_setting_hides_loose_textures() {
    let dir = TestDir::new();
    let game = Game { id: "starfield", ..STARFIELD };
    let installed = install(&game, &dir);
    installed.write("my/StarfieldCustom.ini", b"", 0);
    installed.write("Data/strings/a.strings", b"loose", 0);
    let mount = run(dir.bsafs(["mount", "starfield", "mnt"]).env("HOME", &installed.home));
    assert_eq!(mount.code, 0, "{}", mount.err);
    let mount = Mounted::at(&dir.path("mnt"), mount.out);
    assert_eq!(mount.read("misc/mod - main.ba2.txt"), b"Mod - Main.ba2");
    assert_eq!(mount.read("strings/a.strings"), b"loose");
    mount.umount(&dir);
}
