//! `bsafs pack`: writes the archives that a game loads.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::iter;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::BinaryBytes;
use serde::Serialize;

use crate::answers::fate::{Fate, FateReason};
use crate::answers::question::Question;
use crate::answers::why::why;
use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::inquiry::Inquiry;
use crate::cli::options::named_sources::{open_sources_for, source_set};
use crate::cli::options::option_table::{AS_USER, OpenArgs};
use crate::cli::options::selection::{Selection, destination_hint, refuse_destination};
use crate::cli::surroundings::remove_files_on_signals;
use crate::cli::terminal::output::{Output, stdout};
use crate::cli::terminal::progress;
use crate::cli::terminal::unseen::Unseen;
use crate::cli::ui::Ui;
use crate::format::is_archive_name;
use crate::limits::NAMES_TEXT_MAX;
use crate::note::{Note, NoteCode};
use crate::pack::{
    Effect, EffectKind, Effects, How, LeftOut, Leftover, LeftoverKind, Level, LooseReason, OddTextures,
    PackError, PackErrorKind, PackOptions, Packed, PathList, Plan, PlannedArchive, effects_with, move_back,
    why_no_effects,
};
use crate::shown::{Shown, quoted};
use crate::system::text::{count, reason};
use crate::system::whole_file::{read_start, read_stream};
use crate::vfs::destination;
use crate::vfs::open_options::parse_size;
use crate::vfs::{FolderArchives, Layout, OpenOptions, Patterns, Vfs};

/// Write the archives that a game loads, from folders or other archives
///
/// It takes the same sources as `mount`: folders, including those of `mount --edit`, and archives of any
/// kind, which are converted. If several have the same file, the rightmost wins. Each file is compressed
/// or stored as the game needs it. What games and tools read only from the disk stays loose, and is
/// listed. `bsafs help packing` has the rules.
///
/// Archives are named after the plugin of the source. They are read back and compared with the source
/// before they get their names; if anything fails, nothing is left behind. Sources are never changed or
/// removed. The same sources give the same bytes.
///
/// The exit status is 1 if a file that should be packed was left out, or prevented packing.
#[derive(Args, Debug)]
pub(crate) struct Pack {
    /// Folders and archives; if several have the same file, the rightmost wins
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// The game that will load the archives, such as skyrimse; an unknown id prints all of them
    #[arg(long, value_name = "ID", required_unless_present = "move_back")]
    game: Option<String>,
    /// Folder for the archives, by default the current one; or the file of the only archive
    #[arg(short, visible_short_alias = 'C', long, visible_alias = "directory", value_name = "OUTPUT")]
    output: Option<PathBuf>,
    /// Beginning of the archives' names, instead of the plugin's name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Print the plan, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print one JSON object for each archive, and for each file that stays loose
    #[arg(long)]
    json: bool,
    /// How much time to spend for smaller archives
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "normal")]
    level: Level,
    /// Replace existing archives, once all new ones are complete
    #[arg(long)]
    overwrite: bool,
    /// Then move the loose files that were packed to this folder, with the folders above them
    #[arg(long, value_name = "FOLDER", conflicts_with = "no_verify")]
    move_packed: Option<PathBuf>,
    /// Pack nothing, and move what --move-packed moved to this folder back into the source
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["move_packed", "game"])]
    move_back: Option<PathBuf>,
    /// Print which files will win or lose differently in this game once they are packed
    #[arg(long = "in", value_name = "GAME")]
    within: Option<PathBuf>,
    #[command(flatten)]
    selection: Selection,
    /// Pack only the paths of a list: one per line, or an .achlist of the Creation Kit; - reads standard
    /// input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Leave files that match this pattern loose; can be repeated
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Store files that match this pattern without compression; can be repeated
    #[arg(long, value_name = "PATTERN")]
    store: Vec<String>,
    /// Also pack what games or tools read only from the disk
    #[arg(long)]
    all: bool,
    /// Accept paths and names under which no game finds files, instead of failing
    #[arg(long)]
    any_path: bool,
    /// Also pack the sources of scripts
    #[arg(long = "sources")]
    script_sources: bool,
    /// What to do with textures that an archive of textures cannot store
    #[arg(long, value_enum, value_name = "CHOICE", default_value = "error")]
    odd_textures: OddTextures,
    /// Maximum size of an archive, e.g. 1G or 500M, instead of the largest that the game reads
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_size: Option<u64>,
    /// Write plugins without content for archives that need one
    #[arg(long)]
    dummy: bool,
    /// Write an empty .override file beside each archive (Fallout 3 and New Vegas)
    #[arg(long = "override")]
    override_file: bool,
    /// Pack what links lead to, instead of failing
    #[arg(long)]
    follow_links: bool,
    /// Number of threads, by default as many as processors
    #[arg(long, value_name = "NUMBER")]
    threads: Option<usize>,
    /// Do not read the archives back
    #[arg(long)]
    no_verify: bool,
    #[command(flatten)]
    open: OpenArgs,
}

