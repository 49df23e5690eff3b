//! Lists of the files that a mod manager put into a game's folder, of the mods that they are from, and the
//! folders from which managers deploy.
//!
//! A manager is one row of [`MANAGERS`]. A list may have come with a download, so it only adds names to
//! answers. Fluorine has no row: it shows the game a mount, as Mod Organizer does, and deploys nothing.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::mo2::{drive_root, is_separator};
use crate::game::caseless::{fold, same};
use crate::game::disk::Disk;
use crate::game::installation::Environment;
use crate::game::settings::ini::Ini;
use crate::game::settings::qsettings::QSettings;
use crate::game::settings::settings_text::decode_utf8;
use crate::limits::DEPLOYMENT_LIST_MAX;

/// A manager that links or copies the files of mods into the folder of a game.
struct Manager {
    name: &'static str,
    /// Finds what it knows of a folder of a game.
    find: fn(&Target<'_>) -> Vec<Deployment>,
}

/// Number of bytes at the beginning of a deployed file that are compared if there are many files.
const START_LEN: usize = 64 << 10;

/// Maximum number of files of a mod that are compared with those that are deployed.
const STAGED_FILES_MAX: usize = 100_000;

const MANAGERS: [Manager; 4] = [
    Manager { name: "Vortex", find: vortex },
    Manager { name: "limo", find: limo },
    Manager { name: "Amethyst", find: amethyst },
    Manager { name: "Anvil", find: anvil },
];

/// A folder of a game into which managers deploy.
struct Target<'a> {
    disk: &'a Disk,
    environment: &'a Environment,
    folder: &'a Path,
    /// The Wine prefixes whose drives a list may name.
    prefixes: &'a [PathBuf],
}

/// What a manager knows of a folder of a game.
#[derive(Default)]
struct Deployment {
    /// The path and the mod of each file.
    files: Vec<(String, String)>,
    /// The folder that has the folders of mods.
    staging: Option<PathBuf>,
    /// The names of mods whose folders are called otherwise: the folder and the name.
    names: Vec<(String, String)>,
}

/// The files that a manager deployed into a folder, and where it has its mods.
#[derive(Clone, Debug)]
pub(crate) struct DeploymentList {
    pub(crate) manager: &'static str,
    /// The number of the mod and the path of each file, by the folded path with `/` between names.
    files: HashMap<String, (usize, String)>,
    mods: Vec<String>,
    /// The folder that has the folders of mods, if it is known.
    pub(crate) staging: Option<PathBuf>,
    /// The names of mods whose folders are called otherwise: the folder and the name.
    names: Vec<(String, String)>,
}

/// What became of a file since a manager deployed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deployed {
    There,
    /// Another program wrote another file in its place.
    Replaced,
    Deleted,
}

impl DeploymentList {
    /// What managers know of a folder into which they deploy. `prefixes` are the Wine prefixes whose drives a
    /// list may name.
    pub(crate) fn of_folder(disk: &Disk, folder: &Path, prefixes: &[PathBuf]) -> Vec<Self> {
        let environment = Environment::of_process();
        Self::find(&Target { disk, environment: &environment, folder, prefixes })
    }

    fn find(target: &Target<'_>) -> Vec<Self> {
        let of_manager = |it: &Manager| {
            (it.find)(target).into_iter().map(|found| Self::new(it.name, found)).collect::<Vec<_>>()
        };
        MANAGERS.iter().flat_map(of_manager).collect()
    }

    fn new(manager: &'static str, found: Deployment) -> Self {
        let Deployment { files: deployed, staging, names } = found;
        let (mut files, mut mods, mut numbers) = (HashMap::new(), Vec::new(), HashMap::new());
        for (path, source) in deployed {
            let number = *numbers.entry(source.clone()).or_insert_with(|| {
                let name = names.iter().find(|(folder, _)| *folder == source).map(|(_, name)| name);
                mods.push(name.cloned().unwrap_or(source));
                mods.len() - 1
            });
            files.insert(key(&path), (number, path.replace('\\', "/")));
        }
        Self { manager, files, mods, staging, names }
    }

