//! Options for opening sources, which a caller, the command line or a profile may set.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::OpenError;
use crate::content::TextureForm;
use crate::folder::OnlyPaths;
use crate::format::encoding::{Encoding, NamesEncoding};
use crate::format::{Archive, Limits, Options};
use crate::game::{ArchiveRule, Overrides};
pub use crate::limits::{CACHE_SIZE, READ_LIMIT};
use crate::note::Note;

/// Options for opening sources. A profile among the sources may set options that the caller leaves
/// open. The rest have defaults.
///
/// ```no_run
/// let vfs = bsafs::OpenOptions::new().encoding("windows-1251")?.force(true).open(["Morrowind.bsa"])?;
/// # Ok::<(), bsafs::OpenError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The names and values that were set, in this order. A later one outranks an earlier one.
    set: Vec<(String, OsString)>,
    // What these values come to. Only `OpenOptions::put` sets them.
    pub(crate) encoding: Option<Encoding>,
    pub(crate) force: bool,
    pub(crate) textures: TextureForm,
    pub(crate) names: Vec<PathBuf>,
    pub(crate) layout: Layout,
    pub(crate) salvage: bool,
    pub(crate) cache_size: Option<u64>,
    pub(crate) archives: FolderArchives,
    pub(crate) game_dir: Option<PathBuf>,
    /// The settings that outrank those found for a game.
    pub(crate) overrides: Overrides,
    pub(crate) read_limit: Option<u64>,
    /// For each source, the folder of its tree below which its files are; `None` for the whole tree. Sources
    /// beyond the end have their whole tree.
    pub(crate) within: Vec<Option<Within>>,
    /// For each source, whether it is one of a mount, which leaves out what it cannot open. So are they here.
    /// Sources beyond the end are not.
    pub(crate) are_mounted: Vec<bool>,
    pub(crate) progress: Option<Progress>,
    /// What the patterns of profiles match, and what could not be looked at.
    pub(crate) unseen: Vec<Note>,
    /// If set, the only paths at which loose files are needed.
    pub(crate) only: Option<Arc<OnlyPaths>>,
    /// If root opens sources for other users to read: what to do instead about a folder or list that another
    /// user can change. Links and names in it could show them every file that root can read.
    pub(crate) advice_to_root: Option<&'static str>,
}

/// The options on which the names and the bytes of an archive depend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ArchiveOptions {
    encoding: Option<Encoding>,
    force: bool,
    pub(crate) textures: TextureForm,
}

/// Options whose value is a path.
const PATHS: [&str; 6] = ["edit", "game_dir", "ini", "names", "plugins", "prefix"];

/// Whether the value of an option, also of one that only concerns a mount, is a path.
pub(crate) fn is_path(name: &str) -> bool {
    PATHS.contains(&name)
}

/// The value of an option, whose path begins in `folder`, or in the home folder if it begins with `~`.
pub(crate) fn placed(name: &str, value: &str, folder: &Path) -> OsString {
    if is_path(name) && !value.is_empty() {
        folder.join(expand_home(value.into())).into()
    } else {
        value.into()
    }
}

/// A folder of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Within(Arc<[u8]>);

impl Within {
    /// The folder with a path that has `/` between names. The path of the root is empty.
    pub(crate) fn new(folder: &[u8]) -> Option<Self> {
        let folder = folder.strip_suffix(b"/").unwrap_or(folder);
        let path = [folder, b"/"].concat().to_ascii_lowercase();
        (!folder.is_empty()).then(|| Self(path.into()))
    }

    /// The path, in lower case, with `/` between names and at the end.
    pub(crate) fn path(&self) -> &[u8] {
        &self.0
    }
}

/// A callback that is called when work begins, with the name of the work and its number of steps.
/// It returns a function that is called after each step, from any thread, and dropped at the end.
pub(crate) type Progress = fn(&'static str, usize) -> Box<dyn Fn() + Sync>;

/// How several archives share a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// One tree. If several layers contain a file, the last layer's is shown.
    #[default]
    Union,
    /// A separate folder for each archive and folder, named after it.
    PerArchive,
}

/// How to treat the archives directly in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FolderArchives {
    /// Archives are layers below the loose files, ordered by name, and not listed.
    #[default]
    Open,
    /// Archives are ordinary files.
    Files,
    /// Archives are layers, and also listed as files.
    Both,
}

