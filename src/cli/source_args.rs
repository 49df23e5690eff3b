//! The arguments of every command that takes games, and other sources, in place of archives.

use std::path::PathBuf;

use clap::Args;

use crate::game::{ArchiveRule, Overrides};

/// Where a game's files are, where they were not found or others are wanted.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct SourceArgs {
    /// The game's folder, where it is installed twice or was not found
    #[arg(long, value_name = "FOLDER")]
    pub(super) game_dir: Option<PathBuf>,
    /// The Wine or Proton prefix in which the game runs: the folder with drive_c
    #[arg(long, value_name = "FOLDER")]
    pub(super) prefix: Option<PathBuf>,
    /// An INI file to read instead of the game's; of several a later one outranks those before it
    #[arg(long = "ini", value_name = "FILE")]
    pub(super) inis: Vec<PathBuf>,
    /// The list of plugins to read instead of the game's Plugins.txt
    #[arg(long, value_name = "FILE")]
    pub(super) plugins: Option<PathBuf>,
    /// Which archive wins, instead of the game's rule: last, first, fnv or oblivion
    #[arg(long, value_name = "RULE", value_parser = parse_precedence)]
    pub(super) precedence: Option<ArchiveRule>,
    /// The profile of a Mod Organizer 2 instance, instead of the selected one
    #[arg(long, value_name = "NAME")]
    pub(super) mo2_profile: Option<String>,
}

impl SourceArgs {
    /// What of them outranks what is found.
    pub(super) fn overrides(&self) -> Overrides {
        Overrides {
            prefix: self.prefix.clone(),
            inis: self.inis.clone(),
            plugins: self.plugins.clone(),
            precedence: self.precedence,
            mo2_profile: self.mo2_profile.clone(),
        }
    }
}

/// Parses the name of a rule.
pub(super) fn parse_precedence(name: &str) -> Result<ArchiveRule, String> {
    let found = ArchiveRule::ALL.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
    found.map(|(_, rule)| *rule).ok_or_else(|| "it is one of last, first, fnv and oblivion".to_owned())
}
