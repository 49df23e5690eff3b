//! The pieces of an archive that its parser needs, read on demand and kept until the parser ends.
//!
//! Tables are copied, not mapped: if another process truncated a mapped file, SIGBUS would end the daemon.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::mem;
use std::num::NonZeroU64;
use std::ops::{DerefMut, Range};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use memmap2::{Advice as MapAdvice, MmapMut, MmapOptions};
use rustix::fs::{Advice, fadvise};

use crate::limits::ARCHIVE_TABLES_MAX;
use crate::read::{Bytes, Fetch};
use crate::system::memory;
use crate::system::sync::Mutex;

/// Number of bytes read at once for a reader that walks a table. With blocks of 64 KiB, each in its own map,
/// mounting 100 archives took 1.1 x as long, because a map is costly to remove while other threads run.
pub(super) const BLOCK: u64 = 1 << 18;
/// Number of bytes read at once for any other reader, which reads a header or the first bytes of a file.
const LITTLE: u64 = 1 << 9;
/// Number of bytes that a piece extends past its block, so that few records lie in two pieces.
const OVERLAP: u64 = 1 << 9;

/// Number of bytes that the kernel reads for one request on any disk: its default read-ahead.
const STEP: u64 = 128 << 10;

/// Number of bytes that an open archive usually takes for each byte of its tables, at most. Names without
/// folders take the most.
const OPENED_PER_BYTE: usize = 6;

/// Size of a huge page on most processors, in bytes. The tables of most archives fit in one.
const HUGE_PAGE: usize = 2 << 20;

/// Memory for the first blocks of a file: a huge page, if the system has one. In a map of its own, each block
/// takes 65 page faults: 0.5 ms for tables of 1.6 MiB.
#[derive(Default)]
pub(super) struct FirstBlocks(Option<MmapMut>);

impl FirstBlocks {
    /// The memory; `None` if the kernel knows no huge pages, or if there is a limit on addresses.
    fn reserve(&mut self) -> Option<&mut [u8]> {
        if memory::limit().is_some() {
            return None;
        }
        // A range twice as long contains an aligned one.
        let map = MmapMut::map_anon(2 * HUGE_PAGE).ok()?;
        let start = map.as_ptr().align_offset(HUGE_PAGE);
        map.advise_range(MapAdvice::HugePage, start, HUGE_PAGE).ok()?;
        self.0.insert(map).get_mut(start..start + HUGE_PAGE)
    }
}

/// Slots for pieces, filled in order.
type List<'a> = Box<[OnceLock<Piece<'a>>]>;

/// Pieces of a file. All are dropped together.
pub(super) struct Pieces<'a> {
    file: &'a File,
    /// Length of the file in bytes.
    len: u64,
    /// Pieces in the order in which they were read. The lists have one, two, four, eight ... slots.
    /// Each list is made when it is needed, so that no piece ever moves.
    lists: [OnceLock<List<'a>>; 32],
    index: Mutex<Index<'a>>,
}

/// The bytes of a piece: among the first blocks, in a map or on the heap.
type Piece<'a> = Box<dyn DerefMut<Target = [u8]> + Send + Sync + 'a>;

#[derive(Default)]
struct Index<'a> {
    /// The memory for the first blocks, until the first one needs it.
    unreserved: Option<&'a mut FirstBlocks>,
    /// What is left of this memory. The blocks after the first ones get maps.
    first_blocks: &'a mut [u8],
    /// The end and the number of each piece, by its start; without pieces that lie within another one.
    by_start: BTreeMap<u64, (u64, usize)>,
    count: usize,
    /// Total length of all pieces.
    bytes: u64,
    /// Why a piece could not be read; the first error only.
    error: Option<io::Error>,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(file: &'a File, len: u64, first_blocks: &'a mut FirstBlocks) -> Self {
        let index = Index { unreserved: Some(first_blocks), ..Index::default() };
        Self { file, len, lists: Default::default(), index: Mutex::new(index) }
    }

    pub(super) fn bytes(&self) -> Bytes<'_> {
        Bytes::fetched(self.len, self)
    }

    /// Fails if a piece could not be read, because the parser's result is then wrong.
    pub(super) fn check(self) -> io::Result<()> {
        self.index.into_inner().error.map_or(Ok(()), Err)
    }

    /// The list in which a piece is kept, and its slot there.
    fn place(number: usize) -> (usize, usize) {
        let list = (number + 1).ilog2();
        (list as usize, number + 1 - (1 << list))
    }

    /// The bytes from `range.start` on of the piece that contains `range`, if there is one.
    fn find(&self, index: &Index<'a>, range: &Range<u64>) -> Option<&[u8]> {
        let (start, (end, number)) = index.by_start.range(..=range.start).next_back()?;
        let (list, place) = Self::place(*number);
        let piece = self.lists[list].get()?[place].get()?;
        (range.end <= *end).then(|| &piece[(range.start - start) as usize..(end - start) as usize])
    }

    /// Reads the piece around `range`, or as much of it as can be read. Returns its bytes from
    /// `range.start` on.
    fn read(&self, index: &mut Index<'a>, range: &Range<u64>, walks: bool) -> io::Result<&[u8]> {
        let block = if walks { BLOCK } else { LITTLE };
        let start = range.start / block * block;
        let end = range.end.max(start + block + OVERLAP).min(self.len);
        if index.bytes + (end - start) > ARCHIVE_TABLES_MAX {
            return Err(io::Error::other(format!(
                "its tables take more than {} MiB",
                ARCHIVE_TABLES_MAX >> 20
            )));
        }
        // The result of the parser takes a multiple of the tables.
        if !memory::has_room(((index.bytes + (end - start)) as usize).saturating_mul(OPENED_PER_BYTE)) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let mut piece = index.zeros((end - start) as usize)?;
        if walks {
            // The kernel reads ahead in smaller steps, each of which is a request to the disk.
            request(self.file, &(start..end));
        }
        let (len, error) = read_at(self.file, &mut piece, start);
        let end = start + len as u64;
        if end < range.end {
            let reason = format!("cannot read at offset {end}: {error}");
            return Err(io::Error::new(error.kind(), reason));
        }
        index.bytes += len as u64;
        let (list, place) = Self::place(index.count);
        let list = self.lists[list].get_or_init(|| (0..1 << list).map(|_| OnceLock::new()).collect());
        while let Some((&inner, _)) = index.by_start.range(start..end).find(|(_, inner)| inner.0 <= end) {
            index.by_start.remove(&inner);
        }
        index.by_start.insert(start, (end, index.count));
        index.count += 1;
        Ok(&list[place].get_or_init(|| piece)[(range.start - start) as usize..len])
    }
}

