//! A row of the table of games: how a game is recognised, and how it loads archives.

use super::packing::{DOT_BSA, FALLOUT4_ENDINGS, PackRules};
use crate::game::archive_version::ArchiveVersion;
use crate::game::precedence::{ArchiveRule, Confidence};
use crate::game::settings::ini_list;
use crate::game::storefront::{StoreNames, Storefront};
use crate::kinds::{Engine, PLUGINS};

/// The id of OpenMW.
pub(crate) const OPENMW: &str = "openmw";

/// A game, and everything that distinguishes it from others.
#[derive(Debug)]
pub struct Title {
    /// The id that users type, such as `skyrimse`.
    pub id: &'static str,
    /// The full name.
    pub name: &'static str,
    pub engine: Engine,
    /// How the game is recognised on disk and in the lists of stores.
    pub identity: Identity,
    /// Folder of plugins, archives and loose files, relative to the game's folder.
    pub data: &'static str,
    /// The folder of a mod that Mod Organizer 2 shows in the data folder; empty if it shows the whole mod.
    pub mod_data: &'static str,
    /// Data folders of add-ons next to the game in the Microsoft Store's folder of games. Earlier folders are
    /// above later ones, and all are above the game's own.
    pub microsoft_data: &'static [&'static str],
    /// The game's folder in `AppData/Local`; empty if it has none.
    pub local: StoreNames,
    /// The game's folder in `Documents/My Games`; empty if it has none.
    pub my_games: StoreNames,
    /// Whether a data folder in My Games is above the one in the game's folder.
    pub data_in_my_games: bool,
    pub inis: IniRules,
    pub lists: ListRules,
    /// Which plugins are active, and in which order they load.
    pub plugins: PluginRules,
    /// Which archives belong to an active plugin.
    pub attach: AttachRule,
    /// Versions of the game's own archives; empty if the game may load any.
    pub versions: &'static [ArchiveVersion],
    /// Those of them that older versions of the game do not load.
    pub newer: Option<&'static NewerArchives>,
    /// Which archive wins, and how certain that is.
    pub archives: (ArchiveRule, Confidence),
    /// When loose files beat archives.
    pub loose: LooseSetting,
    /// How archives for the game are written; `None` if no source says how.
    pub packing: Option<PackRules>,
}

/// Files and store ids by which an installation is recognised.
#[derive(Debug)]
pub struct Identity {
    /// Executables relative to the game's folder. One must exist.
    pub executables: &'static [&'static str],
    /// Other files in the game's folder, which must all exist. They distinguish titles with the same
    /// executable.
    pub also: &'static [&'static str],
    /// Files in the data folder that must all exist.
    pub masters: &'static [&'static str],
    /// Files in the game's folder that must not exist because they belong to a similar title.
    pub without: &'static [&'static str],
    /// Steam's app ids for the game.
    pub steam: &'static [u32],
    /// The game's folder below Steam's `installdir`; empty if `installdir` is the game's folder.
    pub steam_subfolder: &'static str,
    /// GOG's ids: the game first, then packages that contain it.
    pub gog: &'static [&'static str],
    /// Epic's `AppName`s for the game.
    pub epic: &'static [&'static str],
    /// Name prefix of the folders, one per language, that Epic and Microsoft use; empty if none.
    pub language_folder: &'static str,
}

/// A plugin of a script extender that adds a feature to a game.
#[derive(Debug, PartialEq, Eq)]
pub struct ExtenderPlugin {
    /// The name by which users know it.
    pub name: &'static str,
    /// Paths in the data folder, of which one must exist.
    pub paths: &'static [&'static str],
}

