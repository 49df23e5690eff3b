//! A question and the answer to it so far, and what all kinds of things are looked up in.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::Serialize;

use crate::answers::copies::{Copy, Deletions};
use crate::answers::fate::{Fate, FateReason, HIDDEN, hidden_folder, is_plugin_of, nested_around};
use crate::format::is_archive_name;
use crate::game::caseless::{fold, same};
use crate::game::{
    DeploymentList, Disk, LayerKind, LoadOrder, ModList, OrderLayer, ghosted, is_backup, is_separator,
};
use crate::kinds::is_plugin;
use crate::note::{Note, NoteCode};
use crate::shown::Shown;
use crate::system::once_per_file::OncePerFile;
use crate::vfs::library::Vfs;
use crate::vfs::open_options::OpenOptions;
use crate::vfs::opened_archive::{stored_path, with_archive};

/// Whether something is in a game, and why.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Explanation {
    /// What was asked about, as it was typed.
    pub(crate) thing: String,
    /// The path or name that this was taken for, if it differs by more than case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) meant: Option<String>,
    /// The path in the tree that was asked about; `None` if it is not known.
    #[serde(skip)]
    pub(crate) path: Option<String>,
    /// The id of the game; `None` if the sources are no game.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) game: Option<&'static str>,
    /// The name of the profile of Mod Organizer 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) profile: Option<String>,
    pub(crate) kind: ThingKind,
    /// Whether it is in the game.
    pub(crate) is_there: bool,
    /// What became of it.
    pub(crate) fate: Fate,
    /// The reasons, the most probable first. Never empty.
    pub(crate) reasons: Vec<FateReason>,
}

impl Explanation {
    /// Whether anything is known of what was asked.
    pub(crate) fn is_known(&self) -> bool {
        self.is_there
            || self
                .reasons
                .iter()
                .any(|it| !matches!(it.code, NOT_FOUND | UNOPENED | SIMILAR_NAME | IN_NO_FOLDER))
    }
}

/// What kind of thing a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ThingKind {
    /// A file: a path in the tree, or a copy on the disk.
    File,
    /// A plugin.
    Plugin,
    /// An archive.
    Archive,
    /// A mod.
    Mod,
    /// An INI file, or a profile of Mod Organizer.
    Settings,
}

/// The code of the reason that nothing was found.
pub(crate) const NOT_FOUND: &str = "not-found";
/// The code of the reason that a manager has not deployed a file or mod, or not any more.
pub(super) const NOT_DEPLOYED: &str = "not-deployed";
/// The code of the reason that no folder of the game has a file.
pub(super) const IN_NO_FOLDER: &str = "in-no-folder";
/// The code of the reason that a file of the same name is elsewhere.
pub(crate) const SAME_NAME: &str = "same-name";
/// The code of the reason that a file or mod has a similar name.
pub(super) const SIMILAR_NAME: &str = "similar-name";
/// The code of the reason that an archive cannot be opened.
pub(super) const UNOPENED: &str = "archive-unopened";
/// Maximum number of archives that are opened for one question.
pub(super) const ARCHIVES_MAX: usize = 2_000;
/// Maximum number of files and folders of a mod that are looked at.
const WALKED_MAX: usize = 100_000;

/// What is looked up in archives.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Wanted {
    Path(String),
    /// The name of a file in any folder.
    Name(String),
}

/// The stored path of what was looked up in an archive, or why the archive cannot be opened.
type LookedUp = Result<Option<String>, String>;

/// Which of several paths an archive has, or why it cannot be opened.
type PathsFound = Result<Rc<HashSet<String>>, String>;

/// A question, and the answer so far.
pub(super) struct Investigation<'a> {
    pub(super) vfs: &'a Vfs,
    pub(super) orders: &'a [LoadOrder],
    pub(super) options: &'a OpenOptions,
    pub(super) disk: Disk,
    /// For each path or name that was looked up in archives, what was found in each.
    pub(super) looked_up: RefCell<HashMap<Wanted, Rc<OncePerFile<LookedUp>>>>,
    /// The paths that are asked about together, in lower case. Each archive is opened once for all of them.
    pub(super) all: HashSet<String>,
    /// Which of these each archive has.
    pub(super) all_in: RefCell<HashMap<PathBuf, PathsFound>>,
    pub(super) deep_archives: OnceCell<Rc<Vec<FateReason>>>,
    pub(super) unopened_archives: OnceCell<Rc<Vec<&'a OrderLayer>>>,
    pub(super) mods_off: OnceCell<Rc<Vec<ModOff>>>,
    /// The marks of what was deleted in writable mounts.
    pub(super) deletions: Deletions,
    /// How many archives were said to belong to settings or a plugin.
    pub(super) hinted: Cell<usize>,
    /// The lists of managers that deploy into the folders of the game, with those folders.
    pub(super) deployed: OnceCell<Rc<Vec<(PathBuf, DeploymentList)>>>,
    /// The path in the tree that was asked about; `None` if it is not known.
    pub(super) path: Option<String>,
    /// The path or name that the question was taken for.
    pub(super) meant: Option<String>,
    pub(super) is_there: bool,
    pub(super) reasons: Vec<FateReason>,
}

