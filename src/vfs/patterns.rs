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
        let refused = |error: globset::Error| BadPattern(error.to_string().shown().to_string());
        let (mut globs, mut count) = (GlobSetBuilder::new(), 0);
        for pattern in patterns {
            let pattern = pattern.as_ref().replace('\\', "/");
            let pattern = with_whole_folders(&pattern);
            let pattern = if pattern.contains('/') {
                pattern.trim_start_matches("./").trim_start_matches('/').to_owned()
            } else {
                format!("**/{pattern}")
            };
            let mut glob = GlobBuilder::new(&pattern);
            glob.case_insensitive(true).literal_separator(true).backslash_escape(false);
            globs.add(glob.build().map_err(refused)?);
            count += 1;
        }
        let globs = if count == 0 { None } else { Some(globs.build().map_err(refused)?) };
        Ok(Self { globs })
    }

    /// The selected files of a tree, ordered by path without regard to case.
    pub(crate) fn of(&self, opened: &Arc<Opened>) -> Vec<VfsFile> {
        let mut files: Vec<_> = opened.files().filter(|file| self.select(file)).collect();
        files.sort_by_cached_key(|file| file.path_bytes().to_ascii_lowercase());
        files
    }

    /// Whether a file is selected.
    pub fn select(&self, file: &VfsFile) -> bool {
        self.globs.as_ref().is_none_or(|globs| globs.is_match(file.path()))
    }
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
