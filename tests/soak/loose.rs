//! The folder of loose files, which is the layer above the archives. Its files are replaced and saved by
//! renames, written to in place, extended, removed, and put back.

use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use crate::archives::KINDS;
use crate::contents::{FILES, File, Generation};
use crate::random::Random;

/// Index of the folder among the layers.
pub(crate) const LAYER: usize = KINDS.len();
/// Name of the folder, also in a mount with `--layout per-archive`.
pub(crate) const NAME: &str = "loose";
/// Maximum number of files in one change.
const AT_ONCE: u64 = 20;
/// Extension of a file that is being saved, which is in the same folder until it is renamed.
pub(crate) const SAVING: &str = "saving";
/// Number of writes by which a file is extended or overwritten, and the pause after each. Readers see the
/// file in between.
const PIECES: usize = 4;
const PAUSE: Duration = Duration::from_millis(5);
/// A file of this length is not extended.
const LONGEST: usize = 8 << 20;

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
    /// Renames a file from another folder over the path.
    Replace {
        old: Option<Arc<File>>,
        new: Arc<File>,
    },
    /// Writes a file in the same folder, and renames it over the path, as editors do.
    Save {
        old: Arc<File>,
        new: Arc<File>,
    },
    /// Truncates the file, and writes it again.
    Rewrite {
        old: Arc<File>,
        new: Arc<File>,
    },
    /// Writes over the old bytes piece by piece, and sets the new length at the end.
    Overwrite {
        old: Arc<File>,
        new: Arc<File>,
    },
    /// Appends bytes piece by piece, as to a log.
    Grow {
        old: Arc<File>,
        new: Arc<File>,
    },
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
            let new = File::new(seed, LAYER, false, number, index);
            let place = &mut files[index as usize];
            match place.take() {
                None => deeds.push(Deed::Replace { old: None, new: put(place, new) }),
                Some(old) if random.one_in(6) => deeds.push(Deed::Remove(old)),
                Some(old) if old.name != new.name => {
                    deeds.extend([Deed::Remove(old), Deed::Replace { old: None, new: put(place, new) }]);
                }
                Some(old) => deeds.push(match random.below(5) {
                    0 => Deed::Rewrite { new: put(place, new), old },
                    1 => Deed::Overwrite { new: put(place, new), old },
                    2 if old.data.len() < LONGEST => {
                        let most = if random.one_in(2) { 50 } else { 20_000 };
                        let more = 1 + random.index(most);
                        Deed::Grow { new: put(place, old.grown(seed, number, more)), old }
                    }
                    3 => Deed::Save { new: put(place, new), old },
                    _ => Deed::Replace { old: Some(old), new: put(place, new) },
                }),
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
            Self::Replace { old, new } => {
                // The file is outside the folder, because it would be shown inside.
                rename_over(old.as_ref(), new, &folder.with_extension("new"), &path(new))
            }
            Self::Save { old, new } => {
                let path = path(new);
                rename_over(Some(old), new, &path.with_extension(SAVING), &path)
            }
            Self::Rewrite { old, new } => {
                old.set_next(new.clone(), Some(0));
                fs::write(path(new), &new.data)
            }
            Self::Overwrite { old, new } => {
                let len = new.data.len();
                old.set_next(new.clone(), (len < old.data.len()).then_some(len));
                let file = fs::File::options().write(true).open(path(new))?;
                write_in_pieces(&file, &new.data)?;
                file.set_len(len as u64)
            }
            Self::Grow { old, new } => {
                old.set_next(new.clone(), None);
                let mut file = fs::File::options().write(true).open(path(new))?;
                file.seek(SeekFrom::End(0))?;
                write_in_pieces(&file, &new.data[old.data.len()..])
            }
        }
    }
}

/// Puts a new file in its place in the list.
fn put(place: &mut Option<Arc<File>>, new: File) -> Arc<File> {
    place.insert(Arc::new(new)).clone()
}

fn rename_over(old: Option<&Arc<File>>, new: &File, beside: &Path, path: &Path) -> io::Result<()> {
    fs::write(beside, &new.data)?;
    if let Some(old) = old {
        old.lost.set();
    }
    fs::rename(beside, path)
}

fn write_in_pieces(mut file: &fs::File, data: &[u8]) -> io::Result<()> {
    for piece in data.chunks(data.len().div_ceil(PIECES).max(1)) {
        file.write_all(piece)?;
        sleep(PAUSE);
    }
    Ok(())
}
