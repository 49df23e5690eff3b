//! The disk as a plan reads it. Reads are recorded and never go through this process's own mount.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::caseless::CaselessNames;
use super::settings::ini::Ini;
use crate::limits::{LINE_COST, LISTED_NAMES_MAX, PLAN_READ_MAX, SETTINGS_MAX};
use crate::note::{Note, NoteCode, Notes};
use crate::system::covered::Covered;
use crate::system::disk_id::DiskId;
use crate::system::edit_mount;
use crate::system::mountinfo::{self, ForeignMounts};
use crate::system::paths::{enters_any, enters_asleep, leads_nowhere};
use crate::system::text::{reason, size};
use crate::system::{asleep, whole_file};

/// Maximum number of entries read from one folder.
const NAMES_MAX: usize = 1 << 20;

/// Maximum number of notes of one code on what could not be looked at.
const UNSEEN_MAX: usize = 1_000;

/// What is kept beside each name in a data folder, in bytes.
const NAME_COST: usize = 64;

/// Files and folders that a plan depends on: it read them or would have read them. If one of them
/// changes, the mount plans again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadSet {
    /// Files, including those that do not exist.
    pub files: BTreeSet<PathBuf>,
    /// Folders whose names were read, including those that do not exist.
    pub folders: BTreeSet<PathBuf>,
}

impl ReadSet {
    /// Adds what another plan depends on.
    pub(crate) fn extend(&mut self, other: Self) {
        self.files.extend(other.files);
        self.folders.extend(other.folders);
    }
}

/// The disk as one plan sees it. The default is for a process that does not mount over its sources.
#[derive(Debug, Default)]
pub struct Disk {
    covered: Covered,
    /// Known as soon as something is looked up.
    foreign: Rc<OnceCell<ForeignMounts>>,
    read: RefCell<ReadSet>,
    /// Lists and folders that exist and could not be read, with the reasons.
    unread: RefCell<BTreeMap<PathBuf, String>>,
    /// What is there and could not be looked at.
    unseen: RefCell<UnseenPaths>,
    /// Whether what is read now decides nothing, so that nothing of it has to be looked at.
    drops_notes: Cell<bool>,
    /// What all files that were read cost together. Each has the cost of [`cost`].
    cost: Cell<usize>,
    /// The first file that was left out because all files together exceed the limit.
    left_out: RefCell<Option<PathBuf>>,
    /// What folders contained when they were listed, if that is remembered.
    listed: Option<Rc<RefCell<FolderListings>>>,
}

/// What could not be looked at.
#[derive(Debug)]
struct UnseenPaths {
    notes: Notes,
    /// The subjects of the notes.
    known: HashSet<PathBuf>,
}

impl Default for UnseenPaths {
    fn default() -> Self {
        Self { notes: Notes::new(UNSEEN_MAX), known: HashSet::new() }
    }
}

/// The names in folders that could be listed, and how many they are.
#[derive(Debug, Default)]
struct FolderListings {
    folders: HashMap<PathBuf, CaselessNames>,
    names: usize,
}

impl Disk {
    /// Creates a disk that reads beneath the covered mountpoint. It lists no folder twice: the sources of one
    /// plan are often in one folder, and each is looked at several times.
    pub fn beneath(covered: Covered) -> Self {
        Self { covered, ..Self::remembering() }
    }

    /// A disk that knows the same mounts and folders as this one. Reads through it are not recorded in
    /// this one.
    pub(crate) fn with_own_reads(&self) -> Self {
        let (covered, foreign) = (self.covered.clone(), self.foreign.clone());
        Self { covered, foreign, listed: self.listed.clone(), ..Self::default() }
    }

    /// A disk that lists no folder twice, for a question that looks up many names in the same folders.
    pub(crate) fn remembering() -> Self {
        Self { listed: Some(Rc::default()), ..Self::default() }
    }

    /// Everything that was read so far.
    pub fn into_read_set(self) -> ReadSet {
        self.read.into_inner()
    }

    /// Everything that was read since the last call, and the lists and folders that exist but could not
    /// be read, with the reasons.
    pub(crate) fn take_read(&self) -> (ReadSet, BTreeMap<PathBuf, String>) {
        (self.read.take(), self.unread.take())
    }

