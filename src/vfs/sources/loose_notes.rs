//! Notes that need the names of all loose files, or of the files in archives. They concern folders whose
//! names differ only in case, dangling links, and loose files that lose to archives by date or that the game
//! ignores.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::layer_plan::filter_of;
use crate::folder::{LooseFolder, LooseNames, Scans, may_have_marks};
use crate::format::Entry;
use crate::game::caseless::fold;
use crate::game::{FolderFilter, LayerKind, LoadOrder, LooseRule, OrderLayer};
use crate::note::{Note, NoteCode, Notes};
use crate::shown::quoted;
use crate::system::clock::unix_nanoseconds;
use crate::system::disk_id::DiskId;
use crate::system::once_per_file::OncePerFile;
use crate::system::parallel::in_parallel;
use crate::system::paths::is_gone;
use crate::system::text::count;
use crate::vfs::open_options::OpenOptions;
use crate::vfs::opened_archive::{notes_on, stored_path, unreadable, with_archive};

/// Maximum number of notes of one code. The last one says how many more there are.
const NOTES_MAX: usize = 1_000;

/// How many mods are walked only for marks of deletions, because that takes time. In longer lists, only mods
/// are walked that a writable mount changed, or that have a mark at the top.
const MODS_WALKED: usize = 100;

/// Nanoseconds since 1970.
type Time = i64;

/// Adds notes to the load order of a source. Removes the archives that a walk of their folder leaves out, as
/// a mount does.
pub(crate) fn add(order: &mut LoadOrder, options: &OpenOptions) {
    let mut of_archives = archive_notes(order, options);
    order.notes.append(&mut of_archives);
    if order.game.is_empty() {
        let folders = order.layers.iter().filter(|layer| layer.what == LayerKind::Folder);
        let scans = Scans::default();
        let (mut walked, mut unread) = (Vec::new(), Vec::new());
        for OrderLayer { path, shown, .. } in folders {
            match scans.scan(path, &filter_of(shown)) {
                Ok(folder) => walked.push(folder),
                Err(_) if is_gone(path) => {}
                Err(error) => unread.push(Note::not_read(path, &error.to_string())),
            }
        }
        let mut notes = left_out(&order.notes, walked.iter());
        notes.append(&mut unread);
        order.layers.retain(|layer| {
            layer.what == LayerKind::Folder
                || !notes.iter().any(|note| Path::new(&note.subject) == layer.path)
        });
        order.notes.append(&mut notes);
        return;
    }
    // OpenMW ignores case, and prefers loose files to archives.
    let is_openmw = order.is_openmw();
    let hiding = if is_openmw { None } else { Hiding::of(order, options) };
    let scans = Scans::default();
    let folders = order.layers.iter().filter(|layer| layer.what == LayerKind::Folder);
    let layers: Vec<&OrderLayer> = folders.collect();
    let known = &order.notes;
    // Managers that deploy by links link into the game's own folder, so a mod has no other notes.
    let is_only_marked = |is_managed: &bool| *is_managed && hiding.is_none();
    let found = in_parallel(layers.len(), &options.steps("listing folders", layers.len()), |index| {
        let OrderLayer { path, shown, is_managed, .. } = layers[index];
        if is_only_marked(is_managed) && layers.len() > MODS_WALKED && !may_have_marks(path) {
            return Default::default();
        }
        // Walks the folder as a mount does.
        let folder = match scans.scan(path, &filter_of(shown)) {
            Ok(folder) => folder,
            Err(_) if is_gone(path) || is_only_marked(is_managed) => return Default::default(),
            Err(error) => {
                let is_known =
                    known.iter().any(|note| note.code.is_unseen() && Path::new(&note.subject) == path);
                let unread = (!is_known).then(|| Note::not_read(path, &error.to_string()));
                return ([Vec::new(), unread.into_iter().collect(), Vec::new()], Default::default());
            }
        };
        let marks = marks(order, &folder).into_iter().collect();
        if is_only_marked(is_managed) {
            return ([Vec::new(), Vec::new(), marks], Default::default());
        }
        let ignores_case = *is_managed || is_openmw;
        let notes = [
            if ignores_case { Vec::new() } else { notes(folder.names()) },
            left_out(known, std::iter::once(&folder)),
            marks,
        ];
        (notes, hiding.as_ref().map(|it| it.hidden(&folder, shown)).unwrap_or_default())
    });
    let mut kinds = [const { Vec::new() }; 3];
    let mut hidden = Vec::new();
    for (layer, (of_folder, paths)) in layers.iter().zip(found) {
        kinds.iter_mut().zip(of_folder).for_each(|(kind, some)| kind.extend(some));
        hidden.push((layer.path.clone(), paths));
    }
    let hidden = hidden.iter().map(|(folder, paths)| (&**folder, paths.iter().cloned()));
    let of_hidden = match hiding.as_ref().map(|it| it.code) {
        Some(NoteCode::LooseOlder) => older(order, hidden),
        Some(_) => ignored(order, hidden),
        None => None,
    };
    for some in kinds {
        add_some(some, &mut order.notes);
    }
    order.notes.extend(of_hidden);
}

