//! What a new archive is made of: the paths that it stores, its kind, its files, and where their data lies.

use std::borrow::Cow;

use super::super::encoding::Encoding;
use super::super::hash::{Family, Hash};
use crate::format::tes4_flag as flag;
use crate::kinds::{SOUND, What, kind_of};
use crate::named::named;
use crate::texture::dds;

/// From this length on, the games' hash functions return 0 for a path or name.
const PATH_MAX: usize = 259;
/// Maximum length of the name of a file or folder. File systems have no longer ones.
const COMPONENT_MAX: usize = 255;
/// Maximum length of the path of a folder in a BSA: one byte states it with its NUL.
const BSA_FOLDER_MAX: usize = 254;
/// From this length on, an extension has no hash in a BSA, dot included.
const EXTENSION_MAX: usize = 15;

/// How a kind of archive stores paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathForm {
    /// A BSA of Morrowind: the whole path in lower case, with `\`.
    Tes3,
    /// Later BSAs: folder and name apart, in lower case, with `\`.
    Tes4,
    /// A BA2: the whole path as it is on the disk, with `/`.
    Ba2,
}

impl PathForm {
    /// The family of the hashes.
    pub fn family(self) -> Family {
        match self {
            Self::Tes3 => Family::Tes3,
            Self::Tes4 => Family::Tes4,
            Self::Ba2 => Family::Fo4,
        }
    }
}

/// A path as an archive stores it, with its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPath {
    bytes: Box<[u8]>,
    /// Length of the folder's path; the separator follows it unless it is 0.
    folder: usize,
    hash: Hash,
}

named! {
    /// Why an archive cannot store a path.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum NameError;
    fn words;

    /// It has characters that the code page lacks.
    Encoding = "the code page of names lacks a character";
    /// It is too long for the game.
    TooLong = "the path is too long";
    /// The name has no stem, so that the game finds no file of this name: `.gitignore`.
    NoStem = "the name has nothing before its dot";
    /// A name in it ends in a dot or a blank, which Windows removes.
    Ending = "a name in its path ends in a dot or a blank";
    /// A character has a byte that games take for a separator of folders.
    Separator = "a character has a byte that games take for a backslash";
    /// It has a NUL, which ends a name in this kind of archive.
    Nul = "the name has a NUL";
}

impl StoredPath {
    /// The path of a file, which has `/` between names. Bytes that are not UTF-8 are taken as they are, if
    /// they are characters of the code page.
    pub fn new(path: &[u8], form: PathForm, encoding: Encoding) -> Result<Self, NameError> {
        let (is_lower, separator) = match form {
            PathForm::Tes3 | PathForm::Tes4 => (true, b'\\'),
            PathForm::Ba2 => (false, b'/'),
        };
        let mut bytes = Vec::with_capacity(path.len());
        let mut folder = 0;
        for (nth, name) in path.split(|&byte| byte == b'/').enumerate() {
            if nth > 0 {
                folder = bytes.len();
                bytes.push(separator);
            }
            let name = stored(name, is_lower, encoding).ok_or(NameError::Encoding)?;
            // In code pages of East Asia, a backslash is the second byte of some characters.
            if name.contains(&b'\\') {
                return Err(NameError::Separator);
            }
            if name.len() > COMPONENT_MAX {
                return Err(NameError::TooLong);
            }
            bytes.extend_from_slice(&name);
        }
        let file = |bytes: &[u8]| -> Vec<u8> { bytes.get(start(folder)..).unwrap_or_default().to_vec() };
        let name = file(&bytes);
        let dot = name.iter().rposition(|&byte| byte == b'.');
        let extension = dot.map_or(0, |dot| name.len().saturating_sub(dot));
        let is_long = bytes.len() > PATH_MAX
            || form == PathForm::Tes4 && (folder > BSA_FOLDER_MAX || extension > EXTENSION_MAX);
        if is_long {
            return Err(NameError::TooLong);
        }
        if name.is_empty() || dot == Some(0) {
            return Err(NameError::NoStem);
        }
        let ends_badly = |name: &[u8]| name.last().is_some_and(|last| matches!(last, b'.' | b' '));
        if bytes.split(|&byte| byte == separator).any(ends_badly) {
            return Err(NameError::Ending);
        }
        let hash = form.family().of(bytes.get(..folder).unwrap_or_default(), &name);
        Ok(Self { bytes: bytes.into(), folder, hash })
    }

