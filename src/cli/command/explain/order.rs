//! `bsafs order`: prints which archives and folders a game loads, in which order, and why.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::answers::comparison::{Tally, of_order, tallies};
use crate::cli::exit::{Exit, Failure};
use crate::cli::inquiry::Inquiry;
use crate::cli::options::named_sources::source_set;
use crate::cli::options::option_table::{OpenArgs, SOURCE};
use crate::cli::terminal::output::{ASIDE, StyledWrite, stdout_for};
use crate::cli::terminal::shown_layers::ShownLayers;
use crate::cli::ui::Ui;
use crate::game::{ArchiveRule, LayerKind, LoadOrder, LooseRule, OrderLayer};
use crate::note::Note;
use crate::shown::Shown;
use crate::system::text::count;
use crate::vfs::sources::{loose_notes, resolve};
use crate::vfs::{Layout, Vfs};

/// Print what a game loads, in which order and why, with notes on anomalies
///
/// Layers are printed lowest first: if several have the same file, the last one wins. The first lines
/// name the folders of the layers.
///
/// The exit status is 1 if something was not looked at, such as an archive that cannot be opened.
#[derive(Args, Debug)]
pub(crate) struct Order {
    /// Games, archives, folders, and other sources that `mount` accepts; if several have the same file,
    /// the rightmost wins
    #[arg(required_unless_present = "game_dir=", value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// Print each archive, even if four or more in a row are loaded for the same reason
    #[arg(long, conflicts_with = "json")]
    all: bool,
    /// Also print how many files each layer has, how many of them win, and how many are hidden
    ///
    /// This opens all archives and walks all folders, so it takes as long as mounting. Notes then also name
    /// what was left out of the folders of mods.
    #[arg(long)]
    counts: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Exit with status 1 if there are notes
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    source: OpenArgs<SOURCE>,
}

/// The output of `--json`. Paths that are not UTF-8 contain replacement characters.
#[derive(Serialize)]
pub(crate) struct Document<'a> {
    game: &'a str,
    layers: Vec<JsonLayer<'a>>,
    notes: &'a [Note],
    precedence: Precedence<'a>,
    confidence: &'a str,
    plugins: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    groundcover: &'a [String],
    inis: Vec<String>,
    /// The folder of the Mod Organizer 2 profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
}

#[derive(Serialize)]
struct JsonLayer<'a> {
    kind: &'a str,
    path: String,
    why: &'a str,
    #[serde(flatten)]
    counts: Option<Counts>,
}

/// How many files of a layer win. Left out without `--counts`, and if the layer cannot be opened.
#[derive(Serialize)]
struct Counts {
    files: usize,
    winning: usize,
    hidden: usize,
}

#[derive(Serialize)]
struct Precedence<'a> {
    archives: &'a str,
    loose: &'a str,
    /// Folders below which loose files win, if the game ignores all other loose files.
    #[serde(skip_serializing_if = "Option::is_none")]
    loose_folders: Option<&'a [String]>,
}

impl Order {
    pub(crate) fn run(&self, _: &Ui) -> Result<Exit, Failure> {
        // The JSON is one object, and what was not looked at is among its notes.
        Inquiry::run_to(stdout_for(self.json), false, |inquiry| self.answer(inquiry))
    }

    fn answer(&self, inquiry: &mut Inquiry) -> Result<(), Failure> {
        let set = source_set(&self.sources, self.source.options().layout(Layout::Union))?;
        let mut orders = resolve::plan_each(&set.paths, &set.options)?;
        // Add notes to each order separately, because a game's rules apply only to its own layers.
        for order in orders.iter_mut() {
            loose_notes::add(order, &set.options);
        }
        let mut order = resolve::joined(orders);
        order.notes.extend(set.options.unseen.iter().cloned());
        let counts = if self.counts {
            let vfs = Vfs::from(set.open()?);
            let left_out = vfs.left_out().filter(|note| !order.notes.contains(note));
            let left_out: Vec<Note> = left_out.cloned().collect();
            order.notes.extend(left_out);
            of_order(&order.layers, vfs.layers(), tallies(vfs.store().layers(), vfs.files()))
        } else {
            Vec::new()
        };
        if self.json {
            inquiry.out.json(&document(&order, &counts))?;
        } else {
            inquiry.out.text(|out| write_lines(out, &order, &counts, self.all))?;
        }
        inquiry.unseen.add(&order.notes);
        if self.check && !order.notes.is_empty() {
            inquiry.set_exit(Exit::No);
        }
        Ok(())
    }
}

/// A load order as one JSON object. `counts` are those of its layers, or empty.
pub(crate) fn document<'o>(order: &'o LoadOrder, counts: &[Option<Tally>]) -> Document<'o> {
    let layer = |(number, layer): (usize, &'o OrderLayer)| JsonLayer {
        kind: layer.what.as_str(),
        path: layer.path.to_string_lossy().into_owned(),
        why: &layer.why,
        counts: counts.get(number).copied().flatten().map(|it| Counts {
            files: it.files(),
            winning: it.winning,
            hidden: it.hidden,
        }),
    };
    let loose_folders = match &order.precedence.loose {
        LooseRule::Below(folders) => Some(&folders[..]),
        _ => None,
    };
    Document {
        game: order.game,
        layers: order.layers.iter().enumerate().map(layer).collect(),
        notes: &order.notes,
        precedence: Precedence {
            archives: order.precedence.archives.as_str(),
            loose: order.precedence.loose.as_str(),
            loose_folders,
        },
        confidence: order.confidence.as_str(),
        plugins: &order.plugins,
        groundcover: &order.groundcover,
        inis: order.inis.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        profile: order.profile.as_ref().map(|path| path.to_string_lossy().into_owned()),
    }
}