/// One note on all loose files that a game ignores because of its settings. `paths` has a folder, and the
/// paths in it, for each layer.
pub(crate) fn ignored<'f>(
    order: &LoadOrder,
    paths: impl Iterator<Item = (&'f Path, impl Iterator<Item = String>)>,
) -> Option<Note> {
    let (folder, count, first) = summed(paths)?;
    let note = Note::new(NoteCode::LooseDisabled, folder.to_string_lossy(), order.why_loose_ignored());
    let note = Note { reason: "loose files are not enabled", ..note };
    Some(note.of(count, first).because(order.because_loose.clone()))
}

/// A note on a folder of a game or a mod that has marks of files that were deleted in a writable mount.
pub(crate) fn marks(order: &LoadOrder, folder: &LooseFolder) -> Option<Note> {
    let names = folder.names();
    let marks = names.whiteouts().len();
    let (above, name) = names.whiteouts().next()?;
    let is_loaded = |layer: &OrderLayer| layer.path == folder.path() && !layer.why.is_empty();
    order.layers.iter().find(|layer| is_loaded(layer))?;
    let first = [names.folder_path(above).as_slice(), name].join(&b'/');
    let first = String::from_utf8_lossy(&first).trim_matches('/').to_owned();
    let text = format!(
        "{} of files or folders that were deleted in a writable mount; a game knows no such marks, and loads \
         what they hide. To publish the mod, `bsafs extract {} --archives files -C FOLDER` copies it without \
         them",
        count(marks, "mark"),
        quoted(&folder.path().to_string_lossy())
    );
    Some(Note::new(NoteCode::DeletionMarks, folder.path().to_string_lossy(), text).of(marks, first))
}

/// One note on all loose files that lose to an archive that is not older.
fn older<'f>(
    order: &LoadOrder,
    paths: impl Iterator<Item = (&'f Path, impl Iterator<Item = String>)>,
) -> Option<Note> {
    let (folder, count, first) = summed(paths)?;
    let text = "archives with the paths of these loose files are not older, so the game uses the archives' \
                files; give the loose files a newer time";
    let note = Note::new(NoteCode::LooseOlder, folder.to_string_lossy(), text);
    let note = Note { reason: "archives are not older", ..note };
    Some(note.of(count, first).because(order.because_loose.clone()))
}

/// The first folder with a path, the number of all paths, and the first path of that folder.
fn summed<'f>(
    paths: impl Iterator<Item = (&'f Path, impl Iterator<Item = String>)>,
) -> Option<(&'f Path, usize, String)> {
    let mut sum: Option<(&Path, usize, String)> = None;
    for (folder, paths) in paths {
        for path in paths {
            match &mut sum {
                None => sum = Some((folder, 1, path)),
                Some((first_folder, count, first)) => {
                    *count += 1;
                    if *first_folder == folder && path < *first {
                        *first = path;
                    }
                }
            }
        }
    }
    sum
}

