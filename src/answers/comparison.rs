//! Compares the bytes of files: first by size, then by digests of both, read in pieces.

use std::cell::OnceCell;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::fate::Fate;
use crate::content::BytesKey;
use crate::game::{Deployments, LoadOrder, OrderLayer};
use crate::shown::Shown;
use crate::system::once_per_file::OncePerFile;
use crate::system::parallel::in_parallel;
use crate::tree::NodeId;
use crate::vfs::error::OpenError;
use crate::vfs::file::{VfsFile, VfsLayer};
use crate::vfs::library::Vfs;
use crate::vfs::opened::Opened;
use crate::vfs::patterns::Patterns;
use crate::vfs::trouble::Handling;

/// Maximum number of bytes to compare at once.
const BUFFER: usize = 1 << 16;

/// How the bytes of two files compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    Equal,
    Different,
    /// One of the files cannot be read, for this reason.
    Unreadable(String),
}

impl Compared {
    /// Whether the files are equal; `None` if one cannot be read.
    pub(crate) fn is_equal(&self) -> Option<bool> {
        match self {
            Self::Equal => Some(true),
            Self::Different => Some(false),
            Self::Unreadable(_) => None,
        }
    }

    /// Why one of the files cannot be read.
    pub(crate) fn unreadable(&self) -> Option<&str> {
        match self {
            Self::Unreadable(what) => Some(what),
            Self::Equal | Self::Different => None,
        }
    }
}

/// The SHA-256 of a file's bytes.
pub(crate) type FileDigest = [u8; 32];

/// The digests of files, each made once for all names of the same bytes.
#[derive(Debug, Default)]
pub(crate) struct Digests(OncePerFile<Result<FileDigest, String>, BytesKey>);

impl Digests {
    /// Hashes a file. Each extent is decoded once.
    ///
    /// # Errors
    /// The archive or folder, and why the file cannot be read whole.
    pub(crate) fn of(&self, file: &VfsFile) -> Result<FileDigest, String> {
        self.0.of(file.bytes_key(), || {
            let mut digest = Hashing(Sha256::new());
            let written = file.write_to(&mut digest).map_err(|error| error.to_string());
            // The bytes that a damaged file still has say nothing of those that it lacks.
            let flaw = written.and_then(|_| file.take_flaw().map_or(Ok(()), Err));
            match flaw {
                Ok(()) => Ok(digest.0.finalize().into()),
                Err(what) => Err(format!("{}: {what}", file.layer().path().shown())),
            }
        })
    }
}

/// Compares a file with each of the others. Each file is read at most once, and a file whose size
/// differs is not read. Two files are never open at the same time: a thread would hold the memory
/// of one decoded extent while it waits for that of another.
pub(crate) fn compare(file: &VfsFile, others: &[VfsFile], digests: &Digests) -> Vec<Compared> {
    let size = file.size().ok();
    let mut of_file = None;
    let compare_one = |other: &VfsFile| {
        let other_size = other.size().ok();
        match (size, other_size) {
            (Some(one), Some(two)) if one != two => return Compared::Different,
            _ => {}
        }
        let of_file: &Result<FileDigest, String> = of_file.get_or_insert_with(|| digests.of(file));
        // One file on both sides is read once, because a file that cannot be read is not called equal.
        let of_other = || if file.is_same(other) { of_file.clone() } else { digests.of(other) };
        match (of_file, of_file.is_ok().then(of_other)) {
            (Err(what), _) => Compared::Unreadable(what.clone()),
            (_, Some(Err(what))) => Compared::Unreadable(what),
            (Ok(one), Some(Ok(two))) if *one == two => Compared::Equal,
            _ => Compared::Different,
        }
    };
    others.iter().map(compare_one).collect()
}

/// Whether a file on the disk has the same bytes as a file of the tree. It differs if it cannot be read.
///
/// # Errors
/// The file of the tree cannot be read.
pub(crate) fn equals(file: &VfsFile, on_disk: &File) -> io::Result<bool> {
    match file.size() {
        Ok(size) => equals_written(on_disk, Some(size), |mut to| file.write_to(&mut to).map(drop)),
        Err(_) => Ok(false),
    }
}

