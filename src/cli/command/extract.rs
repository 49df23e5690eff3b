//! `bsafs extract`: writes files to the disk.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use indicatif::BinaryBytes;

use crate::cli::exit::{Exit, Failure};
use crate::cli::options::named_sources::open_sources;
use crate::cli::options::open_args::{LayoutArg, OpenArgs, SALVAGE};
use crate::cli::options::selection::Selection;
use crate::cli::terminal::output::stdout;
use crate::cli::terminal::progress;
use crate::picture::{PictureError, has_full_png, write_full_png};
use crate::shown::Shown;
use crate::system::mountinfo;
use crate::system::output_place::LastLink;
use crate::system::text::count;
use crate::vfs::comparison::{equals, equals_written};
use crate::vfs::output_folder::{Existing, OutputFolder, Placed};
use crate::vfs::parallel::in_parallel;
use crate::vfs::sources::folder_name;
use crate::vfs::{OpenOptions, Vfs, VfsFile};

/// Extract files of archives and folders to a folder
///
/// Without -C, the files go into a folder named after the last source, in the current folder.
///
/// Existing files are kept, and the exit status is 1 if the bytes of one differ (-v lists such files). With
/// --overwrite, an existing file is replaced once its replacement was written completely. If a file cannot be
/// read or written, the others are still extracted, and the exit status is 1. If the disk is full, extract
/// stops. With --salvage, files with a wrong checksum are extracted, too. Existing links are neither followed
/// nor replaced, and nothing is written outside the folder.
#[derive(Args, Debug)]
pub(crate) struct Extract {
    /// Archives, folders, games, and other sources that `mount` accepts; if several have a file,
    /// the rightmost wins
    #[arg(required = true, value_name = "SOURCE")]
    archives: Vec<PathBuf>,
    /// Folder to extract to; created if it does not exist
    #[arg(short = 'C', long, value_name = "FOLDER")]
    directory: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    overwrite: bool,
    /// Keep existing files without a comparison; they do not change the exit status
    #[arg(long, conflicts_with = "overwrite")]
    skip_existing: bool,
    /// Print the paths of the files that would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write textures as PNG files in full size, with alpha as it is stored; other files as they are
    ///
    /// A cube's first face is written. Textures that cannot be decoded stay as they are.
    #[arg(long)]
    png: bool,
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
    /// A file exists already, and was kept. Whether it differs from the one to extract.
    Kept(bool),
    /// The path and the reason.
    Failed(String),
    /// Not written, because the disk is full. The error is set for the file that filled it.
    Full(Option<io::Error>),
}

/// The outcomes for all files.
#[derive(Default)]
struct Outcomes {
    written: usize,
    /// Length of the written files.
    bytes: u64,
    kept: usize,
    /// Kept files that differ.
    differing: usize,
    failed: Vec<String>,
    full: Option<io::Error>,
}

impl Extract {
    pub(crate) fn run(&self, is_quiet: bool) -> Result<Exit, Failure> {
        let options =
            OpenOptions { layout: self.layout.layout, salvage: self.salvage, ..self.open.options() };
        let vfs = open_sources(&self.archives, options)?;
        let mut files = vfs.select(&self.selection.patterns()?);
        if self.selection.is_unmatched(&files) {
            return Ok(Exit::No);
        }
        let sources = vfs.store().identities();
        let directory = self.directory(&sources);
        if self.dry_run {
            return self.dry_run(&vfs, &files, &directory, is_quiet);
        }
        // In stored order, so that a disk is read in one pass.
        files.sort_by_key(VfsFile::place);
        let last = if self.directory.is_some() { LastLink::Follow } else { LastLink::Refuse };
        let folder = OutputFolder::open(&directory, last, sources)
            .map_err(|error| Failure::not_made("the folder", &directory, &error))?;
        if folder.is_kept() {
            let why = "it is one of the sources, and its files would be replaced; give another folder";
            return Err(Failure::new(Exit::CannotCreate, format!("{}: {why}", directory.shown())));
        }
        let is_full = AtomicBool::new(false);
        let total = || files.iter().map(VfsFile::disk_size).sum();
        let advance = progress::bytes("extracting", files.len(), total);
        let pictures = self.pictures(&vfs, &files);
        let outcomes = in_parallel(files.len(), &|| {}, |index| {
            let outcome = self.write(&folder, &files[index], pictures[index].as_deref(), &is_full);
            advance(files[index].disk_size());
            outcome
        });
        let outcomes = Outcomes::of(outcomes);
        for failed in &outcomes.failed {
            log::error!("{failed}");
        }
        if !is_quiet {
            // If standard output is closed, the files have been written all the same.
            let mut out = stdout();
            let _ = writeln!(out, "{}", outcomes.line(&directory)).and_then(|()| out.flush());
        }
        if let Some(error) = outcomes.full {
            let what = format!("{}: {error}; extract stopped", directory.shown());
            return Err(Failure::new(Exit::Io, what));
        }
        let is_all = outcomes.failed.is_empty() && (outcomes.differing == 0 || self.skip_existing);
        Ok(if is_all { Exit::Ok } else { Exit::No })
    }

