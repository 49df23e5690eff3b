//! The arguments of every command that opens archives.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::source_args::SourceArgs;
use crate::content::TextureForm;
use crate::format::encoding::Encoding;
use crate::format::{Limits, Options};

/// How archives are parsed.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct ParseArgs {
    /// Code page of stored names: 1250, 1251, 1252, utf-8 or any other of the WHATWG's Encoding Standard
    #[arg(long, value_name = "CODE PAGE", default_value = "1252", value_parser = parse_encoding)]
    pub(super) encoding: Encoding,
    /// Read archives of unknown versions and kinds by the nearest layout that is known
    #[arg(long)]
    pub(super) force: bool,
}

impl ParseArgs {
    /// What the parsers take of them.
    pub(super) fn options(&self) -> Options {
        Options { limits: Limits::default(), force: self.force }
    }
}

/// How several archives are merged.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct LayoutArg {
    /// One tree of all archives, or a folder for each
    #[arg(long, value_enum, default_value_t)]
    pub(super) layout: Layout,
}

/// How archives are opened.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct OpenArgs {
    #[command(flatten)]
    pub(super) parse: ParseArgs,
    /// How to show textures
    #[arg(long, value_enum, value_name = "FORM", default_value_t)]
    pub(super) textures: TextureForm,
    /// What to do with archives that lie directly in a folder
    #[arg(long = "archives", value_enum, value_name = "HOW", default_value_t)]
    pub(super) folder_archives: FolderArchives,
    #[command(flatten)]
    pub(super) source: SourceArgs,
    /// A list of paths, one a line, from which files of archives without names get theirs; `bsafs names` prints one
    #[arg(long, value_name = "FILE")]
    pub(super) names: Vec<PathBuf>,
}

/// The help of the flag that commands have which read files.
pub(super) const SALVAGE: &str =
    "Serve files whose checksum is wrong, with a warning, instead of an error; other damage stays an error";

/// How several archives share a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Layout {
    /// One tree; where two have a file, that of the rightmost is shown
    #[default]
    Union,
    /// Each archive and folder in a folder of its own, named after it
    PerArchive,
}

/// What becomes of the archives that lie directly in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum FolderArchives {
    /// They are layers below its loose files, in the order of their names, and not listed
    #[default]
    Open,
    /// They are files like others: the folder in any case, merged
    Files,
    /// They are layers, and listed too
    Both,
}

impl ValueEnum for TextureForm {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Default, Self::Dds, Self::Raw]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::Default => ("default", "As DDS files; those of consoles as GNF files and XBOX textures"),
            Self::Dds => ("dds", "As DDS files for a PC, texels put into rows, wherever that can be done"),
            Self::Raw => ("raw", "As stored, without a header"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

/// Parses the name of a code page.
pub(super) fn parse_encoding(label: &str) -> Result<Encoding, String> {
    Encoding::from_label(label)
        .ok_or_else(|| format!("\"{label}\" is no code page; try 1250, 1251, 1252 or utf-8"))
}