/// Whether a file on the disk has the bytes that `write` writes, whose number is `len` if it is known. It
/// differs if it cannot be read.
///
/// # Errors
/// The error of `write`.
pub(crate) fn equals_written(
    on_disk: &File,
    len: Option<u64>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<bool> {
    if len.is_some() && len != on_disk.metadata().map(|found| found.len()).ok() {
        return Ok(false);
    }
    let mut comparing = HalfRead { file: BufReader::with_capacity(BUFFER, on_disk), is_equal: true };
    match write(&mut comparing) {
        _ if !comparing.is_equal => Ok(false),
        Ok(()) => Ok(comparing.file.fill_buf().is_ok_and(<[u8]>::is_empty)),
        Err(error) => Err(error),
    }
}

/// A writer that compares its bytes with those of a file. It fails at the first difference.
struct HalfRead<'f> {
    file: BufReader<&'f File>,
    is_equal: bool,
}

impl Write for HalfRead<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len().min(BUFFER);
        let mut other = vec![0; len];
        self.is_equal = self.file.read_exact(&mut other).is_ok() && other == bytes[..len];
        if self.is_equal { Ok(len) } else { Err(io::Error::other("another file")) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer that hashes its bytes.
pub(crate) struct Hashing(pub(crate) Sha256);

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// Files that several layers contain: which copy wins, which are hidden, and whether those are equal.

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
    /// For each layer, the lowest one of its folder, if the game reads only a part of that folder.
    lowest: Vec<usize>,
    /// For each such folder, why the game loads it.
    partly_read: HashMap<PathBuf, String>,
    /// The layers into which managers may deploy.
    is_own: Vec<bool>,
    /// The archives that came with a game.
    is_of_game: Vec<bool>,
    /// For each layer, the group of the mod that it belongs to.
    mod_of_layer: Vec<usize>,
    deployments: Deployments,
    /// The number of the layer and the name of each mod. The groups of layers come before.
    mods: RefCell<Vec<(usize, String)>>,
    numbers: RefCell<HashMap<(usize, String), usize>>,
}

/// A copy that no layer shows, although a layer has another one of its path.
#[derive(Clone, Debug)]
pub(crate) struct OutsideCopy {
    /// [`Fate::Ignored`] for a loose file that the game ignores because of its settings; [`Fate::Loses`] for
    /// one that a manager did not deploy, because it deployed the path from another mod.
    pub(crate) fate: Fate,
    /// The layer or the folder of the mod that has the copy.
    pub(crate) folder: PathBuf,
    /// The number of the group of that layer or mod.
    pub(crate) group: usize,
}

/// The copies of each file that no layer shows, by the node of the file.
pub(crate) type OutsideCopies = HashMap<NodeId, Vec<OutsideCopy>>;

/// The copies of a file with this fate.
pub(crate) fn outside_of<'o>(
    outside: &'o OutsideCopies,
    winner: &VfsFile,
    fate: Fate,
) -> impl Iterator<Item = &'o OutsideCopy> {
    outside.get(&winner.node()).into_iter().flatten().filter(move |copy| copy.fate == fate)
}

