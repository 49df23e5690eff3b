//! Console textures as a PC has them: all extents of a file are decoded, and their texels put into rows.
//!
//! The texels of one row are spread over a whole row of tiles, and the faces of a cube over all
//! mips. So no part of the shown file corresponds to one part of its data. The file is made as a
//! whole, and cached like a decoded extent.

use std::cell::Cell;
use std::io::Write;
use std::ops::Range;

use crate::content::cache::{Buffer, CacheKey, CachedContent, Decoded};
use crate::content::error::{CopyError, ReadFault, Reason};
use crate::content::read::{FileBytes, FileExtent, PlainFile};
use crate::format::LinearTexture;

/// A file whose texels are put into rows, behind the header of [`PlainFile`].
#[derive(Clone, Copy, Debug)]
pub(super) struct LinearFile<'s> {
    file: PlainFile<'s>,
    texture: LinearTexture,
    /// Size of all rows in bytes.
    rows_len: u64,
}

/// The payloads of all extents of a file.
struct Payloads {
    packed: Buffer,
    /// Their ranges in `packed`.
    ranges: Vec<Range<usize>>,
}

impl<'s> LinearFile<'s> {
    /// A file whose texels have `rows_len` bytes in rows.
    pub(super) fn new(file: PlainFile<'s>, (texture, rows_len): (LinearTexture, u64)) -> Self {
        Self { file, texture, rows_len }
    }

    pub(super) fn plain(&self) -> PlainFile<'s> {
        self.file
    }

    pub(super) fn len(&self) -> u64 {
        self.file.head_len() + self.rows_len
    }

    /// Reads a range of the file, or less at the end of the file.
    pub(super) fn read(&self, range: &Range<u64>) -> Result<FileBytes<'s>, ReadFault> {
        let range = range.start.min(self.len())..range.end.min(self.len());
        if range.is_empty() {
            return Ok(FileBytes::EMPTY);
        }
        let len = (range.end - range.start) as usize;
        if let Some(start) = range.start.checked_sub(self.file.head_len()) {
            let start = start as usize;
            return Ok(FileBytes::in_cache(self.rows()?.range(start..start + len)));
        }
        let mut out = Buffer::new(len, None).map_err(ReadFault::at_start)?;
        self.read_into(&range, &mut out)?;
        Ok(FileBytes::in_buffer(out, len))
    }

    /// Fills `out` with a range of the file. The range lies within the file.
    pub(super) fn read_into(&self, range: &Range<u64>, out: &mut [u8]) -> Result<(), ReadFault> {
        let head_len = self.file.head_len();
        let of_head = range.start.min(head_len)..range.end.min(head_len);
        let of_rows = range.start.max(head_len)..range.end.max(head_len);
        let (to_head, to_rows) = out.split_at_mut((of_head.end - of_head.start) as usize);
        if !to_head.is_empty() {
            let head = self.file.archive.tables.head_bytes(self.file.entry);
            to_head.copy_from_slice(&head[of_head.start as usize..of_head.end as usize]);
        }
        if !to_rows.is_empty() {
            let start = (of_rows.start - head_len) as usize;
            to_rows.copy_from_slice(&self.rows()?.range(start..start + to_rows.len()));
        }
        Ok(())
    }

    /// Writes the whole file. Returns its size in bytes.
    pub(super) fn copy(&self, to: &mut impl Write) -> Result<u64, CopyError> {
        let head = self.file.archive.tables.head_bytes(self.file.entry);
        to.write_all(&head).map_err(CopyError::Writer)?;
        to.write_all(self.rows()?.bytes()).map_err(CopyError::Writer)?;
        Ok(self.len())
    }

    /// Total unpacked size of the extents, in bytes. Checks that each extent lies within the archive and
    /// that the sum is within the limit.
    pub(super) fn check_sizes(&self) -> Result<u32, ReadFault> {
        let limit = self.file.archive.resources.limits.extent;
        let mut sum = 0_u32;
        for extent in self.file.extents() {
            let added = extent.checked_size().and_then(|size| {
                sum = sum.saturating_add(size);
                // The rows take as much memory again.
                if sum <= limit / 2 { Ok(()) } else { Err(Reason::UnpackedSize(sum)) }
            });
            added.map_err(|reason| extent.fault(reason))?;
        }
        Ok(sum)
    }

    /// The texels in rows, from the cache or decoded into it.
    fn rows(&self) -> Result<Decoded<'s, Reason>, ReadFault> {
        let PlainFile { archive, entry } = self.file;
        let tiled = self.check_sizes()?;
        let size = u32::try_from(self.rows_len);
        let size = size.map_err(|_| self.fault(None, Reason::UnpackedSize(u32::MAX)))?;
        let key = CacheKey { archive: archive.number, content: CachedContent::Rows { entry }, size };
        if let Some(rows) = archive.resources.cache.get(key) {
            return Ok(rows);
        }
        let failed = Cell::new(None);
        let fault = |reason| self.fault(failed.get(), reason);
        let payloads = self.read_payloads(&failed).map_err(fault)?;
        let decode = || self.decode(&payloads, (tiled, size), &failed);
        archive.resources.cache.decode_once(key, decode).map_err(fault)
    }

    /// A fault of an extent; if that is not known, of the first one.
    fn fault(&self, extent: Option<FileExtent<'s>>, reason: Reason) -> ReadFault {
        match extent.or_else(|| self.file.extents().next()) {
            Some(extent) => extent.fault(reason),
            None => ReadFault::at_start(reason),
        }
    }

    /// Reads the payloads of all extents, whose sizes were checked. If an extent fails, it is in `failed`.
    fn read_payloads(&self, failed: &Cell<Option<FileExtent<'s>>>) -> Result<Payloads, Reason> {
        let archive = self.file.archive;
        let extents = self.file.extents().map(|extent| (extent, extent.record()));
        let len = extents.clone().map(|(_, record)| archive.available(&record)).sum::<u64>();
        if len > u64::from(archive.resources.limits.packed) {
            return Err(Reason::PackedSize(u32::try_from(len).unwrap_or(u32::MAX)));
        }
        let mut packed = Buffer::new(len as usize, archive.reserve_packed(len))?;
        let mut ranges = Vec::with_capacity(extents.len());
        let mut start = 0;
        for (extent, record) in extents {
            failed.set(Some(extent));
            let end = start + archive.available(&record) as usize;
            let bytes = &mut packed[start..end];
            archive.read_exact_at(bytes, record.offset)?;
            ranges.push(end - archive.payload(extent.index, bytes)?.len()..end);
            start = end;
        }
        Ok(Payloads { packed, ranges })
    }

    /// Decodes all extents, `tiled` bytes, and puts their texels into rows, `size` bytes. If an extent fails,
    /// it is in `failed`.
    fn decode(
        &self,
        payloads: &Payloads,
        (tiled, size): (u32, u32),
        failed: &Cell<Option<FileExtent<'s>>>,
    ) -> Result<Buffer, Reason> {
        // One share for both buffers, kept with the rows. With two shares, two threads that have
        // one each would wait for each other.
        let reservation = self.file.archive.resources.reserve(tiled as usize + size as usize);
        let mut tiled = Buffer::new(tiled as usize, None)?;
        let mut rest = &mut tiled[..];
        for (extent, range) in self.file.extents().zip(&payloads.ranges) {
            failed.set(Some(extent));
            let size = extent.size()? as usize;
            let (out, others) = rest.split_at_mut_checked(size).ok_or(Reason::Prefix)?;
            extent.decode(payloads.packed[range.clone()].into(), out)?;
            rest = others;
        }
        let mut rows = Buffer::for_cache(size as usize, reservation)?;
        rows.fill(0);
        self.texture.to_rows(&tiled, &mut rows).map_err(|_| Reason::UnpackedSize(size))?;
        Ok(rows)
    }
}

