//! How tests run the program and mount. [`TestDir`] is a folder with archives, [`TestDir::run`]
//! runs a command in it to its end, and [`TestDir::mount`] mounts. A mount ends with its test,
//! whether the test passes or panics.

#![allow(unreachable_pub, reason = "`pub` here means: for tests")]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::Sample;
use crate::watchdog::{self, Watch};

/// The longest time that one wait may take. Nothing takes this long unless it hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// The program as cargo built it for the tests.
const PROGRAM: &str = env!("CARGO_BIN_EXE_bsafs");

/// Waits until a condition holds.
///
/// # Panics
/// If [`LIMIT`] passes first. `what` names the condition.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < LIMIT, "waited {LIMIT:?} for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the tests run as root. Root mounts with the system call, other users with fusermount3.
pub fn is_root() -> bool {
    note_dependence();
    runs_as_root()
}

fn runs_as_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Environment variable with a file that gets the name of each test in which root and other users differ.
/// `scripts/check` sets it for an ordinary user, and then runs these tests as root.
pub const DEPENDENT: &str = "BSAFS_DEPENDENT";

/// Notes that root and other users differ in the running test. What only such tests call, calls this.
///
/// # Panics
/// If another thread than that of the test calls this.
pub fn note_dependence() {
    let Some(path) = std::env::var_os(DEPENDENT) else { return };
    let thread = thread::current();
    // libtest names the thread after the test.
    let name = thread.name().filter(|name| name.contains("::")).expect("this is not the thread of the test");
    let mut file = File::options().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{name}\n").as_bytes()).unwrap();
}

/// Whether a thread of a process exists and is no zombie. The first thread may end before others, which still
/// hold open files.
pub fn is_alive(pid: i32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut numbers = threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok());
    numbers.any(|thread: i32| state(thread).is_some_and(|state| state != 'Z'))
}

/// The state letter of a process, as `ps` prints it.
pub fn state(pid: i32) -> Option<char> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    line.rsplit_once(") ")?.1.chars().next()
}

/// Sends a signal to a process that the test started.
pub fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Stops a process that the test started, and waits until each of its threads has stopped.
///
/// On a busy machine, a thread that still runs may take one more request from the kernel. Then the
/// process that sent the request cannot be killed.
pub fn stop(pid: i32) {
    signal(pid, Signal::STOP);
    until("all threads to stop", || {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let mut threads = threads.map(|it| it.unwrap().file_name().to_str().unwrap().parse().unwrap());
        threads.all(|thread| state(thread) == Some('T'))
    });
}

/// The mount table, `mountinfo` or `mounts`. Mounts of other programs may have names that are not
/// UTF-8, so the decoding is lossy.
pub fn mount_table(kind: &str) -> String {
    let table = fs::read(Path::new("/proc/self").join(kind)).unwrap();
    String::from_utf8_lossy(&table).into_owned()
}

/// Mountpoints below `folder`, the innermost first.
pub fn mounts_below(folder: &Path) -> Vec<PathBuf> {
    let text = mount_table("mountinfo");
    let mountpoint = |line: &str| PathBuf::from(line.split(' ').nth(4).unwrap().replace(r"\040", " "));
    let mut found: Vec<PathBuf> = text.lines().map(mountpoint).filter(|it| it.starts_with(folder)).collect();
    found.reverse();
    found
}

/// Shell script that unmounts the copies of other tests' mounts. It is for a separate mount
/// namespace (`unshare -m`), in the folder of its test. Because of the copies, the daemons of other
/// tests would run as long as the shell does.
pub const DROP_OTHER_MOUNTS: &str = "grep ' fuse.bsafs ' /proc/self/mountinfo | cut -d' ' -f5 \
     | grep -v \"^$PWD/\" | while read -r path; do printf '%b\\0' \"$path\"; done \
     | xargs -0 -r -n1 timeout 1 umount -cil 2>/dev/null || true";

/// Unmounts without bsafs, as a user does by hand.
pub fn unmount(path: &Path) -> Finished {
    run(&mut by_hand(path, &[], &["-u"]))
}

/// Unmounts at once, even while files are open.
pub fn unmount_lazily(path: &Path) {
    let _ = by_hand(path, &["-l"], &["-u", "-z"]).stderr(Stdio::null()).status();
}

/// A command that unmounts: `umount` for root, `fusermount3` for other users, each with its own flags.
fn by_hand(path: &Path, umount: &[&str], fusermount: &[&str]) -> Command {
    let (program, flags) = if runs_as_root() { ("umount", umount) } else { ("fusermount3", fusermount) };
    let mut command = Command::new(program);
    command.args(flags).arg("--").arg(path);
    command
}

