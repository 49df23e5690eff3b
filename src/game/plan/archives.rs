//! Decides which archives a game loads and in which order, with notes on the others.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::data::DataFolders;
use super::plugins::{ghosted, stem};
use crate::format::is_archive_name;
use crate::game::caseless::fold;
use crate::game::precedence::{ArchiveRule, Confidence};
use crate::game::settings::ini::{Ini, IniFiles, list};
use crate::game::settings::settings_text::{decode_list, lines};
use crate::game::titles::title::{AttachRule, LooseSetting, Title};
use crate::kinds::{PLUGINS, ends};
use crate::note::{Because, Note, NoteCode, NoteRule, Setting};
use crate::shown::{Shown, excerpt};

#[derive(Clone, Debug)]
pub(crate) struct LoadedArchive {
    /// The name as the list spells it, or as the disk does if the archive is loaded because of its plugin.
    /// New Vegas ranks names case-sensitively.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) why: String,
    /// The plugin that it is attached to. `None` if a list names it.
    pub(crate) plugin: Option<String>,
}

/// Maximum number of listed names with a folder (`a/b.bsa`) that are looked up. Unmodified games list none,
/// and each lookup searches the folder of every mod.
const PATHS_MAX: usize = 64;

/// Collects the archives that the game loads, in load order.
pub(crate) struct ArchivePlanner<'a> {
    title: &'a Title,
    data: &'a DataFolders,
    /// Finds a file in a subfolder of a data folder; see [`Self::find`].
    find_in_subfolder: &'a dyn Fn(&str) -> Option<PathBuf>,
    /// Number of paths that were looked up with `find_in_subfolder`.
    looked_up: usize,
    language: &'a str,
    names: SortedNames,
    pub(crate) loaded: Vec<LoadedArchive>,
    /// Archives of lists that sources do not agree on.
    doubts: Vec<String>,
    /// For archives that only some tools attach, the plugin to which they attach it.
    disputed: HashMap<String, String>,
    /// The active plugin that each archive seems to belong to, by the folded name of the archive.
    named_after: HashMap<String, String>,
    /// For archives that a setting switches off, the key of the setting.
    switched_off: HashMap<String, &'static str>,
    /// For archives in a list that another INI file replaces, the reason why they are not loaded.
    replaced: HashMap<String, (String, Setting)>,
    /// Folded names that were loaded or noted as missing, so that each is handled once.
    seen: HashSet<String>,
    pub(crate) notes: Vec<Note>,
}

impl<'a> ArchivePlanner<'a> {
    /// `find_in_subfolder` finds a file in a subfolder of a data folder by its path.
    pub(crate) fn new(
        title: &'a Title,
        data: &'a DataFolders,
        language: &'a str,
        find_in_subfolder: &'a dyn Fn(&str) -> Option<PathBuf>,
    ) -> Self {
        let all = data.all();
        let names = SortedNames::new(
            all.iter().map(|found| found.name()).filter(|name| is_archive_name(name.as_bytes())),
        );
        Self {
            title,
            data,
            find_in_subfolder,
            looked_up: 0,
            language,
            names,
            loaded: Default::default(),
            doubts: Vec::new(),
            disputed: Default::default(),
            named_after: Default::default(),
            switched_off: Default::default(),
            replaced: Default::default(),
            seen: Default::default(),
            notes: Default::default(),
        }
    }

    /// Adds the archives that the game always loads, those of all lists except the last, and those that a
    /// setting switches on.
    pub(crate) fn load_lists(&mut self, inis: &IniFiles) {
        for name in self.title.lists.first {
            self.load(name, "always loaded first", true);
        }
        for (key, vanilla) in self.title.lists.keys {
            self.load_key(inis, key, vanilla);
        }
        if let Some((key, section, setting)) = self.title.lists.optional
            && inis.is_set(section, setting, true)
        {
            let before = self.loaded.len();
            self.load_key(inis, key, "");
            if self.loaded.len() > before {
                self.doubts.push(format!("only few sources know the list {key}, which names archives"));
            }
        }
        for name in self.title.lists.hard_coded {
            self.load(name, "always loaded, after the listed archives", false);
        }
        for &(section, key, name) in self.title.lists.switched {
            if inis.is_set(section, key, false) {
                self.load(name, &format!("loaded because {key} is set"), false)
            } else {
                self.switched_off.insert(fold(name), key);
            }
        }
    }