/// Notes on archives that cannot be opened, or whose tables are odd: those that a mount reports.
fn archive_notes(order: &LoadOrder, options: &OpenOptions) -> Vec<Note> {
    let layers = order.layers.iter().filter(|layer| layer.what == LayerKind::Archive);
    let archives: Vec<&Path> = layers.map(|layer| &*layer.path).collect();
    let steps = options.steps("reading archives", archives.len());
    let known = OncePerFile::default();
    let notes = in_parallel(archives.len(), &steps, |index| {
        let path = archives[index];
        let read = || with_archive(path, &options.parse_options(), |archive| notes_on(&archive, path));
        let about = |note| Note { subject: path.to_string_lossy().into_owned(), ..note };
        match known.at(path, read) {
            Ok(notes) => notes.into_iter().map(about).collect(),
            Err(error) => vec![unreadable(path, &error)],
        }
    });
    notes.into_iter().flatten().filter(|note| !note.code.is_minor()).collect()
}

/// Notes on what walks of folders left out, up to the maximum, without `known` ones: the plan notes dangling
/// links directly in a layer.
pub(crate) fn left_out<'a>(known: &[Note], folders: impl Iterator<Item = &'a LooseFolder>) -> Vec<Note> {
    let known: HashSet<(NoteCode, &str)> = known.iter().map(|note| (note.code, &*note.subject)).collect();
    let mut kept = Notes::new(NOTES_MAX);
    for folder in folders {
        let (notes, dropped) = folder.notes();
        for (at, note) in notes.iter().enumerate() {
            let mut note = note.note(folder.path());
            // The walk itself keeps only so many.
            note.more += if at + 1 == notes.len() { dropped } else { 0 };
            if !known.contains(&(note.code, &*note.subject)) {
                kept.add(note.code, || note);
            }
        }
    }
    kept.into_vec()
}

/// A rule that hides loose files.
struct Hiding {
    code: NoteCode,
    archives: Archives,
}

impl Hiding {
    /// The rule of a load order, if it hides loose files. Archives are opened only for such a rule.
    fn of(order: &LoadOrder, options: &OpenOptions) -> Option<Self> {
        let code = match &order.precedence.loose {
            LooseRule::ByDate => NoteCode::LooseOlder,
            LooseRule::Below(_) => NoteCode::LooseDisabled,
            LooseRule::Always | LooseRule::Never => return None,
        };
        Some(Self { code, archives: Archives::read(order, options) })
    }

    /// The files of a folder that the rule hides.
    fn hidden(&self, folder: &LooseFolder, shown: &FolderFilter) -> Vec<String> {
        let paths = (0..folder.names().file_count())
            .filter_map(|file| Some((file, String::from_utf8(folder.names().file_path(file)).ok()?)));
        let hidden =
            paths.filter(|(file, path)| self.hides(folder, *file, &path.to_ascii_lowercase(), shown));
        hidden.map(|(_, path)| path).collect()
    }

    fn hides(&self, folder: &LooseFolder, file: u32, folded: &str, shown: &FolderFilter) -> bool {
        match (self.code, &shown.only) {
            (NoteCode::LooseOlder, _) => self.archives.newest.get(folded).is_some_and(|archive| {
                folder.stat(file).is_ok_and(|stat| *archive >= unix_nanoseconds(stat.modified()))
            }),
            (_, Some(named)) => self.archives.hide(folded, named),
            _ => false,
        }
    }
}

/// Adds notes of one code, ordered by subject, up to the maximum.
fn add_some(mut some: Vec<Note>, notes: &mut Vec<Note>) {
    some.sort_by(|a, b| a.subject.cmp(&b.subject));
    let mut kept = Notes::new(NOTES_MAX);
    for note in some {
        kept.add(note.code, || note);
    }
    notes.append(&mut kept.into_vec());
}

/// What is known about all archives of a load order. Paths are in lower case, with `/` between names.
#[derive(Default)]
struct Archives {
    /// For each path, the time of the newest archive that has it.
    newest: HashMap<String, Time>,
    /// The first folder of each path.
    folders: HashSet<String>,
}

