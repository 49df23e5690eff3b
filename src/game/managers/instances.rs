//! Finds instances of Mod Organizer 2 and Fluorine: portable ones, and those in Wine prefixes.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::mo2::{Instance, MO2_INI, read_instance};
use crate::game::caseless::{fold, same};
use crate::game::disk::Disk;
use crate::game::find::{Installations, LOST, drives, recognise_among};
use crate::game::installation::{Environment, Overrides};
use crate::game::titles::title;
use crate::game::titles::title::Title;
use crate::limits::SETTINGS_MAX;
use crate::shown::quoted;
use crate::system::mountinfo;

/// An instance of Mod Organizer 2, or of Fluorine.
#[derive(Clone, Debug)]
pub struct FoundInstance {
    /// The folder of the instance.
    pub folder: PathBuf,
    /// The game that the instance manages; `None` if it cannot be found.
    pub title: Option<&'static Title>,
    /// The folder of the game.
    pub game: Option<PathBuf>,
    pub profile: Option<String>,
    /// All profiles, ordered by name, with their folders.
    pub profiles: Vec<(String, PathBuf)>,
    /// Number of mods that the profile enables.
    pub mods: usize,
    /// The folders of its mods, profiles and the overwrite folder, which may be elsewhere.
    pub folders: Vec<PathBuf>,
}

/// Maximum number of folders that are searched, so that a huge folder does not delay a command.
const FOLDERS_MAX: usize = 20_000;
/// Folders on drive C that have many folders, but no instances.
const NOT_ON_DRIVE_C: [&str; 3] = ["windows", "users", "ProgramData"];

/// The beginnings of types of file systems that are not searched, because their daemon or server may hang.
const NOT_ENTERED: [&str; 6] = ["fuse.", "autofs", "nfs", "cifs", "smb", "9p"];

/// Finds the instances of a user. `found` is the result of the search for games. After `limit`, no more
/// folders are searched.
pub fn find_instances(
    disk: &Disk,
    environment: &Environment,
    found: &Installations,
    limit: Option<Duration>,
) -> Vec<FoundInstance> {
    let end = limit.map(|limit| Instant::now() + limit);
    let mounts =
        mountinfo::mounts().into_iter().filter(|it| NOT_ENTERED.iter().any(|kind| it.kind.starts_with(kind)));
    let mounts = mounts.map(|mounted| mounted.mountpoint).collect();
    let mut search = Search { disk, mounts, end, visited: 0, folders: Vec::new() };
    // The likeliest places come first.
    for game in &found.installations {
        search.visit(&game.folder, 1);
        game.folder.parent().into_iter().for_each(|parent| search.visit(parent, 1));
        search.pointer(&game.folder);
        game.prefix.iter().for_each(|prefix| search.prefix(prefix));
    }
    for (place, depth) in &found.instances {
        search.visit(place, *depth);
    }
    // These are, among others, the libraries of Steam.
    for place in &found.searched {
        search.visit(place, 1);
        search.visit(&place.join("steamapps/common"), 1);
    }
    for prefix in found.prefixes() {
        search.prefix(prefix);
    }
    let mut known = Vec::new();
    let folders = search.folders.into_iter().filter(|folder| {
        let identity = disk.identity(folder);
        let is_new = !known.contains(&identity);
        known.push(identity);
        is_new
    });
    let mut instances: Vec<_> = folders.filter_map(|it| describe(disk, &it, environment, found)).collect();
    instances.sort_by(|a, b| a.folder.cmp(&b.folder));
    instances
}

/// The instance in a folder, or the one whose settings file is named; `None` if there is none.
pub fn instance(
    disk: &Disk,
    path: &Path,
    environment: &Environment,
    found: &Installations,
) -> Option<FoundInstance> {
    let is_settings = path.file_name().and_then(|name| name.to_str()).is_some_and(|it| same(it, MO2_INI));
    let folder = if is_settings { path.parent()? } else { path };
    describe(disk, folder, environment, found)
}

