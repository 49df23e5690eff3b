//! Archives that an earlier run wrote and that this one does not: `Mod 2.bsa`, if the mod became smaller.
//! They would win over the new archives if their plugin loads later.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType};

use super::archive_writer::{Written, compare_file};
use super::pack_options::Next;
use super::plan::Plan;
use super::planned::{dummy_name, is_dummy};
use crate::game::stem;
use crate::system::disk_id::DiskId;
use crate::system::new_file::stat_in;
use crate::system::whole_file::read_start;
use crate::vfs::{OpenOptions, VfsFile};

/// An archive that is called like those of a plan, and is not among them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leftover {
    /// The name of the file.
    pub name: String,
    /// What it seems to be.
    pub kind: LeftoverKind,
}

/// What a [`Leftover`] seems to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftoverKind {
    /// All its paths are in the new archives: an earlier run wrote it.
    Earlier,
    /// It is among the sources.
    Source,
    /// It has so many files that no new archive has.
    Other(usize),
    /// It cannot be read.
    Unreadable,
}

/// More bytes than a plugin without content has.
const DUMMY_MAX: usize = 4096;

impl Plan {
    /// The archives in a folder that are called like those of this plan, and are not among them.
    pub fn leftovers(&self, folder: &Path) -> Vec<Leftover> {
        let kind = |name: &str| {
            let path = folder.join(name);
            let id = std::fs::metadata(&path).map(|it| DiskId::from(&it));
            if id.is_ok_and(|id| self.own_archives.contains(&id)) {
                return LeftoverKind::Source;
            }
            match self.lost_of(&path, None) {
                Some(lost) if lost.is_empty() => LeftoverKind::Earlier,
                Some(lost) => LeftoverKind::Other(lost.len()),
                None => LeftoverKind::Unreadable,
            }
        };
        let names = self.leftover_names(folder).into_iter();
        names.map(|name| Leftover { kind: kind(&name), name }).collect()
    }

    /// Files in a folder that only make the game load archives which were removed: plugins without content
    /// and marks.
    pub fn idle_files(&self, folder: &Path, removed: &[String]) -> Vec<String> {
        let game = self.options.game;
        let endings: Vec<&str> = game.textures.map(|it| it.1).into_iter().chain([game.main_ending]).collect();
        let read =
            |name: &str| read_start(&folder.join(name), DUMMY_MAX).ok().filter(|it| it.1).map(|it| it.0);
        let mut idle = Vec::new();
        for name in removed {
            let mark = format!("{}.override", stem(name));
            if game.is_gamebryo_fallout() && read(&mark).is_some_and(|bytes| bytes.is_empty()) {
                idle.push(mark);
            }
            let Some(by) = endings.iter().find_map(|ending| name.strip_suffix(ending)) else { continue };
            let is_needed = |ending: &&str| folder.join(format!("{by}{ending}")).exists();
            let plugin = dummy_name(by, &self.options);
            let is_ours = |bytes: Vec<u8>| is_dummy(&bytes, &self.options);
            if !endings.iter().any(is_needed) && !idle.contains(&plugin) && read(&plugin).is_some_and(is_ours)
            {
                idle.push(plugin);
            }
        }
        idle
    }

    fn leftover_names(&self, folder: &Path) -> Vec<String> {
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
        let names = self.leftover_names(folder).into_iter().filter_map(|name| Some((identity(&name)?, name)));
        let is_packed = |(identity, name): &(DiskId, String)| {
            let path = folder.join(std::ffi::OsStr::from_bytes(name.as_bytes()));
            !self.own_archives.contains(identity)
                && self.lost_of(&path, Some(written)).is_some_and(|lost| lost.is_empty())
        };
        names.filter(is_packed).map(|(identity, name)| (name, identity)).collect()
    }

    /// The files of an archive that no new archive has: those of other paths, and, once the new archives were
    /// `written`, those of other bytes. `None` if it cannot be opened.
    pub(super) fn lost_of(&self, archive: &Path, written: Option<&[Written]>) -> Option<Vec<String>> {
        let mut planned: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
        for (nth, archive) in self.archives.iter().enumerate() {
            for (id, file) in archive.files.iter().enumerate() {
                planned.entry(file.path.to_ascii_lowercase()).or_default().push((nth, id));
            }
        }
        let is_packed = |found: &VfsFile| {
            let places = planned.get(&found.path().to_ascii_lowercase());
            places.into_iter().flatten().any(|&(nth, id)| {
                let file = &self.archives[nth].files[id];
                written.is_none_or(|written| compare_file(file, &written[nth].digests[id], found).is_ok())
            })
        };
        let lost = |options: OpenOptions| -> Option<Vec<String>> {
            let vfs = options.open([&archive]).ok()?;
            Some(vfs.files().filter(|found| !is_packed(found)).map(|found| found.path()).collect())
        };
        // Sources and the archive may have been read with different code pages.
        let lost_as_packed = lost(OpenOptions::new().with("encoding", self.options.encoding.name()))?;
        if lost_as_packed.is_empty() {
            return Some(lost_as_packed);
        }
        lost(OpenOptions::new()).filter(|lost| lost.len() < lost_as_packed.len()).or(Some(lost_as_packed))
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
