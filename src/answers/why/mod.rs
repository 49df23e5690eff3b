//! Why a file, plugin, archive, mod or settings file is not in a game, or what hides it. `asked` finds out
//! what kind of thing is meant. Each kind has a file.

mod asked;
mod investigation;
mod of_archive;
mod of_file;
mod of_mod;
mod of_plugin;
mod of_settings;

pub(crate) use asked::{why, why_missing};
pub(crate) use investigation::{Explanation, NOT_FOUND, SAME_NAME, ThingKind};