    /// What exists and could not be looked at since the last call, so that its effect is unknown. Leaves
    /// out what the known notes have.
    pub(crate) fn take_unseen(&self, known: &[Note]) -> Vec<Note> {
        let noted: HashSet<&str> =
            known.iter().filter(|note| note.code.is_unseen()).map(|note| &*note.subject).collect();
        let mut unseen = self.unseen.take().notes.into_vec();
        unseen.retain(|note| !noted.contains(&*note.subject));
        unseen
    }

    /// Reads something that does not affect the plan, so a failure does not matter.
    pub(crate) fn without_notes<T>(&self, read: impl FnOnce() -> T) -> T {
        let before = self.drops_notes.replace(true);
        let result = read();
        self.drops_notes.set(before);
        result
    }

    /// Reads something, and returns separately what could not be looked at in it.
    pub(crate) fn with_notes<T>(&self, read: impl FnOnce() -> T) -> (T, Vec<Note>) {
        let (dropped, before) = (self.drops_notes.replace(false), self.unseen.take());
        let result = read();
        self.drops_notes.set(dropped);
        (result, self.unseen.replace(before).notes.into_vec())
    }

    /// Reads a regular file.
    ///
    /// # Errors
    /// The file cannot be read, has more than `limit` bytes, or exceeds what one plan may read.
    pub(crate) fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        let entered = self.entered(path).inspect_err(|error| self.record_unseen(path, error))?;
        self.record_read(path)?;
        let content = whole_file::read(&entered, limit).inspect_err(|error| {
            // The caller knows what its limit means.
            if error.kind() != io::ErrorKind::FileTooLarge {
                self.record_unseen(path, error);
            }
        })?;
        self.pay(path, cost(&content))?;
        Ok(content)
    }

    /// Reads the first `limit` bytes of a regular file.
    pub(crate) fn read_start(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        let entered = self.entered(path).inspect_err(|error| self.record_unseen(path, error))?;
        self.record_read(path)?;
        let start = whole_file::read_start(&entered, limit);
        let (content, _) = start.inspect_err(|error| self.record_unseen(path, error))?;
        self.pay(path, content.len())?;
        Ok(content)
    }

    /// Reads a list or settings file. Adds a note if it exists but cannot be read.
    pub(crate) fn list(&self, path: &Path, notes: &mut Vec<Note>) -> Option<Vec<u8>> {
        let content = self.read(path, SETTINGS_MAX);
        if let Err(error) = &content {
            self.record_unread(path, error);
            self.record_link(path, error);
            let is_missing = error.kind() == io::ErrorKind::NotFound;
            notes.extend((!is_missing).then(|| Note::unreadable(path, error)));
        }
        content.ok()
    }

    /// Reads an INI file. Adds a note if it exists but cannot be read.
    pub(crate) fn ini(&self, path: &Path, notes: &mut Vec<Note>) -> Option<Ini> {
        self.list(path, notes).map(|bytes| Ini::parse(&bytes))
    }

    /// A note on files that were left out because one plan would read too much; `None` if there are none.
    /// Some readers, such as that of plugins' headers, add no note of their own.
    pub(crate) fn left_out(&self) -> Option<Note> {
        let path = self.left_out.borrow();
        let text = format!("left out, as are all files that would have been read later: {}", too_much());
        path.as_ref().map(|path| Note::new(NoteCode::FileUnreadable, path.to_string_lossy(), text))
    }

    /// Records that a plan depends on a file.
    fn record_read(&self, path: &Path) -> io::Result<()> {
        self.read.borrow_mut().files.insert(path.to_owned());
        self.pay(path, 0)
    }

    /// Records that a list or folder could not be read, unless nothing is there.
    fn record_unread(&self, path: &Path, error: &io::Error) {
        if !leads_nowhere(error) {
            self.unread.borrow_mut().insert(path.to_owned(), reason(error));
        }
    }

    /// Records that something could not be looked at, unless nothing is there, or it is of another kind.
    /// If a folder is closed, its contents are unknown, so the note names the folder.
    fn record_unseen(&self, path: &Path, error: &io::Error) {
        let is_other = error.kind() == io::ErrorKind::IsADirectory;
        if !is_nowhere(error) && !is_other && !path.as_os_str().is_empty() {
            let is_closed = error.kind() == io::ErrorKind::PermissionDenied;
            let subject = self.deepest(path).filter(|_| is_closed).unwrap_or(path);
            self.add_unseen(Note::not_read(subject, &reason(error)));
        }
    }

    /// The deepest part of a path that is known to be there. A path may have thousands of parts.
    fn deepest<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let parts: Vec<&Path> = path.ancestors().collect();
        let unknown = parts.partition_point(|it| self.link_metadata(it).is_err());
        parts.get(unknown).copied()
    }

    /// Records the link on the way to a path that leads nowhere, if that is why nothing is there. What it led
    /// to may have moved, or its disk is not mounted.
    fn record_link(&self, path: &Path, error: &io::Error) {
        if !leads_nowhere(error) {
            return;
        }
        let Some(link) = self.deepest(path) else { return };
        let Err(error) = self.metadata(link) else { return };
        match error.kind() {
            io::ErrorKind::NotFound => self.add_unseen(Note::dangling_link(link.to_string_lossy())),
            _ if leads_nowhere(&error) => self.add_unseen(Note::circle(link.to_string_lossy())),
            _ => {}
        }
    }

    /// Records something that could not be looked at.
    pub(crate) fn add_unseen(&self, note: Note) {
        if self.drops_notes.get() {
            return;
        }
        let mut unseen = self.unseen.borrow_mut();
        if unseen.known.len() < UNSEEN_MAX && !unseen.known.insert(PathBuf::from(&note.subject)) {
            return;
        }
        unseen.notes.add(note.code, || note);
    }

    /// Counts a name that a plan keeps, with what it keeps beside it. Ten thousand mods may be links to one
    /// folder with many names.
    ///
    /// # Errors
    /// One plan would keep too much. The note [`Self::left_out`] then names the folder.
    pub(crate) fn keep_name(&self, folder: &Path, name: &str) -> io::Result<()> {
        self.pay(folder, name.len() + NAME_COST)
    }

    /// Counts the cost of a file.
    fn pay(&self, path: &Path, cost: usize) -> io::Result<()> {
        self.cost.set(self.cost.get().saturating_add(cost));
        if self.cost.get() <= PLAN_READ_MAX {
            return Ok(());
        }
        self.left_out.borrow_mut().get_or_insert_with(|| path.to_owned());
        Err(io::Error::new(io::ErrorKind::FileTooLarge, too_much()))
    }

    pub(crate) fn entries(
        &self,
        folder: &Path,
    ) -> io::Result<impl Iterator<Item = io::Result<std::fs::DirEntry>>> {
        let entered = self.entered(folder)?;
        self.read.borrow_mut().folders.insert(folder.to_owned());
        let listed = std::fs::read_dir(entered).inspect_err(|error| self.record_unread(folder, error));
        Ok(listed?.take(NAMES_MAX))
    }

    /// The names in a folder that are UTF-8; a game cannot refer to others.
    pub(crate) fn names(&self, folder: &Path) -> io::Result<CaselessNames> {
        self.names_if_listed(folder).inspect_err(|error| {
            self.record_unseen(folder, error);
            self.record_link(folder, error);
        })
    }

    /// As [`Self::names`], if it is no loss that a folder cannot be listed.
    fn names_if_listed(&self, folder: &Path) -> io::Result<CaselessNames> {
        let Some(listed) = &self.listed else { return self.names_now(folder) };
        if let Some(known) = listed.borrow().folders.get(folder) {
            self.read.borrow_mut().folders.insert(folder.to_owned());
            return Ok(known.clone());
        }
        let names = self.names_now(folder)?;
        let mut listed = listed.borrow_mut();
        let cost = names.count() + 1;
        if listed.names.saturating_add(cost) <= LISTED_NAMES_MAX {
            listed.names += cost;
            listed.folders.insert(folder.to_owned(), names.clone());
        }
        Ok(names)
    }

    fn names_now(&self, folder: &Path) -> io::Result<CaselessNames> {
        let mut names = Vec::new();
        for entry in self.entries(folder)? {
            let name = entry?.file_name();
            // What a writable mount works in is no mod.
            if !edit_mount::is_made(&name) {
                names.extend(name.into_string());
            }
        }
        Ok(CaselessNames::new(names))
    }

    /// Looks up a relative path below a folder, ignoring case, with either slash. Like Wine, it takes one
    /// spelling of each folder and tries no other. A path with `..` is not found.
    pub(crate) fn find(&self, root: &Path, relative: &str) -> Option<FoundPath> {
        let mut found = FoundPath { path: root.to_owned(), others: Vec::new() };
        for name in relative.split(['/', '\\']).filter(|name| !matches!(*name, "" | ".")) {
            if name == ".." {
                return None;
            }
            let stored = match self.names_if_listed(&found.path) {
                Ok(names) => {
                    found.others.extend(names.others(name).map(|other| found.path.join(other)));
                    OsString::from(names.get(name)?)
                }
                // The folder allows entering but not listing.
                Err(_) if self.link_metadata(&found.path.join(name)).is_ok() => name.into(),
                Err(error) => {
                    self.record_unseen(&found.path, &error);
                    return None;
                }
            };
            found.path.push(stored);
        }
        Some(found)
    }

    /// Finds a regular file as [`Self::find`] does, following links.
    pub(crate) fn find_file(&self, root: &Path, relative: &str) -> Option<PathBuf> {
        self.find(root, relative).map(|found| found.path).filter(|path| self.is_named_file(path))
    }

    /// Finds a folder as [`Self::find`] does, following links.
    pub(crate) fn find_folder(&self, root: &Path, relative: &str) -> Option<PathBuf> {
        self.find(root, relative).map(|found| found.path).filter(|path| self.is_named_dir(path))
    }

    /// The metadata of a file or folder, following links.
    pub(crate) fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let found = self.entered(path).and_then(std::fs::metadata);
        found.inspect_err(|error| self.record_unseen(path, error))
    }

    /// As [`Self::metadata`], for what a folder or a list names, so that a link in its place should lead to
    /// something.
    fn named(&self, path: &Path) -> io::Result<Metadata> {
        self.metadata(path).inspect_err(|error| self.record_link(path, error))
    }

    /// Whether a path that a folder or a list names leads to a regular file.
    pub(crate) fn is_named_file(&self, path: &Path) -> bool {
        let Ok(found) = self.named(path) else { return false };
        if !found.is_file() && !found.is_dir() {
            self.add_unseen(Note::special_file(path.to_string_lossy()));
        }
        found.is_file()
    }

    /// Whether a path that a folder or a list names leads to a folder.
    pub(crate) fn is_named_dir(&self, path: &Path) -> bool {
        self.named(path).is_ok_and(|it| it.is_dir())
    }

    /// Whether nothing is at a path, in contrast to what cannot be looked at.
    pub(crate) fn is_gone(&self, path: &Path) -> bool {
        self.metadata(path).is_err_and(|error| is_nowhere(&error))
    }

    /// The path that opens what is at a path. Fails if it is in a FUSE mount of another user, whose daemon
    /// may never answer, or on a disk that is asleep.
    fn entered<'a>(&self, path: &'a Path) -> io::Result<Cow<'a, Path>> {
        let foreign = self.foreign.get_or_init(ForeignMounts::now);
        let absolute = std::path::absolute(path)?;
        if enters_any(foreign, &absolute) {
            return Err(io::Error::other("it is on a FUSE mount of another user, which is not entered"));
        }
        if enters_asleep(&absolute) {
            return Err(asleep::error());
        }
        Ok(self.covered.uncovered(path))
    }

    /// The absolute path without links.
    pub(crate) fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.entered(path)?;
        path.canonicalize()
    }

    /// The metadata of a file, a folder, or a link itself.
    fn link_metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.entered(path)?.symlink_metadata()
    }

    /// Whether a path leads to a regular file.
    pub(crate) fn is_file(&self, path: &Path) -> bool {
        self.metadata(path).is_ok_and(|it| it.is_file())
    }

    /// Whether a path leads to a folder.
    pub(crate) fn is_dir(&self, path: &Path) -> bool {
        self.metadata(path).is_ok_and(|it| it.is_dir())
    }

    /// Which folder it is, following links.
    pub(crate) fn identity(&self, folder: &Path) -> Option<DiskId> {
        let metadata = self.metadata(folder).ok().filter(Metadata::is_dir)?;
        Some(DiskId::from(&metadata))
    }

    /// Which file it is, following links.
    pub(crate) fn file_identity(&self, path: &Path) -> Option<DiskId> {
        let metadata = self.metadata(path).ok().filter(Metadata::is_file)?;
        Some(DiskId::from(&metadata))
    }

    /// Whether a FUSE file system is mounted on a folder, such as a mod manager's or another bsafs
    /// mount. The mount of this process does not count, because plans read beneath it.
    pub(crate) fn is_fuse(&self, folder: &Path) -> bool {
        let Ok(folder) = self.canonical(folder) else { return false };
        let is_one = |it: &mountinfo::MountEntry| it.mountpoint == folder && it.is_fuse();
        !self.covered.is_mountpoint(&folder) && mountinfo::mounts().iter().any(is_one)
    }
}

