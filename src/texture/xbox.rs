//! Textures of the Xbox One. Their texels are tiled for its GPU, so a PC's DDS header would be wrong.
//!
//! Microsoft's tools have a DDS variant for them, which DirectXTex's Xbox part reads and writes. It has the
//! FourCC `XBOX` for every format, the DX10 extension, and four more words. BSA_Browser writes this variant
//! too, but keeps the PC's pixel format unless it is a block format. Readers of the `XBOX` variant reject
//! that. No archive with such textures was at hand \[unverified\]. (FORMATS.md section 7.)

use super::dds;
use super::tiling::{DEPTH, LINEAR};

/// Length of the header in bytes.
pub const HEADER_LEN: u64 = 164;

/// Alignment of the texels in memory, in bytes.
const BASE_ALIGNMENT: u32 = 256;
/// Version of the development kit, as BSA_Browser writes it.
const XDK_VERSION: u32 = 13_202;

/// What a BA2 stores about a texture of a PC or of an Xbox One.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XboxTexture {
    /// Size and format.
    pub dds: dds::Texture,
    /// Tile mode, see [`super::tiling`].
    pub tile_mode: u8,
}

impl XboxTexture {
    /// Whether the texels are in plain rows, as on a PC.
    pub fn is_linear(&self) -> bool {
        self.tile_mode == LINEAR || DEPTH.contains(&self.tile_mode)
    }

    /// Builds the header for `data` bytes of texels: [`HEADER_LEN`] bytes.
    pub fn header(&self, data: u64) -> Vec<u8> {
        let mut header = self.dds.header_for(*b"XBOX");
        let data = u32::try_from(data).unwrap_or(u32::MAX);
        let words = [u32::from(self.tile_mode), BASE_ALIGNMENT, data, XDK_VERSION];
        header.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        header
    }
}
