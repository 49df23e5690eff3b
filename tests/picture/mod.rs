//! Pictures of textures: thumbnails of every header and format, and PNG files.

mod png;
mod thumbnail;
