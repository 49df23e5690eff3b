//! Makes the thumbnail of a texture file. However large the file is, only its header and one mip are read.

use std::io::{self, Cursor, Read, Seek, SeekFrom};

use super::error::PictureError;
use super::shrinker::{Image, Shrinker};
use super::texels::{RowsToShrink, Texels};
use crate::texture::file_header::{FileHeader, HEADER_MAX};
use crate::texture::tiling::{self, Surface};

/// Maximum side of a thumbnail, in pixels.
pub const SIZE_MAX: u32 = 2048;

/// First mip of the last chunk, as Archive2 makes them (FORMATS.md section 3.4). All smaller mips
/// follow it in one stream.
const LAST_CHUNK: u32 = 3;
/// Bytes of texels to read at once, or one row if that is longer. Few large reads are best, because
/// a mount decodes an extent from its beginning for each read.
const PIECE: u64 = 4 << 20;
/// Maximum length of tiled texels, which are read as a whole: enough for 8,192 by 8,192 pixels in
/// BC7 with all mips.
const TILED_MAX: u64 = 96 << 20;

/// Makes the thumbnail of a texture file. Its longest side is `size` pixels, or fewer if the texture is
/// smaller. It shows the first face of a cube, and the first slice of a volume. If the file lacks its small
/// mips, a larger one is shrunk.
pub fn thumbnail(file: &mut (impl Read + Seek), size: u32) -> Result<Image, PictureError> {
    thumbnail_and_alpha(file, size).map(|(image, _)| image)
}

/// Makes a thumbnail as [`thumbnail`] does, and one of alpha as brightness, unless all pixels are opaque.
pub fn thumbnail_and_alpha(
    file: &mut (impl Read + Seek),
    size: u32,
) -> Result<(Image, Option<Image>), PictureError> {
    let (header, len) = read_header(file)?;
    let unsupported = || PictureError::Format(header.format_name());
    let texels = Texels::of(&header).ok_or_else(unsupported)?;
    let size = size.clamp(1, SIZE_MAX);
    let mip = needed_mip(&header, size);
    let (mip, start) = present_mip(&header, mip, len).ok_or_else(unsupported)??;
    let (row_len, rows) = header.mip_rows(mip).ok_or_else(unsupported)?;
    if let Some(tile_mode) = header.tile_mode {
        let mut in_rows = Cursor::new(in_rows(file, &header, tile_mode, len)?);
        in_rows.set_position(start - header.len);
        return decode(&mut in_rows, &texels, header.mip_sides(mip), size, (row_len, rows));
    }
    file.seek(SeekFrom::Start(start))?;
    decode(file, &texels, header.mip_sides(mip), size, (row_len, rows))
}

/// Reads the header of a texture file. Returns it with the length of the file.
fn read_header(file: &mut (impl Read + Seek)) -> Result<(FileHeader, u64), PictureError> {
    let len = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    Ok((next_header(file, len)?, len))
}

/// Reads the header of a texture file of `len` bytes from its beginning.
pub(super) fn next_header(file: &mut impl Read, len: u64) -> Result<FileHeader, PictureError> {
    Ok(FileHeader::parse(&first_bytes(file)?, len)?)
}

/// The first bytes of a file, as many as a header may have.
pub(super) fn first_bytes(file: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(HEADER_MAX);
    file.take(HEADER_MAX as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The mip to shrink: the smallest whose longest side has at least `size` pixels, otherwise the largest.
fn needed_mip(header: &FileHeader, size: u32) -> u32 {
    let is_enough = |mip: &u32| {
        let (width, height) = header.mip_sides(*mip);
        width.max(height) >= size
    };
    match (0..header.mips).rev().find(is_enough).unwrap_or(0) {
        // Decoding this mip would decode the one before it anyway, and that is large enough.
        it if it == LAST_CHUNK + 1 => LAST_CHUNK,
        it => it,
    }
}

/// A mip of which a file of `len` bytes has the first slice, and where it begins: `mip`, or else the next
/// larger one. `None` if the format has no rows.
fn present_mip(header: &FileHeader, mip: u32, len: u64) -> Option<Result<(u32, u64), PictureError>> {
    let mut needed = 0;
    for mip in (0..=mip).rev() {
        let (row_len, rows) = header.mip_rows(mip)?;
        let start = header.len + header.mip_offset(mip)?;
        needed = start + row_len * u64::from(rows);
        // The texels of a console have another length.
        if needed <= len || header.tile_mode.is_some() {
            return Some(Ok((mip, start)));
        }
    }
    Some(Err(PictureError::CutOff { len, needed }))
}

/// Decodes and shrinks the mip at the reader's position, which has `rows` rows of `row_len` bytes.
fn decode(
    file: &mut impl Read,
    texels: &Texels,
    (width, height): (u32, u32),
    size: u32,
    (row_len, rows): (u64, u32),
) -> Result<(Image, Option<Image>), PictureError> {
    let longest = width.max(height);
    let to = |side: u32| if longest > size { ((side * size + longest / 2) / longest).max(1) } else { side };
    let shrunk = (to(width), to(height));
    let mut area = Shrinker::new((width, height), shrunk, texels.transfer(), texels.alpha());
    let mut rows_to_shrink = RowsToShrink::new(texels, width as usize);
    let rows_at_once = (PIECE / row_len).clamp(1, u64::from(rows));
    let mut piece = vec![0; (row_len * rows_at_once) as usize];
    let mut left = u64::from(rows);
    while left > 0 {
        let taken = rows_at_once.min(left);
        let piece = &mut piece[..(row_len * taken) as usize];
        file.read_exact(piece)?;
        for row in piece.chunks_exact(row_len as usize) {
            rows_to_shrink.shrink(row, &mut area);
        }
        left -= taken;
    }
    Ok(area.finish())
}

/// Reads the texels of a console's texture and arranges them in rows. The file has `len` bytes.
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
        // A GPU stores the faces of a cube within each mip, but a DDS file stores the mips within each face.
        tiling::LINEAR if texture.cube && texture.mips > 1 => return Err(unknown()),
        // If the length differs, the guess about some field of the header is wrong.
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
