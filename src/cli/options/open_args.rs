//! The arguments of every command that opens archives.

use std::path::PathBuf;

use clap::Args;

use super::source_args::SourceArgs;
use crate::content::TextureForm;
use crate::format::encoding::Encoding;
use crate::vfs::open_options::parse_encoding;
use crate::vfs::{Layout, OpenOptions};

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