impl Groups {
    pub(crate) fn new(layers: Vec<VfsLayer>, order: &LoadOrder) -> Self {
        let own = order.layers.iter().filter(|it| !it.is_managed && !order.game.is_empty());
        let own: HashSet<&Path> = own.map(|it| &*it.path).collect();
        let is_own = |layer: &VfsLayer| layer.is_folder() && own.contains(layer.path());
        // Such a folder is two layers, which people know as one.
        let partly_read = order.layers.iter().filter(|layer| layer.shown.only.is_some());
        let partly_read: HashMap<PathBuf, String> =
            partly_read.map(|layer| (layer.path.clone(), layer.why.clone())).collect();
        let mut first: HashMap<PathBuf, usize> = HashMap::new();
        let mut lowest = |(number, layer): (usize, &VfsLayer)| {
            let is_part = layer.is_folder() && partly_read.contains_key(layer.path());
            if is_part { *first.entry(layer.path().to_owned()).or_insert(number) } else { number }
        };
        let lowest: Vec<usize> = layers.iter().enumerate().map(&mut lowest).collect();
        let of_game: HashSet<&Path> =
            order.layers.iter().filter(|layer| layer.is_of_game).map(|layer| &*layer.path).collect();
        let of_managers = order.layers.iter().filter(|layer| layer.is_managed).map(|layer| &*layer.path);
        let of_managers: HashSet<&Path> = of_managers.collect();
        let folders: HashMap<&Path, usize> = layers
            .iter()
            .enumerate()
            .filter(|(_, layer)| layer.is_folder() && of_managers.contains(layer.path()))
            .map(|(number, layer)| (layer.path(), lowest[number]))
            .collect();
        let mod_of_layer = layers.iter().enumerate().map(|(number, layer)| {
            let folder = layer.path().parent().filter(|_| !layer.is_folder());
            folder.and_then(|folder| folders.get(folder).copied()).unwrap_or(lowest[number])
        });
        let groups = Self {
            mod_of_layer: mod_of_layer.collect(),
            lowest,
            partly_read,
            is_own: layers.iter().map(is_own).collect(),
            is_of_game: layers.iter().map(|layer| of_game.contains(layer.path())).collect(),
            layers,
            deployments: Deployments::new(
                order.installation.iter().flat_map(|it| it.prefix_folders()).collect(),
            ),
            mods: RefCell::default(),
            numbers: RefCell::default(),
        };
        groups.with_deployed_archives()
    }

    /// Counts archives that managers deployed as parts of their mods.
    fn with_deployed_archives(mut self) -> Self {
        for (number, archive) in self.layers.iter().enumerate().filter(|(_, layer)| !layer.is_folder()) {
            let folder = archive.path().parent();
            let is_its =
                |(number, layer): &(usize, &VfsLayer)| self.is_own[*number] && Some(layer.path()) == folder;
            let own = self.layers.iter().enumerate().find(is_its).map(|(own, _)| own);
            if let Some((own, name)) = own.zip(self.mod_of_archive(archive)) {
                self.mod_of_layer[number] = self.of_mod(own, name);
                self.is_of_game[number] = false;
            }
        }
        self
    }

    /// Whether a group is an archive that came with a game.
    pub(crate) fn is_of_game(&self, group: usize) -> bool {
        self.is_of_game.get(group).is_some_and(|is_of_game| *is_of_game)
    }

    /// The mod that a group belongs to: its loose files and its archives are one.
    pub(crate) fn mod_of(&self, group: usize) -> usize {
        self.mod_of_layer.get(group).copied().unwrap_or(group)
    }

    /// The pairs of mods among conflicts: first the pairs with most hidden files, last the pairs that
    /// only hide files of the game. The layers of one mod are a pair if they hide each other. `is_asked`
    /// says whether the user asked for a group; pairs without such a group are left out.
    pub(crate) fn pairs(
        &self,
        conflicts: &[Conflict],
        outside: &OutsideCopies,
        is_asked: &[bool],
    ) -> Vec<Pair> {
        let mut pairs: BTreeMap<(usize, usize), Vec<HiddenCopy>> = BTreeMap::new();
        let is_asked = |group: usize| is_asked.get(group).is_some_and(|is_asked| *is_asked);
        for (index, Conflict { winner, hidden }) in conflicts.iter().enumerate() {
            let by = self.of(winner);
            let hidden = hidden.iter().enumerate().map(|(at, file)| (self.of(file), Some(at)));
            let not_deployed = outside_of(outside, winner, Fate::Loses).map(|copy| (copy.group, None));
            for (group, at) in
                hidden.chain(not_deployed).filter(|(group, _)| is_asked(by) || is_asked(*group))
            {
                let of_mods = (self.mod_of(by), self.mod_of(group));
                let pair = if of_mods.0 == of_mods.1 { (by, group) } else { of_mods };
                pairs.entry(pair).or_default().push((index, at));
            }
        }
        let pair =
            |((winner, hidden), copies)| Pair { winner, hidden, copies, is_of_game: self.is_of_game(hidden) };
        let mut pairs: Vec<Pair> = pairs.into_iter().map(pair).collect();
        pairs.sort_by_key(|pair| (pair.is_of_game, Reverse(pair.copies.len())));
        pairs
    }

    /// The number of groups that are known so far.
    pub(crate) fn count(&self) -> usize {
        self.layers.len() + self.mods.borrow().len()
    }

