//! Resolves sources: games, folders, archives and profiles become planned layers.

pub(crate) mod folder_case;
pub(crate) mod folder_name;
pub(crate) mod layer_plan;
pub(crate) mod loose_notes;
pub(crate) mod profile;
pub(crate) mod resolve;
pub(crate) mod source_set;
