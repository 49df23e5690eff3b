//! The names in a folder, each stored once: the tree of names refers to the same bytes.

use std::ops::Range;
use std::sync::Arc;

/// A name as the disk has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LooseName<'a> {
    /// Where its bytes begin in [`LooseNames::bytes`].
    pub at: u32,
    /// Its bytes, at most 255.
    pub bytes: &'a [u8],
}

/// The names of a folder of loose files: its folders, the folder itself first, and its files, folder by folder.
#[derive(Debug)]
pub struct LooseNames {
    /// Each name with its length in a byte in front.
    bytes: Arc<[u8]>,
    folders: Vec<FolderRecord>,
    /// Where the name of each file is.
    files: Vec<u32>,
}

/// A folder. The index of its parent is lower than its own; the first is its own parent.
#[derive(Clone, Copy, Debug)]
pub(super) struct FolderRecord {
    pub(super) parent: u32,
    pub(super) name: u32,
    /// The first of its files; the last is before the first of the next folder.
    pub(super) first_file: u32,
    /// Its mtime in nanoseconds since 1970.
    pub(super) modified: i64,
    /// Which folder it is on the disk: its device (`st_dev`) and inode number; 0 where it could not be read.
    pub(super) identity: (u64, u64),
}

impl LooseNames {
    pub(super) fn new(bytes: Vec<u8>, mut folders: Vec<FolderRecord>, mut files: Vec<u32>) -> Self {
        folders.shrink_to_fit();
        files.shrink_to_fit();
        Self { bytes: bytes.into(), folders, files }
    }

    /// All names and what is between them; to be shared, not to be read.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// All folders, parents first, the folder itself first of all: the index of the parent, the name, and the mtime in
    /// nanoseconds since 1970.
    pub fn folders(&self) -> impl ExactSizeIterator<Item = (u32, LooseName<'_>, i64)> {
        self.folders.iter().map(|folder| (folder.parent, self.name(folder.name), folder.modified))
    }

    /// All files in their order: the index of the folder, and the name.
    pub fn files(&self) -> impl Iterator<Item = (u32, LooseName<'_>)> {
        (0_u32..).zip(0..self.folders.len()).flat_map(move |(folder, index)| {
            self.files_of(index).map(move |file| (folder, self.name(self.files[file])))
        })
    }

    /// How many files there are.
    pub fn file_count(&self) -> u32 {
        u32::try_from(self.files.len()).unwrap_or(u32::MAX)
    }

    /// The name of a file.
    pub fn file_name(&self, file: u32) -> &[u8] {
        self.name(self.files[file as usize]).bytes
    }

    /// The files that lie directly in the folder, with their indices.
    pub fn direct_files(&self) -> impl Iterator<Item = (u32, &[u8])> {
        (0_u32..).zip(self.files_of(0)).map(|(index, file)| (index, self.name(self.files[file]).bytes))
    }

    /// The path of a folder from the folder itself on.
    pub fn folder_path(&self, folder: u32) -> Vec<u8> {
        path_from(&self.bytes, &self.folders, folder, |at| at == 0)
    }

    /// The path of a file from the folder itself on.
    pub fn file_path(&self, file: u32) -> Vec<u8> {
        joined(self.folder_path(self.folder_of(file)), self.file_name(file))
    }

    /// The folder of a file.
    pub(super) fn folder_of(&self, file: u32) -> u32 {
        let after = self.folders.partition_point(|folder| folder.first_file <= file);
        u32::try_from(after.saturating_sub(1)).unwrap_or(0)
    }

    pub(super) fn records(&self) -> &[FolderRecord] {
        &self.folders
    }

    /// The mtime of the folder itself, in nanoseconds since 1970.
    pub(super) fn modified(&self) -> i64 {
        self.folders.first().map_or(0, |folder| folder.modified)
    }

    /// Removes those of the direct files for which `is_out` holds, and returns the new index of each direct file that stays.
    pub(super) fn remove_direct(&mut self, is_out: impl Fn(u32, &[u8]) -> bool) -> Vec<u32> {
        let direct = self.files_of(0).len();
        let stays: Vec<bool> = self.direct_files().map(|(index, name)| !is_out(index, name)).collect();
        let kept: Vec<u32> =
            (0_u32..).zip(&stays).filter(|(_, stays)| **stays).map(|(index, _)| index).collect();
        let mut index = 0;
        self.files.retain(|_| {
            let is_kept = stays.get(index).copied().unwrap_or(true);
            index += 1;
            is_kept
        });
        let removed = u32::try_from(direct - kept.len()).unwrap_or(0);
        self.folders.iter_mut().skip(1).for_each(|folder| folder.first_file -= removed);
        kept
    }

    /// The files of a folder.
    pub(super) fn files_in(&self, folder: u32) -> Range<u32> {
        let files = self.files_of(folder as usize);
        let number = |index| u32::try_from(index).unwrap_or(u32::MAX);
        number(files.start)..number(files.end)
    }

    fn files_of(&self, folder: usize) -> Range<usize> {
        let start = self.folders[folder].first_file as usize;
        let end = self.folders.get(folder + 1).map_or(self.files.len(), |next| next.first_file as usize);
        start..end
    }

    fn name(&self, at: u32) -> LooseName<'_> {
        name_at(&self.bytes, at)
    }
}

/// The name whose length is at a place.
pub(super) fn name_at(bytes: &[u8], at: u32) -> LooseName<'_> {
    let start = at as usize + 1;
    let len = usize::from(bytes[at as usize]);
    LooseName { at: at + 1, bytes: &bytes[start..start + len] }
}

/// The path of a folder from the first on the way up that `ends` it; that one's own name is not in it.
pub(super) fn path_from(
    bytes: &[u8],
    folders: &[FolderRecord],
    folder: u32,
    ends: impl Fn(u32) -> bool,
) -> Vec<u8> {
    let mut parts = Vec::new();
    let mut at = folder;
    while !ends(at) {
        let record = &folders[at as usize];
        parts.push(name_at(bytes, record.name).bytes);
        at = record.parent;
    }
    parts.reverse();
    parts.join(&b'/')
}

/// A path and a name in it.
pub(super) fn joined(mut path: Vec<u8>, name: &[u8]) -> Vec<u8> {
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}
