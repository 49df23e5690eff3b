//! Tests of several archives in one mount: load order, hidden copies, `bsafs which`.

mod as_source; // a mount, or a folder in one, as a source of a command

use std::fs;
use std::path::Path;

use crate::mounted::{Mounted, TestDir, is_root};
use crate::support::{Ba2, Tes3, Tes4};

/// Writes three archives in three formats. All share one file, and each has one of its own.
pub(super) fn write_three(dir: &TestDir) {
    let first = Tes3::new().file("misc\\shared.txt", b"first").file("misc\\first.txt", b"1");
    let second = Tes4::new(104).file("Misc", "Shared.TXT", b"second").file("misc", "second.txt", b"2");
    let third = Ba2::general(1).file("MISC\\SHARED.txt", b"third").file("Other\\third.txt", b"3");
    dir.archive("first.bsa", &first.build());
    dir.archive("second.bsa", &second.build());
    dir.archive("third.ba2", &third.build());
}

/// The names in a folder, sorted without regard to case.
fn names(folder: &Path) -> Vec<String> {
    let listed = fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = listed.collect();
    names.sort_by_key(|name| name.to_lowercase());
    names
}

#[test]
fn the_rightmost_of_the_archives_with_a_file_wins() {
    let dir = TestDir::new();
    write_three(&dir);
    for (order, winner) in [
        (["first.bsa", "second.bsa", "third.ba2"], "third"),
        (["third.ba2", "second.bsa", "first.bsa"], "first"),
        (["third.ba2", "first.bsa", "second.bsa"], "second"),
    ] {
        let mount = dir.mount(order);
        assert_eq!(mount.read("misc/shared.txt"), winner.as_bytes(), "{order:?}");
        assert_eq!(mount.read("misc/first.txt"), b"1");
        assert_eq!(mount.read("misc/second.txt"), b"2");
        assert_eq!(mount.read("other/third.txt"), b"3");
        assert_eq!(names(&mount.join("misc")).len(), 3, "a shared file must be listed once");
        assert_eq!(names(&mount.path).len(), 2);
        let report = mount.report.lines().next().unwrap();
        assert!(report.starts_with("mounted 3 archives, 4 files, 2 hidden by later archives ("), "{report}");
        mount.umount(&dir);
    }
}

#[test]
fn which_reports_the_archive_and_all_hidden_copies() {
    let dir = TestDir::new();
    write_three(&dir);
    let mount = dir.mount(["first.bsa", "second.bsa", "third.ba2"]);
    let found = dir.run(["which", "--json", "mnt/misc/shared.TXT"]).success();
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let archive = |name: &str| serde_json::Value::from(dir.path(name).to_str().unwrap());
    assert_eq!(found["from"]["archive"], archive("third.ba2"));
    assert_eq!(found["hides"][0]["archive"], archive("second.bsa"));
    assert_eq!(found["hides"][0]["stored_name"], "Misc\\Shared.TXT");
    assert_eq!(found["hides"][1]["archive"], archive("first.bsa"));
    assert_eq!(found["hides"].as_array().unwrap().len(), 2);
    assert_eq!((&found["size"], &found["hides_more"]), (&5.into(), &0.into()));

    let text = dir.run(["which", "mnt/misc/shared.txt", "mnt/misc/first.txt"]).success();
    let words: Vec<&str> = text.lines().map(|line| line.trim_start().split("  ").next().unwrap()).collect();
    assert!(words[0].to_lowercase() == "misc/shared.txt" && text.contains("(5 B)"), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let shared = ["  from   third.ba2", "  hides  second.bsa", "  hides  first.bsa"];
    assert_eq!((&lines[1..4], lines[5], lines.len()), (&shared[..], "  from   first.bsa", 6), "{text}");
    drop(mount);
}

#[test]
fn which_works_in_a_bind_mount_of_a_folder() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    write_three(&dir);
    let mount = dir.mount(["first.bsa"]);
    fs::create_dir(dir.path("bound")).unwrap();
    fs::write(dir.path("alone"), "").unwrap();
    let bind = |from: &str, to: &str| rustix::mount::mount_bind(dir.path(from), dir.path(to)).unwrap();
    bind("mnt/misc", "bound");
    bind("mnt/misc/shared.txt", "alone");
    let found = dir.run(["which", "bound/shared.txt"]).success();
    let alone = dir.run(["which", "alone"]);
    for path in ["bound", "alone"] {
        rustix::mount::unmount(dir.path(path), rustix::mount::UnmountFlags::empty()).unwrap();
    }
    assert!(found.contains("first.bsa"), "{found}");
    assert_eq!(alone.code, 1);
    assert!(alone.err.contains("bind-mounted on its own"), "{alone:?}");
    drop(mount);
}

