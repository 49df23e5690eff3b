//! The files that a game finds in its data folders. Higher folders hide lower ones.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::game::caseless::fold;
use crate::game::disk::Disk;
use crate::note::Note;

/// A time on the disk, in seconds and nanoseconds.
pub(crate) type Time = (i64, u32);

/// A file directly in a data folder.
#[derive(Clone, Debug)]
pub(crate) struct DataFile {
    /// The name as the disk spells it.
    pub(crate) name: String,
    /// Modification time; for a link, that of its target.
    pub(crate) changed: Time,
}

/// A data folder: the game's own, or a mod's.
#[derive(Clone, Debug, Default)]
pub(crate) struct DataFolder {
    pub(crate) path: PathBuf,
    /// The files directly in it.
    pub(crate) files: Vec<DataFile>,
    /// The names of the folders directly in it.
    pub(crate) folders: Vec<String>,
}

impl DataFolder {
    /// Reads the names in a folder, as far as one plan may keep them. `note_case` adds notes on folders that
    /// differ in case alone.
    pub(crate) fn read(disk: &Disk, path: &Path, note_case: bool, notes: &mut Vec<Note>) -> Self {
        let mut folder = Self { path: path.to_owned(), ..Self::default() };
        let entries = match disk.entries(path) {
            Ok(entries) => entries,
            Err(error) => {
                notes.push(Note::unreadable(path, &error));
                return folder;
            }
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    notes.push(Note::unreadable(path, &error));
                    break;
                }
            };
            let Ok(name) = entry.file_name().into_string() else { continue };
            if disk.keep_name(path, &name).is_err() {
                break;
            }
            // This `metadata` follows links.
            match disk.metadata(&entry.path()) {
                Ok(found) if found.is_dir() => folder.folders.push(name),
                Ok(found) if found.is_file() => {
                    let nanoseconds = u32::try_from(found.mtime_nsec()).unwrap_or(0);
                    folder.files.push(DataFile { name, changed: (found.mtime(), nanoseconds) });
                }
                Ok(_) => notes.push(Note::special_file(path.join(name).to_string_lossy())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    notes.push(Note::dangling_link(path.join(name).to_string_lossy()));
                }
                Err(error) => notes.push(Note::unreadable(&path.join(name), &error)),
            }
        }
        if note_case {
            let mut folders: HashMap<String, Vec<String>> = HashMap::new();
            for name in &folder.folders {
                folders.entry(fold(name)).or_default().push(name.clone());
            }
            let mut twice: Vec<_> =
                folders.into_values().filter(|names| names.len() > 1).map(Note::folder_case).collect();
            twice.sort_by(|a, b| a.subject.cmp(&b.subject));
            notes.append(&mut twice);
        }
        folder
    }
}

/// Data folders, lowest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct DataFolders {
    folders: Vec<DataFolder>,
    /// Indexes of folder and file by folded name, highest folder first.
    index: HashMap<String, Vec<(usize, usize)>>,
}

impl DataFolders {
    /// Indexes folders, which must be ordered lowest first.
    pub(crate) fn new(folders: Vec<DataFolder>) -> Self {
        let mut index: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
        for (at, folder) in folders.iter().enumerate().rev() {
            // Within a folder, spellings of one name are in byte order.
            let mut files: Vec<usize> = (0..folder.files.len()).collect();
            files.sort_by(|&a, &b| folder.files[a].name.cmp(&folder.files[b].name));
            for file in files {
                index.entry(fold(&folder.files[file].name)).or_default().push((at, file));
            }
        }
        Self { folders, index }
    }

