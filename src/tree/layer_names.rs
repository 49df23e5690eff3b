//! The names of one archive or folder of loose files, made safe and sorted into folders.

use std::sync::Arc;

use super::stored_names::{NamesTooLarge, StoredNames};
use crate::folder::FileTime;
use crate::format::encoding::Encoding;
use crate::format::hash::{Family, Hash};
use crate::kinds::ends;

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

/// A folder of one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folder {
    /// The index of the parent among the layer's folders. The root is its own parent.
    pub(super) parent: u32,
    pub(super) name: NameRef,
}

/// A file of one layer. Its index among the layer's files is the index of its entry in the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) folder: u32,
    pub(super) name: NameRef,
}

/// A file whose name the archive does not store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnnamedEntry {
    pub(super) entry: u32,
    pub(super) hash: Hash,
    /// Whether a dictionary has its path. If so, it is listed and found like any other file.
    pub(super) is_recovered: bool,
}

/// The names of one archive or folder of loose files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerNames {
    /// Names that other code keeps in memory as well; empty for an archive.
    pub(super) shared: Arc<[u8]>,
    /// All other names, one after the other.
    pub(super) arena: Vec<u8>,
    pub(super) folders: Vec<Folder>,
    /// The time of each folder. Empty for an archive.
    pub(super) folder_times: Vec<FileTime>,
    pub(super) files: Vec<File>,
    /// The stored names that the listed names do not reproduce.
    pub(super) stored_overrides: StoredNames,
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

    /// The encoding of the stored names.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Whether all names are ASCII.
    pub fn is_ascii(&self) -> bool {
        self.shared.is_ascii() && self.arena.is_ascii()
    }

    /// Whether these are the names of loose files.
    pub(super) fn is_loose(&self) -> bool {
        !self.folder_times.is_empty()
    }

    /// The names of the top-level folders.
    pub fn top_folders(&self) -> impl Iterator<Item = &[u8]> {
        let top = self.folders.iter().skip(1).filter(|folder| folder.parent == 0);
        top.map(|folder| self.name(folder.name))
    }

    /// Number of files in the layer.
    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    /// Whether the layer has files that only their hash can find.
    pub fn has_unnamed(&self) -> bool {
        self.unnamed.iter().any(|unnamed| !unnamed.is_recovered)
    }

    /// The listed paths of the files whose names are known, within the layer and with its
    /// separator.
    pub fn known_paths(&self) -> impl Iterator<Item = Vec<u8>> {
        let is_known = |entry: u32| self.unnamed_entry(entry).is_none_or(|unnamed| unnamed.is_recovered);
        let known = (0..).zip(&self.files).filter(move |(entry, _)| is_known(*entry));
        known.map(|(_, file)| self.joined(file.folder, &[self.name(file.name)]))
    }

    /// The listed paths of all files in lower case, with `/` between names.
    pub(super) fn listed_paths(&self) -> impl Iterator<Item = Vec<u8>> {
        self.files.iter().map(|file| {
            let mut path = self.joined(file.folder, &[self.name(file.name)]);
            path.make_ascii_lowercase();
            path.iter_mut().filter(|byte| **byte == self.separator).for_each(|byte| *byte = b'/');
            path
        })
    }

    /// The listed path of a file within the layer, with `/` between names; empty if there is no such file.
    pub fn listed_path(&self, entry: u32) -> Vec<u8> {
        let file = self.files.get(entry as usize);
        let mut path = file.map(|file| self.joined(file.folder, &[self.name(file.name)])).unwrap_or_default();
        path.iter_mut().filter(|byte| **byte == self.separator).for_each(|byte| *byte = b'/');
        path
    }

    /// Whether the layer has a file or folder at a path within it, ignoring case, with `/` between names.
    pub fn has(&self, path: &[u8]) -> bool {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        let is_named = |it: NameRef| self.name(it).eq_ignore_ascii_case(name);
        let is_it = |folder: u32, last: &[&[u8]]| {
            let found = self.joined(folder, last);
            let is_alike = |(one, other): (&u8, &u8)| {
                one.eq_ignore_ascii_case(other) || *one == self.separator && *other == b'/'
            };
            found.len() == path.len() && found.iter().zip(path).all(is_alike)
        };
        let mut files = self.files.iter().filter(|it| is_named(it.name));
        let mut folders = (0..).zip(&self.folders).filter(|(_, it)| is_named(it.name));
        files.any(|it| is_it(it.folder, &[self.name(it.name)])) || folders.any(|(at, _)| is_it(at, &[]))
    }

    /// The numbers of all files whose names have an ending, ignoring case, in order.
    pub fn files_ending(&self, ending: &str) -> Vec<u32> {
        let is_found = |file: &File| ends(self.name(file.name), &[ending]);
        (0..).zip(&self.files).filter(|(_, file)| is_found(file)).map(|(number, _)| number).collect()
    }

    /// Whether the whole layer is below a folder called `name`.
    pub fn is_in_folder(&self, name: &str) -> bool {
        self.base != 0 && self.base_name() == name.as_bytes()
    }

    /// Whether the whole layer is below this folder; `None` is the root.
    pub fn has_base(&self, name: Option<&str>) -> bool {
        name.map_or(self.base == 0, |name| self.is_in_folder(name))
    }

    /// Whether the archive stores the names of all files.
    pub fn stores_all_names(&self) -> bool {
        self.unnamed.is_empty()
    }

    /// Whether the archive does not store the name of an entry, and no list has it.
    pub fn lacks_name(&self, entry: u32) -> bool {
        self.unnamed_entry(entry).is_some_and(|unnamed| !unnamed.is_recovered)
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

    /// Appends a name to the arena.
    pub(super) fn append(&mut self, name: &[u8]) -> Result<NameRef, NamesTooLarge> {
        let at = u32::try_from(self.shared.len() + self.arena.len()).map_err(|_| NamesTooLarge)?;
        let len = u8::try_from(name.len()).map_err(|_| NamesTooLarge)?;
        self.arena.extend_from_slice(name);
        Ok(NameRef { at, len })
    }

    /// Frees what was only needed to collect the names.
    pub(super) fn shrunk(mut self) -> Self {
        self.folders.shrink_to_fit();
        self.folder_times.shrink_to_fit();
        self.files.shrink_to_fit();
        self.unnamed.shrink_to_fit();
        self.stored_overrides.shrink();
        self.arena.shrink_to_fit();
        self
    }

    /// The stored bytes of the name of an entry.
    pub(super) fn stored_name(&self, entry: u32) -> Vec<u8> {
        self.stored_overrides.get(entry, self.separator).unwrap_or_else(|| {
            let file = self.files[entry as usize];
            self.joined(file.folder, &[self.name(file.name)])
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
    pub fn base_name(&self) -> &[u8] {
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
    fn numbered_duplicates_leave_shared_names_unchanged() {
        let bytes = archive(&["a.txt", "A.txt", "f\\b.txt", "a (2).txt"]);
        let archive = parse(&bytes[..], &Limits::default()).unwrap();
        let names = Arc::new(layer(&archive));
        let paths = |tree: &crate::tree::Tree| tree.nodes().map(|node| tree.path(node)).collect::<Vec<_>>();
        let before = names.arena.len();
        let trees = [(); 3].map(|()| merge(vec![names.clone()], Rule::LastWins).unwrap());
        assert_eq!(paths(&trees[0]), paths(&trees[2]));
        assert!(paths(&trees[0]).contains(&b"A (3).txt".to_vec()), "{:?}", paths(&trees[0]));
        assert_eq!(names.arena.len(), before);
    }
}
