//! Reading texture headers: those that bsafs writes, those of other programs, and damaged ones.

use bsafs::texture::file_header::{FileHeader, HeaderError, SIDE_MAX, TexelFormat};
use bsafs::texture::pixel_format::{Legacy, pixel_format};
use bsafs::texture::{dds, gnf, xbox};

fn texture(format: u8) -> dds::Texture {
    dds::Texture { width: 300, height: 20, mips: 9, format, cube: false }
}

/// Parses a header after changing one word.
fn changed(format: u8, at: usize, word: u32) -> Result<FileHeader, HeaderError> {
    let mut bytes = texture(format).header();
    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    FileHeader::parse(&bytes)
}

#[test]
fn every_written_header_is_parsed_again() {
    for format in (0..=u8::MAX).filter_map(pixel_format) {
        let texture = texture(format.value);
        let read = FileHeader::parse(&texture.header()).unwrap();
        assert_eq!((read.width, read.height, read.mips, read.depth), (300, 20, 9, 1), "{}", format.name);
        assert_eq!(read.len, texture.header_len(), "{}", format.name);
        match (read.pixels, format.legacy) {
            (TexelFormat::Format(value), _) => assert_eq!(value, format.value),
            (TexelFormat::Masks(read), Legacy::Masks(_, bits, masks)) => {
                assert_eq!((read.bytes * 8, read.masks), (bits, masks), "{}", format.name);
            }
            other => panic!("{}: {other:?}", format.name),
        }
        let bytes: Option<u64> =
            (0..read.mips).map(|mip| read.mip_rows(mip).map(|(row, rows)| row * u64::from(rows))).sum();
        assert_eq!(bytes, texture.texel_bytes(), "{}", format.name);
    }
}

#[test]
fn console_headers_are_parsed() {
    let of_xbox = xbox::XboxTexture { dds: texture(98), tile_mode: 14 };
    let read = FileHeader::parse(&of_xbox.header(1000)).unwrap();
    assert_eq!((read.len, read.tile_mode, read.texture()), (164, Some(14), Some(texture(98))));

    let mut words = [0_u32; 8];
    words[1] = 0x23 << 20;
    words[2] = 1023 | 511 << 14;
    words[3] = 10 << 16 | 13 << 20 | 9 << 28;
    let mut descriptor = [0; 32];
    descriptor.as_chunks_mut().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
    let bytes = gnf::Descriptor(descriptor).header(0x1000);
    let read = FileHeader::parse(&bytes).unwrap();
    assert_eq!((read.len, read.width, read.height, read.mips), (256, 1024, 512, 11));
    assert_eq!((read.pixels, read.tile_mode), (TexelFormat::Format(71), Some(13)));
    assert_eq!(FileHeader::parse(&bytes[..40]), Err(HeaderError::Short));
    let mut unknown = bytes;
    unknown[22] = 0xFF;
    assert_eq!(FileHeader::parse(&unknown), Err(HeaderError::Gnf));
    unknown[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let refused = HeaderError::Field("the length of the header", 4, u32::MAX);
    assert_eq!(FileHeader::parse(&unknown), Err(refused));
}

#[test]
fn format_codes_of_other_programs_are_known() {
    for (code, format) in [(b"ATI1", 80), (b"ATI2", 83), (b"DXT2", 74), (b"DXT4", 77), (b"BC5S", 84)] {
        let read = changed(77, 84, u32::from_le_bytes(*code)).unwrap();
        assert_eq!(read.pixels, TexelFormat::Format(format));
    }
    assert_eq!(
        changed(77, 84, 116).unwrap().pixels,
        TexelFormat::Format(2),
        "a D3DFORMAT number was not recognised"
    );
    // L8 with a mask for alpha, but without the flag for alpha.
    let mut bytes = texture(61).header();
    bytes[104] = 0xFF;
    let TexelFormat::Masks(masks) = FileHeader::parse(&bytes).unwrap().pixels else { panic!() };
    assert_eq!((masks.masks, masks.is_luminance), ([0xFF, 0, 0, 0], true));
}

#[test]
fn sloppy_size_words_do_not_make_a_header_damaged() {
    for (at, words) in [(4, &[24][..]), (76, &[24, 0])] {
        for &word in words {
            assert_eq!(changed(77, at, word), FileHeader::parse(&texture(77).header()), "{word} at {at}");
        }
    }
    assert!(changed(98, 4, 24).is_ok() && changed(28, 76, 0).is_ok());
    let refused = changed(28, 80, 0x20).unwrap_err().to_string();
    assert_eq!(refused, "its pixels are indices into a palette, which is not supported");
}

#[test]
fn the_error_names_a_damaged_field_with_its_offset_and_value() {
    let refused = |at, word| changed(28, at, word).unwrap_err().to_string();
    let message = |name: &str, at: u32, value: u32| {
        format!("damaged header: {name} at offset {at} has the invalid value {value:#x}")
    };
    assert_eq!(refused(4, 123), message("its length", 4, 123));
    assert_eq!(refused(76, 33), message("the length of the pixel format", 76, 33));
    for value in [0, SIDE_MAX + 1, u32::MAX] {
        assert_eq!(refused(12, value), message("the height", 12, value));
        assert_eq!(refused(16, value), message("the width", 16, value));
    }
    assert_eq!(refused(88, 12), message("the number of bits per pixel", 88, 12));
    assert_eq!(refused(92, 0x00F0_F000), message("a mask", 92, 0x00F0_F000));
    assert_eq!(refused(80, 0x10), message("the flags of the pixel format", 80, 0x10));
    assert_eq!(
        changed(61, 92, 0xFF00),
        Err(HeaderError::Field("a mask", 92, 0xFF00)),
        "a mask beyond the pixel was accepted"
    );
    assert_eq!(changed(98, 128, 0), Err(HeaderError::Unknown(0)));
    assert_eq!(changed(98, 128, 0x1_0047), Err(HeaderError::Unknown(0x1_0047)));
    assert_eq!(changed(77, 84, 0x3141_5926).unwrap_err(), HeaderError::FourCc([0x26, 0x59, 0x41, 0x31]));
    let volume = |depth: u32| {
        let mut bytes = texture(28).header();
        bytes[114] = 0x20;
        bytes[24..28].copy_from_slice(&depth.to_le_bytes());
        FileHeader::parse(&bytes)
    };
    assert_eq!(volume(64).unwrap().depth, 64);
    assert_eq!(volume(u32::MAX), Err(HeaderError::Field("the depth", 24, u32::MAX)));
}

#[test]
fn a_truncated_header_and_another_file_type_are_distinguished() {
    for (format, len) in [(28, 128), (98, 148)] {
        for end in 4..len {
            let read = FileHeader::parse(&texture(format).header()[..end]);
            assert_eq!(read, Err(HeaderError::Short), "{format}: {end}");
        }
    }
    for bytes in [&b""[..], b"DDS", b"\x89PNG", b"BTDX"] {
        assert_eq!(FileHeader::parse(bytes), Err(HeaderError::NotTexture));
    }
}

#[test]
fn an_impossible_number_of_mips_is_reduced() {
    assert_eq!(changed(28, 28, u32::MAX).unwrap().mips, 9);
    assert_eq!(changed(28, 28, 0).unwrap().mips, 1);
    let read = changed(28, 28, 4).unwrap();
    assert_eq!(read.mip_sides(8), (1, 1));
    assert_eq!(read.mip_offset(2), Some(4 * (300 * 20 + 150 * 10)));
}
