//! What kind of thing a question is about, and the answer to it.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::investigation::{
    Explanation, IN_NO_FOLDER, Investigation, NOT_FOUND, SIMILAR_NAME, ThingKind, UNOPENED, is_archive,
    is_called, without_ghost,
};
use super::of_file::{SAME_NAMES_MAX, same_name};
use super::of_settings::is_settings;
use crate::answers::copies::Deletions;
use crate::answers::fate::{Fate, FateReason};
use crate::answers::question::{self, Question};
use crate::format::is_archive_name;
use crate::game::caseless::same;
use crate::game::{Disk, LoadOrder, ModList, OPENMW_CFG, is_known_folder};
use crate::kinds::{BA2, BSA, PLUGINS};
use crate::note::NoteCode;
use crate::shown::Shown;
use crate::vfs::library::Vfs;
use crate::vfs::open_options::OpenOptions;
use crate::vfs::sources::profile::SourceSet;
use crate::vfs::sources::resolve;

/// Answers a question. `set` are the sources that `vfs` was opened from.
pub(crate) fn why(vfs: &Vfs, set: &SourceSet, question: &Question) -> Explanation {
    let orders = planned(set);
    let orders = &orders[..];
    let mut answer = Investigation::new(vfs, orders, &set.options);
    let kind = answer.to(question);
    let Investigation { is_there, mut reasons, meant, path, .. } = answer;
    let mut seen = HashSet::new();
    reasons.retain(|reason| seen.insert((reason.code, reason.subject.clone())));
    if reasons.iter().all(|it| it.code == SIMILAR_NAME) && !is_there {
        let text = "nothing of this name is in the game, in its archives that are not loaded, or in mods \
                    that are off";
        reasons.insert(0, FateReason::new(Fate::NotHere, NOT_FOUND, Path::new(&question.text), text));
    }
    let other = reasons.iter().filter_map(|it| it.fate).find(|it| *it != Fate::Wins);
    let fate = if is_there { Fate::Wins } else { other.unwrap_or(Fate::NotHere) };
    let games = || orders.iter().filter(|order| !order.game.is_empty());
    let profile = games().find_map(|order| order.profile.as_ref()?.file_name());
    Explanation {
        thing: question.asked.clone(),
        path: meant.clone().or(path).map(|path| {
            // A mod that is nested too deep has longer paths than the game reads.
            let ends = path.match_indices('/').map(|(at, _)| path[at + 1..].to_owned());
            let end = ends.into_iter().find(|end| !is_below_known(&path) && is_below_known(end));
            end.unwrap_or(path)
        }),
        meant: meant.filter(|it| !it.eq_ignore_ascii_case(&question.text)),
        game: games().next().map(|order| order.game).filter(|_| games().count() == 1),
        profile: profile.map(|it| it.to_string_lossy().into_owned()),
        kind,
        is_there,
        fate,
        reasons,
    }
}

/// The first reason, if there is one, why each of some paths is not in the tree. A path that nothing
/// contains gets no reason. `set` are the sources that `vfs` was opened from.
pub(crate) fn why_missing(vfs: &Vfs, set: &SourceSet, paths: &[&str]) -> Vec<Option<FateReason>> {
    let orders = planned(set);
    let mut answer = Investigation::new(vfs, &orders, &set.options);
    answer.all = paths.iter().map(|path| path.to_ascii_lowercase()).collect();
    let is_of_copy =
        |it: &FateReason| !matches!(it.fate, None | Some(Fate::Wins | Fate::NotHere)) && it.code != UNOPENED;
    let mut first = |path: &&str| {
        match answer.kind_of(path) {
            ThingKind::Plugin => answer.plugin(path),
            ThingKind::Archive => answer.archive(path),
            _ => return answer.outside(path).find(is_of_copy),
        }
        answer.is_there = false;
        std::mem::take(&mut answer.reasons).into_iter().find(is_of_copy)
    };
    paths.iter().map(&mut first).collect()
}

/// The load orders of sources. They were planned before, so planning them again fails only if they just
/// changed.
fn planned(set: &SourceSet) -> Vec<LoadOrder> {
    resolve::plan_each(&set.paths, &set.options).unwrap_or_default()
}

impl<'a> Investigation<'a> {
    fn new(vfs: &'a Vfs, orders: &'a [LoadOrder], options: &'a OpenOptions) -> Self {
        Self {
            vfs,
            orders,
            options,
            disk: Disk::remembering(),
            looked_up: RefCell::default(),
            all: HashSet::new(),
            all_in: RefCell::default(),
            deep_archives: OnceCell::new(),
            unopened_archives: OnceCell::new(),
            mods_off: OnceCell::new(),
            deletions: Deletions::of(vfs),
            hinted: Cell::new(0),
            deployed: OnceCell::new(),
            path: None,
            meant: None,
            is_there: false,
            reasons: Vec::new(),
        }
    }

