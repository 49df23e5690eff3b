//! The folder of loose files, which is the layer above the archives. Its files are replaced by a
//! rename, rewritten in place, removed, and put back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::archives::KINDS;
use crate::contents::{FILES, File, Generation};
use crate::random::Random;

/// Index of the folder among the layers.
pub(crate) const LAYER: usize = KINDS.len();
/// Name of the folder, also in a mount with `--layout per-archive`.
pub(crate) const NAME: &str = "loose";
/// Maximum number of files in one change.
const AT_ONCE: u64 = 20;

/// A change to the folder.
#[derive(Debug)]
pub(crate) struct Changed {
    /// Content of the folder after the change.
    pub(crate) generation: Arc<Generation>,
    deeds: Vec<Deed>,
}

/// A change to one file of the folder.
#[derive(Debug)]
enum Deed {
    Replace { old: Option<Arc<File>>, new: Arc<File> },
    Rewrite { old: Arc<File>, new: Arc<File> },
    Remove(Arc<File>),
}

/// Writes the first generation.
pub(crate) fn write_first(folder: &Path, seed: u64) -> io::Result<Arc<Generation>> {
    let generation = Generation::new(seed, LAYER, false, 0);
    for file in &generation.files {
        let path = folder.join(file.path());
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, &file.data)?;
    }
    Ok(Arc::new(generation))
}

impl Changed {
    /// Plans random changes to the current content.
    pub(crate) fn new(seed: u64, current: &Generation, random: &mut Random) -> Self {
        let number = current.number + 1;
        let mut files: Vec<Option<Arc<File>>> = vec![None; FILES as usize];
        current.files.iter().for_each(|file| files[file.index as usize] = Some(file.clone()));
        let mut deeds = Vec::new();
        let first = random.below(FILES);
        // The files are next to each other, so that none changes twice.
        for index in (first..first + 1 + random.below(AT_ONCE)).map(|index| index % FILES) {
            let mut new = File::new(seed, LAYER, false, number, index);
            let old = files[index as usize].take();
            let is_renamed = old.as_ref().is_none_or(|old| old.name != new.name);
            match (old, random.below(10)) {
                (Some(old), 0..2) => deeds.push(Deed::Remove(old)),
                (Some(old), 2..6) if !is_renamed => {
                    new.is_in_place = true;
                    let new = Arc::new(new);
                    files[index as usize] = Some(new.clone());
                    deeds.push(Deed::Rewrite { old, new });
                }
                (old, _) => {
                    let new = Arc::new(new);
                    files[index as usize] = Some(new.clone());
                    if is_renamed && let Some(old) = old {
                        deeds.extend([Deed::Remove(old), Deed::Replace { old: None, new }]);
                    } else {
                        deeds.push(Deed::Replace { old, new });
                    }
                }
            }
        }
        Self { generation: Arc::new(Generation::of(number, files.into_iter().flatten().collect())), deeds }
    }

    /// Number of changes to files.
    pub(crate) fn len(&self) -> u64 {
        self.deeds.len() as u64
    }

    /// Makes the changes in the folder.
    pub(crate) fn make(&self, folder: &Path) -> io::Result<()> {
        self.deeds.iter().try_for_each(|deed| deed.make(folder))
    }
}

impl Deed {
    fn make(&self, folder: &Path) -> io::Result<()> {
        let path = |file: &File| -> PathBuf { folder.join(file.path()) };
        match self {
            Self::Remove(old) => {
                old.lost.set();
                fs::remove_file(path(old))
            }
            Self::Rewrite { old, new } => {
                old.lost.set();
                fs::write(path(new), &new.data)
            }
            Self::Replace { old, new } => {
                if let Some(old) = old {
                    old.lost.set();
                }
                // The file is outside the folder, because it would be shown inside.
                let beside = folder.with_extension("new");
                fs::write(&beside, &new.data)?;
                fs::rename(beside, path(new))
            }
        }
    }
}
