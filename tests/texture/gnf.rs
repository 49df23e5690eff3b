//! GNF headers of the PlayStation 4: every field of a descriptor, bit by bit.

use bsafs::texture::dds;
use bsafs::texture::gnf::{Descriptor, HEADER_LEN};

/// A T# (texture descriptor) in which the bits of other fields are set, so that a test notices if a
/// field is read too wide.
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
fn the_fields_of_a_descriptor_are_read_from_their_bits() {
    let it = descriptor(0x29, 9, 9);
    assert_eq!((it.width(), it.height(), it.mips()), (1024, 512, 11));
    assert_eq!((it.data_format(), it.number_format(), it.tile_mode(), it.texture_type()), (0x29, 9, 13, 9));
    let all = Descriptor([0xFF; 32]);
    assert_eq!((all.width(), all.height(), all.mips(), all.tile_mode()), (16_384, 16_384, 16, 31));
    assert_eq!(Descriptor([0; 32]).width(), 1);
}

#[test]
fn the_header_has_the_file_size_and_the_descriptor() {
    let it = descriptor(0x23, 0, 9);
    let header = it.header(0x0001_0000);
    assert_eq!(header.len() as u64, HEADER_LEN);
    assert_eq!(header[..16], *b"GNF \xF8\0\0\0\x02\x01\x08\0\0\x01\x01\0");
    assert_eq!(header[16..48], it.0);
    assert_eq!(header[48..], [0; 208]);
    assert_eq!(it.header(u64::MAX)[12..16], [0xFF; 4], "a size beyond 32 bits must not wrap");
}

#[test]
fn only_block_formats_become_dds_textures() {
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
    assert_eq!(later.texture(), None, "a view that begins at the second mip must be refused");
}
