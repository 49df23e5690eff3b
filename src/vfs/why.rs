//! Why a file, plugin, archive, mod or settings file is not in a game, or what hides it.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::Serialize;

use super::file::VfsFile;
use super::open_options::OpenOptions;
use super::opened_archive::{stored_path, with_archive};
use super::sources::resolve;
use super::sources::source_set::SourceSet;
use super::vfs::Vfs;
use crate::format::is_archive_name;
use crate::game::caseless::{fold, same};
use crate::game::{
    ArchiveRule, AttachRule, Disk, Installation, LayerKind, LoadOrder, LooseRule, ModList, OrderLayer,
    decode_ini, ghosted, ini_list, is_backup, is_plugin,
};
use crate::note::{Note, NoteCode};
use crate::shown::Shown;
use crate::system::once_per_file::OncePerFile;
use crate::system::text::count;

/// Whether something is in a game, and why.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Explanation {
    /// What was asked about.
    pub(crate) thing: String,
    pub(crate) kind: ThingKind,
    /// Whether it is in the game.
    pub(crate) is_there: bool,
    /// The reasons, the most probable first. Never empty.
    pub(crate) reasons: Vec<Cause>,
}

/// What kind of thing a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ThingKind {
    /// A path in the tree.
    File,
    /// A plugin, by its name.
    Plugin,
    /// An archive, by its name.
    Archive,
    /// A mod of Mod Organizer 2, by its name.
    Mod,
    /// An INI file, by its name.
    Settings,
}

/// A reason why something is in a game or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Cause {
    /// The code of a note, or another short name.
    pub(crate) code: &'static str,
    /// The archive, folder or file that the reason is about.
    pub(crate) subject: String,
    /// The reason, and what to do.
    pub(crate) text: String,
}

impl Cause {
    fn new(code: &'static str, subject: &Path, text: impl Into<String>) -> Self {
        Self { code, subject: subject.to_string_lossy().into_owned(), text: text.into() }
    }

    fn of(note: &Note) -> Self {
        Self { code: note.code.as_str(), subject: note.subject.clone(), text: note.to_string() }
    }
}

/// The code of the reason that nothing was found.
pub(crate) const NOT_FOUND: &str = "not-found";
/// The code of the reason that a file of the same name is elsewhere.
pub(crate) const SAME_NAME: &str = "same-name";

/// The text of the reason that the user hid a file.
const HIDDEN: &str = "it is hidden in Mod Organizer, which gave it this name; unhide it there";

/// The code of the reason that an archive cannot be opened.
const UNOPENED: &str = "archive-unopened";
/// Maximum number of archives that are opened for one question.
const ARCHIVES_MAX: usize = 2_000;
/// Maximum number of files and folders of a mod that are looked at.
const WALKED_MAX: usize = 100_000;
/// Maximum number of INI files of a folder that are searched.
const INIS_MAX: usize = 200;
/// Maximum number of numbered keys of an INI file that are looked up.
const NUMBERS_MAX: u32 = 64;
/// Maximum number of files of the same name that are suggested.
const SAME_NAMES_MAX: usize = 4;
/// Maximum number of archives for which settings and plugins are searched that may load them.
const HINTS_MAX: usize = 100;

/// Answers a question. `set` are the sources that `vfs` was opened from.
pub(crate) fn why(vfs: &Vfs, set: &SourceSet, thing: &str) -> Explanation {
    // The sources were planned before, so planning them again fails only if they just changed.
    let orders = resolve::plan_each(&set.paths, &set.options).unwrap_or_default();
    let (orders, options) = (&orders[..], &set.options);
    let mut question = Question {
        vfs,
        orders,
        options,
        disk: Disk::remembering(),
        looked_up: RefCell::default(),
        mods_off: OnceCell::new(),
        hinted: Cell::new(0),
        is_there: false,
        reasons: Vec::new(),
    };
    let within = question.path_in_tree(Path::new(thing));
    let name = within.as_deref().unwrap_or(thing);
    let mut kind = question.kind_of(name);
    match kind {
        ThingKind::File => question.file(name),
        ThingKind::Plugin => question.plugin(name),
        ThingKind::Archive => question.archive(name),
        ThingKind::Mod => question.a_mod(name),
        ThingKind::Settings => question.settings(name),
    }
    if question.is_unknown() && kind == ThingKind::File && !name.contains(['/', '\\', '.']) {
        let others = std::mem::take(&mut question.reasons);
        kind = question.with_endings(name).unwrap_or(kind);
        question.reasons.extend(others);
    }
    let Question { is_there, mut reasons, .. } = question;
    let mut seen = HashSet::new();
    reasons.retain(|reason| seen.insert((reason.code, reason.subject.clone())));
    if reasons.is_empty() {
        let text = "nothing of this name is in the game, in its archives that are not loaded, or in mods \
                    that are off";
        reasons.push(Cause::new(NOT_FOUND, Path::new(thing), text));
    }
    Explanation { thing: thing.to_owned(), kind, is_there, reasons }
}

/// The place in an INI file that lists an archive.
struct Listing {
    section: String,
    key: String,
}

/// What is looked up in archives.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Wanted {
    Path(String),
    /// The name of a file in any folder.
    Name(String),
}

/// The stored path of what was looked up in an archive, or why the archive cannot be opened.
type Found = Result<Option<String>, String>;

/// A question, and the answer so far.
struct Question<'a> {
    vfs: &'a Vfs,
    orders: &'a [LoadOrder],
    options: &'a OpenOptions,
    disk: Disk,
    /// For each path or name that was looked up in archives, what was found in each.
    looked_up: RefCell<HashMap<Wanted, Rc<OncePerFile<Found>>>>,
    mods_off: OnceCell<Rc<Vec<(PathBuf, String)>>>,
    /// How many archives were said to belong to settings or a plugin.
    hinted: Cell<usize>,
    is_there: bool,
    reasons: Vec<Cause>,
}

