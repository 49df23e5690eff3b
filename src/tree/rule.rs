//! Which of the files of one path is listed.

use super::layer::{Layer, Times};
use super::node::Node;

/// Which layer wins where several have a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// The last one.
    #[default]
    LastWins,
    /// Oblivion's dates, for each path: the highest archive wins that is not older than the highest loose file; that loose
    /// file where there is none. Layers with times are one game's, and follow each other; others are not part of it: of
    /// these, the last one wins, and those above the game hide what is in it.
    Dates,
}

impl Rule {
    /// Puts the entries of one path into the order in which each hides the following. They come with the last layer first.
    pub(super) fn order(self, layers: &[Layer], nodes: &mut [Node]) {
        if self == Self::LastWins {
            return;
        }
        let time = |node: &Node| match &layers[usize::from(node.layer)].times {
            Times::None => None,
            Times::Archive(time) => Some((false, *time)),
            Times::Files(times) => times.get(node.first as usize).map(|time| (true, *time)),
        };
        // Those of the game; each layer has a path once.
        let Some(start) = nodes.iter().position(|node| time(node).is_some()) else { return };
        let end = nodes.iter().rposition(|node| time(node).is_some()).map_or(start, |last| last + 1);
        let nodes = &mut nodes[start..end];
        let highest = nodes.iter().filter_map(time).find_map(|(is_loose, time)| is_loose.then_some(time));
        let Some(loose) = highest else { return };
        // Stable: among archives that are not older the last one wins, and the rest stays in order.
        nodes.sort_by_key(|node| !matches!(time(node), Some((false, archive)) if archive >= loose));
        // The loose file hides archives that are older, whatever their layers are.
        let first_rest =
            nodes.partition_point(|node| matches!(time(node), Some((false, archive)) if archive >= loose));
        let rest = &mut nodes[first_rest..];
        if let Some(at) = rest.iter().position(|node| matches!(time(node), Some((true, _)))) {
            rest[..=at].rotate_right(1);
        }
    }
}
