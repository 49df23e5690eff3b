//! Bytes: what is in a file, read and decoded on demand.
//!
//! A read walks down this folder. `read` has the requested range cut into pieces; `way` decides how each is read; `decode`
//! decodes them, into the answer or into `cache`, by `codec`; `layer` knows where an archive's extents are, and the crate's
//! `source` reads their bytes. Loose files go a shorter way: `loose`, and the crate's `folder`.

mod buffer;
mod cache;
pub mod codec;
mod decode;
mod decoded;
mod error;
mod extent_prefix;
mod extents;
mod large;
mod later_view;
mod layer;
mod linear;
mod loose;
mod memory;
mod outage;
mod read;
mod salvage;
mod sizes;
mod store;
mod way;

pub use error::{ReadError, Reason};
pub use layer::{LayerTables, TextureForm};
pub use store::{Packing, Store};

pub use crate::folder::LooseFile;
