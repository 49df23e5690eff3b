//! Writes the archives of a plan, compares them with their sources, and gives all of them their names.

use std::collections::HashMap;
use std::io::{ErrorKind, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, FileType, Stat};

use super::archive_writer::{self, Written};
use super::pack_options::{PackError, PackErrorKind, PackProgress};
use super::plan::Plan;
use super::planned::{self, Beside, Loader, PlannedArchive};
use super::{leftover, pipeline};
use crate::note::{Note, NoteCode};
use crate::shown::Shown;
use crate::system::disk_id::DiskId;
use crate::system::new_file::{
    NeedsNames, NewFile, Placement, in_the_way, names_in, place_all, remove_stale, stat_in,
};
use crate::system::text::{count, reason_not_made};
use crate::system::walk::{LastLink, Missing, open_folder};

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
            if let Some(time) = archive.newest().filter(|_| self.options.game.weighs_dates) {
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
        leftover::remove(&opened, &superfluous);
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
