//! The children of each folder by the hash of their folded names.

use std::cmp::Ordering;
use std::ops::Range;

use super::node::Node;

/// Twelve bytes a node, in runs as the nodes: the run of a folder is ordered by hash, and by name where hashes are equal.
///
/// Hashes are apart from node numbers, and both from the nodes: the steps of a search stay within few cache lines.
#[derive(Debug)]
pub(super) struct HashIndex {
    hashes: Vec<u64>,
    /// The node of each hash.
    nodes: Vec<u32>,
}

impl HashIndex {
    /// Indexes all nodes; the children of a folder are in the order of their names.
    pub(super) fn new(nodes: &[Node], hash_of: impl Fn(&Node) -> u64) -> Self {
        let mut index = Self { hashes: vec![0; nodes.len()], nodes: vec![0; nodes.len()] };
        let mut run: Vec<(u64, u32)> = Vec::new();
        for folder in nodes.iter().filter(|node| node.is_folder) {
            let Range { start, end } = folder.children();
            let children = start as usize..end as usize;
            run.clear();
            run.extend(nodes[children.clone()].iter().map(&hash_of).zip(start..));
            run.sort_unstable();
            for (slot, (hash, node)) in children.zip(&run) {
                (index.hashes[slot], index.nodes[slot]) = (*hash, *node);
            }
        }
        index
    }

    /// The node with this hash among the `children` of a folder for which `compare` returns `Equal`; it orders names
    /// relative to the one that is looked up.
    pub(super) fn find(
        &self,
        children: Range<u32>,
        hash: u64,
        mut compare: impl FnMut(u32) -> Ordering,
    ) -> Option<u32> {
        let children = children.start as usize..children.end as usize;
        let (hashes, nodes) = (&self.hashes[children.clone()], &self.nodes[children]);
        let first = hashes.partition_point(|known| *known < hash);
        if hashes.get(first) != Some(&hash) {
            return None;
        }
        // Equal hashes are almost always one; names made to collide cost a second search.
        let count = match hashes.get(first + 1) == Some(&hash) {
            true => hashes[first..].partition_point(|known| *known == hash),
            false => 1,
        };
        let equal = &nodes[first..first + count];
        let found = equal.binary_search_by(|node| compare(*node)).ok()?;
        equal.get(found).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::layer::NameRef;

    /// A root with `count` files, whose names are their node numbers.
    fn nodes(count: u32) -> Vec<Node> {
        let file =
            Node { name: NameRef::default(), parent: 0, first: 0, count: 0, layer: 0, is_folder: false };
        let root = Node { first: 1, count, is_folder: true, ..file };
        let files = (1..=count).map(|number| Node { first: number, ..file });
        std::iter::once(root).chain(files).collect()
    }

    #[test]
    fn every_name_is_found_and_no_other_however_many_hashes_collide() {
        for distinct in [1, 2, 7, 1000, u64::MAX] {
            let hash = |number: u32| u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) % distinct;
            for count in [0, 1, 2, 3, 100] {
                let nodes = nodes(count);
                let index = HashIndex::new(&nodes, |node| hash(node.first));
                for number in 0..count + 2 {
                    let found = index.find(nodes[0].children(), hash(number), |node| node.cmp(&number));
                    assert_eq!(found, (1..=count).contains(&number).then_some(number), "{count} {distinct}");
                }
            }
        }
    }

    #[test]
    fn twenty_thousand_colliding_names_cost_at_most_sixteen_comparisons() {
        let nodes = nodes(20_000);
        let index = HashIndex::new(&nodes, |_| 7);
        for number in [0, 1, 9_999, 20_000, 20_001] {
            let mut compared = 0;
            index.find(nodes[0].children(), 7, |node| {
                compared += 1;
                node.cmp(&number)
            });
            assert!(compared <= 16, "{compared} names compared to find {number}");
        }
    }
}