    /// The folder to extract to: the one that the user named, or one named after the last source. That one
    /// may exist, but is neither a source nor a mount of bsafs, which gives its mountpoints the same names.
    fn directory(&self, sources: &[(u64, u64)]) -> PathBuf {
        if let Some(directory) = &self.directory {
            return directory.clone();
        }
        // A mount is named instead of its sources.
        let named = self.archives.iter().filter_map(|source| std::fs::metadata(source).ok());
        let taken: Vec<(u64, u64)> =
            sources.iter().copied().chain(named.map(|it| (it.dev(), it.ino()))).collect();
        let mounted = mountinfo::bsafs_devices();
        let is_mounted = |device| mounted.as_ref().is_some_and(|is_mounted| is_mounted(device));
        // A link may have come with a mod, and lead anywhere. So it takes its name.
        let is_free = |name: &String| match std::fs::symlink_metadata(name) {
            Ok(found) => {
                found.is_dir() && !is_mounted(found.dev()) && !taken.contains(&(found.dev(), found.ino()))
            }
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        let last = self.archives.last().map_or(Path::new(""), PathBuf::as_path);
        let name = folder_name::candidates(last).take(CANDIDATES).find(is_free);
        name.unwrap_or_else(|| "extracted".into()).into()
    }

    /// The names under which textures are written if they can be decoded, decided before anything is written:
    /// no two files get the same one, and none gets the name of another file in the sources. `None` for a
    /// file that is written as it is.
    fn pictures(&self, vfs: &Vfs, files: &[VfsFile]) -> Vec<Option<Vec<u8>>> {
        let mut pictures = vec![None; files.len()];
        if !self.png {
            return pictures;
        }
        let is_texture =
            |file: &VfsFile| file.name().last_chunk::<4>().is_some_and(|end| end.eq_ignore_ascii_case(DDS));
        let mut textures: Vec<usize> = (0..files.len()).filter(|&index| is_texture(&files[index])).collect();
        // So that the names do not depend on the order of the data.
        textures.sort_by_cached_key(|&index| files[index].path_bytes());
        let mut taken = HashSet::new();
        for index in textures {
            let (name, mut folder) = (files[index].name(), files[index].path_bytes());
            folder.truncate(folder.len() - name.len());
            let stem = &name[..name.len() - DDS.len()];
            let numbered = (2..).map(|number: u64| [name, format!("-{number}").as_bytes(), PNG].concat());
            let mut names = [[stem, PNG].concat(), [name, PNG].concat()].into_iter().chain(numbered);
            pictures[index] = names.find(|name| {
                let path = [&folder[..], name].concat();
                let is_free = vfs.file(&path).is_none() && vfs.folder(&path).is_none();
                is_free && taken.insert(path.to_ascii_lowercase())
            });
        }
        pictures
    }

    /// Prints the paths that would be written.
    fn dry_run(
        &self,
        vfs: &Vfs,
        files: &[VfsFile],
        directory: &Path,
        is_quiet: bool,
    ) -> Result<Exit, Failure> {
        let mut out = stdout();
        let (mut written, mut bytes, mut kept) = (0, 0, 0);
        for (file, picture) in files.iter().zip(self.pictures(vfs, files)) {
            let name = picture_of(file, picture.as_deref()).unwrap_or(file.name());
            let path = directory.join(file.path()).with_file_name(OsStr::from_bytes(name));
            if !self.overwrite && path.symlink_metadata().is_ok() {
                kept += 1;
                continue;
            }
            written += 1;
            bytes += file.shown_size();
            writeln!(out, "{}", path.shown())?;
        }
        if !is_quiet {
            let kept = match kept {
                0 => String::new(),
                1 => "; 1 file exists already and would be kept".into(),
                _ => format!("; {kept} files exist already and would be kept"),
            };
            let (written, bytes) = (count(written, "file"), BinaryBytes(bytes));
            writeln!(out, "would write {written} ({bytes}) to {}{kept}", directory.shown())?;
        }
        out.flush()?;
        Ok(Exit::Ok)
    }

    /// Writes a file, unless the disk is full.
    /// `picture` is its name as a picture.
    fn write(
        &self,
        folder: &OutputFolder,
        file: &VfsFile,
        picture: Option<&[u8]>,
        is_full: &AtomicBool,
    ) -> Outcome {
        if is_full.load(Ordering::Relaxed) {
            return Outcome::Full(None);
        }
        let if_exists = match (self.overwrite, self.skip_existing) {
            (true, _) => Existing::Replace,
            (false, true) => Existing::Skip,
            (false, false) => Existing::Keep,
        };
        let picture = picture_of(file, picture);
        let is_png = picture.is_some();
        let placed = folder.write(file, picture.unwrap_or(file.name()), if_exists, |out| match is_png {
            true => {
                let png = full_png(file)?;
                out.write_all(&png).map(|()| png.len() as u64)
            }
            false => file.write_to(out),
        });
        let outcome = placed.and_then(|placed| {
            Ok(match placed {
                Placed::Written(len) => Outcome::Written(len),
                Placed::Kept(None) => Outcome::Kept(false),
                Placed::Kept(Some(Ok(existing))) if is_png => {
                    let png = full_png(file)?;
                    let is_equal =
                        equals_written(&existing, Some(png.len() as u64), |to| to.write_all(&png))?;
                    Outcome::Kept(!is_equal)
                }
                Placed::Kept(Some(Ok(existing))) => Outcome::Kept(!equals(file, &existing)?),
                Placed::Kept(Some(Err(_))) => Outcome::Kept(true),
            })
        });
        if let Some(error) = file.take_salvaged() {
            log::warn!("{}: {error}; used anyway because of --salvage", file.path());
        }
        if let Ok(Outcome::Kept(true)) = outcome {
            log::info!("{}: kept a file with other bytes", file.path());
        }
        outcome.unwrap_or_else(|error| match is_no_space(&error) {
            true => {
                is_full.store(true, Ordering::Relaxed);
                Outcome::Full(Some(error))
            }
            false => Outcome::Failed(format!("{}: {error}", file.path())),
        })
    }
}

impl Outcomes {
    fn of(outcomes: Vec<Outcome>) -> Self {
        let mut all = Self::default();
        for outcome in outcomes {
            match outcome {
                Outcome::Written(len) => {
                    all.written += 1;
                    all.bytes += len;
                }
                Outcome::Kept(differs) => {
                    all.kept += 1;
                    all.differing += usize::from(differs);
                }
                Outcome::Failed(what) => all.failed.push(what),
                Outcome::Full(error) => all.full = all.full.or(error),
            }
        }
        all.failed.sort_unstable();
        all
    }

