//! The page of `conflicts --html`: each pair of layers with the files that one hides from the other.

use std::collections::{BTreeMap, HashMap};

use super::contents::{Contents, LayerBar, PageHead, Part, Pixels, Row, Section, Side, State};
use crate::answers::comparison::{Compared, Conflict, HiddenCopy, Pair, Tally};
use crate::answers::fate::Fate;
use crate::limits::{PAGE_FILES_MAX, PAGE_TEXT_MAX};
use crate::shown::Shown;
use crate::vfs::{VfsFile, VfsLayer};

/// Number of bytes of the headings of a pair and its folder, and of the row of a file, as they usually are.
const USUAL_HEADING: usize = 700;
const USUAL_ROW: usize = 300;

/// The page of conflicts: the pairs of mods, and closed at the end those that only hide files of the game.
/// `name` is that of a group, and `asked` says whether the user asked for it. The conflicts have how their
/// hidden files compare, or nothing was compared.
pub(crate) fn conflict_page(
    head: PageHead,
    pairs: &[Pair],
    name: &dyn Fn(usize) -> String,
    asked: Option<&dyn Fn(usize) -> bool>,
    (conflicts, compared): (&[Conflict], &[Vec<Compared>]),
    layers: Vec<(String, Tally)>,
) -> Contents {
    let compared = |&(index, at): &HiddenCopy| compared.get(index)?.get(at?);
    let row = |copy: &HiddenCopy| {
        let Conflict { winner, hidden } = &conflicts[copy.0];
        row(winner, copy.1.and_then(|at| hidden.get(at)), compared(copy))
    };
    let room = PAGE_TEXT_MAX.saturating_sub(pairs.len() * USUAL_HEADING) / USUAL_ROW;
    // The title of a section needs its first row.
    let most =
        most_each(pairs.iter().map(|pair| pair.copies.len()).collect(), room.min(PAGE_FILES_MAX)).max(1);
    let section = |pair: &Pair| {
        let rows: Vec<Row> = pair.copies.iter().take(most).map(row).collect();
        let is_equal = |copy: &&HiddenCopy| compared(copy) == Some(&Compared::Equal);
        let equal = pair.copies.iter().filter(is_equal).count();
        // A layer that was asked for may also be on both sides, or be known by the mod that has it.
        let wins = asked.and_then(|is_asked| match (is_asked(pair.winner), is_asked(pair.hidden)) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        });
        section([name(pair.winner), name(pair.hidden)], (pair.copies.len(), equal), wins, rows)
    };
    let (of_game, others): (Vec<&Pair>, Vec<&Pair>) = pairs.iter().partition(|pair| pair.is_of_game);
    let sections = |pairs: &[&Pair]| pairs.iter().take(PAGE_FILES_MAX).map(|it| section(it)).collect();
    let mut parts = Vec::new();
    for (id, heading, is_closed, pairs) in
        [("mods", "What hides what", false, others), ("game", "The game's own archives", true, of_game)]
    {
        let about = "The file that wins is on the left, the one that it hides on the right.";
        parts.push(Part { id, heading, about, is_closed, sections: sections(&pairs) });
    }
    Contents {
        head,
        lists: Vec::new(),
        parts,
        layers: layers.into_iter().map(bar).collect(),
        narrowing: "name a folder, a pattern such as '*sword*', or --of LAYER",
    }
}

/// How many of each of some lists are taken, so that all are at most `room`: the shortest ones whole.
fn most_each(mut lengths: Vec<usize>, room: usize) -> usize {
    lengths.sort_unstable();
    let mut left = room;
    for (at, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - at);
        if *length > share {
            return share;
        }
        left -= length;
    }
    room
}

/// The part of copies that the game ignores and that no layer has: for each the place, the fate and the
/// reason, with the files that the game uses instead.
pub(crate) fn unused_copies<'f>(copies: impl Iterator<Item = ((String, Fate, String), &'f VfsFile)>) -> Part {
    let mut sections: BTreeMap<(String, String), (Fate, usize, Vec<Row>)> = BTreeMap::new();
    let mut room = PAGE_FILES_MAX;
    for ((place, fate, why), winner) in copies {
        let (_, files, rows) = sections.entry((place, why)).or_insert_with(|| (fate, 0, Vec::new()));
        *files += 1;
        if room > 0 {
            room -= 1;
            rows.push(lone_row(winner, fate));
        }
    }
    let section = |((place, why), (fate, files, mut rows)): ((String, String), (Fate, usize, Vec<Row>))| {
        sort_by_folder(&mut rows);
        let name = format!("{place}: {}", fate.in_words());
        Section { name, over: None, about: vec![why], files, equal: 0, wins: None, rows }
    };
    let sections = sections.into_iter().map(section).collect();
    Part { id: "ignored", heading: "Ignored by the game", about: "", is_closed: false, sections }
}

fn bar((name, tally): (String, Tally)) -> LayerBar {
    let Tally { winning, hidden, .. } = tally;
    LayerBar { name, winning, hidden }
}

fn row(winner: &VfsFile, hidden: Option<&VfsFile>, compared: Option<&Compared>) -> Row {
    let Some(hidden) = hidden else { return lone_row(winner, Fate::NotDeployed) };
    let side = |role, file: &VfsFile| Side { role, of_mod: None, file: file.clone() };
    let (state, pixels) = match compared {
        None => (State::Unknown, Pixels::Shown),
        Some(Compared::Equal) => (State::Equal, Pixels::Shown),
        Some(Compared::Different) => (State::Different, Pixels::Compared),
        Some(Compared::Unreadable(_)) => (State::Unreadable, Pixels::Shown),
    };
    Row { path: winner.path(), sides: vec![side("wins", winner), side("hidden", hidden)], state, pixels }
}

/// The row of a copy that no layer has.
fn lone_row(winner: &VfsFile, fate: Fate) -> Row {
    let sides = vec![Side { role: "wins", of_mod: None, file: winner.clone() }];
    Row { path: winner.path(), sides, state: State::Other(fate), pixels: Pixels::Shown }
}

/// The section of a pair with these names. Its numbers are those of all files and of the equal ones.
fn section(
    [name, over]: [String; 2],
    (files, equal): (usize, usize),
    wins: Option<bool>,
    mut rows: Vec<Row>,
) -> Section {
    let sides = rows.first().map_or(&[][..], |row| &row.sides);
    let about = |(name, side): (&String, &Side)| {
        let layer: VfsLayer = side.file.layer();
        let why = layer.why().shown().to_string();
        // The name of a mod says no more than the title.
        let is_known = why.is_empty() || why == format!("mod \"{name}\"");
        (!is_known).then(|| format!("{name}: {why}"))
    };
    let mut about: Vec<String> = [&name, &over].into_iter().zip(sides).filter_map(about).collect();
    if let [_] = sides {
        about.push(format!("hidden: the mod manager deployed these paths from {name}"));
    }
    sort_by_folder(&mut rows);
    Section { name, over: Some(over), about, files, equal, wins, rows }
}

/// Sorts rows so that the files of a folder follow each other. Files that are alone in their folder come
/// first.
pub(super) fn sort_by_folder(rows: &mut [Row]) {
    let mut files: HashMap<String, usize> = HashMap::new();
    for row in rows.iter() {
        *files.entry(row.folder_and_name().0.to_ascii_lowercase()).or_default() += 1;
    }
    rows.sort_by_cached_key(|row| {
        let (folder, name) = row.folder_and_name();
        let folder = folder.to_ascii_lowercase();
        (files.get(&folder).is_some_and(|files| *files > 1), folder, name.to_ascii_lowercase())
    });
}
