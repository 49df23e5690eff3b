//! Merges layers into a tree: which file of a name is listed, what it hides, and each node's number.

use std::cmp::{Ordering, Reverse};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::erased::{Erased, ErasedIn};
use super::fold;
use super::layer_builder::{DuplicateNames, FolderIndex, numbered};
use super::layer_names::{File, LayerNames, NameRef};
use super::node::{Hidden, Node, NodeId};
use super::runs::for_each_run;
use super::stored_names::NamesTooLarge;
use super::tree::Tree;
use crate::folder::FileTime;
use crate::format::EntryId;

/// Error if there are more folders and files than inode numbers of 32 bits, which old programs
/// need, or more than 65,535 archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyNodes;

impl std::fmt::Display for TooManyNodes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("too many files for one mount; mount fewer archives")
    }
}

impl std::error::Error for TooManyNodes {}

/// Merges layers, and freezes the tree. If several layers have a file, `rule` decides which one is
/// listed. With [`Rule::LastWins`] it is the last.
///
/// Within one layer, nothing is hidden. If names are equal except for case, all but the first get a
/// number (`name (2).ext`), in stored order. A file that is named like a folder gets a number too.
///
/// # Errors
/// [`TooManyNodes`] if numbers run out.
pub fn merge<L: Into<MergeLayer>>(layers: Vec<L>, rule: Rule) -> Result<Tree, TooManyNodes> {
    let layers = layers.into_iter().map(Into::into).collect();
    let mut merging = Merging { folders: Vec::new(), layers, rule };
    let map = merging.merge_folders()?;
    let files: usize = merging.layers.iter().map(|layer| layer.names.files.len()).sum();
    if merging.folders.len().saturating_add(files) >= NODES_MAX {
        return Err(TooManyNodes);
    }
    let runs = merging.runs(&map);
    let mut nodes = merging.gather(&map, &runs);
    for_each_run(&mut nodes[1..], &runs.starts, |run| merging.sort(run));
    let (hidden, node_of_folder) = merging.number(&mut nodes, &runs)?;
    let times = merging.folder_times(&map, &node_of_folder);
    Ok(Tree::new(nodes, merging.layers.into_iter().map(|layer| layer.names).collect(), hidden, times))
}

/// A hash of all that decides how layers are merged, except their names.
pub fn rules_hash(layers: &[MergeLayer], rule: Rule) -> u64 {
    let mut hasher = DefaultHasher::new();
    rule.hash(&mut hasher);
    for MergeLayer { names: _, left_out, folders_out, times, game } in layers {
        (left_out, folders_out, times, game).hash(&mut hasher);
    }
    hasher.finish()
}

/// Maximum number of nodes, so that their numbers and those of spellings stay below 2^32.
const NODES_MAX: usize = (u32::MAX - (1 << 20)) as usize;

/// Stands for the merged folder of a folder that is not listed, and has no listed files and folders.
const NOT_LISTED: u32 = u32::MAX;

struct Merging {
    /// The merged folders of all layers; the root first, and every folder after its parent.
    folders: Vec<MergedFolder>,
    layers: Vec<MergeLayer>,
    rule: Rule,
}

/// A merged folder: the first layer that has it, and its name there.
struct MergedFolder {
    layer: u16,
    name: NameRef,
}

/// Maps the folders of layers to merged folders.
struct FolderMap {
    /// The merged folder of each folder of each layer.
    of_layers: Vec<Vec<u32>>,
    /// The parent of each merged folder.
    parents: Vec<u32>,
}

/// Which nodes are the children of which folder. Folders are in the order of their nodes' numbers.
struct Runs {
    /// The merged folders.
    order: Vec<u32>,
    /// Where the children of each folder begin, and where those of the last folder end. The root's
    /// node is not counted.
    starts: Vec<usize>,
}

impl Merging {
    /// Merges the folders of all layers into one tree.
    fn merge_folders(&mut self) -> Result<FolderMap, TooManyNodes> {
        let mut parents = vec![0_u32];
        let mut entered = FolderIndex::default();
        self.folders.push(MergedFolder { layer: 0, name: NameRef::default() });
        let mut of_layers = Vec::with_capacity(self.layers.len());
        for (index, layer) in self.layers.iter().enumerate() {
            let index = u16::try_from(index).map_err(|_| TooManyNodes)?;
            let mut of_layer = Vec::with_capacity(layer.names.folders.len());
            of_layer.push(0);
            for (number, folder) in (0..).zip(&layer.names.folders).skip(1) {
                if !layer.lists_folder(number) {
                    of_layer.push(NOT_LISTED);
                    continue;
                }
                let parent = of_layer[folder.parent as usize];
                let name = layer.names.name(folder.name);
                let is_it = |merged: u32| {
                    let MergedFolder { layer, name: known } = self.folders[merged as usize];
                    parents[merged as usize] == parent && fold::same(self.name(layer, known), name)
                };
                let merged = match entered.find(parent, name, is_it) {
                    Ok(merged) => merged,
                    Err(key) => {
                        let merged = node_number(self.folders.len())?;
                        entered.insert(key, merged);
                        self.folders.push(MergedFolder { layer: index, name: folder.name });
                        parents.push(parent);
                        merged
                    }
                };
                of_layer.push(merged);
            }
            of_layers.push(of_layer);
        }
        Ok(FolderMap { of_layers, parents })
    }

