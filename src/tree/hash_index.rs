//! Index of the children of each folder by the hash of their folded names.

use std::cmp::Ordering;

use super::node::Node;
use super::runs::for_each_run;

/// The index takes four bytes a node. It has the same runs as the nodes: a folder's run has its
/// children in the order of their keys. Children with equal keys are in the order of their names.
#[derive(Debug)]
pub(super) struct HashIndex(Vec<u32>);

impl HashIndex {
    /// Indexes all nodes. The children of each folder must be in the order of their names. The key of each
    /// node must be the hash of its name.
    pub(super) fn new(nodes: &[Node]) -> Self {
        // The root is in no run.
        let folders = nodes.iter().filter(|node| node.is_folder);
        let mut starts: Vec<usize> = folders.map(|folder| folder.first as usize - 1).collect();
        starts.push(nodes.len() - 1);
        let mut index: Vec<u32> = (0..nodes.len() as u32).collect();
        for_each_run(&mut index[1..], &starts, |run| {
            run.sort_unstable_by_key(|&node| (nodes[node as usize].key, node));
        });
        Self(index)
    }

    /// The child of a folder with this hash for which `compare` returns `Equal`. `compare` orders a
    /// child's name relative to the requested name.
    pub(super) fn find(
        &self,
        nodes: &[Node],
        folder: &Node,
        hash: u64,
        mut compare: impl FnMut(u32) -> Ordering,
    ) -> Option<u32> {
        let children = folder.children();
        let run = &self.0[children.start as usize..children.end as usize];
        let key = |node: u32| nodes[node as usize].key;
        let equal = &run[run.partition_point(|&node| key(node) < hash)..];
        // Nearly always, only one child has this hash. Names made to collide cost a second search.
        let count = match equal {
            [first, second, ..] if key(*first) == hash && key(*second) == hash => {
                equal.partition_point(|&node| key(node) == hash)
            }
            [first, ..] if key(*first) == hash => 1,
            _ => return None,
        };
        let found = equal[..count].binary_search_by(|node| compare(*node)).ok()?;
        Some(equal[found])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root with `count` files, whose names are their node numbers.
    fn nodes(count: u32, hash: impl Fn(u32) -> u64) -> Vec<Node> {
        let root = Node { first: 1, count, is_folder: true, ..Node::default() };
        let files = (1..=count).map(|first| Node { first, key: hash(first), ..Node::default() });
        std::iter::once(root).chain(files).collect()
    }

    #[test]
    fn names_are_found_even_if_many_hashes_collide() {
        for distinct in [1, 2, 7, 1000, u64::MAX] {
            let hash = |number: u32| u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) % distinct;
            for count in [0, 1, 2, 3, 100] {
                let nodes = nodes(count, hash);
                let index = HashIndex::new(&nodes);
                for number in 0..count + 2 {
                    let found = index.find(&nodes, &nodes[0], hash(number), |node| node.cmp(&number));
                    assert_eq!(found, (1..=count).contains(&number).then_some(number), "{count} {distinct}");
                }
            }
        }
    }

    #[test]
    fn twenty_thousand_colliding_names_need_at_most_16_comparisons() {
        let nodes = nodes(20_000, |_| 7);
        let index = HashIndex::new(&nodes);
        for number in [0, 1, 9_999, 20_000, 20_001] {
            let mut compared = 0;
            index.find(&nodes, &nodes[0], 7, |node| {
                compared += 1;
                node.cmp(&number)
            });
            assert!(compared <= 16, "{compared} names compared to find {number}");
        }
    }
}
