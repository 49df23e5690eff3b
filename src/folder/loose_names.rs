//! The names in a folder. Each is stored once; the tree of names refers to these bytes.

use std::ops::Range;
use std::sync::Arc;

use super::file_state::FileTime;
use crate::system::disk_id::DiskId;

/// A name as stored on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LooseName<'a> {
    /// Offset of the name in [`LooseNames::bytes`].
    pub at: u32,
    /// The name itself, at most 255 bytes.
    pub bytes: &'a [u8],
}

/// The names of a folder of loose files: all folders, the scanned one first, and all files by folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LooseNames {
    /// Each name follows a byte with its length.
    bytes: Arc<[u8]>,
    folders: Vec<LooseFolderRecord>,
    /// Offset of each file's name.
    files: Vec<u32>,
    /// What the folder hides in the layers below it, by folder.
    whiteouts: Vec<Whiteout>,
}

/// A mark of an overlay: the number of the folder that contains it, and the offset of the name that it hides
/// there. An empty name means that the folder hides everything below it.
pub(super) type Whiteout = (u32, u32);

/// A folder. A parent has a lower index than its subfolders; the first folder is its own parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LooseFolderRecord {
    pub(super) parent: u32,
    pub(super) name: u32,
    /// Index of its first file. Its files end where those of the next folder begin.
    pub(super) first_file: u32,
    /// The mtime.
    pub(super) modified: FileTime,
    /// Device (`st_dev`) and inode number on disk; 0 if the folder could not be read.
    pub(super) identity: DiskId,
}

impl LooseFolderRecord {
    /// A folder that was not read yet.
    pub(super) fn new(parent: u32, name: u32) -> Self {
        Self { parent, name, first_file: 0, modified: FileTime::default(), identity: DiskId::default() }
    }
}

impl LooseNames {
    pub(super) fn new(
        bytes: Vec<u8>,
        mut folders: Vec<LooseFolderRecord>,
        mut files: Vec<u32>,
        mut whiteouts: Vec<Whiteout>,
    ) -> Self {
        folders.shrink_to_fit();
        files.shrink_to_fit();
        whiteouts.shrink_to_fit();
        Self { bytes: bytes.into(), folders, files, whiteouts }
    }

    /// What the folder hides in the layers below it: the index of a folder, and a name in it. An empty name
    /// means that the folder hides everything that these layers have in it.
    pub fn whiteouts(&self) -> impl ExactSizeIterator<Item = (u32, &[u8])> {
        self.whiteouts.iter().map(|&(folder, name)| (folder, self.name(name).bytes))
    }

    /// What a folder hides in the layers below, as names.
    pub(super) fn whiteouts_in(&self, folder: u32) -> impl Iterator<Item = &[u8]> {
        let start = self.whiteouts.partition_point(|(at, _)| *at < folder);
        let of_folder = self.whiteouts[start..].iter().take_while(move |(at, _)| *at == folder);
        of_folder.map(|&(_, name)| self.name(name).bytes)
    }

    /// All names with their length bytes. Share these bytes; do not parse them.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// All folders, parents first, beginning with the scanned one. Each has the index of its
    /// parent, its name, and its mtime.
    pub fn folders(&self) -> impl ExactSizeIterator<Item = (u32, LooseName<'_>, FileTime)> {
        self.folders.iter().map(|folder| (folder.parent, self.name(folder.name), folder.modified))
    }

    /// All files in order, each with the index of its folder and its name.
    pub fn files(&self) -> impl Iterator<Item = (u32, LooseName<'_>)> {
        (0_u32..).zip(0..self.folders.len()).flat_map(move |(folder, index)| {
            self.files_of(index).map(move |file| (folder, self.name(self.files[file])))
        })
    }

    pub fn file_count(&self) -> u32 {
        u32::try_from(self.files.len()).unwrap_or(u32::MAX)
    }

