//! The real program, run as its users run it: folders with archives in them, commands with their output, and mounts
//! that go away with the test, whether it passes or panics.

#![allow(unreachable_pub, reason = "`pub` here means: for tests")]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::Sample;

/// How long anything may take before a test gives it up; nothing takes as long on a machine that is not stuck.
const LIMIT: Duration = Duration::from_secs(60);

/// Where the program is that cargo built for the tests.
const PROGRAM: &str = env!("CARGO_BIN_EXE_bsafs");

/// Waits until a condition holds.
///
/// # Panics
/// When it does not come to hold; `what` says what was waited for.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < LIMIT, "it never came about that {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the tests run as root, who mounts by the system call; anybody else does so through fusermount3.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether a process runs, or could.
pub fn is_alive(pid: i32) -> bool {
    state(pid).is_some_and(|state| state != 'Z')
}

/// A process's state, as `ps` shows it.
pub fn state(pid: i32) -> Option<char> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    line.rsplit_once(") ")?.1.chars().next()
}

/// Sends a signal to a process that the test started.
pub fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Folders below `folder` on which something is mounted, the innermost first.
pub fn mounts_below(folder: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mountpoint = |line: &str| PathBuf::from(line.split(' ').nth(4).unwrap().replace(r"\040", " "));
    let mut found: Vec<PathBuf> = text.lines().map(mountpoint).filter(|it| it.starts_with(folder)).collect();
    found.reverse();
    found
}

/// Unmounts at once, whatever is open.
fn unmount_lazily(path: &Path) {
    let mut command = match is_root() {
        true => Command::new("umount"),
        false => Command::new("fusermount3"),
    };
    let flags: &[&str] = if is_root() { &["-l"] } else { &["-u", "-z"] };
    let _ = command.args(flags).arg("--").arg(path).stderr(Stdio::null()).status();
}

/// What a program said, and how it ended.
#[derive(Debug)]
pub struct Finished {
    /// Its exit code; -1 where a signal ended it.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Finished {
    /// Standard output of a program that found nothing to complain of.
    ///
    /// # Panics
    /// When it failed or complained.
    pub fn sound(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }
}

/// Runs a program to its end.
///
/// # Panics
/// When it does not end, or a process that it left behind keeps its output open.
pub fn run(command: &mut Command) -> Finished {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    finish(child)
}

/// Waits for the end of a program; what of its output is piped is gathered.
pub fn finish(mut child: Child) -> Finished {
    let out = child.stdout.take().map(gather);
    let err = child.stderr.take().map(gather);
    let status = wait(&mut child);
    let said = |from: Option<mpsc::Receiver<Vec<u8>>>| {
        let bytes =
            from.map(|from| from.recv_timeout(LIMIT).expect("a process left behind keeps the output open"));
        String::from_utf8(bytes.unwrap_or_default()).unwrap()
    };
    Finished { code: status.code().unwrap_or(-1), out: said(out), err: said(err) }
}

fn wait(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > LIMIT {
            let _ = child.kill();
            panic!("a program did not end");
        }
        thread::sleep(Duration::from_millis(2));
    }
}

