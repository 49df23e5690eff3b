//! From an executable that a launcher starts to the folder of its game.

use std::path::{Path, PathBuf};

use super::super::caseless;
use super::super::titles::TITLES;
use super::recognise::{Recognised, recognise};

/// Folders above an executable that may be the game's; Oblivion Remastered's is three above.
const LEVELS_MAX: usize = 4;

/// The folder of the game that an executable belongs to: the nearest above it that is one. Of an executable whose name
/// is a game's own, the nearest that looks like one, so that it can be said what it lacks.
pub(super) fn game_folder(executable: &Path) -> Option<PathBuf> {
    let above = || executable.ancestors().skip(1).take(LEVELS_MAX);
    let is_game = |folder: &&Path| matches!(recognise(folder, None), Recognised::Game { .. });
    let is_like_one = |folder: &&Path| matches!(recognise(folder, None), Recognised::Incomplete(_));
    let found =
        above().find(is_game).or_else(|| above().find(is_like_one).filter(|_| is_of_game(executable)));
    found.map(Path::to_owned)
}

/// Whether an executable bears the name of a game's own.
fn is_of_game(executable: &Path) -> bool {
    let name = executable.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_own = |path: &str| path.rsplit('/').next().is_some_and(|own| caseless::same(own, name));
    TITLES.iter().any(|title| title.identity.executables.iter().copied().any(is_own))
}

/// A path of a list, if it is absolute once `~` is the home.
pub(super) fn absolute(text: &str, home: &Path) -> Option<PathBuf> {
    let path = match text.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(text),
    };
    path.is_absolute().then_some(path)
}
