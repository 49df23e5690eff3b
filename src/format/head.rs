//! What stands in front of a file's extents without being in the archive: the headers of textures.

use std::borrow::Cow;

use crate::texture::{dds, gnf, xbox};

/// The heads of an archive's entries. An archive has one kind of them, so that none takes the room of the largest.
#[derive(Clone, Debug, Default)]
pub enum Heads {
    /// No entry has one.
    #[default]
    None,
    /// One texture for each entry, of a PC or an Xbox One.
    Textures(Vec<xbox::Texture>),
    /// One texture of the PlayStation 4 for each entry.
    Gnf(Vec<gnf::Descriptor>),
}

impl Heads {
    /// The head of an entry, by its place among [`super::Archive::entries`].
    pub fn get(&self, entry: usize) -> Head {
        let head = match self {
            Self::None => None,
            Self::Textures(all) => all.get(entry).map(|texture| match texture.is_linear() {
                true => Head::Dds(texture.dds),
                false => Head::Xbox(*texture),
            }),
            Self::Gnf(all) => all.get(entry).map(|descriptor| Head::Gnf(*descriptor)),
        };
        head.unwrap_or(Head::None)
    }
}

/// Bytes that stand in front of a file's extents without being in the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// Nothing.
    None,
    /// The DDS header of a texture.
    Dds(dds::Texture),
    /// The XBOX variant of it: the texels are arranged for the GPU of an Xbox One.
    Xbox(xbox::Texture),
    /// The GNF header of a texture: the texels are arranged for the GPU of a PlayStation 4.
    Gnf(gnf::Descriptor),
}

impl Head {
    /// How many bytes the head has.
    pub fn len(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Dds(texture) => texture.header_len(),
            Self::Xbox(_) => xbox::HEADER_LEN,
            Self::Gnf(_) => gnf::HEADER_LEN,
        }
    }

    /// Whether the head has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The head's bytes, in front of `data` bytes of extents: the consoles' headers tell how many follow.
    pub fn bytes(&self, data: u64) -> Cow<'static, [u8]> {
        match self {
            Self::None => Cow::Borrowed(&[]),
            Self::Dds(texture) => Cow::Owned(texture.header()),
            Self::Xbox(texture) => Cow::Owned(texture.header(data)),
            Self::Gnf(descriptor) => Cow::Owned(descriptor.header(data)),
        }
    }
}
