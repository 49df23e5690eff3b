//! Textures: the headers that archives leave out, and the tiling of consoles' GPUs.
//!
//! A BA2 stores of a texture its size, its count of mips and a DXGI format number; the file that a game or a tool
//! expects begins with a header. It is computed from the one table of pixel formats, in `pixel_format.rs`; `file_header.rs`
//! reads such headers, and those that other programs write.

pub mod dds;
pub mod file_header;
pub mod gnf;
pub mod pixel_format;
pub mod tiling;
pub mod xbox;