/// A line of `--json`.
#[derive(Serialize)]
#[serde(untagged)]
enum Line<'a> {
    Archive(ArchiveLine<'a>),
    Loose {
        loose: &'a str,
        reason: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        detail: &'a str,
    },
    Effect {
        effect: &'a str,
        path: &'a str,
        other: &'a str,
        now: Fate,
    },
    Superseded {
        superseded: &'a str,
        source: &'a str,
        winner: &'a str,
        equal: bool,
    },
    Unselected {
        unselected: usize,
    },
    Note {
        note: &'a Note,
    },
}

#[derive(Serialize)]
struct ArchiveLine<'a> {
    archive: &'a str,
    kind: String,
    files: usize,
    size: u64,
    loaded_by: String,
    /// Paths of files that will be stored, and of others. Only of a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<Vec<FileLine<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<ResultLine>,
}

#[derive(Serialize)]
struct FileLine<'a> {
    path: &'a str,
    size: u64,
    how: &'a str,
}

#[derive(Serialize)]
struct ResultLine {
    stored: usize,
    compressed: usize,
    shared: usize,
    packed: u64,
}

impl Pack {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        let is_quiet = ui.is_quiet;
        if let Some(from) = &self.move_back {
            return self.move_back(from, is_quiet);
        }
        remove_files_on_signals();
        Inquiry::run(self.json, |inquiry| self.pack(inquiry, is_quiet))
    }

    fn pack(&self, inquiry: &mut Inquiry, is_quiet: bool) -> Result<(), Failure> {
        let open = self.open.options();
        let options = self.options(&open)?;
        let (folder, options) = self.place(options);
        // Everybody may read what is packed.
        let advice_to_root = (!self.follow_links).then_some(AS_USER);
        let files = OpenOptions::new().archives(FolderArchives::Files);
        let open = open.merged_over(files).layout(Layout::Union).advice_to_root(advice_to_root);
        let vfs =
            open_sources_for(&self.sources, open, iter::empty()).map_err(|failure| match self.output {
                Some(_) => failure,
                None => destination_hint(failure, &self.sources, "-o"),
            })?;
        if self.output.is_none() {
            refuse_destination(&self.sources, "-o")?;
        }
        let plan = Plan::new(&vfs, &options)?;
        let changes = match &self.within {
            Some(game) => self.effects(&plan, game, &mut inquiry.unseen)?,
            None => Effects::default(),
        };
        let out = &mut inquiry.out;
        let movable = self.move_packed.as_ref().map(|to| plan.check_move(to, &folder)).transpose()?;
        let before = plan.leftovers(&folder);
        if self.dry_run {
            self.print(out, &plan, &changes, &[], &folder, is_quiet)?;
            if let (Some(movable), Some(to), false) = (movable, &self.move_packed, is_quiet || self.json) {
                writeln!(out, "would move {} to {}", count(movable, "file"), to.shown())?;
            }
            self.print_leftovers(out, (&before, &before), &folder, is_quiet)?;
            out.flush()?;
            self.print_replaced(out, &plan.existing_notes(&folder)?)?;
            self.warn_of_game(&folder);
        } else {
            let (files, bytes) = plan.totals();
            let rounds = if self.no_verify { 1 } else { 2 };
            let advance = progress::bytes("packing", files, || bytes.saturating_mul(rounds));
            let packed = plan.write_with(&folder, &|bytes| advance(bytes));
            self.warn_of_game(&folder);
            drop(advance);
            let packed = packed?;
            self.print(out, &plan, &changes, &packed, &folder, is_quiet)?;
            let replaced: Vec<Note> = packed.into_iter().filter_map(|archive| archive.replaced).collect();
            self.print_replaced(out, &replaced)?;
            let after = plan.leftovers(&folder);
            self.print_leftovers(out, (&before, &after), &folder, is_quiet)?;
            let removed = before.iter().filter(|it| !after.iter().any(|still| still.name == it.name));
            let removed: Vec<String> = removed.map(|it| it.name.clone()).collect();
            for name in plan.idle_files(&folder, &removed) {
                let text = "it only made the game load an archive that was removed; remove it yourself if \
                            nothing else needs it";
                let note = Note::new(NoteCode::PackLeftover, folder.join(name).to_string_lossy(), text);
                self.print_replaced(out, &[note])?;
            }
            if let Some(to) = &self.move_packed {
                out.flush()?;
                let moved = plan.move_packed(to);
                // Also after an error, some files may have been moved.
                if !is_quiet && !self.json {
                    let (source, to) = (quoted_path(self.sources.last()), quoted_path(Some(to)));
                    let files =
                        moved.as_ref().map_or_else(|_| "some files".to_owned(), |it| count(*it, "file"));
                    writeln!(
                        out,
                        "moved {files} to {to}; to put them back: bsafs pack {source} --move-back {to}"
                    )?;
                }
                moved?;
            }
        }
        if !plan.loose().iter().all(|left| left.reason.is_expected()) {
            inquiry.set_exit(Exit::No);
        }
        Ok(())
    }

    /// Moves files back into the only source.
    fn move_back(&self, from: &Path, is_quiet: bool) -> Result<Exit, Failure> {
        let [to] = &self.sources[..] else {
            return Err(Failure::new(Exit::Usage, "--move-back needs the one folder from which files came"));
        };
        let moved = move_back(from, to)?;
        if !is_quiet {
            let mut out = stdout();
            writeln!(out, "moved {} back to {}", count(moved, "file"), to.shown())?;
            out.flush()?;
        }
        Ok(Exit::Ok)
    }

    /// Names existing archives that new ones replace.
    /// Says so if a game loads what is written. Only now it is known that root may look at the folder.
    fn warn_of_game(&self, folder: &Path) {
        [Some(folder), self.move_packed.as_deref()].into_iter().flatten().for_each(destination::warn_of_game);
    }

    fn print_replaced(&self, out: &mut Output, notes: &[Note]) -> Result<(), OutputError> {
        for note in notes {
            if self.json {
                out.json(&Line::Note { note })?;
            } else {
                log::warn!("{}: {note}", note.subject.shown());
            }
        }
        Ok(())
    }

    /// Names archives that are called like the new ones: those that were there `before`, and those that still
    /// are.
    fn print_leftovers(
        &self,
        out: &mut Output,
        (before, after): (&[Leftover], &[Leftover]),
        folder: &Path,
        is_quiet: bool,
    ) -> Result<(), OutputError> {
        for Leftover { name, kind, .. } in before {
            let path = folder.join(name);
            let path = path.strip_prefix(".").unwrap_or(&path).to_owned();
            if !after.iter().any(|it| it.name == *name) {
                if !is_quiet && !self.json {
                    let why = "an earlier run left it, and all its files are in the new archives";
                    writeln!(out, "removed {}: {why}", path.shown())?;
                }
                continue;
            }
            let text = leftover_text(*kind, self.overwrite && !self.dry_run);
            let note = Note::new(NoteCode::PackLeftover, path.to_string_lossy(), text);
            if self.json {
                out.json(&Line::Note { note: &note })?;
            } else {
                log::warn!("{}: {note}", note.subject.shown());
            }
        }
        Ok(())
    }

    fn options(&self, open: &OpenOptions) -> Result<PackOptions, Failure> {
        let patterns = |option: &str, patterns: &[String]| {
            if patterns.is_empty() {
                Ok(None)
            } else {
                Patterns::in_game(patterns)
                    .map(Some)
                    .map_err(|error| Failure::new(Exit::Usage, format!("--{option}: {error}")))
            }
        };
        let options = PackOptions {
            name: self.name.clone(),
            level: self.level,
            size_max: self.max_size,
            all: self.all,
            sources: self.script_sources,
            only: self.selection.patterns_in_game()?,
            listed: self.from.as_deref().map(path_list).transpose()?,
            any_path: self.any_path,
            exclude: patterns("exclude", &self.exclude)?,
            store: patterns("store", &self.store)?,
            odd_textures: self.odd_textures,
            encoding: open.code_page(),
            follows_links: self.follow_links,
            overwrites: self.overwrite,
            dummies: self.dummy,
            override_file: self.override_file,
            verifies: !self.no_verify,
            threads: self.threads,
            ..PackOptions::new(self.game.as_deref().unwrap_or_default())?
        };
        options.check()?;
        Ok(options)
    }

    /// The folder for the archives. An output that is called like an archive, and is no folder, is the file.
    fn place(&self, options: PackOptions) -> (PathBuf, PackOptions) {
        let Some(output) = &self.output else { return (PathBuf::from("."), options) };
        match output.file_name().filter(|name| is_archive_name(name.as_bytes()) && !output.is_dir()) {
            Some(name) => {
                let parent = output.parent().filter(|parent| *parent != Path::new(""));
                let folder = parent.map_or_else(|| PathBuf::from("."), Path::to_owned);
                (folder, PackOptions { file_name: Some(name.to_string_lossy().into()), ..options })
            }
            None => (output.clone(), options),
        }
    }

    /// What packing changes in a game. Anything that cannot be looked at there may decide it.
    fn effects(&self, plan: &Plan, game: &Path, unseen: &mut Unseen) -> Result<Effects, Failure> {
        let options = self.open.options().without(&["encoding", "archives"]);
        let (named, set) = (game.shown(), source_set(&[game.to_owned()], options.layout(Layout::Union))?);
        let game: Vfs = set.open()?.into();
        unseen.add(game.unseen());
        if let Some(why) = why_no_effects(plan, &game) {
            return Err(Failure::new(Exit::Usage, format!("--in {named}: {why}")));
        }
        let fate = |path: &Path| {
            let path = std::path::absolute(path).ok()?;
            let text = path.to_str()?.to_owned();
            let answer = why(&game, &set, &Question { asked: text.clone(), text, disk: Some(path) });
            let reason = answer.reasons.into_iter().next()?;
            Some(FateReason { fate: Some(answer.fate), ..reason })
        };
        Ok(effects_with(plan, &game, &fate))
    }

    fn print(
        &self,
        out: &mut Output,
        plan: &Plan,
        effects: &Effects,
        packed: &[Packed],
        folder: &Path,
        is_quiet: bool,
    ) -> Result<(), Failure> {
        if self.json {
            return Ok(print_json(out, plan, effects, packed)?);
        }
        if is_quiet {
            return Ok(());
        }
        if packed.is_empty() {
            for archive in plan.archives() {
                print_plan(out, archive)?;
            }
        }
        let (tables, others): (Vec<&Packed>, Vec<&Packed>) = packed.iter().partition(|it| it.is_of_other);
        // A merge of many mods has many of them.
        let (tables, together) =
            if tables.len() > TABLES_SHOWN { (vec![], tables) } else { (tables, vec![]) };
        for archive in others.into_iter().chain(tables) {
            let path = folder.join(OsStr::new(&archive.name));
            let path = path.strip_prefix(".").unwrap_or(&path);
            let shared = match archive.shared {
                0 => String::new(),
                shared => format!(", {shared} sharing the data of another"),
            };
            writeln!(
                out,
                "{}  {}: {} ({} compressed, {} stored{shared}), {} -> {}; {}",
                path.shown(),
                archive.kind,
                count(archive.files, "file"),
                archive.compressed,
                archive.stored,
                BinaryBytes(archive.size),
                BinaryBytes(archive.packed_size),
                archive.loader.words()
            )?;
        }
        if let [first, .., last] = &together[..] {
            let path = |archive: &Packed| folder.join(OsStr::new(&archive.name));
            writeln!(
                out,
                "{} to {}: {} with {} of tables of texts or lists of quests, each loaded by the plugin of \
                 its name, because no other plugin finds them",
                path(first).strip_prefix(".").unwrap_or(&path(first)).shown(),
                last.name.shown(),
                count(together.len(), "archive"),
                count(together.iter().map(|it| it.files).sum(), "file"),
            )?;
        }
        print_loose(out, plan.loose(), self.dry_run)?;
        print_superseded(out, plan)?;
        print_effects(out, &effects.changes, self.dry_run)?;
        for note in plan.notes().iter().chain(&effects.notes) {
            log::warn!("{}: {note}", note.subject.shown());
        }
        if packed.is_empty() {
            let archives = plan.archives().len();
            writeln!(out, "would write {}; nothing was written", count(archives, "archive"))?;
        } else {
            let (files, size) = plan.totals();
            let after: u64 = packed.iter().map(|archive| archive.packed_size).sum();
            let proved = if self.no_verify { "" } else { ", read back and equal to the source" };
            let headers = match plan.rebuilt_headers() {
                0 => String::new(),
                rebuilt => format!("; {} under a rebuilt header", count(rebuilt, "texture")),
            };
            writeln!(
                out,
                "packed {} in {}: {} -> {}{proved}{headers}",
                count(files, "file"),
                count(packed.len(), "archive"),
                BinaryBytes(size),
                BinaryBytes(after)
            )?;
        }
        Ok(())
    }
}

