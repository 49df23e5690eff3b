//! Uncompressed textures: how they are cut into bands, which pixels they have, and what has none.

use std::io::Cursor;

use bsafs::picture::{PictureError, RgbaTexture, thumbnail};
use bsafs::texture::dds;
use bsafs::texture::file_header::FileHeader;

use crate::support::content::noise;

fn texture(format: u8, width: u16, height: u16, mips: u8, cube: bool) -> dds::Texture {
    dds::Texture { width, height, mips, format, cube }
}

/// A texture file with random texels.
fn file(texture: &dds::Texture, seed: u64) -> Vec<u8> {
    [texture.header(), noise(seed, texture.texel_bytes().unwrap() as usize)].concat()
}

fn rgba(file: &[u8]) -> Option<RgbaTexture> {
    RgbaTexture::new(FileHeader::parse(file).unwrap(), file.len() as u64).ok()
}

/// All pixels of a file, decoded band by band.
fn pixels(file: &[u8]) -> Vec<u8> {
    let shown = rgba(file).unwrap();
    let mut pixels = Vec::new();
    while let Some(band) = shown.band(pixels.len() as u64) {
        let mut decoded = vec![0; (band.pixels.end - band.pixels.start) as usize];
        shown.decode(&band, &file[band.texels.start as usize..band.texels.end as usize], &mut decoded);
        pixels.extend(decoded);
    }
    assert_eq!(pixels.len() as u64, shown.file_len() - shown.head_len());
    pixels
}

#[test]
fn bands_cover_every_pixel_and_every_texel_once() {
    let shapes = [
        texture(98, 2048, 1024, 12, false),
        texture(71, 1, 1, 1, false),
        texture(77, 101, 67, 7, true),
        texture(28, 513, 3, 2, false),
        texture(61, 16_384, 5, 15, false),
        texture(83, 16_384, 16, 1, false),
    ];
    for texture in shapes {
        let len = texture.header_len() + texture.texel_bytes().unwrap();
        let shown = RgbaTexture::new(FileHeader::parse(&texture.header()).unwrap(), len).unwrap();
        let (mut pixel, mut texel) = (0, texture.header_len());
        while let Some(band) = shown.band(pixel) {
            assert_eq!((band.pixels.start, band.texels.start), (pixel, texel), "{texture:?}");
            assert!(band.pixels.end > pixel && band.pixels.end - pixel <= 256 << 10, "{texture:?}");
            for inside in [band.pixels.start + 1, band.pixels.end - 1] {
                assert_eq!(shown.band(inside).as_ref(), Some(&band), "{texture:?}");
            }
            (pixel, texel) = (band.pixels.end, band.texels.end);
        }
        assert_eq!((shown.head_len() + pixel, texel), (shown.file_len(), len), "{texture:?}");
        let head = FileHeader::parse(&shown.head()).unwrap();
        assert_eq!((head.len, head.width, head.height), (128, texture.width.into(), texture.height.into()));
        assert_eq!((head.mips, head.cube), (u32::from(texture.mips), texture.cube));
    }
}

#[test]
fn the_pixels_are_those_of_a_thumbnail_and_alpha_stays() {
    let mut compared = 0;
    for format in 0..=u8::MAX {
        let texture = texture(format, 13, 7, 1, false);
        let Some(file) =
            texture.is_known().then(|| texture.texel_bytes().map(|_| file(&texture, 9))).flatten()
        else {
            continue;
        };
        let Ok(image) = thumbnail(&mut Cursor::new(&file), 13) else {
            assert_eq!(rgba(&file), None, "{}", texture.format_name());
            continue;
        };
        for (to, from) in pixels(&file).as_chunks::<4>().0.iter().zip(&image.rgba) {
            // A thumbnail is averaged in light, so a value between two bytes may be rounded to the other one.
            let is_near = (0..3).all(|channel| to[2 - channel].abs_diff(from[channel]) <= 1);
            assert!(is_near, "{}: {to:?} and {from:?}", texture.format_name());
        }
        compared += 1;
    }
    assert!(compared > 70, "{compared} formats");
    // Two pixels of R8G8B8A8.
    let file = [&texture(28, 2, 1, 1, false).header()[..], &[1, 2, 3, 4, 5, 6, 7, 0]].concat();
    assert_eq!(pixels(&file), [3, 2, 1, 4, 7, 6, 5, 0]);
}

#[test]
fn every_face_and_mip_of_a_cube_is_decoded_from_its_own_texels() {
    let cube = texture(28, 4, 4, 3, true);
    let file = file(&cube, 3);
    let swapped: Vec<u8> =
        file[128..].as_chunks::<4>().0.iter().flat_map(|&[r, g, b, a]| [b, g, r, a]).collect();
    assert_eq!(pixels(&file), swapped);
}

#[test]
fn an_array_keeps_its_number_of_textures() {
    let one = texture(98, 8, 8, 1, false);
    let mut head = one.header();
    head[140] = 3;
    let file = [head, noise(1, 3 * 64)].concat();
    let shown = rgba(&file).unwrap();
    assert_eq!((shown.head().len(), shown.file_len()), (148, 148 + 3 * 256));
    let header = FileHeader::parse(&shown.head()).unwrap();
    assert_eq!((header.array, header.format_name()), (3, "B8G8R8A8_UNORM".to_owned()));
    let third = [&one.header()[..], &file[148 + 2 * 64..]].concat();
    assert_eq!(pixels(&file)[2 * 256..], pixels(&third));
}

#[test]
fn a_file_that_is_cut_off_or_not_flat_has_no_uncompressed_form() {
    let whole = file(&texture(98, 64, 64, 7, false), 1);
    assert!(rgba(&whole).is_some());
    assert_eq!(rgba(&whole[..whole.len() - 1]), None, "cut off");
    let mut volume = file(&texture(28, 4, 4, 1, false), 1);
    volume[114] |= 0x20;
    volume[24] = 2;
    assert_eq!(rgba(&volume), None, "volume");
    let huge = texture(71, 16_384, 16_384, 1, true);
    let header = FileHeader::parse(&huge.header()).unwrap();
    assert!(matches!(RgbaTexture::new(header, u64::MAX), Err(PictureError::TooLarge(_))));
}
