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
    FileHeader::parse(&bytes, u64::MAX)
}

#[test]
fn every_written_header_is_parsed_again() {
    for format in (0..=u8::MAX).filter_map(pixel_format) {
        let texture = texture(format.value);
        let read = FileHeader::parse(&texture.header(), u64::MAX).unwrap();
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
    let read = FileHeader::parse(&of_xbox.header(1000), u64::MAX).unwrap();
    assert_eq!((read.len, read.tile_mode, read.texture()), (164, Some(14), Some(texture(98))));

    let mut words = [0_u32; 8];
    words[1] = 0x23 << 20;
    words[2] = 1023 | 511 << 14;
    words[3] = 10 << 16 | 13 << 20 | 9 << 28;
    let mut descriptor = [0; 32];
    descriptor.as_chunks_mut().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
    let bytes = gnf::Descriptor(descriptor).header(0x1000);
    let read = FileHeader::parse(&bytes, u64::MAX).unwrap();
    assert_eq!((read.len, read.width, read.height, read.mips), (256, 1024, 512, 11));
    assert_eq!((read.pixels, read.tile_mode), (TexelFormat::Format(71), Some(13)));
    assert_eq!(FileHeader::parse(&bytes[..40], u64::MAX), Err(HeaderError::Short));
    let mut unknown = bytes;
    unknown[22] = 0xFF;
    assert_eq!(FileHeader::parse(&unknown, u64::MAX), Err(HeaderError::Gnf));
    unknown[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let refused = HeaderError::Field("the length of the header", 4, u32::MAX);
    assert_eq!(FileHeader::parse(&unknown, u64::MAX), Err(refused));
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
    let TexelFormat::Masks(masks) = FileHeader::parse(&bytes, u64::MAX).unwrap().pixels else { panic!() };
    assert_eq!((masks.masks, masks.is_luminance), ([0xFF, 0, 0, 0], true));
}

#[test]
fn sloppy_size_words_do_not_make_a_header_damaged() {
    for (at, words) in [(4, &[24][..]), (76, &[24, 0])] {
        for &word in words {
            assert_eq!(
                changed(77, at, word),
                FileHeader::parse(&texture(77).header(), u64::MAX),
                "{word} at {at}"
            );
        }
    }
    assert!(changed(98, 4, 24).is_ok() && changed(28, 76, 0).is_ok());
}

/// A file of 6 by 5 pixels: the flags of its pixel format, its FourCC, its bits per pixel and masks, and the
/// number of bytes after its header.
fn file(flags: u32, code: [u8; 4], bits: u32, masks: [u32; 4], texels: usize) -> Vec<u8> {
    let mut bytes = dds::Texture { width: 6, height: 5, mips: 1, ..texture(28) }.header();
    let words = [flags, u32::from_le_bytes(code), bits].into_iter().chain(masks);
    for (at, word) in (80..).step_by(4).zip(words) {
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    bytes.resize(bytes.len() + texels, 7);
    bytes
}

const PIXELS: usize = 6 * 5;
const NO_CODE: [u8; 4] = [0; 4];

/// The bytes per pixel, the masks, and whether they are grey.
fn masks_of(bytes: &[u8]) -> Option<(u32, [u32; 4], bool)> {
    match FileHeader::parse(bytes, bytes.len() as u64).unwrap().pixels {
        TexelFormat::Masks(masks) => Some((masks.bytes, masks.masks, masks.is_luminance)),
        _ => None,
    }
}

fn format_of(bytes: &[u8]) -> Option<u8> {
    match FileHeader::parse(bytes, bytes.len() as u64).unwrap().pixels {
        TexelFormat::Format(format) => Some(format),
        _ => None,
    }
}

const L8: (u32, [u32; 4], bool) = (1, [0xFF, 0, 0, 0], true);
const L16: (u32, [u32; 4], bool) = (2, [0xFFFF, 0, 0, 0], true);
const A8L8: (u32, [u32; 4], bool) = (2, [0xFF, 0, 0, 0xFF00], true);

#[test]
fn grey_of_pillow_and_nvtt_is_not_called_damaged() {
    const GREY: u32 = 0x2_0000;
    const HIGH: u32 = 0xFF00_0000;
    let rgb = [0xFF_0000, 0xFF00, 0xFF];
    let of =
        |flags, bits, masks, bytes| masks_of(&file(flags, NO_CODE, bits, masks, PIXELS * bytes)).unwrap();
    let [r, g, b] = rgb;
    for (what, found, right) in [
        ("Pillow 9.4, L", of(GREY, 24, [r, g, b, 0], 1), L8),
        ("Pillow 9.4, LA", of(GREY | 1, 32, [r, g, b, HIGH], 2), A8L8),
        ("Pillow 10, L", of(GREY, 8, [HIGH, HIGH, HIGH, 0], 1), L8),
        ("Pillow 10, LA", of(GREY | 1, 16, [0xFF, 0xFF, 0xFF, HIGH], 2), A8L8),
        ("A8L8_ALT", of(GREY | 1, 8, [0xFF, 0, 0, 0xFF00], 2), A8L8),
        ("A4L4", of(GREY | 1, 8, [0xF, 0, 0, 0xF0], 1), (1, [0xF, 0, 0, 0xF0], true)),
        ("masks of 0, 8 bits", of(GREY, 8, [0; 4], 1), L8),
        ("masks of 0, 16 bits", of(GREY, 16, [0; 4], 2), L16),
        ("masks of 0, alpha", of(GREY | 1, 16, [0; 4], 2), A8L8),
        ("bits of 0", of(GREY, 0, [0xFF, 0, 0, 0], 1), L8),
        ("NVTT, A8L8", of(0x41, 16, [0xFF, 0, 0, 0xFF00], 2), A8L8),
        // Bytes follow, or the end is missing: the stated bits decide.
        ("Pillow 10, L, longer", of(GREY, 8, [HIGH, HIGH, HIGH, 0], 3), L8),
        ("Pillow 10, LA, cut off", of(GREY | 1, 16, [0xFF, 0xFF, 0xFF, HIGH], 0), A8L8),
        ("L16, cut off in the middle", of(GREY, 16, [0xFFFF, 0, 0, 0], 1), L16),
        ("R, G", of(0x40, 16, [0xFF, 0xFF00, 0, 0], 2), (2, [0xFF, 0xFF00, 0, 0], false)),
        ("24 bits for 32", of(0x41, 24, [r, g, b, HIGH], 4), (4, [r, g, b, HIGH], false)),
        ("bits of 0, RGB", of(0x40, 0, [r, g, b, 0], 3), (3, [r, g, b, 0], false)),
    ] {
        assert_eq!(found, right, "{what}");
    }
    let other = FileHeader::parse(&file(0x41, NO_CODE, 24, [r, g, b, HIGH], PIXELS * 3), 128 + 90);
    assert_eq!(other, Err(HeaderError::Field("a mask", 104, HIGH)), "nothing proves 32 bits");
}

#[test]
fn a_fourcc_without_its_flag_and_a_flag_without_its_fourcc_are_proved_by_the_length() {
    let bgra = [0xFF_0000, 0xFF00, 0xFF, 0xFF00_0000];
    let (blocks, none) = (2 * 2 * 16, [0; 4]);
    assert_eq!(format_of(&file(0, *b"DXT5", 0, none, blocks)), Some(77));
    assert_eq!(format_of(&file(0, *b"DXT1", 0, none, 2 * 2 * 8)), Some(71));
    assert_eq!(format_of(&file(0, *b"ATI2", 0, none, 10)), Some(83), "it is cut off");
    assert_eq!(format_of(&file(0x41, *b"DXT5", 32, bgra, blocks)), Some(77), "the masks are no proof");
    assert_eq!(masks_of(&file(0x41, *b"DXT5", 32, bgra, PIXELS * 4)), Some((4, bgra, false)));
    assert_eq!(masks_of(&file(0x41, *b"DXT5", 32, bgra, 10)), Some((4, bgra, false)), "nothing is proved");
    assert_eq!(masks_of(&file(0x45, NO_CODE, 32, bgra, PIXELS * 4)), Some((4, bgra, false)));
    assert_eq!(masks_of(&file(0x45, *b"none", 32, bgra, PIXELS * 4)), Some((4, bgra, false)));
    let refused = FileHeader::parse(&file(0x45, *b"none", 32, bgra, 10), 138);
    assert_eq!(refused, Err(HeaderError::FourCc(*b"none")));
    let mut extended = texture(98).header();
    extended[80] = 0;
    assert_eq!(FileHeader::parse(&extended, u64::MAX), FileHeader::parse(&texture(98).header(), u64::MAX));
}

#[test]
fn a_single_mask_of_32_bits_is_a_float() {
    for flags in [0x40, 0x2_0000] {
        assert_eq!(format_of(&file(flags, NO_CODE, 32, [u32::MAX, 0, 0, 0], PIXELS * 4)), Some(41));
    }
    let signed = file(0x8_0000, NO_CODE, 32, [u32::MAX, 0, 0, 0], PIXELS * 4);
    assert_eq!(masks_of(&signed), Some((4, [u32::MAX, 0, 0, 0], false)));
}

#[test]
fn formats_of_direct3d_9_are_known_by_their_numbers_or_refused_by_their_names() {
    let numbered = |number: u8| {
        let bytes = file(4, [number, 0, 0, 0], 0, [0; 4], 1024 + PIXELS * 4);
        FileHeader::parse(&bytes, bytes.len() as u64)
    };
    let mut by_masks = Vec::new();
    for number in 0..=u8::MAX {
        if let Ok(FileHeader { pixels: TexelFormat::Masks(it), .. }) = numbered(number) {
            by_masks.push((number, it.bytes, it.masks.map(u32::count_ones)));
        }
    }
    assert_eq!(by_masks.len(), 23, "{by_masks:?}");
    assert!(by_masks.contains(&(23, 2, [5, 6, 5, 0])) && by_masks.contains(&(51, 2, [8, 0, 0, 8])));
    let masks = |number| numbered(number).unwrap().pixels;
    let right =
        |flags, bits, masks| FileHeader::parse(&file(flags, NO_CODE, bits, masks, 0), 128).unwrap().pixels;
    assert_eq!(masks(21), right(0x41, 32, [0xFF_0000, 0xFF00, 0xFF, 0xFF00_0000]));
    assert_eq!(masks(31), right(0x41, 32, [0x3FF, 0xF_FC00, 0x3FF0_0000, 0xC000_0000]));
    assert_eq!(masks(63), right(0x8_0000, 32, [0xFF, 0xFF00, 0xFF_0000, 0xFF00_0000]));
    assert_eq!(masks(36), TexelFormat::Format(11));
    assert_eq!(masks(41), TexelFormat::Palette { has_alpha: false });
    let refused = |bytes: &[u8]| FileHeader::parse(bytes, bytes.len() as u64).unwrap_err().to_string();
    for (number, name) in [(61, "L6V5U5"), (62, "X8L8V8U8"), (117, "CxV8U8"), (75, "D24S8")] {
        let message = refused(&file(4, [number, 0, 0, 0], 0, [0; 4], 99));
        assert_eq!(message, format!("the pixel format {name} is not supported"));
    }
    let flagged = |flags, bits, masks| refused(&file(flags, NO_CODE, bits, masks, 99));
    let name = "the pixel format X8L8V8U8 is not supported";
    assert_eq!(flagged(0x4_0000, 32, [0xFF, 0xFF00, 0xFF_0000, 0]), name);
    let name = "the pixel format L6V5U5 is not supported";
    assert_eq!(flagged(0x4_0000, 16, [0x1F, 0x3E0, 0xFC00, 0]), name);
    assert_eq!(flagged(0x200, 16, [0; 4]), "the pixel format YUV is not supported");
    assert_eq!(refused(&file(4, [200, 0, 0, 0], 0, [0; 4], 99)), "the pixel format D3DFORMAT 200 is unknown");
}

#[test]
fn palettes_of_256_colours_are_read_and_smaller_ones_refused() {
    let palette = |flags, code, bits, texels| {
        let bytes = file(flags, code, bits, [0; 4], 1024 + texels);
        FileHeader::parse(&bytes, bytes.len() as u64)
    };
    for read in [
        palette(0x20, NO_CODE, 8, PIXELS),
        palette(0x20, NO_CODE, 0, PIXELS),
        palette(0x60, NO_CODE, 8, PIXELS),
        palette(4, *b"P8  ", 0, PIXELS),
        palette(0x21, NO_CODE, 8, PIXELS),
    ] {
        let read = read.unwrap();
        assert_eq!((read.len, read.pixels), (1152, TexelFormat::Palette { has_alpha: false }));
        assert_eq!((read.palette.unwrap()[255], read.mips), ([7; 4], 1));
    }
    for read in [palette(0x21, NO_CODE, 16, PIXELS * 2), palette(4, [40, 0, 0, 0], 0, PIXELS * 2)] {
        assert_eq!(read.unwrap().mip_rows(0), Some((12, 5)));
    }
    let short = file(0x20, NO_CODE, 8, [0; 4], 1000);
    assert_eq!(FileHeader::parse(&short, 1128), Err(HeaderError::Short));
    for flags in [0x8, 0x800, 0x1000] {
        assert_eq!(palette(flags, NO_CODE, 4, PIXELS), Err(HeaderError::Palette));
    }
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
        changed(85, 92, 0xFF_0000),
        Err(HeaderError::Field("a mask", 92, 0xFF_0000)),
        "a mask beyond the pixel was accepted"
    );
    assert_eq!(changed(98, 128, 0), Err(HeaderError::Unknown(0)));
    assert_eq!(changed(98, 128, 0x1_0047), Err(HeaderError::Unknown(0x1_0047)));
    assert_eq!(changed(77, 84, 0x3141_5926).unwrap_err(), HeaderError::FourCc([0x26, 0x59, 0x41, 0x31]));
    let volume = |depth: u32| {
        let mut bytes = texture(28).header();
        bytes[114] = 0x20;
        bytes[24..28].copy_from_slice(&depth.to_le_bytes());
        FileHeader::parse(&bytes, u64::MAX)
    };
    assert_eq!(volume(64).unwrap().depth, 64);
    assert_eq!(volume(u32::MAX), Err(HeaderError::Field("the depth", 24, u32::MAX)));
}

#[test]
fn a_truncated_header_and_another_file_type_are_distinguished() {
    for (format, len) in [(28, 128), (98, 148)] {
        for end in 4..len {
            let read = FileHeader::parse(&texture(format).header()[..end], u64::MAX);
            assert_eq!(read, Err(HeaderError::Short), "{format}: {end}");
        }
    }
    for bytes in [&b""[..], b"DDS", b"\x89PNG", b"BTDX"] {
        assert_eq!(FileHeader::parse(bytes, u64::MAX), Err(HeaderError::NotTexture));
    }
}

#[test]
fn a_picture_with_the_name_of_a_texture_is_called_what_it_is() {
    let kind = |bytes: &[u8], len| match FileHeader::parse(bytes, len) {
        Err(HeaderError::Other(kind)) => kind,
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(b"\xFF\xD8\xFF\xE1Exif", 99), "a JPEG picture");
    assert_eq!(kind(b"\x89PNG\r\n\x1A\n", 99), "a PNG picture");
    assert_eq!(kind(b"RIFF\x10\0\0\0WEBPVP8 ", 99), "a WebP picture");
    assert_eq!(kind(b"BM\x63\0\0\0", 99), "a BMP picture");
    let tga = |kind: u8, bits: u8| [0, 0, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 5, 0, bits, 0x28];
    for (header, len) in
        [(tga(2, 32), 18 + 120), (tga(2, 24), 18 + 90 + 26), (tga(10, 24), 60), (tga(3, 8), 48)]
    {
        assert_eq!(kind(&header, len), "a TGA picture");
    }
    // Too short, an impossible depth, and a byte that is 0 in every such file.
    for (header, len) in [(tga(2, 32), 18 + 119), (tga(2, 7), 999), (tga(3, 24), 999), (tga(4, 8), 999)] {
        assert_eq!(FileHeader::parse(&header, len), Err(HeaderError::NotTexture));
    }
    assert_eq!(
        FileHeader::parse(b"\xFF\xD8\xFF\xE0", 4).unwrap_err().to_string(),
        "not a texture: a JPEG picture; rename it, or convert it to DDS if a game should show it"
    );
}

#[test]
fn an_impossible_number_of_mips_is_reduced() {
    assert_eq!(changed(28, 28, u32::MAX).unwrap().mips, 9);
    assert_eq!(changed(28, 28, 0).unwrap().mips, 1);
    let read = changed(28, 28, 4).unwrap();
    assert_eq!(read.mip_sides(8), (1, 1));
    assert_eq!(read.mip_offset(2), Some(4 * (300 * 20 + 150 * 10)));
}
