//! The games whose plugin order is compared with libloadorder.

use std::fmt;

use ::loadorder::GameId;

/// A game and its files.
pub(crate) struct Game {
    /// The game's id in bsafs.
    pub(crate) id: &'static str,
    /// The game's id in libloadorder.
    pub(crate) theirs: GameId,
    /// Name of the game's folder in `AppData/Local` and in My Games.
    pub(crate) folder: &'static str,
    /// The folder of plugins, relative to the game's folder.
    pub(crate) data: &'static str,
    /// The game's own plugins.
    pub(crate) own: &'static [&'static str],
    /// Flags that a plugin's header may have.
    pub(crate) flags: &'static [u32],
    /// Extensions that a plugin may have.
    pub(crate) extensions: &'static [&'static str],
    /// The list of Creation Club plugins. `None` for games before Skyrim Special Edition.
    pub(crate) ccc: Option<&'static str>,
    /// The INI file in My Games that names test files. `None` if the game has no test files.
    pub(crate) ini: Option<&'static str>,
}

const ESM_ESP: &[&str] = &[".esm", ".esp", ".ESP"];
const WITH_LIGHT: &[&str] = &[".esm", ".esp", ".esl", ".ESM"];

/// All games that libloadorder knows, except OpenMW, whose settings are a chain of files that
/// [`Game`] cannot describe.
pub(crate) static GAMES: [Game; 11] = [
    Game {
        id: "morrowind",
        theirs: GameId::Morrowind,
        folder: "",
        data: "Data Files",
        own: &["Morrowind.esm", "Tribunal.esm", "Bloodmoon.esm"],
        flags: &[0, 1],
        extensions: ESM_ESP,
        ccc: None,
        ini: None,
    },
    Game {
        id: "oblivion",
        theirs: GameId::Oblivion,
        folder: "Oblivion",
        data: "Data",
        own: &["Oblivion.esm", "DLCShiveringIsles.esp"],
        flags: &[0, 1],
        extensions: ESM_ESP,
        ccc: None,
        ini: Some("Oblivion.ini"),
    },
    Game {
        id: "oblivion-remastered",
        theirs: GameId::OblivionRemastered,
        folder: "Oblivion Remastered",
        data: "OblivionRemastered/Content/Dev/ObvData/Data",
        own: &["Oblivion.esm", "AltarESPMain.esp"],
        flags: &[0, 1],
        extensions: ESM_ESP,
        ccc: None,
        ini: None,
    },
    Game {
        id: "fallout3",
        theirs: GameId::Fallout3,
        folder: "Fallout3",
        data: "Data",
        own: &["Fallout3.esm", "Anchorage.esm"],
        flags: &[0, 1],
        extensions: ESM_ESP,
        ccc: None,
        // This is the spelling that libloadorder opens.
        ini: Some("FALLOUT.INI"),
    },
    Game {
        id: "falloutnv",
        theirs: GameId::FalloutNV,
        folder: "FalloutNV",
        data: "Data",
        own: &["FalloutNV.esm", "DeadMoney.esm"],
        flags: &[0, 1],
        extensions: ESM_ESP,
        ccc: None,
        ini: Some("Fallout.ini"),
    },
    Game {
        id: "skyrim",
        theirs: GameId::Skyrim,
        folder: "Skyrim",
        data: "Data",
        own: &["Skyrim.esm", "Update.esm", "Dawnguard.esm"],
        flags: &[0, 1],
        extensions: ESM_ESP,
        ccc: None,
        ini: Some("Skyrim.ini"),
    },
    Game {
        id: "skyrimse",
        theirs: GameId::SkyrimSE,
        folder: "Skyrim Special Edition",
        data: "Data",
        own: &["Skyrim.esm", "Update.esm", "Dawnguard.esm", "HearthFires.esm", "Dragonborn.esm"],
        flags: &[0, 1, 0x200, 0x201],
        extensions: WITH_LIGHT,
        ccc: Some("Skyrim.ccc"),
        ini: Some("Skyrim.ini"),
    },
    Game {
        id: "skyrimvr",
        theirs: GameId::SkyrimVR,
        folder: "Skyrim VR",
        data: "Data",
        own: &["Skyrim.esm", "Update.esm", "SkyrimVR.esm"],
        flags: &[0, 1, 0x200, 0x201],
        extensions: WITH_LIGHT,
        // The game does not read this file.
        ccc: Some("Skyrim.ccc"),
        ini: Some("SkyrimVR.ini"),
    },
    Game {
        id: "fallout4",
        theirs: GameId::Fallout4,
        folder: "Fallout4",
        data: "Data",
        own: &["Fallout4.esm", "DLCRobot.esm", "DLCworkshop01.esm", "DLCUltraHighResolution.esm"],
        flags: &[0, 1, 0x200, 0x201],
        extensions: WITH_LIGHT,
        ccc: Some("Fallout4.ccc"),
        ini: Some("Fallout4.ini"),
    },
    Game {
        id: "fallout4vr",
        theirs: GameId::Fallout4VR,
        folder: "Fallout4VR",
        data: "Data",
        own: &["Fallout4.esm", "Fallout4_VR.esm", "DLCRobot.esm"],
        flags: &[0, 1, 0x200, 0x201],
        extensions: WITH_LIGHT,
        ccc: Some("Fallout4.ccc"),
        // The sources disagree on which INI files the game reads.
        ini: None,
    },
    Game {
        id: "starfield",
        theirs: GameId::Starfield,
        folder: "Starfield",
        data: "Data",
        own: &["Starfield.esm", "Constellation.esm", "ShatteredSpace.esm", "SFBGS003.esm"],
        flags: &[0, 1, 0x100, 0x101, 0x400, 0x800, 0x801],
        extensions: WITH_LIGHT,
        ccc: Some("Starfield.ccc"),
        ini: Some("StarfieldCustom.ini"),
    },
];

impl fmt::Debug for Game {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}
