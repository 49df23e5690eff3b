//! Textures: the headers that archives leave out, and the tiling of consoles' GPUs.
//!
//! A BA2 stores of a texture its size, its count of mips and a DXGI format number; the file that a game or a tool
//! expects begins with a header. It is computed from the one table of pixel formats, in `pixel_format.rs`.

pub mod dds;
pub mod gnf;
mod pixel_format;
pub mod tiling;
pub mod xbox;
