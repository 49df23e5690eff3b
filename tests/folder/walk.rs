//! What a walk finds, in which order, and what it leaves out. Links have tests of their own.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use bsafs::folder::{Filter, OpenFiles, WalkNote, Why, scan};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{Disk, files, folders, notes, read};
use crate::mounted::is_root;

#[test]
fn files_are_listed_folder_by_folder_in_the_order_of_their_inode_numbers() {
    let disk =
        Disk::new(&["root/b.txt", "root/A.txt", "root/z/c", "root/z/a", "root/m/x/deep", "root/empty/"]);
    let folder = disk.scan();
    let expected =
        [&disk.in_order(["A.txt", "b.txt"])[..], &disk.in_order(["z/a", "z/c"]), &["m/x/deep"]].concat();
    assert_eq!(files(&folder), expected);
    assert_eq!(folders(&folder), ["empty", "m", "z", "m/x"]);
    assert_eq!(notes(&folder), []);
    for path in ["A.txt", "z/c", "m/x/deep"] {
        assert_eq!(read(&folder, path), format!("root/{path}"));
    }
}

#[test]
fn pipes_sockets_and_devices_are_left_out_with_a_note() {
    let disk = Disk::new(&["root/a.txt"]);
    mknodat(CWD, disk.path("root/pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let _socket = UnixListener::bind(disk.path("root/socket")).unwrap();
    disk.link("pipe", "root/to-pipe");
    disk.link("/dev/null", "root/null");
    let folder = disk.scan();
    assert_eq!(files(&folder), ["a.txt"]);
    let special = |name: &str| (name.to_owned(), "Special".to_owned());
    let left_out = notes(&folder);
    for name in ["pipe", "socket", "to-pipe"] {
        assert!(left_out.contains(&special(name)), "{left_out:?}");
    }
    assert!(left_out.iter().any(|(path, _)| path == "null"), "{left_out:?}");
}

#[test]
fn files_with_a_backslash_or_non_utf_8_bytes_in_their_name_are_readable() {
    let disk = Disk::new(&[]);
    for name in [&b"caf\xE9.txt"[..], b"a\\b.txt", b"line\nbreak"] {
        fs::write(disk.path("root").join(OsStr::from_bytes(name)), name).unwrap();
    }
    let folder = disk.scan();
    assert_eq!(folder.names().file_count(), 3);
    for file in 0..3 {
        let name = folder.names().file_name(file).to_vec();
        let mut bytes = vec![0; name.len()];
        assert_eq!(folder.read_at(file, &mut bytes, 0).unwrap(), bytes.len());
        assert_eq!(bytes, name);
    }
}

#[test]
fn a_folder_that_cannot_be_opened_causes_only_a_warning() {
    if is_root() {
        // Root can open every folder, but not even root can open a path that is too long.
        let disk = Disk::new(&["root/a.txt"]);
        let long = "x".repeat(200);
        let mut at = rustix::fs::open(disk.path("root"), rustix::fs::OFlags::PATH, Mode::empty()).unwrap();
        for _ in 0..22 {
            rustix::fs::mkdirat(&at, &long, Mode::from_raw_mode(0o755)).unwrap();
            at = rustix::fs::openat(&at, &long, rustix::fs::OFlags::PATH, Mode::empty()).unwrap();
        }
        let folder = disk.scan();
        assert_eq!(files(&folder), ["a.txt"]);
        let warnings: Vec<&WalkNote> = folder.notes().0.iter().filter(|note| note.why.is_warning()).collect();
        assert!(matches!(&warnings[..], [WalkNote { why: Why::Deep, .. }]), "{warnings:?}");
        return;
    }
    let disk = Disk::new(&["root/a.txt", "root/closed/b.txt"]);
    fs::set_permissions(disk.path("root/closed"), fs::Permissions::from_mode(0o000)).unwrap();
    let folder = disk.scan();
    fs::set_permissions(disk.path("root/closed"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(files(&folder), ["a.txt"]);
    assert!(matches!(folder.notes().0, [WalkNote { why: Why::Refused(_), .. }]), "{:?}", folder.notes());
}

#[test]
fn folders_beyond_the_maximum_depth_are_left_out() {
    let deep: String = "d/".repeat(70);
    let disk = Disk::new(&["root/a.txt", &format!("root/{deep}b.txt")]);
    let folder = disk.scan();
    assert_eq!(files(&folder), ["a.txt"]);
    assert_eq!(folders(&folder).len(), 64);
    assert_eq!(notes(&folder), [(format!("{}d", "d/".repeat(64)), "Deep".to_owned())]);
}

#[test]
fn the_filter_excludes_folders_that_the_game_ignores() {
    let disk =
        Disk::new(&["root/mod.esp", "root/Meshes/a.nif", "root/Strings/x.strings", "root/strings/sub/y"]);
    let filter = Filter { only_below: Some(vec!["STRINGS\\".into()]), ..Filter::default() };
    let folder = scan(&disk.path("root"), &filter, &Arc::new(OpenFiles::default())).unwrap();
    assert_eq!(files(&folder), ["mod.esp", "Strings/x.strings", "strings/sub/y"]);
}

#[test]
fn files_stay_readable_after_others_are_left_out() {
    let disk = Disk::new(&["other/target", "root/a.bsa", "root/b.txt", "root/d/e.txt"]);
    disk.link("../other/target", "root/c.lnk");
    disk.link("../../other/target", "root/d/f.lnk");
    disk.link("../other/target", "root/A.BSA");
    let mut folder = disk.scan();
    folder.leave_out(|_, name| name.to_ascii_lowercase().ends_with(b".bsa"));
    // Links come first.
    assert_eq!(files(&folder), ["c.lnk", "b.txt", "d/f.lnk", "d/e.txt"]);
    assert_eq!(read(&folder, "b.txt"), "root/b.txt");
    assert_eq!(read(&folder, "c.lnk"), "other/target");
    assert_eq!(read(&folder, "d/e.txt"), "root/d/e.txt");
    assert_eq!(read(&folder, "d/f.lnk"), "other/target");
}

#[test]
fn a_file_or_a_missing_path_is_refused() {
    let disk = Disk::new(&["root/a.txt"]);
    for path in ["root/a.txt", "root/nothing"] {
        assert!(scan(&disk.path(path), &Filter::default(), &disk.files).is_err(), "{path}");
    }
}
