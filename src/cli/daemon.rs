//! The background form of a mount.
//!
//! Nothing forks. The foreground process starts the program again with the same arguments; the copy mounts, writes one
//! byte and its report to a pipe, and stays. Whatever fails before that byte is told on the terminal by the copy
//! itself, and its exit code becomes ours, so that `bsafs mount` is done exactly when the mount answers.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use super::exit::{Exit, Failure};

/// Tells the copy that its standard output is the pipe.
const ROLE: &str = "BSAFS_DAEMON";
/// What the copy writes in front of its report.
const MOUNTED: u8 = b'+';

/// Whether this process is the copy.
pub(super) fn is_copy() -> bool {
    std::env::var_os(ROLE).is_some()
}

/// Starts the copy, and waits until it has mounted or failed.
pub(super) fn start() -> Result<Exit, Failure> {
    let cannot = |error: io::Error| Failure::new(Exit::Io, format!("cannot start the daemon: {error}"));
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| "bsafs".into());
    let mut copy = Command::new("/proc/self/exe");
    copy.arg0(name).args(arguments).env(ROLE, "1").stdin(Stdio::null()).stdout(Stdio::piped());
    let mut copy = copy.spawn().map_err(cannot)?;
    let mut report = Vec::new();
    if let Some(pipe) = &mut copy.stdout {
        pipe.read_to_end(&mut report).map_err(cannot)?;
    }
    if let Some((&MOUNTED, report)) = report.split_first() {
        // The mount is there, whoever listens; a code for failure would deny it.
        let _ = io::stdout().write_all(report);
        return Ok(Exit::Ok);
    }
    let status = copy.wait().map_err(cannot)?;
    match status.code().and_then(|code| Exit::ALL.into_iter().find(|(exit, _)| *exit as i32 == code)) {
        Some((exit, _)) if exit != Exit::Ok => Err(Failure::new(exit, "")),
        _ => Err(Failure::new(Exit::Io, format!("the daemon ended before it had mounted: {status}"))),
    }
}

/// In the copy, first thing: leaves the terminal's session, so that closing the terminal or Ctrl-C does not end the
/// mount.
pub(super) fn detach() {
    // Fails only for the leader of a group, which a process that was just started is not.
    let _ = nix::unistd::setsid();
}

/// In the copy, once mounted: sends the report, and lets go of the folder and the terminal it was started from.
///
/// # Errors
/// The process that waits is gone: nobody wants this mount any more.
pub(super) fn report(text: &str) -> io::Result<()> {
    let mut pipe = io::stdout().lock();
    pipe.write_all(&[&[MOUNTED], text.as_bytes()].concat())?;
    pipe.flush()?;
    drop(pipe);
    std::env::set_current_dir("/")?;
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    nix::unistd::dup2_stdin(&null)?;
    nix::unistd::dup2_stdout(&null)?;
    nix::unistd::dup2_stderr(&null)?;
    Ok(())
}