/// Writes a load order as text that people read: with all archives, or with those in groups that the game
/// loads in turn for one reason. `counts` are those of its layers, or empty.
pub(crate) fn write_lines(
    out: &mut impl StyledWrite,
    order: &LoadOrder,
    counts: &[Option<Tally>],
    is_all: bool,
) -> io::Result<()> {
    let is_folder = |layer: &OrderLayer| layer.what == LayerKind::Folder;
    let names = ShownLayers::of(order.layers.iter().map(|layer| (&*layer.path, is_folder(layer))));
    write_layers(out, &names, &order.layers, counts, is_all)?;
    writeln!(out)?;
    if !order.game.is_empty() {
        writeln!(out, "game        {}", order.game)?;
        let groundcover = match order.groundcover.len() {
            0 => String::new(),
            more => format!(", and {more} of groundcover"),
        };
        writeln!(out, "plugins     {} active{groundcover}", order.plugins.len())?;
    }
    if let Some(profile) = &order.profile {
        writeln!(out, "profile     {}", profile.shown())?;
    }
    for ini in &order.inis {
        writeln!(out, "settings    {}", ini.shown())?;
    }
    let (archives, loose) = rule(order);
    writeln!(out, "archives    {archives}")?;
    writeln!(out, "loose files {loose}")?;
    if !order.game.is_empty() {
        let doubts = match &order.doubts[..] {
            [] => "no rule that decides between these archives and files is in doubt".to_owned(),
            doubts => doubts.join("; "),
        };
        writeln!(out, "confidence  {}: {}", order.confidence.as_str(), doubts.shown())?;
    }
    if !order.notes.is_empty() {
        writeln!(out, "\n{}", count(order.notes.len(), "note"))?;
    }
    for note in &order.notes {
        let (code, subject) = (note.code.as_str(), names.subject(Path::new(&note.subject)));
        writeln!(out, "  {code}  {subject}\n      {}", note.to_string().shown())?;
    }
    Ok(())
}

/// Writes the layers with their numbers, below the folder that contains them all. `counts` has the counts of
/// each layer, or is empty.
fn write_layers(
    out: &mut impl StyledWrite,
    names: &ShownLayers,
    layers: &[OrderLayer],
    counts: &[Option<Tally>],
    is_all: bool,
) -> io::Result<()> {
    names.write_folders(out, "in")?;
    let (mut end, mut is_grouped) = (0, false);
    for group in layers.chunk_by(|one, next| !is_all && is_alike(one, next)) {
        let first = end;
        end += group.len();
        let counts = |range: Range<usize>| counted(counts.get(range).unwrap_or_default());
        if let [first_layer, .., last_layer] = group
            && group.len() >= GROUP_MIN
        {
            let last_name = names.shown(&last_layer.path);
            let (archives, first_path) = (count(group.len(), "archive"), names.shown(&first_layer.path));
            let numbers = format!("{}-{end}", first + 1);
            writeln!(out, "{numbers:>9}  {archives}, {first_path} to {last_name}")?;
            write!(out, "{:>11}", "")?;
            out.write_styled(ASIDE, format_args!("{}{}", last_layer.why.shown(), counts(first..end)))?;
            writeln!(out)?;
            is_grouped = true;
        } else {
            for (at, layer) in (first..).zip(group) {
                let (kind, path) = (layer.what.as_str(), names.shown(&layer.path));
                write!(out, "{:>9}  {kind:<7}  {path}\n{:>20}", at + 1, "")?;
                out.write_styled(ASIDE, format_args!("{}{}", layer.why.shown(), counts(at..at + 1)))?;
                writeln!(out)?;
            }
        }
    }
    if is_grouped {
        writeln!(out, "{:>11}--all prints each archive", "")?;
    }
    Ok(())
}

/// The counts of layers, to follow a reason. Empty if none of the layers was counted.
fn counted(counts: &[Option<Tally>]) -> String {
    let total = counts.iter().flatten().copied().reduce(Tally::plus);
    total.map_or_else(String::new, |it| {
        format!("; {}, {} winning, {} hidden", count(it.files(), "file"), it.winning, it.hidden)
    })
}

/// Minimum number of archives that share a line.
const GROUP_MIN: usize = 4;

/// Whether the game loads two archives for one reason, from one folder.
fn is_alike(one: &OrderLayer, next: &OrderLayer) -> bool {
    let state = |layer: &OrderLayer| (layer.what, layer.path.parent().map(Path::to_owned), layer.why.clone());
    one.what == LayerKind::Archive && state(one) == state(next)
}

/// Describes the rules for archives and for loose files.
fn rule(order: &LoadOrder) -> (&'static str, String) {
    let archives = match order.precedence.archives {
        ArchiveRule::LastWins => "the last one loaded wins",
        ArchiveRule::FirstWins => "the first one loaded wins",
        ArchiveRule::NewVegas => {
            "mods win over add-ons, and add-ons over the base game; within these, the first one loaded wins"
        }
        ArchiveRule::Oblivion => "the first one loaded wins, unless the game last read from another one",
    };
    let loose = match &order.precedence.loose {
        LooseRule::Always => "win".to_owned(),
        LooseRule::Never => "lose to every archive".into(),
        LooseRule::ByDate => "win if they are newer than the archives".into(),
        LooseRule::Below(folders) if folders.is_empty() => "are ignored".into(),
        LooseRule::Below(folders) => format!("win below {}, and are ignored elsewhere", folders.join(", ")),
    };
    (archives, loose)
}
