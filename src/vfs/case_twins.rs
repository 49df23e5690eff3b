//! Names that games take for one and a mount shows as two: folding in the tree is that of ASCII letters alone.

use std::collections::HashMap;

use twox_hash::XxHash3_64;

use crate::tree::{NodeId, Tree};

/// Pairs that are returned at most.
const PAIRS_MAX: usize = 20;

/// Paths of which two names in one folder differ in the case of other letters than ASCII's alone.
pub(crate) fn case_twins(tree: &Tree) -> Vec<(String, String)> {
    let name = |node| std::str::from_utf8(tree.name(node)).unwrap_or_default().to_lowercase();
    // By a hash of the name: the names themselves could take more than the tree.
    let mut seen: HashMap<(NodeId, u64), NodeId> = HashMap::new();
    let mut pairs = Vec::new();
    for node in tree.nodes().filter(|node| !tree.name(*node).is_ascii()) {
        let folded = name(node);
        let key = (tree.parent(node), XxHash3_64::oneshot(folded.as_bytes()));
        if let Some(twin) = seen.insert(key, node)
            && name(twin) == folded
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
