//! What upper layers erase in the layers below them: files and folders that were deleted in a writable mount.

use std::collections::HashMap;

use super::layer_names::{File, LayerNames};
use crate::folder::LooseNames;

/// What the layers above a layer hide in it, as a tree of names.
#[derive(Debug)]
pub struct Erased {
    /// The root comes first.
    paths: Vec<HiddenPath>,
}

/// The path of a file or folder that is hidden, or of a folder above one.
#[derive(Debug, Default)]
struct HiddenPath {
    /// The paths directly below, by their names in lower case.
    below: HashMap<Vec<u8>, usize>,
    /// Whether the file or folder is hidden.
    is_erased: bool,
    /// Whether everything in the folder is hidden.
    is_emptied: bool,
}

/// The folders and files of a layer that are hidden, in ascending order.
#[derive(Debug, Default)]
pub(super) struct ErasedIn {
    pub(super) folders: Vec<u32>,
    pub(super) files: Vec<u32>,
}

/// What is hidden in a folder of a layer.
#[derive(Clone, Copy)]
struct OfFolder {
    /// The number of its path.
    path: Option<usize>,
    is_erased: bool,
    is_emptied: bool,
}

impl Default for Erased {
    fn default() -> Self {
        Self { paths: vec![HiddenPath::default()] }
    }
}

impl From<&LooseNames> for Erased {
    fn from(loose: &LooseNames) -> Self {
        let mut erased = Self::default();
        erased.add(loose);
        erased
    }
}

impl Erased {
    /// Adds what a folder of loose files hides in the layers below it.
    pub fn add(&mut self, loose: &LooseNames) {
        let mut last = None;
        for (folder, name) in loose.whiteouts() {
            let path = match last {
                Some((known, path)) if known == folder => path,
                _ => loose
                    .folder_path(folder)
                    .split(|&byte| byte == b'/')
                    .fold(0, |at, name| self.enter(at, name)),
            };
            last = Some((folder, path));
            let hidden = self.enter(path, name);
            let hidden = &mut self.paths[hidden];
            // The empty name is that of the folder.
            *(if name.is_empty() { &mut hidden.is_emptied } else { &mut hidden.is_erased }) = true;
        }
    }

    /// Whether nothing is hidden.
    pub fn is_empty(&self) -> bool {
        self.paths.len() == 1 && !self.paths[0].is_emptied
    }

    /// What is hidden in a layer.
    pub(super) fn of_layer(&self, layer: &LayerNames) -> ErasedIn {
        let mut folders: Vec<OfFolder> = Vec::with_capacity(layer.folders.len());
        for folder in &layer.folders {
            // The root is its own parent, and comes first.
            let of_folder = match folders.get(folder.parent as usize) {
                None => self.root(),
                Some(parent) => self.child(*parent, layer.name(folder.name)),
            };
            folders.push(of_folder);
        }
        let is_erased = |file: &File| {
            let folder = folders[file.folder as usize];
            let path = self.child(folder, layer.name(file.name));
            // An opaque folder also hides a file that it replaced.
            folder.is_emptied || path.is_erased || path.is_emptied
        };
        let hidden = (0..).zip(&layer.files).filter(|(_, file)| is_erased(file));
        let files = hidden.map(|(entry, _)| entry).collect();
        let hidden = (0..).zip(&folders).filter(|(_, folder)| folder.is_erased);
        ErasedIn { folders: hidden.map(|(index, _)| index).collect(), files }
    }

    /// The path that was deleted if another path is hidden: that path itself, or a folder above it.
    /// `None` if the path is not hidden. Names may be in upper or lower case, with `/` between them.
    pub fn deleted_above<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let (mut folder, mut start) = (self.root(), 0);
        for end in ends.chain([path.len()]) {
            if folder.is_emptied {
                break;
            }
            folder = self.child(folder, &path[start..end]);
            if folder.is_emptied {
                return Some(&path[..end]);
            }
            start = end + 1;
        }
        folder.is_emptied.then_some(b"")
    }

    fn root(&self) -> OfFolder {
        OfFolder { path: Some(0), is_erased: false, is_emptied: self.paths[0].is_emptied }
    }

    /// What is hidden at a name in a folder.
    fn child(&self, folder: OfFolder, name: &[u8]) -> OfFolder {
        let below = folder.path.map(|path| &self.paths[path].below).filter(|below| !below.is_empty());
        let path = below.and_then(|below| below.get(&name.to_ascii_lowercase()).copied());
        let is_erased = folder.is_emptied || path.is_some_and(|path| self.paths[path].is_erased);
        let is_emptied = is_erased || path.is_some_and(|path| self.paths[path].is_emptied);
        OfFolder { path, is_erased, is_emptied }
    }

    /// The path of a name below another path. The empty name is that path itself.
    fn enter(&mut self, path: usize, name: &[u8]) -> usize {
        if name.is_empty() {
            return path;
        }
        let next = self.paths.len();
        let entered = *self.paths[path].below.entry(name.to_ascii_lowercase()).or_insert(next);
        if entered == next {
            self.paths.push(HiddenPath::default());
        }
        entered
    }
}
