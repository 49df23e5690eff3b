//! What a later scan of a folder lists again, and what it copies from the earlier one.

use std::fs;
use std::path::{Path, PathBuf};

use bsafs::folder::{LooseFolder, scan_again};

use super::{Disk, files, number, read};

fn known(folder: &LooseFolder, path: &str) -> bool {
    folder.known(number(folder, path)).is_some()
}

/// A folder whose files were all statted, long after they were written.
fn statted_folder(disk: &Disk) -> LooseFolder {
    let folder = disk.scan();
    for file in 0..folder.names().file_count() {
        let path = String::from_utf8(folder.names().file_path(file)).unwrap();
        let file = fs::File::options().write(true).open(disk.path("root").join(path)).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    }
    (0..folder.names().file_count()).for_each(|file| assert!(folder.stat(file).is_ok()));
    folder
}

/// Scans a folder again after changes in these folders.
fn again(before: &LooseFolder, changed: &[PathBuf]) -> LooseFolder {
    let is_changed = |folder: &Path| changed.iter().any(|it| it == folder);
    let changes = before.changes_among(changed.iter().map(PathBuf::as_path), &is_changed);
    scan_again(before, &changes.expect("nothing changed in the folder")).unwrap()
}

#[test]
fn stats_are_kept_for_unchanged_folders() {
    let disk = Disk::new(&["root/a", "root/quiet/b", "root/quiet/c", "root/changed/d", "beside/e", "away/f"]);
    disk.link("../../beside/e", "root/quiet/link");
    disk.link("../away/f", "root/linked");
    let before = statted_folder(&disk);
    disk.write("root/changed/0");
    let now = again(&before, &[disk.path("root/changed"), disk.path("away")]);
    for (path, is_known) in [
        ("quiet/b", true),
        ("quiet/c", true),
        ("quiet/link", true),
        ("linked", false),
        ("changed/0", false),
        ("changed/d", false),
    ] {
        assert_eq!(known(&now, path), is_known, "{path}");
    }
    assert_eq!(now.known(number(&now, "quiet/c")), before.known(number(&before, "quiet/c")));
    for path in ["quiet/b", "changed/0", "changed/d"] {
        assert_eq!(read(&now, path), format!("root/{path}"));
    }
    assert_eq!((&*read(&now, "quiet/link"), &*read(&now, "linked")), ("beside/e", "away/f"));
}

#[test]
fn unchanged_folders_are_not_listed_again() {
    let disk = Disk::new(&["root/quiet/deep/a", "root/changed/b"]);
    let before = disk.scan();
    disk.write("root/quiet/deep/unnoticed");
    disk.write("root/quiet/unnoticed");
    disk.write("root/changed/new/deep/c");
    assert_eq!(
        files(&again(&before, &[disk.path("root/changed")])),
        ["changed/b", "quiet/deep/a", "changed/new/deep/c"]
    );
    let elsewhere = disk.path("elsewhere");
    assert!(before.changes_among(std::iter::once(&*elsewhere), &|_| false).is_none());
}

#[test]
fn a_replaced_folder_is_listed_and_statted_again() {
    let disk = Disk::new(&["root/x/sub/a", "beside/sub/a", "beside/sub/b"]);
    let before = statted_folder(&disk);
    fs::rename(disk.path("root/x"), disk.path("gone")).unwrap();
    fs::rename(disk.path("beside"), disk.path("root/x")).unwrap();
    let now = again(&before, &[disk.path("root")]);
    assert!(!known(&now, "x/sub/a"));
    assert_eq!(files(&now), disk.in_order(["x/sub/a", "x/sub/b"]));
    let (added, removed) = now.folder_differences(&before);
    let both = [disk.path("root/x"), disk.path("root/x/sub")];
    assert_eq!((&added[..], &removed[..]), (&both[..], &both[..]));
}

#[test]
fn a_moved_root_is_scanned_as_if_it_were_new() {
    let disk = Disk::new(&["root/sub/a", "other/sub/a", "other/sub/b"]);
    let before = disk.scan();
    fs::rename(disk.path("root"), disk.path("gone")).unwrap();
    fs::rename(disk.path("other"), disk.path("root")).unwrap();
    assert_eq!(files(&again(&before, &[disk.path("root")])), disk.in_order(["sub/a", "sub/b"]));
}

#[test]
fn links_are_resolved_again_if_their_targets_changed() {
    let disk = Disk::new(&["root/sub/a", "beside/b", "beside/c"]);
    disk.link("../../beside/b", "root/sub/link");
    disk.link("../beside", "root/folder");
    let before = statted_folder(&disk);
    fs::remove_file(disk.path("beside/b")).unwrap();
    let now = again(&before, &[disk.path("beside"), disk.path("root/folder")]);
    assert_eq!(files(&now), ["folder/c", "sub/a"]);
    assert_eq!(read(&now, "folder/c"), "beside/c");
}

#[test]
fn folders_with_changed_files_are_found() {
    let disk = Disk::new(&["root/x/a", "root/y/b", "root/z/c", "beside/e"]);
    disk.link("../../beside/e", "root/x/link");
    let folder = statted_folder(&disk);
    let (x, y, z) = (disk.path("root/x"), disk.path("root/y"), disk.path("root/z"));
    assert!(folder.stale_folders(|_| true).is_empty());
    disk.write("root/y/b");
    fs::remove_file(disk.path("root/z/c")).unwrap();
    fs::write(disk.path("beside/e"), "longer than before").unwrap();
    assert_eq!(folder.stale_folders(|it| it == x || it == y), std::slice::from_ref(&y));
    assert_eq!(folder.stale_folders(|it| it != x), [disk.path("beside"), y.clone(), z]);
    let amid_a_write = disk.scan();
    amid_a_write.stat(number(&amid_a_write, "y/b")).unwrap();
    assert_eq!(amid_a_write.stale_folders(|_| true), [y]);
}

#[test]
fn marks_of_deleted_files_are_kept_for_folders_that_are_not_listed_again() {
    let whiteouts = |folder: &LooseFolder| -> Vec<String> {
        let names = folder.names();
        let path =
            |(at, name): (u32, &[u8])| [&names.folder_path(at), name].map(String::from_utf8_lossy).join(":");
        names.whiteouts().map(path).collect()
    };
    let disk = Disk::new(&["root/quiet/.wh.a", "root/changed/b", "root/quiet/deep/.wh..wh..opq", "root/z/"]);
    let before = disk.scan();
    assert_eq!(whiteouts(&before), ["quiet:a", "quiet/deep:"]);
    disk.write("root/changed/.wh.b");
    fs::remove_file(disk.path("root/changed/b")).unwrap();
    let now = again(&before, &[disk.path("root/changed")]);
    assert_eq!((whiteouts(&now), files(&now)), (whiteouts(&disk.scan()), Vec::new()));
    assert_eq!(whiteouts(&now), ["changed:b", "quiet:a", "quiet/deep:"]);
    // A folder that is gone hides nothing any more.
    fs::remove_dir_all(disk.path("root/quiet")).unwrap();
    assert_eq!(whiteouts(&again(&now, &[disk.path("root")])), ["changed:b"]);
}