/// What an archive beside the new ones is, and what to do with it.
fn leftover_text(kind: LeftoverKind, was_overwritten: bool) -> String {
    let may_win = "the game may load it, too, and it may win over the new archives";
    match kind {
        LeftoverKind::Earlier if was_overwritten => format!(
            "an earlier run seems to have left it, and {may_win}; it has files that were not packed now with \
             the same bytes; remove it yourself"
        ),
        LeftoverKind::Earlier => format!(
            "an earlier run seems to have left it, and {may_win}; --overwrite removes it if all its files \
             are packed with the same bytes"
        ),
        LeftoverKind::Source => {
            format!("it is a source, and stays: {may_win}; move it away if the new ones replace it")
        }
        LeftoverKind::Other(files) => format!(
            "it is another archive, with {} that no new one has, and stays: {may_win}",
            count(files, "file")
        ),
        LeftoverKind::Unreadable => format!("it cannot be read, and stays: {may_win}"),
    }
}

/// Number of archives of tables that are printed one by one.
const TABLES_SHOWN: usize = 3;
/// Number of files of a plan that are printed for each way in which they stay loose.
const LOOSE_SHOWN: usize = 5;

fn how(how: How) -> &'static str {
    match how {
        How::Stored => "stored",
        How::Compressed => "compressed",
        How::Texture => "texture",
    }
}

