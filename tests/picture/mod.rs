//! Pictures of textures: thumbnails of any header and format, and their PNG files.

mod png;
mod thumbnail;
