//! `bsafs diff`: prints how the trees of two sources differ.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::slice;

use clap::Args;
use serde::Serialize;

use super::conflicts::Subject;
use crate::answers::comparison::differences;
use crate::answers::fate::{Fate, FateReason};
use crate::answers::manifest::{Manifest, ManifestError};
use crate::answers::order_changes::{Culprit, ListChange, Listing, OrderChanges};
use crate::answers::why::why_missing;
use crate::answers::{Change, Comparing, Difference};
use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::inquiry::Inquiry;
use crate::cli::options::named_sources::source_set;
use crate::cli::options::option_table::OpenArgs;
use crate::cli::options::selection::Selection;
use crate::cli::page::contents::{Contents, NameList, PageHead};
use crate::cli::page::difference_page::{FileFacts, FileGroup, difference_page};
use crate::cli::page::page_file::PageArgs;
use crate::cli::surroundings::check_memory;
use crate::cli::terminal::output::{Output, StyledWrite, WINNER};
use crate::cli::terminal::progress::steps;
use crate::cli::ui::Ui;
use crate::format::is_archive_name;
use crate::game::caseless::fold;
use crate::game::title;
use crate::named::named;
use crate::shown::Shown;
use crate::system::text::count;
use crate::vfs::sources::profile::{SourceSet, is_game};
use crate::vfs::{FolderArchives, Layout, OpenError, OpenOptions, Vfs, VfsFile, VfsLayer};

/// Print the files that only one of two sources has, and those that differ
///
/// Files are matched by their paths, ignoring case. Each line begins with a sign: `+` if only B has the
/// file, `-` if only A has it, `!` if the contents differ, and `?` if they cannot be compared because one
/// cannot be read. Without --compare, only sizes are compared: files of different sizes have changed, and
/// files of the same size are counted separately, because they may or may not be equal. `*` marks an
/// archive that one or both of the games do not load.
///
/// If both sources are games, such as two profiles or instances, the mods that only B has (`+`), that
/// only A has (`-`) and that moved (`~`) come first, and plugins likewise. The files follow, grouped by
/// the mod that causes the difference, most files first. With patterns, only files are printed.
///
/// One of the sources may be a manifest that `bsafs list --hash` or `sha256sum` wrote. The files of the other
/// one are read, and their checksums are compared with those of the manifest.
///
/// If the source that lacks a file has a copy that the game ignores or does not load, or that is in a mod
/// that is off, a line says so for each reason, in the words of `why`.
///
/// With --json, each file is an object with "path", "change" (added, removed, changed, same-size or
/// unreadable; for an archive loaded-by-a, loaded-by-b or not-loaded) and "a" and "b" for the sources that
/// have the file: an object with "layer" and "size" in bytes, which is null if it cannot be read. For a
/// manifest, "layer" is the manifest, and "size" is null. "missing" is such a reason, and "mod" is what
/// causes the difference. Before the files, each mod and each plugin is an object with "mod" or "plugin" and
/// "change" (added, removed, or moved with the one before it in "after").
/// The last object has the counts. Equal files are only counted.
///
/// The exit status is 0 if no difference was found, and 1 if the sources differ or a file could not
/// be read, if no file matches a pattern, or if something else in a source was not looked at. With --compare,
/// 0 means that all files are equal.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Diff {
    /// The old source: an archive, folder, game, any other source that `mount` accepts, or a manifest
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
  bsafs diff manifest skyrimse                           what changed since `bsafs list --hash`
  bsafs diff skyrimse:mo2/Old skyrimse:mo2/New           how two profiles of one instance differ";

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
    /// Archives that only one source has, and that its game does not load.
    #[serde(skip_serializing_if = "is_zero")]
    not_loaded: usize,
    /// Mods and plugins that only one of the games has, or that have another place.
    #[serde(skip)]
    listed: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// An archive that is a file of a game's tree, because the game does not load it.
struct Unloaded {
    difference: Difference,
    by: LoadedBy,
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum LoadedBy;
    /// The name of the change in JSON.
    fn name;

