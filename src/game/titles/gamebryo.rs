//! The games from Morrowind to Fallout: New Vegas, and OpenMW.

use super::packing::{self, DOT_BSA};
use super::title::{
    self, ActiveRule, AttachRule, ExtenderPlugin, Identity, IniFile, IniPlace, IniRole, IniRules, ListRules,
    LooseSetting, NO_LISTS, NO_PLUGINS, OrderRule, PluginRules, SHORT, TestFiles, Title, UNKNOWN, ini,
};
use super::vanilla;
use crate::game::archive_version::ArchiveVersion::{Bsa, Tes3};
use crate::game::precedence::{ArchiveRule, Confidence};
use crate::game::storefront::{StoreNames, Storefront};
use crate::kinds::{self, Engine, PLUGINS};

pub(super) static MORROWIND: Title = Title {
    id: "morrowind",
    name: "Morrowind",
    engine: Engine::Morrowind,
    identity: Identity {
        executables: &["Morrowind.exe"],
        masters: &["Morrowind.esm"],
        steam: &[22320],
        gog: &["1435828767", "1432185303", "1440163901"],
        epic: &["2b04b1a83647411e956695342f1d14b6"],
        language_folder: "Morrowind GOTY",
        ..UNKNOWN
    },
    data: "Data Files",
    data_in_my_games: false,
    mod_data: "",
    microsoft_data: &[],
    local: StoreNames::NONE,
    my_games: StoreNames::NONE,
    inis: IniRules {
        files: &[ini(IniPlace::Game, "Morrowind.ini", IniRole::Main)],
        of_plugins: None,
        can_be_portable: false,
        list_limit: SHORT,
    },
    lists: ListRules { section: "Archives", first: &["Morrowind.bsa"], keys: vanilla::MORROWIND, ..NO_LISTS },
    plugins: PluginRules { active: ActiveRule::GameFiles, order: OrderRule::Times, ..NO_PLUGINS },
    attach: AttachRule::None,
    versions: &[Tes3],
    newer: None,
    archives: (ArchiveRule::LastWins, Confidence::Medium),
    loose: LooseSetting::Always,
    packing: Some(packing::MORROWIND),
};

const OPENMW_PLUGINS: &[&str] =
    &[PLUGINS[0], PLUGINS[1], kinds::OPENMW_PLUGINS[0], kinds::OPENMW_PLUGINS[1], kinds::OPENMW_PLUGINS[2]];

/// OpenMW reads a chain of `openmw.cfg` files instead of INI files and lists of plugins.
pub(super) static OPENMW: Title = Title {
    id: title::OPENMW,
    name: "OpenMW",
    engine: Engine::OpenMw,
    identity: Identity {
        executables: &["openmw", "openmw.x86_64", "openmw.exe"],
        also: &["openmw.cfg"],
        ..UNKNOWN
    },
    data: "resources/vfs",
    data_in_my_games: false,
    mod_data: "",
    microsoft_data: &[],
    inis: IniRules { files: &[], of_plugins: None, can_be_portable: false, list_limit: usize::MAX },
    lists: NO_LISTS,
    plugins: PluginRules { endings: OPENMW_PLUGINS, ..NO_PLUGINS },
    local: StoreNames::NONE,
    my_games: StoreNames::NONE,
    attach: AttachRule::None,
    versions: &[],
    newer: None,
    archives: (ArchiveRule::LastWins, Confidence::High),
    loose: LooseSetting::Always,
    packing: Some(packing::OPENMW),
};

