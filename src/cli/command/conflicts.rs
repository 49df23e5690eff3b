//! `bsafs conflicts`: the files that several layers have, and which layer has them.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::cli::exit::{Exit, Failure};
use crate::cli::options::named_sources::source_set;
use crate::cli::options::open_args::OpenArgs;
use crate::cli::options::selection::{Selection, path};
use crate::cli::terminal::output::{stdout_for, write_json};
use crate::cli::terminal::progress::steps;
use crate::content::Reach;
use crate::format::EntryId;
use crate::game::{ArchiveRule, NoteCode};
use crate::system::text::count;
use crate::tree::NodeId;
use crate::vfs::comparison::{Compared, StoredFile, compare};
use crate::vfs::open::Opened;
use crate::vfs::parallel::in_parallel;

/// Print the files that several layers have: which layer wins, and which are hidden
///
/// Then each layer is summed up, the lowest first: its files, those that win, those that are hidden, and whether it is wholly
/// shadowed: no file of it wins. With --glob, of the files that match. A file of which an archive stores only the hash is
/// known by the path that --names or another layer has for it.
///
/// With --json, each conflict is an object with "path", "winner" ("layer" and "why"), "hidden" (a list of the same, the one
/// that would win without the winner first) and, with --compare, "equal" (for each hidden file whether its bytes are those
/// of the winner, null where one cannot be read); then each layer is one with "layer", "why", "files", "winning", "hidden",
/// "wholly_shadowed" and, with --compare, "equal": how many of its hidden files equal what hides them.
///
/// The exit status is 0 whether or not there are conflicts, and 1 if --compare found a file that cannot be read.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Conflicts {
    /// Games by their ids, instances of Mod Organizer 2 and folders of profiles in them, openmw.cfg files, archives, folders,
    /// and profiles (*.toml); where several have a file, the rightmost wins
    #[arg(required_unless_present = "game_dir", value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// Only conflicts in which this layer takes part: an archive or folder by its name, by the end of its path, or, where no
    /// path ends so, by any part of it; in any case
    #[arg(long, value_name = "LAYER")]
    of: Option<String>,
    /// Read the files, and tell hidden ones that equal the winner from different ones
    #[arg(long)]
    compare: bool,
    /// One JSON object a line, a conflict each, then a layer each
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    open: OpenArgs,
}

const EXAMPLES: &str = "\
Examples:
  bsafs conflicts skyrimse                               what of the game is hidden, and by what
  bsafs conflicts ~/MO2 --of SkyUI                       what one mod hides, and what hides it
  bsafs conflicts Base.bsa Patch.bsa --compare           which hidden files are only copies
  bsafs conflicts ~/MO2 --json --glob '*.nif' | jq .path";

/// A file that several layers have.
struct Conflict {
    node: NodeId,
    winner: EntryId,
    hidden: Vec<EntryId>,
    /// One for each that is hidden; none where nothing was compared.
    compared: Vec<Compared>,
}

/// A layer, as JSON.
#[derive(Serialize)]
struct LayerName<'a> {
    layer: String,
    /// Empty where a user named it.
    why: &'a str,
}

/// A conflict, as JSON.
#[derive(Serialize)]
struct Line<'a> {
    path: String,
    winner: LayerName<'a>,
    hidden: Vec<LayerName<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    equal: Option<Vec<Option<bool>>>,
}

/// How many files of a layer win, and how many are hidden.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tally {
    winning: usize,
    hidden: usize,
    /// Of the hidden files, those that equal what hides them.
    equal: usize,
}

/// A layer's tally, as JSON.
#[derive(Serialize)]
struct LayerLine<'a> {
    #[serde(flatten)]
    name: LayerName<'a>,
    files: usize,
    winning: usize,
    hidden: usize,
    wholly_shadowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    equal: Option<usize>,
}