    /// The line that sums them up.
    fn line(&self, directory: &Path) -> String {
        let (written, bytes) = (count(self.written, "file"), BinaryBytes(self.bytes));
        let differing = match self.differing {
            0 => String::new(),
            differing => format!(", {differing} of them with other bytes (-v lists them)"),
        };
        let kept = match self.kept {
            0 => String::new(),
            1 => format!("; 1 file exists already and was kept{differing}; --overwrite replaces it"),
            kept => {
                format!("; {kept} files exist already and were kept{differing}; --overwrite replaces them")
            }
        };
        let failed = match self.failed.len() {
            0 => String::new(),
            failed => format!("; {} could not be written", count(failed, "file")),
        };
        format!("wrote {written} ({bytes}) to {}{kept}{failed}", directory.shown())
    }
}

/// How the names of textures end.
const DDS: &[u8; 4] = b".dds";
/// How the names of pictures end.
const PNG: &[u8] = b".png";

/// The name as a picture, if the file is a texture that can be decoded.
fn picture_of<'n>(file: &VfsFile, name: Option<&'n [u8]>) -> Option<&'n [u8]> {
    name.filter(|_| has_full_png(&mut file.reader()))
}

/// A texture as a PNG file.
fn full_png(file: &VfsFile) -> io::Result<Vec<u8>> {
    let mut png = Vec::new();
    match write_full_png(&mut file.reader(), &mut png) {
        Ok(()) => Ok(png),
        Err(PictureError::Io(error)) => Err(error),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Maximum number of names to try for a folder named after a source.
const CANDIDATES: usize = 1000;

/// Whether no other file can be written either.
fn is_no_space(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
