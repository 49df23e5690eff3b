//! Textures of the Xbox One: their texels are tiled for its GPU, so that a PC's DDS header would be wrong.
//!
//! Microsoft's tools have a DDS variant for them, which DirectXTex's Xbox part reads and writes: the FourCC `XBOX`
//! whatever the format, the DX10 extension, and four words more. BSA_Browser writes the same, but keeps the PC's
//! pixel format where that is no block format, which readers of the `XBOX` variant do not accept. No archive with
//! such textures was at hand \[unverified\]. (FORMATS.md section 7.)

use super::dds;
use super::tiling::LINEAR;

/// Bytes of the header.
pub const HEADER_LEN: u64 = 164;

/// Bytes that such data is aligned to in memory.
const BASE_ALIGNMENT: u32 = 256;
/// The version of the development kit that BSA_Browser names.
const XDK_VERSION: u32 = 13_202;

/// What a BA2 stores of a texture, of a PC or of an Xbox One.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XboxTexture {
    /// Size and format.
    pub dds: dds::Texture,
    /// Its tile mode, see [`super::tiling`].
    pub tile_mode: u8,
}

impl XboxTexture {
    /// Whether its texels are in plain rows, as on a PC.
    pub fn is_linear(&self) -> bool {
        self.tile_mode == LINEAR
    }

    /// The header of `data` bytes of texels: [`HEADER_LEN`] bytes.
    pub fn header(&self, data: u64) -> Vec<u8> {
        let mut header = self.dds.header_for(*b"XBOX");
        let data = u32::try_from(data).unwrap_or(u32::MAX);
        let words = [u32::from(self.tile_mode), BASE_ALIGNMENT, data, XDK_VERSION];
        header.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        header
    }
}
