//! A layer to merge: its names, and how a game's rules affect them.

use std::sync::Arc;

use super::erased::{Erased, ErasedIn};
use super::layer_names::{File, LayerNames, NameRef};
use super::stored_names::NamesTooLarge;

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