/// Versions of archives that only newer versions of a game load.
#[derive(Debug)]
pub struct NewerArchives {
    pub versions: &'static [ArchiveVersion],
    /// Beginning of the names of the script extender's libraries in the game's folder. The version of the
    /// game follows, as in `f4se_1_10_163.dll`.
    pub extender: &'static str,
    /// The last version of the game that does not load them.
    pub last_without: &'static [u32],
    /// The plugin with which older versions load them, too.
    pub plugin: &'static ExtenderPlugin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IniPlace {
    Game,
    /// The game's folder in `Documents/My Games`.
    MyGames,
    /// The folder that contains the data folder.
    DataParent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IniRole {
    /// Below all others, whether or not the others exist.
    Base,
    /// The template of the main file. Read only if the main file does not exist.
    Template,
    /// Written by the game when it first starts. If it is missing, the game was never started.
    Main,
    /// Above the main file.
    Further,
}

#[derive(Clone, Copy, Debug)]
pub struct IniFile {
    pub place: IniPlace,
    /// The plugin of a script extender without which the game does not read the file.
    pub needs: Option<&'static ExtenderPlugin>,
    /// The file name; `{lang}` stands for the language.
    pub name: &'static str,
    pub role: IniRole,
    /// Whether a profile of Mod Organizer 2 with its own settings has its own file of this name.
    pub is_in_profiles: bool,
}

#[derive(Debug)]
pub struct IniRules {
    /// The files, lowest first.
    pub files: &'static [IniFile],
    /// Whether each active plugin's `<plugin>.ini` in the data folder is read above these, and how certain
    /// that is.
    pub of_plugins: Option<Confidence>,
    /// Whether the game can use the main INI file and list of plugins in its own folder. It uses these if
    /// that INI file has `[General] bUseMyGamesDirectory=0`.
    pub can_be_portable: bool,
    /// Longest list, in characters, that the game reads whole, as far as is known.
    pub list_limit: usize,
}

/// The archives that INI files list.
#[derive(Debug)]
pub struct ListRules {
    pub section: &'static str,
    /// Archives that the game loads before all lists.
    pub first: &'static [&'static str],
    /// Keys in load order with the archives of the unchanged game, separated by commas. `{lang}` is the
    /// language. A key that ends in a space is followed by a number, from 0 on, for one archive each.
    pub keys: &'static [(&'static str, &'static str)],
    /// A list that the game loads after these unless a setting is 0: its key, and the section and key of the
    /// setting. Only few sources know it.
    pub optional: Option<(&'static str, &'static str, &'static str)>,
    /// Archives that the game loads after the lists if they exist, whatever the INI files say.
    pub hard_coded: &'static [&'static str],
    /// Archives that the game loads after these if a setting is on: the section, the key and the archive.
    pub switched: &'static [(&'static str, &'static str, &'static str)],
    /// A key whose archives the game loads after those of plugins.
    pub last: Option<(&'static str, &'static str)>,
}

/// Which plugins are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActiveRule {
    /// No list decides; the game has a fixed set.
    Fixed,
    /// `[Game Files] GameFile0=` and so on in the INI file.
    GameFiles,
    /// All lines of `Plugins.txt`.
    Lines,
    /// Lines of `Plugins.txt` that begin with a star.
    Starred,
}

/// The order in which plugins load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderRule {
    /// Masters before others, then by modification time.
    Times,
    /// The first hard-coded plugin, then `Plugins.txt`; masters before others.
    PluginsFileAfterFirst,
    /// `Plugins.txt`. Masters are not moved.
    AsWritten,
    /// The hard-coded plugins, then `Plugins.txt`; masters before others.
    PluginsFile,
}

/// What makes a plugin a master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MasterRule {
    /// The flag in its header.
    Flag,
    /// The flag, or the extension `.esm` or `.esl`.
    FlagOrExtension,
}

/// The effect of `[General] sTestFile1=` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestFiles {
    /// None.
    Ignored,
    /// The test files are active too.
    Added,
    /// The test files replace `Plugins.txt` and the `.ccc` file. All plugins load by time.
    Replace,
    /// The test files replace both, and load in the order of their numbers.
    ReplaceInOrder,
}

