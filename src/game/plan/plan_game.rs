//! Reads the files that a game's rules name, and plans the game from them.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::code_page::{CodePage, ReadList};
use super::data::{DataFolder, DataFolders};
use super::layers::{Inputs, loose_rule, plan};
use super::load_order::{LayerKind, LoadOrder, OrderLayer, PlanError};
use super::plugins::{Header, PluginLists};
use super::{archives, nested};
use crate::game::archive_version::ArchiveVersion;
use crate::game::caseless::fold;
use crate::game::disk::{Disk, FoundPath};
use crate::game::find::{UserFolders, unreadable, user_folders};
use crate::game::installation::{Environment, Installation, Overrides, WinePrefix};
use crate::game::settings::ini::{Ini, IniFiles};
use crate::game::settings::settings_text::{decode_utf8, lines};
use crate::game::storefront::Storefront;
use crate::game::titles::title::{
    ActiveRule, ExtenderPlugin, IniFile, IniPlace, IniRole, LooseSetting, NewerArchives, OrderRule, Title,
};
use crate::kinds::is_plugin;
use crate::note::{Note, NoteCode};
use crate::shown::Shown;
use crate::system::clock::date;

/// Files and folders of a mod manager that replace or extend the game's own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Managed {
    /// Layers above the data folder, lowest first.
    pub(crate) folders: Vec<OrderLayer>,
    /// The folder in which the manager keeps INI files that replace the game's own; `None` if it keeps none.
    pub(crate) inis: Option<PathBuf>,
    /// An INI file that the manager writes, but that the game never reads.
    pub(crate) unread_ini: Option<PathBuf>,
    /// The folder with the lists of plugins.
    pub(crate) lists: Option<PathBuf>,
}

/// Plans the load order of an installed game.
///
/// # Errors
/// Fails if the game's data folder does not exist. Other missing files become notes.
pub fn plan_game(
    disk: &Disk,
    installation: &Installation,
    overrides: &Overrides,
) -> Result<LoadOrder, PlanError> {
    let mut order = plan_managed(disk, installation, overrides, &Managed::default())?;
    let data = disk.find_folder(&installation.folder, installation.title.data);
    if let Some(data) = data.filter(|data| disk.is_fuse(data)) {
        let text =
            "a file system is mounted over this folder; bsafs treats what it shows as the game's own files";
        order.notes.push(Note::new(NoteCode::DataMounted, data.to_string_lossy(), text));
    }
    Ok(order)
}

/// Plans the load order of an installed game with the changes of a mod manager.
pub(crate) fn plan_managed(
    disk: &Disk,
    installation: &Installation,
    overrides: &Overrides,
    managed: &Managed,
) -> Result<LoadOrder, PlanError> {
    let title = installation.title;
    let found = disk.find(&installation.folder, title.data).filter(|found| disk.is_dir(&found.path));
    let Some(FoundPath { path: data, others }) = found else {
        let folder = installation.folder.shown();
        return Err(PlanError(format!("{folder}: {} has no folder {} here", title.name, title.data)));
    };
    let mut reader = GameReader { disk, installation, managed, data, is_portable: false, notes: Vec::new() };
    for other in others {
        let text = format!("the game sees {} instead, and nothing in this folder", reader.data.shown());
        reader.notes.push(Note::new(NoteCode::FolderCase, other.to_string_lossy(), text));
    }
    reader.report_unreadable();
    reader.report_prefixes();
    reader.report_users();
    reader.is_portable = reader.is_portable();
    let (folders, layers) = reader.folders();
    let paths: Vec<PathBuf> = folders.iter().map(|folder| folder.path.clone()).collect();
    let find_in_subfolder = |path: &str| paths.iter().rev().find_map(|folder| disk.find_file(folder, path));
    let has = |plugin: &ExtenderPlugin| plugin.paths.iter().any(|path| find_in_subfolder(path).is_some());
    let (inis, read) = reader.inis(&overrides.inis, &has);
    reader.report_unread_ini(&inis);
    let language = reader.language(&inis);
    let names = DataFolders::new(folders);
    let (lists, list) = reader.lists(overrides.plugins.as_deref(), &names);
    let mut order = plan(Inputs {
        title,
        language,
        inis: &inis,
        data: &names,
        folders: layers,
        lists: &lists,
        header: &|path| Some(Header::read(disk, path)?.recoded(lists.read.code_page)),
        ini: &|path| disk.ini(path, &mut Vec::new()),
        find_in_subfolder: &find_in_subfolder,
        precedence: overrides.precedence,
        has_sky_bsa: reader.has_sky_bsa(),
    });
    let of_mods: Vec<&Path> = managed.folders.iter().map(|folder| &*folder.path).collect();
    for layer in order.layers.iter_mut().filter(|layer| layer.what == LayerKind::Archive) {
        let is_of_mod = layer.path.parent().is_some_and(|folder| of_mods.contains(&folder));
        let name = layer.path.file_name().unwrap_or_default().to_string_lossy();
        layer.is_of_game = !is_of_mod && title.ships(&name, layer.plugin.as_deref());
    }
    order.inis = read;
    order.plugin_list = list;
    order.listed_plugins = lists.read;
    order.installation = Some(Box::new(installation.clone()));
    order.invalidated = reader.invalidated(&inis);
    let edit = reader.file_to_edit();
    order.because_loose.edit = edit.map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    reader.notes.append(&mut order.notes);
    let older = title.newer.filter(|newer| is_older(disk, &installation.folder, newer) && !has(newer.plugin));
    report_versions(disk, title, older, &order.layers, &mut reader.notes);
    reader.notes.extend(disk.left_out());
    order.notes = reader.notes;
    Ok(order)
}

