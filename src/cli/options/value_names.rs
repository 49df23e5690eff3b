//! Names and help texts of values that the library defines.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::content::TextureForm;
use crate::pack::{Level, OddTextures};
use crate::vfs::{FolderArchives, Layout};

impl ValueEnum for Layout {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Union, Self::PerArchive]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Union => "One tree; if several sources have a file, the rightmost source wins",
            Self::PerArchive => "A separate folder for each archive and folder, named after it",
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
            Self::Open => "Open them as layers below the loose files, in order of name, and do not list them",
            Self::Files => "Show them as ordinary files, and do not open them",
            Self::Both => "Open them as layers, and also list them",
        };
        value(&Self::ALL, self, help)
    }
}

impl ValueEnum for Level {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Fast, Self::Normal, Self::Best, Self::None]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::Fast => ("fast", "zlib as small as official archives; LZ4 a sixth larger"),
            Self::Normal => ("normal", "Smaller than official archives, at 20 MB/s and more a processor"),
            Self::Best => ("best", "A few percent smaller, in five times the time"),
            Self::None => {
                ("none", "Compress nothing, except for textures in BA2, which a game needs compressed")
            }
        };
        Some(PossibleValue::new(name).help(help))
    }
}

impl ValueEnum for OddTextures {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Error, Self::General, Self::Loose]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Error => "Pack nothing, and name them",
            Self::General => "Pack them as files, into the archive of everything else",
            Self::Loose => "Leave them loose",
        };
        value(&Self::ALL, self, help)
    }
}

impl ValueEnum for TextureForm {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Default, Self::Rgba, Self::RgbaTop, Self::Dds, Self::Compatible, Self::Raw]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Default => {
                "BA2: as DDS files; those of consoles as GNF files and DDS files with an XBOX header; BSA: \
                 as stored"
            }
            Self::Dds => "Like default, but BA2 of consoles: as DDS files for a PC, if their tiling is known",
            Self::Compatible => {
                "Like dds, in BA2 and BSA with headers that older programs read: DXT1 to DXT5, ATI1, ATI2, \
                 no sRGB"
            }
            Self::Rgba => {
                "BA2 and BSA: as uncompressed DDS files, 32 bits a pixel, which image editors open; not \
                 loose files"
            }
            Self::RgbaTop => "Like rgba, with only the largest mip: GIMP opens each mip as a layer",
            Self::Raw => "BA2: as stored, without a header",
        };
        value(&Self::ALL, self, help)
    }
}

/// Looks up a value's name and adds the help text.
fn value<T: PartialEq>(all: &[(&'static str, T)], value: &T, help: &'static str) -> Option<PossibleValue> {
    let (name, _) = all.iter().find(|(_, it)| it == value)?;
    Some(PossibleValue::new(*name).help(help))
}
