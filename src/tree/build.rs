//! Layers become a tree: whose file is seen, what it hides, and which number each node gets.

use std::cmp::{Ordering, Reverse};
use std::collections::{HashMap, HashSet};
use std::num::NonZero;
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
    // What stays is allocated before what goes, so that the heap can give the latter back.
    let most = merging.folders.len() + merging.layers.iter().map(|layer| layer.files.len()).sum::<usize>();
    let nodes = Vec::with_capacity(if most < NODES_MAX { most } else { return Err(TooManyNodes) });
    let (mut slots, starts) = merging.gather(&homes);
    merging.sort_all(&mut slots, &starts);
    merging.freeze(nodes, slots, &starts)
}

/// Nodes that may exist, so that their numbers and those of [`super::Spellings`] stay below 2^32.
const NODES_MAX: usize = (u32::MAX - (1 << 20)) as usize;

/// Slots from which on a thread more is worth its start.
const PARALLEL_FROM: usize = 1 << 14;

/// A folder of the merged tree, and who spells it.
struct Folder {
    layer: u16,
    name: Text,
}

/// A folder or file that wants a place among the children of a folder.
#[derive(Clone, Copy)]
struct Slot {
    key: u64,
    name: Text,
    layer: u16,
    /// A file's entry, or a folder's place among the merged folders.
    item: u32,
    is_folder: bool,
}

impl Slot {
    /// The node that takes the place; a folder's holds its merged number until its children are seated.
    fn node(&self, parent: NodeId) -> Node {
        Node {
            key: self.key,
            name: self.name,
            parent: parent.0,
            first: self.item,
            count: 0,
            layer: self.layer,
            is_folder: self.is_folder,
        }
    }
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

    /// Everything that wants a place, sorted by folder alone: the slots of folder `i` are `starts[i]..starts[i + 1]`.
    fn gather(&self, homes: &Homes) -> (Vec<Slot>, Vec<usize>) {
        let files =
            self.layers.iter().zip(&homes.of_layers).flat_map(|(layer, homes)| {
                layer.files.iter().map(|file| homes[file.folder as usize] as usize)
            });
        let mut starts = vec![0_usize; self.folders.len() + 1];
        for folder in homes.parents.iter().skip(1).map(|&parent| parent as usize).chain(files) {
            starts[folder + 1] += 1;
        }
        for folder in 0..self.folders.len() {
            starts[folder + 1] += starts[folder];
        }
        let total = starts.last().copied().unwrap_or(0);
        let vacant = Slot { key: 0, name: Text::default(), layer: 0, item: 0, is_folder: false };
        let mut slots = vec![vacant; total];
        let mut next = starts.clone();
        let mut put = |folder: usize, slot| {
            slots[next[folder]] = slot;
            next[folder] += 1;
        };
        for (item, (folder, &parent)) in (0_u32..).zip(self.folders.iter().zip(&homes.parents)).skip(1) {
            put(parent as usize, self.slot(folder.layer, folder.name, item, true));
        }
        for (index, (layer, homes)) in (0_u16..).zip(self.layers.iter().zip(&homes.of_layers)) {
            for (item, file) in (0_u32..).zip(&layer.files) {
                put(homes[file.folder as usize] as usize, self.slot(index, file.name, item, false));
            }
        }
        (slots, starts)
    }

    /// Sorts the slots of every folder, on all processors: each takes folders that lie together.
    fn sort_all(&self, slots: &mut [Slot], starts: &[usize]) {
        let threads = match slots.len() {
            0..PARALLEL_FROM => 1,
            _ => thread::available_parallelism().map_or(1, NonZero::get),
        };
        let share = slots.len().div_ceil(threads).max(1);
        let sort_folders = |slots: &mut [Slot], starts: &[usize]| {
            let mut rest = slots;
            for (start, end) in starts.iter().zip(starts.iter().skip(1)) {
                let (run, others) = std::mem::take(&mut rest).split_at_mut(end - start);
                self.sort(run);
                rest = others;
            }
        };
        thread::scope(|scope| {
            let (mut rest, mut starts) = (slots, starts);
            while let Some(&first) = starts.first().filter(|_| starts.len() > 1) {
                // The folders whose slots begin within a share, and one at least.
                let folders =
                    starts.partition_point(|start| start - first < share).clamp(1, starts.len() - 1);
                let (part, others) = std::mem::take(&mut rest).split_at_mut(starts[folders] - first);
                let of_part = &starts[..=folders];
                (rest, starts) = (others, &starts[folders..]);
                match rest.is_empty() {
                    true => sort_folders(part, of_part),
                    false => drop(scope.spawn(move || sort_folders(part, of_part))),
                }
            }
        });
    }

    fn slot(&self, layer: u16, name: Text, item: u32, is_folder: bool) -> Slot {
        Slot { key: fold::key(self.text(layer, name)), name, layer, item, is_folder }
    }

    fn text(&self, layer: u16, name: Text) -> &[u8] {
        self.layers[usize::from(layer)].text(name)
    }

