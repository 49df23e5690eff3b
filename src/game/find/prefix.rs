//! The users of a Wine prefix, and the folders in which a game keeps their settings.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::game::caseless;
use crate::game::disk::Disk;
use crate::game::environment::Environment;

/// Paths of Documents below a user's folder, the current name first.
const DOCUMENTS: [&str; 2] = ["Documents", "My Documents"];
/// Paths of AppData/Local below a user's folder, the current name first.
const LOCAL: [&str; 2] = ["AppData/Local", "Local Settings/Application Data"];
/// The user that Proton creates.
const PROTON_USER: &str = "steamuser";
/// Folders in `users` that do not belong to a user.
const NO_USERS: [&str; 4] = ["Public", "Default", "Default User", "All Users"];

/// The folders of a game in a prefix, if they exist.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UserFolders {
    /// `Documents/My Games/<name>`.
    pub(super) my_games: Option<PathBuf>,
    /// `AppData/Local/<name>`.
    pub(super) local: Option<PathBuf>,
}

/// Finds the folders of a game in a prefix. The first user with any of them wins; `steamuser` comes
/// first, then the login name, then other users by name. `my_games` and `local` are possible names
/// of the game's folders, the likeliest first.
pub(super) fn user_folders(
    disk: &Disk,
    prefix: &Path,
    my_games: &[&str],
    local: &[&str],
    environment: &Environment,
) -> UserFolders {
    let of_user = |user: PathBuf| {
        let documents = DOCUMENTS.iter().filter_map(|it| disk.find_folder(&user, &format!("{it}/My Games")));
        let locals = LOCAL.iter().filter_map(|it| disk.find_folder(&user, it));
        UserFolders {
            my_games: first_of(disk, &documents.collect::<Vec<_>>(), my_games),
            local: first_of(disk, &locals.collect::<Vec<_>>(), local),
        }
    };
    let found = users(disk, prefix, environment).into_iter().map(of_user);
    found.into_iter().find(|it| *it != UserFolders::default()).unwrap_or_default()
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

/// The subfolder `pfx` or the folder itself, if it contains `drive_c`.
pub(super) fn with_drive_c(disk: &Disk, folder: &Path) -> Option<PathBuf> {
    [folder.join("pfx"), folder.to_owned()].into_iter().find(|it| disk.is_dir(&it.join("drive_c")))
}

/// The prefix that contains a path.
pub(super) fn around(path: &Path) -> Option<PathBuf> {
    let drive = path.ancestors().find(|it| it.file_name().is_some_and(|name| name == "drive_c"))?;
    drive.parent().map(Path::to_owned)
}
