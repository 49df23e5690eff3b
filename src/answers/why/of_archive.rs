//! Why a game does not load an archive.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::investigation::{Investigation, NOT_FOUND, UNOPENED, is_called, without_ghost};
use super::of_file::used;
use crate::answers::fate::{Fate, FateReason};
use crate::game::caseless::same;
use crate::game::{
    AttachRule, Installation, LayerKind, LoadOrder, OrderLayer, decode_ini, ini_list, why_not_attached,
};
use crate::kinds::PLUGINS;
use crate::note::{Note, NoteCode, NoteRule};
use crate::shown::Shown;
use crate::vfs::file::VfsFile;

/// Maximum number of INI files of a folder that are searched.
const INIS_MAX: usize = 200;
/// Maximum number of numbered keys of an INI file that are looked up.
const NUMBERS_MAX: u32 = 64;
/// Maximum number of archives for which settings and plugins are searched that may load them.
const HINTS_MAX: usize = 100;

/// The place in an INI file that lists an archive.
struct Listing {
    section: String,
    key: String,
}

impl<'a> Investigation<'a> {
    /// Answers for all archives of a name.
    pub(super) fn archive(&mut self, name: &str) {
        self.archives(&|path| is_called(path, name));
        if !self.is_there {
            let mut found = self.kept_away(name);
            found.extend(self.at_top_of_mods(name));
            self.reasons.append(&mut found);
        }
    }

    /// Answers for one archive.
    pub(super) fn archive_at(&mut self, archive: &Path) {
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
        let off = self.mods_off().iter().find(|off| folder.starts_with(&off.folder)).cloned();
        let within = archive.file_name().and_then(|it| it.to_str()).unwrap_or_default().to_owned();
        match off {
            Some(off) => self.add(off.reason(archive)),
            None => {
                let before = self.reasons.len();
                let found = self.kept_away(&within);
                self.reasons.extend(found);
                if self.reasons.len() == before {
                    let text = "the game does not look for archives here";
                    self.add(FateReason::new(Fate::NotLoaded, "not-loaded", archive, text));
                }
            }
        }
    }

    /// Answers for a file of an archive that is named by the path of the archive.
    pub(super) fn in_archive(&mut self, archive: &Path, inner: &str) {
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
        let deleted = self.deleted_at(archive, inner);
        if !deleted.is_empty() {
            return self.reasons.extend(deleted);
        }
        match self.has_path(archive, inner) {
            Ok(true) => {
                self.archive_at(archive);
                if std::mem::take(&mut self.is_there) {
                    self.reasons = self.in_archives(inner);
                }
            }
            Ok(false) => {
                let text = "the archive has no file with this path";
                self.add(FateReason::new(Fate::NotHere, NOT_FOUND, archive, text));
            }
            Err(why) => self.add(FateReason::new(Fate::NotLoaded, UNOPENED, archive, why)),
        }
    }

    /// The layer that an archive is.
    pub(super) fn layer_of_archive(&self, path: &Path) -> Option<&'a OrderLayer> {
        let layers = self.orders.iter().flat_map(|order| &order.layers);
        let mut archives = layers.filter(|layer| layer.what == LayerKind::Archive);
        archives.find(|layer| self.is_one_file(&layer.path, path))
    }

    fn archives(&mut self, is_named: &dyn Fn(&Path) -> bool) {
        let (is_there, reasons) = self.of_archives(is_named);
        self.is_there |= is_there;
        self.reasons.extend(reasons);
    }

    /// Whether the game loads one of some archives, and the reasons.
    fn of_archives(&self, is_named: &dyn Fn(&Path) -> bool) -> (bool, Vec<FateReason>) {
        let (mut is_there, mut reasons) = (false, Vec::new());
        let opened: HashSet<PathBuf> = self.vfs.layers().map(|layer| layer.path().to_owned()).collect();
        let layers = self.orders.iter().flat_map(|order| &order.layers);
        for layer in layers.filter(|layer| layer.what == LayerKind::Archive && is_named(&layer.path)) {
            if opened.contains(&layer.path) {
                is_there = true;
                let text = format!("the archive is loaded: {}", layer.why);
                reasons.push(FateReason::new(Fate::Wins, "there", &layer.path, text));
            } else {
                let why = self.has_path(&layer.path, "").err().unwrap_or_default();
                let text = format!("the game loads this archive, but it cannot be opened: {why}");
                reasons.push(FateReason::new(Fate::NotLoaded, UNOPENED, &layer.path, text));
            }
        }
        let noted = self.notes().filter(|note| is_named(Path::new(&note.subject)));
        reasons.extend(noted.map(|note| self.not_loaded(note)));
        (is_there, reasons)
    }

    /// The reason that a note on an archive gives. If nothing lists the archive, adds which settings or
    /// plugin the user may have meant to load it.
    pub(super) fn not_loaded(&self, note: &Note) -> FateReason {
        let reason = FateReason::of(note);
        let name = Path::new(&note.subject).file_name().and_then(|it| it.to_str());
        let is_unlisted = note.because.rule == NoteRule::InNoList;
        let Some(name) = name.filter(|_| is_unlisted && self.hinted.get() < HINTS_MAX) else { return reason };
        self.hinted.set(self.hinted.get() + 1);
        let listed = self.orders.iter().find_map(|order| self.listed_in_vain(order, name));
        let owner = self.orders.iter().find_map(|order| self.owner(order, name));
        let text = match (listed, owner) {
            (None, None) => return reason,
            (Some(listed), None) => format!("not loaded: {listed}"),
            (None, Some(owner)) => format!("not loaded: no INI file lists it, and {owner}"),
            (Some(listed), Some(owner)) => format!("not loaded: {listed}; {owner}"),
        };
        FateReason { text, ..reason }
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
        let names = stems.flat_map(|stem| PLUGINS.iter().map(move |ending| format!("{stem}.{ending}")));
        names.into_iter().find_map(|plugin| self.state_of(order, &plugin))
    }

    /// The state of a plugin, if there is one of this name.
    fn state_of(&self, order: &LoadOrder, plugin: &str) -> Option<String> {
        let has = |folder: &Path| self.disk.find_file(folder, plugin).is_some();
        let missing =
            |note: &Note| note.code == NoteCode::PluginMissing && same(without_ghost(&note.subject), plugin);
        if let Some(active) = order.plugins.iter().find(|it| same(it, plugin)) {
            return Some(why_not_attached(order.installation.as_ref()?.title.attach, active));
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
        if self.mods_off().iter().any(|off| has(&off.data)) {
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
}
