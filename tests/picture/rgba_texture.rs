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
    RgbaTexture::new(FileHeader::parse(file, file.len() as u64).unwrap(), file.len() as u64).ok()
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
        let shown = RgbaTexture::new(FileHeader::parse(&texture.header(), u64::MAX).unwrap(), len).unwrap();
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
        let head = FileHeader::parse(&shown.head(), u64::MAX).unwrap();
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
            // What is transparent has no colour.
            let is_near = from[3] == 0 || (0..3).all(|channel| to[2 - channel].abs_diff(from[channel]) <= 1);
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

/// The header of an uncompressed file.
fn head(file: &[u8]) -> FileHeader {
    FileHeader::parse(&rgba(file).unwrap().head(), u64::MAX).unwrap()
}

#[test]
fn an_array_becomes_its_first_texture_under_the_header_that_every_program_reads() {
    let one = texture(28, 8, 8, 4, false);
    let texels = noise(1, 3 * one.texel_bytes().unwrap() as usize);
    // The long header, which counts textures, is that of the sRGB variant.
    let mut long = texture(29, 8, 8, 4, false).header();
    long[128] = 28;
    long[140] = 3;
    let file = [long, texels.clone()].concat();
    let first = [one.header(), texels[..one.texel_bytes().unwrap() as usize].to_vec()].concat();
    assert_eq!(rgba(&file).unwrap().head(), texture(87, 8, 8, 4, false).header());
    assert_eq!(pixels(&file), pixels(&first));
}

#[test]
fn mips_that_the_file_lacks_cost_neither_the_others_nor_the_picture() {
    let texture = texture(98, 256, 256, 9, false);
    let whole = file(&texture, 5);
    let mip_end = |mips: u8| 148 + dds::Texture { mips, ..texture }.texel_bytes().unwrap() as usize;
    let all = pixels(&whole);
    for (len, mips) in [(mip_end(7), 7), (mip_end(7) + 15, 7), (mip_end(8), 8), (mip_end(1), 1)] {
        let cut = &whole[..len];
        assert_eq!((head(cut).mips, head(cut).width), (mips, 256), "{len} bytes");
        let shown = pixels(cut);
        assert!(shown == all[..shown.len()], "{len} bytes");
        let pixels_of = |mips: u32| (0..mips).map(|mip| (256_usize >> mip).pow(2) * 4).sum::<usize>();
        assert_eq!(shown.len(), pixels_of(mips));
        assert_eq!(FileHeader::parse(cut, u64::MAX).unwrap().missing(len as u64), (whole.len() - len) as u64);
        for size in [1, 4, 256] {
            assert_eq!(thumbnail(&mut Cursor::new(cut), size).unwrap().width, size);
        }
    }
    let cut = &whole[..mip_end(1) - 1];
    assert_eq!(rgba(cut), None);
    let error = thumbnail(&mut Cursor::new(cut), 4).unwrap_err().to_string();
    assert!(error.starts_with("cut off: it has 65683 bytes, and its largest mip needs 65684"), "{error}");
}

#[test]
fn faces_that_the_file_lacks_do_not_cost_the_others() {
    let cube = texture(77, 16, 16, 5, true);
    let whole = file(&cube, 8);
    let face = dds::Texture { cube: false, ..cube }.texel_bytes().unwrap() as usize;
    let all = pixels(&whole);
    for (len, faces) in [(5 * face + 3, 5), (2 * face, 2), (face, 1), (face - 1, 1)] {
        let cut = &whole[..128 + len];
        let mips = if len < face { 4 } else { 5 };
        assert_eq!((head(cut).cube, head(cut).mips), (faces > 1, mips), "{faces} faces");
        if faces > 1 {
            assert_eq!(head(cut).face_bits, (1 << faces) - 1);
        }
        let shown = pixels(cut);
        assert!(shown == all[..shown.len()], "{faces} faces");
    }
    // The header states two faces: +X and -Y.
    let mut stated = whole[..128 + 2 * face].to_vec();
    stated[112..116].copy_from_slice(&(0x200_u32 | 0x400 | 0x2000).to_le_bytes());
    assert_eq!((head(&stated).face_bits, head(&stated).surfaces()), (0b1001, 2));
    assert_eq!(pixels(&stated), all[..2 * all.len() / 6]);
    assert_eq!(FileHeader::parse(&stated, u64::MAX).unwrap().missing(stated.len() as u64), 0);
    // It states two, but there are six.
    let mut six = whole.clone();
    six[112..116].copy_from_slice(&stated[112..116]);
    assert_eq!(head(&six).face_bits, 0x3F);
    // Each face has one mip only.
    let flat = file(&dds::Texture { mips: 1, ..cube }, 8);
    let mut counted = flat.clone();
    counted[28] = 5;
    assert_eq!((pixels(&counted), head(&counted).mips), (pixels(&flat), 1));
}

