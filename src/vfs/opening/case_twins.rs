//! Finds names that differ only in the case of non-ASCII letters. A game takes them for one. The
//! mount shows two, because the tree folds only ASCII letters.

use std::collections::HashMap;

use twox_hash::XxHash3_64;

use crate::tree::{NodeId, Tree};

const PAIRS_MAX: usize = 20;

/// Pairs of paths in one folder whose names differ only in the case of non-ASCII letters.
pub(crate) fn case_twins(tree: &Tree) -> Vec<(String, String)> {
    // The code page of a name that is not UTF-8 is unknown, and so is the case of its letters.
    let folded = |node| std::str::from_utf8(tree.name(node)).ok().map(str::to_lowercase);
    // Keyed by a hash, because the names themselves could take more memory than the tree.
    let mut seen: HashMap<(NodeId, u64), NodeId> = HashMap::new();
    let mut pairs = Vec::new();
    for node in tree.non_ascii_nodes() {
        let Some(name) = folded(node) else { continue };
        let key = (tree.parent(node), XxHash3_64::oneshot(name.as_bytes()));
        if let Some(twin) = seen.insert(key, node)
            && folded(twin) == Some(name)
        {
            let path = |node| String::from_utf8_lossy(&tree.path(node)).into_owned();
            pairs.push((path(twin), path(node)));
            if pairs.len() == PAIRS_MAX {
                break;
            }
        }
    }
    pairs
}
