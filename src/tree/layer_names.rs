//! The names of one archive or folder of loose files, made safe and sorted into folders.

use std::sync::Arc;

use super::stored_names::{NamesTooLarge, StoredNames};
use crate::format::encoding::Encoding;
use crate::format::hash::{Family, Hash};

/// A reference to a name of at most 255 bytes of UTF-8, in a layer's shared bytes or in its arena.
/// Offsets into the arena follow those into the shared bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NameRef {
    at: u32,
    len: u8,
}

impl NameRef {
    pub(super) fn new(at: u32, len: u8) -> Self {
        Self { at, len }
    }
}

/// When the files of a layer were last changed, in nanoseconds since 1970, for rules that decide by time.
#[derive(Debug, Default)]
pub(super) enum Times {
    /// Not known, because no such rule concerns the layer.
    #[default]
    None,
    /// All files of an archive have the time of the archive.
    Archive(i64),
    /// Times of loose files, by entry.
    Files(Vec<i64>),
}

/// A folder of one layer.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    /// The index of the parent among the layer's folders. The root is its own parent.
    pub(super) parent: u32,
    pub(super) name: NameRef,
}

/// A file of one layer. Its index among the layer's files is the index of its entry in the archive.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    pub(super) folder: u32,
    pub(super) name: NameRef,
}

/// A file whose name the archive does not store.
#[derive(Clone, Debug)]
pub(super) struct UnnamedEntry {
    pub(super) entry: u32,
    pub(super) hash: Hash,
    /// Whether a dictionary has its path. If so, it is listed and found like any other file.
    pub(super) is_recovered: bool,
}

/// The names of one archive or folder of loose files.
#[derive(Debug)]
pub struct LayerNames {
    /// Names that other code keeps in memory as well; empty for an archive.
    pub(super) shared: Arc<[u8]>,
    /// All other names, one after the other.
    pub(super) arena: Vec<u8>,
    pub(super) folders: Vec<Folder>,
    /// The time of each folder in nanoseconds since 1970. Empty for an archive, and once the tree is frozen.
    pub(super) folder_times: Vec<i64>,
    /// `Times::None` once the tree is frozen.
    pub(super) times: Times,
    /// The number of the game that the layer belongs to, if a rule decides by time. Sources may
    /// include several games.
    pub(super) game: u16,
    /// Empty once the tree is frozen.
    pub(super) files: Vec<File>,
    /// Files that are not listed, sorted.
    pub(super) left_out: Vec<u32>,
    /// The folder of each file, once the tree is frozen.
    pub(super) folder_of_file: Vec<u32>,
    /// The stored names that the listed names do not reproduce.
    pub(super) stored_overrides: StoredNames,
    /// The names of the other files before they were numbered; sorted by entry once the tree is frozen.
    pub(super) renamed: Vec<(u32, NameRef)>,
    /// Sorted by entry.
    pub(super) unnamed: Vec<UnnamedEntry>,
    pub(super) family: Family,
    pub(super) encoding: Encoding,
    /// The separator between folders in stored names.
    pub(super) separator: u8,
    /// The folder that contains the whole layer; 0 is the root of the mount.
    pub(super) base: u32,
}

impl LayerNames {
    /// The bytes of a name.
    pub(super) fn name(&self, name: NameRef) -> &[u8] {
        let (at, len) = (name.at as usize, usize::from(name.len));
        match at.checked_sub(self.shared.len()) {
            Some(at) => &self.arena[at..][..len],
            None => &self.shared[at..][..len],
        }
    }

    /// The names of the top-level folders.
    pub fn top_folders(&self) -> impl Iterator<Item = &[u8]> {
        let top = self.folders.iter().skip(1).filter(|folder| folder.parent == 0);
        top.map(|folder| self.name(folder.name))
    }

    /// Whether the layer has files that only their hash can find.
    pub fn has_unnamed(&self) -> bool {
        self.unnamed.iter().any(|unnamed| !unnamed.is_recovered)
    }

