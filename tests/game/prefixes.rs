//! Which folders of a Wine prefix have the settings of a game.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bsafs::game::find::with_prefix;
use bsafs::game::{Disk, Environment, Installation, Storefront, title};
use tempfile::TempDir;

/// The folders of Skyrim Special Edition in a prefix: in My Games and in AppData/Local.
fn found(prefix: &Path) -> (Option<PathBuf>, Option<PathBuf>) {
    let installation = Installation {
        title: title("skyrimse").unwrap(),
        store: Storefront::Unknown,
        folder: "/none".into(),
        prefix: None,
        my_games: None,
        local: None,
        language: None,
        prefixes: Vec::new(),
    };
    let anna = Environment::of_home("/home/anna", "anna");
    let found = with_prefix(&Disk::default(), &installation, prefix, &anna).unwrap();
    (found.my_games, found.local)
}

fn folder(path: PathBuf) -> PathBuf {
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn the_user_folder_with_the_game_is_chosen_but_never_public() {
    let dir = TempDir::new().unwrap();
    let users = dir.path().join("drive_c/users");
    let game = "Documents/My Games/Skyrim Special Edition";
    folder(users.join("Public").join(game));
    folder(users.join("steamuser/Documents"));
    assert_eq!(found(dir.path()), (None, None));
    let other = folder(users.join("aaron").join(game));
    assert_eq!(found(dir.path()).0, Some(other));
    let own = folder(users.join("anna").join(game));
    assert_eq!(found(dir.path()).0, Some(own), "the login name");
    let proton = folder(users.join("steamuser/AppData/Local/Skyrim Special Edition"));
    assert_eq!(found(dir.path()), (None, Some(proton)), "if nothing else differs");
}

/// Writes the file in which Skyrim keeps its settings for a user, on a day, and returns its folder.
fn settings(prefix: &Path, user: &str, day: u64) -> PathBuf {
    let game =
        folder(prefix.join("drive_c/users").join(user).join("Documents/My Games/Skyrim Special Edition"));
    fs::write(game.join("Skyrim.ini"), "").unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000 + day * 86_400);
    let file = File::options().write(true).open(game.join("Skyrim.ini")).unwrap();
    file.set_times(FileTimes::new().set_modified(time)).unwrap();
    game
}

#[test]
fn of_two_users_the_one_that_the_registry_names_is_chosen_and_otherwise_the_last_to_write() {
    let dir = TempDir::new().unwrap();
    let prefix = dir.path();
    let (proton, wine) = (settings(prefix, "steamuser", 1), settings(prefix, "anna", 0));
    assert_eq!(found(prefix).0.as_ref(), Some(&proton));
    settings(prefix, "anna", 2);
    assert_eq!(found(prefix).0.as_ref(), Some(&wine));
    let third = settings(prefix, "bob", 3);
    assert_eq!(found(prefix).0.as_ref(), Some(&third));
    // Other sections may name users too.
    let registry = |name: &str, profile: &str| {
        let text = format!(
            "WINE REGISTRY Version 2\n\n[Environment] 1\n\"USERNAME\"=\"bob\"\n\n\
             [Volatile Environment] 1750000000\n#time=1db\n\
             \"USERNAME\"=\"{name}\"\n{profile}\n\n[Software\\\\Wine] 1\n\"USERNAME\"=\"bob\"\n"
        );
        fs::write(prefix.join("user.reg"), text).unwrap();
    };
    registry("Anna", "");
    assert_eq!(found(prefix).0.as_ref(), Some(&wine));
    registry("anna", r#""USERPROFILE"="C:\\users\\steamuser""#);
    assert_eq!(found(prefix).0.as_ref(), Some(&proton));
    // A user whom the registry names, but who has no settings, is not chosen.
    registry("carol", r#""USERPROFILE"="C:\\users\\carol""#);
    assert_eq!(found(prefix).0.as_ref(), Some(&third));
}

#[test]
fn a_user_who_is_a_link_to_another_is_the_same() {
    let dir = TempDir::new().unwrap();
    let proton = settings(dir.path(), "steamuser", 1);
    symlink("steamuser", dir.path().join("drive_c/users/anna")).unwrap();
    fs::write(dir.path().join("user.reg"), "[Volatile Environment] 1\n\"USERNAME\"=\"anna\"\n").unwrap();
    assert_eq!(found(dir.path()).0, Some(proton));
}

#[test]
fn the_usual_name_is_preferred_and_old_spellings_are_found() {
    let dir = TempDir::new().unwrap();
    let user = dir.path().join("drive_c/users/anna");
    let old = folder(user.join("Local Settings/Application Data/skyrim special edition gog"));
    let documents = folder(user.join("My Documents/my games/Skyrim Special Edition"));
    assert_eq!(found(dir.path()), (Some(documents), Some(old)));
    let usual = folder(user.join("appdata/local/SKYRIM Special Edition"));
    assert_eq!(found(dir.path()).1, Some(usual));
}

#[test]
fn a_linked_documents_folder_is_followed_and_a_link_loop_is_not() {
    let dir = TempDir::new().unwrap();
    let user = folder(dir.path().join("pfx/drive_c/users/anna"));
    folder(dir.path().join("home/My Games/Skyrim Special Edition"));
    symlink(dir.path().join("home"), user.join("Documents")).unwrap();
    symlink("Local Settings", user.join("Local Settings")).unwrap();
    assert_eq!(found(dir.path()).0, Some(user.join("Documents/My Games/Skyrim Special Edition")));
}
