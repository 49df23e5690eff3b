//! Notes that need the names in archives: loose files that lose to archives by date, or that the game does not look at.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::layer_plan::filter_of;
use super::names::stored_path;
use super::open::{nanoseconds, with_archive};
use super::open_args::ParseArgs;
use super::parallel::in_parallel;
use crate::folder::{self, OpenFiles, Wait};
use crate::format::Entry;
use crate::game::{LayerKind, LoadOrder, LooseRule, Note, NoteCode, Shown};

/// Notes of one code that are made; a further one says how many there would be.
const NOTES_MAX: usize = 1_000;

/// Nanoseconds since 1970.
type Time = i64;

/// Adds the notes of an order whose rule hides loose files. Archives are opened for no other.
pub(super) fn add(order: &mut LoadOrder, parse: &ParseArgs) {
    let code = match &order.precedence.loose {
        LooseRule::ByDate => NoteCode::LooseOlder,
        LooseRule::Below(_) => NoteCode::LooseDisabled,
        LooseRule::Always | LooseRule::Never => return,
    };
    let archives = Archives::read(order, parse);
    let files = Arc::new(OpenFiles::default());
    let mut subjects = Vec::new();
    for layer in order.layers.iter().filter(|layer| layer.what == LayerKind::Folder) {
        // As a mount walks it. What cannot be walked is a note of the plan.
        let Ok(folder) = folder::scan(&layer.path, &filter_of(&layer.shown), &files) else { continue };
        for file in 0..folder.names().file_count() {
            let Ok(path) = String::from_utf8(folder.names().file_path(file)) else { continue };
            let folded = path.to_ascii_lowercase();
            let is_hidden = match (code, &layer.shown) {
                (NoteCode::LooseOlder, _) => archives.newest.get(&folded).is_some_and(|archive| {
                    folder.look(file, Wait::Yes).is_ok_and(|stat| *archive >= stat.modified)
                }),
                (_, Shown { only: Some(named), .. }) => archives.hide(&folded, named),
                _ => false,
            };
            if is_hidden {
                subjects.push(path);
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
    fn read(order: &LoadOrder, parse: &ParseArgs) -> Self {
        let layers = order.layers.iter().filter(|layer| layer.what == LayerKind::Archive);
        let paths: Vec<&PathBuf> = layers.map(|layer| &layer.path).collect();
        let read = |index: usize| Ok(paths_in(paths[index], parse));
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
fn paths_in(archive: &Path, parse: &ParseArgs) -> Result<(Time, Vec<String>), String> {
    let changed =
        std::fs::metadata(archive).and_then(|it| it.modified()).map_err(|error| error.to_string())?;
    let names = with_archive(archive, &parse.options(), |parsed| {
        let path = |entry: Entry<'_>| Some(stored_path(&entry.name, parse.encoding())?.to_ascii_lowercase());
        parsed.entries().filter_map(path).collect()
    });
    Ok((nanoseconds(changed), names.map_err(|failure| failure.what)?))
}
