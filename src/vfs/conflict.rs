//! Files that several layers contain: which copy wins, which are hidden, and whether those are equal.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use super::comparison::{Compared, Digests, compare};
use super::file::VfsFile;
use super::opened::Opened;
use super::parallel::in_parallel;
use super::vfs_layer::VfsLayer;
use crate::game::{Deployments, LoadOrder, OrderLayer};
use crate::tree::NodeId;

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

/// Groups of copies: the layers, and the mods that managers deployed into the folder of a game, which is one
/// layer.
pub(crate) struct Groups {
    layers: Vec<VfsLayer>,
    /// The layers into which managers may deploy.
    is_own: Vec<bool>,
    deployments: Deployments,
    /// The number of the layer and the name of each mod. The groups of layers come before.
    mods: RefCell<Vec<(usize, String)>>,
    numbers: RefCell<HashMap<(usize, String), usize>>,
}

/// A copy in a mod that a manager did not deploy, because it deployed the path from another mod.
#[derive(Clone, Debug)]
pub(crate) struct Undeployed {
    /// The folder of the mod.
    pub(crate) folder: PathBuf,
    /// The number of the group of the mod.
    pub(crate) group: usize,
}

impl Groups {
    pub(crate) fn new(layers: Vec<VfsLayer>, order: &LoadOrder) -> Self {
        let is_own = |layer: &VfsLayer| {
            let is_its = |it: &OrderLayer| it.path == layer.path() && !it.is_managed;
            layer.is_folder() && !order.game.is_empty() && order.layers.iter().any(is_its)
        };
        Self {
            is_own: layers.iter().map(is_own).collect(),
            layers,
            deployments: Deployments::default(),
            mods: RefCell::default(),
            numbers: RefCell::default(),
        }
    }

    /// The number of groups that are known so far.
    pub(crate) fn count(&self) -> usize {
        self.layers.len() + self.mods.borrow().len()
    }

    /// The number of the group of a copy.
    pub(crate) fn of(&self, copy: &VfsFile) -> usize {
        let layer = usize::from(copy.entry().layer);
        let own = self.layers.get(layer).filter(|_| self.is_own[layer]);
        let name = own.and_then(|own| self.deployments.mod_of(own.path(), &copy.path()));
        name.map_or(layer, |name| self.of_mod(layer, name))
    }

    fn of_mod(&self, layer: usize, name: String) -> usize {
        let number = || {
            let mut mods = self.mods.borrow_mut();
            mods.push((layer, name.clone()));
            self.layers.len() + mods.len() - 1
        };
        *self.numbers.borrow_mut().entry((layer, name.clone())).or_insert_with(number)
    }

    /// The layer that has a group.
    pub(crate) fn layer(&self, group: usize) -> &VfsLayer {
        let of_mod = |at: usize| self.mods.borrow()[at].0;
        self.layers.get(group).unwrap_or_else(|| &self.layers[of_mod(group - self.layers.len())])
    }

    /// The name of the mod that a group is; `None` if it is a layer.
    pub(crate) fn mod_name(&self, group: usize) -> Option<String> {
        let at = group.checked_sub(self.layers.len())?;
        Some(self.mods.borrow()[at].1.clone())
    }

    /// The copies that managers did not deploy, by the node of the file at their path, which `find` returns.
    pub(crate) fn undeployed(
        &self,
        order: &LoadOrder,
        find: impl Fn(String) -> Option<VfsFile>,
    ) -> HashMap<NodeId, Vec<Undeployed>> {
        let prefixes: Vec<PathBuf> = order.installation.iter().flat_map(|it| it.prefix_folders()).collect();
        let mut found: HashMap<NodeId, Vec<Undeployed>> = HashMap::new();
        for layer in self.layers.iter().filter(|layer| self.is_own[layer.number()]) {
            for (path, folder, name) in self.deployments.losing(layer.path(), &prefixes) {
                let Some(file) = find(path) else { continue };
                let copy = Undeployed { folder, group: self.of_mod(layer.number(), name) };
                found.entry(file.node()).or_default().push(copy);
            }
        }
        found
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
    tally(&mut tallies, files, |file| file.layer().number());
    tallies
}

/// Counts for each group of copies how many of the files win and how many are hidden. `group` returns the
/// number of the group of a copy.
pub(crate) fn tally(
    tallies: &mut Vec<Tally>,
    files: impl Iterator<Item = VfsFile>,
    group: impl Fn(&VfsFile) -> usize,
) {
    let mut of_copy = |file: &VfsFile, is_hidden: bool| {
        let group = group(file);
        tallies.resize(tallies.len().max(group + 1), Tally::default());
        tallies[group].winning += usize::from(!is_hidden);
        tallies[group].hidden += usize::from(is_hidden);
    };
    for winner in files {
        of_copy(&winner, false);
        winner.hidden().for_each(|hidden| of_copy(&hidden, true));
    }
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
/// empty. `group` returns the number of the group of a copy.
pub(crate) fn count_equal(
    tallies: &mut [Tally],
    conflicts: &[Conflict],
    compared: &[Vec<Compared>],
    group: impl Fn(&VfsFile) -> usize,
) {
    for (conflict, compared) in conflicts.iter().zip(compared) {
        for (file, compared) in conflict.hidden.iter().zip(compared) {
            tallies[group(file)].equal += usize::from(*compared == Compared::Equal);
        }
    }
}
