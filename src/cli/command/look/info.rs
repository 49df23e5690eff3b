//! `bsafs info`: prints the header, counts and codecs of archives, and what folders contain.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::slice;

use clap::Args;
use indicatif::BinaryBytes;
use serde::Serialize;

use crate::answers::structure::{structure, without_texels};
use crate::cli::command::explain::order;
use crate::cli::exit::{Exit, Failure, OutputError};
use crate::cli::inquiry::Inquiry;
use crate::cli::options::named_sources::source_set;
use crate::cli::options::option_table::OpenArgs;
use crate::cli::terminal::output::StyledWrite;
use crate::cli::terminal::unseen::Unseen;
use crate::cli::ui::Ui;
use crate::game::LoadOrder;
use crate::note::{Counted, Note, NoteCode};
use crate::shown::Shown;
use crate::system::text::count;
use crate::vfs::opened_archive::{Description, unreadable};
use crate::vfs::opening::named_folder::NamedFolder;
use crate::vfs::sources::profile::SourceSet;
use crate::vfs::sources::{loose_notes, resolve};
use crate::vfs::{Layout, OpenError, Vfs, VfsFile};

/// Print the format, version, flags, counts, codecs, sizes and anomalies of archives
///
/// For a folder, prints a summary of its loose files, and then each of its archives. For a game, prints
/// what `bsafs order` prints, and the active plugins. For a profile, prints each of its sources.
///
/// The exit status is 1 if something in a folder or game was not looked at.
#[derive(Args, Debug)]
pub(crate) struct Info {
    /// Archives, folders, games, and other sources that `mount` accepts
    #[arg(required = true, value_name = "SOURCE")]
    archives: Vec<PathBuf>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    open: OpenArgs,
}

/// The information about one archive or folder.
#[derive(Serialize)]
struct Summary {
    archive: String,
    format: &'static str,
    /// `None` if the format has no version.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    kind: &'static str,
    games: &'static str,
    platform: &'static str,
    flags: u32,
    flag_names: Vec<&'static str>,
    /// The encoding of stored names. `None` for a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
    /// Why names are read in this encoding; empty for a folder.
    #[serde(skip_serializing_if = "str::is_empty")]
    encoding_reason: &'static str,
    folders: usize,
    files: usize,
    archive_bytes: u64,
    /// Total size of all files as a mount shows them, in bytes.
    bytes: u64,
    codecs: BTreeMap<&'static str, usize>,
    notes: Vec<Note>,
}

impl Info {
    pub(crate) fn run(&self, _: &Ui) -> Result<Exit, Failure> {
        Inquiry::run(self.json, |inquiry| self.answer(inquiry))
    }

    fn answer(&self, inquiry: &mut Inquiry) -> Result<(), Failure> {
        for source in &self.archives {
            // Report each source separately, so that a profile's options apply only to the sources
            // that it names.
            let set = source_set(slice::from_ref(source), self.open.options().layout(Layout::Union))?;
            inquiry.unseen.add(&set.options.unseen);
            for (path, set) in set.each() {
                answer_source(path, &set, inquiry)?;
            }
        }
        Ok(())
    }
}

fn answer_source(source: &Path, set: &SourceSet, inquiry: &mut Inquiry) -> Result<(), Failure> {
    if let Some(mut order) = resolve::plan_source(source, &set.options)? {
        loose_notes::add(&mut order, &set.options);
        inquiry.unseen.add(&order.notes);
        return Ok(inquiry.put(|| order::document(&order, &[]), |out| write_game(out, &order))?);
    }
    if !source.is_dir() {
        return Ok(summary(source, set, &mut inquiry.unseen)?.put(inquiry)?);
    }
    let NamedFolder { loose, archives, notes } = NamedFolder::open(source, &set.options)?;
    inquiry.unseen.add(&notes);
    Summary { notes, ..folder(source, &loose.into(), &mut inquiry.unseen) }.put(inquiry)?;
    for archive in archives {
        match summary(&archive, set, &mut inquiry.unseen) {
            Ok(summary) => summary.put(inquiry)?,
            Err(error) => inquiry.unseen.add([&unreadable(&archive, &error)]),
        }
    }
    Ok(())
}

/// Writes what a game loads, and its plugins.
fn write_game(out: &mut impl StyledWrite, order: &LoadOrder) -> io::Result<()> {
    order::write_lines(out, order, &[], false)?;
    if !order.plugins.is_empty() {
        writeln!(out, "\n{}, in load order", count(order.plugins.len(), "active plugin"))?;
    }
    order.plugins.iter().try_for_each(|plugin| writeln!(out, "  {}", plugin.shown()))
}

