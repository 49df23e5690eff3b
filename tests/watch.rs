//! Watching files and folders: which events count as a change.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bsafs::watch::{Interests, Watcher};

/// A folder, and a watcher of it.
struct Watched {
    dir: tempfile::TempDir,
    watcher: Watcher,
    never: std::io::PipeReader,
    _open: std::io::PipeWriter,
}

impl Watched {
    fn new(watcher: Watcher) -> Self {
        let (never, open) = std::io::pipe().unwrap();
        Self { dir: tempfile::tempdir().unwrap(), watcher, never, _open: open }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn watch(&mut self, add: impl FnOnce(&mut Interests, &Path)) -> usize {
        let mut interests = Interests::default();
        add(&mut interests, self.dir.path());
        self.watcher.watch(interests).len()
    }

    /// Whether a change that counts happens before the time is over.
    fn is_changed(&mut self, within: Duration) -> bool {
        let until = Some(Instant::now() + within);
        self.watcher.wait(self.never.as_fd(), until).unwrap().is_changed
    }
}

const MOMENT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(30);

#[test]
fn every_change_of_a_watched_file_is_noticed_but_not_of_others() {
    let mut it = Watched::new(Watcher::new());
    fs::write(it.path("a.bsa"), "1").unwrap();
    it.watch(|interests, dir| interests.add_file(&dir.join("a.bsa")));
    fs::write(it.path("other"), "1").unwrap();
    assert!(!it.is_changed(MOMENT));
    fs::write(it.path("a.bsa"), "22").unwrap();
    assert!(it.is_changed(LONG));
    while it.is_changed(MOMENT) {}
    fs::rename(it.path("other"), it.path("a.bsa")).unwrap();
    assert!(it.is_changed(LONG));
    fs::remove_file(it.path("a.bsa")).unwrap();
    assert!(it.is_changed(LONG));
}

#[test]
fn a_folder_is_watched_for_all_changes_or_only_for_names() {
    let mut it = Watched::new(Watcher::new());
    fs::write(it.path("a"), "1").unwrap();
    it.watch(|interests, dir| interests.add_names(dir));
    fs::write(it.path("a"), "22").unwrap();
    assert!(!it.is_changed(MOMENT));
    fs::write(it.path("b"), "1").unwrap();
    assert!(it.is_changed(LONG));
    while it.is_changed(MOMENT) {}
    it.watch(|interests, dir| interests.add_folder(dir));
    fs::write(it.path("a"), "333").unwrap();
    assert!(it.is_changed(LONG));
}

#[test]
fn the_creation_of_a_missing_folder_is_noticed() {
    let mut it = Watched::new(Watcher::new());
    it.watch(|interests, dir| interests.add_file(&dir.join("x/y/a.bsa")));
    fs::write(it.path("x2"), "").unwrap();
    assert!(!it.is_changed(MOMENT));
    fs::create_dir_all(it.path("x/y")).unwrap();
    assert!(it.is_changed(LONG));
}

#[test]
fn a_moved_folder_is_no_longer_watched() {
    let mut it = Watched::new(Watcher::new());
    fs::create_dir(it.path("x")).unwrap();
    let watch = |interests: &mut Interests, dir: &Path| interests.add_folder(dir.join("x"));
    it.watch(watch);
    fs::rename(it.path("x"), it.path("y")).unwrap();
    assert!(it.is_changed(LONG));
    while it.is_changed(MOMENT) {}
    fs::write(it.path("y/a"), "").unwrap();
    assert!(!it.is_changed(MOMENT));
    fs::create_dir(it.path("x")).unwrap();
    assert!(it.is_changed(LONG));
    assert_eq!(it.watch(watch), 1, "the new folder is not watched");
    fs::write(it.path("x/a"), "").unwrap();
    assert!(it.is_changed(LONG));
}

#[test]
fn unwatchable_folders_are_polled() {
    let mut it = Watched::new(Watcher::polling());
    fs::write(it.path("a"), "1").unwrap();
    assert!(it.watch(|interests, dir| interests.add_folder(dir)) > 0 && it.watcher.polled() > 0);
    fs::write(it.path("a"), "22").unwrap();
    assert!(it.is_changed(LONG));
    assert!(!it.is_changed(MOMENT));
}
