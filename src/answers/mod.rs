//! Answers questions about a tree: what became of a file and why, how trees differ, what is missing.
//!
//! | question | file |
//! |---|---|
//! | which file does a path from a log or a program mean? | `question.rs` |
//! | what was not looked at, and which paths may it decide? | `unseen.rs` |
//! | where does a file come from, and what does it hide? | `provenance.rs` |
//! | which copies does a path have, and what became of each? | `copies.rs`; the fates: `fate.rs` |
//! | what became of a file, a mod, an archive or a plugin? | `why/` |
//! | are two files equal? how do layers or trees differ? | `comparison.rs` |
//! | how do the lists of two games differ? | `order_changes.rs` |
//! | does a tree have the files of a list with checksums? | `manifest.rs` |
//! | which files does a mesh need? | `needs.rs` |
//! | what does a game not find in an archive? | `structure.rs` |

pub(crate) mod comparison;
pub(crate) mod copies;
pub(crate) mod fate;
pub(crate) mod manifest;
pub(crate) mod needs;
pub(crate) mod order_changes;
pub(crate) mod provenance;
pub(crate) mod question;
pub(crate) mod structure;
pub(crate) mod unseen;
pub(crate) mod why;

pub use comparison::{Change, Comparing, Conflict, Difference, Reopened};
pub use provenance::{FileCopy, Provenance};
pub use unseen::NotLookedAt;