    /// The mod of the file at a path.
    pub(crate) fn mod_of(&self, path: &str) -> Option<&str> {
        self.files.get(&key(path)).map(|(number, _)| self.mods[*number].as_str())
    }

    /// The name of a deployed mod, as the list spells it. The folder of a mod names it, too.
    pub(crate) fn mod_named(&self, name: &str) -> Option<&str> {
        let name = self.name_of_folder(name);
        self.mods.iter().find(|it| same(it, name)).map(String::as_str)
    }

    /// The names of the deployed mods.
    pub(crate) fn mods(&self) -> impl Iterator<Item = &str> {
        self.mods.iter().map(String::as_str)
    }

    /// The paths of the files of a mod.
    pub(crate) fn files_of(&self, name: &str) -> impl Iterator<Item = &str> {
        let name = self.name_of_folder(name);
        let number = self.mods.iter().position(|it| same(it, name));
        self.files.values().filter(move |(of, _)| Some(*of) == number).map(|(_, path)| path.as_str())
    }

    /// The folder of a mod among those that the manager has, deployed or not, and the name of the mod.
    pub(crate) fn staged(&self, disk: &Disk, name: &str) -> Option<(PathBuf, String)> {
        let named = self.names.iter().find(|(_, it)| same(it, name)).map_or(name, |(folder, _)| folder);
        let is_one =
            !named.contains(['/', '\\']) && !matches!(named, "" | "." | "..") && !is_separator(named);
        let folder = disk.find_folder(self.staging.as_ref().filter(|_| is_one)?, named)?;
        let name = self.name_of_folder(folder.file_name()?.to_str()?).to_owned();
        Some((folder, name))
    }

    /// The names of the mods that the manager has, deployed or not.
    pub(crate) fn all_mods(&self, disk: &Disk) -> Vec<String> {
        let names = self.staging.as_ref().and_then(|staging| disk.names(staging).ok());
        let names = names.iter().flat_map(|names| names.iter());
        // Managers have files of their own beside the mods.
        let staged = names.filter(|it| !it.starts_with('.')).filter_map(|it| self.staged(disk, it));
        self.mods.iter().cloned().chain(staged.map(|(_, name)| name)).collect()
    }

    /// The folders of the mods that are not deployed.
    pub(crate) fn undeployed(&self, disk: &Disk) -> Vec<PathBuf> {
        let names = self.staging.as_ref().and_then(|staging| disk.names(staging).ok());
        let names = names.iter().flat_map(|names| names.iter()).filter(|it| !it.starts_with('.'));
        let staged = names.filter_map(|it| self.staged(disk, it));
        staged.filter(|(_, name)| self.mod_named(name).is_none()).map(|(folder, _)| folder).collect()
    }

    /// The file of a mod that was deployed at a path, if it is still there.
    pub(crate) fn staged_file(&self, disk: &Disk, path: &str) -> Option<PathBuf> {
        let (folder, _) = self.staged(disk, self.mod_of(path)?)?;
        disk.find_file(&folder, path)
    }

    /// The path in the folder at which a file of a mod is deployed, perhaps as a copy.
    pub(crate) fn deployed_copy(&self, disk: &Disk, folder: &Path, file: &Path) -> Option<String> {
        let staging = disk.canonical(self.staging.as_ref()?).ok()?;
        let real = disk.canonical(file).ok()?;
        let (first, within) = real.strip_prefix(staging).ok()?.to_str()?.split_once('/')?;
        let is_its = self.mod_of(within) == self.staged(disk, first).map(|(_, name)| name).as_deref();
        let is_there = || self.state(disk, folder, within, START_LEN) == Deployed::There;
        (is_its && is_there()).then(|| within.to_owned())
    }