#[derive(Debug)]
pub struct PluginRules {
    /// Endings of the plugins that the game reads.
    pub endings: &'static [&'static str],
    pub active: ActiveRule,
    pub order: OrderRule,
    pub masters: MasterRule,
    /// Plugins that are active if they exist. Under [`OrderRule::PluginsFile`] they load first.
    pub hard_coded: &'static [&'static str],
    /// Name of the list of Creation Club plugins in the game's folder; empty if there is none.
    pub ccc: &'static str,
    /// Whether a list of that name in My Games replaces the one in the game's folder.
    pub ccc_in_my_games: bool,
    /// Whether `Plugins.txt` is in the data folder instead of `AppData/Local`.
    pub list_in_data: bool,
    pub test_files: TestFiles,
    /// Whether a file `X.nam` in the data folder makes `X.esm` and `X.esp` active.
    pub nam_files: bool,
    /// Maximum number of active full plugins. One less for each kind of small ones that is active
    /// (libloadorder, `active_plugins.md`).
    pub full_max: usize,
    /// The kinds of plugins that share an index. Those that end in `.esl` are of the first kind.
    pub small: &'static [SmallPlugins],
    /// The plugin of a script extender without which the game loads no `.esl` plugin, if it needs one.
    pub esl_needs: Option<&'static ExtenderPlugin>,
    /// Plugins of the game's official add-ons that are in none of the lists above.
    pub addons: &'static [&'static str],
    /// Plugins that the game's original list names, but that it does not have.
    pub never_shipped: &'static [&'static str],
    /// Whether blueprint plugins load last, and `BlueprintShips-X.esm` is active if `X` is.
    pub blueprints: bool,
}

/// A kind of plugins that share an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallPlugins {
    pub name: &'static str,
    /// The flag in the header.
    pub flag: u32,
    /// Maximum number of active ones.
    pub max: usize,
}

/// How an active plugin attaches archives. `P` stands for its name without the extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachRule {
    None,
    /// `P*` with this extension, but only for `.esp` plugins.
    PrefixOfEsp(&'static str),
    /// `P*` with this extension.
    Prefix(&'static str),
    /// `P` followed by each of these, in this order; `{lang}` stands for the language.
    Exact(&'static [&'static str]),
    /// As [`AttachRule::Exact`], and the numbered textures of the High Resolution Texture Pack. Some tools
    /// also attach `P.ba2` and every other `P - *.ba2`.
    Fallout4(&'static [&'static str]),
}

/// The settings that decide whether loose files beat archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LooseSetting {
    /// None; loose files always win.
    Always,
    /// `bInvalidateOlderFiles=1` (the default) compares dates. Otherwise archives win.
    Dates,
    /// `bInvalidateOlderFiles=1` (the default) makes loose files win. Otherwise archives win.
    Invalidate,
    /// `bInvalidateOlderFiles=1` and an empty `sResourceDataDirsFinal=` make loose files win.
    /// Otherwise they win only below the folders that `sResourceDataDirsFinal` names.
    DataDirsFinal,
}

impl Title {
    /// What the names of new archives end in: of one with all files or all but textures, and of one with
    /// textures.
    pub fn archive_endings(&self) -> [&'static str; 2] {
        match self.attach {
            AttachRule::Exact([main, textures, ..]) | AttachRule::Fallout4([main, textures, ..]) => {
                [main, textures]
            }
            _ if self.packing.is_some_and(|it| it.textures.is_some()) => FALLOUT4_ENDINGS,
            _ => [DOT_BSA, DOT_BSA],
        }
    }

