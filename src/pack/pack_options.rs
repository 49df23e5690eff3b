//! What the caller may choose, and why archives were not packed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::Path;

use crate::content::codec::Level;
use crate::format::encoding::Encoding;
use crate::format::write::NewKind;
use crate::game::{Loads, PackRules, TITLES, Title};
use crate::kinds::Engine;
use crate::shown::Shown;
use crate::system::text::reason;
use crate::vfs::Patterns;
use crate::vfs::open_options::parse_encoding;
use crate::vfs::patterns::below_data;

/// What to do with a texture that an archive of textures cannot store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OddTextures {
    /// Pack nothing, and name it.
    #[default]
    Error,
    /// Pack it as a file, into the archive of everything else.
    General,
    /// Leave it loose.
    Loose,
}

impl OddTextures {
    /// All choices with their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("error", Self::Error), ("general", Self::General), ("loose", Self::Loose)];
}

/// Called with a number of bytes of sources that were packed, and again when they were read back.
pub type PackProgress<'p> = dyn Fn(u64) + Sync + 'p;

/// Options of packing.
///
/// ```
/// # fn main() -> Result<(), bsafs::pack::PackError> {
/// let mut options = bsafs::pack::PackOptions::new("skyrimse")?;
/// options.name = Some("MyMod".into());
/// options.all = true;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PackOptions {
    pub(crate) game: &'static Title,
    /// How archives for the game are written.
    pub(crate) packing: &'static PackRules,
    /// What the names of archives begin with, instead of the name of the plugin in the source.
    pub name: Option<String>,
    /// The name of the one archive; more than one is an error.
    pub file_name: Option<String>,
    /// How much time to spend for smaller archives.
    pub level: Level,
    /// The largest archive in bytes, if not the largest that the game reads.
    pub size_max: Option<u64>,
    /// Whether to pack what games or tools read only from the disk.
    pub all: bool,
    /// Whether to pack sources of scripts.
    pub sources: bool,
    /// Which files are packed, by the paths below the data folder; the number of others is stated.
    pub only: Patterns,
    /// Which files stay loose.
    pub exclude: Option<Patterns>,
    /// The paths that are packed; others are not mentioned.
    pub listed: Option<PathList>,
    /// Whether to pack paths and names at which no game finds files.
    pub any_path: bool,
    /// Which files are stored without compression.
    pub store: Option<Patterns>,
    /// What to do with textures that an archive of textures cannot store.
    pub odd_textures: OddTextures,
    pub(crate) encoding: Encoding,
    /// Whether to pack what links lead to.
    pub follows_links: bool,
    /// Whether existing archives are replaced.
    pub overwrites: bool,
    /// Whether plugins are written that only make the game load the archives.
    pub dummies: bool,
    /// Whether an empty file beside each archive of Fallout 3 or New Vegas gives it a higher rank.
    pub override_file: bool,
    /// Whether archives are read back and compared with the sources.
    pub verifies: bool,
    /// How many threads encode; all processors by default. The result does not depend on it.
    pub threads: Option<usize>,
    /// The names of plugins in the sources or beside them, without extension and in lower case. The plan
    /// finds them.
    pub(crate) plugins_there: BTreeMap<String, String>,
}

impl PackOptions {
    /// The default options for a game, by its id.
    ///
    /// # Errors
    /// No archives can be written for such a game.
    pub fn new(game: &str) -> Result<Self, PackError> {
        let found = packed_games().find(|(title, _)| title.id.eq_ignore_ascii_case(game));
        let (game, packing) = found.ok_or_else(|| {
            let known: Vec<&str> = packed_games().map(|(title, _)| title.id).collect();
            PackError::new(
                PackErrorKind::Option,
                format!("no archives can be packed for \"{game}\"; the games are {}", known.join(", ")),
            )
        })?;
        Ok(Self {
            game,
            packing,
            name: None,
            file_name: None,
            level: Level::default(),
            size_max: None,
            all: false,
            sources: false,
            only: Patterns::default(),
            exclude: None,
            listed: None,
            any_path: false,
            store: None,
            odd_textures: OddTextures::default(),
            encoding: Encoding::default(),
            follows_links: false,
            overwrites: false,
            dummies: false,
            override_file: false,
            verifies: true,
            threads: None,
            plugins_there: BTreeMap::new(),
        })
    }