fn print_plan(out: &mut Output, archive: &PlannedArchive) -> Result<(), OutputError> {
    let files = archive.files();
    let size = files.iter().map(|file| file.size).sum();
    writeln!(
        out,
        "{}  {}: {}, {}; {}{}",
        archive.name.shown(),
        archive.kind(),
        count(files.len(), "file"),
        BinaryBytes(size),
        archive.loader.words(),
        if archive.is_of_other { ", because no other plugin finds these tables" } else { "" }
    )?;
    for file in files {
        writeln!(out, "  {:<10}  {:>10}  {}", how(file.how), file.size, file.path.shown())?;
    }
    Ok(())
}

/// Prints what stays loose, by reason: all files of a dry run, otherwise some.
fn print_loose(out: &mut Output, loose: &[LeftOut], is_all: bool) -> Result<(), OutputError> {
    for &reason in LooseReason::ALL {
        let files: Vec<&LeftOut> = loose.iter().filter(|left| left.reason == reason).collect();
        if files.is_empty() {
            continue;
        }
        let stay = match (reason, files.len()) {
            // Those of an archive stay in it.
            (LooseReason::Excluded, _) => "left out",
            (_, 1) => "stays loose",
            _ => "stay loose",
        };
        writeln!(out, "{} {stay}: {}", count(files.len(), "file"), reason.words())?;
        let shown = if is_all || !reason.is_expected() { files.len() } else { LOOSE_SHOWN };
        for left in files.iter().take(shown) {
            let detail = if left.detail.is_empty() { String::new() } else { format!(": {}", left.detail) };
            writeln!(out, "  {}{detail}", left.path.shown())?;
        }
        if let more @ 1.. = files.len().saturating_sub(shown) {
            writeln!(out, "  and {more} more; --dry-run lists all")?;
        }
    }
    Ok(())
}