    /// Endings of plugins that load archives, or after which archives are called.
    pub fn archive_plugins(&self) -> &'static [&'static str] {
        match (self.attach, self.plugins.endings) {
            (AttachRule::PrefixOfEsp(_), _) => &PLUGINS[..1],
            // Without a plugin of a script extender, the game does not read the last one.
            (_, endings) if self.plugins.esl_needs.is_some() => {
                endings.split_last().map_or(endings, |it| it.1)
            }
            (_, endings) => endings,
        }
    }

    /// The folder names in `AppData/Local` and `Documents/My Games`, for a copy from `store`.
    pub fn settings_folders(&self, store: Storefront) -> (&'static str, &'static str) {
        (self.local.of(store), self.my_games.of(store))
    }

    /// Whether an archive in the data folder came with the game, by its name or that of its plugin. Lists may
    /// also name archives of mods.
    pub fn ships(&self, archive: &str, plugin: Option<&str>) -> bool {
        let Title { lists, plugins, identity, .. } = self;
        let keys = lists.keys.iter().chain(&lists.last).flat_map(|(_, names)| ini_list(names));
        let switched = lists.switched.iter().map(|(_, _, name)| *name);
        let others = lists.first.iter().chain(lists.hard_coded).copied();
        let mut archives = others.chain(keys).chain(switched);
        let mut own = identity.masters.iter().chain(plugins.hard_coded).chain(plugins.addons);
        archives.any(|listed| is_listed(archive, listed))
            || plugin.is_some_and(|plugin| {
                own.any(|name| name.eq_ignore_ascii_case(plugin)) || is_of_creation_club(plugin)
            })
    }

    /// The INI file that the game writes when it first starts.
    pub fn main_ini(&self) -> Option<&IniFile> {
        self.inis.files.iter().find(|file| file.role == IniRole::Main)
    }
}

/// Whether a list has an archive by this name, in which `{lang}` stands for any language.
fn is_listed(archive: &str, listed: &str) -> bool {
    let Some((start, end)) = listed.split_once("{lang}") else { return archive.eq_ignore_ascii_case(listed) };
    let (archive, start, end) =
        (archive.to_ascii_lowercase(), start.to_ascii_lowercase(), end.to_ascii_lowercase());
    archive.strip_prefix(&start).is_some_and(|rest| rest.ends_with(&end))
}

/// Whether a plugin has the name of a creation, such as `ccBGSSSE001-Fish.esm`: `cc`, the author, the game,
/// and a number.
fn is_of_creation_club(plugin: &str) -> bool {
    let Some((id, _)) = plugin.split_once('-') else { return false };
    let is_number = |end: &[u8]| end.iter().all(u8::is_ascii_digit);
    let has_start = id.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("cc"));
    id.len() == 11 && has_start && is_number(&id.as_bytes()[8..])
}

// Building blocks for the rows of the table of games.

/// An INI file. Of those outside My Games, Mod Organizer 2 keeps only the main one in profiles.
pub(super) const fn ini(place: IniPlace, name: &'static str, role: IniRole) -> IniFile {
    let is_in_profiles = matches!((place, role), (IniPlace::MyGames, _) | (_, IniRole::Main));
    IniFile { place, name, role, is_in_profiles, needs: None }
}

/// An INI file in My Games that Mod Organizer 2 does not keep in profiles.
pub(super) const fn ini_outside_profiles(name: &'static str, role: IniRole) -> IniFile {
    IniFile { place: IniPlace::MyGames, name, role, is_in_profiles: false, needs: None }
}

/// An identity without any marks or store ids.
pub(super) const UNKNOWN: Identity = Identity {
    executables: &[],
    also: &[],
    masters: &[],
    without: &[],
    steam: &[],
    steam_subfolder: "",
    gog: &[],
    epic: &[],
    language_folder: "",
};

/// Rules of a game without a list of plugins.
pub(super) const NO_PLUGINS: PluginRules = PluginRules {
    endings: PLUGINS.split_at(2).0,
    active: ActiveRule::Fixed,
    order: OrderRule::AsWritten,
    masters: MasterRule::Flag,
    hard_coded: &[],
    ccc: "",
    ccc_in_my_games: false,
    list_in_data: false,
    test_files: TestFiles::Ignored,
    nam_files: false,
    full_max: usize::MAX,
    small: &[],
    esl_needs: None,
    addons: &[],
    never_shipped: &[],
    blueprints: false,
};

/// Assumed size of the list buffer before Skyrim Special Edition; later games have more.
pub(super) const SHORT: usize = 255;
pub(super) const LONG: usize = 4095;

pub(super) const NO_LISTS: ListRules = ListRules {
    section: "Archive",
    first: &[],
    keys: &[],
    optional: None,
    hard_coded: &[],
    switched: &[],
    last: None,
};
