//! Writing DDS headers: refused sizes and formats, older programs, and the length of the texels.

use bsafs::texture::dds::Texture;
use bsafs::texture::pixel_format::pixel_format;

const fn texture(format: u8, width: u16, height: u16, mips: u8, cube: bool) -> Texture {
    Texture { width, height, mips, format, cube }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn assert_refused(texture: &Texture) {
    let header = texture.header();
    assert_eq!((header.len(), texture.header_len()), (148, 148), "{texture:?}");
    assert_eq!(header[20..24], [0; 4], "{texture:?}: the pitch is not 0");
    assert_eq!(header[84..88], *b"DX10", "{texture:?}");
    assert_eq!(header[128..132], u32::from(texture.format).to_le_bytes(), "{texture:?}");
}

#[test]
fn an_unknown_format_or_size_gets_a_header_with_its_number() {
    for (format, height) in [(0, 64), (114, 64), (255, 64), (103, 5), (131, 5)] {
        let texture = texture(format, 64, height, 1, false);
        assert!(!texture.is_known(), "{format}");
        assert_refused(&texture);
    }
    assert!(texture(103, 64, 6, 1, false).is_known());
}

#[test]
fn a_size_that_overflows_the_linear_size_causes_no_panic() {
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
fn a_header_without_mips_has_no_mip_flag() {
    let header = texture(28, 4, 4, 0, false).header();
    assert_eq!(hex(&header[8..12]), "0f100000");
    assert_eq!(hex(&header[28..32]), "00000000");
    assert_eq!(hex(&header[108..112]), "00100000");
}

#[test]
fn compatible_headers_use_the_older_form_of_every_format() {
    let stated = |format| {
        let header = texture(format, 64, 32, 7, false).compatible_header();
        let code = String::from_utf8_lossy(&header[84..88]).into_owned();
        let extension = header.get(128).copied().unwrap_or(0);
        (code.trim_end_matches('\0').to_owned(), extension)
    };
    for (formats, code) in [
        (70..=72, "DXT1"),
        (73..=75, "DXT3"),
        (76..=78, "DXT5"),
        (79..=80, "ATI1"),
        (82..=83, "ATI2"),
        // These have masks instead of a code.
        (28..=29, ""),
        (91..=91, ""),
        (93..=93, ""),
    ] {
        for format in formats {
            assert_eq!(stated(format), (code.to_owned(), 0), "{format}");
        }
    }
    // These formats have no older header.
    for (format, plain) in [(97, 98), (98, 98), (99, 98), (94, 94), (95, 95), (96, 96), (9, 9), (90, 90)] {
        assert_eq!(stated(format), ("DX10".to_owned(), plain), "{format}");
    }
    assert_eq!(stated(81), ("BC4S".to_owned(), 0), "signed BC4 has the wrong code");
}

#[test]
fn compatible_headers_differ_only_in_the_pixel_format() {
    for format in (0..=u8::MAX).filter_map(pixel_format) {
        for (width, height, mips, cube) in [(64, 32, 7, false), (16, 16, 5, true), (5, 3, 0, false)] {
            let texture = texture(format.value, width, height, mips, cube);
            let (ours, theirs) = (texture.header(), texture.compatible_header());
            assert_eq!(ours[..80], theirs[..80], "{}", format.name);
            assert_eq!(ours[108..128], theirs[108..128], "{}", format.name);
            assert!(theirs.len() <= ours.len(), "{}", format.name);
            assert_eq!(theirs.len() as u64, texture.compatible_header_len(), "{}", format.name);
        }
    }
}

#[test]
fn the_length_of_the_texels_matches_real_archives() {
    assert_eq!(texture(71, 1024, 1024, 11, false).texel_bytes(), Some(524_288 + 131_072 + 43_704));
    assert_eq!(texture(77, 512, 512, 10, true).texel_bytes(), Some(6 * 349_552));
    assert_eq!(texture(87, 6, 5, 3, false).texel_bytes(), Some(4 * (6 * 5 + 3 * 2 + 1)));
    assert_eq!(texture(66, 9, 2, 1, false).texel_bytes(), Some(4));
    assert_eq!(
        texture(103, 64, 64, 1, false).texel_bytes(),
        None,
        "a format of several planes must have no length"
    );
    assert_eq!(texture(0, 64, 64, 1, false).texel_bytes(), None, "an unknown format must have no length");
}

#[test]
fn format_names_are_right() {
    assert_eq!(texture(98, 1, 1, 1, false).format_name(), "BC7_UNORM");
    assert_eq!(texture(113, 1, 1, 1, false).format_name(), "unknown");
}
