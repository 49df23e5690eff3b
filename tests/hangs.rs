//! How the tests run: if one hangs, the watchdog names it, ends its mount and fails the run; and tests that
//! depend on the user are noted, so that they run as root, too.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::layering::files_below;
use crate::mounted::{DEPENDENT, TestDir, mounts_below, run, stop};
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

/// `scripts/check` runs the noted tests as root, too.
#[test]
fn a_test_that_asks_who_runs_it_is_noted() {
    let dir = TestDir::new();
    let asking = "fake_mount::a_fake_mount_answers_what_a_test_wants";
    let other = "mount::attributes::sizes_are_exact_and_blocks_have_512_bytes";
    let mut tests = Command::new(env::current_exe().unwrap());
    // With one thread, libtest runs tests on the main thread.
    tests.args(["--exact", asking, other, "--test-threads=2"]).env(DEPENDENT, dir.path("noted"));
    let finished = run(&mut tests).success();
    assert!(finished.contains("2 passed"), "{finished}");
    // It asks several times.
    let noted = fs::read_to_string(dir.path("noted")).unwrap();
    assert!(!noted.is_empty() && noted.lines().all(|line| line == asking), "{noted}");
    // A test that finds out by itself would not be noted.
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let is_test = |path: &Path| {
        !["support", "bench", "oracles", "fuzz", "soak"].iter().any(|it| path.starts_with(tests.join(it)))
    };
    let files = files_below(&tests, &|path| {
        is_test(path) && (path.is_dir() || path.extension().is_some_and(|it| it == "rs"))
    });
    let finds_out = |path: &PathBuf| fs::read_to_string(path).unwrap().contains(concat!("get", "euid()"));
    let finding: Vec<PathBuf> = files.into_iter().filter(finds_out).collect();
    assert!(finding.is_empty(), "call is_root() in {finding:?}");
}

#[test]
fn tests_of_modules_that_depend_on_the_user_run_as_root_too() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = fs::read_to_string(root.join("scripts/check")).unwrap();
    let (_, list) = script.split_once("\nunits_for_root=(").unwrap();
    let for_root: Vec<&str> = list.split_once(')').unwrap().0.split_whitespace().collect();
    let mut depending = 0;
    for path in
        files_below(&root.join("src"), &|path| path.is_dir() || path.extension().is_some_and(|it| it == "rs"))
    {
        let code = fs::read_to_string(&path).unwrap();
        if code.split_once("\n#[cfg(test)]\nmod ").is_some_and(|(_, tests)| tests.contains("is_root()")) {
            depending += 1;
            let name = path.strip_prefix(root.join("src")).unwrap().with_extension("");
            let module = format!("{}::", name.to_str().unwrap().replace('/', "::"));
            assert!(for_root.iter().any(|it| module.starts_with(it)), "{module} asks who runs it");
        }
    }
    assert!(depending > 4, "{depending}");
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