    /// Loads the archives of the list that comes after plugins.
    pub(crate) fn load_last_list(&mut self, inis: &IniFiles) {
        if let Some((key, vanilla)) = &self.title.lists.last {
            self.load_key(inis, key, vanilla);
        }
    }

    /// Loads the archives that a plugin's INI file lists.
    pub(crate) fn load_plugin_ini(&mut self, label: &str, ini: &Ini, confidence: Confidence) {
        let before = self.loaded.len();
        for (key, _) in self.title.lists.keys {
            let value = ini.get(self.title.lists.section, key).unwrap_or_default();
            for name in list(value) {
                self.load(name, &format!("{key} in {label}, the INI file of a plugin"), true);
            }
        }
        if confidence < Confidence::High && self.loaded.len() > before {
            self.doubts
                .push(format!("not all sources say that the game loads the archives that {label} lists"));
        }
    }

    /// Loads the archives that belong to an active plugin. `place` is its place in the load order.
    pub(crate) fn load_attached(&mut self, plugin: &str, place: &str) {
        let names = std::mem::take(&mut self.names);
        for archive in attached(self.title.attach, plugin, self.language, &names) {
            let before = self.loaded.len();
            self.load(archive, &format!("attached to {plugin} ({place})"), false);
            if let Some(loaded) = self.loaded.get_mut(before) {
                loaded.plugin = Some(plugin.to_owned());
            }
        }
        for archive in disputed(self.title.attach, plugin, &names) {
            self.disputed.entry(fold(archive)).or_insert_with(|| plugin.to_owned());
        }
        for archive in named_after(self.title.attach, plugin, &names) {
            self.named_after.entry(fold(archive)).or_insert_with(|| plugin.to_owned());
        }
        self.names = names;
    }

