//! The tables of one archive, into which every format is parsed.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::hash::{Family, Hash};
use crate::named::named;
use crate::note::Note;
use crate::texture::tiling::{self, Surface, WrongLength};
use crate::texture::{dds, gnf, xbox};

/// An archive's tables. Names are borrowed from the archive's bytes.
#[derive(Clone, Debug)]
pub struct Archive<'a> {
    /// Format, version and flags.
    pub about: About,
    /// The function that made the hashes in [`super::Entry::hash`].
    pub hashes: Family,
    /// The files; [`Archive::entries`] and [`Archive::extents`] walk them.
    pub files: Arc<dyn Files<'a> + 'a>,
    /// The file headers that the archive leaves out.
    pub heads: Arc<Heads>,
    /// Files without names whose first bytes reveal their type: the index of the entry and the extension, in
    /// ascending order. The extension is a guess, whereas a [`super::Name`] is what the archive stores.
    pub sniffed: Vec<(u32, &'static str)>,
    /// Whether all stored names are known to be ASCII, so that they are the same in every encoding.
    pub has_ascii_names: bool,
    /// Where the tables are, in bytes from the start of the archive: all that was parsed, except
    /// the first bytes of files' data.
    pub tables: Vec<Range<u64>>,
    /// What is unusual about the archive, in the order of discovery; at most [`super::Limits::notes`] of
    /// a code.
    pub notes: Vec<Note>,
}

/// An archive's format, version and flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The format's name in [`super::FORMATS`].
    pub format: &'static str,
    /// The version number as stored; 0 if the format has none.
    pub version: u32,
    /// The kind of archive if the format has several, such as `GNRL`; otherwise empty.
    pub kind: &'static str,
    /// The games that are known to use this version.
    pub games: &'static str,
    /// The platforms that the archive may be made for, as far as its bytes show.
    pub platform: &'static str,
    /// The archive's own flags, as stored.
    pub flags: u32,
    /// The meaning of each flag that is set.
    pub flag_names: Vec<&'static str>,
}

impl<'a> Archive<'a> {
    /// Walks the entries in stored order.
    pub fn entries(&self) -> Entries<'a, '_> {
        Entries::new(&*self.files)
    }

    /// Walks the extents of all entries, in the order of the entries.
    pub fn extents(&self) -> impl Iterator<Item = Extent> {
        self.files.extents()
    }
}

// A file in an archive: its stored name, its hashes and its number of extents.

#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The name, as far as the archive stores it.
    pub name: Name<'a>,
    /// The hashes as stored.
    pub hash: Hash,
    /// How many of the archive's extents belong to this file. They follow those of the previous entry.
    pub extents: u8,
}

/// What an archive stores of a file's name, in the archive's own code page and with its own separators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name<'a> {
    /// One string with folders and file.
    Path(&'a [u8]),
    /// Folder and file separately. If one is absent, the archive stores only its hash.
    Split {
        /// The folder's full path.
        folder: Option<&'a [u8]>,
        /// The file's name within it.
        file: Option<&'a [u8]>,
    },
    /// A number, listed as decimal digits, as in Daggerfall's archives of sounds and models.
    Number(u32),
    /// Only hashes, and the extension (up to four characters) if the format stores it separately.
    Unknown {
        /// The extension, NUL-padded, without its dot.
        extension: [u8; 4],
    },
}

impl Name<'_> {
    /// Whether folder and file are both stored, so that their hash can be computed.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Path(path) => !path.is_empty(),
            Self::Split { folder, file } => folder.is_some() && file.is_some_and(|file| !file.is_empty()),
            Self::Number(_) => true,
            Self::Unknown { .. } => false,
        }
    }

    /// Folder and file of a whole name, as [`super::hash::Family::of`] takes them. `file` may still
    /// contain folders.
    pub fn parts(&self) -> Option<(&[u8], &[u8])> {
        match self {
            Self::Path(path) => Some((&b""[..], *path)),
            Self::Split { folder, file } => Some(((*folder)?, (*file)?)),
            Self::Number(_) | Self::Unknown { .. } => None,
        }
        .filter(|_| self.is_whole())
    }
}

/// Identifies a file among all archives that were opened together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId {
    /// The archive's index in load order.
    pub layer: u16,
    /// The file's index among [`super::Archive::entries`].
    pub entry: u32,
}

// Extents: runs of bytes in an archive, and how they are packed.

