//! Textures of the PlayStation 4: the GNF header that a `GNMF` archive leaves out, and the
//! conversion to a DDS texture.
//!
//! The archive stores the GPU's own description of the texture, 32 bytes that are called T#. Its
//! fields follow the public descriptions of AMD's GCN GPUs (FORMATS.md section 6.1). The header is
//! the one that GFD-Studio writes, with the stream size in little-endian order [unverified: no file
//! of Sony's tools was at hand].

use super::dds;

/// Length of a GNF header in bytes.
pub const HEADER_LEN: u64 = 256;
/// Length of the header after its first eight bytes.
const CONTENT_LEN: u32 = 248;
/// Version 2, one texture, data aligned to 256 bytes.
const VERSION: [u8; 4] = [2, 1, 8, 0];

/// A T#, the GPU's descriptor of a texture, as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor(pub [u8; 32]);

impl Descriptor {
    /// Builds the header of a file with `data` bytes of texels: [`HEADER_LEN`] bytes. The
    /// descriptor is copied unchanged.
    pub fn header(&self, data: u64) -> Vec<u8> {
        let size = u32::try_from(data.saturating_add(HEADER_LEN)).unwrap_or(u32::MAX);
        let mut header = b"GNF ".to_vec();
        header.extend(CONTENT_LEN.to_le_bytes());
        header.extend(VERSION);
        header.extend(size.to_le_bytes());
        header.extend(self.0);
        header.resize(HEADER_LEN as usize, 0);
        header
    }

    /// Width of the largest mip, in pixels: 1 to 16,384.
    pub fn width(&self) -> u16 {
        self.field(2, 0, 14) as u16 + 1
    }

    /// Height of the largest mip, in pixels: 1 to 16,384.
    pub fn height(&self) -> u16 {
        self.field(2, 14, 14) as u16 + 1
    }

    /// Number of mips: 1 to 16.
    pub fn mips(&self) -> u8 {
        self.field(3, 16, 4) as u8 + 1
    }

    /// Data format: bits and channels.
    #[doc(hidden)]
    pub fn data_format(&self) -> u8 {
        self.field(1, 20, 6) as u8
    }

    /// Number format: 0 UNORM, 1 SNORM, 4 UINT, 5 SINT, 7 FLOAT, 9 SRGB.
    #[doc(hidden)]
    pub fn number_format(&self) -> u8 {
        self.field(1, 26, 4) as u8
    }

    /// Tiling index, which is the tile mode: see [`super::tiling`].
    pub fn tile_mode(&self) -> u8 {
        self.field(3, 20, 5) as u8
    }

    /// Type: 9 is 2D, 11 is a cube.
    pub fn texture_type(&self) -> u8 {
        self.field(3, 28, 4) as u8
    }

    /// This texture as a DDS texture. `None` unless it has a block format, is 2D or a cube, and has
    /// all mips from the first on.
    pub fn texture(&self) -> Option<dds::Texture> {
        let cube = match self.texture_type() {
            9 => false,
            11 => true,
            _ => return None,
        };
        let first_mip = self.field(3, 12, 4);
        let format = dxgi(self.data_format(), self.number_format()).filter(|_| first_mip == 0)?;
        Some(dds::Texture { width: self.width(), height: self.height(), mips: self.mips(), format, cube })
    }

    /// Extracts `bits` bits of a word, from bit `from` on.
    fn field(&self, word: usize, from: u32, bits: u32) -> u32 {
        let (words, _) = self.0.as_chunks::<4>();
        let word = words.get(word).copied().map_or(0, u32::from_le_bytes);
        (word >> from) & ((1 << bits) - 1)
    }
}

/// The `DXGI_FORMAT` of a block format. BC6 is a float format; for it, UNORM means unsigned and
/// SNORM signed, as in Mesa for these GPUs (\[unverified\] for the PlayStation 4).
fn dxgi(data_format: u8, number_format: u8) -> Option<u8> {
    const UNORM: u8 = 0;
    const SNORM: u8 = 1;
    const SRGB: u8 = 9;
    Some(match (data_format, number_format) {
        (0x23, UNORM) => 71,
        (0x23, SRGB) => 72,
        (0x24, UNORM) => 74,
        (0x24, SRGB) => 75,
        (0x25, UNORM) => 77,
        (0x25, SRGB) => 78,
        (0x26, UNORM) => 80,
        (0x26, SNORM) => 81,
        (0x27, UNORM) => 83,
        (0x27, SNORM) => 84,
        (0x28, UNORM) => 95,
        (0x28, SNORM) => 96,
        (0x29, UNORM) => 98,
        (0x29, SRGB) => 99,
        _ => return None,
    })
}
