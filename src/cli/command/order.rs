//! `bsafs order`: prints which archives and folders a game loads, in which order, and why.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::cli::exit::{Exit, Failure};
use crate::cli::options::named_sources::source_set;
use crate::cli::options::source_args::SourceArgs;
use crate::cli::terminal::output::{self, stdout_for};
use crate::game::{ArchiveRule, LayerKind, LoadOrder, LooseRule, OrderLayer};
use crate::system::text::count;
use crate::vfs::sources::loose_notes;
use crate::vfs::sources::resolve;

/// Print what a game loads, in which order and why, with notes on anomalies
///
/// Layers are printed lowest first: if several have a file, the last one wins. Their paths are below the
/// folder in the first line.
#[derive(Args, Debug)]
pub(crate) struct Order {
    /// Games, archives, folders, and other sources that `mount` accepts; if several have a file,
    /// the rightmost wins
    #[arg(required_unless_present = "game_dir", value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// Print each archive; otherwise four or more in turn that are loaded for one reason share a line
    #[arg(long, conflicts_with = "json")]
    all: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Exit with status 1 if there are notes
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    source: SourceArgs,
}

/// The output of `--json`. Paths that are not UTF-8 contain replacement characters.
#[derive(Serialize)]
struct Document<'a> {
    game: &'a str,
    layers: Vec<JsonLayer<'a>>,
    notes: Vec<Remark<'a>>,
    precedence: Precedence<'a>,
    confidence: &'a str,
    plugins: &'a [String],
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
}

#[derive(Serialize)]
struct Remark<'a> {
    code: &'a str,
    subject: &'a str,
    text: &'a str,
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
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let set = source_set(&self.sources, self.source.options())?;
        let mut orders = resolve::plan_each(&set.paths, &set.options)?;
        // Add notes to each order separately, because a game's rules apply only to its own layers.
        orders.iter_mut().for_each(|order| loose_notes::add(order, &set.options));
        let order = resolve::joined(orders);
        let mut out = stdout_for(self.json);
        match self.json {
            true => write_json(&mut out, &order)?,
            false => write_lines(&mut out, &order, self.all)?,
        }
        out.flush()?;
        Ok(if self.check && !order.notes.is_empty() { Exit::No } else { Exit::Ok })
    }
}

/// Writes a load order as one JSON object.
pub(crate) fn write_json(out: &mut impl Write, order: &LoadOrder) -> io::Result<()> {
    output::write_json(out, &document(order))
}

fn document(order: &LoadOrder) -> Document<'_> {
    let layer = |layer: &'_ OrderLayer| layer.path.to_string_lossy().into_owned();
    let loose_folders = match &order.precedence.loose {
        LooseRule::Below(folders) => Some(&folders[..]),
        _ => None,
    };
    Document {
        game: order.game,
        layers: (order.layers.iter())
            .map(|it| JsonLayer { kind: it.what.as_str(), path: layer(it), why: &it.why })
            .collect(),
        notes: (order.notes.iter())
            .map(|it| Remark { code: it.code.as_str(), subject: &it.subject, text: &it.text })
            .collect(),
        precedence: Precedence {
            archives: order.precedence.archives.as_str(),
            loose: order.precedence.loose.as_str(),
            loose_folders,
        },
        confidence: order.confidence.as_str(),
        plugins: &order.plugins,
        inis: order.inis.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        profile: order.profile.as_ref().map(|path| path.to_string_lossy().into_owned()),
    }
}

/// Writes a load order as text that people read: with all archives, or with those in groups that the game
/// loads in turn for one reason.
pub(crate) fn write_lines(out: &mut impl Write, order: &LoadOrder, is_all: bool) -> io::Result<()> {
    write_layers(out, &order.layers, is_all)?;
    writeln!(out)?;
    if !order.game.is_empty() {
        writeln!(out, "game        {}", order.game)?;
        writeln!(out, "plugins     {} active", order.plugins.len())?;
    }
    if let Some(profile) = &order.profile {
        writeln!(out, "profile     {}", profile.display())?;
    }
    for ini in &order.inis {
        writeln!(out, "settings    {}", ini.display())?;
    }
    let (archives, loose) = rule(order);
    writeln!(out, "archives    {archives}")?;
    writeln!(out, "loose files {loose}")?;
    writeln!(out, "confidence  {} (that the game uses these rules)", order.confidence.as_str())?;
    if !order.notes.is_empty() {
        writeln!(out, "\n{}", count(order.notes.len(), "note"))?;
    }
    for note in &order.notes {
        writeln!(out, "  {}  {}\n      {}", note.code.as_str(), note.subject, note.text)?;
    }
    Ok(())
}

/// Writes the layers with their numbers, and the folder that has them all.
fn write_layers(out: &mut impl Write, layers: &[OrderLayer], is_all: bool) -> io::Result<()> {
    let root = common_folder(layers);
    if let Some(root) = root {
        writeln!(out, "in {}", root.display())?;
    }
    let shown = |layer: &OrderLayer| match root.and_then(|root| layer.path.strip_prefix(root).ok()) {
        Some(within) if within.as_os_str().is_empty() => ".".to_owned(),
        Some(within) => within.display().to_string(),
        None => layer.path.display().to_string(),
    };
    let (mut number, mut is_grouped) = (1, false);
    for group in layers.chunk_by(|one, next| !is_all && is_alike(one, next)) {
        let end = number + group.len();
        if let [first, .., last] = group
            && group.len() >= GROUP_MIN
        {
            let last_name = last.path.file_name().unwrap_or_default().to_string_lossy();
            let (count, first) = (count(group.len(), "archive"), shown(first));
            let numbers = format!("{number}-{}", end - 1);
            writeln!(out, "{numbers:>9}  {count}, {first} to {last_name}\n{:>11}{}", "", last.why)?;
            is_grouped = true;
        } else {
            for (at, layer) in (number..).zip(group) {
                writeln!(
                    out,
                    "{at:>9}  {:<7}  {}\n{:>20}{}",
                    layer.what.as_str(),
                    shown(layer),
                    "",
                    layer.why
                )?;
            }
        }
        number = end;
    }
    if is_grouped {
        writeln!(out, "{:>11}--all prints each archive", "")?;
    }
    Ok(())
}

/// Minimum number of archives that share a line.
const GROUP_MIN: usize = 4;

/// Whether the game loads two archives for one reason, from one folder.
fn is_alike(one: &OrderLayer, next: &OrderLayer) -> bool {
    let state = |layer: &OrderLayer| (layer.what, layer.path.parent().map(Path::to_owned), layer.why.clone());
    one.what == LayerKind::Archive && state(one) == state(next)
}

/// The folder that has all layers; `None` if that is the root of the system, or if there is one layer.
fn common_folder(layers: &[OrderLayer]) -> Option<&Path> {
    let (first, others) = layers.split_first()?;
    let of_first = if first.what == LayerKind::Folder { Some(&*first.path) } else { first.path.parent() };
    let mut above = of_first?.ancestors();
    let common = above.find(|folder| others.iter().all(|layer| layer.path.starts_with(folder)))?;
    (!others.is_empty() && common.parent().is_some()).then_some(common)
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
