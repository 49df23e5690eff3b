//! `bsafs diff`: prints how the trees of two sources differ.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::slice;

use clap::Args;
use serde::Serialize;

use super::conflicts::Subject;
use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::options::named_sources::source_set;
use crate::cli::options::open_args::OpenArgs;
use crate::cli::options::selection::Selection;
use crate::cli::page::contents::PageHead;
use crate::cli::page::difference_page::difference_page;
use crate::cli::page::page_file::PageArgs;
use crate::cli::surroundings::check_memory;
use crate::cli::terminal::output::{stdout_for, write_json};
use crate::cli::terminal::progress::steps;
use crate::cli::terminal::unseen::Unseen;
use crate::cli::ui::Ui;
use crate::game::caseless::fold;
use crate::shown::Shown;
use crate::system::text::count;
use crate::vfs::comparison::differences;
use crate::vfs::fate::{Cause, Fate};
use crate::vfs::sources::source_set::SourceSet;
use crate::vfs::why::why_missing;
use crate::vfs::{Change, Comparing, Difference, Layout, OpenOptions, Vfs, VfsFile, VfsLayer};

/// Print the files that only one of two sources has, and those that differ
///
/// Files are matched by their paths, in any case. Each line begins with a sign: `+` if only B has the file,
/// `-` if only A has it, `!` if the contents differ, and `?` if they cannot be compared because one cannot be
/// read. Without --compare, only sizes are compared: files of different sizes have changed, and files of the
/// same size are counted separately, because they may or may not be equal. `*` means that both sources have
/// an archive, and only one of the games loads it.
///
/// If the source that lacks a file has a copy that the game ignores or does not load, or that is in a mod
/// that is off, a line says so for each reason, with the words of `why`.
///
/// With --json, each file is an object with "path", "change" (added, removed, changed, same-size or
/// unreadable; for an archive loaded-by-a or loaded-by-b) and "a" and "b" for the sources that have the file:
/// an object with "layer" and "size" in bytes, which is null if it cannot be read. "missing" is such a
/// reason. The last object has the counts. Equal files are only counted.
///
/// The exit status is 0 if no difference was found, and 1 if the sources differ or a file could not
/// be read, or if something else in a source was not looked at. With --compare, 0 means that all files are
/// equal.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Diff {
    /// The old source: an archive, folder, game, or any other source that `mount` accepts
    ///
    /// The options of a profile (*.toml) apply only to this source, not to the other one.
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The new source, of any kind that A accepts
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Read files of the same size to find out whether they are equal
    #[arg(long)]
    compare: bool,
    /// Print one JSON object per line: the files, then the counts
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    open: OpenArgs,
}

const EXAMPLES: &str = "\
Examples:
  bsafs diff Mod-1.0.bsa Mod-1.1.bsa --compare           what an update changed
  bsafs diff Mod.bsa unpacked/ --compare                 whether an archive equals a folder
  bsafs diff Mod-1.0.bsa Mod-1.1.bsa --html update.html  look at the textures before and after
  bsafs diff skyrimse ~/MO2                              what the mods add and replace
  bsafs diff ~/MO2/profiles/Old ~/MO2/profiles/New       how two profiles of one instance differ";

/// Number of files by kind of change.
#[derive(Debug, Default, Serialize)]
struct Counts {
    added: usize,
    removed: usize,
    changed: usize,
    equal: usize,
    same_size: usize,
    unreadable: usize,
    /// Archives that only one of the games loads.
    loaded_by_one: usize,
}

/// An archive that only one of the games loads. It is a file of the other game's tree.
struct LoadedByOne {
    difference: Difference,
    /// Whether that game is A.
    is_by_a: bool,
}

#[derive(Serialize)]
struct JsonDifference<'a> {
    path: &'a str,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<Side>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<Side>,
    /// Why the source that lacks the file does not have it, although a copy is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<&'a Cause>,
}

/// Why a source lacks files of which it has copies: ignored, off, not loaded.
#[derive(Default)]
struct Missing {
    /// The name of the source and the reason, by the path of the file.
    whys: HashMap<String, (&'static str, Cause)>,
}

/// Maximum number of files of which a source is asked why it lacks them.
const ASKED_MAX: usize = 20_000;

impl Missing {
    /// Asks a source about paths.
    fn add<'p>(
        &mut self,
        name: &'static str,
        paths: impl Iterator<Item = &'p str>,
        source: (&Vfs, &SourceSet),
    ) {
        let paths: Vec<&str> = paths.take(ASKED_MAX).collect();
        let whys = why_missing(source.0, source.1, &paths);
        let known = paths.iter().zip(whys).filter_map(|(path, why)| Some(((*path).to_owned(), (name, why?))));
        self.whys.extend(known);
    }