    /// Finds the file for a name, ignoring case. The highest folder wins; in it, the exact spelling if it
    /// exists, otherwise the first in byte order.
    pub(crate) fn find(&self, name: &str) -> Option<FoundFile<'_>> {
        let all = self.index.get(&fold(name))?;
        let highest = all.first()?.0;
        let mut same = all.iter().take_while(|(folder, _)| *folder == highest);
        let exact = same.find(|(folder, file)| self.folders[*folder].files[*file].name == name);
        Some(self.at(*exact.or(all.first())?))
    }

    /// The file that a game finds under each name, sorted by folded name.
    pub(crate) fn all(&self) -> Vec<FoundFile<'_>> {
        let mut all: Vec<_> =
            self.index.iter().filter_map(|(folded, all)| Some((folded, *all.first()?))).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, at)| self.at(at)).collect()
    }

    /// Files that [`Self::find`] never returns because a higher folder has them, lowest first.
    pub(crate) fn hidden(&self) -> Vec<FoundFile<'_>> {
        let below = |all: &Vec<(usize, usize)>| {
            let highest = all.first().map(|it| it.0);
            all.iter().copied().filter(|it| Some(it.0) != highest).collect::<Vec<_>>()
        };
        let mut hidden: Vec<_> = self.index.values().flat_map(below).collect();
        hidden.sort_unstable();
        hidden.into_iter().map(|at| self.at(at)).collect()
    }

    /// Whether a folder has a subfolder, or a file whose name `is_loose`.
    pub(crate) fn has_loose(&self, is_loose: impl Fn(&str) -> bool) -> bool {
        let is_one = |file: &DataFile| is_loose(&file.name);
        self.folders.iter().any(|it| !it.folders.is_empty() || it.files.iter().any(is_one))
    }

    fn at(&self, (folder, file): (usize, usize)) -> FoundFile<'_> {
        let folder = &self.folders[folder];
        FoundFile { folder, file: &folder.files[file] }
    }
}

/// A file and the folder that contains it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundFile<'a> {
    pub(crate) folder: &'a DataFolder,
    pub(crate) file: &'a DataFile,
}

impl<'a> FoundFile<'a> {
    pub(crate) fn path(self) -> PathBuf {
        self.folder.path.join(&self.file.name)
    }

    /// The file's name as the disk spells it.
    pub(crate) fn name(self) -> &'a str {
        &self.file.name
    }
}

#[cfg(test)]
mod tests {
    use super::{DataFile, DataFolder, DataFolders};
    use crate::game::disk::Disk;
    use crate::limits::PLAN_READ_MAX;

    /// Creates data folders from the names and times of their files.
    fn folders(folders: &[(&str, &[(&str, i64)])]) -> DataFolders {
        let file = |(name, time): &(&str, i64)| DataFile { name: (*name).to_owned(), changed: (*time, 0) };
        let folder = |(path, files): &(&str, &[(&str, i64)])| DataFolder {
            path: path.into(),
            files: files.iter().map(file).collect(),
            folders: Vec::new(),
        };
        DataFolders::new(folders.iter().map(folder).collect())
    }

    #[test]
    fn a_name_in_any_case_is_found_in_the_highest_folder_that_has_it() {
        let data = folders(&[("/low", &[("A.bsa", 0), ("b.bsa", 0)]), ("/high", &[("a.BSA", 0)])]);
        assert_eq!(data.find("A.bsa").unwrap().path(), std::path::Path::new("/high/a.BSA"));
        assert_eq!(data.find("B.BSA").unwrap().path(), std::path::Path::new("/low/b.bsa"));
        assert!(data.find("c.bsa").is_none());
        let hidden: Vec<_> = data.hidden().iter().map(|it| it.path()).collect();
        assert_eq!(hidden, [std::path::Path::new("/low/A.bsa")]);
        assert_eq!(data.all().iter().map(|it| it.name()).collect::<Vec<_>>(), ["a.BSA", "b.bsa"]);
    }

    #[test]
    fn the_exact_spelling_is_preferred_and_otherwise_the_first() {
        let data = folders(&[("/d", &[("x.esp", 0), ("X.esp", 0), ("X.ESP", 0)])]);
        assert_eq!(data.find("X.esp").unwrap().name(), "X.esp");
        assert_eq!(data.find("x.EsP").unwrap().name(), "X.ESP");
        assert!(data.hidden().is_empty());
    }

    #[test]
    fn names_that_one_plan_may_not_keep_are_left_out_with_a_note() {
        let dir = tempfile::tempdir().unwrap();
        let (mods, disk, mut notes) = (dir.path().join("mods"), Disk::default(), Vec::new());
        std::fs::create_dir(&mods).unwrap();
        std::fs::write(mods.join("a.esp"), "").unwrap();
        assert_eq!(DataFolder::read(&disk, &mods, false, &mut notes).files.len(), 1);
        assert!(disk.left_out().is_none());
        // Only the sum counts, whatever it is made of.
        std::fs::File::create(dir.path().join("large")).unwrap().set_len(PLAN_READ_MAX as u64).unwrap();
        let _ = disk.read_start(&dir.path().join("large"), PLAN_READ_MAX);
        assert_eq!(DataFolder::read(&disk, &mods, false, &mut notes).files.len(), 0);
        assert!(disk.left_out().is_some());
    }
}
