//! Bytes: the content of files, read and decoded on demand.
//!
//! A [`Store`] has the bytes of all layers, and [`Store::file`] returns a file of it as a value, a
//! [`StoredFile`]. Each file and folder calls only those below it in this table:
//!
//! | what | where |
//! |---|---|
//! | sizes of many files at once; a file as a stream | `learn_sizes.rs`, `file_stream.rs` |
//! | the layers of a view, and what it takes over from the earlier one | `store.rs` |
//! | a file: its bytes, and where they come from; a layer; the files of a folder | `stored_file.rs` |
//! | textures that are not shown as they are stored | `textures/` |
//! | files of an archive as they are stored | `read/` |
//! | the tables of an archive | `layer_tables.rs` |
//! | decoded bytes, buffers, and limits on their memory | `cache.rs` |
//! | why a read failed, and whether that is logged | `error.rs` |
//! | how packed bytes are decoded | `codec/` |

mod cache;
pub mod codec;
mod error;
mod file_stream;
mod layer_tables;
mod learn_sizes;
mod read;
mod store;
mod stored_file;
mod textures;

pub use crate::folder::LooseFile;
pub use error::{EntryError, Reason};
pub(crate) use file_stream::FileStream;
pub use layer_tables::{LayerTables, TextureForm};
pub use read::FileBytes;
pub(crate) use read::{Examined, PREFIX_LEN, REQUESTED_MAX};
pub use store::Store;
pub(crate) use stored_file::BytesKey;
pub use stored_file::{Packing, StoredFile, read_open};
