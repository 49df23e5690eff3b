//! Lower bounds, measured without a mount: decoding in one thread, bytes that must be decoded, and
//! one pass over the data.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use bsafs::archive_file::ArchiveFile;
use bsafs::content::codec;
use bsafs::format::{Codec, Extent, Limits, Name, parse};

use crate::{Outcome, at, process};

/// Reads and decodes all extents of an archive into one buffer, in one thread. Returns the
/// processor time and the number of decoded bytes.
pub(crate) fn bare(path: &Path) -> Outcome<(Duration, u64)> {
    let mut extents: Vec<Extent> = tables(path, |archive| archive.extents().collect())?;
    extents.sort_unstable_by_key(|extent| extent.offset);
    let file = File::open(path).map_err(at(path))?;
    let (mut packed, mut out, mut bytes) = (Vec::new(), Vec::new(), 0);
    let start = process::own_cpu();
    for extent in &extents {
        packed.resize(extent.packed as usize, 0);
        file.read_exact_at(&mut packed, extent.offset).map_err(at(path))?;
        let (payload, size) = payload(extent, &packed)?;
        bytes += size as u64;
        if extent.codec != Codec::Stored {
            out.resize(size, 0);
            codec::decode(extent.codec, payload, &mut out).map_err(|error| error.to_string())?;
        }
    }
    Ok((process::own_cpu().saturating_sub(start), bytes))
}

/// Decoded size of the last extents of all files together.
pub(crate) fn last_extents(path: &Path) -> Outcome<u64> {
    tables(path, |archive| {
        let mut extents = archive.extents();
        let last = archive
            .entries()
            .filter_map(|entry| extents.nth(usize::from(entry.extents).checked_sub(1)?)?.size);
        last.map(u64::from).sum()
    })
}

/// Reads an archive sequentially with an empty page cache, from the first to the last extent of the
/// files below a folder. Returns the time.
pub(crate) fn one_pass(path: &Path, folder: &[u8]) -> Outcome<Duration> {
    let (from, to) = tables(path, |archive| {
        let mut extents = archive.extents();
        let (mut from, mut to) = (u64::MAX, 0);
        for entry in archive.entries() {
            let is_below =
                matches!(entry.name, Name::Split { folder: Some(name), .. } if name.starts_with(folder));
            for extent in extents.by_ref().take(usize::from(entry.extents)).filter(|_| is_below) {
                from = from.min(extent.offset);
                to = to.max(extent.offset + u64::from(extent.packed));
            }
        }
        (from.min(to), to)
    })?;
    process::drop_caches()?;
    let start = Instant::now();
    let file = File::open(path).map_err(at(path))?;
    let mut buffer = vec![0; 1 << 20];
    let mut offset = from;
    while offset < to {
        let len = (to - offset).min(buffer.len() as u64) as usize;
        file.read_exact_at(&mut buffer[..len], offset).map_err(at(path))?;
        offset += len as u64;
    }
    Ok(start.elapsed())
}

/// Calls a function with the parsed tables of an archive.
fn tables<T>(path: &Path, use_them: impl FnOnce(&bsafs::format::Archive<'_>) -> T) -> Outcome<T> {
    let source = ArchiveFile::open(path).map_err(at(path))?;
    let parsed = source.with_bytes(|bytes| {
        parse(bytes, &Limits::default()).map(|archive| use_them(&archive)).map_err(|error| error.to_string())
    });
    Ok(parsed.map_err(at(path))??)
}

/// The payload after an extent's prefix, and its decoded size in bytes.
fn payload<'a>(extent: &Extent, packed: &'a [u8]) -> Outcome<(&'a [u8], usize)> {
    let skipped = if extent.prefix.name { packed.first().map_or(0, |len| usize::from(*len) + 1) } else { 0 };
    let rest = packed.get(skipped..).ok_or("an extent is shorter than its name")?;
    if !extent.prefix.size {
        return Ok((rest, extent.size.map_or(rest.len(), |size| size as usize)));
    }
    let (size, payload) = rest.split_first_chunk().ok_or("an extent is shorter than its size")?;
    Ok((payload, u32::from_le_bytes(*size) as usize))
}
