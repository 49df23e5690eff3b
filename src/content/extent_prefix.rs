//! The prefix of an extent, in front of its payload: an embedded name, an unpacked size, both or neither.

use super::error::Reason;
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

/// Parses the prefix of an extent of `packed` bytes from its `first` bytes.
///
/// An extent that ends where its size should begin is an empty file. Some packers write those
/// (FORMATS.md 1.6, 4).
pub(super) fn parse(prefix: ExtentPrefix, first: &[u8], packed: u32) -> Result<ParsedPrefix, Reason> {
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
