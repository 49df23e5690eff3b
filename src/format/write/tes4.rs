//! The tables of the TES4 family (FORMATS.md 1.1 to 1.5).

use super::new_entry::{Block, NewEntry, TableBytes, TableError, len, stored_flags};
use crate::format::tes4::{FILE_RECORD_LEN, HEADER_LEN, INVERTED, MAGIC, SIZE_MASK};
use crate::format::tes4_flag as flag;

/// The name of the folder that has the files of the root, as Bethesda's packer writes it.
const ROOT: &[u8] = b".";

/// Length of a folder's record, in bytes.
fn folder_record(version: u32) -> u64 {
    if version == 105 { 24 } else { 16 }
}

/// The files of each folder. They are sorted by their hashes, and a folder's files by theirs.
fn folders(files: &[NewEntry]) -> impl Iterator<Item = &[NewEntry]> {
    files.chunk_by(|a, b| a.path.hash().folder == b.path.hash().folder)
}

fn folder_name(files: &[NewEntry]) -> &[u8] {
    match files.first().map(|file| file.path.folder()) {
        Some(name) if !name.is_empty() => name,
        _ => ROOT,
    }
}

/// Length of a folder's name with its NUL, in bytes.
fn name_len(files: &[NewEntry]) -> u64 {
    len(folder_name(files).len()).saturating_add(1)
}

/// Length of all names of files with their NULs, in bytes.
fn file_names_len(files: &[NewEntry]) -> u64 {
    files.iter().fold(0u64, |sum, file| sum.saturating_add(len(file.path.name().len())).saturating_add(1))
}

/// Length of a folder's block, in bytes.
fn block_len(files: &[NewEntry]) -> u64 {
    let records = len(FILE_RECORD_LEN).saturating_mul(len(files.len()));
    name_len(files).saturating_add(1).saturating_add(records)
}

pub(super) fn data_start(version: u32, files: &[NewEntry]) -> u64 {
    folders(files).fold(HEADER_LEN.saturating_add(file_names_len(files)), |sum, folder| {
        sum.saturating_add(folder_record(version)).saturating_add(block_len(folder))
    })
}

pub(super) fn head(
    version: u32,
    (flags, content): (u32, u16),
    files: &[NewEntry],
    blocks: &[Vec<Block>],
) -> Result<Vec<u8>, TableError> {
    let with_data = || blocks.iter().flatten().filter(|block| block.size > 0);
    let packed = with_data().filter(|block| block.is_packed).count();
    // What most files are needs no bit of its own.
    let is_packed = packed > with_data().count() / 2;
    let flags = if is_packed { flags | flag::COMPRESSED } else { flags };
    let count = folders(files).count();
    let mut out = TableBytes::default();
    out.bytes(MAGIC);
    out.u32(version);
    out.word(HEADER_LEN)?;
    out.u32(flags);
    out.word(count)?;
    out.word(files.len())?;
    out.word(folders(files).fold(0u64, |sum, folder| sum.saturating_add(name_len(folder))))?;
    let names = file_names_len(files);
    out.word(names)?;
    out.u16(stored_flags(content));
    out.u16(0);
    let mut at =
        HEADER_LEN.saturating_add(folder_record(version).saturating_mul(len(count))).saturating_add(names);
    for folder in folders(files) {
        out.u64(folder.first().map_or(0, |file| file.path.hash().folder));
        out.word(folder.len())?;
        match version {
            105 => {
                out.u32(0);
                out.u64(at);
            }
            _ => out.word(at)?,
        }
        at = at.saturating_add(block_len(folder));
    }
    let mut blocks = blocks.iter();
    for folder in folders(files) {
        let name = folder_name(folder);
        out.u8(u8::try_from(name_len(folder)).map_err(|_| TableError::TooLarge)?);
        out.bytes(name);
        out.u8(0);
        for file in folder {
            let block = blocks.next().and_then(|blocks| blocks.first()).ok_or(TableError::Blocks)?;
            if block.len > SIZE_MASK {
                return Err(TableError::TooLarge);
            }
            // An empty file has no size word, so it is not compressed.
            let inverts = block.is_packed != is_packed;
            out.u64(file.path.hash().file);
            out.u32(block.len | if inverts { INVERTED } else { 0 });
            out.word(block.offset)?;
        }
    }
    for file in files {
        out.bytes(file.path.name());
        out.u8(0);
    }
    Ok(out.0)
}