    /// The first file at a path with `/` between names, ignoring case.
    pub fn find_file(&self, path: &str) -> Option<u32> {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut found = vec![0];
        for part in folders.split('/').filter(|part| !part.is_empty()) {
            let below = found.into_iter().flat_map(|folder| self.subfolders(folder));
            found = below.filter(|&it| self.folder_name(it).eq_ignore_ascii_case(part.as_bytes())).collect();
        }
        let mut files = found.into_iter().flat_map(|folder| self.files_in(folder));
        files.find(|&file| self.file_name(file).eq_ignore_ascii_case(name.as_bytes()))
    }

    pub fn file_name(&self, file: u32) -> &[u8] {
        self.name(self.files[file as usize]).bytes
    }

    /// The files that lie directly in the folder, with their numbers.
    pub fn direct_files(&self) -> impl Iterator<Item = (u32, &[u8])> {
        (0_u32..).zip(self.files_of(0)).map(|(index, file)| (index, self.name(self.files[file]).bytes))
    }

    /// The name of a folder; empty for the scanned one.
    pub(super) fn folder_name(&self, folder: u32) -> &[u8] {
        self.name(self.folders[folder as usize].name).bytes
    }

    /// The numbers of the folders directly in a folder, in the order of their names. Folders are numbered
    /// breadth first, so they are one range.
    pub(super) fn subfolders(&self, folder: u32) -> Range<u32> {
        let below = self.folders.get(1..).unwrap_or_default();
        let start = below.partition_point(|it| it.parent < folder);
        let len = below[start..].partition_point(|it| it.parent == folder);
        let number = |index: usize| u32::try_from(index + 1).unwrap_or(u32::MAX);
        number(start)..number(start + len)
    }

    pub(super) fn subfolder(&self, folder: u32, name: &[u8]) -> Option<u32> {
        let Range { start, end } = self.subfolders(folder);
        let below = &self.folders[start as usize..end as usize];
        let found = below.binary_search_by(|it| self.name(it.name).bytes.cmp(name)).ok()?;
        u32::try_from(found).ok().map(|found| start + found)
    }

    /// The path of a folder, relative to the scanned one.
    pub fn folder_path(&self, folder: u32) -> Vec<u8> {
        path_from(&self.bytes, &self.folders, folder, |at| at == 0)
    }

    /// The path of a file, relative to the scanned folder.
    pub fn file_path(&self, file: u32) -> Vec<u8> {
        joined(&self.folder_path(self.folder_of(file)), self.file_name(file))
    }

    pub(super) fn folder_of(&self, file: u32) -> u32 {
        let after = self.folders.partition_point(|folder| folder.first_file <= file);
        u32::try_from(after.saturating_sub(1)).unwrap_or(0)
    }

    pub(super) fn records(&self) -> &[LooseFolderRecord] {
        &self.folders
    }

    /// The mtime of the scanned folder.
    pub(super) fn modified(&self) -> FileTime {
        self.folders.first().map_or(FileTime::default(), |folder| folder.modified)
    }

    /// Removes the direct files for which `is_out` holds. Returns the old indices of the direct
    /// files that stay, ascending.
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

    /// The numbers of the files directly in a folder.
    pub fn files_in(&self, folder: u32) -> Range<u32> {
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

/// The name whose length byte is at this offset.
pub(super) fn name_at(bytes: &[u8], at: u32) -> LooseName<'_> {
    let start = at as usize + 1;
    let len = usize::from(bytes[at as usize]);
    LooseName { at: at + 1, bytes: &bytes[start..start + len] }
}

/// The path of a folder, relative to the nearest ancestor (or itself) for which `ends` holds.
pub(super) fn path_from(
    bytes: &[u8],
    folders: &[LooseFolderRecord],
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

/// A path within another. Either may be empty.
pub(super) fn joined(path: &[u8], within: &[u8]) -> Vec<u8> {
    if path.is_empty() || within.is_empty() { [path, within].concat() } else { [path, within].join(&b'/') }
}
