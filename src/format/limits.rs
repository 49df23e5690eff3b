//! How much of an archive is accepted, whatever it declares, and whether unknown versions are.

use super::error::ParseError;

/// The most that is accepted of an archive, whatever it declares.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Entries of one archive. Every entry costs at least 16 bytes of table, so that this is an archive whose
    /// tables alone are 256 MiB; the largest known has some 300,000.
    pub entries: u32,
    /// Bytes that one packed extent may become; half as many for a texture whose texels are put into rows. The largest known
    /// texture chunk is some 350 MB.
    pub extent: u32,
    /// Bytes that one packed extent may take in its archive.
    pub packed: u32,
    /// Notes kept of one archive.
    pub notes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { entries: 1 << 24, extent: 1 << 30, packed: 1 << 29, notes: 32 }
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