    /// The path of a file of another archive. `folder` and `file` are its stored bytes. They are kept if
    /// the other archive has hashes of the same family. Otherwise only capital letters and separators
    /// change, if the new archive has others. That changes no hash. `hash` is the stored one of a file
    /// whose name its archive lacks; else the hash is that of the name, for which games look.
    pub fn kept(
        (folder, file): (&[u8], &[u8]),
        family: Family,
        hash: Option<Hash>,
        form: PathForm,
    ) -> Result<Self, NameError> {
        let is_same = family == form.family();
        let mut bytes = match folder {
            // The name of the root.
            b"" | b"." => file.to_vec(),
            folder => [folder, b"\\", file].concat(),
        };
        if !is_same && form != PathForm::Ba2 {
            bytes.make_ascii_lowercase();
            bytes.iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = b'\\');
        }
        let folder = match folder {
            b"" | b"." => bytes.iter().rposition(|byte| matches!(byte, b'/' | b'\\')).unwrap_or(0),
            folder => folder.len(),
        };
        let longest = if form == PathForm::Ba2 { usize::from(u16::MAX) } else { usize::MAX };
        if bytes.len() > longest
            || form == PathForm::Tes4 && folder > BSA_FOLDER_MAX
            || !is_same && bytes.len() > PATH_MAX
        {
            return Err(NameError::TooLong);
        }
        if form != PathForm::Ba2 && bytes.contains(&0) {
            return Err(NameError::Nul);
        }
        let kept = Self { bytes: bytes.into(), folder, hash: Hash::default() };
        let of_name = || form.family().of(kept.folder(), kept.name());
        Ok(Self { hash: hash.filter(|_| is_same).unwrap_or_else(of_name), ..kept })
    }

    /// The whole path.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The folder's path; empty for the root.
    pub fn folder(&self) -> &[u8] {
        self.bytes.get(..self.folder).unwrap_or_default()
    }

    pub fn name(&self) -> &[u8] {
        self.bytes.get(start(self.folder)..).unwrap_or_default()
    }

    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// Extension without the dot, in lower case; empty if there is none.
    pub fn extension(&self) -> Vec<u8> {
        let name = self.name();
        let dot = name.iter().rposition(|&byte| byte == b'.');
        let extension = dot.and_then(|dot| name.get(dot..)?.get(1..)).unwrap_or_default();
        extension.to_ascii_lowercase()
    }

    /// The first name of the path, in lower case; empty for a file in the root.
    pub fn top(&self) -> Vec<u8> {
        let folder = self.folder();
        let top = folder.split(|byte| matches!(byte, b'\\' | b'/')).next().unwrap_or_default();
        top.to_ascii_lowercase()
    }
}

/// Where the name begins behind a folder's path of this length.
fn start(folder: usize) -> usize {
    if folder == 0 { 0 } else { folder.saturating_add(1) }
}

/// The stored bytes of a name. Only ASCII letters are lowered, as the games do.
fn stored(name: &[u8], is_lower: bool, encoding: Encoding) -> Option<Cow<'_, [u8]>> {
    let Ok(text) = std::str::from_utf8(name) else {
        encoding.decode(name)?;
        return Some(if is_lower { name.to_ascii_lowercase().into() } else { name.into() });
    };
    let text = if is_lower { text.to_ascii_lowercase().into() } else { Cow::Borrowed(text) };
    encoding.encode(text.as_bytes()).map(|bytes| Cow::Owned(bytes.into_owned()))
}

// The kind of a new archive, and its files.

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
pub(super) struct TableBytes(pub(super) Vec<u8>);

impl TableBytes {
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
pub(super) fn stored_flags(content: u16) -> u16 {
    content & !SCRIPTS
}

fn of_path(version: u32, path: &StoredPath) -> u16 {
    let is_oblivion = version == 103;
    let Some(kind) = kind_of([&b"."[..], &path.extension()].concat()) else { return OTHER };
    match kind.what {
        What::Mesh | What::Morph | What::Landscape => MESHES,
        What::Animation if !kind.is_named => MESHES,
        What::Texture => TEXTURES,
        What::Menu if is_oblivion => MENUS,
        // Without the flag of voices, New Vegas plays no `.ogg`.
        What::Sound => match (is_oblivion, is_voice(path)) {
            (true, true) => VOICES,
            (true, false) => SOUNDS,
            (false, _) if path.top() == SOUND.as_bytes() => SOUNDS | VOICES,
            (false, _) => SOUNDS,
        },
        What::Text if is_oblivion => TEXTS,
        What::Tree => TREES,
        What::Font if is_oblivion => FONTS,
        What::Script => OTHER | SCRIPTS,
        _ => OTHER,
    }
}

fn is_voice(path: &StoredPath) -> bool {
    path.folder().to_ascii_lowercase().starts_with(b"sound\\voice")
}
