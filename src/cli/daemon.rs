//! The background form of a mount.
//!
//! Nothing forks. The foreground process starts the program again with the same arguments; this daemon process mounts,
//! writes one byte and its report to a pipe, and goes on serving. Whatever fails before that byte the daemon prints on
//! the terminal itself, and its exit code becomes that of the foreground process, so that `bsafs mount` returns exactly
//! when the mount answers.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::exit::{Exit, Failure};
use super::logging::DaemonLog;

/// Set in the daemon's environment; its standard output is the pipe.
const ROLE: &str = "BSAFS_DAEMON";
/// Precedes the daemon's report.
const MOUNTED: u8 = b'+';

/// Whether this process is the daemon.
pub(super) fn is_daemon() -> bool {
    std::env::var_os(ROLE).is_some()
}

/// Starts the daemon, and waits until it has mounted or failed.
pub(super) fn start() -> Result<Exit, Failure> {
    let cannot = |error: io::Error| Failure::new(Exit::Io, format!("cannot start the daemon: {error}"));
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| "bsafs".into());
    let mut command = Command::new("/proc/self/exe");
    command.arg0(name).args(arguments).env(ROLE, "1").stdin(Stdio::null()).stdout(Stdio::piped());
    // A caller's lock, pipe or mount would stay in use until the unmount. Those that arguments name are inherited.
    close_fds::set_fds_cloexec(3, &named_descriptors());
    let mut daemon = command.spawn().map_err(cannot)?;
    let mut report = Vec::new();
    if let Some(pipe) = &mut daemon.stdout {
        pipe.read_to_end(&mut report).map_err(cannot)?;
    }
    if let Some((&MOUNTED, report)) = report.split_first() {
        // A failure to print the report is ignored: its exit code would deny a mount that exists.
        let _ = io::stdout().write_all(report);
        return Ok(Exit::Ok);
    }
    let status = daemon.wait().map_err(cannot)?;
    match status.code().and_then(|code| Exit::ALL.into_iter().find(|(exit, _)| *exit as i32 == code)) {
        Some((exit, _)) if exit != Exit::Ok => Err(Failure::new(exit, "")),
        _ => Err(Failure::new(Exit::Io, format!("the daemon ended before it had mounted: {status}"))),
    }
}

/// The descriptors that the program's arguments name as paths.
fn named_descriptors() -> Vec<RawFd> {
    let number = |argument: OsString| {
        let path = argument.to_str()?;
        let number = path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?;
        number.parse().ok()
    };
    let mut named: Vec<RawFd> = std::env::args_os().filter_map(number).collect();
    // Sorted, as `close_fds` asks.
    named.sort_unstable();
    named
}

/// What the daemon needs to leave its terminal. It is opened before the mount: afterwards nothing may fail, and a path
/// could lead into the mount, which does not answer yet.
#[derive(Debug)]
pub(super) struct Detachment {
    log: DaemonLog,
    null: File,
}

impl Detachment {
    /// Opens the log and `/dev/null`, and leaves the current folder.
    ///
    /// # Errors
    /// The log file cannot be written, or the system refuses.
    pub(super) fn prepare(log_file: Option<&Path>) -> Result<Self, Failure> {
        let cannot = |error: io::Error| Failure::new(Exit::Io, format!("cannot leave the terminal: {error}"));
        let log = DaemonLog::open(log_file)?;
        let null = File::options().read(true).write(true).open("/dev/null").map_err(cannot)?;
        std::env::set_current_dir("/").map_err(cannot)?;
        Ok(Self { log, null })
    }

    /// Once mounted: leaves the terminal's session, so that neither Ctrl-C nor closing the terminal ends the mount, sends the
    /// report, and closes the terminal. Not before: autofs lets only processes of its own group through to the mountpoint.
    ///
    /// # Errors
    /// The foreground process is gone, and with it whoever wanted the mount.
    pub(super) fn report(self, text: &str) -> io::Result<()> {
        // Fails only for the leader of a group, which a process that was just started is not.
        let _ = rustix::process::setsid();
        let mut pipe = io::stdout().lock();
        pipe.write_all(&[&[MOUNTED], text.as_bytes()].concat())?;
        pipe.flush()?;
        drop(pipe);
        self.log.set();
        rustix::stdio::dup2_stdin(&self.null)?;
        rustix::stdio::dup2_stderr(&self.null)?;
        // Last: the foreground process waits until the pipe is closed.
        rustix::stdio::dup2_stdout(&self.null)?;
        Ok(())
    }
}
