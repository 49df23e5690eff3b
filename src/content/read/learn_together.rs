//! Sizes of many extents that only their prefixes state, by one read.

use super::archive_content::ArchiveContent;
use crate::content::cache::Buffer;
use crate::content::error::Reason;

/// If a program asks for one file after the other, one read learns the sizes of all further extents whose
/// prefixes end within this many bytes. From the page cache, this read takes about 1 us longer, and each
/// request that then needs no read takes 2 us less.
const AHEAD: u64 = 16 << 10;
/// Maximum number of extents whose sizes are learnt ahead.
const AHEAD_MAX: usize = 64;

impl ArchiveContent {
    /// Learns the sizes of extents that lie near each other, sorted by offset, and of some that follow them,
    /// by a single read.
    pub(crate) fn learn_together(&self, near: &[u32]) -> Result<(), Reason> {
        let (Some(&first), Some(&last)) = (near.first(), near.last()) else { return Ok(()) };
        let (start, last_offset) = (self.tables.extent(first).offset, self.tables.extent(last).offset);
        let mut prefixes: Vec<_> = near.iter().map(|&index| (index, self.prefix_range(index))).collect();
        let following = (last + 1..self.tables.extent_count())
            .map(|index| (index, self.prefix_range(index)))
            .take_while(|(index, range)| {
                let extent = self.tables.extent(*index);
                let is_unsized = extent.size.is_none() && !extent.is_sized_by_decoding();
                is_unsized && range.start >= last_offset && range.end <= self.file.len().min(start + AHEAD)
            });
        // The size of the extent before is known if a program asks for one file after the other.
        let is_in_order = first == 0 || self.tables.extent(first - 1).size.is_some();
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
