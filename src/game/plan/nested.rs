//! Finds mods that were installed as they were packed, so that the game sees nothing of them: all that is for
//! the game is in a subfolder, such as `Data` or `00 Core`.

use std::path::Path;

use super::active::is_plugin;
use super::data::DataFolder;
use crate::format::is_archive_name;
use crate::game::caseless::same;
use crate::game::disk::Disk;
use crate::note::{Note, NoteCode};

/// Names of folders that games and their extenders read in a data folder.
const FOLDERS: [&str; 29] = [
    "textures",
    "meshes",
    "sound",
    "sounds",
    "music",
    "scripts",
    "interface",
    "strings",
    "seq",
    "video",
    "shaders",
    "shadersfx",
    "materials",
    "menus",
    "fonts",
    "trees",
    "lodsettings",
    "facegen",
    "grass",
    "bookart",
    "splash",
    "distantlod",
    "dialogueviews",
    "skse",
    "f4se",
    "nvse",
    "obse",
    "fose",
    "sfse",
];
/// Maximum number of subfolders of a mod that are looked at.
const SUBFOLDERS_MAX: usize = 32;

/// A note if nothing directly in the folder of a mod is for the game, but something in a subfolder is.
pub(crate) fn note(disk: &Disk, folder: &DataFolder) -> Option<Note> {
    let files = folder.files.iter().map(|file| file.name.as_str());
    if files.chain(folder.folders.iter().map(String::as_str)).any(is_for_game) {
        return None;
    }
    let names = folder.folders.iter().take(SUBFOLDERS_MAX);
    let nested = names.filter(|name| has_something(disk, &folder.path.join(name)));
    let mut nested: Vec<&str> = nested.map(String::as_str).collect();
    nested.sort_unstable();
    let first = nested.first()?;
    let name = folder.path.file_name().unwrap_or_default().to_string_lossy();
    let text = format!(
        "the game sees nothing of mod \"{name}\": its files are in the subfolder \"{first}\", not at its \
         top; move them up, or install the mod again"
    );
    Some(Note::new(NoteCode::Mo2ModNested, folder.path.to_string_lossy(), text))
}

/// Whether a folder has something for the game, directly or in its folder `Data`.
fn has_something(disk: &Disk, folder: &Path) -> bool {
    let Ok(names) = disk.names(folder) else { return false };
    let data = names.get("Data").and_then(|data| disk.names(&folder.join(data)).ok());
    names.iter().any(is_for_game) || data.is_some_and(|data| data.iter().any(is_for_game))
}

fn is_for_game(name: &str) -> bool {
    is_plugin(name) || is_archive_name(name.as_bytes()) || FOLDERS.iter().any(|it| same(it, name))
}