/// Reads the settings and the list of mods of an instance.
fn describe(
    disk: &Disk,
    folder: &Path,
    environment: &Environment,
    found: &Installations,
) -> Option<FoundInstance> {
    let drives = || drives(disk, folder, found);
    let instance: Instance<'_> = read_instance(disk, folder, &drives, &Overrides::default())?;
    let (profile, mods) = instance.selected();
    let profiles = instance.all_profiles();
    let game = instance.game_folder().ok().filter(|game| disk.is_dir(game));
    let identity = game.as_ref().and_then(|game| disk.identity(game));
    let known = found.installations.iter().find(|it| disk.identity(&it.folder) == identity);
    let title = match (known, &game) {
        (Some(known), Some(_)) => Some(known.title),
        (None, Some(game)) => {
            let found = || Rc::new(Installations::default());
            recognise_among(disk, game, environment, &found).ok().map(|it| it.title)
        }
        (_, None) => None,
    };
    let folders = instance.folders();
    Some(FoundInstance { folder: folder.to_owned(), title, game, profile, profiles, mods, folders })
}

/// A source that names an instance by its game: `skyrimse:mo2`, or with a profile `skyrimse:mo2/Test`. If a
/// game has several instances, the name of a folder is in place of `mo2`.
#[derive(Clone, Copy, Debug)]
pub struct InstanceName<'a> {
    title: &'static Title,
    instance: &'a str,
    profile: Option<&'a str>,
}

impl<'a> InstanceName<'a> {
    /// `None` if a source is not of this form.
    pub fn parse(source: &'a str) -> Option<Self> {
        let (id, rest) = source.split_once(':')?;
        let (instance, profile) = rest.split_once('/').unwrap_or((rest, ""));
        let profile = Some(profile.trim_end_matches('/')).filter(|profile| !profile.is_empty());
        let title = title(id).filter(|_| !instance.is_empty())?;
        Some(Self { title, instance, profile })
    }

    /// The folder of the instance, or that of the profile, among these instances.
    ///
    /// # Errors
    /// No instance has this name, or it has no such profile. The text says which there are.
    pub fn find(&self, instances: &[FoundInstance]) -> Result<PathBuf, String> {
        let names = instance_names(instances);
        let is_of_game = |it: &FoundInstance| it.title.is_some_and(|title| title.id == self.title.id);
        let of_game = || instances.iter().zip(&names).filter(|(it, _)| is_of_game(it));
        let is_named = |name: &Option<String>| {
            let name = name.as_ref().and_then(|name| name.split_once(':'));
            name.is_some_and(|(_, name)| same(name, self.instance))
        };
        let Some((found, name)) = of_game().find(|(_, name)| is_named(name)) else {
            let known: Vec<String> = of_game()
                .map(|(it, name)| name.clone().unwrap_or_else(|| it.folder.to_string_lossy().into_owned()))
                .map(|name| quoted(&name).to_string())
                .collect();
            return Err(match &known[..] {
                [] => {
                    format!("no instance of Mod Organizer 2 for {} was found; give its folder", self.title.id)
                }
                _ => format!("no instance has this name; there are: {}", known.join(", ")),
            });
        };
        let Some(wanted) = self.profile else { return Ok(found.folder.clone()) };
        let mut profiles = found.profiles.iter();
        let profile = profiles.find(|(profile, _)| profile == wanted);
        let profile = profile.or_else(|| found.profiles.iter().find(|(profile, _)| same(profile, wanted)));
        profile.map(|(_, folder)| folder.clone()).ok_or_else(|| {
            let name = name.as_deref().unwrap_or_default();
            let shown = found.profiles.iter().take(PROFILES_NAMED);
            let known: Vec<String> =
                shown.map(|(profile, _)| quoted(&format!("{name}/{profile}")).to_string()).collect();
            format!("the instance has no such profile; there are: {}", known.join(", "))
        })
    }

    /// The parts of the name, for the name of a folder.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        [self.title.id, self.instance].into_iter().chain(self.profile)
    }
}

/// Maximum number of profiles that a message names.
const PROFILES_NAMED: usize = 20;

