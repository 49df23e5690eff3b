//! Patterns that select files.

use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::file::VfsFile;
use super::opened::Opened;
use crate::shown::Shown;

/// Patterns for paths, without regard to case. `*` and `?` stay within a folder, `**` does not. A pattern
/// without a slash is compared with the file name alone. `textures/**.dds` means `textures/**/*.dds`. Without
/// patterns, every file is selected.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    globs: Option<GlobSet>,
    /// The patterns as they were given, and which of them each glob is made of.
    given: Vec<String>,
    of: Vec<usize>,
}

/// An invalid pattern; the text says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPattern(String);

impl Patterns {
    /// Parses patterns in a shell's syntax, with either separator.
    ///
    /// # Errors
    /// The first invalid pattern.
    pub fn new<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Result<Self, BadPattern> {
        Self::with_forms(patterns, |pattern| vec![pattern])
    }

    /// As [`Patterns::new`], for paths in a game: a pattern may also begin with the data folder.
    ///
    /// # Errors
    /// The first invalid pattern.
    pub fn in_game<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Result<Self, BadPattern> {
        let forms = |pattern: String| {
            let below = below_data(&pattern).map(str::to_owned);
            std::iter::once(pattern).chain(below).collect()
        };
        Self::with_forms(patterns, forms)
    }

    /// Parses patterns. `forms` returns the patterns that one stands for, which has `/` between names.
    fn with_forms<P: AsRef<str>>(
        patterns: impl IntoIterator<Item = P>,
        forms: impl Fn(String) -> Vec<String>,
    ) -> Result<Self, BadPattern> {
        let refused = |error: globset::Error| BadPattern(error.to_string().shown().to_string());
        let (mut globs, mut given, mut of) = (GlobSetBuilder::new(), Vec::new(), Vec::new());
        for pattern in patterns {
            let text = pattern.as_ref().replace('\\', "/");
            for pattern in forms(text.trim_start_matches("./").trim_start_matches('/').to_owned()) {
                let pattern = with_whole_folders(&pattern);
                let is_path = text.contains('/');
                let pattern = if is_path { pattern } else { format!("**/{pattern}") };
                let mut glob = GlobBuilder::new(&pattern);
                glob.case_insensitive(true).literal_separator(true).backslash_escape(false);
                globs.add(glob.build().map_err(refused)?);
                of.push(given.len());
            }
            given.push(pattern.as_ref().to_owned());
        }
        let globs = if given.is_empty() { None } else { Some(globs.build().map_err(refused)?) };
        Ok(Self { globs, given, of })
    }

    /// The selected files of a tree, ordered by path without regard to case.
    pub(crate) fn of(&self, opened: &Arc<Opened>) -> Vec<VfsFile> {
        let mut files: Vec<_> = opened.files().filter(|file| self.select(file)).collect();
        files.sort_by_cached_key(|file| file.path_bytes().to_ascii_lowercase());
        files
    }

    /// Whether a file is selected.
    pub fn select(&self, file: &VfsFile) -> bool {
        self.selects(&file.path())
    }

    /// Whether a path is selected, which has `/` between names.
    pub(crate) fn selects(&self, path: &str) -> bool {
        self.globs.as_ref().is_none_or(|globs| globs.is_match(path))
    }

    /// The number of patterns.
    pub(crate) fn len(&self) -> usize {
        self.given.len()
    }

    /// The patterns that match none of these paths, as they were given.
    pub(crate) fn unmatched<'p>(&self, paths: impl Iterator<Item = &'p str>) -> Vec<&str> {
        let mut is_matched = vec![false; self.given.len()];
        for path in paths {
            let found = self.globs.as_ref().map(|globs| globs.matches(path)).unwrap_or_default();
            for glob in found {
                is_matched[self.of[glob]] = true;
            }
        }
        self.given.iter().zip(is_matched).filter(|it| !it.1).map(|it| it.0.as_str()).collect()
    }
}

/// The names of the folder in which a game's paths begin, in lower case.
pub(crate) const DATA: [&str; 2] = ["data", "data files"];

/// What follows the data folder at the beginning of a path.
pub(crate) fn below_data(path: &str) -> Option<&str> {
    let (first, rest) = path.split_once('/')?;
    (DATA.contains(&&*first.to_ascii_lowercase()) && !rest.is_empty()).then_some(rest)
}

/// Inserts a slash after each `**` that begins a name, because it matches across folders only if it is alone.
fn with_whole_folders(pattern: &str) -> String {
    let name = |name: &str| match name.strip_prefix("**").map(|rest| rest.trim_start_matches('*')) {
        Some(rest) if !rest.is_empty() => format!("**/*{rest}"),
        _ => name.to_owned(),
    };
    pattern.split('/').map(name).collect::<Vec<_>>().join("/")
}

impl std::fmt::Display for BadPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadPattern {}
