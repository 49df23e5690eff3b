//! Headers of Xbox One textures, compared with those of a PC.

use bsafs::texture::dds;
use bsafs::texture::xbox::{HEADER_LEN, XboxTexture};

fn texture(format: u8, cube: bool) -> XboxTexture {
    XboxTexture { dds: dds::Texture { width: 64, height: 32, mips: 7, format, cube }, tile_mode: 13 }
}

#[test]
fn the_header_is_a_dx10_header_with_fourcc_xbox_and_four_more_words() {
    // For BC7 a PC's header has the DX10 extension, too, so only the FourCC differs.
    let (pc, xbox) = (texture(98, true).dds.header(), texture(98, true).header(0x1234_5678));
    assert_eq!(xbox.len() as u64, HEADER_LEN);
    assert_eq!((&xbox[..84], &xbox[88..148]), (&pc[..84], &pc[88..148]));
    assert_eq!(xbox[84..88], *b"XBOX");
    assert_eq!(xbox[148..], [13, 0, 0, 0, 0, 1, 0, 0, 0x78, 0x56, 0x34, 0x12, 0x92, 0x33, 0, 0]);
}

#[test]
fn every_format_is_stored_as_its_dxgi_number() {
    for format in [28, 61, 71, 77, 83, 87] {
        let header = texture(format, false).header(0);
        assert_eq!(header.len() as u64, HEADER_LEN, "{format}");
        assert_eq!(header[76..88], *b"\x20\0\0\0\x04\0\0\0XBOX", "{format}");
        assert_eq!(header[88..108], [0; 20], "{format}: the header has bits or masks");
        assert_eq!(header[128..132], u32::from(format).to_le_bytes(), "{format}");
        assert_eq!(header[132..148], *b"\x03\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0", "{format}");
    }
}