    /// On which archives here sources do not agree.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let is_settled = |name: &str| self.seen.contains(name) || self.switched_off.contains_key(name);
        let mut disputed: Vec<&String> =
            self.disputed.iter().filter(|(name, _)| !is_settled(name)).map(|(_, plugin)| plugin).collect();
        disputed.sort_unstable();
        disputed.dedup();
        let text = |plugin: &&String| format!("some tools load more archives of {plugin} than the game does");
        self.doubts.iter().cloned().chain(disputed.first().map(text)).collect()
    }

    /// Adds notes on archives that are not loaded. `inactive` are the inactive plugins.
    pub(crate) fn report_others<'p>(&mut self, inactive: impl Iterator<Item = &'p str>) {
        let mut owners: HashMap<&str, &str> = HashMap::new();
        for plugin in inactive {
            for archive in attached(self.title.attach, plugin, self.language, &self.names) {
                owners.entry(archive).or_insert(plugin);
            }
        }
        let mut notes = Vec::new();
        let all = self.data.all();
        let mut ghosts: HashMap<&str, &str> = HashMap::new();
        for ghost in all.iter().map(|found| found.name()) {
            let of_ghost =
                ghosted(ghost).map(|plugin| attached(self.title.attach, plugin, self.language, &self.names));
            for archive in of_ghost.into_iter().flatten() {
                ghosts.entry(archive).or_insert(ghost);
            }
        }
        for found in all.iter().filter(|found| is_archive_name(found.name().as_bytes())) {
            if self.seen.contains(&fold(found.name())) {
                continue;
            }
            let (code, text) = match (owners.get(found.name()), of_archive(found.name())) {
                (Some(plugin), _) => {
                    (NoteCode::ArchiveInactive, format!("not loaded: its plugin {plugin} is not active"))
                }
                (None, _) if ghosts.contains_key(found.name()) => {
                    let text = format!(
                        "not loaded: its plugin is ghosted ({}), so the game does not see it",
                        ghosts[found.name()]
                    );
                    (NoteCode::ArchiveInactive, text)
                }
                (None, Some(archive_language)) if archive_language != self.language => {
                    let text = format!(
                        "not loaded: its language is {archive_language}, but the game's is {}",
                        self.language
                    );
                    (NoteCode::ArchiveLanguage, text)
                }
                _ => {
                    let (text, because) = self.why_unlisted(&fold(found.name()));
                    let note = Note::new(NoteCode::ArchiveUnlisted, found.path().to_string_lossy(), text);
                    notes.push(note.because(because));
                    continue;
                }
            };
            notes.push(Note::new(code, found.path().to_string_lossy(), text));
        }
        for hidden in
            self.data.hidden().into_iter().filter(|hidden| is_archive_name(hidden.name().as_bytes()))
        {
            if let Some(winner) = self.data.find(hidden.name()) {
                let text = format!(
                    "not loaded: {} has the same name and is in a higher folder",
                    winner.path().shown()
                );
                notes.push(Note::new(NoteCode::ArchiveShadowed, hidden.path().to_string_lossy(), text));
            }
        }
        let is_override =
            |name: &str| self.title.archives.0 == ArchiveRule::NewVegas && fold(name).ends_with(".OVERRIDE");
        for found in all.iter().filter(|found| is_override(found.name())) {
            let is_installed = self
                .title
                .inis
                .files
                .iter()
                .filter_map(|file| file.needs)
                .any(|needs| needs.paths.iter().any(|path| (self.find_in_subfolder)(path).is_some()));
            let text = if is_installed {
                "JIP LN NVSE puts the archive with this name above others; bsafs does not"
            } else {
                "it has no effect without JIP LN NVSE (NVSE/Plugins/jip_nvse.dll), which is not there"
            };
            notes.push(Note::new(NoteCode::OverrideFile, found.path().to_string_lossy(), text));
        }
        self.notes.append(&mut notes);
    }

    /// Why nothing loads an archive, by its folded name, and what decided it.
    fn why_unlisted(&self, folded: &str) -> (String, Because) {
        let replaced = self.replaced.get(folded);
        let because = replaced.map(|(_, setting)| Because::of(vec![setting.clone()])).unwrap_or_default();
        if let Some(key) = self.switched_off.get(folded) {
            return (format!("not loaded: {key} is not set"), because);
        }
        if let Some((why, _)) = replaced {
            return (why.clone(), because);
        }
        match self.disputed.get(folded) {
            Some(plugin) => {
                let text = format!(
                    "not loaded: the game loads no archive of {plugin} with this ending, but some tools do"
                );
                (text, because)
            }
            None => {
                let why = self.named_after.get(folded).map(|it| why_not_attached(self.title.attach, it));
                let why = why.unwrap_or_else(|| match self.title.attach {
                    AttachRule::None => "the game loads no archives of plugins".to_owned(),
                    _ => "it belongs to no plugin".to_owned(),
                });
                let text = format!("not loaded: no INI file lists it, and {why}");
                (text, Because::rule(NoteRule::InNoList))
            }
        }
    }

    /// Loads the archives of a key, or the game's default archives if no INI file has the key.
    fn load_key(&mut self, inis: &IniFiles, key: &str, vanilla: &str) {
        let section = self.title.lists.section;
        // A key that ends in a space is numbered: `Archive 0`, `Archive 1`.
        if let Some(prefix) = key.strip_suffix(' ') {
            return self.load_numbered(inis, prefix, vanilla);
        }
        match inis.get(section, key) {
            Some((value, label)) => {
                self.report_length(key, value, label);
                for name in list(value) {
                    self.load(name, &format!("{key} in {label}"), true);
                }
                self.report_replaced(inis, key, vanilla, label);
            }
            None => self.load_vanilla(key, vanilla),
        }
    }

    /// Records which archives are only in lists that a higher INI file replaces, whose label is `label`.
    fn report_replaced(&mut self, inis: &IniFiles, key: &str, vanilla: &str, label: &str) {
        let section = self.title.lists.section;
        let setting = || inis.setting(section, key);
        for (value, below) in inis.replaced(section, key) {
            let why = || format!("not loaded: {below} lists it, but {label} replaces the list {key}");
            for name in list(value) {
                self.replaced.entry(fold(name)).or_insert_with(|| (why(), setting()));
            }
        }
        let why =
            || format!("not loaded: the game has it in its own list {key}, but {label} replaces this list");
        for name in list(vanilla) {
            let name = fold(&name.replace("{lang}", self.language));
            self.replaced.entry(name).or_insert_with(|| (why(), setting()));
        }
    }

    /// Loads the archives of `Archive 0=` and so on, up to the first missing number.
    fn load_numbered(&mut self, inis: &IniFiles, prefix: &str, vanilla: &str) {
        let section = self.title.lists.section;
        let keys: HashMap<String, &str> = (inis.iter())
            .flat_map(|(_, ini)| ini.keys(section).collect::<Vec<_>>().into_iter().rev())
            .map(|(key, value)| (fold(key), value))
            .collect();
        if inis.iter().all(|(_, ini)| ini.keys(section).next().is_none()) {
            return self.load_vanilla(prefix, vanilla);
        }
        for number in 0.. {
            let Some(name) = keys.get(&fold(&format!("{prefix} {number}"))) else { break };
            if !name.is_empty() {
                self.load(name, &format!("{prefix} {number}"), true);
            }
        }
    }

    fn load_vanilla(&mut self, key: &str, vanilla: &str) {
        for name in list(vanilla) {
            let name = name.replace("{lang}", self.language);
            self.load(&name, &format!("default of {key}, which no INI file sets"), false);
        }
    }

    /// Loads an archive, unless it is loaded already.
    fn load(&mut self, name: &str, why: &str, report_missing: bool) {
        let path = below_data(name);
        let folded = fold(path.as_deref().unwrap_or(name));
        if self.seen.contains(&folded) {
            return;
        }
        let found = path.as_deref().filter(|path| !path.is_empty()).and_then(|path| self.find(path));
        match found {
            Some(path) => {
                let (name, why) = (name.to_owned(), why.to_owned());
                self.loaded.push(LoadedArchive { name, path, why, plugin: None });
            }
            None if report_missing => {
                let text = match path {
                    Some(path) if path.contains('/') && self.looked_up > PATHS_MAX => {
                        format!("not looked up: the lists have more than {PATHS_MAX} paths ({why})")
                    }
                    Some(_) => format!("no data folder contains this archive ({why})"),
                    // Only xEdit is known to follow absolute paths, and the INI file is untrusted.
                    None => {
                        format!("not loaded: the path leads out of the data folder ({why})")
                    }
                };
                self.notes.push(Note::new(NoteCode::ArchiveMissing, excerpt(name), text));
            }
            None => return,
        }
        self.seen.insert(folded);
    }

    /// Finds a file by its path below the data folders, directly in one or in a subfolder.
    fn find(&mut self, path: &str) -> Option<PathBuf> {
        if !path.contains('/') {
            return self.data.find(path).map(|found| found.path());
        }
        self.looked_up += 1;
        if self.looked_up > PATHS_MAX {
            return None;
        }
        (self.find_in_subfolder)(path)
    }

    fn report_length(&mut self, key: &str, value: &str, label: &str) {
        let (length, limit) = (value.chars().count(), self.title.inis.list_limit);
        if length > limit {
            let text = format!("the list has {length} characters; the game may read only the first {limit}");
            self.notes.push(Note::new(NoteCode::ListTooLong, format!("{key} in {label}"), text));
        }
    }
}

