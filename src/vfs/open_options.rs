//! Options for opening sources, which a caller, the command line or a profile may set.

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
    pub(crate) encoding: Option<Encoding>,
    pub(crate) force: bool,
    pub(crate) textures: Option<TextureForm>,
    pub(crate) names: Vec<PathBuf>,
    pub(crate) layout: Option<Layout>,
    pub(crate) salvage: bool,
    pub(crate) cache_size: Option<u64>,
    pub(crate) read_limit: Option<u64>,
    pub(crate) archives: Option<FolderArchives>,
    pub(crate) game_dir: Option<PathBuf>,
    pub(crate) prefix: Option<PathBuf>,
    pub(crate) inis: Vec<PathBuf>,
    pub(crate) plugins: Option<PathBuf>,
    pub(crate) precedence: Option<ArchiveRule>,
    pub(crate) mo2_profile: Option<String>,
    /// For each source, the folder of its tree below which its files are; `None` for the whole tree. Sources
    /// beyond the end have their whole tree.
    pub(crate) within: Vec<Option<Within>>,
    pub(crate) progress: Option<Progress>,
    /// What the patterns of profiles match, and what could not be looked at.
    pub(crate) unseen: Vec<Note>,
    /// If set, the only paths at which loose files are needed.
    pub(crate) only: Option<Arc<OnlyPaths>>,
    /// If root opens sources for other users to read: what to do instead about a folder or list that another
    /// user can change. Links and names in it could show them every file that root can read.
    pub(crate) advice_to_root: Option<&'static str>,
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
        self.encoding = Some(parse_encoding(label).map_err(OpenError::option)?);
        Ok(self)
    }

    /// Whether to read archives of unknown versions and kinds by the nearest known layout.
    #[must_use]
    pub fn force(mut self, is_on: bool) -> Self {
        self.force = is_on;
        self
    }

    /// How to show textures.
    #[must_use]
    pub fn textures(mut self, form: TextureForm) -> Self {
        self.textures = Some(form);
        self
    }

    /// Adds a list of paths, one per line, which gives names to the files of archives without names.
    #[must_use]
    pub fn names(mut self, list: impl Into<PathBuf>) -> Self {
        self.names.push(list.into());
        self
    }

    /// Whether several archives become one tree, or a folder for each.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = Some(layout);
        self
    }

    /// Whether to serve files with a wrong checksum instead of refusing them.
    #[must_use]
    pub fn salvage(mut self, is_on: bool) -> Self {
        self.salvage = is_on;
        self
    }

    /// Number of bytes of decoded data that are cached between reads; [`CACHE_SIZE`] by default.
    #[must_use]
    pub fn cache_size(mut self, bytes: u64) -> Self {
        self.cache_size = Some(bytes);
        self
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
    pub fn archives(mut self, how: FolderArchives) -> Self {
        self.archives = Some(how);
        self
    }

    /// The folder of the game among the sources, if the game is installed twice or was not found.
    #[must_use]
    pub fn game_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.game_dir = Some(folder.into());
        self
    }

    /// Sets an option by the name and the text that profiles and `-o` use. Only this sets `prefix`, `ini`,
    /// `plugins`, `precedence` and `mo2_profile`. Relative paths begin in `folder`. Returns whether there is
    /// an option of this name.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub fn set(&mut self, name: &str, value: &str, folder: &Path) -> Result<bool, String> {
        let path = || folder.join(expand_home(value.into()));
        match name {
            "encoding" => self.encoding = Some(parse_encoding(value)?),
            "force" => {
                no_value(value)?;
                self.force = true;
            }
            "textures" => self.textures = Some(named(&TextureForm::ALL, value)?),
            "names" => self.names.push(path()),
            "layout" => self.layout = Some(named(&Layout::ALL, value)?),
            "salvage" => {
                no_value(value)?;
                self.salvage = true;
            }
            "archives" => self.archives = Some(named(&FolderArchives::ALL, value)?),
            "game_dir" => self.game_dir = Some(path()),
            "prefix" => self.prefix = Some(path()),
            "ini" => self.inis.push(path()),
            "plugins" => self.plugins = Some(path()),
            "precedence" => self.precedence = Some(parse_precedence(value)?),
            "mo2_profile" => self.mo2_profile = Some(value.to_owned()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Merges two sets of options. `self` outranks `lower`. Lists are joined, with those of `lower` first.
    pub(crate) fn merged_over(self, lower: Self) -> Self {
        Self {
            encoding: self.encoding.or(lower.encoding),
            force: self.force || lower.force,
            textures: self.textures.or(lower.textures),
            names: [lower.names, self.names].concat(),
            layout: self.layout.or(lower.layout),
            salvage: self.salvage || lower.salvage,
            cache_size: self.cache_size.or(lower.cache_size),
            read_limit: self.read_limit.or(lower.read_limit),
            archives: self.archives.or(lower.archives),
            game_dir: self.game_dir.or(lower.game_dir),
            prefix: self.prefix.or(lower.prefix),
            inis: [lower.inis, self.inis].concat(),
            plugins: self.plugins.or(lower.plugins),
            precedence: self.precedence.or(lower.precedence),
            mo2_profile: self.mo2_profile.or(lower.mo2_profile),
            within: if self.within.is_empty() { lower.within } else { self.within },
            progress: self.progress.or(lower.progress),
            unseen: [lower.unseen, self.unseen].concat(),
            only: self.only.or(lower.only),
            advice_to_root: self.advice_to_root.or(lower.advice_to_root),
        }
    }

    /// The options with relative paths joined to a folder.
    pub(crate) fn in_folder(self, folder: &Path) -> Self {
        let one = |path: Option<PathBuf>| path.map(|path| folder.join(path));
        let all = |paths: Vec<PathBuf>| paths.into_iter().map(|path| folder.join(path)).collect();
        Self {
            names: all(self.names),
            game_dir: one(self.game_dir),
            prefix: one(self.prefix),
            inis: all(self.inis),
            plugins: one(self.plugins),
            ..self
        }
    }

    /// The code page of stored names, for archives that do not show theirs.
    pub(crate) fn code_page(&self) -> Encoding {
        self.encoding.unwrap_or_default()
    }

    /// The encoding of the names of an archive.
    pub(crate) fn names_encoding(&self, archive: &Archive<'_>) -> NamesEncoding {
        NamesEncoding::of(archive, self.encoding)
    }

    pub(crate) fn parse_options(&self) -> Options {
        Options { limits: Limits::default(), force: self.force }
    }

    pub(crate) fn folder_archives(&self) -> FolderArchives {
        self.archives.unwrap_or_default()
    }

    /// The settings that outrank those found for a game.
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            prefix: self.prefix.clone(),
            inis: self.inis.clone(),
            plugins: self.plugins.clone(),
            precedence: self.precedence,
            mo2_profile: self.mo2_profile.clone(),
        }
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

pub(crate) fn parse_precedence(name: &str) -> Result<ArchiveRule, String> {
    let found = ArchiveRule::ALL.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
    found.map(|(_, rule)| *rule).ok_or_else(|| "must be one of last, first, fnv, oblivion".to_owned())
}

/// Refuses a value for an option that takes none: `force=no` reads as if it turned the option off.
pub(crate) fn no_value(value: &str) -> Result<(), String> {
    match value {
        "" => Ok(()),
        _ => Err("the option takes no value; to turn the option off, omit it".into()),
    }
}

/// Finds a value by its name, in any case.
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
