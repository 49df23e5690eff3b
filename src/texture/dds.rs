//! The DDS header that a texture entry lost on its way into a BA2, rebuilt byte for byte as DirectXTex writes
//! it.
//!
//! DirectXTex is what the maintained libraries emit, so the rebuilt file equals theirs. The header that was
//! there before packing is not in the archive: its reserved words and alpha mode cannot be restored by
//! anyone.

use super::{Height, Legacy, Shape, format};

/// What an archive keeps of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texture {
    /// Width of the largest mip, in pixels.
    pub width: u16,
    /// Height of the largest mip, in pixels.
    pub height: u16,
    /// How many mips each face has.
    pub mips: u8,
    /// A value of `DXGI_FORMAT`.
    pub format: u8,
    /// Whether there are six faces instead of one.
    pub cube: bool,
}

/// Bytes of a header whose pixel format is one of the old ones.
const LEGACY_LEN: u64 = 128;
/// Bytes of a header with the DX10 extension.
const DX10_LEN: u64 = 148;

// Names and values of the DDS specification (`dwFlags`, `ddspf.dwFlags`, `dwCaps`, `dwCaps2`, `miscFlag`).
/// CAPS, HEIGHT, WIDTH and PIXELFORMAT.
const FLAGS_ALWAYS: u32 = 0x1007;
const FLAG_MIPMAP_COUNT: u32 = 0x2_0000;
/// The pitch field counts bytes of a row.
const FLAG_PITCH: u32 = 0x8;
/// The pitch field counts bytes of the largest mip of one face.
const FLAG_LINEAR_SIZE: u32 = 0x8_0000;
const PIXELS_FOURCC: u32 = 0x4;
const CAPS_TEXTURE: u32 = 0x1000;
/// COMPLEX and MIPMAP.
const CAPS_MIPS: u32 = 0x40_0008;
const CAPS_COMPLEX: u32 = 0x8;
/// CUBEMAP and its six faces.
const CAPS2_CUBE: u32 = 0xfe00;
const DIMENSION_2D: u32 = 3;
const MISC_CUBE: u32 = 4;

impl Texture {
    /// How many bytes [`Texture::header`] has, without making it.
    pub fn header_len(&self) -> u64 {
        match self.pixels().legacy {
            Legacy::Dx10 => DX10_LEN,
            Legacy::Code(_) | Legacy::Masks(..) => LEGACY_LEN,
        }
    }

    /// The header's bytes: 128, or 148 where the format needs the DX10 extension.
    ///
    /// A texture that DirectXTex refuses to write has the long header with its format's value and a pitch of
    /// 0, so that its data can still be had.
    pub fn header(&self) -> Vec<u8> {
        let pixels = self.pixels();
        match pixels.legacy {
            Legacy::Dx10 => self.extended(&pixels, *b"DX10"),
            Legacy::Code(code) => self.base(&pixels, (PIXELS_FOURCC, code, 0, [0; 4])),
            Legacy::Masks(flags, bits, masks) => self.base(&pixels, (flags, [0; 4], bits, masks)),
        }
    }

    /// The 148 bytes of the long header whatever the format, under another FourCC than `DX10`.
    pub(super) fn header_for(&self, code: [u8; 4]) -> Vec<u8> {
        self.extended(&self.pixels(), code)
    }

    /// The header with the DX10 extension, which names the format by its number.
    fn extended(&self, pixels: &Pixels, code: [u8; 4]) -> Vec<u8> {
        let mut header = self.base(pixels, (PIXELS_FOURCC, code, 0, [0; 4]));
        let misc = if self.cube { MISC_CUBE } else { 0 };
        // The array size of a cube is 1, not 6; an alpha mode of 0 is "unknown".
        words(&mut header, &[u32::from(self.format), DIMENSION_2D, misc, 1, 0]);
        header
    }

