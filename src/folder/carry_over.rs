//! Carries file sizes and times over to a new scan of the same folder. Files in folders in which
//! nothing happened need no second stat.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::file_state::FileStat;
use super::loose_folder::LooseFolder;

impl LooseFolder {
    /// Takes over what an earlier scan of this folder learnt about its files. `is_quiet` says for
    /// which folders, by path, nothing happened since; only their files are taken over. A folder
    /// that another one has replaced is skipped.
    pub fn learn_from(&self, earlier: &Self, is_quiet: impl Fn(&Path) -> bool) {
        let mut counterparts: HashMap<(u32, &[u8]), u32> = HashMap::new();
        for (index, (parent, name, _)) in (0..).zip(earlier.names.folders()) {
            counterparts.insert((parent, name.bytes), index);
        }
        // The index that each folder had in the earlier scan. Parents come first.
        let mut then: Vec<Option<u32>> = Vec::new();
        for (now, ((parent, name, _), path)) in (0_u32..).zip(self.names.folders().zip(self.folder_paths())) {
            let parent = if now == 0 { Some(0) } else { then[parent as usize] };
            let found = parent.and_then(|parent| counterparts.get(&(parent, name.bytes)).copied());
            then.push(found);
            let Some(found) = found else { continue };
            let (identity, before) = (self.identity_of(now), earlier.identity_of(found));
            let is_quiet_here = identity == before && is_quiet(&path);
            for (file, old) in self.common_files(now, earlier, found) {
                let Some(known) = earlier.known(old) else { continue };
                if self.is_unmoved(file, earlier, old, is_quiet_here, &is_quiet) {
                    self.carry(file, known);
                }
            }
        }
    }

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

    /// Whether a file is still at the location that the earlier scan found, and nothing happened in
    /// that folder.
    fn is_unmoved(
        &self,
        file: u32,
        earlier: &Self,
        old: u32,
        is_quiet_here: bool,
        is_quiet: impl Fn(&Path) -> bool,
    ) -> bool {
        match (self.link_target(file), earlier.link_target(old)) {
            (None, None) => is_quiet_here,
            (Some(now), Some(then)) => now == then && now.parent().is_some_and(is_quiet),
            _ => false,
        }
    }

    /// The files of a folder that the earlier scan found too, each with its number there.
    fn common_files(&self, now: u32, earlier: &Self, then: u32) -> impl Iterator<Item = (u32, u32)> {
        let mut old = earlier.names.files_in(then).peekable();
        // Both iterators are sorted by name.
        self.names.files_in(now).filter_map(move |file| {
            let name = self.names.file_name(file);
            while old.next_if(|&old| earlier.names.file_name(old) < name).is_some() {}
            old.next_if(|&old| earlier.names.file_name(old) == name).map(|old| (file, old))
        })
    }

    /// The current state of a file on disk.
    fn stat_now(&self, file: u32) -> Option<FileStat> {
        let (root, path) = self.locate(file);
        let fd = root.open_beneath(&path, OFlags::PATH).ok()?;
        rustix::fs::fstat(&fd).ok().map(|stat| FileStat::of(&stat))
    }

    /// The target of a file that is reached through a link.
    fn link_target(&self, file: u32) -> Option<PathBuf> {
        let (root, path) = self.locations.of_link(self.names.bytes(), file)?;
        Some(root.path.join(OsStr::from_bytes(&path)))
    }

    fn identity_of(&self, folder: u32) -> (u64, u64) {
        self.names.records()[folder as usize].identity
    }
}