/// Reads the files of one installation.
struct GameReader<'a> {
    disk: &'a Disk,
    installation: &'a Installation,
    managed: &'a Managed,
    data: PathBuf,
    /// Whether the settings are in the game's folder.
    is_portable: bool,
    notes: Vec<Note>,
}

impl GameReader<'_> {
    fn title(&self) -> &'static Title {
        self.installation.title
    }

    /// Adds notes on unreadable folders of the prefix if settings or lists were not found.
    fn report_unreadable(&mut self) {
        let Installation { title, prefix, my_games, local, .. } = self.installation;
        let is_missing = |folder: &Option<PathBuf>, name: &str| folder.is_none() && !name.is_empty();
        let Some(prefix) = prefix else { return };
        if is_missing(my_games, title.my_games.plain) || is_missing(local, title.local.plain) {
            let text =
                "no permission to read it; the game's settings and lists of plugins in it are left out";
            let paths =
                unreadable(self.disk, prefix).into_iter().map(|path| path.to_string_lossy().into_owned());
            self.notes.extend(paths.map(|path| Note::new(NoteCode::FileUnreadable, path, text)));
        }
    }

    /// Adds a note if settings or lists come from a prefix that is not the only one with the game's settings.
    fn report_prefixes(&mut self) {
        let [used, others @ ..] = &self.installation.prefixes[..] else { return };
        let is_managed = self.managed.inis.is_some() && self.managed.lists.is_some();
        if others.is_empty() || is_managed || self.installation.prefix.as_ref() != Some(&used.folder) {
            return;
        }
        let started = |prefix: &WinePrefix| prefix.last_start.map(date);
        let why = match (used.is_named, started(used)) {
            (true, _) => "your places.toml names it".to_owned(),
            (false, Some(day)) => format!("it started last, on {day}"),
            (false, None) => "its launcher names it".to_owned(),
        };
        let other = |other: &WinePrefix| match started(other) {
            Some(day) => format!("{} (started {day})", other.folder.shown()),
            None => other.folder.shown().to_string(),
        };
        let others: Vec<String> = others.iter().map(other).collect();
        let text = format!(
            "the game's settings are read from this prefix, because {why}; {} has them too; \
             give another one with --prefix",
            others.join(", ")
        );
        self.notes.push(Note::new(NoteCode::PrefixesDiffer, used.folder.to_string_lossy(), text));
    }

    /// Adds a note if several users of the prefix have the game's settings.
    fn report_users(&mut self) {
        let Installation { title, store, prefix, my_games, local, .. } = self.installation;
        let Some(prefix) =
            prefix.as_ref().filter(|_| self.managed.inis.is_none() || self.managed.lists.is_none())
        else {
            return;
        };
        let users = user_folders(self.disk, title, *store, prefix, &Environment::default());
        let is_used = |it: &UserFolders| (&it.my_games, &it.local) == (my_games, local);
        let (Some(used), others) = (users.iter().find(|it| is_used(it)), users.len().saturating_sub(1))
        else {
            return;
        };
        if others == 0 {
            return;
        }
        let why = match (used.ran_last, used.written.map(date)) {
            (true, _) => "because the prefix ran for this user last (user.reg)".to_owned(),
            (false, Some(day)) => format!("because they were written last, on {day}"),
            (false, None) => "although nothing shows who used the prefix last".to_owned(),
        };
        let other = |it: &UserFolders| match it.written.map(date) {
            Some(day) => format!("{} (written {day})", it.user.shown()),
            None => it.user.shown().to_string(),
        };
        let others: Vec<String> = users.iter().filter(|it| !is_used(it)).map(other).collect();
        let text = format!(
            "the game's settings are read from this user of the prefix, {why}; another user has them too, \
             which the game does not read: {}",
            others.join(", ")
        );
        self.notes.push(Note::new(NoteCode::UsersDiffer, used.user.to_string_lossy(), text));
    }

    /// Whether the INI file in the game's folder tells the game not to use My Games.
    fn is_portable(&mut self) -> bool {
        let rules = &self.title().inis;
        let Some(main) = self.title().main_ini().filter(|_| rules.can_be_portable) else { return false };
        let path = self.disk.find_file(&self.installation.folder, main.name);
        let ini = path.and_then(|path| self.disk.ini(&path, &mut self.notes));
        ini.is_some_and(|ini| ini.get("General", "bUseMyGamesDirectory") == Some("0"))
    }

    /// Reads the INI files. Also returns the paths of those that exist.
    fn inis(
        &mut self,
        overrides: &[PathBuf],
        has: &dyn Fn(&ExtenderPlugin) -> bool,
    ) -> (IniFiles, Vec<PathBuf>) {
        let mut unread = Vec::new();
        let paths = match overrides {
            [] => self.ini_paths(has, &mut unread),
            _ => overrides.to_vec(),
        };
        let (mut inis, mut read) = (IniFiles::default(), Vec::new());
        for path in paths {
            let Some(ini) = self.disk.ini(&path, &mut self.notes) else {
                if !overrides.is_empty() {
                    let text = "this INI file does not exist";
                    self.notes.push(Note::new(NoteCode::FileUnreadable, path.to_string_lossy(), text));
                }
                continue;
            };
            let label = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.report_sections(&label, &ini);
            inis.push_file(&path, ini);
            read.push(path);
        }
        for (path, needs) in unread {
            let Some(ini) = self.disk.without_notes(|| self.disk.ini(&path, &mut Vec::new())) else {
                continue;
            };
            let keys = keys_of_consequence(self.title(), &inis, &ini);
            if !keys.is_empty() {
                let text = format!(
                    "the game does not read this file without {} ({}), which is not there, so {} has no \
                     effect in it",
                    needs.name,
                    needs.paths.join(" or "),
                    keys.join(", ")
                );
                self.notes.push(Note::new(NoteCode::SettingsIgnored, path.to_string_lossy(), text));
            }
        }
        (inis, read)
    }

    /// The paths of existing INI files, lowest first. Adds a note if the game was never started. Adds those
    /// to `unread` that the game does not read, with the plugin of its script extender that would.
    fn ini_paths(
        &mut self,
        has: &dyn Fn(&ExtenderPlugin) -> bool,
        unread: &mut Vec<(PathBuf, &'static ExtenderPlugin)>,
    ) -> Vec<PathBuf> {
        let title = self.title();
        let has_main = self.has_main_ini();
        if let (false, Some(main)) = (has_main, title.main_ini()) {
            let name = match main.place {
                IniPlace::MyGames => {
                    format!("My Games/{}/{}", title.my_games.of(self.installation.store), main.name)
                }
                IniPlace::Game | IniPlace::DataParent => main.name.to_owned(),
            };
            let text = match (main.place, &self.installation.prefix) {
                (IniPlace::MyGames, None) => {
                    "no Wine prefix of the game was found, so its default archives are loaded; \
                     give the prefix with --prefix"
                }
                _ => {
                    "the file does not exist, perhaps because the game was never started; \
                     its default archives are loaded"
                }
            };
            let text = text.to_owned() + &self.other_prefixes();
            self.notes.push(Note::new(NoteCode::NeverStarted, format!("no {name}"), text));
        }
        let language = self.store_language();
        let used = title.inis.files.iter().filter(|file| file.role != IniRole::Template || !has_main);
        let mut paths: Vec<PathBuf> = Vec::new();
        for file in used {
            let Some(path) = self.ini_path(file, &file.name.replace("{lang}", language)) else { continue };
            match file.needs.filter(|needs| !has(needs)) {
                Some(needs) => unread.push((path, needs)),
                None if paths.contains(&path) => {}
                None => paths.push(path),
            }
        }
        paths
    }

    /// The prefixes of other programs that have the game's settings, to end a note on missing ones.
    fn other_prefixes(&self) -> String {
        let Installation { prefix, prefixes, .. } = self.installation;
        let others = prefixes.iter().filter(|it| Some(&it.folder) != prefix.as_ref());
        let others: Vec<String> = others.map(|it| it.folder.shown().to_string()).collect();
        match &others[..] {
            [] => String::new(),
            [other] => {
                format!("; if the game runs in {other}, which has its settings, give that one with --prefix")
            }
            others => {
                format!("; these prefixes have settings of the game, for --prefix: {}", others.join(", "))
            }
        }
    }

    /// Whether the INI file exists that the game writes when it first starts.
    fn has_main_ini(&self) -> bool {
        let mut mains = self.title().inis.files.iter().filter(|file| file.role == IniRole::Main);
        mains.any(|file| self.ini_path(file, file.name).is_some())
    }

    /// The INI file in which the user changes settings: the highest one that is meant for that. It may not
    /// exist yet.
    fn file_to_edit(&self) -> Option<PathBuf> {
        let files = self.title().inis.files;
        let is_of_user = |file: &&IniFile| file.place == IniPlace::MyGames;
        let is_custom = |file: &&IniFile| is_of_user(file) && file.name.ends_with("Custom.ini");
        let file = files.iter().rev().find(is_custom).or_else(|| self.title().main_ini())?;
        let managed = self.managed.inis.as_ref().filter(|_| file.is_in_profiles && !self.is_portable);
        let folder = match file.place {
            IniPlace::MyGames if !self.is_portable => managed.or(self.installation.my_games.as_ref())?,
            _ => &self.installation.folder,
        };
        Some(self.disk.find_file(folder, file.name).unwrap_or_else(|| folder.join(file.name)))
    }

    /// The path of an INI file, if it exists. `name` is its name in the game's language.
    fn ini_path(&self, file: &IniFile, name: &str) -> Option<PathBuf> {
        let is_portable = self.is_portable && file.place == IniPlace::MyGames;
        let managed = self.managed.inis.as_ref().filter(|_| file.is_in_profiles && !is_portable);
        let folder = match file.place {
            IniPlace::MyGames if is_portable => Some(self.installation.folder.as_path()),
            IniPlace::MyGames => self.installation.my_games.as_deref(),
            IniPlace::Game => Some(self.installation.folder.as_path()),
            IniPlace::DataParent => self.data.parent(),
        };
        let managed = managed.and_then(|folder| self.disk.find_file(folder, name));
        // Mod Organizer copies the game's own file into a profile that lacks it.
        managed.or_else(|| self.disk.find_file(folder?, name))
    }

    fn report_sections(&mut self, label: &str, ini: &Ini) {
        for section in [self.title().lists.section, "General", "Game Files"] {
            if ini.is_repeated(section) {
                let text = "the section occurs more than once; the game reads only the first";
                self.notes.push(Note::new(NoteCode::IniSectionTwice, format!("{label} [{section}]"), text));
            }
        }
    }

    /// The language according to the store, or English.
    fn store_language(&self) -> &'static str {
        self.installation.language.as_deref().and_then(archives::code).unwrap_or("en")
    }

    /// Adds a note if the INI file that the game never reads would change something.
    fn report_unread_ini(&mut self, inis: &IniFiles) {
        let Some(path) = &self.managed.unread_ini else { return };
        // Its content does not matter to the game, so it needs no note if it is unreadable.
        let Some(ini) = self.disk.without_notes(|| self.disk.ini(path, &mut Vec::new())) else { return };
        let keys = keys_of_consequence(self.title(), inis, &ini);
        if !keys.is_empty() {
            let keys = keys.join(", ");
            let text = format!("the game does not read this file, so {keys} has no effect in it");
            self.notes.push(Note::new(NoteCode::SettingsIgnored, path.to_string_lossy(), text));
        }
    }

    /// The language according to the INI files, or else the store.
    fn language(&self, inis: &IniFiles) -> &'static str {
        let set = inis.get("General", "sLanguage").and_then(|(value, _)| archives::code(value));
        set.unwrap_or_else(|| self.store_language())
    }

    /// Reads the lists of plugins. Also returns the path of the user's list.
    fn lists(&mut self, plugins: Option<&Path>, names: &DataFolders) -> (PluginLists, Option<PathBuf>) {
        let rules = &self.title().plugins;
        if matches!(rules.active, ActiveRule::Fixed | ActiveRule::GameFiles) {
            return Default::default();
        }
        let folder = match &self.managed.lists {
            // The manager shows its list in AppData, where such a game does not look (Nehrim from GOG; Mod
            // Organizer issue 1961).
            _ if self.is_portable => Some(self.installation.folder.clone()),
            Some(folder) => Some(folder.clone()),
            None if rules.list_in_data => Some(self.data.clone()),
            None => self.installation.local.clone(),
        };
        if let Some(unread) = self.managed.lists.as_ref().filter(|_| self.is_portable && plugins.is_none())
            && let Some(list) = self.disk.find_file(unread, "Plugins.txt")
        {
            let text = "the game does not read this list, because bUseMyGamesDirectory is 0 in the INI file \
                        in its folder; it reads Plugins.txt there";
            self.notes.push(Note::new(NoteCode::SettingsIgnored, list.to_string_lossy(), text));
        }
        let path = match (plugins, &folder) {
            (Some(path), _) => Some(path.to_owned()),
            (None, Some(folder)) => self.plugins_file(folder),
            (None, None) => None,
        };
        // A mod manager's list may be a link whose target is gone.
        if plugins.is_none() && path.as_ref().is_none_or(|path| self.is_missing(path)) {
            self.report_missing_list(folder.as_deref());
        }
        let bytes = path.as_ref().and_then(|path| self.disk.list(path, &mut self.notes));
        if let (Some(path), None) = (plugins, &bytes)
            && self.disk.metadata(path).is_err()
        {
            let text = "this list of plugins does not exist";
            self.notes.push(Note::new(NoteCode::FileUnreadable, path.to_string_lossy(), text));
        }
        let bytes = bytes.unwrap_or_default();
        let read = ReadList::new(&bytes, &|name| names.find(name).is_some());
        if let (Some(flaw), Some(path)) = (read.flaw, &path) {
            let text = format!("the list {flaw}; save it without Unicode, in the code page of Windows");
            self.notes.push(Note::new(NoteCode::PluginsFileEncoding, path.to_string_lossy(), text));
        }
        let creation_club = self.creation_club(read.code_page);
        if let Some(folder) =
            folder.filter(|_| rules.active == ActiveRule::Lines && rules.order != OrderRule::Times)
        {
            self.report_other_order(&folder, &read.lines);
        }
        (PluginLists { read, creation_club }, path)
    }

    /// Whether a path leads to nothing, perhaps through a dangling link.
    fn is_missing(&self, path: &Path) -> bool {
        self.disk.metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    /// Adds a note on a missing list of plugins, unless another note says that the game was never started.
    fn report_missing_list(&mut self, folder: Option<&Path>) {
        let (title, name) = (self.title(), "Plugins.txt");
        if self.has_main_ini() {
            let subject = match folder {
                Some(folder) => folder.join(name).to_string_lossy().into_owned(),
                None => format!("no AppData/Local/{}/{name}", title.local.of(self.installation.store)),
            };
            let text = "the game was started, but its list of plugins does not exist; \
                        only plugins that the game always loads are active";
            self.notes.push(Note::new(NoteCode::PluginsFileMissing, subject, text));
        }
    }

    /// Adds a note if `loadorder.txt` orders plugins differently than `Plugins.txt`. The games do not know
    /// the former. Mod managers and LOOT keep the two equal, and show its order.
    fn report_other_order(&mut self, folder: &Path, plugins: &[String]) {
        let Some(path) = self.disk.find_file(folder, "loadorder.txt") else { return };
        // Its content does not matter to the game, so it needs no note if it is unreadable.
        let bytes = self.disk.without_notes(|| self.disk.list(&path, &mut Vec::new())).unwrap_or_default();
        let order: Vec<String> = lines(&decode_utf8(&bytes)).map(str::to_owned).collect();
        if is_other_order(&order, plugins) {
            let text = "the game does not read this file; it uses the order of Plugins.txt, which differs";
            self.notes.push(Note::new(NoteCode::SettingsIgnored, path.to_string_lossy(), text));
        }
    }

    /// The list of plugins in a folder. If there are two spellings, the game reads `Plugins.txt`.
    fn plugins_file(&mut self, folder: &Path) -> Option<PathBuf> {
        let name = "Plugins.txt";
        let names = self.disk.names(folder).ok()?;
        let first = &folder.join(names.get(name)?);
        let others: Vec<PathBuf> = names.others(name).map(|other| folder.join(other)).collect();
        // The caller reads this list again and notes if it is unreadable.
        let content = (!others.is_empty()).then(|| self.disk.list(first, &mut Vec::new()));
        for other in others {
            if Some(self.disk.list(&other, &mut self.notes)) != content {
                let text = format!("it differs from {}, which the game reads", first.shown());
                self.notes.push(Note::new(NoteCode::PluginsFilesDiffer, other.to_string_lossy(), text));
            }
        }
        Some(first.clone())
    }

    /// Reads the lines of the `.ccc` file, which lists Creation Club plugins.
    fn creation_club(&mut self, code_page: CodePage) -> Vec<String> {
        let path = self.installation.creation_club(self.disk);
        let bytes = path.and_then(|path| self.disk.list(&path, &mut self.notes));
        bytes.map(|bytes| code_page.lines(&bytes)).unwrap_or_default()
    }

    /// The data folders and their layers, lowest first.
    fn folders(&mut self) -> (Vec<DataFolder>, Vec<OrderLayer>) {
        let mut layers = vec![OrderLayer::folder(&self.data, "loose files")];
        let mut folders = vec![DataFolder::read(self.disk, &self.data, true, &mut self.notes)];
        self.notes.extend(nested::in_data(self.disk, &folders[0], &self.installation.folder));
        for path in self.add_ons() {
            layers.push(OrderLayer::folder(&path, "loose files of an add-on from the Microsoft Store"));
            folders.push(DataFolder::read(self.disk, &path, true, &mut self.notes));
        }
        let my_games = self.installation.my_games.as_ref().filter(|_| self.title().data_in_my_games);
        if let Some(path) = my_games.and_then(|folder| self.disk.find_folder(folder, "Data")) {
            let mut folder = DataFolder::read(self.disk, &path, true, &mut self.notes);
            let main = &folders[0];
            let text = format!(
                "files here win over those in {}; keep mods in only one of these folders",
                main.path.shown()
            );
            // Mod Organizer makes this folder, and leaves it empty.
            if !folder.files.is_empty() || !folder.folders.is_empty() {
                self.notes.push(Note::new(NoteCode::DataTwoPlaces, path.to_string_lossy(), text));
            }
            // The game ignores a plugin there unless its own data folder has a plugin of that name.
            let has = |name: &str| main.files.iter().any(|file| fold(&file.name) == fold(name));
            folder.files.retain(|file| !is_plugin(&file.name) || has(&file.name));
            layers.push(OrderLayer::folder(&path, "loose files in My Games"));
            folders.push(folder);
        }
        for layer in &self.managed.folders {
            let folder = DataFolder::read(self.disk, &layer.path, false, &mut self.notes);
            self.notes.extend(nested::note(self.disk, &folder, &layer.shown, &self.installation.folder));
            folders.push(folder);
            layers.push(layer.clone());
        }
        (folders, layers)
    }

    /// The data folders of add-ons that the Microsoft Store keeps next to the game, lowest first.
    fn add_ons(&self) -> Vec<PathBuf> {
        // The store puts each game into a subfolder `Content` of its own folder.
        let games = self.installation.folder.ancestors().nth(2);
        let Some(games) = games.filter(|_| self.installation.store == Storefront::Microsoft) else {
            return Vec::new();
        };
        let names = self.title().microsoft_data.iter().rev();
        names.filter_map(|name| self.disk.find_folder(games, name)).collect()
    }

    /// The paths that the game's `ArchiveInvalidation.txt` removes from all archives.
    fn invalidated(&mut self, inis: &IniFiles) -> Vec<String> {
        let Some(name) = archives::list_name(self.title(), inis) else { return Vec::new() };
        // The folder of a relative name is not documented. Tools use the game's folder.
        let path =
            [&self.installation.folder, &self.data].into_iter().find_map(|it| self.disk.find_file(it, name));
        let Some(path) = path else { return Vec::new() };
        let list = self.disk.list(&path, &mut self.notes).unwrap_or_default();
        let paths = archives::paths(&list);
        if !paths.is_empty() {
            let text = format!(
                "the game ignores the {} paths of this list in all archives and finds only loose files there",
                paths.len()
            );
            self.notes.push(Note::new(NoteCode::ArchiveInvalidation, path.to_string_lossy(), text));
        }
        paths
    }

    /// Whether an OBSE plugin is installed that reverses the order of archives.
    fn has_sky_bsa(&self) -> bool {
        self.title().loose == LooseSetting::Dates
            && self.disk.find_folder(&self.data, "OBSE/Plugins").is_some_and(|folder| {
                let is_one = |name: &str| name.contains("SKYBSA") && name.ends_with(".DLL");
                self.disk.names(&folder).is_ok_and(|names| names.iter().any(|name| is_one(&fold(name))))
            })
    }
}

