//! Instances of Mod Organizer 2, and of Fluorine, which uses the same files.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use crate::format::is_archive_name;
use crate::game::caseless::{CaselessNames, fold};
use crate::game::disk::Disk;
use crate::game::installation::{Installation, Overrides};
use crate::game::plan::active::is_plugin;
use crate::game::plan::load_order::{FolderFilter, LoadOrder, OrderLayer, PlanError};
use crate::game::plan::plan_game::{Managed, plan_managed};
use crate::game::settings::ini::Ini;
use crate::game::settings::qsettings::QSettings;
use crate::game::settings::text::decode_utf8;
use crate::game::titles::title::Title;
use crate::note::{Note, NoteCode};

/// The settings file that makes a folder an instance.
pub const MO2_INI: &str = "ModOrganizer.ini";

/// The folder of a mod whose files the plugin Root Builder puts into the game's folder.
const ROOT: &str = "root";

/// Plans the load order of an instance: its mods above the game's own files.
///
/// `find` recognises the game in a folder. It gets `None` if the instance does not say where its
/// game is, because the user may have named the game.
///
/// # Errors
/// Fails if the instance, its profile or its game cannot be found.
pub fn plan_mo2(
    disk: &Disk,
    instance: &Path,
    find: &dyn Fn(Option<&Path>) -> Result<Installation, String>,
    overrides: &Overrides,
) -> Result<LoadOrder, PlanError> {
    let mut notes = Vec::new();
    let instance = std::path::absolute(instance).unwrap_or_else(|_| instance.to_owned());
    let ini = disk.find_file(&instance, MO2_INI);
    let bytes = ini.and_then(|path| disk.list(&path, &mut notes));
    let Some(bytes) = bytes else {
        return Err(PlanError(format!("{}: {MO2_INI} does not exist or cannot be read", instance.display())));
    };
    let instance = Instance::new(disk, instance, &QSettings::parse(&bytes), overrides);
    let installation = match instance.game_folder() {
        Ok(game) => find(Some(&game)).map_err(PlanError)?,
        Err(unknown) => find(None).map_err(|_| unknown)?,
    };
    let profile = instance.profile(overrides.mo2_profile.as_deref())?;
    let data = disk.find_folder(&installation.folder, installation.title.data);
    let is_mounted = data.is_some_and(|data| disk.is_fuse(&data));
    let folders = match is_mounted {
        true => Vec::new(),
        false => instance.layers(&profile, installation.title, &mut notes),
    };
    if is_mounted {
        let text = "a mod manager already shows its mods in the data folder; bsafs does not add them again";
        notes.push(Note::new(NoteCode::DataMounted, installation.folder.to_string_lossy(), text));
    }
    let settings = disk.find_file(&profile, "settings.ini").and_then(|path| disk.ini(&path, &mut notes));
    let is_local = settings.as_ref().is_none_or(has_own_settings);
    let managed = Managed {
        folders,
        inis: is_local.then(|| profile.clone()),
        // Neither the game nor Mod Organizer's file system reads what Mod Organizer writes here.
        unread_ini: disk.find_file(&profile, "initweaks.ini"),
        lists: Some(profile.clone()),
    };
    let mut order = plan_managed(disk, &installation, overrides, &managed)?;
    notes.append(&mut order.notes);
    order.notes = notes;
    order.profile = Some(profile);
    Ok(order)
}

/// The instance and name of the profile in a folder. `None` if the folder is not a profile.
pub fn instance_of_profile(disk: &Disk, folder: &Path, overrides: &Overrides) -> Option<(PathBuf, String)> {
    let (name, profiles) = (folder.file_name()?.to_str()?, folder.parent()?);
    let instance = profiles.parent()?;
    // The plan of the instance adds the notes. The instance may keep its profiles elsewhere.
    let known = read_instance(disk, instance, overrides)?.profiles?;
    let is_one = known.canonicalize().ok()? == profiles.canonicalize().ok()?;
    is_one.then(|| (instance.to_owned(), name.to_owned()))
}

/// Reads the settings of the instance in a folder. `None` if there are none, or they cannot be read.
pub(super) fn read_instance<'a>(
    disk: &'a Disk,
    folder: &Path,
    overrides: &Overrides,
) -> Option<Instance<'a>> {
    let ini = disk.find_file(folder, MO2_INI)?;
    let settings = QSettings::parse(&disk.list(&ini, &mut Vec::new())?);
    Some(Instance::new(disk, folder.to_owned(), &settings, overrides))
}

