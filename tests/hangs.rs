//! If a test hangs, the watchdog names it, ends its mount and fails the run.

use std::env;
use std::process::Command;

use crate::mounted::{TestDir, mounts_below, run, stop};
use crate::support::Tes3;
use crate::watchdog;

#[test]
fn the_watchdog_names_a_hanging_test_and_ends_its_mount() {
    let dir = TestDir::new();
    let mut tests = Command::new(env::current_exe().unwrap());
    tests.args(["--ignored", "--exact", "hangs::waits_for_a_stopped_daemon"]);
    let finished = run(tests.env(watchdog::VARIABLE, "2").env("TMPDIR", dir.path("")));
    assert_eq!(finished.code, 1, "{finished:?}");
    assert!(finished.err.contains("test hangs::waits_for_a_stopped_daemon hangs: "), "{finished:?}");
    assert!(mounts_below(&dir.path("")).is_empty());
    assert_eq!(
        std::fs::read_dir(dir.path("")).unwrap().count(),
        0,
        "the folder of the hanging test was not removed"
    );
    let processes = run(Command::new("ps").args(["-A", "-o", "args"])).success();
    assert!(!processes.contains("hangs.bsa"), "the daemon of the hanging test still runs: {processes}");
}

#[test]
#[ignore = "hangs; the test above runs it with a short time limit"]
fn waits_for_a_stopped_daemon() {
    if env::var_os(watchdog::VARIABLE).is_none() {
        return;
    }
    let dir = TestDir::new();
    dir.archive("hangs.bsa", &Tes3::new().file("a.txt", b"a").build());
    let mount = dir.mount(["hangs.bsa"]);
    stop(mount.pid);
    mount.read("a.txt");
}