/// Summarizes an archive, opened with the options of `set`.
fn summary(archive: &Path, set: &SourceSet, unseen: &mut Unseen) -> Result<Summary, OpenError> {
    let vfs = Vfs::from(set.only(archive).open()?);
    let subject = archive.to_string_lossy();
    // This reads all headers that decide how textures are shown.
    let (codecs, files, bytes) = contents(&vfs);
    unseen.add(vfs.unseen());
    unseen.add_sizes(vfs.files());
    let kept = vfs.kept_textures();
    let description = vfs.opened().archives().next();
    let Some(Description { about, encoding, notes }) = description else {
        return Ok(folder(archive, &vfs, unseen));
    };
    let structure = structure(archive, &set.options)?;
    let notes = notes.iter().cloned().chain(structure).chain(without_texels(&vfs, &subject));
    let mut notes: Vec<Note> = notes.chain(kept).collect();
    let known: BTreeSet<NoteCode> = notes.iter().map(|note| note.code).collect();
    notes.extend(notes_of_data(&vfs, &subject).into_iter().filter(|note| !known.contains(&note.code)));
    Ok(Summary {
        archive: subject.into_owned(),
        format: about.format,
        version: (about.version != 0).then_some(about.version),
        kind: about.kind,
        games: about.games,
        platform: about.platform,
        flags: about.flags,
        flag_names: about.flag_names.clone(),
        encoding: Some(encoding.encoding.name()),
        encoding_reason: encoding.why.words(),
        folders: vfs.tree().len() as usize - files - 1,
        files,
        archive_bytes: vfs.store().archive_bytes(),
        bytes,
        codecs,
        notes,
    })
}

/// Maximum number of bytes of an archive that are read to see what only the data of files shows.
const SAMPLE_MAX: u64 = 4 << 20;

/// Notes on what only the data of files shows, such as another codec than stated, for the first files of an
/// archive.
fn notes_of_data(vfs: &Vfs, subject: &str) -> Vec<Note> {
    let mut files: Vec<_> = vfs.files().collect();
    files.sort_unstable_by_key(VfsFile::entry);
    let mut left = SAMPLE_MAX;
    let is_in_sample = |file: &VfsFile| {
        // Decoding takes as long as what comes out is large.
        let read = left.checked_sub(file.disk_size().max(file.size_or_estimate()).max(1));
        left = read.unwrap_or(left);
        read.is_some()
    };
    files.retain(is_in_sample);
    let mut found = Counted::default();
    for file in &files {
        let Ok(examined) = file.examine() else { continue };
        let codes: BTreeSet<NoteCode> = examined.quirks.iter().map(|quirk| quirk.code()).collect();
        for code in codes {
            found.add(code, 1, || file.path());
        }
    }
    let note = |code: NoteCode, number: usize| {
        let (thing, which) = code.in_words();
        let text = format!(
            "{}{which}, among the {} that `info` reads; `bsafs verify` reads all",
            count(number, thing),
            files.len()
        );
        Note::new(code, subject, text)
    };
    found.notes(note).collect()
}

/// Returns the number of files by codec, the number of all files, and their total size in bytes.
fn contents(vfs: &Vfs) -> (BTreeMap<&'static str, usize>, usize, u64) {
    let mut codecs = BTreeMap::new();
    let (mut files, mut bytes) = (0, 0);
    for file in vfs.files() {
        *codecs.entry(file.codec()).or_insert(0) += 1;
        files += 1;
        bytes += file.size_or_estimate();
    }
    (codecs, files, bytes)
}

/// Summarizes the loose files of a folder.
fn folder(path: &Path, loose: &Vfs, unseen: &mut Unseen) -> Summary {
    unseen.add_sizes(loose.files());
    let (codecs, files, bytes) = contents(loose);
    Summary {
        archive: path.to_string_lossy().into_owned(),
        format: "folder",
        version: None,
        kind: "",
        games: "loose files",
        platform: "any",
        flags: 0,
        flag_names: Vec::new(),
        encoding: None,
        encoding_reason: "",
        folders: loose.tree().len() as usize - files - 1,
        files,
        archive_bytes: loose.store().archive_bytes(),
        bytes,
        codecs,
        notes: Vec::new(),
    }
}

impl Summary {
    fn put(&self, inquiry: &mut Inquiry) -> Result<(), OutputError> {
        inquiry.put(|| self, |out| self.write(out))
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let kind = if self.kind.is_empty() { String::new() } else { format!(" {}", self.kind) };
        writeln!(out, "{}", self.archive.shown())?;
        let version = self.version.map_or_else(String::new, |version| format!(", version {version}"));
        writeln!(out, "  format         {}{kind}{version} ({})", self.format, self.games)?;
        writeln!(out, "  platform       {}", self.platform)?;
        if !self.flag_names.is_empty() {
            writeln!(out, "  flags          {:#x}: {}", self.flags, self.flag_names.join(", "))?;
        }
        if let Some(encoding) = self.encoding {
            writeln!(out, "  names          {encoding}: {}", self.encoding_reason)?;
        }
        writeln!(out, "  holds          {} in {}", count(self.files, "file"), count(self.folders, "folder"))?;
        let (bytes, packed) = (BinaryBytes(self.bytes), BinaryBytes(self.archive_bytes));
        match self.format {
            "folder" => writeln!(out, "  sizes          {bytes}")?,
            _ => writeln!(out, "  sizes          {bytes} unpacked, {packed} in the archive")?,
        }
        let codecs: Vec<String> =
            self.codecs.iter().map(|(codec, files)| format!("{codec}: {files}")).collect();
        writeln!(out, "  codecs         {}", codecs.join(", "))?;
        for note in &self.notes {
            writeln!(out, "  odd            {}", note.to_string().shown())?;
        }
        Ok(())
    }
}