#[test]
fn which_reports_more_hidden_copies_than_fit_into_a_link() {
    let dir = TestDir::new();
    let names: Vec<String> = (0..60).map(|n| format!("{n:02}{}.bsa", "x".repeat(200))).collect();
    for name in &names {
        dir.archive(name, &Tes3::new().file("a.txt", name.as_bytes()).build());
    }
    let mount = dir.mount(&names);
    let found = dir.run(["which", "--json", "mnt/a.txt"]).success();
    assert!(found.len() > 3 * 4095, "{}", found.len());
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!((found["hides"].as_array().unwrap().len(), &found["hides_more"]), (59, &0.into()));
    assert!(found["hides"][58]["archive"].as_str().unwrap().ends_with(&names[0]));
    drop(mount);
}

#[test]
fn which_fails_for_folders_and_outside_a_mount() {
    let dir = TestDir::new();
    write_three(&dir);
    let _mount = dir.mount(["first.bsa"]);
    for (path, why) in [
        ("mnt/misc", "it is a folder, which comes from all archives that have it; give a file in it"),
        ("first.bsa", "it is not inside a bsafs mount; to ask about a source, give it before the path"),
        ("mnt/nothing", "no such file"),
    ] {
        let finished = dir.run(["which", path]);
        assert_eq!((finished.code, finished.out.as_str()), (1, ""));
        assert_eq!(finished.err, format!("bsafs: {path}: {why}\n"));
    }
}

#[test]
fn which_finds_a_nameless_file_below_a_mountpoint_with_spaces() {
    let dir = TestDir::new();
    dir.archive("a.ba2", &Ba2::general(1).file("Misc\\Example.txt", b"x").nameless().build());
    let report = dir.run(["mount", "a.ba2", "my mount"]).success();
    assert!(
        report.ends_with(&format!("unmount: bsafs umount '{}'\n", dir.path("my mount").display())),
        "{report}"
    );
    let mount = Mounted::at(&dir.path("my mount"), report);
    let found = dir.run(["which", "--json", "my mount/misc/example.txt"]).success();
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["path"], "5EE3C5A6_F38044E1.txt");
    assert_eq!(found["from"]["stored_name"], "");
    mount.umount(&dir);
}

#[test]
fn layout_per_archive_gives_each_archive_a_folder() {
    let dir = TestDir::new();
    write_three(&dir);
    fs::create_dir(dir.path("more")).unwrap();
    fs::copy(dir.path("second.bsa"), dir.path("more/First.bsa")).unwrap();
    for arguments in [["--layout", "per-archive"], ["-o", "layout=per-archive"]] {
        let mount = dir.mount(["first.bsa", "third.ba2", "more/First.bsa"].iter().chain(&arguments));
        assert_eq!(names(&mount.path), ["first", "First (2)", "third"]);
        assert_eq!(mount.read("first/misc/shared.txt"), b"first");
        assert_eq!(mount.read("first (2)/misc/shared.txt"), b"second");
        assert_eq!(mount.read("third/misc/shared.txt"), b"third");
        mount.umount(&dir);
    }
}
