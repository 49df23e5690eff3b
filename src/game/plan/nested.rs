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
/// Shortest name that can be meant for a folder that games read.
const MEANT_MIN: usize = 4;
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

/// The folder that is meant by a name that is almost one that games read, such as `texture`. `None` for the
/// name of such a folder itself.
pub(crate) fn almost_folder(name: &str) -> Option<&'static str> {
    let folded = name.to_ascii_lowercase();
    let is_almost = |known: &&&str| {
        let (one, other) = (known.len().min(folded.len()), known.len().max(folded.len()));
        let begins = known.starts_with(&*folded) || folded.starts_with(**known);
        one >= MEANT_MIN && other - one <= 2 && begins
    };
    let is_known = FOLDERS.contains(&&*folded);
    if is_known { None } else { FOLDERS.iter().find(is_almost).copied() }
}

fn is_for_game(name: &str) -> bool {
    is_plugin(name) || is_archive_name(name.as_bytes()) || FOLDERS.iter().any(|it| same(it, name))
}

#[cfg(test)]
mod tests {
    use super::almost_folder;

    #[test]
    fn a_folder_that_is_almost_one_of_the_game_is_recognised() {
        for (name, meant) in [
            ("texture", Some("textures")),
            ("Mesh", Some("meshes")),
            ("Videos", Some("video")),
            ("textures", None),
            ("Sounds", None),
            ("MCM", None),
            ("soundscape", None),
            ("se", None),
        ] {
            assert_eq!(almost_folder(name), meant, "{name}");
        }
    }
}