    /// Numbers the nodes, folder by folder from the root down, and lets go of what only the building needed.
    fn freeze(
        mut self,
        mut nodes: Vec<Node>,
        mut slots: Vec<Slot>,
        starts: &[usize],
    ) -> Result<Tree, TooManyNodes> {
        let mut hidden = Vec::new();
        nodes.push(Node {
            key: 0,
            name: Text::default(),
            parent: 0,
            first: 0,
            count: 0,
            layer: 0,
            is_folder: true,
        });
        // Nodes are visited in the order in which they are numbered; a folder's node holds its merged number until
        // it is visited and learns where its children are.
        let mut at = 0;
        while at < nodes.len() {
            let folder: Node = nodes[at];
            if folder.is_folder {
                let run = &mut slots[starts[folder.first as usize]..starts[folder.first as usize + 1]];
                let first = nodes.len();
                self.seat(run, NodeId(number(at)?), &mut nodes, &mut hidden)?;
                nodes[at].first = number(first)?;
                nodes[at].count = number(nodes.len() - first)?;
            }
            at += 1;
        }
        nodes.shrink_to_fit();
        self.layers.iter_mut().for_each(Layer::freeze);
        let unnamed = unnamed::index(&nodes, &self.layers);
        Ok(Tree { nodes, layers: self.layers, hidden, unnamed })
    }

    /// Settles who is seen of the children of a folder, which are sorted, and appends their nodes.
    fn seat(
        &mut self,
        run: &mut [Slot],
        parent: NodeId,
        nodes: &mut Vec<Node>,
        hidden: &mut Vec<Hidden>,
    ) -> Result<(), TooManyNodes> {
        // Nearly always no name comes twice, and there is nothing to settle.
        let is_simple = !run
            .array_windows()
            .any(|[a, b]| a.key == b.key && a.name.len == b.name.len && self.is_same_name(a, b));
        if is_simple {
            nodes.extend(run.iter().map(|slot| slot.node(parent)));
            return Ok(());
        }
        let renamed = self.rename_twins(run)?;
        let mut kept;
        let run = match renamed.is_empty() {
            true => run,
            false => {
                let out: HashSet<(u16, u32)> = renamed.iter().map(|slot| (slot.layer, slot.item)).collect();
                kept = run
                    .iter()
                    .filter(|it| it.is_folder || !out.contains(&(it.layer, it.item)))
                    .copied()
                    .collect::<Vec<_>>();
                kept.extend(renamed);
                self.sort(&mut kept);
                &mut kept[..]
            }
        };
        for slot in run.iter() {
            let twin = nodes.last().filter(|node| node.parent == parent.0 && nodes.len() > 1).copied();
            let entry = EntryId { layer: slot.layer, entry: slot.item };
            match twin {
                Some(node) if node.key == slot.key && self.is_same(&node, slot) => {
                    hidden.push(Hidden { by: NodeId(number(nodes.len() - 1)?), entry, name: slot.name });
                }
                _ => nodes.push(slot.node(parent)),
            }
        }
        Ok(())
    }

    fn is_same(&self, node: &Node, slot: &Slot) -> bool {
        fold::same(self.text(node.layer, node.name), self.text(slot.layer, slot.name))
    }

    /// Of two slots whose keys are equal.
    fn is_same_name(&self, a: &Slot, b: &Slot) -> bool {
        let [a, b] = [a, b].map(|slot| self.text(slot.layer, slot.name));
        a.len() == b.len() && fold::compare_rest(a, b) == Ordering::Equal
    }

    /// By folded name; of one name a folder first, then the layer that wins, then stored order.
    fn sort(&self, run: &mut [Slot]) {
        let rank = |slot: &Slot| (!slot.is_folder, Reverse(slot.layer), slot.item);
        run.sort_unstable_by(|a, b| {
            a.key
                .cmp(&b.key)
                .then_with(|| fold::compare_rest(self.text(a.layer, a.name), self.text(b.layer, b.name)))
                .then_with(|| rank(a).cmp(&rank(b)))
        });
    }

    /// Finds files that another file of their own layer, or a folder, keeps from their name, and gives each the
    /// first number that is free. `run` is sorted; the slots to replace are answered, under their new names.
    fn rename_twins(&mut self, run: &[Slot]) -> Result<Vec<Slot>, TooManyNodes> {
        let is_twin = |before: &Slot, slot: &Slot| {
            before.key == slot.key
                && (before.is_folder || before.layer == slot.layer)
                && self.is_same_name(before, slot)
        };
        let mut twins = Vec::new();
        // A folder keeps its name from all files that follow under it, not just from the next.
        let mut folder: Option<&Slot> = None;
        for (before, slot) in run.iter().zip(run.iter().skip(1)) {
            folder = if before.is_folder { Some(before) } else { folder };
            if is_twin(before, slot) || folder.is_some_and(|folder| is_twin(folder, slot)) {
                twins.push(*slot);
            }
        }
        if twins.is_empty() {
            return Ok(twins);
        }
        // In stored order, whatever the sort made of it, and from the first layer to the last.
        twins.sort_unstable_by_key(|slot| (slot.layer, slot.item));
        let mut taken: HashSet<Vec<u8>> =
            run.iter().map(|slot| self.text(slot.layer, slot.name).to_ascii_lowercase()).collect();
        // The second file of a name has the same number in every layer, so that of these, too, the last one wins.
        // The numbers given are also where to go on counting: a million files of one name do not each begin at 2.
        let mut numbers: HashMap<Vec<u8>, Vec<u32>> = HashMap::new();
        let mut passed: HashMap<(Vec<u8>, u16), usize> = HashMap::new();
        for slot in &mut twins {
            let name = String::from_utf8_lossy(self.text(slot.layer, slot.name)).into_owned();
            let folded = name.as_bytes().to_ascii_lowercase();
            let place = passed.entry((folded.clone(), slot.layer)).or_insert(0);
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
            slot.name = self.layers[usize::from(slot.layer)]
                .rename(slot.item, &numbered)
                .map_err(|_| TooManyNodes)?;
            slot.key = fold::key(numbered.as_bytes());
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
