//! `bsafs watch`: a line for each file that changes, until the mount ends.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::files::{archive, replace};
use crate::mounted::{Mounted, TestDir, is_root, signal, status, until};

/// A running `bsafs watch --json`.
struct Watcher {
    child: Child,
    lines: Option<BufReader<ChildStdout>>,
}

impl Watcher {
    /// Starts it, and waits until it watches.
    fn start(dir: &TestDir, options: &[&str]) -> Self {
        let mut command = dir.bsafs([&["watch", "mnt"], options].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "bsafs: watching mnt\n");
        let lines = Some(BufReader::new(child.stdout.take().unwrap()));
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines().read_line(&mut line).unwrap();
        line
    }

    /// Reads lines until one is about this path, and returns what happened to it. Lines about other paths are
    /// wrong, unless they repeat the last one.
    fn change_of(&mut self, path: &str, last: &str) -> String {
        loop {
            let line: Value = serde_json::from_str(&self.line()).unwrap();
            if line["path"] == path {
                return line["change"].as_str().unwrap().to_owned();
            }
            assert_eq!(line["path"], last, "{line}");
        }
    }

    /// Everything until the end, and the exit code.
    fn finish(mut self) -> (String, i32) {
        let mut rest = String::new();
        self.lines().read_to_string(&mut rest).unwrap();
        (rest, self.child.wait().unwrap().code().unwrap_or(-1))
    }

    fn lines(&mut self) -> &mut BufReader<ChildStdout> {
        self.lines.as_mut().unwrap()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // This fails if the child has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A mount of an archive below a folder of loose files.
fn mounted() -> (TestDir, Mounted) {
    let dir = TestDir::new();
    dir.archive("a.bsa", &archive(&[("textures\\a.txt", "a"), ("textures\\b.txt", "b")]));
    fs::create_dir_all(dir.path("mod/scripts")).unwrap();
    for name in ["one.txt", "two.txt"] {
        fs::write(dir.path("mod/scripts").join(name), "old").unwrap();
    }
    let mount = dir.mount(["a.bsa", "mod"]);
    (dir, mount)
}

#[test]
fn saving_creating_and_deleting_loose_files_gives_a_line_each() {
    let (dir, mount) = mounted();
    let (mut watcher, mut second) = (Watcher::start(&dir, &["--json"]), Watcher::start(&dir, &["--json"]));
    let mut last = "";
    let steps: [(&str, &str, &dyn Fn()); 5] = [
        // The mount was not asked for this file before, so it has no attributes to compare.
        ("scripts/one.txt", "modified", &|| fs::write(dir.path("mod/scripts/one.txt"), "new").unwrap()),
        ("scripts/two.txt", "modified", &|| replace(&dir, "mod/scripts/two.txt", b"saved by a rename")),
        ("scripts/new.txt", "added", &|| fs::write(dir.path("mod/scripts/new.txt"), "x").unwrap()),
        ("scripts/one.txt", "removed", &|| fs::remove_file(dir.path("mod/scripts/one.txt")).unwrap()),
        // The loose file hides the one in the archive.
        ("textures/a.txt", "modified", &|| {
            fs::create_dir(dir.path("mod/textures")).unwrap();
            fs::write(dir.path("mod/textures/a.txt"), "loose").unwrap();
        }),
    ];
    for (path, change, step) in steps {
        step();
        for watcher in [&mut watcher, &mut second] {
            assert_eq!(watcher.change_of(path, last), change, "{path}");
        }
        // When the line is printed, the mount shows the change.
        assert_eq!(mount.join(path).exists(), change != "removed", "{path}");
        if path == "scripts/two.txt" {
            assert_eq!(mount.read(path), b"saved by a rename");
        }
        last = path;
    }
    mount.umount(&dir);
    for watcher in [watcher, second] {
        assert_eq!(watcher.finish().1, 0);
    }
}

#[test]
fn a_replaced_archive_gives_a_line_for_each_file_that_differs() {
    let (dir, mount) = mounted();
    let (mut json, mut plain) = (Watcher::start(&dir, &["--json"]), Watcher::start(&dir, &[]));
    replace(&dir, "a.bsa", &archive(&[("textures\\a.txt", "other"), ("textures\\c.txt", "c")]));
    let expected =
        [("textures/a.txt", "modified"), ("textures/b.txt", "removed"), ("textures/c.txt", "added")];
    for (path, change) in expected {
        let line: Value = serde_json::from_str(&json.line()).unwrap();
        assert_eq!(line, json!({"path": path, "change": change, "view": 1}));
        assert_eq!(plain.line(), format!("{change:<8}  {path}\n"));
    }
    mount.umount(&dir);
    assert_eq!((json.finish(), plain.finish()), ((String::new(), 0), (String::new(), 0)));
}

#[test]
fn more_changes_than_are_kept_are_not_missed_silently() {
    let (dir, mount) = mounted();
    let mut watcher = Watcher::start(&dir, &["--json"]);
    let paths: Vec<String> = (0..3000).map(|n| format!("many\\{n}.txt")).collect();
    let files: Vec<(&str, &str)> = paths.iter().map(|path| (&**path, "x")).collect();
    replace(&dir, "a.bsa", &archive(&files));
    let line: Value = serde_json::from_str(&watcher.line()).unwrap();
    assert_eq!(line, json!({"path": "", "change": "unknown", "view": 1}));
    assert!(mount.join("many/2999.txt").exists());
}

#[test]
fn waiting_watchers_keep_neither_a_worker_nor_the_mount_busy() {
    let (dir, mount) = mounted();
    let workers = fs::read_dir(format!("/proc/{}/task", status(&mount.path)["pid"])).unwrap().count();
    let watchers: Vec<Watcher> = (0..=workers).map(|_| Watcher::start(&dir, &["--json"])).collect();
    assert_eq!(mount.read("textures/b.txt"), b"b");
    assert_eq!(mount.read("scripts/two.txt"), b"old");
    mount.umount(&dir);
    assert!(watchers.into_iter().all(|watcher| watcher.finish() == (String::new(), 0)));
}

#[test]
fn a_watcher_ends_quietly_by_signals_and_with_its_reader() {
    let (dir, _mount) = mounted();
    let mut watcher = Watcher::start(&dir, &[]);
    // Not SIGINT, which shells have programs in the background ignore.
    signal(i32::try_from(watcher.child.id()).unwrap(), Signal::TERM);
    assert_eq!(watcher.child.wait().unwrap().code(), None);
    let mut err = String::new();
    watcher.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(err, "");

    let mut watcher = Watcher::start(&dir, &[]);
    watcher.lines = None;
    until("the end of the watcher", || watcher.child.try_wait().unwrap().is_some());
    assert_eq!(watcher.child.wait().unwrap().code(), Some(0));
    let not_mounted = dir.run(["watch", "mod"]);
    assert!(not_mounted.code != 0 && not_mounted.err.contains("not a bsafs mount"), "{not_mounted:?}");
}

#[test]
fn the_error_says_that_a_bind_mount_shows_only_a_part_of_a_mount() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let (dir, _mount) = mounted();
    fs::create_dir(dir.path("bound")).unwrap();
    rustix::mount::mount_bind(dir.path("mnt/textures"), dir.path("bound")).unwrap();
    let asked = ["watch", "status"].map(|command| dir.run([command, "bound"]));
    rustix::mount::unmount(dir.path("bound"), rustix::mount::UnmountFlags::empty()).unwrap();
    for asked in asked {
        assert!(asked.code == 66 && asked.err.contains("only a part of a mount"), "{asked:?}");
    }
}
