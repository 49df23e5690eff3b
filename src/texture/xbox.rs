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

#[cfg(test)]
mod tests {
    use super::*;

    fn texture(format: u8, cube: bool) -> XboxTexture {
        XboxTexture { dds: dds::Texture { width: 64, height: 32, mips: 7, format, cube }, tile_mode: 13 }
    }

    #[test]
    fn the_header_is_a_dx10_header_with_another_fourcc_and_four_words_more() {
        // BC7, for which a PC's header has the extension too: all but the FourCC is the same.
        let (pc, xbox) = (texture(98, true).dds.header(), texture(98, true).header(0x1234_5678));
        assert_eq!(xbox.len() as u64, HEADER_LEN);
        assert_eq!((&xbox[..84], &xbox[88..148]), (&pc[..84], &pc[88..148]));
        assert_eq!(xbox[84..88], *b"XBOX");
        assert_eq!(xbox[148..], [13, 0, 0, 0, 0, 1, 0, 0, 0x78, 0x56, 0x34, 0x12, 0x92, 0x33, 0, 0]);
    }

    #[test]
    fn formats_that_a_pc_header_states_otherwise_are_stated_by_their_number() {
        for format in [28, 61, 71, 77, 83, 87] {
            let header = texture(format, false).header(0);
            assert_eq!(header.len() as u64, HEADER_LEN, "{format}");
            assert_eq!(header[76..88], *b"\x20\0\0\0\x04\0\0\0XBOX", "{format}");
            assert_eq!(header[88..108], [0; 20], "{format}: no bits and no masks");
            assert_eq!(header[128..132], u32::from(format).to_le_bytes(), "{format}");
            assert_eq!(header[132..148], *b"\x03\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0", "{format}");
        }
    }
}
