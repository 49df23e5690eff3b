//! An installed game, and the user's overrides for it.

use std::path::PathBuf;

use super::precedence::ArchiveRule;
use super::storefront::Storefront;
use super::titles::title::Title;

/// An installed game.
#[derive(Clone, Debug)]
pub struct Installation {
    /// Which game.
    pub title: &'static Title,
    /// The store that the copy comes from.
    pub store: Storefront,
    /// The game's folder.
    pub folder: PathBuf,
    /// The Wine prefix of the game: the folder that contains `drive_c`.
    pub prefix: Option<PathBuf>,
    /// The game's folder in `Documents/My Games`, if it exists.
    pub my_games: Option<PathBuf>,
    /// The game's folder in `AppData/Local`, if it exists.
    pub local: Option<PathBuf>,
    /// The game's language as the store names it, such as `german`.
    pub language: Option<String>,
}

/// Settings from the user that replace what was found.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The Wine prefix: the folder that contains `drive_c`.
    pub prefix: Option<PathBuf>,
    /// INI files that replace the game's own, lowest first.
    pub inis: Vec<PathBuf>,
    /// The list of plugins.
    pub plugins: Option<PathBuf>,
    /// Which archive wins.
    pub precedence: Option<ArchiveRule>,
    /// The Mod Organizer 2 profile.
    pub mo2_profile: Option<String>,
}
