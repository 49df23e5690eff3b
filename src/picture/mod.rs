//! Thumbnails of textures. The header says which mip is needed; that mip is decoded, shrunk, and
//! written as PNG.
//!
//! Texels pass through row by row, so that memory is bounded by the thumbnail and not by the
//! texture. Only texels that are tiled for a console's GPU are read as a whole, up to a limit.

mod blocks;
mod channels;
mod error;
mod image;
mod png;
mod shrinker;
mod texels;
mod thumbnail;
mod transfer;

pub use error::PictureError;
pub use image::Image;
pub use png::write_png;
pub use thumbnail::{SIZE_MAX, thumbnail};