    /// The number of the group of a copy.
    pub(crate) fn of(&self, copy: &VfsFile) -> usize {
        let layer = usize::from(copy.entry().layer);
        self.of_path(self.lowest.get(layer).copied().unwrap_or(layer), || copy.path())
    }

    /// The number of the group of a path in a layer.
    pub(crate) fn of_path(&self, layer: usize, path: impl FnOnce() -> String) -> usize {
        let own = self.layers.get(layer).filter(|_| self.is_own[layer]);
        let name = own.and_then(|own| self.deployments.mod_of(own.path(), &path()));
        name.map_or(layer, |name| self.of_mod(layer, name))
    }

    /// Whether a group is a layer that counts as another one.
    pub(crate) fn is_part(&self, group: usize) -> bool {
        self.lowest.get(group).is_some_and(|lowest| *lowest != group)
    }

    /// Why the game loads the layer of a group; empty if the user named it.
    pub(crate) fn why(&self, group: usize) -> &str {
        let layer = self.layer(group);
        self.partly_read.get(layer.path()).map_or(layer.why(), String::as_str)
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

    /// The mod from which a manager deployed an archive.
    pub(crate) fn mod_of_archive(&self, archive: &VfsLayer) -> Option<String> {
        let (folder, name) = (archive.path().parent()?, archive.path().file_name()?.to_str()?);
        let is_its = |layer: &&VfsLayer| self.is_own[layer.number()] && layer.path() == folder;
        let own = self.layers.iter().find(is_its)?;
        self.deployments.mod_of(own.path(), name)
    }

    /// Whether a manager deployed something of a mod. `None` if there is no mod of this name.
    pub(crate) fn is_deployed(&self, order: &LoadOrder, name: &str) -> Option<bool> {
        let prefixes: Vec<PathBuf> = order.installation.iter().flat_map(|it| it.prefix_folders()).collect();
        let own = self.layers.iter().filter(|layer| self.is_own[layer.number()]);
        own.filter_map(|layer| self.deployments.is_deployed(layer.path(), &prefixes, name)).max()
    }

    /// The copies of some files of a tree that no layer shows.
    pub(crate) fn outside(&self, vfs: &Vfs, files: &[VfsFile]) -> OutsideCopies {
        let order = vfs.order();
        let prefixes: Vec<PathBuf> = order.installation.iter().flat_map(|it| it.prefix_folders()).collect();
        let is_one = |layer: &&VfsLayer| self.is_own[layer.number()] && !self.is_part(layer.number());
        let mut outside = OutsideCopies::new();
        // Most games need no such set, and a large one has a million files.
        let selected: OnceCell<HashSet<NodeId>> = OnceCell::new();
        let is_selected = |file: &VfsFile| {
            selected.get_or_init(|| files.iter().map(VfsFile::node).collect()).contains(&file.node())
        };
        for layer in self.layers.iter().filter(is_one) {
            for (path, folder, name) in self.deployments.losing(layer.path(), &prefixes) {
                let Some(file) = vfs.file(path).filter(&is_selected) else { continue };
                let group = self.of_mod(layer.number(), name);
                let copy = OutsideCopy { fate: Fate::Loses, folder, group };
                outside.entry(file.node()).or_default().push(copy);
            }
        }
        for ignored in vfs.opened().ignored.iter().rev() {
            let folder = ignored.folder.path();
            let layer = self.layers.iter().position(|layer| layer.is_folder() && layer.path() == folder);
            for file in ignored.paths().filter_map(|path| vfs.file(path)).filter(&is_selected) {
                let group = layer.map(|layer| self.of_path(self.lowest[layer], || file.path()));
                let fate = Fate::Ignored;
                let copy = group.map(|group| OutsideCopy { fate, folder: folder.to_owned(), group });
                outside.entry(file.node()).or_default().extend(copy);
            }
        }
        outside
    }
}

/// The number of a conflict, and that of a hidden copy in it; `None` for one that a manager did not deploy.
pub(crate) type HiddenCopy = (usize, Option<usize>);

/// Two mods or layers, one of which hides files of the other.
pub(crate) struct Pair {
    /// The groups of the winner and of what it hides.
    pub(crate) winner: usize,
    pub(crate) hidden: usize,
    /// The files, each with its copy that is hidden.
    pub(crate) copies: Vec<HiddenCopy>,
    /// Whether the hidden files came with the game. Every mod that replaces something hides such files.
    pub(crate) is_of_game: bool,
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

/// The tallies of the layers of a load order. `layers` are the opened layers, and `tallies` belong to
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

// How two trees differ: files that one of them lacks, and files whose bytes differ.

/// A path in one or both of two trees, with what became of its file.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The path, in the spelling of the first tree that contains it.
    pub path: String,
    /// The file in the first tree.
    pub before: Option<VfsFile>,
    /// The file in the second tree.
    pub after: Option<VfsFile>,
    /// What became of the file.
    pub change: Change,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only the second tree contains it.
    Added,
    /// Only the first tree contains it.
    Removed,
    /// The bytes differ.
    Changed,
    /// The bytes are equal.
    Equal,
    /// The sizes are equal; the bytes were not read.
    SameSize,
    /// One of the two files cannot be read, for this reason.
    Unreadable(String),
}

/// How files of two trees are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparing {
    /// By size; no data is read.
    Sizes,
    /// By size, and by bytes if the sizes are equal.
    Bytes,
}

