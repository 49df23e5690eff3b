//! A bounds-checked little-endian reader of an archive's bytes, with records of a fixed size and
//! the four string forms of the formats.
//!
//! All arithmetic on offsets that came from a file happens here. A read that does not fit returns
//! [`UnexpectedEnd`], which names the field and its offset. Nothing here panics or allocates.

#![deny(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions
)]

use std::fmt;
use std::ops::Range;

/// Error if the bytes end before a field does.
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

/// Provides an archive's bytes: reads pieces of them, and keeps the pieces as long as it lives.
pub trait Fetch: Sync {
    /// Returns the bytes from `range.start` on: at least those of `range`, and more if that costs little.
    /// `None` if they cannot be read. If `walks` is set, the caller is likely to need the bytes that follow.
    fn fetch(&self, range: Range<u64>, walks: bool) -> Option<&[u8]>;
}

/// The bytes of an archive, either in memory or read when they are needed.
#[derive(Clone, Copy)]
pub struct Bytes<'a> {
    len: u64,
    /// The first bytes; without `fetch`, all of them.
    first: &'a [u8],
    fetch: Option<&'a (dyn Fetch + 'a)>,
}

impl<'a> Bytes<'a> {
    /// Makes `Bytes` of length `len` that are fetched when they are needed.
    pub fn fetched(len: u64, fetch: &'a (dyn Fetch + 'a)) -> Self {
        Self { len, first: &[], fetch: Some(fetch) }
    }

    pub fn len(self) -> u64 {
        self.len
    }

    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The first `len` bytes, or all if there are fewer; empty if they cannot be read.
    pub fn first(self, len: u64) -> &'a [u8] {
        Reader::new(self).take(len.min(self.len), "the first bytes").unwrap_or_default()
    }

    pub fn starts_with(self, magic: &[u8]) -> bool {
        self.first(len_of(magic)) == magic
    }
}

impl fmt::Debug for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({})", self.len)
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for Bytes<'a> {
    fn from(all: &'a T) -> Self {
        Self { len: len_of(all.as_ref()), first: all.as_ref(), fetch: None }
    }
}

fn len_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// The first `len` of `bytes`, or all if there are fewer.
fn clipped(bytes: &[u8], len: u64) -> &[u8] {
    usize::try_from(len).ok().and_then(|len| bytes.get(..len)).unwrap_or(bytes)
}

/// A position in an archive, and the reads that move it forward.
#[derive(Clone)]
pub struct Reader<'a> {
    /// The bytes from `at` on that are in memory, up to `end` at most.
    here: &'a [u8],
    at: u64,
    end: u64,
    fetch: Option<&'a (dyn Fetch + 'a)>,
    /// Whether this reader has fetched bytes before, as a reader that walks a table does.
    walks: bool,
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reader({:?})", self.range())
    }
}

impl<'a> Reader<'a> {
    /// Reads from the first byte of `archive`.
    pub fn new(archive: impl Into<Bytes<'a>>) -> Self {
        let Bytes { len, first, fetch } = archive.into();
        Self { here: first, at: 0, end: len, fetch, walks: false }
    }

    pub fn empty() -> Self {
        Self::new(&[][..])
    }

    /// Reads from `offset` bytes into `archive`. `what` names what should be there.
    pub fn at(archive: impl Into<Bytes<'a>>, offset: u64, what: &'static str) -> Result<Self, UnexpectedEnd> {
        let mut reader = Self::new(archive);
        reader.skip(offset, what).map_err(|_| UnexpectedEnd { at: offset, what })?;
        Ok(reader)
    }

    /// The offset of the next byte, counted from the start of the archive.
    pub fn position(&self) -> u64 {
        self.at
    }

    pub fn left(&self) -> u64 {
        self.end.saturating_sub(self.at)
    }

