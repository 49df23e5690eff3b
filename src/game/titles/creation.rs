//! The games from Skyrim to Starfield.

use super::packing::{self, DOT_BSA, FALLOUT4_ENDINGS};
use super::title::{
    ActiveRule, AttachRule, ExtenderPlugin, Identity, IniFile, IniPlace, IniRole, IniRules, LONG, ListRules,
    LooseSetting, MasterRule, NO_LISTS, NO_PLUGINS, NewerArchives, OrderRule, PluginRules, SHORT,
    SmallPlugins, TestFiles, Title, UNKNOWN, ini, ini_outside_profiles,
};
use super::vanilla;
use crate::game::archive_version::ArchiveVersion::{Ba2, Bsa};
use crate::game::precedence::{ArchiveRule, Confidence};
use crate::game::storefront::{StoreNames, Storefront};
use crate::kinds::{Engine, PLUGINS};

const SKYRIM_BASE: Title = Title {
    id: "skyrim",
    name: "Skyrim (2011)",
    engine: Engine::Skyrim,
    identity: Identity {
        executables: &["TESV.exe"],
        masters: &["Skyrim.esm"],
        without: &["Enderal Launcher.exe"],
        steam: &[72850],
        ..UNKNOWN
    },
    data: "Data",
    data_in_my_games: false,
    mod_data: "",
    microsoft_data: &[],
    local: StoreNames::plain("Skyrim"),
    my_games: StoreNames::plain("Skyrim"),
    inis: IniRules {
        files: &[
            ini(IniPlace::Game, "Skyrim_default.ini", IniRole::Template),
            ini(IniPlace::MyGames, "Skyrim.ini", IniRole::Main),
            ini(IniPlace::MyGames, "SkyrimPrefs.ini", IniRole::Further),
        ],
        of_plugins: Some(Confidence::High),
        can_be_portable: false,
        list_limit: SHORT,
    },
    lists: ListRules { keys: vanilla::SKYRIM, ..NO_LISTS },
    plugins: PluginRules {
        full_max: 255,
        active: ActiveRule::Lines,
        order: OrderRule::PluginsFileAfterFirst,
        hard_coded: &["Skyrim.esm", "Update.esm"],
        addons: &[
            "Dawnguard.esm",
            "HearthFires.esm",
            "Dragonborn.esm",
            "HighResTexturePack01.esp",
            "HighResTexturePack02.esp",
            "HighResTexturePack03.esp",
        ],
        test_files: TestFiles::Added,
        ..NO_PLUGINS
    },
    attach: AttachRule::Exact(&[DOT_BSA]),
    versions: &[Bsa(104)],
    newer: None,
    archives: (ArchiveRule::LastWins, Confidence::High),
    loose: LooseSetting::Always,
    packing: Some(packing::SKYRIM),
};

pub(super) static SKYRIM: Title = SKYRIM_BASE;

pub(super) static ENDERAL: Title = Title {
    id: "enderal",
    name: "Enderal: Forgotten Stories",
    identity: Identity {
        executables: &["TESV.exe"],
        also: &["Enderal Launcher.exe"],
        masters: &["Enderal - Forgotten Stories.esm"],
        steam: &[933480],
        ..UNKNOWN
    },
    local: StoreNames::plain("enderal"),
    my_games: StoreNames::plain("Enderal"),
    inis: IniRules {
        files: &[
            ini(IniPlace::Game, "Enderal_default.ini", IniRole::Template),
            ini(IniPlace::MyGames, "Enderal.ini", IniRole::Main),
            ini(IniPlace::MyGames, "EnderalPrefs.ini", IniRole::Further),
        ],
        of_plugins: Some(Confidence::High),
        can_be_portable: false,
        list_limit: SHORT,
    },
    lists: ListRules { keys: vanilla::ENDERAL, ..NO_LISTS },
    ..SKYRIM_BASE
};

const SKYRIMSE_NAMES: StoreNames = StoreNames {
    plain: "Skyrim Special Edition",
    others: &[
        (Storefront::Gog, "Skyrim Special Edition GOG"),
        (Storefront::Epic, "Skyrim Special Edition EPIC"),
        (Storefront::Microsoft, "Skyrim Special Edition MS"),
    ],
};