    /// What became of a file that is listed at a path of the folder. Files that are no links are compared up
    /// to a length.
    pub(crate) fn state(&self, disk: &Disk, folder: &Path, path: &str, compared: usize) -> Deployed {
        let Some(deployed) = disk.find_file(folder, path) else { return Deployed::Deleted };
        // Nothing is known if the mod has no such file.
        let Some(staged) = self.staged_file(disk, path) else { return Deployed::There };
        let identity = |path: &Path| disk.file_identity(path);
        if identity(&deployed) == identity(&staged) {
            return Deployed::There;
        }
        let len = |path: &Path| disk.metadata(path).ok().map(|it| it.len());
        let start = |path: &Path| disk.read_start(path, compared).ok();
        let is_copy = len(&deployed) == len(&staged) && start(&deployed) == start(&staged);
        if is_copy { Deployed::There } else { Deployed::Replaced }
    }

    /// The copies of deployed paths in other mods than the deployed one. A mod that has other files, of
    /// which none is deployed, is off.
    fn losing(&self, disk: &Disk) -> Vec<(String, PathBuf, String)> {
        let names = self.staging.as_ref().and_then(|staging| disk.names(staging).ok());
        let mods = names.iter().flat_map(|names| names.iter()).filter_map(|name| self.staged(disk, name));
        let mut losing = Vec::new();
        for (folder, name) in mods {
            let paths = files_below(disk, &folder);
            let of_paths: Vec<Option<&str>> = paths.iter().map(|path| self.mod_of(path)).collect();
            let is_off = !of_paths.contains(&Some(&*name)) && of_paths.contains(&None);
            let of_others = paths.into_iter().zip(of_paths).filter(|(_, of)| of.is_some_and(|of| of != name));
            losing
                .extend(of_others.filter(|_| !is_off).map(|(path, _)| (path, folder.clone(), name.clone())));
        }
        losing
    }

    /// The name of the mod whose folder has this name.
    fn name_of_folder<'n>(&'n self, folder: &'n str) -> &'n str {
        if let Some((_, name)) = self.names.iter().find(|(it, _)| same(it, folder)) {
            return name;
        }
        // Vortex names a folder after the download: the name of the mod, its number, version and time.
        let is_numbered = |it: &str| {
            let rest = it.split_at_checked(folder.len()).filter(|(start, _)| same(start, folder));
            let number = rest.and_then(|(_, rest)| rest.strip_prefix('-'));
            number.is_some_and(|it| it.starts_with(|letter: char| letter.is_ascii_digit()))
        };
        let mut numbered = self.mods.iter().filter(|it| is_numbered(it));
        match (numbered.next(), numbered.next()) {
            (Some(name), None) if !self.mods.iter().any(|it| same(it, folder)) => name,
            _ => folder,
        }
    }
}

/// The mods of deployed files. The lists of a folder are read when a file in it is asked about.
pub(crate) struct Deployments {
    disk: Disk,
    /// The Wine prefixes whose drives a list may name.
    prefixes: Vec<PathBuf>,
    lists: RefCell<HashMap<PathBuf, Rc<Vec<DeploymentList>>>>,
    /// The real paths of folders that have deployed files.
    real: RefCell<HashMap<PathBuf, Option<PathBuf>>>,
}

impl Default for Deployments {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Deployments {
    /// Reads lists that may name the drives of these Wine prefixes.
    pub(crate) fn new(prefixes: Vec<PathBuf>) -> Self {
        Self { disk: Disk::remembering(), prefixes, lists: RefCell::default(), real: RefCell::default() }
    }

    /// The mod from which a manager deployed the file at a path below a folder of a game. `None` if another
    /// program replaced the file since.
    pub(crate) fn mod_of(&self, folder: &Path, path: &str) -> Option<String> {
        let lists = self.lists(folder, &self.prefixes);
        let named = lists.iter().find_map(|list| {
            let name = list.mod_of(path)?;
            let is_it = list.state(&self.disk, folder, path, START_LEN) != Deployed::Replaced;
            is_it.then(|| name.to_owned())
        });
        let real = |folder: &Path| {
            let read = || self.disk.canonical(folder).ok();
            self.real.borrow_mut().entry(folder.to_owned()).or_insert_with(read).clone()
        };
        named.or_else(|| linked_into(&self.disk, folder, path, &real).map(|(_, name)| name))
    }

