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
