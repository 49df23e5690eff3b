//! The page of `conflicts --html`: each pair of layers with the files that one hides from the other.

use std::collections::BTreeMap;

use super::contents::{Contents, LayerBar, Pixels, Row, Section, Side};
use crate::limits::PAGE_FILES_MAX;
use crate::shown::Shown;
use crate::system::text::count;
use crate::vfs::comparison::{Compared, Conflict, Tally};
use crate::vfs::fate::Fate;
use crate::vfs::{VfsFile, VfsLayer};

/// The page of conflicts. Copies belong to groups, which are layers or mods. `compared` is empty if nothing
/// was compared. `is_asked` says of each group whether the user asked for it; pairs without such a group are
/// left out.
pub(crate) fn conflict_page(
    group: &dyn Fn(&VfsFile) -> usize,
    name: &dyn Fn(usize) -> String,
    conflicts: &[Conflict],
    compared: &[Vec<Compared>],
    layers: Vec<(String, Tally)>,
    is_asked: &[bool],
) -> Contents {
    let is_compared = !compared.is_empty();
    // For each pair of layers, the numbers of conflicts and of the hidden files in them.
    let mut pairs: BTreeMap<(usize, usize), Vec<(usize, usize)>> = BTreeMap::new();
    for (index, Conflict { winner, hidden }) in conflicts.iter().enumerate() {
        for (at, file) in hidden.iter().enumerate() {
            let pair = (group(winner), group(file));
            if is_asked[pair.0] || is_asked[pair.1] {
                pairs.entry(pair).or_default().push((index, at));
            }
        }
    }
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
    let row = |&(index, at): &(usize, usize)| {
        let Conflict { winner, hidden } = &conflicts[index];
        row(winner, &hidden[at], compared.get(index).and_then(|it| it.get(at)))
    };
    let mut room = PAGE_FILES_MAX;
    let sections = pairs.iter().filter_map(|((one, two), files)| {
        // The title of a section needs its first row.
        let rows: Vec<Row> = files.iter().take(room.max(1)).map(row).collect();
        room = room.saturating_sub(rows.len());
        section([name(*one), name(*two)], files.len(), rows)
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
        layers: layers.into_iter().map(bar).collect(),
        heading: "Which layer hides which",
        sections,
        narrowing: "give a folder such as textures/armor, a pattern such as '*sword*', or --of LAYER",
    }
}

/// Sections of copies that the game does not use and that no layer has: for each the place, the fate and the
/// reason, with the files that the game uses instead.
pub(crate) fn unused_copies<'f>(
    copies: impl Iterator<Item = ((String, Fate, String), &'f VfsFile)>,
) -> Vec<Section> {
    let mut sections: BTreeMap<(String, String), (Fate, usize, Vec<Row>)> = BTreeMap::new();
    let mut room = PAGE_FILES_MAX;
    for ((place, fate, why), winner) in copies {
        let (_, files, rows) = sections.entry((place, why)).or_insert_with(|| (fate, 0, Vec::new()));
        *files += 1;
        if room > 0 {
            room -= 1;
            let sides = vec![Side { role: "wins", file: winner.clone() }];
            let mark = Some(fate.in_words());
            rows.push(Row { path: winner.path(), sides, mark, pixels: Pixels::Shown });
        }
    }
    let section = |((place, why), (fate, files, mut rows)): ((String, String), (Fate, usize, Vec<Row>))| {
        sort_by_folder(&mut rows);
        let name = format!("{place}: {}", fate.in_words());
        Section { name, over: None, about: vec![why], files, rows }
    };
    sections.into_iter().map(section).collect()
}

fn bar((name, tally): (String, Tally)) -> LayerBar {
    let Tally { winning, hidden, .. } = tally;
    LayerBar { name, winning, hidden }
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

/// The section of a pair of layers with these names. All rows have the same two layers.
fn section([name, over]: [String; 2], files: usize, mut rows: Vec<Row>) -> Option<Section> {
    let [winner, hidden] = &rows.first()?.sides[..] else { return None };
    let layers = [(&name, winner.file.layer()), (&over, hidden.file.layer())];
    let about = |(name, layer): (&String, VfsLayer)| {
        (!layer.why().is_empty()).then(|| format!("{name}: {}", layer.why().shown()))
    };
    let about = layers.into_iter().filter_map(about).collect();
    sort_by_folder(&mut rows);
    Some(Section { name, over: Some(over), about, files, rows })
}

/// Sorts rows so that the files of a folder follow each other.
pub(super) fn sort_by_folder(rows: &mut [Row]) {
    rows.sort_by_cached_key(|row| {
        let (folder, name) = row.folder_and_name();
        (folder.to_ascii_lowercase(), name.to_ascii_lowercase())
    });
}
