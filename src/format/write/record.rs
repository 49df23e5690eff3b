//! What a new archive is made of: its kind, and its files.

use super::stored_path::{PathForm, StoredPath};
use crate::format::tes4_flag as flag;
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

// Where the data of a file lies in a new archive.

/// A piece of a file's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Offset from the start of the archive, in bytes.
    pub offset: u64,
    /// Number of bytes in the archive, with an embedded name and with the unpacked size.
    pub len: u32,
    /// Number of bytes of the piece, unpacked.
    pub size: u32,
    pub is_packed: bool,
}

/// Why tables cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableError {
    /// A number, such as an offset, does not fit into its field.
    TooLarge,
    /// The number of files and that of their blocks differ.
    Blocks,
}

impl std::fmt::Display for TableError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "the archive has more bytes or names than its format can state",
            Self::Blocks => "files lack their data",
        })
    }
}

impl std::error::Error for TableError {}

// Tables of a new archive, byte by byte. Numbers are little-endian.

#[derive(Debug, Default)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Bytes {
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn u8(&mut self, number: u8) {
        self.0.push(number);
    }

    pub(super) fn u16(&mut self, number: u16) {
        self.bytes(&number.to_le_bytes());
    }

    pub(super) fn u32(&mut self, number: u32) {
        self.bytes(&number.to_le_bytes());
    }

    pub(super) fn u64(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    /// A number that must fit into 32 bits.
    pub(super) fn word(&mut self, number: impl TryInto<u32>) -> Result<(), TableError> {
        self.u32(number.try_into().map_err(|_| TableError::TooLarge)?);
        Ok(())
    }
}

pub(super) fn len(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

// The flags of a BSA, which follow from what is in it (FORMATS.md 1.1 and 1.2).

/// The archive flag that makes the path of each file precede its data.
pub const EMBEDDED_NAMES: u32 = flag::EMBEDDED_NAMES;

/// What Bethesda's archives of version 103 have in addition. It means nothing there.
const OBLIVION: u32 = 0x700;
/// Strings stay in memory. Official archives with meshes have it.
const RETAIN_STRINGS: u32 = 0x080;
/// Names stay in memory. Without it, Creation Kit and New Vegas miss scripts and sounds.
const RETAIN_NAMES: u32 = 0x010;

const MESHES: u16 = 0x001;
const TEXTURES: u16 = 0x002;
const MENUS: u16 = 0x004;
const SOUNDS: u16 = 0x008;
const VOICES: u16 = 0x010;
const TEXTS: u16 = 0x020;
const TREES: u16 = 0x040;
const FONTS: u16 = 0x080;
const OTHER: u16 = 0x100;

/// The archive flags for a version and its files, without the default of compression.
///
/// Names are embedded only in archives of version 104 that have nothing but textures. Version 105 never
/// embeds them: the game crashes on a stored texture with a name.
pub fn archive_flags(version: u32, content: u16) -> u32 {
    let names = flag::FOLDER_NAMES | flag::FILE_NAMES;
    let when = |is_set: bool, bits: u32| if is_set { bits } else { 0 };
    match version {
        103 => names | OBLIVION,
        _ => {
            let embeds = version == 104 && content == TEXTURES;
            names
                | when(content & MESHES != 0, RETAIN_STRINGS)
                | when(content & (SOUNDS | VOICES | SCRIPTS) != 0, RETAIN_NAMES)
                | when(embeds, EMBEDDED_NAMES)
        }
    }
}

/// A mark beside the content flags, which are the lower nine bits.
const SCRIPTS: u16 = 0x8000;

/// The content flags for a version and its files. The highest bit is not stored: it marks compiled scripts.
pub fn content_flags<'p>(version: u32, paths: impl Iterator<Item = &'p StoredPath>) -> u16 {
    paths.fold(0, |flags, path| flags | of_path(version, path))
}

/// The flags that are stored.
pub(super) fn stored(content: u16) -> u16 {
    content & !SCRIPTS
}

fn of_path(version: u32, path: &StoredPath) -> u16 {
    let (extension, top) = (path.extension(), path.top());
    let is_oblivion = version == 103;
    match &extension[..] {
        b"nif" | b"egm" | b"egt" | b"tri" | b"kf" | b"kfm" | b"btr" | b"bto" | b"cmp" => MESHES,
        b"dds" => TEXTURES,
        b"xml" if is_oblivion => MENUS,
        // Without the flag of voices, New Vegas plays no `.ogg`.
        b"wav" | b"ogg" | b"mp3" | b"xwm" | b"fuz" | b"lip" => match (is_oblivion, is_voice(path)) {
            (true, true) => VOICES,
            (true, false) => SOUNDS,
            (false, _) if &top[..] == b"sound" => SOUNDS | VOICES,
            (false, _) => SOUNDS,
        },
        b"txt" | b"html" | b"bat" | b"scc" if is_oblivion => TEXTS,
        b"spt" => TREES,
        b"tex" | b"fnt" if is_oblivion => FONTS,
        b"pex" => OTHER | SCRIPTS,
        _ => OTHER,
    }
}

fn is_voice(path: &StoredPath) -> bool {
    path.folder().to_ascii_lowercase().starts_with(b"sound\\voice")
}