/// Whether a path could not be opened because nothing can be there.
fn is_nowhere(error: &io::Error) -> bool {
    leads_nowhere(error)
        || matches!(error.kind(), io::ErrorKind::InvalidFilename | io::ErrorKind::InvalidInput)
}

/// What a file counts: its bytes, and more for each line. Lines end in LF or CR.
fn cost(content: &[u8]) -> usize {
    let lines = content.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
    content.len() + lines * LINE_COST
}

fn too_much() -> String {
    format!(
        "the files of this plan and the names in its data folders have more than {} together, if each line \
         counts as {LINE_COST} and each name as {NAME_COST} bytes more",
        size(PLAN_READ_MAX as u64)
    )
}

/// A path that was looked up on the disk, ignoring case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundPath {
    /// The path as the disk spells it. The last name may be a dangling link.
    pub(crate) path: PathBuf,
    /// Other spellings of the path or of one of its folders. The game does not see what is in them.
    pub(crate) others: Vec<PathBuf>,
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn missing_files_and_folders_are_recorded() {
        let disk = Disk::default();
        let _ = disk.read(Path::new("/none/x.ini"), 1);
        let _ = disk.names(Path::new("/none/Data"));
        let read = disk.into_read_set();
        assert_eq!(read.files, ["/none/x.ini".into()].into());
        assert_eq!(read.folders, ["/none/Data".into()].into());
    }

    #[test]
    fn a_folder_is_listed_once_for_all_sources_of_a_plan_and_each_depends_on_it() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, closed) = (dir.path().join("mods"), dir.path().join("none"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("A"), "").unwrap();
        let disk = Disk::beneath(Covered::default());
        let names = |disk: &Disk| disk.names(&folder).unwrap().iter().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(names(&disk), ["A"]);
        let of_first = disk.take_read().0;
        // Another listing would show the new name.
        fs::write(folder.join("B"), "").unwrap();
        let other = disk.with_own_reads();
        assert_eq!((names(&disk), names(&other)), (vec!["A".to_owned()], vec!["A".to_owned()]));
        assert_eq!(names(&Disk::beneath(Covered::default())), ["A", "B"], "a later plan lists it again");
        assert_eq!(disk.take_read().0, of_first);
        assert_eq!(of_first.folders, [folder.clone()].into());
        assert_eq!(other.into_read_set(), of_first);
        // What could not be listed is not remembered.
        assert!(disk.names(&closed).is_err());
        fs::create_dir(&closed).unwrap();
        assert_eq!(disk.names(&closed).unwrap().count(), 0);
    }

    #[test]
    fn all_files_of_a_plan_together_are_limited_and_the_note_names_the_limit() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::default());
        let files: Vec<PathBuf> = (0..20).map(|number| dir.path().join(number.to_string())).collect();
        for file in files.iter() {
            fs::write(file, vec![b'x'; SETTINGS_MAX]).unwrap();
        }
        let mut notes = Vec::new();
        let read = files.iter().filter(|file| disk.list(file, &mut notes).is_some()).count();
        assert_eq!((read, notes.len()), (PLAN_READ_MAX / SETTINGS_MAX, 4));
        assert!(notes.iter().all(|note| note.text.contains("64 MiB")), "{notes:?}");
        assert!(disk.read_start(&files[0], 8).is_err(), "headers of plugins count, too");
        let left_out = disk.left_out().unwrap();
        assert_eq!(left_out.subject, files[read].to_str().unwrap());
        assert!(left_out.text.contains("64 MiB"), "{left_out:?}");
    }

    #[test]
    fn a_file_of_empty_lines_costs_what_a_plan_keeps_of_them() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::default());
        for (name, line) in [("lf", "\n"), ("cr", "\r")] {
            fs::write(dir.path().join(name), line.repeat(1 << 20)).unwrap();
            let error = disk.read(&dir.path().join(name), SETTINGS_MAX).unwrap_err();
            assert!(error.to_string().contains("64 MiB"), "{error}");
        }
    }

    #[test]
    fn a_path_is_found_in_any_case_with_either_slash() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::default());
        let folder = dir.path().join("Binaries/Über");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("Game.EXE"), "").unwrap();
        assert_eq!(disk.find_file(dir.path(), "binaries\\über/game.exe"), Some(folder.join("Game.EXE")));
        assert_eq!(disk.find_folder(dir.path(), "BINARIES/"), Some(dir.path().join("Binaries")));
        assert_eq!(disk.find_file(dir.path(), "binaries"), None);
        assert_eq!(disk.find(dir.path(), "binaries/none"), None);
        assert_eq!(disk.find(&folder, "../über"), None, "the path leads out of the folder");
    }

    #[test]
    fn the_exact_spelling_is_preferred_and_others_are_reported() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::default());
        for name in ["DATA", "Data", "data"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let found = disk.find(dir.path(), "Data").unwrap();
        assert_eq!(found.path, dir.path().join("Data"));
        assert_eq!(found.others, [dir.path().join("DATA"), dir.path().join("data")]);
        assert_eq!(disk.find(dir.path(), "dAtA").unwrap().path, dir.path().join("DATA"));
        let names = disk.names(dir.path()).unwrap();
        assert_eq!(names.iter().collect::<Vec<_>>(), ["DATA", "Data", "data"]);
        assert_eq!(names.get("other"), None);
    }

    #[test]
    fn a_loop_of_links_is_not_followed_forever() {
        let (dir, disk) = (tempfile::tempdir().unwrap(), Disk::default());
        std::os::unix::fs::symlink("loop", dir.path().join("loop")).unwrap();
        assert_eq!(disk.find_folder(dir.path(), "loop"), None);
        assert_eq!(disk.find(dir.path(), "loop/loop"), None);
    }

    #[test]
    fn covered_files_are_read_beneath_the_mount() {
        let dir = tempfile::tempdir().unwrap();
        let mountpoint = dir.path().join("Data");
        fs::create_dir_all(mountpoint.join("sub")).unwrap();
        fs::write(mountpoint.join("sub/x"), "x").unwrap();
        let covered = Covered::default();
        let disk = Disk::beneath(covered.clone());
        covered.cover(&mountpoint, fs::File::open(&mountpoint).unwrap().as_fd()).unwrap();
        // A mount would likewise put another folder at this path.
        fs::rename(&mountpoint, dir.path().join("moved")).unwrap();
        fs::create_dir(&mountpoint).unwrap();
        assert_eq!(disk.read(&mountpoint.join("sub/x"), 1).unwrap(), b"x");
        assert!(disk.is_dir(&mountpoint.join("sub")));
        assert_eq!(disk.find_file(&mountpoint, "SUB/X"), Some(mountpoint.join("sub/x")));
        assert!(!Disk::default().is_dir(&mountpoint.join("sub")), "another Disk must not see covered files");
    }
}
