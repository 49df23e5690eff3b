//! Finds files that changed since they were statted.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::descriptor::{stat_in, stat_of};
use super::file_state::FileStat;
use super::loose_folder::LooseFolder;

impl LooseFolder {
    /// The folders for whose paths `is_asked` holds and in which a known file may have changed
    /// since it was statted.
    pub fn stale_folders(&self, is_asked: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let mut stale = Vec::new();
        for (folder, path) in (0_u32..).zip(self.folder_paths()) {
            let is_asked_here = is_asked(&path);
            for file in self.names.files_in(folder) {
                let Some(known) = self.known(file) else { continue };
                let at = match self.link_target(file) {
                    Some(target) => target.parent().map(Path::to_owned).filter(|at| is_asked(at)),
                    None => is_asked_here.then(|| path.clone()),
                };
                if let Some(at) = at
                    && stale.last() != Some(&at)
                    && (!known.is_settled() || !self.stat_now(file).is_some_and(|now| now.is_equal(&known)))
                {
                    stale.push(at);
                }
            }
        }
        stale
    }

    /// Whether a file in the folder at this path changed since it was statted. Only files that were statted
    /// are checked.
    pub fn is_stale(&self, path: &Path) -> bool {
        let Ok(within) = path.strip_prefix(self.path()) else { return false };
        let Ok(folder) = self.find_folder(within) else { return false };
        let mut known =
            self.names.files_in(folder).filter_map(|file| Some((file, self.known(file)?))).peekable();
        // Nothing is opened for a folder of which nothing is known.
        if known.peek().is_none() {
            return false;
        }
        let (root, path) = self.locations.of_folder(self.names.bytes(), self.names.records(), folder);
        let open = root.open_beneath(&path, OFlags::PATH | OFlags::DIRECTORY).ok();
        let now = |file: u32| match self.link_target(file) {
            Some(_) => self.stat_now(file),
            None => stat_in(open.as_ref()?, self.names.file_name(file)).ok().map(|stat| FileStat::of(&stat)),
        };
        known.any(|(file, known)| !now(file).is_some_and(|now| now.is_equal(&known)))
    }

    /// The current state of a file on disk.
    fn stat_now(&self, file: u32) -> Option<FileStat> {
        let (root, path) = self.locate(file);
        let fd = root.open_beneath(&path, OFlags::PATH).ok()?;
        stat_of(&fd).ok().map(|stat| FileStat::of(&stat))
    }

    /// The target of a file that is reached through a link.
    pub(super) fn link_target(&self, file: u32) -> Option<PathBuf> {
        let (root, path) = self.locations.of_link(self.names.bytes(), file)?;
        Some(root.path.join(OsStr::from_bytes(&path)))
    }
}
