//! Completion: what the Tab key offers.

pub(crate) mod candidates;
pub(crate) mod expected;
pub(crate) mod shell_line;
