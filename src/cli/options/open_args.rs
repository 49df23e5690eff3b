//! The arguments of every command that opens archives.

use std::path::PathBuf;

use clap::Args;

use crate::content::TextureForm;
use crate::format::encoding::Encoding;
use crate::game::ArchiveRule;
use crate::vfs::open_options::{parse_encoding, parse_precedence};
use crate::vfs::{FolderArchives, Layout, OpenOptions};

/// What root does instead of opening another user's folder to write files that everybody may read.
pub(crate) const AS_USER: &str = "run the command as that user, or add --follow-links if you trust them";

/// How archives are parsed.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ParseArgs {
    /// Code page of stored names: 1250, 1251, 1252, utf-8, or another of the WHATWG Encoding Standard
    /// [default: for each archive, utf-8 if all its names are valid UTF-8, otherwise 1252]
    #[arg(long, value_name = "CODE PAGE", value_parser = parse_encoding)]
    #[arg(hide_short_help = true, hide_long_help = true)]
    encoding: Option<Encoding>,
    /// Read archives of an unknown version or kind as if they were of the nearest known one
    #[arg(long, hide_short_help = true, hide_long_help = true)]
    force: bool,
}

impl ParseArgs {
    pub(crate) fn options(&self) -> OpenOptions {
        OpenOptions { encoding: self.encoding, force: self.force, ..OpenOptions::default() }
    }
}

/// How several archives are merged.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LayoutArg {
    /// How to arrange several sources: as one tree, or as a folder for each [default: union]
    #[arg(long, value_enum)]
    pub(crate) layout: Option<Layout>,
}

/// How archives are opened: options that `bsafs help sources` has once for all commands. An argument that is
/// not given is `None`, so that a profile can set it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct OpenArgs {
    #[command(flatten)]
    parse: ParseArgs,
    /// How to show textures
    #[arg(long, value_enum, value_name = "FORM", hide_short_help = true, hide_long_help = true)]
    textures: Option<TextureForm>,
    #[command(flatten)]
    source: SourceArgs,
    /// List of paths, one per line, for archives that store no names; `bsafs names` prints such a list
    #[arg(long, value_name = "FILE", hide_short_help = true, hide_long_help = true)]
    names: Vec<PathBuf>,
}

impl OpenArgs {
    pub(crate) fn options(&self) -> OpenOptions {
        OpenOptions {
            textures: self.textures,
            names: self.names.clone(),
            ..self.source.options().merged_over(self.parse.options())
        }
    }

    /// The game folder that the user named instead of a source.
    pub(crate) fn game_dir(&self) -> Option<&PathBuf> {
        self.source.game_dir.as_ref()
    }
}

/// Help of `--salvage`, for the commands that read files.
pub(crate) const SALVAGE: &str =
    "Read files with a wrong checksum and warn, instead of failing; other damage is still an error";

// The arguments of every command that accepts games and other sources instead of archives.

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

// Cache sizes as a user writes them.

/// Parses a number of bytes with an optional unit: K, M or G, in powers of 1024.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let upper = text.to_ascii_uppercase();
    let digits = upper.trim_end_matches("IB").trim_end_matches('B');
    let (digits, shift) = match digits.char_indices().last() {
        Some((at, 'K')) => (&digits[..at], 10),
        Some((at, 'M')) => (&digits[..at], 20),
        Some((at, 'G')) => (&digits[..at], 30),
        _ => (digits, 0),
    };
    let number = digits.trim().parse::<u64>().ok();
    number
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| format!("\"{text}\" is not a number of bytes, such as 64M"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_units_are_powers_of_1024() {
        assert_eq!(parse("64M"), Ok(crate::vfs::CACHE_SIZE));
        assert_eq!(parse("1GiB"), Ok(1 << 30));
        assert_eq!(parse("4096"), Ok(4096));
        assert!(parse("many").is_err() && parse("99999999999G").is_err());
    }
}
