//! `bsafs verify`: decodes every file and lists the damaged ones.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::slice;

use clap::Args;
use serde::Serialize;

use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::options::named_sources::source_set;
use crate::cli::options::open_args::OpenArgs;
use crate::cli::options::selection::Selection;
use crate::cli::terminal::output::{stdout_for, write_json};
use crate::cli::terminal::progress;
use crate::cli::ui::Ui;
use crate::format::Codec;
use crate::game::LayerKind;
use crate::note::{Note, NoteCode, Notes};
use crate::shown::Shown;
use crate::system::text::count;
use crate::vfs::named_folder::NamedFolder;
use crate::vfs::parallel::in_parallel;
use crate::vfs::sources::resolve;
use crate::vfs::sources::source_set::SourceSet;
use crate::vfs::structure::{Structure, structure};
use crate::vfs::{Layout, Vfs, VfsFile};

/// Decode every file of archives, and print those that are bad
///
/// Checksums are compared if the data has any: zlib streams have one, and LZ4 frames have the
/// checksums that their flags announce. Uncompressed files, LZ4 blocks (some of Starfield's textures) and
/// XMem data (Xbox 360) have none. Damage in these is found only if it changes the length or makes the data
/// undecodable. The last line counts the files without a checksum.
///
/// Lines that begin with "odd:" tell what is wrong with the archive's tables, such as files that the game
/// does not find, and what was read against a flag, a length or the version. Such files are not bad.
///
/// The exit status is 0 if all files are OK, and 1 if a file is bad or no file matches a pattern. If an
/// archive cannot be opened, the exit status is that of the error.
#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// Sources, and then paths or patterns of files in them, in any case
    #[arg(required = true, value_name = "SOURCE|PATH")]
    archives: Vec<PathBuf>,
    /// Print one JSON object per line: an archive, or the loose files of a folder
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    open: OpenArgs,
}

/// What was found in one archive.
#[derive(Serialize)]
struct Findings {
    archive: String,
    files: usize,
    bad: Vec<Finding>,
    /// What is odd about the archive, and about files that are whole.
    notes: Vec<Note>,
    /// How many files no checksum covers, so that flipped bits stay unseen.
    unchecked: usize,
    /// How many of these are LZ4 frames, which may have a checksum.
    unchecked_lz4_frames: usize,
}

/// What was found in one file.
#[derive(Serialize)]
struct Finding {
    path: String,
    what: String,
}

impl Verify {
    pub(crate) fn run(&self, ui: &Ui) -> Result<Exit, Failure> {
        let mut out = stdout_for(self.json);
        let (sources, selected) = self.selection.split(&self.archives)?;
        let mut missing = selected.paths();
        let (mut exit, mut files) = (Exit::Ok, 0);
        let mut report = |findings: Findings| {
            // An archive without a selected file was not named.
            if findings.files == 0 && selected.is_limited() {
                return Ok(());
            }
            files += findings.files;
            if !findings.bad.is_empty() {
                exit = Exit::No;
            }
            if self.json {
                write_json(&mut out, &findings).map_err(OutputError)?
            } else {
                findings.write(&mut out, ui.is_quiet).map_err(OutputError)?
            }
            out.flush()
        };
        for source in sources {
            // Check each source separately, so that a profile's options apply only to the sources
            // that it names.
            let set = source_set(slice::from_ref(source), self.open.options().layout(Layout::Union))?;
            // If a profile sets `salvage`, suspect files are still not sound.
            let set = SourceSet { options: set.options.salvage(false), ..set };
            for (path, set) in set.each() {
                let mut select = |vfs: &Vfs| selected.files_among(vfs, &mut missing);
                verify_source(path, &set, &mut select, &mut report)?;
            }
        }
        selected.refuse(&missing, None)?;
        Ok(if selected.is_unmatched(files) { Exit::No } else { exit })
    }
}

