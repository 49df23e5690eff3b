//! The children of each folder by the hash of their folded names.

use std::cmp::Ordering;
use std::ops::Range;

use super::node::Node;
use super::runs::for_each_run;

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
    pub(super) fn new(nodes: &[Node], hash_of: impl Fn(&Node) -> u64 + Sync) -> Self {
        // Without the root, which is in no run.
        let folders = nodes.iter().filter(|node| node.is_folder);
        let mut starts: Vec<usize> = folders.map(|folder| folder.first as usize - 1).collect();
        starts.push(nodes.len() - 1);
        // Hash and node in one integer, which sorts faster than a pair.
        let mut keys: Vec<u128> = (0..nodes.len() as u128).collect();
        for_each_run(&mut keys[1..], &starts, |run| {
            for key in run.iter_mut() {
                *key |= u128::from(hash_of(&nodes[*key as usize])) << 32;
            }
            run.sort_unstable();
        });
        let (hashes, nodes) = keys.into_iter().map(|key| ((key >> 32) as u64, key as u32)).unzip();
        Self { hashes, nodes }
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
