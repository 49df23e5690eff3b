//! Thumbnails: which bytes are read, which size the picture has, and what is refused.

use std::io::{self, Cursor, Read, Seek, SeekFrom};

use bsafs::picture::{PictureError, thumbnail};
use bsafs::texture::file_header::HEADER_MAX;
use bsafs::texture::{dds, tiling, xbox};

/// The range in which a header is searched.
const HEADER: (u64, u64) = (0, HEADER_MAX as u64);

/// A file that records which bytes were read.
struct Watched {
    file: Cursor<Vec<u8>>,
    read: Vec<(u64, u64)>,
}

impl Read for Watched {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let start = self.file.position();
        let len = self.file.read(out)?;
        if len > 0 {
            self.read.push((start, start + len as u64));
        }
        Ok(len)
    }
}

impl Seek for Watched {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

fn texture(format: u8, width: u16, height: u16, mips: u8) -> dds::Texture {
    dds::Texture { width, height, mips, format, cube: false }
}

/// A texture file of the right length. All bytes of its texels are `byte`.
fn file(texture: &dds::Texture, byte: u8) -> Vec<u8> {
    let mut bytes = texture.header();
    bytes.resize(bytes.len() + texture.texel_bytes().unwrap() as usize, byte);
    bytes
}

fn sides(bytes: &[u8], size: u32) -> (u32, u32) {
    let image = thumbnail(&mut Cursor::new(bytes), size).unwrap();
    assert_eq!(image.rgba.len(), image.width as usize * image.height as usize);
    (image.width, image.height)
}

#[test]
fn only_the_header_and_the_smallest_sufficient_mip_are_read() {
    let bytes = file(&texture(71, 1024, 512, 11), 0);
    let read = |size| {
        let mut watched = Watched { file: Cursor::new(bytes.clone()), read: Vec::new() };
        thumbnail(&mut watched, size).unwrap();
        watched.read
    };
    let mip = |mip: u32| (1024 * 512 / 2) >> (2 * mip);
    let start: u64 = 128 + mip(0) + mip(1);
    assert_eq!(read(256), [HEADER, (start, start + mip(2))]);
    assert_eq!(read(255), read(256));
    assert_eq!(read(257), [HEADER, (128 + mip(0), start)]);
    assert_eq!(read(2000), [HEADER, (128, 128 + mip(0))]);
    let end = bytes.len() as u64;
    assert_eq!(read(1), [HEADER, (end - 8, end)]);
}

#[test]
fn the_longest_side_has_the_requested_size_but_is_never_enlarged() {
    let bytes = file(&texture(71, 1024, 300, 1), 0);
    assert_eq!(sides(&bytes, 256), (256, 75));
    assert_eq!(sides(&bytes, 1), (1, 1));
    assert_eq!(sides(&bytes, u32::MAX), (1024, 300));
    assert_eq!(sides(&file(&texture(71, 1, 1000, 1), 0), 100), (1, 100));
    assert_eq!(sides(&file(&texture(98, 5, 3, 3), 0), 256), (5, 3));
}

#[test]
fn every_format_is_shown_or_refused_by_its_name() {
    let mut refused = Vec::new();
    for format in 0..=u8::MAX {
        let texture = texture(format, 6, 5, 1);
        let (Some(len), true) = (texture.texel_bytes(), texture.is_known()) else { continue };
        let mut bytes = texture.header();
        bytes.resize(bytes.len() + len as usize, 0x7F);
        match thumbnail(&mut Cursor::new(bytes), 256) {
            Ok(image) => assert_eq!((image.width, image.height), (6, 5)),
            Err(PictureError::Format(name)) => refused.push(name),
            Err(error) => panic!("{}: {error}", texture.format_name()),
        }
    }
    assert_eq!(refused, ["R1_UNORM", "AYUV", "Y410", "Y416", "YUY2", "Y210", "Y216"]);
    let planes = texture(103, 6, 6, 1);
    let error = thumbnail(&mut Cursor::new([planes.header(), vec![0; 100]].concat()), 256).unwrap_err();
    assert_eq!(error.to_string(), "the pixel format NV12 is not supported");
}

#[test]
fn a_cube_shows_its_first_face_and_a_volume_its_first_slice() {
    let mut cube = dds::Texture { cube: true, ..texture(28, 4, 4, 3) }.header();
    cube.extend([1; 64 + 16 + 4]);
    cube.extend([255; 5 * (64 + 16 + 4)]);
    assert_eq!(thumbnail(&mut Cursor::new(&cube), 1).unwrap().rgba, [[1, 1, 1, 255]]);
    let mut volume = texture(28, 4, 4, 2).header();
    volume[24] = 4;
    volume[114] = 0x20;
    volume.extend([1; 4 * 64]);
    volume.extend([7; 16]);
    volume.extend([9; 16]);
    assert_eq!(thumbnail(&mut Cursor::new(&volume), 2).unwrap().rgba, [[7, 7, 7, 255]; 4]);
}

#[test]
fn a_truncated_file_is_refused_before_any_allocation() {
    let whole = file(&texture(71, 64, 64, 7), 0);
    let image = |len: usize, size| thumbnail(&mut Cursor::new(&whole[..len]), size);
    let end = 128 + 64 * 64 / 2;
    let error = image(end - 1, 1).unwrap_err();
    assert!(
        matches!(error, PictureError::CutOff { len, needed } if len + 1 == needed && needed == end as u64)
    );
    assert!(image(end, 1).is_ok(), "the largest mip is complete");
    assert!(image(whole.len() - 1, 2).is_ok(), "the needed mip was not found");
    let huge = texture(2, 16_384, 16_384, 1).header();
    let error = thumbnail(&mut Cursor::new(huge), 256).unwrap_err();
    assert!(matches!(error, PictureError::CutOff { needed, .. } if needed == 128 + (1 << 32)), "{error}");
}

#[test]
fn tiled_texels_of_an_xbox_texture_become_linear() {
    let texture = texture(28, 8, 8, 1);
    let header = xbox::XboxTexture { dds: texture, tile_mode: tiling::THIN_1D }.header(256);
    // The red of each pixel is its position in the tile. Position 1 is right of position 0,
    // position 2 below it.
    let texels = (0..64).flat_map(|index| [index, 0, 0, 255]);
    let bytes: Vec<u8> = header.into_iter().chain(texels).collect();
    let image = thumbnail(&mut Cursor::new(&bytes), 256).unwrap();
    let red: Vec<u8> = image.rgba.iter().map(|pixel| pixel[0]).collect();
    assert_eq!((red[0], red[1], red[8], red[9], red[63]), (0, 1, 2, 3, 63));
    let shorter = thumbnail(&mut Cursor::new(&bytes[..bytes.len() - 1]), 256).unwrap_err();
    assert!(matches!(shorter, PictureError::Tiled(13)), "{shorter}");
    let other = xbox::XboxTexture { dds: texture, tile_mode: 14 }.header(256);
    let error = thumbnail(&mut Cursor::new([other, vec![0; 256]].concat()), 256).unwrap_err();
    assert!(matches!(error, PictureError::Tiled(14)), "{error}");
}