impl Layout {
    /// All layouts with their names.
    pub const ALL: [(&'static str, Self); 2] = [("union", Self::Union), ("per-archive", Self::PerArchive)];
}

impl FolderArchives {
    /// All choices with their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("open", Self::Open), ("files", Self::Files), ("both", Self::Both)];
}

impl OpenOptions {
    /// The default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the code page of the stored names of all archives, by a label of the WHATWG's Encoding Standard:
    /// `"1252"`, `"utf-8"` … By default, the names of an archive are read as UTF-8 if all of them are valid
    /// UTF-8, and otherwise as `"1252"`.
    ///
    /// # Errors
    /// [`OpenErrorKind::Option`](crate::OpenErrorKind::Option) if there is no such code page.
    pub fn encoding(mut self, label: &str) -> Result<Self, OpenError> {
        self.put("encoding", label.into()).map_err(OpenError::option)?;
        Ok(self)
    }

    /// Whether to read archives of unknown versions and kinds by the nearest known layout.
    #[must_use]
    pub fn force(self, is_on: bool) -> Self {
        if is_on { self.with("force", "") } else { self.without(&["force"]) }
    }

    /// How to show textures.
    #[must_use]
    pub fn textures(self, form: TextureForm) -> Self {
        self.with("textures", name_of(&TextureForm::ALL, form))
    }

    /// Adds a list of paths, one per line, which gives names to the files of archives without names.
    #[must_use]
    pub fn names(self, list: impl Into<PathBuf>) -> Self {
        self.with("names", list.into())
    }

    /// Whether several archives become one tree, or a folder for each.
    #[must_use]
    pub fn layout(self, layout: Layout) -> Self {
        self.with("layout", name_of(&Layout::ALL, layout))
    }

    /// Whether to serve files with a wrong checksum instead of refusing them.
    #[must_use]
    pub fn salvage(self, is_on: bool) -> Self {
        if is_on { self.with("salvage", "") } else { self.without(&["salvage"]) }
    }

    /// Number of bytes of decoded data that are cached between reads; [`CACHE_SIZE`] by default.
    #[must_use]
    pub fn cache_size(self, bytes: u64) -> Self {
        self.with("cache_size", bytes.to_string())
    }

    /// Size in bytes of the largest file that [`VfsFile::read`](crate::VfsFile::read) reads;
    /// [`READ_LIMIT`] by default.
    #[must_use]
    pub fn read_limit(mut self, bytes: u64) -> Self {
        self.read_limit = Some(bytes);
        self
    }

    /// How to treat archives directly in a folder, and archives that a game loads.
    #[must_use]
    pub fn archives(self, how: FolderArchives) -> Self {
        self.with("archives", name_of(&FolderArchives::ALL, how))
    }

    /// The folder of the game among the sources, if the game is installed twice or was not found.
    #[must_use]
    pub fn game_dir(self, folder: impl Into<PathBuf>) -> Self {
        self.with("game_dir", folder.into())
    }

    /// Sets an option by the name and the text that profiles and `-o` use. Only this sets `prefix`, `ini`,
    /// `plugins`, `precedence` and `mo2_profile`. Relative paths begin in `folder`. Returns whether there is
    /// an option of this name.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub fn set(&mut self, name: &str, value: &str, folder: &Path) -> Result<bool, String> {
        self.put(name, placed(name, value, folder))
    }

    /// Sets an option by its name and value. Returns whether there is an option of this name.
    pub(crate) fn put(&mut self, name: &str, value: OsString) -> Result<bool, String> {
        let (path, text) = (PathBuf::from(&value), value.to_string_lossy());
        match name {
            "encoding" => self.encoding = Some(parse_encoding(&text)?),
            "force" => self.force = no_value(&text).map(|()| true)?,
            "textures" => self.textures = named(&TextureForm::ALL, &text)?,
            "names" => self.names.push(path),
            "layout" => self.layout = named(&Layout::ALL, &text)?,
            "salvage" => self.salvage = no_value(&text).map(|()| true)?,
            "cache_size" => self.cache_size = Some(parse_size(&text)?),
            "archives" => self.archives = named(&FolderArchives::ALL, &text)?,
            "game_dir" => self.game_dir = Some(path),
            "prefix" => self.overrides.prefix = Some(path),
            "ini" => self.overrides.inis.push(path),
            "plugins" => self.overrides.plugins = Some(path),
            "precedence" => self.overrides.precedence = Some(named(&ArchiveRule::ALL, &text)?),
            "mo2_profile" => self.overrides.mo2_profile = Some(text.into_owned()),
            _ => return Ok(false),
        }
        self.set.push((name.to_owned(), value));
        Ok(true)
    }

    /// What root does instead, if other users will read what is opened.
    pub(crate) fn advice_to_root(mut self, advice: Option<&'static str>) -> Self {
        self.advice_to_root = advice;
        self
    }

    /// Sets an option to a value that is valid.
    pub(crate) fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        let set = self.put(name, value.into());
        debug_assert_eq!(set, Ok(true), "{name}");
        self
    }

