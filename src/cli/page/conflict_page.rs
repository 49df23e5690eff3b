//! The page of `conflicts --html`: each pair of layers with the files that one hides from the other.

use std::collections::BTreeMap;

use super::contents::{Contents, LayerBar, Pixels, Row, Section, Side};
use crate::cli::terminal::shown_layers::ShownLayers;
use crate::limits::PAGE_FILES_MAX;
use crate::shown::Shown;
use crate::system::text::count;
use crate::vfs::comparison::Compared;
use crate::vfs::conflict::{Conflict, Tally};
use crate::vfs::{VfsFile, VfsLayer};

/// The page of conflicts. `compared` is empty if nothing was compared. `is_asked` says of each layer whether
/// the user asked for it; pairs without such a layer are left out.
pub(crate) fn conflict_page(
    names: &ShownLayers,
    conflicts: &[Conflict],
    compared: &[Vec<Compared>],
    layers: &[&(VfsLayer, Tally)],
    is_asked: &[bool],
) -> Contents {
    let is_compared = !compared.is_empty();
    // For each pair of layers, the numbers of conflicts and of the hidden files in them.
    let mut pairs: BTreeMap<(usize, usize), Vec<(usize, usize)>> = BTreeMap::new();
    for (index, Conflict { winner, hidden }) in conflicts.iter().enumerate() {
        for (at, file) in hidden.iter().enumerate() {
            let pair = (winner.layer().number(), file.layer().number());
            if is_asked[pair.0] || is_asked[pair.1] {
                pairs.entry(pair).or_default().push((index, at));
            }
        }
    }
    let mut pairs: Vec<Vec<(usize, usize)>> = pairs.into_values().collect();
    pairs.sort_by_key(|files| std::cmp::Reverse(files.len()));
    let row = |&(index, at): &(usize, usize)| {
        let Conflict { winner, hidden } = &conflicts[index];
        row(winner, &hidden[at], compared.get(index).and_then(|it| it.get(at)))
    };
    let mut room = PAGE_FILES_MAX;
    let sections = pairs.iter().filter_map(|files| {
        // The title of a section needs its first row.
        let rows: Vec<Row> = files.iter().take(room.max(1)).map(row).collect();
        room = room.saturating_sub(rows.len());
        section(names, files.len(), rows)
    });
    let sections = sections.take(PAGE_FILES_MAX).collect();
    let mut summary = vec![format!(
        "{} in {}. The layer that wins is on the left, the one that it hides on the right.",
        count(conflicts.len(), "conflict"),
        count(pairs.len(), "pair") + " of layers"
    )];
    if !is_compared && !conflicts.is_empty() {
        summary.push("Add --compare to mark files that are equal.".into());
    }
    Contents {
        title: "Conflicts".into(),
        summary,
        layers: layers.iter().map(|layer| bar(names, layer)).collect(),
        heading: "Which layer hides which",
        sections,
        narrowing: "give a folder such as textures/armor, a pattern such as '*sword*', or --of LAYER",
    }
}

fn bar(names: &ShownLayers, (layer, tally): &(VfsLayer, Tally)) -> LayerBar {
    let Tally { winning, hidden, .. } = *tally;
    LayerBar { name: names.shown(layer.path()).to_string(), winning, hidden }
}

fn row(winner: &VfsFile, hidden: &VfsFile, compared: Option<&Compared>) -> Row {
    let side = |role, file: &VfsFile| Side { role, file: file.clone() };
    let (mark, pixels) = match compared {
        None => (None, Pixels::Shown),
        Some(Compared::Equal) => (Some("equal"), Pixels::Shown),
        Some(Compared::Different) => (Some("different"), Pixels::Compared),
        Some(Compared::Unreadable(_)) => (Some("cannot be compared"), Pixels::Shown),
    };
    Row { path: winner.path(), sides: vec![side("wins", winner), side("hidden", hidden)], mark, pixels }
}

/// The section of a pair of layers. All rows have the same two layers.
fn section(names: &ShownLayers, files: usize, mut rows: Vec<Row>) -> Option<Section> {
    let [winner, hidden] = &rows.first()?.sides[..] else { return None };
    let (winner, hidden) = (winner.file.layer(), hidden.file.layer());
    let name = |layer: &VfsLayer| names.shown(layer.path()).to_string();
    let about = |layer: &VfsLayer| format!("{}: {}", name(layer), layer.why().shown());
    let has_reason = |layer: &&VfsLayer| !layer.why().is_empty();
    let about = [&winner, &hidden].into_iter().filter(has_reason).map(about).collect();
    let (name, over) = (name(&winner), Some(name(&hidden)));
    sort_by_folder(&mut rows);
    Some(Section { name, over, about, files, rows })
}

/// Sorts rows so that the files of a folder follow each other.
pub(super) fn sort_by_folder(rows: &mut [Row]) {
    rows.sort_by_cached_key(|row| {
        let (folder, name) = row.folder_and_name();
        (folder.to_ascii_lowercase(), name.to_ascii_lowercase())
    });
}