/// An installed mod without a file in the game.
#[derive(Clone)]
pub(super) struct ModOff {
    pub(super) folder: PathBuf,
    /// The folder in it whose files would be in the game: the same one for most games.
    pub(super) data: PathBuf,
    /// Why, and what to do.
    pub(super) why: String,
    fate: Fate,
    code: &'static str,
}

impl ModOff {
    fn new(folder: PathBuf, why: String, fate: Fate, code: &'static str) -> Self {
        Self { data: folder.clone(), folder, why, fate, code }
    }

    /// The fate of the mod, or of a file in it.
    pub(super) fn reason(&self, subject: &Path) -> FateReason {
        FateReason::new(self.fate, self.code, subject, &self.why)
    }
}

/// A place on the disk that is a layer or could be one, and the rest of a path in it.
pub(super) struct LayerPath {
    pub(super) folder: PathBuf,
    pub(super) within: String,
    /// Whether the folder is that of a mod, which may be off.
    pub(super) is_mod: bool,
}

impl<'a> Investigation<'a> {
    pub(super) fn add(&mut self, reason: FateReason) {
        self.reasons.push(reason);
    }

    /// Whether no reason was found yet, apart from archives that cannot be opened.
    pub(super) fn is_unknown(&self) -> bool {
        !self.is_there && self.reasons.iter().all(|it| it.code == UNOPENED)
    }

