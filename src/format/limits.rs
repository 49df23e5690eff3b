//! Options of parsing: limits on what an archive may declare, and whether to accept unknown versions.

use super::error::ParseError;
use crate::limits::{ARCHIVE_ENTRIES_MAX, ARCHIVE_NOTES_MAX, EXTENT_MAX, PACKED_MAX};

/// Limits on what an archive may declare.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of entries of an archive; [`ARCHIVE_ENTRIES_MAX`] by default.
    pub entries: u32,
    /// Maximum unpacked size of an extent in bytes; [`EXTENT_MAX`] by default. Half as much for a
    /// texture whose texels are rearranged into rows.
    pub extent: u32,
    /// Maximum packed size of an extent in bytes; [`PACKED_MAX`] by default.
    pub packed: u32,
    /// Maximum number of notes of a code about an archive; [`ARCHIVE_NOTES_MAX`] by default.
    pub notes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            entries: ARCHIVE_ENTRIES_MAX,
            extent: EXTENT_MAX,
            packed: PACKED_MAX,
            notes: ARCHIVE_NOTES_MAX,
        }
    }
}

impl Limits {
    /// Refuses a count over the limit of entries. `at` is the offset of the count, and `things` is
    /// what it counts.
    pub(super) fn check_count(&self, at: u64, count: u64, things: &str) -> Result<(), ParseError> {
        if count > u64::from(self.entries) {
            Err(ParseError::limit(at, format!("{count} {things}; the limit is {}", self.entries)))
        } else {
            Ok(())
        }
    }
}

/// Options for parsing an archive.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub limits: Limits,
    /// Whether to read unknown versions and kinds by the nearest known layout instead of refusing them.
    pub force: bool,
}