    /// Answers a question. Returns what kind of thing it is about.
    pub(super) fn to(&mut self, question: &Question) -> ThingKind {
        let kind = self.exactly(question);
        if self.is_there || self.is_known() {
            return kind;
        }
        // What logs and xEdit print around a name is part of none.
        let Some(text) = question::bare(&question.text).filter(|_| question.disk.is_none()) else {
            return kind;
        };
        let before = (std::mem::take(&mut self.reasons), self.path.clone());
        let bare = self.exactly(&Question { text: text.to_owned(), ..question.clone() });
        if !self.is_there && !self.is_known() {
            (self.reasons, self.path) = before;
            return kind;
        }
        self.meant = self.meant.take().or_else(|| Some(text.to_owned()));
        bare
    }

    /// Whether a reason says what became of the thing.
    fn is_known(&self) -> bool {
        self.reasons.iter().any(|it| it.fate.is_some_and(|fate| fate != Fate::NotHere) && it.code != UNOPENED)
    }

    /// Answers for exactly what was typed.
    fn exactly(&mut self, question: &Question) -> ThingKind {
        if question.text.is_empty() {
            self.is_there = true;
            let text = "this is the game as a whole; ask about a file, plugin or mod";
            self.add(FateReason::remark("folder", Path::new(&question.asked), text));
            return ThingKind::File;
        }
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
        // A path of another machine may begin with any folders.
        let is_in_tree = !question.has_drive() && question.disk.is_none();
        self.path = Some(name.to_owned()).filter(|it| is_in_tree || is_below_known(it));
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
        let mut kind = if is_settings { kind } else { guessed };
        if is_settings {
            let never = self.notes().filter(|note| note.code == NoteCode::NeverStarted);
            self.reasons.extend(never.map(FateReason::of));
        }
        if self.is_unknown() && is_file && !name.contains('/') && self.managed_mod(name) {
            kind = ThingKind::Mod;
        }
        if self.is_unknown() {
            self.similar(name);
        }
        if !self.is_there {
            self.reasons.extend(others);
        }
        kind
    }

    pub(super) fn kind_of(&self, thing: &str) -> ThingKind {
        let is_name = !thing.contains(['/', '\\']);
        match () {
            () if is_name && self.is_plugin(without_ghost(thing)) => ThingKind::Plugin,
            () if is_name && is_archive_name(thing.as_bytes()) => ThingKind::Archive,
            () if is_name && (is_settings(thing) || self.is_cfg(thing)) => ThingKind::Settings,
            () if is_name && self.mod_lists().any(|(_, mods)| self.has_mod(mods, thing)) => ThingKind::Mod,
            () if is_name && self.is_layer_like_mod(thing) => ThingKind::Mod,
            () if is_name && self.is_removed(thing) => ThingKind::Mod,
            () if is_name && self.deployed().iter().any(|(_, it)| it.mod_named(thing).is_some()) => {
                ThingKind::Mod
            }
            () => ThingKind::File,
        }
    }

    /// Whether this is the name of the settings of OpenMW.
    fn is_cfg(&self, name: &str) -> bool {
        same(name, OPENMW_CFG) && self.orders.iter().any(|order| order.is_openmw())
    }

    /// Whether a folder of the game is called so, and none in the tree.
    fn is_layer_like_mod(&self, name: &str) -> bool {
        self.layers_like_mods().any(|(_, layer)| is_called(&layer.path, name))
            && self.vfs.folder(name).is_none()
    }

    /// Whether a folder that settings name and remove again is called so.
    fn is_removed(&self, name: &str) -> bool {
        self.orders.iter().flat_map(|order| &order.removed).any(|(folder, _)| is_called(folder, name))
    }

    fn has_mod(&self, mods: &ModList, name: &str) -> bool {
        mods.enabled.iter().chain(&mods.unmanaged).any(|it| same(it, name))
            || self.disk.find_folder(&mods.folder, name).is_some()
    }

