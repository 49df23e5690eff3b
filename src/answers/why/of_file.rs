//! Why a file is not in a game, or what hides it: a path in the tree, or one copy on the disk.

use std::collections::HashSet;
use std::iter::once_with;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::investigation::{
    ARCHIVES_MAX, Investigation, LayerPath, NOT_FOUND, SAME_NAME, ThingKind, UNOPENED, Wanted, ghost,
    is_called, is_marked, is_of_archive_not_loaded, without_ghost, without_mark,
};
use crate::answers::copies::{Copy, CopyFate, why_mark};
use crate::answers::fate::{Fate, FateReason, HIDDEN, is_left_out, out_of_place};
use crate::folder::deleted_by;
use crate::format::is_archive_name;
use crate::game::caseless::same;
use crate::game::{ArchiveRule, LayerKind, LoadOrder, LooseRule, OrderLayer, common_rank, ghosted};
use crate::note::{Note, NoteCode};
use crate::shown::Shown;
use crate::vfs::file::{VfsFile, VfsLayer};

/// Maximum number of files of the same name that are suggested.
pub(super) const SAME_NAMES_MAX: usize = 4;

impl<'a> Investigation<'a> {
    pub(super) fn file(&mut self, path: &str) {
        if let Some(file) = self.vfs.file(path) {
            self.file_that_is_there(&file);
            // The user may mean another copy, which the game does not see.
            let copies = self.vfs.copies(Some(&file), &file.path_bytes(), &self.deletions);
            let others = copies.iter().filter_map(|copy| match &copy.fate {
                CopyFate::Ignored => self.ignored_copy(&copy.place, &file.path()),
                _ => copy.why_deleted(),
            });
            let others: Vec<FateReason> = others.collect();
            self.reasons.extend(others);
            let others: Vec<FateReason> =
                self.in_archives(&file.path()).into_iter().chain(self.in_mods_off(&file.path())).collect();
            return self.reasons.extend(others);
        }
        // The folder of a mod that was left in the data folder is no folder of the game.
        let nested = self.notes().filter(|note| note.code == NoteCode::ModNested);
        let nested: Vec<FateReason> =
            nested.filter(|note| is_called(Path::new(&note.subject), path)).map(FateReason::of).collect();
        if !nested.is_empty() {
            return self.reasons.extend(nested);
        }
        if let Some(folder) = self.vfs.folder(path) {
            if self.is_in_hidden_folder(&format!("{path}/file")) {
                return self.add(FateReason::new(Fate::Off, "mo2-hidden", Path::new(&folder.path()), HIDDEN));
            }
            self.is_there = true;
            let text = "this is a folder of the game; ask about a file in it";
            return self.add(FateReason::remark("folder", Path::new(&folder.path()), text));
        }
        self.outside_of_tree(path);
    }

