//! A later scan of a folder. It lists only the folders in which something changed, and copies all other
//! names, sizes and times from the earlier scan.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use super::error::ScanError;
use super::location::Base;
use super::loose_folder::LooseFolder;
use super::mounts::{Found, Root};
use super::notes::Notes;
use super::open_files::OpenFiles;
use super::scan::{Filter, Scan, Walk, walk};
use crate::system::disk_id::DiskId;
use crate::system::once_per_file::OncePerFile;
use crate::system::paths;

/// What changed in a folder since a scan.
#[expect(missing_debug_implementations, reason = "it has a function")]
pub struct ScanChanges<'a> {
    /// The numbers of the folders in which something changed. Their subfolders are not included.
    pub folders: BTreeSet<u32>,
    /// Whether something changed in a folder with this path, to which a link leads.
    pub is_changed: &'a dyn Fn(&Path) -> bool,
}

/// Files that were copied: their first number, their first number in the earlier scan, and how many they
/// are.
type Copied = (u32, u32, u32);

/// A later walk of a folder.
#[derive(Debug)]
pub(super) struct Rescan {
    walk: Arc<Walk>,
    copied: Vec<Copied>,
}

/// Walks a folder again that is still the one at its path. The folder itself is always listed.
pub(super) fn walk_again(earlier: &LooseFolder, changes: &ScanChanges<'_>) -> Result<Rescan, ScanError> {
    let root = earlier.walk.locations.root().clone();
    let mut scan = Scan::new(root, earlier.filter(), earlier.files());
    scan.add_root()?;
    let mut counterparts = vec![Some(0)];
    let (mut copied, mut listed) = (Vec::new(), HashSet::new());
    let mut at = 0;
    while let Some(&then) = counterparts.get(at as usize) {
        match then {
            Some(then) if at != 0 && !changes.folders.contains(&then) => {
                copied.push(scan.copy_folder(at, earlier, then)?);
                counterparts.extend(earlier.walk.names.subfolders(then).map(Some));
            }
            then => {
                scan.read_folder(at)?;
                listed.insert(scan.listed_path(at));
                for new in counterparts.len()..scan.folders.len() {
                    counterparts.push(then.and_then(|then| scan.counterpart(new, earlier, then)));
                }
            }
        }
        at += 1;
    }
    scan.keep_notes(earlier, &listed);
    Ok(Rescan { walk: scan.finish().into(), copied })
}

impl Rescan {
    /// The folder, with what `earlier` knew of its files. The names of `earlier` must be those of the folder
    /// that was walked.
    pub(super) fn folder(&self, earlier: &LooseFolder, changes: &ScanChanges<'_>) -> LooseFolder {
        let folder = LooseFolder::new(earlier.path().to_owned(), self.walk.clone(), earlier.files().clone());
        for &(first, then, len) in &self.copied {
            (0..len).for_each(|nth| folder.carry_unmoved(first + nth, earlier, then + nth, changes));
        }
        folder
    }
}