    /// Finds the file, plugin or archive that may be meant if there is none of exactly this path.
    fn guess(&mut self, question: &Question) -> ThingKind {
        let name = question.in_tree();
        match question::find(self.vfs, question) {
            Ok(file) if !self.is_in_hidden_folder(&file.path()) => {
                self.meant = Some(file.path());
                self.file(&file.path());
                if !name.contains('/') && file.name().eq_ignore_ascii_case(name.as_bytes()) {
                    let others = self.named(name).into_iter().filter(|it| *it != file.path());
                    let others: Vec<FateReason> =
                        others.take(SAME_NAMES_MAX).map(|it| same_name(&it)).collect();
                    self.reasons.extend(others);
                }
                return ThingKind::File;
            }
            Ok(_) => {}
            Err(several) => {
                let others: Vec<String> =
                    several.into_iter().filter(|it| !self.is_in_hidden_folder(it)).collect();
                self.several(&others);
            }
        }
        // A path of another machine may begin with any folders.
        let mut ends = name.match_indices('/').map(|(at, _)| &name[at + 1..]);
        let end = ends.find(|end| question.has_drive() && is_below_known(end));
        self.in_unread_folders(end.filter(|_| !is_below_known(name)).unwrap_or(name));
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
        names.extend(self.orders.iter().map(|it| it.game.to_owned()).filter(|it| !it.is_empty()));
        names.extend(self.mod_lists().flat_map(|(_, mods)| mods.enabled.clone()));
        names.extend(
            self.mods_off().iter().filter_map(|it| Some(it.folder.file_name()?.to_str()?.to_owned())),
        );
        names.extend(self.deployed().iter().flat_map(|(_, list)| list.all_mods(&self.disk)));
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
            self.add(FateReason::remark(
                SIMILAR_NAME,
                Path::new(&name),
                "this name is similar; is it meant?",
            ));
        }
    }

    /// Plugins and archives that a name without an ending may mean.
    pub(super) fn with_endings(&mut self, stem: &str) -> Option<ThingKind> {
        let plugins = PLUGINS.iter().map(|ending| (ThingKind::Plugin, *ending));
        let archives = [BSA, BA2].map(|ending| (ThingKind::Archive, ending));
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
            self.path = Some(place.within.clone()).filter(|it| is_below_known(it));
            return Some(self.copy(&place));
        }
        if self.profile(path) {
            return Some(ThingKind::Settings);
        }
        let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        if exists && (is_settings(name) || self.is_cfg(name)) {
            self.settings_at(path);
            return Some(ThingKind::Settings);
        }
        if !exists {
            let is_in_tree = question.text.starts_with('/') && self.vfs.file(question.in_tree()).is_some();
            if question.may_be_elsewhere() || is_in_tree {
                return None;
            }
            self.add(FateReason::new(Fate::NotHere, NOT_FOUND, path, "there is no such file on the disk"));
            return Some(ThingKind::File);
        }
        if let Some(name) = self.staged_mod(path) {
            self.managed_mod(&name);
            self.meant = Some(name);
            return Some(ThingKind::Mod);
        }
        let place = self.deployed_from(path).map(Ok).or_else(|| self.deployed_as(path));
        match place {
            Some(Err(causes)) => {
                self.reasons.extend(causes);
                Some(ThingKind::File)
            }
            Some(Ok(place)) => {
                let at = place.folder.join(&place.within);
                let kind = self.copy(&place);
                let text = format!("it is deployed as {}", at.shown());
                self.add(FateReason::remark("deployed", path, text));
                Some(kind)
            }
            None => {
                let places = self.orders.iter().flat_map(|order| {
                    let layers = order.layers.iter().map(|layer| &layer.path);
                    layers.chain(&order.profile).chain(order.mods.iter().map(|it| &it.folder))
                });
                let off = self.mods_off();
                if let Some(off) = off.iter().find(|off| path.starts_with(&off.folder)) {
                    self.add(off.reason(path));
                } else if self.disk.is_dir(path) && places.into_iter().any(|it| it.starts_with(path)) {
                    self.is_there = true;
                    let text = "folders of the game are below this one; ask about a file, plugin or mod";
                    self.add(FateReason::remark("folder", path, text));
                } else {
                    let text = "the game and its mods use no folder that has this file";
                    self.add(FateReason::new(Fate::NotDeployed, IN_NO_FOLDER, path, text));
                }
                Some(ThingKind::File)
            }
        }
    }

    /// The path on the disk that a label means, as `order`, `which` and `why` print them: the end of the path
    /// of a folder, archive or mod, and perhaps a path in it.
    fn labelled(&self, question: &Question) -> Option<PathBuf> {
        let names = question.names();
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
        let off = off.iter().map(|it| it.folder.clone());
        let noted = self.notes().map(|note| PathBuf::from(&note.subject)).filter(|it| is_archive(it));
        let profiles = self.orders.iter().filter_map(|order| order.profile.clone());
        let lists = self.deployed();
        let staged = lists.iter().filter_map(|(_, list)| Some(list.staged(&self.disk, names[0])?.0));
        let places = of_layers.chain(of_mods).chain(off).chain(noted).chain(profiles).chain(staged);
        places.filter(|place| place.is_absolute()).find_map(|place| {
            question::labelled(&names, &place).find_map(|length| {
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
}

/// Whether a path begins with a folder that games read.
fn is_below_known(path: &str) -> bool {
    path.split_once('/').is_some_and(|(top, _)| is_known_folder(top))
}