impl Conflicts {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let set = source_set(&self.sources, self.open.options())?;
        let opened = set.in_one_tree().open()?;
        let layers = self.layers(&opened)?;
        let files = self.selection.files(&opened.tree)?;
        let mut conflicts = conflicts(&opened, &files);
        conflicts.retain(|conflict| conflict.entries().any(|entry| layers[usize::from(entry.layer)]));
        if self.compare {
            compare_all(&opened, &mut conflicts)?;
        }
        let tallies = tallies(&opened, &files, &conflicts);
        let mut out = stdout_for(self.json);
        match self.json {
            true => self.write_json(&mut out, &opened, &conflicts, &tallies, &layers)?,
            false => self.write(&mut out, &opened, &conflicts, &tallies, &layers)?,
        }
        out.flush()?;
        if let Some(what) = unsure(&opened, &conflicts) {
            log::warn!("{what}");
        }
        let mut exit = Exit::Ok;
        for conflict in &conflicts {
            for what in conflict.compared.iter().filter_map(Compared::unreadable) {
                log::error!("{}: {what}", path(&opened.tree, conflict.node));
                exit = Exit::No;
            }
        }
        Ok(exit)
    }

    /// For each layer whether it is asked for.
    fn layers(&self, opened: &Opened) -> Result<Vec<bool>, Failure> {
        let paths: Vec<&Path> = layers(opened).map(|layer| opened.store.path(layer)).collect();
        let Some(of) = &self.of else { return Ok(vec![true; paths.len()]) };
        let found = named(&paths, of);
        match found.contains(&true) {
            true => Ok(found),
            false => {
                let what = "no layer is called so; `bsafs order SOURCE...` prints the layers of sources";
                Err(Failure::new(Exit::NoInput, format!("--of {of}: {what}")))
            }
        }
    }

    fn write_json(
        &self,
        out: &mut impl Write,
        opened: &Opened,
        conflicts: &[Conflict],
        tallies: &[Tally],
        is_asked: &[bool],
    ) -> io::Result<()> {
        for conflict in conflicts {
            let line = Line {
                path: path(&opened.tree, conflict.node),
                winner: layer_name(opened, conflict.winner.layer),
                hidden: conflict.hidden.iter().map(|entry| layer_name(opened, entry.layer)).collect(),
                equal: self.compare.then(|| conflict.compared.iter().map(Compared::is_equal).collect()),
            };
            write_json(out, &line)?;
        }
        for (layer, tally) in layers(opened).zip(tallies).filter(|(layer, _)| is_asked[usize::from(*layer)]) {
            let line = LayerLine {
                name: layer_name(opened, layer),
                files: tally.files(),
                winning: tally.winning,
                hidden: tally.hidden,
                wholly_shadowed: tally.is_wholly_shadowed(),
                equal: self.compare.then_some(tally.equal),
            };
            write_json(out, &line)?;
        }
        Ok(())
    }

    fn write(
        &self,
        out: &mut impl Write,
        opened: &Opened,
        conflicts: &[Conflict],
        tallies: &[Tally],
        is_asked: &[bool],
    ) -> io::Result<()> {
        for conflict in conflicts {
            writeln!(out, "{}", path(&opened.tree, conflict.node))?;
            writeln!(out, "  from    {}", opened.store.path(conflict.winner.layer).display())?;
            for (index, entry) in conflict.hidden.iter().enumerate() {
                let compared = match conflict.compared.get(index) {
                    None => "",
                    Some(Compared::Equal) => "  equal",
                    Some(Compared::Different) => "  different",
                    Some(Compared::Unreadable(_)) => "  cannot be compared",
                };
                writeln!(out, "  hides   {}{compared}", opened.store.path(entry.layer).display())?;
            }
        }
        if !conflicts.is_empty() {
            writeln!(out)?;
        }
        let equal = if self.compare { "     equal" } else { "" };
        writeln!(out, "     files   winning    hidden{equal}  layer, lowest first")?;
        for (layer, tally) in layers(opened).zip(tallies).filter(|(layer, _)| is_asked[usize::from(*layer)]) {
            let Tally { winning, hidden, equal } = tally;
            let equal = if self.compare { format!("{equal:>10}") } else { String::new() };
            let shadowed = if tally.is_wholly_shadowed() { "  (wholly shadowed)" } else { "" };
            let (files, name) = (tally.files(), opened.store.path(layer).display());
            writeln!(out, "{files:>10}{winning:>10}{hidden:>10}{equal}  {name}{shadowed}")?;
        }
        writeln!(out, "{}", count(conflicts.len(), "conflict"))
    }
}

impl Conflict {
    fn entries(&self) -> impl Iterator<Item = EntryId> {
        std::iter::once(self.winner).chain(self.hidden.iter().copied())
    }
}

impl Tally {
    fn files(&self) -> usize {
        self.winning + self.hidden
    }

    fn is_wholly_shadowed(&self) -> bool {
        self.winning == 0 && self.hidden > 0
    }
}

/// The conflicts among files.
fn conflicts(opened: &Opened, files: &[(NodeId, EntryId)]) -> Vec<Conflict> {
    let conflict = |&(node, winner): &(NodeId, EntryId)| {
        let hidden: Vec<_> = opened.tree.hidden(node).iter().map(|hidden| hidden.entry).collect();
        (!hidden.is_empty()).then_some(Conflict { node, winner, hidden, compared: Vec::new() })
    };
    files.iter().filter_map(conflict).collect()
}

