//! The order in which folders list their children: that of their data on the disk.
//!
//! A program that reads a tree takes the order of the listing. On a disk that seeks, this order decides how
//! long it takes. A file has the place of its data, and a folder the first place below it.

use super::node::{Node, NodeId};
use super::runs::for_each_run;

/// Where the data of a file lies: places of files that lie side by side follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DataPlace {
    /// The layer of the file.
    pub layer: u16,
    /// The offset of the file's data in its archive, in bytes. Of a loose file, its folder's inode number.
    pub offset: u64,
    /// The number of the entry in its layer.
    pub entry: u32,
}

impl DataPlace {
    /// The place of a folder without files, after all others.
    const LAST: Self = Self { layer: u16::MAX, offset: u64::MAX, entry: u32::MAX };
}

/// The order in which folders list their children, in eight bytes a node. Without places, names decide.
#[derive(Clone, Debug, Default)]
pub(super) struct ListingOrder {
    /// The nodes in the order of their listings. The children of a folder take the places that they have as
    /// nodes. Empty if listings are in the order of names.
    nodes: Vec<u32>,
    /// The index of each node in `nodes`.
    positions: Vec<u32>,
}

impl ListingOrder {
    /// Orders the children of each folder. `place` has the place of each file.
    pub(super) fn new(nodes: &[Node], place: impl Fn(NodeId) -> DataPlace) -> Self {
        let mut places = vec![DataPlace::LAST; nodes.len()];
        // Children have higher numbers than their folder, so a folder's place is complete when it is reached.
        for (index, node) in nodes.iter().enumerate().rev() {
            if !node.is_folder {
                places[index] = place(NodeId(number(index)));
            }
            if index > 0 {
                let parent = node.parent as usize;
                places[parent] = places[parent].min(places[index]);
            }
        }
        let mut order: Vec<u32> = (0..number(nodes.len())).collect();
        let starts = run_starts(nodes);
        if let Some(children) = order.get_mut(1..) {
            for_each_run(children, &starts, |run| {
                run.sort_unstable_by_key(|&node| (places[node as usize], node));
            });
        }
        let mut positions = vec![0; nodes.len()];
        (0..).zip(&order).for_each(|(position, &node)| positions[node as usize] = position);
        Self { nodes: order, positions }
    }

    /// The node at a place in the order of all listings.
    pub(super) fn node_at(&self, position: u32) -> NodeId {
        NodeId(self.nodes.get(position as usize).copied().unwrap_or(position))
    }

    /// The place of a node in the order of all listings.
    pub(super) fn position(&self, node: NodeId) -> u32 {
        self.positions.get(node.0 as usize).copied().unwrap_or(node.0)
    }
}

/// Where the children of each folder begin among all nodes but the root, and where the last ones end.
fn run_starts(nodes: &[Node]) -> Vec<usize> {
    let folders = nodes.iter().filter(|node| node.is_folder && node.count > 0);
    let mut starts: Vec<usize> = folders.map(|folder| folder.first as usize - 1).collect();
    starts.push(nodes.len().saturating_sub(1));
    starts
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
