//! The rows, and how one is found.

use super::super::title::Title;
use super::{creation, gamebryo};

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
