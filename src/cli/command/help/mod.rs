//! Help: documents, and what shells ask while a user types.

pub(crate) mod complete;
pub(crate) mod completions;
#[expect(clippy::module_inception, reason = "each command has the name of its file")]
pub(crate) mod help;
pub(crate) mod man;
pub(crate) mod schema;
