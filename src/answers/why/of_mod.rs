//! Why a game uses no file of a mod, for Mod Organizer and for managers that deploy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::investigation::{Investigation, LayerPath, NOT_DEPLOYED, is_called, is_marked};
use crate::answers::fate::{Fate, FateReason, below_top, in_unread_folder, is_plugin_of};
use crate::answers::question::{self, DEPTH_MAX};
use crate::format::is_archive_name;
use crate::game::caseless::same;
use crate::game::{
    Deployed, DeploymentList, LoadOrder, ModList, OrderLayer, almost_folder, ghosted, linked_mod,
};
use crate::kinds::{self, ROOT, What};
use crate::note::{Note, NoteCode};
use crate::shown::Shown;
use crate::system::text::count;
use crate::vfs::file::{VfsFile, VfsLayer};

impl<'a> Investigation<'a> {
    pub(super) fn a_mod(&mut self, name: &str) {
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
                    self.add(FateReason::new(Fate::Wins, "there", &stored, files.in_words("the mod is on")));
                } else {
                    let reasons = self.why_unused(order, &stored, &files);
                    self.reasons.extend(reasons);
                }
            }
            let noted: Vec<FateReason> =
                self.notes().filter(is_about).map(|note| self.not_loaded(note)).collect();
            self.reasons.extend(noted);
            self.reasons.extend(self.all_marked_hidden(mods, &stored));
            if mods.unmanaged.iter().any(|it| same(it, name)) {
                self.unmanaged(name);
            }
            if is_on && self.reasons.is_empty() {
                let text = "the mod is on, but has no files that the game sees";
                self.add(FateReason::new(Fate::Ignored, "nothing-for-game", &stored, text));
            }
        }
        let layers: Vec<_> =
            self.layers_like_mods().filter(|(_, layer)| is_called(&layer.path, name)).collect();
        for (order, layer) in layers {
            self.layer(order, &layer.path);
        }
        for off in self.mods_off().iter() {
            if is_called(&off.folder, name) {
                self.add(off.reason(&off.folder));
            }
        }
    }

    /// The folders of a game that are no mods of a list, but that people add as mods: the data folders of
    /// OpenMW, and the folder in which Mod Organizer collects what programs write.
    pub(super) fn layers_like_mods(&self) -> impl Iterator<Item = (&'a LoadOrder, &'a OrderLayer)> + use<'a> {
        self.folders().filter(|(order, layer)| {
            let is_mod = |it: &ModList| layer.path.parent() == Some(&it.folder);
            order.is_openmw() || layer.is_managed && !order.mods.as_ref().is_some_and(is_mod)
        })
    }

    /// Answers for a folder of the game as for a mod.
    pub(super) fn layer(&mut self, order: &LoadOrder, folder: &Path) {
        let files = self.files_of_mod(order, folder);
        if files.used > 0 {
            self.is_there = true;
            return self.add(FateReason::new(
                Fate::Wins,
                "there",
                folder,
                files.in_words("the game has this folder"),
            ));
        }
        let reasons = self.why_unused(order, folder, &files);
        if reasons.is_empty() {
            let text = "the game has this folder, but sees no files in it";
            self.add(FateReason::new(Fate::Ignored, "nothing-for-game", folder, text));
        }
        self.reasons.extend(reasons);
    }

    /// Answers for something that Mod Organizer lists without managing it: `DLC: Dawnguard`.
    fn unmanaged(&mut self, name: &str) {
        self.with_endings(name.split_once(": ").map_or(name, |(_, rest)| rest));
        let text = "Mod Organizer lists this but does not manage it: its files are in the game's own data \
                    folder";
        let reason = if self.is_unknown() {
            let text = format!("{text}, which has no plugin or archive with this name");
            FateReason::new(Fate::NotHere, "mo2-unmanaged", Path::new(name), text)
        } else {
            FateReason::remark("mo2-unmanaged", Path::new(name), text)
        };
        self.add(reason);
    }

    /// What became of the files of a mod, loose and in its archives.
    fn files_of_mod(&self, order: &LoadOrder, folder: &Path) -> ModFiles {
        let is_own: Vec<bool> = self.vfs.layers().map(|layer| layer.path().starts_with(folder)).collect();
        let mut files = ModFiles::default();
        if !is_own.contains(&true) {
            return files;
        }
        for file in self.vfs.files() {
            let own_path = || file.hidden().any(|it| is_own[it.layer().number()]);
            if (is_own[file.layer().number()] || own_path()) && self.is_in_hidden_folder(&file.path()) {
                continue;
            }
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
            let is_text = kinds::is(&path, &[What::Text, What::Document]);
            let is_off =
                is_plugin_of(order, &path) && !order.loads(&path) || is_archive_name(path.as_bytes());
            return if is_text || is_off || ghosted(&path).is_some() { Err(String::new()) } else { Ok(()) };
        };
        if let Some(why) = below_top(order, file) {
            return Err(why.to_owned());
        }
        if let Some(why) = in_unread_folder(&path) {
            return Err(why);
        }
        if let Some(meant) = almost_folder(top) {
            return Err(format!("the game does not read the folder {top}; is {meant} meant?"));
        }
        if same(top, ROOT) {
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
    fn why_unused(&self, order: &LoadOrder, folder: &Path, files: &ModFiles) -> Vec<FateReason> {
        let mut reasons = Vec::new();
        let names = self.disk.names(folder).unwrap_or_default();
        for name in names.iter().filter(|name| is_plugin_of(order, name)) {
            if !order.loads(name) {
                reasons.push(self.not_active(order, &folder.join(name), name));
            }
        }
        let ignored = self.vfs.opened().ignored.iter().filter(|it| it.folder.path().starts_with(folder));
        let ignored: usize = ignored.map(|it| it.paths().count()).sum();
        if ignored > 0 {
            let text = format!("{} of the mod: {}", count(ignored, "file"), order.why_loose_ignored());
            let because = order.because_loose.clone();
            let code = NoteCode::LooseDisabled.as_str();
            reasons.push(FateReason { because, ..FateReason::new(Fate::Ignored, code, folder, text) });
        }
        for (why, number) in files.unused.iter().filter(|(why, _)| !why.is_empty()) {
            let text = format!("{}: {why}", count(*number, "file"));
            reasons.push(FateReason::new(Fate::Ignored, "replaces-nothing", folder, text));
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
            reasons.push(FateReason { by, ..FateReason::new(Fate::Loses, "hidden", folder, text) });
        }
        let title = order.installation.as_ref().map(|it| it.title);
        if let Some(data) = title.map(|it| it.mod_data).filter(|it| !it.is_empty())
            && self.disk.find_folder(folder, data).is_none()
        {
            let is_pak = |path: &PathBuf| path.extension().is_some_and(|it| it.eq_ignore_ascii_case("pak"));
            let paks = self.walk(folder).iter().filter(|path| is_pak(path)).count();
            let paks = if paks > 0 { format!("; it has {}", count(paks, "Pak file")) } else { String::new() };
            let text = format!("the game shows only the folder {data} of a mod{paks}");
            reasons.push(FateReason::new(Fate::Ignored, "nothing-for-game", folder, text));
        }
        reasons
    }

    /// A reason for all files and folders of a mod that the user hid in Mod Organizer.
    fn all_marked_hidden(&self, mods: &ModList, folder: &Path) -> Option<FateReason> {
        let is_hidden = |path: &Path| is_marked(mods, path);
        let hidden: Vec<PathBuf> = self.walk(folder).into_iter().filter(|path| is_hidden(path)).collect();
        let first = hidden.first()?;
        let text = match hidden.len() {
            1 => "the mod has this file or folder hidden in Mod Organizer; unhide it there".to_owned(),
            many => {
                format!("the mod has {many} files or folders hidden in Mod Organizer; this is one of them")
            }
        };
        Some(FateReason::new(Fate::Off, "mo2-hidden", first, text))
    }

    /// The lists of managers in the folders of the game.
    pub(super) fn deployed(&self) -> Rc<Vec<(PathBuf, DeploymentList)>> {
        let of_folder = |order: &LoadOrder, folder: &PathBuf| {
            let prefixes = order.installation.iter().flat_map(|it| it.prefix_folders());
            let lists = DeploymentList::of_folder(&self.disk, folder, &prefixes.collect::<Vec<_>>());
            lists.into_iter().map(|list| (folder.clone(), list)).collect::<Vec<_>>()
        };
        let read = || {
            let folders = self.folders().filter(|(order, layer)| !layer.is_managed && !order.game.is_empty());
            folders.flat_map(|(order, layer)| of_folder(order, &layer.path)).collect::<Vec<_>>().into()
        };
        self.deployed.get_or_init(read).clone()
    }

    /// Answers for a mod that a manager has, deployed or not. Returns whether there is one of this name.
    pub(super) fn managed_mod(&mut self, name: &str) -> bool {
        let before = self.reasons.len();
        self.deployed_mod(name);
        if self.reasons.len() == before {
            let lists = self.deployed();
            let staged = lists.iter().find_map(|(_, list)| Some((list, list.staged(&self.disk, name)?)));
            match staged {
                Some((list, (folder, _))) => self.staged_in_vain(&folder, list.manager, Some(list)),
                None => self.linked_mod(name),
            }
        }
        self.reasons.len() > before
    }

    /// Answers for a mod that a manager has not deployed at all.
    fn staged_in_vain(&mut self, folder: &Path, manager: &str, list: Option<&DeploymentList>) {
        let files = self.walk(folder).into_iter().filter(|it| self.disk.is_file(it));
        let mut paths = files.filter_map(|it| Some(it.strip_prefix(folder).ok()?.to_str()?.to_owned()));
        let paths: Vec<String> = paths.by_ref().collect();
        let winners: Vec<&str> = paths.iter().filter_map(|path| list?.mod_of(path)).collect();
        if let (Some(by), true) = (winners.first(), winners.len() == paths.len()) {
            let number = count(paths.len(), "file");
            let text = format!("{manager} deployed all its paths ({number}) from other mods, such as {by}");
            let by = (*by).to_owned();
            return self.add(FateReason { by, ..FateReason::new(Fate::Loses, "hidden", folder, text) });
        }
        let text = format!(
            "{manager} has this mod, but deployed nothing of it; turn it on there and deploy the mods"
        );
        self.add(FateReason::new(Fate::NotDeployed, "not-deployed", folder, text));
    }

    /// Answers for a mod to which links in the folder of the game lead, or that is beside such mods.
    fn linked_mod(&mut self, name: &str) {
        let own = |layer: &VfsLayer| layer.is_folder() && self.is_own_folder(layer.path());
        let is_own: Vec<bool> = self.vfs.layers().map(|layer| own(&layer)).collect();
        let copies = self.vfs.files().flat_map(|file| {
            let hidden: Vec<VfsFile> = file.hidden().collect();
            std::iter::once((true, file)).chain(hidden.into_iter().map(|it| (false, it)))
        });
        let copies = copies.filter(|(_, file)| is_own[file.layer().number()]).take(LINKS_MAX);
        let (mut found, mut winning, mut folders) = (0, 0, Vec::new());
        let mut stagings = BTreeSet::new();
        for (wins, file) in copies {
            let Some((folder, of)) = linked_mod(&self.disk, file.layer().path(), &file.path()) else {
                continue;
            };
            stagings.extend(folder.parent().map(Path::to_owned));
            if same(&of, name) {
                found += 1;
                winning += usize::from(wins);
                folders.push(folder);
            }
        }
        match folders.first() {
            Some(folder) if winning > 0 => {
                self.is_there = true;
                let text =
                    format!("a mod manager deployed {}; the game uses {winning}", count(found, "file"));
                self.add(FateReason::new(Fate::Wins, "there", folder, text));
            }
            Some(folder) => {
                let number = count(found, "file");
                let text = format!("a mod manager deployed {number}, but the game uses none of them");
                self.add(FateReason::new(Fate::Ignored, "nothing-for-game", folder, text));
            }
            None if name.contains('/') || matches!(name, "" | "." | "..") => {}
            None => {
                let folder = stagings.iter().find_map(|staging| self.disk.find_folder(staging, name));
                if let Some(folder) = folder {
                    self.staged_in_vain(&folder, "the mod manager", None);
                }
            }
        }
    }

    /// Answers for a mod of a manager that deploys.
    fn deployed_mod(&mut self, name: &str) {
        for (folder, list) in self.deployed().iter() {
            let (mut winning, mut files, mut gone, mut first) = (0, 0, 0, None);
            let mut paths: Vec<&str> = list.files_of(name).collect();
            paths.sort_unstable();
            for path in paths {
                files += 1;
                let state = self.state(list, folder, path);
                gone += usize::from(state != Deployed::There);
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
                let is_used = is_used && state == Deployed::There;
                winning += usize::from(is_used);
                if !is_used && first.is_none() {
                    first = Some((path.to_owned(), state));
                }
            }
            if files == 0 {
                continue;
            }
            let manager = list.manager;
            let staged = list.staged(&self.disk, name).map(|(folder, _)| folder);
            let name = PathBuf::from(list.mod_named(name).unwrap_or(name));
            let losing: Vec<(String, String)> = staged.map_or_else(Vec::new, |staged| {
                let paths = self.walk(&staged).into_iter();
                let paths = paths.filter_map(|it| Some(it.strip_prefix(&staged).ok()?.to_str()?.to_owned()));
                let by = |path: &String| list.mod_of(path).filter(|it| !is_called(&name, it));
                let mut losing: Vec<_> =
                    paths.filter_map(|path| Some((by(&path)?.to_owned(), path))).collect();
                losing.sort_unstable_by(|(_, one), (_, other)| one.cmp(other));
                losing.into_iter().map(|(by, path)| (path, by)).collect()
            });
            if winning > 0 {
                self.is_there = true;
                let text = format!("{manager} deployed {}; the game uses {winning}", count(files, "file"));
                let lost = match losing.split_first() {
                    None => String::new(),
                    Some(((path, by), [])) => format!("; it deployed {path} from {by} instead"),
                    Some(((path, by), more)) => {
                        let more = count(more.len(), "more file");
                        format!("; it deployed {path} from {by} instead, and {more} from other mods")
                    }
                };
                self.add(FateReason::new(Fate::Wins, "there", &name, format!("{text}{lost}")));
            } else if gone == files {
                let files = count(files, "file");
                let text = format!(
                    "{manager} deployed {files} of the mod, all replaced or deleted since; deploy the mods \
                     again"
                );
                self.add(FateReason::new(Fate::NotDeployed, NOT_DEPLOYED, &name, text));
            } else {
                let text =
                    format!("{manager} deployed {}, but the game uses none of them", count(files, "file"));
                self.add(FateReason::new(Fate::Ignored, "nothing-for-game", &name, text));
            }
            if let Some((path, state)) = first {
                let at = folder
                    .join(self.disk.find(folder, &path).map_or_else(|| path.clone().into(), |it| it.path));
                let text = match state {
                    Deployed::There => {
                        let reason = self.fate_of_copy(folder, &path);
                        let unused = || {
                            let text = "the game does not use this file of the mod; ask about it";
                            FateReason::remark("unused-file", &at, text)
                        };
                        let reason = reason.unwrap_or_else(unused);
                        self.add(reason);
                        continue;
                    }
                    Deployed::Replaced => "another program replaced this file of the mod",
                    Deployed::Deleted => "this file of the mod was deleted",
                };
                self.add(FateReason::remark("unused-file", &at, text));
            }
        }
    }

    /// The first reason why the game does not use a copy in one of its folders.
    fn fate_of_copy(&mut self, folder: &Path, path: &str) -> Option<FateReason> {
        let (is_there, reasons) = (self.is_there, std::mem::take(&mut self.reasons));
        self.copy(&LayerPath { folder: folder.to_owned(), within: path.to_owned(), is_mod: false });
        self.is_there = is_there;
        let found = std::mem::replace(&mut self.reasons, reasons);
        found.into_iter().find(|it| !matches!(it.fate, None | Some(Fate::Wins)))
    }

    /// Files at a path in mods of managers that are deployed, but without this file, or that were deleted.
    pub(super) fn not_deployed(&self, path: &str) -> Vec<FateReason> {
        let mut found = Vec::new();
        for (folder, list) in self.deployed().iter() {
            let (manager, data) = (list.manager, folder.shown());
            let staged = match list.mod_of(path) {
                Some(_) if self.disk.find_file(folder, path).is_some() => continue,
                Some(name) => {
                    let text = format!(
                        "{manager} deployed the file from the mod {name}, but it was deleted from {data} \
                         since; deploy the mods again"
                    );
                    let staged = list.staged_file(&self.disk, path).unwrap_or_else(|| name.into());
                    found.push(FateReason::new(Fate::NotDeployed, NOT_DEPLOYED, &staged, text));
                    continue;
                }
                None => list.mods().filter_map(|name| {
                    let (folder, _) = list.staged(&self.disk, name)?;
                    self.disk.find_file(&folder, path)
                }),
            };
            let text = format!("{manager} has not deployed this file of the mod; deploy the mods again");
            found.extend(staged.map(|file| FateReason::new(Fate::NotDeployed, NOT_DEPLOYED, &file, &text)));
        }
        found
    }

    /// Remarks which mod a manager deployed a file of a folder from.
    pub(super) fn deployed_by(&self, folder: &Path, path: &str) -> Option<FateReason> {
        let lists = self.deployed();
        let listed = lists.iter().filter(|(of, _)| of == folder);
        let named = listed.into_iter().find_map(|(_, list)| Some((list.mod_of(path)?.to_owned(), list)));
        let (name, by) = match named {
            Some((name, list)) if self.state(list, folder, path) == Deployed::Replaced => {
                let text =
                    format!("{} deployed a file from this mod, which was replaced since", list.manager);
                return Some(FateReason::remark("replaced", Path::new(&name), text));
            }
            Some((name, list)) => (name, list.manager),
            None => {
                self.is_own_folder(folder).then_some(())?;
                (linked_mod(&self.disk, folder, path)?.1, "a mod manager")
            }
        };
        let text = format!("{by} deployed the file from this mod");
        Some(FateReason::remark("deployed-from", Path::new(&name), text))
    }

    fn state(&self, list: &DeploymentList, folder: &Path, path: &str) -> Deployed {
        list.state(&self.disk, folder, path, COMPARED_MAX)
    }

    /// The place where a file of a staging folder is in the game, by a link.
    pub(super) fn deployed_from(&self, path: &Path) -> Option<LayerPath> {
        let folders: Vec<&Path> = self.folders().map(|(_, layer)| &*layer.path).collect();
        let (folder, within) = question::linked_place(&self.disk, &folders, path)?;
        Some(LayerPath { folder: folder.to_owned(), within, is_mod: false })
    }

    /// The place of a file that a manager deployed as a copy, from its path in the staging folder. `Err` says
    /// why it is not deployed.
    pub(super) fn deployed_as(&self, path: &Path) -> Option<Result<LayerPath, Vec<FateReason>>> {
        let names: Vec<&str> = path.iter().filter_map(|it| it.to_str()).collect();
        let lists = self.deployed();
        for at in (0..names.len().saturating_sub(1)).rev().take(DEPTH_MAX) {
            let within = names[at + 1..].join("/");
            let above = path.ancestors().nth(names.len() - 1 - at)?;
            for (folder, list) in lists.iter() {
                let is_it = |(staged, _): &(PathBuf, String)| self.is_one_path(staged, above);
                let staged = || list.staged(&self.disk, names[at]).filter(is_it).map(|(_, name)| name);
                let named = list.mod_named(names[at]).map(str::to_owned);
                let Some(name) = named.or_else(staged) else { continue };
                let manager = list.manager;
                let reason = |text: String| FateReason::new(Fate::NotDeployed, NOT_DEPLOYED, path, text);
                return Some(match list.mod_of(&within) {
                    Some(source) if source == name => {
                        let at = self.disk.find(folder, &within).map(|it| it.path);
                        let at = at.unwrap_or_else(|| folder.join(&within));
                        let what = match self.state(list, folder, &within) {
                            Deployed::There => {
                                return Some(Ok(LayerPath { folder: folder.clone(), within, is_mod: false }));
                            }
                            Deployed::Replaced => "another program replaced it",
                            Deployed::Deleted => "it was deleted",
                        };
                        let text = format!(
                            "{manager} deployed this file as {}, but {what} there since; deploy the mods \
                             again",
                            at.shown()
                        );
                        Err(vec![reason(text)])
                    }
                    Some(source) => {
                        let text = format!("{manager} deployed this path from the mod {source}");
                        let by = source.to_owned();
                        let loses = FateReason { by, ..FateReason::new(Fate::Loses, "hidden", path, text) };
                        // A mod that has other files, of which none is deployed, is off.
                        let is_unlisted = |it: &PathBuf| {
                            let within = it.strip_prefix(above).ok().and_then(Path::to_str);
                            within.is_some_and(|within| list.mod_of(within).is_none())
                                && self.disk.is_file(it)
                        };
                        let is_off =
                            list.mod_named(&name).is_none() && self.walk(above).iter().any(is_unlisted);
                        let off = is_off.then(|| {
                            let text =
                                "has this mod, but deployed nothing of it; turn it on there and deploy";
                            FateReason::new(
                                Fate::NotDeployed,
                                NOT_DEPLOYED,
                                above,
                                format!("{manager} {text}"),
                            )
                        });
                        Err(off.into_iter().chain([loses]).collect())
                    }
                    None => {
                        Err(match self.mods_off().iter().find(|off| self.is_one_path(&off.folder, above)) {
                            Some(off) => vec![off.reason(path)],
                            None => vec![reason(format!(
                                "{manager} has not deployed this file; deploy the mods again"
                            ))],
                        })
                    }
                });
            }
        }
        None
    }

    /// The mod of a manager that deploys, if a folder is that of the mod or in it.
    pub(super) fn staged_mod(&self, path: &Path) -> Option<String> {
        if !self.disk.is_dir(path) {
            return None;
        }
        let lists = self.deployed();
        let staged = lists.iter().find_map(|(_, list)| {
            let real = self.disk.canonical(list.staging.as_ref()?).ok()?;
            let within = self.disk.canonical(path).ok()?;
            let folder = within.strip_prefix(real).ok()?.iter().next()?.to_str()?.to_owned();
            list.staged(&self.disk, &folder).map(|(_, name)| name)
        });
        if staged.is_some() {
            return staged;
        }
        let names = path.iter().rev().filter_map(|it| it.to_str()).take(DEPTH_MAX);
        let mods = names.flat_map(|name| lists.iter().filter_map(move |(_, list)| list.mod_named(name)));
        mods.map(str::to_owned).next()
    }
}

/// Maximum number of bytes of a deployed file that are compared.
const COMPARED_MAX: usize = 16 << 20;
/// Maximum number of files that are looked at as links to mods.
const LINKS_MAX: usize = 20_000;
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
    /// What became of the files, after words on the mod.
    fn in_words(&self, what: &str) -> String {
        let winning = self.winning;
        match (self.hidden, &self.first_hidden) {
            (1, Some(file)) => format!(
                "{what}; {winning} of its files win, and 1 is hidden ({}, hidden by {})",
                file.path(),
                file.layer().path().shown()
            ),
            (hidden, _) => format!("{what}; {winning} of its files win, and {hidden} are hidden"),
        }
    }
}
