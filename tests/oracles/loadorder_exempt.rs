//! Where our order of plugins differs from libloadorder's, and why.

use crate::installations::World;

/// A difference, and an installation that shows it.
pub(crate) struct Row {
    /// The active plugins as we order them.
    pub(crate) ours: &'static [&'static str],
    /// As libloadorder does.
    pub(crate) theirs: &'static [&'static str],
    /// Why ours stays.
    pub(crate) reason: &'static str,
    /// What shows it.
    pub(crate) world: fn() -> World,
}

/// All rows. Random installations have none of these.
pub(crate) const ROWS: &[Row] = &[
    Row {
        ours: &[],
        theirs: &["A.esp"],
        reason: "it renames a ghost that is listed, and thus activates it; the game does not find it",
        world: || World::of("oblivion").plugin("A.esp.ghost", 0, &[], 0).lines(&["A.esp"]),
    },
];
