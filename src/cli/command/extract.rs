//! `bsafs extract`: files written to the disk.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use indicatif::BinaryBytes;

use crate::cli::exit::{Exit, Failure};
use crate::cli::options::named_sources::source_set;
use crate::cli::options::open_args::{LayoutArg, OpenArgs, SALVAGE};
use crate::cli::options::selection::{Selection, path};
use crate::cli::terminal::output::stdout;
use crate::cli::terminal::progress::steps;
use crate::format::EntryId;
use crate::system::text::count;
use crate::tree::NodeId;
use crate::vfs::OpenOptions;
use crate::vfs::open::Opened;
use crate::vfs::output_folder::OutputFolder;
use crate::vfs::parallel::in_parallel;

/// Write files of archives and folders to a folder
///
/// A file replaces one that is there once it is whole. One that cannot be read or written is named, and the others are
/// written; the exit status is then 1. `--salvage` writes bad files that have all their bytes. Links that are there are
/// neither followed nor replaced, and nothing is written outside the folder.
#[derive(Args, Debug)]
pub(crate) struct Extract {
    /// Archives, folders, games, and whatever else `mount` takes; where two have a file, the rightmost wins
    #[arg(required = true, value_name = "SOURCE")]
    archives: Vec<PathBuf>,
    /// The folder to write to; made if it is missing
    #[arg(short = 'C', long, value_name = "FOLDER", default_value = ".")]
    directory: PathBuf,
    /// Leave files alone that are there already
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

/// What became of a file.
enum Outcome {
    /// Its length in bytes.
    Written(u64),
    Skipped,
    /// The path and the reason.
    Failed(String),
}

impl Extract {
    pub(crate) fn run(&self, is_quiet: bool) -> Result<Exit, Failure> {
        let options =
            OpenOptions { layout: self.layout.layout, salvage: self.salvage, ..self.open.options() };
        let opened = source_set(&self.archives, options)?.open()?;
        let mut files = self.selection.files(&opened.tree)?;
        // So that a disk is read in one pass.
        files.sort_by_key(|(_, entry)| (entry.layer, opened.store.offset(*entry)));
        let folder = OutputFolder::open(&self.directory, opened.store.identities())
            .map_err(|error| Failure::not_made("the folder", &self.directory, &error))?;
        if folder.is_kept() {
            let why = "it is one of the sources, whose files would be replaced; name another folder";
            return Err(Failure::new(Exit::CannotCreate, format!("{}: {why}", self.directory.display())));
        }
        let outcomes = in_parallel(files.len(), &steps("extracting", files.len()), |index| {
            let (node, entry) = files[index];
            self.write(&opened, &folder, node, entry)
        });
        let (mut written, mut bytes, mut failed) = (0, 0, Vec::new());
        for outcome in outcomes {
            match outcome {
                Outcome::Written(len) => {
                    written += 1;
                    bytes += len;
                }
                Outcome::Skipped => {}
                Outcome::Failed(what) => failed.push(what),
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
            // The files are written, whether or not standard output is open.
            let mut out = stdout();
            let _ =
                writeln!(out, "wrote {written} ({bytes}) to {folder}{left_out}").and_then(|()| out.flush());
        }
        Ok(if failed.is_empty() { Exit::Ok } else { Exit::No })
    }

    fn write(&self, opened: &Opened, folder: &OutputFolder, node: NodeId, entry: EntryId) -> Outcome {
        let (store, tree) = (&opened.store, &opened.tree);
        let written = folder.write(tree, node, self.skip_existing, |out| store.copy(entry, out));
        if let Some(error) = store.take_salvaged(entry) {
            log::warn!("{}: {error}; its bytes are written all the same", path(tree, node));
        }
        match written {
            Ok(Some(len)) => Outcome::Written(len),
            Ok(None) => Outcome::Skipped,
            Err(error) => Outcome::Failed(format!("{}: {error}", path(tree, node))),
        }
    }
}
