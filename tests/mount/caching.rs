//! Tests of what the kernel caches: names, negative entries, attributes, listings, and bytes. The
//! kernel sends no second request for what it has cached.

use std::process::Command;

use rustix::process::Signal;

use super::{world, world_files};
use crate::mounted::{Finished, Mounted, TestDir, run, signal, state, stop};
use crate::support::samples;

/// Script that accesses a mount as programs do, in a process that the test can kill: listings,
/// attributes, all bytes, other spellings, and names that do not exist. It uses neither `find` nor
/// `df`, because they call statfs, which the kernel never caches.
const ACCESS: &str = "ls -lR . && cat * */* */*/* 2>/dev/null | cksum && ! ls nothing textures/nothing \
                    && cat README.txt | cksum && stat -c %s TEXTURES/Clutter/pail.dds";

fn access(mount: &Mounted) -> Finished {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "10", "sh", "-c", ACCESS]).current_dir(&mount.path);
    run(&mut command)
}

/// Runs [`LOOK`] twice in a new mount, the second time while the daemon is stopped.
fn access_twice(dir: &TestDir) -> (Finished, Finished) {
    let mount = dir.mount(["a.bsa"]);
    let first = access(&mount);
    assert_eq!(first.code, 0, "{first:?}");
    let bytes: usize = world_files().iter().map(|(_, content)| content.len()).sum();
    assert!(first.out.contains(&bytes.to_string()), "{first:?}");
    stop(mount.pid);
    let second = access(&mount);
    assert_eq!(state(mount.pid), Some('T'));
    signal(mount.pid, Signal::CONT);
    mount.umount(dir);
    (first, second)
}

#[test]
fn a_second_access_to_everything_sends_no_request() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    // The kernel evicts entries when memory is short or another process writes to drop_caches.
    // Therefore the test tries up to three times.
    let (mut first, mut second) = access_twice(&dir);
    for _ in 0..2 {
        if second.code != 0 {
            (first, second) = access_twice(&dir);
        }
    }
    assert_eq!(second.code, 0, "a request reached the daemon: {second:?}");
    assert_eq!(second.out, first.out);
}

#[test]
fn a_first_read_blocks_while_the_daemon_is_stopped() {
    let dir = TestDir::new();
    dir.archive("a.bsa", &world());
    let mount = dir.mount(["a.bsa"]);
    stop(mount.pid);
    let mut command = Command::new("timeout");
    // One second is enough for `cat` to start and to read, if the daemon answered.
    command.args(["-s", "KILL", "1", "cat", "readme.txt"]).current_dir(dir.path(""));
    command.arg(mount.join("readme.txt"));
    let finished = run(&mut command);
    signal(mount.pid, Signal::CONT);
    assert_ne!(finished.code, 0, "{finished:?}");
    assert!(mount.read("readme.txt") == world_files()[4].1);
}

#[test]
fn cached_bytes_are_read_even_if_the_archive_was_overwritten() {
    let sample = samples().iter().find(|sample| sample.name == "v104 zlib.bsa").unwrap();
    let dir = TestDir::new();
    let archive = dir.sample(sample);
    let mount = dir.mount([&sample.name]);
    let (path, content) = &sample.files[1];
    assert!(mount.read(path) == *content);
    std::fs::write(archive, b"gone").unwrap();
    assert!(mount.read(path) == *content);
    assert_eq!(mount.read_error(&sample.files[0].0), Some(rustix::io::Errno::IO.raw_os_error()));
}
