//! Codecs: how the payload of an extent becomes bytes of a file.
//!
//! A payload is what follows an extent's prefix, so its unpacked size is known before it is decoded. (Nothing
//! states the size of LZSS, so [`unpacked_size`] counts it first.) Every decoder fills a buffer of that size,
//! and allocates nothing for sizes that the bytes claim.
//!
//! Real archives have streams that are damaged in harmless ways. Those yield their bytes and a [`Quirk`].
//!
//! `encode.rs` has the other direction, for the three codecs in which archives are written.

mod detect_codec;
mod encode;
mod error;
mod lz4_block;
mod lz4_frame;
mod lzss;
mod method;
mod stored;
mod table;
mod xmem;
mod zlib;

pub use encode::{EncodeError, Encoder, Level, Stream};
pub(crate) use error::LONGER;
pub use error::{DecodeError, Quirk};
pub(crate) use lz4_block::BlockDecoder;
pub use table::{
    CONTENT_SIZE_MAX, content_size, decode, has_checksum, has_prefix, has_signature, max_packed,
    max_unpacked, prefix, unpacked_size,
};
pub(crate) use xmem::XmemDecoder;
