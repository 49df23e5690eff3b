//! Decodes all pixels of a texture's largest mip, some rows at a time.

use std::io::{Read, Seek, SeekFrom, Write};

use super::error::PictureError;
use super::png::FullPicture;

/// Writes the sides of the largest mip of a texture and its pixels: blue, green, red and alpha. Two textures
/// that write the same bytes show the same picture, even if their formats or their smaller mips differ.
///
/// # Errors
/// [`PictureError`] if the file is not a texture or cannot be decoded. Errors of `out` are
/// [`PictureError::Io`].
pub fn write_pixels(file: &mut (impl Read + Seek), out: &mut impl Write) -> Result<(), PictureError> {
    let len = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    let picture = FullPicture::new(file, len)?;
    file.rewind()?;
    let (width, height) = picture.sides();
    out.write_all(&[width.to_le_bytes(), height.to_le_bytes()].concat())?;
    Ok(picture.each_row(file, |row| out.write_all(row.as_flattened()))?)
}
