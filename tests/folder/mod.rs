//! Folders of loose files: what a walk finds and leaves out, stats, reads, and changes on disk.

mod links;
mod links_to_one;
mod reads;
mod rescan;
mod walk;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use bsafs::folder::{Filter, LooseFolder, OpenFiles, scan};
use tempfile::TempDir;

/// A folder `root` on the disk, and files beside it.
struct Disk {
    folder: TempDir,
    files: Arc<OpenFiles>,
}

impl Disk {
    /// The paths of files of one folder below `root` in the order in which a walk lists them: that of their
    /// inode numbers, which is not always that of their creation.
    fn in_order<const N: usize>(&self, mut paths: [&'static str; N]) -> [&'static str; N] {
        paths.sort_by_key(|path| fs::metadata(self.path("root").join(path)).unwrap().ino());
        paths
    }

    /// Writes files with these paths, whose contents are their paths. A path that ends in a slash
    /// is an empty folder.
    fn new(paths: &[&str]) -> Self {
        let disk = Self { folder: TempDir::new().unwrap(), files: Arc::default() };
        fs::create_dir(disk.path("root")).unwrap();
        for path in paths.iter() {
            disk.write(path);
        }
        disk
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str) {
        let file = self.path(path);
        if path.ends_with('/') {
            return fs::create_dir_all(file).unwrap();
        }
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, path).unwrap();
    }

    fn link(&self, target: &str, link: &str) {
        fs::create_dir_all(self.path(link).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, self.path(link)).unwrap();
    }

    fn scan(&self) -> LooseFolder {
        scan(&self.path("root"), &Filter::default(), &self.files).unwrap()
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Paths of all files, in the order of the walk.
fn files(folder: &LooseFolder) -> Vec<String> {
    (0..folder.names().file_count()).map(|file| text(folder.names().file_path(file))).collect()
}

/// Paths of all folders except the root, in the order of the walk.
fn folders(folder: &LooseFolder) -> Vec<String> {
    (1..folder.names().folders().len()).map(|index| text(folder.names().folder_path(index as u32))).collect()
}

/// What the walk left out, and why.
fn notes(folder: &LooseFolder) -> Vec<(String, String)> {
    folder.notes().0.iter().map(|note| (text(note.path.clone()), format!("{:?}", note.why))).collect()
}

/// The number of the file with this path.
fn number(folder: &LooseFolder, path: &str) -> u32 {
    (0..folder.names().file_count())
        .find(|&file| folder.names().file_path(file) == path.as_bytes())
        .unwrap_or_else(|| panic!("no {path} in {:?}", files(folder)))
}

/// Reads a whole file as text.
fn read(folder: &LooseFolder, path: &str) -> String {
    let file = number(folder, path);
    let mut bytes = vec![0; folder.stat(file).unwrap().size as usize];
    assert_eq!(folder.read_at(file, &mut bytes, 0).unwrap(), bytes.len());
    text(bytes)
}
