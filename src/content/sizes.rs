//! Sizes that only the data tells, learnt for many files at once.
//!
//! A listing with sizes of an archive of version 103 to 105 has to look at the first bytes of each file. One by one
//! and in the order of names that is a seek for each; sorted by their place, and taken together where they are near,
//! it is one pass over what must be touched, in a fraction of the calls.

use super::layer::Layer;
use super::{Store, buffer, lead};
use crate::format::EntryId;

/// Leads that begin within so many bytes are read together: a read of 64 KiB from the page cache costs what some
/// twenty small ones do, and from a disk hardly more than one.
const SPAN: u64 = 64 << 10;

impl Store {
    /// Whether a file's size is known without a look at its data.
    pub fn is_sized(&self, id: EntryId) -> bool {
        let layer = &self.layers[usize::from(id.layer)];
        layer.extents_of(id.entry).all(|index| layer.extent(index).size.is_some())
    }

    /// Learns the sizes of files, as far as they are not known. What cannot be learnt is told when it is asked for by
    /// itself.
    pub fn learn_sizes(&self, ids: impl IntoIterator<Item = EntryId>) {
        let mut wanted: Vec<(u16, u64, u32)> = Vec::new();
        for id in ids {
            let layer = &self.layers[usize::from(id.layer)];
            let unsized_ones = layer.extents_of(id.entry).filter(|&index| layer.extent(index).size.is_none());
            wanted.extend(unsized_ones.map(|index| (id.layer, layer.extent(index).offset, index)));
        }
        wanted.sort_unstable();
        let is_near = |a: &(u16, u64, u32), b: &(u16, u64, u32)| a.0 == b.0 && b.1 - a.1 < SPAN;
        let mut rest = &wanted[..];
        while let Some(first) = rest.first() {
            let near = rest.iter().take_while(|it| is_near(first, it)).count().max(1);
            let (group, others) = rest.split_at(near);
            self.layers[usize::from(first.0)]
                .learn_together(group.iter().map(|(_, offset, index)| (*offset, *index)));
            rest = others;
        }
    }
}

impl Layer {
    /// Learns the sizes of extents that lie near each other, given by offset and index in the order of their offsets.
    fn learn_together(&self, group: impl ExactSizeIterator<Item = (u64, u32)> + Clone) {
        let end =
            |(offset, index): (u64, u32)| offset + u64::from(self.extent(index).packed).min(lead::MAX as u64);
        let (Some((start, only)), Some(stop)) = (group.clone().next(), group.clone().map(end).max()) else {
            return;
        };
        let learnt = group.len() > 1
            && stop <= self.source.len()
            && buffer::packed((stop - start) as usize, |bytes| {
                self.source.read_exact_at(bytes, start)?;
                for (offset, index) in group.clone() {
                    let first = &bytes[(offset - start) as usize..(end((offset, index)) - start) as usize];
                    // What one lead gets wrong is no matter of its neighbours.
                    let _ = self.learn(index, first);
                }
                Ok::<(), crate::source::Fault>(())
            })
            .is_ok();
        if !learnt {
            // Alone, or one of them lies beyond the end: each for itself.
            let _ = self.size(only);
            group.skip(1).for_each(|(_, index)| drop(self.size(index)));
        }
    }
}