    fn why(&self, path: &str) -> Option<&Cause> {
        self.whys.get(path).map(|(_, cause)| cause)
    }

    /// A line for each reason, with the number of files and one of them.
    fn groups(&self) -> Vec<String> {
        let mut groups: BTreeMap<(&str, &str, &str, String), Vec<&str>> = BTreeMap::new();
        for (path, (source, cause)) in &self.whys {
            let fate = cause.fate.map_or("", Fate::in_words);
            groups.entry((source, fate, cause.code, cause.text.clone())).or_default().push(path);
        }
        let line = |((source, fate, code, text), paths): (_, Vec<&str>)| {
            let example = paths.iter().min().copied().unwrap_or_default();
            let files = count(paths.len(), "file");
            format!("in {source}, {files} {fate}, such as {example}: {code}: {text}")
        };
        groups.into_iter().map(line).collect()
    }
}

/// A file of one of the sources, as JSON.
#[derive(Serialize)]
struct Side {
    layer: String,
    size: Option<u64>,
}

/// Number of bytes that a comparison takes for each file of both sources, with its path.
const COMPARED_PER_FILE: usize = 400;

impl Diff {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        let page = self.page.file()?;
        // Open each source separately, because each profile has its own options.
        let open = |source: &PathBuf| {
            let options = self.open.options().layout(Layout::Union);
            let options = OpenOptions { advice_to_root: self.page.advice_to_root(), ..options };
            let set = source_set(slice::from_ref(source), options)?;
            Ok::<_, Failure>((Vfs::from(set.open()?), set))
        };
        let ((a, set_a), (b, set_b)) = (open(&self.a)?, open(&self.b)?);
        let mut unseen = Unseen::of(&a);
        unseen.add(b.unseen());
        let patterns = self.selection.patterns()?;
        let how = if self.compare || page.is_some() && self.page.is_compared() {
            Comparing::Bytes
        } else {
            Comparing::Sizes
        };
        let steps = |count| steps("comparing", count);
        check_memory((a.opened().tree.files() + b.opened().tree.files()).saturating_mul(COMPARED_PER_FILE))?;
        let differences = differences(a.opened(), b.opened(), &patterns, how, &steps);
        let (loaded, differences) = loaded_by_one(&a, &b, differences);
        let mut counts = Counts { loaded_by_one: loaded.len(), ..Counts::default() };
        for difference in differences.iter() {
            counts.add(&difference.change);
        }
        let mut missing = Missing::default();
        let lacking = |kind: Change, is_by_a: bool| {
            let files = differences.iter().filter(move |it| it.change == kind);
            let archives = loaded.iter().filter(move |it| it.is_by_a == is_by_a).map(|it| &it.difference);
            files.chain(archives).map(|it| it.path.as_str())
        };
        missing.add("A", lacking(Change::Added, false), (&a, &set_a));
        missing.add("B", lacking(Change::Removed, true), (&b, &set_b));
        match page {
            Some(page) => {
                let [a, b] =
                    [(&set_a, &a), (&set_b, &b)].map(|(set, vfs)| Subject::of(&set.paths, vfs.order()));
                let groups = missing.groups().into_iter().map(|group| ("Not used", group));
                let head = PageHead {
                    title: format!("Differences: {} and {}", a.title, b.title),
                    line: format!("from {} to {}", a.line, b.line),
                    facts: [("Files", counts.line())].into_iter().chain(groups).collect(),
                };
                let contents = difference_page(head, &differences, &|path| missing.why(path));
                self.page.write(&page, contents, &mut unseen, ui.is_quiet)?
            }
            None => self.print(&differences, &loaded, &counts, &missing, &unseen)?,
        }
        for difference in &differences {
            if let Change::Unreadable(what) = &difference.change {
                log::error!("{}: {what}", difference.path);
            }
        }
        Ok(unseen.end(if counts.are_of_a_difference() { Exit::No } else { Exit::Ok }))
    }

    fn print(
        &self,
        differences: &[Difference],
        loaded: &[LoadedByOne],
        counts: &Counts,
        missing: &Missing,
        unseen: &Unseen,
    ) -> Result<(), OutputError> {
        let mut out = stdout_for(self.json);
        for Difference { path, before, after, change } in differences {
            if *change == Change::Equal {
                continue;
            }
            if self.json {
                let (a, b) = (before.as_ref().map(side), after.as_ref().map(side));
                let missing = missing.why(path);
                write_json(&mut out, &JsonDifference { path, change: name(change), a, b, missing })
                    .map_err(OutputError)?;
            } else if let Some(mark) = mark(change) {
                writeln!(out, "{mark} {}", path.shown())?;
            }
        }
        for LoadedByOne { difference, is_by_a } in loaded {
            let Difference { path, before, after, .. } = difference;
            if self.json {
                let change = if *is_by_a { "loaded-by-a" } else { "loaded-by-b" };
                let (a, b) = (before.as_ref().map(side), after.as_ref().map(side));
                let missing = missing.why(path);
                write_json(&mut out, &JsonDifference { path, change, a, b, missing }).map_err(OutputError)?;
            } else {
                writeln!(out, "* {}", path.shown())?;
            }
        }
        if self.json {
            write_json(&mut out, counts).map_err(OutputError)?;
            unseen.write_json(&mut out).map_err(OutputError)?
        } else {
            for line in missing.groups() {
                writeln!(out, "{}", line.shown())?;
            }
            writeln!(out, "{}", counts.line())?
        }
        out.flush()
    }
}

