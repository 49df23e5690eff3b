//! Textures of the PlayStation 4: the GNF header that a `GNMF` archive leaves out, and the DDS texture that a GNF
//! texture is.
//!
//! The archive stores the GPU's own description of the texture, 32 bytes that are called T#. Its fields are those of
//! the public descriptions of AMD's GCN GPUs (FORMATS.md section 6.1); the header is the one that GFD-Studio writes,
//! with the stream size in little-endian order [unverified: no file of Sony's tools was at hand].

use super::dds;

/// Bytes of a GNF header.
pub const HEADER_LEN: u64 = 256;
/// Of what follows the first eight bytes of the header, in bytes.
const CONTENT_LEN: u32 = 248;
/// Version 2, one texture, data aligned to 256 bytes.
const VERSION: [u8; 4] = [2, 1, 8, 0];

/// A T#, the GPU's descriptor of a texture, as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor(pub [u8; 32]);

impl Descriptor {
    /// The header of a file with `data` bytes of texels: [`HEADER_LEN`] bytes. The descriptor is copied as it is.
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

    /// How many mips there are: 1 to 16.
    pub fn mips(&self) -> u8 {
        self.field(3, 16, 4) as u8 + 1
    }

    /// The data format: bits and channels.
    fn data_format(&self) -> u8 {
        self.field(1, 20, 6) as u8
    }

    /// The number format: 0 UNORM, 1 SNORM, 4 UINT, 5 SINT, 7 FLOAT, 9 SRGB.
    fn number_format(&self) -> u8 {
        self.field(1, 26, 4) as u8
    }

    /// The tiling index, which is the tile mode: see [`super::tiling`].
    pub fn tile_mode(&self) -> u8 {
        self.field(3, 20, 5) as u8
    }

    /// The type: 9 is 2D, 11 a cube.
    pub fn texture_type(&self) -> u8 {
        self.field(3, 28, 4) as u8
    }

    /// The same as a DDS texture; `None` but for block formats, 2D or a cube, and all mips from the first on.
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

    /// `bits` bits of a word, from bit `from` on.
    fn field(&self, word: usize, from: u32, bits: u32) -> u32 {
        let (words, _) = self.0.as_chunks::<4>();
        let word = words.get(word).copied().map_or(0, u32::from_le_bytes);
        (word >> from) & ((1 << bits) - 1)
    }
}

/// The `DXGI_FORMAT` of a block format. BC6 is a float format: UNORM stands for unsigned, SNORM for signed (as in
/// Mesa for these GPUs; \[unverified\] for the PlayStation 4).
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A T# of words that have every other field full, so that a field that reads too far shows.
    fn descriptor(data_format: u32, number_format: u32, kind: u32) -> Descriptor {
        let words: [u32; 8] = [
            u32::MAX,
            0xC00F_FFFF | data_format << 20 | number_format << 26,
            1023 | 511 << 14 | 7 << 28,
            0x0E00_0FAC | 10 << 16 | 13 << 20 | kind << 28,
            u32::MAX,
            u32::MAX,
            u32::MAX,
            u32::MAX,
        ];
        let mut bytes = [0; 32];
        bytes.as_chunks_mut::<4>().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
        Descriptor(bytes)
    }

    #[test]
    fn fields_are_read_from_their_bits() {
        let it = descriptor(0x29, 9, 9);
        assert_eq!((it.width(), it.height(), it.mips()), (1024, 512, 11));
        assert_eq!(
            (it.data_format(), it.number_format(), it.tile_mode(), it.texture_type()),
            (0x29, 9, 13, 9)
        );
        let all = Descriptor([0xFF; 32]);
        assert_eq!((all.width(), all.height(), all.mips(), all.tile_mode()), (16_384, 16_384, 16, 31));
        assert_eq!(Descriptor([0; 32]).width(), 1);
    }

    #[test]
    fn the_header_counts_the_whole_file_and_keeps_the_descriptor() {
        let it = descriptor(0x23, 0, 9);
        let header = it.header(0x0001_0000);
        assert_eq!(header.len() as u64, HEADER_LEN);
        assert_eq!(header[..16], *b"GNF \xF8\0\0\0\x02\x01\x08\0\0\x01\x01\0");
        assert_eq!(header[16..48], it.0);
        assert_eq!(header[48..], [0; 208]);
        assert_eq!(it.header(u64::MAX)[12..16], [0xFF; 4], "a size beyond 32 bits does not wrap");
    }

    #[test]
    fn block_formats_are_dds_textures_and_others_are_not() {
        let formats = [
            (0x23, 0, 71, "BC1_UNORM"),
            (0x23, 9, 72, "BC1_UNORM_SRGB"),
            (0x24, 0, 74, "BC2_UNORM"),
            (0x24, 9, 75, "BC2_UNORM_SRGB"),
            (0x25, 0, 77, "BC3_UNORM"),
            (0x25, 9, 78, "BC3_UNORM_SRGB"),
            (0x26, 0, 80, "BC4_UNORM"),
            (0x26, 1, 81, "BC4_SNORM"),
            (0x27, 0, 83, "BC5_UNORM"),
            (0x27, 1, 84, "BC5_SNORM"),
            (0x28, 0, 95, "BC6H_UF16"),
            (0x28, 1, 96, "BC6H_SF16"),
            (0x29, 0, 98, "BC7_UNORM"),
            (0x29, 9, 99, "BC7_UNORM_SRGB"),
        ];
        for (data, number, format, name) in formats {
            let texture = descriptor(data, number, 11).texture().unwrap();
            assert_eq!(texture, dds::Texture { width: 1024, height: 512, mips: 11, format, cube: true });
            assert_eq!(texture.format_name(), name);
        }
        assert!(!descriptor(0x23, 0, 9).texture().unwrap().cube);
        for (data, number, kind) in [(0x0A, 0, 9), (0x23, 7, 9), (0x2A, 0, 9), (0x23, 0, 8), (0x23, 0, 10)] {
            assert_eq!(descriptor(data, number, kind).texture(), None, "{data:#x} {number} {kind}");
        }
        let mut later = descriptor(0x23, 0, 9);
        later.0[13] |= 0x10;
        assert_eq!(later.texture(), None, "a view that begins at its second mip");
    }
}