#[test]
fn a_cube_whose_array_size_counts_its_faces_is_one_cube() {
    let cube = texture(98, 16, 16, 5, true);
    let file = file(&cube, 2);
    let mut counted = file.clone();
    counted[140] = 6;
    assert_eq!(pixels(&counted), pixels(&file));
    let header = FileHeader::parse(&counted, u64::MAX).unwrap();
    assert_eq!(
        (header.missing(counted.len() as u64), header.complete(counted.len() as u64).unwrap().array),
        (0, 1)
    );
    // Six cubes are six cubes, of which the first is shown.
    let six: Vec<u8> = [&counted[..], &noise(3, 5 * (file.len() - 148))].concat();
    assert_eq!(pixels(&six), pixels(&file));
    assert_eq!(FileHeader::parse(&six, u64::MAX).unwrap().complete(six.len() as u64).unwrap().array, 6);
}

#[test]
fn a_file_without_its_largest_mip_or_not_flat_has_no_uncompressed_form() {
    let whole = file(&texture(98, 64, 64, 7, false), 1);
    assert!(rgba(&whole[..148 + 4096]).is_some());
    assert_eq!(rgba(&whole[..148 + 4095]), None, "cut off");
    let mut volume = file(&texture(28, 4, 4, 1, false), 1);
    volume[114] |= 0x20;
    volume[24] = 2;
    assert_eq!(rgba(&volume), None, "volume");
    let huge = texture(71, 16_384, 16_384, 1, true);
    let header = FileHeader::parse(&huge.header(), u64::MAX).unwrap();
    assert!(matches!(RgbaTexture::new(header, u64::MAX), Err(PictureError::TooLarge(_))));
}

/// A DXT5 block of one colour in each half: `alpha` and a green of 6 bits.
fn dxt5(alpha: u8, green: u16) -> Vec<u8> {
    let colour = (green << 5 | 0b11111 << 11).to_le_bytes();
    [&[alpha, alpha, 0, 0, 0, 0, 0, 0][..], &colour, &colour, &[0; 4]].concat()
}

#[test]
fn a_normal_map_with_x_in_alpha_is_shown_as_a_direction() {
    let mut header = texture(77, 4, 4, 1, false).header();
    header[83] = 0x80;
    let file = [header, dxt5(200, 32)].concat();
    // Green is 32 of 63.
    let (x, y) = (200.0 / 255.0 * 2.0 - 1.0_f32, 130.0 / 255.0 * 2.0 - 1.0);
    let z = ((1.0 - x * x - y * y).sqrt() / 2.0 + 0.5) * 255.0;
    assert_eq!(pixels(&file), [z.round() as u8, 130, 200, 255].repeat(16));
    assert_eq!(z.round(), 232.0);
    assert_eq!(thumbnail(&mut Cursor::new(&file), 4).unwrap().rgba, [[200, 130, 232, 255]; 16]);
    let plain = [texture(77, 4, 4, 1, false).header(), dxt5(200, 32)].concat();
    assert_eq!(pixels(&plain), [0, 130, 255, 200].repeat(16), "the flag is not set");
}

#[test]
fn the_red_of_rxgb_is_in_alpha() {
    let mut header = texture(77, 4, 4, 1, false).header();
    header[84..88].copy_from_slice(b"RXGB");
    let file = [header, dxt5(200, 32)].concat();
    assert_eq!(pixels(&file), [0, 130, 200, 255].repeat(16));
    assert_eq!(thumbnail(&mut Cursor::new(&file), 4).unwrap().rgba, [[200, 130, 0, 255]; 16]);
}

#[test]
fn colours_that_were_multiplied_by_alpha_are_divided_by_it() {
    // DX10 with alpha mode 2, R8G8B8A8.
    let mut header = texture(29, 4, 1, 1, false).header();
    header[128] = 28;
    header[144] = 2;
    let texels = [[64, 32, 0, 128], [255, 0, 7, 255], [9, 9, 9, 0], [200, 10, 1, 100]];
    let file = [header, texels.concat()].concat();
    let straight = [[128, 64, 0, 128], [255, 0, 7, 255], [0, 0, 0, 0], [255, 26, 3, 100]];
    let shown: Vec<[u8; 4]> = pixels(&file).as_chunks().0.iter().map(|&[b, g, r, a]| [r, g, b, a]).collect();
    assert_eq!(shown, straight);
    assert_eq!(thumbnail(&mut Cursor::new(&file), 4).unwrap().rgba, straight);
    let mut dxt4 = texture(77, 4, 4, 1, false).header();
    dxt4[84..88].copy_from_slice(b"DXT4");
    assert_eq!(pixels(&[dxt4, dxt5(200, 32)].concat()), [0, 166, 255, 200].repeat(16));
}

