//! Rules that decide which of the files of one path is listed.

use super::merge_layer::{MergeLayer, Times};
use super::node::Node;

/// Decides which layer wins if several have a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// The last layer wins.
    #[default]
    LastWins,
    /// Oblivion's dates decide for each path. The highest archive wins that is not older than the
    /// highest loose file. If there is no such archive, that loose file wins. The layers with times
    /// of one game are adjacent. Other layers are not part of the game: among them the last one
    /// wins, and those above the game hide its files.
    Dates,
}

impl Rule {
    /// Orders the entries of one path so that each hides the following ones. On entry, the last
    /// layer comes first.
    pub(super) fn order(self, layers: &[MergeLayer], nodes: &mut [Node]) {
        if self == Self::LastWins {
            return;
        }
        let time = |node: &Node| match &layers[usize::from(node.layer)].times {
            Times::None => None,
            Times::Archive(time) => Some((false, *time)),
            Times::Files(times) => times.get(node.first as usize).map(|time| (true, *time)),
        };
        let mut rest = nodes;
        // Handles the entries of one game at a time. Each layer has a path at most once.
        while let Some(start) = rest.iter().position(|node| time(node).is_some()) {
            let game = |node: &Node| layers[usize::from(node.layer)].game;
            let first = game(&rest[start]);
            let is_last = |node: &Node| time(node).is_some() && game(node) == first;
            let end = rest.iter().rposition(is_last).map_or(start, |last| last + 1);
            let (of_game, below) = rest.split_at_mut(end);
            order_by_dates(&mut of_game[start..], time);
            rest = below;
        }
    }
}

/// Orders the entries of one game. `time` returns whether an entry is a loose file, and when it was changed.
fn order_by_dates(nodes: &mut [Node], time: impl Fn(&Node) -> Option<(bool, i64)> + Copy) {
    let highest = nodes.iter().filter_map(time).find_map(|(is_loose, time)| is_loose.then_some(time));
    let Some(loose) = highest else { return };
    // The sort is stable: among archives that are not older, the last one wins, and the rest stays in order.
    nodes.sort_by_key(|node| !matches!(time(node), Some((false, archive)) if archive >= loose));
    // The loose file hides older archives, whatever their layers are.
    let first_rest =
        nodes.partition_point(|node| matches!(time(node), Some((false, archive)) if archive >= loose));
    let rest = &mut nodes[first_rest..];
    if let Some(at) = rest.iter().position(|node| matches!(time(node), Some((true, _)))) {
        rest[..=at].rotate_right(1);
    }
}
