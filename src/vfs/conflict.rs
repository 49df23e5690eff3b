//! Files that several layers contain: which copy wins, which are hidden, and whether those are equal.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use super::comparison::{Compared, Digests, compare};
use super::file::VfsFile;
use super::opened::Opened;
use super::parallel::in_parallel;
use super::vfs_layer::VfsLayer;
use crate::game::OrderLayer;

/// A file that several layers contain.
#[derive(Clone, Debug)]
pub struct Conflict {
    /// The copy that is shown.
    pub winner: VfsFile,
    /// The other copies, in the order in which they would win.
    pub hidden: Vec<VfsFile>,
}

impl Conflict {
    /// All copies, the winner first.
    pub fn copies(&self) -> impl Iterator<Item = &VfsFile> {
        std::iter::once(&self.winner).chain(&self.hidden)
    }
}

/// How many files of a layer win, and how many are hidden.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) winning: usize,
    pub(crate) hidden: usize,
    /// Hidden files that are equal to the winner.
    pub(crate) equal: usize,
}

impl Tally {
    pub(crate) fn files(&self) -> usize {
        self.winning + self.hidden
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            winning: self.winning + other.winning,
            hidden: self.hidden + other.hidden,
            equal: self.equal + other.equal,
        }
    }

    pub(crate) fn is_wholly_shadowed(&self) -> bool {
        self.winning == 0 && self.hidden > 0
    }
}

/// The conflicts among files.
pub(crate) fn conflicts(files: impl Iterator<Item = VfsFile>) -> Vec<Conflict> {
    let conflict = |winner: VfsFile| {
        let hidden: Vec<_> = winner.hidden().collect();
        (!hidden.is_empty()).then_some(Conflict { winner, hidden })
    };
    files.filter_map(conflict).collect()
}

/// Compares hidden files with their winners on all processors. Returns for each conflict how its
/// hidden files compare.
pub(crate) fn compare_all(
    opened: &Opened,
    conflicts: &[Conflict],
    step: &(dyn Fn() + Sync),
) -> Vec<Vec<Compared>> {
    let store = &opened.store;
    // Errors are ignored here: reading the file finds them again.
    let _ = store.learn_sizes(conflicts.iter().flat_map(Conflict::copies).map(VfsFile::entry));
    let mut order: Vec<usize> = (0..conflicts.len()).collect();
    // In the order of the winners' data, so that at least their disk is read in one pass.
    order.sort_by_cached_key(|&index| conflicts[index].winner.place());
    let digests = Digests::default();
    let found = in_parallel(order.len(), step, |index| {
        let Conflict { winner, hidden } = &conflicts[order[index]];
        compare(winner, hidden, &digests)
    });
    let mut compared = vec![Vec::new(); conflicts.len()];
    order.into_iter().zip(found).for_each(|(index, one)| compared[index] = one);
    compared
}

/// Counts for each layer how many of the files win and how many are hidden.
pub(crate) fn tallies(layers: usize, files: impl Iterator<Item = VfsFile>) -> Vec<Tally> {
    let mut tallies = vec![Tally::default(); layers];
    for winner in files {
        tallies[winner.layer().number()].winning += 1;
        winner.hidden().for_each(|hidden| tallies[hidden.layer().number()].hidden += 1);
    }
    tallies
}

/// The tallies of the layers of a load order. `layers` are those that were opened, and `tallies` belong to
/// them. `None` for a layer that was left out because it cannot be opened.
pub(crate) fn of_order(
    order: &[OrderLayer],
    layers: impl Iterator<Item = VfsLayer>,
    tallies: Vec<Tally>,
) -> Vec<Option<Tally>> {
    let mut found: HashMap<PathBuf, VecDeque<Tally>> = HashMap::new();
    for (layer, tally) in layers.zip(tallies) {
        found.entry(layer.path().to_owned()).or_default().push_back(tally);
    }
    let mut named: HashMap<&Path, usize> = HashMap::new();
    for layer in order.iter() {
        *named.entry(&layer.path).or_default() += 1;
    }
    let tally = |layer: &OrderLayer| {
        let (tallies, times) = (found.get_mut(&layer.path)?, named.get_mut(&*layer.path)?);
        // A folder may be opened as two layers, and a path may be named several times.
        let own = tallies.len() / *times;
        *times -= 1;
        tallies.drain(..own).reduce(Tally::plus)
    };
    order.iter().map(tally).collect()
}

/// Counts hidden files that are equal to their winners. `compared` is the result of [`compare_all`], or
/// empty.
pub(crate) fn count_equal(tallies: &mut [Tally], conflicts: &[Conflict], compared: &[Vec<Compared>]) {
    for (conflict, compared) in conflicts.iter().zip(compared) {
        for (file, compared) in conflict.hidden.iter().zip(compared) {
            tallies[usize::from(file.entry().layer)].equal += usize::from(*compared == Compared::Equal);
        }
    }
}