// `ArchiveInvalidation.txt`, the paths that Oblivion, Fallout 3 and New Vegas ignore in archives.

/// The list's name in the INI files. `None` if they set none; the games' default is unknown.
pub(crate) fn list_name<'a>(title: &Title, inis: &'a IniFiles) -> Option<&'a str> {
    // Oblivion and New Vegas read the list. Fallout 3 is assumed to; no source confirms it.
    let reads_it = matches!(title.loose, LooseSetting::Dates | LooseSetting::Invalidate);
    let (name, _) = inis.get("Archive", "SInvalidationFile").filter(|_| reads_it)?;
    Some(name).filter(|name| !name.is_empty())
}

/// The paths in a list, in lower case with `/` between names.
pub(crate) fn paths(list: &[u8]) -> Vec<String> {
    let text = decode_list(list, encoding_rs::WINDOWS_1252);
    let paths = lines(&text).filter_map(below_data).map(|path| path.to_ascii_lowercase());
    paths.filter(|path| !path.is_empty()).collect()
}

// Finds the archives that belong to an active plugin, by their names.

/// Archive names sorted by folded name, as Windows and Wine list a folder.
#[derive(Clone, Debug, Default)]
pub(crate) struct SortedNames {
    /// Pairs of folded and stored name.
    names: Vec<(String, String)>,
}