    A = "loaded-by-a";
    B = "loaded-by-b";
    Neither = "not-loaded";
}

/// A mod or a plugin as JSON.
#[derive(Serialize)]
struct JsonListed<'a> {
    #[serde(rename = "mod", skip_serializing_if = "Option::is_none")]
    of_mod: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<&'a str>,
    change: Listing,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'a str>,
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
    missing: Option<&'a FateReason>,
    /// What causes the difference, if both sources are games.
    #[serde(rename = "mod", skip_serializing_if = "Option::is_none")]
    of_mod: Option<Culprit>,
}

/// Why a source lacks files although it has copies of them: ignored, off, not loaded.
#[derive(Default)]
struct Missing {
    /// The name of the source and the reason, by the path of the file.
    whys: HashMap<String, (&'static str, FateReason)>,
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

    fn why(&self, path: &str) -> Option<&FateReason> {
        self.whys.get(path).map(|(_, reason)| reason)
    }

    /// A line for each reason, with the number of files and one of them. Files count of which `is_said`
    /// is true.
    fn groups(&self, is_said: impl Fn(&str, &FateReason) -> bool) -> Vec<String> {
        let mut groups: BTreeMap<(&str, &str, &str, String), Vec<&str>> = BTreeMap::new();
        for (path, (source, reason)) in self.whys.iter().filter(|(path, (_, reason))| is_said(path, reason)) {
            let fate = reason.fate.map_or("", Fate::in_words);
            groups.entry((source, fate, reason.code, reason.text.clone())).or_default().push(path);
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
        Inquiry::run(self.json, |inquiry| self.answer(inquiry, ui))
    }

    fn answer(&self, inquiry: &mut Inquiry, ui: &Ui) -> Result<(), Failure> {
        let page = self.page.file()?;
        match [&self.a, &self.b].map(|source| !is_game(source) && Manifest::is_one(source)) {
            [false, false] => {}
            _ if page.is_some() => {
                let what = "--html and --open: a manifest has no files that a page could show";
                return Err(Failure::new(Exit::Usage, what));
            }
            [true, true] => {
                let what = "both sources are manifests; one must be an archive, folder or game";
                return Err(Failure::new(Exit::Usage, what));
            }
            [is_a, _] => return self.answer_with_manifest(is_a, inquiry),
        }
        // Open each source separately, because each profile has its own options.
        let options = || self.open.options().layout(Layout::Union);
        let ((a, set_a), (b, set_b)) = (self.open(&self.a, options())?, self.open(&self.b, options())?);
        inquiry.unseen.add(a.unseen().chain(b.unseen()));
        let patterns = self.selection.patterns()?;
        let how = if self.compare || page.is_some() && self.page.is_compared() {
            Comparing::Bytes
        } else {
            Comparing::Sizes
        };
        let steps = |count| steps("comparing", count);
        check_memory((a.opened().tree.files() + b.opened().tree.files()).saturating_mul(COMPARED_PER_FILE))?;
        let differences = differences(a.opened(), b.opened(), &patterns, how, &steps);
        let part = self.check_selection(&differences, inquiry)?;
        let (unloaded, differences) = unloaded((&a, &set_a), (&b, &set_b), differences);
        let changes = OrderChanges::of(&a, &b);
        let counts = Counts::of(&differences, &unloaded);
        let mut missing = Missing::default();
        let lacking = |kind: &'static Change, by: LoadedBy| {
            let files = differences.iter().filter(move |it| it.change == *kind);
            // The game that has an archive says why it does not load it.
            let is_asked = move |it: &&Unloaded| {
                it.by == by || it.by == LoadedBy::Neither && it.difference.change != *kind
            };
            let archives = unloaded.iter().filter(is_asked).map(|it| &it.difference);
            files.chain(archives).map(|it| it.path.as_str())
        };
        missing.add("A", lacking(&Change::Added, LoadedBy::B), (&a, &set_a));
        missing.add("B", lacking(&Change::Removed, LoadedBy::A), (&b, &set_b));
        let (game, manifest) = (game_name(&b), None);
        let mut found =
            SourceDifferences { differences, unloaded, counts, missing, changes, part, game, manifest };
        found.counts.listed = found.lists().iter().map(|(_, list)| list.len()).sum();
        match page {
            Some(page) => {
                let [a, b] =
                    [(&set_a, &a), (&set_b, &b)].map(|(set, vfs)| Subject::of(&set.paths, vfs.order()));
                let b = b.part(found.part.as_deref());
                self.page.write(&page, found.page([a, b]), &mut inquiry.unseen, ui.is_quiet)?
            }
            None => found.print(self.json, inquiry)?,
        }
        found.end(inquiry);
        Ok(())
    }

    /// Fails if no file of the sources matches the patterns. All that match are among the differences, also
    /// those that are equal. Returns what was selected, in words.
    fn check_selection(&self, all: &[Difference], inquiry: &mut Inquiry) -> Result<Option<String>, Failure> {
        let (_, mut selected) = self.selection.split(&[])?;
        selected.match_paths(all.iter().map(|it| it.path.as_str()));
        inquiry.check(&selected, all.len(), None)?;
        Ok(selected.in_words())
    }

    fn open(&self, source: &PathBuf, options: OpenOptions) -> Result<(Vfs, SourceSet), Failure> {
        let options = options.advice_to_root(self.page.advice_to_root());
        let set = source_set(slice::from_ref(source), options)?;
        Ok((Vfs::from(set.open()?), set))
    }

    /// Compares a source with the manifest that the other one is.
    fn answer_with_manifest(&self, is_a: bool, inquiry: &mut Inquiry) -> Result<(), Failure> {
        let (path, source) = if is_a { (&self.a, &self.b) } else { (&self.b, &self.a) };
        let manifest = Manifest::read(path).map_err(|error| match error {
            ManifestError::Unreadable(cause) => OpenError::unreadable(path, cause).into(),
            ManifestError::Line(line, what) => {
                Failure::new(Exit::Data, format!("{}: line {line}: {what}", path.shown()))
            }
        })?;
        // A manifest has the paths of the layout that the source is listed in.
        let (vfs, set) = self.open(source, self.open.options())?;
        inquiry.unseen.add(vfs.unseen());
        check_memory((manifest.len() + vfs.opened().tree.files()).saturating_mul(COMPARED_PER_FILE))?;
        let steps = |count| steps("comparing", count);
        let differences = manifest.differences(&vfs, is_a, &self.selection.patterns()?, &steps);
        let part = self.check_selection(&differences, inquiry)?;
        let mut missing = Missing::default();
        let (name, lacking) = if is_a { ("B", Change::Removed) } else { ("A", Change::Added) };
        let lacking = differences.iter().filter(|it| it.change == lacking);
        missing.add(name, lacking.map(|it| it.path.as_str()), (&vfs, &set));
        let found = SourceDifferences {
            counts: Counts::of(&differences, &[]),
            differences,
            unloaded: Vec::new(),
            missing,
            changes: None,
            part,
            game: game_name(&vfs),
            manifest: Some(OfManifest { path: path.clone(), is_a }),
        };
        found.print(self.json, inquiry)?;
        found.end(inquiry);
        Ok(())
    }
}

/// How two sources differ.
struct SourceDifferences {
    differences: Vec<Difference>,
    unloaded: Vec<Unloaded>,
    counts: Counts,
    missing: Missing,
    /// How the lists of two games differ.
    changes: Option<OrderChanges>,
    /// The files that were compared, in words. `None` if all were, and the lists of the games.
    part: Option<String>,
    /// The name of the game.
    game: &'static str,
    manifest: Option<OfManifest>,
}

/// The manifest that one of the sources is.
struct OfManifest {
    path: PathBuf,
    /// Whether it is the old source.
    is_a: bool,
}

impl OfManifest {
    /// What it has of a file; `None` if it has no line of it.
    fn side(&self, change: &Change) -> Option<Side> {
        let only_other = if self.is_a { Change::Added } else { Change::Removed };
        let layer = || self.path.to_string_lossy().into_owned();
        (*change != only_other).then(|| Side { layer: layer(), size: None })
    }
}

/// The heading of the list of mods.
const MODS: &str = "Mods";

impl SourceDifferences {
    /// What was added to the lists of two games, removed from them and moved in them.
    fn lists(&self) -> Vec<(&'static str, &[ListChange])> {
        let changes = self.changes.iter().filter(|_| self.part.is_none());
        changes.flat_map(|it| [(MODS, &*it.mods), ("Plugins", &*it.plugins)]).collect()
    }