/// Checks and reports each archive of a game, a folder and the archives in it, or a single archive.
fn verify_source(
    source: &Path,
    set: &SourceSet,
    select: &mut impl FnMut(&Vfs) -> Vec<VfsFile>,
    report: &mut impl FnMut(Findings) -> Result<(), OutputError>,
) -> Result<(), Failure> {
    if let Some(order) = resolve::plan_source(source, &set.options)? {
        for layer in order.layers.iter().filter(|layer| layer.what == LayerKind::Archive) {
            let findings = verify_archive(&layer.path, set, select)?;
            // Only the game's rules show whether the game reads this version.
            let subject = layer.path.to_string_lossy();
            let is_version = |note: &&Note| note.code == NoteCode::ArchiveVersion && note.subject == subject;
            let notes = order.notes.iter().filter(is_version).cloned().chain(findings.notes).collect();
            report(Findings { notes, ..findings })?;
        }
        return Ok(());
    }
    if !source.is_dir() {
        return Ok(report(verify_archive(source, set, select)?)?);
    }
    let NamedFolder { loose, archives } = NamedFolder::open(source, &set.options)?;
    for archive in &archives {
        report(verify_archive(archive, set, select)?)?;
    }
    Ok(report(findings(source, select(&loose.into()), Structure::default()))?)
}

fn verify_archive(
    archive: &Path,
    set: &SourceSet,
    select: &mut impl FnMut(&Vfs) -> Vec<VfsFile>,
) -> Result<Findings, Failure> {
    let vfs = Vfs::from(set.only(archive).open()?);
    let mut structure = structure(archive, &set.options)?;
    // What the parser noted comes first.
    let parsed = vfs.opened().archives().flat_map(|description| description.notes.clone());
    structure.notes = parsed.chain(structure.notes).collect();
    Ok(findings(archive, select(&vfs), structure))
}

/// Checks files of one archive or folder, whose structure was judged.
fn findings(source: &Path, mut files: Vec<VfsFile>, structure: Structure) -> Findings {
    // In stored order, so that the disk is read sequentially.
    files.sort_unstable_by_key(VfsFile::entry);
    let total = || files.iter().map(VfsFile::disk_size).sum();
    let advance = progress::bytes("verifying", files.len(), total);
    let checked = in_parallel(files.len(), &|| {}, |index| {
        let checked = files[index].examine();
        advance(files[index].disk_size());
        checked
    });
    let (mut bad, mut notes) = (Vec::new(), Notes::new(NOTES_MAX));
    let (mut unchecked, mut unchecked_lz4_frames) = (0, 0);
    for (file, checked) in files.iter().zip(checked) {
        let path = file.path();
        let texels = structure.bad.binary_search_by_key(&file.entry().entry, |(entry, _)| *entry);
        match (checked, texels) {
            (Err(error), _) => bad.push(Finding { path, what: error.kind().to_string() }),
            (Ok(_), Ok(index)) => bad.push(Finding { path, what: structure.bad[index].1.clone() }),
            (Ok(examined), Err(_)) => {
                unchecked += usize::from(examined.unchecked.is_some());
                unchecked_lz4_frames += usize::from(examined.unchecked == Some(Codec::Lz4Frame));
                for quirk in examined.quirks {
                    notes.add(quirk.code(), || Note::new(quirk.code(), &*path, quirk.to_string()));
                }
            }
        }
    }
    let notes = structure.notes.into_iter().chain(notes.into_vec()).collect();
    let archive = source.to_string_lossy().into_owned();
    Findings { archive, files: files.len(), bad, notes, unchecked, unchecked_lz4_frames }
}

/// Maximum number of notes of one code about the files of an archive.
const NOTES_MAX: usize = 1_000;

impl Findings {
    fn write(&self, out: &mut impl Write, is_quiet: bool) -> std::io::Result<()> {
        for Finding { path, what } in &self.bad {
            writeln!(out, "bad: {}: {}", path.shown(), what.shown())?;
        }
        if is_quiet {
            return Ok(());
        }
        for note in &self.notes {
            writeln!(out, "odd: {}: {}", note.subject.shown(), note.to_string().shown())?;
        }
        let verdict = match self.bad.len() {
            0 => "nothing wrong found".into(),
            bad => format!("{bad} bad"),
        };
        let unchecked = match (self.unchecked, self.unchecked_lz4_frames) {
            (0, _) => String::new(),
            (1, _) => "; 1 has no checksum".into(),
            (unchecked, 0) => format!("; {unchecked} have no checksum"),
            (unchecked, frames) => {
                format!("; {unchecked} have no checksum, {} among them", count(frames, "LZ4 frame"))
            }
        };
        writeln!(out, "{}: {}, {verdict}{unchecked}", self.archive.shown(), count(self.files, "file"))
    }
}