/// Takes out the archives that one of the games loads, and that are files of the tree of the other one.
fn loaded_by_one(a: &Vfs, b: &Vfs, differences: Vec<Difference>) -> (Vec<LoadedByOne>, Vec<Difference>) {
    // A layer that the user named has no reason, and is no archive of a game.
    let of_game = |layer: &VfsLayer| !layer.is_folder() && !layer.why().is_empty();
    let name = |layer: VfsLayer| layer.path().file_name().map(|it| fold(&it.to_string_lossy()));
    let names = |vfs: &Vfs| vfs.layers().filter(of_game).filter_map(name).collect::<HashSet<String>>();
    let (by_a, by_b) = (names(a), names(b));
    let (mut loaded, mut others) = (Vec::new(), Vec::with_capacity(differences.len()));
    for difference in differences {
        let is_loaded = match difference.change {
            Change::Added => by_a.contains(&fold(&difference.path)),
            Change::Removed => by_b.contains(&fold(&difference.path)),
            _ => false,
        };
        if is_loaded {
            let is_by_a = difference.change == Change::Added;
            loaded.push(LoadedByOne { difference, is_by_a });
        } else {
            others.push(difference);
        }
    }
    (loaded, others)
}

/// The name of a change in JSON.
fn name(change: &Change) -> &'static str {
    match change {
        Change::Added => "added",
        Change::Removed => "removed",
        Change::Changed => "changed",
        Change::Equal => "equal",
        Change::SameSize => "same-size",
        Change::Unreadable(_) => "unreadable",
    }
}

/// The first character of a line. `None` if the change is not printed.
fn mark(change: &Change) -> Option<char> {
    match change {
        Change::Added => Some('+'),
        Change::Removed => Some('-'),
        Change::Changed => Some('!'),
        Change::Unreadable(_) => Some('?'),
        Change::Equal | Change::SameSize => None,
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

    /// Whether the sources differ. A file that cannot be read is not known to be equal, so it counts.
    fn are_of_a_difference(&self) -> bool {
        self.added + self.removed + self.changed + self.unreadable + self.loaded_by_one > 0
    }

    fn line(&self) -> String {
        let Self { added, removed, changed, equal, same_size, unreadable, loaded_by_one } = self;
        let mut line = format!("{added} added, {removed} removed, {changed} changed, {equal} equal");
        if *same_size > 0 {
            line += &format!(", {same_size} of the same size (add --compare to compare them)");
        }
        if *unreadable > 0 {
            line += &format!(", {unreadable} unreadable");
        }
        if *loaded_by_one > 0 {
            line += &format!(", {} that only one of the games loads", count(*loaded_by_one, "archive"));
        }
        line
    }
}

fn side(file: &VfsFile) -> Side {
    Side { layer: file.layer().path().to_string_lossy().into_owned(), size: file.size().ok() }
}
