//! The flags of a BSA, which follow from what is in it (FORMATS.md 1.1 and 1.2).

use super::super::tes4_flag as flag;
use super::stored_path::StoredPath;

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
