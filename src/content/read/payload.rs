//! The bytes of one extent as its archive stores them: the prefix, and the payload behind it.

use std::ops::{Deref, Range};
use std::sync::atomic::Ordering;

use super::archive_content::ArchiveContent;
use super::extent_prefix::{self, PREFIX_MAX, ParsedPrefix};
use crate::archive_file::ArchiveReadError;
use crate::content::cache::{Buffer, LARGE, Reservation};
use crate::content::error::Reason;
use crate::shown::Shown;

/// The payload of an extent, or its first bytes. It dereferences to the bytes within the stated length.
pub(crate) struct Payload {
    packed: Buffer,
    start: usize,
    /// The end of the stated length.
    end: usize,
    /// Whether this is the whole payload.
    pub(super) is_all: bool,
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.packed[self.start..self.end]
    }
}

impl Payload {
    /// The whole payload, for its decoder.
    pub(super) fn bytes(&self) -> PayloadBytes<'_> {
        // If the stated length leaves out the prefix, the payload is longer by the length of the prefix.
        let end = self.end.saturating_add(self.start).min(self.packed.len());
        PayloadBytes { stated: self, extended: &self.packed[self.start..end] }
    }
}

/// A whole payload.
#[derive(Clone, Copy)]
pub(crate) struct PayloadBytes<'a> {
    /// The bytes within the stated length.
    pub(super) stated: &'a [u8],
    /// The bytes if the stated length leaves out the prefix. They may be the same.
    pub(super) extended: &'a [u8],
}

impl<'a> From<&'a [u8]> for PayloadBytes<'a> {
    fn from(stated: &'a [u8]) -> Self {
        Self { stated, extended: stated }
    }
}

impl ArchiveContent {
    /// Fills `out` from a stored extent of `size` bytes, starting `offset` bytes into it.
    pub(super) fn read_stored(
        &self,
        index: u32,
        size: u32,
        offset: u64,
        out: &mut [u8],
    ) -> Result<(), Reason> {
        let extent = self.tables.extent(index);
        // A stored extent is its prefix and its data, so the prefix has the length that the data leaves.
        let prefix_len = extent.packed.checked_sub(size).ok_or(Reason::Prefix)?;
        let at = extent.offset.checked_add(u64::from(prefix_len)).and_then(|at| at.checked_add(offset));
        Ok(self.file.read_exact_at(out, at.ok_or(Reason::BeyondEnd)?)?)
    }

    /// Reads the first `len` bytes of an extent's payload, or all of a shorter one. Waits for the
    /// device, and for memory if `len` is large.
    pub(super) fn read_payload(&self, index: u32, len: u64) -> Result<Payload, Reason> {
        let extent = self.tables.extent(index);
        // Checked before a buffer is allocated, because an archive can state any packed length. A stream that
        // passes the end of the archive may still be whole.
        let available = self.available(&extent);
        if available == 0 && extent.packed > 0 {
            return Err(Reason::BeyondEnd);
        }
        let prefix_len = if extent.prefix.is_none() { 0 } else { PREFIX_MAX as u64 };
        let len = len.saturating_add(prefix_len).min(available);
        let is_all = len == available;
        // The bytes behind the stated length cost no read.
        let behind = self.file.len() - extent.offset - available;
        let more = if is_all { prefix_len.min(behind) } else { 0 };
        let size = usize::try_from(len + more).unwrap_or(usize::MAX);
        let mut packed = Buffer::new(size, self.reserve_packed(len))?;
        self.file.read_exact_at(&mut packed, extent.offset)?;
        let end = len as usize;
        let start = end - self.payload(index, &packed[..end])?.len();
        Ok(Payload { packed, start, end, is_all })
    }

    /// What follows the prefix in `packed`: all bytes of an extent, or its first ones.
    pub(crate) fn payload<'p>(&self, index: u32, packed: &'p [u8]) -> Result<&'p [u8], Reason> {
        if self.tables.extent(index).prefix.is_none() {
            return Ok(packed);
        }
        let start = self.parse_prefix(index, packed)?.payload as usize;
        // An extent that is cut off may end within its prefix.
        packed.get(start..).ok_or(Reason::BeyondEnd)
    }

    /// Reserves memory for `len` packed bytes; `None` if they are too few to count. Waits for other
    /// readers of the device.
    pub(crate) fn reserve_packed(&self, len: u64) -> Option<Reservation> {
        (len >= LARGE as u64).then(|| self.packed_memory.reserve(len, || false))
    }

    /// The bytes of the archive that an extent's prefix may occupy.
    pub(crate) fn prefix_range(&self, index: u32) -> Range<u64> {
        let extent = self.tables.extent(index);
        extent.offset..extent.offset + self.available(&extent).min(PREFIX_MAX as u64)
    }

    /// Reads the prefix of an extent, and keeps the size that it states.
    pub(super) fn read_prefix(&self, index: u32) -> Result<ParsedPrefix, Reason> {
        let range = self.prefix_range(index);
        let mut first = [0; PREFIX_MAX];
        let first = &mut first[..(range.end - range.start) as usize];
        match self.file.read_exact_at(first, range.start) {
            Ok(()) => self.parse_prefix(index, first),
            Err(fault) => {
                if matches!(fault, ArchiveReadError::Beyond) {
                    self.note_bad_prefix(index);
                }
                Err(fault.into())
            }
        }
    }

    /// Parses the prefix of an extent from its first bytes, and keeps the size that it states.
    pub(super) fn parse_prefix(&self, index: u32, first: &[u8]) -> Result<ParsedPrefix, Reason> {
        let extent = self.tables.extent(index);
        let parsed = extent_prefix::parse(&extent, first).inspect_err(|_| self.note_bad_prefix(index))?;
        self.tables.set_size(index, parsed.size);
        if let Some(quirk) = parsed.quirk
            && !self.has_odd_prefix.swap(true, Ordering::Relaxed)
        {
            let (archive, offset) = (self.path.shown(), extent.offset);
            log::info!("{archive}: data at offset {offset}: {quirk}");
        }
        Ok(parsed)
    }

    /// Whether the prefix of an extent contradicts itself.
    pub(super) fn has_bad_prefix(&self, index: u32) -> bool {
        self.bad_prefixes.lock().contains(&index)
    }

    fn note_bad_prefix(&self, index: u32) {
        self.bad_prefixes.lock().insert(index);
    }
}
