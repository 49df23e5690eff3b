//! Names and help texts of values that the library defines.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::content::TextureForm;
use crate::vfs::{FolderArchives, Layout};

impl ValueEnum for Layout {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Union, Self::PerArchive]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Union => "One tree; where two have a file, that of the rightmost is shown",
            Self::PerArchive => "Each archive and folder in a folder of its own, named after it",
        };
        value(&Self::ALL, self, help)
    }
}

impl ValueEnum for FolderArchives {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Open, Self::Files, Self::Both]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Open => {
                "They are layers below its loose files, in the order of their names, and not listed"
            }
            Self::Files => "They are files like others: the folder in any case, merged",
            Self::Both => "They are layers, and listed too",
        };
        value(&Self::ALL, self, help)
    }
}

impl ValueEnum for TextureForm {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Default, Self::Dds, Self::Compatible, Self::Raw]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Default => "As DDS files; those of consoles as GNF files and XBOX textures",
            Self::Dds => "As DDS files for a PC, texels put into rows, wherever that can be done",
            Self::Compatible => {
                "As dds, under headers that older programs read: DXT1 to DXT5, ATI1, ATI2, no sRGB"
            }
            Self::Raw => "As stored, without a header",
        };
        value(&Self::ALL, self, help)
    }
}

/// Looks up a value's name and adds the help text.
fn value<T: PartialEq>(all: &[(&'static str, T)], value: &T, help: &'static str) -> Option<PossibleValue> {
    let (name, _) = all.iter().find(|(_, it)| it == value)?;
    Some(PossibleValue::new(*name).help(help))
}
