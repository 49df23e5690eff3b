//! Decodes texels: to thumbnails and pictures, which are written as PNG or OpenEXR, and to uncompressed
//! textures.
//!
//! A thumbnail is made of one mip, which is decoded and shrunk row by row. So memory is bounded by the
//! thumbnail and not by the texture. Only texels that are tiled for a console's GPU are read as a whole, up
//! to a limit. An uncompressed texture is decoded in bands of some rows.

mod blocks;
mod channels;
mod difference;
mod error;
mod exr;
mod full_picture;
mod png;
mod rgba_texture;
mod shrinker;
mod texels;
mod thumbnail;
mod transfer;

pub use difference::difference;
pub use error::PictureError;
pub use full_picture::{FullPicture, write_pixels};
pub use png::{PictureChannels, write_png, write_reduced_png};
pub use rgba_texture::{Band, PIXELS_MAX, RgbaTexture};
pub use shrinker::Image;
pub use thumbnail::{SIZE_MAX, thumbnail, thumbnail_and_alpha};
