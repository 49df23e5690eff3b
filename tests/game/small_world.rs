//! A small home folder with one game, which a test writes and asks `bsafs order` and a mount about.

use serde_json::Value;

use crate::mounted::{Finished, Mounted, TestDir, run};
use crate::support::home::{SteamGame, archive_named_after_itself, plugin};

/// A game of Steam.
pub(super) struct Game {
    pub(super) id: &'static str,
    app: u32,
    installdir: &'static str,
    /// Name of its folders in My Games and in AppData.
    folder: &'static str,
    /// Version of its archives.
    version: u32,
    /// The files that identify it.
    marks: &'static [&'static str],
}

pub(super) const SKYRIMSE: Game = Game {
    id: "skyrimse",
    app: 489_830,
    installdir: "Skyrim Special Edition",
    folder: "Skyrim Special Edition",
    version: 105,
    marks: &["SkyrimSE.exe", "Data/Skyrim.esm"],
};

pub(super) const OBLIVION: Game = Game {
    id: "oblivion",
    app: 22_330,
    installdir: "Oblivion",
    folder: "Oblivion",
    version: 103,
    marks: &["Oblivion.exe", "Data/Oblivion.esm"],
};

pub(super) const SKYRIM: Game = Game {
    id: "skyrim",
    app: 72_850,
    installdir: "Skyrim",
    folder: "Skyrim",
    version: 104,
    marks: &["TESV.exe", "Data/Skyrim.esm"],
};

pub(super) const ENDERALSE: Game = Game {
    id: "enderalse",
    app: 976_620,
    installdir: "Enderal Special Edition",
    folder: "Enderal Special Edition",
    version: 105,
    marks: &["SkyrimSE.exe", "Enderal Launcher.exe", "Data/Enderal - Forgotten Stories.esm"],
};

pub(super) const STARFIELD: Game = Game {
    id: "starfield",
    app: 1_716_740,
    installdir: "Starfield",
    folder: "Starfield",
    version: 2,
    marks: &["Starfield.exe", "Data/Starfield.esm"],
};

