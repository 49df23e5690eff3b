//! The headers that files have and their archive leaves out (those of textures), and which textures of consoles can
//! become those of a PC.

use std::borrow::Cow;

use crate::texture::tiling::{self, Surface, WrongLength};
use crate::texture::{dds, gnf, xbox};

/// The heads of an archive's entries. An archive has one kind of them, so that none has the size of the largest.
#[derive(Clone, Debug, Default)]
pub enum Heads {
    /// No entry has one.
    #[default]
    None,
    /// One texture for each entry, of a PC or an Xbox One.
    Textures(Vec<xbox::XboxTexture>),
    /// One texture of the PlayStation 4 for each entry.
    Gnf(Vec<gnf::Descriptor>),
}

impl Heads {
    /// How many heads there are.
    pub fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Textures(all) => all.len(),
            Self::Gnf(all) => all.len(),
        }
    }

    /// Whether no entry has one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The head of an entry, by its index among [`super::Archive::entries`].
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

/// The beginning of a file that is not in the archive; the extents follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// Nothing.
    None,
    /// The DDS header of a texture.
    Dds(dds::Texture),
    /// The same as older programs read it.
    CompatibleDds(dds::Texture),
    /// The XBOX variant of it: the texels are tiled for the GPU of an Xbox One.
    Xbox(xbox::XboxTexture),
    /// The GNF header of a texture: the texels are tiled for the GPU of a PlayStation 4.
    Gnf(gnf::Descriptor),
}

impl Head {
    /// How many bytes the head has.
    pub fn len(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Dds(texture) => texture.header_len(),
            Self::CompatibleDds(texture) => texture.compatible_header_len(),
            Self::Xbox(_) => xbox::HEADER_LEN,
            Self::Gnf(_) => gnf::HEADER_LEN,
        }
    }

    /// Whether the head has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The head's bytes for `data` bytes of extents: the consoles' headers state how many follow.
    pub fn bytes(&self, data: u64) -> Cow<'static, [u8]> {
        match self {
            Self::None => Cow::Borrowed(&[]),
            Self::Dds(texture) => Cow::Owned(texture.header()),
            Self::CompatibleDds(texture) => Cow::Owned(texture.compatible_header()),
            Self::Xbox(texture) => Cow::Owned(texture.header(data)),
            Self::Gnf(descriptor) => Cow::Owned(descriptor.header(data)),
        }
    }

    /// A DDS header as older programs read it; other heads stay.
    #[must_use]
    pub fn compatible(self) -> Self {
        match self {
            Self::Dds(texture) => Self::CompatibleDds(texture),
            other => other,
        }
    }

    /// The tile mode of a console's texture; `None` for textures of a PC and for other files.
    pub fn tile_mode(&self) -> Option<u8> {
        match self {
            Self::None | Self::Dds(_) | Self::CompatibleDds(_) => None,
            Self::Xbox(texture) => Some(texture.tile_mode),
            Self::Gnf(descriptor) => Some(descriptor.tile_mode()),
        }
    }

    /// The PC's texture that a console's texture of `data` bytes can become.
    ///
    /// `None` for tile modes that are not supported, and where `data` is not the length that size and format give: then
    /// some field means something else than assumed, and the texels would come out scrambled.
    pub fn linear(&self, data: u64) -> Option<LinearTexture> {
        let texture = match self {
            Self::None | Self::Dds(_) | Self::CompatibleDds(_) => return None,
            Self::Xbox(texture) => texture.dds,
            Self::Gnf(descriptor) => descriptor.texture()?,
        };
        match self.tile_mode()? {
            tiling::THIN_1D => {
                let surface = Surface::with_tiled_len(&texture, data)?;
                Some(LinearTexture { texture, surface: Some(surface) })
            }
            // A GPU stores the faces of a cube within each mip, a DDS file the mips within each face.
            tiling::LINEAR if texture.cube && texture.mips > 1 => None,
            tiling::LINEAR if texture.texel_bytes() == Some(data) => {
                Some(LinearTexture { texture, surface: None })
            }
            _ => None,
        }
    }
}

/// A texture of a console as a PC stores it: a DDS header, and texels in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinearTexture {
    texture: dds::Texture,
    /// The layout of the texels in the archive; `None` where they are in rows there too.
    surface: Option<Surface>,
}

impl LinearTexture {
    /// The DDS header.
    pub fn head(&self) -> Head {
        Head::Dds(self.texture)
    }

    /// How many bytes the texels take in rows; `None` where they are in rows already.
    pub fn linear_len(&self) -> Option<u64> {
        self.surface.map(|surface| surface.linear_len())
    }

    /// Puts texels into rows, [`LinearTexture::linear_len`] bytes; those that are in rows already are copied.
    ///
    /// # Errors
    /// [`WrongLength`] where either is not as long as size and format require.
    pub fn to_rows(&self, tiled: &[u8], rows: &mut [u8]) -> Result<(), WrongLength> {
        match &self.surface {
            Some(surface) => tiling::to_rows(surface, tiled, rows),
            None if tiled.len() == rows.len() => {
                rows.copy_from_slice(tiled);
                Ok(())
            }
            None => Err(WrongLength),
        }
    }
}
