//! Where each file and folder is on disk: a descriptor, and a path beneath it.

use std::sync::Arc;

use super::loose_names::{LooseFolderRecord, joined, name_at, path_from};
use super::mounts::Root;

/// A folder that paths are relative to: the scanned folder, or one that a link leads to.
#[derive(Clone, Debug)]
pub(super) struct BaseFolder {
    pub(super) root: Arc<Root>,
    /// Path beneath the root.
    pub(super) path: Box<[u8]>,
}

/// A file that is reached through a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LinkedFile {
    file: u32,
    base: u32,
    /// Name at the link's target; `file` has the link's own name.
    name: u32,
}

/// Locations of files and folders that are reached through a link. All others are where their names say.
#[derive(Clone, Debug)]
pub(super) struct Locations {
    /// The scanned folder comes first.
    bases: Vec<BaseFolder>,
    /// Folders that are reached through a link, ascending, with their bases. The scanned folder comes first.
    folders: Vec<(u32, u32)>,
    /// Ascending by file.
    links: Vec<LinkedFile>,
}

impl Locations {
    pub(super) fn new(root: Arc<Root>) -> Self {
        let base = BaseFolder { root, path: Box::default() };
        Self { bases: vec![base], folders: vec![(0, 0)], links: Vec::new() }
    }

    pub(super) fn add_base(&mut self, base: BaseFolder) -> u32 {
        self.bases.push(base);
        u32::try_from(self.bases.len() - 1).unwrap_or(u32::MAX)
    }

    /// Records that a folder is at a base. Folders must come in ascending order.
    pub(super) fn link_folder(&mut self, folder: u32, base: u32) {
        self.folders.push((folder, base));
    }

    /// Records that a file is in the folder of a base. Files must come in ascending order.
    pub(super) fn link_file(&mut self, file: u32, base: u32, name: u32) {
        self.links.push(LinkedFile { file, base, name });
    }

    /// The base of a folder that is reached through a link, and of the scanned folder.
    pub(super) fn base_of(&self, folder: u32) -> Option<&BaseFolder> {
        let found = self.folders.binary_search_by_key(&folder, |(folder, _)| *folder).ok()?;
        self.bases.get(self.folders[found].1 as usize)
    }

    /// The nearest folder with a base: the folder itself, or one that contains it. Also returns the base.
    pub(super) fn base_above(&self, folders: &[LooseFolderRecord], folder: u32) -> (u32, &BaseFolder) {
        let mut at = folder;
        loop {
            match self.base_of(at) {
                Some(base) => return (at, base),
                None => at = folders[at as usize].parent,
            }
        }
    }

    /// The descriptor beneath which a folder is, and the path from there.
    pub(super) fn of_folder(
        &self,
        bytes: &[u8],
        folders: &[LooseFolderRecord],
        folder: u32,
    ) -> (&Arc<Root>, Vec<u8>) {
        let (top, base) = self.base_above(folders, folder);
        let within = path_from(bytes, folders, folder, |at| at == top);
        (&base.root, joined(&base.path, &within))
    }

    /// The base of a linked file, and its name there. `None` for a file without a link.
    pub(super) fn link<'b>(&self, bytes: &'b [u8], file: u32) -> Option<(&BaseFolder, &'b [u8])> {
        let found = self.links.binary_search_by_key(&file, |link| link.file).ok()?;
        let LinkedFile { base, name, .. } = self.links[found];
        Some((self.bases.get(base as usize)?, name_at(bytes, name).bytes))
    }

    /// The descriptor beneath which a linked file is, and the path from there. `None` for a file
    /// without a link.
    pub(super) fn of_link(&self, bytes: &[u8], file: u32) -> Option<(&Arc<Root>, Vec<u8>)> {
        let (base, name) = self.link(bytes, file)?;
        Some((&base.root, joined(&base.path, name)))
    }

    /// Descriptor and path of every file that is reached through a link.
    pub(super) fn linked_files(&self, bytes: &[u8]) -> impl Iterator<Item = (&Arc<Root>, Vec<u8>)> {
        self.links.iter().filter_map(|link| self.of_link(bytes, link.file))
    }

    /// Folders that are reached through a link, or that another file system is mounted on.
    pub(super) fn linked_folders(&self) -> impl Iterator<Item = u32> {
        self.folders.iter().skip(1).map(|(folder, _)| *folder)
    }

    pub(super) fn files_of_links(&self) -> impl Iterator<Item = u32> {
        self.links.iter().map(|link| link.file)
    }

    /// Renumbers files after some direct files were removed. Direct files have the lowest numbers.
    /// `kept` has the old numbers of those that stay, and `direct` is how many there were.
    pub(super) fn renumber(&mut self, direct: u32, kept: &[u32]) {
        let removed = direct - u32::try_from(kept.len()).unwrap_or(direct);
        self.links.retain_mut(|link| {
            let new = if link.file < direct {
                kept.binary_search(&link.file).ok().and_then(|at| u32::try_from(at).ok())
            } else {
                Some(link.file - removed)
            };
            link.file = new.unwrap_or(link.file);
            new.is_some()
        });
    }

    pub(super) fn shrink(&mut self) {
        self.bases.shrink_to_fit();
        self.folders.shrink_to_fit();
        self.links.shrink_to_fit();
    }

    /// The scanned folder, and the tops of all other mounts.
    pub(super) fn roots(&self) -> Vec<&Arc<Root>> {
        let mut roots: Vec<_> = self.bases.iter().map(|base| &base.root).collect();
        roots.sort_unstable_by_key(|root| Arc::as_ptr(root));
        roots.dedup_by(|one, two| Arc::ptr_eq(one, two));
        roots
    }

    /// Whether all files and folders are at the same places.
    pub(super) fn are_same(&self, other: &Self) -> bool {
        let is_same = |(one, other): (&BaseFolder, &BaseFolder)| {
            one.path == other.path && one.root.path == other.root.path && one.root.is_same(&other.root)
        };
        let of_links = |it: &Self| (it.bases.len(), it.folders.clone(), it.links.clone());
        of_links(self) == of_links(other) && self.bases.iter().zip(&other.bases).all(is_same)
    }

    /// The scanned folder.
    pub(super) fn root(&self) -> &Arc<Root> {
        &self.bases[0].root
    }
}
