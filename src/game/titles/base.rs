//! What rows of the table begin with.

use super::title::{
    ActiveRule, Identity, IniFile, IniPlace, IniRole, ListRules, MasterRule, OrderRule, PluginRules,
    TestFiles,
};

pub(super) const fn ini(place: IniPlace, name: &'static str, role: IniRole) -> IniFile {
    IniFile { place, name, role }
}

/// An identity without stores.
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

/// No plugin list.
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
    blueprints: false,
};

/// Buffers of the games before Skyrim Special Edition are assumed to be this long; later ones are longer.
pub(super) const SHORT: usize = 255;
pub(super) const LONG: usize = 4095;

pub(super) const NO_LISTS: ListRules =
    ListRules { section: "Archive", first: &[], keys: &[], hard_coded: &[], last: None };
