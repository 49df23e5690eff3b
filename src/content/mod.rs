//! Bytes: what is in a file, read and decoded on demand.
//!
//! A read of a file goes through these steps, from top to bottom:
//!
//! | step | file |
//! |---|---|
//! | the range is cut into pieces, and the answer is made of them | `read.rs` |
//! | each piece has a strategy: stored, whole, prefix or cached | `read_strategy.rs` |
//! | bytes that were decoded before are in the cache | `cache.rs` |
//! | other packed bytes are read and decoded, into the answer or into the cache | `decode.rs`; textures of consoles: `linear.rs` |
//! | where an archive's extents are, and how long they become | `archive_content.rs`, with `extents.rs` and `extent_prefix.rs` |
//! | packed bytes are read | [`crate::archive_file`] |
//! | a codec unpacks them | `codec/` |
//!
//! A loose file goes a shorter way: `loose.rs` and [`crate::folder`].
//!
//! | besides | file |
//! |---|---|
//! | what all layers have in common: cache, bounds, counts | `store.rs`; what the next view takes over: `later_view.rs` |
//! | whole files, for `cat`, `extract` and `verify` | `whole.rs` |
//! | sizes that must be read from the data | `sizes.rs` |
//! | memory: buffers that are used again, and how much may be in use | `buffer.rs`, `memory.rs` |
//! | why a read failed, and whether that is logged | `error.rs`, `fault_log.rs` |

mod archive_content;
mod buffer;
mod cache;
pub mod codec;
mod decode;
mod error;
mod extent_prefix;
mod extents;
mod fault_log;
mod later_view;
mod linear;
mod loose;
mod memory;
mod read;
mod read_strategy;
mod sizes;
mod store;
mod whole;

pub use archive_content::{LayerTables, TextureForm};
pub use error::{EntryError, Reason};
pub use store::{Packing, Store};

pub use crate::folder::LooseFile;
