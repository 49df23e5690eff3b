//! The tables of Morrowind's archives (FORMATS.md 2.1).

use super::new_entry::{Block, NewEntry, TableBytes, TableError, len};
use crate::format::tes3::{HASH_LEN, HEADER_LEN, MAGIC, NAME_OFFSET_LEN, RECORD_LEN};

pub(super) fn data_start(files: &[NewEntry]) -> u64 {
    hashes_start(files).saturating_add(len(HASH_LEN).saturating_mul(len(files.len())))
}

fn hashes_start(files: &[NewEntry]) -> u64 {
    let each = len(RECORD_LEN).saturating_add(len(NAME_OFFSET_LEN));
    let records = each.saturating_mul(len(files.len()));
    files.iter().fold(HEADER_LEN.saturating_add(records), |sum, file| {
        sum.saturating_add(len(file.path.bytes().len())).saturating_add(1)
    })
}

pub(super) fn head(files: &[NewEntry], blocks: &[Vec<Block>]) -> Result<Vec<u8>, TableError> {
    let (mut out, start) = (TableBytes::default(), data_start(files));
    out.bytes(&MAGIC);
    out.word(hashes_start(files).saturating_sub(HEADER_LEN))?;
    out.word(files.len())?;
    for blocks in blocks {
        let block = blocks.first().ok_or(TableError::Blocks)?;
        out.u32(block.len);
        out.word(block.offset.saturating_sub(start))?;
    }
    let mut offset = 0u64;
    for file in files {
        out.word(offset)?;
        offset = offset.saturating_add(len(file.path.bytes().len())).saturating_add(1);
    }
    for file in files {
        out.bytes(file.path.bytes());
        out.u8(0);
    }
    for file in files.iter() {
        out.u64(file.path.hash().file);
    }
    Ok(out.0)
}
