//! Help texts of values that the library defines, with their names.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::content::TextureForm;
use crate::pack::{Level, OddTextures};
use crate::vfs::{FolderArchives, Layout};

/// Implements `ValueEnum`: the values in the order of the help. Their names are in the type's table `ALL`.
macro_rules! values {
    ($($Values:ident { $($value:ident = $help:literal;)+ })+) => {$(
        impl ValueEnum for $Values {
            fn value_variants<'a>() -> &'a [Self] {
                &[$(Self::$value),+]
            }

            fn to_possible_value(&self) -> Option<PossibleValue> {
                let help = match self { $(Self::$value => $help,)+ };
                let (name, _) = Self::ALL.iter().find(|(_, value)| value == self)?;
                Some(PossibleValue::new(*name).help(help))
            }
        }
    )+};
}

values! {
    Layout {
        Union = "One tree; if several sources have the same file, the rightmost source wins";
        PerArchive = "A separate folder for each archive and folder, named after it";
    }
    FolderArchives {
        Open = "Open them as layers below the loose files, in order of name, and do not list them";
        Files = "Show them as ordinary files, and do not open them";
        Both = "Open them as layers, and also list them";
    }
    Level {
        Fast = "zlib as small as official archives; LZ4 a sixth larger";
        Normal = "Smaller than official archives, at 20 MB/s or more per processor";
        Best = "A few percent smaller, in five times the time";
        None = "Compress nothing, except for textures in BA2, which a game needs compressed";
    }
    OddTextures {
        Error = "Pack nothing, and name them";
        General = "Pack them as files, into the archive of everything else";
        Loose = "Leave them loose";
    }
    TextureForm {
        Default = "BA2: as DDS files; those of consoles as GNF files and DDS files with an XBOX header; BSA: \
                   as stored";
        Rgba = "BA2 and BSA: as uncompressed DDS files, 32 bits a pixel, which image editors open; not loose \
                files";
        RgbaTop = "Like rgba, with only the largest mip: GIMP opens each mip as a layer";
        Dds = "Like default, but BA2 of consoles: as DDS files for a PC, if their tiling is known";
        Compatible = "Like dds, in BA2 and BSA with headers that older programs read: DXT1 to DXT5, ATI1, \
                      ATI2, no sRGB";
        Raw = "BA2: as stored, without a header";
    }
}
