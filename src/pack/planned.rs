//! What a plan consists of: archives, their files, and the plugins that load them.

use std::collections::HashSet;
use std::time::SystemTime;

use super::pack_options::PackOptions;
use crate::format::write::{NewArchive, NewKind, StoredPath};
use crate::game::{DummyPlugin, stem};
use crate::kinds::{Engine, PLUGINS};
use crate::shown::Shown;
use crate::texture::parts::TextureParts;
use crate::vfs::VfsFile;

/// An archive that will be written.
#[derive(Clone, Debug)]
pub struct PlannedArchive {
    /// The name of the file.
    pub name: String,
    /// What loads it.
    pub loader: Loader,
    /// Whether it has only tables that belong to a plugin other than the one of the other archives.
    pub is_of_other: bool,
    pub(super) kind: NewKind,
    pub(super) layout: NewArchive,
    /// The files, by the number that the layout has.
    pub(super) files: Vec<PlannedFile>,
}

/// What loads an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loader {
    /// A plugin of the source.
    Plugin(String),
    /// A plugin that the source lacks. The name has no extension.
    Missing(String),
    /// A line of an INI file.
    Line(String),
}

/// A file that will be packed.
#[derive(Clone, Debug)]
pub struct PlannedFile {
    /// The path in the archive, with `/` between names and in the spelling of the source.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// How it is stored.
    pub how: How,
    pub(super) file: VfsFile,
    pub(super) stored: StoredPath,
    pub(super) parts: Option<TextureParts>,
}

/// How a file is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// As it is.
    Stored,
    /// Compressed, if that makes it smaller.
    Compressed,
    /// As a texture without its header, always compressed.
    Texture,
}

impl PlannedArchive {
    /// The kind in words: `BSA 105`, `BA2 1 GNRL`.
    pub fn kind(&self) -> String {
        self.kind.words()
    }

    /// The files, ordered by path without regard to case.
    pub fn files(&self) -> &[PlannedFile] {
        &self.files
    }

    /// The newest date of a file.
    pub(super) fn newest(&self) -> Option<SystemTime> {
        self.files.iter().map(|file| file.file.modified()).max()
    }
}

impl Loader {
    /// What loads the archive, in words.
    pub fn words(&self) -> String {
        match self {
            Self::Plugin(plugin) => format!("loaded by {}", plugin.shown()),
            Self::Missing(name) => format!("loaded by a plugin called {}", name.shown()),
            Self::Line(line) => format!("loaded by {}", line.shown()),
        }
    }
}

// Plugins without content, which only make a game load archives.

/// The author that they name, so that a later program can tell them.
const AUTHOR: &[u8] = b"bsafs\0";

/// A small file beside the archives.
pub(super) struct Beside {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// The plugin that an archive needs.
pub(super) fn dummy_name(plugin: &str, options: &PackOptions) -> String {
    let ending = options.packing.dummy.map_or(PLUGINS[0], |dummy| dummy.ending);
    format!("{plugin}.{ending}")
}

/// Whether an archive gets a plugin without content. If the mod has a plugin of its name, such a file would
/// replace it wherever both are copied.
pub(super) fn gets_dummy(archive: &PlannedArchive, options: &PackOptions) -> bool {
    let is_missing = |plugin: &String| !options.plugins_there.contains_key(&plugin.to_lowercase());
    let missing = matches!(&archive.loader, Loader::Missing(plugin) if is_missing(plugin));
    missing && !archive.is_of_other && options.dummies && options.packing.dummy.is_some()
}

/// The files that are written beside the archives because the user asked for them.
pub(super) fn beside(archives: &[PlannedArchive], options: &PackOptions) -> Vec<Beside> {
    let mut all = Vec::new();
    for archive in archives {
        if let (Loader::Missing(plugin), true, Some(dummy)) =
            (&archive.loader, gets_dummy(archive, options), options.packing.dummy)
        {
            all.push(Beside { name: dummy_name(plugin, options), bytes: plugin_bytes(&dummy) });
        }
        if options.override_file && options.game.engine == Engine::Fallout3 {
            all.push(Beside { name: format!("{}.override", stem(&archive.name)), bytes: Vec::new() });
        }
    }
    // Two archives of one plugin need it once. There are as few as archives.
    let mut names = HashSet::new();
    all.retain(|beside| names.insert(beside.name.to_ascii_lowercase()));
    all
}

/// Whether these are the bytes of a plugin that [`beside`] writes.
pub(super) fn is_dummy(bytes: &[u8], options: &PackOptions) -> bool {
    options.packing.dummy.is_some_and(|dummy| bytes == plugin_bytes(&dummy))
}

/// The bytes of a plugin: one record `TES4`.
fn plugin_bytes(dummy: &DummyPlugin) -> Vec<u8> {
    let mut fields = Vec::new();
    let mut field = |kind: &[u8; 4], bytes: &[u8]| {
        fields.extend_from_slice(kind);
        fields.extend((bytes.len() as u16).to_le_bytes());
        fields.extend_from_slice(bytes);
    };
    let header = [dummy.version.to_le_bytes(), 0u32.to_le_bytes(), dummy.next_id.to_le_bytes()];
    field(b"HEDR", &header.concat());
    field(b"CNAM", AUTHOR);
    if let Some(master) = dummy.master {
        field(b"MAST", &[master.as_bytes(), b"\0"].concat());
        field(b"DATA", &0u64.to_le_bytes());
    }
    let mut out = b"TES4".to_vec();
    out.extend((fields.len() as u32).to_le_bytes());
    out.extend(dummy.flags.to_le_bytes());
    // The number of the record, and version control.
    out.extend([0; 8]);
    if let Some(form) = dummy.form {
        out.extend(form.to_le_bytes());
        out.extend([0; 2]);
    }
    out.extend(fields);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Header;
    use crate::pack::packed_games;

    #[test]
    fn each_dummy_is_a_plugin_with_the_flags_of_its_game() {
        for (game, packing) in packed_games() {
            let Some(dummy) = &packing.dummy else { continue };
            let bytes = plugin_bytes(dummy);
            let header = Header::parse(&bytes).unwrap_or_else(|| panic!("{} is no plugin", game.id));
            assert_eq!(header.flags, dummy.flags, "{}", game.id);
            assert_eq!(header.masters, dummy.master.into_iter().map(String::from).collect::<Vec<_>>());
            let head = if dummy.form.is_some() { 24 } else { 20 };
            let size = u32::from_le_bytes(*bytes[4..].first_chunk().unwrap_or(&[0; 4]));
            assert_eq!(bytes.len(), head + size as usize, "{}", game.id);
        }
    }
}