impl Scan<'_> {
    /// Copies the entries of a folder from an earlier scan.
    fn copy_folder(&mut self, folder: u32, earlier: &LooseFolder, then: u32) -> Result<Copied, ScanError> {
        let record = earlier.walk.names.records()[then as usize];
        let first = self.begin_files(folder)?;
        let copy = &mut self.folders[folder as usize];
        (copy.modified, copy.identity) = (record.modified, record.identity);
        for subfolder in earlier.walk.names.subfolders(then) {
            let base = earlier.walk.locations.base_of(subfolder);
            let base = base.map(|Base { root, path }| {
                self.locations.add_base(Base { root: root.clone(), path: path.clone() })
            });
            self.push_folder(folder, earlier.walk.names.folder_name(subfolder), base)?;
        }
        let files = earlier.walk.names.files_in(then);
        for file in files.clone() {
            let name = earlier.walk.names.file_name(file);
            match earlier.walk.locations.link(earlier.walk.names.bytes(), file) {
                Some((base, target)) => self.push_link(name, &base.root, &base.path, target)?,
                None => _ = self.add_file(name)?,
            }
        }
        for name in earlier.walk.names.whiteouts_in(then) {
            self.add_whiteout(folder, name)?;
        }
        Ok((first, files.start, files.end - files.start))
    }

    /// The number that a subfolder of a listed folder had in the earlier scan. `None` if it is new, another
    /// folder, or reached through a link.
    fn counterpart(&self, new: usize, earlier: &LooseFolder, parent: u32) -> Option<u32> {
        let new = u32::try_from(new).ok()?;
        let then = earlier.walk.names.subfolder(parent, self.folder_name(new))?;
        if self.locations.base_of(new).is_some() || earlier.walk.locations.base_of(then).is_some() {
            return None;
        }
        let (root, path) = self.locations.of_folder(&self.bytes, &self.folders, new);
        let found = Found::of(root.open_beneath(&path, OFlags::PATH).ok()?).ok()?;
        (found.identity == earlier.walk.names.records()[then as usize].identity).then_some(then)
    }

    /// Copies the notes about folders that were not listed again.
    fn keep_notes(&mut self, earlier: &LooseFolder, listed: &HashSet<Vec<u8>>) {
        let (notes, dropped) = earlier.notes();
        let parent = |path: &[u8]| path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        let is_kept = |path: &[u8]| !listed.contains(path) && !listed.contains(&path[..parent(path)]);
        let mut kept = Notes { kept: Vec::new(), dropped };
        notes
            .iter()
            .filter(|note| is_kept(&note.path))
            .for_each(|note| kept.add(|| note.path.clone(), note.why));
        let new = std::mem::replace(&mut self.notes, kept);
        new.kept.into_iter().for_each(|note| self.notes.add(|| note.path, note.why));
    }
}

impl LooseFolder {
    /// Copies what an earlier scan knew of a file, unless something changed in the folder to which its link
    /// leads.
    fn carry_unmoved(&self, file: u32, earlier: &Self, then: u32, changes: &ScanChanges<'_>) {
        let Some(known) = earlier.known(then) else { return };
        let target = self.link_target(file);
        if target.is_none_or(|target| !target.parent().is_some_and(changes.is_changed)) {
            self.carry(file, known);
        }
    }

    /// The changes that concern this folder; `None` if there are none. `paths` are the folders in it in which
    /// something has changed, and `is_changed` says for any folder whether something has.
    pub fn changes_among<'a>(
        &self,
        paths: impl Iterator<Item = &'a Path>,
        is_changed: &'a dyn Fn(&Path) -> bool,
    ) -> Option<ScanChanges<'a>> {
        let within = paths.filter_map(|path| path.strip_prefix(self.path()).ok());
        let mut folders: BTreeSet<u32> =
            within.map(|path| self.find_folder(path).unwrap_or_else(|above| above)).collect();
        let is_above = self.path().ancestors().any(is_changed);
        // A link is resolved again if something changed in the folder of its target.
        for file in self.walk.locations.files_of_links() {
            let target = self.link_target(file);
            if target.is_some_and(|target| target.parent().is_some_and(is_changed)) {
                folders.insert(self.walk.names.folder_of(file));
            }
        }
        (is_above || !folders.is_empty()).then_some(ScanChanges { folders, is_changed })
    }

    /// Whether the path of the folder no longer leads to the folder that was scanned, or whether a disk was
    /// lost that it or a part of it is on.
    pub fn is_moved(&self) -> bool {
        let found = Root::open(self.path(), OFlags::DIRECTORY);
        !found.is_ok_and(|root| root.is_same(self.walk.locations.root()))
            || self.walk.locations.roots().into_iter().any(|root| root.is_lost())
    }

    /// The paths of folders that this scan found and an earlier one of the same folder did not, and of those
    /// that only the earlier one found. A folder that another one has replaced is in both.
    pub fn folder_differences(&self, earlier: &Self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let mut counterparts: Vec<Option<u32>> = vec![self.is_same_folder(0, earlier, 0).then_some(0)];
        let mut is_found = vec![false; earlier.walk.names.records().len()];
        for now in 0..self.walk.names.records().len() {
            let (now, then) = (now as u32, counterparts[now]);
            if let Some(then) = then {
                is_found[then as usize] = true;
            }
            for subfolder in self.walk.names.subfolders(now) {
                let name = self.walk.names.folder_name(subfolder);
                let found = then.and_then(|then| earlier.walk.names.subfolder(then, name));
                counterparts.push(found.filter(|then| self.is_same_folder(subfolder, earlier, *then)));
            }
        }
        let added = (0..).zip(&counterparts).filter(|(_, then)| then.is_none()).map(|(now, _)| now);
        let removed = (0..).zip(&is_found).filter(|(_, is_found)| !**is_found).map(|(then, _)| then);
        (added.map(|it| self.folder_path(it)).collect(), removed.map(|it| earlier.folder_path(it)).collect())
    }

    fn is_same_folder(&self, folder: u32, earlier: &Self, then: u32) -> bool {
        self.walk.names.records()[folder as usize].identity
            == earlier.walk.names.records()[then as usize].identity
    }
}

