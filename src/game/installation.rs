//! A game on the disk, and what the user says about it.

use std::path::PathBuf;

use super::precedence::ArchiveRule;
use super::storefront::Storefront;
use super::titles::title::Title;

/// A game on the disk.
#[derive(Clone, Debug)]
pub struct Installation {
    /// Which game.
    pub title: &'static Title,
    /// Where it comes from.
    pub store: Storefront,
    /// Its folder.
    pub folder: PathBuf,
    /// The folder with `drive_c` of the prefix that belongs to it.
    pub prefix: Option<PathBuf>,
    /// Its folder in `Documents/My Games`, if that exists.
    pub my_games: Option<PathBuf>,
    /// Its folder in `AppData/Local`, if that exists.
    pub local: Option<PathBuf>,
    /// Its language as the store names it, such as `german`.
    pub language: Option<String>,
}

/// What the user says, where it outranks what was found.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The folder with `drive_c`.
    pub prefix: Option<PathBuf>,
    /// INI files instead of the game's, lowest first.
    pub inis: Vec<PathBuf>,
    /// The list of plugins.
    pub plugins: Option<PathBuf>,
    /// Which archive wins.
    pub precedence: Option<ArchiveRule>,
    /// The profile of a Mod Organizer 2 instance.
    pub mo2_profile: Option<String>,
}
