//! Instances of Mod Organizer 2, and of Fluorine, which uses the same files.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::folder::HiddenNames;
use crate::format::is_archive_name;
use crate::game::caseless::{CaselessEndings, CaselessNames, fold};
use crate::game::disk::Disk;
use crate::game::find::with_drive_c;
use crate::game::installation::{Installation, Overrides};
use crate::game::plan::load_order::{FolderFilter, LoadOrder, ModList, OrderLayer, PlanError};
use crate::game::plan::plan_game::{Managed, plan_managed};
use crate::game::settings::ini::Ini;
use crate::game::settings::qsettings::QSettings;
use crate::game::settings::settings_text::decode_utf8;
use crate::game::titles::title::Title;
use crate::kinds::is_plugin;
use crate::limits::FILTERS_MAX;
use crate::note::{Note, NoteCode, why_unread};
use crate::shown::{Shown, excerpt};
use crate::system::paths;
use crate::system::text::reason;

/// The settings file that makes a folder an instance.
pub const MO2_INI: &str = "ModOrganizer.ini";

/// Maximum number of profiles that a message names.
const PROFILES_NAMED: usize = 20;

/// The folder of a mod whose files the plugin Root Builder puts into the game's folder.
const ROOT: &str = "root";
const ROOT_SHOWN: &str = "Root";

/// The folders of files that an instance has in its base folder.
const DEFAULT_FOLDERS: [&str; 2] = ["mods", "overwrite"];

/// Plans the load order of an instance: its mods above the game's own files.
///
/// `find` recognises the game in a folder. It gets `None` if the instance does not say where its
/// game is, because the user may have named the game. `drives` returns the prefixes whose drives the paths of
/// an instance outside a prefix may refer to.
///
/// # Errors
/// Fails if the instance, its profile or its game cannot be found.
pub fn plan_mo2(
    disk: &Disk,
    instance: &Path,
    find: &dyn Fn(Option<&Path>) -> Result<Installation, String>,
    drives: &dyn Fn() -> Vec<PathBuf>,
    overrides: &Overrides,
) -> Result<LoadOrder, PlanError> {
    let mut notes = Vec::new();
    let instance = paths::absolute(instance).unwrap_or_else(|_| instance.to_owned());
    let ini = disk.find_file(&instance, MO2_INI);
    let bytes = ini.and_then(|path| disk.list(&path, &mut notes));
    let Some(bytes) = bytes else {
        return Err(PlanError(format!("{}: {}", instance.join(MO2_INI).shown(), why_unread(&notes))));
    };
    let instance = Instance::new(disk, instance, &QSettings::parse(&bytes), drives, overrides);
    if instance.hidden.is_cut {
        let text = format!(
            "only the first {FILTERS_MAX} entries of skip_file_suffixes= and skip_directories= hide files"
        );
        notes.push(Note::new(NoteCode::SettingsIgnored, instance.ini().to_string_lossy(), text));
    }
    let installation = match instance.game_folder() {
        Ok(game) => find(Some(&game)).map_err(PlanError)?,
        Err(unknown) => find(None).map_err(|_| unknown)?,
    };
    let profile = instance.profile(overrides.mo2_profile.as_deref())?;
    let data = disk.find_folder(&installation.folder, installation.title.data);
    let is_mounted = data.is_some_and(|data| disk.is_fuse(&data));
    let folders =
        if is_mounted { Vec::new() } else { instance.layers(&profile, installation.title, &mut notes) };
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
    order.mods = instance.mod_list(&profile);
    order.profile = Some(profile);
    Ok(order)
}

/// The instance and name of the profile in a folder. `None` if the folder is not a profile.
pub fn instance_of_profile(
    disk: &Disk,
    folder: &Path,
    drives: &dyn Fn() -> Vec<PathBuf>,
    overrides: &Overrides,
) -> Option<(PathBuf, String)> {
    let (name, profiles) = (folder.file_name()?.to_str()?, folder.parent()?);
    let instance = profiles.parent()?;
    // The plan of the instance adds the notes. The instance may keep its profiles elsewhere.
    let known = read_instance(disk, instance, drives, overrides)?.profiles?;
    let is_one = disk.canonical(&known).ok()? == disk.canonical(profiles).ok()?;
    is_one.then(|| (instance.to_owned(), name.to_owned()))
}

