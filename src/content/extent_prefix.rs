//! The prefix of an extent, in front of its payload: an embedded name, an unpacked size, both or neither.
//! Some sizes are stated only there.

use std::ops::Range;
use std::sync::PoisonError;

use super::archive_content::ArchiveContent;
use super::error::Reason;
use crate::archive_file::ArchiveReadError;
use crate::format::ExtentPrefix;

/// Maximum length of a prefix in bytes: a length byte, 255 bytes of name, a u32.
pub(super) const MAX: usize = 260;

/// What a prefix states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ParsedPrefix {
    /// Offset of the payload in the extent, in bytes.
    pub(super) payload: u32,
    /// Unpacked size of the payload, in bytes.
    pub(super) size: u32,
}

impl ArchiveContent {
    /// Unpacked size of an extent. If only its prefix states the size, the first call reads the prefix.
    pub(super) fn size(&self, index: u32) -> Result<u32, Reason> {
        let extent = self.extent(index);
        if let Some(size) = extent.size {
            return Ok(size);
        }
        let range = self.prefix_range(index);
        let mut first = [0; MAX];
        let first = &mut first[..(range.end - range.start) as usize];
        match self.file.read_exact_at(first, range.start) {
            Ok(()) => Ok(self.parse_prefix(index, first)?.size),
            Err(fault) => {
                if matches!(fault, ArchiveReadError::Beyond) {
                    self.note_bad_prefix(index);
                }
                Err(fault.into())
            }
        }
    }

    /// The bytes of the archive that an extent's prefix may occupy.
    pub(super) fn prefix_range(&self, index: u32) -> Range<u64> {
        let extent = self.extent(index);
        extent.offset..extent.offset + u64::from(extent.packed).min(MAX as u64)
    }

    /// Whether an extent's size can never be learnt, even from a sound disk.
    pub(super) fn is_size_lost(&self, index: u32) -> bool {
        let bad = self.bad_prefixes.lock().unwrap_or_else(PoisonError::into_inner);
        self.file.is_changed() || bad.contains(&index)
    }

    fn note_bad_prefix(&self, index: u32) {
        self.bad_prefixes.lock().unwrap_or_else(PoisonError::into_inner).insert(index);
    }

    /// Parses the prefix of an extent from its first bytes, and keeps the size that it states.
    pub(super) fn parse_prefix(&self, index: u32, first: &[u8]) -> Result<ParsedPrefix, Reason> {
        let extent = self.extent(index);
        let parsed =
            parse(extent.prefix, first, extent.packed).inspect_err(|_| self.note_bad_prefix(index))?;
        self.tables.extents.set_size(index, parsed.size);
        Ok(parsed)
    }
}

/// Parses the prefix of an extent of `packed` bytes from its `first` bytes.
///
/// An extent that ends where its size should begin is an empty file. Some packers write those
/// (FORMATS.md 1.6, 4).
fn parse(prefix: ExtentPrefix, first: &[u8], packed: u32) -> Result<ParsedPrefix, Reason> {
    let mut payload = 0;
    if prefix.name && packed > 0 {
        payload = u32::from(*first.first().ok_or(Reason::BeyondEnd)?) + 1;
    }
    let left = packed.checked_sub(payload).ok_or(Reason::Prefix)?;
    match (prefix.size, left) {
        (false, _) => Ok(ParsedPrefix { payload, size: left }),
        (true, 0) => Ok(ParsedPrefix { payload, size: 0 }),
        (true, 1..=3) => Err(Reason::Prefix),
        (true, _) => {
            let size =
                first.get(payload as usize..).and_then(<[u8]>::first_chunk).ok_or(Reason::BeyondEnd)?;
            Ok(ParsedPrefix { payload: payload + 4, size: u32::from_le_bytes(*size) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: ExtentPrefix = ExtentPrefix { name: true, size: true };
    const NAME: ExtentPrefix = ExtentPrefix { name: true, size: false };
    const SIZE: ExtentPrefix = ExtentPrefix { name: false, size: true };

    #[test]
    fn the_payload_begins_after_name_and_size() {
        assert_eq!(parse(BOTH, b"\x02ab\x09\0\0\0xyz", 10), Ok(ParsedPrefix { payload: 7, size: 9 }));
        assert_eq!(parse(NAME, b"\x02abxyz", 6), Ok(ParsedPrefix { payload: 3, size: 3 }));
        assert_eq!(parse(SIZE, b"\x09\0\0\0xyz", 7), Ok(ParsedPrefix { payload: 4, size: 9 }));
    }

    #[test]
    fn every_form_of_an_empty_file_is_empty() {
        assert_eq!(parse(NAME, b"\x02ab", 3), Ok(ParsedPrefix { payload: 3, size: 0 }));
        assert_eq!(parse(SIZE, b"\0\0\0\0", 4), Ok(ParsedPrefix { payload: 4, size: 0 }));
        assert_eq!(parse(BOTH, b"\x02ab", 3), Ok(ParsedPrefix { payload: 3, size: 0 }));
        assert_eq!(parse(SIZE, b"", 0), Ok(ParsedPrefix { payload: 0, size: 0 }));
    }

    #[test]
    fn a_prefix_longer_than_its_extent_is_refused() {
        assert_eq!(parse(NAME, b"\x09ab", 3), Err(Reason::Prefix));
        assert_eq!(parse(SIZE, b"\x09\0\0", 3), Err(Reason::Prefix));
        assert_eq!(parse(BOTH, b"\x02ab\x09\0", 5), Err(Reason::Prefix));
    }
}