/// Whether a game is too old for newer archives, as the libraries of its script extender show.
fn is_older(disk: &Disk, game: &Path, newer: &NewerArchives) -> bool {
    let Ok(names) = disk.names(game) else { return false };
    let version = |name: &str| -> Option<Vec<u32>> {
        let folded = fold(name);
        let version = folded.strip_prefix(&fold(newer.extender))?.strip_suffix(".DLL")?;
        version.split('_').map(|number| number.parse().ok()).collect()
    };
    let mut versions = names.iter().filter_map(version).peekable();
    versions.peek().is_some() && versions.all(|version| version.as_slice() <= newer.last_without)
}

/// Adds notes on archives of other versions than the game's own. They stay layers, because it is
/// not known for every game whether it refuses them. `older` are those that the installed game is too old
/// for.
fn report_versions(
    disk: &Disk,
    title: &Title,
    older: Option<&NewerArchives>,
    layers: &[OrderLayer],
    notes: &mut Vec<Note>,
) {
    let archives =
        layers.iter().filter(|layer| layer.what == LayerKind::Archive && !title.versions.is_empty());
    for layer in archives {
        let Some(version) = ArchiveVersion::read(disk, &layer.path) else { continue };
        if let Some(newer) = older.filter(|newer| newer.versions.contains(&version)) {
            let last: Vec<String> = newer.last_without.iter().map(ToString::to_string).collect();
            let text = format!(
                "it is {version}, which {} {} and older do not load without {} ({}); the game's version is \
                 that of its script extender",
                title.name,
                last.join("."),
                newer.plugin.name,
                newer.plugin.paths.join(" or ")
            );
            notes.push(Note::new(NoteCode::ArchiveVersion, layer.path.to_string_lossy(), text));
        } else if !title.versions.contains(&version) {
            let own: Vec<String> = title.versions.iter().map(ToString::to_string).collect();
            let text = format!(
                "it is {version}, but {} uses {}; the game may not load it",
                title.name,
                own.join(" or ")
            );
            notes.push(Note::new(NoteCode::ArchiveVersion, layer.path.to_string_lossy(), text));
        }
    }
}