#[test]
fn pixels_of_alpha_alone_need_no_number_of_bits() {
    let file = file(&texture(65, 8, 8, 1, false), 4);
    let mut sloppy = file.clone();
    sloppy[88..108].fill(0);
    sloppy[76] = 0;
    assert_eq!(pixels(&sloppy), pixels(&file));
}

#[test]
fn headers_that_contradict_the_length_of_the_file_lead_to_no_texel_beyond_it() {
    let one = texture(98, 8, 8, 4, false);
    let face = one.texel_bytes().unwrap() as usize;
    let texels = noise(6, 14 * face);
    let (mut shown, mut refused) = (0, 0);
    for (caps2, misc) in [(0, 0), (0xFE00, 4), (0x0E00, 0), (0x0200, 0), (0, 4), (0x5400, 4)] {
        for array in [0_u32, 1, 2, 5, 6, 12, 2048] {
            for mips in [0_u32, 1, 3, 4, 9, u32::MAX] {
                let mut header = one.header();
                header[28..32].copy_from_slice(&mips.to_le_bytes());
                header[112..116].copy_from_slice(&u32::to_le_bytes(caps2));
                header[136..144].copy_from_slice(&[u32::to_le_bytes(misc), array.to_le_bytes()].concat());
                let whole = [header, texels.clone()].concat();
                let first = rgba(&whole).map(|_| pixels(&whole)[..256].to_vec());
                for len in (148..whole.len()).step_by(16).chain([149, 163, 211, 212, 213]) {
                    let file = &whole[..len];
                    let Some(texture) = rgba(file) else {
                        refused += 1;
                        assert!(len < 148 + 64, "{len} bytes have the largest mip");
                        continue;
                    };
                    shown += 1;
                    // Slices beyond the file would panic.
                    let decoded = pixels(file);
                    assert_eq!(Some(&decoded[..256]), first.as_deref());
                    let head = FileHeader::parse(&texture.head(), u64::MAX).unwrap();
                    let shown_file = texture.file_len();
                    assert_eq!((head.complete(shown_file), head.missing(shown_file)), (Some(head), 0));
                }
            }
        }
    }
    assert!(shown > 10_000 && refused > 1000, "{shown} shown, {refused} refused");
}

/// A file of two by one pixels: the flags of its pixel format, bits, masks, and what follows the header.
fn legacy(flags: u32, bits: u32, masks: [u32; 4], rest: &[u8]) -> Vec<u8> {
    let mut bytes = texture(28, 2, 1, 1, false).header();
    for (at, word) in (80..).step_by(4).zip([flags, 0, bits].into_iter().chain(masks)) {
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    bytes.extend(rest);
    bytes
}

#[test]
fn a_palette_shows_its_colours() {
    let mut colours = vec![9; 1024];
    colours[..8].copy_from_slice(&[1, 2, 3, 255, 5, 6, 7, 128]);
    let shown = |flags, bits, colours: &[u8], texels: &[u8]| {
        let file = legacy(flags, bits, [0; 4], &[colours, texels].concat());
        (pixels(&file), rgba(&file).unwrap().has_alpha())
    };
    assert_eq!(shown(0x20, 8, &colours, &[1, 0]), (vec![7, 6, 5, 128, 3, 2, 1, 255], true));
    assert_eq!(shown(0x21, 16, &colours, &[1, 80, 0, 0]), (vec![7, 6, 5, 80, 3, 2, 1, 0], true));
    for colour in colours.as_chunks_mut::<4>().0 {
        colour[3] = 0;
    }
    assert_eq!(shown(0x20, 8, &colours, &[1, 0]), (vec![7, 6, 5, 255, 3, 2, 1, 255], false));
}

#[test]
fn grey_that_is_named_rgb_is_not_shown_as_red() {
    // As NVTT writes it, and as Pillow does.
    assert_eq!(pixels(&legacy(0x41, 16, [0xFF, 0, 0, 0xFF00], &[9, 80, 7, 0])), [9, 9, 9, 80, 7, 7, 7, 0]);
    let pillow = legacy(0x2_0001, 16, [0xFF, 0xFF, 0xFF, 0xFF00_0000], &[9, 80, 7, 0]);
    assert_eq!(pixels(&pillow), [9, 9, 9, 80, 7, 7, 7, 0]);
}
