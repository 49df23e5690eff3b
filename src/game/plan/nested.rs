//! Finds mods that were installed as they were packed, so that the game sees nothing of them: all that is for
//! the game is in a subfolder, such as `Data` or `00 Core`. In the game's own data folder, this is the folder
//! of the mod (limo issue 54).

use std::path::Path;

use super::data::DataFolder;
use super::load_order::FolderFilter;
use crate::format::is_archive_name;
use crate::game::caseless::same;
use crate::game::disk::Disk;
use crate::kinds::{self, MESHES, OpenedBy, ROOT, TEXTURES, TOP_FOLDERS, What, is_plugin};
use crate::note::{Note, NoteCode};
use crate::shown::Shown;

/// Shortest name that can be meant for a folder that games read.
const MEANT_MIN: usize = 4;
/// Maximum number of subfolders of a mod, or of the game's data folder, that are examined.
const SUBFOLDERS_MAX: usize = 1_000;
/// A note if nothing directly in the folder of a mod is for the game, but something in a subfolder is.
pub(crate) fn note(disk: &Disk, folder: &DataFolder, shown: &FolderFilter, game: &Path) -> Option<Note> {
    let files = folder.files.iter().map(|file| file.name.as_str());
    if files.chain(folder.folders.iter().map(String::as_str)).any(is_for_game) {
        return None;
    }
    let names = folder.folders.iter().filter(|name| !shown.hidden.hides_at_root(name.as_bytes()));
    let mut nested: Vec<(&str, Content)> = (names.take(SUBFOLDERS_MAX))
        .filter_map(|name| Some((name.as_str(), Content::of(disk, &folder.path.join(name))?)))
        .filter(|(name, content)| content.is_for_game || same(name, ROOT))
        .collect();
    nested.sort_unstable_by(|a, b| a.0.cmp(b.0));
    let (first, content) = nested.first()?;
    let name = folder.path.file_name().unwrap_or_default().to_string_lossy();
    let text = format!(
        "the game sees nothing of mod \"{name}\": its files are in the subfolder \"{first}\", not at its \
         top; {}",
        if same(first, ROOT) {
            format!(
                "Root Builder is not installed or is off, which would put them beside the game's program; \
                 turn it on, or put them into {}",
                game.shown()
            )
        } else {
            content.advice(game, "move them up, or install the mod again")
        }
    );
    Some(Note::new(NoteCode::Mo2ModNested, folder.path.to_string_lossy(), text))
}

/// Notes on folders of mods that were left in the game's data folder, where the game does not look.
pub(crate) fn in_data(disk: &Disk, data: &DataFolder, game: &Path) -> Vec<Note> {
    let mut names: Vec<&String> = data.folders.iter().filter(|name| !is_known_folder(name)).collect();
    names.sort_unstable();
    let note = |name: &String| {
        let path = data.path.join(name);
        let content = Content::of(disk, &path)?;
        if !(content.is_of_mod || same(name, ROOT) && content.program.is_some()) {
            return None;
        }
        let shown = data.path.file_name().unwrap_or_default().shown();
        let advice = if same(name, ROOT) {
            format!("put its contents into {}, beside the game's program", game.shown())
        } else {
            content.advice(game, &format!("move its contents up, into {}", data.path.shown()))
        };
        let text = format!("the game does not look in the folder {shown}/{}; {advice}", name.shown());
        Some(Note::new(NoteCode::ModNested, path.to_string_lossy(), text))
    };
    names.into_iter().take(SUBFOLDERS_MAX).filter_map(note).collect()
}

/// What a subfolder has for the game.
struct Content {
    /// Whether something is for the game's data folder, directly or in a folder `Data`.
    is_for_game: bool,
    /// Whether that can only be of a mod. The folders of tools may have scripts, for example.
    is_of_mod: bool,
    /// A program or library, which does not belong into the data folder.
    program: Option<String>,
}

impl Content {
    fn of(disk: &Disk, folder: &Path) -> Option<Self> {
        let names = disk.names(folder).ok()?;
        let data = names.get("Data").and_then(|data| disk.names(&folder.join(data)).ok());
        let in_data = data.is_some_and(|data| data.iter().any(is_for_game));
        let is_file = |name: &str| is_plugin(name) || is_archive_name(name.as_bytes());
        let is_program = |name: &&str| kinds::is(name, &[What::Program]);
        Some(Self {
            is_for_game: in_data || names.iter().any(is_for_game),
            is_of_mod: in_data || names.iter().any(|name| is_file(name) || is_asset(name)),
            program: names.iter().find(is_program).map(str::to_owned),
        })
    }

    /// What to do about it. A script extender has programs, which would not work in the data folder.
    fn advice(&self, game: &Path, otherwise: &str) -> String {
        match &self.program {
            Some(program) => format!(
                "it has programs such as {}, so put its contents into {}, and not into the data folder",
                program.shown(),
                game.shown()
            ),
            None => otherwise.to_owned(),
        }
    }
}

/// The folder that is meant by a name that is almost one that games read, such as `texture`. `None` for the
/// name of such a folder itself.
pub(crate) fn almost_folder(name: &str) -> Option<&'static str> {
    let folded = name.to_ascii_lowercase();
    let is_almost = |known: &&str| {
        let (one, other) = (known.len().min(folded.len()), known.len().max(folded.len()));
        let begins = known.starts_with(&*folded) || folded.starts_with(*known);
        one >= MEANT_MIN && other - one <= 2 && begins
    };
    if is_known_folder(name) { None } else { read_folders().find(is_almost) }
}

/// Whether games or their extenders read a folder of this name in a data folder, and it is in no other place.
pub(crate) fn is_known_folder(name: &str) -> bool {
    read_folders().any(|it| same(it, name))
}

fn read_folders() -> impl Iterator<Item = &'static str> {
    TOP_FOLDERS
        .iter()
        .filter(|folder| folder.is_sign || folder.reader == OpenedBy::Extender)
        .map(|folder| folder.name)
}

/// The folder above those that games read, if a path has them below a folder that no game knows:
/// `optional` for `optional/textures/a.dds`.
pub(crate) fn unread_folder(path: &str) -> Option<&str> {
    let (folders, _) = path.rsplit_once('/')?;
    let (first, _) = folders.split_once('/').filter(|(first, _)| !is_known_folder(first))?;
    folders.split('/').skip(1).any(is_asset).then_some(first)
}

fn is_asset(folder: &str) -> bool {
    same(folder, TEXTURES) || same(folder, MESHES)
}

fn is_for_game(name: &str) -> bool {
    is_plugin(name) || is_archive_name(name.as_bytes()) || is_known_folder(name)
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
            ("Sounds", Some("sound")),
            ("Geometry", None),
            ("icon", Some("icons")),
            ("MCM", None),
            ("soundscape", None),
            ("se", None),
        ] {
            assert_eq!(almost_folder(name), meant, "{name}");
        }
    }
}
