//! `bsafs mount --edit`: what is written goes to a folder, by an overlay of the kernel for root and of fuse-overlayfs for others.

use std::fs;
use std::process::{Command, Stdio};

use super::world;
use crate::mounted::{TestDir, finish, is_root, mounts_below, status};

fn edited() -> TestDir {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    for name in ["mod", "mnt", "other"] {
        fs::create_dir(dir.path(name)).unwrap();
    }
    dir
}

/// Whether this system can make overlays at all; most containers of root can.
fn has_overlays(dir: &TestDir) -> bool {
    if !is_root() {
        return has_program();
    }
    let tried = dir.run(["mount", "--edit", "mod", "a.bsa", "mnt"]);
    if tried.code == 0 {
        dir.run(["umount", "mnt"]).sound();
    }
    tried.code == 0
}

fn has_program() -> bool {
    Command::new("fuse-overlayfs").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The names in the test's folder that no test made.
fn left(dir: &TestDir) -> Vec<String> {
    let names = fs::read_dir(dir.path("")).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        names.filter(|name| !["a.bsa", "mod", "mnt", "other"].contains(&name.as_str())).collect();
    names.sort();
    names
}

#[test]
fn a_second_mount_that_writes_to_the_same_folder_is_refused_and_the_first_still_writes() {
    let dir = edited();
    if !has_overlays(&dir) {
        return eprintln!("SKIPPED: no overlays here");
    }
    let said = dir.run(["mount", "--edit", "mod", "a.bsa", "mnt"]).sound();
    assert!(said.contains("writable at"), "{said}");
    let second = dir.run(["mount", "--edit", "mod", "a.bsa", "other"]);
    assert!(second.code == 73 && second.err.contains("another mount with --edit uses it"), "{second:?}");
    // Is copied up and renamed in the work folder.
    fs::write(dir.path("mnt/textures/new.txt"), "new").unwrap();
    assert_eq!(fs::read_to_string(dir.path("mod/textures/new.txt")).unwrap(), "new");
    dir.run(["umount", "mnt"]).sound();
    assert!(left(&dir).is_empty() && mounts_below(&dir.path("")).is_empty(), "{:?}", left(&dir));
}

#[test]
fn what_a_crash_left_in_the_work_folder_is_taken_over() {
    let dir = edited();
    if !has_overlays(&dir) {
        return eprintln!("SKIPPED: no overlays here");
    }
    fs::create_dir_all(dir.path(".mod.bsafs-work/work/work")).unwrap();
    fs::write(dir.path(".mod.bsafs-work/work/work/#1"), "half copied").unwrap();
    dir.run(["mount", "--edit", "mod", "a.bsa", "mnt"]).sound();
    fs::remove_file(dir.path("mnt/readme.txt")).unwrap();
    dir.run(["umount", "mnt"]).sound();
    assert!(left(&dir).is_empty(), "{:?}", left(&dir));
}

#[test]
fn a_link_in_place_of_the_work_folder_is_not_followed() {
    let dir = edited();
    fs::create_dir_all(dir.path("other/work")).unwrap();
    std::os::unix::fs::symlink(dir.path("other"), dir.path(".mod.bsafs-work")).unwrap();
    let refused = dir.run(["mount", "--edit", "mod", "a.bsa", "mnt"]);
    assert!(refused.code == 73 && refused.err.contains(".mod.bsafs-work"), "{refused:?}");
    assert!(dir.path("other/work").exists() && mounts_below(&dir.path("")).is_empty());
}

#[test]
fn the_overlay_forbids_what_the_mount_forbids() {
    let dir = edited();
    if !is_root() || !has_overlays(&dir) {
        return eprintln!("SKIPPED: needs root and overlays");
    }
    dir.run(["mount", "--edit", "mod", "-o", "noexec", "a.bsa", "mnt"]).sound();
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let path = dir.path("mnt");
    let lines: Vec<&str> = table.lines().filter(|line| line.contains(path.to_str().unwrap())).collect();
    let forbids = |line: &&str| ["nosuid", "nodev", "noexec"].iter().all(|option| line.contains(option));
    assert!(lines.len() == 1 && lines.iter().all(forbids), "{lines:?}");
    dir.run(["umount", "mnt"]).sound();
}

#[test]
fn a_writable_mount_is_listed_with_who_is_in_it() {
    let dir = edited();
    if !has_overlays(&dir) || !is_root() {
        return eprintln!("SKIPPED: needs root and overlays");
    }
    dir.run(["mount", "--edit", "mod", "a.bsa", "mnt"]).sound();
    assert_eq!(status(&dir.path("mnt"))["files"], 5);
    let mut holder = Command::new("cat");
    let mut holder = holder.current_dir(dir.path("mnt/textures")).stdin(Stdio::piped()).spawn().unwrap();
    let listed = dir.run(["mounts", "--json"]).sound();
    let line = listed.lines().find(|line| line.contains(dir.path("mnt").to_str().unwrap())).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let processes = line["processes"].as_array().unwrap();
    assert!(processes.iter().any(|it| it["pid"] == holder.id()), "{line}");
    drop(holder.stdin.take());
    finish(holder);
    dir.run(["umount", "mnt"]).sound();
}
