//! Forms of textures, as layers around [`PlainFile`](super::read::PlainFile), which knows none of them.
//!
//! A file with its texels in rows is a `LinearFile`. A file whose header decides how it is shown is a
//! `ConvertedFile`: pixels (`rgba_file.rs`), another header (`texture_file.rs`), or as it is.

mod texture_file;
mod linear_file;
mod rgba_file;

pub(crate) use texture_file::ConvertedFile;
pub(crate) use linear_file::LinearFile;
