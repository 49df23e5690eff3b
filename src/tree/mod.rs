//! Names: the frozen tree of folders and files, merged from layers in load order.
//!
//! The tree consists of flat arrays without pointers. A node's number is its index. In the first view of a
//! mount, the inode number follows from its place in listings. The children of a folder are one run of nodes,
//! in the order of their folded names. Listings have their own order, which is stable, so a position in a
//! listing is a number.
//! In addition, a hash index orders each run by the hash of the folded names. So a lookup compares integers,
//! even if all names of a folder begin alike, and it stays logarithmic if hashes collide.
//!
//! | question | file |
//! |---|---|
//! | how is a path found, and how is a folder listed? | `tree.rs` |
//! | in which order are files listed? | `listing_order.rs` |
//! | what is a node? | `node.rs`, with its inode number; those of further spellings: `spelling.rs` |
//! | what are the names of one layer? | `layer_names.rs` |
//! | how are they built? | `layer_builder.rs` |
//! | what if two files of an archive have one name? | `layer_builder.rs` |
//! | which name does an archive store? | `stored_names.rs` |
//! | how are layers merged? | `merge.rs`, in `runs.rs` on all processors |
//! | which file wins? | `merge.rs`, by the rule that the caller passes |
//! | what did a writable mount delete? | `erased.rs` |
//! | how are names folded? | `fold.rs` |
//! | what if an archive stores only hashes? | `unnamed.rs`; known paths: `dictionary.rs` |
//! | how does a later tree differ? | `comparison.rs` |
//!
//! # Bounds
//!
//! While an archive of N bytes is opened, it takes at most 24 N + 4 MiB of memory, whatever its
//! names are. It takes time in proportion to N log N. These limits prevent it from taking more:
//!
//! - Folders: a path of N bytes may have N / 2 of them. The folders of an archive are limited to
//!   4,096, plus one for each distinct stored path, plus one for each 8 bytes of such a path. If a
//!   path would make more, the rest of it becomes one folder, with `%2F` for separators, as at
//!   [`crate::format::name::DEPTH_MAX`]. All files are still listed.
//! - Names that many entries share: [`mod@crate::format`] allows twice the strings of a TES3
//!   archive, and as many bytes of embedded names as an archive has.
//! - Files of one name, or of long names that become equal when they are cut to be numbered: each
//!   number is tried once, because the search for a free number continues where it ended.

mod comparison;
mod dictionary;
mod erased;
mod fold;
mod layer_builder;
mod layer_names;
mod listing_order;
mod merge;
mod node;
mod runs;
mod spelling;
mod stored_names;
#[expect(clippy::module_inception, reason = "a type lives in the file of its name")]
mod tree;
mod unnamed;

pub use comparison::{Changes, CompareFiles, NodeChange, compare};
pub use dictionary::{Dictionary, TooManyPaths};
pub use erased::Erased;
pub use layer_builder::numbered;
pub use layer_names::LayerNames;
pub use listing_order::DataPlace;
pub use merge::{MergeLayer, Rule, TooManyNodes, merge, rules_hash};
pub use node::{Hidden, Ino, Kind, NodeId};
pub use spelling::{Inode, Spellings};
pub use stored_names::NamesTooLarge;
pub use tree::{Tree, listed_path};
