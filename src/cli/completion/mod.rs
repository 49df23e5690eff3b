//! Completion: what the Tab key offers.
//!
//! The engine of `clap_complete` (4.5, `unstable-dynamic`) cannot replace this without a loss that users
//! notice. It was compared by reading its source, in November 2026:
//!
//! | users have today | with the engine |
//! |---|---|
//! | paths inside the archives and games that the line names | a completer sees only its own word |
//! | the profiles of the mod manager's folder that the line names | the same |
//! | names with spaces, quotes or `$(...)` as the shell reads them back | bash inserts values as they are |
//! | names that are not UTF-8 | they are replaced (`to_string_lossy`) |
//! | words with `=` and `:`, and words in open quotes | readline's pieces, with their quotes |
//! | Alt-? lists candidates and leaves the word as it is | `COMP_TYPE` is ignored |
//! | an answer within 3 s, also if a daemon or a disk hangs | no time limit; paths are statted |
//! | no space after a folder | the same |
//! | an explanation of options and games in zsh and fish | the same |
//!
//! Games, mounts and saved profiles could be offered by completers of our own, which need `candidates.rs`
//! anyway. So `shell_line.rs` and most of `expected.rs` would go, about 650 lines, and the first seven rows.

pub(crate) mod candidates;
pub(crate) mod expected;
pub(crate) mod shell_line;