/// Reads the settings of the instance in a folder. `None` if there are none, or they cannot be read.
pub(super) fn read_instance<'a>(
    disk: &'a Disk,
    folder: &Path,
    drives: &dyn Fn() -> Vec<PathBuf>,
    overrides: &Overrides,
) -> Option<Instance<'a>> {
    let ini = disk.find_file(folder, MO2_INI)?;
    let settings = QSettings::parse(&disk.list(&ini, &mut Vec::new())?);
    Some(Instance::new(disk, folder.to_owned(), &settings, drives, overrides))
}

/// The path of the game as the settings of the instance in a folder have it, and the game's name there.
pub(crate) fn game_of_settings(disk: &Disk, folder: &Path) -> (Option<String>, Option<String>) {
    let ini = disk.find_file(folder, MO2_INI).and_then(|path| disk.list(&path, &mut Vec::new()));
    let settings = QSettings::parse(&ini.unwrap_or_default());
    (settings.get("General", "gamePath"), settings.get("General", "gameName"))
}

/// The profile that the settings of the instance in a folder select.
pub(crate) fn selected_profile(disk: &Disk, folder: &Path) -> Option<String> {
    let ini = disk.find_file(folder, MO2_INI)?;
    QSettings::parse(&disk.list(&ini, &mut Vec::new())?).get("General", "selected_profile")
}

/// The settings and folders of an instance.
#[derive(Debug)]
pub(super) struct Instance<'a> {
    disk: &'a Disk,
    folder: PathBuf,
    /// The keys that decide where the profiles and the mods are, with their values. `None` if they are where
    /// an instance has them.
    profiles_line: Option<(&'static str, String)>,
    mods_line: Option<(&'static str, String)>,
    /// A folder in or beside the instance whose path ends as that of the base folder. It may be the same.
    base_nearby: Option<PathBuf>,
    /// The path of the game as the settings have it, and on Linux.
    game: Option<(String, Option<PathBuf>)>,
    selected: Option<String>,
    /// The folder that has the other folders, unless the settings name them.
    base: Option<PathBuf>,
    mods: Option<PathBuf>,
    profiles: Option<PathBuf>,
    overwrite: Option<PathBuf>,
    /// Whether a mod's folder [`ROOT`] is for the game's folder.
    has_root_builder: bool,
    hidden: Hidden,
}

/// The entries of the settings that hide files, in lower case.
#[derive(Debug)]
struct Hidden {
    endings: Vec<String>,
    folders: Vec<String>,
    /// Whether entries were left out, because there were too many.
    is_cut: bool,
}

impl Hidden {
    fn read(settings: &QSettings) -> Self {
        let mut hidden = Self { endings: Vec::new(), folders: Vec::new(), is_cut: false };
        let mut left = FILTERS_MAX;
        for (key, default, names) in [
            ("skip_file_suffixes", ".mohidden", &mut hidden.endings),
            ("skip_directories", ".git", &mut hidden.folders),
        ] {
            match settings.list("Settings", key) {
                Some(mut list) => {
                    names.extend(list.by_ref().take(left).map(|name| name.to_lowercase()));
                    hidden.is_cut |= list.next().is_some();
                }
                None => names.push(default.to_owned()),
            }
            left = left.saturating_sub(names.len());
        }
        hidden
    }

    /// Compiles the filter that all mods share. Also hides these names directly in the folder of a mod.
    fn filter<'a>(&'a self, at_root: impl IntoIterator<Item = &'a str>) -> FolderFilter {
        let folders = self.folders.iter().map(String::as_str);
        let names = HiddenNames::new(at_root, folders, self.endings.iter().map(String::as_str));
        FolderFilter { only: None, hidden: Arc::new(names) }
    }
}