    /// Orders folders like their nodes, and counts the children of each.
    fn runs(&self, map: &FolderMap) -> Runs {
        let mut below: Vec<u32> = (1..).take(self.folders.len() - 1).collect();
        let parent = |&folder: &u32| map.parents[folder as usize];
        below.sort_unstable_by_key(parent);
        let mut counts = vec![0_usize; self.folders.len()];
        for folder in below.iter() {
            counts[parent(folder) as usize] += 1;
        }
        for (layer, merged) in self.layers.iter().zip(&map.of_layers) {
            layer.listed_files().for_each(|(_, file)| counts[merged[file.folder as usize] as usize] += 1);
        }
        // Breadth first, and by name within a folder. Files among the folders do not change this order.
        let mut order = vec![0_u32];
        let mut at = 0;
        while let Some(&folder) = order.get(at) {
            let start = below.partition_point(|it| parent(it) < folder);
            let end = below.partition_point(|it| parent(it) <= folder);
            let name = |folder: &u32| {
                let MergedFolder { layer, name } = self.folders[*folder as usize];
                self.name(layer, name)
            };
            below[start..end].sort_unstable_by(|a, b| fold::compare(name(a), name(b)));
            order.extend(&below[start..end]);
            at += 1;
        }
        let starts = std::iter::once(0)
            .chain(order.iter().scan(0, |end, &folder| {
                *end += counts[folder as usize];
                Some(*end)
            }))
            .collect();
        Runs { order, starts }
    }

    /// The root, all merged folders, and all layers' files: folder by folder, otherwise unordered.
    fn gather(&self, map: &FolderMap, runs: &Runs) -> Vec<Node> {
        let total = runs.starts.last().copied().unwrap_or(0);
        let mut nodes = vec![Node { is_folder: true, ..Node::default() }; total + 1];
        let mut next = vec![0_usize; self.folders.len()];
        for (&folder, &start) in runs.order.iter().zip(&runs.starts) {
            next[folder as usize] = start + 1;
        }
        let mut put = |folder: u32, layer: u16, name: NameRef, first: u32, is_folder: bool| {
            let next = &mut next[folder as usize];
            nodes[*next] = Node { name, first, layer, is_folder, ..Node::default() };
            *next += 1;
        };
        for (number, (folder, &parent)) in (0_u32..).zip(self.folders.iter().zip(&map.parents)).skip(1) {
            put(parent, folder.layer, folder.name, number, true);
        }
        for (index, (layer, merged)) in (0_u16..).zip(self.layers.iter().zip(&map.of_layers)) {
            for (entry, file) in layer.listed_files() {
                put(merged[file.folder as usize], index, file.name, entry, false);
            }
        }
        nodes
    }

    /// Numbers the nodes from the root down, and removes the hidden entries. Returns these, and the
    /// node of each merged folder.
    fn number(
        &mut self,
        nodes: &mut Vec<Node>,
        runs: &Runs,
    ) -> Result<(Vec<Hidden>, Vec<u32>), TooManyNodes> {
        let mut hidden = Vec::new();
        let mut node_of_folder = vec![0_u32; self.folders.len()];
        let mut end = 1;
        for (&folder, bounds) in runs.order.iter().zip(runs.starts.windows(2)) {
            let run = bounds[0] + 1..bounds[1] + 1;
            if nodes[run.clone()].iter().any(|node| node.is_repeated) {
                self.number_duplicates(&mut nodes[run.clone()])?;
                self.decide(&mut nodes[run.clone()]);
            }
            let parent = node_of_folder[folder as usize];
            let first = end;
            for index in run {
                let node = nodes[index];
                if node.is_repeated {
                    let entry = EntryId { layer: node.layer, entry: node.first };
                    hidden.push(Hidden { by: NodeId(node_number(end - 1)?), entry });
                    continue;
                }
                if node.is_folder {
                    node_of_folder[node.first as usize] = node_number(end)?;
                }
                nodes[end] = Node { parent, ..node };
                end += 1;
            }
            nodes[parent as usize].count = node_number(end - first)?;
            nodes[parent as usize].first = node_number(first)?;
        }
        nodes.truncate(end);
        nodes.shrink_to_fit();
        Ok((hidden, node_of_folder))
    }

