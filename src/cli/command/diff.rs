//! `bsafs diff`: how the trees of two sources differ.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::slice;

use clap::Args;
use serde::Serialize;

use crate::cli::exit::{Exit, Failure};
use crate::cli::options::named_sources::source_set;
use crate::cli::options::open_args::OpenArgs;
use crate::cli::options::selection::{Selection, path};
use crate::cli::terminal::output::{stdout_for, write_json};
use crate::cli::terminal::progress::steps;
use crate::content::{Reach, Store};
use crate::format::EntryId;
use crate::tree::{Kind, NodeId, Tree};
use crate::vfs::comparison::{Compared, StoredFile, compare};
use crate::vfs::parallel::in_parallel;

/// Print the files that one source has and another lacks, and those that differ
///
/// Files are the same by their paths, in any case. Lines begin with + where only B has a file, with - where only A has it, with
/// ! where its contents differ, and with ? where that cannot be told because one cannot be read. Without --compare no file is read for that: sizes that differ are a change, and files
/// of one size are counted, for they may be equal or not.
///
/// With --json, each file is an object with "path", "change" (added, removed, changed, same-size, or unreadable) and, where
/// there is a file, "a" and "b" ("layer", and "size" in bytes, null where it cannot be read); then a last object counts them.
/// Equal files are counted alone.
///
/// The exit status is 0 if no difference was found, and 1 if the sources differ or a file could not be read; with --compare 0
/// means that all files are equal.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Diff {
    /// The source that is compared: an archive, a folder, a game by its id, an instance of Mod Organizer 2 or the
    /// folder of a profile in it, an openmw.cfg file, or a profile (*.toml), whose options hold for it alone
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The source that it is compared with
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Read files of one size, and tell equal ones from different ones
    #[arg(long)]
    compare: bool,
    /// One JSON object a line, a file each, then the counts
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    open: OpenArgs,
}

const EXAMPLES: &str = "\
Examples:
  bsafs diff Mod-1.0.bsa Mod-1.1.bsa --compare           what an update changed
  bsafs diff Mod.bsa unpacked/ --compare                 whether an archive holds what a folder does
  bsafs diff skyrimse ~/MO2                              what the mods add to the game, and replace
  bsafs diff ~/MO2/profiles/Old ~/MO2/profiles/New       how two profiles of one instance differ";

/// A path that one of the sources has, or both.
struct Pair {
    path: String,
    a: Option<EntryId>,
    b: Option<EntryId>,
}

/// What became of a file from A to B.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    Added,
    Removed,
    Changed,
    Equal,
    /// Its size is the same; nothing was read.
    SameSize,
    /// One of the two cannot be read, for this reason.
    Unreadable(String),
}

/// How many files there are of each change.
#[derive(Debug, Default, Serialize)]
struct Counts {
    added: usize,
    removed: usize,
    changed: usize,
    equal: usize,
    same_size: usize,
    unreadable: usize,
}

/// A file, as JSON.
#[derive(Serialize)]
struct Line<'a> {
    path: &'a str,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<Side>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<Side>,
}

/// A file of one of the sources, as JSON.
#[derive(Serialize)]
struct Side {
    layer: String,
    size: Option<u64>,
}

impl Diff {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        // Of two profiles each has its own options.
        let open = |source: &PathBuf| {
            let set = source_set(slice::from_ref(source), self.open.options())?;
            Ok::<_, Failure>(set.in_one_tree().open()?)
        };
        let (a, b) = (open(&self.a)?, open(&self.b)?);
        let pairs = pairs(&a.tree, &b.tree, &self.selection)?;
        let changes = self.changes(&a.store, &b.store, &pairs)?;
        let mut out = stdout_for(self.json);
        let mut counts = Counts::default();
        for (Pair { path, a: in_a, b: in_b }, change) in pairs.iter().zip(&changes) {
            counts.add(change);
            if *change == Change::Equal {
                continue;
            }
            if self.json {
                let (a, b) = (in_a.map(|it| side(&a.store, it)), in_b.map(|it| side(&b.store, it)));
                write_json(&mut out, &Line { path, change: change.name(), a, b })?;
            } else if let Some(mark) = change.mark() {
                writeln!(out, "{mark} {path}")?;
            }
        }
        match self.json {
            true => write_json(&mut out, &counts)?,
            false => counts.write(&mut out)?,
        }
        out.flush()?;
        for (pair, change) in pairs.iter().zip(&changes) {
            if let Change::Unreadable(what) = change {
                log::error!("{}: {what}", pair.path);
            }
        }
        Ok(if counts.are_of_a_difference() { Exit::No } else { Exit::Ok })
    }

    /// What became of each pair, on all processors.
    fn changes(&self, a: &Store, b: &Store, pairs: &[Pair]) -> Result<Vec<Change>, Failure> {
        // What cannot be learnt is found below.
        let _ = a.learn_sizes(pairs.iter().filter_map(|pair| pair.a), Reach::Device);
        let _ = b.learn_sizes(pairs.iter().filter_map(|pair| pair.b), Reach::Device);
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        // So that a disk is read in one pass, of A at least.
        order.sort_by_cached_key(|&index| pairs[index].a.map(|it| (it.layer, a.offset(it))));
        let found =
            in_parallel(order.len(), &steps("comparing", order.len()), |index| match pairs[order[index]] {
                Pair { a: None, .. } => Change::Added,
                Pair { b: None, .. } => Change::Removed,
                Pair { a: Some(in_a), b: Some(in_b), .. } => {
                    let in_a = StoredFile { store: a, entry: in_a };
                    let in_b = StoredFile { store: b, entry: in_b };
                    if self.compare { with_reading(in_a, in_b) } else { without_reading(in_a, in_b) }
                }
            });
        let mut changes = vec![Change::Equal; pairs.len()];
        order.into_iter().zip(found).for_each(|(index, change)| changes[index] = change);
        Ok(changes)
    }
}