    /// The 128 bytes that every header begins with; a pixel format is flags, FourCC, bits and masks.
    fn base(&self, pixels: &Pixels, format: (u32, [u8; 4], u32, [u32; 4])) -> Vec<u8> {
        let Pixels { pitch, pitch_flag, .. } = *pixels;
        let (pixel_flags, code, bits, masks) = format;
        let mips_flag = if self.mips > 0 { FLAG_MIPMAP_COUNT } else { 0 };
        let caps_mips = if self.mips > 1 { CAPS_MIPS } else { 0 };
        let [caps_cube, caps2] = if self.cube { [CAPS_COMPLEX, CAPS2_CUBE] } else { [0; 2] };

        let mut header = Vec::with_capacity(super::xbox::HEADER_LEN as usize);
        header.extend(b"DDS ");
        words(&mut header, &[124, FLAGS_ALWAYS | mips_flag | pitch_flag]);
        words(&mut header, &[u32::from(self.height), u32::from(self.width), pitch]);
        // The depth is 1 although no flag announces it: DirectXTex does so.
        words(&mut header, &[1, u32::from(self.mips)]);
        words(&mut header, &[0; 11]);
        words(&mut header, &[32, pixel_flags, u32::from_le_bytes(code), bits]);
        words(&mut header, &masks);
        words(&mut header, &[CAPS_TEXTURE | caps_mips | caps_cube, caps2, 0, 0, 0]);
        header
    }

    /// Whether DirectXTex would write this texture: it knows the format and can have it in this size.
    pub fn is_known(&self) -> bool {
        self.known().is_some()
    }

    /// How many bytes the texels of all faces and mips take, by the rule of every packer known.
    ///
    /// No mips count as one. `None` for values that DirectXTex refuses and for video with several planes.
    pub fn texel_bytes(&self) -> Option<u64> {
        let shape = format(self.format)?.shape;
        let mut total = 0u64;
        let (mut width, mut height) = (u32::from(self.width), u32::from(self.height));
        for _ in 0..self.mips.max(1) {
            let (row, rows) = match shape {
                Shape::Rows(pixels, bytes) => (u64::from(groups(width, pixels, bytes)), height),
                Shape::Blocks(bytes) => {
                    (u64::from(groups(width.max(1), 4, bytes)), height.max(1).div_ceil(4))
                }
                Shape::Planes(..) => return None,
            };
            total = total.checked_add(row.checked_mul(u64::from(rows))?)?;
            (width, height) = ((width >> 1).max(1), (height >> 1).max(1));
        }
        total.checked_mul(if self.cube { 6 } else { 1 })
    }

    /// The format's name without its prefix, such as `BC7_UNORM`; `unknown` for values that DirectXTex
    /// refuses.
    pub fn format_name(&self) -> &'static str {
        format(self.format).map_or("unknown", |format| format.name)
    }

    fn pixels(&self) -> Pixels {
        self.known().unwrap_or(Pixels { pitch: 0, pitch_flag: FLAG_PITCH, legacy: Legacy::Dx10 })
    }

    fn known(&self) -> Option<Pixels> {
        let format = format(self.format)?;
        let (width, height) = (u32::from(self.width), u32::from(self.height));
        let (pitch, pitch_flag) = match format.shape {
            Shape::Planes(_, _, Height::Even) if height % 2 == 1 => return None,
            Shape::Rows(pixels, bytes) | Shape::Planes(pixels, bytes, _) => {
                (groups(width, pixels, bytes), FLAG_PITCH)
            }
            // The largest sizes do not fit into the field.
            Shape::Blocks(bytes) => {
                (groups(width.max(1), 4, bytes).checked_mul(height.max(1).div_ceil(4))?, FLAG_LINEAR_SIZE)
            }
        };
        Some(Pixels { pitch, pitch_flag, legacy: format.legacy })
    }
}

/// The part of a header that depends on the pixel format.
struct Pixels {
    /// Bytes of a row or of a mip, as `pitch_flag` says.
    pitch: u32,
    pitch_flag: u32,
    legacy: Legacy,
}

/// Bytes of a row of `width` pixels. The largest is 65,535 times 16, so that nothing is lost by saturating.
fn groups(width: u32, pixels: u32, bytes: u32) -> u32 {
    width.div_ceil(pixels).saturating_mul(bytes)
}