    fn print_json(&self, out: &mut Output) -> Result<(), OutputError> {
        for (heading, list) in self.lists() {
            for ListChange { name, what, after } in list {
                let name_if = |is_one: bool| is_one.then_some(name.as_str());
                let (of_mod, plugin) = (name_if(heading == MODS), name_if(heading != MODS));
                let line = JsonListed { of_mod, plugin, change: *what, after: after.as_deref() };
                out.json(&line)?;
            }
        }
        let files = self.differences.iter().map(|it| (it, name(&it.change)));
        let archives = self.unloaded.iter().map(|it| (&it.difference, it.by.name()));
        for (difference, change) in files.chain(archives) {
            let Difference { path, before, after, change: kind } = difference;
            if *kind == Change::Equal {
                continue;
            }
            let (mut a, mut b) = (before.as_ref().map(side), after.as_ref().map(side));
            if let Some(manifest) = &self.manifest {
                *(if manifest.is_a { &mut a } else { &mut b }) = manifest.side(kind);
            }
            let changes = self.changes.as_ref().filter(|_| *kind != Change::SameSize);
            let of_mod = changes.map(|changes| changes.culprit(difference));
            let missing = self.missing.why(path);
            out.json(&JsonDifference { path, change, a, b, missing, of_mod })?;
        }
        out.json(&self.counts)
    }

