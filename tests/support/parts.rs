//! An archive as pieces at offsets. Most tests join them in memory. A few write them to a sparse
//! file, because the archive is too large for memory.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Pieces of a file, each with its offset in bytes. Between them are zeros.
pub type Parts = Vec<(u64, Vec<u8>)>;

/// Joins the pieces in memory.
///
/// # Panics
/// If the file has 64 MiB or more. Use [`write_sparse`] for such files.
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

/// Writes the pieces to a file with holes, which takes only kilobytes of disk for gigabytes of file.
pub fn write_sparse(path: &Path, parts: &Parts) -> std::io::Result<()> {
    let file = File::create(path)?;
    parts.iter().try_for_each(|(at, bytes)| file.write_all_at(bytes, *at))
}

/// Assigns offsets to pieces of data, one after another.
pub(super) struct Placer {
    next: u64,
    pub(super) parts: Parts,
}

impl Placer {
    /// A placer whose first piece begins at `next`.
    pub(super) fn new(next: u64) -> Self {
        Self { next, parts: Parts::new() }
    }

    /// Places `bytes` after `gap`, and returns their offset. If `at` is given, places them there,
    /// and the offsets of later data stay as they are.
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

    /// The offset at which the data ends.
    pub(super) fn end(&self) -> u64 {
        self.next
    }
}
