//! The users of a Wine prefix, and the folders in which a game keeps their settings.

use std::collections::HashSet;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::game::caseless;
use crate::game::disk::Disk;
use crate::game::installation::Environment;
use crate::game::settings::qsettings::QSettings;
use crate::limits::SETTINGS_MAX;

/// Paths of Documents below a user's folder, the current name first.
const DOCUMENTS: [&str; 2] = ["Documents", "My Documents"];
/// Paths of AppData/Local below a user's folder, the current name first.
const LOCAL: [&str; 2] = ["AppData/Local", "Local Settings/Application Data"];
/// The user that Proton creates.
const PROTON_USER: &str = "steamuser";
/// The settings of Mod Organizer 2, and their maximum size in bytes.
const MO2_INI: &str = "ModOrganizer.ini";
const MO2_INI_MAX: usize = 4 << 20;
/// Maximum number of names in a folder of settings whose times are compared.
const SETTINGS_NAMES_MAX: usize = 1_000;
/// Folders in `users` that do not belong to a user.
const NO_USERS: [&str; 4] = ["Public", "Default", "Default User", "All Users"];

/// The folders of a game in a prefix, if they exist.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct UserFolders {
    /// The user's own folder.
    pub(crate) user: PathBuf,
    /// `Documents/My Games/<name>`.
    pub(crate) my_games: Option<PathBuf>,
    /// `AppData/Local/<name>`.
    pub(crate) local: Option<PathBuf>,
    /// Whether the prefix ran for this user last, according to its registry. Only known if several users
    /// have settings.
    pub(crate) ran_last: bool,
    /// When a file in the folders was last written. Only known if several users have settings.
    pub(crate) written: Option<SystemTime>,
}

/// Finds the folders of a game in a prefix, for each user who has any. The first ones are used. If there are
/// several users, they are those for whom the prefix ran last, then those whose files were written last:
/// Proton calls its user `steamuser`, Wine takes the login name, and a prefix that changed from one to the
/// other has both (lutris issue 2928). `my_games` and `local` are possible names of the game's folders, the
/// likeliest first.
pub(super) fn user_folders(
    disk: &Disk,
    prefix: &Path,
    my_games: &[&str],
    local: &[&str],
    environment: &Environment,
) -> Vec<UserFolders> {
    let of_user = |user: PathBuf| {
        let documents = DOCUMENTS.iter().filter_map(|it| disk.find_folder(&user, &format!("{it}/My Games")));
        let locals = LOCAL.iter().filter_map(|it| disk.find_folder(&user, it));
        let my_games = first_of(disk, &documents.collect::<Vec<_>>(), my_games);
        let local = first_of(disk, &locals.collect::<Vec<_>>(), local);
        UserFolders { user, my_games, local, ..UserFolders::default() }
    };
    let mut identities = HashSet::new();
    // One user may be a link to another, or their documents may be.
    let mut is_new = |it: &UserFolders| {
        let folders = [&it.my_games, &it.local].into_iter().flatten();
        folders.filter(|folder| identities.insert(disk.identity(folder))).count() > 0
    };
    let found = users(disk, prefix, environment).into_iter().map(of_user);
    let mut found: Vec<UserFolders> = found.filter(|it| is_new(it)).collect();
    if found.len() > 1 {
        let last = last_user(disk, prefix);
        for it in &mut found {
            let name = it.user.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            it.ran_last = last.as_deref().is_some_and(|last| caseless::same(last, name));
            it.written =
                [&it.my_games, &it.local].into_iter().flatten().filter_map(|it| written(disk, it)).max();
        }
        found.sort_by_key(|it| std::cmp::Reverse((it.ran_last, it.written)));
    }
    found
}

/// When a file directly in a folder was last written.
fn written(disk: &Disk, folder: &Path) -> Option<SystemTime> {
    let names = disk.names(folder).ok()?;
    let files =
        names.iter().take(SETTINGS_NAMES_MAX).filter_map(|name| disk.metadata(&folder.join(name)).ok());
    files.filter(Metadata::is_file).filter_map(|file| file.modified().ok()).max()
}

/// The user for whom a prefix ran last. Wine writes the names into the registry whenever it starts for
/// another user.
fn last_user(disk: &Disk, prefix: &Path) -> Option<String> {
    let registry = disk.read(&prefix.join("user.reg"), SETTINGS_MAX).ok()?;
    let registry = String::from_utf8_lossy(&registry);
    let (mut is_volatile, mut name) = (false, None);
    for line in registry.lines() {
        if line.starts_with('[') {
            is_volatile = line.starts_with("[Volatile Environment");
        }
        // "USERPROFILE"="C:\\users\\alice"
        let Some((key, value)) = line.split_once('=').filter(|_| is_volatile) else { continue };
        let value = value.trim().trim_matches('"');
        match key.trim_matches('"') {
            "USERPROFILE" => return value.rsplit('\\').next().map(str::to_owned),
            "USERNAME" => name = Some(value.to_owned()),
            _ => {}
        }
    }
    name
}

