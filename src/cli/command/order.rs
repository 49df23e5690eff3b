//! `bsafs order`: prints which archives and folders a game loads, in which order, and why.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::cli::exit::{Exit, Failure};
use crate::cli::options::named_sources::source_set;
use crate::cli::options::source_args::SourceArgs;
use crate::cli::terminal::output::{self, stdout_for};
use crate::game::{ArchiveRule, LoadOrder, LooseRule};
use crate::system::text::count;
use crate::vfs::sources::loose_notes;
use crate::vfs::sources::resolve;

/// Print what a game loads, in which order and why, with notes on anomalies
///
/// Layers are printed lowest first: if several have a file, the last one wins.
#[derive(Args, Debug)]
pub(crate) struct Order {
    /// Games, archives, folders, and other sources that `mount` accepts; if several have a file,
    /// the rightmost wins
    #[arg(required_unless_present = "game_dir", value_name = "SOURCE")]
    sources: Vec<PathBuf>,
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
            false => write_lines(&mut out, &order)?,
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
    let layer = |layer: &'_ crate::game::OrderLayer| layer.path.to_string_lossy().into_owned();
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

/// Writes a load order as text that people read.
pub(crate) fn write_lines(out: &mut impl Write, order: &LoadOrder) -> io::Result<()> {
    for (at, layer) in order.layers.iter().enumerate() {
        writeln!(out, "{:>5}  {:<7}  {}", at + 1, layer.what.as_str(), layer.path.display())?;
        writeln!(out, "                {}", layer.why)?;
    }
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
