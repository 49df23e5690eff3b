//! What a new walk of a folder takes over from an earlier walk.

use std::fs;
use std::path::Path;

use bsafs::folder::LooseFolder;

use super::{Disk, number};

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

#[test]
fn stats_are_kept_for_unchanged_folders() {
    let disk = Disk::new(&["root/a", "root/quiet/b", "root/quiet/c", "root/changed/d", "beside/e", "away/f"]);
    disk.link("../../beside/e", "root/quiet/link");
    disk.link("../../away/f", "root/quiet/other");
    let before = statted_folder(&disk);
    disk.write("root/quiet/0");
    fs::remove_file(disk.path("root/quiet/b")).unwrap();
    let now = disk.scan();
    let changed = [disk.path("root/changed"), disk.path("away")];
    now.learn_from(&before, |folder: &Path| !changed.iter().any(|it| it == folder));
    for (path, is_known) in [
        ("a", true),
        ("quiet/0", false),
        ("quiet/c", true),
        ("quiet/link", true),
        ("quiet/other", false),
        ("changed/d", false),
    ] {
        assert_eq!(known(&now, path), is_known, "{path}");
    }
    assert_eq!(now.known(number(&now, "quiet/c")), before.known(number(&before, "quiet/c")));
}

#[test]
fn stats_are_not_kept_for_a_replaced_folder() {
    let disk = Disk::new(&["root/x/sub/a", "beside/sub/a"]);
    let before = statted_folder(&disk);
    fs::rename(disk.path("root/x"), disk.path("gone")).unwrap();
    fs::rename(disk.path("beside"), disk.path("root/x")).unwrap();
    let now = disk.scan();
    now.learn_from(&before, |_| true);
    assert!(!known(&now, "x/sub/a"));
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
