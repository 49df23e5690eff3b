//! A bounds-checked little-endian cursor over an archive's bytes, records of a fixed size, and the four string forms
//! of the formats.
//!
//! All arithmetic on offsets that came from a file happens here. A read that does not fit returns [`UnexpectedEnd`],
//! which names the field and its offset; nothing here panics or allocates.

#![deny(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions
)]

use std::fmt;
use std::ops::Range;

/// The bytes end before a field does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnexpectedEnd {
    /// Where the field would begin, in bytes from the start of the archive.
    pub at: u64,
    /// The field's name.
    pub what: &'static str,
}

impl fmt::Display for UnexpectedEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the file ends before {} at offset {}", self.what, self.at)
    }
}

/// Makes a range of bytes safe to access, and returns where what is safe ends; `None` where the bytes cannot be read.
///
/// A byte of a mapped file that the disk refuses ends the process with SIGBUS.
pub type Fetch<'a> = dyn Fn(Range<u64>) -> Option<u64> + Sync + 'a;

/// The bytes of an archive: in memory, or mapped and fetched before they are accessed.
#[derive(Clone, Copy)]
pub struct Bytes<'a> {
    all: &'a [u8],
    fetch: Option<&'a Fetch<'a>>,
}

impl<'a> Bytes<'a> {
    /// Bytes of a map.
    pub fn mapped(all: &'a [u8], fetch: &'a Fetch<'a>) -> Self {
        Self { all, fetch: Some(fetch) }
    }

    /// How many there are.
    pub fn len(self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.all.is_empty()
    }

    /// The first `len` of them, or all; none where they cannot be read.
    pub fn first(self, len: u64) -> &'a [u8] {
        let mut reader = Reader::new(self);
        reader.take(len.min(reader.left()), "the first bytes").unwrap_or_default()
    }

    /// Whether they begin with these.
    pub fn starts_with(self, magic: &[u8]) -> bool {
        self.first(u64::try_from(magic.len()).unwrap_or(u64::MAX)) == magic
    }
}

impl fmt::Debug for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({})", self.all.len())
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for Bytes<'a> {
    fn from(all: &'a T) -> Self {
        Self { all: all.as_ref(), fetch: None }
    }
}

/// A position in an archive, and the reads that move it forward.
#[derive(Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
    at: u64,
    /// The bytes from here to this offset may be accessed.
    fetched: u64,
    fetch: Option<&'a Fetch<'a>>,
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reader({:?})", self.range())
    }
}

impl<'a> Reader<'a> {
    /// Reads from the first byte of `archive`.
    pub fn new(archive: impl Into<Bytes<'a>>) -> Self {
        let Bytes { all, fetch } = archive.into();
        Self { rest: all, at: 0, fetched: if fetch.is_some() { 0 } else { u64::MAX }, fetch }
    }

    /// A reader of nothing.
    pub fn empty() -> Self {
        Self::new(&[][..])
    }

    /// Reads from `offset` bytes into `archive`; `what` names what should be there.
    pub fn at(archive: impl Into<Bytes<'a>>, offset: u64, what: &'static str) -> Result<Self, UnexpectedEnd> {
        let mut reader = Self::new(archive);
        reader.skip(offset, what).map_err(|_| UnexpectedEnd { at: offset, what })?;
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

    /// The bytes that are left; none where they cannot be read.
    pub fn bytes(&self) -> &'a [u8] {
        self.clone().take(self.left(), "the rest").unwrap_or_default()
    }

    /// Their offsets, counted from the start of the archive.
    pub fn range(&self) -> Range<u64> {
        self.at..self.at.saturating_add(self.left())
    }