    pub(super) fn file_that_is_there(&mut self, file: &VfsFile) {
        if let Some(reason) = self.out_of_place(file) {
            return self.add(reason);
        }
        self.is_there = true;
        let layer = file.layer();
        let why = if layer.why().is_empty() { String::new() } else { format!(" ({})", layer.why()) };
        self.add(FateReason::new(
            Fate::Wins,
            "there",
            layer.path(),
            format!("{} is from here{why}", file.path()),
        ));
        self.reasons.extend(self.deployed_by(layer.path(), &file.path()));
        for hidden in file.hidden() {
            self.add(self.loses(file, &hidden));
        }
        let of_layer = |note: &&Note| {
            Path::new(&note.subject) == layer.path()
                && matches!(note.code, NoteCode::ArchiveVersion | NoteCode::ArchiveCutOff)
        };
        let mut notes: Vec<FateReason> = self.notes().filter(of_layer).map(FateReason::of).collect();
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

    fn out_of_place(&self, file: &VfsFile) -> Option<FateReason> {
        out_of_place(self.orders, self.notes(), file)
    }

    /// What became of a hidden copy.
    pub(super) fn loses(&self, winner: &VfsFile, hidden: &VfsFile) -> FateReason {
        let (winner, below) = (winner.layer(), hidden.layer());
        let text = self.why_wins(&winner, &below);
        let by = winner.path().to_string_lossy().into_owned();
        FateReason { by, ..FateReason::new(Fate::Loses, "hidden", below.path(), text) }
    }

    /// Why one layer wins over another.
    fn why_wins(&self, winner: &VfsLayer, below: &VfsLayer) -> String {
        let has_winner = |order: &&LoadOrder| order.layers.iter().any(|it| it.path == winner.path());
        let order = self.orders.iter().find(has_winner).filter(|order| !order.game.is_empty());
        let file_name = |layer: &'_ VfsLayer| layer.path().file_name().unwrap_or_default().to_owned();
        let (file, below_file) = (file_name(winner), file_name(below));
        let name = file.shown();
        match (winner.is_folder(), below.is_folder(), order) {
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
                    match common_rank(&file.to_string_lossy(), &below_file.to_string_lossy()) {
                        Some(of) => {
                            format!("{name} is loaded earlier, and of the archives of {of} the first wins")
                        }
                        None => {
                            format!("{name} wins: mods win over add-ons, and add-ons over the base game")
                        }
                    }
                }
            },
        }
    }

    /// A reason if only one of several folders, whose names differ in case, has a file of the game's own.
    fn only_in_one_spelling(&self, file: &VfsFile) -> Option<FateReason> {
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
            Some(FateReason::remark(NoteCode::FolderCase.as_str(), with, text))
        })
    }

    /// The reason for a loose file that a game ignores because of its settings.
    fn ignored_copy(&self, folder: &Path, path: &str) -> Option<FateReason> {
        let (order, _) = self.folders().find(|(_, layer)| layer.path == folder)?;
        Some(self.ignored(order, &self.disk.find_file(folder, path)?))
    }

    /// Answers for what is at a place.
    pub(super) fn copy(&mut self, place: &LayerPath) -> ThingKind {
        let LayerPath { folder, within, is_mod } = place;
        if within.is_empty() {
            let name = folder.file_name().and_then(|it| it.to_str()).unwrap_or_default().to_owned();
            if *is_mod {
                self.a_mod(&name);
                return ThingKind::Mod;
            }
            let layer = self.layers_like_mods().find(|(_, layer)| layer.path == *folder);
            if let Some((order, layer)) = layer {
                self.layer(order, &layer.path);
                return ThingKind::Mod;
            }
            self.is_there = true;
            self.add(FateReason::remark(
                "folder",
                folder,
                "this is a folder of the game; ask about a file in it",
            ));
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
            let in_it = format!("{within}/file");
            match self.vfs.folder(within) {
                Some(_) if self.state_of_mod(folder).is_none() && !self.is_in_hidden_folder(&in_it) => {
                    self.is_there = true;
                    let text = "this is a folder of the game; ask about a file in it";
                    self.add(FateReason::remark("folder", Path::new(&name), text));
                    self.mark(place, &path);
                }
                _ if self.mark(place, &path) => {}
                _ => self.not_in_tree(place, &path),
            }
            return ThingKind::File;
        }
        if self.mark(place, &path) {
            return ThingKind::File;
        }
        if is_top && is_archive_name(name.as_bytes()) && self.disk.is_file(&path) {
            self.archive_at(&path);
            return ThingKind::Archive;
        }
        self.loose_copy(place, &path);
        if is_top && self.is_plugin(name) && self.is_there {
            (self.is_there, self.reasons) = (false, Vec::new());
            self.plugin(name);
            return ThingKind::Plugin;
        }
        if is_top && self.is_plugin(without_ghost(name)) { ThingKind::Plugin } else { ThingKind::File }
    }

    /// Answers for a mark of what was deleted in a writable mount. Returns whether it is one.
    fn mark(&mut self, place: &LayerPath, path: &Path) -> bool {
        let Some(deleted) = deleted_by(path) else { return false };
        let within = deleted.strip_prefix(&place.folder).unwrap_or(&deleted).to_string_lossy().into_owned();
        let mut copies = self.deletions.copies(self.vfs, within.as_bytes());
        copies.retain(|it| it.is_deleted_in(&place.folder));
        if let Some(text) = self.state_of_mod(&place.folder) {
            self.add(FateReason::new(Fate::Off, "mo2-mod-off", path, text));
        }
        self.add(why_mark(path, &deleted, &copies));
        true
    }

    /// Answers for a loose file that exists.
    fn loose_copy(&mut self, place: &LayerPath, path: &Path) {
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

    /// Why something on the disk is not in the tree.
    fn not_in_tree(&mut self, place: &LayerPath, path: &Path) {
        if let Some(text) = self.state_of_mod(&place.folder) {
            return self.add(FateReason::new(Fate::Off, "mo2-mod-off", path, text));
        }
        let deleted = self.deleted_at(&place.folder, &place.within);
        if !deleted.is_empty() {
            return self.reasons.extend(deleted);
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
            return self.add(FateReason::new(Fate::Off, "mo2-hidden", marked, HIDDEN));
        }
        if let Some(name) = path.file_name().and_then(|it| it.to_str()).filter(|it| ghosted(it).is_some()) {
            return self.add(ghost(&path.with_file_name(name)));
        }
        if let Some(reason) = self.left_out(&place.folder, &place.within) {
            return self.add(reason);
        }
        if let Some(reason) = self.other_spelling(&place.folder, &place.within) {
            return self.add(reason);
        }
        match order {
            Some(order) => {
                let reason = self.ignored(order, path);
                self.add(reason);
            }
            None => {
                let text = "the sources leave this file out";
                self.add(FateReason::new(Fate::Ignored, "ignored", path, text));
            }
        }
    }

    /// Answers for a path on the disk at which nothing is.
    fn gone(&mut self, place: &LayerPath) {
        let within = &place.within;
        let lists: Vec<_> = self.mod_lists().collect();
        let hidden = lists.into_iter().find_map(|(_, mods)| self.marked_hidden(mods, &place.folder, within));
        let copies = self.deletions.copies(self.vfs, within.as_bytes());
        match hidden {
            Some(hidden) => self.add(hidden),
            None if copies.iter().any(|it| it.is_deleted_in(&place.folder)) => {
                self.reasons.extend(copies.iter().filter_map(Copy::why_deleted));
            }
            None => {
                let path = place.folder.join(within);
                self.add(FateReason::new(
                    Fate::NotHere,
                    NOT_FOUND,
                    &path,
                    "there is no such file on the disk",
                ));
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

    /// Copies of a path that the tree does not have.
    pub(super) fn outside_of_tree(&mut self, path: &str) {
        let found: Vec<FateReason> = self.outside(path).collect();
        self.reasons.extend(found);
    }

    /// What became of each copy of a path that the tree does not have, the most probable first. A place is
    /// searched only when its turn comes.
    pub(super) fn outside(&self, path: &str) -> impl Iterator<Item = FateReason> {
        let searches: [fn(&Self, &str) -> Vec<FateReason>; 3] =
            [Self::deleted, Self::in_archives, Self::not_deployed];
        let before = searches.into_iter().flat_map(move |search| search(self, path));
        before.chain(self.in_mods_off(path)).chain(once_with(|| self.in_folders(path)).flatten())
    }

    /// The notes on archives that are not loaded.
    fn notes_of_unloaded(&self) -> impl Iterator<Item = &'a Note> + use<'a> {
        self.notes().filter(|note| is_of_archive_not_loaded(note)).take(ARCHIVES_MAX)
    }

    /// The fate of a copy in an archive that is not loaded.
    pub(super) fn unloaded_copy(&self, note: &Note) -> FateReason {
        let reason = self.not_loaded(note);
        let text = format!("this archive has the file, but is {}", reason.text);
        FateReason { text, ..reason }
    }

    /// Archives that have a path, but are not loaded, or could not be opened.
    pub(super) fn in_archives(&self, path: &str) -> Vec<FateReason> {
        let mut found = Vec::new();
        for note in self.notes_of_unloaded() {
            if self.has_path(Path::new(&note.subject), path) == Ok(true) {
                found.push(self.unloaded_copy(note));
            }
        }
        // A file that is there is hardly meant to be in an archive that nobody can look into.
        if !self.is_there {
            for reason in self.deep_archives().iter() {
                if self.has_path(Path::new(&reason.subject), path) == Ok(true) {
                    let text = format!("this archive has the file, but {}", reason.text);
                    found.push(FateReason { text, ..reason.clone() });
                }
            }
            for layer in self.unopened_archives().iter() {
                if let Err(why) = self.has_path(&layer.path, path) {
                    let text = format!(
                        "the game loads this archive, but it cannot be opened, so its files are unknown: \
                         {why}"
                    );
                    found.push(FateReason::new(Fate::NotLoaded, UNOPENED, &layer.path, text));
                }
            }
        }
        let invalidated = path.to_ascii_lowercase();
        if self.orders.iter().any(|order| order.invalidated.contains(&invalidated)) {
            let text = "ArchiveInvalidation.txt names this path, so the game ignores it in all archives";
            let code = NoteCode::ArchiveInvalidation.as_str();
            found.push(FateReason::new(Fate::Ignored, code, Path::new(path), text));
        }
        found
    }

    /// The archives below the top of the game's data folder, which the game does not load.
    fn deep_archives(&self) -> Rc<Vec<FateReason>> {
        let find = || {
            let deep = self.vfs.files().filter(|file| {
                file.path_bytes().contains(&b'/') && is_archive_name(file.name()) && file.layer().is_folder()
            });
            let at = |file: &VfsFile| file.layer().path().join(file.path()).to_string_lossy().into_owned();
            let reason = |file: VfsFile| Some(FateReason { subject: at(&file), ..self.out_of_place(&file)? });
            deep.take(ARCHIVES_MAX).filter_map(reason).collect::<Vec<_>>().into()
        };
        self.deep_archives.get_or_init(find).clone()
    }

    /// The archives that the game loads, but that could not be opened.
    fn unopened_archives(&self) -> Rc<Vec<&'a OrderLayer>> {
        let find = || {
            let opened: HashSet<PathBuf> = self.vfs.layers().map(|layer| layer.path().to_owned()).collect();
            let layers = self.orders.iter().flat_map(|order| &order.layers);
            let archives = layers.filter(|it| it.what == LayerKind::Archive && !opened.contains(&it.path));
            archives.collect::<Vec<_>>().into()
        };
        self.unopened_archives.get_or_init(find).clone()
    }

    /// Mods that are off and have a path, loose or in an archive.
    fn in_mods_off(&self, path: &str) -> impl Iterator<Item = FateReason> {
        let mods = self.mods_off();
        let mut opened = 0;
        (0..mods.len()).flat_map(move |number| {
            let off = &mods[number];
            if let Some(file) = self.disk.find_file(&off.data, path) {
                return vec![off.reason(&file)];
            }
            let names = self.disk.names(&off.data).unwrap_or_default();
            let archives = names.iter().filter(|name| is_archive_name(name.as_bytes()));
            let archives = archives.map(|archive| off.data.join(archive)).filter(|archive| {
                opened += 1;
                opened <= ARCHIVES_MAX && self.has_path(archive, path) == Ok(true)
            });
            let text = format!("this archive has the file, but {}", off.why);
            archives.map(|archive| FateReason { text: text.clone(), ..off.reason(&archive) }).collect()
        })
    }

    /// Folders of the game that have a path on the disk, although the game does not see it.
    fn in_folders(&self, path: &str) -> Vec<FateReason> {
        let mut found = Vec::new();
        let deleted = self.deletions.copies(self.vfs, path.as_bytes());
        for (order, layer) in
            self.folders().filter(|(_, it)| deleted.iter().all(|copy| copy.place != it.path))
        {
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
                found.push(FateReason::of(note));
            }
        }
        found
    }

    /// A link or a folder on the way to a path that was left out.
    fn left_out(&self, folder: &Path, path: &str) -> Option<FateReason> {
        let is_above = |note: &&Note| {
            let Ok(within) = Path::new(&note.subject).strip_prefix(folder) else { return false };
            let within = within.to_string_lossy().to_ascii_lowercase();
            let rest = path.to_ascii_lowercase();
            let rest = rest.strip_prefix(&within);
            !within.is_empty() && rest.is_some_and(|it| it.is_empty() || it.starts_with('/'))
        };
        self.notes().filter(|note| is_left_out(note.code)).find(is_above).map(FateReason::of)
    }

    /// Why a game ignores a loose file that exists.
    fn ignored(&self, order: &LoadOrder, file: &Path) -> FateReason {
        let text = match &order.precedence.loose {
            LooseRule::Below(_) => order.why_loose_ignored(),
            LooseRule::Never => format!("the game ignores loose files: {}", order.because_loose),
            _ if order.mods.is_some() => {
                let below = order.installation.as_ref().map(|it| it.title.mod_data).unwrap_or_default();
                let text = match below {
                    "" => "the file is on the disk, but the mod manager does not pass it on".to_owned(),
                    below => format!("the game shows only the folder {below} of a mod"),
                };
                return FateReason::new(Fate::Ignored, "not-passed-on", file, text);
            }
            _ => "the file is on the disk, but the game does not see it".to_owned(),
        };
        let because = order.because_loose.clone();
        FateReason { because, ..FateReason::new(Fate::Ignored, NoteCode::LooseDisabled.as_str(), file, text) }
    }

    /// A file whose path differs by case from the one that the game sees.
    fn other_spelling(&self, folder: &Path, path: &str) -> Option<FateReason> {
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
        Some(FateReason::new(Fate::Ignored, NoteCode::FolderCase.as_str(), other, text))
    }

    /// Files of a path in a folder beside the game's data folder, whose name differs from it in case.
    pub(super) fn beside(&self, path: &str) -> Vec<FateReason> {
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
                FateReason::new(Fate::Ignored, NoteCode::FolderCase.as_str(), &file, text)
            }));
        }
        found
    }

    /// Answers for a name that several files have.
    pub(super) fn several(&mut self, paths: &[String]) {
        let mut found = Vec::new();
        for file in paths.iter().filter_map(|path| self.vfs.file(path)) {
            let reason = self.out_of_place(&file).unwrap_or_else(|| {
                self.is_there = true;
                let place = file.layer().path().join(file.path());
                FateReason::new(Fate::Wins, SAME_NAME, &place, "the game has a file with this name from here")
            });
            found.push(reason);
        }
        found.sort_by_key(|it| it.fate != Some(Fate::Wins));
        let more = found.len().saturating_sub(SAME_NAMES_MAX);
        found.truncate(SAME_NAMES_MAX);
        if let (Some(last), true) = (found.last_mut(), more > 0) {
            last.text = format!("{}; {more} more have the name", last.text);
        }
        self.reasons.extend(found);
    }

    /// Files whose paths end in one that was asked about, in folders where the game does not look.
    pub(super) fn in_unread_folders(&mut self, path: &str) {
        let end = format!("/{}", path.to_ascii_lowercase());
        let name = path.rsplit('/').next().unwrap_or(path).as_bytes();
        let is_named = |file: &VfsFile| file.name().eq_ignore_ascii_case(name);
        let files = self.vfs.files().filter(is_named);
        let deeper = files.filter(|file| file.path().to_ascii_lowercase().ends_with(&end));
        let found = deeper.filter_map(|file| self.out_of_place(&file)).take(SAME_NAMES_MAX);
        let found: Vec<FateReason> = found.collect();
        self.reasons.extend(found);
    }

    /// The paths of the files that have a name.
    pub(super) fn named(&self, name: &str) -> Vec<String> {
        let is_alike = |it: &String| it.rsplit('/').next().is_some_and(|it| it.eq_ignore_ascii_case(name));
        let mut alike: Vec<String> = self.vfs.files().map(|file| file.path()).filter(is_alike).collect();
        alike.retain(|path| !self.is_in_hidden_folder(path));
        alike.sort_unstable();
        alike
    }

    pub(super) fn same_names(&mut self, path: &str) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let alike = self.named(name);
        let is_bare = !path.contains('/');
        for path in alike.iter().take(SAME_NAMES_MAX) {
            self.add(same_name(path));
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
        for off in self.mods_off().iter() {
            let alike = self.walk(&off.folder).into_iter();
            let alike = alike.filter(|path| is_named(path) && self.disk.is_file(path));
            found.extend(alike.map(|path| off.reason(&path)));
        }
        for (_, mods) in self.mod_lists() {
            for folder in mods.enabled.iter().map(|it| mods.folder.join(it)) {
                let is_hidden = |path: &Path| {
                    let within = path.ancestors().take_while(|it| *it != folder);
                    within.into_iter().any(|it| is_marked(mods, it))
                };
                let alike = self.walk(&folder).into_iter();
                let alike = alike.filter(|path| is_named(&without_mark(mods, path)) && is_hidden(path));
                found.extend(alike.map(|path| FateReason::new(Fate::Off, "mo2-hidden", &path, HIDDEN)));
            }
        }
        let not_loaded = self.notes().filter(|note| is_of_archive_not_loaded(note));
        for note in not_loaded.take(ARCHIVES_MAX) {
            if let Ok(Some(path)) = self.look_up(Path::new(&note.subject), Wanted::Name(name.to_owned())) {
                let reason = self.not_loaded(note);
                let text = format!("this archive has {path}, but is {}", reason.text);
                found.push(FateReason { text, ..reason });
            }
        }
        if !found.is_empty() {
            // Its path in the game is longer than its name.
            self.path = None;
        }
        self.reasons.append(&mut found);
    }
}

/// The copy that the game uses.
pub(super) fn used(winner: &VfsFile) -> FateReason {
    let text = format!("the game has {} from here", winner.path());
    FateReason::new(Fate::Wins, "there", winner.layer().path(), text)
}

pub(super) fn same_name(path: &str) -> FateReason {
    FateReason::remark(SAME_NAME, Path::new(path), "there is a file with this name at another path")
}
