//! Why a plugin is not active.

use std::path::{Path, PathBuf};

use super::investigation::{Investigation, ghost, is_called, without_ghost};
use crate::answers::fate::{Fate, FateReason};
use crate::game::caseless::same;
use crate::game::{ActiveRule, LayerKind, LoadOrder, OPENMW_CFG, OrderLayer, ReadList};
use crate::note::{Note, NoteCode, NoteRule};
use crate::shown::Shown;

impl Investigation<'_> {
    pub(super) fn plugin(&mut self, thing: &str) {
        let name = without_ghost(thing);
        for order in self.orders {
            if let Some(at) = order.plugins.iter().position(|it| same(it, name)) {
                self.is_there = true;
                let text = format!("the plugin is active, as number {} of {}", at + 1, order.plugins.len());
                self.add(FateReason::new(Fate::Wins, "active", Path::new(name), text));
            } else if order.loads(name) {
                self.is_there = true;
                let text = "the plugin is loaded as groundcover, beside the others";
                self.add(FateReason::new(Fate::Wins, "active", Path::new(name), text));
            }
        }
        let is_about = |note: &&Note| {
            let is_named = matches!(note.code, NoteCode::PluginMissing | NoteCode::PluginTwice)
                && same(without_ghost(&note.subject), name);
            let is_left_out =
                note.code == NoteCode::LooseDisabled && is_called(Path::new(&note.subject), name);
            let needs = matches!(&note.because.rule, NoteRule::NeededBy(plugin) if same(plugin, name));
            is_named || is_left_out || needs
        };
        let mut noted: Vec<FateReason> = self.notes().filter(is_about).map(FateReason::of).collect();
        // That the plugin is not where the game looks follows from why its copies are not there.
        noted.sort_by_key(|it| it.fate == Some(Fate::NotHere));
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
                    found.push(FateReason::remark("other-list", &list, text));
                }
            }
        }
        found.extend(self.at_top_of_mods(name));
        self.reasons.append(&mut found);
    }

    /// What keeps a plugin or an archive in a folder of the game from it.
    pub(super) fn kept_away(&self, name: &str) -> Vec<FateReason> {
        let mut found = self.deleted(name);
        found.extend(self.hidden_in_mods(name));
        found.extend(self.dangling(name));
        found.extend(self.beside(name));
        found
    }

    /// A plugin or an archive that the user hid in Mod Organizer.
    pub(super) fn hidden_in_mods(&self, name: &str) -> Vec<FateReason> {
        let mut hidden = Vec::new();
        for (order, mods) in self.mod_lists() {
            let layers = order.layers.iter().filter(|layer| layer.what == LayerKind::Folder);
            let enabled = mods.enabled.iter().map(|it| mods.folder.join(it));
            let folders = layers.map(|layer| layer.path.clone()).chain(enabled);
            hidden.extend(folders.filter_map(|folder| self.marked_hidden(mods, &folder, name)));
        }
        hidden
    }

    /// Plugins or archives of a name in mods that are off, or with nothing for the game at their top.
    pub(super) fn at_top_of_mods(&self, name: &str) -> Vec<FateReason> {
        let mut found = Vec::new();
        for off in self.mods_off().iter() {
            let names = self.disk.names(&off.data).unwrap_or_default();
            found.extend(names.get(name).map(|it| off.reason(&off.data.join(it))));
        }
        found.extend(self.not_deployed(name));
        found.extend(self.nested(name));
        found
    }

    /// Links of this name that lead nowhere.
    pub(super) fn dangling(&self, name: &str) -> Vec<FateReason> {
        let stored = |(_, layer): (_, &OrderLayer)| {
            let names = self.disk.names(&layer.path).ok()?;
            Some(layer.path.join(names.get(name)?))
        };
        let is_missing = |path: &PathBuf| {
            self.disk.metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        };
        let links = self.folders().filter_map(stored).filter(is_missing);
        links.map(|link| FateReason::of(&Note::dangling_link(link.to_string_lossy()))).collect()
    }

    /// The mods that have a file in a subfolder instead of at their top.
    fn nested(&self, name: &str) -> Vec<FateReason> {
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
        nested.filter(has).map(FateReason::of).collect()
    }

    /// Why an installed plugin is not active.
    pub(super) fn not_active(&self, order: &LoadOrder, plugin: &Path, name: &str) -> FateReason {
        let rule = order.installation.as_ref().map(|it| it.title.plugins.active);
        let is_in_my_games = order.installation.as_ref().is_some_and(|it| {
            let of_user = it.my_games.as_ref().filter(|_| it.title.data_in_my_games);
            of_user.is_some_and(|of_user| plugin.starts_with(of_user))
        });
        let text = match &order.plugin_list {
            _ if is_in_my_games => {
                "the game loads a plugin from here only if its own data folder has one of the same name"
                    .to_owned()
            }
            None if rule == Some(ActiveRule::GameFiles) => {
                let ini = order.inis.first().map_or("Morrowind.ini".into(), |it| it.shown().to_string());
                format!(
                    "the plugin is installed, but [Game Files] in {ini} does not name it; tick it in the \
                     launcher of the game, under Data Files"
                )
            }
            None if order.is_openmw() => {
                let ini = order.inis.last().map_or(OPENMW_CFG.into(), |it| it.shown().to_string());
                format!(
                    "the plugin is not active: {ini} has no content={name} or groundcover={name}; tick it \
                     in the launcher of OpenMW, under Data Files"
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
        FateReason { because, ..FateReason::new(Fate::NotLoaded, "plugin-inactive", plugin, text) }
    }

    /// Why a game does not take an installed plugin from its list.
    fn why_not_taken(&self, order: &LoadOrder, list: &Path, name: &str) -> String {
        let rule = order.installation.as_ref().map(|it| it.title.plugins.active);
        // If a folder on the way cannot be entered, the note is about that.
        let is_unread = order.notes.iter().any(|it| it.code.is_unseen() && list.starts_with(&it.subject));
        let (read, list) = (&order.listed_plugins, list.shown());
        if is_unread {
            return format!("the plugin is installed, but {list} could not be looked at");
        }
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
            _ => {
                let ignored =
                    |note: &&Note| note.code == NoteCode::PluginIgnored && same(&note.subject, name);
                let ignored = order.notes.iter().find(ignored).map(Note::to_string);
                ignored.unwrap_or_else(|| format!("the plugin is in {list}, but the game does not take it"))
            }
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
}