impl<'a> Instance<'a> {
    fn new(
        disk: &'a Disk,
        folder: PathBuf,
        settings: &QSettings,
        drives: &dyn Fn() -> Vec<PathBuf>,
        overrides: &Overrides,
    ) -> Self {
        let has_root_builder = has_root_builder(disk, &folder, settings);
        let named = overrides.prefix.as_deref();
        let named = named.map(|it| with_drive_c(disk, it).unwrap_or_else(|| it.to_owned()));
        let others = if named.is_some() { None } else { Some(drives) };
        let drives =
            Drives { disk, instance: &folder, own: named.or_else(|| prefix_around(&folder)), others };
        let of_settings = |key: &str| settings.get("Settings", key);
        let base = match of_settings("base_directory") {
            Some(base) => drives.unix_path(&base),
            None => Some(folder.clone()),
        };
        let in_base = |key: &str, name: &str| match of_settings(key) {
            Some(value) => match value.strip_prefix("%BASE_DIR%") {
                Some(rest) => base.as_ref().map(|base| base.join(rest.replace('\\', "/").trim_matches('/'))),
                None => drives.unix_path(&value),
            },
            None => base.as_ref().map(|base| base.join(name)),
        };
        let game = settings.get("General", "gamePath");
        let game = game.map(|written| {
            let path = drives.game_path(&written);
            (written, path)
        });
        let (mods, profiles) = (in_base("mod_directory", "mods"), in_base("profiles_directory", "profiles"));
        let line = |key: &'static str| {
            let of = |key: &'static str| of_settings(key).map(|value| (key, value));
            let is_in_base = of_settings(key).is_none_or(|value| value.starts_with("%BASE_DIR%"));
            if is_in_base { of("base_directory") } else { of(key) }
        };
        let (profiles_line, mods_line) = (line("profiles_directory"), line("mod_directory"));
        let base_nearby = of_settings("base_directory").and_then(|base| {
            let path = without_drive(&base)?;
            let beside = || disk.find_folder(folder.parent()?, path.rsplit('/').find(|it| !it.is_empty())?);
            drives.near_instance(&path).or_else(beside)
        });
        let overwrite = in_base("overwrite_directory", "overwrite");
        Self {
            disk,
            game,
            profiles_line,
            mods_line,
            base_nearby,
            selected: settings.get("General", "selected_profile"),
            base,
            mods,
            profiles,
            overwrite,
            has_root_builder,
            hidden: Hidden::read(settings),
            folder,
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

    /// The folders of its mods, profiles and the overwrite folder.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        [&self.mods, &self.profiles, &self.overwrite].into_iter().flatten().cloned().collect()
    }

    /// The names and folders of all profiles.
    pub(super) fn all_profiles(&self) -> Vec<(String, PathBuf)> {
        let Some(profiles) = &self.profiles else { return Vec::new() };
        let names = self.disk.names(profiles).unwrap_or_default();
        let named = names.iter().map(|name| (name.to_owned(), profiles.join(name)));
        let is_one =
            |path: &Path| self.disk.is_named_dir(path) && self.disk.is_file(&path.join("modlist.txt"));
        named.filter(|(_, path)| is_one(path)).collect()
    }

    /// The folder of the mods, and the mods that a profile enables.
    fn mod_list(&self, profile: &Path) -> Option<ModList> {
        let list = self.disk.find_file(profile, "modlist.txt");
        let list = list.and_then(|list| self.disk.list(&list, &mut Vec::new())).unwrap_or_default();
        let text = decode_utf8(&list);
        Some(ModList {
            folder: self.mods.clone()?,
            enabled: enabled(&text).into_iter().map(str::to_owned).collect(),
            unmanaged: text.lines().filter_map(|it| Some(it.strip_prefix('*')?.trim().to_owned())).collect(),
            hidden_suffixes: CaselessEndings::new(self.hidden.endings.iter().map(String::as_str)),
        })
    }

    pub(super) fn game_folder(&self) -> Result<PathBuf, PlanError> {
        let ini = self.ini();
        let Some((written, path)) = &self.game else {
            return Err(PlanError(format!(
                "{}: gamePath is not set; give the game's folder with --game-dir",
                ini.shown()
            )));
        };
        path.clone().ok_or_else(|| {
            let ini = ini.shown();
            let written = excerpt(written);
            PlanError(format!(
                "{ini}: the drive of gamePath {written} is not known; give the Wine prefix that has it with \
                 --prefix, or the game's folder with --game-dir"
            ))
        })
    }

