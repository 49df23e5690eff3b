//! Links: to files and folders inside and outside, in circles, to nothing, to other mounts.

use std::path::Path;
use std::sync::Arc;

use bsafs::folder::{Filter, ScanError, Why, scan};
use bsafs::limits::LINKED_FOLDER_MAX;

use super::{Disk, files, folders, notes, read};

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

/// Fails if a walk shows each of `real` folders more often than at its own place and behind some links.
fn assert_in_proportion(disk: &Disk, real: usize) {
    let folder = disk.scan();
    let (noted, dropped) = folder.notes();
    let (shown, max) = (folders(&folder).len(), LINKED_FOLDER_MAX as usize);
    // A folder that was listed as often as it may be still has its name at further places.
    assert!(shown <= real * (1 + 3 * max), "{shown} folders of {real}");
    assert!(dropped > 0 || noted.iter().any(|note| note.why == Why::LinkedOften), "{} notes", noted.len());
}

#[test]
fn links_that_multiply_folders_cost_no_more_than_the_limit() {
    // A chain: each folder has two links to the next one.
    let disk = Disk::new(&["root/d30/f"]);
    for number in 0..30 {
        for name in ["a", "b"] {
            disk.link(&format!("../d{}", number + 1), &format!("root/d{number}/{name}"));
        }
    }
    assert_in_proportion(&disk, 31);
    // The first folder is outside, and what multiplies is a subfolder of a link's target.
    let disk = Disk::new(&["root/x", "out30/sub/f"]);
    disk.link("../out0", "root/in");
    for number in 0..30 {
        for name in ["a", "b"] {
            let target = disk.path(&format!("out{}", number + 1));
            disk.link(target.to_str().unwrap(), &format!("out{number}/sub/{name}"));
        }
    }
    assert_in_proportion(&disk, 62);
    // All folders link to all.
    let disk = Disk::new(&["root/x"]);
    for one in 0..12 {
        for two in 0..12 {
            disk.link(&format!("../d{two}"), &format!("root/d{one}/to{two}"));
        }
    }
    assert_in_proportion(&disk, 12 * 13);
}

#[test]
fn a_folder_is_shown_through_as_many_links_as_the_limit_says() {
    let disk = Disk::new(&["root/real/sub/a.txt"]);
    for number in 0..=LINKED_FOLDER_MAX {
        disk.link("../real", &format!("root/links/{number:03}"));
    }
    let folder = disk.scan();
    // The folder itself does not count.
    assert_eq!(files(&folder).len(), LINKED_FOLDER_MAX as usize + 1);
    assert_eq!(notes(&folder), [(format!("links/{LINKED_FOLDER_MAX:03}"), "LinkedOften".to_owned())]);
}
