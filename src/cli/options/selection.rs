//! The files that a command works on: all, or those that match a pattern.

use clap::Args;

use crate::cli::exit::{Exit, Failure};
use crate::vfs::Patterns;

/// Patterns for paths.
#[derive(Args, Debug)]
pub(crate) struct Selection {
    /// Only files whose path matches, in any case: `*` and `?` stay within a folder, `**` does not. A pattern
    /// without a slash is matched with the name alone
    #[arg(short, long, value_name = "PATTERN")]
    glob: Vec<String>,
}

impl Selection {
    /// Compiles the patterns.
    pub(crate) fn patterns(&self) -> Result<Patterns, Failure> {
        Patterns::new(&self.glob).map_err(|error| Failure::new(Exit::Usage, format!("--glob: {error}")))
    }
}
