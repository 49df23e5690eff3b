//! Bytes: the content of files, read and decoded on demand.
//!
//! A read of a file goes through these steps, from top to bottom:
//!
//! | step | file |
//! |---|---|
//! | decide in which form the file is shown | `read.rs` |
//! | convert textures to `rgba`; the steps below read their texels | `rgba.rs` |
//! | show textures under another header | `header.rs` |
//! | cut the range at the borders of head and extents, and at the end of the file | `pieces.rs` |
//! | choose a strategy for each extent: stored, whole, prefix or cached | `read_strategy.rs` |
//! | take bytes that were decoded before, or decode them once | `cache/` |
//! | read the packed bytes of an extent from the archive | `payload.rs`, [`crate::archive_file`] |
//! | decode them into the reply or the cache | `decode.rs`, `codec/` |
//!
//! Console textures leave this path after `pieces.rs`: `linear.rs` decodes all their extents, and puts the
//! texels into rows.
//! The path of a loose file is shorter: `loose.rs` and [`crate::folder`].
//!
//! Other files:
//!
//! | file | what it has |
//! |---|---|
//! | `store.rs` | what all layers share: the cache, the limits, the counters, the errors |
//! | `file_bytes.rs` | what a read returns |
//! | `archive_content.rs`, `tables/` | one archive: its file and its tables |
//! | `sizes.rs`, `extent_prefix.rs` | sizes, also those that must be read from the data |
//! | `prefetch.rs` | extents that are decoded before a reader asks for them |
//! | `whole.rs` | whole files, for `cat`, `extract` and `verify` |
//! | `stream.rs` | files in order with little memory, for pictures |
//! | `later_view.rs` | what the next view takes over from the current one |
//! | `disk_state.rs` | which sources changed on the disk |
//! | `error.rs`, `fault_log.rs` | why a read failed, and whether that is logged |

mod archive_content;
mod cache;
pub mod codec;
mod decode;
mod disk_state;
mod error;
mod extent_prefix;
mod fault_log;
mod file_bytes;
mod header;
mod later_view;
mod linear;
mod loose;
mod payload;
mod pieces;
mod prefetch;
mod read;
mod read_strategy;
mod rgba;
mod sizes;
mod store;
mod stream;
mod tables;
mod whole;

pub use error::{EntryError, Reason};
pub use file_bytes::FileBytes;
pub(crate) use prefetch::REQUESTED_MAX;
pub(crate) use read_strategy::PREFIX_LEN;
pub use store::{Packing, Store};
pub(crate) use stream::FileStream;
pub use tables::{LayerTables, TextureForm};
pub(crate) use whole::Examined;

pub use crate::folder::LooseFile;