    /// The folder of the named profile, or of the selected one if `name` is `None`.
    fn profile(&self, name: Option<&str>) -> Result<PathBuf, PlanError> {
        let (instance, wanted) = (self.folder.shown(), name.or(self.selected.as_deref()));
        let profiles = match &self.profiles {
            Some(profiles) if self.disk.is_named_dir(profiles) => profiles.as_path(),
            lost => {
                let what = match lost {
                    Some(profiles) if !self.disk.is_gone(profiles) => {
                        format!("its folder of profiles, {}, cannot be read", profiles.shown())
                    }
                    Some(profiles) => format!("its folder of profiles, {}, does not exist", profiles.shown()),
                    None => "the drive of its folder of profiles is not known".to_owned(),
                };
                return Err(PlanError(format!("{instance}: {what}{}", self.profiles_advice(wanted))));
            }
        };
        let names = self.disk.names(profiles).unwrap_or_default();
        let folders = names.iter().filter(|name| self.disk.is_dir(&profiles.join(name)));
        let known: Vec<String> =
            folders.take(PROFILES_NAMED + 1).map(|name| format!("\"{}\"", name.shown())).collect();
        if known.is_empty() {
            let folder = profiles.shown();
            let advice = self.profiles_advice(wanted);
            return Err(PlanError(format!("{instance}: its folder of profiles, {folder}, has none{advice}")));
        }
        let more = if known.len() > PROFILES_NAMED { ", …" } else { "" };
        let known = known.into_iter().take(PROFILES_NAMED).collect::<Vec<_>>().join(", ") + more;
        let Some(wanted) = wanted else {
            let what = "no profile is selected; give one with --mo2-profile";
            return Err(PlanError(format!("{instance}: {what}: {known}")));
        };
        let found = names.get(wanted).map(|name| profiles.join(name)).filter(|path| self.disk.is_dir(path));
        found.ok_or_else(|| {
            let wanted = excerpt(wanted);
            PlanError(format!(
                "{instance}: there is no profile \"{wanted}\"; give another one with --mo2-profile: {known}"
            ))
        })
    }

    /// What to do about a missing folder of profiles: only what has been found to lead on. `wanted` is the
    /// name of the profile.
    fn profiles_advice(&self, wanted: Option<&str>) -> String {
        let ini = self.ini();
        let Some((key, value)) = &self.profiles_line else {
            return "; an instance of Mod Organizer has its profiles there".to_owned();
        };
        let line = format!("{key}={} in {}", excerpt(value), ini.shown());
        let has_profile = |base: &Path| {
            let profiles = self.disk.find_folder(base, "profiles")?;
            let names = self.disk.names(&profiles).ok()?;
            let is_profile = |name: &str| self.disk.is_file(&profiles.join(name).join("modlist.txt"));
            match wanted {
                Some(wanted) => names.get(wanted).is_some_and(is_profile),
                None => names.iter().any(is_profile),
            }
            .then_some(profiles)
        };
        if let Some(profiles) = has_profile(&self.folder) {
            return format!(" ({line}); {} has the profile, so remove this line", profiles.shown());
        }
        if let Some(profiles) = self.base_nearby.as_deref().and_then(has_profile) {
            let base = profiles.parent().unwrap_or(&profiles).shown();
            return format!(" ({line}); {} has the profile, so write {key}=Z:{base}", profiles.shown());
        }
        let drive = if self.profiles.is_none() {
            ", or give the Wine prefix that has this drive with --prefix"
        } else {
            ""
        };
        format!(" ({line}); correct this line, or mount the disk that has the folder{drive}")
    }

    /// The layers of the enabled mods of a profile, lowest first, followed by that of the overwrite folder.
    fn layers(&self, profile: &Path, title: &Title, notes: &mut Vec<Note>) -> Vec<OrderLayer> {
        let mut mods = self.mods_of(profile, notes);
        let overwrite = self.overwrite.clone().filter(|path| self.disk.is_named_dir(path));
        mods.extend(overwrite.map(|path| (path, "overwrite".into())));
        self.report_outside(&mods, notes);
        if self.has_root_builder {
            for path in mods.iter().filter_map(|(path, _)| self.disk.find_folder(path, ROOT)) {
                let text = match self.disk.find_folder(&path, title.data) {
                    Some(_) => {
                        "Root Builder puts these files into the game's folder; only those in its data folder \
                         are shown"
                    }
                    None => {
                        "left out: Root Builder puts these files into the game's folder, not its data folder"
                    }
                };
                notes.push(Note::new(NoteCode::Mo2RootFolder, path.to_string_lossy(), text));
            }
        }
        let shown = match title.mod_data {
            "" => {
                let root = self.has_root_builder.then_some(ROOT);
                self.hidden.filter(["meta.ini", "readme.txt", "fomod"].into_iter().chain(root))
            }
            // The names that are hidden at the root are those in the folder of the mod itself.
            _ => self.hidden.filter([]),
        };
        let layer = |(path, why): (PathBuf, String)| {
            let path = match title.mod_data {
                "" => path,
                data => {
                    self.report_misplaced(&path, data, notes);
                    self.disk.find_folder(&path, data)?
                }
            };
            Some(OrderLayer { shown: shown.clone(), ..OrderLayer::folder(path, why) })
        };
        // Root Builder copies or links these into the game's own data folder, which is below all mods.
        let in_data = |(path, why): &(PathBuf, String)| {
            let root = self.has_root_builder.then(|| self.disk.find_folder(path, ROOT))??;
            let data = self.disk.find_folder(&root, title.data)?;
            let why = format!(
                "{ROOT_SHOWN}/{} of {why}, which Root Builder puts into the game's folder",
                title.data
            );
            Some(OrderLayer { shown: self.hidden.filter([]), ..OrderLayer::folder(data, why) })
        };
        let built: Vec<OrderLayer> = mods.iter().filter_map(in_data).collect();
        let layers = built.into_iter().chain(mods.into_iter().filter_map(layer));
        layers.map(|layer| OrderLayer { is_managed: true, ..layer }).collect()
    }

