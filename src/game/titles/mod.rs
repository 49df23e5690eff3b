//! The table of games: one row each. A row that differs little from another is written as that row with changes.
//!
//! Rules and their evidence are those of mod managers and of tools that read the games' code; where these disagree, a row
//! takes the reading that most evidence supports, and its confidence says so.

mod base;
mod creation;
mod gamebryo;
pub(crate) mod title;
mod vanilla;

pub use title::{
    ActiveRule, AttachRule, Identity, IniFile, IniPlace, IniRole, IniRules, ListRules, LooseSetting,
    MasterRule, OrderRule, PluginRules, TestFiles, Title,
};

/// All games. Those with more marks come before those that share their executable or master.
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

/// The row of an id, in any case.
pub fn title(id: &str) -> Option<&'static Title> {
    TITLES.iter().copied().find(|title| title.id.eq_ignore_ascii_case(id))
}