/// Compares what is hidden with what hides it, on all processors.
fn compare_all(opened: &Opened, conflicts: &mut [Conflict]) -> Result<(), Failure> {
    let store = &opened.store;
    // What cannot be learnt is found when the file is read.
    let _ = store.learn_sizes(conflicts.iter().flat_map(Conflict::entries), Reach::Device);
    let mut order: Vec<usize> = (0..conflicts.len()).collect();
    // So that a disk is read in one pass, of the winners at least.
    order.sort_by_cached_key(|&index| {
        let winner = conflicts[index].winner;
        (winner.layer, store.offset(winner))
    });
    let file = |entry| StoredFile { store, entry };
    let compared = in_parallel(order.len(), &steps("comparing", order.len()), |index| {
        let Conflict { winner, hidden, .. } = &conflicts[order[index]];
        let hidden: Vec<_> = hidden.iter().map(|entry| file(*entry)).collect();
        compare(file(*winner), &hidden)
    });
    for (index, compared) in order.into_iter().zip(compared) {
        conflicts[index].compared = compared;
    }
    Ok(())
}

/// How many files of each layer win, and how many are hidden.
fn tallies(opened: &Opened, files: &[(NodeId, EntryId)], conflicts: &[Conflict]) -> Vec<Tally> {
    let mut tallies = vec![Tally::default(); opened.store.layers()];
    for (node, winner) in files {
        tallies[usize::from(winner.layer)].winning += 1;
        for hidden in opened.tree.hidden(*node) {
            tallies[usize::from(hidden.entry.layer)].hidden += 1;
        }
    }
    for conflict in conflicts {
        for (entry, compared) in conflict.hidden.iter().zip(&conflict.compared) {
            tallies[usize::from(entry.layer)].equal += usize::from(*compared == Compared::Equal);
        }
    }
    tallies
}

/// What is said where the game itself does not always take the winner. Not a note of an order: hardly an order of Oblivion
/// would be without it.
fn unsure(opened: &Opened, conflicts: &[Conflict]) -> Option<String> {
    if opened.order.precedence.archives != ArchiveRule::Oblivion {
        return None;
    }
    // What a user names has no reason, and is no archive of the game.
    let is_of_game = |entry: &EntryId| {
        !opened.store.is_folder(entry.layer) && !opened.reasons[usize::from(entry.layer)].is_empty()
    };
    let is_shared = |it: &&Conflict| is_of_game(&it.winner) && it.hidden.iter().any(is_of_game);
    let shared = conflicts.iter().filter(is_shared).count();
    let code = NoteCode::ArchivesSharePath.as_str();
    let files = count(shared, "file");
    let text = "the game asks the archive first that it read last, so it may take any of them";
    (shared > 0).then(|| format!("{code}: {files} in several archives each: {text}"))
}

/// The layers, lowest first.
fn layers(opened: &Opened) -> impl Iterator<Item = u16> {
    0..u16::try_from(opened.store.layers()).unwrap_or(u16::MAX)
}

fn layer_name(opened: &Opened, layer: u16) -> LayerName<'_> {
    let why = opened.reasons.get(usize::from(layer)).map_or("", String::as_str);
    LayerName { layer: opened.store.path(layer).to_string_lossy().into_owned(), why }
}

/// For each path whether a text names it, in any case: it ends with it, in whole names; where none does, it contains it.
fn named(paths: &[&Path], text: &str) -> Vec<bool> {
    let folded = |path: &OsStr| path.to_string_lossy().to_lowercase();
    let wanted = text.replace('\\', "/").to_lowercase();
    let paths: Vec<String> = paths.iter().map(|path| folded(path.as_os_str())).collect();
    let end = wanted.trim_start_matches("./").trim_end_matches('/');
    let ends: Vec<bool> =
        paths.iter().map(|path| !end.is_empty() && Path::new(path).ends_with(end)).collect();
    if ends.contains(&true) {
        return ends;
    }
    paths.iter().map(|path| path.contains(&wanted)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_is_named_by_the_end_of_its_path_and_else_by_any_part_of_it() {
        let paths = ["/g/Data/Skyrim.bsa", "/g/Data", "/m/SkyUI", "/m/SkyUI/SkyUI.bsa", "/m/SkyUI 5"];
        let named = |text: &str| -> Vec<usize> {
            let found = named(&paths.map(Path::new), text);
            (0..paths.len()).filter(|&index| found[index]).collect()
        };
        assert_eq!(named("skyui"), [2]);
        assert_eq!(named("SKYUI.BSA"), [3]);
        assert_eq!(named("data"), [1]);
        assert_eq!(named("/g/Data/"), [1]);
        assert_eq!(named("SkyUI\\skyui.bsa"), [3]);
        assert_eq!(named("kyui"), [2, 3, 4]);
        assert_eq!(named("skyui/"), [2]);
        assert_eq!(named("ui 5"), [4]);
        assert_eq!(named("nothing"), [0; 0]);
    }
}