const OBLIVION_BASE: Title = Title {
    id: "oblivion",
    name: "Oblivion",
    engine: Engine::Oblivion,
    identity: Identity {
        executables: &["Oblivion.exe", "OblivionLauncher.exe"],
        masters: &["Oblivion.esm"],
        steam: &[22330, 900883],
        gog: &["1458058109", "1242989820"],
        epic: &["0d0c62755e5a45c7a07fd9cc0b61c39c"],
        language_folder: "Oblivion GOTY",
        ..UNKNOWN
    },
    data: "Data",
    data_in_my_games: false,
    mod_data: "",
    microsoft_data: &[],
    local: StoreNames::plain("Oblivion"),
    my_games: StoreNames::plain("Oblivion"),
    inis: IniRules {
        files: &[
            ini(IniPlace::Game, "Oblivion_default.ini", IniRole::Template),
            ini(IniPlace::MyGames, "Oblivion.ini", IniRole::Main),
        ],
        of_plugins: None,
        can_be_portable: true,
        list_limit: SHORT,
    },
    lists: ListRules { keys: vanilla::OBLIVION, ..NO_LISTS },
    plugins: PluginRules {
        full_max: 255,
        active: ActiveRule::Lines,
        order: OrderRule::Times,
        addons: &[
            "DLCShiveringIsles.esp",
            "Knights.esp",
            "DLCBattlehornCastle.esp",
            "DLCFrostcrag.esp",
            "DLCHorseArmor.esp",
            "DLCMehrunesRazor.esp",
            "DLCOrrery.esp",
            "DLCSpellTomes.esp",
            "DLCThievesDen.esp",
            "DLCVileLair.esp",
        ],
        test_files: TestFiles::Added,
        ..NO_PLUGINS
    },
    attach: AttachRule::PrefixOfEsp(DOT_BSA),
    versions: &[Bsa(103)],
    newer: None,
    archives: (ArchiveRule::Oblivion, Confidence::Medium),
    loose: LooseSetting::Dates,
    packing: Some(packing::OBLIVION),
};

pub(super) static OBLIVION: Title = OBLIVION_BASE;

pub(super) static NEHRIM: Title = Title {
    id: "nehrim",
    name: "Nehrim: At Fate's Edge",
    identity: Identity {
        executables: &["Oblivion.exe"],
        also: &["NehrimLauncher.exe"],
        masters: &["Nehrim.esm"],
        without: &["Data/Oblivion.esm"],
        steam: &[1014940],
        steam_subfolder: "NehrimFiles",
        gog: &["1497007810"],
        ..UNKNOWN
    },
    lists: ListRules { keys: vanilla::NEHRIM, ..NO_LISTS },
    ..OBLIVION_BASE
};

pub(super) static OBLIVION_REMASTERED: Title = Title {
    id: "oblivion-remastered",
    name: "Oblivion Remastered",
    identity: Identity {
        executables: &[
            "OblivionRemastered/Binaries/Win64/OblivionRemastered-Win64-Shipping.exe",
            "OblivionRemastered/Binaries/WinGDK/OblivionRemastered-WinGDK-Shipping.exe",
        ],
        masters: &["Oblivion.esm"],
        steam: &[2623190],
        ..UNKNOWN
    },
    data: "OblivionRemastered/Content/Dev/ObvData/Data",
    mod_data: "Data",
    local: StoreNames::NONE,
    my_games: StoreNames::plain("Oblivion Remastered"),
    inis: IniRules {
        files: &[
            ini(IniPlace::DataParent, "Oblivion_default.ini", IniRole::Template),
            ini(IniPlace::DataParent, "Oblivion.ini", IniRole::Main),
        ],
        of_plugins: None,
        can_be_portable: false,
        list_limit: SHORT,
    },
    plugins: PluginRules {
        full_max: 255,
        active: ActiveRule::Lines,
        order: OrderRule::AsWritten,
        list_in_data: true,
        // The list that the game comes with names it (limo issue 185, LOOT issue 2084).
        never_shipped: &["AltarESPLocal.esp"],
        ..NO_PLUGINS
    },
    // No source says which versions it loads.
    versions: &[],
    newer: None,
    archives: (ArchiveRule::Oblivion, Confidence::Low),
    packing: None,
    ..OBLIVION_BASE
};

const FALLOUT_INIS: [IniFile; 3] = [
    ini(IniPlace::Game, "Fallout_default.ini", IniRole::Template),
    ini(IniPlace::MyGames, "Fallout.ini", IniRole::Main),
    ini(IniPlace::MyGames, "FalloutPrefs.ini", IniRole::Further),
];

/// The INI file that these plugins read above the others; the games themselves do not know it (Vortex issue
/// 11251 and pull request 19396).
const fn fallout_custom(needs: &'static ExtenderPlugin) -> IniFile {
    IniFile { needs: Some(needs), ..ini(IniPlace::MyGames, "FalloutCustom.ini", IniRole::Further) }
}

