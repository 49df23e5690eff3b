//! Moves a mount into the background.
//!
//! No process forks. The foreground process starts the program again with the same arguments. The new process
//! is the daemon: it mounts, writes one byte and its report to a pipe, and goes on serving. If the daemon
//! fails before that byte, it prints the error, and the foreground process takes over its exit code. So
//! `bsafs mount` returns exactly when the mount answers.
//!
//! A daemon for another user never has the terminal: its errors go through a pipe, too, and the foreground
//! process prints them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process::ChildStderr;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::fcntl_dupfd_cloexec;

use super::logging::{self, LogThread};
use crate::failure::{Exit, Failure};
use crate::limits::{REPORT_MAX, SUBPROCESS_OUTPUT_MAX};
use crate::system::memory::{self, processors};
use crate::system::process::is_stopped;
use crate::system::subprocess::{Program, read_unless};

/// Environment variable that marks the daemon, whose standard output is the pipe.
const ROLE: &str = "BSAFS_DAEMON";
/// A setting of glibc: memory of this size and more is mapped separately, and returned to the
/// system when it is freed. By default glibc raises this threshold up to 32 MiB, and keeps the
/// memory of replaced views: 80 MB instead of 38 with 200,000 loose files. Smaller buffers of
/// decoders should stay on the heap (`content/cache.rs`).
const MAPPED_FROM: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "1048576");
/// Number of heaps of the daemon for each processor. By default, glibc makes up to eight, so that nearly
/// every thread has its own. A thread cannot use what another heap has free: up to 0.09 MiB of 2.7 after a
/// listing of 20,000 files.
const HEAPS_PER_PROCESSOR: usize = 2;
/// The byte before the daemon's report.
const MOUNTED: u8 = b'+';
/// How long a daemon that runs as another user may take to report. That user can have it wait for ever.
const REPORT_TIME: Duration = Duration::from_secs(600);
/// For how many seconds such a daemon may be stopped.
const STOPPED_SECONDS: u32 = 3;
/// How long the last error of a daemon may take to arrive after the daemon has reported or ended.
const LAST_ERROR: Duration = Duration::from_secs(1);

pub(crate) fn is_daemon() -> bool {
    std::env::var_os(ROLE).is_some()
}

/// Starts the daemon, and waits until it has mounted or failed; returns its report. `program` is this program
/// again. The daemon gets `options` after the command. `print` gets each line that the daemon of another user
/// prints.
pub(crate) fn start(program: Program, options: &[OsString], print: fn(&[u8])) -> Result<Vec<u8>, Failure> {
    let (mut arguments, kept) = arguments().map_err(|error| not_started(&error))?;
    // mount(8) calls bsafs without a command, but always names the mountpoint.
    if let Some(command) = arguments.iter().position(|argument| argument == "mount") {
        arguments.splice(command + 1..=command, options.iter().cloned());
    }
    wait_for_mount(program.args(arguments).env(ROLE, ""), &kept, print)
}

fn wait_for_mount(program: Program, kept: &[OwnedFd], print: fn(&[u8])) -> Result<Vec<u8>, Failure> {
    let heaps = (HEAPS_PER_PROCESSOR * processors()).to_string();
    let set = |program: Program, (setting, value): (&str, &str)| match std::env::var_os(setting) {
        Some(given) => program.env(setting, given),
        None => program.env(setting, value),
    };
    let program = [MAPPED_FROM, (memory::HEAPS, &heaps)].into_iter().fold(program, set);
    let name = std::env::args_os().next().unwrap_or_else(|| "bsafs".into());
    let mut daemon = program.start_daemon(&name, kept).map_err(|error| not_started(&error))?;
    let printed = daemon
        .stderr
        .take()
        .map(|pipe| relay(pipe, print))
        .transpose()
        .map_err(|error| not_started(&error))?;
    let mut report = Vec::new();
    if let Some(pipe) = daemon.stdout.take() {
        let (process, mut seen_stopped, began) = (daemon.id(), 0, Instant::now());
        // The others end with Ctrl-C.
        let is_of_user = printed.is_some();
        let gives_up = || {
            // It never goes back: the user may let the process run whenever it is looked at.
            seen_stopped += u32::from(is_of_user && is_stopped(process));
            is_of_user && (seen_stopped > STOPPED_SECONDS || began.elapsed() > REPORT_TIME)
        };
        let read = read_unless(pipe.into(), Duration::from_secs(1), gives_up);
        let Some(read) = read.map_err(|error| not_started(&error))? else {
            // It is not waited for, because it may hang in the kernel.
            let _ = daemon.kill();
            let what = "the daemon did not report that it has mounted, so it was ended: its user stopped \
                        it, or it waits for a disk";
            return Err(Failure::new(Exit::Io, what));
        };
        report = read;
        report.truncate(REPORT_MAX);
    }
    if let Some(printed) = printed {
        // Fails when all is printed.
        let _ = printed.recv_timeout(LAST_ERROR);
    }
    if let Some((&MOUNTED, report)) = report.split_first() {
        return Ok(report.to_owned());
    }
    let status = daemon.wait().map_err(|error| not_started(&error))?;
    // A panic ends the daemon with 101, which is not one of its exit codes.
    Err(match status.code() {
        // It has printed why.
        Some(code @ 1..=100) => Failure::new(Exit::of_code(code), ""),
        _ => {
            let advice = "run `bsafs mount --foreground` to see why";
            Failure::new(Exit::Io, format!("the daemon ended before it mounted ({status}); {advice}"))
        }
    })
}