impl Change {
    fn name(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Equal => "equal",
            Self::SameSize => "same-size",
            Self::Unreadable(_) => "unreadable",
        }
    }

    /// What a line begins with; `None` where there is none.
    fn mark(&self) -> Option<char> {
        match self {
            Self::Added => Some('+'),
            Self::Removed => Some('-'),
            Self::Changed => Some('!'),
            Self::Unreadable(_) => Some('?'),
            Self::Equal | Self::SameSize => None,
        }
    }
}

impl Counts {
    fn add(&mut self, change: &Change) {
        *match change {
            Change::Added => &mut self.added,
            Change::Removed => &mut self.removed,
            Change::Changed => &mut self.changed,
            Change::Equal => &mut self.equal,
            Change::SameSize => &mut self.same_size,
            Change::Unreadable(_) => &mut self.unreadable,
        } += 1;
    }

    /// A file that cannot be read is not known to be equal.
    fn are_of_a_difference(&self) -> bool {
        self.added + self.removed + self.changed + self.unreadable > 0
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { added, removed, changed, equal, same_size, unreadable } = self;
        write!(out, "{added} added, {removed} removed, {changed} changed, {equal} equal")?;
        if *same_size > 0 {
            write!(out, ", {same_size} of the same size (--compare tells whether they are equal)")?;
        }
        if *unreadable > 0 {
            write!(out, ", {unreadable} that cannot be read")?;
        }
        writeln!(out)
    }
}

/// The files of two trees, those of one path together; ordered by path in any case.
fn pairs(a: &Tree, b: &Tree, selection: &Selection) -> Result<Vec<Pair>, Failure> {
    let (files_a, files_b) = (selection.files(a)?, selection.files(b)?);
    let (mut paired_a, mut paired_b) = (HashSet::new(), HashSet::new());
    let mut pairs = Vec::with_capacity(files_a.len().max(files_b.len()));
    for &(node, entry) in &files_a {
        if let Some((other, in_b)) = file_at(b, &a.path(node))
            && paired_b.insert(other)
        {
            paired_a.insert(node);
            pairs.push(Pair { path: path(a, node), a: Some(entry), b: Some(in_b) });
        }
    }
    // A file that has no name in A is found by the path that it has in B.
    for &(node, entry) in files_b.iter().filter(|(node, _)| !paired_b.contains(node)) {
        let in_a = file_at(a, &b.path(node)).filter(|(other, _)| paired_a.insert(*other));
        pairs.push(Pair { path: path(b, node), a: in_a.map(|(_, entry)| entry), b: Some(entry) });
    }
    for &(node, entry) in files_a.iter().filter(|(node, _)| !paired_a.contains(node)) {
        pairs.push(Pair { path: path(a, node), a: Some(entry), b: None });
    }
    pairs.sort_by_cached_key(|pair| pair.path.to_ascii_lowercase());
    Ok(pairs)
}

/// The file at a path.
fn file_at(tree: &Tree, path: &[u8]) -> Option<(NodeId, EntryId)> {
    let node = tree.resolve(path)?;
    match tree.kind(node) {
        Kind::File(entry) => Some((node, entry)),
        Kind::Folder => None,
    }
}

fn without_reading(in_a: StoredFile<'_>, in_b: StoredFile<'_>) -> Change {
    match (in_a.size(), in_b.size()) {
        _ if in_a.is(&in_b) => Change::Equal,
        (Some(one), Some(two)) if one == two => Change::SameSize,
        (Some(_), Some(_)) => Change::Changed,
        _ => Change::Unreadable("its size cannot be read".into()),
    }
}

fn with_reading(in_a: StoredFile<'_>, in_b: StoredFile<'_>) -> Change {
    match compare(in_a, &[in_b]).pop() {
        Some(Compared::Equal) => Change::Equal,
        Some(Compared::Unreadable(what)) => Change::Unreadable(what),
        Some(Compared::Different) | None => Change::Changed,
    }
}

fn side(store: &Store, entry: EntryId) -> Side {
    let size = StoredFile { store, entry }.size();
    Side { layer: store.path(entry.layer).to_string_lossy().into_owned(), size }
}
