//! Building blocks for the rows of the table of games.

use super::title::{
    ActiveRule, Identity, IniFile, IniPlace, IniRole, ListRules, MasterRule, OrderRule, PluginRules,
    TestFiles,
};

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
    active: ActiveRule::Fixed,
    order: OrderRule::AsWritten,
    masters: MasterRule::Flag,
    hard_coded: &[],
    ccc: "",
    ccc_in_my_games: false,
    list_in_data: false,
    test_files: TestFiles::Ignored,
    nam_files: false,
    esl_needs: None,
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
