//! The layers to be opened, before any is: what a user names, and what a folder brings along.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use super::exit::{Exit, Failure};
use super::open_args::FolderArchives;
use crate::folder::{self, Filter, Folder, FolderNames, OpenFiles};

/// A layer, lowest first in a list of them.
#[derive(Clone, Debug)]
pub(super) enum PlannedLayer {
    /// An archive.
    Archive {
        /// Its path.
        path: PathBuf,
        /// Whether it is an error where it cannot be opened; else that is a warning, and it is left out.
        is_needed: bool,
    },
    /// A folder of loose files.
    Folder(PlannedFolder),
}

/// A folder of loose files.
#[derive(Clone, Debug)]
pub(super) struct PlannedFolder {
    pub(super) path: PathBuf,
    pub(super) filter: Filter,
    /// Whether archives that lie directly in it are layers below it, in the order of their names.
    pub(super) opens_archives: bool,
    /// Whether archives that lie directly in it and are layers are listed as files too.
    pub(super) lists_archives: bool,
}

/// A layer whose names are known, if it is a folder.
#[derive(Debug)]
pub(super) enum FoundLayer {
    Archive {
        path: PathBuf,
        is_needed: bool,
    },
    Folder {
        /// Boxed, for it is large.
        folder: Box<Folder>,
        lists_archives: bool,
    },
}

impl FoundLayer {
    /// The path of the archive or folder.
    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Archive { path, .. } => path.clone(),
            Self::Folder { folder, .. } => folder.path().to_owned(),
        }
    }
}

impl PlannedLayer {
    /// What a user names: an archive or a folder.
    pub(super) fn named(path: &Path, archives: FolderArchives) -> Self {
        // What cannot be looked at is an error when it is opened.
        if path.is_dir() {
            return Self::Folder(PlannedFolder::named(path, archives));
        }
        Self::Archive { path: path.to_owned(), is_needed: true }
    }
}

impl PlannedFolder {
    /// A folder that a user names.
    pub(super) fn named(path: &Path, archives: FolderArchives) -> Self {
        let (opens_archives, lists_archives) = match archives {
            FolderArchives::Open => (true, false),
            FolderArchives::Files => (false, true),
            FolderArchives::Both => (true, true),
        };
        Self { path: path.to_owned(), filter: Filter::default(), opens_archives, lists_archives }
    }

    /// Walks it.
    pub(super) fn scan(&self, files: &Arc<OpenFiles>) -> Result<Folder, Failure> {
        folder::scan(&self.path, &self.filter, files).map_err(|error| match error {
            folder::ScanError::Io(error) if error.raw_os_error() != Some(Errno::NOSYS.raw_os_error()) => {
                Failure::io(Exit::NoInput, &self.path, &error)
            }
            error => Failure::new(Exit::Data, format!("{}: {error}", self.path.display())),
        })
    }

    /// Walks it: it, and below it its archives.
    pub(super) fn find(&self, files: &Arc<OpenFiles>) -> Result<Vec<FoundLayer>, Failure> {
        let folder = self.scan(files)?;
        report_notes(&folder);
        let archives =
            if self.opens_archives { archives_in(folder.path(), folder.names()) } else { Vec::new() };
        let archive = |path| FoundLayer::Archive { path, is_needed: false };
        let mut layers: Vec<FoundLayer> = archives.into_iter().map(archive).collect();
        layers.push(FoundLayer::Folder { folder: Box::new(folder), lists_archives: self.lists_archives });
        Ok(layers)
    }
}

/// The files directly in a folder that are called like archives, in the order of their names without case.
pub(super) fn archives_in(folder: &Path, names: &FolderNames) -> Vec<PathBuf> {
    let mut found: Vec<&[u8]> =
        names.direct_files().map(|(_, name)| name).filter(|name| is_called_archive(name)).collect();
    found.sort_by_cached_key(|name| (name.to_ascii_lowercase(), name.to_vec()));
    let path = |name: &[u8]| folder.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(name));
    found.into_iter().map(path).collect()
}

fn is_called_archive(name: &[u8]) -> bool {
    name.last_chunk::<4>()
        .is_some_and(|end| [b".bsa", b".ba2"].iter().any(|it| end.eq_ignore_ascii_case(*it)))
}

/// Warnings that are printed of one folder.
const WARNINGS: usize = 20;

/// What a walk left out, for the user: what is perhaps missed as warnings, the rest with `-v`.
fn report_notes(folder: &Folder) {
    let (notes, mut dropped) = folder.notes();
    let mut warnings = 0;
    for note in notes {
        let path = folder.path().join(String::from_utf8_lossy(&note.path).as_ref());
        if !note.why.is_warning() {
            log::info!("{}: {}", path.display(), note.why);
        } else if warnings < WARNINGS {
            log::warn!("{}: {}", path.display(), note.why);
            warnings += 1;
        } else {
            dropped += 1;
        }
    }
    if dropped > 0 {
        log::warn!("{}: {dropped} more are left out", folder.path().display());
    }
}