    pub(super) fn mod_lists(&self) -> impl Iterator<Item = (&'a LoadOrder, &'a ModList)> + use<'a> {
        self.orders.iter().filter_map(|order| Some((order, order.mods.as_ref()?)))
    }

    pub(super) fn notes(&self) -> impl Iterator<Item = &'a Note> + use<'a> {
        let planned = self.orders.iter().flat_map(|order| &order.notes);
        planned.chain(self.vfs.notes())
    }

    /// The folders among the layers.
    pub(super) fn folders(&self) -> impl Iterator<Item = (&'a LoadOrder, &'a OrderLayer)> + use<'a> {
        let layers =
            self.orders.iter().flat_map(|order| order.layers.iter().map(move |layer| (order, layer)));
        layers.filter(|(_, layer)| layer.what == LayerKind::Folder)
    }

    /// The installed mods that are not enabled, or that a manager has not deployed at all.
    pub(super) fn mods_off(&self) -> Rc<Vec<ModOff>> {
        self.mods_off.get_or_init(|| self.find_mods_off().into()).clone()
    }

    fn find_mods_off(&self) -> Vec<ModOff> {
        let mut off = Vec::new();
        for (order, mods) in self.mod_lists() {
            let names = self.disk.names(&mods.folder).unwrap_or_default();
            let enabled: HashSet<String> = mods.enabled.iter().map(|name| fold(name)).collect();
            let profile = order.profile.as_ref().and_then(|it| it.file_name()).unwrap_or_default();
            for name in names.iter().filter(|name| !enabled.contains(&fold(name))) {
                let text = if mods.unmanaged.iter().any(|it| same(it, name)) {
                    "the list of mods has it as unmanaged, so Mod Organizer passes nothing of this folder on"
                        .to_owned()
                } else if is_separator(name) {
                    "this is a separator of Mod Organizer, a heading in the list of mods without files"
                        .to_owned()
                } else if is_backup(name) {
                    "Mod Organizer takes this folder for a backup of a mod, because of its name".to_owned()
                } else {
                    format!("the mod is off in the profile \"{}\"; turn it on", profile.shown())
                };
                let folder = mods.folder.join(name);
                let below = order.installation.as_ref().map(|it| it.title.mod_data).unwrap_or_default();
                let data = self.disk.find_folder(&folder, below).filter(|_| !below.is_empty());
                let off_mod = ModOff::new(folder, text, Fate::Off, "mo2-mod-off");
                off.push(ModOff { data: data.unwrap_or_else(|| off_mod.data.clone()), ..off_mod });
            }
        }
        let removed = self.orders.iter().flat_map(|order| &order.removed);
        off.extend(
            removed
                .map(|(folder, why)| ModOff::new(folder.clone(), why.clone(), Fate::Off, "folder-removed")),
        );
        for (_, list) in self.deployed().iter() {
            let why = format!(
                "{} has this mod, but deployed nothing of it; turn it on there and deploy the mods",
                list.manager
            );
            let (fate, code) = (Fate::NotDeployed, NOT_DEPLOYED);
            let folders = list.undeployed(&self.disk).into_iter();
            off.extend(folders.map(|folder| ModOff::new(folder, why.clone(), fate, code)));
        }
        off
    }

    /// The reasons for the copies of a path, or of a folder, that were deleted in writable mounts.
    pub(super) fn deleted(&self, path: &str) -> Vec<FateReason> {
        let copies = self.deletions.copies(self.vfs, path.as_bytes());
        copies.iter().filter_map(Copy::why_deleted).collect()
    }

    /// As [`Self::deleted`], for the copy in one place.
    pub(super) fn deleted_at(&self, place: &Path, path: &str) -> Vec<FateReason> {
        let copies = self.deletions.copies(self.vfs, path.as_bytes());
        copies.iter().filter(|it| self.is_one_file(&it.place, place)).filter_map(Copy::why_deleted).collect()
    }

    /// Why nothing of a mod is in the game, if the mod is off.
    pub(super) fn state_of_mod(&self, folder: &Path) -> Option<String> {
        self.mods_off().iter().find(|off| off.folder == folder).map(|off| off.why.clone())
    }

    /// Whether a folder is that of a game, into which no manager passes files.
    pub(super) fn is_own_folder(&self, folder: &Path) -> bool {
        self.folders()
            .any(|(order, layer)| layer.path == folder && !layer.is_managed && !order.game.is_empty())
    }

    /// Whether a path is in a folder that the user hid in Mod Organizer. The tree has it under the new name.
    pub(super) fn is_in_hidden_folder(&self, path: &str) -> bool {
        self.mod_lists().any(|(_, mods)| hidden_folder(mods, path).is_some())
    }

    /// Whether a file of this name is a plugin of one of the games.
    pub(super) fn is_plugin(&self, name: &str) -> bool {
        is_plugin(name) || self.orders.iter().any(|order| is_plugin_of(order, name))
    }

    /// The file or a folder above it that the user hid in Mod Organizer.
    pub(super) fn marked_hidden(&self, mods: &ModList, folder: &Path, path: &str) -> Option<FateReason> {
        let mut folder = folder.to_owned();
        let mut rest = path.trim_start_matches(['/', '.']);
        while !rest.is_empty() {
            let (name, below) = rest.split_once('/').unwrap_or((rest, ""));
            let below = below.trim_start_matches('/');
            let names = self.disk.names(&folder).ok().filter(|_| name != "..")?;
            let hidden = names.beginning_with(name).filter(|(rest, _)| mods.hidden_suffixes.has_folded(rest));
            // A hidden folder may lack the rest of the path.
            let mut hidden = hidden.map(|(_, hidden)| folder.join(hidden)).filter(|hidden| {
                below.is_empty()
                    || self.disk.find(hidden, below).is_some()
                    || self.marked_hidden(mods, hidden, below).is_some()
            });
            if let Some(hidden) = hidden.next() {
                return Some(FateReason::new(Fate::Off, "mo2-hidden", &hidden, HIDDEN));
            }
            folder.push(names.get(name)?);
            rest = below;
        }
        None
    }

    /// The reason for a mod in a layer whose files are too deep for the game, if something is in that mod.
    pub(super) fn nested_around(&self, layer: &Path, path: &Path) -> Option<FateReason> {
        nested_around(self.notes(), layer, path)
    }

    /// Whether a path exists on the disk, even as a dangling link.
    pub(super) fn exists(&self, path: &Path) -> bool {
        self.disk.metadata(path).is_ok() || path.is_symlink()
    }

    pub(super) fn is_one_file(&self, one: &Path, other: &Path) -> bool {
        let identity = |path| self.disk.file_identity(path);
        one == other
            || one.file_name() == other.file_name()
                && identity(one).is_some_and(|it| Some(it) == identity(other))
    }

    /// Whether two paths lead to one directory entry.
    pub(super) fn is_one_path(&self, one: &Path, other: &Path) -> bool {
        let real =
            |path: &Path| Some((self.disk.canonical(path.parent()?).ok()?, path.file_name()?.to_owned()));
        one == other || real(one).is_some_and(|it| Some(it) == real(other))
    }

    /// The innermost place around a path.
    pub(super) fn place(&self, path: &Path) -> Option<LayerPath> {
        let of_layers = self.folders().map(|(_, layer)| (layer.path.clone(), false));
        let of_mods = self.mod_lists().filter_map(|(_, mods)| {
            let first = path.strip_prefix(&mods.folder).ok()?.components().next()?;
            Some((mods.folder.join(first), true))
        });
        let around = of_layers.chain(of_mods).filter(|(folder, _)| path.starts_with(folder));
        // A mod is usually a layer, too.
        let (folder, is_mod) = around.max_by_key(|(folder, is_mod)| (folder.as_os_str().len(), *is_mod))?;
        let within = path.strip_prefix(&folder).ok()?.to_str()?.to_owned();
        Some(LayerPath { folder, within, is_mod })
    }

    /// The files and folders below a folder, up to a maximum, without following links to folders.
    pub(super) fn walk(&self, folder: &Path) -> Vec<PathBuf> {
        let (mut found, mut next) = (Vec::new(), vec![folder.to_owned()]);
        while let Some(folder) = next.pop() {
            let names = self.disk.names(&folder).unwrap_or_default();
            for path in names.iter().map(|name| folder.join(name)) {
                if found.len() == WALKED_MAX {
                    return found;
                }
                if path.symlink_metadata().is_ok_and(|it| it.is_dir()) {
                    next.push(path.clone());
                }
                found.push(path);
            }
        }
        found
    }

    /// Whether an archive has a path. The error says why it cannot be opened.
    pub(super) fn has_path(&self, archive: &Path, path: &str) -> Result<bool, String> {
        let folded = path.to_ascii_lowercase();
        if self.all.contains(&folded) {
            return self.all_in(archive).map(|found| found.contains(&folded));
        }
        self.look_up(archive, Wanted::Path(path.to_owned())).map(|found| found.is_some())
    }

    /// Which of the paths that are asked about together an archive has.
    fn all_in(&self, archive: &Path) -> PathsFound {
        if let Some(known) = self.all_in.borrow().get(archive) {
            return known.clone();
        }
        let code_page = self.options.code_page();
        let found = with_archive(archive, &self.options.parse_options(), |parsed| {
            let stored = parsed.entries().filter_map(|entry| stored_path(&entry.name, code_page));
            let stored = stored.map(|path| path.to_ascii_lowercase());
            stored.filter(|path| self.all.contains(path)).collect::<HashSet<_>>()
        });
        let found = found.map(Rc::new).map_err(|error| format!("{}: {}", archive.shown(), error.kind()));
        self.all_in.borrow_mut().insert(archive.to_owned(), found.clone());
        found
    }

    /// Looks something up in an archive. The error says why it cannot be opened.
    pub(super) fn look_up(&self, archive: &Path, wanted: Wanted) -> LookedUp {
        let code_page = self.options.code_page();
        let known = self.looked_up.borrow_mut().entry(wanted.clone()).or_default().clone();
        let is_it = |path: &String| match &wanted {
            Wanted::Path(wanted) => path.eq_ignore_ascii_case(wanted),
            Wanted::Name(name) => path.rsplit('/').next().is_some_and(|it| it.eq_ignore_ascii_case(name)),
        };
        let look = || {
            let found = with_archive(archive, &self.options.parse_options(), |parsed| {
                let mut paths = parsed.entries().filter_map(|entry| stored_path(&entry.name, code_page));
                paths.find(is_it)
            });
            Ok::<_, Infallible>(found.map_err(|error| error.kind().to_string()))
        };
        let Ok(found) = known.at(archive, look);
        found.map_err(|why| format!("{}: {why}", archive.shown()))
    }
}

