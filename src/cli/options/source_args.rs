//! The arguments of every command that takes games, and other sources, in place of archives.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::game::{ArchiveRule, Overrides};

/// Where a game's files are, where they were not found or others are wanted, and which files are layers.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SourceArgs {
    /// The game's folder, where it is installed twice or was not found
    #[arg(long, value_name = "FOLDER")]
    pub(crate) game_dir: Option<PathBuf>,
    /// The Wine or Proton prefix in which the game runs: the folder with drive_c
    #[arg(long, value_name = "FOLDER")]
    pub(crate) prefix: Option<PathBuf>,
    /// An INI file to read instead of the game's; of several a later one outranks those before it
    #[arg(long = "ini", value_name = "FILE")]
    pub(crate) inis: Vec<PathBuf>,
    /// The list of plugins to read instead of the game's Plugins.txt
    #[arg(long, value_name = "FILE")]
    pub(crate) plugins: Option<PathBuf>,
    /// Which archive wins, instead of the game's rule: last, first, fnv or oblivion
    #[arg(long, value_name = "RULE", value_parser = parse_precedence)]
    pub(crate) precedence: Option<ArchiveRule>,
    /// The profile of a Mod Organizer 2 instance, instead of the selected one; a source that is the folder of a profile
    /// stands for that profile in any case
    #[arg(long, value_name = "NAME")]
    pub(crate) mo2_profile: Option<String>,
    /// What to do with archives that lie directly in a folder, or that a game loads [default: open]
    #[arg(long = "archives", value_enum, value_name = "HOW")]
    pub(crate) folder_archives: Option<FolderArchives>,
}

impl SourceArgs {
    /// These, and where they say nothing, others. INI files are those of both, and these outrank the others'.
    pub(crate) fn over(self, lower: Self) -> Self {
        Self {
            game_dir: self.game_dir.or(lower.game_dir),
            prefix: self.prefix.or(lower.prefix),
            inis: [lower.inis, self.inis].concat(),
            plugins: self.plugins.or(lower.plugins),
            precedence: self.precedence.or(lower.precedence),
            mo2_profile: self.mo2_profile.or(lower.mo2_profile),
            folder_archives: self.folder_archives.or(lower.folder_archives),
        }
    }

    /// What becomes of archives in folders.
    pub(crate) fn folder_archives(&self) -> FolderArchives {
        self.folder_archives.unwrap_or_default()
    }

    /// What of them outranks what is found.
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            prefix: self.prefix.clone(),
            inis: self.inis.clone(),
            plugins: self.plugins.clone(),
            precedence: self.precedence,
            mo2_profile: self.mo2_profile.clone(),
        }
    }
}

/// What becomes of the archives that lie directly in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FolderArchives {
    /// They are layers below its loose files, in the order of their names, and not listed
    #[default]
    Open,
    /// They are files like others: the folder in any case, merged
    Files,
    /// They are layers, and listed too
    Both,
}

/// Parses the name of a rule.
pub(crate) fn parse_precedence(name: &str) -> Result<ArchiveRule, String> {
    let found = ArchiveRule::ALL.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
    found.map(|(_, rule)| *rule).ok_or_else(|| "it is one of last, first, fnv and oblivion".to_owned())
}
