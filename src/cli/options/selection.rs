//! The files that a command works on: all, or those that a pattern matches.

use clap::Args;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::cli::exit::{Exit, Failure};
use crate::format::EntryId;
use crate::tree::{NodeId, Tree};

/// Patterns for paths.
#[derive(Args, Debug)]
pub(crate) struct Selection {
    /// Only files whose path matches, in any case: `*` and `?` stay within a folder, `**` does not. A pattern
    /// without a slash is matched with the name alone
    #[arg(short, long, value_name = "PATTERN")]
    glob: Vec<String>,
}

impl Selection {
    /// The selected files, ordered by path in any case.
    pub(crate) fn files(&self, tree: &Tree) -> Result<Vec<(NodeId, EntryId)>, Failure> {
        let globs = self.globs()?;
        let mut files: Vec<_> = match globs {
            None => tree.entries().collect(),
            Some(globs) => tree.entries().filter(|(node, _)| globs.is_match(path(tree, *node))).collect(),
        };
        files.sort_by_cached_key(|(node, _)| tree.path(*node).to_ascii_lowercase());
        Ok(files)
    }

    fn globs(&self) -> Result<Option<GlobSet>, Failure> {
        if self.glob.is_empty() {
            return Ok(None);
        }
        let refused = |error: globset::Error| Failure::new(Exit::Usage, format!("--glob: {error}"));
        let mut globs = GlobSetBuilder::new();
        for pattern in &self.glob {
            let pattern = pattern.replace('\\', "/");
            let pattern = match pattern.contains('/') {
                // Paths are relative to the root, with or without a slash in front.
                true => pattern.trim_start_matches("./").trim_start_matches('/').to_owned(),
                false => format!("**/{pattern}"),
            };
            let mut glob = GlobBuilder::new(&pattern);
            glob.case_insensitive(true).literal_separator(true).backslash_escape(false);
            globs.add(glob.build().map_err(refused)?);
        }
        globs.build().map(Some).map_err(refused)
    }
}

/// A node's path as text. Listed names are UTF-8.
pub(crate) fn path(tree: &Tree, node: NodeId) -> String {
    String::from_utf8_lossy(&tree.path(node)).into_owned()
}
