//! What upper layers erase in the layers below them: files and folders that were deleted in a writable mount.

use std::collections::HashMap;

use super::layer_names::{File, LayerNames};
use crate::folder::LooseNames;

/// What the layers above a layer hide in it, as a tree of names.
#[derive(Debug)]
pub struct Erased {
    /// The root comes first.
    places: Vec<Place>,
}

/// The path of a file or folder that is hidden, or of a folder above one.
#[derive(Debug, Default)]
struct Place {
    /// The places directly below, by their names in lower case.
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
    /// The number of its place.
    place: Option<usize>,
    is_erased: bool,
    is_emptied: bool,
}

impl Default for Erased {
    fn default() -> Self {
        Self { places: vec![Place::default()] }
    }
}

impl Erased {
    /// Adds what a folder of loose files hides in the layers below it.
    pub fn add(&mut self, loose: &LooseNames) {
        let mut last = None;
        for (folder, name) in loose.whiteouts() {
            let place = match last {
                Some((known, place)) if known == folder => place,
                _ => loose
                    .folder_path(folder)
                    .split(|&byte| byte == b'/')
                    .fold(0, |at, name| self.enter(at, name)),
            };
            last = Some((folder, place));
            let hidden = self.enter(place, name);
            let hidden = &mut self.places[hidden];
            // The empty name is that of the folder.
            *(if name.is_empty() { &mut hidden.is_emptied } else { &mut hidden.is_erased }) = true;
        }
    }

    /// Whether nothing is hidden.
    pub fn is_empty(&self) -> bool {
        self.places.len() == 1 && !self.places[0].is_emptied
    }

    /// What is hidden in a layer.
    pub(super) fn of_layer(&self, layer: &LayerNames) -> ErasedIn {
        let mut folders: Vec<OfFolder> = Vec::with_capacity(layer.folders.len());
        for folder in &layer.folders {
            // The root is its own parent, and comes first.
            let of_folder = match folders.get(folder.parent as usize) {
                None => OfFolder { place: Some(0), is_erased: false, is_emptied: self.places[0].is_emptied },
                Some(parent) => self.child(*parent, layer.name(folder.name)),
            };
            folders.push(of_folder);
        }
        let is_erased = |file: &File| {
            let folder = folders[file.folder as usize];
            let place = self.child(folder, layer.name(file.name));
            // An opaque folder also hides a file that it replaced.
            folder.is_emptied || place.is_erased || place.is_emptied
        };
        let hidden = (0..).zip(&layer.files).filter(|(_, file)| is_erased(file));
        let files = hidden.map(|(entry, _)| entry).collect();
        let hidden = (0..).zip(&folders).filter(|(_, folder)| folder.is_erased);
        ErasedIn { folders: hidden.map(|(index, _)| index).collect(), files }
    }

    /// What is hidden at a name in a folder.
    fn child(&self, folder: OfFolder, name: &[u8]) -> OfFolder {
        let below = folder.place.map(|place| &self.places[place].below).filter(|below| !below.is_empty());
        let place = below.and_then(|below| below.get(&name.to_ascii_lowercase()).copied());
        let is_erased = folder.is_emptied || place.is_some_and(|place| self.places[place].is_erased);
        let is_emptied = is_erased || place.is_some_and(|place| self.places[place].is_emptied);
        OfFolder { place, is_erased, is_emptied }
    }

    /// The place of a name below another place. The empty name is that place itself.
    fn enter(&mut self, place: usize, name: &[u8]) -> usize {
        if name.is_empty() {
            return place;
        }
        let next = self.places.len();
        let entered = *self.places[place].below.entry(name.to_ascii_lowercase()).or_insert(next);
        if entered == next {
            self.places.push(Place::default());
        }
        entered
    }
}