static OF_FALLOUT3: ExtenderPlugin =
    ExtenderPlugin { name: "Command Extender", paths: &["FOSE/Plugins/CommandExtender.dll"] };

/// It also gives archives with a `.override` file a higher rank.
static OF_FALLOUTNV: ExtenderPlugin =
    ExtenderPlugin { name: "JIP LN NVSE", paths: &["NVSE/Plugins/jip_nvse.dll"] };

const FALLOUT3_INIS: IniRules = IniRules {
    files: &[FALLOUT_INIS[0], FALLOUT_INIS[1], FALLOUT_INIS[2], fallout_custom(&OF_FALLOUT3)],
    of_plugins: None,
    can_be_portable: false,
    list_limit: SHORT,
};

const FALLOUTNV_INIS: IniRules = IniRules {
    files: &[FALLOUT_INIS[0], FALLOUT_INIS[1], FALLOUT_INIS[2], fallout_custom(&OF_FALLOUTNV)],
    ..FALLOUT3_INIS
};

const FALLOUT3_BASE: Title = Title {
    id: "fallout3",
    name: "Fallout 3",
    engine: Engine::Fallout3,
    identity: Identity {
        executables: &["Fallout3.exe", "Fallout3ng.exe"],
        masters: &["Fallout3.esm"],
        steam: &[22300, 22370],
        gog: &["1454315831"],
        epic: &["adeae8bbfc94427db57c7dfecce3f1d4"],
        language_folder: "Fallout 3 GOTY",
        ..UNKNOWN
    },
    data: "Data",
    data_in_my_games: false,
    mod_data: "",
    microsoft_data: &[],
    local: StoreNames::plain("Fallout3"),
    my_games: StoreNames::plain("Fallout3"),
    inis: FALLOUT3_INIS,
    lists: ListRules { keys: vanilla::FALLOUT_3, ..NO_LISTS },
    plugins: PluginRules {
        full_max: 255,
        active: ActiveRule::Lines,
        order: OrderRule::Times,
        addons: &["Anchorage.esm", "ThePitt.esm", "BrokenSteel.esm", "PointLookout.esm", "Zeta.esm"],
        test_files: TestFiles::Added,
        ..NO_PLUGINS
    },
    attach: AttachRule::Prefix(DOT_BSA),
    versions: &[Bsa(104)],
    newer: None,
    archives: (ArchiveRule::FirstWins, Confidence::Low),
    loose: LooseSetting::Invalidate,
    packing: Some(packing::FALLOUT3),
};

pub(super) static FALLOUT3: Title = FALLOUT3_BASE;

pub(super) static FALLOUTNV: Title = Title {
    id: "falloutnv",
    name: "Fallout: New Vegas",
    identity: Identity {
        executables: &["FalloutNV.exe"],
        masters: &["FalloutNV.esm"],
        steam: &[22380, 22490],
        gog: &["1454587428"],
        epic: &["5daeb974a22a435988892319b3a4f476"],
        language_folder: "Fallout New Vegas",
        ..UNKNOWN
    },
    local: StoreNames { plain: "FalloutNV", others: &[(Storefront::Epic, "FalloutNV_Epic")] },
    my_games: StoreNames { plain: "FalloutNV", others: &[(Storefront::Epic, "FalloutNV_Epic")] },
    inis: FALLOUTNV_INIS,
    lists: ListRules { keys: vanilla::NEW_VEGAS, hard_coded: &["Update.bsa"], ..NO_LISTS },
    plugins: PluginRules {
        full_max: 255,
        nam_files: true,
        addons: &[
            "DeadMoney.esm",
            "HonestHearts.esm",
            "OldWorldBlues.esm",
            "LonesomeRoad.esm",
            "GunRunnersArsenal.esm",
            "CaravanPack.esm",
            "ClassicPack.esm",
            "MercenaryPack.esm",
            "TribalPack.esm",
        ],
        ..FALLOUT3_BASE.plugins
    },
    archives: (ArchiveRule::NewVegas, Confidence::Medium),
    packing: Some(packing::FALLOUTNV),
    ..FALLOUT3_BASE
};
