//! Names: the frozen tree of folders and files, merged from layers in load order.
//!
//! Flat arrays without pointers. A node's number is its index, and (plus one) its inode number. The children of a
//! folder are one run of nodes in the order of their folded names: listings are sorted and stable, and a position in a
//! listing is a number. Beside the nodes, a hash index orders each run by the hash of the folded names: a lookup
//! compares integers, also where all names of a folder begin alike, and stays logarithmic where hashes collide.

mod dictionary;
mod duplicates;
mod fold;
mod hash_index;
mod layer;
mod layer_builder;
mod merge;
mod node;
mod runs;
mod spelling;
#[expect(clippy::module_inception, reason = "a type lives in the file of its name")]
mod tree;
mod unnamed;

pub use dictionary::{Dictionary, TooManyPaths};
pub use duplicates::numbered;
pub use layer::{Layer, TooManyNames};
pub use merge::{TooManyNodes, merge};
pub use node::{Hidden, Kind, NodeId};
pub use spelling::{Inode, Spellings};
pub use tree::Tree;