    /// The code page of names in the archives, by its label.
    ///
    /// # Errors
    /// There is no such code page.
    pub fn encoding(mut self, label: &str) -> Result<Self, PackError> {
        let encoding = parse_encoding(label);
        self.encoding = encoding.map_err(|what| PackError::new(PackErrorKind::Option, what))?;
        Ok(self)
    }

    /// Checks options against each other.
    pub(crate) fn check(&self) -> Result<(), PackError> {
        let is_bsa = matches!(self.packing.main, NewKind::Tes3 | NewKind::Tes4(_));
        if is_bsa && self.size_max.is_some_and(|size| size > u64::from(u32::MAX)) {
            let what = "--max-size: a BSA has at most 4 GiB less one byte";
            return Err(PackError::new(PackErrorKind::Option, what));
        }
        Ok(())
    }
}

// What the game's row says.

/// All games for which archives can be written, with how.
pub fn packed_games() -> impl Iterator<Item = (&'static Title, &'static PackRules)> {
    TITLES.iter().filter_map(|title| Some((*title, title.packing.as_ref()?)))
}

impl PackOptions {
    /// Whether plugins find their tables of texts only in archives that are called after them.
    pub(super) fn has_tables(&self) -> bool {
        let is_old = matches!(self.game.engine, Engine::Oblivion | Engine::Fallout3);
        self.packing.loads == Loads::Plugin && !is_old
    }
}

// Why archives were not packed.

/// Why archives were not packed. Nothing was placed.
#[derive(Debug)]
pub struct PackError {
    kind: PackErrorKind,
    what: String,
}

/// The kind of a [`PackError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackErrorKind {
    /// An option or a name is wrong or missing.
    Option,
    /// Files cannot be packed as they are.
    Source,
    /// A file of the source cannot be read, or changed.
    Unreadable,
    /// An archive exists already, or cannot be made.
    Output,
    /// The disk is full, or writing failed.
    Io,
    /// What was written is not what was read.
    Differs,
}

/// How many files a message names.
const NAMED_MAX: usize = 20;

impl PackError {
    pub(super) fn new(kind: PackErrorKind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into() }
    }

    /// An error about several files: what is wrong, and a line for each.
    pub(super) fn list(kind: PackErrorKind, what: &str, lines: &[String]) -> Self {
        let shown = lines.iter().take(NAMED_MAX).map(|line| format!("\n  {line}"));
        let more = match lines.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!("\n  and {more} more"),
        };
        Self::new(kind, format!("{what}{}{more}", shown.collect::<String>()))
    }

    /// An error of the system about a path.
    pub(super) fn io(path: &Path, error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
                PackErrorKind::Output
            }
            _ => PackErrorKind::Io,
        };
        Self::new(kind, format!("{}: {}", path.shown(), reason(error)))
    }

    /// The kind.
    pub fn kind(&self) -> PackErrorKind {
        self.kind
    }
}

impl std::fmt::Display for PackError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for PackError {}

// A list of paths to pack: one path a line, or the JSON array of the Creation Kit (`.achlist`).

/// A list of paths below the data folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathList {
    /// The paths as they were written.
    paths: Vec<String>,
}

impl PathList {
    /// Reads a list. Empty lines are left out, and so are quotes around a path.
    ///
    /// # Errors
    /// The text is neither UTF-8 nor UTF-16, or a JSON array that has something other than texts.
    pub fn parse(bytes: &[u8]) -> Result<Self, PackError> {
        let wrong = |what: String| PackError::new(PackErrorKind::Option, format!("--from: {what}"));
        let text = text(bytes).ok_or_else(|| wrong("the list is neither UTF-8 nor UTF-16".to_owned()))?;
        let paths: Vec<String> = if text.trim_start().starts_with('[') {
            let parsed = serde_json::from_str(text.trim());
            parsed.map_err(|error| wrong(format!("not a JSON array of paths: {error}")))?
        } else {
            text.lines().map(str::to_owned).collect()
        };
        let paths: Vec<String> =
            paths.iter().map(|path| unquoted(path).to_owned()).filter(|path| !path.is_empty()).collect();
        if paths.is_empty() {
            return Err(wrong("the list has no path".to_owned()));
        }
        Ok(Self { paths })
    }

