//! A time limit for tests that mount. A test that waits for a mount which never answers would never
//! end, and cargo would not show which test it is. The watchdog names the test, ends the daemons
//! and the mounts of all tests, and fails the run.

#![allow(unreachable_pub, reason = "`pub` here means: for tests")]

use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::mounted::{mounts_below, unmount_lazily};

/// Environment variable that sets another time limit than [`LIMIT`], in seconds.
pub const VARIABLE: &str = "BSAFS_TEST_SECONDS";

/// Time limit of one test folder. The longest test takes a tenth of it.
const LIMIT: Duration = Duration::from_secs(300);

/// Environment variable by which the watchdog finds the daemons of this run. Its value is the
/// process ID of the tests.
const MARK: &str = "BSAFS_TESTS";

static WATCHED: Mutex<Vec<Test>> = Mutex::new(Vec::new());

/// A test whose folder exists.
struct Test {
    name: String,
    folder: PathBuf,
    started: Instant,
}

/// The time limit of a folder, which ends when this value is dropped.
#[derive(Debug)]
pub struct Watch(PathBuf);

impl Drop for Watch {
    fn drop(&mut self) {
        watched().retain(|test| test.folder != self.0);
    }
}

/// Starts the time limit of the test that owns this folder. libtest names the thread after the test.
pub fn watch(folder: &Path) -> Watch {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| drop(thread::spawn(run)));
    let name = thread::current().name().unwrap_or("unnamed thread").to_owned();
    watched().push(Test { name, folder: folder.to_owned(), started: Instant::now() });
    Watch(folder.to_owned())
}

/// Name and value of the environment variable that marks the processes of this run.
pub fn mark() -> (&'static str, String) {
    (MARK, process::id().to_string())
}

fn watched() -> MutexGuard<'static, Vec<Test>> {
    // A panic of another test leaves the list intact.
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run() {
    let seconds = env::var(VARIABLE).ok().and_then(|it| it.parse().ok());
    let limit = seconds.map_or(LIMIT, Duration::from_secs);
    loop {
        thread::sleep(Duration::from_millis(200));
        // Held until the exit: a test that fails because its daemon is killed waits in `Watch::drop`.
        let tests = watched();
        if tests.iter().any(|test| test.started.elapsed() > limit) {
            end(&tests, limit);
        }
    }
}

/// Names the tests that take too long, ends the daemons and mounts of all tests, and fails the run.
fn end(tests: &[Test], limit: Duration) -> ! {
    let mut text = String::new();
    for test in tests.iter().filter(|test| test.started.elapsed() > limit) {
        let folder = test.folder.display();
        let _ =
            writeln!(text, "\ntest {} hangs: it did not end within {limit:?}; folder {folder}", test.name);
    }
    text += "the run ends here: the other tests were not finished\n";
    // The print macros would lose the text, because libtest captures what they write.
    let _ = io::stderr().write_all(text.as_bytes());
    for pid in daemons() {
        let _ = kill_process(pid, Signal::KILL);
    }
    for test in tests {
        for path in mounts_below(&test.folder).iter() {
            unmount_lazily(path);
        }
        // The folder stays if it still has a mount, so that no file in the mount is removed.
        if mounts_below(&test.folder).is_empty() {
            let _ = fs::remove_dir_all(&test.folder);
        }
    }
    process::exit(1)
}

/// The processes of this run that still exist.
fn daemons() -> Vec<Pid> {
    let (name, value) = mark();
    let mark = format!("{name}={value}");
    let is_bsafs = |folder: &Path| {
        let environment = fs::read(folder.join("environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let number = |name: OsString| name.to_str()?.parse().ok().and_then(Pid::from_raw);
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter(|it| is_bsafs(&it.path())).filter_map(|it| number(it.file_name())).collect()
}