    /// Adds notes on folders of files that are elsewhere than an instance usually has them. An instance is a
    /// download, and its settings and links may name any folder of the user.
    fn report_outside(&self, mods: &[(PathBuf, String)], notes: &mut Vec<Note>) {
        let game = self.game.as_ref().and_then(|(_, path)| path.as_deref());
        let known = [Some(&*self.folder), game].into_iter().flatten();
        let mut roots: Vec<PathBuf> = known.filter_map(|path| self.disk.canonical(path).ok()).collect();
        let base = self.base.as_deref().and_then(|base| self.disk.canonical(base).ok()).unwrap_or_default();
        let mut check = |path: &Path, roots: &[PathBuf]| {
            let Ok(real) = self.disk.canonical(path) else { return };
            if roots.iter().any(|root| real.starts_with(root))
                || DEFAULT_FOLDERS.iter().any(|it| real == base.join(it))
            {
                return;
            }
            let text = format!(
                "it is {}, outside of the instance and of the game; if you did not choose it, see {MO2_INI}",
                real.shown()
            );
            notes.push(Note::new(NoteCode::Mo2FolderOutside, path.to_string_lossy(), text));
        };
        if let (Some(folder), false) = (&self.mods, mods.is_empty()) {
            check(folder, &roots);
            roots.extend(self.disk.canonical(folder));
        }
        let is_elsewhere = |path: &Path| path.is_symlink() || path.parent() != self.mods.as_deref();
        mods.iter().filter(|(path, _)| is_elsewhere(path)).for_each(|(path, _)| check(path, &roots));
    }

