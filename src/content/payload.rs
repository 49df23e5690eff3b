//! Reads the packed bytes of one extent from its archive.

use std::ops::Deref;

use super::archive_content::ArchiveContent;
use super::buffer::Buffer;
use super::error::Reason;
use super::extent_prefix;
use super::memory::{LARGE, Reservation};

/// The payload of an extent, or its first bytes.
pub(super) struct Payload {
    packed: Buffer,
    start: usize,
    /// Whether this is the whole payload.
    pub(super) is_all: bool,
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.packed[self.start..]
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
        let extent = self.extent(index);
        // A stored extent is its prefix and its data, so the prefix has the length that the data leaves.
        let prefix_len = extent.packed.checked_sub(size).ok_or(Reason::Prefix)?;
        let at = extent.offset.checked_add(u64::from(prefix_len)).and_then(|at| at.checked_add(offset));
        Ok(self.file.read_exact_at(out, at.ok_or(Reason::BeyondEnd)?)?)
    }

    /// Reads the first `len` bytes of an extent's payload, or all of a shorter one. Waits for the
    /// device, and for memory if `len` is large.
    pub(super) fn read_payload(&self, index: u32, len: u64) -> Result<Payload, Reason> {
        let extent = self.extent(index);
        // Checked before a buffer is allocated, because an archive can state any packed length.
        if extent.offset.saturating_add(u64::from(extent.packed)) > self.file.len() {
            return Err(Reason::BeyondEnd);
        }
        let prefix_len = if extent.prefix.is_none() { 0 } else { extent_prefix::MAX as u64 };
        let len = len.saturating_add(prefix_len).min(u64::from(extent.packed));
        let mut packed = Buffer::new(usize::try_from(len).unwrap_or(usize::MAX), self.reserve_packed(len))?;
        self.file.read_exact_at(&mut packed, extent.offset)?;
        let start = packed.len() - self.payload(index, &packed)?.len();
        Ok(Payload { packed, start, is_all: len == u64::from(extent.packed) })
    }

    /// What follows the prefix in `packed`: all bytes of an extent, or its first ones.
    pub(super) fn payload<'p>(&self, index: u32, packed: &'p [u8]) -> Result<&'p [u8], Reason> {
        let start = match self.extent(index).prefix.is_none() {
            true => 0,
            false => self.parse_prefix(index, packed)?.payload,
        };
        Ok(&packed[start as usize..])
    }

    /// Reserves memory for `len` packed bytes; `None` if they are too few to count. Waits for other
    /// readers of the device.
    pub(super) fn reserve_packed(&self, len: u64) -> Option<Reservation> {
        (len >= LARGE as u64).then(|| self.packed_memory.reserve(len, || false))
    }
}