fn words(header: &mut Vec<u8>, words: &[u32]) {
    header.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const fn texture(format: u8, width: u16, height: u16, mips: u8, cube: bool) -> Texture {
        Texture { width, height, mips, format, cube }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Rows of `dds_headers.tsv`, in pieces: bytes 8..32, 76..112 and 128.., between which there are zeros
    /// (bytes 112..116 are held against the cube flag).
    #[rustfmt::skip]
    const GOLDEN: [(Texture, &str, &str, &str); 15] = [
        (texture(71, 1024, 1024, 11, false), "07100a00000400000004000000000800010000000b000000",
            "200000000400000044585431000000000000000000000000000000000000000008104000",
            ""),
        (texture(71, 6, 5, 3, false), "07100a000500000006000000200000000100000003000000",
            "200000000400000044585431000000000000000000000000000000000000000008104000",
            ""),
        (texture(72, 6, 5, 3, false), "07100a000500000006000000200000000100000003000000",
            "200000000400000044583130000000000000000000000000000000000000000008104000",
            "4800000003000000000000000100000000000000"),
        (texture(74, 512, 512, 10, true), "07100a00000200000002000000000400010000000a000000",
            "200000000400000044585433000000000000000000000000000000000000000008104000",
            ""),
        (texture(77, 512, 512, 10, true), "07100a00000200000002000000000400010000000a000000",
            "200000000400000044585435000000000000000000000000000000000000000008104000",
            ""),
        (texture(80, 1024, 1024, 11, false), "07100a00000400000004000000000800010000000b000000",
            "200000000400000042433455000000000000000000000000000000000000000008104000",
            ""),
        (texture(83, 6, 5, 3, false), "07100a000500000006000000400000000100000003000000",
            "200000000400000042433555000000000000000000000000000000000000000008104000",
            ""),
        (texture(87, 1024, 1024, 11, false), "0f100200000400000004000000100000010000000b000000",
            "200000004100000000000000200000000000ff0000ff0000ff000000000000ff08104000",
            ""),
        (texture(28, 6, 5, 3, false), "0f1002000500000006000000180000000100000003000000",
            "20000000410000000000000020000000ff00000000ff00000000ff00000000ff08104000",
            ""),
        (texture(61, 6, 5, 3, false), "0f1002000500000006000000060000000100000003000000",
            "20000000000002000000000008000000ff00000000000000000000000000000008104000",
            ""),
        (texture(98, 1024, 1024, 11, false), "07100a00000400000004000000001000010000000b000000",
            "200000000400000044583130000000000000000000000000000000000000000008104000",
            "6200000003000000000000000100000000000000"),
        (texture(98, 512, 512, 10, true), "07100a00000200000002000000000400010000000a000000",
            "200000000400000044583130000000000000000000000000000000000000000008104000",
            "6200000003000000040000000100000000000000"),
        (texture(2, 6, 5, 3, false), "0f1002000500000006000000600000000100000003000000",
            "200000000400000074000000000000000000000000000000000000000000000008104000",
            ""),
        (texture(69, 6, 5, 3, false), "0f10020005000000060000000c0000000100000003000000",
            "200000000400000047524742000000000000000000000000000000000000000008104000",
            ""),
        (texture(104, 1024, 1024, 11, false), "0f100200000400000004000000080000010000000b000000",
            "200000000400000044583130000000000000000000000000000000000000000008104000",
            "6800000003000000000000000100000000000000"),
    ];

    #[test]
    fn headers_equal_those_of_directxtex() {
        for (texture, size, pixels, extension) in GOLDEN {
            let header = texture.header();
            let name = texture.format_name();
            assert_eq!(hex(&header[..8]), "444453207c000000", "{name}: magic");
            assert_eq!(hex(&header[8..32]), size, "{name}: sizes");
            assert_eq!(header[32..76], [0; 44], "{name}: reserved");
            assert_eq!(hex(&header[76..112]), pixels, "{name}: pixel format and caps");
            assert_eq!(
                hex(&header[112..116]),
                if texture.cube { "00fe0000" } else { "00000000" },
                "{name}: caps2"
            );
            assert_eq!(header[116..128], [0; 12], "{name}: reserved at the end");
            assert_eq!(hex(&header[128..]), extension, "{name}: extension");
        }
    }

    #[test]
    fn every_row_of_the_vectors_comes_out_byte_for_byte() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/vectors/dds_headers.tsv");
        let Ok(table) = std::fs::read_to_string(path) else {
            // Written past the test harness, which swallows what `eprintln!` says in a test that passes.
            writeln!(std::io::stderr(), "SKIPPED: {path} is absent; only the literal rows were tested")
                .unwrap();
            return;
        };
        let mut rows = 0;
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split('\t').collect();
            let number = |at: usize| fields[at].parse::<u16>().unwrap();
            let byte = |at: usize| u8::try_from(number(at)).unwrap();
            let texture = texture(byte(0), number(1), number(2), byte(3), fields[4] == "1");
            let header = texture.header();
            assert_eq!(texture.header_len(), header.len() as u64, "{line}");
            assert_eq!(texture.is_known(), fields[5] != "ERR", "{line}");
            if texture.is_known() {
                assert_eq!(hex(&header), fields[6], "{texture:?}");
            } else {
                assert_refused(&texture);
            }
            rows += 1;
        }
        assert_eq!(rows, 191 * 3, "{path} has lost rows");
    }

    fn assert_refused(texture: &Texture) {
        let header = texture.header();
        assert_eq!((header.len(), texture.header_len()), (148, 148), "{texture:?}");
        assert_eq!(header[20..24], [0; 4], "{texture:?}: pitch");
        assert_eq!(header[84..88], *b"DX10", "{texture:?}");
        assert_eq!(header[128..132], u32::from(texture.format).to_le_bytes(), "{texture:?}");
    }

    #[test]
    fn a_refused_format_or_size_is_delivered_with_its_number() {
        for (format, height) in [(0, 64), (114, 64), (255, 64), (103, 5), (131, 5)] {
            let texture = texture(format, 64, height, 1, false);
            assert!(!texture.is_known(), "{format}");
            assert_refused(&texture);
        }
        assert!(texture(103, 64, 6, 1, false).is_known());
    }

    #[test]
    fn a_size_that_overflows_the_linear_size_is_refused_and_does_not_panic() {
        assert_refused(&texture(98, u16::MAX, u16::MAX, 255, true));
        assert!(texture(71, u16::MAX, u16::MAX, 255, true).is_known());
        for format in 0..=255 {
            for (width, height) in [(0, 0), (1, u16::MAX), (u16::MAX, 0), (u16::MAX, u16::MAX)] {
                let texture = texture(format, width, height, 255, true);
                assert_eq!(texture.header().len() as u64, texture.header_len());
                texture.texel_bytes();
            }
        }
    }

    #[test]
    fn without_mips_the_count_is_not_announced() {
        let header = texture(28, 4, 4, 0, false).header();
        assert_eq!(hex(&header[8..12]), "0f100000");
        assert_eq!(hex(&header[28..32]), "00000000");
        assert_eq!(hex(&header[108..112]), "00100000");
    }

    #[test]
    fn texels_add_up_to_what_the_packer_stored() {
        assert_eq!(texture(71, 1024, 1024, 11, false).texel_bytes(), Some(524_288 + 131_072 + 43_704));
        assert_eq!(texture(77, 512, 512, 10, true).texel_bytes(), Some(6 * 349_552));
        assert_eq!(texture(87, 6, 5, 3, false).texel_bytes(), Some(4 * (6 * 5 + 3 * 2 + 1)));
        assert_eq!(texture(66, 9, 2, 1, false).texel_bytes(), Some(4));
        assert_eq!(texture(103, 64, 64, 1, false).texel_bytes(), None, "several planes");
        assert_eq!(texture(0, 64, 64, 1, false).texel_bytes(), None, "an unknown format");
    }

    #[test]
    fn formats_have_their_names() {
        assert_eq!(texture(98, 1, 1, 1, false).format_name(), "BC7_UNORM");
        assert_eq!(texture(113, 1, 1, 1, false).format_name(), "unknown");
    }
}