fn gather(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

/// A folder for one test. When it goes, so does whatever is mounted in it.
#[derive(Debug)]
pub struct TestDir {
    folder: TempDir,
}

impl TestDir {
    /// An empty folder.
    ///
    /// # Panics
    /// Where there is no `/dev/fuse`: a test that cannot mount has tested nothing, and says so by failing.
    pub fn new() -> Self {
        assert!(
            Path::new("/dev/fuse").exists(),
            "there is no /dev/fuse, without which mounts cannot be tested; see scripts/setup"
        );
        let folder = TempDir::new().unwrap();
        // Other users are to get as far as the mountpoint, so that the mount itself is what keeps them out.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    /// A path in the folder.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        // As the kernel names it, should the temporary folder be reached through a link.
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Writes an archive, last changed at [`TestDir::archive_time`].
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

    /// When archives were last changed: long ago, and not on the second.
    pub fn archive_time() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::new(1_051_234_567, 123_456_789)
    }

    /// The program, to be run in the folder.
    pub fn bsafs<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(self.path(""));
        for variable in ["RUST_LOG", "JOURNAL_STREAM", "NOTIFY_SOCKET"] {
            command.env_remove(variable);
        }
        command
    }

    /// Runs the program in the folder.
    pub fn run<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Finished {
        run(&mut self.bsafs(arguments))
    }

    /// `bsafs mount ARGUMENTS mnt`.
    ///
    /// # Panics
    /// When it fails or complains.
    pub fn mount<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Mounted {
        let mut command = self.bsafs(["mount"]);
        command.args(arguments).arg("mnt");
        let said = run(&mut command).sound();
        Mounted::at(&self.path("mnt"), said)
    }

    /// Puts a copy of the program into the folder, which then belongs to an ordinary user: where the tests run as
    /// root, to `nobody`, who need not be able to reach the folder that cargo builds in.
    pub fn give_to_user(&self) {
        if is_root() {
            // Not copied by this process: while it held the copy open for writing, a child that another test is
            // starting might hold it too, and nobody could run it.
            let status = Command::new("cp").arg(PROGRAM).arg(self.path("bsafs")).status().unwrap();
            assert!(status.success());
            let folder = self.path("");
            let status = Command::new("chown").arg("-R").arg("nobody").arg(folder).status().unwrap();
            assert!(status.success());
        } else {
            std::os::unix::fs::symlink(PROGRAM, self.path("bsafs")).unwrap();
        }
    }

    /// A program, to be run in the folder by an ordinary user.
    pub fn as_user<I: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = I>,
    ) -> Command {
        let mut command = match is_root() {
            true => {
                let mut command = Command::new("runuser");
                command.args(["-u", "nobody", "--"]).arg(program);
                command
            }
            false => Command::new(program),
        };
        command.args(arguments).current_dir(self.path(""));
        command
    }

    /// The program as [`TestDir::give_to_user`] put it here, to be run by an ordinary user.
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

/// A mount that answers. When it goes, it is unmounted, and its daemon is gone too.
#[derive(Debug)]
pub struct Mounted {
    /// The mountpoint.
    pub path: PathBuf,
    /// The daemon.
    pub pid: i32,
    /// What `bsafs mount` reported.
    pub said: String,
}

impl Mounted {
    /// The mount at a place, whose report was `said`.
    pub fn at(path: &Path, said: String) -> Self {
        let status = status(path);
        let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
        Self { path: path.to_owned(), pid, said }
    }

    /// A path inside the mount.
    pub fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        self.path.join(path)
    }

    /// A whole file.
    pub fn read(&self, path: impl AsRef<Path>) -> Vec<u8> {
        let path = self.join(path);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The error number that reading a whole file ends with.
    pub fn read_error(&self, path: impl AsRef<Path>) -> Option<i32> {
        fs::read(self.join(path)).expect_err("an error").raw_os_error()
    }

    /// Whether it is still mounted.
    pub fn is_mounted(&self) -> bool {
        mounts_below(&self.path).contains(&self.path)
    }

    /// Waits until the daemon is gone.
    pub fn wait_for_end(&self) {
        until("the daemon is gone", || !is_alive(self.pid));
    }

    /// `bsafs umount`, and the daemon's end. Tries again while it is busy: a child that another test is starting may
    /// hold an open file of this mount for a moment.
    pub fn umount(&self, dir: &TestDir) {
        until("the mount can be unmounted", || {
            let finished = dir.run([OsStr::new("umount"), self.path.as_os_str()]);
            assert!(finished.code == 0 || finished.err.contains("busy"), "{finished:?}");
            finished.code == 0
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
        // A stopped daemon would neither answer nor end.
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

/// What the daemon behind a mount tells of itself.
pub fn status(mountpoint: &Path) -> serde_json::Value {
    let text = fs::read_link(mountpoint.join(".bsafs:status")).unwrap();
    serde_json::from_str(text.to_str().unwrap()).unwrap()
}
