//! Tests of signals that end a mount. The first unmounts as soon as no file is open, a second at once.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::{world, world_files};
use crate::mounted::{Mounted, TestDir, is_alive, is_root, mounts_below, run, signal, until};

#[test]
fn sigterm_sigint_and_sighup_unmount_and_remove_a_new_mountpoint() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    for which in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mount = dir.mount(["a.bsa"]);
        signal(mount.pid, which);
        mount.wait_for_end();
        assert!(mounts_below(&dir.path("")).is_empty(), "{which:?}");
        assert!(!dir.path("mnt").exists(), "{which:?}");
    }
}

#[test]
fn signals_that_are_ignored_at_the_start_stay_ignored() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    for (starter, ignored, others) in [
        (&["nohup"][..], &[Signal::HUP][..], &[Signal::INT, Signal::TERM][..]),
        (&["sh", "-c", "trap '' INT HUP; exec \"$@\"", "sh"], &[Signal::INT, Signal::HUP], &[Signal::TERM]),
    ] {
        for &other in others {
            let mut command = Command::new(starter[0]);
            command.args(&starter[1..]).arg(env!("CARGO_BIN_EXE_bsafs"));
            command.args(["mount", "-f", "a.bsa", "mnt"]).current_dir(dir.path(""));
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            let pid = i32::try_from(child.id()).unwrap();
            until("the mount", || dir.path("mnt/readme.txt").exists());
            // The daemon catches a signal in a thread, so it may seem to have survived one.
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
            let caught = u64::from_str_radix(caught.trim(), 16).unwrap();
            let is_caught = |signal: &Signal| caught >> (signal.as_raw() - 1) & 1 == 1;
            assert!(!ignored.iter().any(is_caught) && others.iter().all(is_caught), "{starter:?}: {status}");
            for it in ignored.iter() {
                signal(pid, *it);
            }
            assert_eq!(fs::read(dir.path("mnt/readme.txt")).unwrap(), world_files()[4].1);
            signal(pid, other);
            assert!(child.wait().unwrap().success());
        }
    }
}

#[test]
fn a_signal_unmounts_when_the_last_file_is_closed() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let (mount, file) = signalled_while_busy(&dir);
    assert!(mount.is_mounted());
    assert!(mount.read("readme.txt") == world_files()[4].1);
    drop(file);
    mount.wait_for_end();
    assert!(!dir.path("mnt").exists());
    let log = log(&dir);
    assert_eq!(log.lines().count(), 1, "{log}");
}

#[test]
fn after_a_second_signal_an_open_file_is_still_readable() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let (mount, file) = signalled_while_busy(&dir);
    signal(mount.pid, Signal::TERM);
    until("the mount to be removed", || !mount.is_mounted());
    assert!(is_alive(mount.pid));
    let content = &world_files()[3].1;
    let mut buffer = vec![0; content.len()];
    file.read_exact_at(&mut buffer, 0).unwrap();
    assert!(buffer == *content);
    drop(file);
    mount.wait_for_end();
    assert!(!dir.path("mnt").exists());
}

#[test]
fn a_signal_unmounts_a_mount_that_was_covered_or_moved() {
    if !is_root() {
        return eprintln!("SKIPPED: needs root");
    }
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let covered = dir.mount(["a.bsa", "--log-file", "log"]);
    run(Command::new("mount").args(["-t", "tmpfs", "none"]).arg(&covered.path)).success();
    signal(covered.pid, Signal::TERM);
    until("the log to mention the covering mount", || {
        log(&dir).contains("it will be unmounted once the mount over it is gone")
    });
    assert_eq!(mounts_below(&dir.path("")).len(), 2);
    run(Command::new("umount").arg(&covered.path)).success();
    covered.wait_for_end();
    assert!(mounts_below(&dir.path("")).is_empty());

    // A mount below a shared mount cannot be moved. If that is so here, the test ends early.
    let moved = dir.mount(["a.bsa"]);
    fs::create_dir(dir.path("elsewhere")).unwrap();
    if run(Command::new("mount").arg("--move").arg(&moved.path).arg(dir.path("elsewhere"))).code != 0 {
        return moved.umount(&dir);
    }
    signal(moved.pid, Signal::TERM);
    moved.wait_for_end();
    assert!(mounts_below(&dir.path("")).is_empty());
}

/// Opens a file in a new mount, sends one signal, and waits until the daemon logs that it is busy.
fn signalled_while_busy(dir: &TestDir) -> (Mounted, File) {
    let mount = dir.mount(["a.bsa", "--log-file", "log"]);
    let file = File::open(mount.join("meshes/tower.nif")).unwrap();
    signal(mount.pid, Signal::TERM);
    let words = ["it will be unmounted once no program uses it", "a second signal unmounts at once"];
    until("the log to report that the mount is busy", || words.iter().all(|it| log(dir).contains(it)));
    (mount, file)
}

/// The daemon's log so far.
fn log(dir: &TestDir) -> String {
    fs::read_to_string(dir.path("log")).unwrap_or_default()
}
