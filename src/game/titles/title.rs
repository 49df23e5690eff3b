//! The form of a row of the table of games: how a game is recognised, and the rules by which it loads archives.

use crate::game::archive_version::ArchiveVersion;
use crate::game::precedence::{ArchiveRule, Confidence};
use crate::game::storefront::{StoreNames, Storefront};

/// A game, and everything in which it differs from others.
#[derive(Debug)]
pub struct Title {
    /// What users type: `skyrimse`.
    pub id: &'static str,
    /// Its full name.
    pub name: &'static str,
    /// How its folder is recognised, and in which stores' lists it stands.
    pub identity: Identity,
    /// Folder of plugins, archives and loose files, relative to the game's folder.
    pub data: &'static str,
    /// Data folders of add-ons that the Microsoft Store keeps beside the game, from the folder that holds all of its games;
    /// an earlier one is above a later one, and all are above the game's own.
    pub microsoft_data: &'static [&'static str],
    /// Its folder in `AppData/Local`; empty where it has none.
    pub local: StoreNames,
    /// Its folder in `Documents/My Games`; empty where it has none.
    pub my_games: StoreNames,
    /// The data folder in My Games is above the one in the game's folder.
    pub data_in_my_games: bool,
    /// The INI files that it reads.
    pub inis: IniRules,
    /// The archives that INI files list.
    pub lists: ListRules,
    /// Which plugins are active, and their order.
    pub plugins: PluginRules,
    /// Which archives an active plugin brings.
    pub attach: AttachRule,
    /// The versions that the game's own archives have; none where any may be loaded.
    pub versions: &'static [ArchiveVersion],
    /// Which archive wins, and how sure that is.
    pub archives: (ArchiveRule, Confidence),
    /// When loose files beat archives.
    pub loose: LooseSetting,
}

/// How an installation is recognised.
#[derive(Debug)]
pub struct Identity {
    /// Executables relative to the game's folder; one must exist.
    pub executables: &'static [&'static str],
    /// Files relative to the game's folder that must all exist besides; titles that share an executable have them.
    pub also: &'static [&'static str],
    /// Files in the data folder that must all exist.
    pub masters: &'static [&'static str],
    /// Files relative to the game's folder none of which may exist; they belong to a title that shares the rest.
    pub without: &'static [&'static str],
    /// Steam's ids of it.
    pub steam: &'static [u32],
    /// The folder below Steam's `installdir` in which the game is; empty where it is that folder.
    pub steam_subfolder: &'static str,
    /// GOG's ids of it, the game first, then packages that hold it.
    pub gog: &'static [&'static str],
    /// Epic's `AppName`s of it.
    pub epic: &'static [&'static str],
    /// The beginning of the names of folders, one a language, in which Epic and Microsoft keep it; empty where they do not.
    pub language_folder: &'static str,
}

/// Where an INI file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IniPlace {
    /// The game's folder.
    Game,
    /// Its folder in `Documents/My Games`.
    MyGames,
    /// The folder that holds the data folder.
    DataParent,
}

/// What an INI file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IniRole {
    /// Below all others, whether they exist or not.
    Base,
    /// Read only where the main one does not exist, of which it is the template.
    Template,
    /// The game writes it when it starts first: without it, the game was never started.
    Main,
    /// Above the main one.
    Further,
}

/// An INI file.
#[derive(Clone, Copy, Debug)]
pub struct IniFile {
    /// Where it is.
    pub place: IniPlace,
    /// Its name; `{lang}` stands for the language.
    pub name: &'static str,
    /// What it is for.
    pub role: IniRole,
}

/// The INI files of a game.
#[derive(Debug)]
pub struct IniRules {
    /// Lowest first.
    pub files: &'static [IniFile],
    /// `<plugin>.ini` of each active plugin, in the data folder, is above them.
    pub of_plugins: bool,
    /// The game folder's main INI and plugin list are used where it says `[General] bUseMyGamesDirectory=0`.
    pub can_be_portable: bool,
    /// Characters from which on a list may be cut, as far as is known.
    pub list_limit: usize,
}

