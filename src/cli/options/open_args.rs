//! The arguments of every command that opens archives.

use std::path::PathBuf;

use clap::Args;

use super::source_args::SourceArgs;
use crate::content::TextureForm;
use crate::format::encoding::Encoding;
use crate::vfs::options::parse_encoding;
use crate::vfs::{Layout, OpenOptions};

/// How archives are parsed.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ParseArgs {
    /// Code page of stored names: 1250, 1251, 1252, utf-8 or any other of the WHATWG's Encoding Standard [default: 1252]
    #[arg(long, value_name = "CODE PAGE", value_parser = parse_encoding)]
    encoding: Option<Encoding>,
    /// Read archives of unknown versions and kinds by the nearest layout that is known
    #[arg(long)]
    force: bool,
}

impl ParseArgs {
    /// The options that the arguments set.
    pub(crate) fn options(&self) -> OpenOptions {
        OpenOptions { encoding: self.encoding, force: self.force, ..OpenOptions::default() }
    }
}

/// How several archives are merged.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LayoutArg {
    /// One tree of all archives, or a folder for each [default: union]
    #[arg(long, value_enum)]
    pub(crate) layout: Option<Layout>,
}

/// How archives are opened. What is not given is `None`, so that a profile may give it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct OpenArgs {
    #[command(flatten)]
    parse: ParseArgs,
    /// How to show textures [default: default]
    #[arg(long, value_enum, value_name = "FORM")]
    textures: Option<TextureForm>,
    #[command(flatten)]
    source: SourceArgs,
    /// A list of paths, one a line, from which files of archives without names get theirs; `bsafs names` prints one
    #[arg(long, value_name = "FILE")]
    names: Vec<PathBuf>,
}

impl OpenArgs {
    /// The options that the arguments set.
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
    "Serve files whose checksum is wrong, with a warning, instead of an error; other damage stays an error";
