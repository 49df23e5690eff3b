//! Which folders of a Wine prefix have the settings of a game.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

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
    assert_eq!(found(dir.path()).0, Some(own));
    let proton = folder(users.join("steamuser/AppData/Local/Skyrim Special Edition"));
    assert_eq!(found(dir.path()), (None, Some(proton)));
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
