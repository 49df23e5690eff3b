//! Notes: what is unusual about an archive without being an error.

use super::extent::Extent;
use super::limits::Limits;

/// An unusual property of an archive that is not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatNote {
    /// Where it is, in bytes from the start of the archive.
    pub at: u64,
    /// What it is.
    pub what: String,
}

/// Collects notes up to a limit, so that a hostile archive cannot fill the memory with them.
#[derive(Debug)]
pub(super) struct Notes {
    pub(super) kept: Vec<FormatNote>,
    limit: usize,
}

impl Notes {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { kept: Vec::new(), limit: limits.notes }
    }

    pub(super) fn add(&mut self, at: u64, what: impl FnOnce() -> String) {
        if self.kept.len() < self.limit {
            self.kept.push(FormatNote { at, what: what() });
        }
    }

    /// Adds a note if extents end past the end of the archive. `things` is the user's word for them.
    pub(super) fn add_past_end(&mut self, past_end: &PastEnd, things: &str) {
        let PastEnd { len, count } = past_end;
        if *count > 0 {
            self.add(*len, || {
                format!(
                    "the archive seems cut off: the data of {count} {things} lies beyond its end; download \
                     or copy it again"
                )
            });
        }
    }
}

/// Counts the extents that end past the end of an archive.
#[derive(Debug)]
pub(super) struct PastEnd {
    /// Length of the archive in bytes.
    len: u64,
    count: u32,
}

impl PastEnd {
    pub(super) fn new(len: u64) -> Self {
        Self { len, count: 0 }
    }

    pub(super) fn check(&mut self, extent: &Extent) {
        let is_past_end = extent.offset.saturating_add(u64::from(extent.packed)) > self.len;
        self.count = self.count.saturating_add(u32::from(is_past_end));
    }
}
