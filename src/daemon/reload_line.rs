//! One line about what a reload changed.

use std::collections::BTreeMap;
use std::path::Path;

use crate::fs::{Replaced, View};
use crate::shown::Shown;
use crate::system::text::count;

/// Maximum number of sources that are named. Other sources are only counted.
const NAMED: usize = 3;

/// Returns, for example, `MyMod.bsa: 3 files added, 1 removed, 212 replaced`; `None` if nothing
/// that is listed changed.
pub(crate) fn reload_line(replaced: &Replaced) -> Option<String> {
    let Replaced { then, now, changes } = replaced;
    if changes.is_empty() {
        return None;
    }
    let mut sources: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    let parts =
        [(now, &changes.added), (then, &changes.removed), (now, &changes.replaced), (now, &changes.writes)];
    for (index, (view, counts)) in parts.into_iter().enumerate() {
        for (&layer, &files) in counts {
            sources.entry(name(view, layer)).or_default()[index] += files;
        }
    }
    if sources.is_empty() {
        return Some("folders changed".into());
    }
    let more = sources.len().saturating_sub(NAMED);
    let mut lines: Vec<String> =
        sources.iter().take(NAMED).map(|(name, counts)| line(name, *counts)).collect();
    if more > 0 {
        lines.push(count(more, "more source"));
    }
    Some(lines.join("; "))
}

fn line(name: &str, counts: [usize; 4]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (files, what) in counts.into_iter().zip(["added", "removed", "replaced", "written"]) {
        match (files, parts.is_empty()) {
            (0, _) => {}
            (_, true) => parts.push(format!("{} {what}", count(files, "file"))),
            (_, false) => parts.push(format!("{files} {what}")),
        }
    }
    format!("{name}: {}", parts.join(", "))
}

fn name(view: &View, layer: u16) -> String {
    let path: &Path = view.store().path(layer);
    path.file_name().unwrap_or(path.as_os_str()).shown().to_string()
}