    fn print(&self, is_json: bool, inquiry: &mut Inquiry) -> Result<(), OutputError> {
        if is_json { self.print_json(&mut inquiry.out) } else { inquiry.out.text(|out| self.write(out)) }
    }

    /// Says which files cannot be compared, and ends with the status of the answer.
    fn end(&self, inquiry: &mut Inquiry) {
        for difference in &self.differences {
            if let Change::Unreadable(what) = &difference.change {
                log::error!("{}: {what}", difference.path);
            }
        }
        if self.counts.are_of_a_difference() {
            inquiry.set_exit(Exit::No);
        }
    }

    fn write(&self, out: &mut impl StyledWrite) -> io::Result<()> {
        for (heading, list) in self.lists().into_iter().filter(|(_, list)| !list.is_empty()) {
            out.write_styled(WINNER, heading)?;
            writeln!(out)?;
            for ListChange { name, what, after } in list {
                writeln!(out, "{} {}{}", what.sign(), name.shown(), place(*what, after.as_deref()))?;
            }
            writeln!(out)?;
        }
        let groups = self.groups();
        for FileGroup { title, differences } in &groups {
            out.write_styled(WINNER, title.shown())?;
            writeln!(out, ": {}", count(differences.len(), "file"))?;
            write_files(out, differences.iter().copied())?;
            writeln!(out)?;
        }
        if groups.is_empty() {
            write_files(out, self.differences.iter())?;
        }
        for Unloaded { difference, .. } in &self.unloaded {
            writeln!(out, "* {}", difference.path.shown())?;
        }
        for line in self.reasons() {
            writeln!(out, "{}", line.shown())?;
        }
        let part = self.part.as_ref().map(|part| format!("; only {part}")).unwrap_or_default();
        writeln!(out, "{}{part}", self.counts.line())
    }