/// The settings and folders of an instance.
#[derive(Debug)]
pub(super) struct Instance<'a> {
    disk: &'a Disk,
    folder: PathBuf,
    game: Option<String>,
    selected: Option<String>,
    mods: Option<PathBuf>,
    profiles: Option<PathBuf>,
    overwrite: Option<PathBuf>,
    /// The prefix whose drives Windows paths in the settings refer to.
    prefix: Option<PathBuf>,
    /// Whether a mod's folder [`ROOT`] is for the game's folder.
    has_root_builder: bool,
    shown: FolderFilter,
}

impl<'a> Instance<'a> {
    fn new(disk: &'a Disk, folder: PathBuf, settings: &QSettings, overrides: &Overrides) -> Self {
        let has_root_builder = has_root_builder(disk, &folder, settings);
        let prefix = overrides.prefix.clone().or_else(|| prefix_around(&folder));
        let of_settings = |key: &str| settings.get("Settings", key);
        let base = match of_settings("base_directory") {
            Some(base) => unix_path(disk, &base, prefix.as_deref()),
            None => Some(folder.clone()),
        };
        let in_base = |key: &str, name: &str| match of_settings(key) {
            Some(value) => match value.strip_prefix("%BASE_DIR%") {
                Some(rest) => base.as_ref().map(|base| base.join(rest.replace('\\', "/").trim_matches('/'))),
                None => unix_path(disk, &value, prefix.as_deref()),
            },
            None => base.as_ref().map(|base| base.join(name)),
        };
        let list = |key: &str, default: &str| {
            let names = settings.list("Settings", key).unwrap_or_else(|| vec![default.to_owned()]);
            names.iter().map(|name| name.to_lowercase()).collect()
        };
        let root = has_root_builder.then_some(ROOT);
        let without_names = ["meta.ini", "readme.txt", "fomod"].into_iter().chain(root);
        Self {
            disk,
            game: settings.get("General", "gamePath"),
            selected: settings.get("General", "selected_profile"),
            mods: in_base("mod_directory", "mods"),
            profiles: in_base("profiles_directory", "profiles"),
            overwrite: in_base("overwrite_directory", "overwrite"),
            has_root_builder,
            shown: FolderFilter {
                only: None,
                without_names: without_names.map(str::to_owned).collect(),
                without_suffixes: list("skip_file_suffixes", ".mohidden"),
                without_folders: list("skip_directories", ".git"),
            },
            folder,
            prefix,
        }
    }

    fn ini(&self) -> PathBuf {
        self.folder.join(MO2_INI)
    }

    /// The selected profile, and how many mods it enables.
    pub(super) fn selected(&self) -> (Option<String>, usize) {
        let list = self.profile(None).ok().and_then(|profile| self.disk.find_file(&profile, "modlist.txt"));
        let list = list.and_then(|list| self.disk.list(&list, &mut Vec::new()));
        (self.selected.clone(), list.map_or(0, |list| enabled(&decode_utf8(&list)).len()))
    }

    /// The folder of the game.
    pub(super) fn game_folder(&self) -> Result<PathBuf, PlanError> {
        let ini = self.ini();
        let Some(written) = &self.game else {
            return Err(PlanError(format!(
                "{}: gamePath is not set; give the game's folder with --game-dir",
                ini.display()
            )));
        };
        unix_path(self.disk, written, self.prefix.as_deref()).ok_or_else(|| {
            let ini = ini.display();
            PlanError(format!(
                "{ini}: the drive of gamePath {written} is not known; give the Wine prefix with --prefix"
            ))
        })
    }

    /// The folder of the named profile, or of the selected one if `name` is `None`.
    fn profile(&self, name: Option<&str>) -> Result<PathBuf, PlanError> {
        let instance = self.folder.display();
        let Some(profiles) = self.profiles.as_deref() else {
            return Err(PlanError(format!(
                "{instance}: the drive of its profiles is not known; give the Wine prefix with --prefix"
            )));
        };
        let names = self.disk.names(profiles).unwrap_or_default();
        let known = || names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        let Some(wanted) = name.or(self.selected.as_deref()) else {
            return Err(PlanError(format!(
                "{instance}: no profile is selected; give one with --mo2-profile: {}",
                known()
            )));
        };
        let found = names.get(wanted).map(|name| profiles.join(name)).filter(|path| self.disk.is_dir(path));
        found.ok_or_else(|| {
            PlanError(format!("{instance}: there is no profile \"{wanted}\"; the profiles are {}", known()))
        })
    }

