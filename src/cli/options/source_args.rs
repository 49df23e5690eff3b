//! The arguments of every command that accepts games and other sources instead of archives.

use std::path::PathBuf;

use clap::Args;

use crate::game::ArchiveRule;
use crate::vfs::open_options::parse_precedence;
use crate::vfs::{FolderArchives, OpenOptions};

/// Options that replace what was found of a game, and options that say how archives become layers.
/// Help has them once, in `bsafs help sources`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SourceArgs {
    /// The game's folder, if the game is installed twice or was not found
    #[arg(long, value_name = "FOLDER")]
    #[arg(hide_short_help = true, hide_long_help = true)]
    pub(crate) game_dir: Option<PathBuf>,
    /// The Wine or Proton prefix in which the game runs: the folder that contains drive_c
    #[arg(long, value_name = "FOLDER")]
    #[arg(hide_short_help = true, hide_long_help = true)]
    pub(crate) prefix: Option<PathBuf>,
    /// INI file to read instead of the game's; can be repeated, and later files override earlier ones
    #[arg(long = "ini", value_name = "FILE")]
    #[arg(hide_short_help = true, hide_long_help = true)]
    pub(crate) inis: Vec<PathBuf>,
    /// List of plugins to read instead of the game's Plugins.txt
    #[arg(long, value_name = "FILE")]
    #[arg(hide_short_help = true, hide_long_help = true)]
    pub(crate) plugins: Option<PathBuf>,
    /// Rule for which archive wins, instead of the game's own: last, first, fnv or oblivion
    #[arg(long, value_name = "RULE", value_parser = parse_precedence)]
    #[arg(hide_short_help = true, hide_long_help = true)]
    pub(crate) precedence: Option<ArchiveRule>,
    /// Profile of a Mod Organizer 2 instance to use instead of the selected one
    ///
    /// A source that is itself the folder of a profile always stands for that profile.
    #[arg(long, value_name = "PROFILE")]
    #[arg(hide_short_help = true, hide_long_help = true)]
    pub(crate) mo2_profile: Option<String>,
    /// What to do with archives directly in a folder, and with those that a game loads [default: open]
    #[arg(long = "archives", value_enum, value_name = "HOW")]
    #[arg(hide_short_help = true, hide_long_help = true)]
    pub(crate) folder_archives: Option<FolderArchives>,
}

impl SourceArgs {
    pub(crate) fn options(&self) -> OpenOptions {
        OpenOptions {
            game_dir: self.game_dir.clone(),
            prefix: self.prefix.clone(),
            inis: self.inis.clone(),
            plugins: self.plugins.clone(),
            precedence: self.precedence,
            mo2_profile: self.mo2_profile.clone(),
            archives: self.folder_archives,
            ..OpenOptions::default()
        }
    }
}