impl Difference {
    /// Whether both trees contain the file with the same bytes.
    pub fn is_equal(&self) -> bool {
        self.change == Change::Equal
    }
}

/// Compares the selected files of two trees, by path, ignoring case. Equal files are included.
pub(crate) fn differences(
    a: &Arc<Opened>,
    b: &Arc<Opened>,
    patterns: &Patterns,
    how: Comparing,
    steps: &dyn Fn(usize) -> Box<dyn Fn() + Sync>,
) -> Vec<Difference> {
    let pairs = pairs(a, b, patterns);
    // Errors are ignored here: the comparison below finds them again.
    let _ = a.store.learn_sizes(pairs.iter().filter_map(|pair| Some(pair.before.as_ref()?.entry())));
    let _ = b.store.learn_sizes(pairs.iter().filter_map(|pair| Some(pair.after.as_ref()?.entry())));
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    // In the order of the first tree's data, so that at least its disk is read in one pass.
    order.sort_by_cached_key(|&index| pairs[index].before.as_ref().map(VfsFile::place));
    let digests = Digests::default();
    let found = in_parallel(order.len(), &steps(order.len()), |index| {
        let Difference { before, after, .. } = &pairs[order[index]];
        match (before, after) {
            (None, _) => Change::Added,
            (_, None) => Change::Removed,
            (Some(before), Some(after)) if how == Comparing::Bytes => by_bytes(before, after, &digests),
            (Some(before), Some(after)) => by_size(before, after),
        }
    });
    let mut differences = pairs;
    order.into_iter().zip(found).for_each(|(index, change)| differences[index].change = change);
    differences
}

/// Pairs the files of two trees by their paths. They are not compared yet.
fn pairs(a: &Arc<Opened>, b: &Arc<Opened>, patterns: &Patterns) -> Vec<Difference> {
    let (files_a, files_b) = (patterns.of(a), patterns.of(b));
    let (mut paired_a, mut paired_b) = (HashSet::new(), HashSet::new());
    let mut pairs = Vec::with_capacity(files_a.len().max(files_b.len()));
    let pair = |path: String, before: Option<VfsFile>, after: Option<VfsFile>| Difference {
        path,
        before,
        after,
        change: Change::Equal,
    };
    for file in &files_a {
        if let Some(other) = file_at(b, file)
            && paired_b.insert(other.node())
        {
            paired_a.insert(file.node());
            pairs.push(pair(file.path(), Some(file.clone()), Some(other)));
        }
    }
    // A file without a name in A is found by its path in B.
    for file in files_b.into_iter().filter(|file| !paired_b.contains(&file.node())) {
        let in_a = file_at(a, &file).filter(|other| paired_a.insert(other.node()));
        pairs.push(pair(file.path(), in_a, Some(file)));
    }
    for file in files_a.into_iter().filter(|file| !paired_a.contains(&file.node())) {
        pairs.push(pair(file.path(), Some(file), None));
    }
    pairs.sort_by_cached_key(|pair| pair.path.to_ascii_lowercase());
    pairs
}

