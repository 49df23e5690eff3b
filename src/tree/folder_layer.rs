//! Builds a layer from a folder of loose files. The layer shares the folder's names in memory.

use std::borrow::Cow;
use std::sync::Arc;

use super::layer_names::{File, Folder, LayerNames, NameRef};
use super::stored_names::{NamesTooLarge, StoredNames};
use crate::folder::{self, FileTime, LooseNames};
use crate::format::encoding::Encoding;
use crate::format::hash::Family;
use crate::format::{Name, name};

impl LayerNames {
    /// The names in a folder. With `base`, all of them are below a folder of that name. Names that
    /// are not UTF-8, or contain what no name in a mount may, are listed [safely](name::component).
    ///
    /// # Errors
    /// [`NamesTooLarge`] if they take more than 4 GiB.
    pub fn of_folder(names: &LooseNames, base: Option<&str>) -> Result<Self, NamesTooLarge> {
        let root = Folder { parent: 0, name: NameRef::default() };
        let count = names.file_count();
        let mut layer = Self {
            shared: Arc::clone(names.bytes()),
            arena: Vec::new(),
            folders: Vec::with_capacity(names.folders().len() + 1),
            folder_times: Vec::with_capacity(names.folders().len() + 1),
            files: Vec::with_capacity(count as usize),
            stored_overrides: StoredNames::default(),
            unnamed: Vec::new(),
            family: Family::None,
            encoding: Encoding::UTF_8,
            separator: b'/',
            base: 0,
        };
        layer.folders.push(root);
        let mut folders = names.folders();
        let own_time = folders.next().map_or(FileTime::default(), |(_, _, modified)| modified);
        if let Some(base) = base {
            let name = layer.append(base.as_bytes())?;
            layer.folders.push(Folder { parent: 0, name });
            layer.base = 1;
        }
        layer.folder_times = vec![own_time; layer.folders.len()];
        // The first folder is the base. The folders below it follow.
        let listed = |folder: u32| folder + layer_base(base);
        for (parent, stored, modified) in folders {
            let (name, _) = layer.listed_name(stored)?;
            layer.folders.push(Folder { parent: listed(parent), name });
            layer.folder_times.push(modified);
        }
        let mut changed_folder = (u32::MAX, false);
        for (entry, (folder, stored)) in (0_u32..).zip(names.files()) {
            let (name, is_changed) = layer.listed_name(stored)?;
            layer.files.push(File { folder: listed(folder), name });
            if changed_folder.0 != folder {
                let path = names.folder_path(folder);
                changed_folder = (folder, layer.folder_path(listed(folder)) != path);
            }
            if is_changed || changed_folder.1 {
                layer.stored_overrides.push(entry, &Name::Path(&names.file_path(entry)))?;
            }
        }
        Ok(layer.shrunk())
    }

    /// The listed name for a stored name, and whether they differ.
    fn listed_name(&mut self, stored: folder::LooseName<'_>) -> Result<(NameRef, bool), NamesTooLarge> {
        let len = u8::try_from(stored.bytes.len()).map_err(|_| NamesTooLarge)?;
        match name::component(stored.bytes, Encoding::UTF_8) {
            Cow::Borrowed(text) if text.as_bytes() == stored.bytes => {
                Ok((NameRef::new(stored.at, len), false))
            }
            listed => Ok((self.append(listed.as_bytes())?, true)),
        }
    }
}

/// The index of the folder that contains the whole layer.
fn layer_base(base: Option<&str>) -> u32 {
    u32::from(base.is_some())
}