impl<'a> Question<'a> {
    fn kind_of(&self, thing: &str) -> ThingKind {
        let is_name = !thing.contains(['/', '\\']);
        let ends = |end: &str| thing.to_ascii_lowercase().ends_with(end);
        match () {
            () if is_name && is_plugin(without_ghost(thing)) => ThingKind::Plugin,
            () if is_name && is_archive_name(thing.as_bytes()) => ThingKind::Archive,
            () if is_name && ends(".ini") => ThingKind::Settings,
            () if is_name && self.mod_lists().any(|(_, mods)| self.has_mod(mods, thing)) => ThingKind::Mod,
            () => ThingKind::File,
        }
    }

    /// The path in the tree of a file on the disk, if it is in a folder of the game or of a mod. The name of
    /// the mod for its folder.
    fn path_in_tree(&self, path: &Path) -> Option<String> {
        if !path.is_absolute() {
            return None;
        }
        let real = path.parent().and_then(|it| it.canonicalize().ok()).zip(path.file_name());
        let real = real.map(|(parent, name)| parent.join(name));
        [Some(path.to_owned()), real].into_iter().flatten().find_map(|path| self.below_a_folder(&path))
    }

    /// The rest of a path below the innermost folder of the game, of a mod, or of a loaded archive.
    fn below_a_folder(&self, path: &Path) -> Option<String> {
        let of_layers = self.orders.iter().flat_map(|order| &order.layers);
        let of_layers = of_layers.filter_map(|layer| match layer.what {
            LayerKind::Folder => Some(layer.path.clone()),
            LayerKind::Archive => layer.path.parent().map(Path::to_owned),
        });
        let of_mods = self.mod_lists().filter_map(|(_, mods)| {
            let first = path.strip_prefix(&mods.folder).ok()?.components().next()?;
            Some(mods.folder.join(first))
        });
        let around = of_layers.chain(of_mods).filter(|folder| path.starts_with(folder));
        let folder = around.max_by_key(|folder| folder.as_os_str().len())?;
        let rest = path.strip_prefix(&folder).ok()?;
        let is_mod = self.mod_lists().any(|(_, mods)| folder.parent() == Some(&mods.folder));
        if rest.as_os_str().is_empty() && is_mod {
            folder.file_name()?.to_str().map(str::to_owned)
        } else {
            rest.to_str().map(str::to_owned)
        }
    }

    fn add(&mut self, reason: Cause) {
        self.reasons.push(reason);
    }

    /// Whether no reason was found yet, apart from archives that nobody can look into.
    fn is_unknown(&self) -> bool {
        !self.is_there && self.reasons.iter().all(|it| it.code == UNOPENED)
    }