    /// The layers of the enabled mods of a profile, lowest first, followed by that of the overwrite folder.
    fn layers(&self, profile: &Path, title: &Title, notes: &mut Vec<Note>) -> Vec<OrderLayer> {
        let mut mods = self.mods_of(profile, notes);
        let overwrite = self.overwrite.clone().filter(|path| self.disk.is_dir(path));
        mods.extend(overwrite.map(|path| (path, "overwrite".into())));
        if self.has_root_builder {
            for path in mods.iter().filter_map(|(path, _)| self.disk.find_folder(path, ROOT)) {
                let text =
                    "left out: Root Builder puts these files into the game's folder, not its data folder";
                notes.push(Note::new(NoteCode::Mo2RootFolder, path.to_string_lossy(), text));
            }
        }
        let layer = |(path, why): (PathBuf, String)| match title.mod_data {
            "" => Some(OrderLayer { shown: self.shown.clone(), ..OrderLayer::folder(path, why) }),
            data => {
                self.note_misplaced(&path, data, notes);
                // The names that are left out are those in the folder of the mod itself.
                let shown = FolderFilter { without_names: Vec::new(), ..self.shown.clone() };
                Some(OrderLayer { shown, ..OrderLayer::folder(self.disk.find_folder(&path, data)?, why) })
            }
        };
        let layers = mods.into_iter().filter_map(layer);
        layers.map(|layer| OrderLayer { is_managed: true, ..layer }).collect()
    }

    /// Adds notes on the plugins and archives that are not in the folder of a mod that the game sees.
    fn note_misplaced(&self, path: &Path, data: &str, notes: &mut Vec<Note>) {
        let Ok(names) = self.disk.names(path) else { return };
        for name in names.iter().filter(|name| is_plugin(name) || is_archive_name(name.as_bytes())) {
            let text = format!("left out: of this mod, the game's data folder shows only the folder {data}");
            notes.push(Note::new(NoteCode::LooseDisabled, path.join(name).to_string_lossy(), text));
        }
    }

    /// The folders of the enabled mods of a profile, lowest first, with the reasons for their layers.
    fn mods_of(&self, profile: &Path, notes: &mut Vec<Note>) -> Vec<(PathBuf, String)> {
        let mut mods = Vec::new();
        let bytes = match self.disk.find_file(profile, "modlist.txt") {
            Some(path) => self.disk.list(&path, notes),
            None => {
                let text = "the profile has no list of mods, so none is enabled";
                let path = profile.join("modlist.txt");
                notes.push(Note::new(NoteCode::FileUnreadable, path.to_string_lossy(), text));
                None
            }
        };
        let text = bytes.as_deref().map(decode_utf8).unwrap_or_default();
        let enabled = enabled(&text);
        let names = if enabled.is_empty() { None } else { self.names_of_mods(notes) };
        // The first line has the highest priority. If the mods cannot be read, that is already noted.
        for name in enabled.into_iter().rev().filter(|_| names.is_some()) {
            let stored = names.as_ref().and_then(|names| names.get(name));
            let path = self.mods.as_ref().and_then(|mods| Some(mods.join(stored?)));
            match path.filter(|path| self.disk.is_dir(path)) {
                Some(path) if is_around(&path, &self.folder) => {
                    let text = "left out: its folder is a link to a folder that contains the instance";
                    notes.push(Note::new(NoteCode::Mo2ModMissing, name, text));
                }
                Some(path) => mods.push((path, format!("mod \"{name}\""))),
                None => {
                    let text = "the profile enables this mod, but the mods folder does not contain it";
                    notes.push(Note::new(NoteCode::Mo2ModMissing, name, text));
                }
            }
        }
        mods
    }

    /// The names in the folder of mods. If it cannot be read, adds a note and returns `None`.
    fn names_of_mods(&self, notes: &mut Vec<Note>) -> Option<CaselessNames> {
        let (subject, text) = match self.mods.as_deref().map(|mods| (mods, self.disk.names(mods))) {
            Some((_, Ok(names))) => return Some(names),
            Some((mods, Err(error))) => {
                (mods.to_string_lossy().into_owned(), format!("cannot read the mods folder: {error}"))
            }
            None => {
                let text = "the drive of its mods folder is not known; give the Wine prefix with --prefix";
                (self.ini().to_string_lossy().into_owned(), text.to_owned())
            }
        };
        notes.push(Note::new(NoteCode::FolderMissing, subject, text + "; no mods are shown"));
        None
    }
}

/// The enabled mods in a list, highest first.
fn enabled(text: &str) -> Vec<&str> {
    let mut mentioned = HashSet::new();
    let mut enabled = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (is_on, name) = match line.split_at_checked(1) {
            Some(("+", name)) => (true, name.trim()),
            Some(("-" | "*", name)) => (false, name.trim()),
            _ => (true, line),
        };
        // Mod Organizer ignores a line for the overwrite folder, which is always on.
        if mentioned.insert(fold(name)) && is_on && !shows_nothing(name) && fold(name) != "OVERWRITE" {
            enabled.push(name);
        }
    }
    enabled
}

