//! How the tests run: if one hangs, the watchdog names it, ends its mount and fails the run; and what depends
//! on the user runs as root, too.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::layering::files_below;
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
        fs::read_dir(dir.path("")).unwrap().count(),
        0,
        "the folder of the hanging test was not removed"
    );
    let processes = run(Command::new("ps").args(["-A", "-o", "args"])).success();
    assert!(!processes.contains("hangs.bsa"), "the daemon of the hanging test still runs: {processes}");
}

/// What the code of a test has if root and other users differ in it.
const ASKS_FOR_USER: [&str; 5] = ["is_root()", "as_user(", "give_to_user", "fake_mount::", "crate::disk::"];

#[test]
fn what_depends_on_the_user_runs_as_root_too() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = fs::read_to_string(root.join("scripts/check")).unwrap();
    let (_, list) = script.split_once("\nfor_root=(").unwrap();
    let for_root: Vec<&str> = list.split_once(')').unwrap().0.split_whitespace().collect();
    let tests = root.join("tests");
    let is_test = |path: &Path| {
        let is_helper =
            ["support", "bench", "oracles", "fuzz", "soak"].iter().any(|it| path.starts_with(tests.join(it)));
        (path.is_dir() || path.extension().is_some_and(|it| it == "rs")) && !is_helper
    };
    let mut asking = 0;
    for path in files_below(&tests, &is_test) {
        let code = fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(&tests).unwrap().with_extension("");
        let module = format!("{}::", name.to_str().unwrap().replace('/', "::"));
        if ASKS_FOR_USER.iter().any(|it| code.contains(it)) {
            asking += 1;
            let is_listed = for_root.iter().any(|it| module.starts_with(it));
            assert!(is_listed, "{module} asks for the user, but scripts/check does not run it as root");
        }
    }
    assert!(asking > 30, "{asking}");
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