    /// Lines about files that a source lacks although it has copies of them. The list of mods says which mods
    /// are off.
    fn reasons(&self) -> Vec<String> {
        let changes = self.changes.as_ref().filter(|_| self.part.is_none());
        let is_switched = |it: &&Difference| {
            let culprit = changes.map(|changes| changes.culprit(it));
            culprit.is_some_and(|it| matches!(it.what, Some(Listing::Added | Listing::Removed)))
        };
        let all = self.differences.iter().chain(self.unloaded.iter().map(|it| &it.difference));
        let switched: HashSet<&str> = all.filter(is_switched).map(|it| it.path.as_str()).collect();
        self.missing.groups(|path, reason| reason.fate != Some(Fate::Off) || !switched.contains(path))
    }

    /// The files that differ by what causes it: first what has most files, at the end the game itself. Empty
    /// unless both sources are games.
    fn groups(&self) -> Vec<FileGroup<'_>> {
        let Some(changes) = &self.changes else { return Vec::new() };
        let mut groups: HashMap<Culprit, Vec<&Difference>> = HashMap::new();
        for difference in self.differences.iter().filter(|it| mark(&it.change).is_some()) {
            groups.entry(changes.culprit(difference)).or_default().push(difference);
        }
        let mut groups: Vec<(Culprit, Vec<&Difference>)> = groups.into_iter().collect();
        groups.sort_by_cached_key(|(Culprit { name, what }, differences)| {
            (name.is_none(), Reverse(differences.len()), name.clone(), *what)
        });
        let group = |(Culprit { name, what }, differences): (Culprit, _)| {
            let name = name.unwrap_or_else(|| self.game.to_owned());
            let title = match what {
                Some(what) => format!("{name}, {}", what.in_words()),
                None => name,
            };
            FileGroup { title, differences }
        };
        groups.into_iter().map(group).collect()
    }

    fn page(&self, [a, b]: [Subject; 2]) -> Contents {
        let mut facts: Vec<(&str, String)> =
            self.lists().into_iter().map(|(heading, list)| (heading, in_numbers(list))).collect();
        facts.push(("Files", self.counts.line()));
        let line = |it: &ListChange| (Some(it.what), it.name.clone(), place(it.what, it.after.as_deref()));
        let list = |(heading, list): (_, &[ListChange])| NameList {
            id: if heading == MODS { "mods" } else { "plugins" },
            heading,
            is_closed: false,
            lines: list.iter().map(line).collect(),
        };
        let mut lists: Vec<NameList> = self.lists().into_iter().map(list).collect();
        let lines = self.reasons().into_iter().map(|line| (None, line, String::new())).collect();
        lists.push(NameList { id: "unused", heading: "Not used by a game", is_closed: true, lines });
        // The name of the game stands there once.
        let game = |title: &str| title.strip_prefix(self.game)?.strip_prefix(", ").map(str::to_owned);
        let new = game(&a.title).and_then(|_| game(&b.title)).unwrap_or(b.title);
        let head = PageHead {
            title: format!("Differences: {} and {new}", a.title),
            line: format!("from {} to {}", a.line, b.line),
            facts,
        };
        let mods = |difference: &Difference| {
            let of_both = self.changes.as_ref().map(|changes| changes.mods_of(difference));
            match of_both {
                Some([Some(before), Some(after)]) if before != after => {
                    [before, after].map(|name| Some(name.unwrap_or_else(|| self.game.to_owned())))
                }
                _ => [None, None],
            }
        };
        let about = FileFacts { missing: &|path| self.missing.why(path), mods: &mods };
        difference_page(head, lists, (&self.differences, &self.groups()), &about)
    }
}

/// Writes a line for each file that differs.
fn write_files<'d>(
    out: &mut impl StyledWrite,
    differences: impl Iterator<Item = &'d Difference>,
) -> io::Result<()> {
    for Difference { path, change, .. } in differences {
        if let Some(mark) = mark(change) {
            writeln!(out, "{mark} {}", path.shown())?;
        }
    }
    Ok(())
}

