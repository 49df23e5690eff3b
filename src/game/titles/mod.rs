//! The table of games, one row each. A row like another is written as that row with changes.
//!
//! The rules and their evidence come from mod managers and from tools that read the games' code. If
//! these disagree, a row follows the reading with the most evidence and says so in its confidence.

mod creation;
mod gamebryo;
mod packing;
pub(crate) mod title;
mod vanilla;

pub use packing::{DummyPlugin, Loads, NextName, PackRules};
use std::path::Path;
pub use title::{
    ActiveRule, AttachRule, ExtenderPlugin, Identity, IniFile, IniPlace, IniRole, IniRules, ListRules,
    LooseSetting, MasterRule, NewerArchives, OrderRule, PluginRules, TestFiles, Title,
};

/// All games. Among titles that share an executable, one with more identifying files comes first.
pub static TITLES: [&Title; 16] = [
    &gamebryo::MORROWIND,
    &gamebryo::OPENMW,
    &gamebryo::NEHRIM,
    &gamebryo::OBLIVION,
    &gamebryo::OBLIVION_REMASTERED,
    &gamebryo::FALLOUT3,
    &gamebryo::FALLOUTNV,
    &creation::ENDERAL,
    &creation::SKYRIM,
    &creation::ENDERALSE,
    &creation::SKYRIMSE,
    &creation::SKYRIMVR,
    &creation::FALLOUT4VR,
    &creation::FALLOUT4,
    &creation::FALLOUT76,
    &creation::STARFIELD,
];

/// Whether a folder has the name of a game's data folder.
pub(crate) fn is_data_folder(folder: &Path) -> bool {
    let data = TITLES.iter().filter_map(|title| Path::new(title.data).file_name());
    folder.file_name().is_some_and(|name| data.into_iter().any(|data| name.eq_ignore_ascii_case(data)))
}

/// Finds a game by its id, ignoring case.
pub fn title(id: &str) -> Option<&'static Title> {
    TITLES.iter().copied().find(|title| title.id.eq_ignore_ascii_case(id))
}
