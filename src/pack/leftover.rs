//! Archives that an earlier run wrote and that this one does not: `Mod 2.bsa`, if the mod became smaller.
//! They would win over the new archives if their plugin loads later.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType};

use super::archive_writer::Written;
use super::plan::Plan;
use super::read_back::compare_file;
use super::rules::Next;
use crate::system::disk_id::DiskId;
use crate::system::new_file::stat_in;
use crate::vfs::OpenOptions;

impl Plan {
    /// The names of archives in a folder that are called like those of this plan, and are not among them.
    pub fn leftovers(&self, folder: &Path) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| self.is_leftover(name)).collect();
        names.sort();
        names
    }

    fn is_leftover(&self, name: &str) -> bool {
        let (game, base) = (self.options.game, self.base.to_lowercase());
        let name = name.to_lowercase();
        if base.is_empty() || self.archives().iter().any(|it| it.name.to_lowercase() == name) {
            return false;
        }
        // The longer ending first: the shorter one may be its end.
        let endings = game.textures.map(|it| it.1).into_iter().chain([game.main_ending]);
        let Some(stem) = endings.into_iter().find_map(|it| name.strip_suffix(&it.to_lowercase())) else {
            return false;
        };
        let Some(rest) = stem.strip_prefix(&base) else { return false };
        let number = match game.next {
            Next::Prefix => rest.strip_prefix(" - "),
            Next::Plugin | Next::Any => rest.strip_prefix(' '),
        };
        let is_number = |number: &str| number.parse::<u32>().is_ok_and(|number| number > 1);
        rest.is_empty() || number.is_some_and(is_number)
    }

    /// The leftovers that only have files of this plan with the same bytes, so that nothing is lost with
    /// them.
    pub(super) fn superfluous(
        &self,
        (folder, opened): (&Path, &OwnedFd),
        written: &[Written],
    ) -> Vec<(String, DiskId)> {
        let identity = |name: &String| {
            let stat = stat_in(opened, name.as_bytes()).ok()??;
            (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then(|| DiskId::from(&stat))
        };
        let names = self.leftovers(folder).into_iter().filter_map(|name| Some((identity(&name)?, name)));
        let is_packed = |(identity, name): &(DiskId, String)| {
            let path = folder.join(std::ffi::OsStr::from_bytes(name.as_bytes()));
            !self.own_archives.contains(identity) && self.has_all_of(path, written)
        };
        names.filter(is_packed).map(|(identity, name)| (name, identity)).collect()
    }

    /// Whether each file of an archive is packed with the same bytes.
    fn has_all_of(&self, archive: PathBuf, written: &[Written]) -> bool {
        let options = OpenOptions { encoding: Some(self.options.encoding), ..OpenOptions::default() };
        let Ok(vfs) = options.open([archive]) else { return false };
        vfs.files().all(|found| {
            let path = found.path();
            self.archives.iter().zip(written).any(|(archive, written)| {
                let planned = archive.files.iter().zip(&written.digests);
                let mut of_path = planned.filter(|(file, _)| file.path.eq_ignore_ascii_case(&path));
                of_path.any(|(file, digests)| compare_file(file, digests, &found).is_ok())
            })
        })
    }
}

/// Removes archives that are still the files that were examined.
pub(super) fn remove(opened: &OwnedFd, superfluous: &[(String, DiskId)]) {
    for (name, identity) in superfluous {
        if stat_in(opened, name.as_bytes())
            .is_ok_and(|it| it.is_some_and(|it| DiskId::from(&it) == *identity))
        {
            // If it cannot be removed, it is named afterwards.
            let _ = rustix::fs::unlinkat(opened, name, AtFlags::empty());
        }
    }
}
