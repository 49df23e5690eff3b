//! Writes the archives of a plan, compares them with their sources, gives all of them their names, and
//! removes what an earlier run left.

use std::collections::HashMap;
use std::io::{ErrorKind, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, FileType, Stat};

use super::archive_writer::{self, ReadBack, Written};
use super::pack_options::{PackError, PackErrorKind, PackProgress};
use super::pipeline;
use super::plan::Plan;
use super::planned::{self, Beside, Loader, PlannedArchive, dummy_name, is_dummy};
use crate::game::{NextName, stem};
use crate::kinds::Engine;
use crate::note::{Note, NoteCode};
use crate::shown::Shown;
use crate::system::disk_id::DiskId;
use crate::system::new_file::{
    NeedsNames, NewFile, Placement, in_the_way, names_in, place_all, remove_stale, stat_in,
};
use crate::system::text::{count, reason_not_made};
use crate::system::walk::{LastLink, Missing, open_folder};
use crate::system::whole_file::read_start;
use crate::vfs::{OpenOptions, VfsFile};

/// An archive that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packed {
    /// The name of the file.
    pub name: String,
    /// The kind in words.
    pub kind: String,
    /// How many files it has.
    pub files: usize,
    /// How many of them are stored as they are.
    pub stored: usize,
    /// How many of them are compressed.
    pub compressed: usize,
    /// How many of them share the data of another file.
    pub shared: usize,
    /// Size of the files in bytes.
    pub size: u64,
    /// Size of the archive in bytes.
    pub packed_size: u64,
    /// What loads it.
    pub loader: Loader,
    /// Whether it has only tables of a plugin other than that of the other archives.
    pub is_of_other: bool,
    /// What was lost with the archive that it replaced, if that is not a source.
    pub replaced: Option<Note>,
}

impl Plan {
    /// Writes the archives into a folder, which is made if it is missing.
    ///
    /// # Errors
    /// [`PackError`]. Nothing was placed.
    pub fn write(&self, folder: &Path) -> Result<Vec<Packed>, PackError> {
        self.write_with(folder, &|_| {})
    }

    /// As [`Plan::write`], and calls `progress` from any thread.
    ///
    /// # Errors
    /// As [`Plan::write`].
    pub fn write_with(&self, folder: &Path, progress: &PackProgress<'_>) -> Result<Vec<Packed>, PackError> {
        let opened = open_folder(folder, Missing::Make, LastLink::Follow);
        let opened = opened.map_err(|error| not_made(folder, &error))?;
        let beside = planned::beside(&self.archives, &self.options);
        let existing = self.existing(folder, &opened, &beside)?;
        self.check_existing(folder, &existing[..self.archives.len()])?;
        // A process that was killed may have left a second name of a replaced archive.
        remove_stale(&opened);
        let needs_names = NeedsNames::of(&opened);
        let (mut made, mut packed, mut all_written) = (Vec::new(), Vec::new(), Vec::new());
        let mut existing = existing.into_iter();
        for archive in &self.archives {
            let (name, replaced) = existing.next().unwrap_or_else(|| (archive.name.clone(), None));
            let path = folder.join(&name);
            let io = |error: std::io::Error| PackError::io(&path, &error);
            let file = NewFile::make(&opened, 0o666, &needs_names).map_err(io)?;
            let (of_archive, written) =
                self.write_archive(archive, &file, &path, progress).map_err(|error| {
                    let all = self.archives.iter().flat_map(|it| &it.files);
                    pipeline::with_all_unreadable(error, &all.collect::<Vec<_>>())
                })?;
            packed.push(Packed { name: name.clone(), ..of_archive });
            all_written.push(written);
            if let Some(time) = archive.newest().filter(|_| self.options.packing.weighs_dates) {
                file.file.set_modified(time).map_err(io)?;
            }
            made.push(Placement { file, name: name.into_bytes(), replaced });
        }
        for Beside { name, bytes } in beside {
            // A plugin or mark that is there stays.
            if existing.next().is_some_and(|(_, stat)| stat.is_some()) {
                continue;
            }
            let io = |error: std::io::Error| PackError::io(&folder.join(&name), &error);
            let file = NewFile::make(&opened, 0o666, &needs_names).map_err(io)?;
            (&file.file).write_all(&bytes).map_err(io)?;
            made.push(Placement { file, name: name.clone().into_bytes(), replaced: None });
        }
        // Only what was read back proves that nothing is lost.
        let may_remove = self.options.overwrites && self.options.verifies;
        let superfluous =
            if may_remove { self.superfluous((folder, &opened), &all_written) } else { Vec::new() };
        for (packed, Placement { replaced, .. }) in packed.iter_mut().zip(&made) {
            let path = folder.join(&packed.name);
            packed.replaced = replaced.and_then(|stat| self.replaced_note(&path, &stat, Some(&all_written)));
        }
        place_all(made).map_err(|error| PackError::io(folder, &error))?;
        remove_superfluous(&opened, &superfluous);
        Ok(packed)
    }

