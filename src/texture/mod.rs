//! Textures: the headers that archives leave out, and the tiling of consoles' GPUs.
//!
//! For a texture, a BA2 stores only the size, the number of mips and a DXGI format number. Games and tools
//! expect a file that begins with a header. It is computed from the one table of pixel formats
//! (`pixel_format.rs`). `file_header.rs` parses such headers, and those that other programs write. `parts.rs`
//! cuts a file into what an archive stores of it.

pub mod dds;
pub mod file_header;
pub mod gnf;
mod other_file;
pub mod parts;
pub mod pixel_format;
pub mod tiling;
pub mod xbox;