pub(super) fn ghost(path: &Path) -> FateReason {
    let text = "the plugin is ghosted, so the game does not see it; remove .ghost from its name";
    FateReason::new(Fate::Off, "ghost", path, text)
}

pub(super) fn is_archive(path: &Path) -> bool {
    path.file_name().is_some_and(|name| is_archive_name(name.as_encoded_bytes()))
}

/// Whether Mod Organizer hides a file or folder because of its name.
pub(super) fn is_marked(mods: &ModList, path: &Path) -> bool {
    without_mark(mods, path) != path
}

/// The path that a hidden file had before it was hidden.
pub(super) fn without_mark(mods: &ModList, path: &Path) -> PathBuf {
    let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    let shorter = mods.hidden_suffixes.without(name);
    shorter.map_or_else(|| path.to_owned(), |shorter| path.with_file_name(shorter))
}

/// The name of a plugin without the ending of a ghost.
pub(super) fn without_ghost(name: &str) -> &str {
    ghosted(name).unwrap_or(name)
}

pub(super) fn is_called(path: &Path, name: &str) -> bool {
    path.file_name().and_then(|it| it.to_str()).is_some_and(|it| same(it, name))
}

/// Whether a note is about an archive that exists and is not loaded.
pub(super) fn is_of_archive_not_loaded(note: &Note) -> bool {
    match note.code {
        NoteCode::ArchiveUnlisted
        | NoteCode::ArchiveInactive
        | NoteCode::ArchiveLanguage
        | NoteCode::ArchiveShadowed => true,
        // What a game leaves out of a mod.
        NoteCode::LooseDisabled => is_archive(Path::new(&note.subject)),
        _ => false,
    }
}
