//! What the caller may choose.

use std::collections::BTreeMap;

use super::error::{PackError, PackErrorKind};
use super::path_list::PathList;
use super::rules::{GAMES, Game};
use crate::content::codec::Level;
use crate::format::encoding::Encoding;
use crate::format::write::NewKind;
use crate::vfs::Patterns;
use crate::vfs::open_options::parse_encoding;

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
#[derive(Clone, Debug)]
pub struct PackOptions {
    pub(crate) game: &'static Game,
    pub(crate) name: Option<String>,
    pub(crate) file_name: Option<String>,
    pub(crate) version: Option<u32>,
    pub(crate) level: Level,
    pub(crate) size_max: Option<u64>,
    pub(crate) splits: bool,
    pub(crate) shares: bool,
    pub(crate) all: bool,
    pub(crate) sources: bool,
    pub(crate) only: Patterns,
    pub(crate) exclude: Option<Patterns>,
    pub(crate) listed: Option<PathList>,
    pub(crate) any_path: bool,
    pub(crate) store: Option<Patterns>,
    pub(crate) odd_textures: OddTextures,
    pub(crate) converts: bool,
    pub(crate) lowers: bool,
    pub(crate) encoding: Encoding,
    pub(crate) follows_links: bool,
    pub(crate) overwrites: bool,
    pub(crate) dummies: bool,
    pub(crate) override_file: bool,
    pub(crate) verifies: bool,
    pub(crate) threads: Option<usize>,
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
        let game = Game::with_id(game).ok_or_else(|| {
            let known: Vec<&str> = GAMES.iter().map(|game| game.id).collect();
            PackError::new(
                PackErrorKind::Option,
                format!("no archives can be packed for \"{game}\"; the games are {}", known.join(", ")),
            )
        })?;
        Ok(Self {
            game,
            name: None,
            file_name: None,
            version: None,
            level: Level::default(),
            size_max: None,
            splits: true,
            shares: true,
            all: false,
            sources: false,
            only: Patterns::default(),
            exclude: None,
            listed: None,
            any_path: false,
            store: None,
            odd_textures: OddTextures::default(),
            converts: false,
            lowers: false,
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

    /// What the names of archives begin with, instead of the name of the plugin in the source.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The name of the one archive; more than one is an error.
    #[must_use]
    pub fn file_name(mut self, name: impl Into<String>) -> Self {
        self.file_name = Some(name.into());
        self
    }

    /// How much time to spend for smaller archives.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// The largest archive in bytes, if not the largest that the game reads.
    #[must_use]
    pub fn size_max(mut self, bytes: u64) -> Self {
        self.size_max = Some(bytes);
        self
    }

    /// Whether to pack what games or tools read only from the disk.
    #[must_use]
    pub fn all(mut self, is_on: bool) -> Self {
        self.all = is_on;
        self
    }

    /// Which files are packed, by the paths below the data folder; the number of others is stated.
    #[must_use]
    pub fn only(mut self, patterns: Patterns) -> Self {
        self.only = patterns;
        self
    }

    /// Which files stay loose.
    #[must_use]
    pub fn exclude(mut self, patterns: Patterns) -> Self {
        self.exclude = Some(patterns);
        self
    }

    /// The paths that are packed; others are not mentioned.
    #[must_use]
    pub fn listed(mut self, list: PathList) -> Self {
        self.listed = Some(list);
        self
    }

    /// Whether to pack paths and names at which no game finds files.
    #[must_use]
    pub fn any_path(mut self, is_on: bool) -> Self {
        self.any_path = is_on;
        self
    }

    /// Which files are stored without compression.
    #[must_use]
    pub fn store(mut self, patterns: Patterns) -> Self {
        self.store = Some(patterns);
        self
    }

    /// What to do with textures that an archive of textures cannot store.
    #[must_use]
    pub fn odd_textures(mut self, how: OddTextures) -> Self {
        self.odd_textures = how;
        self
    }

    /// Whether existing archives are replaced.
    #[must_use]
    pub fn overwrite(mut self, is_on: bool) -> Self {
        self.overwrites = is_on;
        self
    }

    /// Whether plugins are written that only make the game load the archives.
    #[must_use]
    pub fn dummies(mut self, is_on: bool) -> Self {
        self.dummies = is_on;
        self
    }

    /// How many threads encode; all processors by default. The result does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
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
        let wrong = |what: String| Err(PackError::new(PackErrorKind::Option, what));
        if let Some(version) = self.version {
            let known: &[u32] = match self.game.main {
                NewKind::General(1) => &[1, 7, 8],
                NewKind::General(_) => &[2, 3],
                _ => &[],
            };
            if !known.contains(&version) {
                let all: Vec<String> = known.iter().map(u32::to_string).collect();
                return wrong(if known.is_empty() {
                    "--archive-version: this game has BSA archives of one version".to_owned()
                } else {
                    format!("--archive-version: this game reads {}", all.join(", "))
                });
            }
        }
        let is_bsa = matches!(self.game.main, NewKind::Tes3 | NewKind::Tes4(_));
        if is_bsa && self.size_max.is_some_and(|size| size > u64::from(u32::MAX)) {
            return wrong("--max-size: a BSA has at most 4 GiB less one byte".to_owned());
        }
        Ok(())
    }
}
