//! Sizes of files, and how to learn those that only the data states.
//!
//! To list an archive of version 103 to 105 with sizes, the first bytes of each file must be read. In the
//! order of names and one by one, this would take a seek for each file. Here the reads are sorted by offset,
//! and reads that are near each other are joined: one pass over the disk, with far fewer system calls.

use super::archive_content::ArchiveContent;
use super::cache::Buffer;
use super::codec;
use super::error::{EntryError, Reason};
use super::prefetch::REQUESTED_MAX;
use super::store::{LayerContent, Store};
use super::tables::Converted;
use crate::format::{Codec, EntryId};

/// Prefixes that begin within this many bytes are read together. A read of 64 KiB from the page
/// cache costs as much as about twenty small ones; from a disk it costs hardly more than one.
const SPAN: u64 = 64 << 10;
/// If a program asks for one file after the other, one read learns the sizes of all further extents whose
/// prefixes end within this many bytes. From the page cache, this read takes about 1 us longer, and each
/// request that then needs no read takes 2 us less.
const AHEAD: u64 = 16 << 10;
/// Maximum number of extents whose sizes are learnt ahead.
const AHEAD_MAX: usize = 64;

/// Prefixes that begin within this many bytes of each other are requested from the disk together, with the
/// data between them. A disk that seeks reads that faster than it finds the next prefix, and a program that
/// asks for sizes usually reads the files, too.
const NEAR: u64 = 128 << 10;
/// Number of packed bytes that are requested with a prefix, if the extent has them. They are what a program
/// reads that opens the file and reads its first 4 KiB, so the disk gets one request for both.
const BEGINNING: u32 = 20 << 10;

/// An extent whose size must be learnt.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Unsized {
    layer: u16,
    offset: u64,
    index: u32,
    entry: u32,
}

impl Store {
    /// A file's size in bytes; an estimate if the size cannot be read.
    pub fn size(&self, id: EntryId) -> u64 {
        let size = match self.loose(id) {
            Some(files) => files.stat(id).map(|stat| stat.size).ok(),
            None => {
                // If the header cannot be read, the file has the size of what is stored.
                let _ = self.learn_header(id);
                let converted = self.layer(id.layer).converted(id.entry).and_then(Converted::file_len);
                converted.or_else(|| self.plain_size(id).ok())
            }
        };
        size.unwrap_or_else(|| self.estimated_size(id))
    }

    /// A file's size in bytes, if it is known without reading data.
    pub fn known_size(&self, id: EntryId) -> Option<u64> {
        if let Some(files) = self.loose(id) {
            return files.known_size(id.entry);
        }
        let layer = self.layer(id.layer);
        if let Some(len) = layer.converted(id.entry).and_then(Converted::file_len) {
            return Some(len);
        }
        if layer.needs_header(id.entry) {
            return None;
        }
        layer.known_size(id.entry)
    }

    /// Whether a file's size can never be learnt, because its data contradicts itself or the
    /// archive was changed.
    pub fn is_size_lost(&self, id: EntryId) -> bool {
        if self.loose(id).is_some() {
            return false;
        }
        let layer = self.layer(id.layer);
        layer.tables.extents(id.entry).any(|index| layer.is_size_lost(index))
    }

    /// The size to show for a file whose [size is lost](Store::is_size_lost), and whose reads all
    /// fail: the length of its packed data in bytes, but at least one. A program would take an
    /// empty file for a sound one and never see the error.
    pub fn estimated_size(&self, id: EntryId) -> u64 {
        if self.loose(id).is_some() {
            return 1;
        }
        let layer = self.layer(id.layer);
        let packed = |index| u64::from(layer.tables.extent(index).packed.max(1));
        layer.tables.head(id.entry).len() + layer.tables.extents(id.entry).map(packed).sum::<u64>()
    }

    /// Whether no size has to be learnt: the tables of all archives state all sizes, and every
    /// loose file was statted.
    pub fn states_sizes(&self) -> bool {
        self.layers.iter().all(|layer| match &**layer {
            LayerContent::Archive(layer) => layer.tables.states_sizes(),
            LayerContent::Folder(files) => files.folder.is_all_known(),
        })
    }

    /// Learns those sizes of files that are unknown and can be read.
    ///
    /// # Errors
    /// The first error of a read that the system refused, or of a header that decides how a file is
    /// shown. Other faults of a file are reported when the file is read.
    pub fn learn_sizes(&self, ids: impl IntoIterator<Item = EntryId>) -> Result<(), EntryError> {
        self.learn_sizes_with_progress(ids, &|| ()).into_iter().next().map_or(Ok(()), Err)
    }

