//! Inode numbers of a tree's nodes.
//!
//! In the first view of a mount, a node's inode number follows from its position and takes no memory. A later
//! view keeps the numbers of all unchanged nodes, and needs a table of eight bytes a node.

use super::node::NodeId;

/// The inode numbers of all nodes, the root first.
#[derive(Debug, Default)]
pub(super) struct InodeNumbers {
    /// Inode numbers by node; empty if they follow from positions.
    of_nodes: Vec<u32>,
    /// The nodes in the order of their inode numbers.
    nodes: Vec<u32>,
}

impl InodeNumbers {
    /// `of_nodes` has one inode number for each node, without duplicates.
    pub(super) fn new(of_nodes: Vec<u32>) -> Self {
        // Most numbers are those of the first view. They need no sorting.
        let mut by_number = vec![None; of_nodes.len() + 1];
        let mut later = Vec::new();
        for (node, &number) in (0_u32..).zip(&of_nodes) {
            match by_number.get_mut(number as usize) {
                Some(place) => *place = Some(node),
                None => later.push((number, node)),
            }
        }
        later.sort_unstable();
        let mut nodes = Vec::with_capacity(of_nodes.len());
        nodes.extend(by_number.into_iter().flatten());
        nodes.extend(later.into_iter().map(|(_, node)| node));
        Self { of_nodes, nodes }
    }

    pub(super) fn ino(&self, node: NodeId) -> u64 {
        let number = self.of_nodes.get(node.0 as usize);
        number.map_or_else(|| u64::from(node.0) + NodeId::ROOT_INO, |&number| u64::from(number))
    }

    /// The node with an inode number, in a tree of `len` nodes.
    pub(super) fn node(&self, ino: u64, len: u32) -> Option<NodeId> {
        if self.of_nodes.is_empty() {
            let index = u32::try_from(ino.checked_sub(NodeId::ROOT_INO)?).ok()?;
            return (index < len).then_some(NodeId(index));
        }
        let number = |node: &u32| u64::from(self.of_nodes[*node as usize]);
        let found = self.nodes.binary_search_by_key(&ino, number).ok()?;
        Some(NodeId(self.nodes[found]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inode_numbers_map_to_nodes_by_position_or_by_table() {
        let positions = InodeNumbers::default();
        assert_eq!((positions.ino(NodeId::ROOT), positions.node(1, 3)), (1, Some(NodeId::ROOT)));
        assert_eq!(
            (positions.node(3, 3), positions.node(4, 3), positions.node(0, 3)),
            (Some(NodeId(2)), None, None)
        );
        let table = InodeNumbers::new(vec![1, 90, 7]);
        assert_eq!([0, 1, 2].map(|node| table.ino(NodeId(node))), [1, 90, 7]);
        assert_eq!([1, 7, 90].map(|ino| table.node(ino, 3)), [0, 2, 1].map(|node| Some(NodeId(node))));
        assert_eq!([0, 2, 91].map(|ino| table.node(ino, 3)), [None; 3]);
    }
}