/// Folders of a prefix that may contain settings but that the user may not read.
pub fn unreadable(disk: &Disk, prefix: &Path) -> Vec<PathBuf> {
    let mut folders = vec![prefix.to_owned(), prefix.join("drive_c"), prefix.join("drive_c/users")];
    for user in users(disk, prefix, &Environment::default()) {
        let documents = DOCUMENTS.iter().flat_map(|it| [(*it).to_owned(), format!("{it}/My Games")]);
        let locals = LOCAL.iter().filter_map(|it| Some([it.split_once('/')?.0, it])).flatten();
        folders.extend(documents.filter_map(|it| disk.find_folder(&user, &it)));
        folders.extend(locals.filter_map(|it| disk.find_folder(&user, it)));
        folders.push(user);
    }
    let is_forbidden =
        |path: &PathBuf| disk.names(path).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
    folders.retain(is_forbidden);
    folders
}

/// The first folder that exists. Each name is tried in all parents before the next name.
fn first_of(disk: &Disk, parents: &[PathBuf], names: &[&str]) -> Option<PathBuf> {
    names.iter().find_map(|name| parents.iter().find_map(|parent| disk.find_folder(parent, name)))
}

/// The folders of the users of a prefix, the likeliest first.
fn users(disk: &Disk, prefix: &Path, environment: &Environment) -> Vec<PathBuf> {
    let Some(folder) = disk.find_folder(prefix, "drive_c/users") else { return Vec::new() };
    let Ok(names) = disk.names(&folder) else { return Vec::new() };
    let mut users: Vec<&str> =
        names.iter().filter(|name| !NO_USERS.iter().any(|it| caseless::same(it, name))).collect();
    users.sort_by_key(|name| match () {
        () if caseless::same(name, PROTON_USER) => 0,
        () if caseless::same(name, &environment.user) => 1,
        () => 2,
    });
    users.into_iter().map(|name| folder.join(name)).collect()
}

/// A prefix that a launcher made.
#[derive(Clone, Debug)]
pub(crate) struct KnownPrefix {
    /// The folder that contains `drive_c`.
    pub(super) folder: PathBuf,
    /// The launcher; empty if it is not known.
    pub(super) launcher: &'static str,
    /// Steam's id of the app or shortcut that the prefix belongs to.
    pub(super) app: Option<u32>,
    /// The program that a shortcut of Steam starts in the prefix, and the folder that it starts in.
    pub(super) starts: Vec<PathBuf>,
    /// Folders whose instances a mod manager always runs in the prefix.
    pub(super) manages: Vec<PathBuf>,
    /// Whether the user named the prefix.
    pub(super) is_named: bool,
}

impl KnownPrefix {
    /// Creates a prefix that belongs to no app.
    pub(super) fn new(folder: PathBuf, launcher: &'static str) -> Self {
        Self { folder, launcher, app: None, starts: Vec::new(), manages: Vec::new(), is_named: false }
    }

    /// Whether a shortcut starts a program in a folder.
    pub(super) fn starts_in(&self, disk: &Disk, folder: &Path) -> bool {
        let identity = disk.identity(folder);
        let is_in = |start: &PathBuf| start.ancestors().any(|it| disk.identity(it) == identity);
        identity.is_some() && self.starts.iter().any(is_in)
    }
}

impl KnownPrefix {
    /// Whether a shortcut starts a portable Mod Organizer whose instance manages the game in a folder.
    pub(super) fn starts_instance_of(&self, disk: &Disk, game: &Path) -> bool {
        let folders = self.starts.iter().flat_map(|start| [Some(start.as_path()), start.parent()]).flatten();
        let settings = folders.filter_map(|it| disk.read(&it.join(MO2_INI), MO2_INI_MAX).ok());
        let mut games = settings.filter_map(|it| QSettings::parse(&it).get("General", "gamePath"));
        games.any(|it| is_end_of(&it, game))
    }
}

/// Whether a Windows path, without its drive, is the end of a folder's path. What the drive shows may be any
/// folder above it.
fn is_end_of(path: &str, folder: &Path) -> bool {
    let path = path.replace('\\', "/");
    let rest = path.split_once(':').map_or(path.as_str(), |(_, rest)| rest);
    let names: Vec<&str> = rest.split('/').filter(|name| !name.is_empty()).collect();
    let parts: Vec<_> = folder.iter().rev().map(|it| it.to_string_lossy()).collect();
    !names.is_empty()
        && names.len() <= parts.len()
        && names.iter().rev().zip(parts).all(|(name, part)| caseless::same(name, &part))
}

/// When a program last started in a prefix. Proton locks a file then, and Wine writes the registry when the
/// last program ends.
pub(super) fn last_start(disk: &Disk, prefix: &Path) -> Option<SystemTime> {
    let of_proton = prefix.parent().filter(|_| prefix.ends_with("pfx")).map(|it| it.join("pfx.lock"));
    let files = of_proton.into_iter().chain([prefix.join("user.reg")]);
    files.filter_map(|file| disk.metadata(&file).ok()).find(Metadata::is_file)?.modified().ok()
}

/// The folder in which Heroic makes prefixes.
pub(super) fn by_heroic(environment: &Environment) -> PathBuf {
    environment.home.join("Games/Heroic/Prefixes")
}

/// The subfolder `pfx` or the folder itself, if it contains `drive_c`.
pub(crate) fn with_drive_c(disk: &Disk, folder: &Path) -> Option<PathBuf> {
    [folder.join("pfx"), folder.to_owned()].into_iter().find(|it| disk.is_named_dir(&it.join("drive_c")))
}

/// The prefix that contains a path.
pub(super) fn around(path: &Path) -> Option<PathBuf> {
    let drive = path.ancestors().find(|it| it.file_name().is_some_and(|name| name == "drive_c"))?;
    drive.parent().map(Path::to_owned)
}
