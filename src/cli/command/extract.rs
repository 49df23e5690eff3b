//! `bsafs extract`: writes files to the disk.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use indicatif::BinaryBytes;

use crate::cli::exit::{Exit, Failure};
use crate::cli::options::named_sources::open_sources;
use crate::cli::options::open_args::{LayoutArg, OpenArgs, SALVAGE};
use crate::cli::options::selection::Selection;
use crate::cli::terminal::output::stdout;
use crate::cli::terminal::progress::steps;
use crate::system::text::count;
use crate::vfs::output_folder::OutputFolder;
use crate::vfs::parallel::in_parallel;
use crate::vfs::{OpenOptions, VfsFile};

/// Extract files of archives and folders to a folder
///
/// An existing file is replaced only after its replacement was written completely. If a file cannot be
/// read or written, the others are still extracted, and the exit status is 1. If the disk is full, extract
/// stops. With --salvage, files with a wrong checksum are extracted, too. Existing links are neither
/// followed nor replaced, and nothing is written outside the folder.
#[derive(Args, Debug)]
pub(crate) struct Extract {
    /// Archives, folders, games, and other sources that `mount` accepts; if several have a file,
    /// the rightmost wins
    #[arg(required = true, value_name = "SOURCE")]
    archives: Vec<PathBuf>,
    /// Folder to extract to; created if it does not exist
    #[arg(short = 'C', long, value_name = "FOLDER", default_value = ".")]
    directory: PathBuf,
    /// Do not replace existing files
    #[arg(long)]
    skip_existing: bool,
    #[arg(long, help = SALVAGE)]
    salvage: bool,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    layout: LayoutArg,
    #[command(flatten)]
    open: OpenArgs,
}

/// The outcome for one file.
enum Outcome {
    /// The length in bytes.
    Written(u64),
    Skipped,
    /// The path and the reason.
    Failed(String),
    /// Not written, because the disk is full.
    Full(io::Error),
}

impl Extract {
    pub(crate) fn run(&self, is_quiet: bool) -> Result<Exit, Failure> {
        let options =
            OpenOptions { layout: self.layout.layout, salvage: self.salvage, ..self.open.options() };
        let vfs = open_sources(&self.archives, options)?;
        let mut files = vfs.select(&self.selection.patterns()?);
        // In stored order, so that a disk is read in one pass.
        files.sort_by_key(VfsFile::place);
        let folder = OutputFolder::open(&self.directory, vfs.store().identities())
            .map_err(|error| Failure::not_made("the folder", &self.directory, &error))?;
        if folder.is_kept() {
            let why = "it is one of the sources, and its files would be replaced; name another folder";
            return Err(Failure::new(Exit::CannotCreate, format!("{}: {why}", self.directory.display())));
        }
        let is_full = AtomicBool::new(false);
        let outcomes = in_parallel(files.len(), &steps("extracting", files.len()), |index| {
            self.write(&folder, &files[index], &is_full)
        });
        let (mut written, mut bytes, mut failed, mut full) = (0, 0, Vec::new(), None);
        for outcome in outcomes {
            match outcome {
                Outcome::Written(len) => {
                    written += 1;
                    bytes += len;
                }
                Outcome::Skipped => {}
                Outcome::Failed(what) => failed.push(what),
                Outcome::Full(error) => full = Some(error),
            }
        }
        failed.sort_unstable();
        for failed in &failed {
            log::error!("{failed}");
        }
        let (written, bytes, folder) = (count(written, "file"), BinaryBytes(bytes), self.directory.display());
        let left_out = match failed.len() {
            0 => String::new(),
            failed => format!("; {} could not be written", count(failed, "file")),
        };
        if !is_quiet {
            // If standard output is closed, the files have been written all the same.
            let mut out = stdout();
            let _ =
                writeln!(out, "wrote {written} ({bytes}) to {folder}{left_out}").and_then(|()| out.flush());
        }
        if let Some(error) = full {
            return Err(Failure::new(Exit::Io, format!("{folder}: {error}; extract stopped")));
        }
        Ok(if failed.is_empty() { Exit::Ok } else { Exit::No })
    }

    /// Writes a file, unless the disk is full.
    fn write(&self, folder: &OutputFolder, file: &VfsFile, is_full: &AtomicBool) -> Outcome {
        if is_full.load(Ordering::Relaxed) {
            return Outcome::Skipped;
        }
        let written = folder.write(file, self.skip_existing, |out| file.write_to(out));
        if let Some(error) = file.take_salvaged() {
            log::warn!("{}: {error}; written anyway because of --salvage", file.path());
        }
        match written {
            Ok(Some(len)) => Outcome::Written(len),
            Ok(None) => Outcome::Skipped,
            Err(error) if is_no_space(&error) => {
                is_full.store(true, Ordering::Relaxed);
                Outcome::Full(error)
            }
            Err(error) => Outcome::Failed(format!("{}: {error}", file.path())),
        }
    }
}

/// Whether no other file can be written either.
fn is_no_space(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