/// Light plugins since Skyrim Special Edition.
const LIGHT: &[SmallPlugins] = &[SmallPlugins { name: "light", flag: packing::LIGHT, max: 4096 }];

const SKYRIMSE_PLUGINS: PluginRules = PluginRules {
    full_max: 255,
    small: LIGHT,
    endings: PLUGINS,
    active: ActiveRule::Starred,
    order: OrderRule::PluginsFile,
    masters: MasterRule::FlagOrExtension,
    hard_coded: &["Skyrim.esm", "Update.esm", "Dawnguard.esm", "HearthFires.esm", "Dragonborn.esm"],
    ccc: "Skyrim.ccc",
    addons: &["_ResourcePack.esl"],
    test_files: TestFiles::Added,
    ..NO_PLUGINS
};

const SKYRIMSE_BASE: Title = Title {
    id: "skyrimse",
    name: "Skyrim Special Edition",
    engine: Engine::Skyrim,
    identity: Identity {
        executables: &["SkyrimSE.exe"],
        masters: &["Skyrim.esm"],
        without: &["Enderal Launcher.exe"],
        steam: &[489830],
        gog: &["1801825368", "1711230643", "1162721350"],
        epic: &["ac82db5035584c7f8a2c548d98c86b2c", "5d600e4f59974aeba0259c7734134e27"],
        ..UNKNOWN
    },
    data: "Data",
    data_in_my_games: false,
    mod_data: "",
    microsoft_data: &[],
    local: SKYRIMSE_NAMES,
    my_games: SKYRIMSE_NAMES,
    inis: IniRules {
        files: &[
            ini(IniPlace::Game, "Skyrim_Default.ini", IniRole::Base),
            ini(IniPlace::MyGames, "Skyrim.ini", IniRole::Main),
            ini(IniPlace::MyGames, "SkyrimPrefs.ini", IniRole::Further),
            ini(IniPlace::MyGames, "SkyrimCustom.ini", IniRole::Further),
        ],
        of_plugins: Some(Confidence::Medium),
        can_be_portable: false,
        list_limit: LONG,
    },
    lists: ListRules { keys: vanilla::SKYRIM_SE, ..NO_LISTS },
    plugins: SKYRIMSE_PLUGINS,
    attach: AttachRule::Exact(&[DOT_BSA, " - Textures.bsa"]),
    versions: &[Bsa(105)],
    newer: None,
    archives: (ArchiveRule::LastWins, Confidence::High),
    loose: LooseSetting::Always,
    packing: Some(packing::SKYRIMSE),
};

pub(super) static SKYRIMSE: Title = SKYRIMSE_BASE;

const ENDERALSE_NAMES: StoreNames = StoreNames {
    plain: "Enderal Special Edition",
    others: &[(Storefront::Gog, "Enderal Special Edition GOG")],
};

pub(super) static ENDERALSE: Title = Title {
    id: "enderalse",
    name: "Enderal: Forgotten Stories (Special Edition)",
    identity: Identity {
        executables: &["SkyrimSE.exe"],
        also: &["Enderal Launcher.exe"],
        masters: &["Enderal - Forgotten Stories.esm"],
        steam: &[976620],
        gog: &["1708684988"],
        ..UNKNOWN
    },
    local: ENDERALSE_NAMES,
    my_games: ENDERALSE_NAMES,
    inis: IniRules {
        files: &[
            ini(IniPlace::Game, "Enderal_Default.ini", IniRole::Base),
            ini(IniPlace::MyGames, "Enderal.ini", IniRole::Main),
            ini(IniPlace::MyGames, "EnderalPrefs.ini", IniRole::Further),
            ini_outside_profiles("EnderalCustom.ini", IniRole::Further),
        ],
        of_plugins: Some(Confidence::Medium),
        can_be_portable: false,
        list_limit: 511,
    },
    lists: ListRules { keys: vanilla::ENDERAL_SE, ..NO_LISTS },
    ..SKYRIMSE_BASE
};

