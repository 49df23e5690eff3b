//! Sizes that only the data states, learnt for many files at once.
//!
//! A listing with sizes of an archive of version 103 to 105 has to read the first bytes of each file. One by one and in
//! the order of names that is a seek for each; sorted by offset, and read together where they are near, it is one pass
//! over what must be touched, in a fraction of the calls.

use super::buffer;
use super::extent_prefix;
use super::layer::Layer;
use super::store::Store;
use crate::format::EntryId;
use crate::source::Fault;

/// Prefixes that begin within so many bytes are read together: a read of 64 KiB from the page cache costs what some
/// twenty small ones do, and from a disk hardly more than one.
const SPAN: u64 = 64 << 10;

/// An extent whose size is to be learnt.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Unsized {
    layer: u16,
    offset: u64,
    index: u32,
}

impl Store {
    /// Whether a file's size is known without a read of its data.
    pub fn is_sized(&self, id: EntryId) -> bool {
        let layer = self.layer(id.layer);
        layer.extents(id.entry).all(|index| layer.extent(index).size.is_some())
    }

    /// Learns the sizes of files, as far as they are not known. A failure is reported where the file itself is asked for.
    pub fn learn_sizes(&self, ids: impl IntoIterator<Item = EntryId>) {
        let mut wanted = Vec::new();
        for EntryId { layer, entry } in ids {
            let extents =
                self.layer(layer).extents(entry).map(|index| (index, self.layer(layer).extent(index)));
            let unsized_ones = extents.filter(|(_, extent)| extent.size.is_none());
            wanted.extend(unsized_ones.map(|(index, extent)| Unsized {
                layer,
                offset: extent.offset,
                index,
            }));
        }
        wanted.sort_unstable();
        let mut rest = &wanted[..];
        while let Some(first) = rest.first() {
            let is_near = |it: &Unsized| it.layer == first.layer && it.offset - first.offset < SPAN;
            let (near, others) = rest.split_at(rest.partition_point(is_near));
            self.layer(first.layer).learn_together(near);
            rest = others;
        }
    }
}

impl Layer {
    /// Learns the sizes of extents that lie near each other, in the order of their offsets.
    fn learn_together(&self, near: &[Unsized]) {
        let prefix_end =
            |it: &Unsized| it.offset + u64::from(self.extent(it.index).packed).min(extent_prefix::MAX as u64);
        let start = near[0].offset;
        let stop = near.iter().map(prefix_end).max().unwrap_or(start);
        let read_together = || {
            buffer::packed((stop - start) as usize, |bytes| {
                self.source.read_exact_at(bytes, start)?;
                for it in near {
                    let first = &bytes[(it.offset - start) as usize..(prefix_end(it) - start) as usize];
                    // What is wrong with one prefix does not concern its neighbours.
                    let _ = self.parse_prefix(it.index, first);
                }
                Ok::<(), Fault>(())
            })
        };
        if near.len() < 2 || stop > self.source.len() || read_together().is_err() {
            // Alone, or one of them lies beyond the end: each for itself.
            near.iter().for_each(|it| drop(self.size(it.index)));
        }
    }
}