pub(super) const REMASTERED: Game = Game {
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
pub(super) const MORROWIND: Game = Game {
    id: "morrowind",
    app: 22_320,
    installdir: "Morrowind",
    folder: "",
    version: 0,
    marks: &["Data Files/Morrowind.esm"],
};

pub(super) const FALLOUT4: Game = Game {
    id: "fallout4",
    app: 377_160,
    installdir: "Fallout 4",
    folder: "Fallout4",
    version: 1,
    marks: &["Fallout4.exe", "Data/Fallout4.esm"],
};

pub(super) const SKYRIMVR: Game = Game {
    id: "skyrimvr",
    app: 611_670,
    installdir: "SkyrimVR",
    folder: "Skyrim VR",
    version: 105,
    marks: &["SkyrimVR.exe", "Data/Skyrim.esm", "Data/SkyrimVR.esm"],
};

pub(super) const FALLOUT4VR: Game = Game {
    id: "fallout4vr",
    app: 611_660,
    installdir: "Fallout 4 VR",
    folder: "Fallout4VR",
    version: 1,
    marks: &["Fallout4VR.exe", "Data/Fallout4.esm", "Data/Fallout4_VR.esm"],
};

pub(super) const FALLOUT3: Game = Game {
    id: "fallout3",
    app: 22_300,
    installdir: "Fallout 3",
    folder: "Fallout3",
    version: 104,
    marks: &["Fallout3.exe", "Data/Fallout3.esm"],
};

pub(super) const FALLOUTNV: Game = Game {
    id: "falloutnv",
    app: 22_380,
    installdir: "Fallout New Vegas",
    folder: "FalloutNV",
    version: 104,
    marks: &["FalloutNV.exe", "Data/FalloutNV.esm"],
};

pub(super) const NEHRIM: Game = Game {
    id: "nehrim",
    app: 1_014_940,
    installdir: "Nehrim/NehrimFiles",
    folder: "Oblivion",
    version: 103,
    marks: &["Oblivion.exe", "NehrimLauncher.exe", "Data/Nehrim.esm"],
};

/// Fallout 4 with archives of its update of 2024.
pub(super) const FALLOUT4_NEXT: Game = Game { version: 8, ..FALLOUT4 };

/// A home with one game and perhaps an instance of Mod Organizer 2.
pub(super) struct SmallWorld {
    pub(super) dir: TestDir,
    game: &'static Game,
    pub(super) installed: SteamGame,
}

impl SmallWorld {
    /// Installs a game and writes these files. A plugin gets a header, and an archive gets files named
    /// after it.
    pub(super) fn new(game: &'static Game, files: &[(&str, &str)]) -> Self {
        let dir = TestDir::new();
        let names = [game.folder; 2];
        let installed = SteamGame::install(&dir.path("home"), game.app, game.installdir, "english", names);
        let world = Self { dir, game, installed };
        let marks: Vec<_> = game.marks.iter().map(|mark| (*mark, "")).collect();
        world.write(&marks);
        world.write(files);
        world
    }

    pub(super) fn write(&self, files: &[(&str, &str)]) {
        for (path, text) in files {
            let name = path.rsplit('/').next().unwrap();
            let content = match name.rsplit('.').next().unwrap() {
                "bsa" | "ba2" => archive_named_after_itself(name, self.game.version),
                "esm" => plugin(4, 1, &[]),
                "esp" if !text.starts_with("TES4") => plugin(4, 0, &[]),
                _ => text.as_bytes().to_vec(),
            };
            self.installed.write(path, &content, 0);
        }
    }

    /// Writes an instance of Mod Organizer 2 whose profile enables these mods, highest first. Returns its
    /// path.
    pub(super) fn instance(&self, mods: &[&str], files: &[(&str, &str)]) -> String {
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

    /// Runs bsafs with the home of the world. Returns what it printed.
    pub(super) fn bsafs(&self, arguments: &[&str]) -> String {
        self.run(arguments).success()
    }

    /// Runs bsafs with the home of the world.
    pub(super) fn run(&self, arguments: &[&str]) -> Finished {
        let mut command = self.dir.bsafs(arguments);
        for variable in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"] {
            command.env_remove(variable);
        }
        run(command.env("HOME", &self.installed.home).env("USER", "nobody"))
    }

    pub(super) fn order(&self, source: &str) -> Order {
        self.order_with(&[source])
    }

    /// What `bsafs order` prints with these arguments.
    pub(super) fn order_with(&self, arguments: &[&str]) -> Order {
        let printed = self.run(&[&["order", "--json"], arguments].concat());
        // Status 1 means that something was not looked at, which has a note.
        assert!(matches!(printed.code, 0 | 1), "{printed:?}");
        Order(serde_json::from_str(&printed.out).unwrap())
    }

    pub(super) fn mount(&self, source: &str) -> Mounted {
        let printed = self.bsafs(&["mount", source, "mnt"]);
        Mounted::at(&self.dir.path("mnt"), printed)
    }
}

/// What `bsafs order --json` prints.
pub(super) struct Order(Value);

impl Order {
    /// File names of the layers, lowest first.
    pub(super) fn layers(&self) -> Vec<&str> {
        let layers = self.0["layers"].as_array().unwrap().iter();
        layers.map(|it| file_name(it["path"].as_str().unwrap())).collect()
    }

    /// File names of the subjects of the notes with a code.
    pub(super) fn notes(&self, code: &str) -> Vec<&str> {
        let notes = self.0["notes"].as_array().unwrap().iter().filter(|note| note["code"] == code);
        notes.map(|note| file_name(note["subject"].as_str().unwrap())).collect()
    }

    /// The texts of the notes with a code.
    pub(super) fn texts(&self, code: &str) -> Vec<&str> {
        let notes = self.0["notes"].as_array().unwrap().iter().filter(|note| note["code"] == code);
        notes.map(|note| note["text"].as_str().unwrap()).collect()
    }

    /// The codes of all notes.
    pub(super) fn codes(&self) -> Vec<&str> {
        self.0["notes"].as_array().unwrap().iter().map(|note| note["code"].as_str().unwrap()).collect()
    }

    /// The active plugins in load order.
    pub(super) fn plugins(&self) -> Vec<&str> {
        self.0["plugins"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
    }

    /// How certain the rules are.
    pub(super) fn confidence(&self) -> &str {
        self.0["confidence"].as_str().unwrap()
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}
