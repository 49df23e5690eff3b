//! Finds the layers of a plan on the disk: walks folders, and lists the archives in them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use super::error::OpenError;
use super::reopening::Reuse;
use super::sources::layer_plan::{LayerRules, PlannedFolder};
use crate::folder::{LooseFolder, LooseNames, ScanError, Walks};
use crate::format::is_archive_name;
use crate::note::{Note, UNSEEN};
use crate::shown::Shown;
use crate::system::sync::Mutex;

/// A layer to open. A folder was walked by now, unless it is [`FoundLayer::Later`].
#[derive(Debug)]
pub(crate) enum FoundLayer {
    Archive {
        path: PathBuf,
        is_needed: bool,
        why: String,
        rules: LayerRules,
    },
    Folder {
        folder: Arc<LooseFolder>,
        lists_archives: bool,
        why: String,
        rules: LayerRules,
    },
    /// A folder that is walked only when the contents of the archives are known.
    Later(PlannedFolder),
}

impl FoundLayer {
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::Archive { path, .. } => path.clone(),
            Self::Folder { folder, .. } => folder.path().to_owned(),
            Self::Later(folder) => folder.path.clone(),
        }
    }
}

impl PlannedFolder {
    pub(crate) fn scan(&self, walks: &Walks) -> Result<LooseFolder, OpenError> {
        walks.scan(&self.path, &self.filter).map_err(|error| self.error(error))
    }

    fn error(&self, error: ScanError) -> OpenError {
        match error {
            ScanError::Io(error) if error.raw_os_error() != Some(Errno::NOSYS.raw_os_error()) => {
                OpenError::unreadable(&self.path, error)
            }
            error @ ScanError::NoFiles(_) => OpenError::not_found(&self.path, error.to_string()),
            error => OpenError::too_large(&self.path, error),
        }
    }

    /// Walks the folder. If that fails during a reload, the folder of the mounted view is kept, or left out
    /// if it is gone. A folder from a game's load order is left out with a note, so that the rest of the
    /// game is opened.
    pub(crate) fn scan_or_leave_out(
        &self,
        walks: &Walks,
        earlier: Option<&Reuse<'_>>,
        left_out: &Mutex<Vec<Note>>,
    ) -> Result<Option<Arc<LooseFolder>>, OpenError> {
        let again = earlier.and_then(|earlier| earlier.folder_again(&self.path, &self.filter, walks));
        let scanned = match again {
            Some(again) => again.map_err(|error| self.error(error)),
            None => self.scan(walks).map(Arc::new),
        };
        match scanned {
            Ok(folder) => {
                log_notes(&folder);
                Ok(Some(folder))
            }
            Err(error) => match earlier {
                Some(earlier) if self.why.is_empty() || earlier.contains(&self.path) => {
                    Ok(earlier.folder(&self.path, &self.filter, &error))
                }
                None if self.why.is_empty() => Err(error),
                _ => {
                    log::warn!(target: UNSEEN, "{error}; the folder is left out");
                    left_out.lock().push(Note::not_read(&self.path, &error.kind().to_string()));
                    Ok(None)
                }
            },
        }
    }

    /// Walks the folder. Returns its archives, lowest first, and above them the folder.
    pub(crate) fn find(
        &self,
        walks: &Walks,
        earlier: Option<&Reuse<'_>>,
        left_out: &Mutex<Vec<Note>>,
    ) -> Result<Vec<FoundLayer>, OpenError> {
        if self.hides_served {
            return Ok(vec![FoundLayer::Later(self.clone())]);
        }
        let folder = self.scan_or_leave_out(walks, earlier, left_out)?;
        let Some(folder) = folder else { return Ok(Vec::new()) };
        let archives = match (self.opens_archives, earlier.filter(|it| it.contains_folder(&folder))) {
            (false, _) => Vec::new(),
            (true, None) => archives_in(folder.path(), folder.names()),
            // A kept folder does not list its archives any more.
            (true, Some(earlier)) => earlier.archives_in(folder.path()),
        };
        let (why, rules) = (|| self.why.clone(), || self.rules.clone());
        let archive = |path| FoundLayer::Archive { path, is_needed: false, why: why(), rules: rules() };
        let mut layers: Vec<FoundLayer> = archives.into_iter().map(archive).collect();
        let lists_archives = self.lists_archives;
        layers.push(FoundLayer::Folder { folder, lists_archives, why: why(), rules: rules() });
        Ok(layers)
    }
}

/// The files directly in a folder that are named like archives, ordered by name without regard to case.
pub(crate) fn archives_in(folder: &Path, names: &LooseNames) -> Vec<PathBuf> {
    let mut found: Vec<&[u8]> =
        names.direct_files().map(|(_, name)| name).filter(|name| is_archive_name(name)).collect();
    found.sort_by_cached_key(|name| (name.to_ascii_lowercase(), name.to_vec()));
    let path = |name: &[u8]| folder.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(name));
    found.into_iter().map(path).collect()
}

/// Maximum number of warnings that are logged for a folder.
const WARNINGS: usize = 20;

/// Logs what a walk left out, for a mount: what the user may miss as warnings, the rest with `-v`.
fn log_notes(folder: &LooseFolder) {
    let (notes, mut dropped) = folder.notes();
    let mut warnings = 0;
    for note in notes {
        let path = folder.path().join(String::from_utf8_lossy(&note.path).as_ref());
        let target = if note.why.code().is_unseen() { UNSEEN } else { module_path!() };
        if !note.why.is_warning() {
            log::info!(target: target, "{}: {}", path.shown(), note.why);
        } else if warnings < WARNINGS {
            log::warn!(target: target, "{}: {}", path.shown(), note.why);
            warnings += 1;
        } else {
            dropped += 1;
        }
    }
    if dropped > 0 {
        log::warn!(target: UNSEEN, "{}: left out {dropped} more files or folders", folder.path().shown());
    }
}