/// A run of bytes in an archive that becomes a run of bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Start, in bytes from the start of the archive.
    pub offset: u64,
    /// Length in the archive in bytes, prefix included.
    pub packed: u32,
    /// Length in the file in bytes; `None` if only the prefix states it, or nothing.
    pub size: Option<u32>,
    /// How the payload is packed.
    pub codec: Codec,
    /// What precedes the payload.
    pub prefix: ExtentPrefix,
}

impl Extent {
    /// Whether the extent's size is what its payload decodes to, because nothing states it.
    pub fn is_sized_by_decoding(&self) -> bool {
        self.codec == Codec::Lzss
    }
}

named! {
    /// How an extent's payload is packed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Codec;
    /// The codec's name in listings and extended attributes.
    fn name;

    /// Not packed.
    Stored = "uncompressed";
    /// A zlib stream, or raw deflate if the zlib header is missing.
    Zlib = "zlib";
    /// An LZ4 frame.
    Lz4Frame = "lz4 frame";
    /// One LZ4 block without a frame.
    Lz4Block = "lz4 block";
    /// Xbox 360 LZX frames.
    Xmem = "xmem";
    /// Battlespire's LZSS, whose unpacked size nothing states.
    Lzss = "lzss";
    /// The archive states an unknown method, so the payload's first bytes decide.
    Detect = "unknown method";
    /// An undocumented compression: the file is listed, but cannot be read.
    Unsupported = "unsupported";
}

/// What precedes an extent's payload in the archive. The packed length includes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExtentPrefix {
    /// A length byte and a path: the embedded name of versions 104 and 105.
    pub name: bool,
    /// A u32 with the unpacked size in bytes. An extent that ends before it is an empty file.
    pub size: bool,
}

impl ExtentPrefix {
    /// No prefix: the extent begins with its payload.
    pub const NONE: Self = Self { name: false, size: false };

    /// Whether the extent begins with its payload.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }
}

// The files of an archive, parsed from its tables for each walk.
//
// A list of half a million entries would take 40 MB while names and extents are built from it. The
// kernel takes longer to provide these pages than the parse takes. The tables are in memory
// anyway. So a format stores where they begin, and parses them again for each walk.

/// An archive's files in stored order. The tables were checked when they were parsed. If the file
/// changed since, a walk ends early.
pub trait Files<'a>: fmt::Debug + Send + Sync {
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn entries(&self) -> Box<dyn Iterator<Item = Entry<'a>> + '_>;

    fn extents(&self) -> Box<dyn Iterator<Item = Extent> + '_>;

    /// Whether every entry is known to have a name without a walk.
    fn has_all_names(&self) -> bool {
        false
    }

    fn has_one_extent_each(&self) -> bool;
}

/// Files in memory, for formats whose archives have few files.
#[derive(Clone, Debug, Default)]
pub struct FileList<'a> {
    pub entries: Vec<Entry<'a>>,
    /// The extents of all entries, in the order of the entries.
    pub extents: Vec<Extent>,
}

impl<'a> Files<'a> for FileList<'a> {
    fn len(&self) -> usize {
        self.entries.len()
    }

    fn entries(&self) -> Box<dyn Iterator<Item = Entry<'a>> + '_> {
        Box::new(self.entries.iter().copied())
    }

    fn extents(&self) -> Box<dyn Iterator<Item = Extent> + '_> {
        Box::new(self.extents.iter().copied())
    }

    fn has_one_extent_each(&self) -> bool {
        self.entries.iter().all(|entry| entry.extents == 1)
    }
}

impl<'a> From<FileList<'a>> for Arc<dyn Files<'a> + 'a> {
    fn from(files: FileList<'a>) -> Self {
        Arc::new(files)
    }
}

/// A walk through the entries of an archive. It returns as many entries as were counted, even if
/// the file changed since.
pub struct Entries<'a, 'w> {
    walk: Box<dyn Iterator<Item = Entry<'a>> + 'w>,
    left: usize,
}

impl<'a, 'w> Entries<'a, 'w> {
    pub(super) fn new(files: &'w (dyn Files<'a> + 'a)) -> Self {
        Self { walk: files.entries(), left: files.len() }
    }
}

impl<'a> Iterator for Entries<'a, '_> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        const LOST: Entry<'_> = Entry {
            name: Name::Unknown { extension: [0; 4] },
            hash: Hash { folder: 0, file: 0 },
            extents: 0,
        };
        self.left = self.left.checked_sub(1)?;
        Some(self.walk.next().unwrap_or(LOST))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Entries<'_, '_> {}

// Heads: the headers of textures, which archives leave out. A console texture's head also
// determines whether the texture can be converted for a PC.

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