    /// Like [`Store::learn_sizes`], but calls `note_progress` after each read, and returns an error for each
    /// loose file, each header and each group of near extents that cannot be read.
    pub(crate) fn learn_sizes_with_progress(
        &self,
        ids: impl IntoIterator<Item = EntryId>,
        note_progress: &dyn Fn(),
    ) -> Vec<EntryError> {
        let (mut wanted, mut headers, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for id @ EntryId { layer, entry } in ids {
            if let Some(files) = self.loose(id) {
                if let Err(error) = files.stat(id) {
                    self.count_fault();
                    errors.push(error);
                }
                note_progress();
                continue;
            }
            headers.extend(self.layer(layer).needs_header(entry).then_some(id));
            let extents = self
                .layer(layer)
                .tables
                .extents(entry)
                .map(|index| (index, self.layer(layer).tables.extent(index)));
            let unsized_ones = extents.filter(|(_, extent)| extent.size.is_none());
            wanted.extend(unsized_ones.map(|(index, extent)| {
                let offset = extent.offset;
                Unsized { layer, offset, index, entry }
            }));
        }
        wanted.sort_unstable();
        self.request_near(&wanted);
        let mut rest = &wanted[..];
        while let Some(first) = rest.first() {
            let is_near = |it: &Unsized| it.layer == first.layer && it.offset - first.offset < SPAN;
            let (near, others) = rest.split_at(rest.partition_point(is_near));
            if let Err((refused, reason)) = self.layer(first.layer).learn_near(near, note_progress) {
                let id = EntryId { layer: refused.layer, entry: refused.entry };
                errors.push(self.fault(id, refused.index, reason));
            }
            rest = others;
        }
        for id in headers {
            errors.extend(self.learn_header(id).err());
            note_progress();
        }
        errors
    }

    /// Requests prefixes from the disk, those that lie near each other together, up to a limit.
    fn request_near(&self, wanted: &[Unsized]) {
        let is_near =
            |it: &Unsized, next: &Unsized| it.layer == next.layer && next.offset - it.offset <= NEAR;
        let mut left = REQUESTED_MAX;
        for run in wanted.chunk_by(is_near) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let packed = self.layer(last.layer).tables.extent(last.index).packed;
            let end = last.offset.saturating_add(u64::from(packed.min(BEGINNING)));
            let len = (end - first.offset).min(left);
            left -= len;
            self.request(first.layer, &(first.offset..first.offset.saturating_add(len)));
        }
    }

    /// Unpacked size of an extent in bytes, checked by [`Store::check_size`].
    pub(super) fn checked_size(&self, layer: u16, index: u32) -> Result<u32, Reason> {
        let size = self.layer(layer).size(index)?;
        self.check_size(layer, index, size).map(|()| size)
    }

    /// Checks the unpacked size of an extent, in bytes, before a buffer is allocated for it. The size must be
    /// within its limit, and the packed bytes must be able to yield it. Stored bytes must lie within the
    /// archive. Unless the codec is `Stored`, they must also be within their own limit, and no more than
    /// data of this size can need.
    pub(super) fn check_size(&self, layer: u16, index: u32, size: u32) -> Result<(), Reason> {
        let layer = self.layer(layer);
        let extent = layer.tables.extent(index);
        let packed = u64::from(extent.packed);
        if u64::from(size) > codec::max_unpacked(extent.codec, packed) || size > self.shared.limits.extent {
            return Err(Reason::UnpackedSize(size));
        }
        let available = layer.available(&extent);
        let is_stored = extent.codec == Codec::Stored;
        // A stream that is whole is read although its stated length passes the end of the archive.
        if available < packed && (is_stored || available == 0) {
            return Err(Reason::BeyondEnd);
        }
        let is_too_long = available > self.shared.limits.packed.into() || available > codec::max_packed(size);
        if !is_stored && is_too_long {
            return Err(Reason::PackedSize(extent.packed));
        }
        Ok(())
    }
}

impl ArchiveContent {
    /// Learns the sizes of extents that lie near each other, sorted by offset. Fails with the first
    /// extent that the device refuses.
    fn learn_near(&self, near: &[Unsized], note_progress: &dyn Fn()) -> Result<(), (Unsized, Reason)> {
        let is_sized_by_prefix = near.iter().all(|it| !self.tables.extent(it.index).is_sized_by_decoding());
        if is_sized_by_prefix {
            let together = self.learn_together(near);
            note_progress();
            if together.is_ok() {
                return Ok(());
            }
        }
        // An extent must be read whole, cannot be read, or lies beyond the end of the archive. So each is
        // read separately.
        let mut learnt = Ok(());
        for it in near {
            if let Err(reason @ Reason::Io(_)) = self.size(it.index) {
                learnt = learnt.and(Err((*it, reason)));
            }
            note_progress();
        }
        learnt
    }

    /// Learns the sizes of near extents, and of some that follow them, by a single read.
    fn learn_together(&self, near: &[Unsized]) -> Result<(), Reason> {
        let (first, last) = (&near[0], &near[near.len() - 1]);
        let start = first.offset;
        let mut prefixes: Vec<_> = near.iter().map(|it| (it.index, self.prefix_range(it.index))).collect();
        let following = (last.index + 1..self.tables.extent_count())
            .map(|index| (index, self.prefix_range(index)))
            .take_while(|(index, range)| {
                let extent = self.tables.extent(*index);
                let is_unsized = extent.size.is_none() && !extent.is_sized_by_decoding();
                is_unsized && range.start >= last.offset && range.end <= self.file.len().min(start + AHEAD)
            });
        // The size of the extent before is known if a program asks for one file after the other.
        let is_in_order = first.index == 0 || self.tables.extent(first.index - 1).size.is_some();
        prefixes.extend(following.take(if is_in_order { AHEAD_MAX } else { 0 }));
        let stop = prefixes.iter().map(|(_, range)| range.end).max().unwrap_or(start);
        if stop > self.file.len() {
            return Err(Reason::BeyondEnd);
        }
        let mut bytes = Buffer::new((stop - start) as usize, None)?;
        self.file.read_exact_at(&mut bytes, start)?;
        for (index, range) in prefixes {
            let first = &bytes[(range.start - start) as usize..(range.end - start) as usize];
            // A bad prefix does not concern its neighbours.
            let _ = self.parse_prefix(index, first);
        }
        Ok(())
    }
}
