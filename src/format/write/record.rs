//! What a new archive is made of: its kind, and its files.

use super::stored_path::{PathForm, StoredPath};
use crate::texture::dds;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewKind {
    /// A BSA of Morrowind.
    Tes3,
    /// A BSA of this version: 103 to 105.
    Tes4(u32),
    /// A BA2 of files, of this version.
    General(u32),
    /// A BA2 of textures, of this version. Those of version 3 are packed as LZ4 blocks.
    Textures(u32),
}

impl NewKind {
    pub fn path_form(self) -> PathForm {
        match self {
            Self::Tes3 => PathForm::Tes3,
            Self::Tes4(_) => PathForm::Tes4,
            Self::General(_) | Self::Textures(_) => PathForm::Ba2,
        }
    }

    /// The kind in words: `BSA 105`, `BA2 1 GNRL`.
    pub fn words(self) -> String {
        match self {
            Self::Tes3 => "BSA of Morrowind".to_owned(),
            Self::Tes4(version) => format!("BSA {version}"),
            Self::General(version) => format!("BA2 {version} GNRL"),
            Self::Textures(version) => format!("BA2 {version} DX10"),
        }
    }
}

/// A file of a new archive.
#[derive(Clone, Debug)]
pub struct NewEntry {
    /// The caller's number of the file.
    pub id: usize,
    pub path: StoredPath,
    pub texture: Option<NewTexture>,
}

/// What an archive of textures states about a texture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTexture {
    /// Sides, format and number of mips.
    pub dds: dds::Texture,
    /// First and last mip of each chunk.
    pub chunks: Vec<(u16, u16)>,
}
