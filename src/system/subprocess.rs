//! Runs programs with a time limit. A program can hang in the kernel, for example on a path through
//! a network disk or through a mount that does not answer. It cannot be killed then, and is left
//! behind. A thread that hangs would instead keep this process from ending.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crate::limits::SUBPROCESS_OUTPUT_MAX;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// How long a killed program may take to end.
const KILL_TIME: Duration = Duration::from_millis(500);

/// Runs a program without input and collects its output. If it takes longer than `limit`, kills it
/// and returns `None`.
///
/// # Errors
/// The program cannot be started, or a system call fails.
pub(crate) fn output_within(command: &mut Command, limit: Duration) -> io::Result<Option<Output>> {
    let end = Instant::now() + limit;
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().map(collect).transpose()?;
    let stderr = child.stderr.take().map(collect).transpose()?;
    let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    let Some(status) = wait(&mut child, &pidfd, end)? else {
        let _ = child.kill();
        // When the program has ended, it holds nothing any more. One that hangs in the kernel may never end.
        let _ = wait(&mut child, &pidfd, Instant::now() + KILL_TIME);
        return Ok(None);
    };
    // A process that the program left behind may keep an output open.
    let bytes = |from: Option<Receiver<Vec<u8>>>| {
        let left = end.saturating_duration_since(Instant::now()).min(Duration::from_secs(1));
        from.and_then(|from| from.recv_timeout(left).ok()).unwrap_or_default()
    };
    Ok(Some(Output { status, stdout: bytes(stdout), stderr: bytes(stderr) }))
}

/// Waits for a program. Returns its status if it ends in time.
fn wait(child: &mut Child, pidfd: &OwnedFd, end: Instant) -> io::Result<Option<ExitStatus>> {
    while Instant::now() < end {
        let left = end.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
    }
    Ok(None)
}

/// Reads a pipe on a separate thread, so that a full pipe does not block the program.
fn collect(mut pipe: impl Read + Send + 'static) -> io::Result<Receiver<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let _ = (&mut pipe).take(SUBPROCESS_OUTPUT_MAX).read_to_end(&mut bytes);
        // Fails if the output comes too late.
        let _ = sender.send(bytes);
        let _ = io::copy(&mut pipe, &mut io::sink());
    })?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Option<Output> {
        output_within(Command::new("sh").args(["-c", script]), limit).expect("cannot start sh")
    }

    #[test]
    fn a_process_is_waited_for_until_its_time_limit() {
        let output =
            shell("echo out; echo err >&2; exit 3", Duration::from_secs(60)).expect("sh did not end in time");
        assert_eq!(
            (output.status.code(), &*output.stdout, &*output.stderr),
            (Some(3), &b"out\n"[..], &b"err\n"[..])
        );
        let began = Instant::now();
        assert!(shell("exec sleep 1000", Duration::from_millis(50)).is_none());
        assert!(began.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn output_larger_than_a_pipe_is_read_completely() {
        let output =
            shell("head -c 300000 /dev/zero", Duration::from_secs(60)).expect("sh did not end in time");
        assert_eq!(output.stdout.len(), 300_000);
    }
}
