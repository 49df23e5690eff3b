//! Finds files that changed since they were statted.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::file_state::{FileChange, FileStat, stat_of};
use super::loose_folder::LooseFolder;

impl LooseFolder {
    /// The folders for whose paths `is_asked` holds and in which a known file may have changed
    /// since it was statted.
    pub fn stale_folders(&self, is_asked: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let mut stale = self.stale_folders_of_links(&is_asked);
        let asked = (0_u32..).zip(self.folder_paths()).filter(|(_, path)| is_asked(path));
        let found = asked.filter(|(folder, _)| self.has_stale_files(*folder)).map(|(_, path)| path);
        stale.extend(found);
        stale.into_iter().collect()
    }

    /// Whether a known file in a folder may have changed since it was statted. Links do not count.
    pub fn has_stale_files(&self, folder: u32) -> bool {
        let is_link = |file: u32| self.scanned.locations.link(self.scanned.names.bytes(), file).is_some();
        self.scanned.names.files_in(folder).any(|file| self.may_be_stale(file) && !is_link(file))
    }

    /// The folders for whose paths `is_asked` holds and in which a link leads to a known file that may have
    /// changed since it was statted.
    pub fn stale_folders_of_links(&self, is_asked: impl Fn(&Path) -> bool) -> BTreeSet<PathBuf> {
        let links = self.scanned.locations.files_of_links().filter(|file| self.known(*file).is_some());
        let folder = |file: u32| Some((file, self.link_target(file)?.parent()?.to_owned()));
        let asked = links.filter_map(folder).filter(|(_, at)| is_asked(at));
        asked.filter(|(file, _)| self.may_be_stale(*file)).map(|(_, at)| at).collect()
    }

    fn may_be_stale(&self, file: u32) -> bool {
        self.known(file).is_some_and(|known| {
            !known.is_settled() || !self.stat_now(file).is_some_and(|now| now.is_equal(&known))
        })
    }

    /// What happened to a file since an earlier scan `then`, in which it has the number `earlier`. Stats the
    /// file if that scan had statted it.
    pub fn change_since(&self, file: u32, then: &Self, earlier: u32) -> FileChange {
        if std::ptr::eq(self, then) && file == earlier {
            return FileChange::None;
        }
        // Comparing bytes is much faster than comparing components.
        if self.path().as_os_str() != then.path().as_os_str() {
            return FileChange::Replaced;
        }
        // The kernel has never seen the attributes of a file that was not statted.
        let Some(known) = then.known(earlier) else { return FileChange::None };
        match self.stat(file) {
            Ok(stat) if !stat.is_same_file(&known) => FileChange::Replaced,
            Ok(stat) if !stat.is_equal(&known) => FileChange::Written,
            // If a file is statted while it is written, its attributes may stay the same afterwards.
            Ok(_) if !known.is_settled() && !self.is_carried(file) => FileChange::Unknown,
            Ok(_) => FileChange::None,
            Err(_) => FileChange::Replaced,
        }
    }

    /// Whether a file changed since it was statted. False if it was not statted.
    pub fn is_stale(&self, file: u32) -> bool {
        self.known(file).is_some_and(|known| !self.stat_now(file).is_some_and(|now| now.is_equal(&known)))
    }

    /// The state of a file that was statted, as it is now. An open descriptor is asked first, because another
    /// file may be at the path by now. `None` if the state is not known, or is that of another file.
    pub fn state_now(&self, file: u32) -> Option<FileStat> {
        let known = self.known(file)?;
        let now = match self.open_file(file) {
            Some(open) => open.stat_now(),
            None => self.stat_now(file),
        };
        now.filter(|now| now.is_same_file(&known))
    }

    /// The folder on the disk whose watch reports writes to a file. For a link, that is the folder of its
    /// target.
    pub fn watched_folder_of(&self, file: u32) -> PathBuf {
        let target = self.link_target(file);
        target.as_deref().and_then(Path::parent).map_or_else(|| self.folder_of(file), Path::to_owned)
    }

    /// The folders in which the links in a folder lead to files.
    pub fn folders_of_links(&self, folder: u32) -> impl Iterator<Item = PathBuf> {
        let has_links = self.scanned.locations.files_of_links().next().is_some();
        let files = self.scanned.names.files_in(folder).filter(move |_| has_links);
        files.filter_map(|file| Some(self.link_target(file)?.parent()?.to_owned()))
    }

    /// The current state of a file on disk.
    fn stat_now(&self, file: u32) -> Option<FileStat> {
        let (root, path) = self.locate(file);
        let fd = root.open_beneath(&path, OFlags::PATH).ok()?;
        stat_of(&fd).ok().map(|stat| FileStat::of(&stat))
    }

    /// The target of a file that is reached through a link.
    pub(super) fn link_target(&self, file: u32) -> Option<PathBuf> {
        let (root, path) = self.scanned.locations.of_link(self.scanned.names.bytes(), file)?;
        Some(root.path.join(OsStr::from_bytes(&path)))
    }
}
