//! Why a file, plugin, archive, mod or settings file is not in a game, or what hides it.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::Serialize;

use super::fate::{Cause, Fate};
use super::file::VfsFile;
use super::open_options::OpenOptions;
use super::opened_archive::{stored_path, with_archive};
use super::patterns::DATA;
use super::question::{self, Question};
use super::sources::resolve;
use super::sources::source_set::SourceSet;
use super::vfs::Vfs;
use crate::format::is_archive_name;
use crate::game::caseless::{fold, same};
use crate::game::{
    ActiveRule, ArchiveRule, AttachRule, DeploymentList, Disk, Installation, LayerKind, LoadOrder, LooseRule,
    ModList, OrderLayer, ReadList, almost_folder, decode_ini, ghosted, ini_list, is_backup, is_plugin,
    is_separator, linked_mod, selected_profile,
};
use crate::note::{Note, NoteCode};
use crate::shown::Shown;
use crate::system::once_per_file::OncePerFile;
use crate::system::text::count;

/// Whether something is in a game, and why.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Explanation {
    /// What was asked about, as it was typed.
    pub(crate) thing: String,
    /// The path or name that this was taken for, if it differs by more than case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) meant: Option<String>,
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
    pub(crate) reasons: Vec<Cause>,
}

impl Explanation {
    /// Whether anything is known of what was asked.
    pub(crate) fn is_known(&self) -> bool {
        self.is_there || self.reasons.iter().any(|it| !matches!(it.code, NOT_FOUND | UNOPENED | SIMILAR_NAME))
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
/// The code of the reason that a file of the same name is elsewhere.
pub(crate) const SAME_NAME: &str = "same-name";
/// The code of the reason that a file or mod has a similar name.
const SIMILAR_NAME: &str = "similar-name";

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
/// Maximum number of names at the end of a path that may be its path in the game.
const DEPTH_MAX: usize = 32;

/// Answers a question. `set` are the sources that `vfs` was opened from.
pub(crate) fn why(vfs: &Vfs, set: &SourceSet, question: &Question) -> Explanation {
    // The sources were planned before, so planning them again fails only if they just changed.
    let orders = resolve::plan_each(&set.paths, &set.options).unwrap_or_default();
    let (orders, options) = (&orders[..], &set.options);
    let mut answer = Answer {
        vfs,
        orders,
        options,
        disk: Disk::remembering(),
        looked_up: RefCell::default(),
        mods_off: OnceCell::new(),
        hinted: Cell::new(0),
        deployed: OnceCell::new(),
        meant: None,
        is_there: false,
        reasons: Vec::new(),
    };
    let kind = answer.to(question);
    let Answer { is_there, mut reasons, meant, .. } = answer;
    let mut seen = HashSet::new();
    reasons.retain(|reason| seen.insert((reason.code, reason.subject.clone())));
    if reasons.iter().all(|it| it.code == SIMILAR_NAME) && !is_there {
        let text = "nothing of this name is in the game, in its archives that are not loaded, or in mods \
                    that are off";
        reasons.insert(0, Cause::new(Fate::NotHere, NOT_FOUND, Path::new(&question.text), text));
    }
    let other = reasons.iter().filter_map(|it| it.fate).find(|it| *it != Fate::Wins);
    let fate = if is_there { Fate::Wins } else { other.unwrap_or(Fate::NotHere) };
    let games = || orders.iter().filter(|order| !order.game.is_empty());
    let profile = games().find_map(|order| order.profile.as_ref()?.file_name());
    Explanation {
        thing: question.asked.clone(),
        meant: meant.filter(|it| !it.eq_ignore_ascii_case(&question.text)),
        game: games().next().map(|order| order.game).filter(|_| games().count() == 1),
        profile: profile.map(|it| it.to_string_lossy().into_owned()),
        kind,
        is_there,
        fate,
        reasons,
    }
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
struct Answer<'a> {
    vfs: &'a Vfs,
    orders: &'a [LoadOrder],
    options: &'a OpenOptions,
    disk: Disk,
    /// For each path or name that was looked up in archives, what was found in each.
    looked_up: RefCell<HashMap<Wanted, Rc<OncePerFile<Found>>>>,
    mods_off: OnceCell<Rc<Vec<(PathBuf, String)>>>,
    /// How many archives were said to belong to settings or a plugin.
    hinted: Cell<usize>,
    /// The lists of managers that deploy into the folders of the game, with those folders.
    deployed: OnceCell<Rc<Vec<(PathBuf, DeploymentList)>>>,
    /// The path or name that the question was taken for.
    meant: Option<String>,
    is_there: bool,
    reasons: Vec<Cause>,
}

/// A place on the disk that is a layer or could be one, and the rest of a path in it.
struct Place {
    folder: PathBuf,
    within: String,
    /// Whether the folder is that of a mod, which may be off.
    is_mod: bool,
}

impl<'a> Answer<'a> {
    /// Answers a question. Returns what kind of thing it is about.
    fn to(&mut self, question: &Question) -> ThingKind {
        if let Some(path) = &question.disk
            && let Some(kind) = self.on_disk(path, question)
        {
            return kind;
        }
        let name = question.in_tree();
        if question.disk.is_none()
            && let Some(path) = self.labelled(question)
            && let Some(kind) = self.on_disk(&path, question)
        {
            return kind;
        }
        let kind = self.kind_of(name);
        match kind {
            ThingKind::File => self.file(name),
            ThingKind::Plugin => self.plugin(name),
            ThingKind::Archive => self.archive(name),
            ThingKind::Mod => self.a_mod(name),
            ThingKind::Settings => self.settings(name),
        }
        if !self.is_unknown() {
            return kind;
        }
        let others = std::mem::take(&mut self.reasons);
        let is_file = matches!(kind, ThingKind::File | ThingKind::Settings);
        let guessed = if is_file { self.guess(question) } else { kind };
        if matches!(kind, ThingKind::Plugin | ThingKind::Archive)
            && let Ok(file) = question::find(self.vfs, question)
            && file.path().contains('/')
            && file.layer().is_folder()
            && !self.is_in_hidden_folder(&file.path())
        {
            self.meant = Some(file.path());
            self.file(&file.path());
        }
        let is_settings = kind == ThingKind::Settings && self.is_unknown();
        let kind = if is_settings { kind } else { guessed };
        if is_settings {
            let never = self.notes().filter(|note| note.code == NoteCode::NeverStarted);
            self.reasons.extend(never.map(Cause::of));
        }
        if self.is_unknown() {
            self.similar(name);
        }
        if !self.is_there {
            self.reasons.extend(others);
        }
        kind
    }

    /// Finds the file, plugin or archive that may be meant if there is none of exactly this path.
    fn guess(&mut self, question: &Question) -> ThingKind {
        let name = question.in_tree();
        match question::find(self.vfs, question) {
            Ok(file) if !self.is_in_hidden_folder(&file.path()) => {
                self.meant = Some(file.path());
                self.file(&file.path());
                return ThingKind::File;
            }
            Ok(_) => {}
            Err(several) => {
                let others: Vec<String> =
                    several.into_iter().filter(|it| !self.is_in_hidden_folder(it)).collect();
                self.reasons.extend(others.iter().take(SAME_NAMES_MAX).map(|it| same_name(it)));
            }
        }
        if !name.contains(['/', '.'])
            && let Some(kind) = self.with_endings(name)
        {
            return kind;
        }
        if self.is_unknown() {
            self.same_names(name);
        }
        if let Some(path) = question::implied(name).filter(|_| self.is_unknown()) {
            let before = self.reasons.len();
            self.outside_of_tree(&path);
            self.meant = (self.reasons.len() > before).then_some(path);
        }
        ThingKind::File
    }

    /// Remarks on names like one with a typing error.
    fn similar(&mut self, name: &str) {
        let name = name.rsplit('/').next().unwrap_or(name);
        let mut names: HashSet<String> = self.orders.iter().flat_map(|it| it.plugins.clone()).collect();
        names.extend(self.mod_lists().flat_map(|(_, mods)| mods.enabled.clone()));
        names.extend(self.mods_off().iter().filter_map(|(it, _)| Some(it.file_name()?.to_str()?.to_owned())));
        names.extend(self.vfs.layers().filter_map(|it| Some(it.path().file_name()?.to_str()?.to_owned())));
        // The last names are those of files, which may be a million.
        let near = question::nearest(name, names.iter().map(String::as_str));
        let mut found: Vec<String> = near.into_iter().map(str::to_owned).collect();
        if found.is_empty() {
            let files = self.vfs.files();
            let of_files: HashSet<String> = files
                .filter_map(|it| Some(std::str::from_utf8(it.name()).ok()?.to_owned()))
                .filter(|it| it.len().abs_diff(name.len()) <= 2)
                .collect();
            let near = question::nearest(name, of_files.iter().map(String::as_str));
            found.extend(near.into_iter().map(str::to_owned));
        }
        for name in found {
            self.add(Cause::remark(SIMILAR_NAME, Path::new(&name), "this name is similar; is it meant?"));
        }
    }

    /// Answers for a path on the disk, which is one copy. `None` if it is a path of another machine.
    fn on_disk(&mut self, path: &Path, question: &Question) -> Option<ThingKind> {
        let archive = path.ancestors().skip(1).find(|it| is_archive(it) && self.disk.is_file(it));
        if let Some(archive) = archive {
            let inner = path.strip_prefix(archive).ok()?.to_string_lossy().into_owned();
            self.in_archive(archive, &inner);
            return Some(ThingKind::File);
        }
        let exists = self.exists(path);
        if exists && is_archive(path) && self.layer_of_archive(path).is_some() {
            self.archive_at(path);
            return Some(ThingKind::Archive);
        }
        let real = question::real_path(&self.disk, path);
        let mut paths = [Some(path), real.as_deref()].into_iter().flatten();
        if let Some(place) = paths.find_map(|path| self.place(path)) {
            // Programs that run with a mod manager have the paths of all files below the game's data folder.
            let is_virtual = question.has_drive() && self.is_own_folder(&place.folder);
            if is_virtual && self.disk.find(&place.folder, &place.within).is_none() {
                return None;
            }
            return Some(self.copy(&place));
        }
        if self.profile(path) {
            return Some(ThingKind::Settings);
        }
        let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        if exists && name.to_ascii_lowercase().ends_with(".ini") {
            self.settings_at(path);
            return Some(ThingKind::Settings);
        }
        if !exists {
            let is_in_tree = question.text.starts_with('/') && self.vfs.file(question.in_tree()).is_some();
            if question.may_be_elsewhere() || is_in_tree {
                return None;
            }
            self.add(Cause::new(Fate::NotHere, NOT_FOUND, path, "there is no such file on the disk"));
            return Some(ThingKind::File);
        }
        if let Some(name) = self.staged_mod(path) {
            self.deployed_mod(&name);
            self.meant = Some(name);
            return Some(ThingKind::Mod);
        }
        let place = self.deployed_from(path).map(Ok).or_else(|| self.deployed_as(path));
        match place {
            Some(Err(cause)) => {
                self.add(cause);
                Some(ThingKind::File)
            }
            Some(Ok(place)) => {
                let at = place.folder.join(&place.within);
                let kind = self.copy(&place);
                let text = format!("it is deployed as {}", at.shown());
                self.add(Cause::remark("deployed", path, text));
                Some(kind)
            }
            None => {
                let text = "the game and its mods use no folder that has this file";
                self.add(Cause::new(Fate::NotDeployed, "not-deployed", path, text));
                Some(ThingKind::File)
            }
        }
    }

    /// The path on the disk that a label means, as `order`, `which` and `why` print them: the end of the path
    /// of a folder, archive or mod, and perhaps a path in it.
    fn labelled(&self, question: &Question) -> Option<PathBuf> {
        let names: Vec<&str> = question.text.split('/').filter(|it| !it.is_empty()).collect();
        let in_tree = question.in_tree();
        if names.len() < 2 || self.vfs.file(in_tree).is_some() || self.vfs.folder(in_tree).is_some() {
            return None;
        }
        let of_layers = self.orders.iter().flat_map(|order| &order.layers).map(|layer| layer.path.clone());
        let of_mods = self.mod_lists().flat_map(|(_, mods)| {
            let folders = mods.enabled.iter().map(|name| mods.folder.join(name));
            folders.chain([mods.folder.clone()]).collect::<Vec<_>>()
        });
        let off = self.mods_off();
        let off = off.iter().map(|(folder, _)| folder.clone());
        let noted = self.notes().map(|note| PathBuf::from(&note.subject)).filter(|it| is_archive(it));
        let profiles = self.orders.iter().filter_map(|order| order.profile.clone());
        let places = of_layers.chain(of_mods).chain(off).chain(noted).chain(profiles);
        places.filter(|place| place.is_absolute()).find_map(|place| {
            let own: Vec<&str> = place.iter().rev().filter_map(|it| it.to_str()).collect();
            (1..=names.len()).rev().find_map(|length| {
                let mut ends = names[..length].iter().rev().zip(&own);
                // One name alone has another meaning. A path that begins with Data is one in the game.
                let is_vague = length == 1 && DATA.contains(&&*names[0].to_ascii_lowercase());
                if is_vague || length > own.len() || !ends.all(|(one, other)| same(one, other)) {
                    return None;
                }
                let within = names[length..].join("/");
                match is_archive(&place) && self.disk.is_file(&place) {
                    true => Some(place.join(within)),
                    false if within.is_empty() => Some(place.clone()),
                    false => self.in_labelled(&place, &within),
                }
            })
        })
    }

    /// A path below a folder, perhaps in one of its archives.
    fn in_labelled(&self, folder: &Path, within: &str) -> Option<PathBuf> {
        if let Some(found) = self.disk.find(folder, within) {
            return Some(found.path);
        }
        let ends = within.match_indices('/').map(|(at, _)| (&within[..at], &within[at + 1..]));
        let mut archives = ends.filter(|(archive, _)| is_archive(Path::new(archive)));
        archives.find_map(|(archive, inner)| Some(self.disk.find_file(folder, archive)?.join(inner)))
    }

    /// Whether a folder is that of a game, into which no manager passes files.
    fn is_own_folder(&self, folder: &Path) -> bool {
        self.folders()
            .any(|(order, layer)| layer.path == folder && !layer.is_managed && !order.game.is_empty())
    }

    /// Answers for a profile of Mod Organizer, or for a list in it. Returns whether it is one.
    fn profile(&mut self, path: &Path) -> bool {
        let orders = self.orders;
        for order in orders {
            let Some(used) = &order.profile else { continue };
            let is_mods = is_called(path, "modlist.txt");
            let is_plugins = || order.plugin_list.as_ref().is_some_and(|it| self.is_one_path(it, path));
            let is_in_used = || path.parent().is_some_and(|folder| self.is_one_path(folder, used));
            if self.disk.is_file(path) && is_in_used() && (is_mods || is_plugins()) {
                let (who, what) = if is_mods { ("Mod Organizer", "mods") } else { ("the game", "plugins") };
                self.is_there = true;
                self.add(Cause::new(Fate::Wins, "there", path, format!("{who} reads this list of {what}")));
                return true;
            }
            let folders = path.parent().zip(used.parent());
            let is_beside = folders.is_some_and(|(one, other)| self.is_one_path(one, other));
            if !is_beside || !self.disk.is_file(&path.join("modlist.txt")) {
                continue;
            }
            let selected = used.ancestors().nth(2).and_then(|it| selected_profile(&self.disk, it));
            match selected.filter(|it| !is_called(path, it)) {
                Some(selected) => {
                    let text = format!(
                        "Mod Organizer has the profile \"{}\" selected, not this one; select it there",
                        selected.shown()
                    );
                    self.add(Cause::new(Fate::Off, "mo2-profile-off", path, text));
                }
                None => {
                    let mods = order.mods.as_ref().map_or(0, |it| it.enabled.len());
                    let text = format!("Mod Organizer has this profile selected; {} on", count(mods, "mod"));
                    self.is_there = true;
                    self.add(Cause::new(Fate::Wins, "there", path, text));
                }
            }
            return true;
        }
        false
    }

    /// The mod of a manager that deploys, if a folder is that of the mod or in it.
    fn staged_mod(&self, path: &Path) -> Option<String> {
        if !self.disk.is_dir(path) {
            return None;
        }
        let lists = self.deployed();
        let names = path.iter().rev().filter_map(|it| it.to_str()).take(DEPTH_MAX);
        let mods = names.flat_map(|name| lists.iter().filter_map(move |(_, list)| list.mod_named(name)));
        mods.map(str::to_owned).next()
    }

    /// Whether something is at a path on the disk, be it a dangling link.
    fn exists(&self, path: &Path) -> bool {
        self.disk.metadata(path).is_ok() || path.is_symlink()
    }

    /// The layer that an archive is.
    fn layer_of_archive(&self, path: &Path) -> Option<&'a OrderLayer> {
        let layers = self.orders.iter().flat_map(|order| &order.layers);
        let mut archives = layers.filter(|layer| layer.what == LayerKind::Archive);
        archives.find(|layer| self.is_one_file(&layer.path, path))
    }

    fn is_one_file(&self, one: &Path, other: &Path) -> bool {
        let identity = |path| self.disk.file_identity(path);
        one == other
            || one.file_name() == other.file_name()
                && identity(one).is_some_and(|it| Some(it) == identity(other))
    }

    /// The innermost place around a path.
    fn place(&self, path: &Path) -> Option<Place> {
        let of_layers = self.folders().map(|(_, layer)| (layer.path.clone(), false));
        let of_mods = self.mod_lists().filter_map(|(_, mods)| {
            let first = path.strip_prefix(&mods.folder).ok()?.components().next()?;
            Some((mods.folder.join(first), true))
        });
        let around = of_layers.chain(of_mods).filter(|(folder, _)| path.starts_with(folder));
        // A mod is usually a layer, too.
        let (folder, is_mod) = around.max_by_key(|(folder, is_mod)| (folder.as_os_str().len(), *is_mod))?;
        let within = path.strip_prefix(&folder).ok()?.to_str()?.to_owned();
        Some(Place { folder, within, is_mod })
    }

    /// The place where a file of a staging folder is in the game, by a link.
    fn deployed_from(&self, path: &Path) -> Option<Place> {
        let identity = self.disk.file_identity(path)?;
        let names: Vec<&str> = path.iter().filter_map(|it| it.to_str()).collect();
        let ends = (1..names.len().min(DEPTH_MAX)).map(|count| names[names.len() - count..].join("/"));
        ends.into_iter().find_map(|within| {
            let mut folders = self.folders().map(|(_, layer)| &layer.path);
            let is_it = |folder: &&PathBuf| {
                let found = self.disk.find_file(folder, &within);
                found.is_some_and(|it| self.disk.file_identity(&it) == Some(identity))
            };
            let folder = folders.find(is_it)?.clone();
            Some(Place { folder, within, is_mod: false })
        })
    }

    /// Answers for what is at a place.
    fn copy(&mut self, place: &Place) -> ThingKind {
        let Place { folder, within, is_mod } = place;
        if within.is_empty() {
            let name = folder.file_name().and_then(|it| it.to_str()).unwrap_or_default().to_owned();
            if *is_mod {
                self.a_mod(&name);
                return ThingKind::Mod;
            }
            self.is_there = true;
            self.add(Cause::remark("folder", folder, "this is a folder of the game; ask about a file in it"));
            return ThingKind::File;
        }
        let exact = folder.join(within);
        let path =
            if self.exists(&exact) { Some(exact) } else { self.disk.find(folder, within).map(|it| it.path) };
        let Some(path) = path.filter(|path| self.exists(path)) else {
            self.gone(place);
            return ThingKind::File;
        };
        let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        let is_top = !within.contains('/');
        if self.disk.is_dir(&path) {
            let name = path.to_string_lossy().into_owned();
            if let Some(nested) = self.nested_around(folder, &path) {
                self.add(nested);
                return ThingKind::File;
            }
            match self.vfs.folder(within) {
                Some(_) if self.state_of_mod(folder).is_none() => {
                    self.is_there = true;
                    let text = "this is a folder of the game; ask about a file in it";
                    self.add(Cause::remark("folder", Path::new(&name), text));
                }
                _ => self.not_in_tree(place, &path),
            }
            return ThingKind::File;
        }
        if is_top && is_archive_name(name.as_bytes()) && self.disk.is_file(&path) {
            self.archive_at(&path);
            return ThingKind::Archive;
        }
        self.loose_copy(place, &path);
        if is_top && is_plugin(name) && self.is_there {
            (self.is_there, self.reasons) = (false, Vec::new());
            self.plugin(name);
            return ThingKind::Plugin;
        }
        if is_top && is_plugin(without_ghost(name)) { ThingKind::Plugin } else { ThingKind::File }
    }

    /// Answers for a loose file that exists.
    fn loose_copy(&mut self, place: &Place, path: &Path) {
        let winner = self.vfs.file(&place.within);
        let is_it = |file: &VfsFile| {
            file.layer().path() == place.folder && {
                let stored = String::from_utf8_lossy(&file.stored_name()).replace('\\', "/");
                let stored = place.folder.join(stored);
                !self.exists(&stored) || self.is_one_path(&stored, path)
            }
        };
        if let Some(winner) = &winner {
            if is_it(winner) {
                return self.file_that_is_there(winner);
            }
            if let Some(hidden) = winner.hidden().find(is_it) {
                self.add(self.loses(winner, &hidden));
                return self.add(used(winner));
            }
        }
        self.not_in_tree(place, path);
        if let Some(winner) = &winner {
            self.add(used(winner));
        }
    }

    /// The lists of managers in the folders of the game.
    fn deployed(&self) -> Rc<Vec<(PathBuf, DeploymentList)>> {
        let of_folder = |folder: &PathBuf| {
            let lists = DeploymentList::in_folder(&self.disk, folder);
            lists.into_iter().map(|list| (folder.clone(), list)).collect::<Vec<_>>()
        };
        let read = || {
            let folders = self.folders().filter(|(order, layer)| !layer.is_managed && !order.game.is_empty());
            folders.flat_map(|(_, layer)| of_folder(&layer.path)).collect::<Vec<_>>().into()
        };
        self.deployed.get_or_init(read).clone()
    }

    /// Remarks which mod a manager deployed a file of a folder from.
    fn deployed_by(&self, folder: &Path, path: &str) -> Option<Cause> {
        let lists = self.deployed();
        let listed = lists.iter().filter(|(of, _)| of == folder);
        let named =
            listed.into_iter().find_map(|(_, list)| Some((list.mod_of(path)?.to_owned(), list.manager)));
        let (name, by) = match named {
            Some((name, manager)) => (name, manager),
            None => {
                self.is_own_folder(folder).then_some(())?;
                (linked_mod(&self.disk, folder, path)?.1, "a mod manager")
            }
        };
        let text = format!("{by} deployed the file from this mod");
        Some(Cause::remark("deployed-from", Path::new(&name), text))
    }

    /// Answers for a mod of a manager that deploys.
    fn deployed_mod(&mut self, name: &str) {
        for (folder, list) in self.deployed().iter() {
            let (mut winning, mut files, mut first) = (0, 0, None);
            for path in list.files_of(name) {
                files += 1;
                let is_loaded = |path: &str| {
                    let mut layers = self.vfs.layers().filter(|layer| !layer.is_folder());
                    layers.any(|layer| {
                        layer.path() == self.disk.find(folder, path).map(|it| it.path).unwrap_or_default()
                    })
                };
                // The list and the tree may have other spellings, of which the tree compares only ASCII.
                let stored = self.disk.find(folder, path).map(|it| it.path);
                let stored = stored.as_ref().and_then(|it| it.strip_prefix(folder).ok()?.to_str());
                let shown = self.vfs.file(stored.unwrap_or(path));
                let shown = shown.filter(|file| file.layer().path() == folder);
                let is_used = match (&shown, self.orders.iter().find(|it| !it.game.is_empty())) {
                    (Some(file), Some(order)) => self.is_used(order, file).is_ok(),
                    _ => is_archive_name(path.as_bytes()) && is_loaded(path),
                };
                winning += usize::from(is_used);
                if !is_used && first.is_none() {
                    first = Some(path.to_owned());
                }
            }
            if files == 0 {
                continue;
            }
            let manager = list.manager;
            let name = PathBuf::from(list.mod_named(name).unwrap_or(name));
            if winning > 0 {
                self.is_there = true;
                let text = format!("{manager} deployed {}; the game uses {winning}", count(files, "file"));
                self.add(Cause::new(Fate::Wins, "there", &name, text));
            } else {
                let text =
                    format!("{manager} deployed {}, of which the game uses none", count(files, "file"));
                self.add(Cause::new(Fate::Ignored, "nothing-for-game", &name, text));
            }
            if let Some(path) = first {
                let at = folder
                    .join(self.disk.find(folder, &path).map_or_else(|| path.clone().into(), |it| it.path));
                let text = "the game does not use this file of the mod; ask about it";
                self.add(Cause::remark("unused-file", &at, text));
            }
        }
    }

    /// The place of a file that a manager deployed as a copy, from its path in the staging folder. `Err` says
    /// why it is not deployed.
    fn deployed_as(&self, path: &Path) -> Option<Result<Place, Cause>> {
        let names: Vec<&str> = path.iter().filter_map(|it| it.to_str()).collect();
        let lists = self.deployed();
        for at in (0..names.len().saturating_sub(1)).rev().take(DEPTH_MAX) {
            let within = names[at + 1..].join("/");
            let mut lists = lists.iter();
            if let Some((folder, list)) = lists.find(|(_, list)| list.mod_named(names[at]).is_some()) {
                let manager = list.manager;
                return Some(match list.mod_of(&within) {
                    Some(source) if same(source, names[at]) => {
                        Ok(Place { folder: folder.clone(), within, is_mod: false })
                    }
                    Some(source) => {
                        let text = format!("{manager} deployed this path from the mod {source}");
                        Err(Cause { by: source.to_owned(), ..Cause::new(Fate::Loses, "hidden", path, text) })
                    }
                    None => {
                        let text = format!("{manager} has not deployed this file; deploy the mods again");
                        Err(Cause::new(Fate::NotDeployed, "not-deployed", path, text))
                    }
                });
            }
        }
        None
    }

    /// Whether two paths lead to one directory entry.
    fn is_one_path(&self, one: &Path, other: &Path) -> bool {
        let real =
            |path: &Path| Some((self.disk.canonical(path.parent()?).ok()?, path.file_name()?.to_owned()));
        one == other || real(one).is_some_and(|it| Some(it) == real(other))
    }

    /// Why something on the disk is not in the tree.
    fn not_in_tree(&mut self, place: &Place, path: &Path) {
        if let Some(text) = self.state_of_mod(&place.folder) {
            return self.add(Cause::new(Fate::Off, "mo2-mod-off", path, text));
        }
        let orders = self.orders;
        let order = orders.iter().find(|order| {
            let is_of_mod = order.mods.as_ref().is_some_and(|it| place.folder.starts_with(&it.folder));
            is_of_mod || order.layers.iter().any(|layer| layer.path == place.folder)
        });
        let marked = order.and_then(|order| order.mods.as_ref()).and_then(|mods| {
            let within = path.ancestors().take_while(|it| *it != place.folder);
            within.into_iter().filter(|it| is_marked(mods, it)).last()
        });
        if let Some(marked) = marked {
            return self.add(Cause::new(Fate::Off, "mo2-hidden", marked, HIDDEN));
        }
        if let Some(name) = path.file_name().and_then(|it| it.to_str()).filter(|it| ghosted(it).is_some()) {
            return self.add(ghost(&path.with_file_name(name)));
        }
        if let Some(cause) = self.left_out(&place.folder, &place.within) {
            return self.add(cause);
        }
        if let Some(cause) = self.other_spelling(&place.folder, &place.within) {
            return self.add(cause);
        }
        match order {
            Some(order) => {
                let cause = self.ignored(order, path);
                self.add(cause);
            }
            None => {
                let text = "the sources leave this file out";
                self.add(Cause::new(Fate::Ignored, "ignored", path, text));
            }
        }
    }

    /// Why nothing of a mod is in the game, if that is so because the mod is off.
    fn state_of_mod(&self, folder: &Path) -> Option<String> {
        self.mods_off().iter().find(|(off, _)| off == folder).map(|(_, why)| why.clone())
    }

    /// Answers for a path on the disk at which nothing is.
    fn gone(&mut self, place: &Place) {
        let within = &place.within;
        let lists: Vec<_> = self.mod_lists().collect();
        let hidden = lists.into_iter().find_map(|(_, mods)| self.marked_hidden(mods, &place.folder, within));
        match hidden {
            Some(hidden) => self.add(hidden),
            None => {
                let path = place.folder.join(within);
                self.add(Cause::new(Fate::NotHere, NOT_FOUND, &path, "there is no such file on the disk"));
            }
        }
        // The path may be in the game from elsewhere.
        match (self.kind_of(within), self.vfs.file(within)) {
            (ThingKind::Plugin, _) => self.plugin(within),
            (_, Some(file)) => self.add(used(&file)),
            (ThingKind::Archive, None) => self.archive(within),
            _ if self.is_own_folder(&place.folder) => self.outside_of_tree(within),
            _ => {}
        }
        self.is_there = false;
    }

    /// Answers for a file of an archive that is named by the path of the archive.
    fn in_archive(&mut self, archive: &Path, inner: &str) {
        let is_it = |file: &VfsFile| self.is_one_file(file.layer().path(), archive);
        if let Some(winner) = self.vfs.file(inner) {
            if is_it(&winner) {
                return self.file_that_is_there(&winner);
            }
            if let Some(hidden) = winner.hidden().find(is_it) {
                self.add(self.loses(&winner, &hidden));
                return self.add(used(&winner));
            }
        }
        match self.has_path(archive, inner) {
            Ok(true) => {
                self.archive_at(archive);
                if std::mem::take(&mut self.is_there) {
                    self.reasons.clear();
                    self.in_archives(inner);
                }
            }
            Ok(false) => {
                let text = "the archive has no file of this path";
                self.add(Cause::new(Fate::NotHere, NOT_FOUND, archive, text));
            }
            Err(why) => self.add(Cause::new(Fate::NotLoaded, UNOPENED, archive, why)),
        }
    }

    fn kind_of(&self, thing: &str) -> ThingKind {
        let is_name = !thing.contains(['/', '\\']);
        let ends = |end: &str| thing.to_ascii_lowercase().ends_with(end);
        match () {
            () if is_name && is_plugin(without_ghost(thing)) => ThingKind::Plugin,
            () if is_name && is_archive_name(thing.as_bytes()) => ThingKind::Archive,
            () if is_name && ends(".ini") => ThingKind::Settings,
            () if is_name && self.mod_lists().any(|(_, mods)| self.has_mod(mods, thing)) => ThingKind::Mod,
            () if is_name && self.deployed().iter().any(|(_, it)| it.mod_named(thing).is_some()) => {
                ThingKind::Mod
            }
            () => ThingKind::File,
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
        mods.enabled.iter().chain(&mods.unmanaged).any(|it| same(it, name))
            || self.disk.find_folder(&mods.folder, name).is_some()
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

    fn file(&mut self, path: &str) {
        if let Some(file) = self.vfs.file(path) {
            self.file_that_is_there(&file);
            // The user may mean another copy, which the game does not see.
            let ignored = self.ignored_copies(&file.path());
            self.reasons.extend(ignored);
            self.in_archives(&file.path());
            return self.in_mods_off(&file.path());
        }
        // The folder of a mod that was left in the data folder is no folder of the game.
        let nested = self.notes().filter(|note| note.code == NoteCode::ModNested);
        let nested: Vec<Cause> =
            nested.filter(|note| is_called(Path::new(&note.subject), path)).map(Cause::of).collect();
        if !nested.is_empty() {
            return self.reasons.extend(nested);
        }
        if let Some(folder) = self.vfs.folder(path) {
            self.is_there = true;
            let text = "this is a folder of the game; ask about a file in it";
            return self.add(Cause::remark("folder", Path::new(&folder.path()), text));
        }
        self.outside_of_tree(path);
    }

    /// Copies of a path that the tree does not have.
    fn outside_of_tree(&mut self, path: &str) {
        self.in_archives(path);
        self.in_mods_off(path);
        self.in_folders(path);
    }

    /// Loose files of a path that a game ignores because of its settings.
    fn ignored_copies(&self, path: &str) -> Vec<Cause> {
        let ignored = self.vfs.opened().ignored_at(path).filter_map(|folder| {
            let (order, _) = self.folders().find(|(_, layer)| layer.path == folder)?;
            Some(self.ignored(order, &self.disk.find_file(folder, path)?))
        });
        ignored.collect()
    }

    /// What became of a hidden copy.
    fn loses(&self, winner: &VfsFile, hidden: &VfsFile) -> Cause {
        let (winner, below) = (winner.layer(), hidden.layer());
        let text = self.why_wins(winner.path(), winner.is_folder(), below.is_folder());
        let by = winner.path().to_string_lossy().into_owned();
        Cause { by, ..Cause::new(Fate::Loses, "hidden", below.path(), text) }
    }

    fn file_that_is_there(&mut self, file: &VfsFile) {
        if let Some(cause) = self.out_of_place(file) {
            return self.add(cause);
        }
        self.is_there = true;
        let layer = file.layer();
        let why = if layer.why().is_empty() { String::new() } else { format!(" ({})", layer.why()) };
        self.add(Cause::new(Fate::Wins, "there", layer.path(), format!("{} is from here{why}", file.path())));
        self.reasons.extend(self.deployed_by(layer.path(), &file.path()));
        for hidden in file.hidden() {
            self.add(self.loses(file, &hidden));
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

    /// Why a game has no use for a file of its tree: the file is in a mod that is nested too deep, or is a
    /// plugin or an archive that is not at the top.
    fn out_of_place(&self, file: &VfsFile) -> Option<Cause> {
        let (layer, path) = (file.layer(), file.path());
        let has_it = |order: &&LoadOrder| {
            !order.game.is_empty() && order.layers.iter().any(|it| it.path == layer.path())
        };
        let order = self.orders.iter().find(has_it)?;
        if !layer.is_folder() {
            return None;
        }
        let at = layer.path().join(&path);
        let text = || below_top(order, file);
        self.nested_around(layer.path(), &at)
            .or_else(|| Some(Cause::new(Fate::NotLoaded, "not-at-top", &at, text()?)))
    }

    /// The reason for a mod in a layer whose files are too deep for the game, if something is in that mod.
    fn nested_around(&self, layer: &Path, path: &Path) -> Option<Cause> {
        let nested =
            self.notes().filter(|note| matches!(note.code, NoteCode::Mo2ModNested | NoteCode::ModNested));
        let is_around = |note: &&Note| {
            let subject = Path::new(&note.subject);
            subject.starts_with(layer) && path.starts_with(subject)
        };
        nested.filter(is_around).map(Cause::of).next()
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
            Some(Cause::remark(NoteCode::FolderCase.as_str(), with, text))
        })
    }

    /// Why one layer wins over another.
    fn why_wins(&self, winner: &Path, is_folder: bool, is_below_folder: bool) -> String {
        let has_winner = |order: &&LoadOrder| order.layers.iter().any(|it| it.path == winner);
        let order = self.orders.iter().find(has_winner).filter(|order| !order.game.is_empty());
        let name = winner.file_name().unwrap_or_default().shown();
        match (is_folder, is_below_folder, order) {
            (_, _, None) => format!("{name} is named later as a source, and wins"),
            (true, true, _) => format!("lower priority than {name}"),
            (true, false, Some(order)) => match order.precedence.loose {
                LooseRule::ByDate => "loose files that are newer than the archives win".to_owned(),
                _ => "loose files win over archives".to_owned(),
            },
            (false, true, Some(order)) => match order.precedence.loose {
                LooseRule::ByDate => format!("{name} is not older than the loose file"),
                _ => format!("archives win over loose files: {}", order.because_loose),
            },
            (false, false, Some(order)) => match order.precedence.archives {
                ArchiveRule::LastWins => format!("{name} is loaded later, and the last archive wins"),
                ArchiveRule::FirstWins | ArchiveRule::Oblivion => {
                    format!("{name} is loaded earlier, and the first archive wins")
                }
                ArchiveRule::NewVegas => {
                    format!("{name} wins: mods win over add-ons, and add-ons over the base game")
                }
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
                found.push(Cause::new(Fate::NotLoaded, UNOPENED, &layer.path, text));
            }
        }
        let invalidated = path.to_ascii_lowercase();
        if self.orders.iter().any(|order| order.invalidated.contains(&invalidated)) {
            let text = "ArchiveInvalidation.txt names this path, so the game ignores it in all archives";
            found.push(Cause::new(
                Fate::Ignored,
                NoteCode::ArchiveInvalidation.as_str(),
                Path::new(path),
                text,
            ));
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
        // The plan says which list replaces another one.
        None
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
                found.push(Cause::new(Fate::Off, "mo2-mod-off", &file, why));
                continue;
            }
            let names = self.disk.names(folder).unwrap_or_default();
            for archive in names.iter().filter(|name| is_archive_name(name.as_bytes())) {
                opened += 1;
                let archive = folder.join(archive);
                if opened <= ARCHIVES_MAX && self.has_path(&archive, path) == Ok(true) {
                    let text = format!("this archive has the file, but {why}");
                    found.push(Cause::new(Fate::Off, "mo2-mod-off", &archive, text));
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
                return Some(Cause::new(Fate::Off, "mo2-hidden", &folder.join(hidden), HIDDEN));
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
        let text = match &order.precedence.loose {
            LooseRule::Below(_) => order.why_loose_ignored(),
            LooseRule::Never => format!("the game ignores loose files: {}", order.because_loose),
            _ if order.mods.is_some() => {
                let text = "the file is on the disk, but the mod manager does not pass it on";
                return Cause::new(Fate::Ignored, "not-passed-on", file, text);
            }
            _ => "the file is on the disk, but the game does not see it".to_owned(),
        };
        let because = order.because_loose.clone();
        Cause { because, ..Cause::new(Fate::Ignored, NoteCode::LooseDisabled.as_str(), file, text) }
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
        Some(Cause::new(Fate::Ignored, NoteCode::FolderCase.as_str(), other, text))
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
                Cause::new(Fate::Ignored, NoteCode::FolderCase.as_str(), &file, text)
            }));
        }
        found
    }

    fn same_names(&mut self, path: &str) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_alike = |it: &String| it.rsplit('/').next().is_some_and(|it| it.eq_ignore_ascii_case(name));
        let mut alike: Vec<String> = self.vfs.files().map(|file| file.path()).filter(is_alike).collect();
        alike.retain(|path| !self.is_in_hidden_folder(path));
        alike.sort_unstable();
        let is_bare = !path.contains('/');
        for path in alike.iter().take(SAME_NAMES_MAX) {
            self.add(same_name(path));
        }
        if is_bare {
            self.elsewhere(name);
        }
    }