pub(super) static SKYRIMVR: Title = Title {
    id: "skyrimvr",
    name: "Skyrim VR",
    identity: Identity {
        executables: &["SkyrimVR.exe"],
        masters: &["Skyrim.esm", "SkyrimVR.esm"],
        steam: &[611670],
        ..UNKNOWN
    },
    local: StoreNames::plain("Skyrim VR"),
    my_games: StoreNames::plain("Skyrim VR"),
    inis: IniRules {
        files: &[
            ini(IniPlace::Game, "Skyrim.ini", IniRole::Base),
            ini(IniPlace::MyGames, "SkyrimVR.ini", IniRole::Main),
            ini(IniPlace::MyGames, "SkyrimPrefs.ini", IniRole::Further),
            ini_outside_profiles("SkyrimCustom.ini", IniRole::Further),
        ],
        of_plugins: Some(Confidence::Medium),
        can_be_portable: false,
        list_limit: LONG,
    },
    lists: ListRules {
        keys: vanilla::SKYRIM_SE,
        last: Some(("sVrResourceArchiveList", "Skyrim_VR - Main.bsa")),
        ..NO_LISTS
    },
    plugins: PluginRules {
        hard_coded: &[
            "Skyrim.esm",
            "Update.esm",
            "Dawnguard.esm",
            "HearthFires.esm",
            "Dragonborn.esm",
            "SkyrimVR.esm",
        ],
        // Tried in the game (LOOT issue 1949); also Mod Organizer's `skyrimvrgameplugins.cpp`.
        esl_needs: Some(&ExtenderPlugin {
            name: "Skyrim VR ESL Support",
            paths: &["SKSE/Plugins/skyrimvresl.dll"],
        }),
        ccc: "",
        ..SKYRIMSE_PLUGINS
    },
    packing: Some(packing::SKYRIMVR),
    ..SKYRIMSE_BASE
};

const FALLOUT4_INIS: &[IniFile] = &[
    ini(IniPlace::Game, "Fallout4_Default.ini", IniRole::Base),
    ini(IniPlace::MyGames, "Fallout4.ini", IniRole::Main),
    ini(IniPlace::MyGames, "Fallout4Prefs.ini", IniRole::Further),
    ini(IniPlace::MyGames, "Fallout4Custom.ini", IniRole::Further),
];

const FALLOUT4_NAMES: StoreNames = StoreNames {
    plain: "Fallout4",
    others: &[(Storefront::Epic, "Fallout4 EPIC"), (Storefront::Microsoft, "Fallout4 MS")],
};

const FALLOUT4_PLUGINS: PluginRules = PluginRules {
    full_max: 255,
    small: LIGHT,
    hard_coded: &[
        "Fallout4.esm",
        "DLCRobot.esm",
        "DLCworkshop01.esm",
        "DLCCoast.esm",
        "DLCworkshop02.esm",
        "DLCworkshop03.esm",
        "DLCNukaWorld.esm",
        "DLCUltraHighResolution.esm",
    ],
    ccc: "Fallout4.ccc",
    test_files: TestFiles::Replace,
    ..SKYRIMSE_PLUGINS
};

/// The archives of the update 1.10.980, which earlier versions do not load without this plugin
/// (Nukem9/fallout4-backported-archive2-support).
static NEXT_GENERATION: NewerArchives = NewerArchives {
    versions: &[Ba2(7), Ba2(8)],
    extender: "f4se_",
    last_without: &[1, 10, 163],
    plugin: &ExtenderPlugin {
        name: "Backported Archive2 Support System",
        paths: &["F4SE/Plugins/BackportedBA2Support.dll"],
    },
};