    fn mod_lists(&self) -> impl Iterator<Item = (&'a LoadOrder, &'a ModList)> + use<'a> {
        self.orders.iter().filter_map(|order| Some((order, order.mods.as_ref()?)))
    }

    fn has_mod(&self, mods: &ModList, name: &str) -> bool {
        mods.enabled.iter().any(|it| same(it, name)) || self.disk.find_folder(&mods.folder, name).is_some()
    }

    fn notes(&self) -> impl Iterator<Item = &'a Note> + use<'a> {
        let planned = self.orders.iter().flat_map(|order| &order.notes);
        planned.chain(self.vfs.notes())
    }

    /// The folders among the layers.
    fn folders(&self) -> impl Iterator<Item = (&'a LoadOrder, &'a OrderLayer)> + use<'a> {
        let layers =
            self.orders.iter().flat_map(|order| order.layers.iter().map(move |layer| (order, layer)));
        layers.filter(|(_, layer)| layer.what == LayerKind::Folder)
    }

    /// The mods that are installed, but not enabled.
    fn mods_off(&self) -> Rc<Vec<(PathBuf, String)>> {
        self.mods_off.get_or_init(|| self.find_mods_off().into()).clone()
    }

    fn find_mods_off(&self) -> Vec<(PathBuf, String)> {
        let mut off = Vec::new();
        for (order, mods) in self.mod_lists() {
            let names = self.disk.names(&mods.folder).unwrap_or_default();
            let enabled: HashSet<String> = mods.enabled.iter().map(|name| fold(name)).collect();
            let profile = order.profile.as_ref().and_then(|it| it.file_name()).unwrap_or_default();
            for name in names.iter().filter(|name| !enabled.contains(&fold(name))) {
                let text = if is_backup(name) {
                    "Mod Organizer takes this folder for a backup of a mod, because of its name".to_owned()
                } else {
                    format!("the mod is off in the profile \"{}\"; turn it on", profile.shown())
                };
                off.push((mods.folder.join(name), text));
            }
        }
        off
    }

    /// Plugins and archives that a name without an ending may mean.
    fn with_endings(&mut self, stem: &str) -> Option<ThingKind> {
        let plugins = ["esp", "esm", "esl"].map(|ending| (ThingKind::Plugin, ending));
        let archives = ["bsa", "ba2"].map(|ending| (ThingKind::Archive, ending));
        let mut first = None;
        for (kind, ending) in plugins.into_iter().chain(archives) {
            let before = self.reasons.len();
            match kind {
                ThingKind::Plugin => self.plugin(&format!("{stem}.{ending}")),
                _ => self.archive(&format!("{stem}.{ending}")),
            }
            first = first.or((self.reasons.len() > before).then_some(kind));
        }
        first
    }

    fn file(&mut self, thing: &str) {
        let path = thing.replace('\\', "/");
        let path = path.trim_start_matches('/');
        let below_data = path.split_once('/').filter(|(first, _)| same(first, "Data")).map(|(_, rest)| rest);
        let found = self.vfs.file(path).or_else(|| self.vfs.file(below_data?));
        if let Some(file) = found {
            self.file_that_is_there(&file);
            // The user may mean another copy, which the game does not see.
            self.in_archives(&file.path());
            return self.in_mods_off(&file.path());
        }
        if let Some(folder) = self.vfs.folder(path).or_else(|| self.vfs.folder(below_data?)) {
            self.is_there = true;
            let text = "this is a folder of the game; ask about a file in it";
            return self.add(Cause::new("folder", Path::new(&folder.path()), text));
        }
        let path = below_data.unwrap_or(path);
        self.in_archives(path);
        self.in_mods_off(path);
        self.in_folders(path);
        if self.is_unknown() {
            let others = std::mem::take(&mut self.reasons);
            self.same_names(path);
            self.reasons.extend(others);
        }
    }

    fn file_that_is_there(&mut self, file: &VfsFile) {
        self.is_there = true;
        let layer = file.layer();
        let why = if layer.why().is_empty() { String::new() } else { format!(" ({})", layer.why()) };
        self.add(Cause::new("there", layer.path(), format!("{} is from here{why}", file.path())));
        for hidden in file.hidden() {
            let below = hidden.layer();
            let why = self.why_wins(layer.path(), layer.is_folder(), below.is_folder());
            let text = format!("the copy here is hidden by {}, because {why}", layer.path().shown());
            self.add(Cause::new("hidden", below.path(), text));
        }
        let of_layer = |note: &&Note| {
            Path::new(&note.subject) == layer.path()
                && matches!(note.code, NoteCode::ArchiveVersion | NoteCode::ArchiveCutOff)
        };
        let mut notes: Vec<Cause> = self.notes().filter(of_layer).map(Cause::of).collect();
        for note in notes.iter_mut().filter(|it| it.code == NoteCode::ArchiveCutOff.as_str()) {
            let end = file.place().1.saturating_add(file.packed_size());
            let is_cut = self.disk.metadata(layer.path()).is_ok_and(|it| end > it.len());
            let own = if is_cut {
                "the data of this file lies beyond the end of the archive, so it cannot be read whole"
            } else {
                "the data of this file is not affected"
            };
            note.text = format!("{own}; {}", note.text);
        }
        self.reasons.extend(notes);
        let spelling = self.only_in_one_spelling(file);
        self.reasons.extend(spelling);
    }

    /// A reason if only one of several folders, whose names differ in case, has a file of the game's own.
    fn only_in_one_spelling(&self, file: &VfsFile) -> Option<Cause> {
        let layer = file.layer();
        let is_own = |(order, it): &(&LoadOrder, &OrderLayer)| {
            it.path == layer.path() && !it.is_managed && order.installation.is_some()
        };
        let (_, own) = self.folders().find(is_own)?;
        let path = file.path();
        let (folders, _) = path.rsplit_once('/')?;
        let ends = folders.match_indices('/').map(|(at, _)| at).chain([folders.len()]);
        // The spelling of the path is that of the tree, which may be that of a folder that lacks the file.
        ends.into_iter().find_map(|end| {
            let found = self.disk.find(&own.path, &path[..end])?;
            let mut spellings = vec![found.path.clone()];
            spellings.extend(found.others.into_iter().filter(|it| it.parent() == found.path.parent()));
            let rest = path[end..].trim_start_matches('/');
            let (with, without): (Vec<_>, Vec<_>) =
                spellings.into_iter().partition(|it| self.disk.find_file(it, rest).is_some());
            let (with, without) = (with.first()?, without.first()?);
            let text = format!(
                "only this folder has the file, and Wine shows the game either this one or {}, because \
                 their names differ only in case; merge them",
                without.shown()
            );
            Some(Cause::new(NoteCode::FolderCase.as_str(), with, text))
        })
    }

    /// Why one layer wins over another.
    fn why_wins(&self, winner: &Path, is_folder: bool, is_below_folder: bool) -> &'static str {
        let has_winner = |order: &&LoadOrder| order.layers.iter().any(|it| it.path == winner);
        let order = self.orders.iter().find(has_winner).filter(|order| !order.game.is_empty());
        match (is_folder, is_below_folder, order) {
            (_, _, None) => "the source that is named later wins",
            (true, true, _) => "its folder is higher in the load order",
            (true, false, Some(order)) => match order.precedence.loose {
                LooseRule::ByDate => "loose files that are newer than the archives win",
                _ => "loose files win over archives",
            },
            (false, true, Some(order)) => match order.precedence.loose {
                LooseRule::ByDate => "the archive is not older than the loose file",
                _ => "the game ignores this loose file",
            },
            (false, false, Some(order)) => match order.precedence.archives {
                ArchiveRule::LastWins => "the archive that is loaded last wins",
                ArchiveRule::FirstWins | ArchiveRule::Oblivion => "the archive that is loaded first wins",
                ArchiveRule::NewVegas => "mods win over add-ons, and add-ons over the base game",
            },
        }
    }

    /// Archives that have a path, but are not loaded, or could not be opened.
    fn in_archives(&mut self, path: &str) {
        let opened: HashSet<PathBuf> = self.vfs.layers().map(|layer| layer.path().to_owned()).collect();
        let mut found = Vec::new();
        let not_loaded = self.notes().filter(|note| is_of_archive_not_loaded(note.code));
        for note in not_loaded.take(ARCHIVES_MAX) {
            if self.has_path(Path::new(&note.subject), path) == Ok(true) {
                let cause = self.not_loaded(note);
                let text = format!("this archive has the file, but is {}", cause.text);
                found.push(Cause { text, ..cause });
            }
        }
        // A file that is there is hardly meant to be in an archive that nobody can look into.
        let is_asked = !self.is_there;
        let layers = self.orders.iter().filter(|_| is_asked).flat_map(|order| &order.layers);
        for layer in layers.filter(|it| it.what == LayerKind::Archive && !opened.contains(&it.path)) {
            if let Err(why) = self.has_path(&layer.path, path) {
                let text = format!(
                    "the game loads this archive, but it cannot be opened, so its files are unknown: {why}"
                );
                found.push(Cause::new(UNOPENED, &layer.path, text));
            }
        }
        let invalidated = path.to_ascii_lowercase();
        if self.orders.iter().any(|order| order.invalidated.contains(&invalidated)) {
            let text = "ArchiveInvalidation.txt names this path, so the game ignores it in all archives";
            found.push(Cause::new(NoteCode::ArchiveInvalidation.as_str(), Path::new(path), text));
        }
        self.reasons.append(&mut found);
    }

    /// The reason that a note on an archive gives. If nothing lists the archive, adds which settings or
    /// plugin the user may have meant to load it.
    fn not_loaded(&self, note: &Note) -> Cause {
        let cause = Cause::of(note);
        let name = Path::new(&note.subject).file_name().and_then(|it| it.to_str());
        let is_unlisted =
            note.code == NoteCode::ArchiveUnlisted && note.text.contains("no INI file lists it");
        let Some(name) = name.filter(|_| is_unlisted && self.hinted.get() < HINTS_MAX) else { return cause };
        self.hinted.set(self.hinted.get() + 1);
        let listed = self.orders.iter().find_map(|order| self.listed_in_vain(order, name));
        let owner = self.orders.iter().find_map(|order| self.owner(order, name));
        let text = match (listed, owner) {
            (None, None) => return cause,
            (Some(listed), None) => format!("not loaded: {listed}"),
            (None, Some(owner)) => format!("not loaded: no INI file lists it, and {owner}"),
            (Some(listed), Some(owner)) => format!("not loaded: {listed}; {owner}"),
        };
        Cause { text, ..cause }
    }

    /// Why the plugin that an archive is named after does not load it.
    fn owner(&self, order: &LoadOrder, archive: &str) -> Option<String> {
        let title = order.installation.as_ref()?.title;
        if matches!(title.attach, AttachRule::None) {
            return None;
        }
        let stem = archive.rsplit_once('.')?.0;
        let parts = [stem.split_once(" - "), stem.rsplit_once(" - "), stem.split_once('-')];
        let stems = [stem].into_iter().chain(parts.into_iter().flatten().map(|(start, _)| start.trim_end()));
        let names = stems.flat_map(|stem| ["esp", "esm", "esl"].map(|ending| format!("{stem}.{ending}")));
        names.into_iter().find_map(|plugin| self.state_of(order, &plugin))
    }

    /// The state of a plugin, if there is one of this name.
    fn state_of(&self, order: &LoadOrder, plugin: &str) -> Option<String> {
        let has = |folder: &Path| self.disk.find_file(folder, plugin).is_some();
        let missing =
            |note: &Note| note.code == NoteCode::PluginMissing && same(without_ghost(&note.subject), plugin);
        if let Some(active) = order.plugins.iter().find(|it| same(it, plugin)) {
            return Some(format!("the game loads no archive of {active} with this ending"));
        }
        if let Some(hidden) = self.hidden_in_mods(plugin).first() {
            return Some(format!("its plugin {plugin} is hidden in Mod Organizer ({})", hidden.subject));
        }
        if !self.dangling(plugin).is_empty() {
            return Some(format!("its plugin {plugin} is a link to a file that does not exist"));
        }
        if self.folders().any(|(_, layer)| has(&layer.path)) {
            return Some(format!("its plugin {plugin} is not active"));
        }
        if self.mods_off().iter().any(|(folder, _)| has(folder)) {
            return Some(format!("its plugin {plugin} is in a mod that is off"));
        }
        let is_missing = self.notes().any(missing);
        is_missing.then(|| format!("its plugin {plugin} is missing, although the list of plugins names it"))
    }

    /// The INI file that lists an archive although the game does not read it there, and why.
    fn listed_in_vain(&self, order: &LoadOrder, archive: &str) -> Option<String> {
        let installation = order.installation.as_deref()?;
        let read = order.inis.iter().rev().cloned();
        let unread = self.inis_not_read(order, installation);
        let (Listing { section, key }, ini) =
            read.chain(unread).find_map(|ini| Some((self.listing(&ini, archive)?, ini)))?;
        if !order.inis.contains(&ini) {
            let read: Vec<String> = order.inis.iter().map(|it| it.shown().to_string()).collect();
            let read = if read.is_empty() { "none".to_owned() } else { read.join(", ") };
            let ini = ini.shown();
            return Some(format!("{ini} lists it, but the game does not read that file; it reads {read}"));
        }
        let (lists, shown) = (&installation.title.lists, ini.shown());
        if !same(&section, lists.section) {
            let wanted = lists.section;
            return Some(format!("{shown} lists it in [{section}], but the game reads [{wanted}]"));
        }
        let keys = lists.keys.iter().chain(&lists.last).map(|(key, _)| *key);
        let known = keys.chain(lists.optional.map(|it| it.0)).find(|it| {
            key.len() >= it.len() && {
                let (start, rest) = key.split_at_checked(it.len()).unwrap_or((&key, ""));
                same(start, it) && (rest.is_empty() || it.ends_with(' '))
            }
        });
        let Some(known) = known else {
            return Some(format!("{shown} lists it as {key}, which the game does not read"));
        };
        let winner = |key: &str| {
            let ini = |path: &PathBuf| self.disk.ini(path, &mut Vec::new());
            let has = |path: &&PathBuf| ini(path).is_some_and(|ini| ini.get(lists.section, key).is_some());
            order.inis.iter().rev().find(has)
        };
        if known.ends_with(' ') {
            let number: u32 = key[known.len()..].trim().parse().ok()?;
            let gap = (0..number.min(NUMBERS_MAX)).find(|it| winner(&format!("{known}{it}")).is_none())?;
            return Some(format!(
                "{shown} lists it as {key}, but there is no {known}{gap}, and the game stops there"
            ));
        }
        let winner = winner(&key).filter(|winner| **winner != ini)?;
        Some(format!("{shown} lists it, but {} replaces the list {key}", winner.shown()))
    }

    /// INI files near a game, or where another prefix has its settings, that it does not read.
    fn inis_not_read(&self, order: &LoadOrder, installation: &Installation) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = Vec::new();
        folders.extend(installation.my_games.clone());
        folders.extend(installation.prefixes.iter().filter_map(|it| it.my_games.clone()));
        folders.push(installation.folder.clone());
        let layers = order.layers.iter().filter(|it| it.what == LayerKind::Folder && !it.is_managed);
        folders.extend(layers.map(|it| it.path.clone()));
        folders.extend(installation.local.clone());
        let name = installation.my_games.as_ref().and_then(|it| it.file_name());
        if let (Some(home), Some(name)) = (std::env::home_dir(), name) {
            let users = home.join(".wine/drive_c/users");
            let names = self.disk.names(&users).unwrap_or_default();
            let homes = names.iter().map(|user| users.join(user)).chain([home.clone()]);
            folders.extend(homes.map(|it| it.join("Documents/My Games").join(name)));
        }
        let mut seen = HashSet::new();
        folders.retain(|folder| seen.insert(folder.clone()));
        let mut inis = Vec::new();
        for folder in folders {
            let names = self.disk.names(&folder).unwrap_or_default();
            let of_folder = names.iter().filter(|name| name.to_ascii_lowercase().ends_with(".ini"));
            inis.extend(of_folder.take(INIS_MAX).map(|name| folder.join(name)));
        }
        inis.retain(|ini| !order.inis.contains(ini));
        inis
    }

    /// Where an INI file lists an archive.
    fn listing(&self, ini: &Path, archive: &str) -> Option<Listing> {
        let bytes = self.disk.list(ini, &mut Vec::new())?;
        let text = decode_ini(&bytes);
        let mut section = "";
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with([';', '#'])) {
            if let Some(name) = line.strip_prefix('[') {
                section = name.trim_end_matches(']');
            } else if let Some((key, value)) = line.split_once('=')
                && ini_list(value.trim().trim_matches('"')).any(|it| same(it, archive))
            {
                return Some(Listing { section: section.to_owned(), key: key.trim().to_owned() });
            }
        }
        None
    }

    /// Whether an archive has a path. The error says why it cannot be opened.
    fn has_path(&self, archive: &Path, path: &str) -> Result<bool, String> {
        self.look_up(archive, Wanted::Path(path.to_owned())).map(|found| found.is_some())
    }

    /// Looks something up in an archive. The error says why it cannot be opened.
    fn look_up(&self, archive: &Path, wanted: Wanted) -> Found {
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

    /// Mods that are off and have a path, loose or in an archive.
    fn in_mods_off(&mut self, path: &str) {
        let mut opened = 0;
        let mut found = Vec::new();
        for (folder, why) in self.mods_off().iter() {
            if let Some(file) = self.disk.find_file(folder, path) {
                found.push(Cause::new("mo2-mod-off", &file, why));
                continue;
            }
            let names = self.disk.names(folder).unwrap_or_default();
            for archive in names.iter().filter(|name| is_archive_name(name.as_bytes())) {
                opened += 1;
                let archive = folder.join(archive);
                if opened <= ARCHIVES_MAX && self.has_path(&archive, path) == Ok(true) {
                    let text = format!("this archive has the file, but {why}");
                    found.push(Cause::new("mo2-mod-off", &archive, text));
                }
            }
        }
        self.reasons.append(&mut found);
    }

    /// Folders of the game that have a path on the disk, although the game does not see it.
    fn in_folders(&mut self, path: &str) {
        let mut found = Vec::new();
        for (order, layer) in self.folders() {
            found.extend(order.mods.iter().flat_map(|mods| self.marked_hidden(mods, &layer.path, path)));
            found.extend(self.left_out(&layer.path, path));
            if self.disk.find_file(&layer.path, path).is_some() {
                found.push(self.ignored(order, &layer.path.join(path)));
            }
            found.extend(self.other_spelling(&layer.path, path));
        }
        found.extend(self.beside(path));
        for note in self.notes().filter(|note| note.code == NoteCode::Mo2ModNested) {
            let folder = Path::new(&note.subject);
            let names = self.disk.names(folder).unwrap_or_default();
            let below = names.iter().flat_map(|name| [name.to_owned(), format!("{name}/Data")]);
            if below.into_iter().any(|it| self.disk.find_file(&folder.join(it), path).is_some()) {
                found.push(Cause::of(note));
            }
        }
        self.reasons.append(&mut found);
    }

    /// The file or a folder above it that the user hid in Mod Organizer.
    fn marked_hidden(&self, mods: &ModList, folder: &Path, path: &str) -> Option<Cause> {
        let mut folder = folder.to_owned();
        for name in path.split('/').filter(|it| !matches!(*it, "" | ".")) {
            let names = self.disk.names(&folder).ok().filter(|_| name != "..")?;
            let mut hidden =
                names.beginning_with(name).filter(|(rest, _)| mods.hidden_suffixes.has_folded(rest));
            if let Some((_, hidden)) = hidden.next() {
                return Some(Cause::new("mo2-hidden", &folder.join(hidden), HIDDEN));
            }
            folder.push(names.get(name)?);
        }
        None
    }

    /// A link or a folder on the way to a path that was left out.
    fn left_out(&self, folder: &Path, path: &str) -> Option<Cause> {
        let is_above = |note: &&Note| {
            let Ok(within) = Path::new(&note.subject).strip_prefix(folder) else { return false };
            let within = within.to_string_lossy().to_ascii_lowercase();
            let rest = path.to_ascii_lowercase();
            let rest = rest.strip_prefix(&within);
            !within.is_empty() && rest.is_some_and(|it| it.is_empty() || it.starts_with('/'))
        };
        self.notes().filter(|note| is_of_left_out(note.code)).find(is_above).map(Cause::of)
    }

    /// Why a game ignores a loose file that exists.
    fn ignored(&self, order: &LoadOrder, file: &Path) -> Cause {
        let code = NoteCode::LooseDisabled.as_str();
        match &order.precedence.loose {
            LooseRule::Below(_) => Cause::new(
                code,
                file,
                "the game ignores this loose file; set bInvalidateOlderFiles=1 and an empty \
                 sResourceDataDirsFinal= to enable loose files",
            ),
            LooseRule::Never => Cause::new(code, file, "the game ignores loose files"),
            _ => Cause::new(code, file, "the file is on the disk, but the mod manager does not pass it on"),
        }
    }

    /// A file whose path differs by case from the one that the game sees.
    fn other_spelling(&self, folder: &Path, path: &str) -> Option<Cause> {
        let found = self.disk.find(folder, path);
        let others = found.map(|it| it.others).unwrap_or_default();
        let other = others.iter().find(|other| {
            // Spellings of one name may differ in length (`s` and `ſ`), so names are counted, not bytes.
            let depth = other.strip_prefix(folder).map_or(0, |it| it.components().count());
            let names = path.split('/').filter(|it| !matches!(*it, "" | ".")).skip(depth);
            self.disk.find_file(other, &names.collect::<Vec<_>>().join("/")).is_some()
        })?;
        let text =
            "this folder has the file, but the game sees another folder of the same name in other case";
        Some(Cause::new(NoteCode::FolderCase.as_str(), other, text))
    }

    /// Files of a path in a folder beside the game's data folder, whose name differs from it in case.
    fn beside(&self, path: &str) -> Vec<Cause> {
        let mut found = Vec::new();
        for (_, layer) in self.folders().filter(|(_, layer)| !layer.is_managed) {
            let (Some(parent), Some(name)) = (layer.path.parent(), layer.path.file_name()) else { continue };
            let names = self.disk.names(parent).unwrap_or_default();
            let alike =
                names.iter().filter(|it| *it != name && name.to_str().is_some_and(|name| same(it, name)));
            let files = alike.filter_map(|it| self.disk.find_file(&parent.join(it), path));
            found.extend(files.map(|file| {
                let text = format!(
                    "Wine shows the game {} and not this folder, because their names differ only in case; \
                     merge them",
                    layer.path.shown()
                );
                Cause::new(NoteCode::FolderCase.as_str(), &file, text)
            }));
        }
        found
    }

    fn same_names(&mut self, path: &str) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_alike = |it: &String| it.rsplit('/').next().is_some_and(|it| it.eq_ignore_ascii_case(name));
        let mut alike: Vec<String> = self.vfs.files().map(|file| file.path()).filter(is_alike).collect();
        // A file in a hidden folder is there under the name of that folder.
        let is_hidden = |path: &String| {
            let mut lists = self.mod_lists();
            lists.any(|(_, mods)| Path::new(path).ancestors().skip(1).any(|it| is_marked(mods, it)))
        };
        alike.retain(|path| !is_hidden(path));
        alike.sort_unstable();
        let is_bare = !path.contains('/');
        for path in alike.iter().take(SAME_NAMES_MAX) {
            self.add(Cause::new(SAME_NAME, Path::new(path), "a file of this name is at another path"));
        }
        if is_bare {
            self.elsewhere(name);
        }
    }

    /// Files of a name, in any folder, that the game does not see: in mods that are off, hidden in Mod
    /// Organizer, or in archives that are not loaded.
    fn elsewhere(&mut self, name: &str) {
        let mut found = Vec::new();
        let is_named = |path: &Path| is_called(path, name);
        for (folder, why) in self.mods_off().iter() {
            let alike =
                self.walk(folder).into_iter().filter(|path| is_named(path) && self.disk.is_file(path));
            found.extend(alike.map(|path| Cause::new("mo2-mod-off", &path, why.clone())));
        }
        for (_, mods) in self.mod_lists() {
            for folder in mods.enabled.iter().map(|it| mods.folder.join(it)) {
                let is_hidden = |path: &Path| {
                    let within = path.ancestors().take_while(|it| *it != folder);
                    within.into_iter().any(|it| is_marked(mods, it))
                };
                let alike = self.walk(&folder).into_iter();
                let alike = alike.filter(|path| is_named(&without_mark(mods, path)) && is_hidden(path));
                found.extend(alike.map(|path| Cause::new("mo2-hidden", &path, HIDDEN)));
            }
        }
        let not_loaded = self.notes().filter(|note| is_of_archive_not_loaded(note.code));
        for note in not_loaded.take(ARCHIVES_MAX) {
            if let Ok(Some(path)) = self.look_up(Path::new(&note.subject), Wanted::Name(name.to_owned())) {
                let cause = self.not_loaded(note);
                let text = format!("this archive has {path}, but is {}", cause.text);
                found.push(Cause { text, ..cause });
            }
        }
        self.reasons.append(&mut found);
    }

    /// A plugin or an archive that the user hid in Mod Organizer.
    fn hidden_in_mods(&self, name: &str) -> Vec<Cause> {
        let mut hidden = Vec::new();
        for (order, mods) in self.mod_lists() {
            let layers = order.layers.iter().filter(|layer| layer.what == LayerKind::Folder);
            let enabled = mods.enabled.iter().map(|it| mods.folder.join(it));
            let folders = layers.map(|layer| layer.path.clone()).chain(enabled);
            hidden.extend(folders.filter_map(|folder| self.marked_hidden(mods, &folder, name)));
        }
        hidden
    }

    fn plugin(&mut self, thing: &str) {
        let name = without_ghost(thing);
        for order in self.orders {
            if let Some(at) = order.plugins.iter().position(|it| same(it, name)) {
                self.is_there = true;
                let text = format!("the plugin is active, as number {} of {}", at + 1, order.plugins.len());
                self.add(Cause::new("active", Path::new(name), text));
            }
        }
        let is_about = |note: &&Note| {
            let is_named = matches!(note.code, NoteCode::PluginMissing | NoteCode::PluginTwice)
                && same(without_ghost(&note.subject), name);
            is_named || (note.code == NoteCode::MasterMissing && note.text.contains(name))
        };
        let noted: Vec<Cause> = self.notes().filter(is_about).map(Cause::of).collect();
        if !self.is_there {
            let kept_away = self.kept_away(name);
            self.reasons.extend(kept_away);
        }
        self.reasons.extend(noted);
        if self.is_there {
            return;
        }
        let mut found = Vec::new();
        for (order, layer) in self.folders() {
            let names = self.disk.names(&layer.path).unwrap_or_default();
            let ghost = format!("{name}.ghost");
            if let Some(ghost) = names.get(&ghost) {
                let text = "the plugin is ghosted, so the game does not see it; remove .ghost from its name";
                found.push(Cause::new("ghost", &layer.path.join(ghost), text));
            }
            if let Some(stored) = names.get(name)
                && self.disk.is_file(&layer.path.join(stored))
            {
                found.push(self.not_active(order, &layer.path.join(stored), name));
            }
        }
        for order in self.orders {
            for list in self.lists_not_read(order) {
                if is_in_list(&self.disk, &list, name).is_some() {
                    let text = match &order.plugin_list {
                        Some(read) => {
                            format!("this list names the plugin, but the game reads {}", read.shown())
                        }
                        None => "this list names the plugin, but the game does not read it; see --prefix"
                            .to_owned(),
                    };
                    found.push(Cause::new("other-list", &list, text));
                }
            }
        }
        found.extend(self.at_top_of_mods(name));
        self.reasons.append(&mut found);
    }

    /// What keeps a plugin or an archive in a folder of the game from it.
    fn kept_away(&self, name: &str) -> Vec<Cause> {
        let mut found = self.hidden_in_mods(name);
        found.extend(self.dangling(name));
        found.extend(self.beside(name));
        found
    }

    /// Plugins or archives of a name in mods that are off, or with nothing for the game at their top.
    fn at_top_of_mods(&self, name: &str) -> Vec<Cause> {
        let mut found = Vec::new();
        for (folder, why) in self.mods_off().iter() {
            let names = self.disk.names(folder).unwrap_or_default();
            found.extend(names.get(name).map(|it| Cause::new("mo2-mod-off", &folder.join(it), why)));
        }
        found.extend(self.nested(name));
        found
    }

    /// Links of this name that lead nowhere.
    fn dangling(&self, name: &str) -> Vec<Cause> {
        let stored = |(_, layer): (_, &OrderLayer)| {
            let names = self.disk.names(&layer.path).ok()?;
            Some(layer.path.join(names.get(name)?))
        };
        let is_missing = |path: &PathBuf| {
            self.disk.metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        };
        let links = self.folders().filter_map(stored).filter(is_missing);
        links.map(|link| Cause::of(&Note::dangling_link(link.to_string_lossy()))).collect()
    }

    /// Why an installed plugin is not active.
    fn not_active(&self, order: &LoadOrder, plugin: &Path, name: &str) -> Cause {
        let text = match &order.plugin_list {
            None => {
                let text = "the plugin is installed, but no list of plugins was found; start the game, or \
                            give its prefix with --prefix";
                text.to_owned()
            }
            Some(list) => match is_in_list(&self.disk, list, name) {
                None => format!("the plugin is installed, but not in {}; turn it on", list.shown()),
                Some(true) => format!("the plugin is in {}, but the game does not take it", list.shown()),
                Some(false) => format!("the plugin is off in {}; turn it on", list.shown()),
            },
        };
        Cause::new("plugin-inactive", plugin, text)
    }

    /// Lists of plugins for the game that it does not read.
    fn lists_not_read(&self, order: &LoadOrder) -> Vec<PathBuf> {
        let Some(installation) = &order.installation else { return Vec::new() };
        let of_prefixes = installation.prefixes.iter().filter_map(|it| it.local.clone());
        let folders = installation.local.clone().into_iter().chain(of_prefixes);
        let mut lists: Vec<PathBuf> =
            folders.filter_map(|folder| self.disk.find_file(&folder, "Plugins.txt")).collect();
        lists.retain(|list| Some(list) != order.plugin_list.as_ref());
        lists.dedup();
        lists
    }

    /// The mods that have a file in a subfolder instead of at their top.
    fn nested(&self, name: &str) -> Vec<Cause> {
        let nested = self.notes().filter(|note| note.code == NoteCode::Mo2ModNested);
        let has = |note: &&Note| {
            let folder = Path::new(&note.subject);
            let names = self.disk.names(folder).unwrap_or_default();
            names.iter().any(|it| self.disk.find_file(&folder.join(it), name).is_some())
        };
        nested.filter(has).map(Cause::of).collect()
    }

    fn archive(&mut self, name: &str) {
        let is_named = |path: &Path| is_called(path, name);
        let opened: HashSet<PathBuf> = self.vfs.layers().map(|layer| layer.path().to_owned()).collect();
        let layers = self.orders.iter().flat_map(|order| &order.layers);
        for layer in layers.filter(|layer| layer.what == LayerKind::Archive && is_named(&layer.path)) {
            if opened.contains(&layer.path) {
                self.is_there = true;
                self.add(Cause::new("there", &layer.path, format!("the archive is loaded: {}", layer.why)));
            } else {
                let why = self.has_path(&layer.path, "").err().unwrap_or_default();
                let text = format!("the game loads this archive, but it cannot be opened: {why}");
                self.add(Cause::new(UNOPENED, &layer.path, text));
            }
        }
        let noted = self.notes().filter(|note| is_named(Path::new(&note.subject)));
        let noted: Vec<Cause> = noted.map(|note| self.not_loaded(note)).collect();
        self.reasons.extend(noted);
        if self.is_there {
            return;
        }
        let mut found = self.kept_away(name);
        found.extend(self.at_top_of_mods(name));
        self.reasons.append(&mut found);
    }

    fn a_mod(&mut self, name: &str) {
        for (order, mods) in self.mod_lists() {
            let stored = self.disk.find_folder(&mods.folder, name).unwrap_or_else(|| mods.folder.join(name));
            let is_about = |note: &&Note| {
                Path::new(&note.subject).starts_with(&stored)
                    || (note.code == NoteCode::Mo2ModMissing && same(&note.subject, name))
            };
            let noted: Vec<Cause> = self.notes().filter(is_about).map(Cause::of).collect();
            // A mod of which the game sees nothing is not there, although it is on.
            let is_nested = noted.iter().any(|it| it.code == NoteCode::Mo2ModNested.as_str());
            let is_on = mods.enabled.iter().any(|it| same(it, name))
                && order.layers.iter().any(|layer| layer.path.starts_with(&stored));
            self.reasons.extend(noted);
            if is_on && !is_nested {
                self.is_there = true;
                let text = self.what_wins(&stored);
                self.reasons.insert(0, Cause::new("there", &stored, text));
            }
            self.reasons.extend(self.all_marked_hidden(mods, &stored));
        }
        for (folder, why) in self.mods_off().iter() {
            if is_called(folder, name) {
                self.add(Cause::new("mo2-mod-off", folder, why));
            }
        }
    }

    /// How many files of a mod win, loose and in its archives, and what hides the others.
    fn what_wins(&self, folder: &Path) -> String {
        let is_own: Vec<bool> = self.vfs.layers().map(|layer| layer.path().starts_with(folder)).collect();
        let (mut winning, mut hidden, mut first) = (0, 0, None);
        for file in self.vfs.files() {
            winning += usize::from(is_own[file.layer().number()]);
            let own = file.hidden().filter(|it| is_own[it.layer().number()]).count();
            hidden += own;
            if own > 0 {
                first.get_or_insert(file);
            }
        }
        let by = first.filter(|_| hidden == 1);
        let by = by.map(|file| format!("{}, hidden by {}", file.path(), file.layer().path().shown()));
        match (winning, hidden, by) {
            (0, 0, _) => "the mod is on, but has no files that the game sees".to_owned(),
            (0, _, by) => format!(
                "the mod is on, but mods or archives that win hide all it has ({})",
                by.unwrap_or_else(|| count(hidden, "file"))
            ),
            (_, _, None) => format!("the mod is on; {winning} of its files win, and {hidden} are hidden"),
            (_, _, Some(by)) => format!("the mod is on; {winning} of its files win, and 1 is hidden ({by})"),
        }
    }

    /// A reason for all files and folders of a mod that the user hid in Mod Organizer.
    fn all_marked_hidden(&self, mods: &ModList, folder: &Path) -> Option<Cause> {
        let is_hidden = |path: &Path| is_marked(mods, path);
        let hidden: Vec<PathBuf> = self.walk(folder).into_iter().filter(|path| is_hidden(path)).collect();
        let first = hidden.first()?;
        let text = match hidden.len() {
            1 => "the mod has this file or folder hidden in Mod Organizer; unhide it there".to_owned(),
            many => {
                format!("the mod has {many} files or folders hidden in Mod Organizer, of which this is one")
            }
        };
        Some(Cause::new("mo2-hidden", first, text))
    }

    /// The files and folders below a folder, up to a maximum, without following links to folders.
    fn walk(&self, folder: &Path) -> Vec<PathBuf> {
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

    fn settings(&mut self, name: &str) {
        for order in self.orders {
            for read in order.inis.iter().filter(|path| is_called(path, name)) {
                self.is_there = true;
                self.add(Cause::new("there", read, "the game reads this file"));
            }
            let Some(installation) = &order.installation else { continue };
            let used = [&installation.my_games, &Some(installation.folder.clone()), &order.profile]
                .map(Clone::clone);
            let others = installation.prefixes.iter().map(|it| it.my_games.clone());
            for folder in used.into_iter().chain(others).flatten() {
                let Some(file) = self.disk.find_file(&folder, name) else { continue };
                if !order.inis.contains(&file) {
                    let read: Vec<String> = order.inis.iter().map(|it| it.shown().to_string()).collect();
                    let read = if read.is_empty() { "no settings file".to_owned() } else { read.join(", ") };
                    let text = format!("the game does not read this file; it reads {read}");
                    self.add(Cause::new(NoteCode::SettingsIgnored.as_str(), &file, text));
                }
            }
        }
        let never: Vec<Cause> =
            self.notes().filter(|note| note.code == NoteCode::NeverStarted).map(Cause::of).collect();
        if !self.is_there {
            self.reasons.extend(never);
        }
    }
}