    /// Applies the rule to each name in a sorted run, to decide which file is listed. At this point
    /// no layer has two files of one name, and no file has the name of a folder.
    fn decide(&self, run: &mut [Node]) {
        for same in run.chunk_by_mut(|_, next| next.is_repeated).filter(|same| same.len() > 1) {
            self.rule.order(&self.layers, same);
            (0..).zip(same).for_each(|(index, node)| node.is_repeated = index > 0);
        }
    }

    /// The times of folders of loose files, by node. If several layers have a folder, the newest time counts.
    fn folder_times(&self, map: &FolderMap, node_of_folder: &[u32]) -> Vec<(NodeId, FileTime)> {
        let mut times = Vec::new();
        for (layer, merged) in self.layers.iter().zip(&map.of_layers) {
            let listed =
                merged.iter().zip(&layer.names.folder_times).filter(|(folder, _)| **folder != NOT_LISTED);
            times.extend(listed.map(|(&folder, &time)| (NodeId(node_of_folder[folder as usize]), time)));
        }
        times.sort_unstable_by_key(|&(node, time)| (node, Reverse(time.system_time())));
        times.dedup_by_key(|(node, _)| *node);
        times.shrink_to_fit();
        times
    }

    /// Gives the first free number to each file of a sorted run whose name is taken by a folder or
    /// by another file of its layer.
    fn number_duplicates(&mut self, run: &mut [Node]) -> Result<(), TooManyNodes> {
        let mut numbering = None;
        // The nth file of a name has the same number in every layer. So the last layer also wins
        // for numbered files.
        let mut numbers = Vec::new();
        let (mut first_of_name, mut nth) = (0, 0);
        for index in 1..run.len() {
            let node = run[index];
            if !node.is_repeated {
                (first_of_name, nth) = (index, 0);
                numbers.clear();
                continue;
            }
            if run[index - 1].layer != node.layer {
                nth = 0;
                if !run[first_of_name].is_folder {
                    continue;
                }
            }
            let names = run.iter().map(|node| self.name(node.layer, node.name));
            let numbering = numbering.get_or_insert_with(|| DuplicateNames::new(names));
            let name = String::from_utf8_lossy(self.name(node.layer, node.name)).into_owned();
            if nth == numbers.len() {
                let last = numbers.last().copied().unwrap_or(1);
                numbers.push(numbering.next(&name, last).ok_or(TooManyNodes)?);
            }
            let name = numbered(&name, numbers[nth]);
            nth += 1;
            let layer = &mut self.layers[usize::from(node.layer)];
            run[index].name = layer.add_name(&name).map_err(|_| TooManyNodes)?;
        }
        if numbering.is_none() {
            return Ok(());
        }
        self.sort(run);
        Ok(())
    }

    /// Sorts by folded name. For equal names, a folder comes first, then the last layer, then stored order.
    /// Then sets the key of each node to the hash of its name.
    fn sort(&self, run: &mut [Node]) {
        let name = |node: &Node| self.name(node.layer, node.name);
        for node in run.iter_mut() {
            node.key = fold::prefix(name(node));
        }
        let compare =
            |a: &Node, b: &Node| a.key.cmp(&b.key).then_with(|| fold::compare_rest(name(a), name(b)));
        let rank = |node: &Node| (!node.is_folder, Reverse(node.layer));
        let rank = |a: &Node, b: &Node| rank(a).cmp(&rank(b)).then_with(|| self.compare_stored(a, b));
        run.sort_unstable_by(|a, b| compare(a, b).then_with(|| rank(a, b)));
        let mut last: Option<Node> = None;
        for node in run {
            node.is_repeated = last.is_some_and(|last| compare(&last, node).is_eq());
            last = Some(*node);
            // Every name in a tree is short enough to have a hash.
            node.key = fold::hash(name(node)).unwrap_or_default();
        }
    }

    /// Compares two files of one layer in stored order. Loose files are stored in the order of the disk. As
    /// that may change, their names decide.
    fn compare_stored(&self, a: &Node, b: &Node) -> Ordering {
        let names = &self.layers[usize::from(a.layer)].names;
        if a.is_folder || !names.is_loose() {
            return a.first.cmp(&b.first);
        }
        let key = |node: &Node| {
            (names.files[node.first as usize].folder, names.name(names.files[node.first as usize].name))
        };
        key(a).cmp(&key(b))
    }

