//! Bytes: the content of files, read and decoded on demand.
//!
//! A read of a file goes through these steps, from top to bottom:
//!
//! | step | file |
//! |---|---|
//! | read each piece, and assemble them into the reply | `read.rs` |
//! | find out the size of the file | `sizes.rs`, and from its data `extent_prefix.rs` |
//! | cut the range into pieces | `pieces.rs` |
//! | choose a strategy for each piece: stored, whole, prefix or cached | `read_strategy.rs` |
//! | take bytes that were decoded before from the cache | `cache.rs` |
//! | decode other bytes, into the reply or into the cache | `decode.rs` |
//! | make other textures of them | for consoles `linear.rs`, for all programs `uncompressed.rs` |
//! | find an archive's extents | `archive_content.rs`, `extents.rs` |
//! | read their packed bytes | `payload.rs`, [`crate::archive_file`] |
//! | unpack them | `codec/` |
//!
//! The path of a loose file is shorter: `loose.rs` and [`crate::folder`].
//!
//! Other files:
//!
//! | file | what it has |
//! |---|---|
//! | `store.rs` | what all layers share: the cache, the limits, the counters |
//! | `later_view.rs` | what the next view takes over from the current one |
//! | `prefetch.rs` | extents that are decoded before a reader asks for them |
//! | `whole.rs` | whole files, for `cat`, `extract` and `verify` |
//! | `sizes.rs` | sizes that must be read from the data |
//! | `uncompressed_files.rs` | which textures of an archive are uncompressed |
//! | `buffer.rs`, `memory.rs` | reused buffers, and limits on memory in use |
//! | `error.rs`, `faults.rs`, `fault_log.rs` | why a read failed, and whether that is logged |

mod archive_content;
mod buffer;
mod cache;
pub mod codec;
mod decode;
mod error;
mod extent_prefix;
mod extents;
mod fault_log;
mod faults;
mod later_view;
mod linear;
mod loose;
mod memory;
mod payload;
mod pieces;
mod prefetch;
mod read;
mod read_strategy;
mod sizes;
mod store;
mod uncompressed;
mod uncompressed_files;
mod whole;

pub use archive_content::{LayerTables, TextureForm};
pub use error::{EntryError, Reason};
pub(crate) use read_strategy::PREFIX_LEN;
pub use store::{Packing, Store};

pub use crate::folder::LooseFile;