/// The name as a source of each instance: `skyrimse:mo2` for the only instance of a game. If there are
/// several, it has the name of the lowest folder that is in the path of this one alone. `None` if there is no
/// such folder, or if the game is not known.
pub fn instance_names(instances: &[FoundInstance]) -> Vec<Option<String>> {
    let id = |it: &FoundInstance| it.title.map(|title| title.id);
    let names = |it: &FoundInstance| -> Vec<String> {
        it.folder.iter().rev().filter_map(|name| name.to_str()).map(str::to_owned).collect()
    };
    let (mut of_game, mut with_folder) = (HashMap::new(), HashMap::new());
    for it in instances {
        *of_game.entry(id(it)).or_insert(0) += 1;
        for name in names(it).iter().map(|name| fold(name)).collect::<HashSet<_>>() {
            *with_folder.entry((id(it), name)).or_insert(0) += 1;
        }
    }
    let name = |it: &FoundInstance| {
        let id = id(it)?;
        if of_game.get(&Some(id)) == Some(&1) {
            return Some(format!("{id}:mo2"));
        }
        let is_own = |name: &String| with_folder.get(&(Some(id), fold(name))) == Some(&1);
        Some(format!("{id}:{}", names(it).into_iter().find(is_own)?))
    };
    instances.iter().map(name).collect()
}

struct Search<'a> {
    disk: &'a Disk,
    /// Mountpoints that are not entered.
    mounts: HashSet<PathBuf>,
    /// When to stop.
    end: Option<Instant>,
    /// Number of folders that were searched.
    visited: usize,
    /// The instances.
    folders: Vec<PathBuf>,
}

impl Search<'_> {
    /// Searches a folder, and `depth` levels of folders below it.
    fn visit(&mut self, folder: &Path, depth: u8) {
        self.visited += 1;
        if self.visited > FOLDERS_MAX || self.mounts.contains(folder) || !self.disk.is_dir(folder) {
            return;
        }
        if self.disk.is_named_file(&folder.join(MO2_INI)) {
            self.folders.push(folder.to_owned());
        } else if depth > 0 {
            self.folders_in(folder, &|path| self.disk.is_named_dir(path))
                .iter()
                .for_each(|below| self.visit(below, depth - 1));
        }
    }

    /// Searches drive C of a prefix, and the global instances of its users.
    fn prefix(&mut self, prefix: &Path) {
        let drive = prefix.join("drive_c");
        for folder in self.folders_in(&drive, &|path| self.disk.is_dir(path)) {
            let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if !NOT_ON_DRIVE_C.iter().any(|it| same(it, name)) {
                self.visit(&folder, 1);
            }
        }
        for user in self.folders_in(&drive.join("users"), &|path| self.disk.is_dir(path)) {
            self.visit(&user.join("AppData/Local/ModOrganizer"), 1);
        }
    }

    /// Reads the file in a game's folder in which modorganizer2-linux-installer names the program of an
    /// instance, as a Windows path on drive Z.
    fn pointer(&mut self, game: &Path) {
        let Ok(text) = self.disk.read(&game.join("modorganizer2/instance_path.txt"), SETTINGS_MAX) else {
            return;
        };
        let program = String::from_utf8_lossy(&text).trim().replace('\\', "/");
        let program = PathBuf::from(program.strip_prefix("Z:").unwrap_or(&program));
        program.parent().filter(|it| it.is_absolute()).into_iter().for_each(|folder| self.visit(folder, 0));
    }

    /// The paths in a folder that are folders, without hidden ones.
    fn folders_in(&self, folder: &Path, is_folder: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
        if self.end.is_some_and(|end| Instant::now() > end) {
            return Vec::new();
        }
        let names = self.disk.names(folder).unwrap_or_default();
        let names = names.iter().filter(|name| !name.starts_with('.') && *name != LOST).take(FOLDERS_MAX);
        let paths = names.map(|name| folder.join(name)).filter(|path| !self.mounts.contains(path));
        paths.filter(|path| is_folder(path)).collect()
    }
}