fn not_started(error: &io::Error) -> Failure {
    Failure::not_started("the daemon", error)
}

/// Prints the lines of a daemon on a separate thread. The receiver is disconnected when there are no more.
fn relay(pipe: ChildStderr, print: fn(&[u8])) -> io::Result<Receiver<()>> {
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let _sender: mpsc::Sender<()> = sender;
        let mut lines = BufReader::new(pipe.take(SUBPROCESS_OUTPUT_MAX));
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).is_ok_and(|len| len > 0) {
            print(&line);
            line.clear();
        }
    })?;
    Ok(receiver)
}

/// The arguments of this process for its daemon, and the descriptors that they name. A path such as
/// `/dev/fd/3` gets the number of a new descriptor, because no inherited one is left to the daemon.
fn arguments() -> io::Result<(Vec<OsString>, Vec<OwnedFd>)> {
    let mut kept = Vec::new();
    let mut arguments = Vec::new();
    for argument in std::env::args_os().skip(1) {
        let Some((option, path)) = descriptor_in(&argument) else {
            arguments.push(argument);
            continue;
        };
        // The daemon opens the path again, so a reference to the file is enough. One that does not exist is
        // the daemon's error.
        let Ok(file) = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) else {
            arguments.push(argument);
            continue;
        };
        let file = fcntl_dupfd_cloexec(file, 3)?;
        arguments.push(format!("{option}/dev/fd/{}", file.as_raw_fd()).into());
        kept.push(file);
    }
    Ok((arguments, kept))
}

/// Splits an argument such as `/dev/fd/3` or `--log-file=/dev/fd/3` before the path. `None` for others.
fn descriptor_in(argument: &OsStr) -> Option<(&str, &str)> {
    let argument = argument.to_str()?;
    let at = argument.rfind('=').map_or(0, |at| at + 1);
    let (option, path) = argument.split_at(at);
    let number = path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?;
    number.parse::<u32>().ok().map(|_| (option, path))
}

/// What the daemon needs to leave its terminal. It is opened before the mount, because afterwards
/// nothing may fail, and a path could lead into the mount, which does not answer yet.
#[derive(Debug)]
pub(crate) struct Detachment {
    log: LogThread,
    null: File,
}

impl Detachment {
    /// Opens the log and `/dev/null`, and leaves the current folder.
    ///
    /// # Errors
    /// The log file cannot be written, or a system call fails.
    pub(crate) fn prepare(log_file: Option<&Path>) -> Result<Self, Failure> {
        let cannot =
            |error: io::Error| Failure::new(Exit::Io, format!("cannot detach from the terminal: {error}"));
        let log = logging::open_for_daemon(log_file)?;
        let null = File::options().read(true).write(true).open("/dev/null").map_err(cannot)?;
        std::env::set_current_dir("/").map_err(cannot)?;
        Ok(Self { log, null })
    }

    /// Leaves the terminal's session, sends the report and closes the terminal. After that, neither
    /// Ctrl-C nor closing the terminal ends the mount. Must be called after mounting, because
    /// autofs lets only processes of its own group through to the mountpoint.
    ///
    /// # Errors
    /// The foreground process is gone, so the mount is not wanted any more.
    pub(crate) fn report(self, text: &str) -> io::Result<()> {
        // Fails only for the leader of a process group, which a new process is not.
        let _ = rustix::process::setsid();
        let mut pipe = io::stdout().lock();
        pipe.write_all(&[&[MOUNTED], text.as_bytes()].concat())?;
        pipe.flush()?;
        drop(pipe);
        logging::set(self.log);
        rustix::stdio::dup2_stdin(&self.null)?;
        rustix::stdio::dup2_stderr(&self.null)?;
        // Last, because the foreground process waits until the pipe is closed.
        rustix::stdio::dup2_stdout(&self.null)?;
        Ok(())
    }
}