const FALLOUT4_BASE: Title = Title {
    id: "fallout4",
    name: "Fallout 4",
    engine: Engine::Fallout4,
    identity: Identity {
        executables: &["Fallout4.exe"],
        masters: &["Fallout4.esm"],
        steam: &[377160],
        gog: &["1998527297", "1408237434"],
        epic: &["61d52ce4d09d41e48800c22784d13ae8"],
        ..UNKNOWN
    },
    local: FALLOUT4_NAMES,
    my_games: FALLOUT4_NAMES,
    inis: IniRules { files: FALLOUT4_INIS, of_plugins: None, can_be_portable: false, list_limit: LONG },
    lists: ListRules {
        keys: vanilla::FALLOUT_4,
        switched: &[("NVFlex", "bNVFlexEnable", "Fallout4 - Nvflex.ba2")],
        ..NO_LISTS
    },
    plugins: FALLOUT4_PLUGINS,
    attach: AttachRule::Fallout4(&[
        FALLOUT4_ENDINGS[0],
        FALLOUT4_ENDINGS[1],
        " - Voices_en.ba2",
        // The last one of the two voices wins.
        " - Voices_{lang}.ba2",
    ]),
    versions: &[Ba2(1), Ba2(7), Ba2(8)],
    newer: Some(&NEXT_GENERATION),
    loose: LooseSetting::DataDirsFinal,
    packing: Some(packing::FALLOUT4),
    ..SKYRIMSE_BASE
};

pub(super) static FALLOUT4: Title = Title {
    microsoft_data: &[
        "Fallout 4- Automatron (PC)/Content/Data",
        "Fallout 4- Nuka-World (PC)/Content/Data",
        "Fallout 4- Wasteland Workshop (PC)/Content/Data",
        "Fallout 4- High Resolution Texture Pack/Content/Data",
        "Fallout 4- Vault-Tec Workshop (PC)/Content/Data",
        "Fallout 4- Far Harbor (PC)/Content/Data",
        "Fallout 4- Contraptions Workshop (PC)/Content/Data",
    ],
    ..FALLOUT4_BASE
};

/// Sources disagree whether its INI files are named after Fallout 4 or after Fallout 4 VR. Both are
/// read; each VR file is above its Fallout 4 namesake.
pub(super) static FALLOUT4VR: Title = Title {
    id: "fallout4vr",
    name: "Fallout 4 VR",
    identity: Identity {
        executables: &["Fallout4VR.exe"],
        masters: &["Fallout4.esm", "Fallout4_VR.esm"],
        steam: &[611660],
        ..UNKNOWN
    },
    local: StoreNames::plain("Fallout4VR"),
    my_games: StoreNames::plain("Fallout4VR"),
    inis: IniRules {
        files: &[
            ini(IniPlace::Game, "Fallout4.ini", IniRole::Template),
            ini(IniPlace::MyGames, "Fallout4.ini", IniRole::Main),
            ini_outside_profiles("Fallout4VR.ini", IniRole::Further),
            ini(IniPlace::MyGames, "Fallout4Prefs.ini", IniRole::Further),
            ini(IniPlace::MyGames, "Fallout4Custom.ini", IniRole::Further),
            ini_outside_profiles("Fallout4VRCustom.ini", IniRole::Further),
        ],
        of_plugins: None,
        can_be_portable: false,
        list_limit: LONG,
    },
    lists: ListRules { keys: vanilla::FALLOUT_4_VR, ..NO_LISTS },
    plugins: PluginRules {
        hard_coded: &["Fallout4.esm", "Fallout4_VR.esm"],
        // LOOT issue 1949, and xEdit's `xeInit.pas`.
        esl_needs: Some(&ExtenderPlugin {
            name: "Fallout VR ESL Support",
            paths: &["F4SE/Plugins/falloutvresl.dll", "F4SE/Plugins/Daytripper4.dll"],
        }),
        ccc: "",
        ..FALLOUT4_PLUGINS
    },
    versions: &[Ba2(1)],
    newer: None,
    archives: (ArchiveRule::LastWins, Confidence::Low),
    packing: Some(packing::FALLOUT4VR),
    ..FALLOUT4_BASE
};