    /// The listed paths of the files whose names are known, within the layer and with its
    /// separator. Empty once the tree is frozen.
    pub fn known_paths(&self) -> impl Iterator<Item = Vec<u8>> {
        let is_known = |entry: u32| self.unnamed_entry(entry).is_none_or(|unnamed| unnamed.is_recovered);
        let known = (0..).zip(&self.files).filter(move |(entry, _)| is_known(*entry));
        known.map(|(_, file)| self.joined(file.folder, &[self.name(file.name)]))
    }

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
        let path = |file: &File| {
            let mut path = self.joined(file.folder, &[self.name(file.name)]);
            path.make_ascii_lowercase();
            path.iter_mut().filter(|byte| **byte == self.separator).for_each(|byte| *byte = b'/');
            path
        };
        let left_out = (0..).zip(&self.files).filter(|(_, file)| is_out(&path(file))).map(|(entry, _)| entry);
        let mut left_out: Vec<u32> = left_out.chain(self.left_out.iter().copied()).collect();
        left_out.sort_unstable();
        Self { left_out, ..self }
    }

    /// Whether the whole layer is below a folder called `name`.
    pub fn is_in_folder(&self, name: &str) -> bool {
        self.base != 0 && self.base_name() == name.as_bytes()
    }

    /// Renames the folder that contains the whole layer, if there is one.
    ///
    /// # Errors
    /// [`NamesTooLarge`].
    pub fn in_folder(mut self, name: &str) -> Result<Self, NamesTooLarge> {
        if self.base != 0 && !self.is_in_folder(name) {
            self.folders[self.base as usize].name = self.append(name.as_bytes())?;
        }
        Ok(self)
    }

    /// The files that are listed, with their entries.
    pub(super) fn listed_files(&self) -> impl Iterator<Item = (u32, &File)> {
        (0_u32..).zip(&self.files).filter(|(entry, _)| self.left_out.binary_search(entry).is_err())
    }

    /// Appends a name to the arena.
    pub(super) fn append(&mut self, name: &[u8]) -> Result<NameRef, NamesTooLarge> {
        let at = u32::try_from(self.shared.len() + self.arena.len()).map_err(|_| NamesTooLarge)?;
        let len = u8::try_from(name.len()).map_err(|_| NamesTooLarge)?;
        self.arena.extend_from_slice(name);
        Ok(NameRef { at, len })
    }

    /// Lists a file under another name. Its stored name stays known.
    pub(super) fn rename(&mut self, entry: u32, name: &str) -> Result<NameRef, NamesTooLarge> {
        if !self.stored_overrides.contains(entry) {
            self.renamed.push((entry, self.files[entry as usize].name));
        }
        self.append(name.as_bytes())
    }

    /// Frees what is only needed to build a tree.
    pub(super) fn freeze(&mut self) {
        // Collecting from the files in place would keep their larger allocation, so this makes a new vector.
        self.folder_of_file = self.files.iter().map(|file| file.folder).collect();
        self.files = Vec::new();
        self.folder_times = Vec::new();
        self.times = Times::None;
        self.left_out = Vec::new();
        self.renamed.sort_unstable_by_key(|(entry, _)| *entry);
        self.renamed.shrink_to_fit();
        self.unnamed.shrink_to_fit();
        self.stored_overrides.shrink();
        self.arena.shrink_to_fit();
    }

    /// The layer as it was before it was frozen, to be merged again. `names` are the names of its
    /// listed entries. The copy has no times.
    pub(super) fn thawed(&self, names: &[Option<NameRef>]) -> Self {
        let mut files: Vec<File> = self
            .folder_of_file
            .iter()
            .zip(names)
            .map(|(&folder, name)| File { folder, name: name.unwrap_or_default() })
            .collect();
        for &(entry, name) in &self.renamed {
            files[entry as usize].name = name;
        }
        let left_out = (0..).zip(names).filter(|(_, name)| name.is_none()).map(|(entry, _)| entry).collect();
        // The numbered names of duplicates come after these. Merging assigns new ones.
        let own = files.iter().map(|file| file.name).chain(self.folders.iter().map(|folder| folder.name));
        let end = own.map(|name| name.at as usize + usize::from(name.len)).max().unwrap_or(0);
        let own_bytes = end.saturating_sub(self.shared.len()).min(self.arena.len());
        Self {
            shared: self.shared.clone(),
            arena: self.arena[..own_bytes].to_vec(),
            folders: self.folders.clone(),
            folder_times: Vec::new(),
            times: Times::None,
            game: self.game,
            files,
            left_out,
            folder_of_file: Vec::new(),
            stored_overrides: self.stored_overrides.clone(),
            renamed: Vec::new(),
            unnamed: self.unnamed.clone(),
            family: self.family,
            encoding: self.encoding,
            separator: self.separator,
            base: self.base,
        }
    }

    /// The stored bytes of the name of an entry that is listed as `name`, once the tree is frozen.
    pub(super) fn stored_name(&self, entry: u32, name: &[u8]) -> Vec<u8> {
        self.stored_overrides.get(entry, self.separator).unwrap_or_else(|| {
            let renamed = self.renamed.binary_search_by_key(&entry, |(entry, _)| *entry);
            let name = renamed.map_or(name, |found| self.name(self.renamed[found].1));
            self.joined(self.folder_of_file[entry as usize], &[name])
        })
    }

    /// The hash that an archive stores for an entry without a name.
    pub(super) fn unnamed_hash(&self, entry: u32) -> Option<Hash> {
        self.unnamed_entry(entry).map(|unnamed| unnamed.hash)
    }

    /// The record of an entry without a name.
    pub(super) fn unnamed_entry(&self, entry: u32) -> Option<&UnnamedEntry> {
        let found = self.unnamed.binary_search_by_key(&entry, |unnamed| unnamed.entry).ok()?;
        Some(&self.unnamed[found])
    }

    /// The name of the folder that contains the whole layer; empty for the root.
    pub(super) fn base_name(&self) -> &[u8] {
        self.name(self.folders[self.base as usize].name)
    }

    /// A folder's listed path within the layer, with the layer's separator.
    pub(super) fn folder_path(&self, folder: u32) -> Vec<u8> {
        self.joined(folder, &[])
    }

    /// Joins the names of a folder and of those above it, followed by `last`.
    fn joined(&self, folder: u32, last: &[&[u8]]) -> Vec<u8> {
        let mut parts = last.to_vec();
        let mut at = folder;
        while at != self.base && at != 0 {
            let folder = &self.folders[at as usize];
            parts.push(self.name(folder.name));
            at = folder.parent;
        }
        parts.reverse();
        parts.join(&self.separator)
    }
}

