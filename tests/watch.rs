//! Watching files and folders: which events count as a change.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bsafs::watch::{Interests, Meaning, UsedFolder, WatchChanges, Watcher};

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
        for folder in folders.iter() {
            interests.add_way_to(&self.path(folder));
        }
        let added = folders.iter().map(|folder| self.path(folder)).collect();
        let changes = WatchChanges { added, interests: Some(interests), ..WatchChanges::default() };
        self.watcher.watch(changes).iter().map(PathBuf::from).collect()
    }

    /// What the first event that counts means; `None` if there is none before the time is over.
    fn event(&self, within: Duration) -> Option<Meaning> {
        let until = Instant::now() + within;
        let mut found = None;
        while found.is_none() && self.watcher.wait(self.never.as_fd(), None, Some(until)).unwrap().has_events
        {
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
fn a_folder_that_is_used_gets_the_watch_of_one_that_is_not() {
    let it = Watched::new(Watcher::with_share(2));
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| it.path(name));
    for folder in [&a, &b, &c, &d] {
        fs::create_dir(folder).unwrap();
    }
    let added = vec![a.clone(), b.clone(), c.clone(), d.clone()];
    it.watcher.watch(WatchChanges { added, ..WatchChanges::default() });
    let paths = |folders: &[std::sync::Arc<std::ffi::OsStr>]| -> Vec<PathBuf> {
        folders.iter().map(PathBuf::from).collect()
    };
    let unwatched = || paths(&it.watcher.unwatched());
    assert_eq!((unwatched(), it.watcher.surplus(100).len()), (vec![c.clone(), d.clone()], 0));
    let uses = std::cell::Cell::new(0);
    let use_folders = |used: &[&PathBuf]| {
        let used = used.iter().map(|folder| {
            uses.set(uses.get() + 1);
            UsedFolder { folder: folder.to_path_buf(), is_read: true, at: uses.get() }
        });
        it.watcher.record_used(&used.collect::<Vec<_>>(), &[]);
        let surplus = it.watcher.surplus(100);
        let moved = it.watcher.move_watches(&surplus);
        assert_eq!(paths(&moved.removed), paths(&surplus));
        (paths(&moved.removed), paths(&moved.added))
    };
    // A change of the folder that is about to lose its watch is still reported, even if it was not read yet.
    fs::write(a.join("file"), "").unwrap();
    assert_eq!(use_folders(&[&c]), (vec![a.clone()], vec![c.clone()]));
    assert_eq!((unwatched(), it.watcher.counts()), (vec![a.clone(), d.clone()], (2, 1, 2)));
    assert!(it.is_changed(LONG));
    while it.is_changed(MOMENT) {}
    fs::write(a.join("file"), "1").unwrap();
    assert!(!it.is_changed(MOMENT), "the folder without a watch is still watched");
    fs::write(c.join("file"), "").unwrap();
    assert!(it.is_changed(LONG), "the used folder is not watched");
    while it.is_changed(MOMENT) {}
    // Among folders that were not used, the one that changed last is watched.
    assert_eq!(use_folders(&[&c]), (vec![b.clone()], vec![a.clone()]));
    // Nothing moves if the used folders are watched. Otherwise, the one that was not used for longest loses.
    assert_eq!(use_folders(&[&c]), (vec![], vec![]));
    assert_eq!(use_folders(&[&d]), (vec![a.clone()], vec![d.clone()]));
    assert_eq!(use_folders(&[&a]), (vec![c.clone()], vec![a.clone()]));
    // The last ones win if more folders are used than there are watches.
    let (removed, added) = use_folders(&[&d, &b, &c]);
    assert_eq!((removed.len(), added), (2, vec![c.clone(), b.clone()]));
    // A change without a use is worth less than a use.
    let changed: std::sync::Arc<std::ffi::OsStr> = a.as_os_str().into();
    it.watcher.record_used(&[], &[changed]);
    assert!(it.watcher.surplus(100).is_empty());
    while it.is_changed(MOMENT) {}
    fs::write(b.join("file"), "").unwrap();
    assert!(it.is_changed(LONG));
    assert_eq!(it.watcher.counts().0, 2);
}

/// A watcher with a few watches, and folders `a` to `j` of its folder, which are all to be watched.
fn with_few_watches(watches: usize, add: impl FnOnce(&mut Interests, &Path), first: &[&str]) -> Watched {
    let it = Watched::new(Watcher::with_share(watches));
    let names = ('a'..='j').map(|name| name.to_string());
    let added: Vec<PathBuf> = names.map(|name| it.path(&name)).collect();
    for folder in &added {
        fs::create_dir(folder).unwrap();
    }
    let mut interests = Interests::default();
    add(&mut interests, it.dir.path());
    let first = first.iter().map(|name| it.path(name)).collect();
    let interests = Some(interests);
    it.watcher.watch(WatchChanges { added, interests, first, ..WatchChanges::default() });
    it
}

impl Watched {
    /// Records uses of folders, and moves watches. Returns how many were moved.
    fn use_folders(&self, used: &[&str], is_read: bool, at: u64) -> usize {
        let used = used.iter().zip(at..);
        let used = used.map(|(name, at)| UsedFolder { folder: self.path(name), is_read, at });
        self.watcher.record_used(&used.collect::<Vec<_>>(), &[]);
        let surplus = self.watcher.surplus(100);
        self.watcher.move_watches(&surplus).added.len()
    }

    fn is_watched(&self, name: &str) -> bool {
        self.watcher.is_reported(&self.path(name))
    }
}

#[test]
fn a_watch_is_not_given_up_for_a_folder_that_is_gone() {
    let it = with_few_watches(1, |_, _| (), &[]);
    assert!(it.is_watched("a"));
    let used = UsedFolder { folder: it.path("b"), is_read: true, at: 1 };
    it.watcher.record_used(&[used], &[]);
    let surplus = it.watcher.surplus(100);
    fs::remove_dir(it.path("b")).unwrap();
    let moved = it.watcher.move_watches(&surplus);
    assert!(it.is_watched("a") && moved.added == moved.removed, "{moved:?}");
    fs::write(it.path("a/file"), "").unwrap();
    assert!(it.is_changed(LONG));
}

#[test]
fn what_decides_the_load_order_is_watched_before_anything_else_and_stays_so() {
    let add = |interests: &mut Interests, dir: &Path| {
        interests.add_plan_file(&dir.join("profile/modlist.txt"));
        interests.add_file(&dir.join("j/a.bsa"));
    };
    let it = with_few_watches(12, add, &[]);
    fs::create_dir(it.path("profile")).unwrap();
    let mut interests = Interests::default();
    add(&mut interests, it.dir.path());
    it.watcher.watch(WatchChanges { interests: Some(interests), ..WatchChanges::default() });
    // The folders have all watches by now, so the profile needs that of another folder.
    it.use_folders(&["a", "b", "c", "d", "e", "f", "g", "h", "i"], true, 1);
    while it.is_changed(MOMENT) {}
    fs::write(it.path("profile/modlist.txt"), "").unwrap();
    assert!(it.event(LONG).is_some_and(|meaning| meaning.is_plan) && it.is_watched("j"));
}

#[test]
fn folders_that_come_first_keep_their_watches_unless_they_are_many() {
    let it = with_few_watches(8, |_, _| (), &["i", "j"]);
    it.use_folders(&["a", "b", "c", "d", "e", "f", "g", "h"], true, 1);
    assert!(it.is_watched("i") && it.is_watched("j"));
    let it = with_few_watches(4, |_, _| (), &["a", "b", "c", "d"]);
    it.use_folders(&["g", "h", "i", "j"], true, 1);
    assert!(["a", "h", "i", "j"].iter().all(|name| it.is_watched(name)));
}

#[test]
fn folders_that_a_walk_lists_take_no_watch_of_those_that_programs_read() {
    let it = with_few_watches(4, |_, _| (), &[]);
    it.use_folders(&["e", "f"], true, 1);
    it.use_folders(&["a", "b", "c", "d", "g", "h", "i", "j"], false, 3);
    assert!(["e", "f", "i", "j"].iter().all(|name| it.is_watched(name)));
    // If a program read everything, what is listed still gets a watch.
    it.use_folders(&["a", "b", "c", "d"], true, 11);
    it.use_folders(&["j"], false, 15);
    assert!(["c", "d", "j"].iter().all(|name| it.is_watched(name)) && !it.is_watched("a"));
    // No folder changed because its watch moved.
    assert!(!it.is_changed(MOMENT));
    // At most so many move at a time, those that were used last.
    let used = ["g", "h", "i"].map(|name| UsedFolder { folder: it.path(name), is_read: true, at: 20 });
    it.watcher.record_used(&used, &[]);
    assert_eq!(it.watcher.surplus(1).len(), 1);
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