/// Whether a note is about an archive that exists and is not loaded.
fn is_of_archive_not_loaded(code: NoteCode) -> bool {
    matches!(
        code,
        NoteCode::ArchiveUnlisted
            | NoteCode::ArchiveInactive
            | NoteCode::ArchiveLanguage
            | NoteCode::ArchiveShadowed
    )
}

/// Whether a note is about a file or folder that was left out.
fn is_of_left_out(code: NoteCode) -> bool {
    matches!(
        code,
        NoteCode::LinkDangling
            | NoteCode::LinkCircle
            | NoteCode::LinkOfOtherUser
            | NoteCode::OtherMount
            | NoteCode::SpecialFile
            | NoteCode::PathTooDeep
            | NoteCode::FileUnreadable
            | NoteCode::Mo2RootFolder
    )
}

/// Whether Mod Organizer hides a file or folder because of its name.
fn is_marked(mods: &ModList, path: &Path) -> bool {
    without_mark(mods, path) != path
}

/// The path that a hidden file had before it was hidden.
fn without_mark(mods: &ModList, path: &Path) -> PathBuf {
    let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    let shorter = mods.hidden_suffixes.without(name);
    shorter.map_or_else(|| path.to_owned(), |shorter| path.with_file_name(shorter))
}

/// The name of a plugin without the ending of a ghost.
fn without_ghost(name: &str) -> &str {
    ghosted(name).unwrap_or(name)
}

fn is_called(path: &Path, name: &str) -> bool {
    path.file_name().and_then(|it| it.to_str()).is_some_and(|it| same(it, name))
}

/// Whether a list of plugins names one, and if so, whether with a star.
fn is_in_list(disk: &Disk, list: &Path, name: &str) -> Option<bool> {
    let bytes = disk.list(list, &mut Vec::new())?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| same(line.trim_start_matches('*'), name))?;
    Some(line.starts_with('*'))
}