/// Whether a mod is a separator or a backup, whose files the game does not see. Mod Organizer compares case:
/// the user may call an ordinary mod "INI Backup".
fn shows_nothing(name: &str) -> bool {
    name.ends_with("_separator")
        || name.trim_end_matches(|letter: char| letter.is_ascii_digit()).ends_with("backup")
}

/// Whether Root Builder is installed and enabled. Mod Organizer records this only after the setting was
/// changed.
fn has_root_builder(disk: &Disk, instance: &Path, settings: &QSettings) -> bool {
    match settings.get("PluginPersistance", "RootBuilder\\enabled") {
        Some(enabled) => enabled == "true",
        // The plugin is next to the program, whose folder is known only for a portable instance.
        None => {
            settings.has_any("Plugins", "RootBuilder\\")
                || disk.find_folder(instance, "plugins/rootbuilder").is_some()
        }
    }
}

/// Whether the profile has its own INI files. If its settings do not say so, Mod Organizer turns this on.
fn has_own_settings(settings: &Ini) -> bool {
    let value = settings.get("General", "LocalSettings");
    value.is_none_or(|value| value.eq_ignore_ascii_case("true") || value == "1")
}

/// Converts a Windows path to a Linux path. `None` if its drive is unknown.
fn unix_path(disk: &Disk, path: &str, prefix: Option<&Path>) -> Option<PathBuf> {
    let path = path.replace('\\', "/");
    let (drive, rest) = match path.split_once(':') {
        Some((drive, rest)) if drive.len() == 1 => (drive.to_ascii_lowercase(), rest),
        _ => return Some(PathBuf::from(path)).filter(|path| path.is_absolute()),
    };
    let root = match drive.as_str() {
        "z" => PathBuf::from("/"),
        "c" => prefix?.join("drive_c"),
        _ => prefix?.join("dosdevices").join(format!("{drive}:")),
    };
    let rest = rest.trim_matches('/');
    let exact = root.join(rest);
    match disk.metadata(&exact).is_ok() {
        true => Some(exact),
        false => disk.find_folder(&root, rest).or(Some(exact)),
    }
}

/// Whether a folder is another one or contains it, following links. `/` contains everything.
fn is_around(folder: &Path, other: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| other.canonicalize().is_ok_and(|it| it.starts_with(folder)))
}

/// The prefix whose drive C contains an instance.
fn prefix_around(folder: &Path) -> Option<PathBuf> {
    let mut prefix = PathBuf::new();
    for part in folder.components() {
        if part == Component::Normal("drive_c".as_ref()) {
            return Some(prefix);
        }
        prefix.push(part);
    }
    None
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Disk, enabled, prefix_around, unix_path};

    #[test]
    fn the_first_line_of_a_mod_counts_and_separators_are_skipped() {
        let list = "# comment\r\n+Top\r\n-Off\r\n*DLC\r\nNo sign\r\n+A_separator\r\n\
                    +Mod_backup2\r\n+Off\r\n-Top\r\n";
        assert_eq!(enabled(list), ["Top", "No sign"]);
    }

    #[test]
    fn a_mod_named_ini_backup_is_shown() {
        let list = "+INI Backup\n+Save Backup2\n+Big_Separator\n+Foo_backup2\n+backup\n+mod backup12\n\
                    +backup of x\n+Overwrite\n";
        assert_eq!(enabled(list), ["INI Backup", "Save Backup2", "Big_Separator", "backup of x"]);
    }

    #[test]
    fn windows_paths_are_resolved_through_the_prefix() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("drive_c/Games/Skyrim")).unwrap();
        let (disk, prefix) = (Disk::default(), Some(dir.path()));
        assert_eq!(
            unix_path(&disk, "C:\\games\\SKYRIM", prefix),
            Some(dir.path().join("drive_c/Games/Skyrim"))
        );
        assert_eq!(unix_path(&disk, "Z:\\nowhere\\x", None), Some(PathBuf::from("/nowhere/x")));
        assert_eq!(unix_path(&disk, "/home/u", None), Some(PathBuf::from("/home/u")));
        assert_eq!(unix_path(&disk, "D:\\x", prefix), Some(dir.path().join("dosdevices/d:/x")));
        assert_eq!((unix_path(&disk, "D:\\x", None), unix_path(&disk, "x\\y", None)), (None, None));
        assert_eq!(prefix_around(Path::new("/p/pfx/drive_c/users/u")), Some("/p/pfx".into()));
    }
}
