//! Tests of where a mount's log goes, and that writing the log blocks nothing.

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;

use crate::mounted::{Mounted, TestDir, until};
use crate::support::tes4::PACKED;
use crate::support::{Tes4, Tes4File};

/// An archive of `count` files that cannot be decoded.
fn bad_files(count: u32) -> Vec<u8> {
    let archive = Tes4::new(104).flags(PACKED | 3);
    let file = |n| Tes4File::new(format!("{n}.nif"), "content").stream(&b"\0no stream"[..]);
    (0..count).fold(archive, |archive, n| archive.add("f", file(n))).build()
}

#[test]
fn a_blocked_log_blocks_neither_reads_nor_the_unmount() {
    let dir = TestDir::new();
    dir.archive("bad.bsa", &bad_files(3000));
    let mut command = dir.bsafs(["mount", "-f", "bad.bsa", "mnt"]);
    let mut daemon =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 8];
    daemon.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    let mount = Mounted::at(&dir.path("mnt"), String::new());
    // The daemon logs each error. That is more than the pipe and the daemon's queue of lines hold.
    for n in 0..3000 {
        assert_eq!(mount.read_error(format!("f/{n}.nif")), Some(5));
    }
    mount.umount(&dir);
    until("the daemon to end", || daemon.try_wait().unwrap().is_some());
    let mut log = String::new();
    daemon.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(log.starts_with("bsafs: ") && log.contains("f/0.nif: not a zlib stream"), "{log:.300}");
}

#[test]
fn the_log_file_contains_all_lines_after_the_daemon_ended() {
    let dir = TestDir::new();
    dir.archive("bad.bsa", &bad_files(50));
    fs::File::create(dir.path("log")).unwrap().write_all(b"mine\n").unwrap();
    let mount = dir.mount(["bad.bsa", "--log-file", "log"]);
    for n in 0..50 {
        assert_eq!(mount.read_error(format!("f/{n}.nif")), Some(5));
    }
    mount.umount(&dir);
    let log = fs::read_to_string(dir.path("log")).unwrap();
    assert!(log.starts_with("mine\n") && log.lines().count() == 51, "{log}");
    assert!(log.lines().nth(50).unwrap().contains("f/49.nif"), "{log}");
}

#[test]
fn a_log_at_the_limit_of_file_sizes_loses_lines_and_the_daemon_lives() {
    let dir = TestDir::new();
    dir.archive("bad.bsa", &bad_files(50));
    let mount = dir.mount(["bad.bsa", "--log-file", "log"]);
    let limit = |bytes: Option<u64>| {
        let pid = rustix::process::Pid::from_raw(mount.pid);
        let limit = rustix::process::Rlimit { current: bytes, maximum: None };
        rustix::process::prlimit(pid, rustix::process::Resource::Fsize, limit).unwrap();
    };
    let size = || fs::metadata(dir.path("log")).unwrap().len();
    assert_eq!(mount.read_error("f/0.nif"), Some(5));
    until("the first line", || size() > 0);
    limit(Some(size()));
    for n in 1..40 {
        assert_eq!(mount.read_error(format!("f/{n}.nif")), Some(5), "the daemon ended");
    }
    limit(None);
    for n in 40..50 {
        assert_eq!(mount.read_error(format!("f/{n}.nif")), Some(5));
    }
    mount.umount(&dir);
    let log = fs::read_to_string(dir.path("log")).unwrap();
    let lost: Vec<_> = log.lines().filter_map(|line| line.split_once("not take in time: ")).collect();
    let lost: usize = lost.iter().map(|(_, number)| number.parse::<usize>().unwrap()).sum();
    let written = log.lines().filter(|line| line.contains(".nif: ")).count();
    assert!(lost > 0 && written + lost == 50, "{lost} lost, {written} written: {log}");
}
