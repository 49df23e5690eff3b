//! Uncompressed pixels of textures, compared with those of the crate `dds`, which has decoders of its own.

use std::io::Cursor;

use bsafs::picture::RgbaTexture;
use bsafs::texture::dds::Texture;
use bsafs::texture::file_header::FileHeader;
use dds::{ColorFormat, Decoder, ImageViewMut};

use super::support::content::noise;

/// Width and height of the textures in pixels: enough blocks to meet every mode of BC7, and odd sides.
const SIDES: (u16, u16) = (253, 127);
/// Number of formats that the crate knows and bsafs decodes.
const FORMATS: usize = 65;

/// Formats whose pixels differ on purpose, by how their names begin, and why.
const DIFFERENT: [(&str, &str); 2] = [
    ("A8_UNORM", "bsafs shows a single channel as grey"),
    ("R8G8_UNORM", "its header states brightness and alpha, which the crate takes for red and green"),
];
/// How names of formats begin that hold the x and y of a direction. bsafs computes z, the crate does not.
const DIRECTIONS: [&str; 4] = ["BC5", "R16G16_", "R8G8_SNORM", "R8G8_TYPELESS"];

#[test]
fn pixels_of_every_format_match_another_decoder() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for format in 0..=u8::MAX {
        let texture = Texture { width: SIDES.0, height: SIDES.1, mips: 1, format, cube: false };
        let name = texture.format_name();
        let Some(len) = texture.texel_bytes().filter(|_| texture.is_known()) else { continue };
        let file = [texture.header(), texels(name, len as usize)].concat();
        let Some(ours) = ours(&file) else { continue };
        let Some(theirs) = theirs(&file) else { continue };
        if DIFFERENT.iter().any(|(it, _)| *it == name) {
            continue;
        }
        compared += 1;
        let is_light = ["FLOAT", "BC6H", "SHAREDEXP", "R32"].iter().any(|part| name.contains(part))
            && !name.contains("INT");
        let is_direction = DIRECTIONS.iter().any(|it| name.starts_with(it)) && !name.contains("R16G16B16");
        let channels = if is_direction && !name.contains("FLOAT") { 2 } else { 3 };
        for (at, (one, two)) in ours.as_chunks::<4>().0.iter().zip(theirs.as_chunks::<4>().0).enumerate() {
            let expected = |channel: usize| if is_light { screen(two[channel]) } else { byte(two[channel]) };
            let is_near = |one: u8, two: u8| one.abs_diff(two) <= 1;
            if !(0..channels).all(|channel| is_near(one[2 - channel], expected(channel)))
                || !is_near(one[3], byte(two[3]))
            {
                wrong.push(format!("{name}: pixel {at}: {one:?} and {two:?}"));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(compared, FORMATS);
}

/// A change of a header that gives the same texels another meaning, by its name.
const MEANINGS: [(&str, u8, &[(usize, &[u8])]); 7] = [
    ("DXT2", 74, &[(84, b"DXT2")]),
    ("DXT4", 77, &[(84, b"DXT4")]),
    ("RXGB", 77, &[(84, b"RXGB")]),
    ("normal map", 77, &[(83, &[0x80])]),
    ("alpha mode 2, BC2", 75, &[(128, &[74]), (144, &[2])]),
    ("alpha mode 2, BC3", 78, &[(128, &[77]), (144, &[2])]),
    ("array of 1", 78, &[(128, &[77])]),
];

#[test]
fn pixels_of_unusual_headers_match_another_decoder() {
    for (name, format, changes) in MEANINGS {
        let texture = Texture { width: SIDES.0, height: SIDES.1, mips: 1, format, cube: false };
        let mut header = texture.header();
        for (at, bytes) in changes {
            header[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        let file = [
            header,
            texels(if format < 77 { "BC2" } else { "BC3" }, texture.texel_bytes().unwrap() as usize),
        ]
        .concat();
        let ours = ours(&file).unwrap();
        let theirs = match name {
            // No header that the crate knows states this.
            "normal map" => theirs_as(&file, Some(dds::Format::BC3_UNORM_NORMAL)).unwrap(),
            _ => theirs(&file).unwrap(),
        };
        for (at, (one, two)) in ours.as_chunks::<4>().0.iter().zip(theirs.as_chunks::<4>().0).enumerate() {
            // A division by alpha enlarges the rounding of the colours before it.
            let is_divided = name.starts_with("DXT") || name.starts_with("alpha");
            let near = if is_divided { 2 + 255 / u16::from(one[3].max(1)) } else { 1 };
            if is_divided && one[3] == 0 {
                assert_eq!(one[..3], [0; 3], "{name}: a transparent pixel has a colour");
                continue;
            }
            let is_near = |channel: usize| {
                // The root of a number near 0 enlarges the rounding of x and y.
                let near = if name == "normal map" && channel == 2 { 16 } else { near };
                u16::from(one[2 - channel].abs_diff(byte(two[channel]))) <= near
            };
            assert!((0..3).all(is_near), "{name}: pixel {at}: {one:?} and {two:?}");
            assert!(one[3].abs_diff(byte(two[3])) <= 1, "{name}: pixel {at}: {one:?} and {two:?}");
        }
    }
}

/// Random texels without two cases that the crate decodes otherwise than GPUs do.
pub(crate) fn texels(name: &str, len: usize) -> Vec<u8> {
    let mut texels = noise(7, len);
    if name.starts_with("BC3") {
        // The crate takes colours in ascending order for the mode with three colours, which only BC1 has.
        texels.as_chunks_mut::<16>().0.iter_mut().for_each(|block| {
            block[9] |= 0x80;
            block[11] &= 0x7F;
        });
    }
    if name.ends_with("SNORM") {
        // The crate distinguishes the ends -127 and -128, which mean the same.
        texels.iter_mut().filter(|byte| **byte == 0x80).for_each(|byte| *byte = 0x81);
    }
    texels
}

/// Blue, green, red and alpha of each pixel; `None` if bsafs does not decode the format.
pub(crate) fn ours(file: &[u8]) -> Option<Vec<u8>> {
    let len = file.len() as u64;
    let shown = RgbaTexture::new(FileHeader::parse(file, len).unwrap(), len).ok()?;
    let mut pixels = Vec::new();
    while let Some(band) = shown.band(pixels.len() as u64) {
        let start = pixels.len();
        pixels.resize(band.pixels.end as usize, 0);
        shown.decode(
            &band,
            &file[band.texels.start as usize..band.texels.end as usize],
            &mut pixels[start..],
        );
    }
    Some(pixels)
}

/// Red, green, blue and alpha of each pixel; `None` if the crate does not know the format.
pub(crate) fn theirs(file: &[u8]) -> Option<Vec<f32>> {
    theirs_as(file, None)
}

/// The pixels as the crate decodes them, read in a format if that is given.
fn theirs_as(file: &[u8], format: Option<dds::Format>) -> Option<Vec<f32>> {
    let mut decoder = Decoder::new(Cursor::new(file)).ok()?;
    if let Some(format) = format {
        let (header, mut reader) = (decoder.header().clone(), decoder.into_reader());
        reader.set_position(128);
        decoder = Decoder::from_header_with(reader, header, format).ok()?;
    }
    let size = decoder.main_size();
    let mut bytes = vec![0; size.pixels() as usize * 16];
    decoder.read_surface(ImageViewMut::new(&mut bytes, size, ColorFormat::RGBA_F32)?).ok()?;
    Some(bytes.as_chunks().0.iter().map(|four| f32::from_ne_bytes(*four)).collect())
}

/// The byte of a value from 0 to 1.
pub(crate) fn byte(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}

/// The byte that shows an amount of light: Reinhard's tone mapping, and sRGB.
pub(crate) fn screen(light: f32) -> u8 {
    let light = if light > 0.0 { f64::from(light.min(65_504.0)) } else { 0.0 };
    let mapped = light / (1.0 + light);
    let encoded = if mapped <= 0.003_130_8 { mapped * 12.92 } else { 1.055 * mapped.powf(1.0 / 2.4) - 0.055 };
    byte(encoded as f32)
}