/// Whether two lists order the names that both contain differently.
fn is_other_order(list: &[String], other: &[String]) -> bool {
    let folded = |list: &[String]| list.iter().map(|it| fold(it)).collect::<Vec<_>>();
    let (list, other) = (folded(list), folded(other));
    let common = |list: &[String], other: &[String]| {
        let other: HashSet<&String> = other.iter().collect();
        list.iter().filter(|it| other.contains(it)).cloned().collect::<Vec<_>>()
    };
    common(&list, &other) != common(&other, &list)
}

// What an INI file that the game does not read would change. The user may expect that it has an effect.

/// The keys of an unread INI file that would change which archives the game loads, or when loose files
/// win, if the game read the file above the others.
pub(crate) fn keys_of_consequence<'a>(title: &Title, inis: &IniFiles, unread: &'a Ini) -> Vec<&'a str> {
    let mut with = inis.clone();
    with.push("", unread.clone());
    let changes_loose = loose_rule(title.loose, inis) != loose_rule(title.loose, &with)
        || archives::list_name(title, inis) != archives::list_name(title, &with);
    let section = title.lists.section;
    let keys = unread.keys(section).filter(|(key, value)| {
        let is_changed = inis.get(section, key).is_none_or(|(current, _)| current != *value);
        is_changed && (is_list(title, key) || changes_loose && is_for_loose_files(key))
    });
    keys.map(|(key, _)| key).collect()
}