    /// The copies in mods that a manager did not deploy into a folder, because it deployed their paths from
    /// other mods: the path and the folder of the mod with its name.
    pub(crate) fn losing(&self, folder: &Path, prefixes: &[PathBuf]) -> Vec<(String, PathBuf, String)> {
        let lists = self.lists(folder, prefixes);
        lists.iter().flat_map(|list| list.losing(&self.disk)).collect()
    }

    /// Whether a manager deployed something of a mod into a folder. `None` if there is no mod of this name.
    pub(crate) fn is_deployed(&self, folder: &Path, prefixes: &[PathBuf], name: &str) -> Option<bool> {
        let lists = self.lists(folder, prefixes);
        let is_deployed = lists.iter().any(|list| list.mod_named(name).is_some());
        let is_known = is_deployed || lists.iter().any(|list| list.staged(&self.disk, name).is_some());
        is_known.then_some(is_deployed)
    }

    fn lists(&self, folder: &Path, prefixes: &[PathBuf]) -> Rc<Vec<DeploymentList>> {
        let read = || Rc::new(DeploymentList::of_folder(&self.disk, folder, prefixes));
        self.lists.borrow_mut().entry(folder.to_owned()).or_insert_with(read).clone()
    }
}

/// The folder of a mod and its name, if the file at a path below a folder is a link into it, as managers make
/// them.
pub(crate) fn linked_mod(disk: &Disk, folder: &Path, path: &str) -> Option<(PathBuf, String)> {
    linked_into(disk, folder, path, &|folder| disk.canonical(folder).ok())
}

/// As [`linked_mod`]. `real` returns the real path of a folder.
fn linked_into(
    disk: &Disk,
    folder: &Path,
    path: &str,
    real: &dyn Fn(&Path) -> Option<PathBuf>,
) -> Option<(PathBuf, String)> {
    let file = disk.find(folder, path)?.path;
    // A link may be the file itself or a folder above it.
    let target = if file.is_symlink() {
        disk.canonical(&file).ok()?
    } else {
        real(file.parent()?)?.join(file.file_name()?)
    };
    let folder = real(folder)?;
    if target.starts_with(folder) {
        return None;
    }
    let mut names = target.components();
    for name in path.split('/').rev() {
        let last = names.next_back()?.as_os_str().to_str()?;
        if !same(last, name) {
            return None;
        }
    }
    let mut staged = names.as_path();
    if staged.file_name().is_some_and(|name| same(&name.to_string_lossy(), "Data")) {
        staged = staged.parent()?;
    }
    Some((staged.to_owned(), staged.file_name()?.to_str()?.to_owned()))
}

/// The paths of the files below a folder, up to a maximum, without following links to folders.
fn files_below(disk: &Disk, folder: &Path) -> Vec<String> {
    let (mut files, mut next) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(parent) = next.pop() {
        for path in disk.names(&parent).iter().flat_map(|names| names.iter()).map(|name| parent.join(name)) {
            if path.symlink_metadata().is_ok_and(|it| it.is_dir()) {
                next.push(path);
            } else if let Some(within) = path.strip_prefix(folder).ok().and_then(Path::to_str) {
                files.push(within.to_owned());
            }
            if files.len() + next.len() >= STAGED_FILES_MAX {
                return files;
            }
        }
    }
    files
}

fn key(path: &str) -> String {
    fold(path.replace('\\', "/").trim_start_matches(['.', '/']))
}

impl Target<'_> {
    fn json<T: DeserializeOwned>(&self, file: &Path) -> Option<T> {
        let bytes = self.disk.read(file, DEPLOYMENT_LIST_MAX).ok()?;
        serde_json::from_slice(bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes)).ok()
    }

    fn qsettings(&self, file: &Path) -> Option<QSettings> {
        Some(QSettings::parse(&self.disk.list(file, &mut Vec::new())?))
    }

    /// The JSON files directly in the folder whose names begin and end like this, ignoring case.
    fn own_lists<T: DeserializeOwned>(&self, start: &str, end: &str) -> Vec<T> {
        let names = self.disk.names(self.folder).unwrap_or_default();
        let is_list = |name: &&str| {
            let lower = name.to_ascii_lowercase();
            lower.starts_with(start) && lower.ends_with(end)
        };
        names.iter().filter(is_list).filter_map(|name| self.json(&self.folder.join(name))).collect()
    }

    /// The folders directly in a folder.
    fn folders_in(&self, folder: &Path) -> Vec<PathBuf> {
        let names = self.disk.names(folder).unwrap_or_default();
        names.iter().map(|name| folder.join(name)).filter(|it| self.disk.is_dir(it)).collect()
    }

    /// Whether a folder is that of the game, or one around it.
    fn is_in(&self, game: &Path) -> bool {
        let real = |path: &Path| self.disk.canonical(path).ok();
        real(self.folder).zip(real(game)).is_some_and(|(folder, game)| folder.starts_with(game))
    }

    /// The rest of a path below the folder.
    fn within(&self, path: &Path) -> Option<String> {
        let mut names = path.iter();
        for own in self.folder {
            if !same(&names.next()?.to_string_lossy(), &own.to_string_lossy()) {
                return None;
            }
        }
        Some(names.as_path().to_str()?.to_owned()).filter(|it| !it.is_empty())
    }

    /// A folder by the path that a program has for it, perhaps in Wine.
    fn folder_of(&self, path: &str) -> Option<PathBuf> {
        let path = path.replace('\\', "/");
        let (drive, rest) = match path.split_once(":/") {
            Some((drive, rest)) if drive.len() == 1 => (drive.to_ascii_lowercase(), rest),
            _ => return Some(PathBuf::from(path)).filter(|it| self.disk.is_dir(it)),
        };
        if drive == "z" {
            return Some(Path::new("/").join(rest)).filter(|it| self.disk.is_dir(it));
        }
        let roots = self.prefixes.iter().map(|prefix| drive_root(self.disk, prefix, &drive));
        roots.into_iter().find_map(|root| self.disk.find_folder(&root, rest))
    }
}

