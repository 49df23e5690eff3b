//! A bounds-checked little-endian cursor over an archive's bytes, and the four string forms of the formats.
//!
//! All arithmetic on offsets that came from a file happens here. A read that does not fit answers [`Missing`],
//! which names the field and its place; nothing here panics or allocates.

#![deny(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions
)]

use std::fmt;

/// A field that does not fit into the bytes it was to be read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Where the field would begin, in bytes from the start of the archive.
    pub at: u64,
    /// The field's name.
    pub what: &'static str,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the file ends before {} at offset {}", self.what, self.at)
    }
}

/// A position in an archive, and the reads that move it forward.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    at: u64,
}

impl<'a> Reader<'a> {
    /// Reads from the first byte of `archive`.
    pub fn new(archive: &'a [u8]) -> Self {
        Self { rest: archive, at: 0 }
    }

    /// Reads from `offset` bytes into `archive`; `what` names what should be there.
    pub fn at(archive: &'a [u8], offset: u64, what: &'static str) -> Result<Self, Missing> {
        let mut reader = Self::new(archive);
        reader.skip(offset, what).map_err(|_| Missing { at: offset, what })?;
        Ok(reader)
    }

    /// The offset of the next byte, counted from the start of the archive.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// How many bytes are left.
    pub fn left(&self) -> u64 {
        u64::try_from(self.rest.len()).unwrap_or(u64::MAX)
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: u64, what: &'static str) -> Result<&'a [u8], Missing> {
        let missing = Missing { at: self.at, what };
        let split = usize::try_from(len).map_err(|_| missing)?;
        let (taken, rest) = self.rest.split_at_checked(split).ok_or(missing)?;
        self.rest = rest;
        self.at = self.at.saturating_add(len);
        Ok(taken)
    }

    /// Passes over `len` bytes.
    pub fn skip(&mut self, len: u64, what: &'static str) -> Result<(), Missing> {
        self.take(len, what).map(|_| ())
    }

    /// A reader over the next `count` records of `width` bytes, which are passed over here.
    ///
    /// The product is what a hostile count would overflow, so it is formed here and nowhere else.
    pub fn records(&mut self, count: u32, width: u32, what: &'static str) -> Result<Reader<'a>, Missing> {
        let at = self.at;
        let len = u64::from(count).checked_mul(u64::from(width)).ok_or(Missing { at, what })?;
        Ok(Reader { rest: self.take(len, what)?, at })
    }

    /// The next `N` bytes, by value.
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Missing> {
        let missing = Missing { at: self.at, what };
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(missing)?;
        self.rest = rest;
        self.at = self.at.saturating_add(u64::try_from(N).unwrap_or(u64::MAX));
        Ok(*taken)
    }

    /// One byte.
    pub fn u8(&mut self, what: &'static str) -> Result<u8, Missing> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    /// Two bytes, least significant first.
    pub fn u16(&mut self, what: &'static str) -> Result<u16, Missing> {
        self.array(what).map(u16::from_le_bytes)
    }

    /// Four bytes, least significant first.
    pub fn u32(&mut self, what: &'static str) -> Result<u32, Missing> {
        self.array(what).map(u32::from_le_bytes)
    }

    /// Eight bytes, least significant first.
    pub fn u64(&mut self, what: &'static str) -> Result<u64, Missing> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A length byte and that many bytes.
    pub fn bstring(&mut self, what: &'static str) -> Result<&'a [u8], Missing> {
        let len = self.u8(what)?;
        self.take(u64::from(len), what)
    }

    /// A length byte that counts a closing NUL, and that many bytes; the NUL is left off.
    ///
    /// Lengths of 0 and a last byte other than NUL occur in damaged archives: then nothing is left off.
    pub fn bzstring(&mut self, what: &'static str) -> Result<&'a [u8], Missing> {
        let bytes = self.bstring(what)?;
        Ok(bytes.strip_suffix(&[0]).unwrap_or(bytes))
    }

    /// Bytes up to a NUL, which is passed over and left off.
    pub fn zstring(&mut self, what: &'static str) -> Result<&'a [u8], Missing> {
        let missing = Missing { at: self.at, what };
        let len = self.rest.iter().position(|&byte| byte == 0).ok_or(missing)?;
        let bytes = self.take(u64::try_from(len).unwrap_or(u64::MAX), what)?;
        self.skip(1, what)?;
        Ok(bytes)
    }

    /// A two-byte length and that many bytes.
    pub fn wstring(&mut self, what: &'static str) -> Result<&'a [u8], Missing> {
        let len = self.u16(what)?;
        self.take(u64::from(len), what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_lose_their_terminators_and_keep_their_place() {
        let mut reader = Reader::new(b"\x03abc\x03de\0fg\0\x02\0hiz");
        assert_eq!(reader.bstring("b"), Ok(&b"abc"[..]));
        assert_eq!(reader.bzstring("bz"), Ok(&b"de"[..]));
        assert_eq!(reader.zstring("z"), Ok(&b"fg"[..]));
        assert_eq!(reader.wstring("w"), Ok(&b"hi"[..]));
        assert_eq!((reader.position(), reader.left()), (15, 1));
        assert_eq!(reader.zstring("unterminated"), Err(Missing { at: 15, what: "unterminated" }));
    }

    #[test]
    fn a_count_that_overflows_is_missing_not_a_panic() {
        let mut reader = Reader::new(&[0; 64]);
        assert_eq!(reader.records(u32::MAX, u32::MAX, "records").err().map(|e| e.at), Some(0));
        assert_eq!(reader.take(u64::MAX, "all").err(), Some(Missing { at: 0, what: "all" }));
        assert_eq!(reader.left(), 64, "a read that failed moved the cursor");
    }

    #[test]
    fn a_start_beyond_the_end_names_the_wanted_offset() {
        assert_eq!(Reader::at(&[0; 4], 9, "names").err(), Some(Missing { at: 9, what: "names" }));
    }
}
