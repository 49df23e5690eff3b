//! Finds installed games in the lists of launchers, in common places, and in a named folder.
//!
//! | question | file |
//! |---|---|
//! | where do launchers, mod managers and users keep games? | a row in `places.rs` |
//! | how is the list of a launcher read? | the file of its name |
//! | which places does the user add? | `own_places.rs` |
//! | where are games in a prefix or a common folder? | `habits.rs` |
//! | which game is in a folder? | `recognise.rs`, `openmw.rs` |
//! | in which prefix does a game run? | `chosen_prefix.rs`, `prefix.rs` |
//! | what was found? | `search.rs`; `candidate.rs` before it is recognised |

mod candidate;
mod chosen_prefix;
mod habits;
mod launchers;
mod openmw;
mod own_places;
mod places;
mod prefix;
mod recognise;
mod search;
mod steam;

pub(crate) use chosen_prefix::user_folders;
pub(crate) use habits::LOST;
pub use prefix::unreadable;
pub(crate) use prefix::{UserFolders, with_drive_c};
pub(crate) use recognise::game_in;
pub use search::{Installations, find, prefixes, recognise, recognise_among, with_prefix};
pub(crate) use search::{below, drives, for_instance};