/// A finished program: its exit code and its output.
#[derive(Debug)]
pub struct Finished {
    /// Exit code, or -1 if a signal ended the program.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Finished {
    /// Standard output of a program that succeeded and wrote nothing to standard error.
    ///
    /// # Panics
    /// If the program failed or wrote to standard error.
    pub fn success(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }
}

/// Runs a program to its end. Its output must be UTF-8; for other output use [`Command::output`].
///
/// # Panics
/// If it does not end within [`LIMIT`], or a process that it left behind keeps its output open.
pub fn run(command: &mut Command) -> Finished {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    finish(child)
}

/// Waits until a program ends, and collects its outputs that are piped.
pub fn finish(mut child: Child) -> Finished {
    let out = child.stdout.take().map(collect);
    let err = child.stderr.take().map(collect);
    let status = wait(&mut child);
    let text = |from: Option<mpsc::Receiver<Vec<u8>>>| {
        let bytes = from.map(|from| {
            from.recv_timeout(LIMIT).expect("a process that was left behind keeps the output open")
        });
        String::from_utf8(bytes.unwrap_or_default()).unwrap()
    };
    Finished { code: status.code().unwrap_or(-1), out: text(out), err: text(err) }
}

fn wait(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > LIMIT {
            let _ = child.kill();
            panic!("a program did not end within {LIMIT:?}");
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Reads a pipe to its end on a separate thread, so that a full pipe blocks nothing.
fn collect(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

/// A temporary folder of one test. When it is dropped, it unmounts what is mounted in it and is
/// removed. If a test keeps it too long, the watchdog ends the run.
#[derive(Debug)]
pub struct TestDir {
    folder: TempDir,
    /// Dropped last, so that the time limit covers the removal of the folder.
    _watch: Watch,
}

impl TestDir {
    /// Makes an empty folder. Tests that do not mount need no `/dev/fuse`.
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        // Other users can reach the mountpoint, so that the mount refuses them and not the folder.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let watch = watchdog::watch(&folder.path().canonicalize().unwrap());
        Self { folder, _watch: watch }
    }

    /// A path in the folder.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        // Without symbolic links, as the kernel records it in mountinfo.
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Writes an archive whose mtime is [`TestDir::archive_time`].
    pub fn archive(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(Self::archive_time()).unwrap();
        path
    }

    /// Writes a sample under its own name.
    pub fn sample(&self, sample: &Sample) -> PathBuf {
        self.archive(&sample.name, &sample.bytes)
    }

    /// The mtime of all archives. It is years ago, and has nanoseconds.
    pub fn archive_time() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::new(1_051_234_567, 123_456_789)
    }

    /// A command that runs the program in this folder, without the environment variables that
    /// change its output.
    pub fn bsafs<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(self.path("")).envs([watchdog::mark(), self.system()]);
        for variable in ["RUST_LOG", "JOURNAL_STREAM", "NOTIFY_SOCKET"] {
            command.env_remove(variable);
        }
        command
    }

    /// Runs the program in this folder.
    pub fn run<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Finished {
        run(&mut self.bsafs(arguments))
    }

    /// Writes a profile into the user's folder of profiles, for [`Self::run_own`]. Returns its path.
    pub fn own_profile(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path("config/bsafs").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Runs the program in this folder for a user with [own profiles](Self::own_profile).
    pub fn run_own<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Finished {
        run(self.bsafs(arguments).env("XDG_CONFIG_HOME", self.path("config")))
    }

    /// Runs `bsafs mount ARGUMENTS mnt`.
    ///
    /// # Panics
    /// If the command fails or writes to standard error. Without `/dev/fuse` the test fails and is
    /// not skipped.
    pub fn mount<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Mounted {
        assert!(Path::new("/dev/fuse").exists(), "tests of mounts need /dev/fuse; see scripts/setup");
        let mut command = self.bsafs(["mount"]);
        command.args(arguments).arg("mnt");
        let report = run(&mut command).success();
        Mounted::at(&self.path("mnt"), report)
    }

    /// Puts the program into the folder, and gives the folder to an ordinary user. If the tests run
    /// as root, this is `nobody`, who may be unable to reach cargo's build folder.
    pub fn give_to_user(&self) {
        if is_root() {
            self.copy_program();
            let folder = self.path("");
            let status = Command::new("chown").arg("-R").arg("nobody").arg(folder).status().unwrap();
            assert!(status.success());
        } else {
            std::os::unix::fs::symlink(PROGRAM, self.path("bsafs")).unwrap();
        }
    }

    /// Copies the program into the folder, because another user may be unable to reach cargo's build folder.
    pub fn copy_program(&self) -> PathBuf {
        // `cp` makes the copy. If this process wrote it, a child that another test forks meanwhile would
        // inherit the writable descriptor. Then running the copy would fail with ETXTBSY.
        let copy = self.path("bsafs");
        let status = Command::new("cp").arg(PROGRAM).arg(&copy).status().unwrap();
        assert!(status.success());
        copy
    }

    /// A command that an ordinary user runs in this folder.
    pub fn as_user<I: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = I>,
    ) -> Command {
        let mut command = if is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "nobody", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.args(arguments).current_dir(self.path("")).envs([watchdog::mark(), self.system()]);
        command
    }

    /// The environment variable that has the program find what is installed in `system` in this folder, and
    /// not what the machine has, such as `/etc/openmw`.
    fn system(&self) -> (&'static str, String) {
        ("BSAFS_SYSTEM", self.path("system").to_str().expect("a path of UTF-8").to_owned())
    }

    /// A command with which an ordinary user runs the program that [`TestDir::give_to_user`] put here.
    pub fn bsafs_as_user<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Command {
        self.as_user(self.path("bsafs"), arguments)
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        for path in mounts_below(&self.path("")) {
            unmount_lazily(&path);
        }
    }
}

