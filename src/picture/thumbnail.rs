//! The picture of a texture file, of any size: only its header and one mip are read.

use std::io::{Cursor, Read, Seek, SeekFrom};

use super::area::Area;
use super::error::PictureError;
use super::image::Image;
use super::texels::Texels;
use crate::texture::file_header::{FileHeader, HEADER_MAX};
use crate::texture::tiling::{self, Surface};

/// The longest side of a picture that is made, in pixels.
pub const SIZE_MAX: u32 = 2048;

/// The first mip of the last chunk as Archive2 makes them (FORMATS.md section 3.4): all smaller ones follow it in one stream.
const LAST_CHUNK: u32 = 3;
/// Bytes of texels that are read at once, or a row of them where that has more. A mount decodes from the beginning of
/// an extent for each read.
const PIECE: u64 = 4 << 20;
/// Bytes of tiled texels, which are read whole: those of 8,192 by 8,192 pixels in BC7 with all mips.
const TILED_MAX: u64 = 96 << 20;

/// Makes the picture of a texture file, its longest side `size` pixels, or fewer where the texture has fewer: of a cube
/// the first face, of a volume the first slice.
///
/// # Errors
/// [`PictureError`] for files that are no textures, formats that are not decoded, and files that are cut off.
pub fn thumbnail(file: &mut (impl Read + Seek), size: u32) -> Result<Image, PictureError> {
    let len = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    let mut bytes = Vec::with_capacity(HEADER_MAX);
    file.by_ref().take(HEADER_MAX as u64).read_to_end(&mut bytes)?;
    let header = FileHeader::parse(&bytes)?;
    let unsupported = || PictureError::Format(header.format_name());
    let texels = Texels::of(&header).ok_or_else(unsupported)?;
    let size = size.clamp(1, SIZE_MAX);
    let mip = needed_mip(&header, size);
    let (row_len, rows) = header.mip_rows(mip).ok_or_else(unsupported)?;
    let offset = header.mip_offset(mip).ok_or_else(unsupported)?;
    if let Some(tile_mode) = header.tile_mode {
        let mut in_rows = Cursor::new(in_rows(file, &header, tile_mode, len)?);
        in_rows.set_position(offset);
        return decode(&mut in_rows, &texels, header.mip_sides(mip), size, (row_len, rows));
    }
    let start = header.len + offset;
    let needed = start + row_len * u64::from(rows);
    if needed > len {
        return Err(PictureError::CutOff { len, needed });
    }
    file.seek(SeekFrom::Start(start))?;
    decode(file, &texels, header.mip_sides(mip), size, (row_len, rows))
}

/// The mip that a picture is made of: the smallest that is not smaller.
fn needed_mip(header: &FileHeader, size: u32) -> u32 {
    let is_enough = |mip: &u32| {
        let (width, height) = header.mip_sides(*mip);
        width.max(height) >= size
    };
    match (0..header.mips).rev().find(is_enough).unwrap_or(0) {
        // The mip before it has to be decoded for it in any case, and is enough.
        it if it == LAST_CHUNK + 1 => LAST_CHUNK,
        it => it,
    }
}

/// Decodes a mip, which begins at the reader's position: `rows` rows of `row_len` bytes.
fn decode(
    file: &mut impl Read,
    texels: &Texels,
    (width, height): (u32, u32),
    size: u32,
    (row_len, rows): (u64, u32),
) -> Result<Image, PictureError> {
    let longest = width.max(height);
    let to = |side: u32| match longest > size {
        // Sides have 14 bits and sizes 11: the product fits.
        true => ((side * size + longest / 2) / longest).max(1),
        false => side,
    };
    let mut area = Area::new((width, height), (to(width), to(height)), texels.light(), texels.has_cutouts());
    let mut pixels = vec![vec![[0.0; 4]; width as usize]; texels.rows()];
    let rows_at_once = (PIECE / row_len).clamp(1, u64::from(rows));
    let mut piece = vec![0; (row_len * rows_at_once) as usize];
    let mut left = u64::from(rows);
    while left > 0 {
        let taken = rows_at_once.min(left);
        let piece = &mut piece[..(row_len * taken) as usize];
        file.read_exact(piece)?;
        for row in piece.chunks_exact(row_len as usize) {
            texels.decode(row, &mut pixels);
            pixels.iter().for_each(|row| area.take(row));
        }
        left -= taken;
    }
    Ok(area.finish())
}