/// Prints how many copies are not packed, and lists them with `-v`.
fn print_superseded(out: &mut Output, plan: &Plan) -> Result<(), OutputError> {
    let all = plan.superseded();
    if !all.is_empty() {
        let equal = all.iter().filter(|it| it.is_equal).count();
        writeln!(
            out,
            "{} of paths that another source wins: {equal} with the same bytes, {} with other ones",
            if all.len() == 1 { "1 copy".to_owned() } else { format!("{} copies", all.len()) },
            all.len() - equal
        )?;
    }
    for it in all {
        let bytes = if it.is_equal { "the same" } else { "other" };
        let (path, source, winner) = (it.path.shown(), it.source.shown(), it.winner.shown());
        log::info!("{path}: {winner} wins over {source}, which has {bytes} bytes");
    }
    if let unselected @ 1.. = plan.unselected() {
        writeln!(out, "{} not selected by --glob or --from", count(unselected, "file"))?;
    }
    Ok(())
}

/// A path as a shell takes it.
fn quoted_path(path: Option<&PathBuf>) -> String {
    path.map_or_else(String::new, |path| quoted(&path.to_string_lossy()).to_string())
}

/// Reads the list of `--from`.
fn path_list(path: &Path) -> Result<PathList, Failure> {
    let read = if path == Path::new("-") {
        read_stream(std::io::stdin().lock(), NAMES_TEXT_MAX)
    } else {
        read_start(path, NAMES_TEXT_MAX)
    };
    let failed = |what: String| Failure::new(Exit::NoInput, format!("--from {}: {what}", path.shown()));
    match read {
        Ok((bytes, true)) => Ok(PathList::parse(&bytes)?),
        Ok((_, false)) => Err(failed("the list has more than 64 MiB".to_owned())),
        Err(error) => Err(failed(reason(&error))),
    }
}