    /// A reader of the bytes up to where `rest`, which began as a clone of this one, has come.
    pub fn until(&self, rest: &Self) -> Self {
        let len = self.rest.len().saturating_sub(rest.rest.len());
        Self { rest: self.rest.get(..len).unwrap_or_default(), ..self.clone() }
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: u64, what: &'static str) -> Result<&'a [u8], UnexpectedEnd> {
        let (end, rest) = (UnexpectedEnd { at: self.at, what }, self.rest);
        self.skip(len, what)?;
        self.fetch(end.at, self.at, what)?;
        Ok(usize::try_from(len).ok().and_then(|len| rest.get(..len)).unwrap_or_default())
    }

    /// Skips `len` bytes, which are not accessed.
    pub fn skip(&mut self, len: u64, what: &'static str) -> Result<(), UnexpectedEnd> {
        let end = UnexpectedEnd { at: self.at, what };
        self.rest = usize::try_from(len).ok().and_then(|len| self.rest.get(len..)).ok_or(end)?;
        self.at = self.at.saturating_add(len);
        Ok(())
    }

    /// Makes the bytes from `start` to `stop` safe to access.
    #[inline]
    fn fetch(&mut self, start: u64, stop: u64, what: &'static str) -> Result<(), UnexpectedEnd> {
        if stop <= self.fetched {
            return Ok(());
        }
        let fetched = self.fetch.and_then(|fetch| fetch(start..stop));
        self.fetched = fetched.ok_or(UnexpectedEnd { at: start, what })?;
        Ok(())
    }

    /// A reader over the next `count` records of `width` bytes each, which this reader skips.
    ///
    /// The product is what a hostile count would overflow, so it is formed here and nowhere else.
    pub fn records(&mut self, count: u32, width: usize, what: &'static str) -> Result<Self, UnexpectedEnd> {
        let at = self.at;
        let len = u64::try_from(width).ok().and_then(|width| width.checked_mul(u64::from(count)));
        let rest = self.take(len.ok_or(UnexpectedEnd { at, what })?, what)?;
        Ok(Self { rest, at, fetched: u64::MAX, fetch: None })
    }

    /// How many whole records of `width` bytes each are left.
    pub fn records_left(&self, width: usize) -> usize {
        self.rest.len().checked_div(width).unwrap_or(0)
    }

    /// The next `N` bytes as a record: one bounds check for all its fields.
    #[inline]
    pub fn record<const N: usize>(&mut self, what: &'static str) -> Result<Record<'a, N>, UnexpectedEnd> {
        let end = UnexpectedEnd { at: self.at, what };
        let (bytes, rest) = self.rest.split_first_chunk::<N>().ok_or(end)?;
        let behind = self.at.saturating_add(u64::try_from(N).unwrap_or(u64::MAX));
        self.fetch(self.at, behind, what)?;
        (self.rest, self.at) = (rest, behind);
        Ok(Record(bytes))
    }

    /// One byte.
    pub fn u8(&mut self, what: &'static str) -> Result<u8, UnexpectedEnd> {
        self.record::<1>(what).map(Record::u8_at::<0>)
    }

    /// Two bytes, least significant first.
    pub fn u16(&mut self, what: &'static str) -> Result<u16, UnexpectedEnd> {
        self.record::<2>(what).map(Record::u16_at::<0>)
    }

    /// Four bytes, least significant first.
    pub fn u32(&mut self, what: &'static str) -> Result<u32, UnexpectedEnd> {
        self.record::<4>(what).map(Record::u32_at::<0>)
    }

    /// Eight bytes, least significant first.
    pub fn u64(&mut self, what: &'static str) -> Result<u64, UnexpectedEnd> {
        self.record::<8>(what).map(Record::u64_at::<0>)
    }

    /// A length byte and that many bytes.
    pub fn bstring(&mut self, what: &'static str) -> Result<&'a [u8], UnexpectedEnd> {
        let len = self.u8(what)?;
        self.take(u64::from(len), what)
    }

    /// A length byte that counts a closing NUL, and that many bytes; the NUL is left off.
    ///
    /// Lengths of 0 and a last byte other than NUL occur in damaged archives: then nothing is left off.
    pub fn bzstring(&mut self, what: &'static str) -> Result<&'a [u8], UnexpectedEnd> {
        let bytes = self.bstring(what)?;
        Ok(bytes.strip_suffix(&[0]).unwrap_or(bytes))
    }

    /// Bytes up to a NUL, which is skipped and left off.
    pub fn zstring(&mut self, what: &'static str) -> Result<&'a [u8], UnexpectedEnd> {
        let (end, mut searched) = (UnexpectedEnd { at: self.at, what }, 0_usize);
        loop {
            let fetched = self.fetched.saturating_sub(self.at).min(self.left());
            let fetched = usize::try_from(fetched).map_err(|_| end)?;
            let found =
                self.rest.get(searched..fetched).unwrap_or_default().iter().position(|&byte| byte == 0);
            if let Some(len) = found.map(|len| searched.saturating_add(len)) {
                let bytes = self.take(u64::try_from(len).unwrap_or(u64::MAX), what)?;
                self.skip(1, what)?;
                return Ok(bytes);
            }
            if fetched == self.rest.len() {
                return Err(end);
            }
            searched = fetched;
            let next = self.at.saturating_add(u64::try_from(searched).unwrap_or(u64::MAX));
            self.fetch(next, next.saturating_add(1), what)?;
        }
    }

    /// A two-byte length and that many bytes.
    pub fn wstring(&mut self, what: &'static str) -> Result<&'a [u8], UnexpectedEnd> {
        let len = self.u16(what)?;
        self.take(u64::from(len), what)
    }
}

/// `N` bytes whose fields are known by their offsets. A format wraps it in a type with a getter for each field, so that
/// an offset is written once, beside the field's name; a field that does not lie within `N` bytes does not compile.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a, const N: usize>(&'a [u8; N]);

impl<'a, const N: usize> Record<'a, N> {
    /// The `LEN` bytes from `OFFSET` on.
    #[inline]
    pub fn bytes_at<const OFFSET: usize, const LEN: usize>(self) -> &'a [u8; LEN] {
        const { assert!(OFFSET.saturating_add(LEN) <= N, "the field does not lie within the record") }
        // The assertion makes both lookups succeed; the compiler leaves one load of them.
        self.0.get(OFFSET..).and_then(<[u8]>::first_chunk).unwrap_or(const { &[0; LEN] })
    }

    /// The byte at `OFFSET`.
    #[inline]
    pub fn u8_at<const OFFSET: usize>(self) -> u8 {
        let [byte] = *self.bytes_at::<OFFSET, 1>();
        byte
    }

    /// Two bytes from `OFFSET` on, least significant first.
    #[inline]
    pub fn u16_at<const OFFSET: usize>(self) -> u16 {
        u16::from_le_bytes(*self.bytes_at::<OFFSET, 2>())
    }

    /// Four bytes from `OFFSET` on, least significant first.
    #[inline]
    pub fn u32_at<const OFFSET: usize>(self) -> u32 {
        u32::from_le_bytes(*self.bytes_at::<OFFSET, 4>())
    }

    /// Eight bytes from `OFFSET` on, least significant first.
    #[inline]
    pub fn u64_at<const OFFSET: usize>(self) -> u64 {
        u64::from_le_bytes(*self.bytes_at::<OFFSET, 8>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_lose_their_terminators_and_move_the_cursor_past_them() {
        let mut reader = Reader::new(b"\x03abc\x03de\0fg\0\x02\0hiz");
        assert_eq!(reader.bstring("b"), Ok(&b"abc"[..]));
        assert_eq!(reader.bzstring("bz"), Ok(&b"de"[..]));
        assert_eq!(reader.zstring("z"), Ok(&b"fg"[..]));
        assert_eq!(reader.wstring("w"), Ok(&b"hi"[..]));
        assert_eq!((reader.position(), reader.left()), (15, 1));
        assert_eq!(reader.zstring("unterminated"), Err(UnexpectedEnd { at: 15, what: "unterminated" }));
    }

    #[test]
    fn a_count_that_overflows_is_an_error_and_no_panic() {
        let mut reader = Reader::new(&[0; 64]);
        assert_eq!(reader.records(u32::MAX, usize::MAX, "records").err().map(|e| e.at), Some(0));
        assert_eq!(reader.take(u64::MAX, "all").err(), Some(UnexpectedEnd { at: 0, what: "all" }));
        assert_eq!(reader.left(), 64, "a read that failed moved the cursor");
    }

    #[test]
    fn fields_of_a_record_are_read_at_their_offsets() {
        let mut reader = Reader::new(&[0xEE, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(
            reader.record::<11>("a long record").err(),
            Some(UnexpectedEnd { at: 0, what: "a long record" })
        );
        let record = reader.record::<9>("a record").unwrap();
        assert_eq!((record.u8_at::<8>(), record.u16_at::<7>()), (8, 0x0807));
        assert_eq!((record.u32_at::<2>(), record.u64_at::<1>()), (0x0504_0302, 0x0807_0605_0403_0201));
        assert_eq!(record.bytes_at::<0, 2>(), &[0xEE, 1]);
        assert_eq!((reader.position(), reader.u8("a byte")), (9, Ok(9)));
    }

    #[test]
    fn a_start_past_the_end_names_that_offset() {
        assert_eq!(Reader::at(&[0; 4], 9, "names").err(), Some(UnexpectedEnd { at: 9, what: "names" }));
    }

    #[test]
    fn what_cannot_be_fetched_is_an_end_and_what_is_skipped_is_not_fetched() {
        // Blocks of 4 bytes; those from 12 on are refused, and so is the second.
        let fetch = |range: Range<u64>| {
            let end = range.end.next_multiple_of(4);
            (end <= 12 && (range.end <= 4 || range.start >= 8)).then_some(end)
        };
        let archive = Bytes::mapped(b"abc\0defghi\0jkl\0", &fetch);
        let end = |at, what| Some(UnexpectedEnd { at, what });
        assert_eq!((archive.first(3), archive.first(5)), (&b"abc"[..], &b""[..]));
        let mut reader = Reader::new(archive);
        assert_eq!(reader.zstring("a"), Ok(&b"abc"[..]));
        assert_eq!(reader.clone().zstring("b").err(), end(4, "b"));
        assert_eq!(reader.clone().u8("c").err(), end(4, "c"));
        assert_eq!(reader.clone().records(3, 1, "d").err(), end(4, "d"));
        assert_eq!(reader.bytes(), b"");
        reader.skip(4, "e").unwrap();
        assert_eq!(reader.zstring("f"), Ok(&b"hi"[..]));
        assert_eq!((reader.u8("g"), reader.u16("h").err()), (Ok(b'j'), end(12, "h")));
    }
}