/// The texels of a console's texture in rows. The file has `len` bytes.
fn in_rows(
    file: &mut (impl Read + Seek),
    header: &FileHeader,
    tile_mode: u8,
    len: u64,
) -> Result<Vec<u8>, PictureError> {
    let unknown = || PictureError::Tiled(tile_mode);
    let texture = header.texture().ok_or_else(unknown)?;
    let tiled_len = len.saturating_sub(header.len);
    let surface = match tile_mode {
        tiling::THIN_1D => Some(Surface::with_tiled_len(&texture, tiled_len).ok_or_else(unknown)?),
        // A GPU stores the faces of a cube within each mip, a DDS file the mips within each face.
        tiling::LINEAR if texture.cube && texture.mips > 1 => return Err(unknown()),
        // Of another length, some field means something else than assumed.
        tiling::LINEAR if texture.texel_bytes() == Some(tiled_len) => None,
        _ => return Err(unknown()),
    };
    if tiled_len > TILED_MAX {
        return Err(PictureError::TooLong(tiled_len));
    }
    let mut texels = vec![0; tiled_len as usize];
    file.seek(SeekFrom::Start(header.len))?;
    file.read_exact(&mut texels)?;
    let Some(surface) = surface else { return Ok(texels) };
    let mut rows = vec![0; surface.linear_len() as usize];
    tiling::to_rows(&surface, &texels, &mut rows).map_err(|_| unknown())?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::texture::{dds, xbox};

    /// A file that remembers which bytes were read.
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

    /// A file with so many texels as it should have, all bytes the same.
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
    fn only_the_header_and_the_smallest_mip_that_is_large_enough_are_read() {
        let bytes = file(&texture(71, 1024, 512, 11), 0);
        let read = |size| {
            let mut watched = Watched { file: Cursor::new(bytes.clone()), read: Vec::new() };
            thumbnail(&mut watched, size).unwrap();
            watched.read
        };
        let mip = |mip: u32| (1024 * 512 / 2) >> (2 * mip);
        let start: u64 = 128 + mip(0) + mip(1);
        assert_eq!(read(256), [(0, 256), (start, start + mip(2))]);
        assert_eq!(read(255), read(256));
        assert_eq!(read(257), [(0, 256), (128 + mip(0), start)]);
        assert_eq!(read(2000), [(0, 256), (128, 128 + mip(0))]);
        let end = bytes.len() as u64;
        assert_eq!(read(1), [(0, 256), (end - 8, end)]);
    }

    #[test]
    fn the_longest_side_is_what_was_asked_for_and_never_larger_than_the_texture() {
        let bytes = file(&texture(71, 1024, 300, 1), 0);
        assert_eq!(sides(&bytes, 256), (256, 75));
        assert_eq!(sides(&bytes, 1), (1, 1));
        assert_eq!(sides(&bytes, u32::MAX), (1024, 300));
        assert_eq!(sides(&file(&texture(71, 1, 1000, 1), 0), 100), (1, 100));
        assert_eq!(sides(&file(&texture(98, 5, 3, 3), 0), 256), (5, 3));
    }

    #[test]
    fn every_format_of_the_table_is_shown_or_refused_by_its_name() {
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
    fn of_a_cube_the_first_face_and_of_a_volume_the_first_slice_is_shown() {
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
    fn a_file_that_is_cut_off_is_refused_before_anything_is_read_or_allocated() {
        let whole = file(&texture(71, 64, 64, 7), 0);
        let image = |len: usize, size| thumbnail(&mut Cursor::new(&whole[..len]), size);
        let error = image(whole.len() - 1, 1).unwrap_err();
        let end = whole.len() as u64;
        assert!(matches!(error, PictureError::CutOff { len, needed } if len == end - 1 && needed == end));
        assert!(image(whole.len() - 1, 2).is_ok(), "the mip that is needed is there");
        let huge = texture(2, 16_384, 16_384, 1).header();
        let error = thumbnail(&mut Cursor::new(huge), 256).unwrap_err();
        assert!(matches!(error, PictureError::CutOff { needed, .. } if needed == 128 + (1 << 32)), "{error}");
    }

    #[test]
    fn tiled_texels_of_an_xbox_are_put_into_rows() {
        let texture = texture(28, 8, 8, 1);
        let header = xbox::XboxTexture { dds: texture, tile_mode: tiling::THIN_1D }.header(256);
        // Each pixel's red is its place in the tile: the second is beside the first, the third below it.
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
}