    /// The paths that the lines may mean, in lower case.
    pub(super) fn all_forms(&self) -> HashSet<String> {
        self.paths.iter().flat_map(|path| forms(path)).collect()
    }

    /// The numbers of the listed files among all paths. A folder stands for all files in it.
    ///
    /// # Errors
    /// Paths of the list that are not there.
    pub(super) fn select(&self, all: &[String]) -> Result<HashSet<usize>, PackError> {
        let mut by_path: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, path) in all.iter().enumerate() {
            let path = path.to_ascii_lowercase();
            let folders = path.match_indices('/').map(|(end, _)| &path[..end]);
            for known in folders.chain(std::iter::once(&*path)) {
                by_path.entry(known.to_owned()).or_default().push(at);
            }
        }
        let (mut selected, mut missing) = (HashSet::new(), Vec::new());
        for path in &self.paths {
            match forms(path).iter().find_map(|form| by_path.get(form)) {
                Some(found) => selected.extend(found),
                None => missing.push(path.shown().to_string()),
            }
        }
        if missing.is_empty() {
            return Ok(selected);
        }
        let what = "--from lists paths that are not in the source:";
        Err(PackError::list(PackErrorKind::Source, what, &missing))
    }
}

/// The paths that a line may mean, in lower case and with `/`: as it is, and what follows a folder of data.
fn forms(path: &str) -> Vec<String> {
    let path = path.replace('\\', "/").to_ascii_lowercase();
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let whole = parts.join("/");
    let starts = whole.match_indices('/').map(|(at, _)| at + 1);
    let below: Vec<String> = std::iter::once(0)
        .chain(starts)
        .filter_map(|start| below_data(&whole[start..]).map(str::to_owned))
        .collect();
    // The last folder of data is the nearest one.
    std::iter::once(whole).chain(below.into_iter().rev()).collect()
}

fn unquoted(path: &str) -> &str {
    let path = path.trim().trim_end_matches('\0');
    path.strip_prefix('"').and_then(|path| path.strip_suffix('"')).unwrap_or(path)
}

/// The text of a list that a program of Windows may have written.
fn text(bytes: &[u8]) -> Option<String> {
    match bytes {
        [0xFF, 0xFE, rest @ ..] => {
            let units: Vec<u16> = rest.as_chunks().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
            String::from_utf16(&units).ok()
        }
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        bytes => String::from_utf8(bytes.to_vec()).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_other_programs_name_the_same_files() {
        let all: Vec<String> =
            ["Meshes/a.nif", "textures/b.dds", "textures/c/d.dds"].map(str::to_owned).into();
        let selected = |text: &[u8]| {
            let mut found: Vec<usize> =
                PathList::parse(text).unwrap().select(&all).unwrap().into_iter().collect();
            found.sort_unstable();
            found
        };
        assert_eq!(selected(b"meshes\\A.NIF\r\n\r\n\"Data\\Textures\\b.dds\"\r\n"), [0, 1]);
        assert_eq!(selected(br#"["Data\\Meshes\\a.nif", "data/textures/c/d.dds"]"#), [0, 2]);
        assert_eq!(selected(b"C:\\Games\\Data\\My Game\\Data\\textures\\c"), [2]);
        assert_eq!(selected(b"textures\n./meshes/a.nif"), [0, 1, 2]);
        let utf16: Vec<u8> = "\u{feff}meshes\\a.nif\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(selected(&utf16), [0]);
        let missing = PathList::parse(b"meshes/a.nif\nmeshes/b.nif").unwrap().select(&all).unwrap_err();
        assert!(missing.to_string().contains("meshes/b.nif") && !missing.to_string().contains("a.nif"));
        for wrong in [&b""[..], b"\r\n", b"[1]", b"[", b"\xff\xff\xff"] {
            assert!(PathList::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
