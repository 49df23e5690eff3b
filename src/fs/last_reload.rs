//! How the last reload of a mount went.

use serde::{Deserialize, Serialize};

/// How a reload went.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct LastReload {
    /// Reloads so far, those that found no change or failed among them.
    pub count: u64,
    /// When it ended, in whole seconds since 1970.
    pub at: u64,
    /// What it changed, or why it failed.
    pub what: String,
    /// Whether it failed: the view before is served on.
    pub is_failed: bool,
    /// Whether a further one is under way.
    #[serde(default)]
    pub is_running: bool,
    /// When the last one began, the one that is under way if there is one; in whole seconds since 1970.
    #[serde(default)]
    pub began: u64,
}