    /// Whether a path is in a folder that the user hid in Mod Organizer. The tree has it under the new name.
    fn is_in_hidden_folder(&self, path: &str) -> bool {
        let mut lists = self.mod_lists();
        lists.any(|(_, mods)| Path::new(path).ancestors().skip(1).any(|it| is_marked(mods, it)))
    }

    /// Files of a name, in any folder, that the game does not see: in mods that are off, hidden in Mod
    /// Organizer, or in archives that are not loaded.
    fn elsewhere(&mut self, name: &str) {
        let mut found = Vec::new();
        let is_named = |path: &Path| is_called(path, name);
        for (folder, why) in self.mods_off().iter() {
            let alike =
                self.walk(folder).into_iter().filter(|path| is_named(path) && self.disk.is_file(path));
            found.extend(alike.map(|path| Cause::new(Fate::Off, "mo2-mod-off", &path, why.clone())));
        }
        for (_, mods) in self.mod_lists() {
            for folder in mods.enabled.iter().map(|it| mods.folder.join(it)) {
                let is_hidden = |path: &Path| {
                    let within = path.ancestors().take_while(|it| *it != folder);
                    within.into_iter().any(|it| is_marked(mods, it))
                };
                let alike = self.walk(&folder).into_iter();
                let alike = alike.filter(|path| is_named(&without_mark(mods, path)) && is_hidden(path));
                found.extend(alike.map(|path| Cause::new(Fate::Off, "mo2-hidden", &path, HIDDEN)));
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
                self.add(Cause::new(Fate::Wins, "active", Path::new(name), text));
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
            if let Some(name) = names.get(&ghost) {
                found.push(self::ghost(&layer.path.join(name)));
            }
            if let Some(stored) = names.get(name)
                && self.disk.is_file(&layer.path.join(stored))
            {
                found.push(self.not_active(order, &layer.path.join(stored), name));
            }
        }
        for order in self.orders {
            for list in self.lists_not_read(order) {
                if self.is_listed(&list, name) {
                    let text = match &order.plugin_list {
                        Some(read) => {
                            format!("this list names the plugin, but the game reads {}", read.shown())
                        }
                        None => "this list names the plugin, but the game does not read it; see --prefix"
                            .to_owned(),
                    };
                    found.push(Cause::remark("other-list", &list, text));
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
            found.extend(
                names.get(name).map(|it| Cause::new(Fate::Off, "mo2-mod-off", &folder.join(it), why)),
            );
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
        let rule = order.installation.as_ref().map(|it| it.title.plugins.active);
        let text = match &order.plugin_list {
            None if rule == Some(ActiveRule::GameFiles) => {
                let ini = order.inis.first().map_or("Morrowind.ini".into(), |it| it.shown().to_string());
                format!(
                    "the plugin is installed, but [Game Files] in {ini} does not name it; tick it in the \
                     launcher of the game, under Data Files"
                )
            }
            None => {
                let text = "the plugin is installed, but no list of plugins was found; start the game, or \
                            give its prefix with --prefix";
                text.to_owned()
            }
            Some(list) => self.why_not_taken(order, list, name),
        };
        let because = order.because_plugins.clone();
        Cause { because, ..Cause::new(Fate::NotLoaded, "plugin-inactive", plugin, text) }
    }

    /// Why a game does not take an installed plugin from its list.
    fn why_not_taken(&self, order: &LoadOrder, list: &Path, name: &str) -> String {
        let rule = order.installation.as_ref().map(|it| it.title.plugins.active);
        let (read, list) = (&order.listed_plugins, list.shown());
        if !order.because_plugins.is_empty() {
            let because = &order.because_plugins;
            return format!("the game does not read {list}, because test files replace it: {because}");
        }
        let line = read.line(name);
        let has_star = line.is_some_and(|it| it.has_star);
        match (line, read.flaw, rule) {
            (None, ..) => format!("the plugin is installed, but not in {list}; turn it on"),
            (Some(line), Some(flaw), _) if !line.is_read => {
                format!("the plugin is in {list}, but the list {flaw}; save it in the code page of Windows")
            }
            (_, _, Some(ActiveRule::Lines)) if has_star => format!(
                "its line in {list} begins with a star, which the game takes for a letter of the name; \
                 remove the star"
            ),
            (_, _, Some(ActiveRule::Starred)) if !has_star => {
                format!("the plugin is off in {list}; turn it on")
            }
            _ => format!("the plugin is in {list}, but the game does not take it"),
        }
    }

    /// Whether a list of plugins that the game does not read names one.
    fn is_listed(&self, list: &Path, plugin: &str) -> bool {
        let is_installed =
            |name: &str| self.folders().any(|(_, layer)| self.disk.find_file(&layer.path, name).is_some());
        let bytes = self.disk.list(list, &mut Vec::new()).unwrap_or_default();
        ReadList::new(&bytes, &is_installed).line(plugin).is_some()
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
        let nested =
            self.notes().filter(|note| matches!(note.code, NoteCode::Mo2ModNested | NoteCode::ModNested));
        let has = |note: &&Note| {
            let folder = Path::new(&note.subject);
            if note.code == NoteCode::ModNested && self.disk.find_file(folder, name).is_some() {
                return true;
            }
            let names = self.disk.names(folder).unwrap_or_default();
            names.iter().any(|it| self.disk.find_file(&folder.join(it), name).is_some())
        };
        nested.filter(has).map(Cause::of).collect()
    }

    /// Answers for all archives of a name.
    fn archive(&mut self, name: &str) {
        self.archives(&|path| is_called(path, name));
        if !self.is_there {
            let mut found = self.kept_away(name);
            found.extend(self.at_top_of_mods(name));
            self.reasons.append(&mut found);
        }
    }

    /// Answers for one archive.
    fn archive_at(&mut self, archive: &Path) {
        let answer: &Self = self;
        let is_it = |path: &Path| answer.is_one_file(path, archive);
        let (is_there, reasons) = answer.of_archives(&is_it);
        self.is_there |= is_there;
        let is_known = !reasons.is_empty();
        self.reasons.extend(reasons);
        if is_known {
            return;
        }
        let folder = archive.parent().unwrap_or(archive).to_owned();
        let off = self.mods_off().iter().find(|(mod_off, _)| folder.starts_with(mod_off)).cloned();
        let within = archive.file_name().and_then(|it| it.to_str()).unwrap_or_default().to_owned();
        match off {
            Some((_, why)) => self.add(Cause::new(Fate::Off, "mo2-mod-off", archive, why)),
            None => {
                let before = self.reasons.len();
                let found = self.kept_away(&within);
                self.reasons.extend(found);
                if self.reasons.len() == before {
                    let text = "the game does not look for archives here";
                    self.add(Cause::new(Fate::NotLoaded, "not-loaded", archive, text));
                }
            }
        }
    }

    fn archives(&mut self, is_named: &dyn Fn(&Path) -> bool) {
        let (is_there, reasons) = self.of_archives(is_named);
        self.is_there |= is_there;
        self.reasons.extend(reasons);
    }

    /// Whether the game loads one of some archives, and the reasons.
    fn of_archives(&self, is_named: &dyn Fn(&Path) -> bool) -> (bool, Vec<Cause>) {
        let (mut is_there, mut reasons) = (false, Vec::new());
        let opened: HashSet<PathBuf> = self.vfs.layers().map(|layer| layer.path().to_owned()).collect();
        let layers = self.orders.iter().flat_map(|order| &order.layers);
        for layer in layers.filter(|layer| layer.what == LayerKind::Archive && is_named(&layer.path)) {
            if opened.contains(&layer.path) {
                is_there = true;
                let text = format!("the archive is loaded: {}", layer.why);
                reasons.push(Cause::new(Fate::Wins, "there", &layer.path, text));
            } else {
                let why = self.has_path(&layer.path, "").err().unwrap_or_default();
                let text = format!("the game loads this archive, but it cannot be opened: {why}");
                reasons.push(Cause::new(Fate::NotLoaded, UNOPENED, &layer.path, text));
            }
        }
        let noted = self.notes().filter(|note| is_named(Path::new(&note.subject)));
        reasons.extend(noted.map(|note| self.not_loaded(note)));
        (is_there, reasons)
    }

    fn a_mod(&mut self, name: &str) {
        self.deployed_mod(name);
        for (order, mods) in self.mod_lists() {
            let stored = self.disk.find_folder(&mods.folder, name).unwrap_or_else(|| mods.folder.join(name));
            let is_about = |note: &&Note| {
                Path::new(&note.subject).starts_with(&stored)
                    || (note.code == NoteCode::Mo2ModMissing && same(&note.subject, name))
            };
            let is_on = mods.enabled.iter().any(|it| same(it, name));
            let is_nested =
                self.notes().any(|it| it.code == NoteCode::Mo2ModNested && Path::new(&it.subject) == stored);
            if is_on && !is_nested {
                let files = self.files_of_mod(order, &stored);
                if files.used > 0 {
                    self.is_there = true;
                    self.add(Cause::new(Fate::Wins, "there", &stored, files.in_words()));
                } else {
                    let reasons = self.why_unused(order, &stored, &files);
                    self.reasons.extend(reasons);
                }
            }
            let noted: Vec<Cause> = self.notes().filter(is_about).map(|note| self.not_loaded(note)).collect();
            self.reasons.extend(noted);
            self.reasons.extend(self.all_marked_hidden(mods, &stored));
            if mods.unmanaged.iter().any(|it| same(it, name)) {
                self.unmanaged(name);
            }
            if is_on && self.reasons.is_empty() {
                let text = "the mod is on, but has no files that the game sees";
                self.add(Cause::new(Fate::Ignored, "nothing-for-game", &stored, text));
            }
        }
        for (folder, why) in self.mods_off().iter() {
            if is_called(folder, name) {
                self.add(Cause::new(Fate::Off, "mo2-mod-off", folder, why));
            }
        }
    }

    /// Answers for something that Mod Organizer lists without managing it: `DLC: Dawnguard`.
    fn unmanaged(&mut self, name: &str) {
        self.with_endings(name.split_once(": ").map_or(name, |(_, rest)| rest));
        let text = "Mod Organizer lists this but does not manage it: its files are in the game's own data \
                    folder";
        let cause = if self.is_unknown() {
            let text = format!("{text}, which has no plugin or archive of this name");
            Cause::new(Fate::NotHere, "mo2-unmanaged", Path::new(name), text)
        } else {
            Cause::remark("mo2-unmanaged", Path::new(name), text)
        };
        self.add(cause);
    }

    /// What became of the files of a mod, loose and in its archives.
    fn files_of_mod(&self, order: &LoadOrder, folder: &Path) -> ModFiles {
        let is_own: Vec<bool> = self.vfs.layers().map(|layer| layer.path().starts_with(folder)).collect();
        let mut files = ModFiles::default();
        if !is_own.contains(&true) {
            return files;
        }
        for file in self.vfs.files() {
            if is_own[file.layer().number()] {
                files.winning += 1;
                match self.is_used(order, &file) {
                    Ok(()) => files.used += 1,
                    Err(why) => *files.unused.entry(why).or_default() += 1,
                }
            }
            let own = file.hidden().filter(|it| is_own[it.layer().number()]).count();
            files.hidden += own;
            if own > 0 {
                files.first_hidden.get_or_insert(file);
            }
        }
        files
    }

    /// Whether the game can use a file of a mod that wins. The error is the reason why it cannot; empty if
    /// other reasons say it.
    fn is_used(&self, order: &LoadOrder, file: &VfsFile) -> Result<(), String> {
        if !file.layer().is_folder() {
            return Ok(());
        }
        let path = file.path();
        let Some((top, rest)) = path.split_once('/') else {
            let is_text = TEXTS.iter().any(|end| path.to_ascii_lowercase().ends_with(end));
            let is_active = || order.plugins.iter().any(|it| same(it, &path));
            let is_off = is_plugin(&path) && !is_active() || is_archive_name(path.as_bytes());
            return if is_text || is_off || ghosted(&path).is_some() { Err(String::new()) } else { Ok(()) };
        };
        if let Some(why) = below_top(order, file) {
            return Err(why.to_owned());
        }
        if let Some(meant) = almost_folder(top) {
            return Err(format!("the game does not read the folder {top}; is {meant} meant?"));
        }
        if same(top, "Root") {
            let text =
                "Root Builder puts the files of its folder Root into the game's folder, not its data folder";
            return Err(text.to_owned());
        }
        // A folder that belongs into another one.
        if let Some(path) = question::implied(&path)
            && let Some((above, _)) = path.split_once('/')
            && !same(top, above)
            && self.vfs.folder(format!("{above}/{top}")).is_some()
            && rest.len() < path.len()
        {
            return Err(format!("the game reads {above}/{top}, not {top}; is the folder {above} missing?"));
        }
        Ok(())
    }

    /// Why the game uses no file of a mod that is on.
    fn why_unused(&self, order: &LoadOrder, folder: &Path, files: &ModFiles) -> Vec<Cause> {
        let mut reasons = Vec::new();
        let names = self.disk.names(folder).unwrap_or_default();
        for name in names.iter().filter(|name| is_plugin(name)) {
            if !order.plugins.iter().any(|it| same(it, name)) {
                reasons.push(self.not_active(order, &folder.join(name), name));
            }
        }
        let ignored = self.vfs.opened().ignored.iter().filter(|it| it.folder.path().starts_with(folder));
        let ignored: usize = ignored.map(|it| it.paths().count()).sum();
        if ignored > 0 {
            let text = format!("{} of the mod: {}", count(ignored, "file"), order.why_loose_ignored());
            let because = order.because_loose.clone();
            let code = NoteCode::LooseDisabled.as_str();
            reasons.push(Cause { because, ..Cause::new(Fate::Ignored, code, folder, text) });
        }
        for (why, number) in files.unused.iter().filter(|(why, _)| !why.is_empty()) {
            let text = format!("{}: {why}", count(*number, "file"));
            reasons.push(Cause::new(Fate::Ignored, "replaces-nothing", folder, text));
        }
        if let (0, Some(first)) = (files.winning, &files.first_hidden) {
            let layer = first.layer();
            let winner = layer.path();
            let text = match files.hidden {
                1 => format!("its only file, {}, loses to {}", first.path(), winner.shown()),
                many => {
                    format!("all its {many} files lose to other mods or archives, such as {}", winner.shown())
                }
            };
            let by = winner.to_string_lossy().into_owned();
            reasons.push(Cause { by, ..Cause::new(Fate::Loses, "hidden", folder, text) });
        }
        let title = order.installation.as_ref().map(|it| it.title);
        if let Some(data) = title.map(|it| it.mod_data).filter(|it| !it.is_empty())
            && self.disk.find_folder(folder, data).is_none()
        {
            let is_pak = |path: &PathBuf| path.extension().is_some_and(|it| it.eq_ignore_ascii_case("pak"));
            let paks = self.walk(folder).iter().filter(|path| is_pak(path)).count();
            let paks = if paks > 0 { format!("; it has {}", count(paks, "Pak file")) } else { String::new() };
            let text = format!("of a mod, the game's data folder shows only the folder {data}{paks}");
            reasons.push(Cause::new(Fate::Ignored, "nothing-for-game", folder, text));
        }
        reasons
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
        Some(Cause::new(Fate::Off, "mo2-hidden", first, text))
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

    /// Answers for one INI file.
    fn settings_at(&mut self, path: &Path) {
        let orders = self.orders;
        if let Some(read) = orders.iter().flat_map(|it| &it.inis).find(|it| self.is_one_file(it, path)) {
            self.is_there = true;
            return self.add(Cause::new(Fate::Wins, "there", read, "the game reads this file"));
        }
        let read: Vec<String> =
            orders.iter().flat_map(|it| &it.inis).map(|it| it.shown().to_string()).collect();
        let read = if read.is_empty() { "no settings file".to_owned() } else { read.join(", ") };
        let text = format!("the game does not read this file; it reads {read}");
        self.add(Cause::new(Fate::Ignored, NoteCode::SettingsIgnored.as_str(), path, text));
    }

    fn settings(&mut self, name: &str) {
        for order in self.orders {
            for read in order.inis.iter().filter(|path| is_called(path, name)) {
                self.is_there = true;
                self.add(Cause::new(Fate::Wins, "there", read, "the game reads this file"));
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
                    self.add(Cause::new(Fate::Ignored, NoteCode::SettingsIgnored.as_str(), &file, text));
                }
            }
        }
    }
}

/// Endings of texts for people.
const TEXTS: [&str; 9] = [".txt", ".md", ".pdf", ".html", ".url", ".jpg", ".jpeg", ".png", ".rtf"];

/// What became of the files of a mod.
#[derive(Default)]
struct ModFiles {
    /// Files that win and that the game can use.
    used: usize,
    winning: usize,
    hidden: usize,
    /// A file that hides one of the mod.
    first_hidden: Option<VfsFile>,
    /// The reasons why the game cannot use files that win, with their number.
    unused: BTreeMap<String, usize>,
}

impl ModFiles {
    fn in_words(&self) -> String {
        let winning = self.winning;
        match (self.hidden, &self.first_hidden) {
            (1, Some(file)) => format!(
                "the mod is on; {winning} of its files win, and 1 is hidden ({}, hidden by {})",
                file.path(),
                file.layer().path().shown()
            ),
            (hidden, _) => format!("the mod is on; {winning} of its files win, and {hidden} are hidden"),
        }
    }
}

/// Why a game does not load a loose plugin or archive that is in a folder.
fn below_top(order: &LoadOrder, file: &VfsFile) -> Option<&'static str> {
    let path = file.path();
    let (_, name) = path.rsplit_once('/')?;
    if is_plugin(name) {
        return Some(
            "the game loads plugins only from the top of its data folder or of a mod; move it there",
        );
    }
    let at = file.layer().path().join(&path);
    let is_layer = || order.layers.iter().any(|it| it.path == at);
    let text = "the game loads archives only from the top of its data folder or of a mod; move it there";
    (is_archive_name(name.as_bytes()) && !is_layer()).then_some(text)
}

/// The copy that the game uses.
fn used(winner: &VfsFile) -> Cause {
    let text = format!("the game has {} from here", winner.path());
    Cause::new(Fate::Wins, "there", winner.layer().path(), text)
}

fn same_name(path: &str) -> Cause {
    Cause::remark(SAME_NAME, Path::new(path), "a file of this name is at another path")
}

fn ghost(path: &Path) -> Cause {
    let text = "the plugin is ghosted, so the game does not see it; remove .ghost from its name";
    Cause::new(Fate::Off, "ghost", path, text)
}

fn is_archive(path: &Path) -> bool {
    path.file_name().is_some_and(|name| is_archive_name(name.as_encoded_bytes()))
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
            | NoteCode::LinkedOften
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
