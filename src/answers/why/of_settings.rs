//! Whether a game reads an INI file or a list, and whether Mod Organizer uses a profile.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::investigation::{Investigation, is_called};
use crate::answers::fate::{Fate, FateReason};
use crate::game::caseless::same;
use crate::game::{LoadOrder, selected_profile};
use crate::note::{Note, NoteCode};
use crate::shown::Shown;
use crate::system::text::count;

/// Lists of plugins, mods and paths that games and managers read.
const LISTS: [&str; 4] = ["Plugins.txt", "loadorder.txt", "modlist.txt", "ArchiveInvalidation.txt"];

/// Whether a file of this name has settings or is a list.
pub(super) fn is_settings(name: &str) -> bool {
    let ends = |end: &&str| name.to_ascii_lowercase().ends_with(*end);
    [".ini", ".ccc"].iter().any(ends) || LISTS.iter().any(|it| same(it, name))
}

impl Investigation<'_> {
    pub(super) fn settings(&mut self, name: &str) {
        for order in self.orders {
            let read = self.read_by(order);
            for (path, text) in read.iter().filter(|(path, _)| is_called(path, name)) {
                self.is_there = true;
                self.add(FateReason::new(Fate::Wins, "there", path, text));
            }
            let Some(installation) = &order.installation else { continue };
            let folders = [&installation.my_games, &Some(installation.folder.clone()), &order.profile]
                .map(Clone::clone);
            let local = [&installation.local].map(Clone::clone);
            let others = installation.prefixes.iter().flat_map(|it| [it.my_games.clone(), it.local.clone()]);
            let mut unread: Vec<PathBuf> = Vec::new();
            for folder in folders.into_iter().chain(local).chain(others).flatten() {
                unread.extend(self.disk.find_file(&folder, name));
            }
            let mut seen = HashSet::new();
            unread.retain(|file| seen.insert(file.clone()) && read.iter().all(|(path, _)| path != file));
            for file in unread {
                let reason = self.not_read(&file);
                self.add(reason);
            }
        }
    }

    /// Answers for one file with settings, or for one list.
    pub(super) fn settings_at(&mut self, path: &Path) {
        let read: Vec<_> = self.orders.iter().flat_map(|order| self.read_by(order)).collect();
        let reason = match read.iter().find(|(it, _)| self.is_one_file(it, path)) {
            Some((read, text)) => {
                self.is_there = true;
                FateReason::new(Fate::Wins, "there", read, text)
            }
            None => self.not_read(path),
        };
        self.add(reason);
    }

    /// The settings files and lists that a game or its manager reads, with what is said of each.
    fn read_by(&self, order: &LoadOrder) -> Vec<(PathBuf, String)> {
        let inis = order.inis.iter().map(|it| (it.clone(), "the game reads this file".to_owned()));
        let mut read: Vec<(PathBuf, String)> = inis.collect();
        let list = order.plugin_list.iter().filter(|_| order.because_plugins.is_empty());
        read.extend(list.map(|it| (it.clone(), "the game reads this list of plugins".to_owned())));
        let mods = order.profile.iter().filter(|_| order.mods.is_some());
        let mods = mods.filter_map(|it| self.disk.find_file(it, "modlist.txt"));
        read.extend(mods.map(|it| (it, "Mod Organizer reads this list of mods".to_owned())));
        if let Some(installation) = &order.installation {
            let club = installation.creation_club(&self.disk).filter(|_| order.because_plugins.is_empty());
            read.extend(club.map(|it| (it, "the game reads this list of the Creation Club".to_owned())));
        }
        let invalidated = order.notes.iter().filter(|note| note.code == NoteCode::ArchiveInvalidation);
        read.extend(invalidated.map(|note| (PathBuf::from(&note.subject), note.to_string())));
        read
    }

    /// Why the game does not read a file with settings or a list.
    fn not_read(&self, path: &Path) -> FateReason {
        let is_about = |note: &&Note| {
            matches!(note.code, NoteCode::SettingsIgnored | NoteCode::SettingsUnreached)
                && Path::new(&note.subject) == path
        };
        if let Some(note) = self.notes().find(is_about) {
            return FateReason { fate: Some(Fate::Ignored), ..FateReason::of(note) };
        }
        let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        let lists = || self.orders.iter().filter_map(|it| it.plugin_list.as_ref());
        let inis = || self.orders.iter().flat_map(|it| &it.inis);
        let read: Vec<&PathBuf> =
            if same(name, "Plugins.txt") { lists().collect() } else { inis().collect() };
        let read: Vec<String> = read.iter().map(|it| it.shown().to_string()).collect();
        let because = self.orders.iter().map(|it| &it.because_plugins).find(|it| !it.is_empty());
        let text = match because.filter(|_| lists().any(|list| self.is_one_file(list, path))) {
            Some(because) => {
                format!(
                    "the game does not read its list of plugins, because test files replace it: {because}"
                )
            }
            None if LISTS[1..].iter().any(|it| same(it, name)) => "the game does not read this file".into(),
            None if read.is_empty() => "the game does not read this file; it reads none of this kind".into(),
            None => format!("the game does not read this file; it reads {}", read.join(", ")),
        };
        FateReason::new(Fate::Ignored, NoteCode::SettingsIgnored.as_str(), path, text)
    }

    /// Answers for a profile of Mod Organizer, or for a list in it. Returns whether it is one.
    pub(super) fn profile(&mut self, path: &Path) -> bool {
        let orders = self.orders;
        for order in orders {
            let Some(used) = &order.profile else { continue };
            let is_mods = is_called(path, "modlist.txt");
            let is_plugins = || order.plugin_list.as_ref().is_some_and(|it| self.is_one_path(it, path));
            let is_in_used = || path.parent().is_some_and(|folder| self.is_one_path(folder, used));
            if self.disk.is_file(path) && is_in_used() && (is_mods || is_plugins()) {
                let (who, what) = if is_mods { ("Mod Organizer", "mods") } else { ("the game", "plugins") };
                self.is_there = true;
                self.add(FateReason::new(
                    Fate::Wins,
                    "there",
                    path,
                    format!("{who} reads this list of {what}"),
                ));
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
                    self.add(FateReason::new(Fate::Off, "mo2-profile-off", path, text));
                }
                None => {
                    let mods = order.mods.as_ref().map_or(0, |it| it.enabled.len());
                    let text = format!("Mod Organizer has this profile selected; {} on", count(mods, "mod"));
                    self.is_there = true;
                    self.add(FateReason::new(Fate::Wins, "there", path, text));
                }
            }
            return true;
        }
        false
    }
}
