//! How much of an archive is accepted, whatever it declares, and whether unknown versions are.

use super::error::ParseError;
use crate::limits::{ARCHIVE_ENTRIES_MAX, ARCHIVE_NOTES_MAX, EXTENT_MAX, PACKED_MAX};

/// The most that is accepted of an archive, whatever it declares.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Entries of one archive; [`ARCHIVE_ENTRIES_MAX`] by default.
    pub entries: u32,
    /// Bytes that one packed extent may become; half as many for a texture whose texels are put into rows. [`EXTENT_MAX`] by
    /// default.
    pub extent: u32,
    /// Bytes that one packed extent may take in its archive; [`PACKED_MAX`] by default.
    pub packed: u32,
    /// Notes kept of one archive; [`ARCHIVE_NOTES_MAX`] by default.
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
    /// Refuses a count of entries that is over the limit; `at` is the count's own offset, `things` what is counted.
    pub(super) fn check_count(&self, at: u64, count: u64, things: &str) -> Result<(), ParseError> {
        match count > u64::from(self.entries) {
            true => Err(ParseError::limit(at, format!("{count} {things}; we hold at most {}", self.entries))),
            false => Ok(()),
        }
    }
}

/// How an archive is to be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The most that is accepted.
    pub limits: Limits,
    /// Read unknown versions and kinds by the nearest layout that is known, instead of refusing them.
    pub force: bool,
}
