//! The bytes of an archive that its parser used, and their digest: it shows whether they are still the same.

use std::fs::File;
use std::io;
use std::iter;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use twox_hash::XxHash3_64;

use super::pieces::{BLOCK, Pieces};
use crate::read::Fetch;

/// The ranges of a file that were parsed, and their digest.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tables {
    ranges: Vec<Range<u64>>,
    digest: u64,
}

impl Tables {
    /// Digests the bytes that were parsed. They are still in memory. If one cannot be read,
    /// [`Pieces::check`] fails.
    pub(super) fn parsed(pieces: &Pieces<'_>, ranges: Vec<Range<u64>>) -> Self {
        let bytes = |step: Range<u64>| pieces.fetch(step.clone(), true)?.get(..len(&step));
        let digest = ranges.iter().flat_map(steps).map_while(bytes).fold(0, digest);
        Self { ranges, digest }
    }

    /// Whether a file has the same bytes in these ranges.
    pub(super) fn are_in(&self, file: &File) -> io::Result<bool> {
        let mut buffer = vec![0; BLOCK as usize];
        let found = self.ranges.iter().flat_map(steps).try_fold(0, |before, step| {
            let bytes = &mut buffer[..len(&step)];
            file.read_exact_at(bytes, step.start).map(|()| digest(before, bytes))
        });
        found.map(|found| found == self.digest)
    }
}

/// The parts of a range that lie in one block each, as the pieces do.
fn steps(range: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let Range { mut start, end } = *range;
    iter::from_fn(move || {
        let step = start..end.min((start / BLOCK + 1) * BLOCK);
        start = step.end;
        (!step.is_empty()).then_some(step)
    })
}

/// Length of a step, which is a block at most.
fn len(step: &Range<u64>) -> usize {
    (step.end - step.start) as usize
}

/// The digest of all bytes before `bytes` is the seed of the next one.
fn digest(before: u64, bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(before, bytes)
}

#[cfg(test)]
mod tests {
    use super::super::pieces::FirstBlocks;
    use super::super::pieces::tests::file_of;
    use super::*;

    /// A file of three blocks and a bit, and ranges of it that begin and end anywhere.
    fn file_and_ranges() -> (File, Vec<Range<u64>>) {
        let (file, _) = file_of(3 * BLOCK + 100);
        (file, vec![0..0, 12..BLOCK + 3, 2 * BLOCK..3 * BLOCK + 100])
    }

    #[test]
    fn tables_are_in_the_file_until_a_byte_of_them_changes() {
        let (file, ranges) = file_and_ranges();
        let mut first_blocks = FirstBlocks::default();
        let pieces = Pieces::new(&file, 3 * BLOCK + 100, &mut first_blocks);
        let tables = Tables::parsed(&pieces, ranges);
        pieces.check().unwrap();
        assert!(tables.are_in(&file).unwrap());
        for (at, is_in_tables) in [(11, false), (BLOCK + 3, false), (BLOCK + 2, true), (3 * BLOCK + 99, true)]
        {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[!byte[0]], at).unwrap();
            assert_eq!(tables.are_in(&file).unwrap(), !is_in_tables, "byte {at}");
            file.write_all_at(&byte, at).unwrap();
        }
        file.set_len(3 * BLOCK).unwrap();
        assert_eq!(tables.are_in(&file).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_change_after_the_parser_read_the_tables_is_noticed() {
        let (file, ranges) = file_and_ranges();
        let mut first_blocks = FirstBlocks::default();
        let pieces = Pieces::new(&file, 3 * BLOCK + 100, &mut first_blocks);
        for start in [0, BLOCK, 2 * BLOCK, 3 * BLOCK] {
            pieces.fetch(start..start + 1, true).unwrap();
        }
        // The parser has the old bytes.
        file.write_all_at(b"new", BLOCK).unwrap();
        let tables = Tables::parsed(&pieces, ranges);
        assert!(!tables.are_in(&file).unwrap());
    }
}