/// Each type of mods has a list of its own in the folder: vortex.deployment.json,
/// vortex.deployment.dinput.json.
fn vortex(target: &Target<'_>) -> Vec<Deployment> {
    #[derive(Deserialize)]
    struct List {
        files: Vec<Option<File>>,
        #[serde(rename = "stagingPath")]
        staging: Option<String>,
    }
    #[derive(Deserialize)]
    struct File {
        #[serde(rename = "relPath")]
        path: String,
        source: String,
    }
    let lists: Vec<List> = target.own_lists("vortex.deployment", ".json");
    let found = lists.into_iter().map(|list| Deployment {
        files: list.files.into_iter().flatten().map(|file| (file.path, file.source)).collect(),
        staging: list.staging.and_then(|path| target.folder_of(&path)),
        ..Deployment::default()
    });
    found.collect()
}

/// The list in the folder has numbers of mods. The staging folder, which the settings name, has their names.
fn limo(target: &Target<'_>) -> Vec<Deployment> {
    #[derive(Deserialize)]
    struct List {
        files: Option<Vec<File>>,
    }
    #[derive(Deserialize)]
    struct File {
        path: String,
        mod_id: i64,
    }
    #[derive(Deserialize)]
    struct Staged {
        #[serde(default)]
        deployers: Vec<Deployer>,
        #[serde(default)]
        installed_mods: Vec<Installed>,
    }
    #[derive(Deserialize)]
    struct Deployer {
        dest_path: Option<PathBuf>,
    }
    #[derive(Deserialize)]
    struct Installed {
        id: i64,
        name: String,
    }
    let lists: Vec<List> = target.own_lists(".lmmfiles", "");
    let files = lists.into_iter().flat_map(|list| list.files.unwrap_or_default());
    let files: Vec<_> = files.map(|it| (it.path, it.mod_id.to_string())).collect();
    let settings = [
        target.environment.xdg_config_home.join("Limo.conf"),
        target.environment.home.join(".var/app/io.github.limo_app.limo/config/Limo.conf"),
    ];
    let stagings = settings.iter().filter_map(|it| target.disk.list(it, &mut Vec::new())).flat_map(|bytes| {
        let ini = Ini::parse(&bytes);
        ini.keys("staging_directories").map(|(_, value)| PathBuf::from(value)).collect::<Vec<_>>()
    });
    let real = |path: &Path| target.disk.canonical(path).ok();
    let own = real(target.folder);
    let of_folder = stagings.filter(|it| it.is_absolute()).find_map(|staging| {
        let staged: Staged = target.json(&staging.join("lmm_mods.json"))?;
        let mut into = staged.deployers.iter().filter_map(|it| real(it.dest_path.as_ref()?));
        let names = staged.installed_mods.iter().map(|it| (it.id.to_string(), it.name.clone())).collect();
        into.any(|it| Some(&it) == own.as_ref()).then_some((staging, names))
    });
    let (staging, names) = of_folder.map_or_else(Default::default, |(staging, names)| (Some(staging), names));
    if files.is_empty() && staging.is_none() {
        return Vec::new();
    }
    vec![Deployment { files, staging, names }]
}