/// The archives that INI files list.
#[derive(Debug)]
pub struct ListRules {
    /// The section of the keys.
    pub section: &'static str,
    /// Archives that are loaded before all lists.
    pub first: &'static [&'static str],
    /// Keys in load order, each with the archives of the vanilla game. `{lang}` stands for the language. A key that ends
    /// in a blank is followed by numbers from 0 on, one archive each.
    pub keys: &'static [(&'static str, &'static [&'static str])],
    /// Archives that the game loads after the lists, if they exist, whatever INI files say.
    pub hard_coded: &'static [&'static str],
    /// A key whose archives are loaded after those of plugins.
    pub last: Option<(&'static str, &'static [&'static str])>,
}

/// Which plugins are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActiveRule {
    /// None of a list: the game has a fixed set.
    Fixed,
    /// `[Game Files] GameFile0=` and so on in the INI.
    GameFiles,
    /// All lines of `Plugins.txt`.
    Lines,
    /// The lines of `Plugins.txt` that begin with a star.
    Starred,
}

/// In which order they load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderRule {
    /// Masters before others, then by modification time.
    Times,
    /// `loadorder.txt`, or else `Plugins.txt`; masters before others.
    LoadOrderFile,
    /// The same without moving masters.
    AsWritten,
    /// `Plugins.txt`; masters before others.
    PluginsFile,
}

/// What makes a plugin a master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MasterRule {
    /// The extension `.esm`.
    Extension,
    /// The flag in its header.
    Flag,
    /// The flag, or the extension `.esm` or `.esl`.
    FlagOrExtension,
}

/// What `[General] sTestFile1=` and so on do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestFiles {
    /// Nothing.
    Ignored,
    /// They are active too.
    Added,
    /// They replace `Plugins.txt` and the `.ccc` file as to what is active; all load by time.
    Replace,
    /// They replace both, and load in the order of their numbers.
    ReplaceInOrder,
}

/// The plugins of a game.
#[derive(Debug)]
pub struct PluginRules {
    /// Which are active.
    pub active: ActiveRule,
    /// Their order.
    pub order: OrderRule,
    /// Which are masters.
    pub masters: MasterRule,
    /// Plugins that are active whenever they exist; they come first where `Plugins.txt` gives the order.
    pub hard_coded: &'static [&'static str],
    /// The list of Creation Club plugins, in the game's folder; empty where there is none.
    pub ccc: &'static str,
    /// A list of that name in My Games replaces the one in the game's folder.
    pub ccc_in_my_games: bool,
    /// `Plugins.txt` is in the data folder, and not in `AppData/Local`.
    pub list_in_data: bool,
    /// What test files do.
    pub test_files: TestFiles,
    /// A file `X.nam` in the data folder makes `X.esm` and `X.esp` active.
    pub nam_files: bool,
    /// Plugins with the blueprint flag load last, and `BlueprintShips-X.esm` is active when `X` is.
    pub blueprints: bool,
}

/// Which archives an active plugin brings, by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachRule {
    /// None.
    None,
    /// `P*` with this extension, by `.esp` only.
    PrefixOfEsp(&'static str),
    /// `P*` with this extension.
    Prefix(&'static str),
    /// `P` and each of these, in this order; `{lang}` stands for the language.
    Exact(&'static [&'static str]),
    /// `P - *.ba2` and `P.ba2`; sources agree on `Main`, `Textures` and `Voices_{lang}` alone.
    Fallout4,
}

/// On what it depends whether loose files beat archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LooseSetting {
    /// On nothing: they do.
    Always,
    /// `bInvalidateOlderFiles=1`: on the dates of file and archive; else they do not.
    Dates,
    /// `bInvalidateOlderFiles=1`, which is the default: they do; else they do not.
    Invalidate,
    /// `bInvalidateOlderFiles=1` with an empty `sResourceDataDirsFinal=`: they do; else only below the folders named there.
    DataDirsFinal,
}

impl Title {
    /// The names of its folder in `AppData/Local` and `Documents/My Games`, of a copy from `store`.
    pub fn folders(&self, store: Storefront) -> (&'static str, &'static str) {
        (self.local.of(store), self.my_games.of(store))
    }

    /// The INI file that the game writes when it starts first.
    pub fn main_ini(&self) -> Option<&IniFile> {
        self.inis.files.iter().find(|file| file.role == IniRole::Main)
    }
}
