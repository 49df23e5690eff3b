//! Moves a mount into the background.
//!
//! No process forks. The foreground process starts the program again with the same arguments. The new process
//! is the daemon: it mounts, writes one byte and its report to a pipe, and goes on serving. If the daemon
//! fails before that byte, it prints the error on the terminal itself, and the foreground process takes over
//! its exit code. So `bsafs mount` returns exactly when the mount answers.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::io::FdFlags;

use super::error::DaemonError;
use super::log_thread::LogThread;
use super::logging;
use crate::fuse::PassedMount;
use crate::system::memory;
use crate::system::processors::processors;

/// Environment variable that marks the daemon, whose standard output is the pipe. The value is
/// empty, or the descriptor and the path of a mount that was made for the daemon.
const ROLE: &str = "BSAFS_DAEMON";
/// A setting of glibc: memory of this size and more is mapped separately, and returned to the
/// system when it is freed. By default glibc raises this threshold up to 32 MiB, and keeps the
/// memory of replaced views: 80 MB instead of 38 with 200,000 loose files. Smaller buffers of
/// decoders should stay on the heap (`content/buffer.rs`).
const MAPPED_FROM: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "1048576");
/// Number of heaps of the daemon for each processor. By default, glibc makes up to eight, so that nearly
/// every thread has its own. A thread cannot use what another heap has free: up to 0.09 MiB of 2.7 after a
/// listing of 20,000 files.
const HEAPS_PER_PROCESSOR: usize = 2;
/// The byte before the daemon's report.
const MOUNTED: u8 = b'+';

/// Whether this process is the daemon.
pub(crate) fn is_daemon() -> bool {
    std::env::var_os(ROLE).is_some()
}

/// The mount that the foreground process made for this daemon.
pub(crate) fn passed_mount() -> Option<PassedMount> {
    let role = std::env::var_os(ROLE)?.into_vec();
    let at = role.iter().position(|&byte| byte == b':')?;
    let descriptor = std::str::from_utf8(&role[..at]).ok()?.parse().ok()?;
    Some(PassedMount { descriptor, mountpoint: OsString::from_vec(role[at + 1..].to_vec()).into() })
}

/// Starts the daemon, and waits until it has mounted or failed; returns its report.
pub(crate) fn start() -> Result<Vec<u8>, DaemonError> {
    let name = std::env::args_os().next().unwrap_or_else(|| "bsafs".into());
    let mut command = Command::new("/proc/self/exe");
    command.arg0(name).env(ROLE, "");
    // Otherwise a lock, pipe or mount of the caller would stay in use until the unmount. Only
    // descriptors that arguments name are inherited.
    close_fds::set_fds_cloexec(3, &named_descriptors());
    command.args(std::env::args_os().skip(1));
    wait_for_mount(command)
}

/// Starts the daemon for a mount that this process made. `command` runs this program again. `named` is the
/// mountpoint as an argument names it. The mountpoint is replaced in the arguments, because a daemon that
/// accesses its own mount waits for itself.
pub(crate) fn start_on(
    mut command: Command,
    connection: &OwnedFd,
    (mountpoint, named): (&Path, &Path),
) -> Result<Vec<u8>, DaemonError> {
    let descriptor = connection.as_raw_fd();
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(argument) = arguments.iter_mut().rfind(|argument| *argument == named) {
        *argument = format!("/dev/fd/{descriptor}").into();
    }
    command.args(arguments);
    let mut role = OsString::from(format!("{descriptor}:"));
    role.push(mountpoint);
    command.env(ROLE, role);
    let mut inherited = named_descriptors();
    inherited.push(descriptor);
    inherited.sort_unstable();
    close_fds::set_fds_cloexec(3, &inherited);
    rustix::io::fcntl_setfd(connection, FdFlags::empty())
        .map_err(|errno| DaemonError::Start(errno.into()))?;
    wait_for_mount(command)
}

fn wait_for_mount(mut command: Command) -> Result<Vec<u8>, DaemonError> {
    let heaps = (HEAPS_PER_PROCESSOR * processors()).to_string();
    for (setting, value) in [MAPPED_FROM, (memory::HEAPS, &heaps)] {
        if std::env::var_os(setting).is_none() {
            command.env(setting, value);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut daemon = command.spawn().map_err(DaemonError::Start)?;
    let mut report = Vec::new();
    if let Some(pipe) = &mut daemon.stdout {
        pipe.read_to_end(&mut report).map_err(DaemonError::Start)?;
    }
    if let Some((&MOUNTED, report)) = report.split_first() {
        return Ok(report.to_owned());
    }
    let status = daemon.wait().map_err(DaemonError::Start)?;
    // A panic ends the daemon with 101, which is not one of its exit codes.
    Err(match status.code() {
        Some(code @ 1..=100) => DaemonError::Reported(code),
        _ => DaemonError::Ended(status),
    })
}

/// The descriptors that arguments name by a path such as `/dev/fd/3`.
fn named_descriptors() -> Vec<RawFd> {
    let number = |argument: OsString| {
        // The path may be the value of an option: `--log-file=/dev/fd/3`.
        let path = argument.to_str()?;
        let path = path.rsplit_once('=').map_or(path, |(_, value)| value);
        let number = path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?;
        number.parse().ok()
    };
    let mut named: Vec<RawFd> = std::env::args_os().filter_map(number).collect();
    // `close_fds` needs them sorted.
    named.sort_unstable();
    named
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
    pub(crate) fn prepare(log_file: Option<&Path>) -> Result<Self, DaemonError> {
        let cannot = DaemonError::Terminal;
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