/// Each game has settings in the home, and a list of a line for each file, with the path and the mod, beside
/// its mods.
fn amethyst(target: &Target<'_>) -> Vec<Deployment> {
    #[derive(Deserialize)]
    struct Paths {
        game_path: PathBuf,
        staging_path: Option<PathBuf>,
    }
    #[derive(Default, Deserialize)]
    struct State {
        last_deployed: Option<String>,
        deploy_active: Option<bool>,
    }
    let base = target.environment.xdg_config_home.join("AmethystModManager");
    let of_game = |settings: PathBuf| {
        let paths: Paths = target.json(&settings.join("paths.json"))?;
        if !target.is_in(&paths.game_path) {
            return None;
        }
        let chosen = paths.staging_path.filter(|it| it.is_absolute());
        let mut root =
            chosen.unwrap_or_else(|| base.join("Profiles").join(settings.file_name().unwrap_or_default()));
        let state: State = target.json(&settings.join("deploy_state.json")).unwrap_or_default();
        // A profile may have mods of its own.
        let profile = root.join("profiles").join(state.last_deployed.as_deref().unwrap_or("default"));
        if target.disk.is_dir(&profile.join("mods")) && target.disk.is_file(&profile.join("filemap.txt")) {
            root = profile;
        }
        let is_deployed = state.deploy_active.unwrap_or(true);
        let list =
            target.disk.read(&root.join("filemap.txt"), DEPLOYMENT_LIST_MAX).ok().filter(|_| is_deployed);
        let list = list.unwrap_or_default();
        let text = decode_utf8(&list);
        let files = text.lines().filter_map(|line| line.rsplit_once('\t'));
        let files = files.map(|(path, name)| (path.to_owned(), name.to_owned())).collect();
        let staging = Some(root.join("mods")).filter(|it| target.disk.is_dir(it));
        Some(Deployment { files, staging, ..Deployment::default() })
    };
    target.folders_in(&base.join("games")).into_iter().filter_map(of_game).collect()
}

