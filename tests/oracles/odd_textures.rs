//! Textures whose headers say too little, and the pictures that bsafs makes of textures, compared with other
//! programs.
//!
//! The crates `dds`, `texture2ddecoder` and `png` always read. Pillow and FFmpeg are run if they are
//! installed; otherwise a line says that they were skipped.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use bsafs::picture::{FullPicture, PictureChannels};
use bsafs::texture::dds::Texture;
use bsafs::texture::file_header::FileHeader;
use dds::{ColorFormat, Decoder, ImageViewMut};

use super::support::content::noise;
use super::textures::{byte, ours, screen, texels, theirs};

/// Width and height of the textures in pixels. The last blocks of rows and columns are not whole.
const SIDES: (u16, u16) = (61, 37);
const PIXELS: usize = SIDES.0 as usize * SIDES.1 as usize;

/// Oldest major versions that were tried, besides the newest of 2026: 13 and 9.
const OLDEST_PILLOW: u32 = 11;
const OLDEST_FFMPEG: u32 = 7;

/// Reads textures, and writes the red, green, blue and alpha of each next to it. Pillow refuses what it does
/// not know.
const PILLOW_READS: &str = r#"
import sys
from PIL import Image
for path in sys.argv[1:]:
    try:
        pixels = Image.open(path).convert("RGBA").tobytes()
    except (OSError, NotImplementedError):
        continue
    open(path + ".rgba", "wb").write(pixels)
"#;

/// Writes the pixels of a file, of this mode and size, as a texture.
const PILLOW_WRITES: &str = r#"
import sys
from PIL import Image
_, pixels, mode, width, height, to = sys.argv
Image.frombytes(mode, (int(width), int(height)), open(pixels, "rb").read()).save(to)
"#;

/// Writes a picture in each format, under the name of a texture. Prints how Pillow calls the format.
const PILLOW_DISGUISES: &str = r#"
import os, sys
from PIL import Image
picture = Image.effect_noise((61, 37), 90).convert("RGB")
for nth, (kind, options) in enumerate([
    ("JPEG", {}), ("PNG", {}), ("GIF", {}), ("TIFF", {}), ("BMP", {}), ("WEBP", {}),
    ("TGA", {}), ("TGA", {"compression": "tga_rle"}),
]):
    path = os.path.join(sys.argv[1], f"{nth}.dds")
    picture.save(path, format=kind, **options)
    print(Image.open(path).format)
"#;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    /// The crate `dds`.
    Dds,
    /// The crate `texture2ddecoder`, which decodes blocks.
    Blocks,
    Pillow,
    Ffmpeg,
}
use Reader::{Blocks, Dds, Ffmpeg, Pillow};

/// A file whose pixels bsafs must find.
struct Case {
    name: String,
    file: Vec<u8>,
    /// The file that the readers get: `file`, or the same pixels under a header that they read.
    plain: Vec<u8>,
    /// Which readers show its pixels.
    readers: &'static [Reader],
    /// The channels to compare, of red, green, blue and alpha.
    channels: &'static [usize],
    /// The byte that shows a value of the crate `dds`.
    shown: fn(f32) -> u8,
}

impl Case {
    fn new(name: impl Into<String>, file: Vec<u8>, plain: Vec<u8>, readers: &'static [Reader]) -> Self {
        Self { name: name.into(), file, plain, readers, channels: ALL, shown: byte }
    }
}

const ALL: &[usize] = &[0, 1, 2, 3];

/// What a header states about pixels: flags, FourCC, bits per pixel, and the masks of red, green, blue and
/// alpha.
type Words = (u32, [u8; 4], u32, [u32; 4]);