// A file of an archive before its texture is converted: as it is stored, or with its texels in rows.

#[derive(Clone, Copy, Debug)]
pub(super) enum Unconverted<'s> {
    Plain(PlainFile<'s>),
    Linear(LinearFile<'s>),
}

impl<'s> Unconverted<'s> {
    pub(super) fn plain(&self) -> PlainFile<'s> {
        match self {
            Self::Plain(file) => *file,
            Self::Linear(file) => file.plain(),
        }
    }

    /// The size in bytes, if it is known without reading data.
    pub(super) fn size_if_known(&self) -> Option<u64> {
        match self {
            Self::Plain(file) => file.size_if_known(),
            Self::Linear(file) => Some(file.len()),
        }
    }

    /// The size in bytes. Reads what is needed to know it.
    pub(super) fn size(&self) -> Result<u64, ReadFault> {
        match self {
            Self::Plain(file) => file.size(),
            Self::Linear(file) => Ok(file.len()),
        }
    }

    /// Reads a range of the file, or less at the end of the file.
    pub(super) fn read(&self, range: &Range<u64>) -> Result<FileBytes<'s>, ReadFault> {
        match self {
            Self::Plain(file) => file.read(range),
            Self::Linear(file) => file.read(range),
        }
    }

    /// Fills `out` with a range of the file. The range lies within the file.
    pub(super) fn read_into(&self, range: &Range<u64>, out: &mut [u8]) -> Result<(), ReadFault> {
        match self {
            Self::Plain(file) => file.read_into(range, out),
            Self::Linear(file) => file.read_into(range, out),
        }
    }

    /// Writes the whole file. Returns its size in bytes.
    pub(super) fn copy(&self, to: &mut impl Write) -> Result<u64, CopyError> {
        match self {
            Self::Plain(file) => file.copy(to),
            Self::Linear(file) => file.copy(to),
        }
    }
}
