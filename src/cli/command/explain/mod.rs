//! Explain: why a game loads what it loads.

pub(crate) mod conflicts;
pub(crate) mod diff;
pub(crate) mod needs;
pub(crate) mod order;
pub(crate) mod which;
pub(crate) mod why;
