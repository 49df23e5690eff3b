//! The tables of BA2 archives (FORMATS.md 3.1 to 3.4, and 3.6).

use super::new_entry::{Block, NewEntry, TableBytes, TableError};
use crate::format::ba2::{Kind as Ba2Kind, MAGIC, SENTINEL};
use crate::texture::tiling::LINEAR;

/// The compression number of version 3: LZ4 blocks.
const LZ4: u32 = 3;

fn header_len(version: u32) -> u64 {
    match version {
        2 => 32,
        3 => 36,
        _ => 24,
    }
}

fn kind(file: &NewEntry) -> Ba2Kind {
    if file.texture.is_some() { Ba2Kind::Textures } else { Ba2Kind::General }
}

fn chunks(file: &NewEntry) -> usize {
    file.texture.as_ref().map_or(1, |texture| texture.chunks.len())
}

pub(super) fn data_start(version: u32, files: &[NewEntry]) -> u64 {
    files.iter().fold(header_len(version), |sum, file| {
        let chunks = kind(file).chunks_len(u8::try_from(chunks(file)).unwrap_or(u8::MAX));
        sum.saturating_add(u64::from(kind(file).record_len())).saturating_add(chunks)
    })
}

pub(super) fn head(
    version: u32,
    has_textures: bool,
    files: &[NewEntry],
    blocks: &[Vec<Block>],
    end: u64,
) -> Result<Vec<u8>, TableError> {
    let mut out = TableBytes::default();
    let archive = if has_textures { Ba2Kind::Textures } else { Ba2Kind::General };
    out.bytes(MAGIC);
    out.u32(version);
    out.bytes(archive.code().as_bytes());
    out.word(files.len())?;
    out.u64(end);
    if matches!(version, 2 | 3) {
        out.u64(1);
    }
    if version == 3 {
        out.u32(LZ4);
    }
    for (file, blocks) in files.iter().zip(blocks) {
        if blocks.len() != chunks(file) || has_textures != file.texture.is_some() {
            return Err(TableError::Blocks);
        }
        let [e, f, g, h, a, b, c, d] = file.path.hash().file.to_le_bytes();
        out.bytes(&[a, b, c, d, e, f, g, h]);
        out.word(file.path.hash().folder)?;
        out.u8(0);
        out.u8(u8::try_from(blocks.len()).map_err(|_| TableError::TooLarge)?);
        out.u16(archive.record_len());
        let mips = match &file.texture {
            None => &[(0, 0)][..],
            Some(texture) => {
                let dds = &texture.dds;
                out.u16(dds.height);
                out.u16(dds.width);
                out.bytes(&[dds.mips, dds.format, u8::from(dds.cube), LINEAR]);
                &texture.chunks
            }
        };
        for (block, (first, last)) in blocks.iter().zip(mips) {
            out.u64(block.offset);
            out.u32(if block.is_packed { block.len } else { 0 });
            out.u32(block.size);
            if has_textures {
                out.u16(*first);
                out.u16(*last);
            }
            out.u32(SENTINEL);
        }
    }
    Ok(out.0)
}

pub(super) fn tail(files: &[NewEntry]) -> Result<Vec<u8>, TableError> {
    let mut out = TableBytes::default();
    for file in files {
        let name = file.path.bytes();
        out.u16(u16::try_from(name.len()).map_err(|_| TableError::TooLarge)?);
        out.bytes(name);
    }
    Ok(out.0)
}

#[cfg(test)]
mod tests {
    use super::super::new_entry::len;
    use super::*;

    #[test]
    fn a_header_has_the_length_of_its_version() {
        for version in [1, 2, 3, 7, 8] {
            let head = head(version, false, &[], &[], 0).unwrap_or_default();
            assert_eq!(len(head.len()), header_len(version));
        }
    }
}
