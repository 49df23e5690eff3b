//! Learns the sizes of many files at once, if only the data states them.
//!
//! To list an archive of version 103 to 105 with sizes, the first bytes of each file must be read. In the
//! order of names and one by one, this would take a seek for each file. Here the reads are sorted by offset,
//! and reads that are near each other are joined: one pass over the disk, with far fewer system calls.

use super::error::{EntryError, Reason};
use super::read::{PlainFile, REQUESTED_MAX};
use super::store::Store;
use super::stored_file::Origin;
use crate::format::EntryId;

/// Prefixes that begin within this many bytes are read together. A read of 64 KiB from the page
/// cache costs as much as about twenty small ones; from a disk it costs hardly more than one.
const SPAN: u64 = 64 << 10;
/// Prefixes that begin within this many bytes of each other are requested from the disk together, with the
/// data between them. A disk that seeks reads that faster than it finds the next prefix, and a program that
/// asks for sizes usually reads the files, too.
const NEAR: u64 = 128 << 10;
/// Number of packed bytes that are requested with a prefix, if the extent has them. They are what a program
/// reads that opens the file and reads its first 4 KiB, so the disk gets one request for both.
const BEGINNING: u32 = 20 << 10;

/// An extent whose size must be learnt.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct UnsizedExtent {
    layer: u16,
    offset: u64,
    index: u32,
    entry: u32,
}

impl Store {
    /// Learns those sizes of files that are unknown and can be read.
    ///
    /// # Errors
    /// The first error of a read that the system refused, or of a header that decides how a file is
    /// shown. Other faults of a file are reported when the file is read.
    pub fn learn_sizes(&self, ids: impl IntoIterator<Item = EntryId>) -> Result<(), EntryError> {
        self.learn_sizes_with_progress(ids, &|| ()).into_iter().next().map_or(Ok(()), Err)
    }

    /// Like [`Store::learn_sizes`], but calls `record_progress` after each read, and returns an error for
    /// each loose file, each header and each group of near extents that cannot be read.
    pub(crate) fn learn_sizes_with_progress(
        &self,
        ids: impl IntoIterator<Item = EntryId>,
        record_progress: &dyn Fn(),
    ) -> Vec<EntryError> {
        let (mut wanted, mut headers, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for id in ids {
            let file = self.file(id);
            if let Origin::Loose(files) = file.origin {
                if let Err(error) = files.stat(id) {
                    self.resources.count_fault();
                    errors.push(error);
                }
                record_progress();
                continue;
            }
            headers.extend(file.needs_header().then_some(id));
            for extent in file.plain().into_iter().flat_map(|file| file.extents()) {
                let record = extent.record();
                if record.size.is_none() {
                    let EntryId { layer, entry } = id;
                    wanted.push(UnsizedExtent { layer, offset: record.offset, index: extent.index, entry });
                }
            }
        }
        wanted.sort_unstable();
        self.request_near(&wanted);
        let mut rest = &wanted[..];
        while let Some(first) = rest.first() {
            let is_near = |it: &UnsizedExtent| it.layer == first.layer && it.offset - first.offset < SPAN;
            let (near, others) = rest.split_at(rest.partition_point(is_near));
            if let Err((refused, reason)) = self.learn_near(near, record_progress) {
                errors.extend(self.error_of(refused, reason));
            }
            rest = others;
        }
        for id in headers {
            errors.extend(self.file(id).learn_header().err());
            record_progress();
        }
        errors
    }

    /// Requests prefixes from the disk, those that lie near each other together, up to a limit.
    fn request_near(&self, wanted: &[UnsizedExtent]) {
        let is_near = |it: &UnsizedExtent, next: &UnsizedExtent| {
            it.layer == next.layer && next.offset - it.offset <= NEAR
        };
        let mut left = REQUESTED_MAX;
        for run in wanted.chunk_by(is_near) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let Some(archive) = self.content(last.layer).archive() else { continue };
            let packed = archive.tables.extent(last.index).packed;
            let end = last.offset.saturating_add(u64::from(packed.min(BEGINNING)));
            let len = (end - first.offset).min(left);
            left -= len;
            self.request(first.layer, &(first.offset..first.offset.saturating_add(len)));
        }
    }

    /// Learns the sizes of extents that lie near each other, sorted by offset. Fails with the first
    /// extent that the device refuses.
    fn learn_near(
        &self,
        near: &[UnsizedExtent],
        record_progress: &dyn Fn(),
    ) -> Result<(), (UnsizedExtent, Reason)> {
        let archive = near.first().and_then(|first| self.content(first.layer).archive());
        let Some(archive) = archive else { return Ok(()) };
        if near.iter().all(|it| !archive.tables.extent(it.index).is_sized_by_decoding()) {
            let indices: Vec<u32> = near.iter().map(|it| it.index).collect();
            let together = archive.learn_together(&indices);
            record_progress();
            if together.is_ok() {
                return Ok(());
            }
        }
        // An extent must be read whole, cannot be read, or lies beyond the end of the archive. So each is
        // read separately.
        let mut learnt = Ok(());
        for it in near {
            if let Err(reason @ Reason::Io(_)) = PlainFile::new(archive, it.entry).extent(it.index).size() {
                learnt = learnt.and(Err((*it, reason)));
            }
            record_progress();
        }
        learnt
    }

    fn error_of(&self, it: UnsizedExtent, reason: Reason) -> Option<EntryError> {
        let file = self.file(EntryId { layer: it.layer, entry: it.entry });
        match file.origin {
            Origin::Archived(archive, _) => {
                Some(file.error(archive, file.plain()?.extent(it.index).fault(reason)))
            }
            Origin::Loose(_) => None,
        }
    }
}