/// How many names of a list were added, removed and moved.
fn in_numbers(list: &[ListChange]) -> String {
    let of = |what: Listing| (list.iter().filter(|it| it.what == what).count(), what.in_words());
    let numbers = [Listing::Added, Listing::Removed, Listing::Moved].map(of);
    let numbers = numbers.into_iter().filter(|(number, _)| *number > 0);
    let numbers: Vec<String> = numbers.map(|(number, what)| format!("{number} {what}")).collect();
    if numbers.is_empty() { "no difference".into() } else { numbers.join(", ") }
}

/// The new place of a name that moved.
fn place(what: Listing, after: Option<&str>) -> String {
    match (what, after) {
        (Listing::Moved, Some(after)) => format!(", now after {}", after.shown()),
        (Listing::Moved, None) => ", now first".into(),
        _ => String::new(),
    }
}

/// The name of a source's game, for files that belong to no mod.
fn game_name(vfs: &Vfs) -> &'static str {
    title(vfs.order().game).map_or("the game", |title| title.name)
}

/// Takes out the archives that are files of the tree of a game, because the game does not load them.
fn unloaded(
    (a, set_a): (&Vfs, &SourceSet),
    (b, set_b): (&Vfs, &SourceSet),
    differences: Vec<Difference>,
) -> (Vec<Unloaded>, Vec<Difference>) {
    // A layer that the user named has no reason, and is no archive of a game.
    let of_game = |layer: &VfsLayer| !layer.is_folder() && !layer.why().is_empty();
    let name = |layer: VfsLayer| layer.path().file_name().map(|it| fold(&it.to_string_lossy()));
    let names = |vfs: &Vfs| vfs.layers().filter(of_game).filter_map(name).collect::<HashSet<String>>();
    let (by_a, by_b) = (names(a), names(b));
    let (mut unloaded, mut others) = (Vec::new(), Vec::with_capacity(differences.len()));
    for difference in differences {
        let path = &difference.path;
        let is_archive = |vfs: &Vfs, set: &SourceSet| {
            let is_at_top = !path.contains('/') && is_archive_name(path.as_bytes());
            // Otherwise archives that are loaded are listed, too.
            let are_layers = set.options.archives == FolderArchives::Open;
            (is_at_top && are_layers && vfs.game().is_some()).then_some(LoadedBy::Neither)
        };
        let by = match difference.change {
            Change::Added if by_a.contains(&fold(path)) => Some(LoadedBy::A),
            Change::Removed if by_b.contains(&fold(path)) => Some(LoadedBy::B),
            Change::Added => is_archive(b, set_b),
            Change::Removed => is_archive(a, set_a),
            _ => None,
        };
        match by {
            Some(by) => unloaded.push(Unloaded { difference, by }),
            None => others.push(difference),
        }
    }
    (unloaded, others)
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
    fn of(differences: &[Difference], unloaded: &[Unloaded]) -> Self {
        let mut counts = Self::default();
        for difference in differences {
            *match difference.change {
                Change::Added => &mut counts.added,
                Change::Removed => &mut counts.removed,
                Change::Changed => &mut counts.changed,
                Change::Equal => &mut counts.equal,
                Change::SameSize => &mut counts.same_size,
                Change::Unreadable(_) => &mut counts.unreadable,
            } += 1;
        }
        counts.not_loaded = unloaded.iter().filter(|it| it.by == LoadedBy::Neither).count();
        counts.loaded_by_one = unloaded.len() - counts.not_loaded;
        counts
    }

    /// Whether the sources differ. A file that cannot be read is not known to be equal, so it counts.
    fn are_of_a_difference(&self) -> bool {
        let files = self.added + self.removed + self.changed + self.unreadable;
        files + self.loaded_by_one + self.not_loaded + self.listed > 0
    }

    fn line(&self) -> String {
        let Self { added, removed, changed, equal, same_size, unreadable, loaded_by_one, not_loaded, .. } =
            self;
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
        if *not_loaded > 0 {
            line += &format!(", {} that no game loads", count(*not_loaded, "archive"));
        }
        line
    }
}

fn side(file: &VfsFile) -> Side {
    Side { layer: file.layer().path().to_string_lossy().into_owned(), size: file.size().ok() }
}