impl SortedNames {
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut names: Vec<_> = names.map(|name| (fold(name), name.to_owned())).collect();
        names.sort_unstable();
        Self { names }
    }

    /// The names that begin with a folded prefix.
    fn beginning(&self, prefix: &str) -> &[(String, String)] {
        let start = self.names.partition_point(|(folded, _)| folded.as_str() < prefix);
        let rest = &self.names[start..];
        &rest[..rest.partition_point(|(folded, _)| folded.starts_with(prefix))]
    }

    /// The stored name for a folded one.
    fn exact(&self, folded: &str) -> Option<&str> {
        let found = self.beginning(folded).iter().find(|(name, _)| name == folded);
        found.map(|(_, name)| name.as_str())
    }
}

/// The plugin of Fallout 4's High Resolution Texture Pack, the only one whose archives have numbers.
const HIGH_RESOLUTION: &str = "DLCULTRAHIGHRESOLUTION";

/// The archives that belong to an active plugin, in load order.
pub(crate) fn attached<'a>(
    rule: AttachRule,
    plugin: &str,
    language: &str,
    archives: &'a SortedNames,
) -> Vec<&'a str> {
    let stem = fold(stem(plugin));
    let exact = |suffixes: &[&str]| -> Vec<&'a str> {
        let folded = suffixes.iter().map(|suffix| stem.clone() + &fold(&suffix.replace("{lang}", language)));
        folded.filter_map(|name| archives.exact(&name)).collect()
    };
    match rule {
        AttachRule::None => Vec::new(),
        AttachRule::PrefixOfEsp(_) if !ends(plugin, &PLUGINS[..1]) => Vec::new(),
        AttachRule::PrefixOfEsp(extension) | AttachRule::Prefix(extension) => {
            let extension = fold(extension);
            let of_kind = archives.beginning(&stem).iter().filter(|(folded, _)| folded.ends_with(&extension));
            of_kind.map(|(_, name)| name.as_str()).collect()
        }
        AttachRule::Exact(suffixes) => exact(suffixes),
        AttachRule::Fallout4(suffixes) => {
            let mut found = exact(suffixes);
            // In English the last two suffixes are equal.
            found.dedup();
            if stem == HIGH_RESOLUTION {
                found.extend(numbered(&(stem + " - TEXTURES"), ".BA2", archives));
            }
            found
        }
    }
}

/// The archives that some tools attach to an active plugin by a more generous rule than the game's.
pub(crate) fn disputed<'a>(rule: AttachRule, plugin: &str, archives: &'a SortedNames) -> Vec<&'a str> {
    if !matches!(rule, AttachRule::Fallout4(_)) {
        return Vec::new();
    }
    let stem = fold(stem(plugin));
    let is_part = |folded: &str| {
        let part = folded.strip_prefix(stem.as_str()).and_then(|rest| rest.strip_suffix(".BA2"));
        part.is_some_and(|part| part.is_empty() || part.starts_with(" - "))
    };
    let all = archives.beginning(&stem).iter().filter(|(folded, _)| is_part(folded));
    // Voices of other languages are not disputed.
    all.map(|(_, name)| name.as_str()).filter(|name| of_archive(name).is_none()).collect()
}

/// The archives that are named after an active plugin, whether or not they belong to it.
fn named_after<'a>(rule: AttachRule, plugin: &str, archives: &'a SortedNames) -> Vec<&'a str> {
    if matches!(rule, AttachRule::None) {
        return Vec::new();
    }
    let stem = fold(stem(plugin));
    let is_its = |folded: &str| {
        let rest = folded.strip_prefix(stem.as_str()).and_then(|rest| rest.rsplit_once('.'));
        rest.is_some_and(|(part, _)| part.is_empty() || part.trim_start().starts_with('-'))
    };
    let all = archives.beginning(&stem).iter().filter(|(folded, _)| is_its(folded));
    all.map(|(_, name)| name.as_str()).collect()
}