/// Each instance has the list of what it deployed, with paths below the folder of the game.
fn anvil(target: &Target<'_>) -> Vec<Deployment> {
    #[derive(Deserialize)]
    struct List {
        game_path: PathBuf,
        symlinks: Vec<Link>,
    }
    #[derive(Deserialize)]
    struct Link {
        link: PathBuf,
        #[serde(rename = "mod")]
        name: String,
        deploy_base: Option<PathBuf>,
    }
    // Qt writes the group General with a percent sign, because keys without a group are in [General].
    let general = |settings: &QSettings, key: &str| {
        let value = settings.get("%General", key).or_else(|| settings.get("General", key));
        value.map(PathBuf::from)
    };
    let settings =
        target.qsettings(&target.environment.xdg_config_home.join("AnvilOrganizer/AnvilOrganizer.conf"));
    let chosen = settings.and_then(|it| general(&it, "base_dir"));
    let base = chosen.filter(|it| it.is_absolute());
    let base = base.unwrap_or_else(|| target.environment.home.join(".anvil-organizer"));
    let of_instance = |instance: PathBuf| {
        let settings = target.qsettings(&instance.join(".anvil.ini"));
        let list: Option<List> = target.json(&instance.join(".deploy_manifest.json"));
        let game = list.as_ref().map(|it| it.game_path.clone());
        let game = game.or_else(|| general(settings.as_ref()?, "game_path"))?;
        if !target.is_in(&game) {
            return None;
        }
        let mods = settings.and_then(|it| it.get("Paths", "mods_directory"));
        let mods = mods.unwrap_or_else(|| "%INSTANCE_DIR%/.mods".to_owned());
        let staging = PathBuf::from(mods.replace("%INSTANCE_DIR%", instance.to_str()?));
        let files = list.into_iter().flat_map(|it| it.symlinks).filter_map(|link| {
            let at = link.deploy_base.unwrap_or_else(|| game.clone()).join(link.link);
            Some((target.within(&at)?, link.name))
        });
        let staging = Some(staging.clone()).filter(|it| target.disk.is_dir(it));
        Some(Deployment { files: files.collect(), staging, ..Deployment::default() })
    };
    target.folders_in(&base.join("instances")).into_iter().filter_map(of_instance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the managers know of the folder `game/Data`, in a home with these files. `$` stands for the home.
    fn lists(dir: &Path, files: &[(&str, &str)]) -> Vec<DeploymentList> {
        for (name, text) in files {
            let path = dir.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text.replace('$', dir.to_str().unwrap())).unwrap();
        }
        let (disk, folder) = (Disk::default(), dir.join("game/Data"));
        let environment = Environment::of_home(dir, "nobody");
        let prefixes = [dir.join("pfx")];
        DeploymentList::find(&Target {
            disk: &disk,
            environment: &environment,
            folder: &folder,
            prefixes: &prefixes,
        })
    }

    fn check(files: &[(&str, &str)], manager: &str) {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let lists = lists(dir, files);
        let [list] = &lists[..] else { panic!("{manager}: {lists:?}") };
        let disk = Disk::default();
        assert_eq!(list.manager, manager);
        assert_eq!(list.mod_of("textures/A.dds"), Some("Armor"), "{manager}");
        assert_eq!(list.mod_of("textures/b.dds"), None, "{manager}");
        assert_eq!(list.mod_named("ARMOR"), Some("Armor"), "{manager}");
        assert_eq!(list.mod_named("Unused"), None, "{manager}");
        assert_eq!(
            list.files_of("armor").map(fold).collect::<Vec<_>>(),
            [fold("textures/a.dds")],
            "{manager}"
        );
        let (folder, name) = list.staged(&disk, "UNUSED").unwrap_or_else(|| panic!("{manager}: {list:?}"));
        assert_eq!((folder.parent(), &*name), (list.staging.as_deref(), "Unused"), "{manager}");
        assert!(folder.starts_with(dir), "{manager}");
        for none in ["None", "..", "", "Unused/textures"] {
            assert_eq!(list.staged(&disk, none), None, "{manager}: {none}");
        }
        let mut all = list.all_mods(&disk);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all, ["Armor", "Unused"], "{manager}");
    }

    #[test]
    fn each_manager_names_the_mod_of_a_file_and_its_mods_that_are_not_deployed() {
        let file = r#"{"relPath":"Textures\\a.dds","source":"Armor","target":"","time":1}"#;
        let vortex = format!(
            "\u{feff}{{\"version\":1,\"stagingPath\":\"C:\\\\Vortex\\\\Mods\",\"files\":[null,{file}]}}"
        );
        check(
            &[
                ("game/Data/vortex.deployment.json", &vortex),
                ("game/Data/vortex.deployment.dinput.json", "not a list"),
                ("pfx/drive_c/vortex/mods/Armor/a", ""),
                ("pfx/drive_c/vortex/mods/Unused/a", ""),
            ],
            "Vortex",
        );
        check(
            &[
                ("game/Data/.lmmfiles", r#"{"files":[{"path":"Textures/a.dds","mod_id":7}]}"#),
                (".config/Limo.conf", "[staging_directories]\n1\\0=/nowhere\n2\\1=$/staging\nsize=2\n"),
                (
                    "staging/lmm_mods.json",
                    r#"{"deployers":[{"dest_path":"$/game/Data"},{}],
                        "installed_mods":[{"id":7,"name":"Armor"},{"id":9,"name":"Unused"}]}"#,
                ),
                ("staging/7/a", ""),
                ("staging/9/a", ""),
            ],
            "limo",
        );
        let amethyst = ".config/AmethystModManager";
        check(
            &[
                ("game/Data/x", ""),
                (
                    &format!("{amethyst}/games/Skyrim SE/paths.json"),
                    r#"{"game_path":"$/game","prefix_path":""}"#,
                ),
                (&format!("{amethyst}/games/Other/paths.json"), r#"{"game_path":"$/other"}"#),
                (&format!("{amethyst}/Profiles/Skyrim SE/filemap.txt"), "textures/a.dds\tArmor\n"),
                (&format!("{amethyst}/Profiles/Skyrim SE/mods/Armor/a"), ""),
                (&format!("{amethyst}/Profiles/Skyrim SE/mods/Unused/a"), ""),
            ],
            "Amethyst",
        );
        check(
            &[
                ("game/Data/x", ""),
                (
                    ".anvil-organizer/instances/One/.deploy_manifest.json",
                    r#"{"game_path":"$/game","symlinks":[{"link":"Data/textures/a.dds","mod":"Armor",
                        "target":"","type":"symlink"},{"link":"x.dll","mod":"Root","target":""}]}"#,
                ),
                (".anvil-organizer/instances/One/.mods/Armor/a", ""),
                (".anvil-organizer/instances/One/.mods/Unused/a", ""),
            ],
            "Anvil",
        );
    }

    #[test]
    fn a_manager_that_has_deployed_nothing_still_has_mods() {
        let dir = tempfile::tempdir().unwrap();
        let amethyst = ".config/AmethystModManager";
        let lists = lists(
            dir.path(),
            &[
                ("game/Data/x", ""),
                (
                    &format!("{amethyst}/games/Skyrim SE/paths.json"),
                    r#"{"game_path":"$/game","staging_path":"$/my mods"}"#,
                ),
                (&format!("{amethyst}/games/Skyrim SE/deploy_state.json"), r#"{"deploy_active":false}"#),
                ("my mods/filemap.txt", "textures/a.dds\tArmor\n"),
                ("my mods/mods/Armor/a", ""),
                (
                    ".anvil-organizer/instances/One/.anvil.ini",
                    "[%General]\ngame_path=$/game\n[Paths]\nmods_directory=$/anvil mods\n",
                ),
                ("anvil mods/Shield/a", ""),
            ],
        );
        let known: Vec<_> = lists.iter().map(|it| (it.manager, it.all_mods(&Disk::default()))).collect();
        assert_eq!(known, [("Amethyst", vec!["Armor".to_owned()]), ("Anvil", vec!["Shield".to_owned()])]);
        assert!(lists.iter().all(|it| it.mod_of("textures/a.dds").is_none()));
    }
}