    /// Adds notes on the plugins and archives that are not in the folder of a mod that the game sees.
    fn report_misplaced(&self, path: &Path, data: &str, notes: &mut Vec<Note>) {
        let Ok(names) = self.disk.names(path) else { return };
        for name in names.iter().filter(|name| is_plugin(name) || is_archive_name(name.as_bytes())) {
            let text = format!("left out: the game shows only the folder {data} of this mod");
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
        let own = self.disk.canonical(&self.folder).ok();
        // A link may lead to a folder around the instance. `/` is around everything.
        let is_around = |path: &Path| {
            own.as_ref().is_some_and(|own| self.disk.canonical(path).is_ok_and(|it| own.starts_with(it)))
        };
        // The first line has the highest priority. If the mods cannot be read, that is already noted.
        for name in enabled.into_iter().rev().filter(|_| names.is_some()) {
            let stored = names.as_ref().and_then(|names| names.get(name));
            let path = self.mods.as_ref().and_then(|mods| Some(mods.join(stored?)));
            match path.clone().filter(|path| self.disk.is_named_dir(path)) {
                Some(path) if is_around(&path) => {
                    let text = "left out: its folder is a link to a folder that contains the instance";
                    notes.push(Note::new(NoteCode::Mo2ModMissing, excerpt(name), text));
                }
                Some(path) => mods.push((path, format!("mod \"{name}\""))),
                // A link that leads nowhere, or a folder that this user may not enter.
                None if path.is_some_and(|path| self.disk.metadata(&path).is_err()) => {}
                None => {
                    let text = "the profile enables this mod, but the mods folder does not contain it";
                    notes.push(Note::new(NoteCode::Mo2ModMissing, excerpt(name), text));
                }
            }
        }
        mods
    }

    /// The names in the folder of mods. If it cannot be read, adds a note and returns `None`.
    fn names_of_mods(&self, notes: &mut Vec<Note>) -> Option<CaselessNames> {
        let mods = self.mods.as_deref().map(|mods| (mods, self.disk.names(mods)));
        let (code, subject, mut text) = match mods {
            Some((_, Ok(names))) => return Some(names),
            Some((mods, Err(error))) => {
                let is_gone = self.disk.is_gone(mods);
                let code = if is_gone { NoteCode::FolderMissing } else { NoteCode::FileUnreadable };
                (code, mods.to_owned(), format!("cannot read the mods folder: {}", reason(&error)))
            }
            None => {
                let text = "the drive of its mods folder is not known".to_owned();
                (NoteCode::FileUnreadable, self.ini(), text)
            }
        };
        if let Some((key, value)) = &self.mods_line {
            text += &format!(" ({key}={} in {MO2_INI})", excerpt(value));
            if let Some(mods) = self.disk.find_folder(&self.folder, "mods") {
                text += &format!("; if {} has the mods, remove this line", mods.shown());
            }
        }
        notes.push(Note::new(code, subject.to_string_lossy(), text + "; no mods are shown"));
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
    is_separator(name) || is_backup(name)
}

/// Whether Mod Organizer takes the folder of a mod for a heading between mods.
pub(crate) fn is_separator(name: &str) -> bool {
    name.ends_with("_separator")
}

/// Whether Mod Organizer takes the folder of a mod for a backup.
pub(crate) fn is_backup(name: &str) -> bool {
    name.trim_end_matches(|letter: char| letter.is_ascii_digit()).ends_with("backup")
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

/// What the drives of Windows paths in the settings of an instance may be.
struct Drives<'a> {
    disk: &'a Disk,
    /// The folder of the instance.
    instance: &'a Path,
    /// The prefix that the user named, or that contains the instance.
    own: Option<PathBuf>,
    /// Returns other prefixes, the likeliest first. Calling it takes time. `None` if the user named one.
    others: Option<&'a dyn Fn() -> Vec<PathBuf>>,
}

impl Drives<'_> {
    /// Converts a Windows path to a Linux path. `None` if its drive is unknown.
    fn unix_path(&self, path: &str) -> Option<PathBuf> {
        let path = path.replace('\\', "/");
        let (drive, rest) = match path.split_once(':') {
            Some((drive, rest)) if drive.len() == 1 => (drive.to_ascii_lowercase(), rest),
            _ => return Some(PathBuf::from(path)).filter(|path| path.is_absolute()),
        };
        let rest = rest.trim_matches('/');
        if drive == "z" {
            let root = Path::new("/");
            return self.existing(root, rest).or_else(|| Some(root.join(rest)));
        }
        let own = self.own.as_ref().map(|it| drive_root(self.disk, it, &drive));
        own.as_ref()
            .and_then(|root| self.existing(root, rest))
            .or_else(|| {
                let others = self.others?();
                others.iter().find_map(|it| self.existing(&drive_root(self.disk, it, &drive), rest))
            })
            // The error then names the missing folder.
            .or_else(|| own.map(|root| root.join(rest)))
    }

    /// Like [`Self::unix_path`], for the game, which may also be near the instance.
    fn game_path(&self, path: &str) -> Option<PathBuf> {
        let found = self.unix_path(path);
        if found.as_ref().is_some_and(|it| self.disk.is_dir(it)) {
            return found;
        }
        without_drive(path).and_then(|rest| self.near_instance(&rest)).or(found)
    }

    fn existing(&self, root: &Path, rest: &str) -> Option<PathBuf> {
        let exact = root.join(rest);
        if self.disk.metadata(&exact).is_ok() { Some(exact) } else { self.disk.find_folder(root, rest) }
    }

    /// The folder in or beside the instance whose path ends in `rest`: lists of mods bring their own copy of
    /// the game.
    fn near_instance(&self, rest: &str) -> Option<PathBuf> {
        let names: Vec<&str> = rest.split('/').filter(|name| !name.is_empty()).collect();
        if names.is_empty() {
            return None;
        }
        let ends_with = |folder: &Path, end: &[&str]| {
            let parts: Vec<_> = folder.iter().rev().map(|it| it.to_string_lossy()).collect();
            end.len() <= parts.len() && end.iter().rev().zip(parts).all(|(a, b)| fold(a) == fold(&b))
        };
        let bases = [Some(self.instance), self.instance.parent()];
        (0..names.len()).rev().find_map(|at| {
            let (above, below) = names.split_at(at);
            let mut bases = bases.iter().flatten().filter(|base| ends_with(base, above));
            bases.find_map(|base| self.disk.find_folder(base, &below.join("/")))
        })
    }
}

/// A Windows path without its drive, with `/` between names.
fn without_drive(path: &str) -> Option<String> {
    path.get(2..).filter(|_| path.get(1..2) == Some(":")).map(|rest| rest.replace('\\', "/"))
}

/// The folder that a drive of a prefix shows. `drive` is its letter in lower case.
pub(crate) fn drive_root(disk: &Disk, prefix: &Path, drive: &str) -> PathBuf {
    let link = prefix.join("dosdevices").join(format!("{drive}:"));
    match drive {
        "c" => prefix.join("drive_c"),
        // Proton's drive S is the folder of apps in the library, …/steamapps/compatdata/ID/pfx.
        "s" if disk.metadata(&link).is_err() && prefix.ends_with("pfx") => {
            prefix.ancestors().nth(3).map_or(link, Path::to_owned)
        }
        _ => link,
    }
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

    use super::{Disk, Drives, enabled, prefix_around};

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
        let disk = Disk::default();
        let unix_path = |path: &str, own: Option<&Path>| {
            let own = own.map(Path::to_owned);
            Drives { disk: &disk, instance: Path::new("/mo2"), own, others: None }.unix_path(path)
        };
        let prefix = Some(dir.path());
        assert_eq!(unix_path("C:\\games\\SKYRIM", prefix), Some(dir.path().join("drive_c/Games/Skyrim")));
        assert_eq!(unix_path("Z:\\nowhere\\x", None), Some(PathBuf::from("/nowhere/x")));
        assert_eq!(unix_path("/home/u", None), Some(PathBuf::from("/home/u")));
        assert_eq!(unix_path("D:\\x", prefix), Some(dir.path().join("dosdevices/d:/x")));
        assert_eq!((unix_path("D:\\x", None), unix_path("x\\y", None)), (None, None));
        assert_eq!(prefix_around(Path::new("/p/pfx/drive_c/users/u")), Some("/p/pfx".into()));
    }