impl Fetch for Pieces<'_> {
    fn fetch(&self, range: Range<u64>, walks: bool) -> Option<&[u8]> {
        let mut index = self.index.lock();
        if let Some(found) = self.find(&index, &range) {
            return Some(found);
        }
        self.read(&mut index, &range, walks).map_err(|error| index.error.get_or_insert(error)).ok()
    }
}

impl<'a> Index<'a> {
    /// A piece of `len` zeros. No whole block is on the heap: blocks there leave holes among the tables that
    /// are built from them, which took a fifth of the daemon's memory.
    fn zeros(&mut self, len: usize) -> io::Result<Piece<'a>> {
        if len as u64 > BLOCK {
            if let Some(unreserved) = self.unreserved.take() {
                self.first_blocks = unreserved.reserve().unwrap_or_default();
            }
            if let Some((block, rest)) = mem::take(&mut self.first_blocks).split_at_mut_checked(len) {
                self.first_blocks = rest;
                return Ok(Box::new(block));
            }
            return Ok(Box::new(MmapOptions::new().len(len).populate().map_anon()?));
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len)?;
        bytes.resize(len, 0);
        Ok(Box::new(bytes))
    }
}

/// Has the kernel read bytes of a file that will be needed soon, and does not wait for them.
pub(super) fn request(file: &File, range: &Range<u64>) {
    let ask = |start: u64, len: u64| {
        // If this fails, the bytes are read when they are needed.
        let _ = NonZeroU64::new(len).map(|len| fadvise(file, start, Some(len), Advice::WillNeed));
    };
    let len = range.end.saturating_sub(range.start);
    ask(range.start, len);
    // The kernel drops what is longer than the largest request of the disk, but never cuts a step this short.
    // For what it has already requested, it does nothing.
    for at in (STEP..len).step_by(STEP as usize) {
        ask(range.start.saturating_add(at), STEP.min(len - at));
    }
}

/// Fills `buffer` as far as the file can be read. Returns how many bytes were read, and why no more.
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> (usize, io::Error) {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], offset + read as u64) {
            Ok(0) => return (read, io::ErrorKind::UnexpectedEof.into()),
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (read, error),
        }
    }
    (read, io::ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A file of `len` bytes, and the bytes.
    pub(in super::super) fn file_of(len: u64) -> (File, Vec<u8>) {
        let bytes: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        (file, bytes)
    }

    #[test]
    fn pieces_stay_readable_after_the_archive_is_truncated() {
        let (file, bytes) = file_of(3 * BLOCK);
        let mut first_blocks = FirstBlocks::default();
        let pieces = Pieces::new(&file, 3 * BLOCK, &mut first_blocks);
        let first = pieces.fetch(10..BLOCK - 1, true).unwrap();
        file.set_len(0).unwrap();
        assert!(first.starts_with(&bytes[10..BLOCK as usize]));
        assert!(pieces.fetch(20..30, false).unwrap().starts_with(&bytes[20..30]));
        assert_eq!(pieces.fetch(BLOCK..2 * BLOCK, true), None);
        let error = pieces.check().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{error}");
        assert!(error.to_string().contains(&format!("offset {BLOCK}:")), "{error}");
    }

    #[test]
    fn tables_that_are_longer_than_a_huge_page_are_read_to_their_end() {
        let (file, bytes) = file_of(2 * HUGE_PAGE as u64);
        let mut first_blocks = FirstBlocks::default();
        let pieces = Pieces::new(&file, bytes.len() as u64, &mut first_blocks);
        let blocks: Vec<&[u8]> = (0..bytes.len() as u64)
            .step_by(BLOCK as usize)
            .map(|start| pieces.fetch(start..start + BLOCK, true).unwrap())
            .collect();
        // All of them are still there.
        for (found, expected) in blocks.iter().zip(bytes.chunks(BLOCK as usize)) {
            assert!(found.starts_with(expected));
        }
    }

    #[test]
    fn no_block_is_read_twice_in_any_order_of_reads() {
        let (file, bytes) = file_of(4 * BLOCK);
        let mut first_blocks = FirstBlocks::default();
        let pieces = Pieces::new(&file, 4 * BLOCK, &mut first_blocks);
        pieces.fetch(5000..5001, false).unwrap();
        for _ in 0..2 {
            for (start, len) in
                [(0, 12), (600, 4), (5010, 2000), (BLOCK - 7, 100), (3 * BLOCK, BLOCK), (700, 2 * BLOCK)]
            {
                let found = pieces.fetch(start..start + len, start > 0).unwrap();
                assert!(found.starts_with(&bytes[start as usize..(start + len) as usize]), "{start}");
            }
        }
        let index = pieces.index.into_inner();
        assert_eq!(index.count, 5, "one of these 5 blocks also holds (BLOCK - 7, 100)");
    }
}