/// The file of a tree with the path of another tree's file.
fn file_at(opened: &Arc<Opened>, file: &VfsFile) -> Option<VfsFile> {
    opened.file(&file.path_bytes())
}

fn by_size(before: &VfsFile, after: &VfsFile) -> Change {
    match (before.size(), after.size()) {
        _ if before.is_same(after) => Change::Equal,
        (Ok(one), Ok(two)) if one == two => Change::SameSize,
        (Ok(_), Ok(_)) => Change::Changed,
        _ => Change::Unreadable("its size cannot be read".into()),
    }
}

fn by_bytes(before: &VfsFile, after: &VfsFile, digests: &Digests) -> Change {
    match compare(before, std::slice::from_ref(after), digests).pop() {
        Some(Compared::Equal) => Change::Equal,
        Some(Compared::Unreadable(what)) => Change::Unreadable(what),
        Some(Compared::Different) | None => Change::Changed,
    }
}

// What a library user calls.

/// What [`Vfs::reopen`] found.
#[derive(Clone, Debug)]
pub struct Reopened {
    /// The tree as the disk is now.
    pub vfs: Vfs,
    /// The files that may have changed. A change of a loose file is noticed only if the earlier tree has
    /// read the file or its size.
    pub changes: Vec<Difference>,
    /// An error message, with its path, for each source that exists but cannot be opened any more. The new
    /// tree keeps the names of such a source, and reads its files as far as that is still possible.
    /// Archives and folders that do not exist any more are left out.
    pub kept: Vec<String>,
}

impl Vfs {
    /// The files that more than one layer contains.
    pub fn conflicts(&self) -> Vec<Conflict> {
        conflicts(self.files())
    }

    /// Compares this tree with another. Returns each path of either tree, ordered without regard to
    /// case, with what became of its file. Equal files are included.
    pub fn diff(&self, other: &Self, how: Comparing) -> Vec<Difference> {
        differences(self.opened(), other.opened(), &Patterns::default(), how, &|_| Box::new(|| {}))
    }

    /// Opens the same sources again, as they are now. Unchanged archives are shared with this tree.
    ///
    /// # Errors
    /// A profile among the sources cannot be read any more, or the sources exceed a limit together.
    pub fn reopen(&self) -> Result<Reopened, OpenError> {
        let (mut opened, kept) = self.open_again()?;
        opened.store.take_over(self.store());
        let vfs = Self::from(opened);
        let changes = self.diff(&vfs, Comparing::Sizes).into_iter().filter(|it| !it.is_equal()).collect();
        let kept = kept.into_iter().filter(|it| it.handling != Handling::Gone).map(|it| it.what()).collect();
        Ok(Reopened { vfs, changes, kept })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfs::file::tests::names_of_one_extent;

    #[test]
    fn bytes_that_several_names_share_are_read_once() {
        let (_dir, path, files) = names_of_one_extent(&["a.txt", "b.txt"], &[1; 1 << 17]);
        let (_dir, _, others) = names_of_one_extent(&["a.txt", "b.txt"], &[1; 1 << 17]);
        let (_dir, _, short) = names_of_one_extent(&["a.txt", "b.txt"], &[1; 10]);
        let digests = Digests::default();
        assert_eq!(compare(&files[0], &others, &digests), [Compared::Equal, Compared::Equal]);
        // Nothing is left to read.
        std::fs::write(path, "").expect("cannot write");
        assert_eq!(compare(&files[1], &others, &digests), [Compared::Equal, Compared::Equal]);
        assert!(matches!(compare(&files[1], &others, &Digests::default())[0], Compared::Unreadable(_)));
        assert_eq!(files[0].bytes_key(), files[1].bytes_key());
        assert_ne!(files[0].bytes_key(), others[0].bytes_key());
        assert_eq!(short[0].bytes_key(), None);
    }

    #[test]
    fn a_file_is_equal_to_itself_if_it_can_be_read() {
        let (_dir, path, files) = names_of_one_extent(&["a.txt"], &[1; 10]);
        let itself = [files[0].clone()];
        assert_eq!(compare(&files[0], &itself, &Digests::default()), [Compared::Equal]);
        std::fs::write(path, "").expect("cannot write");
        assert!(matches!(compare(&files[0], &itself, &Digests::default())[0], Compared::Unreadable(_)));
    }
}