// Walks of folders, each folder once, whatever paths and links lead to it. An instance of a mod manager may
// have thousands of links to one mod.

/// Walks a folder. Links in `path` itself are followed, since the user named it. Whatever cannot be
/// read is left out with a note.
///
/// # Errors
/// The folder itself cannot be opened, is on proc or sysfs, or has more than 4,194,304 files and folders.
pub fn scan(path: &Path, filter: &Filter, files: &Arc<OpenFiles>) -> Result<LooseFolder, ScanError> {
    Walks::new(files.clone()).scan(path, filter)
}

/// Scans a folder again. The folder itself is always listed.
pub fn scan_again(earlier: &LooseFolder, changes: &ScanChanges<'_>) -> Result<LooseFolder, ScanError> {
    Walks::new(earlier.files().clone()).scan_again(earlier, changes)
}

/// All that a walk depends on, except what is on the disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Walked {
    mount: u64,
    /// Device and inode number.
    identity: DiskId,
    /// The path of the folder without links. Before Linux 5.8, `mount` does not distinguish bind mounts.
    path: PathBuf,
    filter: Filter,
}

/// All that a later walk depends on, except what is on the disk: the address of the earlier walk, and the
/// numbers of the folders to list again.
type WalkedAgain = (usize, BTreeSet<u32>);

/// What the walks of one opening found. Each path gets a [`LooseFolder`] of its own, because paths may lead
/// elsewhere later; those of one folder share the names.
#[derive(Debug, Default)]
pub struct Walks {
    files: Arc<OpenFiles>,
    /// The names, or the number of files and folders that are too many.
    found: OncePerFile<Result<Arc<Walk>, u32>, Walked>,
    found_again: OncePerFile<Arc<Rescan>, WalkedAgain>,
}

impl Walks {
    pub fn new(files: Arc<OpenFiles>) -> Self {
        Self { files, found: OncePerFile::default(), found_again: OncePerFile::default() }
    }

    /// As [`scan`], but a folder that was walked with an equal filter is not walked again.
    pub fn scan(&self, path: &Path, filter: &Filter) -> Result<LooseFolder, ScanError> {
        let root = Root::open(path, OFlags::DIRECTORY)?;
        if let Some(kind) = root.without_files()? {
            return Err(ScanError::NoFiles(kind));
        }
        let walked = Walked {
            mount: root.mount,
            identity: root.identity,
            path: root.path.clone(),
            filter: filter.clone(),
        };
        let found = self.found.get(walked, || match walk(root.into(), filter, &self.files) {
            Ok(walk) => Ok(Ok(Arc::new(walk))),
            Err(ScanError::TooMany(most)) => Ok(Err(most)),
            Err(error) => Err(error),
        })?;
        // A relative path must become absolute because the daemon changes its working directory.
        let path = paths::absolute(path).map_err(ScanError::Io)?;
        Ok(LooseFolder::new(path, found.map_err(ScanError::TooMany)?, self.files.clone()))
    }

    /// As [`scan_again`], but folders that shared their names share the new ones, too, if
    /// the same changed in them.
    pub fn scan_again(
        &self,
        earlier: &LooseFolder,
        changes: &ScanChanges<'_>,
    ) -> Result<LooseFolder, ScanError> {
        if earlier.is_moved() {
            return self.scan(earlier.path(), earlier.filter());
        }
        // The caller has the earlier walk until the end of this opening, so no other one gets its address.
        let walked = (Arc::as_ptr(&earlier.walk).addr(), changes.folders.clone());
        let found = self.found_again.get(walked, || walk_again(earlier, changes).map(Arc::new))?;
        Ok(found.folder(earlier, changes))
    }
}