/// Whether a key lists archives.
fn is_list(title: &Title, key: &str) -> bool {
    let key = fold(key);
    let is_one = |name: &str| match name.strip_suffix(' ') {
        Some(numbered) => key.starts_with(&fold(numbered)),
        None => key == fold(name),
    };
    title.lists.keys.iter().chain(&title.lists.last).any(|(name, _)| is_one(name))
}

fn is_for_loose_files(key: &str) -> bool {
    let names = ["bInvalidateOlderFiles", "sResourceDataDirsFinal", "SInvalidationFile"];
    names.iter().any(|name| fold(name) == fold(key))
}

#[cfg(test)]
mod tests {
    use super::{Ini, IniFiles, keys_of_consequence};
    use crate::game::titles::title;

    fn keys(id: &str, read: &str, unread: &str) -> Vec<String> {
        let ini = |text: &str| Ini::parse(format!("[Archive]\n{text}").as_bytes());
        let mut inis = IniFiles::default();
        inis.push("Main.ini", ini(read));
        let unread = ini(unread);
        let keys = keys_of_consequence(title(id).unwrap(), &inis, &unread);
        keys.into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn only_keys_that_would_change_something_are_found() {
        let list = "sResourceArchiveList=A.bsa\n";
        assert_eq!(keys("skyrimse", list, list), [""; 0]);
        assert_eq!(keys("skyrimse", list, "SRESOURCEARCHIVELIST=\niOther=1"), ["SRESOURCEARCHIVELIST"]);
        assert_eq!(keys("skyrimse", "", "bInvalidateOlderFiles=1"), [""; 0]);
        assert_eq!(keys("falloutnv", "", "bInvalidateOlderFiles=1"), [""; 0]);
        assert_eq!(keys("falloutnv", "", "bInvalidateOlderFiles=0"), ["bInvalidateOlderFiles"]);
        assert_eq!(keys("fallout4", "sResourceDataDirsFinal=", "bInvalidateOlderFiles=1").len(), 1);
    }
}