#[cfg(test)]
mod tests {
    use crate::format::encoding::Encoding;
    use crate::format::{Archive, Limits, parse};
    use crate::tree::{Rule, merge};

    use super::*;

    /// A Morrowind archive of empty files.
    fn archive(names: &[&str]) -> Vec<u8> {
        let count = names.len();
        let text: Vec<u8> = names.iter().flat_map(|name| [name.as_bytes(), b"\0"].concat()).collect();
        let starts = names.iter().scan(0, |at, name| Some(std::mem::replace(at, *at + name.len() + 1)));
        let mut numbers = vec![0x100, 12 * count + text.len(), count];
        numbers.extend(std::iter::repeat_n(0, 2 * count));
        numbers.extend(starts);
        let numbers = numbers.iter().flat_map(|it| u32::try_from(*it).unwrap().to_le_bytes());
        [numbers.collect(), text, vec![0; 8 * count]].concat()
    }

    fn layer(archive: &Archive<'_>) -> LayerNames {
        LayerNames::new(archive, Encoding::default(), None).unwrap()
    }

    #[test]
    fn repeated_merges_of_one_layer_need_no_more_memory() {
        let bytes = archive(&["a.txt", "A.txt", "f\\b.txt", "a (2).txt"]);
        let archive = parse(&bytes[..], &Limits::default()).unwrap();
        let mut tree = merge(vec![layer(&archive)], Rule::LastWins).unwrap();
        let names = |tree: &crate::tree::Tree| tree.nodes().map(|node| tree.path(node)).collect::<Vec<_>>();
        let (before, len) = (names(&tree), tree.layer(0).arena.len());
        for _ in 0..3 {
            tree = merge(vec![tree.layer(0)], Rule::LastWins).unwrap();
        }
        assert_eq!((names(&tree), tree.layer(0).arena.len()), (before, len));
    }
}
