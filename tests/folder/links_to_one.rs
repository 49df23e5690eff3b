//! Paths that lead to one folder: they share a walk, and stay apart in everything else.

use std::fs;
use std::path::{Path, PathBuf};

use bsafs::folder::{Filter, HiddenNames, LooseFolder, LooseNames, Scans};

use super::{Disk, files, notes, number, read};

/// Where the names of a folder are in memory.
fn names(folder: &LooseFolder) -> *const LooseNames {
    folder.names()
}

fn again(scans: &Scans, before: &LooseFolder, changed: &[PathBuf]) -> LooseFolder {
    let is_changed = |folder: &Path| changed.iter().any(|it| it == folder);
    let changes = before.changes_among(changed.iter().map(PathBuf::as_path), &is_changed);
    scans.scan_again(before, &changes.expect("nothing changed in the folder")).unwrap()
}

#[test]
fn a_folder_is_walked_once_however_its_path_is_spelt() {
    let disk = Disk::new(&["root/a", "root/sub/b", "mods/"]);
    disk.link("../root", "mods/relative");
    disk.link(disk.path("root").to_str().unwrap(), "mods/absolute");
    disk.link("relative/sub/../../root/.", "mods/winding");
    disk.link("winding", "mods/link_to_link");
    disk.link("../root/sub", "mods/part");
    let scans = Scans::new(disk.files.clone());
    let scan = |path: &str| scans.scan(&disk.path(path), &Filter::default()).unwrap();
    let first = scan("root");
    for path in ["mods/relative", "mods/absolute", "mods/winding", "mods/link_to_link", "root/sub/.."] {
        // A file that was added later is not found, because nothing is listed again.
        disk.write("root/later");
        let folder = scan(path);
        assert_eq!((files(&folder), names(&folder)), (files(&first), names(&first)), "{path}");
        assert_eq!(folder.path(), disk.path(path.trim_end_matches("/sub/..")));
        assert_eq!(read(&folder, "sub/b"), "root/sub/b");
    }
    assert_eq!(files(&scan("mods/part")), ["b"]);
    assert_eq!(files(&Scans::default().scan(&disk.path("root"), &Filter::default()).unwrap()).len(), 3);
}

#[test]
fn each_filter_walks_a_folder_for_itself() {
    let disk = Disk::new(&["root/a.txt", "root/b.mohidden", "root/sub/c.bak", "root/sub/d.txt"]);
    disk.link("root", "link");
    let scans = Scans::new(disk.files.clone());
    let hiding = |ending| Filter { hidden: HiddenNames::new([], [], [ending]).into(), ..Filter::default() };
    let below = Filter { only_below: Some(vec!["sub".into()]), no_direct_files: true, ..Filter::default() };
    let at_root = Filter { not_at_root: vec!["SUB".into()], ..Filter::default() };
    for (filter, expected) in [
        (Filter::default(), &["a.txt", "b.mohidden", "sub/c.bak", "sub/d.txt"][..]),
        (hiding(".mohidden"), &["a.txt", "sub/c.bak", "sub/d.txt"]),
        (hiding(".bak"), &["a.txt", "b.mohidden", "sub/d.txt"]),
        (below, &["sub/c.bak", "sub/d.txt"]),
        (at_root, &["a.txt", "b.mohidden"]),
    ] {
        let folders = ["root", "link"].map(|path| scans.scan(&disk.path(path), &filter).unwrap());
        assert_eq!(names(&folders[0]), names(&folders[1]), "{filter:?}");
        assert_eq!(folders[1].filter(), &filter);
        let mut found = files(&folders[1]);
        found.sort();
        assert_eq!(found, expected, "{filter:?}");
    }
}

#[test]
fn links_from_a_folder_to_those_above_it_are_circles_on_every_path() {
    let disk = Disk::new(&["root/sub/a", "beside/b"]);
    disk.link("..", "root/sub/up");
    disk.link("../../beside", "root/sub/beside");
    disk.link("../root", "beside/back");
    disk.link("root/sub", "link");
    let scans = Scans::new(disk.files.clone());
    for path in ["root", "link", "beside", "root/sub", "link/up", "root/sub/beside"] {
        let alone = Scans::default().scan(&disk.path(path), &Filter::default()).unwrap();
        let shared = scans.scan(&disk.path(path), &Filter::default()).unwrap();
        assert_eq!((files(&shared), notes(&shared)), (files(&alone), notes(&alone)), "{path}");
        assert!(!notes(&shared).is_empty(), "{path}");
    }
}

#[test]
fn what_is_known_of_a_file_and_what_is_left_out_concerns_one_path() {
    let disk = Disk::new(&["root/a", "root/b.bsa"]);
    disk.link("root", "link");
    let scans = Scans::new(disk.files.clone());
    let scan = |path: &str| scans.scan(&disk.path(path), &Filter::default()).unwrap();
    let (one, mut two) = (scan("root"), scan("link"));
    one.stat(number(&one, "a")).unwrap();
    assert!(one.known(number(&one, "a")).is_some() && two.known(number(&two, "a")).is_none());
    two.leave_out(|_, name| name.ends_with(b".esp"));
    assert_eq!(names(&one), names(&two));
    two.leave_out(|_, name| name.ends_with(b".bsa"));
    assert_eq!((files(&one).len(), files(&two)), (2, vec!["a".to_owned()]));
    assert_eq!((read(&one, "b.bsa"), read(&two, "a")), ("root/b.bsa".into(), "root/a".into()));
}

#[test]
fn a_change_is_listed_once_for_all_paths_that_still_lead_to_the_folder() {
    let disk = Disk::new(&["root/a", "root/quiet/b", "other/c"]);
    let paths = ["root", "one", "two", "moved"];
    paths[1..].iter().for_each(|link| disk.link("root", link));
    let scans = Scans::new(disk.files.clone());
    let before = paths.map(|path| scans.scan(&disk.path(path), &Filter::default()).unwrap());
    before[2].stat(number(&before[2], "quiet/b")).unwrap();
    disk.write("root/new");
    fs::remove_file(disk.path("moved")).unwrap();
    disk.link("other", "moved");
    let scans = Scans::new(disk.files.clone());
    let now = [0, 1, 2, 3].map(|at| again(&scans, &before[at], &[disk.path(paths[at])]));
    for at in 0..3 {
        let expected = [&disk.in_order(["a", "new"])[..], &["quiet/b"]].concat();
        assert_eq!(files(&now[at]), expected, "{}", paths[at]);
        assert_eq!((names(&now[at]), now[at].path()), (names(&now[0]), &*disk.path(paths[at])));
        assert_eq!(now[at].known(number(&now[at], "quiet/b")).is_some(), at == 2, "{}", paths[at]);
    }
    assert_eq!(files(&now[3]), ["c"]);
    // If something else changed for one path, it is not listed as for the others.
    let quiet = |at: usize| disk.path(paths[at]).join("quiet");
    disk.write("root/quiet/d");
    let one = again(&scans, &now[0], &[quiet(0)]);
    let two = again(&scans, &now[1], &[disk.path(paths[1])]);
    assert_eq!((files(&one).len(), files(&two).len()), (4, 3));
}
