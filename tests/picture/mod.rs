//! Pictures of textures: thumbnails of every header and format, PNG files, and uncompressed textures.

mod png;
mod rgba_texture;
mod thumbnail;
