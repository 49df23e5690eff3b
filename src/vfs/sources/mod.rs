//! Resolves sources: games, folders, archives and profiles become planned layers.
//!
//! | question | file |
//! |---|---|
//! | what is a source? | `resolve.rs` |
//! | what does a profile stand for? | `profile.rs` |
//! | which layers are opened, and why? | `layer_plan.rs` |
//! | what is odd about loose files? | `loose_notes.rs` |
//! | how is a folder for an archive named? | `folder_name.rs` |
//! | what does root refuse, because others will read it? | `for_others.rs` |

pub(crate) mod folder_name;
pub(crate) mod for_others;
pub(crate) mod layer_plan;
pub(crate) mod loose_notes;
pub(crate) mod profile;
pub(crate) mod resolve;