/// A mount that serves requests. When it is dropped, it is unmounted and its daemon ends.
#[derive(Debug)]
pub struct Mounted {
    /// The mountpoint.
    pub path: PathBuf,
    /// The process ID of the daemon.
    pub pid: i32,
    /// What `bsafs mount` printed.
    pub report: String,
}

impl Mounted {
    /// The mount at `path`, for which `bsafs mount` printed `report`.
    pub fn at(path: &Path, report: String) -> Self {
        let status = status(path);
        let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
        Self { path: path.to_owned(), pid, report }
    }

    /// A path in the mount.
    pub fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        self.path.join(path)
    }

    /// The content of a whole file.
    pub fn read(&self, path: impl AsRef<Path>) -> Vec<u8> {
        let path = self.join(path);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The errno of reading a whole file.
    pub fn read_error(&self, path: impl AsRef<Path>) -> Option<i32> {
        fs::read(self.join(path)).expect_err("the read succeeded").raw_os_error()
    }

    /// Whether the mount still exists.
    pub fn is_mounted(&self) -> bool {
        mounts_below(&self.path).contains(&self.path)
    }

    /// Waits until the daemon has ended.
    pub fn wait_for_end(&self) {
        until("the daemon to end", || !is_alive(self.pid));
    }

    /// Unmounts with `bsafs umount`, and waits until the daemon has ended. Tries again while the mount is
    /// busy, because a child that another test forks inherits this process's open files until it execs. A
    /// mount namespace that another test makes has a copy of the mount until it ends.
    pub fn umount(&self, dir: &TestDir) {
        until("the unmount to succeed", || {
            let finished = dir.run([OsStr::new("umount"), self.path.as_os_str()]);
            let is_copied = finished.err.contains("still has the mount");
            assert!(finished.code == 0 || is_copied || finished.err.contains("busy"), "{finished:?}");
            finished.code == 0 || is_copied
        });
        self.wait_for_end();
        assert!(!self.is_mounted());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if !is_alive(self.pid) && !self.is_mounted() {
            return;
        }
        let pid = Pid::from_raw(self.pid).unwrap();
        // A stopped daemon must continue before it can end.
        let _ = kill_process(pid, Signal::CONT);
        unmount_lazily(&self.path);
        let start = Instant::now();
        while is_alive(self.pid) && start.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(5));
        }
        if is_alive(self.pid) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The text of the log file `log`, once it has `lines` lines. The daemon answers a request before
/// it writes the line about it.
pub fn logged(dir: &TestDir, lines: usize) -> String {
    let log = || fs::read_to_string(dir.path("log")).unwrap_or_default();
    until("the log to have its lines", || log().lines().count() >= lines);
    log()
}

/// The JSON of a mount's `.bsafs:status`.
pub fn status(mountpoint: &Path) -> serde_json::Value {
    let text = match fs::read_link(mountpoint.join(".bsafs:status")) {
        Ok(target) => target.into_os_string().into_string().unwrap(),
        // fuse-overlayfs does not find names that no listing shows. The program asks the mount beneath it.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            run(Command::new(PROGRAM).args(["status", "--json"]).arg(mountpoint)).success()
        }
        Err(error) => panic!("{}: {error}", mountpoint.display()),
    };
    serde_json::from_str(&text).unwrap()
}
