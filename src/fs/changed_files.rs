//! Which files of a mount differ between two views, for `bsafs watch`.

use super::reported::change_log::{ChangedFile, FileEvent, KEPT_MAX, TouchedFiles};
use super::view::View;
use crate::tree::{Changes, NodeChange, NodeId, Tree};

/// The files that differ between two views, ordered by path; `None` if there are too many, or if it is not
/// known which ones differ.
pub(crate) fn changed_files(
    then: &View,
    now: &View,
    changes: &Changes,
    touched: &TouchedFiles,
) -> Option<Vec<ChangedFile>> {
    if !touched.is_complete() || changes.files.len() > KEPT_MAX {
        return None;
    }
    let changed = |tree: &Tree, node: NodeId, change: FileEvent| {
        let path = String::from_utf8_lossy(&tree.path(node)).into_owned();
        ChangedFile { path, change, view: now.number }
    };
    let mut files: Vec<ChangedFile> = (changes.files.iter())
        .map(|&file| match file {
            NodeChange::Added(node) => changed(now.tree(), node, FileEvent::Added),
            NodeChange::Removed(node) => changed(then.tree(), node, FileEvent::Removed),
            NodeChange::Modified(node) => changed(now.tree(), node, FileEvent::Modified),
        })
        .collect();
    // A file that was removed or replaced lost its number.
    let kept = touched.files().filter_map(|ino| now.tree().node(ino));
    files.extend(kept.map(|node| changed(now.tree(), node, FileEvent::Modified)));
    files.sort_unstable();
    files.dedup();
    Some(files)
}