    /// Leaves options as if they had never been set.
    pub(crate) fn without(mut self, names: &[&str]) -> Self {
        self.set.retain(|(name, _)| !names.contains(&name.as_str()));
        self.merged_over(Self::default())
    }

    /// Merges two sets of options. `self` outranks `lower`. Lists are joined, with those of `lower` first.
    /// What no name sets is that of `self`.
    pub(crate) fn merged_over(self, lower: Self) -> Self {
        let Self { read_limit, within, are_mounted, progress, unseen, only, advice_to_root, .. } = self;
        let rest = Self {
            read_limit,
            within,
            are_mounted,
            progress,
            unseen,
            only,
            advice_to_root,
            ..Self::default()
        };
        lower.set.into_iter().chain(self.set).fold(rest, |merged, (name, value)| merged.with(&name, value))
    }

    /// The options with relative paths joined to a folder.
    pub(crate) fn in_folder(mut self, folder: &Path) -> Self {
        for (name, value) in &mut self.set {
            if is_path(name) {
                *value = folder.join(&*value).into();
            }
        }
        self.merged_over(Self::default())
    }

    /// The code page of stored names, for archives that do not show theirs.
    pub(crate) fn code_page(&self) -> Encoding {
        self.encoding.unwrap_or_default()
    }

    /// The encoding of the names of an archive.
    pub(crate) fn names_encoding(&self, archive: &Archive<'_>) -> NamesEncoding {
        NamesEncoding::of(archive, self.encoding)
    }

    pub(crate) fn of_archives(&self) -> ArchiveOptions {
        ArchiveOptions { encoding: self.encoding, force: self.force, textures: self.textures }
    }

    pub(crate) fn parse_options(&self) -> Options {
        Options { limits: Limits::default(), force: self.force }
    }

    /// Reports the beginning of work. Returns the function to call after each step.
    pub(crate) fn steps(&self, what: &'static str, count: usize) -> Box<dyn Fn() + Sync> {
        self.progress.map_or_else(|| Box::new(|| {}) as Box<dyn Fn() + Sync>, |begin| begin(what, count))
    }
}

pub(crate) fn parse_encoding(label: &str) -> Result<Encoding, String> {
    Encoding::from_label(label)
        .ok_or_else(|| format!("unknown code page \"{label}\"; try 1250, 1251, 1252 or utf-8"))
}

/// Parses a number of bytes with an optional unit: K, M or G, in powers of 1024.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let upper = text.to_ascii_uppercase();
    let digits = upper.trim_end_matches("IB").trim_end_matches('B');
    let (digits, shift) = match digits.char_indices().last() {
        Some((at, 'K')) => (&digits[..at], 10),
        Some((at, 'M')) => (&digits[..at], 20),
        Some((at, 'G')) => (&digits[..at], 30),
        _ => (digits, 0),
    };
    let number = digits.trim().parse::<u64>().ok();
    number
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| format!("\"{text}\" is not a number of bytes, such as 64M"))
}

/// Refuses a value for an option that takes none: `force=no` reads as if it turned the option off.
pub(crate) fn no_value(value: &str) -> Result<(), String> {
    match value {
        "" => Ok(()),
        _ => Err("the option takes no value; to turn the option off, omit it".into()),
    }
}

fn name_of<T: Copy + PartialEq>(all: &[(&'static str, T)], value: T) -> &'static str {
    all.iter().find(|(_, it)| *it == value).map_or("", |(name, _)| name)
}

/// Finds a value by its name, ignoring case.
fn named<T: Copy>(all: &[(&'static str, T)], name: &str) -> Result<T, String> {
    let found = all.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("must be one of {}", names.join(", "))
    })
}

/// Replaces a leading `~` by the home folder, as a shell does.
pub(crate) fn expand_home(path: PathBuf) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_units_are_powers_of_1024() {
        assert_eq!(parse_size("64M"), Ok(CACHE_SIZE));
        assert_eq!(parse_size("1GiB"), Ok(1 << 30));
        assert_eq!(parse_size("4096"), Ok(4096));
        assert!(parse_size("many").is_err() && parse_size("99999999999G").is_err());
    }
}
