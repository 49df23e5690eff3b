//! Names: the frozen tree of folders and files, merged from layers in load order.
//!
//! Flat arrays without pointers. A node's number is its index, and (plus one) its inode number. The children of a
//! folder are one run of nodes in the order of their folded names: listings are sorted and stable, and a position in a
//! listing is a number. Beside the nodes, a hash index orders each run by the hash of the folded names: a lookup
//! compares integers, also where all names of a folder begin alike, and stays logarithmic where hashes collide.
//!
//! # Bounds
//!
//! An archive of N bytes takes at most 24 N + 4 MiB of memory while it is opened, whatever its names are, and time in
//! proportion to N log N. What would take more:
//!
//! - Folders: a path of N bytes has N / 2 of them. Those of an archive are limited to 4,096, one for each distinct
//!   stored path and one more for each 8 bytes of it. Of a path that would make more, what is left becomes one folder,
//!   with `%2F` for separators, as at [`crate::format::name::DEPTH_MAX`]. Files are listed all the same.
//! - Names that many entries share: [`mod@crate::format`] allows twice the strings of a TES3 archive, and as many bytes
//!   of embedded names as an archive has.
//! - Files of one name, or of long names that are equal after they were cut to be numbered: the search for a free number
//!   goes on where it ended, so that it tries each number once.

mod assumed;
mod comparison;
mod dictionary;
mod duplicates;
mod fold;
mod folder_index;
mod folder_layer;
mod hash_index;
mod layer_builder;
mod layer_names;
mod merge;
mod node;
mod numbers;
mod rule;
mod runs;
mod spelling;
mod stored_names;
#[expect(clippy::module_inception, reason = "a type lives in the file of its name")]
mod tree;
mod unnamed;

pub use comparison::{Changes, CompareFiles, compare};
pub use dictionary::{Dictionary, TooManyPaths};
pub use duplicates::numbered;
pub use layer_names::LayerNames;
pub use merge::{TooManyNodes, merge};
pub use node::{Hidden, Kind, NodeId};
pub use rule::Rule;
pub use spelling::{Inode, Spellings};
pub use stored_names::TooManyNames;
pub use tree::Tree;