/// Why a game does not load an archive that is named after an active plugin.
pub(crate) fn why_not_attached(rule: AttachRule, plugin: &str) -> String {
    match rule {
        AttachRule::PrefixOfEsp(_) if !ends(plugin, &PLUGINS[..1]) => {
            format!("the game attaches archives only to .esp plugins, not to {plugin}")
        }
        _ => format!("the game loads no archive of {plugin} with this ending"),
    }
}

/// The archives whose folded name has only digits between these parts.
fn numbered<'a>(before: &str, behind: &str, archives: &'a SortedNames) -> impl Iterator<Item = &'a str> {
    let is_one = move |folded: &str| {
        let number = folded.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
        number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let all = archives.beginning(before).iter().filter(move |(folded, _)| is_one(folded));
    all.map(|(_, name)| name.as_str())
}

// The order in which Fallout: New Vegas searches its archives.
//
// The game searches its list from the front. It appends an archive of the base game at the end, and inserts
// any other before the first archive of a lower rank, or at the front if there is none. So mods come before
// the official add-ons, and these before the base game. Among equals, the archive loaded first comes first.

/// Parts of the names of official archives, case-sensitive, by rank.
const OFFICIAL: [&str; 6] = ["Fallo", "DeadM", "Hones", "Lones", "OldWo", "Updat"];

/// The rank of a mod's archive.
const MOD: usize = OFFICIAL.len();

/// Maximum number of archives to rank, many times what a game opens. Ranking takes quadratic time.
const RANKED_MAX: usize = 1 << 14;

/// Indexes of archives in search order. `names` are in load order and in the game's spelling.
pub(crate) fn searched<'a>(names: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let mut list: Vec<(usize, Marks)> = Vec::new();
    for (index, name) in names.enumerate() {
        let marks = Marks::of(name);
        if marks.has(0) || index >= RANKED_MAX {
            list.push((index, marks));
            continue;
        }
        let at = list.iter().position(|(_, other)| marks.goes_before(*other)).unwrap_or(0);
        list.insert(at, (index, marks));
    }
    list.into_iter().map(|(index, _)| index).collect()
}

/// What two archives belong to if they have one rank, so that the one loaded first wins.
pub(crate) fn common_rank(one: &str, other: &str) -> Option<&'static str> {
    let rank = |name: &str| Some(Marks::of(name)).filter(|it| !it.has(0)).map_or(0, Marks::rank);
    match rank(one) {
        of_one if of_one != rank(other) => None,
        0 => Some("the base game"),
        MOD => Some("mods"),
        _ => Some("one add-on"),
    }
}

/// Which of [`OFFICIAL`] a name contains, one bit each.
#[derive(Clone, Copy, Debug)]
struct Marks(u8);

impl Marks {
    fn of(name: &str) -> Self {
        Self((0..MOD).filter(|&rank| name.contains(OFFICIAL[rank])).map(|rank| 1 << rank).sum())
    }

    fn has(self, rank: usize) -> bool {
        self.0 & (1 << rank) != 0
    }

    fn rank(self) -> usize {
        (1..MOD).find(|&rank| self.has(rank)).unwrap_or(MOD)
    }

    fn goes_before(self, other: Self) -> bool {
        let rank = self.rank();
        other.has(0)
            || other.has(1)
            || (rank > 1 && other.has(2))
            || (rank > 2 && other.has(3))
            || (rank > 3 && (other.has(4) || other.has(5)))
    }
}

// Archive names in lists that are paths, below the data folder or out of it.

/// The path below the data folder that a listed name means, with `/` between names. `None` if it
/// has a drive, starts at a root or leads out. `..` is resolved lexically, as on Windows.
pub(crate) fn below_data(name: &str) -> Option<String> {
    if name.contains(':') || name.starts_with(['/', '\\']) {
        return None;
    }
    let mut path: Vec<&str> = Vec::new();
    for part in name.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => drop(path.pop()?),
            part => path.push(part),
        }
    }
    Some(path.join("/"))
}

// Language codes in the names of archives and in INI files.

/// Each code with the names that stores and INI files use for the language.
const CODES: [(&str, &[&str]); 13] = [
    ("en", &["english"]),
    ("de", &["german"]),
    ("fr", &["french"]),
    ("it", &["italian"]),
    ("es", &["spanish"]),
    ("esmx", &["latam"]),
    ("pl", &["polish"]),
    ("ru", &["russian"]),
    ("ja", &["japanese", "jp"]),
    ("ptbr", &["brazilian", "portuguese"]),
    ("zhhans", &["schinese"]),
    ("zhhant", &["tchinese"]),
    ("cn", &["chinese"]),
];