    /// The bytes that are left; empty if they cannot be read.
    pub fn bytes(&self) -> &'a [u8] {
        self.clone().take(self.left(), "the rest").unwrap_or_default()
    }

    /// The offsets of the bytes that are left, counted from the start of the archive.
    pub fn range(&self) -> Range<u64> {
        self.at..self.end
    }

    /// A reader of the bytes from here up to the position of `rest`, cloned earlier from this reader.
    pub fn until(&self, rest: &Self) -> Self {
        let end = rest.at.clamp(self.at, self.end);
        Self { here: clipped(self.here, end.saturating_sub(self.at)), end, ..self.clone() }
    }

    /// The next `len` bytes.
    #[inline]
    pub fn take(&mut self, len: u64, what: &'static str) -> Result<&'a [u8], UnexpectedEnd> {
        let end = UnexpectedEnd { at: self.at, what };
        if len > len_of(self.here) {
            self.fetch(len, what)?;
        }
        let len = usize::try_from(len).map_err(|_| end)?;
        let (bytes, rest) = self.here.split_at_checked(len).ok_or(end)?;
        (self.here, self.at) = (rest, self.at.saturating_add(len_of(bytes)));
        Ok(bytes)
    }

    /// Skips `len` bytes without reading them.
    pub fn skip(&mut self, len: u64, what: &'static str) -> Result<(), UnexpectedEnd> {
        if len > self.left() {
            return Err(UnexpectedEnd { at: self.at, what });
        }
        self.here = usize::try_from(len).ok().and_then(|len| self.here.get(len..)).unwrap_or_default();
        self.at = self.at.saturating_add(len);
        Ok(())
    }

    /// Fetches the next `len` bytes, which are not all in memory, so that `here` begins with them.
    #[cold]
    fn fetch(&mut self, len: u64, what: &'static str) -> Result<(), UnexpectedEnd> {
        let end = UnexpectedEnd { at: self.at, what };
        let stop = self.at.checked_add(len).filter(|&stop| stop <= self.end).ok_or(end)?;
        let fetched = self.fetch.and_then(|it| it.fetch(self.at..stop, self.walks)).ok_or(end)?;
        (self.here, self.walks) = (clipped(fetched, self.left()), true);
        Ok(())
    }

    /// A reader of the next `count` records of `width` bytes each, which this reader skips.
    ///
    /// A hostile count could overflow the product, so only this function computes it.
    pub fn records(&mut self, count: u32, width: usize, what: &'static str) -> Result<Self, UnexpectedEnd> {
        let at = self.at;
        let len = u64::try_from(width).ok().and_then(|width| width.checked_mul(u64::from(count)));
        let here = self.take(len.ok_or(UnexpectedEnd { at, what })?, what)?;
        Ok(Self { here, at, end: self.at, fetch: None, walks: false })
    }

    /// How many whole records of `width` bytes each are left.
    pub fn records_left(&self, width: usize) -> usize {
        let width = u64::try_from(width).unwrap_or(u64::MAX);
        let count = self.left().checked_div(width).unwrap_or(0);
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    /// The next `N` bytes as a record: one bounds check for all its fields.
    #[inline]
    pub fn record<const N: usize>(&mut self, what: &'static str) -> Result<Record<'a, N>, UnexpectedEnd> {
        let len = u64::try_from(N).unwrap_or(u64::MAX);
        if N > self.here.len() {
            self.fetch(len, what)?;
        }
        let end = UnexpectedEnd { at: self.at, what };
        let (bytes, rest) = self.here.split_first_chunk::<N>().ok_or(end)?;
        (self.here, self.at) = (rest, self.at.saturating_add(len));
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

    /// A length byte that counts a closing NUL, and that many bytes. The NUL is left off.
    ///
    /// Damaged archives have lengths of 0 and last bytes other than NUL. In that case nothing is left off.
    pub fn bzstring(&mut self, what: &'static str) -> Result<&'a [u8], UnexpectedEnd> {
        let bytes = self.bstring(what)?;
        Ok(bytes.strip_suffix(&[0]).unwrap_or(bytes))
    }

    /// Bytes up to a NUL, which is skipped and left off.
    pub fn zstring(&mut self, what: &'static str) -> Result<&'a [u8], UnexpectedEnd> {
        let end = UnexpectedEnd { at: self.at, what };
        let mut searched = 0_usize;
        loop {
            let more = self.here.get(searched..).unwrap_or_default();
            let found = more.iter().position(|&byte| byte == 0);
            if let Some(len) = found.map(|len| searched.saturating_add(len)) {
                let bytes = self.here.get(..len).ok_or(end)?;
                self.skip(len_of(bytes).saturating_add(1), what)?;
                return Ok(bytes);
            }
            searched = self.here.len();
            // Each fetch reads all bytes anew. Doubling their number keeps the cost in proportion
            // to the length of the string.
            let more = len_of(self.here).max(1).saturating_mul(2).min(self.left());
            if more == len_of(self.here) {
                return Err(end);
            }
            self.fetch(more, what).map_err(|_| end)?;
        }
    }

    /// A two-byte length and that many bytes.
    #[inline]
    pub fn wstring(&mut self, what: &'static str) -> Result<&'a [u8], UnexpectedEnd> {
        let len = self.u16(what)?;
        self.take(u64::from(len), what)
    }
}

/// A record of `N` bytes whose fields have fixed offsets. A format wraps it in a type with a getter for each
/// field, so that each offset is written once, next to the field's name. A field that does not lie within the
/// `N` bytes does not compile.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a, const N: usize>(&'a [u8; N]);

impl<'a, const N: usize> Record<'a, N> {
    /// The `LEN` bytes from `OFFSET` on.
    #[inline]
    pub fn bytes_at<const OFFSET: usize, const LEN: usize>(self) -> &'a [u8; LEN] {
        const { assert!(OFFSET.saturating_add(LEN) <= N, "the field does not lie within the record") }
        // The assertion guarantees that both lookups succeed. The compiler reduces them to one load.
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
