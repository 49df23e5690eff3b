//! `bsafs extract`: files written to the disk.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::BinaryBytes;

use super::exit::{Exit, Failure};
use super::open::OpenedArchives;
use super::open_args::{OpenArgs, SALVAGE};
use super::output::count;
use super::selection::{Selection, path};
use super::{cache_size, progress};
use crate::format::EntryId;
use crate::tree::NodeId;

/// Write files of archives to a folder
///
/// A bad file is named and skipped; the exit status is then 1. `--salvage` writes those that have all their bytes. Nothing is ever written outside the folder.
#[derive(Args, Debug)]
pub(super) struct Extract {
    /// Archives; where two have a file, the rightmost wins
    #[arg(required = true, value_name = "ARCHIVE")]
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
    open: OpenArgs,
}

impl Extract {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let opened =
            OpenedArchives::open(&self.archives, &self.open, cache_size::DEFAULT)?.salvaging(self.salvage);
        let files = self.selection.files(&opened.tree)?;
        fs::create_dir_all(&self.directory)
            .map_err(|error| Failure::io(Exit::CannotCreate, &self.directory, &error))?;
        let bar = progress::bar(files.len() as u64, "extracting");
        let (mut written, mut bytes, mut bad, mut salvaged) = (0, 0, Vec::new(), Vec::new());
        for (node, entry) in files {
            let result = self.write(&opened, node, entry);
            if let Some(error) = opened.store.take_salvaged(entry) {
                salvaged.push(format!(
                    "{}: {error}; its bytes are written all the same",
                    path(&opened.tree, node)
                ));
            }
            match result {
                Ok(Some(len)) => {
                    written += 1;
                    bytes += len;
                }
                Ok(None) => {}
                // The output failed, as it will for the next file; errors of `Store::copy` itself are of kind Other.
                Err(error) if error.kind() != io::ErrorKind::Other => {
                    let target = self.directory.join(path(&opened.tree, node));
                    return Err(Failure::io(Exit::CannotCreate, &target, &error));
                }
                Err(error) => bad.push(format!("{}: {error}", path(&opened.tree, node))),
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        for salvaged in &salvaged {
            log::warn!("{salvaged}");
        }
        for bad in &bad {
            log::error!("{bad}");
        }
        let (written, bytes, folder) = (count(written, "file"), BinaryBytes(bytes), self.directory.display());
        let faults = match bad.len() {
            0 => String::new(),
            bad => format!("; {} could not be read", count(bad, "file")),
        };
        // The files are written, whether or not standard output is open.
        let _ = writeln!(io::stdout(), "wrote {written} ({bytes}) to {folder}{faults}");
        Ok(if bad.is_empty() { Exit::Ok } else { Exit::No })
    }

    /// Writes one file and returns its length, or `None` where it exists and is skipped. A file that fails midway is
    /// removed.
    fn write(&self, opened: &OpenedArchives, node: NodeId, entry: EntryId) -> io::Result<Option<u64>> {
        let target = self.make_folders(opened, node)?;
        if self.skip_existing && fs::symlink_metadata(&target).is_ok() {
            return Ok(None);
        }
        // Removed first, for a write would follow a link.
        match fs::remove_file(&target) {
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "a folder is in the way"));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = File::options().write(true).create_new(true).open(&target)?;
        let mut out = BufWriter::with_capacity(1 << 16, file);
        let written = opened.store.copy(entry, &mut out).and_then(|len| out.flush().map(|()| len));
        if written.is_err() {
            drop(out);
            fs::remove_file(&target)?;
        }
        written.map(Some)
    }

    /// Makes the folders of a file below the output folder, none of which may be a link, and returns the file's path.
    fn make_folders(&self, opened: &OpenedArchives, node: NodeId) -> io::Result<PathBuf> {
        let mut target = self.directory.clone();
        let relative = opened.tree.path(node);
        let relative = Path::new(std::ffi::OsStr::from_bytes(&relative));
        for folder in relative.parent().into_iter().flat_map(Path::components) {
            target.push(folder);
            match fs::create_dir(&target) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) if !fs::symlink_metadata(&target)?.is_dir() => {
                    return Err(io::Error::new(
                        io::ErrorKind::NotADirectory,
                        "a file or a link is in the way",
                    ));
                }
                _ => {}
            }
        }
        target.push(relative.file_name().unwrap_or_default());
        Ok(target)
    }
}
