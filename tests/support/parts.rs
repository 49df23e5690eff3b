//! An archive as pieces at offsets: for most tests one run of bytes, for a few an archive too large for memory.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Pieces of a file and the offset of each, in bytes. Between them are zeros.
pub type Parts = Vec<(u64, Vec<u8>)>;

/// The whole file in memory.
///
/// # Panics
/// From 64 MiB on: use [`write_sparse`].
pub fn dense(parts: &Parts) -> Vec<u8> {
    let end = parts.iter().map(|(at, bytes)| at + bytes.len() as u64).max().unwrap_or(0);
    assert!(end < 64 << 20, "{end} bytes are too many for memory");
    let mut out = vec![0; end as usize];
    for (at, bytes) in parts {
        let at = *at as usize;
        out[at..at + bytes.len()].copy_from_slice(bytes);
    }
    out
}

/// Writes a file with holes: gigabytes of offset, kilobytes of disk.
pub fn write_sparse(path: &Path, parts: &Parts) -> std::io::Result<()> {
    let file = File::create(path)?;
    parts.iter().try_for_each(|(at, bytes)| file.write_all_at(bytes, *at))
}

/// Assigns offsets to data, one after the other.
pub(super) struct Placer {
    next: u64,
    pub(super) parts: Parts,
}

impl Placer {
    /// Data begin at `next`.
    pub(super) fn new(next: u64) -> Self {
        Self { next, parts: Parts::new() }
    }

    /// Puts `bytes` after `gap`, or at `at`, which does not change the offsets of later data.
    pub(super) fn place(&mut self, at: Option<u64>, gap: &[u8], bytes: Vec<u8>) -> u64 {
        if let Some(at) = at {
            self.parts.push((at, bytes));
            return at;
        }
        let at = self.next + gap.len() as u64;
        self.next = at + bytes.len() as u64;
        self.parts.push((at - gap.len() as u64, gap.to_vec()));
        self.parts.push((at, bytes));
        at
    }

    /// Where the data ends.
    pub(super) fn end(&self) -> u64 {
        self.next
    }
}
