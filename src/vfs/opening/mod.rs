//! Opens planned layers, merges them, and opens them again after a change.
//!
//! | question | file |
//! |---|---|
//! | how are layers opened, parsed and merged? which layers are in a folder? | `open.rs` |
//! | how are they opened again after a change? | `reopening.rs` |
//! | what are files called if an archive stores only hashes? | `dictionary.rs` |
//! | which names does a game take for one? | `case_twins.rs` |
//! | what is in a folder whose archives are opened separately? | `named_folder.rs` |

pub(crate) mod case_twins;
pub(crate) mod dictionary;
pub(crate) mod named_folder;
pub(crate) mod open;
pub(crate) mod reopening;