impl Archives {
    fn read(order: &LoadOrder, options: &OpenOptions) -> Self {
        let layers = order.layers.iter().filter(|layer| layer.what == LayerKind::Archive);
        // Links to one archive have the same names and time.
        let mut seen = HashSet::new();
        let identity = |path: &PathBuf| std::fs::metadata(path).map(|it| DiskId::from(&it)).ok();
        let paths = layers.map(|layer| &layer.path);
        let paths: Vec<_> = paths.filter(|path| identity(path).is_none_or(|it| seen.insert(it))).collect();
        let read = |index: usize| paths_in(paths[index], options);
        let invalidated: HashSet<&str> = order.invalidated.iter().map(String::as_str).collect();
        let mut archives = Self::default();
        let read = in_parallel(paths.len(), &options.steps("reading names", paths.len()), read);
        // Other notes say why an archive cannot be read.
        for (changed, names) in read.into_iter().flatten() {
            for name in names {
                if let Some((first, _)) = name.split_once('/') {
                    archives.folders.insert(first.to_owned());
                }
                if invalidated.contains(name.as_str()) {
                    continue;
                }
                let newest = archives.newest.entry(name).or_insert(changed);
                *newest = changed.max(*newest);
            }
        }
        archives
    }

    /// Whether a game that reads only the `named` folders ignores a loose file. Files directly in the data
    /// folder are not looked up in archives. Folders that no archive has do not belong to the game.
    fn hide(&self, path: &str, named: &[String]) -> bool {
        let Some((first, _)) = path.split_once('/') else { return false };
        let is_below =
            |folder: &String| path.strip_prefix(folder.as_str()).is_some_and(|it| it.starts_with('/'));
        self.folders.contains(first) && !named.iter().any(is_below)
    }
}

/// The modification time of an archive and the paths that it stores; `None` if it cannot be read.
fn paths_in(archive: &Path, options: &OpenOptions) -> Option<(Time, Vec<String>)> {
    let changed = std::fs::metadata(archive).and_then(|it| it.modified()).ok()?;
    let names = with_archive(archive, &options.parse_options(), |parsed| {
        let encoding = options.names_encoding(&parsed).encoding;
        let path = |entry: Entry<'_>| Some(stored_path(&entry.name, encoding)?.to_ascii_lowercase());
        parsed.entries().filter_map(path).collect()
    });
    Some((unix_nanoseconds(changed), names.ok()?))
}

// Finds folders whose names differ only in case. Wine shows a game only one of them.

/// A note for each set of folders whose names differ only in case. Top folders are left out,
/// because the plan notes them.
pub(crate) fn notes(names: &LooseNames) -> Vec<Note> {
    let mut folders: Vec<(u32, String, u32)> = (0_u32..)
        .zip(names.folders())
        .filter(|(_, (parent, ..))| *parent != 0)
        .filter_map(|(at, (parent, name, _))| Some((parent, fold(std::str::from_utf8(name.bytes).ok()?), at)))
        .collect();
    folders.sort_unstable();
    let twice = folders.chunk_by(|a, b| (a.0, &a.1) == (b.0, &b.1)).filter(|same| same.len() > 1);
    let path =
        |folder: &(u32, String, u32)| String::from_utf8_lossy(&names.folder_path(folder.2)).into_owned();
    twice.map(|same| Note::folder_case(same.iter().map(path).collect())).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::folder::{Filter, OpenFiles, scan};

    #[test]
    fn nested_folders_that_differ_only_in_case_share_one_note() {
        let dir = tempfile::tempdir().expect("cannot create the folder");
        for path in ["A/x/Ä", "A/X/ä", "A/x/Ü", "A/x/ü", "A/y", "B/x", "a/Y"] {
            std::fs::create_dir_all(dir.path().join(path)).expect("cannot create a subfolder");
        }
        let folder = scan(dir.path(), &Filter::default(), &Arc::new(OpenFiles::default()))
            .expect("cannot scan the folder");
        let notes = super::notes(folder.names());
        let subjects: Vec<&str> = notes.iter().map(|note| note.subject.as_str()).collect();
        assert_eq!(subjects, ["A/x, A/X", "A/x/ü, A/x/Ü"]);
    }
}
