//! Links: to files and folders inside and outside, in circles, to nothing, to other mounts.

use std::path::Path;
use std::sync::Arc;

use bsafs::folder::{Filter, ScanError, scan};

use super::{Disk, files, notes, read};

fn circle(path: &str) -> (String, String) {
    (path.to_owned(), "Circle".to_owned())
}

#[test]
fn links_to_files_and_folders_are_followed_inside_and_outside() {
    let disk = Disk::new(&["root/in/a.txt", "beside/b.txt", "beside/sub/c.txt"]);
    disk.link("in/a.txt", "root/file-within");
    disk.link("../beside/sub/c.txt", "root/file-beyond");
    disk.link("in", "root/folder-within");
    disk.link("../beside", "root/folder-beyond");
    disk.link(disk.path("beside/b.txt").to_str().unwrap(), "root/in/absolute.txt");
    let folder = disk.scan();
    assert_eq!(notes(&folder), []);
    for (path, content) in [
        ("in/a.txt", "root/in/a.txt"),
        ("file-within", "root/in/a.txt"),
        ("file-beyond", "beside/sub/c.txt"),
        ("folder-within/a.txt", "root/in/a.txt"),
        ("folder-beyond/b.txt", "beside/b.txt"),
        ("folder-beyond/sub/c.txt", "beside/sub/c.txt"),
        ("in/absolute.txt", "beside/b.txt"),
        ("folder-within/absolute.txt", "beside/b.txt"),
    ] {
        assert_eq!(read(&folder, path), content, "{path}");
    }
}

#[test]
fn links_to_an_ancestor_are_left_out() {
    let disk = Disk::new(&["root/a/b/file", "beside/x/file"]);
    disk.link(".", "root/itself");
    disk.link("../..", "root/a/b/to-root");
    disk.link("..", "root/above");
    disk.link("/", "root/slash");
    disk.link("../beside/x", "root/out");
    disk.link("..", "beside/x/up");
    let folder = disk.scan();
    assert_eq!(files(&folder), ["out/file", "a/b/file"]);
    let mut left_out = notes(&folder);
    left_out.sort();
    assert_eq!(left_out, ["a/b/to-root", "above", "itself", "out/up", "slash"].map(circle));
}

#[test]
fn folders_that_link_to_each_other_are_walked_once_on_each_path() {
    let disk = Disk::new(&["root/a/in-a", "root/b/in-b"]);
    disk.link("../b", "root/a/to-b");
    disk.link("../a", "root/b/to-a");
    let folder = disk.scan();
    assert_eq!(files(&folder), ["a/in-a", "b/in-b", "a/to-b/in-b", "b/to-a/in-a"]);
    assert_eq!(notes(&folder), [circle("a/to-b/to-a"), circle("b/to-a/to-b")]);
    assert_eq!(read(&folder, "b/to-a/in-a"), "root/a/in-a");
}

#[test]
fn dangling_links_and_loops_are_left_out() {
    let disk = Disk::new(&["root/a.txt"]);
    disk.link("nothing", "root/dangling");
    disk.link("a.txt/x", "root/through-a-file");
    disk.link("loop", "root/loop");
    let folder = disk.scan();
    assert_eq!(files(&folder), ["a.txt"]);
    let dangling = |path: &str| (path.to_owned(), "Dangling".to_owned());
    assert_eq!(notes(&folder), [dangling("dangling"), circle("loop"), dangling("through-a-file")]);
}

#[test]
fn links_to_proc_and_sysfs_are_not_followed() {
    let disk = Disk::new(&["root/a.txt"]);
    disk.link("/proc/self", "root/proc");
    disk.link("/sys/kernel", "root/sys");
    disk.link("/proc/version", "root/version");
    let folder = disk.scan();
    assert_eq!(files(&folder), ["a.txt"]);
    let left_out = notes(&folder);
    assert!(left_out.iter().all(|(_, why)| why.starts_with("Mount(") || why == "Dangling"), "{left_out:?}");
    assert_eq!(left_out[0].1, "Mount(\"proc\")");
}

#[test]
fn a_folder_on_proc_or_sysfs_is_not_walked() {
    for (path, kind) in [("/proc", "proc"), ("/proc/self", "proc"), ("/sys", "sysfs")] {
        let scanned = scan(Path::new(path), &Filter::default(), &Arc::default());
        assert!(matches!(scanned, Err(ScanError::NoFiles(it)) if it == kind), "{path}");
    }
}

#[test]
fn a_hundred_links_do_not_need_a_hundred_descriptors() {
    let disk = Disk::new(&[]);
    for n in 0..100 {
        disk.write(&format!("staging/mod{n}/file{n}"));
        disk.link(&format!("../staging/mod{n}/file{n}"), &format!("root/file{n}"));
        disk.link(&format!("../staging/mod{n}"), &format!("root/mod{n}"));
    }
    let count = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = count();
    let folder = disk.scan();
    // At the same time, tests on other threads open and close files.
    assert!(count() < before + 60, "{} and then {}", before, count());
    assert_eq!(read(&folder, "file42"), "staging/mod42/file42");
    assert_eq!(read(&folder, "mod42/file42"), "staging/mod42/file42");
}
