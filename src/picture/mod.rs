//! Pictures of textures: the one mip that a thumbnail needs is found by the header, decoded, made smaller, and written
//! as PNG.
//!
//! Texels pass through row by row, so that memory is bounded by the thumbnail and not by the texture. Only texels that
//! are tiled for a console's GPU are read whole, up to a limit.

mod area;
mod blocks;
mod channels;
mod error;
mod image;
mod light;
mod png;
mod texels;
mod thumbnail;

pub use error::PictureError;
pub use image::Image;
pub use png::write_png;
pub use thumbnail::{SIZE_MAX, thumbnail};
