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
pub(crate) struct ParseArgs {
    /// Code page of stored names: 1250, 1251, 1252, utf-8 or any other of the WHATWG's Encoding Standard [default: 1252]
    #[arg(long, value_name = "CODE PAGE", value_parser = parse_encoding)]
    pub(crate) encoding: Option<Encoding>,
    /// Read archives of unknown versions and kinds by the nearest layout that is known
    #[arg(long)]
    pub(crate) force: bool,
}

impl ParseArgs {
    /// The code page of stored names.
    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding.unwrap_or_default()
    }

    /// What the parsers take of them.
    pub(crate) fn options(&self) -> Options {
        Options { limits: Limits::default(), force: self.force }
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
    pub(crate) parse: ParseArgs,
    /// How to show textures [default: default]
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) textures: Option<TextureForm>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// A list of paths, one a line, from which files of archives without names get theirs; `bsafs names` prints one
    #[arg(long, value_name = "FILE")]
    pub(crate) names: Vec<PathBuf>,
}

impl OpenArgs {
    /// These, and where they say nothing, others. Lists are those of both, the others' first.
    pub(crate) fn over(self, lower: Self) -> Self {
        let parse = ParseArgs {
            encoding: self.parse.encoding.or(lower.parse.encoding),
            force: self.parse.force || lower.parse.force,
        };
        Self {
            parse,
            textures: self.textures.or(lower.textures),
            source: self.source.over(lower.source),
            names: [lower.names, self.names].concat(),
        }
    }
}

/// The help of the flag that commands have which read files.
pub(crate) const SALVAGE: &str =
    "Serve files whose checksum is wrong, with a warning, instead of an error; other damage stays an error";

/// How several archives share a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layout {
    /// One tree; where two have a file, that of the rightmost is shown
    #[default]
    Union,
    /// Each archive and folder in a folder of its own, named after it
    PerArchive,
}

impl ValueEnum for TextureForm {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Default, Self::Dds, Self::Compatible, Self::Raw]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::Default => ("default", "As DDS files; those of consoles as GNF files and XBOX textures"),
            Self::Dds => ("dds", "As DDS files for a PC, texels put into rows, wherever that can be done"),
            Self::Compatible => (
                "compatible",
                "As dds, under headers that older programs read: DXT1 to DXT5, ATI1, ATI2, no sRGB",
            ),
            Self::Raw => ("raw", "As stored, without a header"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

/// Parses the name of a code page.
pub(crate) fn parse_encoding(label: &str) -> Result<Encoding, String> {
    Encoding::from_label(label)
        .ok_or_else(|| format!("\"{label}\" is no code page; try 1250, 1251, 1252 or utf-8"))
}