    /// Notes on archives in a folder that new ones would replace.
    ///
    /// # Errors
    /// [`PackError`], as [`Plan::write`] would end because of what is in the folder.
    pub fn existing_notes(&self, folder: &Path) -> Result<Vec<Note>, PackError> {
        // A folder that is missing is made, and has no archive.
        let opened = match open_folder(folder, Missing::Fail, LastLink::Follow) {
            Ok(opened) => opened,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(not_made(folder, &error)),
        };
        let mut existing = self.existing(folder, &opened, &planned::beside(&self.archives, &self.options))?;
        existing.truncate(self.archives.len());
        self.check_existing(folder, &existing)?;
        rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|errno| PackError::io(folder, &errno.into()))?;
        let note = |(name, stat): &(String, Option<Stat>)| {
            let path = folder.join(name);
            self.replaced_note(path.strip_prefix(".").unwrap_or(&path), stat.as_ref()?, None)
        };
        Ok(existing.iter().filter_map(note).collect())
    }

    /// A note on an archive that a new one replaces. Once the new archives were `written`, there is one only
    /// if something is lost. Files of a source are in the plan.
    fn replaced_note(&self, path: &Path, stat: &Stat, written: Option<&[Written]>) -> Option<Note> {
        let is_source = self.own_archives.contains(&DiskId::from(stat));
        let lost = if is_source { Some(Vec::new()) } else { self.lost_of(path, written) };
        let what = if written.is_some() { "was replaced" } else { "exists, and would be replaced" };
        let note = |text: String| Note::new(NoteCode::PackReplaced, path.to_string_lossy(), text);
        match (lost, written) {
            (None, _) => {
                Some(note(format!("{what}; it cannot be read, so it is unknown what is lost with it")))
            }
            (Some(lost), _) if !lost.is_empty() => {
                let bytes = if written.is_some() { " with the same bytes" } else { "" };
                let files = count(lost.len(), "file");
                let text = format!("{what}; no new archive has {files} of it{bytes}");
                Some(note(text).of(lost.len(), &*lost[0]))
            }
            (_, None) => Some(note(what.to_owned())),
            (_, Some(_)) => None,
        }
    }

    fn write_archive(
        &self,
        archive: &PlannedArchive,
        file: &NewFile<'_>,
        path: &Path,
        progress: &PackProgress<'_>,
    ) -> Result<(Packed, Written), PackError> {
        let written = archive_writer::write(archive, &self.options, (&file.file, path), progress)?;
        if self.options.verifies {
            // The file has no name yet.
            let own = PathBuf::from(format!("/proc/self/fd/{}", file.file.as_raw_fd()));
            archive_writer::compare(archive, &written.digests, &self.options, &own, progress)?;
        }
        let packed = Packed {
            name: archive.name.clone(),
            kind: archive.kind(),
            files: archive.files.len(),
            stored: written.stored,
            compressed: written.compressed,
            shared: written.shared,
            size: archive.files.iter().map(|file| file.size).sum(),
            packed_size: written.size,
            loader: archive.loader.clone(),
            is_of_other: archive.is_of_other,
            replaced: None,
        };
        Ok((packed, written))
    }

    /// What is at each name, in the spelling that it has there: games find one file at names that differ only
    /// in case. Only a regular file can be replaced.
    fn existing(
        &self,
        folder: &Path,
        opened: &OwnedFd,
        beside: &[Beside],
    ) -> Result<Vec<(String, Option<Stat>)>, PackError> {
        let names = self.archives.iter().map(|archive| &archive.name).chain(beside.iter().map(|it| &it.name));
        let mut listed: HashMap<String, Vec<String>> = HashMap::new();
        for name in names_in(opened).map_err(|error| PackError::io(folder, &error))? {
            if let Ok(name) = String::from_utf8(name) {
                listed.entry(name.to_lowercase()).or_default().push(name);
            }
        }
        let existing = |name: &String| {
            let twins = listed.get(&name.to_lowercase()).map_or(&[][..], Vec::as_slice);
            let name = match twins {
                [] => name,
                [spelled] => spelled,
                _ => {
                    let what = format!(
                        "{} has files whose names differ only in case, of which a game finds one; rename or \
                         remove the others:",
                        folder.shown()
                    );
                    let mut twins: Vec<String> = twins.iter().map(|it| it.shown().to_string()).collect();
                    twins.sort();
                    return Err(PackError::list(PackErrorKind::Output, &what, &twins));
                }
            };
            let path = folder.join(name);
            let stat = stat_in(opened, name.as_bytes()).map_err(|error| PackError::io(&path, &error))?;
            match stat.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
                None | Some(FileType::RegularFile) => Ok((name.clone(), stat)),
                Some(kind) => Err(PackError::io(&path, &in_the_way(kind))),
            }
        };
        names.map(existing).collect()
    }

    /// Fails if archives exist and may not be replaced. Whether something would be lost counts first, so that
    /// no message names --overwrite if that would fail, too.
    fn check_existing(&self, folder: &Path, existing: &[(String, Option<Stat>)]) -> Result<(), PackError> {
        let lost = existing.iter().filter_map(|(name, stat)| {
            let id = DiskId::from(stat.as_ref()?);
            let (_, lost, example) = self.lost_with.iter().find(|(archive, ..)| *archive == id)?;
            let example = example.as_ref().map_or_else(String::new, |it| format!(", such as {}", it.shown()));
            Some(format!("{}: {}{example}", folder.join(name).shown(), count(*lost, "file")))
        });
        let lost: Vec<String> = lost.collect();
        if !lost.is_empty() {
            let what = "archives of the sources would be replaced, and files whose bytes no new archive has \
                        would be lost; name another output with -o, or another --name:";
            return Err(PackError::list(PackErrorKind::Output, what, &lost));
        }
        self.check_lost(folder, existing)?;
        let names = existing.iter().filter(|(_, stat)| stat.is_some());
        let names: Vec<String> = names.map(|(name, _)| folder.join(name).shown().to_string()).collect();
        if self.options.overwrites || names.is_empty() {
            return Ok(());
        }
        let what = "archives that exist already; --overwrite replaces them:";
        Err(PackError::list(PackErrorKind::Output, what, &names))
    }

    /// Fails if archives that are no sources would be replaced, and have files that no source has.
    fn check_lost(&self, folder: &Path, existing: &[(String, Option<Stat>)]) -> Result<(), PackError> {
        let line = |(name, stat): &(String, Option<Stat>)| {
            let stat = stat.as_ref()?;
            // A file without bytes is no archive that anything could be lost with.
            if stat.st_size == 0 || self.own_archives.contains(&DiskId::from(stat)) {
                return None;
            }
            let path = folder.join(name);
            let shown = path.shown().to_string();
            let Some(lost) = self.lost_of(&path, None) else {
                return Some(format!("{shown}: it cannot be read, so it is unknown what it has"));
            };
            let mut lost = lost.iter().filter(|path| !self.paths.contains(&path.to_ascii_lowercase()));
            let first = lost.next()?;
            Some(format!("{shown}: {}, such as {}", count(lost.count() + 1, "file"), first.shown()))
        };
        let lines: Vec<String> = existing.iter().filter_map(line).collect();
        if lines.is_empty() {
            return Ok(());
        }
        let what = "archives exist already, and --overwrite does not replace them, because files that no \
                    source has would be lost. To keep them, give the archive as the first source, and \
                    another output with -o; otherwise move it away first:";
        Err(PackError::list(PackErrorKind::Output, what, &lines))
    }
}