    #[test]
    fn drives_of_other_prefixes_and_folders_near_the_instance_are_tried() {
        let dir = tempfile::tempdir().unwrap();
        let path = |path: &str| dir.path().join(path);
        let prefixes = [path("one/steamapps/compatdata/1/pfx"), path("two/pfx")];
        for folder in ["one/steamapps/compatdata/1/pfx/dosdevices", "one/steamapps/common/Game"] {
            std::fs::create_dir_all(path(folder)).unwrap();
        }
        for folder in ["two/pfx/dosdevices", "disk/Games/game", "Lists/Mine/Stock Game", "Lists/Game Root"] {
            std::fs::create_dir_all(path(folder)).unwrap();
        }
        std::os::unix::fs::symlink(path("disk"), path("two/pfx/dosdevices/d:")).unwrap();
        let (disk, others) = (Disk::default(), || prefixes.to_vec());
        let instance = path("Lists/Mine");
        let drives = |own| Drives { disk: &disk, instance: &instance, own, others: Some(&others) };
        let unix_path = |text: &str| drives(None).game_path(text);
        assert_eq!(
            drives(None).unix_path("C:\\Stock Game"),
            None,
            "only the game is searched near the instance"
        );
        assert_eq!(unix_path("S:\\common\\Game"), Some(path("one/steamapps/common/Game")));
        let through_link = path("two/pfx/dosdevices/d:/Games/game");
        assert_eq!(unix_path("D:\\games\\Game"), Some(through_link.clone()));
        assert_eq!(drives(Some(path("three"))).unix_path("D:/Games/game"), Some(through_link));
        assert_eq!(unix_path("E:\\Lists\\mine\\Stock Game"), Some(path("Lists/Mine/Stock Game")));
        assert_eq!(unix_path("C:\\Stock Game"), Some(path("Lists/Mine/Stock Game")));
        assert_eq!(unix_path("E:\\lists\\game root"), Some(path("Lists/Game Root")));
        assert_eq!(unix_path("E:\\Other\\Stock Game"), None, "the rest of the path differs");
        assert_eq!(unix_path("E:\\"), None);
    }
}