    fn name(&self, layer: u16, name: NameRef) -> &[u8] {
        self.layers[usize::from(layer)].names.name(name)
    }
}

fn node_number(index: usize) -> Result<u32, TooManyNodes> {
    u32::try_from(index).map_err(|_| TooManyNodes)
}

// A layer to merge: its names, and how a game's rules affect them.

/// When the files of a layer were last changed, in nanoseconds since 1970, for rules that decide by time.
#[derive(Debug, Default, Hash)]
pub(super) enum Times {
    /// Not known, because no such rule concerns the layer.
    #[default]
    None,
    /// All files of an archive have the time of the archive.
    Archive(i64),
    /// Times of loose files, by entry.
    Files(Vec<i64>),
}

/// A layer to merge. It shares its names with the trees that were merged from it before.
#[derive(Debug)]
pub struct MergeLayer {
    pub(super) names: Arc<LayerNames>,
    /// Files that are not listed, sorted.
    left_out: Vec<u32>,
    /// Folders that are not listed, sorted. No file in them is listed.
    folders_out: Vec<u32>,
    pub(super) times: Times,
    /// The number of the game that the layer belongs to, if a rule decides by time. Sources may
    /// include several games.
    pub(super) game: u16,
}

impl From<Arc<LayerNames>> for MergeLayer {
    fn from(names: Arc<LayerNames>) -> Self {
        Self {
            names,
            left_out: Default::default(),
            folders_out: Default::default(),
            times: Times::None,
            game: 0,
        }
    }
}

impl From<LayerNames> for MergeLayer {
    fn from(names: LayerNames) -> Self {
        Arc::new(names).into()
    }
}

impl MergeLayer {
    /// Sets the time of an archive, in nanoseconds since 1970, for a rule that decides by time.
    #[must_use]
    pub fn modified(self, archive: i64) -> Self {
        Self { times: Times::Archive(archive), ..self }
    }

    /// Sets the times of loose files, in the order of their entries.
    #[must_use]
    pub fn modified_each(self, files: Vec<i64>) -> Self {
        Self { times: Times::Files(files), ..self }
    }

    /// Sets the game that the layer belongs to, for a rule that decides by time within each game.
    #[must_use]
    pub fn of_game(self, game: u16) -> Self {
        Self { game, ..self }
    }

    /// Leaves out the files whose paths satisfy a condition, so that they are neither listed nor
    /// hidden. The condition gets paths in lower case, with `/` between names.
    #[must_use]
    pub fn without(self, is_out: impl Fn(&[u8]) -> bool) -> Self {
        let paths = (0..).zip(self.names.listed_paths());
        let left_out = paths.filter(|(_, path)| is_out(path)).map(|(entry, _)| entry).collect();
        self.without_files(left_out)
    }

    /// Leaves out what the layers above hide.
    #[must_use]
    pub fn beneath(self, erased: &Erased) -> Self {
        let ErasedIn { folders, files } = erased.of_layer(&self.names);
        Self { folders_out: folders, ..self.without_files(files) }
    }

    fn without_files(self, mut left_out: Vec<u32>) -> Self {
        left_out.extend(&self.left_out);
        left_out.sort_unstable();
        Self { left_out, ..self }
    }

    /// Leaves out the files that are not below a folder. Its path is in lower case, with `/` between
    /// names and at the end.
    #[must_use]
    pub fn only_below(self, folder: &[u8]) -> Self {
        let base = self.names.base_name().to_ascii_lowercase();
        let folder = if base.is_empty() {
            Some(folder)
        } else {
            folder.strip_prefix(&base[..]).and_then(|folder| folder.strip_prefix(b"/"))
        };
        self.without(|path| folder.is_none_or(|folder| !path.starts_with(folder)))
    }

    /// The files that are listed, with their entries.
    pub(super) fn listed_files(&self) -> impl Iterator<Item = (u32, &File)> {
        (0_u32..).zip(&self.names.files).filter(|(entry, _)| self.left_out.binary_search(entry).is_err())
    }

    /// Whether the layer is not below a folder of its own.
    pub fn is_at_root(&self) -> bool {
        self.names.has_base(None)
    }

    /// Whether a folder is listed because of this layer.
    pub(super) fn lists_folder(&self, folder: u32) -> bool {
        self.folders_out.binary_search(&folder).is_err()
    }

    /// Adds a name under which a file is listed instead of its own. If the names are shared, they are copied
    /// first.
    pub(super) fn add_name(&mut self, name: &str) -> Result<NameRef, NamesTooLarge> {
        Arc::make_mut(&mut self.names).append(name.as_bytes())
    }
}

// Rules that decide which of the files of one path is listed.

/// Decides which layer wins if several have a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
