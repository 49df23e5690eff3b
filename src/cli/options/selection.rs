//! The files that a command works on: all, or those that match a pattern.

use clap::Args;

use crate::cli::exit::{Exit, Failure};
use crate::vfs::{Patterns, VfsFile};

/// Patterns for paths.
#[derive(Args, Debug)]
pub(crate) struct Selection {
    /// Select only files whose path matches this pattern, in any case
    ///
    /// `*` and `?` match within one name, and `**` also matches across folders. A pattern without a slash is
    /// compared with file names instead of paths.
    #[arg(short, long, value_name = "PATTERN")]
    glob: Vec<String>,
}

impl Selection {
    /// Compiles the patterns.
    pub(crate) fn patterns(&self) -> Result<Patterns, Failure> {
        Patterns::new(&self.glob).map_err(|error| Failure::new(Exit::Usage, format!("--glob: {error}")))
    }

    /// Whether only some files are selected.
    pub(crate) fn has_patterns(&self) -> bool {
        !self.glob.is_empty()
    }

    /// Says that no file matches the patterns, if none does. Returns whether that is so.
    pub(crate) fn is_unmatched(&self, files: &[VfsFile]) -> bool {
        let is_unmatched = files.is_empty() && self.has_patterns();
        if is_unmatched {
            log::error!("--glob {}: no file matches; `bsafs list` prints all paths", self.glob.join(" "));
        }
        is_unmatched
    }
}