const NO_CODE: [u8; 4] = [0; 4];
const GREY: u32 = 0x2_0000;
const HIGH: u32 = 0xFF00_0000;
const L8: Words = (GREY, NO_CODE, 8, [0xFF, 0, 0, 0]);
const A8L8: Words = (GREY | 1, NO_CODE, 16, [0xFF, 0, 0, 0xFF00]);
const RGBA8: Words = (0x41, NO_CODE, 32, [0xFF, 0xFF00, 0xFF_0000, HIGH]);
const BGRA8: Words = (0x41, NO_CODE, 32, [0xFF_0000, 0xFF00, 0xFF, HIGH]);
const P8: Words = (0x20, NO_CODE, 8, [0; 4]);

/// A texture of [`SIDES`] with this header.
fn file((flags, code, bits, masks): Words, texels: &[u8]) -> Vec<u8> {
    let mut bytes = Texture { width: SIDES.0, height: SIDES.1, mips: 1, format: 28, cube: false }.header();
    let words = [flags, u32::from_le_bytes(code), bits].into_iter().chain(masks);
    for (at, word) in (80..).step_by(4).zip(words) {
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    bytes.extend(texels);
    bytes
}

/// A texture of this DXGI format with random texels, changed by `change`.
fn extended(sides: (u16, u16), format: u8, mips: u8, change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let texture = Texture { width: sides.0, height: sides.1, mips, format, cube: false };
    // BC7 has no other header.
    let mut bytes = Texture { format: 98, ..texture }.header();
    bytes[128] = format;
    change(&mut bytes);
    let surfaces = u32::from_le_bytes(*bytes[140..].first_chunk().unwrap()) as usize;
    let surfaces = if bytes[136] & 4 == 0 { surfaces } else { surfaces * 6 };
    let len = texture.texel_bytes().unwrap() as usize * surfaces;
    bytes.extend(texels(texture.format_name(), len));
    bytes
}

#[test]
fn grey_palettes_and_floats_of_odd_writers_match_other_programs() {
    const RGB: [u32; 3] = [0xFF_0000, 0xFF00, 0xFF];
    let [r, g, b] = RGB;
    let bytes = |per_pixel: usize| noise(3, PIXELS * per_pixel);
    let (one, two, four) = (bytes(1), bytes(2), bytes(4));
    let of = |flags, bits, masks, texels: &[u8]| file((flags, NO_CODE, bits, masks), texels);
    let grey = |name, flags, bits, masks, plain, readers| {
        let texels = if plain == L8 { &one } else { &two };
        Case::new(name, of(flags, bits, masks, texels), file(plain, texels), readers)
    };
    // The crate `dds` reads A8L8 as red and green.
    let (every, programs): (&[Reader], &[Reader]) = (&[Dds, Pillow, Ffmpeg], &[Pillow, Ffmpeg]);
    let nvtt = of(0x41, 16, A8L8.3, &two);
    let mut cases = vec![
        grey("Pillow 9, L", GREY, 24, [r, g, b, 0], L8, every),
        grey("Pillow 9, LA", GREY | 1, 32, [r, g, b, HIGH], A8L8, programs),
        grey("Pillow 10, L", GREY, 8, [HIGH, HIGH, HIGH, 0], L8, every),
        grey("Pillow 10, LA", GREY | 1, 16, [0xFF, 0xFF, 0xFF, HIGH], A8L8, programs),
        grey("masks of 0", GREY, 8, [0; 4], L8, every),
        grey("A8L8_ALT", GREY | 1, 8, A8L8.3, A8L8, programs),
        grey("NVTT, A8L8", 0x41, 16, A8L8.3, A8L8, programs),
        Case::new("NVTT, A8L8, as it is", nvtt.clone(), nvtt, &[Ffmpeg]),
    ];
    let nibbles: Vec<u8> = one.iter().flat_map(|it| [(it & 15) * 17, (it >> 4) * 17]).collect();
    cases.push(Case::new("A4L4", of(GREY | 1, 8, [15, 0, 0, 0xF0], &one), file(A8L8, &nibbles), programs));
    let floats: Vec<u8> = four
        .as_chunks()
        .0
        .iter()
        .flat_map(|it| (u32::from_le_bytes(*it) as f32 / 1e9).to_le_bytes())
        .collect();
    for flags in [0x40, GREY] {
        let (mask, r32f) = (of(flags, 32, [u32::MAX, 0, 0, 0], &floats), (4, [114, 0, 0, 0], 0, [0; 4]));
        let case = Case::new(format!("R32F, flags {flags:x}"), mask, file(r32f, &floats), &[Dds]);
        cases.push(Case { shown: screen, ..case });
    }
    cases.push(Case::new("a flag without a FourCC", of(0x45, 32, BGRA8.3, &four), file(BGRA8, &four), every));

    let palette = noise(5, 1024);
    let indexed = |words, palette: &[u8], texels: &[u8]| file(words, &[palette, texels].concat());
    let plain = indexed(P8, &palette, &one);
    for (name, words) in [
        ("a palette", P8),
        ("a palette, RGB", (0x60, NO_CODE, 8, [0; 4])),
        ("P8", (4, *b"P8  ", 0, [0; 4])),
        ("P8 by its number", (4, [41, 0, 0, 0], 0, [0; 4])),
    ] {
        cases.push(Case::new(name, indexed(words, &palette, &one), plain.clone(), programs));
    }
    let with_alpha = |alpha| {
        let mut palette = palette.clone();
        palette.as_chunks_mut::<4>().0.iter_mut().for_each(|colour| colour[3] = alpha);
        palette
    };
    let invisible = indexed(P8, &with_alpha(0), &one);
    cases.push(Case::new("alpha of 0", invisible, indexed(P8, &with_alpha(255), &one), programs));
    let colour = |&[index, alpha]: &[u8; 2]| {
        let at = usize::from(index) * 4;
        [palette[at], palette[at + 1], palette[at + 2], alpha]
    };
    let colours: Vec<u8> = two.as_chunks().0.iter().flat_map(colour).collect();
    for words in [(4, [40, 0, 0, 0], 0, [0; 4]), (0x21, NO_CODE, 16, [0; 4])] {
        cases.push(Case::new("A8P8", indexed(words, &palette, &two), file(RGBA8, &colours), every));
    }
    compare(&cases);
}

#[test]
fn blocks_whose_header_lacks_a_flag_match_other_programs() {
    let mut cases = Vec::new();
    // texture2ddecoder shows a single channel as red, and uses the mode with three colours in DXT3, too. Only
    // bsafs computes z. FFmpeg swaps the channels of ATI2.
    for (code, bytes, channels, readers) in [
        (b"DXT1", 8, ALL, &[Dds, Blocks, Pillow, Ffmpeg][..]),
        (b"DXT3", 16, ALL, &[Dds, Pillow, Ffmpeg]),
        (b"DXT5", 16, ALL, &[Dds, Blocks, Pillow, Ffmpeg]),
        (b"ATI1", 8, ALL, &[Dds, Pillow, Ffmpeg]),
        (b"ATI1", 8, &[0, 3], &[Blocks]),
        (b"BC4U", 8, ALL, &[Dds, Pillow, Ffmpeg]),
        (b"ATI2", 16, &[0, 1, 3], &[Dds, Blocks, Pillow]),
        (b"BC5U", 16, &[0, 1, 3], &[Dds, Blocks, Pillow, Ffmpeg]),
    ] {
        let blocks = usize::from(SIDES.0.div_ceil(4)) * usize::from(SIDES.1.div_ceil(4));
        let texels = texels(if code == b"DXT5" { "BC3" } else { "" }, blocks * bytes);
        let [bare, plain] = [0, 4].map(|flags| file((flags, *code, 0, [0; 4]), &texels));
        cases.push(Case { channels, ..Case::new(code.escape_ascii().to_string(), bare, plain, readers) });
    }
    compare(&cases);
}

/// Formats of Direct3D 9: number, name, the channels that bsafs does not compute, and who reads them under
/// a header with masks.
const NUMBERED: [(u8, &str, &[usize], &[Reader]); 22] = [
    (20, "R8G8B8", ALL, &[Dds, Pillow, Ffmpeg]),
    (21, "A8R8G8B8", ALL, &[Dds, Pillow, Ffmpeg]),
    (22, "X8R8G8B8", ALL, &[Dds, Pillow]),
    (23, "R5G6B5", ALL, &[Dds, Pillow]),
    (24, "X1R5G5B5", ALL, &[Pillow]),
    (25, "A1R5G5B5", ALL, &[Dds, Pillow]),
    (26, "A4R4G4B4", ALL, &[Dds, Pillow]),
    (27, "R3G3B2", ALL, &[Pillow]),
    (28, "A8", ALL, &[Ffmpeg]),
    (29, "A8R3G3B2", ALL, &[Pillow]),
    (30, "X4R4G4B4", ALL, &[Pillow]),
    (31, "A2B10G10R10", ALL, &[Pillow]),
    (32, "A8B8G8R8", ALL, &[Dds, Pillow, Ffmpeg]),
    (33, "X8B8G8R8", ALL, &[Pillow]),
    (34, "G16R16", &[0, 1], &[Dds]),
    (35, "A2R10G10B10", ALL, &[Pillow]),
    (50, "L8", ALL, &[Dds, Pillow, Ffmpeg]),
    (51, "A8L8", ALL, &[Pillow, Ffmpeg]),
    (60, "V8U8", &[0, 1], &[Dds]),
    (63, "Q8W8V8U8", ALL, &[Dds]),
    (64, "V16U16", &[0, 1], &[Dds]),
    (81, "L16", ALL, &[Dds, Ffmpeg]),
];

/// Flags, bits and masks of a format by its name, which lists the channels from the highest bit on.
fn named(name: &str) -> Words {
    let (mut flags, mut masks, mut bits) = (0, [0; 4], 0);
    let letters = name.char_indices().filter(|(_, it)| it.is_ascii_alphabetic());
    for (at, letter) in letters.collect::<Vec<_>>().into_iter().rev() {
        let digits = name[at + 1..].split(|it: char| it.is_ascii_alphabetic()).next().unwrap();
        let width: u32 = digits.parse().unwrap();
        let (channel, flag) = match letter {
            'R' => (0, 0x40),
            'G' => (1, 0x40),
            'B' => (2, 0x40),
            'L' => (0, GREY),
            'A' => (3, 1),
            'U' => (0, 0x8_0000),
            'V' => (1, 0x8_0000),
            'W' => (2, 0x8_0000),
            'Q' => (3, 0x8_0000),
            _ => (4, 0),
        };
        flags |= flag;
        if let Some(mask) = masks.get_mut(channel) {
            *mask = (u32::MAX >> (32 - width)) << bits;
        }
        bits += width;
    }
    // Alpha alone has a flag of its own.
    (if flags == 1 { 2 } else { flags }, NO_CODE, bits, masks)
}

#[test]
fn numbers_of_direct3d_formats_match_masks_in_other_programs() {
    let case = |&(number, name, channels, readers): &(u8, &str, _, _)| {
        let words = named(name);
        let kind = if name == "Q8W8V8U8" || name == "V8U8" { "SNORM" } else { "" };
        let texels = texels(kind, PIXELS * words.2 as usize / 8);
        let numbered = file((4, [number, 0, 0, 0], 0, [0; 4]), &texels);
        Case { channels, ..Case::new(name, numbered, file(words, &texels), readers) }
    };
    compare(&NUMBERED.iter().map(case).collect::<Vec<_>>());
}

/// Compares bsafs's pixels of each file with those of the readers that are installed.
fn compare(cases: &[Case]) {
    let folder = tempfile::TempDir::new().unwrap();
    let path = |nth: usize| folder.path().join(format!("{nth}.dds"));
    for (nth, case) in cases.iter().enumerate() {
        fs::write(path(nth), &case.plain).unwrap();
    }
    let has_pillow_row = |nth: &usize| cases[*nth].readers.contains(&Pillow);
    let paths: Vec<PathBuf> = (0..cases.len()).filter(has_pillow_row).map(path).collect();
    let has_pillow = pillow(PILLOW_READS, paths.iter().map(PathBuf::as_path)).is_some();
    let mut wrong = Vec::new();
    for (nth, case) in cases.iter().enumerate() {
        let ours = ours(&case.file).unwrap_or_else(|| panic!("{}: bsafs does not decode it", case.name));
        assert!(!case.readers.is_empty(), "{}: nothing to compare with", case.name);
        for reader in case.readers {
            let theirs = match reader {
                Dds => theirs(&case.plain).map(|values| {
                    let channel = |(nth, value): (usize, &f32)| {
                        if nth % 4 == 3 { byte(*value) } else { (case.shown)(*value) }
                    };
                    values.iter().enumerate().map(channel).collect()
                }),
                Blocks => blocks(&case.plain),
                Pillow if has_pillow => fs::read(path(nth).with_extension("dds.rgba")).ok(),
                Ffmpeg if has_ffmpeg() => ffmpeg(&path(nth), Some("rgba")),
                Pillow | Ffmpeg => continue,
            };
            let Some(theirs) = theirs else {
                wrong.push(format!("{}: {reader:?} does not read it", case.name));
                continue;
            };
            assert_eq!((ours.len(), theirs.len()), (PIXELS * 4, PIXELS * 4), "{}: {reader:?}", case.name);
            let pixels = ours.as_chunks::<4>().0.iter().zip(theirs.as_chunks::<4>().0);
            let differs = |&(_, (&[b, g, r, a], two)): &(usize, (&[u8; 4], &[u8; 4]))| {
                case.channels.iter().any(|&it| [r, g, b, a][it].abs_diff(two[it]) > 1)
            };
            if let Some((at, pair)) = pixels.enumerate().find(differs) {
                wrong.push(format!("{}: {reader:?}: pixel {at}: BGRA and RGBA {pair:?}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Red, green, blue and alpha of the pixels of blocks, as texture2ddecoder decodes them.
fn blocks(file: &[u8]) -> Option<Vec<u8>> {
    let decode = match &file[84..88] {
        b"DXT1" => texture2ddecoder::decode_bc1a,
        b"DXT5" => texture2ddecoder::decode_bc3,
        b"ATI1" | b"BC4U" => texture2ddecoder::decode_bc4,
        b"ATI2" | b"BC5U" => texture2ddecoder::decode_bc5,
        _ => return None,
    };
    let mut pixels = vec![0; PIXELS];
    decode(&file[128..], SIDES.0.into(), SIDES.1.into(), &mut pixels).ok()?;
    let rgba = |pixel: u32| {
        let [b, g, r, a] = pixel.to_le_bytes();
        [r, g, b, a]
    };
    Some(pixels.into_iter().flat_map(rgba).collect())
}

/// Runs a script with Pillow. Returns what it prints; `None` if Pillow is not installed.
fn pillow<'a>(script: &str, arguments: impl IntoIterator<Item = &'a Path>) -> Option<String> {
    static FOUND: OnceLock<bool> = OnceLock::new();
    let mut run = Command::new("python3");
    run.args(["-c", "import PIL; print(PIL.__version__)"]);
    if !*FOUND.get_or_init(|| is_installed("Pillow", &mut run, "", OLDEST_PILLOW)) {
        return None;
    }
    let run = Command::new("python3").args(["-c", script]).args(arguments).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    Some(String::from_utf8(run.stdout).unwrap())
}

fn has_ffmpeg() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    let mut run = Command::new("ffmpeg");
    run.arg("-version");
    *FOUND.get_or_init(|| is_installed("FFmpeg", &mut run, "ffmpeg version ", OLDEST_FFMPEG))
}

/// Whether a program prints a version that is new enough after `before`. Says once if it does not.
fn is_installed(name: &str, run: &mut Command, before: &str, oldest: u32) -> bool {
    let output = run.stdin(Stdio::null()).output();
    let text = output.map(|it| String::from_utf8_lossy(&it.stdout).into_owned()).unwrap_or_default();
    // Some builds of FFmpeg begin the number with a letter.
    let version = text.strip_prefix(before).map(|it| it.trim_start_matches('n'));
    let major = version.and_then(|it| it.split('.').next()?.parse::<u32>().ok());
    let is_new = major.is_some_and(|it| it >= oldest);
    if !is_new {
        let found = major.map_or("not installed".into(), |it| format!("version {it} is installed"));
        crate::report(&format!("textures in {name}: SKIPPED, {found}; {name} {oldest} or later is needed"));
    }
    is_new
}

/// The pixels of a picture as FFmpeg decodes them: in this format, or in that of the picture. `None` if it
/// does not read the file.
fn ffmpeg(path: &Path, format: Option<&str>) -> Option<Vec<u8>> {
    let mut run = Command::new("ffmpeg");
    run.args(["-v", "error", "-nostdin", "-i"]).arg(path).args(["-f", "rawvideo"]);
    run.args(["-sws_flags", "accurate_rnd+full_chroma_int"]);
    if let Some(format) = format {
        run.args(["-pix_fmt", format]);
    }
    let output = run.arg("-").output().unwrap();
    output.status.success().then_some(output.stdout)
}

#[test]
fn textures_that_pillow_writes_show_the_picture() {
    let folder = tempfile::TempDir::new().unwrap();
    let (source, texture) = (folder.path().join("pixels"), folder.path().join("a.dds"));
    for (width, height) in [(61_u32, 37), (64, 64), (4, 4), (1, 1), (3, 1)] {
        for (mode, channels) in [("L", 1), ("LA", 2), ("RGB", 3), ("RGBA", 4)] {
            let pixels = noise(width.into(), (width * height) as usize * channels);
            fs::write(&source, &pixels).unwrap();
            let (wide, high) = (width.to_string(), height.to_string());
            let arguments = [&source, Path::new(mode), Path::new(&wide), Path::new(&high), &texture];
            if pillow(PILLOW_WRITES, arguments).is_none() {
                return;
            }
            let expected: Vec<[u8; 4]> = pixels
                .chunks(channels)
                .map(|pixel| match *pixel {
                    [grey] => [grey, grey, grey, 255],
                    [grey, alpha] => [grey, grey, grey, alpha],
                    [r, g, b] => [b, g, r, 255],
                    [r, g, b, a] => [b, g, r, a],
                    _ => unreachable!(),
                })
                .collect();
            let ours = ours(&fs::read(&texture).unwrap()).unwrap();
            assert!(ours == expected.as_flattened(), "{mode}, {width} by {height}");
        }
    }
}

#[test]
fn pictures_with_the_name_of_a_texture_are_called_as_their_writers_call_them() {
    let folder = tempfile::TempDir::new().unwrap();
    let assert_named = |path: &Path, kind: &str| {
        let bytes = fs::read(path).unwrap();
        let refused = FileHeader::parse(&bytes, bytes.len() as u64).unwrap_err().to_string();
        let is_named = refused.to_lowercase().contains(&format!(" {} picture;", kind.to_lowercase()));
        assert!(is_named, "{kind}: {refused}");
    };
    if let Some(kinds) = pillow(PILLOW_DISGUISES, [folder.path()]) {
        assert_eq!(kinds.lines().count(), 8);
        for (nth, kind) in kinds.lines().enumerate() {
            assert_named(&folder.path().join(format!("{nth}.dds")), kind);
        }
    }
    if has_ffmpeg() {
        let encoders = ["mjpeg", "png", "targa", "bmp", "tiff", "exr", "hdr"];
        let kinds = ["JPEG", "PNG", "TGA", "BMP", "TIFF", "OpenEXR", "Radiance HDR"];
        for (encoder, kind) in encoders.into_iter().zip(kinds) {
            let path = folder.path().join(format!("{encoder}.dds"));
            let mut run = Command::new("ffmpeg");
            run.args(["-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc=size=64x48"]);
            run.args(["-frames:v", "1", "-c:v", encoder, "-f", "image2", "-update", "1"]).arg(&path);
            assert!(run.status().unwrap().success(), "{encoder}");
            assert_named(&path, kind);
        }
    }
}

/// Every picture of a texture, as `extract --png` writes them, with its number.
fn pictures(file: &[u8]) -> Vec<(Option<u32>, Vec<u8>)> {
    let all = FullPicture::all(&mut &file[..], file.len() as u64).unwrap();
    let write = |picture: &FullPicture| {
        let (mut out, start) = (Vec::new(), picture.start() as usize);
        picture.write(&mut &file[start..], PictureChannels::All, &mut out).unwrap();
        (picture.item(), out)
    };
    all.iter().map(write).collect()
}

/// The largest mip of each face and layer, as the crate `dds` decodes them.
fn surfaces(file: &[u8]) -> Vec<Vec<f32>> {
    let mut decoder = Decoder::new(Cursor::new(file)).unwrap();
    let (size, mut surfaces) = (decoder.main_size(), Vec::new());
    while !decoder.is_done() {
        let mut bytes = vec![0; size.pixels() as usize * 16];
        decoder.read_surface(ImageViewMut::new(&mut bytes, size, ColorFormat::RGBA_F32).unwrap()).unwrap();
        decoder.skip_mipmaps().unwrap();
        surfaces.push(bytes.as_chunks().0.iter().map(|four| f32::from_ne_bytes(*four)).collect());
    }
    surfaces
}

/// The channels of a PNG file's pixels, as the crate `png` decodes them, and the number of bits of each.
fn png_values(bytes: &[u8]) -> (Vec<u16>, u32) {
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgba);
    match info.bit_depth {
        png::BitDepth::Eight => (pixels.into_iter().map(u16::from).collect(), 8),
        png::BitDepth::Sixteen => {
            (pixels.as_chunks().0.iter().map(|it| u16::from_be_bytes(*it)).collect(), 16)
        }
        depth => panic!("{depth:?}"),
    }
}

/// The position of the first value that is not the nearest of a channel with this many bits.
fn first_wrong(values: &[u16], expected: &[f32], bits: u32) -> Option<usize> {
    let max = f64::from(u16::MAX >> (16 - bits));
    let is_wrong =
        |(one, two): (&u16, &f32)| (f64::from(*one) - f64::from(two.clamp(0.0, 1.0)) * max).abs() > 1.0;
    assert_eq!(values.len(), expected.len());
    values.iter().zip(expected).position(is_wrong)
}

#[test]
fn every_face_and_layer_matches_another_decoder() {
    let cube = |bytes: &mut Vec<u8>| {
        bytes[112..116].copy_from_slice(&0xFE00_u32.to_le_bytes());
        bytes[136] = 4;
    };
    let layers = |bytes: &mut Vec<u8>| bytes[140] = 3;
    let two_cubes = |bytes: &mut Vec<u8>| {
        cube(bytes);
        bytes[140] = 2;
    };
    // A header without the extension can state some of the faces: -X, +Y and -Z.
    let mut partial = Texture { width: 12, height: 12, mips: 2, format: 28, cube: true }.header();
    partial[112..116].copy_from_slice(&(0x200_u32 | 0x800 | 0x1000 | 0x8000).to_le_bytes());
    partial.extend(noise(9, 3 * (12 * 12 + 6 * 6) * 4));
    for (name, file, numbers) in [
        ("cube of BC1", extended((20, 20), 72, 3, cube), &[0, 1, 2, 3, 4, 5][..]),
        ("two cubes of BC7", extended((16, 16), 98, 5, two_cubes), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        ("layers of BC7", extended((21, 10), 98, 2, layers), &[0, 1, 2]),
        ("layers of 16 bits", extended((5, 7), 11, 1, layers), &[0, 1, 2]),
        ("some faces", partial, &[1, 2, 5]),
    ] {
        let (ours, theirs) = (pictures(&file), surfaces(&file));
        let found: Vec<u32> = ours.iter().map(|(number, _)| number.unwrap()).collect();
        assert_eq!((found.as_slice(), theirs.len()), (numbers, numbers.len()), "{name}");
        for ((number, picture), expected) in ours.iter().zip(&theirs) {
            let (values, bits) = png_values(picture);
            assert_eq!(first_wrong(&values, expected, bits), None, "{name}, {number:?}");
        }
    }
}

#[test]
fn pictures_of_16_bits_keep_the_values_that_another_decoder_finds() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("a.png");
    // R16G16B16A16, R10G10B10A2, and R16, which is grey.
    for format in [11, 24, 56] {
        let file = extended(SIDES, format, 1, |_| ());
        let expected = surfaces(&file).remove(0);
        let picture = pictures(&file).remove(0).1;
        let (values, bits) = png_values(&picture);
        assert_eq!((bits, first_wrong(&values, &expected, 16)), (16, None), "{format}");
        if has_ffmpeg() {
            fs::write(&path, &picture).unwrap();
            let read = ffmpeg(&path, Some("rgba64le")).unwrap();
            let read: Vec<u16> = read.as_chunks().0.iter().map(|it| u16::from_le_bytes(*it)).collect();
            assert_eq!(first_wrong(&read, &expected, 16), None, "{format}: FFmpeg");
        }
    }
}

#[test]
fn light_in_openexr_files_has_the_values_that_another_decoder_finds() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("a.exr");
    // R32G32B32A32, R16G16B16A16, R11G11B10, R32 and R16, which are grey, R9G9B9E5, and BC6H.
    for format in [2, 10, 26, 41, 54, 67, 95, 96] {
        let file = extended(SIDES, format, 1, |_| ());
        let expected = surfaces(&file).remove(0);
        fs::write(&path, pictures(&file).remove(0).1).unwrap();
        // Planes of floats: green, blue, red, and alpha if the picture has it. FFmpeg 7 has none of 16 bits.
        let read = ffmpeg(&path, None).unwrap();
        let count = if matches!(format, 2 | 10) { 4 } else { 3 };
        let len = read.len() / (PIXELS * count);
        assert_eq!(read.len(), PIXELS * count * len, "{format}");
        let floats: Vec<f32> = read.chunks(len).map(float).collect();
        let planes: Vec<&[f32]> = floats.chunks(PIXELS).collect();
        for (at, pixel) in expected.as_chunks::<4>().0.iter().enumerate() {
            for (plane, channel) in planes.iter().zip([1, 2, 0, 3]) {
                let (one, two) = (plane[at], pixel[channel]);
                // The last bit of a float of 16 bits, of which BC6H is rounded otherwise.
                let near = if format == 2 || format == 41 { 0.0 } else { two.abs() / 1024.0 + 1e-7 };
                let is_same = one == two || one.is_nan() && two.is_nan() || (one - two).abs() <= near;
                assert!(is_same, "{format}: pixel {at}, channel {channel}: {one} and {two}");
            }
        }
    }
}

/// A float of 16 or 32 bits.
fn float(bytes: &[u8]) -> f32 {
    match *bytes {
        [low, high] => {
            let (sign, exponent, fraction) =
                (high >> 7, high >> 2 & 31, f32::from(u16::from_le_bytes([low, high & 3])));
            let size = match exponent {
                0 => fraction / 16_777_216.0,
                31 if fraction == 0.0 => f32::INFINITY,
                31 => f32::NAN,
                _ => (1.0 + fraction / 1024.0) * 2_f32.powi(i32::from(exponent) - 15),
            };
            if sign == 1 { -size } else { size }
        }
        [a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
        _ => panic!("floats of {} bytes", bytes.len()),
    }
}