/// Prints which files win or lose differently: all files of a dry run, otherwise some of each kind. Files
/// that nothing loads have a line for each reason, because the plan has their paths.
fn print_effects(out: &mut Output, changes: &[Effect], is_all: bool) -> Result<(), OutputError> {
    let then = |change: &Effect| match &*change.other {
        "" => "nothing has the path then".to_owned(),
        other => format!("the game then shows the one from {}", other.shown()),
    };
    let mut unloaded: BTreeMap<(&str, bool), Vec<&Effect>> = BTreeMap::new();
    for change in changes.iter().filter(|it| it.kind == EffectKind::Unloaded) {
        unloaded.entry((&change.why_unloaded, change.now == Fate::Wins)).or_default().push(change);
        log::info!("{}: {}", change.path.shown(), then(change));
    }
    for ((why, is_shown), files) in unloaded {
        let more = if is_shown { " any more" } else { "" };
        let others = match files.iter().filter(|it| !it.other.is_empty()).count() {
            0 => String::new(),
            others => format!("; the game shows other files at {others} of the paths"),
        };
        writeln!(out, "{} will not show{more}: {}{others}", count(files.len(), "file"), why.shown())?;
    }
    for kind in [EffectKind::Gone, EffectKind::Loses, EffectKind::Wins] {
        let changes: Vec<&Effect> = changes.iter().filter(|change| change.kind == kind).collect();
        let shown = if is_all { changes.len() } else { LOOSE_SHOWN };
        for change in changes.iter().take(shown) {
            let path = change.path.shown();
            let (what, then) = match kind {
                EffectKind::Wins => (
                    "wins once it is packed; until now,",
                    format!("the game shows the one from {}", change.other.shown()),
                ),
                EffectKind::Gone => ("is in an archive that is replaced, and in no new one;", then(change)),
                _ if change.now == Fate::Wins => {
                    ("loses once it is packed and the sources are gone;", then(change))
                }
                _ => ("will not be shown once it is packed;", then(change)),
            };
            writeln!(out, "{path} {what} {then}")?;
        }
        if let more @ 1.. = changes.len().saturating_sub(shown) {
            writeln!(out, "and {more} more of this kind; --dry-run lists all")?;
        }
    }
    Ok(())
}