/// The code for a language, ignoring case: `GERMAN`, `german` and `de` become `de`.
pub(crate) fn code(name: &str) -> Option<&'static str> {
    let name = name.trim().to_ascii_lowercase();
    // Stores append the country: `en-US`.
    let short = name.split(['-', '_']).next().unwrap_or_default();
    let found = CODES.iter().find(|(code, names)| *code == name || names.contains(&name.as_str()));
    found.or_else(|| CODES.iter().find(|(code, _)| *code == short)).map(|(code, _)| *code)
}

/// The language in a voice archive's name: `de` for `Mod - Voices_de.ba2` and `Voices_de0`.
pub(crate) fn of_archive(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let (_, behind) = name.rsplit_once("voices_")?;
    let end = behind.find(|letter: char| !letter.is_ascii_lowercase()).unwrap_or(behind.len());
    CODES.iter().map(|(code, _)| *code).find(|code| *code == &behind[..end])
}

#[cfg(test)]
mod tests {
    use super::{below_data, code, list_name, of_archive, paths};
    use crate::game::settings::ini::{Ini, IniFiles};
    use crate::game::titles::title;

    #[test]
    fn a_list_may_contain_any_case_and_either_slash() {
        let list = b"Textures\\A.dds\r\n\r\n  meshes/b.NIF \r\n..\\out.dds\n";
        assert_eq!(paths(list), ["textures/a.dds", "meshes/b.nif"]);
    }

    #[test]
    fn only_games_that_use_invalidation_lists_read_the_setting() {
        let named = |id: &str, text: &str| {
            let mut inis = IniFiles::default();
            inis.push("Main.ini", Ini::parse(format!("[Archive]\n{text}").as_bytes()));
            list_name(title(id).unwrap(), &inis).map(str::to_owned)
        };
        for id in ["oblivion", "nehrim", "fallout3", "falloutnv"] {
            assert_eq!(named(id, "sinvalidationfile=A.txt").as_deref(), Some("A.txt"), "{id}");
            assert_eq!(named(id, "SInvalidationFile="), None, "{id}");
            assert_eq!(named(id, ""), None, "{id}");
        }
        for id in ["skyrim", "fallout4", "morrowind"] {
            assert_eq!(named(id, "SInvalidationFile=A.txt"), None, "{id}");
        }
    }

    #[test]
    fn a_listed_path_never_leads_out_of_the_data_folder() {
        for (name, path) in [
            ("Mod.bsa", "Mod.bsa"),
            (".\\Mod.bsa", "Mod.bsa"),
            ("Sub\\\\More/Mod.bsa", "Sub/More/Mod.bsa"),
            ("Sub\\..\\Mod.bsa", "Mod.bsa"),
            ("", ""),
        ] {
            assert_eq!(below_data(name).as_deref(), Some(path), "{name}");
        }
        for name in
            ["..\\Mod.bsa", "Sub\\..\\..\\Data\\Mod.bsa", "C:\\Mod.bsa", "C:Mod.bsa", "/etc/x", "\\\\host\\x"]
        {
            assert_eq!(below_data(name), None, "{name}");
        }
    }

    #[test]
    fn store_names_and_ini_codes_of_a_language_are_recognised() {
        for (name, expected) in
            [("GERMAN", "de"), ("de", "de"), ("en-US", "en"), (" English ", "en"), ("jp", "ja")]
        {
            assert_eq!(code(name), Some(expected), "{name}");
        }
        assert_eq!(code("klingon"), None);
    }

    #[test]
    fn the_language_of_a_voice_archive_is_read_from_its_name() {
        assert_eq!(of_archive("Mod - Voices_de.ba2"), Some("de"));
        assert_eq!(of_archive("Skyrim - VOICES_EN0.bsa"), Some("en"));
        assert_eq!(of_archive("Mod - Voices.ba2"), None);
        assert_eq!(of_archive("Mod - Voices_extra.ba2"), None);
    }
}
