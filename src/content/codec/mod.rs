//! Codecs: how the payload of one extent becomes bytes of a file.
//!
//! A payload is what follows an extent's prefix, so that its unpacked size is always known before it is decoded and
//! every decoder fills a buffer of that size: no decoder allocates in proportion to what the bytes state. Real archives
//! hold streams that are damaged in harmless ways; those give their bytes and a [`Quirk`]. A codec is one file of this
//! folder, its variant of [`crate::format::Codec`], and one line of the table.

mod detect;
mod error;
mod lz4_block;
mod lz4_frame;
mod method;
mod stored;
mod table;
mod xmem;
mod zlib;

pub use error::{DecodeError, Quirk};
pub use table::{decode, has_prefix, max_packed, max_unpacked, prefix};