fn print_json(
    out: &mut Output,
    plan: &Plan,
    effects: &Effects,
    packed: &[Packed],
) -> Result<(), OutputError> {
    for (nth, archive) in plan.archives().iter().enumerate() {
        let result = packed.get(nth);
        let file = |file: &'_ crate::pack::PlannedFile| (file.path.clone(), file.size, how(file.how));
        let files: Vec<_> = archive.files().iter().map(file).collect();
        let line = ArchiveLine {
            archive: &archive.name,
            kind: archive.kind(),
            files: files.len(),
            size: files.iter().map(|file| file.1).sum(),
            loaded_by: archive.loader.words(),
            plan: result
                .is_none()
                .then(|| files.iter().map(|(path, size, how)| FileLine { path, size: *size, how }).collect()),
            result: result.map(|it| ResultLine {
                stored: it.stored,
                compressed: it.compressed,
                shared: it.shared,
                packed: it.packed_size,
            }),
        };
        out.json(&Line::Archive(line))?;
    }
    for left in plan.loose() {
        let (loose, reason, detail) = (&*left.path, left.reason.code(), &*left.detail);
        out.json(&Line::Loose { loose, reason, detail })?;
    }
    for it in plan.superseded() {
        let (superseded, source, winner, equal) = (&*it.path, &*it.source, &*it.winner, it.is_equal);
        out.json(&Line::Superseded { superseded, source, winner, equal })?;
    }
    if let unselected @ 1.. = plan.unselected() {
        out.json(&Line::Unselected { unselected })?;
    }
    for change in &effects.changes {
        let (effect, path, other) = (change.kind.as_str(), &*change.path, &*change.other);
        out.json(&Line::Effect { effect, path, other, now: change.now })?;
    }
    plan.notes().iter().chain(&effects.notes).try_for_each(|note| out.json(&Line::Note { note }))
}

impl From<PackError> for Failure {
    fn from(error: PackError) -> Self {
        let exit = match error.kind() {
            PackErrorKind::Option => Exit::Usage,
            PackErrorKind::Source => Exit::No,
            PackErrorKind::Unreadable => Exit::NoInput,
            PackErrorKind::Output => Exit::CannotCreate,
            PackErrorKind::Io => Exit::Io,
            PackErrorKind::Differs => Exit::Data,
        };
        Self::new(exit, error.to_string())
    }
}
