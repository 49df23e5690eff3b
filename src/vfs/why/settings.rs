//! Whether a game reads an INI file, and whether Mod Organizer uses a profile.

use std::path::Path;

use super::answer::{Answer, is_called};
use crate::game::selected_profile;
use crate::note::NoteCode;
use crate::shown::Shown;
use crate::system::text::count;
use crate::vfs::fate::{Cause, Fate};

impl Answer<'_> {
    pub(super) fn settings(&mut self, name: &str) {
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

    /// Answers for one INI file.
    pub(super) fn settings_at(&mut self, path: &Path) {
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
}