fn not_made(folder: &Path, error: &std::io::Error) -> PackError {
    let what = format!("cannot create the folder {}: {}", folder.shown(), reason_not_made(folder, error));
    PackError::new(PackErrorKind::Output, what)
}

// Archives that an earlier run wrote and that this one does not: `Mod 2.bsa`, if the mod became smaller.
// They would win over the new archives if their plugin loads later.

/// An archive that is named like those of a plan, but is not one of them.
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
    /// The archives in a folder that are named like those of this plan, but are not among them.
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
        let endings = self.options.game.archive_endings();
        let read =
            |name: &str| read_start(&folder.join(name), DUMMY_MAX).ok().filter(|it| it.1).map(|it| it.0);
        let mut idle = Vec::new();
        for name in removed {
            let mark = format!("{}.override", stem(name));
            if self.options.game.engine == Engine::Fallout3
                && read(&mark).is_some_and(|bytes| bytes.is_empty())
            {
                idle.push(mark);
            }
            let Some(by) = endings.iter().rev().find_map(|ending| name.strip_suffix(ending)) else {
                continue;
            };
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
        let base = self.base.to_lowercase();
        let name = name.to_lowercase();
        if base.is_empty() || self.archives().iter().any(|it| it.name.to_lowercase() == name) {
            return false;
        }
        // The longer ending first: the shorter one may be its end.
        let endings = self.options.game.archive_endings();
        let Some(stem) = endings.into_iter().rev().find_map(|it| name.strip_suffix(&it.to_lowercase()))
        else {
            return false;
        };
        let Some(rest) = stem.strip_prefix(&base) else { return false };
        let number = match self.options.packing.next {
            NextName::Prefix => rest.strip_prefix(" - "),
            NextName::Plugin | NextName::Any => rest.strip_prefix(' '),
        };
        let is_number = |number: &str| number.parse::<u32>().is_ok_and(|number| number > 1);
        rest.is_empty() || number.is_some_and(is_number)
    }

    /// The leftovers that only have files of this plan with the same bytes, so that nothing is lost with
    /// them.
    fn superfluous(&self, (folder, opened): (&Path, &OwnedFd), written: &[Written]) -> Vec<(String, DiskId)> {
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
    fn lost_of(&self, archive: &Path, written: Option<&[Written]>) -> Option<Vec<String>> {
        let mut planned: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
        for (nth, archive) in self.archives.iter().enumerate() {
            for (id, file) in archive.files.iter().enumerate() {
                planned.entry(file.path.to_ascii_lowercase()).or_default().push((nth, id));
            }
        }
        let is_packed = |read_back: &ReadBack, found: &VfsFile| {
            let places = planned.get(&found.path().to_ascii_lowercase());
            places.into_iter().flatten().any(|&(nth, id)| {
                let file = &self.archives[nth].files[id];
                written
                    .is_none_or(|written| read_back.compare(file, &written[nth].digests[id], found).is_ok())
            })
        };
        let lost = |options: OpenOptions| -> Option<Vec<String>> {
            let vfs = options.open([&archive]).ok()?;
            let files: Vec<VfsFile> = vfs.files().collect();
            let read_back = ReadBack::of(&files);
            Some(files.iter().filter(|found| !is_packed(&read_back, found)).map(VfsFile::path).collect())
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
fn remove_superfluous(opened: &OwnedFd, superfluous: &[(String, DiskId)]) {
    for (name, identity) in superfluous {
        if stat_in(opened, name.as_bytes())
            .is_ok_and(|it| it.is_some_and(|it| DiskId::from(&it) == *identity))
        {
            // If it cannot be removed, it is named afterwards.
            let _ = rustix::fs::unlinkat(opened, name, AtFlags::empty());
        }
    }
}
