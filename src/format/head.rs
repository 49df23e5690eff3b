//! Heads: the headers of textures, which archives leave out. A console texture's head also
//! determines whether the texture can be converted for a PC.

use std::borrow::Cow;

use crate::texture::tiling::{self, Surface, WrongLength};
use crate::texture::{dds, gnf, xbox};

/// The heads of an archive's entries. All heads of an archive are of one kind, so that small ones
/// do not take the space of the largest kind.
#[derive(Clone, Debug, Default)]
pub enum Heads {
    #[default]
    None,
    /// One texture for each entry, for a PC or an Xbox One.
    Textures(Vec<xbox::XboxTexture>),
    /// One texture for each entry, for the PlayStation 4.
    Gnf(Vec<gnf::Descriptor>),
}

impl Heads {
    pub fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Textures(all) => all.len(),
            Self::Gnf(all) => all.len(),
        }
    }

    /// Leaves out all heads from the `len`th on.
    pub(super) fn truncate(&mut self, len: u32) {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        match self {
            Self::None => {}
            Self::Textures(all) => all.truncate(len),
            Self::Gnf(all) => all.truncate(len),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The head of an entry, by its index among [`super::Archive::entries`].
    pub fn get(&self, entry: usize) -> Head {
        let head = match self {
            Self::None => None,
            Self::Textures(all) => all.get(entry).map(|texture| {
                if texture.is_linear() { Head::Dds(texture.dds) } else { Head::Xbox(*texture) }
            }),
            Self::Gnf(all) => all.get(entry).map(|descriptor| Head::Gnf(*descriptor)),
        };
        head.unwrap_or(Head::None)
    }
}

/// The beginning of a file that the archive leaves out. The extents follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    None,
    Dds(dds::Texture),
    /// The DDS header of a texture in a form that older programs can read.
    CompatibleDds(dds::Texture),
    /// The XBOX variant of a DDS header: the texels are tiled for the GPU of an Xbox One.
    Xbox(xbox::XboxTexture),
    /// The GNF header of a texture: the texels are tiled for the GPU of a PlayStation 4.
    Gnf(gnf::Descriptor),
}

impl Head {
    pub fn len(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Dds(texture) => texture.header_len(),
            Self::CompatibleDds(texture) => texture.compatible_header_len(),
            Self::Xbox(_) => xbox::HEADER_LEN,
            Self::Gnf(_) => gnf::HEADER_LEN,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of the head of a file with `data` bytes of extents. The consoles' headers state this number.
    pub fn bytes(&self, data: u64) -> Cow<'static, [u8]> {
        match self {
            Self::None => Cow::Borrowed(&[]),
            Self::Dds(texture) => Cow::Owned(texture.header()),
            Self::CompatibleDds(texture) => Cow::Owned(texture.compatible_header()),
            Self::Xbox(texture) => Cow::Owned(texture.header(data)),
            Self::Gnf(descriptor) => Cow::Owned(descriptor.header(data)),
        }
    }

    /// Turns a DDS header into a form that older programs can read. Other heads stay as they are.
    #[must_use]
    pub fn compatible(self) -> Self {
        match self {
            Self::Dds(texture) => Self::CompatibleDds(texture),
            other => other,
        }
    }

    /// How many bytes the texels of a PC's texture take, and how many those of its first mip; `None` if that
    /// is not known.
    pub fn texel_bytes(&self) -> Option<(u64, u64)> {
        let Self::Dds(texture) = self else { return None };
        let first = dds::Texture { mips: 1, cube: false, ..*texture };
        Some((texture.texel_bytes()?, first.texel_bytes()?))
    }

    /// Where the mips of a PC's texture end, in bytes from its first texel, whatever number of them is
    /// stated; empty for a cube, whose faces follow each other, and if that is not known.
    pub fn mip_ends(&self) -> Vec<u64> {
        match self {
            Self::Dds(texture) if !texture.cube => {
                (1..=MIPS_MAX).map_while(|mips| dds::Texture { mips, ..*texture }.texel_bytes()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The tile mode of a console texture; `None` for PC textures and for other files.
    pub fn tile_mode(&self) -> Option<u8> {
        match self {
            Self::None | Self::Dds(_) | Self::CompatibleDds(_) => None,
            Self::Xbox(texture) => Some(texture.tile_mode),
            Self::Gnf(descriptor) => Some(descriptor.tile_mode()),
        }
    }

    /// The PC texture into which a console texture of `data` bytes can be converted.
    ///
    /// `None` if the tile mode is not supported, or if `data` is not the length that follows from
    /// size and format. In the latter case some field does not mean what we assume, and the texels
    /// would come out scrambled.
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
            // A GPU stores the faces of a cube within each mip. A DDS file stores the mips within each face.
            tiling::LINEAR if texture.cube && texture.mips > 1 => None,
            tiling::LINEAR if texture.texel_bytes() == Some(data) => {
                Some(LinearTexture { texture, surface: None })
            }
            _ => None,
        }
    }
}

/// A console texture converted for a PC: a DDS header, and texels in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinearTexture {
    texture: dds::Texture,
    /// The layout of the texels in the archive; `None` if they are already in rows.
    surface: Option<Surface>,
}

/// Maximum number of mips of a texture, whose sides have 16 bits.
const MIPS_MAX: u8 = 16;

impl LinearTexture {
    /// The DDS header.
    pub fn head(&self) -> Head {
        Head::Dds(self.texture)
    }

    /// The length of the texels in rows, in bytes; `None` if they are already in rows.
    pub fn linear_len(&self) -> Option<u64> {
        self.surface.map(|surface| surface.linear_len())
    }

    /// Rearranges texels into rows of [`LinearTexture::linear_len`] bytes. Copies texels that are
    /// already in rows.
    ///
    /// # Errors
    /// [`WrongLength`] if `tiled` or `rows` does not have the length that size and format require.
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
