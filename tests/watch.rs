//! Watching files and folders: which events count as a change.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bsafs::watch::{Interests, Meaning, WatchChanges, Watcher};

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

    /// Watches what `add` adds, and folders. Returns the folders that were not watched before.
    fn watch(&self, add: impl FnOnce(&mut Interests, &Path), folders: &[&str]) -> Vec<PathBuf> {
        let mut interests = Interests::default();
        add(&mut interests, self.dir.path());
        folders.iter().for_each(|folder| interests.add_way_to(&self.path(folder)));
        let added = folders.iter().map(|folder| self.path(folder)).collect();
        let changes = WatchChanges { added, interests: Some(interests), ..WatchChanges::default() };
        self.watcher.watch(changes).iter().map(PathBuf::from).collect()
    }

    /// What the first event that counts means; `None` if there is none before the time is over.
    fn event(&self, within: Duration) -> Option<Meaning> {
        let until = Instant::now() + within;
        let mut found = None;
        while found.is_none() && self.watcher.wait(self.never.as_fd(), Some(until)).unwrap().has_events {
            self.watcher.read_events(|event| found = found.or(Some(event.meaning))).unwrap();
        }
        found
    }

    /// Whether a change that counts happens before the time is over.
    fn is_changed(&self, within: Duration) -> bool {
        self.event(within).is_some()
    }
}

const MOMENT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(30);

#[test]
fn every_change_of_a_watched_file_is_noticed_but_not_of_others() {
    let it = Watched::new(Watcher::new());
    fs::write(it.path("a.bsa"), "1").unwrap();
    it.watch(|interests, dir| interests.add_file(&dir.join("a.bsa")), &[]);
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
    let it = Watched::new(Watcher::new());
    fs::write(it.path("a"), "1").unwrap();
    it.watch(|interests, dir| interests.add_plan_names(dir), &[]);
    fs::write(it.path("a"), "22").unwrap();
    assert!(!it.is_changed(MOMENT));
    fs::write(it.path("b"), "1").unwrap();
    assert!(it.is_changed(LONG));
    while it.is_changed(MOMENT) {}
    it.watch(|_, _| (), &[""]);
    fs::write(it.path("a"), "333").unwrap();
    assert!(it.is_changed(LONG));
}

#[test]
fn the_creation_of_a_missing_folder_is_noticed() {
    let it = Watched::new(Watcher::new());
    it.watch(|interests, dir| interests.add_file(&dir.join("x/y/a.bsa")), &[]);
    fs::write(it.path("x2"), "").unwrap();
    assert!(!it.is_changed(MOMENT));
    fs::create_dir_all(it.path("x/y")).unwrap();
    assert!(it.is_changed(LONG));
}

#[test]
fn a_moved_folder_is_no_longer_watched() {
    let it = Watched::new(Watcher::new());
    fs::create_dir(it.path("x")).unwrap();
    it.watch(|_, _| (), &["x"]);
    fs::rename(it.path("x"), it.path("y")).unwrap();
    assert!(it.is_changed(LONG));
    while it.is_changed(MOMENT) {}
    fs::write(it.path("y/a"), "").unwrap();
    assert!(!it.is_changed(MOMENT));
    fs::create_dir(it.path("x")).unwrap();
    assert!(it.is_changed(LONG));
    let none = WatchChanges::default();
    assert_eq!(it.watcher.watch(none).len(), 1, "the new folder is not watched");
    fs::write(it.path("x/a"), "").unwrap();
    assert!(it.is_changed(LONG));
}

#[test]
fn folders_beyond_the_share_of_watches_are_reported_as_unwatched() {
    let it = Watched::new(Watcher::with_share(0));
    let added = it.watch(|_, _| (), &[""]);
    assert!(
        added.contains(&it.path(""))
            && it.watcher.unwatched().iter().any(|folder| **folder == *it.path("").as_os_str())
    );
    assert_eq!((it.watcher.counts().0, it.is_changed(MOMENT)), (0, false));
}

#[test]
fn an_event_says_what_changed() {
    let it = Watched::new(Watcher::new());
    for folder in ["top/sub", "other"] {
        fs::create_dir_all(it.path(folder)).unwrap();
    }
    let add = |interests: &mut Interests, dir: &Path| {
        interests.add_plan_file(&dir.join("other/plugins.txt"));
        interests.add_file(&dir.join("top/sub/a.bsa"));
    };
    it.watch(add, &["top", "top/sub"]);
    let meaning = |act: &dyn Fn()| {
        act();
        let meaning = it.event(LONG).unwrap();
        while it.is_changed(MOMENT) {}
        meaning
    };
    let plan = meaning(&|| fs::write(it.path("other/plugins.txt"), "").unwrap());
    assert!(plan.is_plan && !plan.is_content);
    let loose = meaning(&|| fs::write(it.path("top/sub/a.txt"), "").unwrap());
    assert!(loose.is_content && loose.is_of_names && !loose.is_plan && !loose.is_file);
    let archive = meaning(&|| fs::write(it.path("top/sub/a.bsa"), "").unwrap());
    assert!(archive.is_content && archive.is_file);
    let way = meaning(&|| fs::rename(it.path("top"), it.path("moved")).unwrap());
    assert!(way.is_way && way.is_of_names && !way.is_link);
}
