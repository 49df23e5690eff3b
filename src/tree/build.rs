//! Layers become a tree: whose file is seen, what it hides, and which number each node gets.

use std::cmp::{Ordering, Reverse};
use std::collections::{HashMap, HashSet};
use std::num::NonZero;
use std::ops::Range;
use std::thread;

use super::layer::Text;
use super::{Hidden, Layer, Node, NodeId, Tree, fold, unnamed};
use crate::format::{EntryId, name};

/// More folders and files than inode numbers of 32 bits (which old programs insist on), or more than 65,535 archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyNodes;

impl std::fmt::Display for TooManyNodes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("more files than one mount can number; mount fewer archives")
    }
}

impl std::error::Error for TooManyNodes {}

/// Merges layers, the last of which wins, and freezes the tree.
///
/// Within one layer nothing is hidden: of files whose names differ in nothing but case, or not at all, and of a file
/// that is named like a folder, all but the first get a number (`name (2).ext`), in stored order.
///
/// # Errors
/// [`TooManyNodes`] where numbers run out.
pub fn merge(layers: Vec<Layer>) -> Result<Tree, TooManyNodes> {
    let mut merging = Merging { folders: Vec::new(), layers };
    let homes = merging.merge_folders()?;
    let files: usize = merging.layers.iter().map(|layer| layer.files.len()).sum();
    if merging.folders.len().saturating_add(files) >= NODES_MAX {
        return Err(TooManyNodes);
    }
    let mut runs = merging.runs(&homes);
    let mut nodes = merging.gather(&homes, &runs);
    merging.sort_all(&mut nodes[1..], &mut runs);
    merging.freeze(nodes, &runs)
}

/// Nodes that may exist, so that their numbers and those of [`super::Spellings`] stay below 2^32.
const NODES_MAX: usize = (u32::MAX - (1 << 20)) as usize;

/// Nodes from which on a thread more is worth its start.
const PARALLEL_FROM: usize = 1 << 14;

/// A folder of the merged tree, and who spells it.
struct Folder {
    layer: u16,
    name: Text,
}

/// Which nodes are the children of which folder, before it is settled who of them is seen. Folders are told by their place
/// in the order in which their nodes are numbered.
struct Runs {
    /// The merged folders.
    order: Vec<u32>,
    /// Where each one's children begin behind the root's node, and one more place where the last one's end.
    starts: Vec<usize>,
    /// Whether some of its children are named alike.
    have_twins: Vec<bool>,
}

struct Merging {
    /// The root first, every folder behind its parent.
    folders: Vec<Folder>,
    layers: Vec<Layer>,
}

impl Merging {
    /// Makes one tree of all layers' folders; answers for each layer where each of its folders went, and for each
    /// merged folder its parent (the last element).
    fn merge_folders(&mut self) -> Result<Homes, TooManyNodes> {
        let mut parents = vec![0_u32];
        let mut entered: HashMap<(u32, Box<[u8]>), u32> = HashMap::new();
        self.folders.push(Folder { layer: 0, name: Text::default() });
        let mut of_layers = Vec::with_capacity(self.layers.len());
        for (index, layer) in self.layers.iter().enumerate() {
            let index = u16::try_from(index).map_err(|_| TooManyNodes)?;
            let mut homes = Vec::with_capacity(layer.folders.len());
            homes.push(0);
            for folder in layer.folders.iter().skip(1) {
                let parent = homes[folder.parent as usize];
                let key = (parent, layer.text(folder.name).to_ascii_lowercase().into_boxed_slice());
                let next = u32::try_from(self.folders.len()).map_err(|_| TooManyNodes)?;
                let home = *entered.entry(key).or_insert(next);
                if home == next {
                    self.folders.push(Folder { layer: index, name: folder.name });
                    parents.push(parent);
                }
                homes.push(home);
            }
            of_layers.push(homes);
        }
        Ok(Homes { of_layers, parents })
    }

