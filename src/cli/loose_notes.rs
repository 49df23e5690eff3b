//! Notes that need the names in archives: loose files that lose to archives by date, or that the game does not look at.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::open::with_archive;
use super::open_args::ParseArgs;
use super::parallel::in_parallel;
use crate::format::Entry;
use crate::game::{LayerKind, LoadOrder, LooseRule, Note, NoteCode, Shown};

/// Notes of one code that are made; a further one says how many there would be.
const NOTES_MAX: usize = 1_000;

/// Entries of loose folders that are looked at.
const ENTRIES_MAX: usize = 4 << 20;

/// A time as the disk has it: seconds, nanoseconds.
type Time = (i64, i64);

/// Adds the notes of an order whose rule hides loose files. Archives are opened for no other.
pub(super) fn add(order: &mut LoadOrder) {
    let code = match &order.precedence.loose {
        LooseRule::ByDate => NoteCode::LooseOlder,
        LooseRule::Below(_) => NoteCode::LooseDisabled,
        LooseRule::Always | LooseRule::Never => return,
    };
    let archives = Archives::read(order);
    let mut subjects = Vec::new();
    for layer in order.layers.iter().filter(|layer| layer.what == LayerKind::Folder) {
        for file in loose_files(&layer.path) {
            let folded = file.relative.to_ascii_lowercase();
            if is_left_out(&folded, &layer.shown) {
                continue;
            }
            let is_hidden = match (code, &layer.shown) {
                (NoteCode::LooseOlder, _) => {
                    archives.newest.get(&folded).is_some_and(|it| *it >= file.changed)
                }
                (_, Shown { only: Some(named), .. }) => archives.hide(&folded, named),
                _ => false,
            };
            if is_hidden {
                subjects.push(file.relative);
            }
        }
    }
    let text = match code {
        NoteCode::LooseOlder => "an archive that has it is not older: the game takes the archive's",
        _ => {
            "the game does not look at loose files: bInvalidateOlderFiles=1 with an empty sResourceDataDirsFinal= lets it"
        }
    };
    subjects.sort();
    let more = subjects.len().saturating_sub(NOTES_MAX);
    order.notes.extend(subjects.into_iter().take(NOTES_MAX).map(|subject| Note::new(code, subject, text)));
    if more > 0 {
        order.notes.push(Note::new(code, format!("{more} more"), text));
    }
    order.notes.extend(archives.unreadable);
}

/// Whether a mod manager keeps a file for itself.
fn is_left_out(path: &str, shown: &Shown) -> bool {
    let is_first = |name: &String| path.split('/').next() == Some(name.as_str());
    let mut folders = path.rsplit('/').skip(1);
    shown.without_names.iter().any(is_first)
        || shown.without_suffixes.iter().any(|suffix| path.ends_with(suffix.as_str()))
        || folders.any(|folder| shown.without_folders.iter().any(|it| it == folder))
}

/// What is known of all archives of an order. Paths are in small letters, `/` between names.
#[derive(Default)]
struct Archives {
    /// The time of the newest archive that has a path.
    newest: HashMap<String, Time>,
    /// The first folders of paths.
    folders: HashSet<String>,
    unreadable: Vec<Note>,
}

impl Archives {
    fn read(order: &LoadOrder) -> Self {
        let layers = order.layers.iter().filter(|layer| layer.what == LayerKind::Archive);
        let paths: Vec<&PathBuf> = layers.map(|layer| &layer.path).collect();
        let read = |index: usize| Ok(paths_in(paths[index]));
        let mut archives = Self::default();
        for (path, read) in
            paths.iter().zip(in_parallel(paths.len(), "reading names", read).unwrap_or_default())
        {
            match read {
                Ok((changed, names)) => {
                    for name in names {
                        if let Some((first, _)) = name.split_once('/') {
                            archives.folders.insert(first.to_owned());
                        }
                        let newest = archives.newest.entry(name).or_insert(changed);
                        *newest = changed.max(*newest);
                    }
                }
                Err(what) => {
                    let note = Note::new(NoteCode::FileUnreadable, path.to_string_lossy(), what);
                    archives.unreadable.push(note);
                }
            }
        }
        archives
    }

    /// Whether a game that looks at the named folders alone does not see a loose file. Files directly in the data folder
    /// are not looked up in archives, and folders that no archive has are not the game's.
    fn hide(&self, path: &str, named: &[String]) -> bool {
        let Some((first, _)) = path.split_once('/') else { return false };
        let is_below =
            |folder: &String| path.strip_prefix(folder.as_str()).is_some_and(|it| it.starts_with('/'));
        self.folders.contains(first) && !named.iter().any(is_below)
    }
}

/// An archive's time and the paths that it stores; the error says why it cannot be read.
fn paths_in(archive: &Path) -> Result<(Time, Vec<String>), String> {
    let changed = std::fs::metadata(archive).map_err(|error| error.to_string())?;
    let parse = ParseArgs::default();
    let names = with_archive(archive, &parse.options(), |parsed| {
        let path = |entry: Entry<'_>| {
            let (folder, file) = entry.name.parts()?;
            let parts = [parse.encoding.decode(folder)?, parse.encoding.decode(file)?];
            let pieces = parts.iter().flat_map(|part| part.split(['/', '\\']));
            let path = pieces.filter(|piece| !matches!(*piece, "" | ".")).collect::<Vec<_>>().join("/");
            Some(path.to_ascii_lowercase())
        };
        parsed.entries().filter_map(path).collect()
    });
    Ok(((changed.mtime(), changed.mtime_nsec()), names.map_err(|failure| failure.what)?))
}

/// A loose file.
struct LooseFile {
    /// Its path in its folder, `/` between names.
    relative: String,
    changed: Time,
}

/// The regular files below a folder. A folder that links lead to again is entered once.
fn loose_files(root: &Path) -> Vec<LooseFile> {
    let (mut files, mut entered) = (Vec::new(), HashSet::new());
    let mut waiting = vec![(root.to_owned(), String::new())];
    let mut looked = 0;
    while let Some((folder, relative)) = waiting.pop() {
        let Ok(metadata) = std::fs::metadata(&folder) else { continue };
        if !entered.insert((metadata.dev(), metadata.ino())) {
            continue;
        }
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked += 1;
            let (Ok(name), Ok(metadata)) = (entry.file_name().into_string(), std::fs::metadata(entry.path()))
            else {
                continue;
            };
            let relative = if relative.is_empty() { name } else { format!("{relative}/{name}") };
            if metadata.is_dir() {
                waiting.push((entry.path(), relative));
            } else if metadata.is_file() {
                files.push(LooseFile { relative, changed: (metadata.mtime(), metadata.mtime_nsec()) });
            }
            if looked >= ENTRIES_MAX {
                return files;
            }
        }
    }
    files
}
