//! Forms of textures, as layers around [`PlainFile`](super::read::PlainFile), which knows none of them.
//!
//! A `TextureFile` has its texels in rows (`linear_file.rs`), or is shown as its header decides: as pixels
//! (`rgba_file.rs`), under another header (`texture_file.rs`), or as it is.

mod linear_file;
mod rgba_file;
mod texture_file;

pub(crate) use texture_file::TextureFile;