    /// Puts folders in the order of their nodes, and counts what wants a place among the children of each.
    fn runs(&self, homes: &Homes) -> Runs {
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.folders.len()];
        let mut counts = vec![0_usize; self.folders.len()];
        for (folder, &parent) in (0_u32..).zip(&homes.parents).skip(1) {
            children[parent as usize].push(folder);
            counts[parent as usize] += 1;
        }
        for (layer, homes) in self.layers.iter().zip(&homes.of_layers) {
            layer.files.iter().for_each(|file| counts[homes[file.folder as usize] as usize] += 1);
        }
        // From the root down, and of one folder as names are sorted: files among them change nothing about it.
        let mut order = vec![0_u32];
        let mut at = 0;
        while let Some(&folder) = order.get(at) {
            let mut below = std::mem::take(&mut children[folder as usize]);
            let name = |folder: &u32| {
                let Folder { layer, name } = self.folders[*folder as usize];
                self.text(layer, name)
            };
            below.sort_unstable_by(|a, b| fold::compare(name(a), name(b)));
            order.extend(below);
            at += 1;
        }
        let starts = std::iter::once(0)
            .chain(order.iter().scan(0, |end, &folder| {
                *end += counts[folder as usize];
                Some(*end)
            }))
            .collect();
        Runs { have_twins: vec![false; order.len()], order, starts }
    }

    /// The root's node, and behind it all that wants a place, folder by folder, otherwise in no order. Until it is
    /// settled where they are, nodes do not know their parents, and those of folders keep their merged number.
    fn gather(&self, homes: &Homes, runs: &Runs) -> Vec<Node> {
        let total = runs.starts.last().copied().unwrap_or(0);
        let vacant =
            Node { key: 0, name: Text::default(), parent: 0, first: 0, count: 0, layer: 0, is_folder: true };
        let mut nodes = vec![vacant; total + 1];
        let mut next = vec![0_usize; self.folders.len()];
        for (&folder, start) in runs.order.iter().zip(&runs.starts) {
            next[folder as usize] = start + 1;
        }
        let mut put = |folder: u32, layer: u16, name: Text, first: u32, is_folder: bool| {
            let next = &mut next[folder as usize];
            let key = fold::key(self.text(layer, name));
            nodes[*next] = Node { key, name, parent: 0, first, count: 0, layer, is_folder };
            *next += 1;
        };
        for (item, (folder, &parent)) in (0_u32..).zip(self.folders.iter().zip(&homes.parents)).skip(1) {
            put(parent, folder.layer, folder.name, item, true);
        }
        for (index, (layer, homes)) in (0_u16..).zip(self.layers.iter().zip(&homes.of_layers)) {
            for (item, file) in (0_u32..).zip(&layer.files) {
                put(homes[file.folder as usize], index, file.name, item, false);
            }
        }
        nodes
    }

    /// Sorts the children of every folder, on all processors: each takes folders that lie together.
    fn sort_all(&self, nodes: &mut [Node], runs: &mut Runs) {
        let threads = match nodes.len() {
            0..PARALLEL_FROM => 1,
            _ => thread::available_parallelism().map_or(1, NonZero::get),
        };
        let share = nodes.len().div_ceil(threads).max(1);
        let sort_folders = |nodes: &mut [Node], starts: &[usize], have_twins: &mut [bool]| {
            let mut rest = nodes;
            for (bounds, has_twins) in starts.windows(2).zip(have_twins) {
                let (run, others) = std::mem::take(&mut rest).split_at_mut(bounds[1] - bounds[0]);
                self.sort(run);
                *has_twins = run.windows(2).any(|pair| self.is_same(&pair[0], &pair[1]));
                rest = others;
            }
        };
        thread::scope(|scope| {
            let (mut rest, mut starts, mut have_twins) = (nodes, &runs.starts[..], &mut runs.have_twins[..]);
            while let Some(&first) = starts.first().filter(|_| starts.len() > 1) {
                // The folders whose children begin within a share, and one at least.
                let folders =
                    starts.partition_point(|start| start - first < share).clamp(1, starts.len() - 1);
                let (part, others) = std::mem::take(&mut rest).split_at_mut(starts[folders] - first);
                let (twins, more) = std::mem::take(&mut have_twins).split_at_mut(folders);
                let of_part = &starts[..=folders];
                (rest, starts, have_twins) = (others, &starts[folders..], more);
                match rest.is_empty() {
                    true => sort_folders(part, of_part, twins),
                    false => drop(scope.spawn(move || sort_folders(part, of_part, twins))),
                }
            }
        });
    }

    fn text(&self, layer: u16, name: Text) -> &[u8] {
        self.layers[usize::from(layer)].text(name)
    }

    /// Settles who is seen, folder by folder from the root down, and lets go of what only the building needed.
    fn freeze(mut self, mut nodes: Vec<Node>, runs: &Runs) -> Result<Tree, TooManyNodes> {
        let mut hidden = Vec::new();
        let mut places = vec![0_u32; self.folders.len()];
        // Who is hidden leaves his place to those behind him.
        let mut end = 1;
        for (place, &folder) in runs.order.iter().enumerate() {
            let run = runs.starts[place] + 1..runs.starts[place + 1] + 1;
            let parent = places[folder as usize];
            let first = end;
            end = match runs.have_twins[place] {
                false => {
                    nodes.copy_within(run.clone(), end);
                    end + run.len()
                }
                true => self.settle(&mut nodes, run, end, &mut hidden)?,
            };
            for (at, node) in (number(first)?..).zip(&mut nodes[first..end]) {
                node.parent = parent;
                if node.is_folder {
                    places[node.first as usize] = at;
                }
            }
            nodes[parent as usize].first = number(first)?;
            nodes[parent as usize].count = number(end - first)?;
        }
        nodes.truncate(end);
        nodes.shrink_to_fit();
        self.layers.iter_mut().for_each(Layer::freeze);
        let unnamed = unnamed::index(&nodes, &self.layers);
        Ok(Tree { nodes, layers: self.layers, hidden, unnamed })
    }

    /// Settles who is seen of the sorted children `run` of a folder, and puts their nodes at `end`, which they move on.
    fn settle(
        &mut self,
        nodes: &mut [Node],
        run: Range<usize>,
        mut end: usize,
        hidden: &mut Vec<Hidden>,
    ) -> Result<usize, TooManyNodes> {
        let first = end;
        let mut run = nodes[run].to_vec();
        let renamed = self.rename_twins(&run)?;
        if !renamed.is_empty() {
            let out: HashSet<(u16, u32)> = renamed.iter().map(|node| (node.layer, node.first)).collect();
            run.retain(|it| it.is_folder || !out.contains(&(it.layer, it.first)));
            run.extend(renamed);
            self.sort(&mut run);
        }
        for node in run {
            if end > first && self.is_same(&nodes[end - 1], &node) {
                let entry = EntryId { layer: node.layer, entry: node.first };
                hidden.push(Hidden { by: NodeId(number(end - 1)?), entry, name: node.name });
            } else {
                nodes[end] = node;
                end += 1;
            }
        }
        Ok(end)
    }

    /// Whether two nodes have one name.
    fn is_same(&self, a: &Node, b: &Node) -> bool {
        let [name, other] = [a, b].map(|node| self.text(node.layer, node.name));
        a.key == b.key && name.len() == other.len() && fold::compare_rest(name, other) == Ordering::Equal
    }

    /// By folded name; of one name a folder first, then the layer that wins, then stored order.
    fn sort(&self, run: &mut [Node]) {
        let rank = |node: &Node| (!node.is_folder, Reverse(node.layer), node.first);
        run.sort_unstable_by(|a, b| {
            a.key
                .cmp(&b.key)
                .then_with(|| fold::compare_rest(self.text(a.layer, a.name), self.text(b.layer, b.name)))
                .then_with(|| rank(a).cmp(&rank(b)))
        });
    }

    /// Finds files that another file of their own layer, or a folder, keeps from their name, and gives each the
    /// first number that is free. `run` is sorted; the nodes to replace are answered, under their new names.
    fn rename_twins(&mut self, run: &[Node]) -> Result<Vec<Node>, TooManyNodes> {
        let is_twin = |before: &Node, node: &Node| {
            (before.is_folder || before.layer == node.layer) && self.is_same(before, node)
        };
        let mut twins = Vec::new();
        // A folder keeps its name from all files that follow under it, not just from the next.
        let mut folder: Option<&Node> = None;
        for (before, node) in run.iter().zip(run.iter().skip(1)) {
            folder = if before.is_folder { Some(before) } else { folder };
            if is_twin(before, node) || folder.is_some_and(|folder| is_twin(folder, node)) {
                twins.push(*node);
            }
        }
        if twins.is_empty() {
            return Ok(twins);
        }
        // In stored order, whatever the sort made of it, and from the first layer to the last.
        twins.sort_unstable_by_key(|node| (node.layer, node.first));
        let mut taken: HashSet<Vec<u8>> =
            run.iter().map(|node| self.text(node.layer, node.name).to_ascii_lowercase()).collect();
        // The second file of a name has the same number in every layer, so that of these, too, the last one wins.
        // The numbers given are also where to go on counting: a million files of one name do not each begin at 2.
        let mut numbers: HashMap<Vec<u8>, Vec<u32>> = HashMap::new();
        let mut passed: HashMap<(Vec<u8>, u16), usize> = HashMap::new();
        for node in &mut twins {
            let name = String::from_utf8_lossy(self.text(node.layer, node.name)).into_owned();
            let folded = name.as_bytes().to_ascii_lowercase();
            let place = passed.entry((folded.clone(), node.layer)).or_insert(0);
            let given = numbers.entry(folded).or_default();
            if *place == given.len() {
                let mut number = given.last().map_or(2, |last| last.saturating_add(1));
                while !taken.insert(name::numbered(&name, number).as_bytes().to_ascii_lowercase()) {
                    number = number.checked_add(1).ok_or(TooManyNodes)?;
                }
                given.push(number);
            }
            let numbered = name::numbered(&name, given[*place]);
            *place += 1;
            node.name = self.layers[usize::from(node.layer)]
                .rename(node.first, &numbered)
                .map_err(|_| TooManyNodes)?;
            node.key = fold::key(numbered.as_bytes());
        }
        Ok(twins)
    }
}

/// Where the folders of layers went.
struct Homes {
    /// For each layer, for each of its folders, the merged folder.
    of_layers: Vec<Vec<u32>>,
    /// For each merged folder, its parent.
    parents: Vec<u32>,
}

fn number(place: usize) -> Result<u32, TooManyNodes> {
    u32::try_from(place).map_err(|_| TooManyNodes)
}
