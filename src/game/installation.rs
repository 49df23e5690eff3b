//! An installed game, and the user's overrides for it.

use std::path::PathBuf;
use std::time::SystemTime;

use super::precedence::ArchiveRule;
use super::storefront::Storefront;
use super::titles::title::Title;

/// An installed game.
#[derive(Clone, Debug)]
pub struct Installation {
    pub title: &'static Title,
    /// The store that the copy comes from.
    pub store: Storefront,
    pub folder: PathBuf,
    /// The Wine prefix of the game: the folder that contains `drive_c`.
    pub prefix: Option<PathBuf>,
    /// The game's folder in `Documents/My Games`, if it exists.
    pub my_games: Option<PathBuf>,
    /// The game's folder in `AppData/Local`, if it exists.
    pub local: Option<PathBuf>,
    /// The game's language as the store names it, such as `german`.
    pub language: Option<String>,
    /// The prefixes that have the game's settings, the one that is used first. If the game has settings in
    /// none of its own, those of other programs.
    pub prefixes: Vec<WinePrefix>,
}

impl Installation {
    /// The Wine prefixes whose drives paths of the game's programs may be on.
    pub(crate) fn prefix_folders(&self) -> impl Iterator<Item = PathBuf> {
        self.prefix.iter().cloned().chain(self.prefixes.iter().map(|it| it.folder.clone()))
    }
}

/// A Wine prefix that has the settings of a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WinePrefix {
    /// The folder that contains `drive_c`.
    pub folder: PathBuf,
    /// The launcher that made it; empty if it is not known.
    pub launcher: &'static str,
    /// When a program last started in it.
    pub last_start: Option<SystemTime>,
    /// Whether the user's own list of places names it.
    pub is_named: bool,
    /// The game's folder in `Documents/My Games`, if it exists.
    pub my_games: Option<PathBuf>,
    /// The game's folder in `AppData/Local`, if it exists.
    pub local: Option<PathBuf>,
}

/// Settings from the user that replace what was found.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The Wine prefix: the folder that contains `drive_c`.
    pub prefix: Option<PathBuf>,
    /// INI files that replace the game's own, lowest first.
    pub inis: Vec<PathBuf>,
    pub plugins: Option<PathBuf>,
    pub precedence: Option<ArchiveRule>,
    pub mo2_profile: Option<String>,
}