pub(super) static FALLOUT76: Title = Title {
    id: "fallout76",
    name: "Fallout 76",
    identity: Identity {
        executables: &["Fallout76.exe", "Project76.exe"],
        masters: &["SeventySix.esm"],
        steam: &[1151340],
        ..UNKNOWN
    },
    local: StoreNames::plain("Fallout76"),
    my_games: StoreNames::plain("Fallout 76"),
    inis: IniRules {
        files: &[
            ini(IniPlace::Game, "Fallout76_Default.ini", IniRole::Base),
            ini(IniPlace::Game, "Project76_Default.ini", IniRole::Base),
            ini(IniPlace::MyGames, "Fallout76.ini", IniRole::Main),
            ini_outside_profiles("Project76.ini", IniRole::Main),
            ini(IniPlace::MyGames, "Fallout76Prefs.ini", IniRole::Further),
            ini_outside_profiles("Project76Prefs.ini", IniRole::Further),
            ini(IniPlace::MyGames, "Fallout76Custom.ini", IniRole::Further),
            ini_outside_profiles("Project76Custom.ini", IniRole::Further),
        ],
        of_plugins: None,
        can_be_portable: false,
        list_limit: LONG,
    },
    lists: ListRules { keys: vanilla::FALLOUT_76, ..NO_LISTS },
    plugins: PluginRules { endings: &["esm"], hard_coded: &["SeventySix.esm"], ..NO_PLUGINS },
    attach: AttachRule::None,
    versions: &[Ba2(1)],
    newer: None,
    archives: (ArchiveRule::LastWins, Confidence::Medium),
    packing: Some(packing::FALLOUT76),
    ..FALLOUT4_BASE
};

pub(super) static STARFIELD: Title = Title {
    id: "starfield",
    name: "Starfield",
    engine: Engine::Starfield,
    identity: Identity {
        executables: &["Starfield.exe"],
        masters: &["Starfield.esm"],
        steam: &[1716740],
        ..UNKNOWN
    },
    local: StoreNames::plain("Starfield"),
    my_games: StoreNames::plain("Starfield"),
    inis: IniRules {
        files: &[
            ini(IniPlace::Game, "Starfield.ini", IniRole::Base),
            ini(IniPlace::Game, "Starfield_{lang}.ini", IniRole::Further),
            ini_outside_profiles("Starfield_{lang}.INI", IniRole::Further),
            ini(IniPlace::MyGames, "StarfieldPrefs.ini", IniRole::Main),
            ini(IniPlace::MyGames, "StarfieldCustom.ini", IniRole::Further),
        ],
        of_plugins: None,
        can_be_portable: false,
        list_limit: LONG,
    },
    lists: ListRules {
        keys: vanilla::STARFIELD,
        optional: Some(("sResourceLocaleVoiceList", "Controls", "bUseLocaleVoices")),
        ..NO_LISTS
    },
    plugins: PluginRules {
        full_max: 255,
        small: &[
            SmallPlugins { name: "light", flag: 0x100, max: 4096 },
            SmallPlugins { name: "medium", flag: 0x400, max: 256 },
        ],
        hard_coded: &[
            "Starfield.esm",
            "Constellation.esm",
            "OldMars.esm",
            "ShatteredSpace.esm",
            "SFBGS003.esm",
            "SFBGS004.esm",
            "SFBGS006.esm",
            "SFBGS007.esm",
            "SFBGS008.esm",
            "SFBGS00D.esm",
            "SFBGS047.esm",
            "SFBGS050.esm",
        ],
        ccc: "Starfield.ccc",
        ccc_in_my_games: true,
        test_files: TestFiles::ReplaceInOrder,
        blueprints: true,
        ..SKYRIMSE_PLUGINS
    },
    attach: AttachRule::Exact(&[
        FALLOUT4_ENDINGS[0],
        FALLOUT4_ENDINGS[1],
        " - Localization.ba2",
        " - Voices_{lang}.ba2",
    ]),
    versions: &[Ba2(2), Ba2(3)],
    newer: None,
    archives: (ArchiveRule::LastWins, Confidence::High),
    // As libloadorder 18.8.2 reads them.
    microsoft_data: &["Old Mars/Content/Data", "Shattered Space/Content/Data"],
    data_in_my_games: true,
    packing: Some(packing::STARFIELD),
    ..FALLOUT4_BASE
};
